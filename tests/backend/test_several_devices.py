"""Searches on several devices of one machine at once: what one device finds, each match once."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import threading
import time
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.device import devices_like
from motiflux.errors import DeviceError, DeviceMemoryError, MotifluxWarning
from motiflux.gpu import group as device_group
from motiflux.gpu import group_rows
from motiflux.gpu.runtime.accelerator import open_accelerator
from motiflux.gpu.runtime.job import AnyJob, KernelJob
from motiflux.gpu.runtime.kernel_times import taking_times
from motiflux.gpu.runtime.launches import Result
from motiflux.plan import make_plan
from motiflux.request.request import make_request
from tests.backend.cases import clique, cycle, given_time, path
from tests.executing import counting_job, engine_on

pytestmark = pytest.mark.devices("emulated", "cuda", reason="there is one CPU")

PATTERNS = {
    "edge": [(0, 1)],
    "path": path(4),
    "triangle": cycle(3),
    "ring": cycle(5),
    "4-clique": clique(4),
    "5-clique": clique(5),
    "star": [(0, 1), (0, 2), (0, 3)],
    "tailed triangle": [*cycle(3), (2, 3)],
    "branches": [(0, 1), (1, 2), (2, 3), (1, 4), (4, 5)],
}
SWITCHES: dict[str, dict[str, str]] = {
    "default": {},
    "search": {"tables": "off"},
    "level by level": {"tables": "off", "bitmaps": "off", "tail": "off", "parts": "off"},
    "parts": {"tables": "off", "parts": "on"},
}


@pytest.fixture
def number(device: str) -> int:
    """Return how many devices of the kind there are, two or more."""
    there = len(devices_like(device))
    if there < 2:
        pytest.skip(f"needs two devices of kind {device!r}, found one")
    return there


@pytest.fixture(scope="module")
def graph() -> mf.Graph:
    """A graph with a hub, some edges of which are not in any triangle."""
    pairs = np.random.default_rng(3).integers(0, 70, (500, 2))
    hub = np.stack([np.zeros(60, int), np.arange(1, 61)], axis=1)
    edges = np.concatenate([pairs[pairs[:, 0] != pairs[:, 1]], hub])
    return mf.Graph.from_edges(edges, vertex_labels=np.arange(70) % 3)


def number_of(way: str, graph: mf.Graph, pattern: mf.Pattern, device: str, number: int) -> int:
    """Return how many matches several devices find, which count or list them."""
    if way == "count":
        return mf.count(graph, pattern, device=device, devices=number, tuning=SWITCHES["level by level"])
    return len(set(rows_of(mf.match(graph, pattern, device=device, devices=number))))


def rows_of(matches: mf.Matches) -> list[tuple[int, ...]]:
    return sorted(map(tuple, matches.to_numpy().tolist()))


@pytest.mark.parametrize("semantics", ["isomorphism", "induced", "homomorphism"])
@pytest.mark.parametrize("switches", SWITCHES.values(), ids=SWITCHES.keys())
@pytest.mark.parametrize("name", PATTERNS)
def test_counts_are_those_of_the_cpu(
    graph: mf.Graph,
    device: str,
    number: int,
    name: str,
    switches: dict[str, str],
    semantics: str,
) -> None:
    pattern = mf.Pattern.from_edges(PATTERNS[name])
    expected = mf.count(graph, pattern, semantics=semantics)
    found = mf.count(
        graph, pattern, semantics=semantics, device=device, devices=number, tuning=switches, limit=10**18
    )
    assert (found, found.complete) == (expected, True)
    found = mf.count(graph, pattern, semantics=semantics, device=device, devices="all", tuning=switches)
    assert (found, found.complete) == (expected, True)
    assert found.device.count(device) == number


@pytest.mark.parametrize("name", ["edge", "path", "triangle", "4-clique", "5-clique", "tailed triangle"])
def test_rows_are_those_of_the_cpu_each_once(graph: mf.Graph, device: str, number: int, name: str) -> None:
    pattern = mf.Pattern.from_edges(PATTERNS[name])
    expected = rows_of(mf.match(graph, pattern))
    matches = mf.match(graph, pattern, device=device, devices=number, batch_rows=1000)
    assert rows_of(matches) == expected
    assert matches.complete


def test_rows_that_fill_their_memory_again_and_again_come_once(
    graph: mf.Graph, device: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("motiflux.gpu.rows.stored_rows._MOST_BYTES", 1)
    pattern = mf.Pattern.from_edges(clique(4))
    expected = rows_of(mf.match(graph, pattern))
    assert rows_of(mf.match(graph, pattern, device=device, devices=number)) == expected


@pytest.mark.parametrize("limit", [None, 0, 1, 1000])
def test_arrays_on_the_devices_have_each_row_once(
    graph: mf.Graph, device: str, number: int, limit: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("motiflux.gpu.rows.stored_rows._MOST_BYTES", 4096)
    pattern = mf.Pattern.from_edges(clique(4))
    expected = rows_of(mf.match(graph, pattern))
    matches = mf.match(graph, pattern, device=device, devices=number, limit=limit)
    arrays = [batch.to_numpy() for batch in matches.device_batches()]
    found = [tuple(row) for array in arrays for row in array.tolist()]
    wanted = len(expected) if limit is None else limit
    assert len(expected) > 1000
    assert len(set(found) & set(expected)) == len(found) == wanted
    assert matches.complete is (limit is None)


@pytest.mark.parametrize("labels", [[0, 1, 2], [0, 1, 0], [1, 1, 2]])
def test_spaces_are_the_same_on_all_devices(
    graph: mf.Graph, device: str, number: int, labels: list[int]
) -> None:
    """How far candidates are filtered differs from run to run: root arcs must be the same all the same."""
    pattern = mf.Pattern.from_edges([*cycle(3), (2, 3)], vertex_labels=[*labels, 1])
    expected = mf.count(graph, pattern)
    assert expected > 0
    for _ in range(3):
        graph.forget()
        found = mf.count(graph, pattern, device=device, devices=number, tuning={"candidates": "on"})
        assert found == expected
    assert rows_of(mf.match(graph, pattern, device=device, devices=number)) == rows_of(
        mf.match(graph, pattern)
    )


def test_rows_of_another_space_are_not_taken_for_those_of_the_first(
    graph: mf.Graph, device: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device whose space was filtered by itself takes no part: its arcs are not those of the others."""
    pattern = mf.Pattern.from_edges(cycle(3), vertex_labels=[0, 1, 2])
    expected = mf.count(graph, pattern)
    graph.forget()
    monkeypatch.setattr(device_group, "copy_space", lambda *_: None)
    with pytest.warns(MotifluxWarning, match=f"{device}:1 takes no part: its work is not cut up"):
        found = mf.count(graph, pattern, device=device, devices=2, tuning={"candidates": "on"})
    assert found == expected
    graph.forget()


def test_limits_hold_exactly(graph: mf.Graph, device: str, number: int) -> None:
    pattern = mf.Pattern.from_edges(path(4))
    whole = mf.count(graph, pattern)
    for limit in (0, 1, 2, 777, whole - 1, whole, whole + 1):
        expected = (min(whole, limit), limit >= whole)
        for switches in SWITCHES.values():
            count = mf.count(graph, pattern, device=device, devices=number, limit=limit, tuning=switches)
            assert (count, count.complete) == expected
    triangles = mf.Pattern.from_edges(cycle(3))
    whole = mf.count(graph, triangles)
    for limit in (0, 1, 100, whole - 1, whole, whole + 1):
        matches = mf.match(graph, triangles, device=device, devices=number, limit=limit, batch_rows=64)
        found = rows_of(matches)
        assert len(set(found)) == len(found) == min(whole, limit)
        assert matches.complete is (limit >= whole)


def test_a_look_is_not_at_what_an_earlier_search_has_left(graph: mf.Graph, device: str, number: int) -> None:
    """Looks pass the kernel: until the control block is cleared, it holds the numbers of another search."""
    pattern = mf.Pattern.from_edges(path(4))
    request = make_request(
        semantics="isomorphism", symmetry="embeddings", device=device, tuning=SWITCHES["level by level"]
    )
    engine, plan = engine_on(open_accelerator(device)), make_plan(graph, pattern, tuning=request.tuning)
    with counting_job(engine, graph, plan, request) as search:
        search.launches.take_share(0, 1, search.launches.task.chunk)
        search.watched = True
        search.launch()
        begun, search._begun = search._begun, NeverDone()
        for _ in range(3):
            assert search.look() is None
            time.sleep(0.01)
        search._begun = begun
        while not search.done():
            time.sleep(1e-3)
        for _ in range(2):
            assert search.look() is None  # the next search's control block by now
            time.sleep(0.01)
        assert search.result().found > 0


class NeverDone:
    """A mark that is not reached."""

    def done(self) -> bool:
        return False

    def milliseconds_since(self, earlier: object) -> float:
        raise AssertionError


def test_a_timeout_ends_all_devices(device: str, number: int, dense: mf.Graph) -> None:
    pattern = mf.Pattern.from_edges(path(8))
    switches = {"tables": "off", "tail": "off", "parts": "off"}
    count = given_time(
        lambda seconds: mf.count(
            dense, pattern, device=device, devices=number, timeout=seconds, tuning=switches
        ),
        lambda count: count > 0,
    )
    assert 0 < count < 10**19
    assert not count.complete
    with mf.match(dense, pattern, device=device, devices=number, timeout=0.3) as matches:
        rows = sum(len(batch) for batch in matches)
    assert rows > 0
    assert matches.complete is False


def test_matches_that_are_closed_early_leave_nothing(device: str, number: int, dense: mf.Graph) -> None:
    pattern = mf.Pattern.from_edges(path(5))
    devices = [open_accelerator(name).device for name in devices_like(device)]
    with mf.match(dense, pattern, device=device, devices=number) as matches:
        next(matches)
    dense.forget()
    gc.collect()
    for one in devices:
        with one.current():
            before = one.used_memory()
            deadline = time.monotonic() + 10
            while time.monotonic() < deadline and one.used_memory() > 1 << 20:
                time.sleep(0.01)
            assert one.used_memory() <= min(before, 1 << 20)
    matches = mf.match(dense, pattern, device=device, devices=number)
    next(matches)
    del matches  # never closed
    gc.collect()
    assert mf.count(dense, mf.Pattern.from_edges([(0, 1)]), device=device, devices=number) == 300 * 299


def test_reports_go_on_where_a_device_has_listed_all_of_its_own(
    graph: mf.Graph, device: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pattern = mf.Pattern.from_edges(path(4))
    expected = mf.count(graph, pattern, device="cpu")
    monkeypatch.setattr(group_rows, "_LOOK_SECONDS", 0.0)
    reports: list[mf.ProgressReport] = []
    given: dict[str, Any] = {"device": device, "devices": number, "progress": reports.append}
    with mf.match(graph, pattern, batch_rows=100, **given) as matches:
        assert sum(len(batch) for batch in matches) == expected
    assert all(0 <= report.done <= report.total for report in reports)


def test_reports_of_progress_are_of_all_devices(device: str, number: int, dense: mf.Graph) -> None:
    pattern = mf.Pattern.from_edges(path(8))
    switches = {"tables": "off", "tail": "off", "parts": "off"}
    reports: list[mf.ProgressReport] = []

    def search(seconds: float) -> mf.Count:
        reports.clear()
        told = reports.append
        return mf.count(
            dense, pattern, device=device, devices=2, timeout=seconds, progress=told, tuning=switches
        )

    found = given_time(search, lambda _: len(reports) >= 3)
    for earlier, later in pairwise(reports):
        assert earlier.done <= later.done
        assert earlier.found <= later.found
        assert earlier.total == later.total
    assert all(0 <= report.done <= report.total for report in reports)
    assert reports[-1].found <= found

    def listed(seconds: float) -> int:
        reports.clear()
        told = reports.append
        with mf.match(dense, pattern, device=device, devices=2, timeout=seconds, progress=told) as matches:
            return sum(len(batch) for batch in matches)

    assert given_time(listed, lambda _: len(reports) > 0) > 0
    assert len(reports) > 0
    assert all(earlier.done <= later.done for earlier, later in pairwise(reports))


@pytest.mark.parametrize("search", ["count", "match"])
def test_ctrl_c_stops_all_devices_and_leaves_them_usable(device: str, number: int, search: str) -> None:
    script = f"""
        import os, signal, sys, threading, time
        import motiflux as mf

        graph = mf.Graph.from_edges([(u, v) for v in range(300) for u in range(v)])
        edge = mf.Pattern.from_edges([(0, 1)])
        long = mf.Pattern.from_edges([(v, v + 1) for v in range(7)])
        where = dict(device={device!r}, devices={number})
        off = dict(tables="off", tail="off", parts="off")
        before = int(mf.count(graph, edge, **where))
        mf.count(graph, long, timeout=0.2, tuning=off, **where)
        timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        try:
            if {search!r} == "count":
                mf.count(graph, long, tuning=off, **where)
            else:
                for _ in mf.match(graph, long, **where):
                    pass
            print("went on")
        except KeyboardInterrupt:
            print("stopped", int(mf.count(graph, edge, **where)) == before)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout.strip() == "stopped True", done.stderr


@pytest.mark.parametrize("way", ["count", "match"])
def test_an_error_on_one_device_stops_the_others_and_names_it(
    graph: mf.Graph, device: str, number: int, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    second, done = open_accelerator(devices_like(device)[1]), KernelJob.done

    def fails(search: AnyJob) -> bool:
        if search.accelerator is second and sys._getframe(1).f_code.co_filename.endswith(
            ("gpu/group.py", "stored_rows.py")
        ):
            raise DeviceError("the work failed")
        return done(search)

    monkeypatch.setattr(KernelJob, "done", fails)
    pattern = mf.Pattern.from_edges(path(4))
    with pytest.raises(DeviceError, match=f"on {device}:1: the work failed"):
        number_of(way, graph, pattern, device, number)
    monkeypatch.undo()
    assert mf.count(graph, pattern, device=device, devices=number) == mf.count(graph, pattern)


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize(
    ("way", "wanted"),
    [("count", ""), ("count", "candidate lists"), ("match", ""), ("match", "rows that were")],
)
def test_a_device_without_memory_is_left_out(
    graph: mf.Graph,
    device: str,
    number: int,
    monkeypatch: pytest.MonkeyPatch,
    wanted: str,
    which: int,
    way: str,
) -> None:
    full = open_accelerator(devices_like(device)[which]).device
    pattern, allocate = mf.Pattern.from_edges(clique(4)), full.allocate
    expected = mf.count(graph, pattern)

    def refuse(nbytes: int, what: str, *, budget: int | None = None) -> Any:
        if what.startswith(wanted):
            raise DeviceMemoryError(what, nbytes, 0, "it is full")
        return allocate(nbytes, what, budget=budget)

    graph.forget()
    monkeypatch.setattr(full, "allocate", refuse)
    with pytest.warns(MotifluxWarning, match=f"takes no part: on {full.name}: .* it is full"):
        assert number_of(way, graph, pattern, device, number) == expected


def test_no_memory_anywhere_is_an_error(graph: mf.Graph, device: str, number: int) -> None:
    graph.forget()
    with pytest.raises(DeviceMemoryError, match=f"on {device}: .*gpu_memory"):
        mf.count(
            graph,
            mf.Pattern.from_edges(path(4)),
            device=device,
            devices=number,
            gpu_memory=100,
            tuning=SWITCHES["level by level"],
        )


def test_the_host_counts_if_the_numbers_of_one_device_overflow(
    graph: mf.Graph, device: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other devices are stopped."""
    square = mf.Pattern.from_edges(cycle(4))
    second, result = open_accelerator(devices_like(device)[1]), KernelJob.result

    def overflows(job: AnyJob) -> Any:
        return Result(0, overflow=True) if job.accelerator is second else result(job)

    monkeypatch.setattr(KernelJob, "result", overflows)
    with taking_times() as times:
        found = mf.count(graph, square, device=device, devices=number, tuning={"tables": "on"})
    assert (found, found.complete) == (mf.count(graph, square), True)
    assert times.tables > 0
    assert times.host > 0


def test_a_search_leaves_the_threads_device_as_it_was(graph: mf.Graph, device: str, number: int) -> None:
    first = open_accelerator(device).device
    first.use()
    mf.count(graph, mf.Pattern.from_edges(path(4)), device=device, devices=number, tuning=SWITCHES["search"])
    mf.match(graph, mf.Pattern.from_edges(cycle(3)), device=device, devices=number).to_numpy()
    first.stream().mark()  # refused if another device was the thread's


def test_threads_may_search_on_several_devices_at_once(graph: mf.Graph, device: str, number: int) -> None:
    pattern = mf.Pattern.from_edges(path(4))
    expected, found = mf.count(graph, pattern), []

    def search() -> None:
        for _ in range(3):
            found.append(mf.count(graph, pattern, device=device, devices=number, tuning=SWITCHES["search"]))
            found.append(len(mf.match(graph, pattern, device=device, devices=number).to_numpy()))

    workers = [threading.Thread(target=search) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [expected] * 12


class TestNames:
    def test_one_device_goes_by_its_ordinal(self, graph: mf.Graph, device: str, number: int) -> None:
        pattern = mf.Pattern.from_edges(cycle(3))
        found = mf.count(graph, pattern, device=f"{device}:1")
        assert (found, found.device) == (mf.count(graph, pattern), f"{device}:1")
        found = mf.count(graph, pattern, device=device, devices=[1])
        assert (found, found.device) == (mf.count(graph, pattern), f"{device}:1")
        assert mf.count(graph, pattern, device=device, devices=1).device == device
        assert mf.count(graph, pattern, device=device, devices="1,0").device == f"{device}:1, {device}"

    def test_more_devices_than_there_are_is_an_error_that_says_what_is_here(
        self, graph: mf.Graph, device: str, number: int
    ) -> None:
        pattern = mf.Pattern.from_edges(cycle(3))
        there = ", ".join(devices_like(device))
        with pytest.raises(
            DeviceError, match=rf"devices=99: .* found {number} of the kind '{device}': {there}"
        ):
            mf.count(graph, pattern, device=device, devices=99)
        with pytest.raises(DeviceError, match=rf"devices=\[0, 99\]: .* found {number}"):
            mf.match(graph, pattern, device=device, devices=[0, 99])

    def test_explain_names_the_devices_and_what_is_not_cut(
        self, graph: mf.Graph, device: str, number: int
    ) -> None:
        square, there = mf.Pattern.from_edges(cycle(4)), ", ".join(devices_like(device))
        house = mf.Pattern.from_edges([*cycle(4), (0, 4), (1, 4)])
        told = mf.explain(graph, house, device=device, devices="all", tuning={"tables": "on"})
        assert told.report.engine.device == there
        assert told.report.tables
        assert told.report.engine.reason.endswith(
            f"; {device} alone: the tables that it comes from are not shared"
        )
        told = mf.explain(graph, square, device=device, devices="all", tuning={"tables": "on"})
        assert told.report.tables
        assert told.report.engine.reason == f"asked for by device={device!r} and devices='all'"
        told = mf.explain(graph, square, device=device, devices=2, tuning={"tables": "off"}, analyze=True)
        assert told.report.engine.reason == f"asked for by device={device!r} and devices=2"
        assert told.report.actual is not None
        assert told.report.actual.count == mf.count(graph, square)
