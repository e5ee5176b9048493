"""Which rows are copied to a device."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motiflux.gpu.storage import row_choice
from motiflux.gpu.storage.row_choice import choose
from motiflux.request.deadline import Deadline, OutOfTimeError

SOON = Deadline.after(None)
ROWS = st.lists(st.tuples(st.integers(0, 5), st.sampled_from([0.0, 1e-30, 0.5, 3.0, 4.0, 1e30])), max_size=12)


def offsets_of(rows: list[tuple[int, float]]) -> np.ndarray:
    return np.cumsum([0, *(length for length, _ in rows)]).astype(np.uint64)


@given(st.lists(ROWS, min_size=1, max_size=3), st.integers(0, 150), st.integers(1, 5))
def test_the_best_rows_are_chosen_as_far_as_there_is_room(
    kinds: list[list[tuple[int, float]]], room: int, piece: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_choice, "_PIECE", piece)
        given_kinds = [
            (offsets_of(rows), lambda first, end, rows=rows: np.array([v for _, v in rows[first:end]], float))
            for rows in kinds
        ]
        chosen = choose(given_kinds, room, SOON)
    every, which = [row for rows in kinds for row in rows], np.concatenate(chosen)
    taken = [row for row, yes in zip(every, which, strict=True) if yes]
    left = [row for row, yes in zip(every, which, strict=True) if not yes and all(row)]
    assert all(length and value for length, value in taken)
    nbytes = 4 * sum(length for length, _ in taken)
    assert nbytes <= room
    if left:
        best = max(value for _, value in left)
        assert all(value >= best for _, value in taken)
        # The next row in its kind has no room.
        assert nbytes + 4 * max(length for length, value in left if value == best) > room


def test_of_equal_rows_those_of_the_greatest_vertices_are_chosen() -> None:
    offsets = 2 * np.arange(11, dtype=np.uint64)
    (chosen,) = choose([(offsets, lambda first, end: np.ones(end - first))], 8 * 3 + 7, SOON)
    assert np.flatnonzero(chosen).tolist() == [7, 8, 9]


def test_values_that_differ_by_a_fiftieth_are_told_apart() -> None:
    offsets = np.arange(5, dtype=np.uint64)
    values = np.array([1.0, 1.02, 0.98, 0.96])
    (chosen,) = choose([(offsets, lambda first, end: values[first:end])], 8, SOON)
    assert np.flatnonzero(chosen).tolist() == [0, 1]


def test_choosing_obeys_the_deadline() -> None:
    offsets = np.arange(5, dtype=np.uint64)
    with pytest.raises(OutOfTimeError):
        choose([(offsets, lambda first, end: np.ones(end - first))], 8, Deadline.after(0.0))
