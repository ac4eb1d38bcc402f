# SPDX-License-Identifier: Apache-2.0
"""`python -m anon`."""

import sys

from anon.command import main

sys.exit(main())
