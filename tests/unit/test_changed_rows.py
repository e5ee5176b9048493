"""What a run of updates changes in rows of a device: the native plan against a plain one."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux import _native
from motiflux.codegen.changing import CHANGE, FOREVER, LIFE_BYTES, PIECE, ROOT, TOUCHED
from motiflux.codegen.gpma import INSERTS, UPDATE

BACK = 1 << 31
OUT, IN, EITHER = range(3)
PIECE_ENTRIES, BLOCK, MEMORY, ROOM = 7, 1 << 40, 1 << 41, 1 << 42
WAYS = {OUT: (False,), IN: (True,), EITHER: (False, True)}
Look = Callable[[_native.Run], None]


def aligned(nbytes: int) -> int:
    return -(-nbytes // 16) * 16


def watched(updates: mf.Updates, look: Look, *, mode: str, directed: bool, labels: int, threads: int) -> None:
    """Apply updates, twice, to a graph whose labels and edges are random; `look` sees the runs."""
    rng = np.random.default_rng(3)
    count = int(max(updates.sources.max(), updates.targets.max())) + 1
    ends = rng.integers(0, count, (2, 3 * count))
    ends = np.unique(np.sort(ends[:, ends[0] != ends[1]], axis=0), axis=1)
    graph = mf.Graph.from_edges(
        (ends[0], ends[1]),
        num_vertices=count,
        vertex_labels=rng.integers(0, labels, count),
        directed=directed,
    )
    arrow = "-->" if directed else "--"
    patterns = [f"(a){arrow}(b)", f"(a:0){arrow}(b){arrow}(c)"]
    with mf.Monitor(graph, patterns, mode=mode, threads=threads, tuning={"tail": "off"}) as monitor:

        def match(run: _native.Run) -> tuple[Any, Any, Any]:
            look(run)
            if run.one_change:
                return None, np.zeros((monitor._native.num_plans, 2, 2), np.uint64), None
            return np.zeros((run.num_roots, 2), np.uint64), None, None

        monitor._native.match_elsewhere(match)
        half = len(updates) // 2
        monitor.apply(updates.rows(np.arange(half)))
        monitor.apply(updates.rows(np.arange(half, len(updates))))


def stream(number: int, vertices: int) -> mf.Updates:
    rng = np.random.default_rng(number)
    ends = rng.integers(0, vertices, (2, 2 * number))
    ends = ends[:, ends[0] != ends[1]][:, :number]
    return mf.Updates(rng.random(ends.shape[1]) < 0.6, ends[0], ends[1])


def expected_rows(
    run: _native.Run, accepts: np.ndarray | None, way: int, size: np.ndarray
) -> list[tuple[int, int, int, int, list[tuple[int, ...]]]]:
    """Return (vertex, old size, size with all entries, size after it, changes) of each touched row."""
    chosen = []
    for vertex, of, neighbor, first, last, fresh in run.ends.tolist():
        if (of >= BACK) in WAYS[way] and (accepts is None or accepts[of % BACK]):
            since = first + 1 if fresh else 0
            chosen.append((vertex, neighbor, since, last if last == FOREVER else last + 1))
    rows = []
    for vertex, group in groupby(sorted(chosen, key=lambda one: one[:3]), key=lambda one: one[0]):
        changes: list[tuple[int, ...]] = []
        fresh_before = dead_before = 0
        for _, neighbor, since, last in group:
            changes.append((neighbor, since, last, fresh_before, dead_before))
            fresh_before += since > 0
            dead_before += last != FOREVER
        old = int(size[vertex])
        rows.append((vertex, old, old + fresh_before, old + fresh_before - dead_before, changes))
    return rows


def pieces(sizes: list[int]) -> list[tuple[int, int]]:
    return [(row, first) for row, size in enumerate(sizes) for first in range(0, max(1, size), PIECE_ENTRIES)]


def expected_updates(
    rows: list[tuple[int, int, int, int, list[tuple[int, ...]]]],
) -> list[tuple[int, int, int]]:
    """Return (key, insertions before, turn or `INSERTS`) of what the changes of rows leave."""
    updates: list[tuple[int, int, int]] = []
    inserts = 0
    for vertex, _, _, _, changes in rows:
        for neighbor, group in groupby(changes, key=lambda one: one[0]):
            own = list(group)
            net = sum(one[1] > 0 for one in own) - sum(one[2] != FOREVER for one in own)
            for turn in range(abs(net)):
                updates.append((vertex << 32 | neighbor, inserts, INSERTS if net > 0 else turn))
                inserts += net > 0
    return updates


def check_rows(
    run: _native.Run, classes: int, way: int, *, directed: bool, all_classes: bool, packed: bool
) -> None:
    vertices = int(run.ends[:, 0].max()) + 1
    rng = np.random.default_rng(vertices)
    accepts = None if all_classes else rng.random(classes) < 0.7
    taken = run.ends[:, 0], run.ends[:, 1] % BACK
    least = np.bincount(taken[0], minlength=vertices)  # rows hold what vanishes, at least
    size = least + rng.integers(0, 20, vertices)
    capacity = size + rng.integers(0, 5, vertices)
    address = np.arange(1, vertices + 1, dtype=np.uint64) << np.uint64(20)
    before = address.copy(), capacity.copy()
    expected = expected_rows(run, accepts, way, size)
    flags = None if accepts is None else accepts.view(np.uint8)
    mixes = classes > 1 or (directed and way == EITHER)
    found = _native.ChangedRows(
        run, flags, way, directed, mixes, PIECE_ENTRIES, address, size, capacity, packed
    )
    assert found.num_rows == len(expected)
    updates = expected_updates(expected) if packed else []
    assert found.num_updates == len(updates)
    assert found.num_inserts == sum(turn == INSERTS for *_, turn in updates)
    entries = sum(row[2] for row in expected)
    assert found.num_changes == sum(len(row[4]) for row in expected)
    assert found.growth == sum(row[3] - row[1] for row in expected)
    assert found.longest == max((row[2] for row in expected), default=0)
    lives = MEMORY + aligned(4 * entries)
    positions = lives + aligned(LIFE_BYTES * entries)
    assert found.memory_nbytes == positions - MEMORY + aligned(4 * found.num_changes)
    block = np.zeros(found.nbytes, np.uint8)
    found.write(block, BLOCK, MEMORY, ROOM)
    assert block[found.updates_at :][: UPDATE.itemsize * len(updates)].view(UPDATE).tolist() == updates
    changes = block[: CHANGE.itemsize * found.num_changes].view(CHANGE)
    assert changes.tolist() == [change for row in expected for change in row[4]]
    at_moments = aligned(changes.nbytes)
    moments = [sorted(one[column] for one in row[4]) for row in expected for column in (1, 2)]
    written = block[at_moments:][: 8 * found.num_changes].view(np.uint32)
    assert written.tolist() == [moment for some in moments for moment in some]
    touched = block[found.touched_at :][: TOUCHED.itemsize * found.num_rows].view(TOUCHED)
    at = change_at = room = 0
    for one, (vertex, old, all_entries, after, own) in zip(touched, expected, strict=True):
        if after > before[1][vertex]:
            place, capacity_after = ROOM + 4 * room, after + after // 4 + 4
            room += capacity_after
        else:
            place, capacity_after = int(before[0][vertex]), int(before[1][vertex])
        assert one.item() == (
            int(before[0][vertex]),
            MEMORY + 4 * at,
            lives + LIFE_BYTES * at,
            place,
            BLOCK + CHANGE.itemsize * change_at,
            BLOCK + at_moments + 8 * change_at,
            positions + 4 * change_at,
            vertex,
            old,
            len(own),
            all_entries,
            after,
            0,
        )
        assert (address[vertex], size[vertex], capacity[vertex]) == (place, after, capacity_after)
        at, change_at = at + all_entries, change_at + len(own)
    assert found.room == room
    merged = block[found.merged_at :][: PIECE.itemsize * found.merged_pieces].view(PIECE)
    settled = block[found.settled_at :][: PIECE.itemsize * found.settled_pieces].view(PIECE)
    assert merged.tolist() == pieces([row[1] for row in expected])
    assert settled.tolist() == pieces([row[2] for row in expected])
    with pytest.raises(ValueError, match="once"):
        found.write(block, BLOCK, MEMORY, ROOM)


@pytest.mark.turns(8)
@pytest.mark.parametrize("mode", ["sequence", "batch"])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(
    ("number", "vertices", "labels"),
    [(60, 12, 3), (3000, 80, 1), (3000, 80, 3), (24_000, 3600, 1), (24_000, 3600, 2)],
)
def test_native_plans_of_rows_are_those_of_a_plain_one(
    number: int, vertices: int, labels: int, directed: bool, mode: str
) -> None:
    seen = []

    def look(run: _native.Run) -> None:
        seen.append(run.num_ends)
        classes = int((run.ends[:, 1] % BACK).max()) + 1
        for way in (OUT, IN, EITHER) if directed else (EITHER,):
            for all_classes in (True, False):
                packed = len(seen) % 2 == all_classes  # each call sees both, in one of the two calls
                check_rows(run, classes, way, directed=directed, all_classes=all_classes, packed=packed)

    watched(stream(number, vertices), look, mode=mode, directed=directed, labels=labels, threads=3)
    assert seen


@pytest.mark.parametrize("mode", ["sequence", "batch"])
@pytest.mark.parametrize(("number", "vertices"), [(60, 12), (60_000, 9000)])
def test_roots_are_divided_by_how_their_matches_are_found(number: int, vertices: int, mode: str) -> None:
    seen = []

    def look(run: _native.Run) -> None:
        seen.append(run.num_roots)
        manners = np.arange(int(run.roots[:, 0].max()) + 1, dtype=np.uint8) % 3
        divided = _native.DividedRoots(run, manners)
        own = manners[run.roots[:, 0]]
        counted, listed = (np.flatnonzero(own == one) for one in (0, 1))
        assert divided.listed.tolist() == listed.tolist()
        assert divided.matches.tolist() == np.flatnonzero(own == 2).tolist()
        assert divided.num_counted == len(counted)
        blocks = [np.zeros(ROOT.itemsize * len(some), np.uint8) for some in (counted, listed)]
        divided.write(*blocks)
        slots = 2 * run.roots[:, 0] + run.positive if run.one_change else np.arange(run.num_roots)
        for numbers, block, slot in ((counted, blocks[0], slots), (listed, blocks[1], np.arange(len(slots)))):
            written = block.view(ROOT)
            assert np.array_equal(written["plan"], run.roots[numbers, 0])
            assert np.array_equal(written["vertices"], run.roots[numbers, 1:3])
            assert np.array_equal(written["moment"], run.roots[numbers, 3] + 1)
            assert np.array_equal(written["slot"], slot[numbers])

    watched(stream(number, vertices), look, mode=mode, directed=False, labels=2, threads=3)
    assert seen


def test_a_run_that_is_over_cannot_be_planned() -> None:
    runs: list[_native.Run] = []
    watched(stream(60, 12), runs.append, mode="batch", directed=False, labels=1, threads=1)
    with pytest.raises(RuntimeError, match="the run is over"):
        _native.DividedRoots(runs[0], np.zeros(9, np.uint8))
