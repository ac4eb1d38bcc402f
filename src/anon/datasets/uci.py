# SPDX-License-Identifier: Apache-2.0
"""The UCI Adult data: the raw files as one table."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import pyarrow as pa

from anon.errors import DataError, UsageError

ADULT_COLUMNS = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation"),
    *("relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country"),
    "salary-class",
)
ADULT_NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
# Hierarchies of Adult's attributes, as ARX ships them (ages by 5, 10 and 20 years).
ADULT_TREES: dict[str, dict[str, Any]] = {
    "workclass": {
        "*": {
            "Non-Government": ["Private", "Self-emp-not-inc", "Self-emp-inc"],
            "Government": ["Federal-gov", "Local-gov", "State-gov"],
            "Unemployed": ["Without-pay", "Never-worked"],
        }
    },
    "education": {
        "*": {
            "Higher education": {
                "Undergraduate": ["Bachelors", "Some-college"],
                "Professional Education": ["Prof-school", "Assoc-acdm", "Assoc-voc"],
                "Graduate": ["Masters", "Doctorate"],
            },
            "Secondary education": {"High School": ["11th", "HS-grad", "9th", "7th-8th", "12th", "10th"]},
            "Primary education": {"Primary School": ["1st-4th", "5th-6th", "Preschool"]},
        }
    },
    "marital-status": {
        "*": {
            "spouse present": ["Married-civ-spouse", "Married-AF-spouse"],
            "spouse not present": [
                *("Divorced", "Never-married", "Separated", "Widowed", "Married-spouse-absent"),
            ],
        }
    },
    "native-country": {
        "*": {
            "North America": [
                *("United-States", "Puerto-Rico", "Canada", "Outlying-US(Guam-USVI-etc)", "Cuba", "Honduras"),
                *("Jamaica", "Mexico", "Dominican-Republic", "Haiti", "Guatemala", "El-Salvador"),
            ],
            "Asia": [
                *("Cambodia", "India", "Japan", "China", "Iran", "Philippines", "Vietnam", "Laos", "Taiwan"),
                *("Thailand", "Hong"),
            ],
            "Europe": [
                *("England", "Germany", "Greece", "Italy", "Poland", "Portugal", "Ireland", "France"),
                *("Hungary", "Scotland", "Yugoslavia", "Holand-Netherlands"),
            ],
            "Africa": ["South"],
            "South America": ["Ecuador", "Columbia", "Nicaragua", "Trinadad&Tobago", "Peru"],
        }
    },
    "occupation": {
        "*": {
            "Technical": ["Tech-support", "Craft-repair", "Prof-specialty", "Machine-op-inspct"],
            "Other": [
                *("Other-service", "Adm-clerical", "Farming-fishing", "Transport-moving", "Priv-house-serv"),
                *("Protective-serv", "Armed-Forces"),
            ],
            "Nontechnical": ["Sales", "Exec-managerial", "Handlers-cleaners"],
        }
    },
}
ADULT_OCCUPATIONS = (  # in the order of adult.names
    *("Tech-support", "Craft-repair", "Other-service", "Sales", "Exec-managerial", "Prof-specialty"),
    *("Handlers-cleaners", "Machine-op-inspct", "Adm-clerical", "Farming-fishing", "Transport-moving"),
    *("Priv-house-serv", "Protective-serv", "Armed-Forces"),
)
ADULT_SHA256 = {
    "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
}


def adult(path: str | os.PathLike[str], complete: bool = True, part: str = "all") -> pa.Table:
    """The UCI Adult table (Becker & Kohavi 1996) from the raw files in a folder.

    `part` chooses adult.data ("train"), adult.test ("test") or both, in this order; `complete` keeps
    the rows without a missing value (30,162 + 15,060), otherwise `?` is null. The files' SHA-256 is
    verified; DataError if one is missing or differs.
    """
    if part not in ("all", "train", "test"):
        raise UsageError(f"part must be 'all', 'train' or 'test', not {part!r}")
    names = {"all": ("adult.data", "adult.test"), "train": ("adult.data",), "test": ("adult.test",)}[part]
    rows: list[list[str | None]] = []
    for name in names:
        lines = _verified(Path(path) / name).decode("ascii").splitlines()
        fields = (line.removesuffix(".").split(", ") for line in lines if line and not line.startswith("|"))
        rows += [[None if field == "?" else field for field in row] for row in fields]
    columns = dict(zip(ADULT_COLUMNS, zip(*rows, strict=True), strict=True))
    table = pa.table(
        {
            name: pa.array(map(int, values)) if name in ADULT_NUMBERS else pa.array(values, pa.string())
            for name, values in columns.items()
        }
    )
    return table.drop_null() if complete else table


def _verified(file: Path) -> bytes:
    if not file.is_file():
        raise DataError(
            f"{file} not found: adult needs the folder with the UCI files adult.data and adult.test "
            "(https://archive.ics.uci.edu/dataset/2/adult)"
        )
    content = file.read_bytes()
    if hashlib.sha256(content).hexdigest() != ADULT_SHA256[file.name]:
        raise DataError(f"{file} is not the UCI file (its SHA-256 differs): download it again, unchanged")
    return content
