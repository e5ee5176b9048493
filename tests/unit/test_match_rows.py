"""Matches as rows: columns that are made when they are read are those of the rows."""

from __future__ import annotations

import pickle

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from motiflux.stream import MatchRows
from motiflux.stream.matching.match_rows import Runs

RUNS = st.lists(st.tuples(st.integers(0, 4), st.booleans(), st.integers(1, 5)), max_size=8)


def both(runs: list[tuple[int, bool, int]]) -> tuple[MatchRows, MatchRows]:
    """Return the same rows from columns and from runs."""
    updates = np.array([update for update, _, rows in runs for _ in range(rows)], dtype=np.uint64)
    positive = np.array([sign for _, sign, rows in runs for _ in range(rows)], dtype=np.bool_)
    vertices = np.arange(3 * len(updates), dtype=np.uint32).reshape(-1, 3)
    given_runs = Runs(
        np.array([update for update, _, _ in runs], dtype=np.uint64),
        np.array([sign for _, sign, _ in runs], dtype=np.bool_),
        np.cumsum([rows for *_, rows in runs], dtype=np.int64),
    )
    return MatchRows(vertices, updates, positive), MatchRows.of_runs(vertices, given_runs)


def assert_same(found: MatchRows, expected: MatchRows) -> None:
    assert len(found) == len(expected)
    for name in ("vertices", "updates", "positive"):
        column, wanted = getattr(found, name), getattr(expected, name)
        assert column.dtype == wanted.dtype
        np.testing.assert_array_equal(column, wanted)


@given(RUNS)
def test_columns_are_those_of_the_runs(runs: list[tuple[int, bool, int]]) -> None:
    plain, lazy = both(runs)
    assert_same(lazy, plain)
    assert_same(MatchRows.of_runs(plain.vertices, plain.runs), plain)
    assert_same(pickle.loads(pickle.dumps(lazy)), plain)


@given(RUNS, st.integers(0, 30), st.integers(0, 30))
def test_a_part_has_the_columns_of_its_rows(runs: list[tuple[int, bool, int]], first: int, last: int) -> None:
    plain, lazy = both(runs)
    part = slice(first, last)
    expected = MatchRows(plain.vertices[part], plain.updates[part], plain.positive[part])
    assert_same(lazy.part(first, last), expected)
    assert_same(plain.part(first, last), expected)


@given(RUNS)
def test_rows_are_chosen_by_sign_and_counted_by_update(runs: list[tuple[int, bool, int]]) -> None:
    plain, lazy = both(runs)
    for sign in (True, False):
        np.testing.assert_array_equal(lazy.of_sign(positive=sign), plain.vertices[plain.positive == sign])
    updates, rows = np.unique(plain.updates, return_counts=True)
    for found in (plain, lazy):
        np.testing.assert_array_equal(found.by_update()[0], updates)
        np.testing.assert_array_equal(found.by_update()[1], rows)
