# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from anoncore import fields


def test_fields(versus, n_rows):
    """Ten columns, of a hundred texts and of numbers, against Arrow's reader of CSV into dictionaries."""
    rng = np.random.default_rng(0)
    words = pa.array([f"value {i}" for i in range(100)])
    numbers = rng.integers(0, 1000, (5, n_rows))
    texts = rng.integers(0, len(words), (5, n_rows))
    table = pa.table(
        [*(pa.array(each) for each in numbers), *(words.take(pa.array(each)) for each in texts)],
        names=[f"c{i}" for i in range(10)],
    )
    sink = pa.BufferOutputStream()
    pa_csv.write_csv(table, sink)
    content = sink.getvalue()
    rows = np.frombuffer(content, np.uint8)[content.to_pybytes().index(b"\n") + 1 :]
    kinds = dict.fromkeys(table.column_names, pa.dictionary(pa.int32(), pa.string()))
    convert = pa_csv.ConvertOptions(column_types=kinds, strings_can_be_null=True)
    parse = pa_csv.ParseOptions(newlines_in_values=True)
    one = pa_csv.ReadOptions(use_threads=False, block_size=len(content))
    nothing = np.zeros(2, np.int64), np.empty(0, np.uint8)

    versus(
        f"anoncore.fields, {n_rows:,} rows x 10 columns",
        lambda: fields.fields(rows, 10, np.arange(10), ord(","), *nothing, 0),
        f"pyarrow {pa.__version__} read_csv into dictionaries, one thread",
        lambda: pa_csv.read_csv(pa.BufferReader(content), one, parse, convert),
        bar=1.0,
    )
    first = fields.fields(rows, 10, np.arange(1), ord(","), *nothing, 0)[0]
    assert len(first[0]) == n_rows


def test_whole_rows(versus, n_rows):
    """The end of a text of quoted fields, of which the last is not whole, against NumPy."""
    text = np.frombuffer(b'1,"a, ""b""\n"\n' * n_rows + b'1,"a\n', np.uint8)

    def by_numpy():
        is_outside = np.cumsum(text == ord('"')) % 2 == 0
        return int(np.flatnonzero((text == ord("\n")) & is_outside)[-1]) + 1

    versus(
        f"anoncore.whole_rows, {n_rows:,} rows",
        lambda: fields.whole_rows(text),
        f"NumPy {np.__version__} cumsum of quotes",
        by_numpy,
        bar=1.0,
    )
    assert fields.whole_rows(text) == by_numpy() == len(text) - 5
