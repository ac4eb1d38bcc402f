# SPDX-License-Identifier: Apache-2.0
"""`python -m anon`."""

import sys

from anon.cli import main

sys.exit(main())
