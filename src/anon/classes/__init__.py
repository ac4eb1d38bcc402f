# SPDX-License-Identifier: Apache-2.0
"""Equivalence classes, the cells that they show, and how cells are written and read.

`Classes` are rows in groups, `Cells` what each group shows of an attribute, `Counts` its sensitive values;
`Published` is all of that, which every measure reads. Everything above reads these.
"""

from anon.classes.classes import (
    Classes,
    Counts,
    equal_rows,
    group,
    group_numbers,
    ranges,
    ranked_rows,
    sensitive_counts,
    starts_of_sizes,
)
from anon.classes.coded import as_told, coded_column, with_coded_sensitive
from anon.classes.generalized import (
    Cells,
    and_ranges,
    at_rows,
    blank,
    cells,
    full_cells,
    merge,
    population_counts,
    rows_inside,
    take,
    value_cells,
)
from anon.classes.individual import household_risk, individual_risk
from anon.classes.label import is_full, labels, to_levels
from anon.classes.published import Published, RowWeights, Showing, counts_of, published_of
from anon.classes.reaches import Reach, intact_cells, reach, single_cells
from anon.classes.reading import Cell, reader
from anon.classes.rendering import Column, looks, measures, middles, render
from anon.classes.text import (
    BY_NUMBER,
    MISSING,
    OR_MISSING,
    ROOT,
    Rendering,
    keys,
    number,
    quote,
    texts,
)
from anon.classes.union import Union, refuse_smaller, union_of
from anon.classes.uniques import Model as UniquesModel
from anon.classes.uniques import (
    PopulationUniques,
    histogram,
    model_estimates,
    population_uniques,
    refuse_fraction,
)

__all__ = [
    "BY_NUMBER",
    "MISSING",
    "OR_MISSING",
    "ROOT",
    "Cell",
    "Cells",
    "Classes",
    "Column",
    "Counts",
    "PopulationUniques",
    "Published",
    "Reach",
    "Rendering",
    "RowWeights",
    "Showing",
    "Union",
    "UniquesModel",
    "and_ranges",
    "as_told",
    "at_rows",
    "blank",
    "cells",
    "coded_column",
    "counts_of",
    "equal_rows",
    "full_cells",
    "group",
    "group_numbers",
    "histogram",
    "household_risk",
    "individual_risk",
    "intact_cells",
    "is_full",
    "keys",
    "labels",
    "looks",
    "measures",
    "merge",
    "middles",
    "model_estimates",
    "number",
    "population_counts",
    "population_uniques",
    "published_of",
    "quote",
    "ranges",
    "ranked_rows",
    "reach",
    "reader",
    "refuse_fraction",
    "refuse_smaller",
    "render",
    "rows_inside",
    "sensitive_counts",
    "single_cells",
    "starts_of_sizes",
    "take",
    "texts",
    "to_levels",
    "union_of",
    "value_cells",
    "with_coded_sensitive",
]
