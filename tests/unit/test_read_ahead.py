"""Runs on a device whose source a thread reads, two batches ahead: what is applied, and what is left."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.stream import Batch, FoundMatches, Nowhere, Position, Request, as_source
from motiflux.stream.run import ahead
from motiflux.stream.run.ahead import ReadAhead
from motiflux.stream.sources.rows import RowSource
from motiflux.stream.sources.source import can_repeat
from tests.stream_engines import PLACEMENT, PlainEngine, registered
from tests.waiting import SECONDS, wait_until

TRIANGLE = "(a)--(b)--(c)--(a)"
SIZE = 4
LINES = [f"e {u} {v}\n" for u in range(6) for v in range(u)]
"""Lines of a stream: the edges of a clique of six."""


@pytest.fixture(autouse=True)
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[PlainEngine]]:
    monkeypatch.setattr(ahead, "LEAST_UPDATES", 1)
    with registered() as engines:
        yield engines
    assert not threads()


def threads() -> list[str]:
    """Return the names of threads that read sources."""
    return [one.name for one in threading.enumerate() if one.name == "motiflux-source"]


def watching(*, pipeline: str = "on", **options: Any) -> mf.Monitor:
    options = {"mode": "batch", "matches": True, "symmetry": "subgraphs", **PLACEMENT, **options}
    tuning = private_tuning({"pipeline": pipeline})
    return mf.Monitor(mf.Graph.from_edges([]), TRIANGLE, tuning=tuning, **options)


def stream(tmp_path: Path, lines: list[str] = LINES) -> Path:
    path = tmp_path / "updates.stream"
    path.write_text("".join(lines))
    return path


def offset(lines: int) -> Position:
    """Return the position after so many lines."""
    return Position(lines, sum(map(len, LINES[:lines])))


def edges(monitor: mf.Monitor) -> int:
    return monitor.num_edges


class Numbered:
    """A source of single edges that tells which batches it was asked for, and by which threads."""

    can_repeat = True

    def __init__(self, batches: int = 5) -> None:
        self.batches_in_all = batches
        self.asked = 0
        self.readers: set[int] = set()
        self.is_closed = False

    def batches(self, request: Request) -> Iterator[Batch]:
        try:
            for number in range(self.batches_in_all):
                self.asked = number + 1
                self.readers.add(threading.get_ident())
                edge = np.array([number])
                yield Batch(
                    mf.Updates(np.array([True]), edge, edge + 1), "numbers", Position(number + 1), 0.0
                )
        finally:
            self.is_closed = True


def test_two_batches_are_read_while_the_device_has_the_one_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = Numbered()
    match = PlainEngine.match

    def waits(self: PlainEngine, run: Any) -> Any:
        following = min(self.runs + 3, source.batches_in_all)
        wait_until(lambda: source.asked >= following, "the next batches are read")
        time.sleep(0.02)  # as long as it takes to ask for one more, if it did
        assert source.asked == following, "no more than two batches ahead"
        return match(self, run)

    monkeypatch.setattr(PlainEngine, "match", waits)
    with watching() as monitor:
        totals = monitor.run(source, lambda found: None)
    assert (totals.batches, totals.updates, totals.complete) == (5, 5, True)
    assert source.readers.isdisjoint({threading.get_ident()})
    assert source.is_closed


@pytest.mark.parametrize("kind", ["iterator", "own source", "switched off", "deltas", "small batches"])
def test_other_sources_are_read_by_the_thread_of_the_caller(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readers = set()
    source: Any = Numbered()
    if kind == "iterator":

        def rows() -> Iterator[Any]:
            for row in range(5):
                readers.add(threading.get_ident())
                yield ("+", row, row + 1)

        source = rows()
    elif kind == "own source":
        source.can_repeat = False
    elif kind == "small batches":
        monkeypatch.setattr(ahead, "LEAST_UPDATES", 2)
    with watching(pipeline="off" if kind == "switched off" else "on") as monitor:
        if kind == "deltas":
            assert len(list(monitor.run(source, batch_size=1))) == 5
        else:
            monitor.run(source, lambda found: None, batch_size=1)
        assert monitor.num_edges == 5
    assert readers | getattr(source, "readers", set()) == {threading.get_ident()}


@pytest.mark.parametrize(("pipeline", "both"), [("auto", [1, 0]), ("on", [1, 1]), ("off", [0, 0])])
def test_by_default_files_are_read_ahead_and_updates_in_memory_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pipeline: str, both: list[int]
) -> None:
    begun: list[ReadAhead] = []
    run = ReadAhead._run
    monkeypatch.setattr(ReadAhead, "_run", lambda self: (begun.append(self), run(self))[1])
    edges = np.array([0, 1, 2]), np.array([1, 2, 0])
    threads = []
    for source in (stream(tmp_path), mf.Updates.edges(inserts=edges)):
        before = len(begun)
        with watching(pipeline=pipeline) as monitor:
            monitor.run(source, Nowhere())
        threads.append(len(begun) - before)
    assert threads == both


@pytest.mark.parametrize("items", ["updates", "list", "tuple"])
def test_updates_in_memory_are_read_ahead(items: str, monkeypatch: pytest.MonkeyPatch) -> None:
    readers = []
    batches = RowSource.batches

    def notes(self: RowSource, request: Request) -> Iterator[Batch]:
        readers.append(threading.get_ident())
        yield from batches(self, request)

    monkeypatch.setattr(RowSource, "batches", notes)
    monkeypatch.setattr(ahead, "LEAST_UPDATES", 15)
    whole = mf.Updates.edges(inserts=np.array([(u, v) for u in range(6) for v in range(u)]))
    sources: dict[str, Any] = {"updates": whole, "list": [whole, whole], "tuple": (whole,)}
    with watching() as monitor:
        totals = monitor.run(sources[items], Nowhere())
    assert totals.batches == (2 if items == "list" else 1)
    assert readers
    assert readers != [threading.get_ident()]


@pytest.mark.parametrize("by", ["sink", "progress"])
def test_a_list_may_be_extended_by_code_of_users(by: str, tmp_path: Path) -> None:
    items = [mf.Updates.edges(inserts=np.array([(u, v) for u in range(4) for v in range(u)]))]

    def extend(given: Any) -> None:
        time.sleep(0.05)  # as long as it takes another thread to come to the end
        if len(items) == 1:
            items.append(mf.Updates.edges(inserts=np.array([(4, 0), (4, 1)])))

    with watching() as monitor:
        if by == "sink":
            totals = monitor.run(items, extend)
        else:
            totals = monitor.run(items, tmp_path / "o.csv", progress=extend)
    assert (totals.batches, totals.updates) == (2, 8)


@pytest.mark.parametrize("items", [[("+", 1, 2)], [mf.Updates.of([("+", 1, 2)]), ("+", 2, 3)], []])
def test_other_lists_are_not(items: list[Any]) -> None:
    assert not can_repeat(as_source(items))
    assert not can_repeat(as_source(iter([mf.Updates.of([("+", 1, 2)])])))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
@pytest.mark.parametrize("name", ["u.stream", "u.csv"])
def test_ctrl_c_ends_the_wait_for_a_named_pipe(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    os.mkfifo(path)
    has_ended = threading.Event()
    main = threading.main_thread().ident
    assert main is not None
    ended_by_ctrl_c = []

    def writes() -> None:
        with path.open("w"):  # waits for the run
            time.sleep(0.05)
            signal.pthread_kill(main, signal.SIGINT)
            ended_by_ctrl_c.append(has_ended.wait(10))

    assert not can_repeat(mf.open_source(path))
    writer = threading.Thread(target=writes, daemon=True)
    writer.start()
    with watching() as monitor:
        totals = monitor.run(path, lambda found: None, batch_size=SIZE)
        has_ended.set()
    writer.join()
    assert ended_by_ctrl_c == [True]
    assert (totals.complete, totals.batches) == (False, 0)


@pytest.mark.parametrize("to_file", [False, True])
def test_the_caller_reads_if_no_thread_can_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, to_file: bool
) -> None:
    start = threading.Thread.start

    def fails(self: threading.Thread) -> None:
        if self.name == "motiflux-source":
            raise RuntimeError("can't start new thread")
        start(self)

    monkeypatch.setattr(threading.Thread, "start", fails)
    source = Numbered()
    with watching() as monitor:
        totals = monitor.run(source, tmp_path / "o.csv" if to_file else lambda found: None)
        assert (totals.batches, edges(monitor), monitor.source_position) == (5, 5, Position(5))
    assert source.readers == {threading.get_ident()}


def test_the_cpu_reads_in_its_own_thread() -> None:
    source = Numbered()
    with watching(device="cpu", engine="auto") as monitor:
        monitor.run(source, lambda found: None)
    assert source.readers == {threading.get_ident()}


@pytest.mark.parametrize("name", ["u.stream", "u.csv", "u.stream.gz", "u.parquet"])
def test_files_give_the_same_as_without_a_thread(tmp_path: Path, name: str) -> None:
    draw = np.random.default_rng(7)
    rows = [("+" if draw.random() < 0.7 else "-", *draw.integers(0, 9, 2).tolist()) for _ in range(200)]
    path = tmp_path / name
    if name == "u.parquet":
        pa = pytest.importorskip("pyarrow")
        ops, sources, targets = zip(*rows, strict=True)
        table = pa.table({"op": ops, "src": sources, "dst": targets})
        pytest.importorskip("pyarrow.parquet").write_table(table, path, row_group_size=30)
    elif name == "u.csv":
        path.write_text("op,src,dst\n" + "".join(f"{op},{u},{v}\n" for op, u, v in rows))
    else:
        text = "".join(f"{'e' if op == '+' else '-e'} {u} {v}\n" for op, u, v in rows).encode()
        if name.endswith("gz"):
            import gzip

            text = gzip.compress(text)
        path.write_bytes(text)
    found = {}
    for pipeline in ("on", "off"):
        output = tmp_path / f"{pipeline}.csv"
        with watching(pipeline=pipeline) as monitor:
            with pytest.warns(mf.MotifluxWarning, match="self-loops"):
                totals = monitor.run(path, output, batch_size=SIZE)
            counts = (totals.patterns, totals.updates, totals.noops, totals.batches)
            found[pipeline] = (counts, monitor.source_position, monitor.num_edges, output.read_bytes())
    assert found["on"] == found["off"]


@pytest.mark.parametrize("bad", ["e 1\n", "e x y\n"])
def test_an_error_of_the_source_comes_after_the_batches_before_it(tmp_path: Path, bad: str) -> None:
    path = stream(tmp_path, [*LINES[:10], bad, *LINES[10:]])
    with watching() as monitor:
        with pytest.raises(mf.FormatError, match="line 11"):
            monitor.run(path, tmp_path / "o.csv", batch_size=SIZE)
        assert monitor.source_position == offset(10)
        assert (edges(monitor), monitor.unapplied) == (10, None)
    assert (tmp_path / "o.csv").read_text().count("\n") == 1 + 10  # triangles of five vertices


def test_a_refused_update_comes_after_the_batches_before_it(tmp_path: Path) -> None:
    lines = [f"v {v} {v}\n" for v in range(3)] + LINES[:6] + ["v 1 7\n"] + LINES[6:]
    path = stream(tmp_path, lines)
    with watching() as monitor:
        with pytest.raises(mf.StreamError, match="line 10"):
            monitor.run(path, lambda found: None, batch_size=3)
        assert edges(monitor) == 6
        assert monitor.source_position.line == 9
        assert monitor.unapplied is not None
        assert len(monitor.unapplied) == 3
        rest = mf.open_source(path, start=monitor.source_position, on_error="skip")
        with pytest.warns(mf.MotifluxWarning, match="line 10"):
            totals = monitor.run(rest, lambda found: None, batch_size=3, on_error="skip")
        assert (edges(monitor), totals.skipped) == (len(LINES), 1)


class SinkError(Exception):
    pass


@pytest.mark.parametrize("fault", ["device", "Ctrl-C in the device", "sink", "Ctrl-C in the sink", "timeout"])
@pytest.mark.parametrize("failing", [0, 2])
def test_a_batch_that_fails_leaves_the_state_before_it_and_the_next_is_read_again(
    tmp_path: Path, fault: str, failing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = stream(tmp_path)
    rows: list[Any] = []
    match, runs = PlainEngine.match, []

    def fails(self: PlainEngine, run: Any) -> Any:
        runs.append(run)
        if len(runs) == failing + 1:
            if fault == "device":
                raise OSError("the device is gone")
            if fault == "Ctrl-C in the device":
                signal.raise_signal(signal.SIGINT)
            while fault == "timeout" and run.keep_going():
                time.sleep(0.01)
        return match(self, run)

    def sink(found: FoundMatches) -> None:
        if found.updates[0] == failing:
            if fault == "sink":
                raise SinkError
            if fault == "Ctrl-C in the sink":
                raise KeyboardInterrupt
        rows.extend(found.vertices.tolist())

    monkeypatch.setattr(PlainEngine, "match", fails)
    with watching() as monitor:
        options = {"batch_size": SIZE, "timeout": 0.5 if fault == "timeout" else None}
        if fault in ("device", "sink"):
            with pytest.raises(OSError if fault == "device" else SinkError):
                monitor.run(path, sink, **options)
        else:
            assert not monitor.run(path, sink, **options).complete
        done = monitor.batches_applied * SIZE
        assert done == failing * SIZE or (fault == "timeout" and done < failing * SIZE)
        assert edges(monitor) == done
        assert monitor.unapplied is not None
        given = [[int(end) for end in line.split()[1:]] for line in LINES[done : done + SIZE]]
        assert [monitor.unapplied.sources.tolist(), monitor.unapplied.targets.tolist()] == [
            list(column) for column in zip(*given, strict=True)
        ]
        assert monitor.source_position == (offset(done) if done else None)
        monkeypatch.setattr(PlainEngine, "match", match)
        rest = mf.open_source(path, start=monitor.source_position or Position())
        monitor.run(rest, lambda found: rows.extend(found.vertices.tolist()), batch_size=SIZE)
        assert edges(monitor) == len(LINES)
    assert len(rows) == len(set(map(tuple, rows))) == 20


def test_a_limit_ends_the_run_and_the_thread(tmp_path: Path) -> None:
    with watching() as monitor:
        totals = monitor.run(stream(tmp_path), lambda found: None, batch_size=SIZE, limit=1)
        assert totals.complete
        assert monitor.source_position == offset(SIZE)
        assert (edges(monitor), monitor.unapplied) == (SIZE, None)


def test_a_source_is_asked_to_end_between_two_pieces_of_its_input(tmp_path: Path) -> None:
    path = stream(tmp_path, LINES * 60_000)
    asked = 0

    def is_over() -> bool:
        nonlocal asked
        asked += 1
        return asked == 3

    source = mf.open_source(path)
    assert list(source.batches(Request(10**9, is_over=is_over))) == []
    assert asked == 3


def test_ctrl_c_while_the_thread_is_waited_for_is_raised_once_it_has_ended() -> None:
    go, entered = threading.Event(), threading.Event()

    class Slow(Numbered):
        def batches(self, request: Request) -> Iterator[Batch]:
            entered.set()
            go.wait(SECONDS)
            yield from super().batches(request)

    reading = ReadAhead(Slow(), Request(1))
    main = threading.main_thread().ident
    assert main is not None

    def press() -> None:
        assert entered.wait(SECONDS)
        signal.pthread_kill(main, signal.SIGINT)

    presser = threading.Thread(target=press)
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - it may come at either line
        presser.start()
        next(reading.batches())
    presser.join()

    def press_again() -> None:
        signal.pthread_kill(main, signal.SIGINT)
        go.set()

    again = threading.Timer(0.05, press_again)
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - it may come at any line
        again.start()
        reading.stop()
        again.join()  # Python may have noted the signal only, and handles it in the next call
    again.join()
