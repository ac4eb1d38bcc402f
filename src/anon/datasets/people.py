# SPDX-License-Identifier: Apache-2.0
"""A synthetic census of any size, and a reader for the UCI Adult files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.datasets.write import write_batches
from anon.errors import DataError, UsageError

if TYPE_CHECKING:
    from anon.schema import Schema

Codes = npt.NDArray[np.integer[Any]]

BLOCK = 1 << 18  # rows made from one seed; part of what (n, seed) means
LEAST_ROW = 10  # bytes of a row of the census in a file, at the least
N_LANES = 16  # 16-bit random numbers per row

# --- the census: every distribution is a row of integer weights, so that no rounding of the
# --- platform's mathematical functions enters and the same (n, seed) is the same table everywhere

SEX = ("Male", "Female")
RACE = ("White", "Black", "Asian", "Native-American", "Other")
EDUCATION = (
    *("Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad"),
    *("Some-college", "Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate"),
)
EDUCATION_YEARS = (1, 4, 6, 8, 9, 10, 11, 12, 12, 13, 14, 14, 16, 18, 19, 20)
MARITAL_STATUS = (
    *("Married-civ-spouse", "Never-married", "Divorced", "Separated", "Widowed"),
    *("Married-spouse-absent", "Married-AF-spouse"),
)
RELATIONSHIP = ("Husband", "Wife", "Own-child", "Not-in-family", "Unmarried", "Other-relative")
WORKCLASS = (
    *("Private", "Self-emp-not-inc", "Self-emp-inc", "Federal-gov", "Local-gov", "State-gov"),
    *("Without-pay", None),
)
OCCUPATION = (
    *("Adm-clerical", "Armed-Forces", "Craft-repair", "Exec-managerial", "Farming-fishing"),
    *("Handlers-cleaners", "Machine-op-inspct", "Other-service", "Priv-house-serv", "Prof-specialty"),
    *("Protective-serv", "Sales", "Tech-support", "Transport-moving"),
)
INCOME = ("<=50K", ">50K")
CONTINENTS = {
    "North America": ("United-States", "Canada"),
    "Latin America": (
        *("Mexico", "Puerto-Rico", "Cuba", "Jamaica", "Haiti", "Dominican-Republic", "El-Salvador"),
        *("Guatemala", "Honduras", "Nicaragua", "Columbia", "Ecuador", "Peru", "Brazil", "Trinadad&Tobago"),
    ),
    "Europe": (
        *("England", "Ireland", "Scotland", "Germany", "France", "Italy", "Greece", "Poland", "Portugal"),
        *("Hungary", "Ukraine"),
    ),
    "Asia": (
        *("India", "China", "Philippines", "Vietnam", "Japan", "South-Korea", "Taiwan", "Iran", "Thailand"),
        *("Laos", "Cambodia"),
    ),
    "Africa": ("Nigeria", "Ethiopia", "Egypt"),
}
COUNTRY = (*(country for names in CONTINENTS.values() for country in names), None)

# state: (first three digits of its postcodes, inhabitants in 100,000, region)
NORTHEAST, MIDWEST, SOUTH, WEST = range(4)
STATES = {
    "MA": (10, 70, NORTHEAST), "RI": (28, 11, NORTHEAST), "NH": (30, 14, NORTHEAST),
    "ME": (39, 14, NORTHEAST), "VT": (50, 6, NORTHEAST), "CT": (60, 36, NORTHEAST),
    "NJ": (70, 93, NORTHEAST), "NY": (100, 200, NORTHEAST), "PA": (150, 130, NORTHEAST),
    "DE": (197, 10, SOUTH), "DC": (200, 7, SOUTH), "MD": (206, 62, SOUTH), "VA": (220, 86, SOUTH),
    "WV": (247, 18, SOUTH), "NC": (270, 105, SOUTH), "SC": (290, 52, SOUTH), "GA": (300, 108, SOUTH),
    "FL": (320, 216, SOUTH), "AL": (350, 50, SOUTH), "TN": (370, 70, SOUTH), "MS": (386, 29, SOUTH),
    "KY": (400, 45, SOUTH), "OH": (430, 118, MIDWEST), "IN": (460, 68, MIDWEST),
    "MI": (480, 100, MIDWEST), "IA": (500, 32, MIDWEST), "WI": (530, 59, MIDWEST),
    "MN": (550, 57, MIDWEST), "SD": (570, 9, MIDWEST), "ND": (580, 8, MIDWEST), "MT": (590, 11, WEST),
    "IL": (600, 128, MIDWEST), "MO": (630, 62, MIDWEST), "KS": (660, 29, MIDWEST),
    "NE": (680, 20, MIDWEST), "LA": (700, 46, SOUTH), "AR": (716, 30, SOUTH), "OK": (730, 40, SOUTH),
    "TX": (750, 291, SOUTH), "CO": (800, 58, WEST), "WY": (820, 6, WEST), "ID": (832, 18, WEST),
    "UT": (840, 33, WEST), "AZ": (850, 72, WEST), "NM": (870, 21, WEST), "NV": (889, 31, WEST),
    "CA": (900, 391, WEST), "HI": (967, 14, WEST), "OR": (970, 42, WEST), "WA": (980, 77, WEST),
    "AK": (995, 7, WEST),
}  # fmt: skip

AGE_KNOTS = {17: 120, 20: 230, 23: 280, 36: 300, 45: 240, 55: 130, 65: 60, 75: 20, 89: 2, 90: 12}
BAND_STARTS = (17, 20, 25, 30, 40, 50, 60, 70)  # age bands used as a condition below
RACE_BY_REGION = (
    (800, 110, 60, 5, 25),
    (850, 100, 25, 7, 18),
    (730, 200, 25, 10, 35),
    (740, 50, 130, 20, 60),
)
NULL_COUNTRY = 18
COUNTRY_BY_RACE: tuple[dict[str | None, int], ...] = (
    {
        **{"United-States": 890, "Mexico": 25, "Germany": 6, "Canada": 6, "England": 5, "El-Salvador": 5},
        **{"Cuba": 4, "Italy": 4, "Poland": 4, "Puerto-Rico": 4, "Guatemala": 3, "Columbia": 3, "Peru": 2},
        **{"Portugal": 2, "Brazil": 2, "Greece": 1, "Ireland": 1, "France": 1, "Ecuador": 1, "Nicaragua": 1},
        **{"Honduras": 1, "Hungary": 1, "Ukraine": 1, "Scotland": 1, "Iran": 2, "Egypt": 1},
    },
    {
        **{"United-States": 905, "Jamaica": 18, "Haiti": 14, "Dominican-Republic": 6, "Trinadad&Tobago": 5},
        **{"Nigeria": 8, "Ethiopia": 5, "Puerto-Rico": 2, "England": 2, "Germany": 2, "Honduras": 1},
    },
    {
        **{"United-States": 300, "Philippines": 150, "India": 110, "China": 105, "Vietnam": 85, "Japan": 55},
        **{"South-Korea": 65, "Taiwan": 45, "Iran": 15, "Thailand": 18, "Laos": 18, "Cambodia": 17},
    },
    {"United-States": 970, "Mexico": 12, "Guatemala": 2},
    {
        **{"United-States": 480, "Mexico": 200, "Puerto-Rico": 60, "Dominican-Republic": 60, "Ecuador": 30},
        **{"El-Salvador": 40, "Columbia": 20, "Guatemala": 30, "Nicaragua": 15, "Peru": 15, "Cuba": 10},
    },
)
EDUCATION_BY_BAND = (
    (1, 2, 3, 10, 25, 60, 140, 80, 350, 320, 4, 5, 0, 0, 0, 0),
    (1, 4, 7, 8, 12, 20, 40, 20, 330, 400, 45, 40, 70, 3, 0, 0),
    (1, 5, 8, 9, 10, 15, 25, 12, 320, 210, 50, 38, 240, 40, 11, 6),
    (1, 5, 9, 10, 11, 14, 22, 10, 340, 200, 55, 40, 190, 60, 22, 11),
    (1, 5, 9, 13, 12, 18, 20, 8, 310, 200, 50, 36, 180, 95, 27, 16),
    (2, 7, 14, 35, 20, 30, 25, 8, 340, 170, 35, 22, 150, 90, 28, 24),
    (3, 12, 20, 70, 28, 45, 28, 8, 340, 150, 22, 15, 130, 75, 30, 24),
    (5, 20, 28, 110, 30, 45, 25, 6, 300, 140, 15, 12, 130, 70, 38, 26),
)
MARITAL_BY_SEX_BAND = (
    (20, 970, 4, 2, 0, 3, 1),
    (180, 780, 20, 10, 1, 8, 1),
    (400, 500, 60, 20, 2, 16, 2),
    (600, 230, 120, 30, 4, 15, 1),
    (680, 100, 160, 30, 10, 19, 1),
    (730, 55, 150, 25, 25, 14, 1),
    (760, 45, 105, 15, 65, 9, 1),
    (720, 40, 60, 10, 160, 9, 1),
    (40, 940, 8, 6, 1, 4, 1),
    (250, 690, 32, 16, 2, 9, 1),
    (430, 410, 100, 36, 5, 16, 3),
    (510, 210, 190, 55, 15, 18, 2),
    (510, 110, 270, 50, 40, 18, 2),
    (500, 70, 250, 35, 130, 14, 1),
    (400, 60, 170, 20, 340, 9, 1),
    (230, 60, 90, 10, 600, 9, 1),
)
RELATIONSHIP_MARRIED = ((985, 0, 4, 6, 0, 5), (0, 955, 15, 15, 0, 15))  # by sex
RELATIONSHIP_YOUNG = (0, 0, 690, 190, 60, 60)
RELATIONSHIP_ALONE = ((0, 0, 120, 670, 150, 60), (0, 0, 90, 480, 380, 50))  # by sex
EDUCATION_GROUP = (0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 2, 2, 3, 4, 4, 4)
OCCUPATION_BY_SEX_GROUP = (
    (20, 1, 270, 35, 90, 120, 170, 110, 2, 10, 15, 50, 4, 110),
    (45, 2, 290, 85, 65, 80, 125, 70, 1, 25, 35, 85, 12, 105),
    (70, 2, 190, 150, 35, 50, 60, 60, 1, 75, 55, 120, 50, 70),
    (60, 1, 55, 300, 22, 12, 14, 25, 1, 240, 25, 190, 40, 15),
    (25, 1, 18, 260, 10, 3, 4, 8, 1, 560, 10, 80, 15, 5),
    (110, 1, 35, 40, 12, 35, 180, 370, 50, 12, 6, 130, 6, 13),
    (300, 1, 30, 100, 8, 25, 90, 230, 14, 35, 10, 120, 20, 15),
    (300, 1, 22, 140, 6, 15, 30, 130, 5, 120, 15, 130, 50, 10),
    (160, 1, 12, 240, 4, 4, 8, 40, 3, 380, 8, 110, 28, 3),
    (55, 1, 6, 200, 2, 1, 2, 12, 2, 660, 5, 40, 12, 2),
)
WORKCLASS_BY_OCCUPATION = (
    (740, 12, 8, 85, 75, 65, 1, 50),
    (0, 0, 0, 1, 0, 0, 0, 0),
    (770, 125, 25, 15, 35, 13, 1, 50),
    (660, 95, 95, 45, 50, 45, 0, 50),
    (450, 420, 50, 8, 28, 15, 6, 50),
    (890, 10, 2, 15, 35, 7, 1, 50),
    (930, 15, 5, 7, 6, 6, 1, 50),
    (810, 50, 8, 10, 58, 38, 1, 60),
    (960, 0, 0, 0, 0, 0, 0, 40),
    (550, 90, 38, 42, 170, 100, 0, 50),
    (290, 8, 8, 42, 470, 180, 0, 20),
    (790, 105, 78, 4, 3, 4, 1, 50),
    (730, 25, 5, 70, 40, 60, 0, 50),
    (780, 75, 16, 15, 75, 26, 1, 50),
)
MAX_HOURS = 99
NULL_HOURS = 10  # per 1000, beside the weights of the hours
HOURS_KNOTS = (  # young or old, women, men, self-employed: a slope ...
    {1: 5, 10: 12, 25: 12, 40: 5, 60: 1, 99: 0},
    {1: 1, 20: 4, 36: 8, 45: 4, 70: 1, 99: 0},
    {1: 1, 20: 2, 36: 4, 50: 5, 70: 2, 99: 1},
    {1: 2, 20: 4, 36: 4, 60: 6, 80: 3, 99: 2},
)
HOURS_PEAKS = (  # ... and the round numbers that people give
    {40: 230, 20: 120, 30: 70, 15: 60, 25: 55, 10: 40, 35: 30, 16: 20, 24: 20},
    {40: 480, 20: 60, 30: 55, 35: 55, 45: 35, 50: 45, 25: 30, 38: 25, 32: 18, 60: 12},
    {40: 500, 50: 130, 45: 75, 60: 60, 55: 25, 20: 18, 30: 18, 35: 20, 48: 20, 70: 10},
    {40: 220, 50: 120, 60: 120, 45: 45, 20: 35, 30: 30, 70: 30, 55: 25, 80: 15, 99: 8},
)
PAY_BY_OCCUPATION = (320, 400, 390, 620, 240, 250, 320, 210, 160, 560, 440, 390, 450, 360)  # $100 a year
PAY_PERCENT_BY_EDUCATION = (55, 60, 62, 66, 70, 74, 76, 80, 88, 94, 98, 100, 125, 145, 200, 180)
PAY_PERCENT_BY_AGE_KNOTS = {17: 35, 25: 68, 35: 98, 50: 114, 65: 102, 90: 60}
MIN_PAY, MAX_PAY = 20, 5_100  # $100
HIGH_INCOME = 500  # $100

CENSUS_SCHEMA = pa.schema(
    [
        ("age", pa.int64()),
        ("sex", pa.string()),
        ("race", pa.string()),
        ("marital_status", pa.string()),
        ("education", pa.string()),
        ("education_years", pa.int64()),
        ("workclass", pa.string()),
        ("occupation", pa.string()),
        ("relationship", pa.string()),
        ("native_country", pa.string()),
        ("state", pa.string()),
        ("postcode", pa.string()),
        ("hours_per_week", pa.int64()),
        ("salary", pa.int64()),
        ("income", pa.string()),
    ]
)


def census(n: int, seed: int = 0) -> pa.Table:
    """A synthetic census: n rows, 15 columns like Adult's, with a plausible joint structure.

    Skewed, full of ties, nulls in `workclass`, `native_country` and `hours_per_week`; `postcode` is
    a five-digit string, `salary` has about 5,000 values. The same (n, seed) gives the same table on
    every platform and numpy version.
    """
    return pa.Table.from_batches(_blocks(n, seed), CENSUS_SCHEMA)


def write_census(
    n: int, seed: int, path: str | os.PathLike[str], progress: Callable[[str, int, int], None] | None = None
) -> None:
    """Write `census(n, seed)` to a .parquet, .feather, .arrow, .ipc or .csv file, block by block.

    The file gets its name when it is complete. `progress(stage, done, total)` is told the rows written.
    More than 2**32 - 1 rows, or more than the disk clearly holds, are refused.
    """
    folder = Path(path).parent
    if n >= 2**32:
        raise UsageError("a table has at most 2**32 - 1 rows")
    if folder.is_dir() and n * LEAST_ROW > shutil.disk_usage(folder).free:
        raise DataError(f"{n} rows need more room than is left in {str(folder)!r}; nothing was written")
    write_batches(_blocks(n, seed), CENSUS_SCHEMA, Path(path), n, progress)


def census_schema() -> Schema:
    """Roles, hierarchies and kinds for `census`.

    `education_years`, `relationship` and `state` are dropped: each tells almost exactly what a
    quasi-identifier says, and would undo its generalization.
    """
    from anon.schema import Schema, intervals, nominal, numeric, prefix

    return Schema(
        quasi=[
            numeric("age", hierarchy=intervals(5, 10, 20, 100)),
            nominal("sex"),
            nominal("race"),
            nominal("marital_status", hierarchy=MARITAL_TREE),
            nominal("education", hierarchy=EDUCATION_TREE),
            nominal("workclass", hierarchy=WORKCLASS_TREE),
            nominal("native_country", hierarchy=COUNTRY_TREE),
            nominal("postcode", hierarchy=prefix(4, 3, 2, 1)),
        ],
        sensitive=["occupation", "salary"],
        identifying=["education_years", "relationship", "state"],
    )


MARITAL_TREE: dict[str, Any] = {
    "*": {
        "Married": ["Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent"],
        "Once-married": ["Divorced", "Separated", "Widowed"],
        "Never-married": None,
    }
}
EDUCATION_TREE: dict[str, Any] = {
    "*": {
        "Without-diploma": {"Elementary": EDUCATION[:4], "Some-high-school": EDUCATION[4:8]},
        "Secondary": ["HS-grad", "Some-college"],
        "Higher": {
            "Associate": ["Assoc-voc", "Assoc-acdm"],
            "Bachelors": None,
            "Graduate": ["Masters", "Prof-school", "Doctorate"],
        },
    }
}
WORKCLASS_TREE: dict[str, Any] = {
    "*": {
        "Private": None,
        "Self-employed": ["Self-emp-not-inc", "Self-emp-inc"],
        "Government": ["Federal-gov", "Local-gov", "State-gov"],
        "Without-pay": None,
    }
}
COUNTRY_TREE: dict[str, Any] = {"*": CONTINENTS}


def _line(knots: Mapping[int, int], factor: int = 1) -> list[int]:
    """Integers at every point from the first knot to the last, on straight lines between the knots."""
    points = sorted(knots)
    values = [knots[points[0]] * factor]
    for left, right in pairwise(points):
        rise = (knots[right] - knots[left]) * factor
        values += [knots[left] * factor + rise * i // (right - left) for i in range(1, right - left + 1)]
    return values


def _draws(weights: Iterable[Sequence[int]]) -> Codes:
    """For each row of weights, the value drawn by each 16-bit number: one array, row after row."""
    rows = []
    for row in weights:
        ends = [sum(row[: i + 1]) * 65_536 // sum(row) for i in range(len(row))]
        rows.append(np.repeat(np.arange(len(row)), np.diff(ends, prepend=0)))
    table = np.concatenate(rows)
    return table.astype(np.min_scalar_type(int(table.max())))


def _hours_weights() -> list[list[int]]:
    rows = []
    for knots, peaks in zip(HOURS_KNOTS, HOURS_PEAKS, strict=True):
        row = [10 * weight + 10 * peaks.get(i + 1, 0) for i, weight in enumerate(_line(knots))]
        rows.append([*row, sum(row) * NULL_HOURS // 1000])
    return rows


def _country_weights() -> list[list[int]]:
    return [
        [row.get(country, 0 if country else NULL_COUNTRY) for country in COUNTRY] for row in COUNTRY_BY_RACE
    ]


def _relationship_weights() -> list[Sequence[int]]:
    """By marital status, sex, and whether younger than 25."""
    return [
        RELATIONSHIP_MARRIED[sex]
        if status in ("Married-civ-spouse", "Married-AF-spouse")
        else (RELATIONSHIP_ALONE[sex], RELATIONSHIP_YOUNG)[young]
        for status in MARITAL_STATUS
        for sex in range(2)
        for young in range(2)
    ]


def _postcodes() -> tuple[list[str], list[int], list[int]]:
    """Every postcode, its state and its weight: one per 100,000 inhabitants, big cities first."""
    labels, states, weights = [], [], []
    for state, (first, inhabitants, _) in enumerate(STATES.values()):
        for i in range(inhabitants):
            labels.append(f"{first + i // 20:03d}{i % 20 * 5 + 1:02d}")
            states.append(state)
            weights.append(10 + 400 // (3 + i % 40))
    return labels, states, weights


class _Census:
    """The tables that turn 16-bit random numbers into a block of rows."""

    def __init__(self) -> None:
        age = _line(AGE_KNOTS)
        postcodes, states, weights = _postcodes()
        self.labels: dict[str, pa.Array] = {
            "sex": pa.array(SEX),
            "race": pa.array(RACE),
            "marital_status": pa.array(MARITAL_STATUS),
            "education": pa.array(EDUCATION),
            "workclass": pa.array(WORKCLASS),
            "occupation": pa.array(OCCUPATION),
            "relationship": pa.array(RELATIONSHIP),
            "native_country": pa.array(COUNTRY),
            "state": pa.array(list(STATES)),
            "postcode": pa.array(postcodes),
            "income": pa.array(INCOME),
        }
        self.age = _draws([age]) + np.uint8(17)
        ages = np.arange(17 + len(age))
        self.band = np.searchsorted(BAND_STARTS, ages, side="right").astype(np.uint8) - 1
        self.sex = _draws([(530, 470)])
        self.postcode = _draws([weights])
        self.state = np.array(states, np.uint8)
        self.region = np.array([region for _, _, region in STATES.values()], np.uint8)
        self.race = _draws(RACE_BY_REGION)
        self.country = _draws(_country_weights())
        self.education = _draws(EDUCATION_BY_BAND)
        self.group = np.array(EDUCATION_GROUP, np.uint8)
        self.years = np.array(EDUCATION_YEARS, np.int64)
        self.years_off = _draws([(80, 840, 80)])
        self.marital = _draws(MARITAL_BY_SEX_BAND)
        self.relationship = _draws(_relationship_weights())
        self.occupation = _draws(OCCUPATION_BY_SEX_GROUP)
        self.workclass = _draws(WORKCLASS_BY_OCCUPATION)
        self.hours = _draws(_hours_weights()) + np.uint8(1)
        self.pay = np.array(PAY_BY_OCCUPATION, np.int64)
        self.pay_by_education = np.array(PAY_PERCENT_BY_EDUCATION, np.int64)
        self.pay_by_age = np.array([0] * 17 + _line(PAY_PERCENT_BY_AGE_KNOTS), np.int64)

    def block(self, n: int, seed: int, number: int) -> pa.RecordBatch:
        """Rows of block `number` (n of them)."""
        bits = np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(number,)))
        words = bits.random_raw(n * N_LANES // 4).astype("<u8", copy=False)
        lanes = iter(words.view("<u2").reshape(N_LANES, n))

        def draw(table: Codes, condition: Codes | None = None) -> Codes:
            lane = next(lanes)
            drawn: Codes = table[lane if condition is None else (condition.astype(np.intp) << 16) | lane]
            return drawn

        age = draw(self.age)
        sex = draw(self.sex)
        postcode = draw(self.postcode)
        state = self.state[postcode]
        race = draw(self.race, self.region[state])
        country = draw(self.country, race)
        band = self.band[age]
        education = draw(self.education, band)
        years = self.years[education] + draw(self.years_off) - 1
        marital = draw(self.marital, sex * np.uint8(len(BAND_STARTS)) + band)
        relationship = draw(self.relationship, (marital * np.uint8(2) + sex) * np.uint8(2) + (age < 25))
        occupation = draw(self.occupation, sex * np.uint8(5) + self.group[education])
        workclass = draw(self.workclass, occupation)
        self_employed = (workclass == 1) | (workclass == 2)
        part_time = (band == 0) | (band == len(BAND_STARTS) - 1)
        hours = draw(self.hours, np.where(self_employed, 3, np.where(part_time, 0, 2 - sex)))
        no_hours = hours > MAX_HOURS
        luck, rounding, extra = next(lanes).astype(np.int64), next(lanes), next(lanes).astype(np.int64)
        paid_hours = np.where(no_hours, 40, np.minimum(hours, 60)).astype(np.int64)
        pay = self._salary(age, education, occupation, paid_hours, luck, rounding)
        rich = pay + np.where(extra < 5_000, extra % 400, 0) > HIGH_INCOME
        codes = {
            "sex": sex, "race": race, "marital_status": marital, "education": education,
            "workclass": workclass, "occupation": occupation, "relationship": relationship,
            "native_country": country, "state": state, "postcode": postcode, "income": rich.view(np.uint8),
        }  # fmt: skip
        columns = {name: self.labels[name].take(pa.array(code)) for name, code in codes.items()}
        columns["age"] = pa.array(age.astype(np.int64))
        columns["education_years"] = pa.array(years.astype(np.int64))
        columns["hours_per_week"] = pa.array(hours.astype(np.int64), mask=no_hours)
        columns["salary"] = pa.array(pay * 100)
        return pa.RecordBatch.from_arrays(
            [columns[name] for name in CENSUS_SCHEMA.names], schema=CENSUS_SCHEMA
        )

    def _salary(
        self, age: Codes, education: Codes, occupation: Codes, hours: Codes, luck: Codes, rounding: Codes
    ) -> npt.NDArray[np.int64]:
        """Yearly pay in $100: skewed to the right, and often given as a round number."""
        expected = self.pay[occupation] * self.pay_by_education[education] * self.pay_by_age[age] * hours
        bell = (luck & 255) + (luck >> 8) + (rounding & 255) + 128  # about normal around 510
        pay = expected * (bell * bell * bell >> 10) // (400_000 * (510**3 >> 10))
        step = np.array([1, 10, 50])[np.searchsorted([120, 210], rounding >> 8, side="right")]
        rounded: npt.NDArray[np.int64] = np.clip((pay + step // 2) // step * step, MIN_PAY, MAX_PAY)
        return rounded


def _blocks(n: int, seed: int) -> Iterator[pa.RecordBatch]:
    if n < 0 or seed < 0:
        raise UsageError("the number of rows and the seed of a census must not be negative")
    tables = _Census()
    for number, start in enumerate(range(0, n, BLOCK)):
        yield tables.block(min(BLOCK, n - start), seed, number)
