# SPDX-License-Identifier: Apache-2.0
"""Tables of very many columns, and names that are very long: time grows as the table does."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anon
import anon.release.release
from anon.command.entry import main
from anon.errors import DataError
from anon.release.recoding import refuse_clashes

FEW, MANY = 500, 4000
MOST = 18  # times longer for MANY than for FEW: 8 where it is linear, up to 64 where it is quadratic

pytestmark = pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")


def name(i: int) -> str:
    return f"column{i}"


def written(path: Path, n_columns: int) -> Path:
    """A CSV file of four rows: numbers, texts, and numbers that are text because of a zero."""
    kinds = (lambda row: str(row // 2), lambda row: "abab"[row], lambda row: f"0{row}")
    with path.open("w") as file:
        file.write(",".join(map(name, range(n_columns))) + "\n")
        for row in range(4):
            file.write(",".join(kinds[i % 3](row) for i in range(n_columns)) + "\n")
    return path


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict[str, Path]]:
    """The tables, and the releases made of them, by their number of columns."""
    folder = tmp_path_factory.mktemp("wide")
    made: dict[int, dict[str, Path]] = {}
    for n in (FEW, MANY):
        source = written(folder / f"{n}.csv", n)
        pandas = {"index_columns": [], "columns": [{"name": name(i)} for i in range(n)]}
        table = anon.read_table(source).replace_schema_metadata({"pandas": json.dumps(pandas)})
        pq.write_table(table, folder / f"{n}.parquet")
        release = anonymized(source)
        for suffix in ("csv", "parquet", "feather"):
            release.write(folder / f"{n}.out.{suffix}")
        made[n] = {
            "csv": source,
            "parquet": folder / f"{n}.parquet",
            **{f"{suffix} release": folder / f"{n}.out.{suffix}" for suffix in ("csv", "parquet", "feather")},
        }
    return made


SCHEMA = anon.Schema([name(0), name(1)], [name(3)])


def anonymized(source: Path, schema: anon.Schema = SCHEMA, **reading: Any) -> anon.release.release.Release:
    return anon.anonymize(anon.read_source(source, **reading), schema, require=[anon.KAnonymity(2)])


def mostly_identifying(n_columns: int) -> anon.Schema:
    return anon.Schema([name(0)], [], [name(i) for i in range(1, n_columns)])


JOBS: dict[str, Callable[[dict[str, Path], int], Any]] = {
    "read CSV": lambda files, n: anon.read_source(files["csv"]),
    "stream CSV": lambda files, n: anon.read_source(files["csv"], engine="stream"),
    "read Parquet": lambda files, n: anon.read_source(files["parquet"]),
    "stream Parquet": lambda files, n: anon.read_source(files["parquet"], engine="stream"),
    "wanted columns": lambda files, n: anon.read_source(
        files["parquet"], columns=[name(i) for i in range(n)]
    ),
    "inspect": lambda files, n: anon.inspect(files["parquet"]),
    "anonymize": lambda files, n: anonymized(files["csv"]),
    "drop": lambda files, n: anonymized(files["parquet"], mostly_identifying(n)),
    "check CSV": lambda files, n: anon.check(files["csv release"], SCHEMA),
    "check Parquet": lambda files, n: anon.check(files["parquet release"]),
    "check Feather": lambda files, n: anon.check(files["feather release"]),
}


@pytest.mark.parametrize("job", JOBS)
def test_time_grows_as_the_number_of_columns(job: str, wide: dict[int, dict[str, Path]]) -> None:
    def seconds(n: int, times: int) -> float:
        """Of the processors, the least of some tries."""
        tries = []
        for _ in range(times):
            start = time.process_time()
            JOBS[job](wide[n], n)
            tries.append(time.process_time() - start)
        return min(tries)

    few = seconds(FEW, 3)
    assert any(seconds(MANY, 1) < MOST * few for _ in range(3))


def test_writing_takes_as_long_as_there_are_columns(wide: dict[int, dict[str, Path]], tmp_path: Path) -> None:
    def seconds(n: int, times: int) -> float:
        release = anonymized(wide[n]["csv"])
        tries = []
        for _ in range(times):
            start = time.process_time()
            for suffix in ("csv", "parquet", "feather"):
                release.write(tmp_path / f"out.{suffix}")
            tries.append(time.process_time() - start)
        return min(tries)

    few = seconds(FEW, 3)
    assert any(seconds(MANY, 1) < MOST * few for _ in range(3))


def test_a_wide_table_is_read_as_a_narrow_one(wide: dict[int, dict[str, Path]], tmp_path: Path) -> None:
    """Types and values of every column are those that it has in a file of three columns."""
    narrow = anon.read_table(written(tmp_path / "narrow.csv", 3))
    table = anon.read_table(wide[MANY]["csv"])
    assert table.column_names == [name(i) for i in range(MANY)]
    assert [str(kind) for kind in narrow.schema.types] == ["int64", "string", "string"]
    for i, column in enumerate(table.columns):
        assert column.equals(narrow.column(i % 3))
    streamed = anon.read_source(wide[MANY]["csv"], engine="stream").table.whole()
    assert streamed.equals(table)


def test_files_that_type_a_column_differently_agree(tmp_path: Path) -> None:
    for i, value in enumerate(("1", "1.5")):
        (tmp_path / f"{i}.csv").write_text(f"a,b,c\n{value},x,{value}\n")
    table = anon.read_table(tmp_path)
    assert table.schema == pa.schema([("a", pa.float64()), ("b", pa.string()), ("c", pa.float64())])
    assert table.column("c").to_pylist() == [1.0, 1.5]


def test_a_derived_column_that_has_the_name_of_another() -> None:
    refuse_clashes(
        [name(i) for i in range(9)], [(f"{name(i)}_min", name(i)) for i in range(9)], "generalization"
    )
    for taken, derived in ((["a_min"], [("a_min", "a")]), ([], [("a_min", "a"), ("a_min", "a_m")])):
        with pytest.raises(anon.errors.UsageError, match="'a_min', which would also be made from 'a'"):
            refuse_clashes(taken, derived, "generalization")


def test_a_message_names_some_of_very_many_columns(wide: dict[int, dict[str, Path]]) -> None:
    with pytest.raises(DataError) as slip:
        anonymized(wide[MANY]["csv"], anon.Schema(["colunm7"]))
    assert "the table has no column 'colunm7'; did you mean 'column7'" in str(slip.value)
    assert str(slip.value).endswith("'column98', 'column99' and 3900 more")


# Long names


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("engine", ["local", "stream"])
def test_a_header_longer_than_a_field_may_be(delimiter: str, engine: Any, tmp_path: Path) -> None:
    names = [f"{i:03}".ljust(500, "x") for i in range(320)]
    path = tmp_path / "long.csv"
    rows = [delimiter.join(str((row + i) % 2) for i in range(320)) for row in range(4)]
    path.write_text("\n".join([delimiter.join(names), *rows]) + "\n")
    assert len(path.read_text().splitlines()[0]) > csv.field_size_limit()
    source = anon.read_source(path, engine=engine)
    assert source.table.column_names == names
    release = anon.anonymize(source, anon.Schema(names[:2]), require=[anon.KAnonymity(2)])
    release.write(tmp_path / "out.csv")
    assert anon.check(tmp_path / "out.csv", anon.Schema(names[:2])).k == 2


@pytest.mark.parametrize("options", [[], ["--delimiter", ","]])
def test_a_name_longer_than_a_field_may_be(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "long.csv"
    path.write_text("\n\n" + "x" * 200_000 + ",b\n1,2\n")
    assert main(["inspect", str(path), *options]) == 2
    told = capsys.readouterr().err
    assert "line 3: the name of a column has more than 131072 characters; shorten it" in told
