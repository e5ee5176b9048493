"""Monitors whose time is up, whose patterns go, and what a run leaves undone."""

from __future__ import annotations

import queue
import signal
import threading
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.stream import FoundMatches, Nowhere, Request, Sink, as_source
from motiflux.stream.run.totals import Sums
from motiflux.stream.sources.source import Batch

LONG_PATH = "(a)--(b)--(c)--(d)--(e)--(f)--(g)--(h)--(i)--(j)"
MODES = ("sequence", "batch")


def clique(size: int, **given: Any) -> mf.Graph:
    return mf.Graph.from_edges([(u, v) for v in range(size) for u in range(v)], **given)


def graph_of(monitor: mf.Monitor) -> Any:
    edges = monitor.snapshot().to_edges()
    rows = zip(edges.src.tolist(), edges.dst.tolist(), edges.multiplicity.tolist(), strict=True)
    return sorted(rows), monitor.num_vertices, monitor.updates_applied, monitor.batches_applied


class TestTimeouts:
    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize("matches", [False, True])
    @pytest.mark.parametrize("threads", [1, 2])
    def test_a_call_whose_time_is_up_changes_nothing(self, mode: str, matches: bool, threads: int) -> None:
        monitor = mf.Monitor(
            clique(60),
            LONG_PATH,
            mode=mode,
            matches=matches,
            threads=threads,
            window=5,
            tuning=private_tuning({"at_once": "on", "tail": "off"}),
        )
        monitor.drop(0)
        monitor.apply([("+", 0, 70), ("+", 70, 71)])
        monitor.add(LONG_PATH)
        before = graph_of(monitor)
        delta = monitor.apply([("+", at, 80 + at) for at in range(20)], timeout=0.05)
        assert (delta.complete, delta.updates, delta.expired) == (False, 0, 0)
        assert (delta[0].positive, delta[0].negative, delta[0].updates.tolist()) == (0, 0, [])
        assert (delta[0].rows is None) is not matches
        assert graph_of(monitor) == before
        monitor.drop(0)
        delta = monitor.apply([("+", at, 80 + at) for at in range(4)], timeout=600)
        assert (delta.complete, delta.updates, delta.expired) == (True, 4, 1)

    @pytest.mark.parametrize("matches", [False, True])
    @pytest.mark.parametrize("more", [{"threads": 1}, {"threads": 2}, {"attributes": True}])
    def test_a_call_whose_time_is_up_tells_which_update_and_pattern_took_it(
        self, matches: bool, more: dict[str, Any]
    ) -> None:
        short = ["(a)--(b)", "(a)--(b)--(c)"]
        tuning = private_tuning({"tail": "off"})
        monitor = mf.Monitor(clique(60), [*short, LONG_PATH], matches=matches, tuning=tuning, **more)
        quick = [("+", 200 + at, 300 + at) for at in range(3)]
        delta = monitor.apply([*quick, ("+", 7, 7), ("+", 1, 90), ("+", 2, 91)], timeout=0.2)
        assert (delta.complete, delta.reached) == (False, 4)
        assert next(iter(delta.searched)) == mf.Pattern.parse(LONG_PATH)
        assert 0.1 < sum(delta.searched.values()) < 10
        delta = monitor.apply(quick, timeout=600)
        assert (delta.complete, delta.reached, delta.searched) == (True, None, {})

    @pytest.mark.parametrize("mode", MODES)
    def test_ctrl_c_while_threads_match_changes_nothing(self, mode: str) -> None:
        monitor = mf.Monitor(
            clique(60),
            LONG_PATH,
            mode=mode,
            threads=2,
            tuning=private_tuning({"at_once": "on", "tail": "off"}),
        )
        before = graph_of(monitor)
        main = threading.get_ident()
        interrupt = threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGINT))
        interrupt.start()
        with pytest.raises(KeyboardInterrupt):
            monitor.apply([("+", at, 80) for at in range(20)], timeout=60)
        interrupt.join()
        assert graph_of(monitor) == before

    def test_what_a_run_had_no_time_for_is_left_to_the_caller(self) -> None:
        items: queue.Queue[Any] = queue.Queue()
        rows = [("+", at, 100 + at) for at in range(12)]
        items.put(mf.Updates.of(rows[:3]))
        monitor = mf.Monitor(clique(40), "(a)--(b)", matches=True, tuning={"tail": "off"})
        taken: list[FoundMatches] = []

        def sink(found: FoundMatches) -> None:
            taken.append(found)
            if len(taken) == 1:
                items.put(mf.Updates.of(rows[3:8]))

        class Growing:
            """Watches more than there is time for once the first batch is applied."""

            def batches(self, request: Request) -> Any:
                for batch in as_source(items).batches(request):
                    if len(batch.updates) == 5:
                        monitor.add(LONG_PATH)
                    yield batch

        totals = monitor.run(Growing(), sink, timeout=0.3)
        assert (totals.complete, totals.updates, monitor.updates_applied) == (False, 3, 3)
        assert sum(len(found) for found in taken) == totals[0].positive == 6
        assert monitor.unapplied is not None
        assert len(monitor.unapplied) == 5
        monitor.drop(1)
        totals = monitor.run([monitor.unapplied], sink)
        assert (totals.complete, totals.updates, monitor.unapplied) == (True, 5, None)
        assert monitor.num_edges == clique(40).num_edges + 8

    def test_without_a_sink_the_last_delta_says_so(self) -> None:
        monitor = mf.Monitor(clique(60), LONG_PATH, tuning={"tail": "off"})
        deltas = list(monitor.run([("+", 0, 70), ("+", 0, 71)], batch_size=1, timeout=0.1))
        assert [delta.complete for delta in deltas] == [False]
        assert monitor.num_edges == clique(60).num_edges


class Failing(Sink):
    """Fails for one pattern."""

    def write(self, found: FoundMatches) -> None:
        raise OSError("the disk is full")


def test_what_a_sink_refused_may_be_given_again() -> None:
    items: queue.Queue[Any] = queue.Queue()
    for row in [("+", 0, 1), ("+", 1, 2), None]:
        items.put(row)
    monitor = mf.Monitor(mf.Graph.from_edges([]), "(a)--(b)", matches=True)
    with pytest.raises(OSError, match="disk is full"):
        monitor.run(items, Failing())
    assert (monitor.num_edges, monitor.num_vertices, monitor.updates_applied) == (0, 0, 0)
    assert monitor.unapplied is not None
    totals = monitor.run([monitor.unapplied], Nowhere())
    assert (totals.updates, totals[0].positive, monitor.unapplied) == (2, 4, None)


@pytest.mark.parametrize("sink", [None, Nowhere()], ids=["deltas", "totals"])
def test_ctrl_c_comes_before_a_batch_or_after_all_of_it(sink: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    add = Sums.add

    def interrupted(sums: Sums, *given: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        add(sums, *given)

    monkeypatch.setattr(Sums, "add", interrupted)
    monitor = mf.Monitor(mf.Graph.from_edges([]), "(a)--(b)")
    run = monitor.run([("+", 0, at) for at in range(1, 5)], sink, batch_size=2)
    if sink is None:
        with pytest.raises(KeyboardInterrupt):
            next(run)
    else:
        assert (run.complete, run.updates, run[0].positive) == (False, 2, 4)
    assert (monitor.num_edges, monitor.updates_applied, monitor.source_position) == (2, 2, (2, 0))
    assert monitor.unapplied is None
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_source_that_gives_no_batches_is_refused() -> None:
    class Wrong:
        def batches(self, request: Request) -> Any:
            yield [("+", 0, 1)]

    with pytest.raises(mf.ArgumentError, match="source: expected one that gives"):
        mf.Monitor(clique(2)).run(Wrong(), Nowhere())


class Swapping:
    """Rows, between which patterns go and come."""

    def __init__(self, monitor: mf.Monitor) -> None:
        self.monitor = monitor

    def batches(self, request: Request) -> Any:
        for number, batch in enumerate(as_source([("+", 0, at) for at in range(1, 6)]).batches(request)):
            if number == 1:
                self.monitor.drop("(a)--(b)")
            if number == 2:
                self.monitor.add("(a)--(b)--(c)--(d)")
            if number == 3:
                self.monitor.add("(a)--(b)")
            assert isinstance(batch, Batch)
            yield batch


def test_numbers_of_patterns_stay_while_others_go_and_come() -> None:
    found: list[tuple[int, str]] = []
    with mf.Monitor(
        mf.Graph.from_edges([(0, 9), (9, 8), (8, 7)]), ["(a)--(b)", "(a)--(b)--(c)"], matches=True
    ) as monitor:
        totals = monitor.run(
            Swapping(monitor), lambda one: found.append((one.number, str(one.pattern))), batch_size=1
        )
        assert [one.pattern.num_vertices for one in totals.patterns] == [2, 3, 4]
        assert [number for number, _ in found] == [0, 1, 1, 1, 2, 1, 2, 0, 1, 2, 0]
        assert set(found) == {(number, str(one.pattern)) for number, one in enumerate(totals.patterns)}
        assert totals[0].positive == 3 * 2
        assert totals["(a)--(b)"] == totals[0]


def test_a_pattern_that_comes_after_another_went_is_counted_by_itself() -> None:
    monitor = mf.Monitor(mf.Graph.from_edges([], num_vertices=4), "(a)--(b)", matches=True)
    for _ in range(50):
        monitor.drop("(a)--(b)")
        monitor.add("(a)--(b)--(c)")
        monitor.add("(a)--(b)")
        delta = monitor.apply([("+", 0, 1), ("+", 1, 2)])
        assert [one.positive for one in delta] == [2, 4]
        delta = monitor.apply([("-", 0, 1), ("-", 1, 2)])
        assert [one.negative for one in delta] == [2, 4]
        monitor.drop("(a)--(b)--(c)")
    assert len(monitor.apply([]).patterns) == 1


def test_ids_that_dropped_patterns_awaited_are_forgotten() -> None:
    monitor = mf.Monitor(mf.Graph.from_edges([], num_vertices=2), "(a)--(b) WHERE id(a) IN [0, 70]")
    monitor.add("(a)--(b) WHERE id(a) IN [1, 70, 71]")
    monitor.drop(0)
    awaited = {one.name: len(lists) for one, lists in monitor._numbering.awaited.items()}
    assert awaited == {70: 1, 71: 1}
    monitor.add("(a)--(b) WHERE id(a) IN [1]")
    delta = monitor.apply([("+", 0, 70), ("+", 70, 1)])
    assert [one.positive for one in delta] == [3, 1]
    for _ in range(2):
        monitor.drop(0)
    assert monitor._numbering.awaited == {}


def test_lists_of_dropped_patterns_are_used_again() -> None:
    ids = ", ".join(map(str, range(50)))
    monitor = mf.Monitor(mf.Graph.from_edges([], num_vertices=50))
    numbers = set()
    for _ in range(20):
        pattern = monitor.add(f"(a)--(b) WHERE id(a) IN [{ids}] AND id(b) IN [{ids}]")
        numbers |= set(monitor._watched[pattern].writer.lists)
        monitor.drop(pattern)
    assert len(numbers) == 1, "both vertices have one list, which is freed"


@pytest.mark.parametrize("mode", MODES)
def test_labels_of_vertices_may_be_named_beside_rows(mode: str) -> None:
    monitor = mf.Monitor(mf.Graph.from_edges([]), "(a:shop)--(b)", mode=mode)
    assert monitor.apply([("+", 0, 1)], vertex_labels={0: "shop", 1: "payer"})[0].positive == 1


REFUSED: dict[str, Any] = {
    "graph: expected a graph, a path, a table, an array of edges": lambda: mf.Monitor(7),
    "patterns: expected a pattern, or a list of patterns, found 'dict'": lambda: mf.Monitor(
        clique(2),
        {"r": "(a)--(b)"},  # type: ignore[arg-type]
    ),
    "edge_times: expected an attribute of the graph's edges that holds numbers or datetimes, found 'nope'": (
        lambda: mf.Monitor(clique(2), "(a)--(b)", window=5, edge_times="nope")
    ),
    "patterns: expected patterns or their texts, found 5": lambda: mf.Monitor(clique(2), 5),  # type: ignore[arg-type]
    "edge_times: expected an attribute": lambda: mf.Monitor(clique(2), window=5, edge_times=[1]),  # type: ignore[arg-type]
    "vertex labels, labels: expected 2 values, found 1": lambda: mf.stream.VertexLabels(
        np.array([1, 2]), np.array([0]), np.array([0, 0])
    ),
    "vertex labels, positions: expected 1 value, found 2": lambda: mf.stream.VertexLabels(
        np.array([1]), np.array([0]), np.array([0, 0])
    ),
    "vertex labels, positions: expected numbers of updates": lambda: mf.stream.VertexLabels(
        np.array([1]), np.array([0]), np.array([-1])
    ),
    "updates, vertex labels: expected VertexLabels": lambda: mf.Updates([True], [0], [1], vertex_labels=5),  # type: ignore[arg-type]
    "updates, sources: expected": lambda: mf.Updates([True], None, [1]),  # type: ignore[arg-type]
    "vertex_labels: expected a mapping": lambda: mf.Monitor(clique(2)).apply(vertex_labels=[1]),  # type: ignore[arg-type]
    "inserts: expected rows": lambda: mf.Monitor(clique(2)).apply(inserts=[(0, 1, 2, 3)]),
    "deletes: expected rows": lambda: mf.Monitor(clique(2)).apply(deletes=[(0,)]),
    "timeout: expected seconds": lambda: mf.Monitor(clique(2)).apply([], timeout=-1),
    "batch_size: expected an integer": lambda: mf.Monitor(clique(2)).run([], batch_size="x"),  # type: ignore[call-overload]
    "progress: expected whether": lambda: mf.Monitor(clique(2)).run([], progress="x"),  # type: ignore[call-overload]
    "path: expected the name of a file": lambda: mf.Monitor(clique(2)).save(5),  # type: ignore[arg-type]
    "threads: expected": lambda: mf.Monitor.load("nowhere", threads=0),
    "path: expected the name": lambda: mf.Monitor.load(None),  # type: ignore[arg-type]
    "pattern: expected a pattern, its text, or its position": lambda: mf.Monitor(clique(2)).drop(None),  # type: ignore[arg-type]
    "pattern: expected a position below 1": lambda: mf.Monitor(clique(2), "(a)--(b)").run([], Nowhere())[3],
    "pattern: expected a pattern that is watched": lambda: mf.Monitor(clique(2)).run([], Nowhere())[
        "(a)--(b)"
    ],
    "format: expected .stream": lambda: mf.open_source("a", format=5),  # type: ignore[arg-type]
    "start: expected the position": lambda: mf.open_source("a.csv", start=5),  # type: ignore[arg-type]
    "start: expected an integer": lambda: mf.open_source("a.csv", start=(0, "x")),  # type: ignore[arg-type]
    "columns: expected a mapping": lambda: mf.open_source("a.csv", columns=[1]),  # type: ignore[arg-type]
    "columns, src: expected the name": lambda: mf.open_source("a.csv", columns={"src": 1.5}),  # type: ignore[dict-item]
    "rows: expected an integer": lambda: list(
        mf.Monitor(clique(2), "(a)--(b)", matches=True).apply([])[0].batches(0)
    ),
    "size: expected an integer": lambda: list(mf.Updates.of([("+", 0, 1)]).slices(0)),
}


@pytest.mark.parametrize("message", REFUSED)
def test_arguments_that_are_not_usable_are_named(message: str) -> None:
    with pytest.raises(mf.MotifluxError) as refused:
        REFUSED[message]()
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize("where", ["ids", "labels", "vertex labels", "pattern", "StringDType"])
def test_strings_that_end_with_nul_are_no_others(where: str) -> None:
    monitor = mf.Monitor(mf.Graph.from_edges([("a", "b")]), "(a)--(b)")
    if where == "pattern":  # no id of an array of strings can end with NUL
        pattern = mf.Pattern.from_edges([(0, 1)], vertex_ids=["a\0", None])
        monitor.add(pattern)
        assert monitor.apply([("+", "a", "c")])[pattern].positive == 0
        return
    given: dict[str, Any] = {
        "ids": {"updates": [("+", "a\0", "b")]},
        "labels": {"updates": [("+", "a", "c", "wire\0")]},
        "vertex labels": {"inserts": [("a", "c")], "vertex_labels": {"c": "shop\0"}},
    }
    if where == "StringDType":
        dtypes = pytest.importorskip("numpy.dtypes")
        if not hasattr(dtypes, "StringDType"):
            pytest.skip("NumPy 1 has no StringDType")
        column = np.array(["a\0"], dtype=dtypes.StringDType())
        given[where] = {"inserts": (column, np.array(["b"]))}
    with pytest.raises(mf.StreamError, match=r"expected strings that do not end with NUL, found .*x00"):
        monitor.apply(**given[where])
    assert (monitor.num_edges, monitor.num_vertices) == (1, 2)
