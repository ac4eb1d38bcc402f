# SPDX-License-Identifier: Apache-2.0
"""Classification utility: what miners learn from a release, beside what an attacker does.

Brickell & Shmatikov 2008, 5: a release is worth publishing where miners learn more from it than from a
trivial one (U_san - U_base), by more than the attacker does (A_acc).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.classes import Cells, Published, at_rows, group
from anon.encoding import Codes, Domain, Encoded, coded_columns
from anon.errors import Parameter, UsageError
from anon.html import Table, bar_figure, number, result_html
from anon.methods.task import Progress
from anon.miners import (
    CATEGORY_MINERS,
    Miner,
    Prediction,
    attributes,
    cells_of_values,
    cross_predict,
    features,
    folds,
    shown,
)
from anon.plain import as_plain
from anon.release import Release
from anon.schema import Role
from anon.threads import available_threads

Base = Literal["quasi", "sensitive"]
Rows = npt.NDArray[Any]

MOST_LABELS = 256
BEST = ("u_max", "u_san", "u_base")
TRIVIAL: tuple[Base, ...] = ("quasi", "sensitive")
BRICKELL_SHMATIKOV = tuple(
    miner for miner in CATEGORY_MINERS if miner.name in ("C4.5-like tree", "random forest", "naive Bayes")
)
"""The miners of Brickell & Shmatikov (6.2)."""

_CALLED = {
    "original": "the original",
    "quasi": "no quasi-identifiers",
    "sensitive": "no sensitive attributes",
}


@dataclass(frozen=True)
class MinerUtility:
    """Accuracy of one miner: see `MiningUtility`. `limits` tells what kept it from all rows or folds.

    `by_base` holds its accuracy on each trivial release, `u_base` the greatest of these. An accuracy is
    None where the miner's time was spent before its first fold, or all published rows lie in one fold.
    """

    family: str
    u_max: float | None
    u_san: float | None
    u_base: float | None
    by_base: Mapping[Base, float | None]
    seconds: float
    limits: tuple[str, ...]

    @property
    def gain(self) -> float | None:
        """U_san - U_base of this miner."""
        return None if self.u_san is None or self.u_base is None else self.u_san - self.u_base


@dataclass(frozen=True, kw_only=True, repr=False)
class MiningUtility:
    """What miners learn of `target` from the original, from a release, and from a trivial one.

    `u_max`, `u_san` and `u_base` are the accuracies, in 0..1, of the best miner on each, named in `best`
    under the same names; `u_base` is the better of the two trivial releases, `base` tells which:
    "quasi"-identifiers suppressed, or "sensitive" attributes. They are None where no miner had time for a
    fold, or could learn one from another. `a_acc` is the attacker's gain, `Privacy.a_acc`, None without a
    sensitive attribute.
    `predictors` are the columns mined, `left_out` those whose type no miner takes.
    """

    target: str
    u_max: float | None
    u_san: float | None
    u_base: float | None
    base: Base
    a_acc: float | None
    best: Mapping[str, str]
    by_miner: Mapping[str, MinerUtility]
    predictors: tuple[str, ...]
    left_out: tuple[str, ...]
    n_labels: int
    n_folds: int
    seed: int

    @property
    def gain(self) -> float | None:
        """U_san - U_base, to be seen beside `a_acc`."""
        return None if self.u_san is None or self.u_base is None else self.u_san - self.u_base

    def to_dict(self) -> dict[str, Any]:
        """The measures under their names, ready for JSON."""
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        plain["gain"] = self.gain
        plain["by_miner"] = {name: {**as_plain(one), "gain": one.gain} for name, one in self.by_miner.items()}
        return {name: as_plain(value) for name, value in plain.items()}

    def _repr_html_(self) -> str:
        best = {"the original": self.u_max, "this release": self.u_san, "a trivial release": self.u_base}
        told = [f"{number(value)} from {name}" for name, value in best.items() if value is not None]
        words = f"Accuracy of the best miner that guesses {self.target}: {', '.join(told) or 'not known'}."
        if self.gain is not None:
            words += f" The release is worth {number(self.gain)} more than a trivial one"
            words += "." if self.a_acc is None else f"; the attacker gains {number(self.a_acc)}."
        header = ("miner", "family", "original", "release", "trivial", "gain", "limits")
        rows = tuple(
            (name, one.family, one.u_max, one.u_san, one.u_base, one.gain, "; ".join(one.limits))
            for name, one in self.by_miner.items()
        )
        return result_html(
            words,
            bar_figure("Accuracy of the best miner, from 0 to 1", best, high=1),
            Table("Accuracy by miner", header, rows),
        )

    def __repr__(self) -> str:
        return (
            f"MiningUtility(target={self.target!r}, u_max={self.u_max}, u_san={self.u_san}, "
            f"u_base={self.u_base}, a_acc={self.a_acc})"
        )


def mining_utility(
    release: Release,
    target: str,
    *,
    miners: Sequence[Miner] = BRICKELL_SHMATIKOV,
    n_folds: int = 10,
    seed: int = 0,
    n_threads: int | None = None,
    progress: Progress | None = None,
) -> MiningUtility:
    """Accuracy of miners that predict `target` from the other published columns (Brickell & Shmatikov 5).

    Cross-validation: training and test rows both come from the same table, labels are the original
    target, missing ones a label of their own. The folds are fixed by `seed` and by the rows' rank, so
    that they are the same for every release of a table. Predictors are the quasi-identifiers as they are
    shown, the neutral columns and the other sensitive attributes. Of the trivial releases one shows the
    neutral columns and the other sensitive attributes, one, where the target is neutral, the
    quasi-identifiers and the other neutral columns. A suppressed row counts as predicted wrong.

    Parameters
    ----------
    release : Release
        A generalization; a bucketization does not say which row has which sensitive value.
    target : str
        A sensitive or neutral column, of at most 256 values; never a quasi-identifier.
    miners : sequence of Miner
        Default: decision tree, random forest and naive Bayes, as in the paper; `anon.miners.CATEGORY_MINERS`
        are all of the reference set.
    n_folds, seed
        Folds (at least 2), and what they and the miners' draws are fixed by.
    n_threads : int, optional
        Default: the processors this process may use. The answer depends on it only where a miner's
        time is spent.
    progress : callable(stage, done, total), optional
        Told how many folds are done, by table and miner.

    Raises
    ------
    UsageError
        The target, the release or the miners cannot be used, or scikit-learn is missing.
    """
    return mining_utilities(
        [release],
        target,
        miners=miners,
        n_folds=n_folds,
        seed=seed,
        n_threads=n_threads,
        progress=progress,
    )[0]


def mining_utilities(
    releases: Sequence[Release],
    target: str,
    *,
    miners: Sequence[Miner] = BRICKELL_SHMATIKOV,
    n_folds: int = 10,
    seed: int = 0,
    n_threads: int | None = None,
    progress: Progress | None = None,
) -> tuple[MiningUtility, ...]:
    """`mining_utility` of several releases of one table: the original, the trivial ones and releases that
    show the same are mined once.

    UsageError also where the releases are not of the same table with the same schema, or there is none.
    """
    threads = available_threads(n_threads)
    for release in releases:
        _check(release, target, miners)
    _check_alike(releases)
    encoded = releases[0].encoded.original
    columns, left_out = coded_columns(encoded, threads)
    for domain in encoded.quasi:
        del columns[domain.name]
    if target not in columns:
        kind = encoded.table.schema.field(target).type
        raise UsageError(f"column {target!r} of type {kind} has no values that a classifier can learn")
    ranked = group([*encoded.quasi_codes, *(codes for _, codes in columns.values())], n_threads=threads).rows
    fold = np.empty(len(ranked), np.int64)
    fold[ranked] = folds(len(ranked), n_folds, seed)
    labels, codes = columns.pop(target)
    if labels.n_codes > MOST_LABELS:
        raise UsageError(
            f"column {target!r} has {labels.n_codes} values; a classifier takes at most {MOST_LABELS}: "
            "put them into groups first"
        )
    y = codes.astype(np.int64)

    mined_once: dict[bytes, _Mined] = {}

    def mine(called: str, rows: Rows, cells: list[Cells]) -> _Mined:
        X = features(cells) if cells else np.zeros((len(rows), 1))
        as_attributes = attributes(cells) if cells else None
        seen = _digest(rows, X, *([as_attributes.X, as_attributes.nominal] if as_attributes else []))
        if seen in mined_once:
            return mined_once[seen]
        tell = None if progress is None else partial(_tell, progress, called)
        predictions = cross_predict(
            miners,
            X,
            y[rows],
            fold[rows],
            seed,
            attributes=as_attributes,
            n_threads=threads,
            progress=tell,
        )
        mined_once[seen] = _Mined(
            predictions, [_accuracy(one, y[rows], fold[rows], fold) for one in predictions]
        )
        return mined_once[seen]

    shared = {
        table: mine(_CALLED[table], *data)
        for table, data in _shared(encoded, columns, target, ranked).items()
    }
    results = []
    for i, release in enumerate(releases, 1):
        called = "the release" if len(releases) == 1 else f"release {i} of {len(releases)}"
        mined = mine(called, *_released(release.published, columns, ranked))
        by_miner = _by_miner(miners, mined, shared)
        best = {name: _greatest(getattr(one, name) for one in by_miner.values()) for name in BEST}
        results.append(
            MiningUtility(
                target=target,
                **best,
                base=max(
                    (table for table in TRIVIAL if table in shared),
                    key=lambda table: _greatest(shared[table].accuracy) or 0.0,
                ),
                a_acc=release.privacy(n_threads=threads).a_acc,
                best={
                    name: next(miner for miner, one in by_miner.items() if getattr(one, name) == best[name])
                    for name in BEST
                    if best[name] is not None
                },
                by_miner=by_miner,
                predictors=(*(domain.name for domain in encoded.quasi), *columns),
                left_out=left_out,
                n_labels=labels.n_codes,
                n_folds=n_folds,
                seed=seed,
            )
        )
    return tuple(results)


@dataclass(frozen=True, repr=False)
class _Mined:
    """What each miner predicted of a table, and the accuracy."""

    predictions: tuple[Prediction, ...]
    accuracy: list[float | None]


def _by_miner(
    miners: Sequence[Miner], release: _Mined, shared: Mapping[str, _Mined]
) -> dict[str, MinerUtility]:
    bases = [table for table in TRIVIAL if table in shared]
    everything = (release, *shared.values())
    return {
        miner.name: MinerUtility(
            miner.family,
            shared["original"].accuracy[i],
            release.accuracy[i],
            _greatest(shared[table].accuracy[i] for table in bases),
            {table: shared[table].accuracy[i] for table in bases},
            math.fsum(each.predictions[i].seconds for each in everything),
            tuple(dict.fromkeys(limit for each in everything for limit in each.predictions[i].limits)),
        )
        for i, miner in enumerate(miners)
    }


def _check_alike(releases: Sequence[Release]) -> None:
    if not releases:
        raise UsageError("there is no release to mine")
    first = releases[0].encoded
    for other in (release.encoded for release in releases[1:]):
        names = first.table.column_names
        same = other.table is first.table or (
            names == other.table.column_names
            and all(_same(other.column(name), first.column(name)) for name in names)
        )
        if other.schema != first.schema or not same:
            raise UsageError(
                "releases that are mined together must be of the same table with the same schema; "
                "mine others apart"
            )


def _same(one: pa.ChunkedArray, other: pa.ChunkedArray) -> bool:
    """Are two columns the same? Not-a-number is the same as itself."""
    if one.equals(other) or one.type != other.type or not pa.types.is_floating(one.type):
        return bool(one.equals(other))
    return bool(one.is_null().equals(other.is_null())) and np.array_equal(
        one.to_numpy(), other.to_numpy(), equal_nan=True
    )


def _check(release: Release, target: str, miners: Sequence[Miner]) -> None:
    if not isinstance(release, Release):
        raise UsageError(f"mining_utility takes a Release of anon.anonymize, not {type(release).__name__}")
    if release.publish == "bucketization":
        raise UsageError(
            "a bucketization does not say which row has which sensitive value, so that nothing is learned "
            "from its rows; ",
            Parameter('publish="generalization"', "--publish generalization"),
        )
    if release.noise is not None or release.perturbed:
        what = "perturbed columns" if release.noise is None else "noise"
        raise UsageError(f"a release with {what} does not hold its original: compare it in a scenario")
    names = [miner.name for miner in miners if isinstance(miner, Miner)]
    if not names or len(set(names)) < len(miners):
        raise UsageError("miners must be a list of anon.miners.Miner, each with a name of its own")
    release.encoded.check_published(target)
    if release.encoded.schema.role(target) is Role.QUASI:
        raise UsageError(
            f"column {target!r} is a quasi-identifier, which a release generalizes; "
            "the target must be a sensitive or a neutral column"
        )
    if target in release.dropped:
        raise UsageError(f"the release leaves {target!r} out, so that nothing is learned about it")


def _shared(
    encoded: Encoded, columns: Mapping[str, tuple[Domain, Codes]], target: str, ranked: Rows
) -> dict[str, tuple[Rows, list[Cells]]]:
    """Original and trivial releases: row numbers of the original by rank, and what these rows show.

    `columns` are the predictors beside the quasi-identifiers.
    """
    sensitive = {domain.name for domain in encoded.sensitive}
    quasi = [cells_of_values(*pair) for pair in zip(encoded.quasi, encoded.quasi_codes, strict=True)]
    predictors = {name: cells_of_values(*pair) for name, pair in columns.items()}
    neutral = [cells for name, cells in predictors.items() if name not in sensitive]
    tables = {
        "original": (ranked, _at([*quasi, *predictors.values()], ranked)),
        "quasi": (ranked, _at(list(predictors.values()), ranked)),
    }
    if sensitive and target not in sensitive:
        tables["sensitive"] = (ranked, _at([*quasi, *neutral], ranked))
    return tables


def _released(
    published: Published, columns: Mapping[str, tuple[Domain, Codes]], ranked: Rows
) -> tuple[Rows, list[Cells]]:
    """The same of a release."""
    left = [cells_of_values(*pair) for name, pair in columns.items() if name not in published.dropped]
    rank = np.empty(len(ranked), np.int64)
    rank[ranked] = np.arange(len(ranked))
    order = np.argsort(rank[published.classes.rows])
    rows = published.classes.rows[order]
    return rows, _at(shown(published), order) + _at(left, rows)


def _digest(*arrays: npt.NDArray[Any]) -> bytes:
    """Equal where miners are shown the same."""
    digest = hashlib.blake2b()
    for array in arrays:
        digest.update(repr((array.dtype.str, array.shape)).encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.digest()


def _at(columns: Sequence[Cells], rows: Rows) -> list[Cells]:
    return [at_rows(cells, rows) for cells in columns]


def _tell(progress: Progress, called: str, miner: str, done: int, total: int) -> None:
    progress(f"{miner} on {called}", done, total)


def _accuracy(prediction: Prediction, y: Rows, fold: Rows, fold_of_all: Rows) -> float | None:
    """The share of the original's rows that is predicted right, of the folds that there was time for."""
    stopped = np.setdiff1d(fold, fold[prediction.made])
    n_rows = int(np.isin(fold_of_all, stopped, invert=True).sum())
    if not prediction.made.any():
        return None
    return int(np.count_nonzero(prediction.made & (prediction.values == y))) / n_rows


def _greatest(accuracies: Iterable[float | None]) -> float | None:
    return max((one for one in accuracies if one is not None), default=None)
