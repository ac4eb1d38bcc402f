# SPDX-License-Identifier: Apache-2.0
"""Tables beyond memory: rows that stay in their files."""
