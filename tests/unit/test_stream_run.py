"""Sources of the program, sinks, and what a run comes to."""

from __future__ import annotations

import csv
import gzip
import queue
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import motiflux as mf
from motiflux.stream import (
    FoundMatches,
    MatchRows,
    Nowhere,
    Position,
    Request,
    Sink,
    as_sink,
    as_source,
)
from motiflux.stream.run.held import Held
from motiflux.stream.run.totals import Latencies
from tests.waiting import wait_until

TRIANGLE = "(a)--(b)--(c)--(a)"
ROWS = [("+", 1, 2), ("+", 2, 3), ("+", 3, 1), ("-", 1, 2)]


def empty(directed: bool = False) -> mf.Graph:
    return mf.Graph.from_edges([], directed=directed)


def watching(**options: Any) -> mf.Monitor:
    return mf.Monitor(empty(), [TRIANGLE], **{"symmetry": "subgraphs", "matches": True, **options})


class Kept(Sink):
    """Remembers what it was given, and what it was told."""

    def __init__(self) -> None:
        self.found: list[FoundMatches] = []
        self.told: list[str] = []

    def write(self, found: FoundMatches) -> None:
        self.found.append(found)

    def flush(self) -> None:
        self.told.append("flush")

    def close(self) -> None:
        self.told.append("close")

    def abandon(self) -> None:
        self.told.append("abandon")


class TestSources:
    def filled_queue(self) -> queue.Queue[Any]:
        items: queue.Queue[Any] = queue.Queue()
        for row in ROWS:
            items.put(row)
        items.put(None)
        return items

    @pytest.mark.parametrize("kind", ["rows", "mappings", "updates", "pieces", "queue", "table", "columns"])
    def test_each_gives_the_same(self, kind: str) -> None:
        ops, sources, targets = (list(column) for column in zip(*ROWS, strict=True))
        columns = {"op": ops, "src": np.array(sources), "dst": np.array(targets)}
        source: Any = {
            "rows": lambda: iter(ROWS),
            "mappings": lambda: [dict(zip(("op", "src", "dst"), row, strict=True)) for row in ROWS],
            "updates": lambda: mf.Updates.of(ROWS),
            "pieces": lambda: [ROWS[0], mf.Updates.of(ROWS[1:3]), {n: c[3:] for n, c in columns.items()}],
            "queue": self.filled_queue,
            "table": lambda: pytest.importorskip("pyarrow").table(columns),
            "columns": lambda: columns,
        }[kind]()
        kept = Kept()
        with watching() as monitor:
            totals = monitor.run(source, kept)
            assert monitor.source_position == Position(4)
        assert (totals[0].positive, totals[0].negative, totals.updates) == (1, 1, 4)
        found = [(f.signs.tolist(), f.updates.tolist()) for f in kept.found]
        signs, updates = ([one for part in parts for one in part] for parts in zip(*found, strict=True))
        assert (signs, updates) == ([1, -1], [2, 3])

    @pytest.mark.parametrize("mode", ["sequence", "batch"])
    def test_a_timeout_loses_nothing_that_was_taken_from_a_queue(self, mode: str) -> None:
        items = self.filled_queue()
        with watching(mode=mode) as monitor:
            totals = monitor.run(items, lambda found: time.sleep(0.1), batch_size=3, timeout=0.05)
            assert not totals.complete
            assert totals.updates + items.qsize() == len(ROWS) + 1

    def test_mappings_may_have_times_and_labels_of_ends(self) -> None:
        rows = [
            {"src": 1, "dst": 2, "time": 0, "src_label": "x", "dst_label": "y"},
            {"src": 3, "dst": 2, "time": 5, "src_label": "x", "dst_label": "y"},
        ]
        with mf.Monitor(empty(), "(a:x)--(b:y)", matches=True, window="5s") as monitor:
            kept = Kept()
            totals = monitor.run(rows, kept)
        assert (totals[0].positive, totals[0].negative) == (2, 1)
        assert [found.times.tolist() for found in kept.found] == [[0, 5, 5]]

    def test_a_mapping_without_the_time_that_others_have_is_named(self) -> None:
        rows = [{"src": 1, "dst": 2, "time": 0}, {"src": 1, "dst": 3}]
        with watching() as monitor:
            with pytest.raises(mf.StreamError, match="update 2: expected a time as in other rows"):
                monitor.run(rows, Kept())
            assert monitor.updates_applied == 1

    @pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
    def test_table_files_have_types(self, tmp_path: Path, suffix: str) -> None:
        pa = pytest.importorskip("pyarrow")
        path = tmp_path / f"a{suffix}"
        table = pa.table(
            {
                "src": ["ann", "bob", "cy"],
                "dst": ["bob", "cy", "ann"],
                "label": pa.array(["wire"] * 3).dictionary_encode(),
                "time": pa.array([1, 2, 3], pa.timestamp("s")),
                "op": [1, 1, -1],
                "src_label": ["p", None, "p"],
            }
        )
        if suffix == ".parquet":
            pytest.importorskip("pyarrow.parquet").write_table(table, path)
        else:
            with pa.ipc.new_file(str(path), table.schema) as writer:
                writer.write_table(table)
        batches = list(mf.open_source(path).batches(Request(2)))
        assert [len(batch.updates) for batch in batches] == [2, 1]
        assert batches[1].updates.inserts.tolist() == [False]
        assert batches[0].updates.times is not None
        assert batches[0].updates.times.tolist() == [10**9, 2 * 10**9]
        named = batches[0].updates.vertex_labels
        assert named is not None
        assert (named.ids.tolist(), named.labels.tolist()) == (["ann"], ["p"])
        (rest,) = mf.open_source(path, start=batches[0].position).batches(Request(2))
        assert rest.updates.sources.tolist() == ["cy"]

    def test_a_row_that_lacks_something_is_named_or_skipped(self) -> None:
        pa = pytest.importorskip("pyarrow")
        table = pa.table({"op": ["+", "*", "+", "+"], "src": [1, 2, None, 4], "dst": [5, 6, 7, 8]})
        given: list[Any] = []
        with pytest.raises(mf.StreamError, match="table, row 1: op: found '\\*', expected"):
            given.extend(as_source(table).batches(Request(None)))
        assert [batch.skipped for batch in given] == [()]  # it is refused, not left out
        (batch,) = as_source(table, on_error="skip").batches(Request(None))
        assert batch.updates.sources.tolist() == [1, 4]
        assert batch.lines is not None
        assert batch.lines.tolist() == [1, 4]
        assert [line for line, _ in batch.skipped] == [2, 3]

    def test_a_damaged_table_is_a_format_error(self, tmp_path: Path) -> None:
        pytest.importorskip("pyarrow")
        (tmp_path / "a.parquet").write_bytes(b"no parquet")
        with pytest.raises(mf.FormatError, match=r"a\.parquet: the file is damaged"):
            list(mf.open_source(tmp_path / "a.parquet").batches(Request(None)))

    def test_wrong_rows_are_skipped_one_by_one(self) -> None:
        rows = [("+", 1, 2), ("?", 1, 2), ("+", 2)]
        with watching() as monitor, pytest.warns(mf.MotifluxWarning) as told:
            totals = monitor.run(rows, Nowhere(), on_error="skip")
        assert "update 2: expected '+' or '-', found '?'; it was left out" in str(told[0].message)
        assert (totals.updates, totals.skipped, len(told)) == (1, 2, 2)

    def test_a_wrong_row_is_named_after_all_before_it_are_applied(self) -> None:
        with watching() as monitor:
            with pytest.raises(mf.StreamError, match="updates, update 4: expected '\\+' or '-', found '\\?'"):
                monitor.run([*ROWS[:3], ("?", 1, 2)], Nowhere(), batch_size=2)
            assert monitor.num_edges == 3

    def test_a_queue_in_batch_mode_fills_its_batches(self) -> None:
        with watching(mode="batch") as monitor:
            deltas = list(monitor.run(self.filled_queue(), batch_size=3))
        assert [delta.updates for delta in deltas] == [3, 1]

    def test_columns_are_cut_only_where_that_is_asked_for(self) -> None:
        updates = mf.Updates.of(ROWS)
        assert [len(b.updates) for b in as_source([updates, updates]).batches(Request(None))] == [4, 4]
        assert [len(b.updates) for b in as_source(updates).batches(Request(3))] == [3, 1]

    def test_what_is_no_source_is_refused(self) -> None:
        with watching() as monitor:
            for source, options in ((7, {}), (ROWS, {"batch_size": 0}), (ROWS, {"timeout": -1.0})):
                with pytest.raises(mf.ArgumentError):
                    monitor.run(source, **options)  # type: ignore[call-overload]


def test_a_saved_monitor_goes_on_where_its_source_was_left(tmp_path: Path) -> None:
    path = tmp_path / "a.stream"
    path.write_text("".join(f"{sign} {u} {v}\n" for sign, u, v in [("e", 1, 2), ("e", 2, 3), ("e", 3, 1)]))
    with watching() as monitor:
        deltas = monitor.run(path, batch_size=1)
        next(deltas)
        next(deltas)
        monitor.save(tmp_path / "monitor.mfg")
    with mf.Monitor.load(tmp_path / "monitor.mfg") as again:
        kept = Kept()
        totals = again.run(mf.open_source(path, start=again.source_position), kept)
    assert (totals.updates, totals[0].positive) == (1, 1)
    assert kept.found[0].updates.tolist() == [2]


@pytest.mark.parametrize("mode", ["sequence", "batch"])
@pytest.mark.parametrize("window", [None, "1h", 5])
def test_batches_may_be_without_updates(tmp_path: Path, mode: str, window: Any) -> None:
    (tmp_path / "v.stream").write_text("v 1 5\nv 2 6\n")
    (tmp_path / "q.csv").write_text("src,dst,time\n1,2,soon\n")
    with watching(mode=mode, window=window) as monitor:
        totals = monitor.run(tmp_path / "v.stream", tmp_path / "o.csv")
        assert (totals.updates, monitor.num_vertices, totals.latency) == (0, 2, None)
        with pytest.warns(
            mf.MotifluxWarning, match="'soon', expected a number, .*; it was left out: '1,2,soon'"
        ):
            totals = monitor.run(tmp_path / "q.csv", tmp_path / "o.csv", on_error="skip")
        assert (totals.updates, totals.skipped, totals.complete) == (0, 1, True)


@given(
    edges=st.lists(st.tuples(st.booleans(), st.integers(0, 5), st.integers(0, 5)), max_size=30),
    size=st.integers(1, 8),
)
def test_how_a_sequence_is_cut_into_batches_is_no_matter(
    edges: list[tuple[bool, int, int]], size: int
) -> None:
    rows = [("+" if insert else "-", u, v) for insert, u, v in edges if u != v]
    expected = []
    with watching() as monitor:
        for at, row in enumerate(rows):
            delta = monitor.apply([row])[0]
            for sign, matches in ((1, delta.appeared()), (-1, delta.vanished())):
                expected += [(sign, at, frozenset(one)) for one in matches.tolist()]
    kept = Kept()
    with watching() as monitor:
        totals = monitor.run(rows, kept, batch_size=size)
    found = [
        (sign, update, frozenset(one))
        for part in kept.found
        for sign, update, one in zip(
            part.signs.tolist(), part.updates.tolist(), part.vertices.tolist(), strict=True
        )
    ]
    assert found == expected
    assert totals[0].positive - totals[0].negative == sum(sign for sign, _, _ in expected)


class TestFiles:
    @pytest.mark.parametrize("name", ["o.csv", "o.tsv", "o.csv.gz", "o.parquet", "o.arrow"])
    def test_matches_are_a_table(self, tmp_path: Path, name: str) -> None:
        updates = mf.Updates(
            np.array([True, True, True, False]),
            np.array(["ann", "bob", "cy", "ann"]),
            np.array(["bob", "cy", "ann", "bob"]),
            times=np.array([10, 20, 30, 40]),
        )
        with mf.Monitor(empty(), [TRIANGLE, "(a)--(b)"], symmetry="subgraphs", matches=True) as monitor:
            monitor.run(updates, tmp_path / name)
        header, *rows = self.read(tmp_path / name)
        assert header == ["sign", "update", "time", "pattern", "v0", "v1", "v2"]
        assert [row[:4] for row in rows if row[3] == "0"] == [["1", "2", "30", "0"], ["-1", "3", "40", "0"]]
        assert all(sorted(row[4:]) == ["ann", "bob", "cy"] for row in rows if row[3] == "0")
        assert [row[:3] + row[6:] for row in rows if row[3] == "1"] == [
            ["1", "0", "10", ""],
            ["1", "1", "20", ""],
            ["1", "2", "30", ""],
            ["-1", "3", "40", ""],
        ]

    def read(self, path: Path) -> list[list[str]]:
        if path.suffix in (".parquet", ".arrow"):
            pytest.importorskip("pyarrow")
            from pyarrow import ipc, parquet

            if path.suffix == ".parquet":
                table = parquet.read_table(path)
            else:
                with ipc.open_stream(path.read_bytes()) as reader:
                    table = reader.read_all()
            cells = zip(*(column.to_pylist() for column in table.columns), strict=True)
            return [table.column_names, *(["" if c is None else str(c) for c in row] for row in cells)]
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
        return list(csv.reader(text.splitlines(), delimiter="\t" if ".tsv" in path.suffixes else ","))

    def test_without_matches_and_times_there_are_columns(self, tmp_path: Path) -> None:
        with watching() as monitor:
            monitor.run(ROWS[:1], tmp_path / "o.csv")
            assert (tmp_path / "o.csv").read_text() == "sign,update,time,pattern,v0,v1,v2\n"
            monitor.run(ROWS[1:3], tmp_path / "o.csv")
            assert (tmp_path / "o.csv").read_text().splitlines()[1].startswith("1,2,,0,")

    def test_many_rows_are_written_part_by_part(self, tmp_path: Path) -> None:
        pytest.importorskip("pyarrow")
        from pyarrow import parquet

        edges = np.array([(0, at) for at in range(1, 700)])
        with mf.Monitor(empty(), "(a)--(b)--(c)", matches=True) as monitor:
            totals = monitor.run(mf.Updates.edges(inserts=edges), tmp_path / "o.parquet", batch_size=50)
        table = parquet.ParquetFile(tmp_path / "o.parquet")
        assert totals[0].positive == table.metadata.num_rows == 699 * 698
        assert table.num_row_groups > 1
        signs = table.read(["sign"]).column(0).to_numpy()
        assert signs.sum() == 699 * 698

    def test_names_that_cannot_be_written_are_refused_before_anything_is_read(self, tmp_path: Path) -> None:
        for name in ("o.xlsx", "o.parquet.gz", "missing/o.csv"):
            with watching() as monitor, pytest.raises(mf.OutputError):
                monitor.run(tmp_path / "absent.stream", tmp_path / name)

    def test_a_wider_pattern_added_while_rows_are_written_is_refused(self, tmp_path: Path) -> None:
        def rows() -> Any:
            yield "+", 1, 2
            monitor.add("(a)--(b)--(c)")
            yield "+", 2, 3

        with mf.Monitor(empty(), "(a)--(b)", matches=True) as monitor:
            with pytest.raises(mf.OutputError, match=r"pattern 1: expected at most 2 vertices.*found 3"):
                monitor.run(rows(), tmp_path / "o.csv", batch_size=1)
            assert monitor.num_edges == 1
        # What was acknowledged before is there, and nothing of the batch that was refused.
        assert (tmp_path / "o.csv").read_text() == "sign,update,time,pattern,v0,v1\n1,0,,0,1,2\n1,0,,0,2,1\n"

    @pytest.mark.parametrize("name", ["o.csv", "o.tsv.gz", "o.arrow", "o.parquet"])
    def test_an_error_leaves_the_batches_that_are_whole(self, tmp_path: Path, name: str) -> None:
        (tmp_path / name).write_text("old")
        with watching() as monitor, pytest.raises(mf.StreamError):
            monitor.run([*ROWS, ("?", 1, 2)], tmp_path / name, batch_size=2)
        assert [row[:2] for row in self.read(tmp_path / name)[1:]] == [["1", "2"], ["-1", "3"]]
        assert [path.name for path in tmp_path.iterdir()] == [name]

    @pytest.mark.parametrize("name", ["o.csv", "o.arrow", "o.parquet"])
    def test_what_was_there_stays_if_nothing_is_done(self, tmp_path: Path, name: str) -> None:
        (tmp_path / name).write_text("old")
        with watching() as monitor, pytest.raises(mf.StreamError):
            monitor.run([("?", 1, 2)], tmp_path / name)
        assert (tmp_path / name).read_text() == "old"


class TestSinks:
    def test_a_queue_gets_matches_and_then_none(self) -> None:
        items: queue.Queue[Any] = queue.Queue()
        with watching() as monitor:
            monitor.run(ROWS, items, batch_size=1)
        found = [items.get() for _ in range(3)]
        assert [len(one) for one in found[:2]] == [1, 1]
        assert found[2] is None

    def test_a_sink_that_fails_leaves_graph_and_position_as_before_the_batch(self) -> None:
        class FullError(Exception):
            pass

        full = True

        def sink(found: FoundMatches) -> None:
            if full:
                raise FullError

        for mode in ("sequence", "batch"):
            full = True
            with watching(mode=mode) as monitor:
                with pytest.raises(FullError):
                    monitor.run([*ROWS[:3], ("+", 9, 8)], sink, batch_size=2)
                assert (monitor.num_edges, monitor.updates_applied, monitor.num_vertices) == (2, 2, 3)
                assert monitor.source_position == Position(2)
                full = False
                totals = monitor.run([ROWS[2], ("+", 9, 8)], sink)
                assert (totals[0].positive, totals.updates, monitor.num_edges) == (1, 2, 4)

    def test_a_failing_flush_refuses_the_batch_too_and_the_sink_is_abandoned(self) -> None:
        class Failing(Kept):
            def flush(self) -> None:
                super().flush()
                if len(self.told) == 2:
                    raise OSError("no space left")

        sink = Failing()
        with watching() as monitor:
            with pytest.raises(OSError, match="no space left"):
                monitor.run(ROWS, sink, batch_size=2)
            assert monitor.num_edges == 2
        assert sink.told == ["flush", "flush", "abandon"]

    def test_updates_are_numbered_over_all_runs_and_batches_in_batch_mode(self) -> None:
        kept = Kept()
        with watching() as monitor:
            monitor.apply(ROWS[:1])
            monitor.run(ROWS[1:], kept, batch_size=1)
        assert [f.updates.tolist() for f in kept.found] == [[2], [3]]
        kept = Kept()
        with watching(mode="batch") as monitor:
            monitor.run(ROWS, kept, batch_size=3)
        assert [f.updates.tolist() for f in kept.found] == [[0], [1]]

    def test_self_loops_do_not_shift_numbers_or_times(self) -> None:
        kept = Kept()
        updates = mf.Updates(
            np.ones(4, bool), np.array([5, 1, 2, 3]), np.array([5, 2, 3, 1]), times=np.array([1, 2, 3, 4])
        )
        with (
            watching() as monitor,
            pytest.warns(mf.MotifluxWarning, match="^updates: 1 self-loop was left out$"),
        ):
            totals = monitor.run(updates, kept)
        assert kept.found[0].times is not None
        assert (kept.found[0].updates.tolist(), kept.found[0].times.tolist()) == ([3], [4])
        assert (totals.updates, totals.self_loops) == (3, 1)

    def test_matches_have_to_be_asked_for(self) -> None:
        with watching(matches=False) as monitor:
            with pytest.raises(mf.ArgumentError, match="matches=True"):
                monitor.run(ROWS, print)
            assert monitor.run(ROWS, Nowhere())[0].positive == 1

    def test_what_is_no_sink_is_refused(self) -> None:
        with pytest.raises(mf.ArgumentError, match="sink"):
            as_sink(7)

    def test_blocks_of_an_unfinished_batch_wait_on_disk(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("motiflux.stream.run.held._MOST_BYTES", 100)
        held = Held()
        for at in range(20):
            held.put(
                at % 3,
                MatchRows(np.full((2, 3), at, np.uint32), np.full(2, at, np.uint64), np.ones(2, dtype=bool)),
            )
        found = [(number, int(rows.updates[0])) for number, rows in held.take()]
        assert found == [(at % 3, at) for at in range(20)]
        assert list(held.take()) == []

    def test_a_sink_sees_nothing_of_a_batch_that_fails_later(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("motiflux.stream.matching.changing._MOST_WORDS", 3)
        kept = Kept()
        edges = [("+", u, v) for u in range(8) for v in range(u)]
        with mf.Monitor(empty(), TRIANGLE, matches=True, strict=True) as monitor:
            monitor.run(edges, kept)
            assert sum(len(f) for f in kept.found) == 8 * 7 * 6
            assert len(kept.found) > 1
            before = len(kept.found)
            with pytest.raises(mf.StreamError, match="updates, update 2: expected an edge that is not there"):
                monitor.run([("+", 8, 0), ("+", 1, 0)], kept)
            assert len(kept.found) == before


class TestTotals:
    def test_deltas_are_yielded_without_a_sink(self) -> None:
        with watching() as monitor:
            deltas = [delta[0].net for delta in monitor.run(ROWS, batch_size=3)]
        assert deltas == [1, -1]

    def test_latencies_are_percentiles(self) -> None:
        latencies = Latencies()
        assert latencies.summary() is None
        for microseconds in range(1, 1001):
            latencies.add(microseconds / 1e6, 1)
        found = latencies.summary()
        assert found is not None
        assert found.p50 == pytest.approx(500, rel=0.01)
        assert found.p90 == pytest.approx(900, rel=0.01)
        assert found.p99 == pytest.approx(990, rel=0.01)
        assert found.max == pytest.approx(1000)

    def test_a_timeout_ends_a_wait_and_says_so(self) -> None:
        for seconds in (0.2, 2.0, 20.0):  # enough to take what is there, whatever holds up the machine
            items: queue.Queue[Any] = queue.Queue()
            for row in ROWS[:3]:
                items.put(row)
            with watching() as monitor:
                totals = monitor.run(items, Nowhere(), timeout=seconds)
            assert not totals.complete
            if totals.updates == 3:
                break
        assert totals.updates == 3

    def test_progress_is_told(self) -> None:
        told: list[mf.Totals] = []
        with watching() as monitor:
            totals = monitor.run(ROWS, Nowhere(), batch_size=1, progress=told.append)
        assert told
        assert told[0].updates == 1
        assert not told[0].complete
        assert totals.complete

    def test_an_error_names_the_line_of_the_update(self, tmp_path: Path) -> None:
        path = tmp_path / "a.stream"
        path.write_text("# one\nv 1 5\ne 1 2\n\n-e 3 4\n")
        with watching(strict=True) as monitor:
            with pytest.raises(mf.StreamError, match=r"a\.stream, line 5: expected an edge that is there"):
                monitor.run(path, Nowhere())
            assert (monitor.num_edges, monitor.num_vertices) == (0, 0)
        path.write_text("e 1 2\nv 3 5\n\nv 1 7\n")
        with (
            watching() as monitor,
            pytest.raises(mf.StreamError, match=r"line 4: vertex 1: expected the label"),
        ):
            monitor.run(path, Nowhere())

    def test_ctrl_c_keeps_what_was_acknowledged(self, tmp_path: Path) -> None:
        items: queue.Queue[Any] = queue.Queue()
        for row in ROWS[:3]:
            items.put(row)
        main = threading.main_thread().ident
        assert main is not None

        with watching() as monitor:

            def interrupt() -> None:
                wait_until(lambda: monitor.source_position == Position(3), "the third row")
                time.sleep(0.1)  # the match is on its way to the file, or there
                signal.pthread_kill(main, signal.SIGINT)

            thread = threading.Thread(target=interrupt)
            thread.start()
            totals = monitor.run(items, tmp_path / "o.csv")
            assert monitor.num_edges == 3
        thread.join()
        assert not totals.complete
        assert isinstance(totals.stopped_by, KeyboardInterrupt)
        assert len((tmp_path / "o.csv").read_text().splitlines()) == 2

    def test_ctrl_c_in_a_file_sink_waits_for_the_batch(self) -> None:
        class Interrupting(Kept):
            uninterrupted = True

            def write(self, found: FoundMatches) -> None:
                signal.raise_signal(signal.SIGINT)
                super().write(found)

        sink = Interrupting()
        with watching() as monitor:
            totals = monitor.run(ROWS, sink, batch_size=3)
            assert (monitor.num_edges, monitor.updates_applied) == (3, 3)
        assert (totals.updates, totals[0].positive, totals.complete) == (3, 1, False)
        assert sink.told == ["flush", "close"]
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def test_ctrl_c_in_a_function_takes_the_batch_back(self) -> None:
        def sink(found: FoundMatches) -> None:
            signal.raise_signal(signal.SIGINT)

        with watching() as monitor:
            totals = monitor.run(ROWS, sink, batch_size=2)
            assert monitor.num_edges == 2
        assert (totals.updates, totals.complete) == (2, False)
