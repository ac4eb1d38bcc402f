# SPDX-License-Identifier: Apache-2.0
"""Tables beyond memory and beyond one machine."""
