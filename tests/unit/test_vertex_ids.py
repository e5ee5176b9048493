"""The native numbers of vertex ids, against a dictionary."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import motiflux as mf
from motiflux import _native
from motiflux.stream.matching import names
from motiflux.stream.matching.names import GrowingIds, code_points
from tests.interrupts import ctrl_c_in_native_code

SMALL = st.integers(0, 40)
ANY = st.one_of(SMALL, st.integers(-5, 5000), st.integers(-(2**63), 2**63 - 1))
TEXT = st.text(st.characters(exclude_characters="\0"), max_size=4)
NO_CODE = 2**32 - 1


def numbered(
    ids: GrowingIds, rows: list[tuple[Any, Any]], threads: int = 1
) -> tuple[list[int], list[int], int]:
    """Number the ends of updates; return them and the number of self-loops."""
    monitor = _native.Monitor(False, True)
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    if columns[0].dtype.kind == "U":
        found = ids.native.number_strings(monitor, *map(code_points, columns), None, None, NO_CODE, threads)
    else:
        found = ids.native.number_integers(monitor, *columns, None, None, NO_CODE, threads)
    assert found is not None
    return found[0].tolist(), found[1].tolist(), found[3]


class Model:
    """Ids numbered by a dictionary."""

    def __init__(self, ids: list[Any]) -> None:
        self.ids = list(ids)

    def number(self, rows: list[tuple[Any, Any]]) -> tuple[list[int], list[int], int]:
        kept = [row for row in rows if row[0] != row[1]]
        known = {name: at for at, name in enumerate(self.ids)}
        for name in (end for row in kept for end in row):
            if name not in known:
                known[name] = len(self.ids)
                self.ids.append(name)
        return [known[row[0]] for row in kept], [known[row[1]] for row in kept], len(rows) - len(kept)


def check(ids: list[Any], steps: list[Any], fewest: int) -> None:
    before, names._FEWEST = names._FEWEST, fewest
    try:
        found = GrowingIds(np.array(ids))
    finally:
        names._FEWEST = before
    model = Model(ids)
    for step in steps:
        if isinstance(step, float):
            count = len(ids) + int(step * (len(model.ids) - len(ids)))
            found.keep(count)
            del model.ids[count:]
        else:
            assert numbered(found, step) == model.number(step)
        assert found.all().tolist() == model.ids
        assert [found.vertex_of(name) for name in model.ids] == list(range(len(model.ids)))
        assert found.names(np.arange(len(model.ids))[::-1]).tolist() == model.ids[::-1]


def steps_of(values: Any) -> Any:
    rows = st.lists(st.tuples(values, values), min_size=1, max_size=60)
    return st.lists(st.one_of(rows, st.floats(0, 1)), max_size=8)


@given(st.lists(ANY, unique=True, min_size=1, max_size=20), steps_of(ANY), st.sampled_from([1, 16, 1 << 16]))
def test_integers_are_numbered_in_the_order_of_their_first_occurrence(
    ids: list[int], steps: list[Any], fewest: int
) -> None:
    check(ids, steps, fewest)


@given(st.integers(1, 50), steps_of(SMALL), st.sampled_from([1, 1 << 16]))
def test_ids_that_are_their_own_numbers(count: int, steps: list[Any], fewest: int) -> None:
    check(list(range(count)), steps, fewest)


@given(st.lists(TEXT, unique=True, min_size=1, max_size=20), steps_of(TEXT))
def test_strings_are_numbered_in_the_order_of_their_first_occurrence(
    ids: list[str], steps: list[Any]
) -> None:
    check(ids, steps, 1)


def test_ids_that_grow_far_stay_what_they_are() -> None:
    rng = np.random.default_rng(3)
    ids = GrowingIds(np.arange(10))
    model = Model(list(range(10)))
    for scale in (100, 10_000, 1_000_000, 10_000):
        rows = [tuple(row) for row in rng.integers(0, scale, (5000, 2)).tolist()]
        assert numbered(ids, rows) == model.number(rows)
    assert ids.all().tolist() == model.ids
    ids.keep(10)
    assert ids.vertex_of(11) is None
    assert numbered(ids, [(11, 3)]) == ([10], [3], 0)


def test_labels_are_named_before_other_vertices_are_numbered() -> None:
    empty = mf.Graph.from_edges([])
    with mf.Monitor(empty, "(a)--(b)", threads=1) as monitor:
        updates = mf.Updates(
            [True, True],
            [5, 7],
            [6, 8],
            vertex_labels=mf.stream.VertexLabels([8, 9, 5], [1, 0, 2], [0, 0, 0]),
        )
        monitor.apply(updates)
        assert monitor.names(np.arange(5, dtype=np.uint32)).tolist() == [8, 9, 5, 6, 7]
        assert monitor.kinds()["ids"] == "i"


def test_ids_of_two_kinds_in_one_call_are_refused() -> None:
    labels = mf.stream.VertexLabels(["a"], [1], [0])
    with mf.Monitor(mf.Graph.from_edges([]), "(a)--(b)", threads=1) as monitor:
        with pytest.raises(mf.StreamError, match="vertex labels, ids: expected ids as updates have them"):
            monitor.apply(mf.Updates([True], [1], [2], vertex_labels=labels))
        assert monitor.num_vertices == 0


@pytest.mark.parametrize("text", [False, True])
def test_an_interrupt_stops_numbering_and_leaves_nothing(text: bool) -> None:
    count = 400_000 if text else 8_000_000
    columns: list[Any] = [np.arange(at, 2 * count, 2) * 1_000_003 for at in (0, 1)]
    if text:
        columns = [column.astype(str) for column in columns]
    updates = mf.Updates(np.ones(count, dtype=bool), *columns)
    with mf.Monitor(mf.Graph.from_edges([]), "(a)--(b)", threads=1) as monitor:
        with pytest.raises(KeyboardInterrupt), ctrl_c_in_native_code():
            monitor.apply(updates)
        assert monitor.num_vertices == monitor.num_edges == 0
        assert monitor.kinds()["ids"] is None
        assert monitor.apply([("+", 3, 4)])[0].net == 2


@pytest.mark.turns(8)
@pytest.mark.parametrize("strings", [False, True])
@pytest.mark.parametrize("special", ["", "new", "self-loop"])
def test_threads_number_many_ids_as_one_does(special: str, strings: bool) -> None:
    rng = np.random.default_rng(4)
    sources = rng.integers(0, 500, 150_000)
    targets = (sources + 1 + rng.integers(0, 400, len(sources))) % 500
    if special == "new":
        targets[140_000] = 7000
    elif special == "self-loop":
        targets[140_000] = sources[140_000]
    columns = [column.astype("U") if strings else column for column in (sources, targets)]
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    known = rng.permutation(500)
    alone, together = (GrowingIds(known.astype("U") if strings else known) for _ in range(2))
    assert numbered(alone, rows) == numbered(together, rows, threads=3)
    assert alone.all().tolist() == together.all().tolist()
