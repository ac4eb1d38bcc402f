# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anoncore.lattice import Lattice, roll_up
from reference import lattice as slow


@st.composite
def lattices(draw):
    """Distinct combinations, and random labels that get fewer from level to level."""
    n_codes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    rows = draw(st.lists(st.tuples(*(st.integers(0, n - 1) for n in n_codes)), max_size=30, unique=True))
    labels = []
    for n in n_codes:
        levels = [list(range(n))]
        for _ in range(draw(st.integers(0, 2))):
            above = draw(st.lists(st.integers(0, n - 1), min_size=n, max_size=n))
            levels.append([above[label] for label in levels[-1]])
        labels.append(levels)
    return np.array(rows, np.uint32).reshape(len(rows), len(n_codes)), labels


@given(lattices(), st.data())
def test_roll_up_equals_its_twin(made, data) -> None:
    codes, labels = made
    kernel = Lattice(codes, [[np.array(level, np.uint32) for level in levels] for levels in labels])
    members = data.draw(st.lists(st.integers(0, len(codes) - 1), max_size=20) if len(codes) else st.just([]))
    counts = [data.draw(st.integers(1, 9)) for _ in members]
    node = tuple(data.draw(st.integers(0, len(levels) - 1)) for levels in labels)
    got = roll_up(kernel, node, np.array(members, np.uint32), np.array(counts, np.int64))
    expected = slow.roll_up(codes.tolist(), labels, node, members, counts)
    assert [part.tolist() for part in got] == list(expected)


def test_more_combinations_of_labels_than_a_word_has_are_told_apart() -> None:
    rng = np.random.default_rng(0)
    codes = np.unique(rng.integers(0, 200, (2000, 12)), axis=0).astype(np.uint32)
    pair = np.repeat(codes, 2, axis=0)
    pair[1::2, 11] ^= 1  # the same in eleven attributes
    whole = np.arange(256, dtype=np.uint32)
    kernel = Lattice(pair, [[whole, whole // 2]] * 12)
    everyone = np.arange(len(pair), dtype=np.uint32)
    ones = np.ones(len(pair), np.int64)
    assert len(roll_up(kernel, (0,) * 12, everyone, ones)[0]) == len(pair)
    first, rows, number = roll_up(kernel, (0,) * 11 + (1,), everyone, ones)
    assert len(first) == len(codes)
    assert (rows == 2).all()
    assert (number == np.repeat(np.arange(len(codes)), 2)).all()


def test_many_classes_are_found_as_by_sorting() -> None:
    rng = np.random.default_rng(1)
    codes = np.unique(rng.integers(0, [90, 40, 16, 7], (30_000, 4)), axis=0).astype(np.uint32)
    labels = [[np.arange(n, dtype=np.uint32), np.arange(n, dtype=np.uint32) // 3] for n in (90, 40, 16, 7)]
    rng.shuffle(codes)
    kernel = Lattice(codes, labels)
    members = np.arange(len(codes), dtype=np.uint32)
    counts = rng.integers(1, 9, len(codes))
    for node in ((0, 0, 0, 1), (1, 0, 0, 0), (1, 1, 1, 1)):
        looks = np.column_stack([labels[a][g][codes[:, a]] for a, g in enumerate(node)])
        _, where, number = np.unique(looks, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(where)
        first, rows, got = roll_up(kernel, node, members, counts)
        assert (first == where[order]).all()
        assert (rows == np.bincount(number.ravel(), counts)[order]).all()
        assert (np.argsort(order)[number.ravel()] == got).all()


def test_codes_that_change_after_they_were_checked_are_not_read() -> None:
    codes = np.zeros((3, 1), np.uint32)
    kernel = Lattice(codes, [[np.zeros(1, np.uint32)]])
    codes[:] = 2**32 - 1
    first, rows, _ = roll_up(kernel, (0,), np.arange(3, dtype=np.uint32), np.ones(3, np.int64))
    assert (first.tolist(), rows.tolist()) == ([0], [3])


def test_without_attributes_all_are_one_class() -> None:
    lattice = Lattice(np.zeros((3, 0), np.uint32), [])
    first, rows, number = roll_up(lattice, (), np.array([2, 0], np.uint32), np.array([1, 4]))
    assert (first.tolist(), rows.tolist(), number.tolist()) == ([2], [5], [0, 0])
