# SPDX-License-Identifier: Apache-2.0
"""The names and signatures of other tools over this engine: their users change one import."""
