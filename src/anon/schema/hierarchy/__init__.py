# SPDX-License-Identifier: Apache-2.0
"""Hierarchies: trees of labels, levels of numbers."""
