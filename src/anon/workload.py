# SPDX-License-Identifier: Apache-2.0
"""Queries of the kind that analysts ask: drawn, written, counted, estimated."""

from anon.measures.answers import Answers, answer, matching_rows, normalized_errors, true_counts
from anon.measures.queries import Workload
from anon.measures.query_text import parse_queries
from anon.measures.workload import n_chosen, preset, random_queries, selections

__all__ = [
    "Answers",
    "Workload",
    "answer",
    "matching_rows",
    "n_chosen",
    "normalized_errors",
    "parse_queries",
    "preset",
    "random_queries",
    "selections",
    "true_counts",
]
