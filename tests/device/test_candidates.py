"""The candidate table on a device is that of the host during a search, and only what changed is uploaded."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.gpu.changing.candidates import UploadedCandidates
from motiflux.gpu.changing.encoded_candidates import EncodedCandidates
from motiflux.gpu.changing.searches import RunSearch
from motiflux.gpu.runtime.accelerator import open_accelerator

pytestmark = pytest.mark.devices("emulated", "cuda", reason="the table lies on a device")

PATTERNS = ("(a:0)--(b:1)--(c:0), (b)--(d:1)", "(a)--(b:0)--(c:1)--(a)", "(a:1)--(b:1)--(c:1)--(d:0)")


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Compare both tables before each search; return the vertices that runs brought, -1 for a whole table."""
    followed: list[int] = []
    tables: list[tuple[UploadedCandidates, Any]] = []
    follow, load, count = UploadedCandidates.follow, UploadedCandidates._load, RunSearch.count

    def noted(self: UploadedCandidates, stream: Any, native: Any, run: Any, *args: Any) -> Any:
        followed.append(len(run.candidate_changes[2]))
        tables[:] = [(self, native)]
        return follow(self, stream, native, run, *args)

    def loaded(self: UploadedCandidates, stream: Any, native: Any) -> None:
        followed[-1] = -1
        load(self, stream, native)

    def compared(self: RunSearch, job: Any, *args: Any) -> Any:
        (table, native), *_ = tables
        buffer = table._buffer
        assert buffer is not None
        found = np.empty(buffer.nbytes, np.uint8)
        job.stream.download(buffer, found)
        job.stream.wait()
        _, _, columns, words = native.candidates()
        assert table.row_bytes == -(-columns // 8)
        expected = words.view(np.uint8).reshape(native.num_vertices, -1)[:, : table.row_bytes]
        shown = found[: expected.size].reshape(expected.shape)
        assert (shown == expected).all()
        assert not found[expected.size : table.row_bytes * table._vertices].any()
        return count(self, job, *args)

    monkeypatch.setattr(UploadedCandidates, "follow", noted)
    monkeypatch.setattr(UploadedCandidates, "_load", loaded)
    monkeypatch.setattr(RunSearch, "count", compared)
    return followed


def lost(*_: Any) -> None:
    raise mf.DeviceError("lost")


def drawn(rng: np.random.Generator, vertices: int, size: int) -> list[tuple[str, int, int]]:
    ends = rng.integers(0, vertices, (size, 2))
    return [("+" if rng.random() < 0.6 else "-", int(u), int(v)) for u, v in ends if u != v]


@pytest.mark.turns(8, "emulated")
@pytest.mark.parametrize("mode", ["sequence", "batch"])
def test_the_table_of_a_device_is_that_of_the_run(
    device: str, mode: str, seen: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(5)
    ends = rng.integers(0, 40, (2, 60))
    labels = np.arange(40) % 3
    graph = mf.Graph.from_edges(
        tuple(ends[:, ends[0] != ends[1]]), num_vertices=40, vertex_labels=labels, directed=False
    )
    tuning = private_tuning({"filter": "nlf"})
    options: dict[str, Any] = {"mode": mode, "tuning": tuning}
    here, there = (mf.Monitor(graph, PATTERNS[:2], device=one, **options) for one in ("cpu", device))
    for call in range(8):
        updates = drawn(rng, 40, 30)
        if call == 3:
            for monitor in (here, there):
                monitor.add(PATTERNS[2])
        if call == 5:  # new vertices, more than the table has room for
            updates += [("+", vertex % 40, vertex) for vertex in range(100, 260)]
        if call == 6:
            refused = drawn(rng, 40, 20)
            with monkeypatch.context() as failing:
                failing.setattr(RunSearch, "count", lost)
                with pytest.raises(mf.DeviceError, match="lost"):
                    there.apply(refused)
        expected, found = here.apply(updates), there.apply(updates)
        assert [(one.positive, one.negative) for one in expected] == [
            (one.positive, one.negative) for one in found
        ]
    assert seen.count(-1) == 4, "loaded at first, with a new pattern, with new vertices, after an error"
    assert sum(size > 0 for size in seen) >= 4
    assert max(seen) <= 40, "only vertices of updates"


@pytest.mark.turns(8, "emulated")
@pytest.mark.parametrize("container", ["slack", "gpma"])
@pytest.mark.parametrize("mode", ["sequence", "batch"])
@pytest.mark.parametrize("directed", [False, True])
def test_a_device_encodes_vertices_as_the_host_does(
    device: str, directed: bool, mode: str, container: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(8)
    ends = rng.integers(0, 30, (2, 70))
    graph = mf.Graph.from_edges(
        tuple(ends[:, ends[0] != ends[1]]),
        num_vertices=30,
        vertex_labels=np.arange(30) % 2,
        directed=directed,
    )
    patterns = PATTERNS[:2]
    if directed:
        patterns = ("(a:0)-->(b:1)-->(c:0), (d:1)-->(b)", "(a)-->(b:0)--(c:1)-->(a), (b)-->(d)")
    tuning = private_tuning({"filter": "nlf", "encode": "device", "container": container})
    here = mf.Monitor(graph, patterns, mode=mode)
    there = mf.Monitor(graph, patterns, mode=mode, tuning=tuning, device=device)
    engine: Any = there._engine
    compared = []

    def compare(self: RunSearch, job: Any, *args: Any) -> Any:
        job.stream.wait()
        found = np.empty(engine._candidates._table.nbytes, np.uint8)
        job.stream.download(engine._candidates._table.of(1, job.stream), found)
        job.stream.wait()
        words = there._native.candidates()[3].view(np.uint8).reshape(there.num_vertices, -1)
        expected = words[:, : engine._candidates.row_bytes].reshape(-1)
        compared.append(found[: expected.size] == expected)
        if mode == "batch":
            assert compared[-1].all()
        assert not (expected & ~found[: expected.size]).any()
        return count(self, job, *args)

    count = RunSearch.count
    monkeypatch.setattr(RunSearch, "count", compare)
    for call in range(6):
        updates = drawn(rng, 30, 12)
        updates += [("+", vertex % 30, vertex) for vertex in range(40, 60)] if call == 3 else []
        expected, found = here.apply(updates), there.apply(updates)
        assert [(one.positive, one.negative) for one in expected] == [
            (one.positive, one.negative) for one in found
        ]
    assert len(compared) >= 5
    assert np.concatenate(compared).mean() > 0.95, "edges that come again in a run count twice"


@pytest.mark.turns(8, "emulated")
def test_vertices_encoded_for_new_ones_are_a_multiple_of_those(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[int] = []
    encode = EncodedCandidates._encode

    def noted(self: EncodedCandidates, stream: Any, vertices: int, count: int) -> None:
        encoded.append(count)
        encode(self, stream, vertices, count)

    monkeypatch.setattr(EncodedCandidates, "_encode", noted)
    graph = mf.Graph.from_edges([(0, 1), (1, 2), (2, 3)], vertex_labels=[0, 1, 0, 1])
    new = 150
    tuning = private_tuning({"filter": "nlf", "encode": "device"})
    with (
        mf.Monitor(graph, PATTERNS[:1]) as here,
        mf.Monitor(graph, PATTERNS[:1], device=device, tuning=tuning) as there,
    ):
        for vertex in range(4, 4 + new):
            edge = ("+", vertex // 3, vertex)
            labels: dict[int | str, int | str] = {vertex: vertex // 3 % 2 ^ 1}
            expected, found = (one.apply([edge], vertex_labels=labels) for one in (here, there))
            assert [one.positive for one in expected] == [one.positive for one in found]
    # Two ends of an edge in the rows of two kinds, twice; and all of them some times.
    assert sum(encoded) <= 20 * new
    assert max(encoded) > 64, "the table outgrew its room"


@pytest.mark.turns(8, "emulated")
def test_a_table_of_many_patterns_has_several_bytes(device: str, seen: list[int]) -> None:
    rng = np.random.default_rng(6)
    ends = rng.integers(0, 30, (2, 80))
    graph = mf.Graph.from_edges(
        tuple(ends[:, ends[0] != ends[1]]), num_vertices=30, vertex_labels=np.arange(30) % 4, directed=False
    )
    leaves = itertools.combinations_with_replacement(range(4), 3)
    stars = [
        f"(a:{a})--(b:{b}), (a)--(c:{c}), (a)--(d:{d})"
        for (b, c, d), a in itertools.product(leaves, range(4))
    ]
    options: dict[str, Any] = {"tuning": {"filter": "nlf"}}
    here, there = (mf.Monitor(graph, stars, device=one, **options) for one in ("cpu", device))
    for _ in range(2):
        updates = drawn(rng, 30, 10)
        expected, found = here.apply(updates), there.apply(updates)
        assert [(one.positive, one.negative) for one in expected] == [
            (one.positive, one.negative) for one in found
        ]
    assert there._native.candidates()[2] > 64
    assert seen[0] == -1


def test_a_call_without_searches_ends_when_vertices_are_encoded(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the next call may free or overwrite what the kernel still reads."""
    session = open_accelerator(device).session()
    kind = type(session.main)
    done: list[str] = []
    launch, wait = kind.launch, kind.wait

    def launched(self: Any, kernel: Any, *args: Any) -> None:
        done.append("launch")
        launch(self, kernel, *args)

    def waited(self: Any) -> None:
        done.append("wait")
        wait(self)

    open_accelerator(device).recycle(session)
    monkeypatch.setattr(kind, "launch", launched)
    monkeypatch.setattr(kind, "wait", waited)
    patterns = ["(a:2)--(b:3)", "(a:0)--(b:1)--(c:1)--(d:1)"]
    graph = mf.Graph.from_edges([(0, 1)], num_vertices=6, vertex_labels=[0, 1, 1, 1, 2, 3])
    tuning = private_tuning({"filter": "nlf", "encode": "device"})
    with mf.Monitor(graph, patterns, device=device, tuning=tuning) as monitor:
        assert monitor.apply([("+", 4, 5)])[0].positive == 1
        assert "launch" in done
        assert done[-1] == "wait"
