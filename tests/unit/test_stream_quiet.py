"""Batches that change no match are applied natively, with the same results as if each were yielded."""

from __future__ import annotations

import os
import queue
import signal
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import motiflux as mf
import motiflux.stream.run
from motiflux.config import private_tuning
from motiflux.stream import FoundMatches, Sink
from tests.unit.test_monitor import state

RUN = Path(motiflux.stream.run.__file__).parent
SHIELD = ("_note", "up", "down", "__enter__", "__exit__", "_play_all")
"""Methods in which signals are held up or let through.

The line of `with` in `_play_all` is passed again after its block, where the interpreter hears no signal.
"""
TRIANGLE = "(a)--(b)--(c)--(a)"


class Every(Sink):
    """Rows; asks for every batch, so that none is applied natively."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, int, list[Any]]] = []
        self.batches = 0

    def write(self, found: FoundMatches) -> None:
        """Take rows."""
        columns = (found.updates.tolist(), found.signs.tolist(), found.vertices.tolist())
        self.rows += zip(*columns, strict=True)

    def acknowledged(self, interrupted: Callable[[], bool]) -> None:
        """Count batches."""
        self.batches += 1


class Some(Every):
    """The same rows, from batches that have any."""

    @property
    def wants_empty_batches(self) -> bool:
        """False."""
        return False


def facts(totals: mf.Totals) -> tuple[Any, ...]:
    """Return the totals that do not depend on time."""
    patterns = tuple((one.positive, one.negative) for one in totals.patterns)
    counts = (totals.updates, totals.noops, totals.self_loops, totals.skipped, totals.batches)
    return patterns, counts, totals.complete


def outcome(graph: mf.Graph, source: Any, sink: Every, **options: Any) -> tuple[Any, ...]:
    """Run a monitor on a source; return all that a run leaves."""
    size, on_error = options.pop("batch_size", None), options.pop("on_error", "stop")
    with mf.Monitor(graph, TRIANGLE, matches=True, threads=1, **options) as monitor:
        error = None
        totals = None
        try:
            totals = facts(monitor.run(source, sink, batch_size=size, on_error=on_error))
        except mf.MotifluxError as problem:
            error = str(problem)
        applied = (monitor.updates_applied, monitor.batches_applied, monitor.source_position)
        return totals, error, sink.rows, applied, state(monitor)


def same(graph: mf.Graph, path: Path, **options: Any) -> tuple[Any, ...]:
    """Check that both ways have one outcome, and return it."""
    expected = outcome(graph, path, Every(), **options)
    assert outcome(graph, path, Some(), **options) == expected
    return expected


@pytest.mark.filterwarnings("ignore::motiflux.MotifluxWarning")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.sampled_from(["e", "e", "e", "-e"]), st.integers(0, 9), st.integers(0, 9)), max_size=60
    ),
    named=st.booleans(),
    labelled=st.sampled_from([None, "always", "sometimes"]),
    mode=st.sampled_from(["sequence", "batch"]),
    size=st.sampled_from([1, 3, None]),
    bad=st.sampled_from([None, "e 1", "e nan 3", "v 3 1", "e 5 6 99", "nonsense"]),
    on_error=st.sampled_from(["stop", "skip"]),
    strict=st.booleans(),
)
def test_both_ways_have_one_outcome(
    tmp_path: Path, rows: Any, named: bool, labelled: Any, mode: str, size: Any, bad: Any, **options: Any
) -> None:
    letter = "u" if named else ""
    lines = []
    for at, (op, source, target) in enumerate(rows):
        label = labelled == "always" or (labelled == "sometimes" and at % 2)
        lines.append(f"{op} {letter}{source} {letter}{target}" + (f" {at % 3}" if label else ""))
    if bad is not None:
        lines.insert(len(lines) * 2 // 3, bad)
    path = tmp_path / "a.stream"
    path.write_text("".join(f"{line}\n" for line in lines))
    ids = [f"u{at}" for at in range(5)] if named else list(range(5))
    edges = [(ids[at], ids[at + 1]) for at in range(4)]
    same(mf.Graph.from_edges(edges), path, mode=mode, batch_size=size, **options)


def saved(monitor: mf.Monitor, folder: Path) -> Path:
    """Save a monitor and return the file."""
    monitor.save(folder / "saved.mfg")
    return folder / "saved.mfg"


def interrupted_in_run(point: int, work: Callable[[], Any]) -> bool:
    """Press Ctrl-C at that line of those that `work` goes through in the package of runs; False if fewer.

    Signals wait where the run lets them: the handler is called, as the interpreter does.
    """
    passed = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal passed
        path = Path(frame.f_code.co_filename)
        if not path.is_relative_to(RUN) or frame.f_code.co_name in SHIELD:
            return None
        if event == "line":
            passed += 1
            if passed == point:
                handler = signal.getsignal(signal.SIGINT)
                assert callable(handler)
                handler(signal.SIGINT, frame)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    return passed >= point


def test_new_vertices_come_without_python(tmp_path: Path) -> None:
    path = tmp_path / "a.stream"
    path.write_text("".join(f"e {at} {at + 1}\n" for at in range(2, 5000)) + "e 2 4\n")
    totals, _, rows, applied, _ = same(mf.Graph.from_edges([(0, 1)]), path, batch_size=16)
    assert totals[1] == (4999, 0, 0, 0, 313)
    assert len(rows) == 6
    assert applied[2].line == 4999


def test_an_error_names_its_line_behind_batches_that_change_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.stream"
    path.write_text("".join(f"e {at} {at + 1}\n" for at in range(100)) + "e 1\n")
    _, error, _, applied, _ = same(mf.Graph.from_edges([(0, 1)]), path, batch_size=7)
    assert error is not None
    assert ":101:" in error or "line 101" in error
    assert applied[2].line == 100


def test_a_run_goes_on_where_ctrl_c_ended_it(tmp_path: Path) -> None:
    path = tmp_path / "a.stream"
    path.write_text("".join(f"e {at} {at + 1}\n" for at in range(60)) + "e 1 3\ne 50 52\n" * 2)
    graph = mf.Graph.from_edges([(0, 1)])

    class Stopping(Some):
        def write(self, found: FoundMatches) -> None:
            super().write(found)
            raise KeyboardInterrupt

    with mf.Monitor(graph, TRIANGLE, matches=True, threads=1) as monitor:
        totals = monitor.run(path, Stopping(), batch_size=4)
        assert not totals.complete
        assert totals.updates == monitor.updates_applied == monitor.source_position.line == 60
        sink = Some()
        monitor.run(mf.open_source(path, start=monitor.source_position), sink, batch_size=4)
        assert monitor.updates_applied == 64
        found = state(monitor)
    assert found == outcome(graph, path, Every(), batch_size=4)[4]
    assert len(sink.rows) == 12


@pytest.mark.parametrize("problem", [KeyboardInterrupt, ZeroDivisionError])
@pytest.mark.parametrize("named", [False, True])
def test_a_batch_that_a_sink_refuses_is_not_applied(tmp_path: Path, problem: Any, named: bool) -> None:
    letter = "u" if named else ""
    path = tmp_path / "a.stream"
    pairs = [(1, 2), (2, 3), (20, 21), (30, 30), (3, 1), (31, 40), (5, 6)]
    path.write_text("".join(f"e {letter}{a} {letter}{b}\n" for a, b in pairs))
    graph = mf.Graph.from_edges([(f"{letter}0", f"{letter}1")] if named else [(0, 1)])

    class Refusing(Some):
        def flush(self) -> None:
            raise problem

    with mf.Monitor(graph, TRIANGLE, matches=True, threads=1) as monitor:
        sink = Refusing()
        if problem is KeyboardInterrupt:
            assert not monitor.run(path, sink, batch_size=3).complete
        else:
            with pytest.raises(problem):
                monitor.run(path, sink, batch_size=3)
        assert len(sink.rows) == 6
        assert monitor.updates_applied == monitor.source_position.line == 3
        assert monitor.num_edges == 4
        assert monitor.num_vertices == 6
        refused = monitor.unapplied
        assert refused is not None
        assert refused.sources.tolist() == ([f"u{at}" for at in (30, 3, 31)] if named else [30, 3, 31])
        assert monitor.apply(refused)[0].positive == 6
        assert monitor.num_vertices == 8


@pytest.mark.turns(8)
@pytest.mark.parametrize("size", [1, 4])
def test_ctrl_c_anywhere_leaves_whole_batches(tmp_path: Path, size: int) -> None:
    path = tmp_path / "a.stream"
    pairs = np.random.default_rng(5).integers(0, 6, (16, 2)).tolist()
    path.write_text("".join(f"e {a} {a + b + 1}\n" for a, b in pairs))
    graph = mf.Graph.from_edges([(0, 1)])
    expected = outcome(graph, path, Every(), batch_size=size)
    for point in range(1, 10_000, 5):
        sink = Some()
        with mf.Monitor(graph, TRIANGLE, matches=True, threads=1) as monitor:
            stopped = interrupted_in_run(point, lambda: monitor.run(path, sink, batch_size=size))  # noqa: B023
            done = monitor.updates_applied
            position = monitor.source_position or (0, 0)
            assert position[0] == done
            applied = [row for row in sink.rows if row[0] < done]
            rest = Some()
            with mf.Monitor.load(saved(monitor, tmp_path)) as again:
                again.run(mf.open_source(path, start=position), rest, batch_size=size)
                assert state(again) == expected[4]
            assert applied + rest.rows == expected[2]
        if not stopped:
            break
    assert point > 50


@pytest.mark.parametrize("fails", [False, True])
def test_a_sink_may_close_the_monitor(tmp_path: Path, fails: bool) -> None:
    path = tmp_path / "a.stream"
    path.write_text("e 1 2\ne 2 3\ne 20 21\ne 3 1\n")
    monitor = mf.Monitor(mf.Graph.from_edges([(0, 1)]), TRIANGLE, matches=True, threads=1)

    def closing(found: FoundMatches) -> None:
        monitor.close()
        if fails:
            raise ZeroDivisionError

    if fails:
        with pytest.raises(ZeroDivisionError):
            monitor.run(path, closing, batch_size=1)
    else:
        assert monitor.run(path, closing, batch_size=1).updates == 4
        with path.open("a") as more:
            more.write("e 5 6\n")
        again = mf.Monitor(mf.Graph.from_edges([(0, 1)]), TRIANGLE, matches=True, threads=1)
        with pytest.raises(mf.ArgumentError, match="not closed"):
            again.run(path, lambda found: again.close(), batch_size=1)


def test_a_time_limit_ends_a_run_without_matches(tmp_path: Path) -> None:
    path = tmp_path / "a.stream"
    path.write_text("".join(f"e {at} {at + 1}\n" for at in range(5000)))
    with mf.Monitor(mf.Graph.from_edges([(0, 1)]), TRIANGLE, matches=True, threads=1) as monitor:
        totals = monitor.run(path, Some(), timeout=0)
        assert not totals.complete
        assert totals.updates == monitor.num_edges - 1 == monitor.updates_applied


@pytest.mark.parametrize("through", ["pipe", "socket"])
@pytest.mark.parametrize("form", [".stream", ".csv"])
def test_rows_come_while_a_pipe_is_open(through: str, form: str) -> None:
    if through == "pipe":
        number, writing = os.pipe()
        reading: Any = os.fdopen(number, "rb", buffering=0)
        closing = lambda: os.close(writing)  # noqa: E731
    else:
        reading, other = socket.socketpair()
        writing = other.fileno()
        closing = other.close
    begin = "+,{},{}\n" if form == ".csv" else "e {} {}\n"
    ends = [(1, 2), (2, 3), (5, 6), (6, 7), (3, 1), (7, 5), (20, 21)]
    got: queue.Queue[Any] = queue.Queue()

    def write() -> None:
        for pair in ends:
            os.write(writing, begin.format(*pair).encode())
            if pair in ((3, 1), (7, 5)):
                got.get(timeout=60)  # nothing more comes until the row is there
        closing()

    thread = threading.Thread(target=write)
    thread.start()
    with reading, mf.Monitor(mf.Graph.from_edges([(0, 1)]), TRIANGLE, matches=True, threads=1) as monitor:
        source = mf.open_source(reading, format=form)
        totals = monitor.run(source, lambda found: got.put(found.updates.tolist()))
        assert (totals.updates, totals[0].positive) == (7, 12)
    thread.join()


@pytest.mark.parametrize("duplicates", ["count", "ignore"])
def test_updates_that_wait_are_written_while_a_pipe_is_silent(duplicates: str) -> None:
    rng = np.random.default_rng(3)
    rows = [(rng.random() < 0.6, *rng.choice(200, 2, replace=False).tolist()) for _ in range(4_000)]
    graph = mf.Graph.from_edges(
        rng.integers(0, 100, (300, 2)), vertex_labels=np.arange(200) % 5, num_vertices=200, self_loops="drop"
    )
    number, writing = os.pipe()

    def write() -> None:
        for first in range(0, len(rows), 50):
            lines = [f"{'' if comes else '-'}e {u} {v}\n" for comes, u, v in rows[first : first + 50]]
            os.write(writing, "".join(lines).encode())
            threading.Event().wait(0.0005)
        os.close(writing)

    thread = threading.Thread(target=write)
    thread.start()
    given = [("+" if comes else "-", u, v) for comes, u, v in rows]
    pattern = "(a:0)--(b:0)--(c:0)--(a)"
    with (
        os.fdopen(number, "rb", buffering=0) as reading,
        mf.Monitor(graph, pattern, duplicates=duplicates, matches=True) as piped,
        mf.Monitor(graph, pattern, duplicates=duplicates, tuning=private_tuning({"put_off": "off"})) as whole,
    ):
        totals = piped.run(reading, Some())
        delta = whole.apply(given)
        assert facts(totals)[0] == ((delta[0].positive, delta[0].negative),)
        assert (totals.updates, totals.noops) == (len(rows), delta.noops)
        assert state(piped) == state(whole)
    thread.join()


def test_a_pipe_is_no_file_to_follow() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as stream, pytest.raises(mf.ArgumentError, match="follow"):
        mf.open_source(stream, follow=True)
    os.close(writing)


def test_the_columns_of_batches_are_as_written(tmp_path: Path) -> None:
    path = tmp_path / "a.stream"
    path.write_text("e 1 2\ne 2 3\n")
    with mf.Monitor(mf.Graph.from_edges([(0, 1)]), "(a)--(b)", threads=1) as monitor:
        assert [delta.updates for delta in monitor.run(path, batch_size=1)] == [1, 1]
        assert monitor.names(np.arange(4, dtype=np.uint32)).tolist() == [0, 1, 2, 3]
