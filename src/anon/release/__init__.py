# SPDX-License-Identifier: Apache-2.0
"""The only way out: cells are rendered, checked once more, and written.

`recode` makes a `Release` of classes; `recheck` shares nothing with the methods. What a written release says
of itself, its metadata and its buckets, is read back here too.
"""

from anon.release.buckets import (
    SECOND,
    are_numbers,
    bucket_ids,
    buckets_of,
    in_buckets,
    is_bucketized,
    linked,
    read_numbers,
    refuse_sensitive_half,
    second_table,
    uncounted,
    unpaired,
    with_kinds,
)
from anon.release.columns import NOTES_ON_BUCKETS
from anon.release.formulas import refuse_guard
from anon.release.metadata import CLASS_ID, metadata_of, note_on_perturbed, perturbed_by, sensitive_path
from anon.release.recheck import alike, failing_groups, unmet
from anon.release.recheck_noise import recheck_noise
from anon.release.recoded import (
    PUBLISHED,
    Numeric,
    OfClasses,
    Publish,
    counts_rows,
    note_on_one_class,
    note_on_unpublished,
    shows_middles,
)
from anon.release.recoding import recode, refuse_clashes
from anon.release.release import HeldOut, Release, with_held
from anon.release.rules import NothingFits, Rules
from anon.release.rules_of import refuse_rules
from anon.release.weights import Weights, alone_with_weight, check_weights, note_on_kept_weights
from anon.release.words import note_on_known, release_table
from anon.release.write import check_output

__all__ = [
    "CLASS_ID",
    "NOTES_ON_BUCKETS",
    "PUBLISHED",
    "SECOND",
    "HeldOut",
    "NothingFits",
    "Numeric",
    "OfClasses",
    "Publish",
    "Release",
    "Rules",
    "Weights",
    "alike",
    "alone_with_weight",
    "are_numbers",
    "bucket_ids",
    "buckets_of",
    "check_output",
    "check_weights",
    "counts_rows",
    "failing_groups",
    "in_buckets",
    "is_bucketized",
    "linked",
    "metadata_of",
    "note_on_kept_weights",
    "note_on_known",
    "note_on_one_class",
    "note_on_perturbed",
    "note_on_unpublished",
    "perturbed_by",
    "read_numbers",
    "recheck_noise",
    "recode",
    "refuse_clashes",
    "refuse_guard",
    "refuse_rules",
    "refuse_sensitive_half",
    "release_table",
    "second_table",
    "sensitive_path",
    "shows_middles",
    "uncounted",
    "unmet",
    "unpaired",
    "with_held",
    "with_kinds",
]
