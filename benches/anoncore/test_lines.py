# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from anoncore import lines


def test_lines(versus, n_rows):
    """Ten columns of a hundred texts, against Arrow's writer of CSV."""
    rng = np.random.default_rng(0)
    words = [f"value {i}" for i in range(100)]
    codes = [rng.integers(0, len(words), n_rows).astype(np.uint32) for _ in range(10)]
    values = pa.array(words)
    table = pa.table([values.take(pa.array(each)) for each in codes], names=[f"c{i}" for i in range(10)])
    cells = [
        [f'"{word}"{end}'.encode() for word in words]
        for end in ["," * (i < 9) + "\n" * (i == 9) for i in range(10)]
    ]
    starts = [np.cumsum([0, *map(len, each)]) for each in cells]
    texts = [np.frombuffer(b"".join(each), np.uint8) for each in cells]

    def theirs():
        sink = pa.BufferOutputStream()
        pa_csv.write_csv(table, sink, pa_csv.WriteOptions(include_header=False))
        return sink.getvalue()

    versus(
        f"anoncore.lines, {n_rows:,} rows x 10 columns of text",
        lambda: lines.lines(codes, starts, texts, n_rows),
        f"pyarrow {pa.__version__} write_csv",
        theirs,
        bar=1.0,
    )
    assert lines.lines(codes, starts, texts, n_rows).tobytes() == theirs().to_pybytes()
