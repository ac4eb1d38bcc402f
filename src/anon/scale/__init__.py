# SPDX-License-Identifier: Apache-2.0
"""Where the engine for Spark is documented: `anon.scale.spark`."""
