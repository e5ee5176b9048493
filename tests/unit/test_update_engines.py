"""The seam between monitors and engines that match their updates elsewhere."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux import _native
from motiflux.errors import InternalError
from tests.stream_engines import PLACEMENT, PlainEngine, registered

TRIANGLE = "(a)--(b)--(c)--(a)"
PATH = "(a)--(b)--(c)"
NAMED = mf.Pattern.from_edges([(0, 1)], vertex_ids=[0, None])
EDGES = ((0, 1), (1, 2))
STAYS = 2**32 - 1


@pytest.fixture(autouse=True)
def opened() -> Iterator[list[PlainEngine]]:
    with registered() as engines:
        yield engines


def graph(edges: Any = EDGES, **options: Any) -> mf.Graph:
    return mf.Graph.from_edges(list(edges), **options)


def edges_of(monitor: mf.Monitor) -> list[tuple[int, ...]]:
    return sorted(zip(*(column.tolist() for column in monitor._native.edges()), strict=True))


def numbered(edges: Any, vertices: int = 3, pattern: Any = TRIANGLE, **options: Any) -> mf.Monitor:
    """Return a monitor whose vertices have their ids as numbers."""
    directed = options.pop("directed", False)
    monitor = mf.Monitor(
        mf.Graph.from_edges([], directed=directed, num_vertices=vertices), pattern, **options
    )
    monitor.apply([("+", *edge) for edge in edges])
    assert monitor.names(np.arange(vertices, dtype=np.uint32)).tolist() == list(range(vertices))
    return monitor


def with_callback(
    callback: Callable[[_native.Run], Any], start: mf.Graph | None = None, **options: Any
) -> mf.Monitor:
    """Return a monitor of triangles whose runs a function matches."""
    monitor = mf.Monitor(start or graph(), TRIANGLE, **options)
    monitor._native.match_elsewhere(callback)
    return monitor


def nothing_found(run: _native.Run) -> Any:
    return np.zeros((len(run.roots), 2), dtype=np.uint64), None, None


class TestChoice:
    """Which engine matches."""

    def test_the_cpu_is_the_default(self) -> None:
        monitor = mf.Monitor(graph(), TRIANGLE)
        delta = monitor.apply([("+", 0, 2)])
        assert (monitor.engine, monitor.device, delta.engine, delta.device) == ("cpu", "cpu", "cpu", "cpu")

    def test_results_give_the_reason_for_their_engine(self) -> None:
        for options, reason in (
            ({"device": "cpu"}, "asked for by device='cpu'"),
            (PLACEMENT, "asked for by device='cuda' and engine='plain'"),
        ):
            monitor = mf.Monitor(graph(), TRIANGLE, **options)
            assert monitor.apply([("+", 0, 2)]).reason == monitor.reason == reason
            monitor = mf.Monitor(graph(), TRIANGLE, matches=True, **options)
            assert monitor.run([("+", 0, 2)], lambda found: None).reason == reason

    def test_deltas_and_totals_name_the_engine(self, opened: list[PlainEngine]) -> None:
        monitor = mf.Monitor(graph(), TRIANGLE, gpu_memory="1MiB", **PLACEMENT)
        for delta in monitor.run([("+", 0, 2)]):
            assert (delta.engine, delta.device, delta[0].positive) == ("plain", "cuda", 6)
        assert (monitor.engine, monitor.device) == ("plain", "cuda")
        assert [engine.gpu_memory for engine in opened] == [1 << 20]
        with mf.Monitor(graph(), TRIANGLE, matches=True, **PLACEMENT) as listing:
            totals = listing.run([("+", 0, 2)], lambda found: None)
        assert (totals.engine, totals.device, totals[0].positive) == ("plain", "cuda", 6)

    @pytest.mark.parametrize(
        ("options", "error", "message"),
        [
            ({"device": "cpu", "engine": "changing"}, mf.DeviceError, "runs on a GPU .*found device='cpu'"),
            (
                {"device": "cuda", "engine": "cpu"},
                mf.DeviceError,
                "runs on device='cpu', found device='cuda'",
            ),
            (
                {"devices": 2, "engine": "cpu"},
                mf.DeviceError,
                "engine='cpu' runs on device='cpu', found devices=2",
            ),
            ({"devices": 2, "device": "cpu"}, mf.ArgumentError, "devices: expected None beside device='cpu'"),
            ({"devices": 0}, mf.ArgumentError, "devices: expected at least 1"),
            ({"engine": "dfs"}, mf.ArgumentError, "engine: expected one of auto, cpu, changing, batch"),
            ({"device": "quantum"}, mf.ArgumentError, "device: expected one of auto, cpu"),
            ({"gpu_memory": "much"}, mf.ArgumentError, "gpu_memory: expected a number of bytes"),
        ],
    )
    def test_arguments_that_do_not_fit_are_refused(
        self, options: dict[str, Any], error: type[Exception], message: str, tmp_path: Path
    ) -> None:
        with pytest.raises(error, match=message):
            mf.Monitor(graph(), TRIANGLE, **options)
        mf.Monitor(graph(), TRIANGLE).save(tmp_path / "saved.mfg")
        with pytest.raises(error, match=message):
            mf.Monitor.load(tmp_path / "saved.mfg", **options)

    def test_a_missing_gpu_is_the_error_that_count_raises(self) -> None:
        try:
            mf.count(graph(), TRIANGLE, device="cuda:99")
        except mf.DeviceError as error:
            expected = str(error)
        for options in ({"device": "cuda:99"}, {"device": "cuda:99", "engine": "changing"}):
            with pytest.raises(mf.DeviceError) as raised:
                mf.Monitor(graph(), TRIANGLE, **options)
            assert str(raised.value) == expected

    def test_a_pattern_that_the_engine_cannot_match_is_refused(
        self, opened: list[PlainEngine], tmp_path: Path
    ) -> None:
        monitor = mf.Monitor(graph(), PATH, **PLACEMENT)
        opened[0].most_levels = 3
        with pytest.raises(
            mf.ArgumentError, match=r"device='cpu', or .*'plain' can match \(4 levels, at most 3"
        ):
            monitor.add("(a)--(b)--(c)--(d)")
        assert len(monitor.patterns) == 1
        assert monitor.apply([("+", 0, 2)])[0].positive == 4
        mf.Monitor(graph(), "(a)--(b)--(c)--(d)").save(tmp_path / "saved.mfg")
        before = PlainEngine.check
        PlainEngine.check = lambda self, plans: "none at all"  # type: ignore[method-assign]
        try:
            with pytest.raises(mf.ArgumentError, match="none at all"):
                mf.Monitor.load(tmp_path / "saved.mfg", **PLACEMENT)
        finally:
            PlainEngine.check = before  # type: ignore[method-assign]

    def test_engines_are_not_saved(self, opened: list[PlainEngine], tmp_path: Path) -> None:
        with mf.Monitor(graph(), TRIANGLE, **PLACEMENT) as monitor:
            monitor.apply([("+", 2, 3)])
            monitor.save(tmp_path / "saved.mfg")
        again = mf.Monitor.load(tmp_path / "saved.mfg")
        elsewhere = mf.Monitor.load(tmp_path / "saved.mfg", **PLACEMENT)
        assert (again.engine, elsewhere.engine) == ("cpu", "plain")
        for one in (again, elsewhere):
            assert one.apply([("+", 0, 2), ("+", 1, 3)])[0].positive == 12
        assert [engine.closed for engine in opened] == [True, False]

    @pytest.mark.turns(8)
    def test_monitors_are_freed_with_their_engines(self, opened: list[PlainEngine]) -> None:
        monitor = mf.Monitor(graph(), TRIANGLE, **PLACEMENT)
        monitor.apply([("+", 0, 2)])
        engine = weakref.ref(opened.pop())
        with pytest.raises(mf.ArgumentError, match="pickling"):
            pickle.dumps(monitor)
        del monitor
        gc.collect()
        assert engine() is None


class TestCalls:
    """Calls of a monitor with an engine are all or nothing."""

    def test_an_error_of_the_engine_undoes_the_call(self, opened: list[PlainEngine]) -> None:
        monitor = mf.Monitor(graph(), TRIANGLE, matches=True, **PLACEMENT)
        before = edges_of(monitor)
        (engine,) = opened
        for fails_in in (0, 1):  # in the first run, in a later one
            engine.fails_in = fails_in
            updates = [("+", 0, 2), *(("+", n, n + 1) for n in range(3, 2000)), ("-", 0, 1)]
            with pytest.raises(OSError, match="the device is gone"):
                monitor.apply(updates)
            assert (edges_of(monitor), monitor.num_vertices) == (before, 3)
        engine.fails_in = None
        assert monitor.apply([("+", 0, 2)])[0].positive == 6
        assert (engine.abandoned, engine.loads) == (2, 3)

    def test_a_refused_update_costs_no_reload(self, opened: list[PlainEngine]) -> None:
        monitor = mf.Monitor(graph(), TRIANGLE, strict=True, **PLACEMENT)
        assert monitor.apply([("+", 0, 2)])[0].positive == 6
        with pytest.raises(mf.StreamError):
            monitor.apply([("+", 0, 2)])
        assert monitor.apply([("-", 0, 2)])[0].negative == 6
        assert opened[0].loads == 1

    def test_a_sink_that_fails_undoes_the_call(self, opened: list[PlainEngine]) -> None:
        monitor = mf.Monitor(graph(), TRIANGLE, matches=True, **PLACEMENT)
        before = edges_of(monitor)

        def refuse(found: Any) -> None:
            raise ValueError("no more")

        with pytest.raises(ValueError, match="no more"):
            monitor.run([("+", 0, 2)], refuse)
        assert edges_of(monitor) == before
        assert monitor.apply([("+", 0, 2), ("-", 1, 2)])[0].negative == 6

    def test_time_that_is_up_leaves_the_graph(self) -> None:
        def wait(run: _native.Run) -> None:
            while run.keep_going():
                time.sleep(0.001)

        monitor = with_callback(wait)
        before = edges_of(monitor)
        delta = monitor.apply([("+", 0, 2)], timeout=0.02)
        assert not delta.complete
        assert edges_of(monitor) == before

    def test_time_that_is_up_ends_the_planning_of_a_run(self) -> None:
        def plan(run: _native.Run) -> None:
            time.sleep(0.03)
            _native.DividedRoots(run, np.zeros(9, np.uint8))
            pytest.fail("the planning went on")

        monitor = with_callback(plan)
        before = edges_of(monitor)
        delta = monitor.apply([("+", 0, 2)], timeout=0.02)
        assert not delta.complete
        assert edges_of(monitor) == before

    @pytest.mark.parametrize("returned", [None, "matches", "an error"])
    def test_ctrl_c_leaves_the_graph(self, returned: str | None) -> None:
        def wait(run: _native.Run) -> Any:
            threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGINT)).start()
            while run.keep_going():
                time.sleep(0.001)
            if returned == "an error":
                raise ValueError("stopped")
            return None if returned is None else nothing_found(run)

        monitor = with_callback(wait)
        before = edges_of(monitor)
        with pytest.raises(KeyboardInterrupt):
            monitor.apply([("+", 0, 2)])
        assert edges_of(monitor) == before
        monitor._native.match_elsewhere(None)
        assert monitor.apply([("+", 0, 2)])[0].positive == 6

    @pytest.mark.parametrize("mode", ["sequence", "batch"])
    def test_streams_of_text_reach_the_engine(self, mode: str, tmp_path: Path) -> None:
        path = tmp_path / "updates.stream"
        path.write_text("".join(f"e {n} {n + step}\n" for n in range(40) for step in (1, 2, 5)))
        start = graph([], num_vertices=50)
        found = []
        for placement in ({}, PLACEMENT):
            monitor = mf.Monitor(start, TRIANGLE, mode=mode, matches=True, **placement)
            blocks: list[Any] = []
            totals = monitor.run(path, blocks.append, batch_size=16)
            rows = sorted(row for block in blocks for row in block.vertices.tolist())
            found.append((totals[0].positive, totals.updates, totals.noops, rows))
        assert found[0] == found[1]

    def test_patterns_that_are_added_later_see_edges_that_were_put_off(
        self, opened: list[PlainEngine]
    ) -> None:
        start = graph([(0, 1)], vertex_labels=[0, 0, 1, 1], num_vertices=4)
        monitor = mf.Monitor(start, "(a:0)--(b:0)--(c:0)", **PLACEMENT)
        monitor.apply([("+", 1, 2), ("+", 2, 3)])  # of no pattern
        assert opened[0].runs == 0
        late = monitor.add("(a:0)--(b:1)--(c:1)")
        assert monitor.apply([("-", 2, 3)])[late].negative == 1
        assert opened[0].runs == 1


class TestRuns:
    """What a callback is given."""

    def runs(self, mode: str, edges: Any, updates: Any, pattern: Any = TRIANGLE, **options: Any) -> Any:
        """Apply updates to a graph of these edges; return the native monitor and the runs."""
        seen = []

        def note(run: _native.Run) -> Any:
            arrays = (run.ends.tolist(), run.roots.tolist(), run.positive.tolist())
            seen.append((*arrays, run.one_change, run.updates))
            return nothing_found(run)

        monitor = numbered(edges, 3, pattern, mode=mode, **options)
        monitor._native.match_elsewhere(note)
        monitor.apply(updates)
        return monitor._native, seen

    def test_lifetimes_say_which_entries_are_new(self) -> None:
        updates = [("+", 0, 2), ("-", 0, 1), ("+", 0, 1), ("-", 0, 2), ("-", 1, 2)]
        _, ((ends, roots, positive, one_change, size),) = self.runs("sequence", EDGES, updates)
        assert ends == [
            [0, 0, 1, 0, 1, 0],
            [0, 0, 1, 2, STAYS, 1],
            [0, 0, 2, 0, 3, 1],
            [1, 0, 0, 0, 1, 0],
            [1, 0, 0, 2, STAYS, 1],
            [1, 0, 2, 0, 4, 0],
            [2, 0, 0, 0, 3, 1],
            [2, 0, 1, 0, 4, 0],
        ]
        assert (one_change, size) == (False, 5)
        assert [root[1:] for root in roots] == [[0, 2, 0], [0, 1, 1], [0, 1, 2], [0, 2, 3], [1, 2, 4]]
        assert positive == [1, 0, 1, 0, 0]

    def test_an_edge_that_is_deleted_first_was_there_before(self) -> None:
        for updates, fresh in (([("-", 0, 1)], 0), ([("+", 0, 1), ("-", 0, 1)], 0), ([("+", 1, 0)], None)):
            native, seen = self.runs("sequence", EDGES, updates, duplicates="ignore")
            assert [end[5] for ends, *_ in seen for end in ends] == ([] if fresh is None else [fresh] * 2)
            assert native.num_edges == (2 if fresh is None else 1)

    def test_rows_of_directed_graphs_are_of_one_way(self) -> None:
        updates = [("+", 1, 0), ("+", 2, 0)]
        ring = "(a)-->(b)-->(c)-->(a)"
        native, ((ends, *_),) = self.runs("sequence", EDGES, updates, ring, directed=True)
        assert ends == [
            [0, 1 << 31, 1, 0, STAYS, 1],
            [0, 1 << 31, 2, 1, STAYS, 1],
            [1, 0, 0, 0, STAYS, 1],
            [2, 0, 0, 1, STAYS, 1],
        ]
        for number in range(native.num_plans):
            assert all(way in (0, 1) for _, way, _, _ in sources_of(native, number))

    def test_a_batch_is_one_run_of_its_net_changes(self) -> None:
        updates = [("-", 0, 1), ("+", 0, 1), ("+", 0, 2), *(("+", n, n + 1) for n in range(3, 3000))]
        _, seen = self.runs("batch", EDGES, updates, threads=3)
        ((ends, roots, _, one_change, size),) = seen
        assert (len(ends), len(roots), one_change, size) == (2 * 2998, 2998, True, 2998)
        assert [end[:3] for end in ends] == sorted(end[:3] for end in ends)

    @pytest.mark.parametrize("directed", [False, True])
    def test_roots_of_a_batch_have_the_neighbours_that_the_batch_brings(self, directed: bool) -> None:
        labels = ["A", "B", "C", "A", "B"]
        graph = mf.Graph.from_edges([(3, 4)], num_vertices=5, vertex_labels=labels, directed=directed)
        seen = []

        def note(run: _native.Run) -> Any:
            seen.append((run.roots.tolist(), run.positive.tolist(), monitor._native.written_edges))
            return nothing_found(run)

        arrow = "->" if directed else "--"
        path = f"(a:A)-{arrow}(b:B)-{arrow}(c:C)".replace("---", "--")
        with mf.Monitor(graph, path, mode="batch", device="cuda", engine=PlainEngine.name) as monitor:
            monitor._native.match_elsewhere(note)
            monitor.apply([("+", 0, 1), ("+", 1, 2), ("+", 0, 4)])
            (roots, positive, edges) = seen.pop()
            # The vertex 4 has no neighbour of label C, so the edge from 0 to it is in no match.
            assert sorted(sorted(root[1:3]) for root in roots) == [[0, 1], [1, 2]]
            assert positive == [1, 1]
            assert edges == 1, "rows are written while the engine searches, or afterwards"
            assert monitor.num_edges == 4
            monitor.apply([("-", 0, 4), ("-", 0, 1), ("-", 1, 2)])
            (roots, positive, edges) = seen.pop()
            assert sorted(sorted(root[1:3]) for root in roots) == [[0, 1], [1, 2]]
            assert positive == [0, 0]
            assert (edges, monitor.num_edges) == (4, 1)

    def test_a_sequence_is_cut_where_rows_are_many(self) -> None:
        updates = [("+", n, n + 1) for n in range(2, 5000)]
        for matches, runs in ((False, 1), (True, 3)):
            _, seen = self.runs("sequence", EDGES, updates, matches=matches)
            assert len(seen) == runs
            assert sum(size for *_, size in seen) == len(updates)

    def test_a_new_witness_that_replaces_another_has_a_stand_in(self) -> None:
        updates = [("-", 0, 1, 1), ("+", 0, 1, 2)]
        native, ((ends, roots, *_),) = self.runs(
            "batch", [(0, 1, 1), (1, 2, 1)], updates, "(a)-[:1|2]-(b)-[:1|2]-(c)"
        )
        assert [end[:1] + end[2:] for end in ends] == [
            [0, 1, 0, 1, 0],  # the old edge: there at the start, until update 1
            [0, 1, 2, STAYS, 1],
            [0, 1, 0, 3, 1],  # the stand-in: from the first update to the last
            [1, 0, 0, 1, 0],
            [1, 0, 2, STAYS, 1],
            [1, 0, 0, 3, 1],
        ]
        assert roots == []
        targets = {
            target for number in range(native.num_plans) for _, _, target, _ in sources_of(native, number)
        }
        for target in targets:
            classes = native.target_classes(target)
            assert classes is None or {end[1] for end in ends} <= set(classes.tolist())
            assert not native.one_witness(target)
        assert (native.num_edges, native.num_classes) == (2, 3)

    def test_roots_are_where_the_changed_edge_makes_the_match(self) -> None:
        updates = [("+", 0, 1), ("+", 1, 0), ("+", 1, 2), ("-", 0, 1)]
        _, seen = self.runs("sequence", [], updates, "(a)-->(b)-->(a)", directed=True)
        assert sorted({root[3] for _, roots, *_ in seen for root in roots}) == [1, 3]

    def test_roots_have_the_ids_that_the_pattern_names(self) -> None:
        _, seen = self.runs("sequence", [], [("+", 0, 1), ("+", 1, 2)], NAMED)
        assert [root[1:] for _, roots, *_ in seen for root in roots] == [[0, 1, 0]]


def sources_of(native: _native.Monitor, number: int) -> list[tuple[int, int, int, bool]]:
    """Return the sources of all steps of a plan."""
    return [source for step in native.plan(number)[3] for source in step[0]]


class TestRowsOfTargets:
    """How engines load rows."""

    @pytest.mark.parametrize("directed", [False, True])
    @pytest.mark.parametrize("threads", [1, 3])
    def test_there_is_an_entry_for_each_edge(self, directed: bool, threads: int) -> None:
        random = np.random.default_rng(7)
        edges = [(int(u), int(v)) for u, v in random.integers(0, 60, (900, 2)) if u != v]
        labels = random.integers(0, 3, len(edges)).tolist()
        rows = [(*edge, label) for edge, label in zip(edges, labels, strict=True)]
        native = numbered(rows, 60, "(a)-[:0|1]-(b)--(c)", directed=directed)._native
        distinct = {(u, v, k) if directed or u < v else (v, u, k) for u, v, k in rows}
        for way in (0, 1, 2):
            for labels_asked in ([0, 1], None):
                relation = native.relation(labels_asked, way == 2 and directed)
                target = native.target(relation, None)
                offsets, _, neighbors = native.target_rows(target, way, threads)
                expected: list[list[int]] = [[] for _ in range(60)]
                for u, v, kind in distinct:
                    if labels_asked is None or kind in labels_asked:
                        if not directed or way != 1:
                            expected[u].append(v)
                        if not directed or way != 0:
                            expected[v].append(u)
                found = np.split(neighbors, offsets[1:-1].astype(np.int64))
                assert [row.tolist() for row in found] == [sorted(row) for row in expected]
                places, sizes, roomy = native.target_rows(target, way, threads, with_room=True)
                assert (np.diff(places) == sizes + sizes // 4 + 4).all()
                rows_found = [roomy[at : at + size].tolist() for at, size in zip(places, sizes, strict=False)]
                assert rows_found == [sorted(row) for row in expected]
                assert not native.one_witness(target)

    def test_versions_follow_plans_and_lists(self) -> None:
        monitor = mf.Monitor(graph(), TRIANGLE)
        native = monitor._native
        first = native.plans_version, native.lists_version
        late = monitor.add(PATH)
        assert native.plans_version > first[0]
        second = native.plans_version
        monitor.drop(late)
        assert native.plans_version > second
        number = native.add_list([1])
        assert native.lists_version > first[1]
        third = native.lists_version
        native.extend_list(number, 0)
        assert (native.list(number).tolist(), native.lists_version > third) == ([0, 1], True)
        assert native.num_classes == 1
        for ask in (native.plan, native.target_classes, native.one_witness, native.list):
            with pytest.raises(ValueError, match="no such"):
                ask(1000)


class TestWrongMatches:
    """Matches that cannot be those of the run are internal errors, and nothing is applied."""

    @pytest.mark.parametrize(
        ("result", "message"),
        [
            (1, "a tuple"),
            (None, "may go on"),
            ((None, None), "a tuple"),
            ((1, None, None), "totals of shape"),
            ((None, None, None), "totals or sums expected"),
            ((np.zeros((1, 2), np.uint32), None, None), "totals of shape .*uint64"),
            ((np.zeros((2, 2), np.uint64), None, None), r"totals of shape \[roots, 2\]"),
            ((None, np.zeros((1, 2, 2), np.uint64), None), "several changes"),
            ((None, np.zeros((1, 3, 2), np.uint64), None), "sums of shape"),
        ],
    )
    def test_of_counts(self, result: Any, message: str) -> None:
        monitor = with_callback(lambda run: result)
        before = edges_of(monitor)
        with pytest.raises(InternalError, match=message):
            monitor.apply([("+", 0, 2)])
        assert edges_of(monitor) == before

    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            ([[0, 0, 2, 3]], "known vertices"),
            ([[1, 0, 2, 1]], "roots of the run"),
            ([[0, 0, 2]], "all its levels"),
            ([[1, 0, 2, 1], [0, 0, 2, 1]], "roots of the run"),
        ],
    )
    def test_of_rows(self, rows: Any, message: str) -> None:
        monitor = with_callback(lambda run: (None, None, np.array(rows, dtype=np.uint32)), matches=True)
        before = edges_of(monitor)
        with pytest.raises(InternalError, match=message):
            monitor.apply([("+", 0, 2)])
        assert edges_of(monitor) == before

    def test_sums_of_all_plans_are_needed(self) -> None:
        monitor = with_callback(lambda run: (None, np.zeros((7, 2, 2), np.uint64), None), mode="batch")
        with pytest.raises(InternalError, match="two sums of each plan"):
            monitor.apply([("+", 0, 2)])

    def test_counts_beyond_128_bits_are_an_overflow(self) -> None:
        full = np.full((1, 2), 2**64 - 1, dtype=np.uint64)
        monitor = with_callback(lambda run: (full, None, None))
        before = edges_of(monitor)
        with pytest.raises(mf.CountOverflowError):
            monitor.apply([("+", 0, 2)])
        assert edges_of(monitor) == before

    def test_counts_of_two_words_are_exact(self) -> None:
        given = np.array([[5, 3]], dtype=np.uint64)
        monitor = with_callback(lambda run: (given, None, None))
        multiplier = 6
        assert monitor.apply([("+", 0, 2)])[0].positive == multiplier * (3 * 2**64 + 5)
