# SPDX-License-Identifier: Apache-2.0
"""The synthetic census and the reader of the UCI Adult files."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

from anon.datasets import people as people_module
from anon.datasets import uci
from anon.datasets.people import census, census_schema, write_census
from anon.datasets.uci import adult
from anon.datasets.write import write_table
from anon.encoding.table import encode
from anon.errors import DataError, UsageError
from anon.schema.hierarchy.tree import Tree


@pytest.fixture(scope="module")
def people() -> pa.Table:
    return census(100_000, seed=1)


def digest(table: pa.Table) -> str:
    return hashlib.sha256(repr(table.to_pydict()).encode()).hexdigest()


def share(mask: pa.ChunkedArray) -> float:
    return float(pc.mean(mask.cast(pa.float64())).as_py())


def test_the_same_n_and_seed_are_the_same_table_on_every_machine() -> None:
    # the digest was written down once, on Linux x86-64 with numpy 2.4; see the docstring of census
    assert digest(census(1_000, seed=7)) == "f0b3518713907ff8c45a5f1e57138313db633262ee6f682626687a2ecfdb985e"
    assert census(1_000, seed=7).equals(census(1_000, seed=7))
    assert not census(1_000, seed=7).equals(census(1_000, seed=8))


def test_rows_beyond_the_first_block_come_from_another_seed() -> None:
    n = people_module.BLOCK + 1_000
    table = census(n)
    assert table.num_rows == n
    assert table.column("age").num_chunks == 2
    assert not table.slice(people_module.BLOCK).equals(table.slice(0, 1_000))


@pytest.mark.parametrize("n", [0, 1, 2])
def test_tiny_tables_have_the_same_columns(n: int) -> None:
    table = census(n)
    assert table.num_rows == n
    assert table.schema.equals(people_module.CENSUS_SCHEMA)
    table.validate(full=True)


def test_negative_sizes_and_seeds_are_refused() -> None:
    with pytest.raises(UsageError, match="must not be negative"):
        census(-1)
    with pytest.raises(UsageError, match="must not be negative"):
        census(5, seed=-1)


def test_domains_are_as_large_as_promised(people: pa.Table) -> None:
    people.validate(full=True)
    n_distinct = {name: pc.count_distinct(people[name]).as_py() for name in people.column_names}
    assert len(n_distinct) == 15
    for name in census_schema().to_dict()["quasi"]:
        label = name if isinstance(name, str) else name["name"]
        assert n_distinct[label] <= 256 or label == "postcode"
    assert n_distinct["hours_per_week"] <= 99
    assert 3_000 < n_distinct["postcode"] < 4_000
    assert n_distinct["salary"] > 2_000
    assert n_distinct["occupation"] == 14


def test_nulls_are_where_they_are_said_to_be(people: pa.Table) -> None:
    with_nulls = {name for name in people.column_names if people[name].null_count}
    assert with_nulls == {"workclass", "native_country", "hours_per_week"}
    assert 0.03 < people["workclass"].null_count / people.num_rows < 0.07


def test_age_tells_about_marital_status(people: pa.Table) -> None:
    single = pc.equal(people["marital_status"], "Never-married")
    young, old = pc.less(people["age"], 20), pc.greater(people["age"], 49)
    assert share(single.filter(young)) > 0.9
    assert share(single.filter(old)) < 0.1
    widowed = pc.equal(people["marital_status"], "Widowed")
    women = pc.and_(pc.equal(people["sex"], "Female"), pc.greater(people["age"], 69))
    men = pc.and_(pc.equal(people["sex"], "Male"), pc.greater(people["age"], 69))
    assert share(widowed.filter(women)) > 2 * share(widowed.filter(men))


def test_husbands_are_men_and_married(people: pa.Table) -> None:
    husbands = people.filter(pc.equal(people["relationship"], "Husband"))
    assert husbands.num_rows > 10_000
    assert husbands["sex"].unique().to_pylist() == ["Male"]
    assert set(husbands["marital_status"].to_pylist()) == {"Married-civ-spouse", "Married-AF-spouse"}


def test_education_tells_about_occupation_and_pay(people: pa.Table) -> None:
    pay = people.group_by("education").aggregate([("salary", "mean")])
    mean = dict(zip(pay["education"].to_pylist(), pay["salary_mean"].to_pylist(), strict=True))
    assert mean["7th-8th"] < mean["HS-grad"] < mean["Bachelors"] < mean["Prof-school"]
    professional = pc.equal(people["occupation"], "Prof-specialty")
    doctors = pc.equal(people["education"], "Doctorate")
    assert share(professional.filter(doctors)) > 2 * share(professional)


def test_income_is_what_the_salary_says(people: pa.Table) -> None:
    rich = pc.equal(people["income"], ">50K")
    assert share(rich.filter(pc.greater(people["salary"], 50_000))) == 1
    assert 0 < share(rich.filter(pc.less_equal(people["salary"], 50_000))) < 0.1
    assert 0.2 < share(rich) < 0.4


def test_postcodes_are_five_digits_within_one_state(people: pa.Table) -> None:
    pairs = people.group_by(["state", "postcode"]).aggregate([])
    assert pairs.num_rows == pc.count_distinct(people["postcode"]).as_py()
    assert share(pc.match_substring_regex(people["postcode"], "^[0-9]{5}$")) == 1
    assert share(pc.starts_with(people["postcode"], "0")) > 0.03
    labels, states, weights = people_module._postcodes()
    assert len(set(labels)) == len(labels) == len(states) == len(weights)


def test_values_are_skewed_and_tied(people: pa.Table) -> None:
    hours = pc.drop_null(people["hours_per_week"])
    assert share(pc.equal(hours, 40)) > 0.3
    country = pc.value_counts(people["native_country"]).field("counts").to_numpy()
    assert country.max() > 0.8 * people.num_rows
    salary = people["salary"].to_numpy()
    assert salary.mean() > 1.2 * np.median(salary)
    assert (salary % 100 == 0).all()


def test_the_schema_covers_the_census(people: pa.Table) -> None:
    encoded = encode(people, census_schema())
    assert [domain.name for domain in encoded.quasi] == [
        *("age", "sex", "race", "marital_status", "education", "workclass", "native_country", "postcode")
    ]
    assert [domain.name for domain in encoded.sensitive] == ["occupation", "salary"]
    assert not {"education_years", "relationship", "state"} & set(encoded.table.column_names)
    assert isinstance(encoded.quasi[6].tree, Tree)
    assert encoded.quasi[6].has_null


@pytest.mark.parametrize("suffix", ["parquet", "feather", "arrow", "csv"])
def test_a_written_census_is_the_census(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"people.{suffix}"
    told: list[tuple[str, int, int]] = []
    write_census(500, 3, path, lambda *progress: told.append(progress))
    if suffix == "parquet":
        table = pyarrow.parquet.read_table(path)
    elif suffix == "csv":
        options = pyarrow.csv.ConvertOptions(
            column_types=people_module.CENSUS_SCHEMA, strings_can_be_null=True, null_values=[""]
        )
        table = pyarrow.csv.read_csv(path, convert_options=options)
    else:
        table = pyarrow.feather.read_table(path)
    assert table.equals(census(500, 3))
    assert told == [("write", 500, 500)]
    umask = os.umask(0)
    os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask
    assert os.listdir(tmp_path) == [path.name]


def test_an_interrupted_census_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    path.write_bytes(b"old")

    def interrupt(stage: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_census(500, 3, path, interrupt)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == [path.name]


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: str, target: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", source)

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(
        DataError, match=r"cannot write .*people\.csv: No space left on device; nothing was written"
    ):
        write_census(5, 0, tmp_path / "people.csv")
    assert os.listdir(tmp_path) == []


def test_a_file_of_no_known_format_or_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"format of people\.xls"):
        write_census(5, 0, tmp_path / "people.xls")
    with pytest.raises(UsageError, match="does not exist"):
        write_census(5, 0, tmp_path / "nowhere" / "people.csv")


TRAIN = (
    "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, "
    "Not-in-family, White, Male, 2174, 0, 40, United-States, <=50K\n"
    "50, ?, 83311, HS-grad, 9, Divorced, ?, Unmarried, Black, Female, 0, 0, 13, ?, >50K\n"
    "\n"
)
TEST = (
    "|1x3 Cross validator\n"
    "25, Private, 226802, 11th, 7, Never-married, Sales, "
    "Own-child, Black, Male, 0, 0, 40, United-States, <=50K.\n"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three rows in the form of the UCI files, with their checksums put in place of the real ones."""
    for name, text in (("adult.data", TRAIN), ("adult.test", TEST)):
        (tmp_path / name).write_text(text)
        monkeypatch.setitem(uci.ADULT_SHA256, name, hashlib.sha256(text.encode()).hexdigest())
    return tmp_path


def test_adult_reads_both_files(folder: Path) -> None:
    table = adult(folder, complete=False)
    assert table.column_names == list(uci.ADULT_COLUMNS)
    assert table["salary-class"].to_pylist() == ["<=50K", ">50K", "<=50K"]
    assert table["age"].to_pylist() == [39, 50, 25]
    assert table["workclass"].to_pylist() == ["State-gov", None, "Private"]
    assert table["native-country"].to_pylist() == ["United-States", None, "United-States"]
    assert table["fnlwgt"].type == pa.int64()


def test_adult_parts_and_complete_rows(folder: Path) -> None:
    assert adult(folder)["age"].to_pylist() == [39, 25]
    assert adult(folder, part="train")["age"].to_pylist() == [39]
    assert adult(folder, part="train", complete=False)["age"].to_pylist() == [39, 50]
    assert adult(folder, part="test")["age"].to_pylist() == [25]
    with pytest.raises(UsageError, match="part must be"):
        adult(folder, part="valid")


def test_a_changed_or_missing_adult_file_is_refused(folder: Path) -> None:
    (folder / "adult.test").write_text(TEST.replace("25", "26"))
    with pytest.raises(DataError, match=r"adult\.test is not the UCI file") as changed:
        adult(folder)
    assert "26" not in str(changed.value).replace(str(folder), "")
    (folder / "adult.data").unlink()
    with pytest.raises(DataError, match=r"adult\.data not found"):
        adult(folder)


def test_a_written_table_is_the_table(folder: Path, tmp_path: Path) -> None:
    write_table(adult(folder), tmp_path / "adult.parquet")
    assert pyarrow.parquet.read_table(tmp_path / "adult.parquet").equals(adult(folder))


@pytest.mark.adult
def test_the_real_adult_has_the_published_numbers_of_rows(adult_dir: Path) -> None:
    assert adult(adult_dir).num_rows == 45_222
    assert adult(adult_dir, part="train").num_rows == 30_162
    assert adult(adult_dir, part="test").num_rows == 15_060
    everything = adult(adult_dir, complete=False)
    assert everything.num_rows == 32_561 + 16_281
    assert pc.count_distinct(everything["salary-class"]).as_py() == 2
    assert pc.count_distinct(adult(adult_dir)["occupation"]).as_py() == 14


@pytest.mark.parametrize(("n", "error"), [(2**32, UsageError), (10**15, UsageError), (3 * 10**9, DataError)])
def test_a_census_that_cannot_be_written_is_refused_at_once(
    tmp_path: Path, n: int, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=29 * 10**9)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(error, match="rows"):
        people_module.write_census(n, 0, tmp_path / "big.parquet")
    people_module.write_census(10, 0, tmp_path / "small.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["small.parquet"]
