"""Batches that overlap on a device, and errors at the steps between them."""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import motiflux as mf
from motiflux.errors import InternalError, OutputError
from motiflux.stream import FileSink, FoundMatches, Sink
from motiflux.stream.matching.changing import Changing, Undoable
from motiflux.stream.run import overlap
from motiflux.stream.run.totals import Sums
from tests.overlap_worlds import BATCHES, SIZE, STREAM, WORLDS, World, applied, rows_of
from tests.overlaps import all_read_before, overlapping, state
from tests.rotating import in_turn
from tests.stream_engines import PLACEMENT, PlainEngine, registered

STEP = 8
"""Points after an error between two at which Ctrl-C is tried."""

pytestmark = pytest.mark.filterwarnings("ignore::motiflux.MotifluxWarning")  # of self-loops


@pytest.fixture(autouse=True)
def opened() -> Iterator[list[PlainEngine]]:
    with registered() as engines, overlapping():
        yield engines


@pytest.fixture(params=WORLDS)
def world(request: pytest.FixtureRequest) -> World:
    return WORLDS[request.param]


@pytest.fixture
def source(tmp_path: Path, world: World) -> Path:
    path = tmp_path / "updates.stream"
    path.write_text("".join(world.lines))
    return path


@pytest.mark.parametrize("step", ["counts", "sums", "settle", "settled"])
@pytest.mark.parametrize("failing", range(BATCHES))
def test_a_batch_that_fails_while_it_becomes_final_is_final_or_taken_back(
    world: World, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, failing: int
) -> None:
    called = 0

    def fails(original: Callable[..., Any], *, after: bool) -> Callable[..., Any]:
        def wrapped(*given: Any) -> Any:
            nonlocal called
            called += 1
            found = original(*given) if after or called <= failing else None
            if called == failing + 1:
                raise MemoryError
            return found

        return wrapped

    output = tmp_path / "o.csv"
    with world.watching() as monitor, all_read_before():
        with monkeypatch.context() as patch:
            if step == "counts":
                patch.setattr(overlap, "counts_of", fails(overlap.counts_of, after=False))
            elif step == "sums":
                patch.setattr(Sums, "add", fails(Sums.add, after=False))
            else:
                patch.setattr(Changing, "_settle", fails(Changing._settle, after=step == "settled"))
            with pytest.raises(MemoryError):
                monitor.run(source, output, batch_size=SIZE)
        # Where the device had nothing to do meanwhile, the batch after it is applied by then.
        done = applied(monitor.source_position)
        assert done == failing if step != "settled" else failing < done <= failing + 2
        world.check_and_go_on(monitor, source, output)


def test_a_call_that_is_final_is_not_taken_back(world: World, tmp_path: Path) -> None:
    with world.watching() as monitor:
        for part in range(2):
            path = tmp_path / "part.stream"
            path.write_text("".join(world.lines[SIZE * part : SIZE * (part + 1)]))
            monitor.run(path, tmp_path / "o.csv", batch_size=SIZE)
        native, before = monitor._native, state(monitor)
        call = native.begin()
        for number in range(call):
            with pytest.raises(InternalError, match="final"):
                native.take_back(number)
        for number in (0, call + 1):
            with pytest.raises(InternalError, match="made final"):
                native.settle(number)
        native.settle(call - 1)  # is it already
        native.settle(call)
        with pytest.raises(InternalError, match="final"):
            native.take_back(call)
        assert state(monitor) == before


def test_no_call_is_begun_while_two_can_be_taken_back(world: World) -> None:
    with world.watching() as monitor:
        native = monitor._native
        first = native.begin()
        second = native.begin(True)
        assert second == first + 1
        for call in (native.begin, lambda: native.begin(True), native.write_put_off, native.edges):
            with pytest.raises(mf.ArgumentError, match="after the run"):
                call()
        assert native.last_call == second
        with pytest.raises(InternalError, match="made final"):
            native.settle(second)
        native.settle(first)
        assert native.final_call == first
        native.take_back(second)
        assert native.begin() > second


@pytest.mark.parametrize("part", in_turn(1, range(5)))
def test_what_looks_at_a_monitor_among_batches_that_overlap_sees_whole_batches(
    world: World, source: Path, tmp_path: Path, part: int
) -> None:
    sizes = []
    for batches in range(BATCHES + 1):
        with world.watching("off") as monitor:
            path = tmp_path / "first.stream"
            path.write_text("".join(world.lines[: SIZE * batches]))
            monitor.run(path, tmp_path / "first.csv", batch_size=SIZE)
            sizes.append((monitor.num_vertices, monitor.num_edges))
    seen: list[int] = []
    refused: list[str] = []
    points = 0

    def look(monitor: mf.Monitor) -> None:
        overlaps = monitor._vertices_before() is not None
        now = (monitor.num_vertices, monitor.num_edges)
        if overlaps:
            seen.append(sizes.index(now))
            assert f"{now[0]} vert" in repr(monitor)
        calls: dict[str, Callable[[], Any]] = {
            "snapshot": monitor.snapshot,
            "save": lambda: monitor.save(tmp_path / "saved.mfg"),
            "apply": lambda: monitor.apply(inserts=[(0, 1)]),
            "add": lambda: monitor.add("(a)--(b)"),
            "close": monitor.close,
        }
        for name, call in calls.items():
            if overlaps:
                with pytest.raises(mf.ArgumentError, match="after the run"):
                    call()
                refused.append(name)

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal points
        path = Path(frame.f_code.co_filename)
        if not path.is_relative_to(STREAM) or frame.f_code.co_name == "vertices":
            return None
        points += event == "line"
        if event == "line" and points % 5 == part:
            look(monitor)
        return trace

    output = tmp_path / "o.csv"
    with world.watching() as monitor, all_read_before():
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            monitor.run(source, output, batch_size=SIZE)
        finally:
            sys.settrace(before)
        assert not (tmp_path / "saved.mfg").exists()
        assert (state(monitor), rows_of(output)) == world.after(BATCHES, tmp_path)[::2]
    assert seen == sorted(seen)
    assert set(seen) >= set(range(BATCHES))
    assert len(set(refused)) == 5


@pytest.mark.parametrize("lost", range(BATCHES))
def test_a_batch_whose_rows_are_lost_is_taken_back_and_named(
    world: World, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: int
) -> None:
    asked = Changing._rows_lost

    def fails(self: Changing, done: Undoable) -> str:
        return asked(self, done) or ("std::bad_alloc" if done.marked[-1] == lost else "")

    output = tmp_path / "o.csv"
    with world.watching() as monitor, all_read_before():
        with monkeypatch.context() as patch:
            patch.setattr(Changing, "_rows_lost", fails)
            with pytest.raises(InternalError) as caught:
                monitor.run(source, output, batch_size=SIZE)
        first = SIZE * lost
        assert f"{source}, line {first + 1} to {first + SIZE}: " in str(caught.value)
        assert "taken back" in str(caught.value)
        assert applied(monitor.source_position) == lost
        world.check_and_go_on(monitor, source, output)


@pytest.mark.parametrize("failing", [None, 0, 1, 2])
def test_ids_that_a_pattern_awaited_are_not_awaited_once_their_vertices_are_final(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int | None
) -> None:
    world = World(("(a)--(b)--(c) WHERE id(b) IN ['n0', 'n1', 'n2']",))
    source = tmp_path / "updates.stream"
    source.write_text("".join(world.lines))
    flush, flushed = FileSink.flush, 0

    def fails(self: FileSink) -> None:
        nonlocal flushed
        flush(self)
        if flushed == failing:
            raise OutputError("the disk is full")
        flushed += 1

    output = tmp_path / "o.csv"
    with world.watching() as monitor, all_read_before() as prepared:
        assert {one.name for one in monitor._numbering.awaited} == {"n0", "n1", "n2"}
        if failing is not None:
            with monkeypatch.context() as patch:
                patch.setattr(FileSink, "flush", fails)
                with pytest.raises(OutputError):
                    monitor.run(source, output, batch_size=SIZE)
            missing = [name for name in ("n0", "n1", "n2") if monitor._numbering.vertex_of(name) is None]
            assert {one.name for one in monitor._numbering.awaited} >= set(missing)
            world.check_and_go_on(monitor, source, output)
        else:
            monitor.run(source, output, batch_size=SIZE)
            assert any(prepared)
            world.check_and_go_on(monitor, source, output)
        monitor.apply(inserts=[("n0", "n1"), ("n0", "n2")])
        monitor.apply(inserts=[("n0", "n1")])
        assert monitor._numbering.awaited == {}


class Own(Sink):
    """Does nothing."""

    def write(self, found: FoundMatches) -> None:
        """Take matches."""


class Failing:
    """Has a sink fail at its third batch, and presses Ctrl-C some steps later.

    Parameters
    ----------
    press_at
        The number of the step.
    """

    def __init__(self, patch: pytest.MonkeyPatch, sink: type[Sink], press_at: int) -> None:
        self.steps = -1
        self._press_at = press_at
        flush, flushed = sink.flush, 0

        def fails(one: Sink) -> None:
            nonlocal flushed
            flush(one)
            flushed += 1
            if flushed == 3:
                self.steps = 0
                raise OutputError("the disk is full")

        patch.setattr(sink, "flush", fails)

    def _step(self) -> None:
        self.steps += 1
        if self.steps == self._press_at:
            signal.raise_signal(signal.SIGINT)

    def trace(self, frame: FrameType, event: str, argument: Any) -> None:
        """Count the calls of a run after the error: nothing is heard while an error goes up."""
        if self.steps >= 0 and event == "call" and Path(frame.f_code.co_filename).is_relative_to(STREAM):
            self._step()


# Of generators and files that are left to the collector of garbage.
@pytest.mark.turns(8)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("pipeline", ["on", "off", "cpu"])
@pytest.mark.parametrize("part", in_turn(1, range(STEP)))
def test_an_error_of_a_sink_is_raised_in_spite_of_ctrl_c_at_any_later_step(
    world: World, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pipeline: str, part: int
) -> None:
    press_at = 1 + part
    options = {"device": "cpu", "engine": "cpu"} if pipeline == "cpu" else PLACEMENT
    switch = "off" if pipeline == "cpu" else pipeline
    while True:
        sink = Own() if pipeline == "cpu" else FileSink(tmp_path / f"{press_at}.csv")
        with world.watching(switch, **options) as monitor, all_read_before():
            with monkeypatch.context() as patch:
                failing = Failing(patch, type(sink), press_at)
                before = sys.gettrace()
                sys.settrace(failing.trace)
                try:
                    monitor.run(source, sink, batch_size=SIZE)
                    error: BaseException | None = None
                except BaseException as caught:  # noqa: BLE001 - it is looked at
                    error = caught
                finally:
                    sys.settrace(before)
            # An interrupt while the sink is abandoned is raised with the error as its context.
            chain = error
            while isinstance(chain, KeyboardInterrupt):
                assert failing.steps > 0
                chain = chain.__context__
            assert isinstance(chain, OutputError), (press_at, error)
            assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
            done = applied(monitor.source_position)
            assert done < BATCHES if pipeline == "cpu" else done == 2
            assert state(monitor) == world.after(done, tmp_path)[0]
        if failing.steps < press_at:
            break
        press_at += STEP
    assert press_at > STEP
    gc.collect()  # while the warnings about files are ignored: another test would fail for them
