"""Searches on a device, interrupted, late, or beside each other: nothing is lost, kept or mixed up."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import FrameType, ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.codegen import layout
from motiflux.config import private_tuning
from motiflux.device import Buffer
from motiflux.errors import DeviceError, InternalError
from motiflux.gpu.engine import DfsEngine
from motiflux.gpu.launch import prepare as prepare_module
from motiflux.gpu.runtime import accelerator as accelerator_module
from motiflux.gpu.runtime import device_cache
from motiflux.gpu.runtime import job as job_module
from motiflux.gpu.runtime.accelerator import Accelerator, open_accelerator
from motiflux.gpu.runtime.control_block import ControlBlock
from motiflux.gpu.runtime.job import SearchJob
from motiflux.gpu.runtime.session import Session
from motiflux.gpu.storage import device_csr
from motiflux.gpu.storage.device_csr import RowsKey, resident
from motiflux.gpu.storage.upload import UploadContext
from motiflux.graph import AdjacencyKey, Direction
from motiflux.jit import Built, Compiler, KernelCache, Source, Toolchain
from motiflux.plan import Plan, make_plan
from motiflux.plan.physical import Family
from motiflux.request import deadline as deadline_module
from motiflux.request.deadline import Deadline, OutOfTimeError
from motiflux.request.request import make_request
from tests.backend.cases import EDGE, PATH, TRIANGLE, clique, cycle
from tests.device.test_device import Job, Kernels, Spinning, settled, wait_until
from tests.executing import count_by, engine_on, search_job
from tests.rotating import few_emulated

if TYPE_CHECKING:
    from motiflux.device.base import Buffer, Device, Stream

pytestmark = pytest.mark.devices("emulated", "cuda", reason="it has no kernels")

TRIANGLES = 30 * 29 * 28
PATIENCE = 60.0
"""Seconds after which something that does not happen fails a test."""


@pytest.fixture
def accelerator(device: str, gpu: Device) -> Accelerator:
    """Return one with sessions and kernels of its own, and the compiler of all."""
    return Accelerator(gpu, open_accelerator(device).compiler, compiles_eagerly=False)


@pytest.fixture
def engine(accelerator: Accelerator) -> DfsEngine:
    return engine_on(accelerator)


@pytest.fixture
def small() -> mf.Graph:
    """A graph with 24,360 triangles."""
    return mf.Graph.from_edges(clique(30))


@pytest.fixture
def dense() -> mf.Graph:
    """A graph with some 10**19 paths of eight vertices: counting them does not end."""
    return mf.Graph.from_edges(clique(300))


def options(**more: Any) -> Any:
    return make_request(semantics="isomorphism", symmetry="embeddings", **more)


def plan_of(graph: mf.Graph, pattern: mf.Pattern, *, counting: bool = True) -> Plan:
    asked = options()
    return make_plan(
        graph,
        pattern,
        semantics=asked.semantics,
        symmetry=asked.symmetry,
        counting=counting,
        tuning=asked.tuning,
    )


def count(engine: DfsEngine, graph: mf.Graph, pattern: mf.Pattern, **more: Any) -> tuple[int, bool]:
    outcome = count_by(engine, graph, plan_of(graph, pattern), options(**more))
    return outcome.value, outcome.complete


def rows_of(engine: DfsEngine, graph: mf.Graph, pattern: mf.Pattern, batch_rows: int, **more: Any) -> Any:
    asked = options(**more)
    physical = engine.strategy(graph, plan_of(graph, pattern, counting=False), asked, counting=False)
    return engine.rows(graph, physical, asked, batch_rows, Deadline.after(asked.timeout))[0]


def start(accelerator: Accelerator, graph: mf.Graph, pattern: mf.Pattern) -> SearchJob:
    """Return a count that was launched."""
    search = search_job(accelerator, graph, plan_of(graph, pattern), options())
    search.launch()
    return search


class Elsewhere(threading.Thread):
    """Does something on another thread; `result` waits for it, and raises what it raised."""

    def __init__(self, action: Callable[[], object]) -> None:
        super().__init__(daemon=True)
        self.action = action
        self.error: BaseException | None = None
        self.found: object = None
        self.start()

    def run(self) -> None:
        try:
            self.found = self.action()
        except BaseException as error:  # noqa: BLE001 - raised by `result`
            self.error = error

    def result(self) -> Any:
        self.join(PATIENCE)
        assert not self.is_alive(), "it does not end"
        if self.error is not None:
            raise self.error
        return self.found


class TestThreads:
    @pytest.mark.devices(
        "emulated", reason="a CUDA stream brings its context along; the emulator is stricter"
    )
    def test_a_thread_that_did_not_call_use_is_refused_by_streams(
        self, gpu: Device, stream: Stream, kernel: Kernels
    ) -> None:
        buffer, add = gpu.allocate(64, "a test"), kernel("add")
        job = Job(buffer.address, buffer.address, 0, 0, 0, 0)
        for call in (
            lambda: stream.clear(buffer),
            lambda: stream.launch(add, 1, 32, 0, job),
            stream.mark,
            stream.wait,
        ):
            with pytest.raises(DeviceError, match=r"use\(\)"):
                Elsewhere(call).result()

        def with_use() -> None:
            gpu.use()
            stream.clear(buffer)
            stream.wait()

        Elsewhere(with_use).result()

    def test_memory_that_a_stream_holds_waits_for_that_stream_alone(
        self, gpu: Device, stream: Stream, kernel: Kernels
    ) -> None:
        spinning = Spinning(gpu, kernel)
        before = settled(gpu)
        idle, busy = gpu.allocate(1 << 20, "a test"), gpu.allocate(1 << 19, "a test")
        stream.hold(idle)
        spinning.stream.hold(busy)
        idle.close()
        busy.close()
        wait_until(lambda: gpu.used_memory() == before + (1 << 19))
        spinning.stop()
        wait_until(lambda: gpu.used_memory() == before)

    @pytest.mark.turns(8, "emulated")
    def test_matches_may_be_made_on_one_thread_and_taken_on_another(self, device: str) -> None:
        graph = mf.Graph.from_edges(clique(100))
        matches: Any = mf.match(graph, TRIANGLE, batch_rows=1000, device=device)
        wait_until(matches._source._source._job.done)  # paused: its memory is full
        first = len(Elsewhere(lambda: next(matches)).result())
        second = len(next(matches))
        rest = sum(Elsewhere(lambda: [len(batch) for batch in matches]).result())
        assert first + second + rest == 100 * 99 * 98
        assert matches.complete is True

    @pytest.mark.turns(8, "emulated")
    @pytest.mark.parametrize("how", ["closed", "dropped"])
    def test_matches_may_end_on_another_thread(self, dense: mf.Graph, device: str, how: str) -> None:
        held: list[Any] = [mf.match(dense, PATH, device=device)]
        next(held[0])
        session = held[0]._source._source._job._session

        def end() -> None:
            if how == "closed":
                held[0].close()
            held.clear()
            gc.collect()

        Elsewhere(end).result()
        assert session in open_accelerator(device)._sessions
        assert mf.count(dense, EDGE, device=device) == 300 * 299

    def test_threads_that_prepare_one_stage_at_once_both_count_right(
        self, engine: DfsEngine, small: mf.Graph, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """One is held up just before it has filled in its argument; the other does not take that one."""
        request = options(tuning={"bitmaps": "off"})
        physical = engine.strategy(small, plan_of(small, TRIANGLE), request)
        assert [stage.family for stage in physical.stages] == [Family.SEARCH]
        packed_plainly = prepare_module.pack_runtime
        filling, filled_elsewhere = threading.Event(), threading.Event()

        def pack(*given: Any, **named: Any) -> Any:
            packed = packed_plainly(*given, **named)
            if filling.is_set():
                return packed

            class Slow(type(packed)):  # type: ignore[misc]
                def __setattr__(self, name: str, value: object) -> None:
                    filling.set()
                    assert filled_elsewhere.wait(PATIENCE)
                    super().__setattr__(name, value)

            return Slow.from_buffer_copy(packed)

        def found() -> tuple[int, bool]:
            outcome = engine.count(small, physical, request, Deadline.after(None))
            return outcome.value, outcome.complete

        monkeypatch.setattr(prepare_module, "pack_runtime", pack)
        first = Elsewhere(found)
        assert filling.wait(PATIENCE)
        second = found()
        filled_elsewhere.set()
        assert [second, first.result(), found()] == [(TRIANGLES, True)] * 3


def stop_from_outside(session: Session, block: Buffer) -> None:
    """Stop a kernel without its job being told."""
    session.side.upload(block, session.stop_word, layout.Control.stop.offset)


class TestStopFlags:
    def test_a_flag_that_comes_late_does_not_reach_the_next_search(
        self, accelerator: Accelerator, engine: DfsEngine, small: mf.Graph, gpu: Device, kernel: Kernels
    ) -> None:
        search = start(accelerator, small, TRIANGLE)
        session: Any = search._session
        wait_until(search.done)
        blocker = gpu.allocate_host(64, "a test")
        words = blocker.array.view("u8")
        session._side.launch(
            kernel("spin"), 1, 32, 0, Job(blocker.address, 0, blocker.address + 32, 0, 0, 2**31)
        )
        search.control.stop(session)

        def close() -> None:
            gpu.use()
            search.close()

        closing = Elsewhere(close)
        closing.join(0.3)
        waits, served = closing.is_alive(), len(accelerator._sessions)
        words[4] = 1
        closing.result()
        assert waits
        assert served == 0
        assert list(accelerator._sessions) == [session]
        assert count(engine, small, TRIANGLE) == (TRIANGLES, True)

    def test_a_search_that_another_one_stopped_is_a_defect_not_a_result(
        self, accelerator: Accelerator, dense: mf.Graph
    ) -> None:
        with start(accelerator, dense, PATH) as search:
            session: Any = search._session
            while not search.done():
                stop_from_outside(session, search.control.buffer)
                time.sleep(1e-3)
            with pytest.raises(InternalError, match="another"):
                search.result()

    @pytest.mark.turns(8, "emulated")
    def test_a_listing_that_another_one_stopped_after_a_pause_is_a_defect(
        self, dense: mf.Graph, device: str
    ) -> None:
        matches: Any = mf.match(dense, PATH, device=device, batch_rows=64)
        job = matches._source._source._job
        next(matches)
        while not job.done():  # a launch that has not begun clears what it was asked before
            job.pause()
            time.sleep(1e-3)
        stop_from_outside(job.session, job.control.buffer)
        job.session.side.wait()
        job.control.final.stop = layout.STOP_HOST
        with pytest.raises(InternalError, match="another"):
            job.result()
        matches.close()

    def test_a_search_that_stopped_itself_has_a_result(
        self, accelerator: Accelerator, dense: mf.Graph
    ) -> None:
        with start(accelerator, dense, PATH) as search:
            search.stop_and_wait()
            assert search.result().found >= 0


class TestInterrupts:
    CALLS = ("hold", "upload", "clearing", "launching", "downloading", "mark", "wait")

    @pytest.mark.turns(8, "emulated")
    @pytest.mark.parametrize(
        ("call", "moment"),
        few_emulated(3, {call: call for call in CALLS}, {when: when for when in ("before", "after")}),
    )
    def test_one_that_comes_in_a_call_of_a_stream_leaves_all_usable(
        self,
        accelerator: Accelerator,
        engine: DfsEngine,
        gpu: Device,
        stream: Stream,
        call: str,
        moment: str,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        before = settled(gpu)
        dense = mf.Graph.from_edges(clique(300))
        kind: Any = type(stream)
        plainly = getattr(kind, call)

        def interrupted(self: Any, *given: Any) -> Any:
            monkeypatch.setattr(kind, call, plainly)
            if call.endswith("ing"):  # what it returns is what does it
                return partial(once, plainly(self, *given))
            return once(partial(plainly, self, *given))

        came: list[None] = []

        def once(do: Callable[[], None]) -> None:
            if came:
                return do()
            came.append(None)
            if moment == "after":
                do()
            raise KeyboardInterrupt

        monkeypatch.setattr(kind, call, interrupted)
        with pytest.raises(KeyboardInterrupt) as told:
            count(engine, dense, PATH)
        assert len(accelerator._sessions) == 1  # though the traceback still holds the search
        assert not any(copy.users for copy in resident(dense, gpu)._kept.values())
        assert count(engine, dense, EDGE) == (300 * 299, True)
        del dense, told
        accelerator._sessions.clear()
        wait_until(lambda: settled(gpu) <= before)

    @pytest.mark.turns(8, "emulated")
    @pytest.mark.parametrize("module", [job_module, device_cache], ids=["job", "memory"])
    def test_wherever_one_comes_in_closing_nothing_is_kept(
        self, accelerator: Accelerator, engine: DfsEngine, small: mf.Graph, gpu: Device, module: ModuleType
    ) -> None:
        assert count(engine, small, TRIANGLE) == (TRIANGLES, True)
        start(accelerator, small, TRIANGLE).close()  # it reads other rows
        before, copies = settled(gpu), list(resident(small, gpu)._kept.values())
        line, interrupted = 0, True
        while interrupted:
            line += 1
            search = start(accelerator, small, TRIANGLE)
            with interrupt_at(line, str(module.__file__)) as came:
                search.close()
            interrupted = bool(came)
            search.close()
            assert not any(copy.users for copy in copies)
            assert len(set(map(id, accelerator._sessions))) == len(accelerator._sessions) <= 1
            assert count(engine, small, TRIANGLE) == (TRIANGLES, True)
        assert line > 5
        wait_until(lambda: settled(gpu) <= before)

    @pytest.mark.parametrize("runs", [False, True], ids=["set up", "running"])
    def test_a_search_that_the_garbage_collector_finds_leaves_all_usable(
        self, accelerator: Accelerator, engine: DfsEngine, small: mf.Graph, gpu: Device, *, runs: bool
    ) -> None:
        """Its streams are finalized before it: they serve no other search."""
        assert count(engine, small, TRIANGLE) == (TRIANGLES, True)
        accelerator._sessions.clear()
        before = settled(gpu)
        search: Any = search_job(accelerator, small, plan_of(small, TRIANGLE), options())
        if runs:
            search.launch()
        search.itself = search
        del search
        gc.collect()
        assert all(session.is_open for session in accelerator._sessions)
        assert count(engine, small, TRIANGLE) == (TRIANGLES, True)
        assert not any(copy.users for copy in resident(small, gpu)._kept.values())
        accelerator._sessions.clear()
        resident(small, gpu).reclaim(1 << 40)
        accelerator.reclaim(1 << 40)
        wait_until(lambda: settled(gpu) <= before)

    @pytest.mark.parametrize("what", [KeyboardInterrupt, MemoryError])
    @pytest.mark.parametrize("call", ["done", "stop", "settle"])
    def test_closing_survives_what_is_raised_once(
        self,
        accelerator: Accelerator,
        engine: DfsEngine,
        dense: mf.Graph,
        call: str,
        what: type[BaseException],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        search = start(accelerator, dense, PATH)
        session: Any = search._session
        kind: Any = ControlBlock if call == "stop" else Session
        plainly = getattr(kind, call)

        def fail(*_: object) -> None:
            monkeypatch.setattr(kind, call, plainly)
            raise what

        monkeypatch.setattr(kind, call, fail)
        with pytest.raises(what):
            search.close()
        assert session.done()
        assert list(accelerator._sessions) == [session]
        assert not any(copy.users for copy in resident(dense, accelerator.device)._kept.values())
        assert count(engine, dense, EDGE) == (300 * 299, True)

    @pytest.mark.turns(8, "emulated")
    def test_a_search_that_is_given_up_leaves_its_kernel_what_it_reads(
        self, accelerator: Accelerator, gpu: Device, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        dense = mf.Graph.from_edges(clique(300))
        plan = plan_of(dense, PATH)
        search_job(accelerator, dense, plan, options()).close()
        uploader = accelerator._sessions.pop()
        search = search_job(accelerator, dense, plan, options())
        search.stream.wait()  # so that no stop flag is cleared
        search.launch()
        session: Any = search._session
        assert session is not uploader
        before, control = settled(gpu), [search.control.buffer]

        def lost(self: Session) -> bool:
            raise DeviceError("the device is lost")

        with monkeypatch.context() as patched:
            patched.setattr(Session, "done", lost)
            search.close()
        del search, dense, plan
        assert settled(gpu) == before
        stop_from_outside(session, control.pop())
        wait_until(session.done)
        wait_until(lambda: settled(gpu) < before)
        assert uploader is not None

    @pytest.mark.turns(8, "emulated")
    @pytest.mark.parametrize("call", ["done", "settle"])
    def test_closing_ends_though_something_fails_for_ever(
        self,
        accelerator: Accelerator,
        engine: DfsEngine,
        dense: mf.Graph,
        gpu: Device,
        call: str,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        assert count(engine, dense, EDGE) == (300 * 299, True)
        accelerator._sessions.clear()
        before = settled(gpu)
        search = search_job(accelerator, dense, plan_of(dense, PATH), options())
        search.stream.wait()  # so that no stop flag is cleared
        search.launch()

        def fail(self: Session) -> None:
            raise RecursionError

        with monkeypatch.context() as patched:
            patched.setattr(Session, call, fail)
            patched.setattr(job_module, "_STOP_SECONDS", 1e-3)
            with pytest.raises(RecursionError):
                search.close()
        assert not accelerator._sessions
        assert resident(dense, gpu).reclaim(1 << 40) > 0
        wait_until(lambda: settled(gpu) < before)
        assert count(engine, dense, EDGE) == (300 * 299, True)


@contextlib.contextmanager
def interrupt_at(line: int, file: str, *, distinct: bool = False) -> Iterator[list[int]]:
    """Interrupt the block at the `line`th line that it runs of a file; yield where that was, if it was.

    A line that is run again counts again, unless only `distinct` lines do. The garbage collector waits: what
    it finds of other tests would run lines too.
    """
    passed, came, seen = 0, [], set[int]()

    def look(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal passed
        if frame.f_code.co_filename != file:
            return None
        if event == "line" and not (distinct and frame.f_lineno in seen):
            seen.add(frame.f_lineno)
            passed += 1
            if passed == line:
                came.append(frame.f_lineno)
                raise KeyboardInterrupt
        return look

    traced = sys.gettrace()
    gc.disable()
    sys.settrace(look)
    try:
        yield came
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(traced)
        gc.enable()


OPEN = """
import gc, os, signal, threading
import motiflux as mf

dense = mf.Graph.from_edges([(u, v) for v in range(300) for u in range(v)])
path = mf.Pattern.from_edges([(v, v + 1) for v in range(7)])
matches = mf.match(dense, path, device={device!r})
next(matches)
"""
FORKED = """
held, over = threading.Event(), threading.Event()

def hold():
    with matches._source._source._lock:  # as a thread that waits for rows does
        held.set()
        over.wait(60)

thread = threading.Thread(target=hold)
thread.start()
held.wait(60)
child = os.fork()
if child == 0:
    signal.alarm(30)  # ends it if it waits for a lock that nobody lets go
    try:
        next(matches)
    except mf.DeviceError as error:
        print("fork" in str(error), flush=True)
    del matches
    gc.collect()
    os._exit(0)
print(os.waitpid(child, 0)[1])
over.set()
thread.join()
print(len(next(matches)) > 0)
"""


def run(script: str, device: str) -> tuple[list[str], str]:
    """Run a Python script of its own process; return the words it prints, and its errors."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script.format(device=device)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout.split(), done.stderr


@pytest.mark.turns(8, "emulated")
def test_an_open_iteration_at_exit_is_no_trouble(device: str) -> None:
    script = OPEN + 'print("over", flush=True)'
    assert run(script, device) == (["over"], "")


@pytest.mark.turns(8, "emulated")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_may_drop_matches_of_its_parent_but_not_take_them(device: str) -> None:
    assert run(OPEN + FORKED, device) == (["True", "0", "True"], "")


class TestReclaiming:
    def test_rows_that_a_search_reads_are_left(self, small: mf.Graph, gpu: Device, device: str) -> None:
        matches = mf.match(small, TRIANGLE, batch_rows=1000, device=device)
        copies = resident(small, gpu)
        assert copies.reclaim(1 << 40) == 0
        rows = len(next(matches))
        rows += sum(map(len, matches))
        assert rows == TRIANGLES
        assert copies.reclaim(1 << 40) > 0
        assert mf.count(small, TRIANGLE, device=device) == TRIANGLES

    @pytest.mark.turns(8, "emulated")
    def test_rows_that_an_earlier_plan_read_go_while_another_one_runs(
        self, small: mf.Graph, gpu: Device, device: str
    ) -> None:
        labelled = mf.Graph.from_edges(clique(30), edge_labels=[u % 2 for u, _ in clique(30)])
        one, other = (mf.Pattern.from_edges([(0, 1), (1, 2)], edge_labels=[n, n]) for n in (0, 1))
        expected = int(mf.count(labelled, other))
        mf.count(labelled, one, device=device)
        matches = mf.match(labelled, other, batch_rows=100, device=device)
        assert resident(labelled, gpu).reclaim(1 << 40) > 0
        assert len(matches.to_numpy()) == expected > 0

    def test_copies_that_nobody_uses_take_no_more_than_their_room(
        self, gpu: Device, device: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(device_csr, "_KEPT_BYTES", 0)
        monkeypatch.setattr(device_csr, "_KEPT_RATIO", 2)
        labels = list(range(12))
        graph = mf.Graph.from_edges(clique(30), edge_labels=[(u + v) % 12 for u, v in clique(30)])
        for first in labels:
            chosen = (labels[first:] + labels[:first])[:6]
            pattern = mf.Pattern.from_edges([(0, 1), (1, 2)], edge_labels=[chosen, chosen])
            assert mf.count(graph, pattern, device=device) == mf.count(graph, pattern, device="cpu")
            kept = sum(copies.nbytes for copies in resident(graph, gpu)._kept.values())
            assert 0 < kept <= 3 * graph.nbytes  # what is used does not count

    def test_of_several_graphs_the_one_that_was_not_used_for_longest_makes_room(
        self, gpu: Device, device: str
    ) -> None:
        graphs = [mf.Graph.from_edges(clique(size)) for size in (31, 32, 33)]
        again, unused, last = graphs
        for graph in (again, unused, last, again):
            mf.count(graph, EDGE, device=device, tuning=private_tuning({"rest": "off"}))
        there = [len(resident(graph, gpu)._kept) for graph in graphs]
        assert min(there) > 0
        oldest = min(resident(unused, gpu)._kept.values(), key=lambda copy: copy.used)
        while oldest in resident(unused, gpu)._kept.values():
            assert gpu._account.reclaim(1) > 0  # type: ignore[attr-defined]
        assert [len(resident(graph, gpu)._kept) for graph in (again, last)] == [there[0], there[2]]

    @pytest.mark.turns(8, "emulated")
    def test_a_graph_that_goes_takes_its_reclaimer_along(self, gpu: Device, device: str) -> None:
        mf.count(mf.Graph.from_edges(clique(5)), EDGE, device=device)
        gc.collect()
        known = len(gpu._account._reclaimers)  # type: ignore[attr-defined]
        for _ in range(5):
            mf.count(mf.Graph.from_edges(clique(5)), EDGE, device=device)
            gc.collect()
        assert len(gpu._account._reclaimers) <= known + 1  # type: ignore[attr-defined]

    @pytest.mark.turns(8, "emulated")
    def test_a_kernel_that_runs_outlives_being_forgotten(
        self, accelerator: Accelerator, small: mf.Graph, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(accelerator_module, "_MOST_UNITS", 1)
        engine = engine_on(accelerator)
        rows = rows_of(engine, small, TRIANGLE, 1000)
        taken = 0
        while (block := rows.next()) is not None:
            taken += len(block)
            assert count(engine, small, EDGE) == (30 * 29, True)
            gc.collect()
        assert taken == TRIANGLES
        assert len(accelerator._units) == 1


class TestProgress:
    def test_a_callback_may_close_its_own_matches(self, dense: mf.Graph, device: str) -> None:
        reports: list[mf.ProgressReport] = []

        def close(report: mf.ProgressReport) -> None:
            reports.append(report)
            matches.close()

        matches = mf.match(dense, PATH, progress=close, device=device)
        Elsewhere(lambda: [None for _ in matches]).result()
        assert len(reports) == 1
        assert matches.complete is False
        assert mf.count(dense, EDGE, device=device) == 300 * 299

    @pytest.mark.turns(8, "emulated")
    def test_a_callback_may_close_its_own_matches_when_all_were_found(self, device: str) -> None:
        reports: list[mf.ProgressReport] = []

        def close(report: mf.ProgressReport) -> None:
            reports.append(report)
            matches.close()

        matches: Any = mf.match(mf.Graph.from_edges(cycle(40)), TRIANGLE, progress=close, device=device)
        rows = matches._source._source
        rows._next_look = 0.0
        wait_until(rows._job.done)
        rows._job.look()
        wait_until(rows._job.session._looking.done)
        assert list(matches) == []
        assert len(reports) == 1
        assert matches.complete is False

    def test_it_is_told_while_rows_wait_to_be_taken(self, small: mf.Graph, device: str) -> None:
        reports: list[mf.ProgressReport] = []
        matches: Any = mf.match(small, TRIANGLE, batch_rows=1000, progress=reports.append, device=device)
        rows = matches._source._source
        found = len(next(matches))
        wait_until(rows._job.done)
        reports.clear()
        rows._next_look = 0.0
        found += len(next(matches))
        assert reports
        assert reports[0].found >= 1000
        assert found + sum(map(len, matches)) == TRIANGLES


class Gate:
    """A toolchain that compiles once it is opened."""

    def __init__(self, toolchain: Toolchain) -> None:
        self.toolchain = toolchain
        self.opened = threading.Event()
        self.began: Callable[[], object] = lambda: None
        self.built: list[str] = []

    def identity(self) -> Mapping[str, str]:
        return self.toolchain.identity()

    def build(self, source: Source, include: tuple[Path, ...]) -> Built:
        self.began()
        assert self.opened.wait(PATIENCE)
        built = self.toolchain.build(source, include)
        self.built.append(source.name)
        return built


class TestTime:
    @pytest.fixture
    def gate(self, device: str, gpu: Device) -> Iterator[Gate]:
        gate = Gate(open_accelerator(device).compiler._toolchain)
        yield gate
        gate.opened.set()

    @pytest.fixture
    def slow(self, gate: Gate, gpu: Device) -> DfsEngine:
        """Return an engine whose kernels are compiled once the gate is opened."""
        return engine_on(Accelerator(gpu, Compiler(gate, KernelCache(None)), compiles_eagerly=False))

    @pytest.mark.turns(8, "emulated")
    def test_a_count_does_not_wait_for_its_kernel_beyond_the_timeout(
        self, slow: DfsEngine, gate: Gate, small: mf.Graph
    ) -> None:
        assert count(slow, small, TRIANGLE, timeout=0.2) == (0, False)
        assert gate.built == []
        gate.opened.set()
        assert count(slow, small, TRIANGLE) == (TRIANGLES, True)
        assert len(gate.built) == 1

    def test_matches_do_not_wait_for_their_kernel_beyond_the_timeout(
        self, slow: DfsEngine, gate: Gate, small: mf.Graph
    ) -> None:
        rows = rows_of(slow, small, TRIANGLE, 100, timeout=0.2)
        assert rows.next() is None
        assert not rows.complete
        assert gate.built == []
        rows.close()

    @pytest.mark.turns(8, "emulated")
    def test_batches_on_the_device_do_not_wait_for_their_ids_beyond_the_timeout(
        self, slow: DfsEngine, gate: Gate, small: mf.Graph, gpu: Device
    ) -> None:
        rows = partial(rows_of, slow, small, TRIANGLE, 100)
        ids = np.arange(30)
        gate.opened.set()
        rows().close()
        gate.opened.clear()
        (search,) = gate.built
        late = rows(timeout=0.5)
        assert late.next_on_device(ids) is None
        assert late.complete is False
        assert gate.built == [search]
        gate.opened.set()
        on_time = rows()
        assert sum(map(len, iter(lambda: on_time.next_on_device(ids), None))) == TRIANGLES
        assert on_time.complete

    @pytest.mark.turns(8, "emulated")
    @pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no signals to a thread here")
    def test_ctrl_c_does_not_wait_for_a_kernel(
        self, slow: DfsEngine, gate: Gate, small: mf.Graph, gpu: Device
    ) -> None:
        ident = threading.get_ident()
        gate.began = lambda: signal.pthread_kill(ident, signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            count(slow, small, TRIANGLE)
        assert gate.built == []
        gate.opened.set()
        assert count(slow, small, TRIANGLE) == (TRIANGLES, True)
        assert len(gate.built) == 1

    def test_no_more_is_uploaded_once_time_is_up(
        self, small: mf.Graph, gpu: Device, stream: Stream, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        used, now, uploads = settled(gpu), [0.0], 0
        plainly = stream.upload

        def upload(destination: Buffer, source: Any, offset: int = 0) -> None:
            nonlocal uploads
            uploads += 1
            now[0] += 1
            plainly(destination, source, offset)

        monkeypatch.setattr(stream, "upload", upload)
        monkeypatch.setattr(deadline_module, "time", SimpleNamespace(perf_counter=lambda: now[0]))
        copies = resident(small, gpu)
        key = RowsKey(AdjacencyKey(Direction.EITHER, None, None, None), above=False)
        with pytest.raises(OutOfTimeError):
            copies.rows(small, key, UploadContext(stream, 1, None, Deadline(0.0, 0.5)))
        assert uploads == 1
        wait_until(lambda: settled(gpu) <= used)
        assert copies.rows(small, key, UploadContext(stream, 1, None, Deadline.after(None))).arcs == 30 * 29
