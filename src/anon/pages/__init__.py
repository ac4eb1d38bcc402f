# SPDX-License-Identifier: Apache-2.0
"""The report of each verb: one page that stands alone, and the same as JSON."""

from anon.pages.origin import Origin, Report
from anon.pages.report import of_check, of_comparison, of_frontier, of_release, of_scenario

__all__ = ["Origin", "Report", "of_check", "of_comparison", "of_frontier", "of_release", "of_scenario"]
