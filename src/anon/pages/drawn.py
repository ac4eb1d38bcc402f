# SPDX-License-Identifier: Apache-2.0
"""What a report draws: the sizes and losses of classes, what attributes and queries lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anon import figures
from anon.errors import UsageError
from anon.html import Figure
from anon.measures import answer, random_queries

if TYPE_CHECKING:
    from anon.measures import Privacy, Utility
    from anon.release import Release

_SELECTIVITY = (0.01, 0.02, 0.04, 0.06, 0.08, 0.1)


_N_QUERIES = 100


def class_figures(privacy: Privacy) -> tuple[Figure, ...]:
    table = privacy.per_class
    if table is None or not table.num_rows:
        return ()
    losses = {
        name: table[f"{name}.t_js"].to_numpy()
        for name in privacy.by_sensitive
        if f"{name}.t_js" in table.column_names
    }
    sizes = figures.class_sizes(table["size"].to_numpy())
    return (sizes, figures.class_losses(losses)) if losses else (sizes,)


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
    """What each attribute lost, and the errors of random queries, where the release can answer them; and what
    became of numbers, where it shows them.
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
    lost = figures.attribute_losses({name: each.ncp for name, each in utility.by_attribute.items()})
    published = utility.published
    original = published.original
    if published.dropped or not (original.quasi and original.sensitive and published.classes.n_classes):
        return (lost,)

    def error(qd: int, selectivity: float) -> dict[str, float]:
        workload = random_queries(original, qd, selectivity, _N_QUERIES)
        answers = answer(workload, published, n_threads=published.n_threads)
        low, median, high = answers.quantiles((0.25, 0.5, 0.75)).values()
        return {"low": low, "median": median, "high": high, "trivial": median}

    n_quasi = len(original.quasi)
    by_selectivity = [{"selectivity": sel, **error(min(4, n_quasi), sel)} for sel in _SELECTIVITY]
    by_number = [
        {"number of quasi-identifiers": qd, **error(qd, 0.05)} for qd in range(1, min(6, n_quasi) + 1)
    ]
    return (
        lost,
        figures.query_errors(by_selectivity, "selectivity"),
        figures.query_errors(by_number, "number of quasi-identifiers"),
    )
