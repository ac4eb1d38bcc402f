# SPDX-License-Identifier: Apache-2.0
"""The role that a column's name and values suggest, and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anon.schema import IDENTIFYING_SHARE, Named, Role, is_measurable, is_text, named, shapes

SAMPLE = 1_000  # values that are looked at, and values whose rows are compared
MOST_ROWS = 20_000  # that are compared
ALIKE = 0.95  # share of pairs of rows of one key that agree in what belongs to the key
LEAST_KEYS = 10  # that repeat, before they can be told from chance
FEW_KINDS, MANY_EACH = 50, 20  # an "id" of fewer values, each on more rows, is a code of kinds
LONG_TEXT = 5  # words of a value, from which on it is text
MOST_BODY = 1_000  # no weight of a body, whatever its unit
MANY_LABELS = 50  # that all differ, before that is no chance
Key = Literal["unit", "sampling_weight"]


@dataclass(frozen=True)
class Seen:
    """A column as the guess sees it: `counted` holds its `values` and their `counts`, without null."""

    name: str
    type: pa.DataType
    counted: pa.StructArray
    n_rows: int
    n_values: int
    n_dates: int = 0

    @property
    def n_distinct(self) -> int:
        """Number of different values."""
        return len(self.counted)

    @property
    def sample(self) -> pa.Array:
        """Some of its values, each once."""
        return self.counted.field("values")[:SAMPLE]

    @property
    def is_countable_key(self) -> bool:
        """Could its values be keys: text or whole numbers?"""
        return bool(is_text(self.type) or pa.types.is_integer(self.type))


@dataclass(frozen=True)
class Guess:
    """A role and, in words, what speaks for it. `name` is what the column's name speaks of, `key` what else
    of a schema it may be; `by_count`: nothing speaks for the role but how many values there are.
    """

    role: Role
    why: str
    name: Named | None = None
    key: str | None = None
    by_count: bool = False


def guess(seen: Seen) -> Guess:
    """The role of one column, by what only it tells."""
    name = named(seen.name)
    by_name = None if name is None else _by_name(seen, name)
    if by_name is not None and by_name.role is Role.IDENTIFYING:
        return by_name
    if seen.n_values == 0:
        return Guess(Role.NEUTRAL, "it has no values", name)
    if seen.n_distinct == 1 and seen.n_values == seen.n_rows > 1:
        return Guess(Role.NEUTRAL, "it has the same value in every row", name)
    by_values = _by_shape(seen) if is_text(seen.type) else None
    if by_values is not None and (by_name is None or by_values.role is Role.IDENTIFYING):
        return by_values
    return by_name or _by_type(seen)


def _by_name(seen: Seen, name: Named) -> Guess | None:
    """The role by name, unless the values tell that it is not what the name speaks of."""
    subject = name.subject
    why = f"its name has {name.word!r}: {subject.what}"
    kinds = seen.n_distinct <= FEW_KINDS and seen.n_values > MANY_EACH * seen.n_distinct
    if subject.weak and name.word == "id" and kinds:
        return None
    if subject.things and seen.n_distinct < min(3, seen.n_values) and not _has_long_numbers(seen):
        why = f"its name has {name.word!r}, but with so few values it tells only whether there is one"
        return Guess(Role.NEUTRAL, why, name)
    if subject.numbers and not is_measurable(seen.type):
        return None
    if name.word in _BODY_WEIGHT and _is_no_body(seen):
        why = (
            f"its name has {name.word!r} and its numbers are no body's: a sampling weight (sampling_weight=)"
        )
        return Guess(Role.NEUTRAL, why, name, "sampling_weight")
    return Guess(subject.role, why, name, subject.key)


_BODY_WEIGHT = frozenset({"weight", "weights", "wt", "gewicht", "poids", "peso"})


def _has_long_numbers(seen: Seen) -> bool:
    """Does a value hold four digits, or an e-mail address?"""
    if pa.types.is_boolean(seen.type):
        return False
    texts = seen.sample.cast(pa.string())
    return bool(pc.any(pc.match_substring_regex(texts, r"([0-9][^0-9]?){4}|@")).as_py())


def _is_no_body(seen: Seen) -> bool:
    """Numbers of more than two decimals, or beyond what a body weighs."""
    if not (pa.types.is_integer(seen.type) or pa.types.is_floating(seen.type)) or not seen.n_distinct:
        return False
    numbers = seen.sample.cast(pa.float64()).to_numpy()
    cents = numbers * 100
    return bool(np.mean((np.abs(cents - np.rint(cents)) > 1e-6) | (np.abs(numbers) > MOST_BODY)) > 0.5)


def _by_shape(seen: Seen) -> Guess | None:
    """What most of a column's texts look like."""
    texts = pc.ascii_trim_whitespace(seen.sample.cast(pa.string()))
    counts = seen.counted.field("counts")[:SAMPLE].to_numpy()

    def most(matches: pa.Array) -> bool:
        return bool(2 * counts[np.asarray(matches)].sum() > counts.sum())

    for shape in shapes():
        matches = pc.match_substring_regex(texts, shape.pattern)
        if shape.iban and most(matches):
            is_right = [_is_iban(text) for text in texts.filter(matches).to_pylist()]
            matches = pc.replace_with_mask(matches, matches, pa.array(is_right))
        if most(matches):
            return Guess(shape.role, f"most of its values look like {shape.what}")
    n_words = pc.add(pc.count_substring_regex(texts, r"\s+"), 1)
    if 2 * seen.n_distinct > seen.n_values and most(pc.greater_equal(n_words, LONG_TEXT)):
        return Guess(Role.IDENTIFYING, "it is free text, in which anybody may be named")
    return None


def _is_iban(text: str) -> bool:
    """Are the check digits of an account right (ISO 7064, mod 97-10)?"""
    plain = text.replace(" ", "")
    return int("".join(str(int(letter, 36)) for letter in plain[4:] + plain[:4])) % 97 == 1


def _by_type(seen: Seen) -> Guess:
    types = pa.types
    if types.is_date(seen.type) or types.is_timestamp(seen.type) or 2 * seen.n_dates > seen.n_values:
        return Guess(Role.QUASI, "it holds dates, which others may know")
    if seen.is_countable_key and seen.n_values > 1 and seen.n_distinct > IDENTIFYING_SHARE * seen.n_values:
        of_all = "every row has" if seen.n_distinct == seen.n_rows else "more than 90 % of its rows have"
        return Guess(Role.IDENTIFYING, f"{of_all} a value of its own", by_count=True)
    return Guess(Role.NEUTRAL, "neither its name nor its values speak for another role")


def tells_people(seen: Seen, has_hierarchy: bool) -> str | None:
    """Why values of a column that is to be published may be names or keys of people; None if they are not.

    Labels that all differ may be; numbers are amounts, and who gives a hierarchy publishes its levels.
    """
    guessed = guess(seen)
    if guessed.role is not Role.IDENTIFYING:
        return None
    labels = is_text(seen.type) and not has_hierarchy and seen.n_distinct >= MANY_LABELS
    return guessed.why if labels or not guessed.by_count else None


def chosen_keys(guesses: Sequence[Guess], seen: Sequence[Seen | None]) -> list[Key | None]:
    """What each column is to be of a schema beside its role: one of them the unit, one the sampling weight.

    A unit has a value in every row and repeats; of several the one with the fewest values, which holds the
    others. Weights are numbers above 0, and the first column of them is taken.
    """
    keys: list[Key | None] = [None] * len(seen)
    units = [
        (each.n_distinct, i)
        for i, (each, guessed) in enumerate(zip(seen, guesses, strict=True))
        if each is not None and guessed.key == "unit" and guessed.role is Role.IDENTIFYING and _repeats(each)
    ]
    if units:
        keys[min(units)[1]] = "unit"
    for i, (each, guessed) in enumerate(zip(seen, guesses, strict=True)):
        if each is not None and guessed.key == "sampling_weight" and _are_weights(each):
            keys[i] = "sampling_weight"
            break
    return keys


def _repeats(seen: Seen) -> bool:
    """Is it a key of every row that has several rows, and not so many that it tells kinds?"""
    if not seen.is_countable_key or seen.n_values < seen.n_rows:
        return False
    n, n_rows = seen.n_distinct, seen.n_rows
    return 1 < n <= IDENTIFYING_SHARE * n_rows and n_rows <= MANY_EACH * n and 2 * n >= n_rows**0.5


def _are_weights(seen: Seen) -> bool:
    if not is_measurable(seen.type) or pa.types.is_temporal(seen.type) or seen.n_values < seen.n_rows:
        return False
    ends = pc.min_max(seen.counted.field("values")).as_py()
    return bool(ends["min"] is not None and ends["min"] > 0 and ends["max"] < float("inf"))


def with_repeated_keys(
    guesses: Sequence[Guess], seen: Sequence[Seen | None], columns: Callable[[int], pa.ChunkedArray]
) -> list[Guess]:
    """The guesses, where columns that nothing else speaks for turn out to be keys of persons.

    A key has many values, each on several rows, that agree in what does not change while the person is the
    same (age, sex, ...), or in most other columns. `columns(i)` is column i, in a type that Arrow counts.
    """
    answer = list(guesses)
    others = [i for i, each in enumerate(seen) if each is not None and _tells(each, guesses[i])]
    for i, each in enumerate(seen):
        if each is None or guesses[i].role is not Role.NEUTRAL or guesses[i].name or not _may_be_key(each):
            continue
        same = _agreeing(i, each, [j for j in others if j != i], columns)
        rest = len(others) - (i in others)
        persons = [j for j in same if (name := guesses[j].name) and name.subject.person]
        if persons or len(same) >= max(2, rest / 2):
            first = seen[(persons or same)[0]]
            assert first is not None
            why = f"its values repeat, and rows of one value agree in column {first.name!r}"
            if len(same) > 1:
                why += f" and {len(same) - 1} more"
            why += ": a person's key (unit=)"
            answer[i] = replace(guesses[i], role=Role.IDENTIFYING, why=why, key="unit")
    return answer


def _tells(seen: Seen, guessed: Guess) -> bool:
    """Could rows of two persons differ in this column, other than by where they live?"""
    place = guessed.name is not None and guessed.name.subject.place
    if place or guessed.role is Role.IDENTIFYING or seen.n_distinct < 2:
        return False
    shares = seen.counted.field("counts").to_numpy() / seen.n_values
    return bool(seen.n_values > seen.n_rows / 2 and (shares**2).sum() <= 0.8)


def _may_be_key(seen: Seen) -> bool:
    if not seen.is_countable_key or not LEAST_KEYS <= seen.n_distinct < seen.n_values:
        return False
    return bool(2 * seen.n_distinct >= seen.n_values**0.5)


def _agreeing(
    key: int, seen: Seen, others: Sequence[int], columns: Callable[[int], pa.ChunkedArray]
) -> list[int]:
    """Those of the other columns in which rows of one key agree."""
    repeated = seen.counted.field("values").filter(pc.greater(seen.counted.field("counts"), 1))
    if len(repeated) < LEAST_KEYS:
        return []
    step = max(1, len(repeated) // SAMPLE)
    chosen = repeated.take(pa.array(np.arange(0, len(repeated), step)[:SAMPLE]))
    rows = np.flatnonzero(pc.is_in(columns(key), value_set=chosen).combine_chunks())[:MOST_ROWS]
    keys = _codes(columns(key), rows)
    order = np.argsort(keys, kind="stable")
    pairs = keys[order][1:] == keys[order][:-1]
    if pairs.sum() < LEAST_KEYS:
        return []
    same = []
    for other in others:
        codes = _codes(columns(other), rows)[order]
        if (codes[1:] == codes[:-1])[pairs].mean() >= ALIKE:
            same.append(other)
    return same


def _codes(column: pa.ChunkedArray, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
    """Equal numbers for equal values of some rows (null: -1)."""
    encoded = column.take(pa.array(rows)).combine_chunks().dictionary_encode()
    return np.asarray(encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False), np.int64)
