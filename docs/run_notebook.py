# SPDX-License-Identifier: Apache-2.0
"""Runs a notebook of the documentation and writes what its cells show: no Jupyter is needed.

python docs/run_notebook.py docs/notebook.ipynb
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the output of its code, run cell by cell as one program."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    cells, n_run = [], 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            n_run += 1
            outputs = _outputs("".join(cell["source"]), scope, n_run)
            cell = {**cell, "execution_count": n_run, "outputs": outputs}
        cells.append(cell)
    return {**notebook, "cells": cells}


def _outputs(source: str, scope: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """What is printed, then what the last line is, if it is an expression."""
    program = ast.parse(source)
    last = program.body.pop() if program.body and isinstance(program.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(program, f"cell {number}", "exec"), scope)
        value = None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), scope)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())})
    if value is not None:
        data = {"text/plain": _lines(repr(value))}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = _lines(value._repr_html_())
        made = {"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": data}
        outputs.append(made)
    return outputs


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main() -> None:
    """Run each notebook that is named, in place."""
    for name in sys.argv[1:]:
        path = Path(name)
        made = executed(json.loads(path.read_text()))
        path.write_text(json.dumps(made, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    main()
