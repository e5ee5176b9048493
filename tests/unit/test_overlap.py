"""Batches that overlap on a device: what happens when, and what is left when one of them fails."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motiflux as mf
import motiflux.stream
from motiflux.errors import OutputError
from motiflux.stream import FileSink, Nowhere, SeveralSinks, StandardOutput
from motiflux.stream.matching.changing import Changing
from motiflux.stream.matching.numbering import Numbering
from motiflux.stream.run import ahead, loop
from motiflux.stream.run.overlap import may_lag
from motiflux.stream.sources.text import TextSource
from tests.overlap_worlds import BATCHES, SIZE, WORLDS, World, applied, interrupted_at, rows_of
from tests.overlaps import all_read_before, overlapping, state, with_pipeline
from tests.rotating import in_turn
from tests.stream_engines import PLACEMENT, PlainEngine, registered

STEP = 400
"""Points of a run between two at which Ctrl-C is tried."""

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


def test_one_batch_is_written_and_one_prepared_while_one_is_matched(
    world: World, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []

    def noted(of: type, name: str, event: str) -> None:
        method = getattr(of, name)

        def notes(self: Any, *given: Any, **options: Any) -> Any:
            events.append(event)
            found = method(self, *given, **options)
            events.append(f"{event} ends")
            return found

        monkeypatch.setattr(of, name, notes)

    with all_read_before() as prepared:
        noted(PlainEngine, "match", "match")
        noted(FileSink, "acknowledged", "write")
        noted(Changing, "_prepare", "prepare")
        with world.watching() as monitor:
            monitor.run(source, tmp_path / "o.csv", batch_size=SIZE)
    text = " ".join(events)
    assert "match write write ends prepare prepare ends match ends" in text
    assert (sum(prepared) >= 2) == world.prepares
    assert text.count("write ends") == BATCHES


@pytest.mark.parametrize("sink", ["function", "own", "several", "subclass"])
def test_code_of_users_gets_matches_before_the_next_batch_is_begun(
    world: World, source: Path, tmp_path: Path, sink: str
) -> None:
    seen: list[tuple[int, int]] = []
    with world.watching() as monitor:

        class Own(motiflux.stream.Sink):
            def write(self, found: Any) -> None:
                note(found)

        class OfFiles(FileSink):
            def write(self, found: Any) -> None:
                note(found)

        def note(found: Any) -> None:
            seen.append((int(found.updates[0]), monitor.batches_applied))
            assert monitor.num_edges > 0

        sinks = {
            "function": note,
            "own": Own(),
            "several": [tmp_path / "o.csv", note],
            "subclass": OfFiles(tmp_path / "p.csv"),
        }
        with all_read_before() as prepared:
            monitor.run(source, sinks[sink], batch_size=SIZE)
    assert seen
    assert all(number == done for number, done in seen)
    assert not any(prepared)


def test_calls_do_not_overlap_where_the_engine_looks_at_the_monitor_all_the_time(
    world: World, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PlainEngine, "overlaps_calls", False)
    output = tmp_path / "o.csv"
    with world.watching() as monitor, all_read_before() as prepared:
        monitor.run(source, output, batch_size=SIZE)
        world.check_and_go_on(monitor, source, output)
    assert not prepared


def test_a_monitor_keeps_nothing_of_a_run(
    world: World, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(self: PlainEngine, *given: Any) -> None:
        raise OSError("the device is gone")

    with world.watching() as monitor:
        source.write_text("e n1 n1\n" if not world.vertex_labels else "e 1 1\n")  # nothing to match
        monitor.run(source, tmp_path / "o.csv", batch_size=SIZE)
        assert monitor._meanwhile is None
        source.write_text("".join(world.lines))
        monkeypatch.setattr(PlainEngine, "begin", fails)
        with pytest.raises(OSError, match="gone"):
            monitor.run(source, tmp_path / "p.csv", batch_size=SIZE)
        assert monitor._meanwhile is None


@pytest.mark.parametrize("error", [MemoryError, mf.StreamError, TypeError])
def test_errors_of_preparing_that_its_own_call_does_not_raise_are_raised(
    source: Path, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    apply, output = Numbering.apply, tmp_path / "o.csv"
    failed = []

    def fails(self: Numbering, *given: Any, prepares: bool = False) -> Any:
        found = apply(self, *given, prepares=prepares)
        if prepares and not failed:
            failed.append(error)
            raise error("while it is prepared")
        return found

    with world.watching() as monitor, all_read_before():
        with monkeypatch.context() as patch:
            patch.setattr(Numbering, "apply", fails)
            if error is TypeError:
                with pytest.raises(TypeError, match="prepared"):
                    monitor.run(source, output, batch_size=SIZE)
            else:
                monitor.run(source, output, batch_size=SIZE)
        assert failed
        world.check_and_go_on(monitor, source, output)


def test_matches_are_handed_over_before_the_source_is_waited_for(
    world: World, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written, read = 0, 0
    acknowledged, taken = FileSink.acknowledged, TextSource._taken
    late = []

    def counts(self: FileSink, *given: Any) -> None:
        nonlocal written
        written += 1
        acknowledged(self, *given)

    def waits(self: TextSource, *given: Any) -> Iterator[Any]:
        nonlocal read
        until = time.monotonic() + (0.5 if late else 10)
        while written < read and time.monotonic() < until:
            time.sleep(0.001)
        if written < read:
            late.append(read)
        read += 1
        yield from taken(self, *given)

    monkeypatch.setattr(FileSink, "acknowledged", counts)
    monkeypatch.setattr(TextSource, "_taken", waits)
    output = tmp_path / "o.csv"
    with world.watching() as monitor:
        monitor.run(source, output, batch_size=SIZE)
        assert not late
        world.check_and_go_on(monitor, source, output)


def test_sinks_that_may_lag(tmp_path: Path) -> None:
    file = FileSink(tmp_path / "o.csv")
    assert all(map(may_lag, (file, Nowhere(), StandardOutput(), SeveralSinks([file, StandardOutput()]))))
    own = motiflux.stream.as_sink(print)
    assert not any(map(may_lag, (own, SeveralSinks([file, own]))))


@pytest.mark.parametrize(
    ("fault", "failing"),
    [*((fault, batch) for fault in ("device", "refused") for batch in range(BATCHES)), ("timeout", 3)],
)
def test_a_batch_that_fails_on_the_device_leaves_all_before_it(
    world: World, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, failing: int
) -> None:
    match, begin = PlainEngine.match, PlainEngine.begin
    number = -1

    def begins(self: PlainEngine, *given: Any) -> None:
        nonlocal number
        number += 1
        begin(self, *given)
        if fault == "refused" and number == failing:
            raise mf.StreamError("no such update")

    def matches(self: PlainEngine, run: Any, meanwhile: Callable[[], None] | None = None) -> Any:
        found = match(self, run, meanwhile)
        if number == failing and fault == "device":
            raise OSError("the device is gone")
        while number == failing and fault == "timeout" and run.keep_going():
            pass
        return found if run.keep_going() else None

    output = tmp_path / "o.csv"
    with world.watching() as monitor, all_read_before():
        with monkeypatch.context() as patch:
            patch.setattr(PlainEngine, "begin", begins)
            patch.setattr(PlainEngine, "match", matches)
            if fault == "timeout":
                assert not monitor.run(source, output, batch_size=SIZE, timeout=0.4).complete
            else:
                with pytest.raises(OSError if fault == "device" else mf.StreamError):
                    monitor.run(source, output, batch_size=SIZE)
        done = applied(monitor.source_position)
        assert done == failing or (fault == "timeout" and done < failing)
        assert monitor.unapplied is not None
        assert len(monitor.unapplied) == SIZE
        world.check_and_go_on(monitor, source, output)


@pytest.mark.parametrize(
    ("method", "failing"),
    [*(("flush", batch) for batch in range(BATCHES)), *(("write", time) for time in range(4))],
)
def test_a_batch_whose_matches_are_refused_is_taken_back_with_the_one_after_it(
    world: World, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, failing: int
) -> None:
    called = 0
    original = getattr(FileSink, method)

    def fails(self: FileSink, *given: Any) -> None:
        nonlocal called
        original(self, *given)
        if called == failing:
            raise OutputError("the disk is full")
        called += 1

    output = tmp_path / "o.csv"
    with world.watching() as monitor, all_read_before():
        with monkeypatch.context() as patch:
            patch.setattr(FileSink, method, fails)
            with pytest.raises(OutputError):
                monitor.run(source, output, batch_size=SIZE)
        if method == "flush":
            assert applied(monitor.source_position) == failing
        assert monitor.unapplied is not None
        first = SIZE * applied(monitor.source_position)
        given = [line.split()[1] for line in world.lines[first : first + SIZE]]
        assert list(map(str, monitor.unapplied.sources.tolist())) == given
        world.check_and_go_on(monitor, source, output)


def test_an_error_after_a_batch_is_final_takes_nothing_back(
    world: World, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = FileSink.acknowledged
    called = 0

    def fails(self: FileSink, *given: Any) -> None:
        nonlocal called
        kept(self, *given)
        called += 1
        if called == 3:
            raise OutputError("it is written, but")

    output = tmp_path / "o.csv"
    with world.watching() as monitor, all_read_before():
        with monkeypatch.context() as patch:
            patch.setattr(FileSink, "acknowledged", fails)
            with pytest.raises(OutputError):
                monitor.run(source, output, batch_size=SIZE)
        assert applied(monitor.source_position) == 3
        world.check_and_go_on(monitor, source, output)


@pytest.mark.parametrize("fault", ["device", "sink", "source"])
@pytest.mark.parametrize("when", ["in the sink", "taking back", "at the end"])
def test_an_error_is_raised_in_spite_of_ctrl_c_that_comes_after_it(
    world: World, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, when: str
) -> None:
    has_failed = pressed = False
    match, flush, stop = PlainEngine.match, FileSink.flush, ahead.ReadAhead.stop
    back, end = Changing._take_back, Changing._unprepare

    def press(at: str) -> None:
        nonlocal pressed
        if has_failed and at == when and not pressed:
            pressed = True
            signal.raise_signal(signal.SIGINT)

    def matches(self: PlainEngine, run: Any, meanwhile: Callable[[], None] | None = None) -> Any:
        nonlocal has_failed
        found = match(self, run, meanwhile)
        if fault == "device" and self.runs == 3:
            has_failed = True
            raise OSError("the device is gone")
        return found

    def flushes(self: FileSink) -> None:
        nonlocal has_failed
        flush(self)
        if fault == "sink":
            has_failed = True
            press("in the sink")
            raise OutputError("the disk is full")
        press("in the sink")

    def stops(self: ahead.ReadAhead) -> None:
        nonlocal has_failed
        has_failed = True
        press("at the end")
        stop(self)

    def takes_back(self: Changing, *given: Any) -> None:
        press("taking back")
        back(self, *given)
        press("taking back")

    def unprepares(self: Changing, *given: Any) -> None:
        end(self, *given)
        press("taking back")

    if fault == "source":
        source.write_text("".join([*world.lines[: SIZE * 3], "e 1\n"]))
    errors = {"device": OSError, "sink": OutputError, "source": mf.FormatError}
    output = tmp_path / "o.csv"
    with world.watching() as monitor, all_read_before():
        with monkeypatch.context() as patch:
            patch.setattr(PlainEngine, "match", matches)
            patch.setattr(FileSink, "flush", flushes)
            patch.setattr(ahead.ReadAhead, "stop", stops)
            patch.setattr(Changing, "_take_back", takes_back)
            patch.setattr(Changing, "_unprepare", unprepares)
            with pytest.raises(errors[fault]):
                monitor.run(source, output, batch_size=SIZE)
        if fault == "source":
            assert rows_of(output) == world.after(3, tmp_path)[2]
        else:
            world.check_and_go_on(monitor, source, output)


# An interrupt between opening the output and keeping it leaves it to the garbage collector: no other file.
@pytest.mark.filterwarnings(
    r"ignore:Exception ignored in. <_io\.FileIO name='.*/o\.csv':pytest.PytestUnraisableExceptionWarning"
)
@pytest.mark.turns(8)
@pytest.mark.parametrize("part", in_turn(1, range(0, STEP, 20)))
def test_ctrl_c_anywhere_leaves_whole_batches(world: World, source: Path, tmp_path: Path, part: int) -> None:
    point = 1 + part
    output = tmp_path / "o.csv"
    while True:
        output.unlink(missing_ok=True)
        with world.watching() as monitor, all_read_before():
            work = partial(monitor.run, source, output, batch_size=SIZE)
            passed = interrupted_at(point, work)
            world.check_and_go_on(monitor, source, output)
        if passed < point:
            break
        point += STEP
    assert point > 1000


def test_refused_lines_are_left_out_after_what_is_before_them(
    world: World, source: Path, tmp_path: Path
) -> None:
    found = {}
    rows = [*world.lines[:20], "v n1 7\n", *world.lines[20:]]  # n1 has another label
    source.write_text("".join(rows))
    for pipeline in ("on", "off"):
        output = tmp_path / f"{pipeline}.csv"
        with world.watching(pipeline) as monitor, all_read_before():
            totals = monitor.run(source, output, batch_size=SIZE, on_error="skip")
            found[pipeline] = state(monitor), monitor.source_position, rows_of(output), totals.skipped
    assert found["on"] == found["off"]
    assert found["on"][-1] == 1


def test_progress_tells_what_the_monitor_has(world: World, source: Path, tmp_path: Path) -> None:
    told = []
    with world.watching() as monitor, all_read_before():

        def tell(totals: mf.Totals) -> None:
            told.append((totals.batches, monitor.batches_applied, monitor.num_edges > 0))

        monitor.run(source, tmp_path / "o.csv", batch_size=SIZE, progress=tell)
    assert told
    assert all(batches == done and some for batches, done, some in told)


def test_a_progress_meter_leaves_what_is_prepared(
    world: World, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    dropped = []

    @contextmanager
    def meter(*given: Any, **options: Any) -> Iterator[Callable[..., None]]:
        yield lambda done, size, note: shown.append(note)

    unprepare = Changing._unprepare

    def notes(self: Changing, *given: Any) -> None:
        dropped.append(self.batches_applied)
        unprepare(self, *given)

    monkeypatch.setattr(loop, "meter", meter)
    monkeypatch.setattr(loop, "is_shown", lambda: True)
    monkeypatch.setattr(loop, "_SECONDS_BETWEEN_REPORTS", 0.0)
    monkeypatch.setattr(Changing, "_unprepare", notes)
    with world.watching() as monitor, all_read_before() as prepared:
        totals = monitor.run(source, tmp_path / "o.csv", batch_size=SIZE, progress=True)
    assert (len(shown), totals.batches) == (BATCHES, BATCHES)
    assert any(prepared) == world.prepares
    assert not (any(prepared) and dropped)


@pytest.mark.turns(8)
@pytest.mark.parametrize("failing", [None, 1, 3])
def test_rows_that_other_threads_write_are_there_before_the_next_batch_is_prepared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int | None
) -> None:
    draw = np.random.default_rng(3)
    size, batches = 5000, 5
    rows = [
        f"{'e' if grows else '-e'} {u} {v}\n"
        for grows, u, v in zip(
            (draw.random(size * batches) < 0.7).tolist(),
            *draw.integers(0, 150, (2, size * batches)).tolist(),
            strict=True,
        )
    ]
    source = tmp_path / "u.stream"
    source.write_text("".join(rows))
    flush, flushed = FileSink.flush, 0

    def fails(self: FileSink) -> None:
        nonlocal flushed
        flush(self)
        if flushed == failing:
            raise OutputError("the disk is full")
        flushed += 1

    found = {}
    for pipeline in ("on", "off"):
        output = tmp_path / f"{pipeline}.csv"
        options: dict[str, Any] = {"mode": "batch", "matches": True, "threads": 3, **PLACEMENT}
        tuning = with_pipeline(pipeline)
        with mf.Monitor(mf.Graph.from_edges([]), "(a)--(b)", tuning=tuning, **options) as monitor:
            if pipeline == "off":
                source.write_text("".join(rows[: size * (batches if failing is None else failing)]))
                monitor.run(source, output, batch_size=size)
            else:
                with all_read_before() as prepared, monkeypatch.context() as patch:
                    patch.setattr(FileSink, "flush", fails)
                    try:
                        monitor.run(source, output, batch_size=size)
                    except OutputError:
                        assert failing is not None
                assert any(prepared)
            found[pipeline] = state(monitor), monitor.source_position, rows_of(output)
    assert found["on"] == found["off"]
