"""Faults while updates are matched on a device: the call is undone, and the next one is right."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.codegen.kernels import Goal
from motiflux.config import private_tuning
from motiflux.device import open_device
from motiflux.errors import DeviceError, DeviceMemoryError
from motiflux.gpu.changing import engine as engines
from motiflux.gpu.changing import manner as manners
from motiflux.gpu.changing.gpma import PackedMemoryArray
from motiflux.gpu.changing.packed_rows import PackedRows, RunOfPackedRows
from motiflux.gpu.changing.rows import Rows, RunOfSlackRows, SlackRows
from motiflux.gpu.changing.searches import RunSearch
from motiflux.gpu.changing.searches import run as run_search
from motiflux.gpu.changing.uploaded_plans import UploadedPlans
from motiflux.jit import Source

pytestmark = pytest.mark.devices("emulated", "cuda", reason="its monitor has no copy on a device")

FULL = DeviceMemoryError("a test", 2, 1, "wait")
PATTERNS = ["(a)--(b)--(c)--(a)", "(a)--(b)--(c)--(d)"]
STAGES: dict[str, tuple[Any, str]] = {
    "rows are placed": (Rows, "changes"),
    "rows are written": (RunOfSlackRows, "merge"),
    "updates are counted": (RunSearch, "count"),
    "updates are searched": (run_search, "waited"),
    "updates are listed": (RunSearch, "list"),
    "rows are settled": (RunOfSlackRows, "settle"),
}
OF_GPMA: dict[str, tuple[Any, str]] = {
    "rows are written": (RunOfPackedRows, "merge"),
    "rows are settled": (RunOfPackedRows, "settle"),
    "windows are chosen": (PackedMemoryArray, "_locate"),
    "windows are rewritten": (PackedMemoryArray, "_find_rows"),
}
GPMA = {"tuning": {"container": "gpma"}}


def updates(seed: int, size: int = 60) -> list[tuple[str, int, int]]:
    draw = np.random.default_rng(seed)
    pairs = draw.integers(0, 14, (size, 2))
    return [("+" if draw.random() < 0.7 else "-", int(u), int(v)) for u, v in pairs if u != v]


def monitors(device: str, **options: Any) -> tuple[mf.Monitor, mf.Monitor]:
    graph = mf.Graph.from_edges([(u, u + 1) for u in range(13)])
    return mf.Monitor(graph, PATTERNS, **options), mf.Monitor(graph, PATTERNS, device=device, **options)


def same(one: mf.Delta, other: mf.Delta) -> bool:
    return all((a.positive, a.negative) == (b.positive, b.negative) for a, b in zip(one, other, strict=True))


def failing_once(call: Callable[..., Any], error: BaseException) -> Callable[..., Any]:
    waiting = [error]

    def fails(*args: Any, **options: Any) -> Any:
        if waiting:
            raise waiting.pop()
        return call(*args, **options)

    return fails


@pytest.mark.parametrize("error", [FULL, KeyboardInterrupt()], ids=["full", "Ctrl-C"])
@pytest.mark.parametrize(
    ("container", "stage"), [*(("slack", stage) for stage in STAGES), *(("gpma", stage) for stage in OF_GPMA)]
)
@pytest.mark.parametrize("mode", ["sequence", "batch"])
def test_a_call_that_fails_leaves_the_graph_and_the_next_call_is_right(
    device: str,
    mode: str,
    container: str,
    stage: str,
    error: BaseException,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tuning = {"container": container}
    here, there = monitors(device, mode=mode, matches=stage == "updates are listed", tuning=tuning)
    assert same(here.apply(updates(1)), there.apply(updates(1)))
    before = there.num_edges
    place, name = (STAGES if container == "slack" else OF_GPMA)[stage]
    with monkeypatch.context() as patch:
        patch.setattr(place, name, failing_once(getattr(place, name), error))
        with pytest.raises(type(error)):
            there.apply(updates(2))
    assert there.num_edges == before
    assert same(here.apply(updates(3)), there.apply(updates(3)))
    assert here.num_edges == there.num_edges


def test_a_timeout_applies_nothing(device: str) -> None:
    here, there = monitors(device)
    delta = there.apply(updates(1), timeout=0.0)
    assert not delta.complete
    assert there.num_edges == here.num_edges
    assert same(here.apply(updates(1)), there.apply(updates(1)))


@pytest.mark.parametrize("container", ["slack", "gpma"])
def test_too_little_memory_is_an_error_that_leaves_the_graph(device: str, container: str) -> None:
    graph = mf.Graph.from_edges([(u, u + 1) for u in range(13)])
    tuning = {"container": container}
    with mf.Monitor(graph, PATTERNS, device=device, gpu_memory=4096, tuning=tuning) as monitor:
        with pytest.raises(DeviceMemoryError, match="gpu_memory"):
            monitor.apply(updates(1))
        assert monitor.num_edges == graph.num_edges


def test_a_packed_array_that_cannot_grow_is_an_error_that_leaves_the_graph(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("motiflux.stream.matching.run_limit._LEAST_RUN", 1 << 20)  # not in parts
    graph = mf.Graph.from_edges([(u, u + 1) for u in range(13)])
    many = [("+", u, v) for u in range(14, 200) for v in range(14, u)]
    here = mf.Monitor(graph, "(a)--(b)--(c)--(a)")
    with mf.Monitor(graph, "(a)--(b)--(c)--(a)", device=device, **GPMA) as there:
        there.apply(updates(1))
        here.apply(updates(1))
        engine: Any = there._engine
        (rows,) = engine._rows.values()
        rows.array._budget = open_device(device).used_memory()  # the search has more
        before = there.num_edges
        with pytest.raises(DeviceMemoryError, match="packed memory array"):
            there.apply(many)
        assert there.num_edges == before
        assert same(here.apply(many), there.apply(many))
        assert here.num_edges == there.num_edges


def test_rows_that_have_no_room_to_grow_are_an_error_that_leaves_the_graph(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("motiflux.stream.matching.run_limit._LEAST_RUN", 1 << 20)  # not in parts
    graph = mf.Graph.from_edges([(u, u + 1) for u in range(13)])
    many = [("+", u, v) for u in range(14, 100) for v in range(14, u)]
    here = mf.Monitor(graph, "(a)--(b)--(c)--(a)", mode="batch")
    with mf.Monitor(graph, "(a)--(b)--(c)--(a)", device=device, mode="batch") as there:
        assert same(here.apply(updates(1)), there.apply(updates(1)))
        engine: Any = there._engine
        (rows,) = engine._rows.values()
        rows._left, rows._budget = 0, 1  # the search and the run have more
        before = there.num_edges
        with pytest.raises(DeviceMemoryError, match="rows of the changing graph"):
            there.apply(many)
        assert there.num_edges == before
        assert same(here.apply(many), there.apply(many))
        assert here.num_edges == there.num_edges


@pytest.mark.parametrize("container", ["slack", "gpma"])
def test_rows_that_outgrow_their_places_many_times_stay_right(device: str, container: str) -> None:
    hub = [("+", 0, leaf) for leaf in range(1, 160)]
    graph = mf.Graph.from_edges([(0, 1)], num_vertices=2)
    tuning = {"container": container}
    here, there = mf.Monitor(graph, PATTERNS), mf.Monitor(graph, PATTERNS, device=device, tuning=tuning)
    for first in range(0, len(hub), 37):
        part = [*hub[first : first + 37], ("+", 1 + first, 2 + first)]
        assert same(here.apply(part), there.apply(part))
    gone = [("-", u, v) for _, u, v in hub[::2]]
    assert same(here.apply(gone), there.apply(gone))


@pytest.mark.parametrize("error", [FULL, KeyboardInterrupt()], ids=["full", "Ctrl-C"])
@pytest.mark.parametrize("stage", ["load", "upload"])
@pytest.mark.parametrize(
    ("container", "why"), [("slack", "new plans"), ("slack", "waste"), ("gpma", "new plans")]
)
def test_a_load_that_fails_is_repeated_by_the_next_call(
    device: str,
    container: str,
    why: str,
    stage: str,
    error: BaseException,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here, there = monitors(device, tuning={"container": container})
    assert same(here.apply(updates(1)), there.apply(updates(1)))
    if why == "new plans":
        for monitor in (here, there):
            monitor.add("(a)--(b)--(c)")
    rows = {"slack": SlackRows, "gpma": PackedRows}[container]
    place = rows if stage == "load" else UploadedPlans
    with monkeypatch.context() as patch:
        patch.setattr(place, stage, failing_once(getattr(place, stage), error))
        if why == "waste":
            patch.setattr(SlackRows, "is_wasteful", property(lambda _: True))
        with pytest.raises(type(error)):
            there.apply(updates(2))
    assert there.num_edges == here.num_edges
    assert same(here.apply(updates(3)), there.apply(updates(3)))


@pytest.mark.parametrize("mode", ["sequence", "batch"])
def test_a_total_beyond_128_bits_is_an_error(device: str, mode: str) -> None:
    leaves, neighbors = 13, 1000
    text = "(c:A)--(x:B), " + ", ".join(f"(c)--(l{leaf}:C)" for leaf in range(leaves))
    graph = mf.Graph.from_edges(
        [(0, vertex) for vertex in range(1, neighbors + 1)],
        num_vertices=neighbors + 2,
        vertex_labels=["A"] + ["C"] * neighbors + ["B"],
    )
    with mf.Monitor(graph, text, mode=mode, semantics="homomorphism", device=device) as monitor:  # type: ignore[arg-type]
        with pytest.raises(mf.CountOverflowError):
            monitor.apply([("+", 0, neighbors + 1)])
        assert monitor.num_edges == neighbors


@pytest.mark.parametrize("mode", ["sequence", "batch"])
def test_ids_that_come_with_a_call_are_seen_in_it(device: str, mode: str) -> None:
    graph = mf.Graph.from_edges([(0, 1), (1, 2)], num_vertices=3)
    text = "(a)--(b)--(c) WHERE id(c) = 9"
    rows = [("+", 2, 9), ("+", 1, 3), ("+", 3, 9), ("+", 0, 3)]
    here, there = (mf.Monitor(graph, text, mode=mode, device=one) for one in ("cpu", device))  # type: ignore[arg-type]
    found = there.apply(rows)
    assert same(here.apply(rows), found)
    assert found[0].positive > 0


def test_the_child_of_a_fork_refuses_calls(device: str) -> None:
    _, there = monitors(device)
    there.apply(updates(1))
    child = os.fork()
    if child == 0:
        try:
            there.apply(updates(2))
        except DeviceError as error:
            os._exit(0 if "child of a fork" in str(error) else 2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert there.apply(updates(2)).complete


def test_waiting_for_a_kernel_ends_when_the_time_is_up(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = monitors(device)
    with monkeypatch.context() as patch:
        patch.setattr(engines.Accelerator, "begin", lambda *_, at_once=False: False)
        assert not there.apply(updates(1), timeout=0.05).complete
    assert there.num_edges == here.num_edges
    assert same(here.apply(updates(1)), there.apply(updates(1)))


@pytest.mark.parametrize(
    "tuning",
    [
        {"bitmaps": "on"},
        {"bitmaps": "on", "stealing": "passive"},
        {"bitmaps": "on", "measure": "utilisation"},
        {"coalesce": "on"},
    ],
    ids=str,
)
def test_a_call_runs_no_kernel_that_it_has_not_waited_for(
    device: str, monkeypatch: pytest.MonkeyPatch, tuning: dict[str, str]
) -> None:
    """A call that loads another kernel would compile it there, whatever its timeout."""
    awaited, ran = set[Source](), set[Source]()
    accelerator = engines.Accelerator
    for name, sources in ("begin", awaited), ("kernel", ran), ("kernels", ran):
        monkeypatch.setattr(accelerator, name, noting(getattr(accelerator, name), sources))
    few = 20  # searches, from which on groups of a block share no work
    monkeypatch.setattr(manners, "_FEW_ROOTS", few / open_device(device).multiprocessors)
    options: dict[str, Any] = {"tuning": private_tuning(tuning), "matches": "coalesce" in tuning}
    pattern = "(a)--(b)--(c)--(a), (a)--(d)"
    graph = mf.Graph.from_edges([(u, u + 1) for u in range(13)])
    here = mf.Monitor(graph, pattern, **options)
    there = mf.Monitor(graph, pattern, device=device, engine="batch", **options)
    for size in range(20, 0, -1):
        assert same(here.apply(updates(size, size)), there.apply(updates(size, size)))
        assert {source.name for source in ran - awaited} == set()
    assert ran


def noting(call: Callable[..., Any], sources: set[Source]) -> Callable[..., Any]:
    def noted(accelerator: Any, source: Source, *rest: Any, **options: Any) -> Any:
        if call.__name__ != "begin" or options.get("at_once"):
            sources.add(source)
        return call(accelerator, source, *rest, **options)

    return noted


def test_groups_get_more_lanes_when_rows_have_grown_and_kernels_are_compiled(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[int] = []
    with_8: set[Source] = set()
    source = manners.changing_source

    def noted(goal: Goal, lanes: int, within: str | None, **options: Any) -> Source:
        used.append(lanes)
        found = source(goal, lanes, within, **options)
        if lanes == 8:
            with_8.add(found)
        return found

    monkeypatch.setattr(manners, "changing_source", noted)
    for compiled, last in ((True, 32), (False, 8)):
        monkeypatch.setattr(
            engines.Accelerator, "is_compiled", lambda self, source, every=compiled: every or source in with_8
        )
        graph = mf.Graph.from_edges([(0, 1)], num_vertices=2)
        here, there = mf.Monitor(graph, PATTERNS), mf.Monitor(graph, PATTERNS, device=device)
        used.clear()
        for first in range(2, 142, 20):
            hub = [("+", 0, leaf) for leaf in range(first, first + 20)]
            assert same(here.apply(hub), there.apply(hub))
        assert (used[0], used[-1]) == (8, last)
