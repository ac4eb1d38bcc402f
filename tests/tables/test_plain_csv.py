# SPDX-License-Identifier: Apache-2.0
"""Plain CSV is read as Arrow's reader reads it, and what is not plain by that alone."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from anon.errors import AnonError
from anon.schema import value_type
from anon.tables import csv as module
from anon.tables import fields
from anon.tables.csv import Csv

PIECE = 64  # bytes
CELL = st.one_of(
    st.sampled_from(
        ["", "NA", "a", "1", "1.5", "01234", "true", "2020-01-31", "31.12.1999", " a ", "\0", "é"]
    ),
    st.text('a1"\0,;\n\ré ', max_size=8),
)
QUOTED = CELL.map(lambda text: '"' + text.replace('"', '""') + '"')
BARE = CELL.filter(lambda text: not {*text} & {*'",;\n\r'})
END = st.sampled_from(["\n", "\n", "\r\n", "\n\n"])


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """CSV files that are plain, but for one odd bit in some."""
    n_columns = draw(st.integers(1, 4))
    mark = draw(st.sampled_from(",;"))
    header = mark.join(f"c{i}" for i in range(n_columns))
    rows = [
        mark.join(draw(st.one_of(QUOTED, BARE)) for _ in range(n_columns))
        for _ in range(draw(st.integers(0, 30)))
    ]
    text = draw(st.sampled_from(["", "", "", "\ufeff", "\n", "sep=;\n"])) + header
    text += "".join(draw(END) + row for row in rows) + draw(st.sampled_from(["", "\n", "\r\n"]))
    if draw(st.integers(0, 3)) == 0:
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.sampled_from(['"', "\r", ",", "x,y\n", "\n"])) + text[at:]
    content = text.encode()
    return content + b"\xff" if draw(st.integers(0, 9)) == 0 else content


def outcome(how: Csv, path: Path, columns: list[str] | None = None) -> Any:
    """What is read, column by column, or the error's words."""
    try:
        table = how.read(path, columns=columns)
    except AnonError as error:
        return str(error)
    return {
        name: (str(value_type(each.type)), each.to_pylist())
        for name, each in zip(table.column_names, table.columns, strict=True)
    }


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Read a content as it is read, in small pieces, and by Arrow's reader alone."""
    monkeypatch.setattr(fields, "PIECE", PIECE)
    monkeypatch.setattr(fields, "MOST_HEADER", PIECE // 2)
    path = tmp_path / "a.csv"

    def read(content: bytes, columns: list[str] | None = None, **options: Any) -> tuple[Any, Any]:
        path.write_bytes(content)
        how = Csv(**({"null": (), "delimiter": None, "encoding": "utf-8"} | options))
        found = outcome(how, path, columns)
        with pytest.MonkeyPatch.context() as alone:
            alone.setattr(Csv, "_plain", lambda *_: None)
            return found, outcome(how, path, columns)

    return read


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=files(), header=st.booleans(), null=st.sampled_from([(), ("NA", "1"), ('"', "")]))
@example(content=b"a,b\n1,2\n3\n", header=True, null=())
@example(content=b"a,a\n1,2\n", header=True, null=())
@example(content=b"a,\n1,2\n", header=True, null=())
@example(content=b"a,b\n", header=True, null=())
@example(content=b"a,b", header=True, null=())
@example(content=b'"a\nb",c\n1,"2\r\n3"\n', header=True, null=())
@example(content=b'"a"b,c\n1,2\n', header=True, null=())
@example(content=b'a,b\n1,"' + b"x" * 200 + b'"\n1,2\n', header=True, null=())
@example(content=b'a,b\n1,"' + b"\n" * 30 + b'"\n1,2\n' * 9, header=True, null=())
@example(content=b"a,b\r1,2\r", header=True, null=())
def test_it_is_read_as_by_arrow(both: Any, content: bytes, header: bool, null: tuple[str, ...]) -> None:
    found, expected = both(content, header=header, null=null)
    assert found == expected


def test_a_quote_in_the_header_that_does_not_end_takes_no_time(tmp_path: Path) -> None:
    """Each of many lines might end it; that is minutes where all before is looked at for each."""
    path = tmp_path / "a.csv"
    path.write_bytes(b'a,5" b\n' + b'"",1\n' * 250_000)
    assert Csv((), None, "utf-8").read(path)['5" b'].to_pylist() == [1] * 250_000


def test_columns_are_read_alone_and_in_their_order(both: Any) -> None:
    content = b"a,b,c,d\n" + b"".join(b'%d,"x%d",,2.5\r\n' % (i, i % 3) for i in range(100))
    found, expected = both(content, ["d", "b"])
    assert found == expected
    assert [*found] == ["b", "d"]
    assert found["b"][1] == [f"x{i % 3}" for i in range(100)]


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_plain_files_are_not_read_by_arrow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """So that the other tests see what is theirs."""
    monkeypatch.setattr(fields, "PIECE", PIECE)
    monkeypatch.setattr(fields, "MOST_HEADER", PIECE // 2)
    path = tmp_path / name
    content = b'\xef\xbb\xbfid,"a ""b"""\n' + b'1,"x"\r\n,"y, ""z\n"\n' * 50
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    monkeypatch.setattr(module.pa_csv, "read_csv", _fails_on_files(module.pa_csv.read_csv))
    told: list[int] = []
    table = Csv((), None, "utf-8").read(path, told=(lambda _, done, total: told.append(done), 0, 500))
    assert table.to_pydict() == {"id": [1, None] * 50, 'a "b"': ["x", 'y, "z\n'] * 50}
    assert told


def _fails_on_files(read: Any) -> Any:
    def only_texts(source: Any, *options: Any) -> pa.Table:
        assert isinstance(source, pa.BufferReader)
        return read(source, *options)

    return only_texts


def test_a_file_that_cannot_be_read_on_is_told_of(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    content = gzip.compress(b"a,b\n" + b"".join(b"%d,%d\n" % (i, i * i) for i in range(9999)))
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(AnonError, match=r"a\.csv\.gz"):
        Csv((), None, "utf-8").read(path)


@pytest.mark.parametrize("content", [b"a\n1\n", b"a,b\n1,2\n", b"a,b,d\n1,2,3\n", b"a,b,c,d\n1,2,3,4\n", b""])
def test_a_header_that_changes_meanwhile_is_left_to_arrow(tmp_path: Path, content: bytes) -> None:
    path, how, untold = tmp_path / "a.csv", Csv((), None, "utf-8"), (None, 0, 0)
    path.write_bytes(b"a,b,c\n1,2,3\n")
    header = how.options(path)[3]
    assert how._plain(path, header, ["c"], untold) is not None
    path.write_bytes(content)
    assert how._plain(path, header, ["c"], untold) is None


def test_a_name_that_arrow_reads_differently_is_told_of_with_null_texts(tmp_path: Path) -> None:
    """Two byte order marks, of which it takes one away and the encoding another."""
    path = tmp_path / "a.csv"
    path.write_bytes("\ufeff\ufeffa,b,c\n1,2,3\n".encode())
    with pytest.raises(AnonError, match="is not CSV"):
        list(Csv(("x",), None, "utf-8-sig").null_hits(path))


@pytest.mark.slow
def test_more_than_2_gib_of_text(tmp_path: Path) -> None:
    """Each piece has its own dictionary; together they are more than one holds."""
    path, n = tmp_path / "a.csv", 22_000
    with path.open("wb") as file:
        file.write(b"id,text\n")
        for i in range(n):
            file.write(b'%d,"%d %s"\n' % (i % 7, i, b"x" * 100_000))
    assert path.stat().st_size > 2**31
    table = Csv((), None, "utf-8").read(path)
    assert table.num_rows == n
    assert table["id"].to_pylist() == [i % 7 for i in range(n)]
    assert [each.as_py()[:6].split()[0] for each in table["text"].slice(n - 2)] == [str(n - 2), str(n - 1)]
