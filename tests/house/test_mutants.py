# SPDX-License-Identifier: Apache-2.0
"""How surviving mutants are told from explained ones; the run itself takes many minutes."""

from __future__ import annotations

from pathlib import Path

import pytest

import mutants
from mutants import Change

SHOWN = """\
# anon.measures.privacy.xǁPrivacyǁto_dict__mutmut_6: survived
--- src/anon/measures/privacy.py
+++ src/anon/measures/privacy.py
@@ -1,5 +1,4 @@
 def to_dict(self):
-    plain = f(
-        a, b, strict=True)
+    plain = f(a, b, )
     return plain
"""


@pytest.mark.parametrize(
    ("mutant", "function"),
    [
        ("anon.measures.privacy.x_measure__mutmut_12", "anon.measures.privacy.measure"),
        ("anon.measures.risk.x_prosecutor_risk__mutmut_9", "anon.measures.risk.prosecutor_risk"),
        ("anon.measures.privacy.xǁPrivacyǁ__repr____mutmut_1", "anon.measures.privacy.Privacy.__repr__"),
        ("reference.requirement.x_js__mutmut_1", "reference.requirement.js"),
    ],
)
def test_the_function_of_a_mutant(mutant: str, function: str) -> None:
    assert mutants.function_of(mutant) == function


def test_a_mutant_is_read_from_its_diff() -> None:
    expected = Change(
        "anon.measures.privacy.Privacy.to_dict", "plain = f(\na, b, strict=True)", "plain = f(a, b, )"
    )
    assert mutants.change_of(SHOWN) == expected


@pytest.mark.parametrize(
    ("before", "after", "explained"),
    [
        ("x = f(a, 1) + f(b, 1)", "x = f(a, 1) + f(b, 2)", True),  # the whole line
        ("f(b, 1)", "f(b, 2)", True),  # a part
        (", 1)", ", 2)", True),  # that is there twice, and changed once
        ("f(a, 1)", "f(a, 2)", False),  # changed elsewhere
        ("f(b, 1)", "f(b, 3)", False),  # otherwise
        ("f(c, 1)", "f(c, 2)", False),  # not there
    ],
)
def test_an_explanation_fits_one_change_of_one_function(before: str, after: str, explained: bool) -> None:
    survivor = Change("m.f", "x = f(a, 1) + f(b, 1)", "x = f(a, 1) + f(b, 2)")
    assert mutants.explains(Change("m.f", before, after), survivor) == explained
    assert not mutants.explains(Change("m.g", before, after), survivor)


def test_what_is_unexplained_and_what_has_no_survivor() -> None:
    survivors = [Change("m.f", "a < b", "a <= b"), Change("m.g", "a < b", "a <= b")]
    explained = [Change("m.f", "<", "<="), Change("m.f", "<", ">")]
    assert mutants.unmatched(explained, survivors) == ([survivors[1]], [explained[1]])


def test_explanations_name_functions_and_text_that_exist() -> None:
    path = Path(mutants.__file__).with_suffix(".toml")
    explained = mutants.read_explained(path)
    assert len(set(explained)) == len(explained) > 0
    for each in explained:
        path = mutants.ROOT / ("tests" if each.function.startswith("reference") else "src")
        for name in each.function.split("."):
            path = path if path.suffix else path / name
            path = path.with_suffix(".py") if path.with_suffix(".py").is_file() else path
        source = path.read_text("utf-8")
        flat = "\n".join(map(str.strip, source.splitlines()))
        assert each.before in flat, each
        assert f"def {each.function.rpartition('.')[2]}(" in flat, each
