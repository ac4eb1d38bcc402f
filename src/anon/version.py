# SPDX-License-Identifier: Apache-2.0
"""The version, which others may ask without the package."""

__version__ = "0.1.0"
