"""Rows of the host that are copied to the device: which ones, that searches read them, and which go."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import motiflux as mf
from motiflux import _native
from motiflux.codegen.changing import ROW
from motiflux.config import PRIVATE, TUNING, private_tuning
from motiflux.device import devices_like
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.changing.searches import RunSearch
from motiflux.gpu.outofcore import cache as cache_module
from motiflux.gpu.outofcore import device_walks
from motiflux.gpu.outofcore.cache import NOTHING, RowCache, Wanted
from motiflux.gpu.outofcore.engine import SHARE, OutOfCoreEngine
from motiflux.gpu.outofcore.own_rows import HostOrOwnRows
from motiflux.gpu.outofcore.spending import Spending
from tests.fault.test_changing_faults import failing_once

pytestmark = pytest.mark.devices("emulated", "cuda", reason="they are copied to a device")

VERTICES = 60
TRIANGLE, PATH = "(a)--(b)--(c)--(a)", "(a)--(b)--(c)--(d)--(e)"
COPIES = ("host", "device")
EXACT = 2
"""The method of an estimate that visits every node."""


def graph() -> mf.Graph:
    """Return a graph whose vertex 0 has the longest row by far."""
    rng = np.random.default_rng(7)
    ends = rng.integers(0, VERTICES, (2, 150))
    hub = np.stack([np.zeros(40, np.int64), np.arange(1, 41)])
    ends = np.concatenate([ends[:, ends[0] != ends[1]], hub], axis=1)
    return mf.Graph.from_edges((ends[0], ends[1]), num_vertices=VERTICES)


@contextmanager
def monitors(device: str, pattern: str, **tuning: str) -> Iterator[tuple[mf.Monitor, mf.Monitor]]:
    """Give a monitor of the CPU, and one whose rows stay on the host."""
    options: dict[str, Any] = {"mode": "batch", "duplicates": "ignore"}
    with (
        mf.Monitor(graph(), pattern, device="cpu", **options) as here,
        mf.Monitor(
            graph(), pattern, device=device, engine="outofcore", tuning=private_tuning(tuning), **options
        ) as there,
    ):
        yield here, there


def engine_of(monitor: mf.Monitor) -> OutOfCoreEngine:
    engine = monitor._engine
    assert isinstance(engine, OutOfCoreEngine)
    return engine


def drawn(seed: int, size: int = 20) -> list[tuple[str, int, int]]:
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, VERTICES, (size, 2))
    return [("+-"[int(rng.integers(2))], int(u), int(v)) for u, v in ends if u != v]


def same(here: mf.Monitor, there: mf.Monitor, updates: list[tuple[str, int, int]]) -> None:
    ours, theirs = here.apply(updates)[0], there.apply(updates)[0]
    assert (ours.positive, ours.negative) == (theirs.positive, theirs.negative)


def rows_of_host(rows: HostOrOwnRows, vertices: NDArray[np.uint32]) -> list[NDArray[np.uint32]]:
    """Return the rows of vertices in memory of the host, which are written through these arrays."""
    places = zip(*rows.places_of(vertices, 1), strict=True)
    entry = ctypes.c_uint32
    return [
        np.frombuffer((entry * int(size)).from_address(int(address)), np.uint32)
        for address, size in places
        if size
    ]


def brought(monitor: mf.Monitor) -> dict[str, int]:
    figures = monitor_figures(monitor)
    return {name.removeprefix("cache_"): int(value) for name, value in figures.items()}


def monitor_figures(monitor: mf.Monitor) -> dict[str, float]:
    return {name: value for name, value in engine_of(monitor).measured().items() if name.startswith("cache_")}


@pytest.mark.parametrize("copies", COPIES)
def test_searches_read_copies_and_not_the_rows_of_the_host(
    device: str, copies: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring, saved = RowCache.bring, []

    def and_spoil(cache: RowCache, stream: Any, *more: Any) -> None:
        bring(cache, stream, *more)
        stream.wait()
        for kind in cache._kinds:
            for row in rows_of_host(kind.rows, kind.held):
                saved.append((row, row.copy()))
                row[:] = 0

    with monitors(device, PATH, cache="degree", cache_copies=copies) as (here, there):
        same(here, there, drawn(0))
        monkeypatch.setattr(RowCache, "bring", and_spoil)
        same(here, there, drawn(1))
        assert len(saved) > VERTICES // 3
        for row, entries in reversed(saved):
            row[:] = entries
        monkeypatch.undo()
        same(here, there, drawn(2))


def test_rows_of_the_host_are_read_where_there_are_no_copies(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test above would pass if searches read no rows at all."""
    bring = OutOfCoreEngine._bring_rows

    def and_spoil(engine: OutOfCoreEngine, stream: Any, *more: Any) -> None:
        bring(engine, stream, *more)
        stream.wait()
        for rows in engine._kinds():
            others = np.setdiff1d(np.arange(rows.num_rows, dtype=np.uint32), engine._touched)
            for row in rows_of_host(rows, others):
                saved.append((row, row.copy()))
                row[:] = 0

    saved: list[tuple[NDArray[np.uint32], NDArray[np.uint32]]] = []
    with monitors(device, PATH, cache="none") as (here, there):
        same(here, there, drawn(0))
        assert brought(there)["copied"] == 0
        assert engine_of(there).cache.nbytes == 0
        monkeypatch.setattr(OutOfCoreEngine, "_bring_rows", and_spoil)
        updates = drawn(1)
        ours, theirs = here.apply(updates)[0], there.apply(updates)[0]
        assert (ours.positive, ours.negative) != (theirs.positive, theirs.negative)
        for row, entries in reversed(saved):
            row[:] = entries
        monkeypatch.undo()
        same(here, there, drawn(2))


@pytest.mark.parametrize("copies", COPIES)
@pytest.mark.parametrize("room", [600, 2000, 3000, 1 << 16])
def test_headers_name_copies_or_rows_of_the_host_whatever_is_dropped(
    device: str, copies: str, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RowCache, "_most", lambda cache: room)
    dropped = kept = 0
    with monitors(device, PATH, cache="khop", cache_copies=copies) as (here, there):
        held = 0
        for seed in range(8):
            same(here, there, drawn(seed, 4))
            engine = engine_of(there)
            cache = engine.cache
            assert cache._buffer is not None
            assert cache._buffer.nbytes <= room
            assert max(cache._used) <= cache._segment_bytes
            check_headers(engine)
            now = sum(len(kind.held) for kind in cache._kinds)
            dropped += now < held
            kept += brought(there)["kept"]
            held = now
    assert kept > 0
    assert dropped > 0 or room == 1 << 16


def check_headers(engine: OutOfCoreEngine, number: int = 0) -> None:
    """Check what the device was told of rows that have not changed since, and what copies have."""
    kind, cache = engine.cache._kinds[number], engine.cache
    rows, held, accelerator = kind.rows, kind.held, cache._accelerator
    session = accelerator.session()
    headers = np.zeros(rows.num_rows, ROW)
    assert rows._headers is not None
    assert engine._reader is not None
    engine.pinned.follow(engine._reader.arenas())  # as before the next run
    changed = engine._reader.hold()
    engine._reader.release()
    cache.leave(session.main, changed)
    engine.headers.write(session.main, [rows.placed(changed)])
    assert np.isin(engine._touched, changed).all()
    session.main.download(rows._headers, headers)
    assert cache._buffer is not None
    content = np.zeros(cache._buffer.nbytes, np.uint8)
    session.main.download(cache._buffer, content)
    session.main.wait()
    accelerator.recycle(session)
    is_held = np.zeros(len(headers), bool)
    is_held[kind.held] = True
    vertices = np.arange(rows.num_rows, dtype=np.uint32)
    addresses, sizes = rows.places_of(vertices, 1)
    assert headers["size"].tolist() == sizes.tolist()
    assert headers["neighbors"][~is_held].tolist() == addresses[~is_held].tolist()
    pinned = [(one.address, one.address + one.nbytes) for one in engine.pinned.registrations.values()]
    for address, size in zip(addresses.tolist(), sizes.tolist(), strict=True):
        assert size == 0 or any(first <= address and address + 4 * size <= last for first, last in pinned)
    for vertex, row in zip(held, rows_of_host(rows, held), strict=True):
        begin = int(headers["neighbors"][vertex]) - cache._buffer.address
        assert content[begin : begin + row.nbytes].view(np.uint32).tolist() == row.tolist()


def test_copies_are_dropped_once_searches_are_short(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monitors(device, PATH, cache="frequency") as (here, there):
        monkeypatch.setattr(Spending, "is_of_use", lambda *_, **__: True)
        same(here, there, drawn(0))
        engine = engine_of(there)
        assert any(len(kind.held) for kind in engine.cache._kinds)
        monkeypatch.setattr(Spending, "is_of_use", lambda *_, **__: False)
        for seed in (1, 2):
            same(here, there, drawn(seed))
            assert not any(len(kind.held) for kind in engine.cache._kinds)
            check_headers(engine)
        monkeypatch.setattr(Spending, "is_of_use", lambda *_, **__: True)
        same(here, there, drawn(3))


@pytest.mark.parametrize("carry", ["on", "off"])
def test_copies_stay_for_the_next_run(device: str, carry: str) -> None:
    with monitors(device, TRIANGLE, cache="degree", carry=carry) as (here, there):
        same(here, there, [("+", 50, 51)])
        first = brought(there)
        assert first["copied"] > 0 == first["kept"]
        same(here, there, [("+", 52, 53)])
        second = brought(there)
        held = sum(len(kind.held) for kind in engine_of(there).cache._kinds)
    if carry == "off":
        assert (second["kept"], second["copied"]) == (0, first["copied"])
    else:
        assert second["copied"] == 2  # those that the first run touched
        assert second["wanted"] == 2  # no others are looked at
        assert held == first["copied"]  # those of the second run are not there now


def test_the_longest_rows_are_copied_first(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RowCache, "_most", lambda cache: 1400)
    with monitors(device, TRIANGLE, cache="degree") as (here, there):
        same(here, there, [("+", 50, 51)])
        (kind,) = engine_of(there).cache._kinds
        assert there.names(kind.held[-1:]).tolist() == [0]  # ids ascend by the length of rows
        others = np.setdiff1d(np.arange(VERTICES), [*kind.held, *engine_of(there)._touched])
        sizes = kind.rows.all_sizes
        assert sizes[others].max() <= sizes[kind.held].min()


def test_rows_are_copied_as_far_as_searches_come(device: str) -> None:
    for pattern, hops in ((TRIANGLE, 0), ("(a)--(b)--(c)", 0), ("(a)--(b)--(c)--(d)", 1), (PATH, 2)):
        with monitors(device, pattern, cache="khop") as (here, there):
            same(here, there, [("+", 50, 51)])
            near = {50, 51}
            for _ in range(hops):
                near |= neighbors(near)
            (kind,) = engine_of(there).cache._kinds
            assert set(there.names(kind.held).tolist()) == near - {50, 51}


def neighbors(vertices: set[int]) -> set[int]:
    edges = graph().to_edges()
    pairs = [*zip(edges.src.tolist(), edges.dst.tolist(), strict=True)]
    return {v for u, v in pairs if u in vertices} | {u for u, v in pairs if v in vertices}


def test_rows_that_no_copy_has_room_for_are_read_from_the_host(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RowCache, "_most", lambda cache: 40)
    with monitors(device, PATH, cache="khop") as (here, there):
        for seed in range(3):
            same(here, there, drawn(seed, 6))
            assert brought(there)["copied"] == 0 < brought(there)["left_out"]


@pytest.mark.parametrize("cache", TUNING["cache"].values)
def test_new_vertices_and_patterns_come_between_runs(device: str, cache: str) -> None:
    with monitors(device, TRIANGLE, cache=cache) as (here, there):
        same(here, there, drawn(0))
        grown = [("+", VERTICES + at, at % 7) for at in range(200)]
        same(here, there, grown)
        same(here, there, [("+", VERTICES + at, at % 7 + 1) for at in range(200)])
        engine = engine_of(there)
        for number, kind in enumerate(engine.cache._kinds):
            assert len(kind.held) or cache != "degree"
            check_headers(engine, number)
        for monitor in (here, there):
            monitor.add("(a)--(b), (b)--(c), (c)--(d), (d)--(a)")
        updates = drawn(1)
        ours, theirs = here.apply(updates), there.apply(updates)
        assert [(one.positive, one.negative) for one in ours] == [
            (one.positive, one.negative) for one in theirs
        ]


@pytest.mark.parametrize("walks", PRIVATE["access_walks"].values)
def test_the_rows_opened_most_often_are_copied(
    device: str, walks: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside the true numbers: a small search is visited whole by weighted walks."""
    monkeypatch.setattr(RowCache, "_most", lambda cache: 1500)
    exact = []
    choose = OutOfCoreEngine._choose_rows

    def beside(engine: OutOfCoreEngine, stream: Any, run: _native.Run) -> None:
        assert engine._native is not None
        assert engine._table is not None
        found = engine._native.estimate_accesses(
            _native.AccessEstimator(), run, engine._table.names, EXACT, seconds=None
        )
        exact.append(dict(zip(found.vertices.tolist(), found.times.tolist(), strict=True)))
        choose(engine, stream, run)

    monkeypatch.setattr(OutOfCoreEngine, "_choose_rows", beside)
    monkeypatch.setattr(device_walks, "WALKS_OF_MULTIPROCESSOR", 1 << 10)
    monkeypatch.setattr(OutOfCoreEngine, "_seconds_for_choosing", lambda _: 60.0)  # time cuts no walk short
    with monitors(device, PATH, cache="frequency", access_walks=walks) as (here, there):
        same(here, there, drawn(0, 3))
        engine = engine_of(there)
        (kind,) = engine.cache._kinds
        assert brought(there)["left_out"] > 0
        times = exact[-1]
        apart = {vertex: times[vertex] for vertex in times if vertex not in engine._touched.tolist()}
        copied = sum(apart.get(vertex, 0) for vertex in kind.held.tolist())
        others = sorted(apart.values(), reverse=True)[: len(kind.held)]
        assert 0 < copied <= sum(others)
        if walks != "paper":
            assert copied == sum(others)
        assert copied > sum(apart.values()) * len(kind.held) / len(apart)


def test_several_devices_are_told_what_to_copy_before_rows_are_written(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if len(devices_like(device)) < 2:
        pytest.skip(f"needs two devices of kind {device!r}, found one")
    steps: list[str] = []
    for name in ("foresee", "match"):
        method = getattr(OutOfCoreEngine, name)

        def noted(engine: Any, run: Any, *, name: str = name, method: Any = method, **more: Any) -> Any:
            steps.append(name)
            return method(engine, run, **more)

        monkeypatch.setattr(OutOfCoreEngine, name, noted)
    options: dict[str, Any] = {"mode": "batch", "duplicates": "ignore"}
    free = private_tuning({"cache_time": "free"})
    with (
        mf.Monitor(graph(), PATH, device="cpu", **options) as here,
        mf.Monitor(
            graph(), PATH, device=device, devices=2, engine="outofcore", tuning=free, **options
        ) as there,
    ):
        for seed in range(3):
            steps.clear()
            same(here, there, [*drawn(seed, 4), ("+", VERTICES + seed, seed)])
            assert steps == ["foresee", "match", "match"]
        several: Any = there._engine
        assert all(engine.cache.brought.wanted > 0 for engine in several._engines)


def labelled() -> mf.Graph:
    """Return two graphs that do not touch, one of each label."""
    src = [0] * 30 + [60] * 30 + list(range(30)) + list(range(60, 90))
    dst = [*range(1, 31), *range(61, 91), *range(25, 55), *range(85, 115)]
    return mf.Graph.from_edges((src, dst), num_vertices=120, vertex_labels=["A"] * 60 + ["B"] * 60)


def test_other_patterns_have_other_longest_rows(device: str) -> None:
    first, second = ("(a:A)--(b:A)--(c:A)--(d:A)", "(a:B)--(b:B)--(c:B)--(d:B)")
    options: dict[str, Any] = {"engine": "outofcore", "mode": "batch", "tuning": {"cache": "degree"}}
    with mf.Monitor(labelled(), device=device, **options) as monitor:
        pattern = monitor.add(first)
        monitor.apply([("+", 40, 41)])
        assert brought(monitor)["wanted"] > 30
        monitor.drop(pattern)
        monitor.add(second)
        monitor.apply([("+", 100, 101)])
        assert brought(monitor)["wanted"] > 30
        (kind,) = engine_of(monitor).cache._kinds
        assert min(np.asarray(monitor.names(kind.held)).tolist()) >= 60


def test_the_longest_rows_come_back_after_they_were_touched(device: str) -> None:
    rng = np.random.default_rng(2)
    ends = rng.integers(0, 400, (2, 3000))
    large = mf.Graph.from_edges(ends[:, ends[0] != ends[1]].T, num_vertices=400)
    options: dict[str, Any] = {"mode": "batch", "duplicates": "ignore"}
    with mf.Monitor(
        large, TRIANGLE, device=device, engine="outofcore", tuning={"cache": "degree"}, **options
    ) as there:
        held = []
        for _ in range(12):
            there.apply([("+", int(u), int(v)) for u, v in rng.integers(0, 400, (10, 2)) if u != v])
            engine = engine_of(there)
            held.append(len(engine.cache._kinds[0].held) + len(engine._touched))
        # A segment that is emptied takes some along, until the next run.
        assert all(400 in pair for pair in pairwise(held))


def test_copies_are_dropped_before_their_memory_when_a_label_makes_rows_of_several_classes(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    ends = rng.integers(0, VERTICES, (2, 500))
    ends = ends[:, ends[0] != ends[1]]
    labels = np.arange(VERTICES) % 2
    data = mf.Graph.from_edges(
        ends.T, num_vertices=VERTICES, vertex_labels=labels, edge_labels=np.zeros(ends.shape[1], np.int64)
    )
    patterns = ["(a:0)--(b:0)--(c:1)--(d:0)", "(a:1)--(b:1)--(c:0)--(d:1)"]
    options: dict[str, Any] = {"mode": "batch", "duplicates": "ignore"}
    with (
        mf.Monitor(data, patterns, device="cpu", **options) as here,
        mf.Monitor(
            data, patterns, device=device, engine="outofcore", tuning={"cache": "degree"}, **options
        ) as there,
    ):
        updates: list[Any] = [("+", 0, 1, 0), ("+", 2, 3, 0)]
        for _ in range(2):
            assert [(one.positive, one.negative) for one in here.apply(updates)] == [
                (one.positive, one.negative) for one in there.apply(updates)
            ]
            updates = [("+", 5, 6, 0)]
        engine = engine_of(there)
        assert all(len(kind.held) for kind in engine.cache._kinds)
        monkeypatch.setattr(RowCache, "bring", lambda cache, *_: None)  # as where no rows are worth it
        updates = [("+", u, v, 1) for u, v in ((1, 3), (5, 7), (9, 11))]
        assert [(one.positive, one.negative) for one in here.apply(updates)] == [
            (one.positive, one.negative) for one in there.apply(updates)
        ]
        assert {type(rows).__name__ for rows in engine._rows.values()} == {"OwnRows", "HostRows"}
        engine.cache.open(engine._accelerator.session().main, engine._kinds())
        (own,) = [n for n, rows in enumerate(engine._kinds()) if type(rows).__name__ == "OwnRows"]
        check_headers(engine, own)


def test_a_cache_grows_with_the_rows(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "_LEAST_CACHE", 1)
    with monitors(device, TRIANGLE, cache="degree") as (here, there):
        same(here, there, [("+", 50, 51)])
        engine = engine_of(there)
        before = engine.cache.nbytes
        many = [("+", u, v) for u in range(VERTICES) for v in range(u)]
        for updates in (many, [("+", VERTICES, 1)], [("+", VERTICES, 2)]):
            same(here, there, updates)
        assert engine.cache.nbytes > 2 * before
        check_headers(engine)


def test_a_call_that_fails_frees_the_copies_and_a_search_without_memory_has_fewer(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monitors(device, TRIANGLE, cache="degree") as (here, there):
        same(here, there, drawn(0))
        engine = engine_of(there)
        assert engine.cache.nbytes > 0
        for error in (KeyboardInterrupt(), DeviceMemoryError("a test", 2, 1, "wait")):
            with monkeypatch.context() as patch:
                patch.setattr(RunSearch, "count", failing_once(RunSearch.count, error))
                with pytest.raises(type(error)):
                    there.apply(drawn(1))
            assert engine.cache.nbytes == 0
        assert engine.cache.share == pytest.approx(SHARE / 2)
        same(here, there, drawn(2))


def test_rows_are_sent_in_pieces_until_time_is_up(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "_PIECE", 200)
    copy, pieces = RowCache._copy, []

    def noted(cache: RowCache, stream: Any, fresh: Any, threads: int) -> None:
        pieces.append(len(fresh))
        copy(cache, stream, fresh, threads)

    monkeypatch.setattr(RowCache, "_copy", noted)
    with monitors(device, TRIANGLE, cache="degree") as (here, there):
        same(here, there, [("+", 50, 51)])
        (kind,) = engine_of(there).cache._kinds
        assert len(pieces) > 3
        assert sum(pieces) == len(kind.held) == brought(there)["copied"]
        check_headers(engine_of(there))
        pieces.clear()
        engine = engine_of(there)
        touched = NOTHING.vertices
        rows = Wanted(np.zeros(2, np.uint32), engine._touched[:2])
        engine.cache.bring(there_stream(engine), rows, touched, 1, lambda: False)
        assert not pieces


def there_stream(engine: OutOfCoreEngine) -> Any:
    return engine._accelerator.session().main


def test_empty_rows_and_touched_ones_are_not_wanted(device: str) -> None:
    graph_with_gaps = mf.Graph.from_edges([(0, 1), (1, 2), (2, 3), (5, 6)], num_vertices=9)
    options: dict[str, Any] = {"engine": "outofcore", "mode": "batch", "tuning": {"cache": "degree"}}
    with mf.Monitor(graph_with_gaps, PATH, device=device, **options) as monitor:
        monitor.apply([("+", 3, 4)])
        cache = engine_of(monitor).cache
        assert brought(monitor)["wanted"] == 5  # of 0, 1, 2, 5 and 6
        session = engine_of(monitor)._accelerator.session()
        all_rows = Wanted(np.zeros(9, np.uint32), np.arange(9, dtype=np.uint32))
        cache.bring(session.main, all_rows, NOTHING.vertices, 1)
        assert cache.brought.wanted == 7
