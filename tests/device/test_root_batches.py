"""Triangles out of core with roots in batches: rows are copied to the device in turns."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.device import devices_like, open_device
from motiflux.errors import DeviceError
from motiflux.gpu import strategy
from motiflux.gpu.kernels import triangle_tiles
from motiflux.gpu.kernels.triangle_tiles import TileLaunches
from motiflux.gpu.runtime.launches import SearchReader
from motiflux.gpu.runtime.waves import Waves
from motiflux.gpu.storage import row_tiles
from motiflux.gpu.storage.placed_rows import PlacedRows
from motiflux.gpu.storage.row_tiles import cut
from tests.device.test_out_of_core_search import graph, kept, too_little
from tests.fault.test_changing_faults import FULL

TRIANGLE = "(a)--(b)--(c)--(a)"
on_devices = pytest.mark.devices("emulated", "cuda", reason="it is about GPUs")


def tuned(percent: str = "20", batches: str = "on", **switches: str) -> Any:
    return private_tuning(
        {"cache_percent": percent, "root_batches": batches, "triangles": "arcs", "tables": "off", **switches}
    )


def counted(data: mf.Graph, device: str, tuning: Any, pattern: Any = TRIANGLE, **options: Any) -> mf.Count:
    return mf.count(data, pattern, device=device, engine="outofcore", tuning=tuning, **options)


class Used:
    """Which tiles were bound, and how much work there was in all."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.launches: list[TileLaunches] = []
        self.waves = 0
        bind, enqueue = TileLaunches.bind, Waves._enqueue

        def binds(launches: TileLaunches, stream: Any) -> Any:
            self.launches.append(launches)
            return bind(launches, stream)

        def enqueues(waves: Waves, wave: Any) -> None:
            self.waves += 1
            self.before()
            enqueue(waves, wave)

        self.before: Callable[[], None] = lambda: None
        monkeypatch.setattr(TileLaunches, "bind", binds)
        monkeypatch.setattr(Waves, "_enqueue", enqueues)


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> Used:
    return Used(monkeypatch)


@pytest.fixture
def short_waves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triangle_tiles, "_WAVE_WORK", 3)
    monkeypatch.setattr(triangle_tiles, "_WAVE_BYTES", 128)


def with_hubs() -> mf.Graph:
    """Return a graph with rows of all lengths, and many vertices without any greater neighbour."""
    random = np.random.default_rng(2)
    pairs = np.minimum(random.integers(0, 300, (2500, 2)), random.integers(0, 300, (2500, 2)))
    spokes = np.column_stack([np.zeros(150, int), np.arange(400, 550)])
    return mf.Graph.from_edges(np.concatenate([pairs, spokes]), self_loops="drop", num_vertices=900)


@on_devices
@pytest.mark.parametrize("data", [graph(), with_hubs()], ids=["even", "hubs"])
@pytest.mark.parametrize(
    ("waves", "percent"),
    [
        ("one", "5"),
        ("several", "20"),
        *(pytest.param("several", p, marks=pytest.mark.long) for p in ("5", "10")),
    ],
)
def test_counts_are_those_of_the_cpu(
    device: str, percent: str, data: mf.Graph, waves: str, used: Used, request: pytest.FixtureRequest
) -> None:
    if waves == "several":
        request.getfixturevalue("short_waves")
    expected = mf.count(data, TRIANGLE, device="cpu")
    for _ in range(3):
        count = counted(data, device, tuned(percent))
        assert (count, count.complete) == (expected, True)
    data.forget()
    assert len(used.launches) == 1, "later calls launch the same work"
    assert (used.waves > 15) == (waves == "several")


@on_devices
def test_all_arcs_are_counted_once(device: str, short_waves: None, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    result = SearchReader.result

    def look(reader: SearchReader) -> Any:
        seen.append(reader.final_progress())
        return result(reader)

    monkeypatch.setattr(SearchReader, "result", look)
    data = graph()
    count = counted(data, device, tuned(), symmetry="subgraphs")
    assert seen == [(data.num_edges, data.num_edges, count)]


@on_devices
def test_rows_fit_into_the_room(device: str, used: Used) -> None:
    data = graph()
    counted(data, device, tuned("5"))
    (launches,) = used.launches
    assert launches._memory is not None
    assert launches._memory.nbytes <= 4 * len(data.forward.neighbors) * 5 // 100
    assert not kept(data, device, PlacedRows)


@on_devices
@pytest.mark.parametrize("percent", ["1", "50"])
def test_rows_are_placed_if_two_do_not_fit_or_all_do(device: str, percent: str, used: Used) -> None:
    data = graph()
    assert counted(data, device, tuned(percent)) == mf.count(data, TRIANGLE, device="cpu")
    assert not used.launches
    assert kept(data, device, PlacedRows)


@on_devices
def test_labelled_and_directed_triangles(device: str, used: Used) -> None:
    pairs = [pair for pair in combinations(range(90), 2) if (pair[0] * 31 + pair[1] * 17) % 5 == 0]
    labels = ["b" if v % 4 == 3 else "a" for v in range(90)]
    labelled = mf.Graph.from_edges(pairs, vertex_labels=labels)
    alike = mf.Pattern.from_edges([(0, 1), (1, 2), (2, 0)], vertex_labels=["a"] * 3)
    for pattern in (TRIANGLE, alike):
        expected = mf.count(labelled, pattern, device="cpu")
        assert counted(labelled, device, tuned("10"), pattern) == expected > 0
    assert len(used.launches) == 2
    directed = mf.Graph.from_edges(pairs, directed=True)
    transitive = "(a)-->(b)-->(c), (a)-->(c)"
    expected = mf.count(directed, transitive, device="cpu")
    assert counted(directed, device, tuned("10"), transitive) == expected > 0


@on_devices
def test_a_limit_ends_the_count(device: str, short_waves: None, used: Used) -> None:
    data = graph()
    for limit in (100, 101):
        count = counted(data, device, tuned(), limit=limit, symmetry="subgraphs")
        assert (count, count.complete) == (limit, False)
    few = used.waves
    expected = mf.count(data, TRIANGLE, device="cpu", symmetry="subgraphs")
    for limit in (expected, None):
        count = counted(data, device, tuned(), limit=limit, symmetry="subgraphs")
        assert (count, count.complete) == (expected, True)
    assert few < used.waves - few, "waves behind the limit are not enqueued"


@on_devices
def test_no_wave_is_enqueued_once_time_is_up(device: str, short_waves: None, used: Used) -> None:
    data = graph()
    expected = counted(data, device, tuned(rest="off"))
    all_waves, used.waves = used.waves, 0
    used.before = lambda: time.sleep(0.05 if used.waves > 2 else 0)
    count = counted(data, device, tuned(rest="off"), timeout=0.1)
    assert not count.complete
    assert 0 <= count < expected
    assert used.waves < all_waves
    used.before = lambda: None
    assert counted(data, device, tuned()) == expected


@on_devices
@pytest.mark.parametrize("error", [KeyboardInterrupt(), DeviceError("refused")], ids=["Ctrl-C", "refused"])
@pytest.mark.parametrize("wave", [1, 2, 9])
def test_a_call_that_fails_between_waves_leaves_nothing(
    device: str, error: BaseException, wave: int, short_waves: None, used: Used
) -> None:
    data = graph()
    expected = mf.count(data, TRIANGLE, device="cpu")

    def fail() -> None:
        if used.waves == wave:
            raise error

    used.before = fail
    with pytest.raises(type(error)):
        counted(data, device, tuned())
    for _ in range(2):
        assert counted(data, device, tuned()) == expected
    assert len(used.launches) == 2, "a job that was interrupted is not launched again"
    error.__traceback__ = error.__context__ = None


@on_devices
def test_progress_is_reported_between_waves(device: str, short_waves: None, used: Used) -> None:
    data, reports = graph(), list[mf.ProgressReport]()
    used.before = lambda: time.sleep(0.03 if used.waves % 10 == 0 else 0)
    expected = counted(data, device, tuned(), progress=reports.append)
    assert expected == mf.count(data, TRIANGLE, device="cpu")
    assert reports
    done = [report.done for report in reports]
    assert done == sorted(done)
    assert all(report.total == data.num_edges and report.found <= expected for report in reports)
    assert 0 < max(done) <= data.num_edges


@on_devices
def test_rows_are_placed_without_memory_for_tiles(
    device: str, used: Used, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, opened = graph(), open_device(device)
    allocate = opened.allocate

    def refuse(nbytes: int, what: str, **options: Any) -> Any:
        if what == triangle_tiles._WHAT:
            raise FULL
        return allocate(nbytes, what, **options)

    monkeypatch.setattr(opened, "allocate", refuse)
    assert counted(data, device, tuned()) == mf.count(data, TRIANGLE, device="cpu")
    assert not used.launches
    assert kept(data, device, PlacedRows)


@on_devices
def test_the_budget_of_device_memory_bounds_the_room(device: str, used: Used) -> None:
    data = graph(300)
    options = too_little(device, data) | {"tuning": tuned("auto")}
    expected = mf.count(data, TRIANGLE, device="cpu")
    before = open_device(device).used_memory()
    for _ in range(2):
        assert mf.count(data, TRIANGLE, engine="outofcore", **options) == expected
    (launches,) = used.launches
    assert launches._memory is not None
    assert launches._memory.nbytes <= (options["gpu_memory"] - before) // 2


@on_devices
def test_released_rows_are_pinned_again(device: str, used: Used) -> None:
    data = graph()
    expected = counted(data, device, tuned())
    data.forget()
    assert counted(data, device, tuned()) == expected == mf.count(data, TRIANGLE, device="cpu")


@on_devices
def test_expected_bytes_choose(device: str, used: Used, monkeypatch: pytest.MonkeyPatch) -> None:
    data = graph()
    expected = mf.count(data, TRIANGLE, device="cpu")
    assert counted(data, device, tuned(batches="auto")) == expected
    assert not used.launches, "launches cost more than the rows of a small graph"
    monkeypatch.setattr(row_tiles, "_BYTES_OF_LAUNCH", 0)
    assert counted(data, device, tuned(batches="off")) == expected
    assert not used.launches
    assert counted(data, device, tuned("10", "auto")) == expected
    assert used.launches


@on_devices
def test_long_rows_are_counted_by_arcs_in_batches(
    device: str, used: Used, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(strategy, "_LONG_ON_AVERAGE", 0)
    data = graph()
    expected = mf.count(data, TRIANGLE, device="cpu")
    assert counted(data, device, tuned(triangles="vertices")) == expected
    assert not used.launches
    assert counted(data, device, tuned(triangles="auto")) == expected
    assert used.launches


@on_devices
def test_explain_says_that_roots_are_taken_in_batches(device: str) -> None:
    data = graph()
    for batches, told in (("on", True), ("off", False)):
        text = mf.explain(data, TRIANGLE, device=device, engine="outofcore", tuning=tuned(batches=batches))
        assert ("roots in 4 batches, 16 launches, 13.8 KiB copied in turns" in text) is told


@on_devices
def test_several_devices_count_batches_in_turn(device: str, short_waves: None, used: Used) -> None:
    if len(devices_like(device)) < 2:
        pytest.skip(f"needs two devices of kind {device!r}, found one")
    data = graph()
    expected = mf.count(data, TRIANGLE, device="cpu")
    for percent in ("20", "10"):
        count = counted(data, device, tuned(percent), devices=2)
        assert (count, count.complete) == (expected, True)
    assert len(used.launches) == 4
    assert sum(launches.task.arcs for launches in used.launches) == 2 * data.num_edges
    assert all(launches.task.arcs for launches in used.launches)
    count = counted(data, device, tuned(), devices=2, limit=500)
    assert (count, count.complete) == (500, False)


@on_devices
def test_a_device_that_cuts_rows_in_another_way_takes_no_part(
    device: str, used: Used, monkeypatch: pytest.MonkeyPatch
) -> None:
    if len(devices_like(device)) < 2:
        pytest.skip(f"needs two devices of kind {device!r}, found one")
    data, room = graph(), row_tiles.room_for
    expected = mf.count(data, TRIANGLE, device="cpu")

    def less(copies: Any, on: Any, *args: Any) -> Any:
        found = room(copies, on, *args)
        return found._replace(nbytes=found.nbytes // 2) if on.name.endswith(":1") else found

    monkeypatch.setattr(row_tiles, "room_for", less)
    with pytest.warns(mf.MotifluxWarning, match="takes no part: its work is not cut up as"):
        assert counted(data, device, tuned(), devices=2) == expected
    assert len(used.launches) == 1


@on_devices
def test_any_graph_and_room(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triangle_tiles, "_WAVE_WORK", 2)

    @settings(deadline=None)
    @given(
        st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=30, max_size=400),
        st.sampled_from(["5", "10", "20", "50"]),
    )
    def holds(pairs: list[tuple[int, int]], percent: str) -> None:
        data = mf.Graph.from_edges(pairs, self_loops="drop", num_vertices=41)
        assert counted(data, device, tuned(percent)) == mf.count(data, TRIANGLE, device="cpu")

    holds()


@given(st.lists(st.integers(0, 9), min_size=1, max_size=60), st.integers(1, 60))
def test_tiles_hold_each_pair_of_rows_once(lengths: list[int], room: int) -> None:
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint64)
    tiles = cut(offsets, max(lengths), room)
    if tiles is None:
        assert room < 2 * max(lengths) or room < 2
        return
    assert sum(tiles.room) == room
    met = np.zeros((len(lengths), len(lengths)), int)
    for roots, behind in tiles.batches:
        assert roots.arcs <= tiles.room[0]
        for tile in (roots, *behind):
            assert (tile.begin, tile.begin + tile.arcs) == (offsets[tile.first], offsets[tile.end])
            met[roots.first : roots.end, tile.first : tile.end] += 1
        assert all(tile.arcs <= tiles.room[1] for tile in behind)
    some = np.flatnonzero(lengths)
    pairs = np.triu(np.ones_like(met)) > 0
    assert (met[np.ix_(some, some)][pairs[np.ix_(some, some)]] == 1).all()
    assert tiles.nbytes == 4 * sum(t.arcs for roots, behind in tiles.batches for t in (roots, *behind))


def test_launches_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    offsets = np.arange(0, 2001, 2, dtype=np.uint64)
    assert cut(offsets, 2, 40) is not None
    monkeypatch.setattr(row_tiles, "_MOST_LAUNCHES", 100)
    assert cut(offsets, 2, 40) is None
