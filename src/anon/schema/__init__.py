# SPDX-License-Identifier: Apache-2.0
"""What the columns of a table are: roles, kinds and hierarchies.

A `Schema` is made of `Attribute`s; a hierarchy is declared (`intervals`, `prefix`, `dates`, a nested dict, a
file) and becomes a `Tree` or `Levels` once the domain is known. Knows no table.
"""

from anon.schema.attribute import CODING, Attribute, Role, nominal, numeric, ordinal
from anon.schema.columns import (
    Kind,
    as_word,
    check_names,
    check_unique,
    is_measurable,
    is_text,
    kind_of,
    name_and_value,
    names_in,
    names_listed,
    pairs_in,
    quoted,
    value_type,
)
from anon.schema.guess import IDENTIFYING_SHARE, Named, named, role_of_name, shapes
from anon.schema.hierarchy.declared import (
    CsvFile,
    Dates,
    Hierarchy,
    Intervals,
    Listed,
    Nested,
    Prefix,
    dates,
    hierarchy_from_dict,
    hierarchy_to_dict,
    intervals,
    listed,
    not_finer,
    prefix,
)
from anon.schema.hierarchy.ladder import Ladder, ladder_of
from anon.schema.hierarchy.levels import TICKS_PER_SECOND, Levels, least_sets, levels_of, places, values_at
from anon.schema.hierarchy.nested import crossing, nested
from anon.schema.hierarchy.rows import file_rows, hierarchy_rows, label_of
from anon.schema.hierarchy.tree import MissingValues, Tree, lca, prune, tree_of
from anon.schema.schema import Schema, check_schema

__all__ = [
    "CODING",
    "IDENTIFYING_SHARE",
    "TICKS_PER_SECOND",
    "Attribute",
    "CsvFile",
    "Dates",
    "Hierarchy",
    "Intervals",
    "Kind",
    "Ladder",
    "Levels",
    "Listed",
    "MissingValues",
    "Named",
    "Nested",
    "Prefix",
    "Role",
    "Schema",
    "Tree",
    "as_word",
    "check_names",
    "check_schema",
    "check_unique",
    "crossing",
    "dates",
    "file_rows",
    "hierarchy_from_dict",
    "hierarchy_rows",
    "hierarchy_to_dict",
    "intervals",
    "is_measurable",
    "is_text",
    "kind_of",
    "label_of",
    "ladder_of",
    "lca",
    "least_sets",
    "levels_of",
    "listed",
    "name_and_value",
    "named",
    "names_in",
    "names_listed",
    "nested",
    "nominal",
    "not_finer",
    "numeric",
    "ordinal",
    "pairs_in",
    "places",
    "prefix",
    "prune",
    "quoted",
    "role_of_name",
    "shapes",
    "tree_of",
    "value_type",
    "values_at",
]
