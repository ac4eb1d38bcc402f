# SPDX-License-Identifier: Apache-2.0
"""Full-domain recoding: nodes, scores and suppressed rows, against plain enumeration and printed values."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anon
from anon.command.entry import main
from reference import lattice as slow

AGES = [*range(21, 25), *range(31, 35), 41, 65]
MICRO = pa.table({"age": [str(age) for age in AGES], "sex": list("MMFFMFFFMM")})
AGE_TREE = {
    "*": {
        "young": {"20s": ["21", "22", "23", "24"], "30s": ["31", "32", "33", "34"]},
        "old": {"40+": ["41", "65"]},
    }
}


def micro(weights: tuple[float, float] = (1, 1)) -> anon.Schema:
    return anon.Schema([anon.nominal("age", AGE_TREE, weights[0]), anon.nominal("sex", weight=weights[1])])


def node_of(table: pa.Table, schema: anon.Schema, k: int, suppress: float = 0, **options: Any) -> Any:
    release = anon.anonymize(
        table, schema, require=[anon.KAnonymity(k)], method=anon.FullDomain(**options), suppress=suppress
    )
    best = release.lattice.judged[release.lattice.best]
    assert release.privacy().k >= k
    assert best.n_suppressed == table.num_rows - release.n_rows
    return release.levels, best.score, best.n_suppressed


@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
@pytest.mark.parametrize(
    ("quality", "k", "suppress", "weights", "levels", "score", "n_suppressed"),
    [
        ("loss", 2, 0, (1, 1), (2, 0), 29 / 90, 0),
        ("dm", 2, 0, (1, 1), (1, 1), 36, 0),
        ("aecs", 2, 0, (1, 1), (1, 1), 10 / 3, 0),
        ("loss", 2, 0.1, (1, 1), (1, 0), 41 / 180, 1),
        ("dm", 2, 0.1, (1, 1), (1, 0), 31, 1),
        ("precision", 2, 0.1, (1, 1), (1, 0), 1 / 4, 1),
        ("loss", 3, 0.2, (1, 1), (3, 0), 1 / 2, 0),
        ("precision", 3, 0.2, (1, 1), (2, 0), 7 / 15, 2),
        ("aecs", 3, 0.2, (1, 1), (1, 1), 10 / 3, 2),
        ("loss", 2, 0.2, (1, 3), (2, 0), 29 / 180, 0),
    ],
)
def test_ten_rows_as_arx_recodes_them(
    quality: str,
    k: int,
    suppress: float,
    weights: tuple[float, float],
    levels: tuple[int, int],
    score: float,
    n_suppressed: int,
) -> None:
    found = node_of(MICRO, micro(weights), k, suppress, quality=quality)
    assert found == (levels, pytest.approx(score, abs=1e-9), n_suppressed)


SMALL = ("age", "sex", "race")
FOUR = ("age", "marital-status", "race", "sex")
SEVEN = ("age", "education", "marital-status", "native-country", "race", "sex", "workclass")


@pytest.mark.adult
@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
@pytest.mark.parametrize(
    ("names", "k", "suppress", "quality", "levels", "score", "n_suppressed"),
    [
        (SMALL, 5, 0, "loss", "400", 1 / 3, 0),
        (SMALL, 10, 0, "dm", "101", 124_598_238, 0),
        (SMALL, 5, 0.05, "loss", "000", 0.0080491796, 364),
        (SMALL, 5, 0.05, "dm", "001", 26_491_267, 25),
        (SMALL, 10, 0.05, "loss", "100", 0.0151259770, 76),
        (SMALL, 10, 0.05, "precision", "000", 0.0233735792, 1057),
        (FOUR, 5, 0, "loss", "4100", 0.3583792181, 0),
        (FOUR, 5, 0, "dm", "1111", 123_542_232, 0),
        (FOUR, 5, 0.05, "loss", "1000", 0.0211991214, 507),
        (FOUR, 5, 0.05, "dm", "0110", 19_156_856, 66),
        (FOUR, 5, 0.05, "precision", "0000", 0.0421476273, 1906),
        (SEVEN, 5, 0, "loss", "4202102", 0.6237964665, 0),
        (SEVEN, 5, 0, "dm", "1222112", 110_037_788, 0),
        (SEVEN, 10, 0, "loss", "4312002", 0.6333595532, 0),
        (SEVEN, 10, 0, "precision", "4312002", 0.6428571429, 0),
        (SEVEN, 10, 0, "aecs", "4012112", 1413.1875, 0),
    ],
)
def test_adult_as_arx_recodes_it(
    adult_dir: Path,
    names: tuple[str, ...],
    k: int,
    suppress: float,
    quality: str,
    levels: str,
    score: float,
    n_suppressed: int,
) -> None:
    table = anon.datasets.adult(adult_dir).select(names)
    schema = anon.Schema([anon.nominal(name, adult_dir / "hierarchies" / f"{name}.csv") for name in names])
    found = node_of(table, schema, k, suppress, quality=quality, domain="file")
    assert found == (tuple(map(int, levels)), pytest.approx(score, rel=1e-8), n_suppressed)


# --- against enumeration


def loss(rows: list[Any], ladders: Any, weights: list[float]) -> Any:
    """The loss of a node by its definition."""

    def score(node: tuple[int, ...], classes: list[list[int]], out: set[int]) -> float:
        total = 0.0
        for a, g in enumerate(node):
            values = {row[a] for row in rows}
            below = Counter(ladders[a][g][value] for value in values)
            lost = sum(
                1 if i in out else (below[ladders[a][g][row[a]]] - 1) / max(len(values) - 1, 1)
                for i, row in enumerate(rows)
            )
            total += weights[a] * lost / len(rows)
        return total / sum(weights)

    return score


def squares(rows: list[Any], ladders: Any, weights: list[float]) -> Any:
    return lambda node, classes, out: sum(
        len(rows) * len(one) if one[0] in out else len(one) ** 2 for one in classes
    )


@st.composite
def tables(draw: st.DrawFn) -> dict[str, Any]:
    """Two or three columns with trees of two levels above some of them, and a sensitive one."""
    n = draw(st.integers(1, 24))
    columns, trees = {}, []
    for a in range(draw(st.integers(1, 3))):
        size = draw(st.integers(1, 5))
        columns[f"q{a}"] = [str(draw(st.integers(0, size - 1))) for _ in range(n)]
        trees.append({"*": {f"g{g}": [str(v) for v in range(6) if v % 2 == g] for g in range(2)}})
        if draw(st.booleans()):
            trees[-1] = None
    columns["s"] = [draw(st.sampled_from("xyz")) for _ in range(n)]
    weights = [float(draw(st.integers(1, 3))) for _ in trees]
    return {
        "table": pa.table(columns),
        "trees": trees,
        "weights": weights,
        "suppress": draw(st.sampled_from([0, 0.1, 0.3])),
        "k": draw(st.integers(1, 4)),
        "rule": draw(st.sampled_from(["", "distinct", "share", "equal"])),
        "quality": draw(st.sampled_from(["loss", "dm"])),
    }


def demanded(case: dict[str, Any]) -> tuple[list[Any], Any]:
    """What is required, and the same as a test of a class of row numbers against the published rows."""
    secret, k = case["table"]["s"].to_pylist(), case["k"]
    require: list[Any] = [anon.KAnonymity(k)]
    if case["rule"] == "distinct":
        require.append(anon.LDiversity(2, kind="distinct"))
    if case["rule"] == "share":
        require.append(anon.LDiversity(1.5))
    if case["rule"] == "equal":
        require.append(anon.TCloseness(0.3, distance="equal"))

    def passes(rows: list[int], table: list[int]) -> bool:
        counts, whole = Counter(secret[i] for i in rows), Counter(secret[i] for i in table)
        distance = (
            sum(abs(Fraction(counts[v], len(rows)) - Fraction(whole[v], len(table))) for v in whole) / 2
        )
        return (
            len(rows) >= k
            and {
                "": True,
                "distinct": len(counts) >= 2,
                "share": Fraction(max(counts.values()), len(rows)) <= Fraction(2, 3),
                "equal": distance <= Fraction(3, 10),
            }[case["rule"]]
        )

    return require, passes


@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
@settings(max_examples=150, deadline=None)
@given(tables())
def test_the_best_node_is_that_of_enumeration(case: dict[str, Any]) -> None:
    names = [name for name in case["table"].column_names if name != "s"]
    rows = list(zip(*(case["table"][name].to_pylist() for name in names), strict=True))
    ladders = []
    for a, tree in enumerate(case["trees"]):
        values = {row[a] for row in rows}
        ladders.append(
            [{v: v for v in values}, {v: f"g{int(v) % 2}" for v in values}, dict.fromkeys(values, "*")]
        )
        if tree is None:
            del ladders[-1][1]
        elif len(set(ladders[-1][1].values())) == 1:
            del ladders[-1][2]  # what all values have in common is the last level
    require, passes = demanded(case)
    most = math.floor(Fraction(str(case["suppress"])) * len(rows))
    score = {"loss": loss, "dm": squares}[case["quality"]](rows, ladders, case["weights"])
    expected = slow.best_node(rows, ladders, passes, score, most)
    schema = anon.Schema(
        [
            anon.nominal(name, tree, weight)
            for name, tree, weight in zip(names, case["trees"], case["weights"], strict=True)
        ],
        ["s"],
    )
    try:
        release = anon.anonymize(
            case["table"],
            schema,
            require=require,
            method=anon.FullDomain(quality=case["quality"]),
            suppress=case["suppress"],
        )
    except anon.InfeasibleError:
        assert not passes(list(range(len(rows))), list(range(len(rows))))
        return
    assert release.levels == expected
    looks = [tuple(ladders[a][g][row[a]] for a, g in enumerate(release.levels)) for row in rows]
    published = Counter(map(looks.__getitem__, release.classes.rows.tolist()))
    assert sorted(published.values()) == sorted(release.classes.sizes.tolist())
    assert len(release.classes.suppressed) <= most


# --- as a user sees it


def test_levels_are_applied_as_given_and_name_the_share_that_they_need() -> None:
    method = anon.FullDomain(levels=[1, 0])
    with pytest.raises(anon.InfeasibleError, match=r"leave 1 of 10 rows .* suppress=0\.1"):
        anon.anonymize(MICRO, micro(), require=[anon.KAnonymity(2)], method=method)
    with pytest.warns(anon.PrivacyWarning, match="1 of 10 rows are left out"):
        release = anon.anonymize(MICRO, micro(), require=[anon.KAnonymity(2)], method=method, suppress=0.1)
    assert release.levels == (1, 0)
    assert set(release.table["age"].to_pylist()) == {"20s", "30s", "40+"}
    assert release.n_rows == 9


@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
def test_a_column_of_one_leaf_below_a_label_shows_the_label() -> None:
    table = pa.table({"zip": ["12345", "12999", "13000", "13000"], "n": [1, 1, 1, 1]})
    schema = anon.Schema([anon.nominal("zip", anon.prefix(2)), "n"])
    release = anon.anonymize(
        table, schema, require=[anon.KAnonymity(1)], method=anon.FullDomain(levels=[1, 0])
    )
    assert sorted(release.table["zip"].to_pylist()) == ["12", "12", "13", "13"]


@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
def test_numbers_and_missing_values(tmp_path: Path) -> None:
    table = pa.table(
        {"age": [21, 22, 33, None, 38, 61], "sex": ["m", None, "f", "f", "m", "f"], "s": list("abcabc")}
    )
    schema = anon.Schema([anon.numeric("age", hierarchy=anon.intervals(10, 20)), "sex"], ["s"])
    release = anon.anonymize(
        table, schema, require=[anon.KAnonymity(1)], method=anon.FullDomain(levels=[1, 1])
    )
    assert sorted(release.table["age"].to_pylist()) == [
        "[20, 29]",
        "[20, 29]",
        "[30, 39]",
        "[30, 39]",
        "[60, 69]",
        "missing",
    ]
    assert set(release.table["sex"].to_pylist()) == {"* or missing"}
    release.write(tmp_path / "out.parquet")
    assert anon.check(tmp_path / "out.parquet").k == 1


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (anon.Schema([anon.numeric("a", hierarchy=anon.intervals(20, 50))]), "do not nest"),
        (
            anon.Schema(
                [anon.numeric("a", hierarchy={"*": {"old": ["51", "99"], "young": ["1", "21", "45"]}})]
            ),
            "declare it nominal",
        ),
    ],
)
def test_what_full_domain_refuses(schema: anon.Schema, words: str) -> None:
    table = pa.table({"a": [1, 21, 45, 51, 99], "b": [1, 2, 3, 4, 5]})
    with pytest.raises(anon.AnonError, match=words):
        anon.anonymize(table, schema, require=[anon.KAnonymity(2)], method=anon.FullDomain())


@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
def test_rows_in_another_order_give_the_same_node() -> None:
    order = np.random.default_rng(0).permutation(10)
    assert node_of(MICRO.take(pa.array(order)), micro(), 2, 0.1) == node_of(MICRO, micro(), 2, 0.1)


# --- persons with several rows


VISITS = pa.table(
    {
        "place": ["A1", "A1", "A2", "B1", "B1", "B2", "A1", "A2", "B2", "B1"],
        "who": [1, 1, 1, 2, 3, 3, 4, 5, 6, 2],
        "ill": list("xyxxyyxyxy"),
    }
)


def of_visits(**more: Any) -> anon.Schema:
    tree = {"*": {"A": ["A1", "A2"], "B": ["B1", "B2"]}}
    return anon.Schema([anon.nominal("place", tree)], ["ill"], unit="who", **more)


def units_of(release: anon.Release, table: pa.Table) -> list[set[int]]:
    who = table["who"].to_numpy()
    offsets = release.classes.offsets
    return [set(who[release.classes.rows[a:b]].tolist()) for a, b in pairwise(offsets)]


@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
def test_k_counts_units_where_the_schema_names_one() -> None:
    release = anon.anonymize(VISITS, of_visits(), require=[anon.KAnonymity(3)], method=anon.FullDomain())
    assert release.levels == (1,)
    assert sorted(map(len, units_of(release, VISITS))) == [3, 3]
    rows = anon.anonymize(
        VISITS, of_visits(), require=[anon.KAnonymity(2, count="rows")], method=anon.FullDomain()
    )
    assert rows.levels == (0,)


@st.composite
def visits(draw: st.DrawFn) -> tuple[pa.Table, int, float]:
    n = draw(st.integers(1, 24))
    places = draw(st.lists(st.sampled_from(["A1", "A2", "B1", "B2"]), min_size=n, max_size=n))
    who = draw(st.lists(st.integers(0, draw(st.integers(0, 9))), min_size=n, max_size=n))
    ill = draw(st.lists(st.sampled_from("xyz"), min_size=n, max_size=n))
    table = pa.table({"place": places, "who": who, "ill": ill})
    return table, draw(st.integers(1, 4)), draw(st.sampled_from([0, 0.2, 0.5]))


TREES = [{p: p for p in ("A1", "A2", "B1", "B2")}, {p: p[0] for p in ("A1", "A2", "B1", "B2")}]


def made_or_none(table: pa.Table, require: list[Any], suppress: float) -> anon.Release | None:
    try:
        return anon.anonymize(
            table, of_visits(), require=require, method=anon.FullDomain(), suppress=suppress
        )
    except anon.InfeasibleError:
        return None


@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
@settings(max_examples=80, deadline=None)
@given(visits(), st.booleans())
def test_units_of_classes_are_those_of_enumeration(case: tuple[pa.Table, int, float], diverse: bool) -> None:
    table, k, suppress = case
    rows = [(place,) for place in table["place"].to_pylist()]
    who, ill = table["who"].to_pylist(), table["ill"].to_pylist()

    def passes(some: list[int], of_table: list[int]) -> bool:
        pairs = {(ill[i], who[i]) for i in some}
        most = max(Counter(value for value, _ in pairs).values())
        return len({who[i] for i in some}) >= k and (not diverse or 3 * most <= 2 * len(pairs))

    require = [anon.KAnonymity(k), *([anon.LDiversity(1.5)] if diverse else [])]
    release = made_or_none(table, require, suppress)
    whole = list(range(len(rows)))
    if not passes(whole, whole):
        assert release is None
        return
    ladder = ladder_of_places({row[0] for row in rows})
    most = math.floor(Fraction(str(suppress)) * len(rows))
    expected = slow.best_node(rows, [ladder], passes, loss(rows, [ladder], [1.0]), most)
    assert release is not None
    assert release.levels == expected


def ladder_of_places(values: set[str]) -> list[dict[str, str]]:
    ladder = [{v: level[v] for v in values} for level in TREES]
    if len(set(ladder[1].values())) > 1 or len(values) == 1:
        ladder.append(dict.fromkeys(values, "*"))
    return ladder


@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
@settings(max_examples=80, deadline=None)
@given(visits())
def test_bags_of_cells_are_shared_by_k_units(case: tuple[pa.Table, int, float]) -> None:
    table, k, suppress = case
    release = made_or_none(table, [anon.KAnonymity(k, count="unit-bags")], suppress)
    who, places = table["who"].to_pylist(), table["place"].to_pylist()
    feasible = []
    for g, level in enumerate(ladder_of_places(set(places))):
        bags = {w: tuple(sorted(level[p] for p, v in zip(places, who, strict=True) if v == w)) for w in who}
        rare = {w for w in bags if Counter(bags.values())[bags[w]] < k}
        left_out = sum(w in rare for w in who)
        if left_out <= math.floor(Fraction(str(suppress)) * len(who)) and left_out < len(who):
            feasible.append((g, left_out))
    if release is None:
        assert not feasible
        return
    assert (release.levels[0], len(release.classes.suppressed)) in feasible
    assert release.privacy().units.k_bags >= k


# --- as a command


def test_the_command_applies_levels_and_its_way_out_of_too_many_suppressed_rows_works(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of three rows one is alone at the bottom: a third, which four digits cannot write."""
    source, out = tmp_path / "people.csv", tmp_path / "release.csv"
    source.write_text("age,sex\n21,F\n22,F\n31,M\n")
    (tmp_path / "age.csv").write_text("21;20s;*\n22;20s;*\n31;30s;*\n")
    words = [
        "anonymize",
        str(source),
        "-o",
        str(out),
        "--quasi",
        "age,sex",
        "--kind",
        "age=nominal",
        "--k",
        "2",
    ]
    words += ["--hierarchy", f"age={tmp_path / 'age.csv'}", "--method", "full-domain", "--quiet"]
    assert main([*words, "--levels", "1,0"]) == 1
    message = capsys.readouterr().err
    assert (
        "levels [1, 0] leave 1 of 3 rows in classes that fail: allow --suppress 0.3334, or choose" in message
    )
    assert main([*words, "--levels", "1,0", "--suppress", "0.3334"]) == 0
    assert out.read_text().splitlines()[1:] == ['"20s","F"'] * 2
    assert main([*words, "--levels", "0,0"]) == 1
    assert "3 of 3 rows in classes that fail: choose coarser levels" in capsys.readouterr().err
    assert main([*words, "--suppress", "0.4"]) == 0  # the best level is the same
    assert out.read_text().splitlines()[1:] == ['"20s","F"'] * 2
    for levels, message in (
        ("1,x", "takes whole numbers"),
        ("1", "1 numbers for 2"),
        ("3,0", "levels 0 to 2"),
    ):
        assert main([*words, "--levels", levels]) == 2
        assert message in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:only one class")
@pytest.mark.parametrize("null", [[], [None] * 4])
def test_levels_are_named_where_a_column_is_at_its_top(tmp_path: Path, null: list[None]) -> None:
    """Numbers, whose star has as many codes as the column has values."""
    table = pa.table({"age": pa.array([1, 2, 7, 12] * 3 + null, pa.int64())})
    schema = anon.Schema([anon.numeric("age", anon.intervals(5))])
    shown = []
    for top in range(3):
        release = anon.anonymize(
            table,
            schema,
            require=[anon.KAnonymity(3)],
            method=anon.FullDomain(levels=[top]),
            numeric="level",
        )
        release.write(tmp_path / "out.parquet")
        assert anon.check(tmp_path / "out.parquet", anon.Schema(["age"])).k >= 3
        shown.append(set(release.table["age"].to_pylist()))
    assert shown[1] - {"missing"} == {"[0, 5)", "[5, 10)", "[10, 15)"}
    assert shown[2] == {"*"} or (null and shown[2] <= {"*", "* or missing"})


# --- what random jobs found


def test_a_star_says_missing_where_suppressed_rows_are_left_out(tmp_path: Path) -> None:
    table = pa.table({"a": ["x", None, "y", "z", "x", "y", "x"], "b": list("ppppqqr")})
    with pytest.warns(anon.PrivacyWarning, match="1 of 7 rows are left out"):
        release = anon.anonymize(
            table,
            anon.Schema([anon.ordinal("a", list("xyz")), "b"]),
            require=[anon.KAnonymity(2)],
            method=anon.FullDomain(levels=[1, 0]),
            suppress=0.2,
        )
    assert release.table["a"].to_pylist() == ["* or missing"] * 6
    release.write(tmp_path / "out.csv")


@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
def test_labels_shorter_than_a_prefix_stay_as_they_are() -> None:
    table = pa.table({"zip": ["1", "1", "12", "120", "2", "2", "210", "211"]})
    release = anon.anonymize(
        table,
        anon.Schema([anon.nominal("zip", anon.prefix(2, 1))]),
        require=[anon.KAnonymity(2)],
        method=anon.FullDomain(),
    )
    assert release.levels == (1,)
    assert Counter(release.table["zip"].to_pylist()) == {"1": 2, "12…": 2, "2": 2, "21": 2}


def test_a_class_is_compared_with_the_whole_table_where_asked(tmp_path: Path) -> None:
    """Of nine rows one is suppressed, with which the classes are 7/36 and 6/36 from the table, else 1/8."""
    table = pa.table({"a": [*"xxxxyyyy", "w"], "ill": [*"pppqppqq", "z"]})
    schema = anon.Schema(["a"], ["ill"])
    near = anon.TCloseness(0.2, distance="equal")
    exactly = anon.TCloseness(0.15, distance="equal")
    options: dict[str, Any] = {"method": anon.FullDomain(levels=[0], reference="table"), "suppress": 0.2}
    with pytest.warns(anon.PrivacyWarning):
        release = anon.anonymize(table, schema, require=[anon.KAnonymity(2), near], **options)
    assert release.privacy().t_equal == pytest.approx(1 / 8)
    release.write(tmp_path / "out.parquet")
    assert release.metadata["claimed"] == [repr(near)]
    with pytest.raises(anon.InfeasibleError):
        anon.anonymize(table, schema, require=[anon.KAnonymity(2), exactly], **options)


@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
def test_a_lattice_too_large_to_mark_is_searched_within_a_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eleven attributes of six levels; and a small one as if it were large, whose best node is the same."""
    rng = np.random.default_rng(0)
    table = pa.table({f"a{i}": rng.integers(0, 32, 300) for i in range(11)})
    schema = anon.Schema([anon.numeric(name, anon.intervals(2, 4, 8, 16)) for name in table.column_names])
    with pytest.warns(anon.PrivacyWarning, match="the search ended before all levels were ruled out"):
        release = anon.anonymize(
            table, schema, require=[anon.KAnonymity(5)], method=anon.FullDomain(), time_limit=0.5
        )
    assert release.lattice.n_nodes > 10_000_000
    assert release.lattice.optimal is False
    assert release.lattice.judged[release.lattice.best].score < 1
    monkeypatch.setattr("anon.methods.lattice.MOST_NODES", 1)
    small = anon.anonymize(
        MICRO, micro(), require=[anon.KAnonymity(2)], method=anon.FullDomain(), suppress=0.1
    )
    assert (small.levels, small.lattice.optimal) == ((1, 0), True)


def test_zero_feasible_levels_name_the_limit_that_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A person with two rows has a bag that nobody shares, whatever the levels."""
    source, out = tmp_path / "rows.csv", tmp_path / "out.csv"
    source.write_text("who,age\n1,21\n1,22\n2,31\n3,32\n")
    words = ["anonymize", str(source), "-o", str(out), "--quasi", "age", "--unit", "who", "--quiet"]
    words += ["--method", "full-domain", "--k", "2", "--k-count", "unit-bags"]
    assert main(words) == 1
    assert (
        "at least 2 of 4 rows in classes that fail: allow --suppress 0.5, or ask" in capsys.readouterr().err
    )
    assert main([*words, "--suppress", "0.5"]) == 0
    assert len(out.read_text().splitlines()) == 3
    assert main([*words[:-2], "--iterate", "0.5"]) == 0
    words = ["anonymize", str(source), "-o", str(out), "--quasi", "age", "--quiet", "--method", "full-domain"]
    source.write_text("age\n" + "21\n" * 7 + "22\n31\n")
    assert main([*words, "--k", "3", "--iterate", "0.5"]) == 1
    assert "leave 2 of 9 rows in classes that fail: allow --suppress 0.2223, or" in capsys.readouterr().err
    assert main([*words, "--k", "3", "--iterate", "0.5", "--suppress", "0.2223"]) == 0


@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
def test_levels_are_the_columns_of_a_file_also_where_a_label_stands_in_two(tmp_path: Path) -> None:
    """As ARX reads it: a1 has A in column 1 and in column 2; null is apart up to the last."""
    lines = ["a1;A;A;*", "a2;A;A;*", "b1;B1;B;*", "b2;B1;B;*", "b3;B2;B;*"]
    (tmp_path / "h.csv").write_text("\n".join(lines))
    table = pa.table({"q": ["a1", "a2", "b1", "b2", "b3", "b3", None]})
    above = dict(zip(["a1", "a2", "b1", "b2", "b3"], (line.split(";") for line in lines), strict=True))
    schema = anon.Schema([anon.nominal("q", tmp_path / "h.csv")])
    for g in range(1, 4):
        release = anon.anonymize(
            table, schema, require=[anon.KAnonymity(1)], method=anon.FullDomain(levels=[g])
        )
        labels = [above[v][g] if v else "missing" for v in table["q"].to_pylist()]
        shown = labels if g < 3 else ["* or missing"] * 7
        assert Counter(release.table["q"].to_pylist()) == Counter(shown)
        release.write(tmp_path / "out.csv")
    least = anon.Schema([anon.nominal("q", tmp_path / "h.csv", least=1)])
    coarse = anon.anonymize(table, least, require=[anon.KAnonymity(1)], method=anon.Mondrian())
    assert Counter(coarse.table["q"].to_pylist()) == {"A": 2, "B1": 2, "B2": 2, "missing": 1}


@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
@pytest.mark.parametrize("numeric", ["bounds", "midpoint", "mean"])
@pytest.mark.parametrize("last", [987654, None])
def test_a_column_at_the_top_level_tells_no_number(tmp_path: Path, numeric: Any, last: int | None) -> None:
    table = {"age": [20, 31, 42, 53, last, 987655], "sex": ["f", "f", "m", "m", "f", "x"]}
    release = anon.anonymize(
        table,
        anon.Schema([anon.numeric("age", top=50), "sex"]),
        require=[anon.KAnonymity(2)],
        method=anon.FullDomain(levels=(1, 0)),
        numeric=numeric,
        suppress=0.2,
    )
    assert release.n_rows == 5
    for file in (tmp_path / "release.parquet", tmp_path / "release.csv"):
        release.write(file)
        shown = anon.read_table(file)
        assert all(not any(shown[name].to_pylist()) for name in shown.column_names if name != "sex")
        assert anon.check(file, anon.Schema(shown.column_names), require=[anon.KAnonymity(2)]).k == 2


@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
def test_a_column_of_numbers_may_end_at_the_top_level() -> None:
    release = anon.anonymize(
        {"age": [20, 55]},
        anon.Schema(["age"]),
        require=[anon.KAnonymity(2)],
        method=anon.FullDomain(),
        numeric="mean",
    )
    assert release.table["age"].to_pylist() == [None, None]


def test_levels_of_numbers_have_ends_of_their_own() -> None:
    schema = anon.Schema([anon.numeric("age", anon.intervals(5, 10), ends=5)])
    with pytest.raises(anon.UsageError, match="levels do, of least or FullDomain: leave out ends"):
        anon.anonymize({"age": [20, 55]}, schema, require=[anon.KAnonymity(2)], method=anon.FullDomain())


@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
def test_a_closeness_to_the_whole_table_is_not_called_one_of_units_alone(tmp_path: Path) -> None:
    require = [anon.KAnonymity(2), anon.TCloseness(0.25, distance="equal")]
    release = anon.anonymize(
        {"age": [1, 1, 1, 1, 2, 2, 98, 99], "s": [*"aabbbbbb"]},
        anon.Schema(["age"], ["s"]),
        require=require,
        method=anon.FullDomain(reference="table", levels=(0,)),
        suppress=0.25,
    )
    assert release.n_rows == 6
    release.write(tmp_path / "release.parquet")
    with pytest.raises(anon.UsageError, match="or against a whole table"):
        anon.check(tmp_path / "release.parquet", anon.Schema(["age"], ["s"]), require=require)


@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
@pytest.mark.parametrize("coded", [{}, {"least": 5}, {"top": 9}])
def test_numbers_of_which_none_is_there_have_no_intervals(coded: dict[str, Any]) -> None:
    table = pa.table({"q": pa.nulls(3, pa.int64()), "r": ["x", "x", "x"]})
    schema = anon.Schema([anon.numeric("q", anon.intervals(5, 10), **coded), "r"])
    release = anon.anonymize(table, schema, require=[anon.KAnonymity(2)], method=anon.FullDomain())
    assert release.table.to_pylist() == [{"q": "missing", "r": "x"}] * 3
