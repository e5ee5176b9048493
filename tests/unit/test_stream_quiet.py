"""Batches that change no match are applied natively, with the same results as if each were yielded."""

from __future__ import annotations

import os
import queue
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.stream import FoundMatches, Sink
from tests.unit.test_monitor import state

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
