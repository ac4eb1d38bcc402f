# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anoncore import diversity
from anoncore.attribute import Attribute
from reference import diversity as slow

LOSSES = ("ncp", "byun", "q-diversity")

# LS figure 3: Cancer, HIV, Flu, Bronchitis, Pneumonia are the codes 0..4.
DISEASE = {"kind": "tree", "n_values": 5, "parent": [-1, 0, 0, 2, 2, 4, 4, 4], "leaf": [1, 3, 5, 6, 7]}
CANCER, HIV, FLU, BRONCHITIS, PNEUMONIA = range(5)
INTERVAL = {"kind": "ordered", "n_values": 101, "positions": list(range(101))}


def int64(values: Any) -> Any:
    return np.array(values, np.int64)


def tree_arrays(attribute: dict[str, Any]) -> Any:
    """(parent, first, last, leaf) of a twin's tree."""
    first = [attribute["n_values"]] * len(attribute["parent"])
    last = [-1] * len(attribute["parent"])
    for value in range(attribute["n_values"]):
        for node in slow.path(attribute, value):
            first[node], last[node] = min(first[node], value), max(last[node], value)
    return tuple(np.array(part, np.int32) for part in (attribute["parent"], first, last, attribute["leaf"]))


def shape(attribute: dict[str, Any]) -> dict[str, Any]:
    if attribute["kind"] == "ordered":
        return {"positions": np.array(attribute["positions"], np.float64)}
    return {"tree": tree_arrays(attribute)} if attribute["kind"] == "tree" else {}


def attribute_of(attribute: dict[str, Any], loss: str = "q-diversity", weight: float = 1.0) -> Attribute:
    return Attribute(attribute["n_values"], loss=loss, weight=weight, **shape(attribute))


def closeness_of(attribute: dict[str, Any], r: float, printed: bool = False) -> diversity.Closeness:
    return diversity.Closeness(Attribute(attribute["n_values"], **shape(attribute)), r=r, printed=printed)


def csr(classes: list[list[int]]) -> Any:
    counted = [np.unique(int64(values), return_counts=True) for values in classes]
    offsets = int64([0, *np.cumsum([len(values) for values, _ in counted])])
    values = np.concatenate([values for values, _ in counted]) if counted else int64([])
    counts = np.concatenate([counts for _, counts in counted]) if counted else int64([])
    return offsets, int64(values), int64(counts)


def sd(attribute: dict[str, Any], values: list[int], r: float, printed: bool = False) -> float:
    """S-diversity of one class, by both kernels."""
    closeness = closeness_of(attribute, r, printed)
    (by_class,) = diversity.s_diversity(closeness, *csr([values]))
    assert diversity.s_diversity_of_prefixes(closeness, int64(values))[-1] == pytest.approx(
        by_class, abs=1e-14
    )
    return float(by_class)


def qd(attribute: dict[str, Any], values: list[int], loss: str = "q-diversity") -> float:
    offsets, codes, _ = csr([values])
    return float(diversity.q_diversity(attribute_of(attribute, loss), offsets, codes)[0])


@st.composite
def trees(draw: st.DrawFn, max_values: int = 8) -> dict[str, Any]:
    """A tree with chains of only children and branches of different heights, leaves depth first."""
    n_values = draw(st.integers(1, max_values))
    parent, leaf = [-1], []

    def divide(node: int, n: int, budget: int) -> None:
        if n == 1 and (budget == 0 or draw(st.booleans())) and node:
            leaf.append(node)
            return
        parts = [n] if budget and n == 1 else draw(st.lists(st.integers(1, n), min_size=1, max_size=3))
        left = n
        for part in [*parts, n]:
            part = 1 if budget == 0 else min(part, left)
            while left and part:
                parent.append(node)
                divide(len(parent) - 1, part, max(budget - 1, 0))
                left -= part
                if budget:
                    break

    divide(0, n_values, 3)
    return {"kind": "tree", "n_values": n_values, "parent": parent, "leaf": leaf}


@st.composite
def attributes(draw: st.DrawFn, max_values: int = 8, huge: bool = True) -> dict[str, Any]:
    kind = draw(st.sampled_from(["ordered", "tree", "flat"]))
    if kind == "tree":
        return draw(trees(max_values))
    n_values = draw(st.integers(1, max_values))
    if huge and draw(st.integers(0, 9)) == 0:
        n_values = 3000  # beyond the domains that are tabulated
    if kind == "flat":
        return {"kind": "flat", "n_values": n_values}
    steps = (
        draw(st.lists(st.integers(0, 9), min_size=n_values, max_size=n_values))
        if n_values < 99
        else [3] * 3000
    )
    return {"kind": "ordered", "n_values": n_values, "positions": np.cumsum([0, *steps[1:]]).tolist()}


def classes_of(attribute: dict[str, Any], null: bool) -> st.SearchStrategy[list[list[int]]]:
    codes = st.integers(0, attribute["n_values"] - (not null))
    return st.lists(st.lists(codes, max_size=7), max_size=4)


@given(st.data(), attributes(), st.sampled_from(LOSSES), st.sampled_from([1.0, 0.5, 3.0, 0.0]))
@settings(max_examples=300)
def test_q_diversity_equals_its_twin(data: Any, attribute: dict[str, Any], loss: str, weight: float) -> None:
    classes = data.draw(classes_of(attribute, null=True))
    offsets, values, _ = csr(classes)
    fast = attribute_of(attribute, loss, weight)
    assert diversity.q_diversity(fast, offsets, values).tolist() == slow.q_diversity(
        attribute, classes, loss, weight
    )
    for rows in classes:
        assert diversity.q_diversity_of_prefixes(fast, int64(rows)).tolist() == slow.q_diversity_of_prefixes(
            attribute, rows, loss, weight
        )


@given(
    st.data(), attributes(huge=False), st.sampled_from([0.0, 0.2, 0.25, 0.4, 0.5, 0.75, 1.0]), st.booleans()
)
@settings(max_examples=300)
def test_s_diversity_equals_its_twin(data: Any, attribute: dict[str, Any], r: float, printed: bool) -> None:
    classes = data.draw(classes_of(attribute, null=False))
    offsets, values, counts = csr(classes)
    fast = closeness_of(attribute, r, printed)
    # Positions are whole numbers, so that both are exact up to one rounding.
    assert diversity.s_diversity(fast, offsets, values, counts).tolist() == slow.s_diversity(
        attribute, classes, r, printed
    )
    for rows in classes:
        assert diversity.s_diversity_of_prefixes(fast, int64(rows)).tolist() == slow.s_diversity_of_prefixes(
            attribute, rows, r, printed
        )
        assert diversity.pairwise_contribution(
            fast, int64(rows), int64(rows[::-1])
        ).tolist() == slow.pairwise_contribution(attribute, rows, rows[::-1], r, printed)


def test_s_diversity_of_disease() -> None:
    # LS section 2 and spec 4: the tree {Cancer, {HIV, {Flu, Bronchitis, Pneumonia}}}.
    assert sd(DISEASE, [CANCER, HIV, FLU], 0.5) == pytest.approx(1 / 3)
    assert sd(DISEASE, [BRONCHITIS, FLU, PNEUMONIA], 0.5) == pytest.approx(11 / 15)
    assert sd(DISEASE, [BRONCHITIS, FLU, HIV], 0.5) == pytest.approx(7 / 15)
    assert sd(DISEASE, [BRONCHITIS, FLU, HIV], 0.7) == pytest.approx(29 / 45)


def test_s_diversity_of_intervals() -> None:
    # Spec 6.9; r = 0.4 holds a pair at exactly pc = 0.6.
    assert sd(INTERVAL, [0, 0, 100, 100], 1) == 1 / 2
    assert sd(INTERVAL, [0, 50, 100], 1) == pytest.approx(5 / 9)
    assert sd(INTERVAL, [0, 0, 100], 0) == pytest.approx(5 / 9)
    assert sd(INTERVAL, [0, 40], 0.4) == pytest.approx(4 / 5)
    assert sd(INTERVAL, [17], 0.3) == 1


def test_s_diversity_of_flat_labels() -> None:
    # 14 values: printed 1 - 1/14 = 0.929 for any two, by default 1/14 = 0.071 (spec 4).
    flat = {"kind": "flat", "n_values": 14}
    assert (
        diversity.pairwise_contribution(closeness_of(flat, 1, printed=True), int64([3]), int64([5]))
        == 13 / 14
    )
    assert diversity.pairwise_contribution(closeness_of(flat, 1), int64([3]), int64([5])) == 1 / 14
    assert sd(flat, [0, 1], 1) == pytest.approx((1 + 1 / 14) / 2)
    assert sd(flat, [0, 1], 0.5) == 1 / 2
    assert sd(flat, [0, 1], 0.5, printed=True) == pytest.approx((1 + 13 / 14) / 2)


def test_q_diversity_of_worked_sets() -> None:
    # Spec 6.8.
    assert qd(DISEASE, [BRONCHITIS, FLU, PNEUMONIA]) == 3 / 5
    assert qd(DISEASE, [FLU]) == 1 / 5
    assert qd({"kind": "flat", "n_values": 4}, [0, 2, 0]) == 1 / 2
    assert qd(INTERVAL, [20, 30, 45]) == 1 / 4
    assert diversity.pairwise_contribution(closeness_of(INTERVAL, 1), int64([20]), int64([45])) == 3 / 4


def test_nulls_are_wide_only_beside_values() -> None:
    for attribute in (DISEASE, INTERVAL, {"kind": "flat", "n_values": 4}):
        null = attribute["n_values"]
        for loss in LOSSES:
            assert qd(attribute, [null, null], loss) == 0
            assert qd(attribute, [2, null], loss) == 1


def test_measures_of_ls_tables_3_and_4() -> None:
    # Spec 6.10: UM 9/4 and 1/4, PM 1 and 1/2, wtd of rows 1 and 3 with weights 1/2 is 7/24.
    age = [10, 15, 15, 20, 20, 25, 25, 30]
    height = [170, 175, 170, 175, 170, 175, 170, 175]
    postcode = [30, 32, 30, 32, 30, 32, 30, 32]
    salary = [20, 20, 65, 65, 20, 20, 65, 65]
    quasi = [np.unique(column, return_inverse=True) for column in (age, height, postcode)]
    wages, salary_codes = np.unique(salary, return_inverse=True)

    def measures(classes: list[list[int]]) -> Any:
        q = [
            diversity.q_diversity(
                Attribute(len(values), values - values[0], loss="q-diversity"),
                *csr([codes[rows].tolist() for rows in classes])[:2],
            )
            for values, codes in quasi
        ]
        pay = diversity.Closeness(Attribute(len(wages), wages - wages[0]), r=1)
        s = diversity.s_diversity(pay, *csr([salary_codes[rows].tolist() for rows in classes]))
        q, s = np.column_stack(q), s.reshape(-1, 1)
        return q.sum(1).mean(), s.sum(1).mean(), (q.mean(1) + s.mean(1)) / 2

    table_3 = [[0, 1], [2, 3], [4, 5], [6, 7]]
    table_4 = [[0, 2], [1, 3], [4, 6], [5, 7]]
    assert measures(table_3)[0] == pytest.approx(9 / 4)
    assert measures(table_3)[1] == 1
    assert measures(table_4)[0] == pytest.approx(1 / 4)
    assert measures(table_4)[1] == 1 / 2
    assert measures([[0, 2]])[2] == pytest.approx(7 / 24)


def test_a_large_class_is_counted_not_paired() -> None:
    # 4e9 rows: the sum over pairs is 1.6e19, beyond int64.
    counts = int64([2 * 10**9, 2 * 10**9])
    closeness = closeness_of(INTERVAL, 1)
    assert diversity.s_diversity(closeness, int64([0, 2]), int64([0, 100]), counts)[0] == pytest.approx(0.5)


def test_inputs_may_be_read_only_and_stay_as_they_are() -> None:
    offsets, values, counts = csr([[0, 0, 3], [1, 2]])
    for array in (offsets, values, counts):
        array.flags.writeable = False
    assert len(diversity.s_diversity(closeness_of(DISEASE, 1), offsets, values, counts)) == 2


@pytest.mark.parametrize(
    ("offsets", "values"),
    [([0, 2], [2, 1]), ([0, 2], [1, 1]), ([0, 1], [6]), ([0, 1], [-1]), ([0, 3], [1, 2]), ([], [])],
)
def test_class_lists_are_checked(offsets: list[int], values: list[int]) -> None:
    with pytest.raises(ValueError, match="offsets"):
        diversity.q_diversity(attribute_of(DISEASE), int64(offsets), int64(values))
    with pytest.raises(ValueError, match="offsets"):
        diversity.s_diversity(
            closeness_of(DISEASE, 1), int64(offsets), int64(values), int64([1] * len(values))
        )


def test_null_has_no_closeness() -> None:
    with pytest.raises(ValueError, match="without null"):
        diversity.s_diversity(closeness_of(DISEASE, 1), int64([0, 1]), int64([5]), int64([1]))
    with pytest.raises(ValueError, match="values of the attribute"):
        diversity.s_diversity_of_prefixes(closeness_of(DISEASE, 1), int64([5]))


PARENT, FIRST, LAST, LEAF = tree_arrays(DISEASE)


@pytest.mark.parametrize(
    ("n_values", "shape"),
    [
        (-1, {}),
        (3, {"positions": [0, 2, 1]}),
        (2, {"positions": [0, np.inf]}),
        (2, {"positions": [0]}),
        (5, {"positions": range(5), "tree": tree_arrays(DISEASE)}),
        (4, {"tree": tree_arrays(DISEASE)}),
        (5, {"tree": (PARENT, FIRST, LAST[:3], LEAF)}),
        (5, {"tree": ([-1, 0, 0, 2, 2, 4, 7, 4], FIRST, LAST, LEAF)}),
        (5, {"tree": (PARENT, [0, 0, 1, 1, 2, 2, 3, 0], LAST, LEAF)}),
        (5, {"tree": (PARENT, FIRST, LAST, [1, 3, 5, 6, 6])}),
        (5, {"tree": (PARENT, FIRST, [3, *LAST[1:]], LEAF)}),
    ],
)
def test_attributes_are_checked(n_values: int, shape: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"positions?|tree|n_values|nodes?|root|leaf"):
        Attribute(n_values, **shape)


def test_parameters_are_checked() -> None:
    with pytest.raises(ValueError, match="loss"):
        Attribute(3, loss="dm")
    with pytest.raises(ValueError, match="weight"):
        Attribute(3, weight=-1.0)
    with pytest.raises(ValueError, match="r must"):
        diversity.Closeness(Attribute(3), r=1.5)


def test_attributes_are_made_whole_and_once() -> None:
    for kind in (Attribute, diversity.Closeness):
        with pytest.raises(TypeError):
            kind.__new__(kind)
    attribute = Attribute(3, np.arange(3.0))
    attribute.__init__(2)  # type: ignore[misc]
    assert attribute.n_values == 3


def test_attributes_are_carried_between_processes() -> None:
    for attribute in (
        Attribute(3, np.arange(3.0), weight=2.0),
        Attribute(5, tree=(PARENT, FIRST, LAST, LEAF)),
    ):
        again = pickle.loads(pickle.dumps(attribute))
        listed = int64([0, 2]), int64([0, 2])
        assert diversity.q_diversity(again, *listed) == diversity.q_diversity(attribute, *listed)
