# SPDX-License-Identifier: Apache-2.0
"""What a report draws: who is found, what is published of each attribute, what the release is still worth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anon import figures
from anon.errors import UsageError
from anon.html import Figure
from anon.measures import (
    answer,
    associations,
    distributions,
    random_queries,
    sizes_after,
    sizes_before,
    totals_only,
    true_counts,
    widths,
    with_values,
)

if TYPE_CHECKING:
    from anon.classes import Published
    from anon.measures import Privacy, Utility
    from anon.release import Release

_SELECTIVITY = (0.01, 0.02, 0.04, 0.06, 0.08, 0.1)
_N_QUERIES = 100


def class_figures(privacy: Privacy) -> tuple[Figure, ...]:
    """Sizes and privacy losses of the classes, where each was measured."""
    table = privacy.per_class
    if table is None or not table.num_rows:
        return ()
    losses = {
        name: table[f"{name}.t_js"].to_numpy()
        for name in privacy.by_sensitive
        if f"{name}.t_js" in table.column_names
    }
    sizes = figures.class_sizes(table["size"].to_numpy(), privacy.k)
    return (sizes, figures.class_losses(losses)) if losses else (sizes,)


def risk_figures(privacy: Privacy) -> tuple[Figure, ...]:
    """The risk of the people of a table that was checked; nothing where it shows intact values in buckets."""
    table = privacy.per_class
    if table is None or not table.num_rows or privacy.intact:
        return ()
    return (figures.risk_curve({"now": table["size"].to_numpy()}),)


def before_and_after(published: Published) -> tuple[Figure, ...]:
    """The risk of the people before and after."""
    if not published.classes.n_classes or published.refusal:
        return ()
    return (figures.risk_curve({"before": sizes_before(published), "after": sizes_after(published)}),)


def population_figures(measured: Privacy | Utility) -> tuple[Figure, ...]:
    """The risk of the rows in the population, before where it is known, and after."""
    before, after = getattr(measured, "population_before", None), measured.population
    if after is None:
        return ()
    sides = {} if before is None else {"before": before.spread}
    return (figures.population_risks(sides | {"after": after.spread}),)


def lattice_figures(release: Release) -> tuple[Figure, ...]:
    """What full-domain recoding chose from; nothing where the levels were given, or recoded in rounds."""
    if release.lattice is None or not release.lattice.searched:
        return ()
    return (figures.lattice(release.lattice),)


def loss_figures(utility: Utility) -> tuple[Figure, ...]:
    """What each attribute lost and still tells, and the errors of random queries, where the release can
    answer them; and what became of numbers, where it shows them.
    """
    return (*_cell_figures(utility), *_number_figures(utility))


def _number_figures(utility: Utility) -> tuple[Figure, ...]:
    try:
        numbers = utility.numbers
    except UsageError:
        return ()
    if not numbers.n_rows or not len(numbers.before):
        return ()
    drawn = [figures.marginals(numbers.names, numbers.before, numbers.after)]
    if numbers.correlation_max is not None:
        drawn.append(figures.correlations(numbers.names, numbers.before, numbers.after))
    return tuple(drawn)


def _cell_figures(utility: Utility) -> tuple[Figure, ...]:
    if utility.loss is None:
        return ()
    published = utility.published
    if not published.classes.n_classes or not published.original.quasi:
        return ()
    drawn = [
        figures.attribute_losses({name: each.ncp for name, each in utility.by_attribute.items()}),
        figures.published_widths(widths(published)),
        figures.distributions(distributions(published)),
    ]
    together = associations(published)
    if len(together.names) > 1 and np.isfinite(together.original).any():
        drawn.append(figures.associations(together.names, together.original, together.released))
    return (*drawn, *_query_figures(published))


def _query_figures(published: Published) -> tuple[Figure, ...]:
    original = published.original
    n_quasi = len(with_values(original.quasi))
    if published.dropped or not n_quasi or not with_values(original.sensitive):
        return ()
    totals = totals_only(published)

    def errors(qd: int, selectivity: float) -> dict[str, Any]:
        workload = random_queries(original, qd, selectivity, _N_QUERIES)
        true = true_counts(workload, original, published.n_threads)
        answers, trivial = (
            answer(workload, each, true=true, n_threads=published.n_threads) for each in (published, totals)
        )
        low, median, high = answers.quantiles((0.25, 0.5, 0.75)).values()
        return {
            "median": median,
            "low": low,
            "high": high,
            "average": answers.average,
            "trivial": trivial.median,
        }

    by_selectivity = [{"selectivity": sel, **errors(min(4, n_quasi), sel)} for sel in _SELECTIVITY]
    by_number = [
        {"number of quasi-identifiers": qd, **errors(qd, 0.05)} for qd in range(1, min(6, n_quasi) + 1)
    ]
    return (
        figures.query_errors(by_selectivity, "selectivity"),
        figures.query_errors(by_number, "number of quasi-identifiers"),
    )
