# SPDX-License-Identifier: Apache-2.0
"""Compiled kernels of `anon`: flat buffers in, flat arrays out.

Nothing here knows a column name, and nothing but NumPy is needed to import it.
"""
