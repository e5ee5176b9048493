"""What a monitor promises, one promise at a time."""

from __future__ import annotations

import copy
import math
import pickle
import random
import threading
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.stream import VertexLabels
from motiflux.stream.matching import watching

TRIANGLE = "(a)--(b)--(c)--(a)"
MODES = ("sequence", "batch")


def empty(vertices: int = 6, **given: Any) -> mf.Graph:
    return mf.Graph.from_edges(np.empty((0, 2), dtype=np.int64), num_vertices=vertices, **given)


def state(monitor: mf.Monitor) -> Any:
    """All that can be seen of a monitor's graph."""
    graph = monitor.snapshot()
    edges = graph.to_edges()
    labels = [0] * len(edges.src) if edges.labels is None else edges.labels.tolist()
    rows = zip(edges.src.tolist(), edges.dst.tolist(), labels, edges.multiplicity.tolist(), strict=True)
    return sorted(rows), graph.vertex_labels_by_id(), monitor.num_vertices, monitor.updates_applied


@pytest.mark.parametrize("tuning", [{}, {"orbits": "off"}], ids=["orbits", "places"])
@pytest.mark.parametrize("mode", MODES)
def test_a_triangle_inserted_whole_is_six_embeddings(mode: str, tuning: dict[str, str]) -> None:
    monitor = mf.Monitor(empty(), TRIANGLE, mode=mode, matches=True, tuning=tuning)
    delta = monitor.apply(inserts=[(0, 1), (1, 2), (2, 0)])[0]
    assert (delta.positive, delta.negative) == (6, 0)
    assert len({tuple(row) for row in delta.appeared().tolist()}) == 6


@pytest.mark.parametrize("matches", [False, True])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "pattern",
    [
        "(a)--(b)--(c)--(a), (a)--(d)--(b)",
        "(a)--(b)--(c)--(a), (a)--(d)--(b), (c)--(e)",
        "(a)--(b)--(c)--(d)--(a), (a)--(e)--(c), (b)--(d)",
    ],
)
def test_sets_of_candidates_that_are_used_twice_begin_no_part(pattern: str, mode: str, matches: bool) -> None:
    """Levels whose candidates are those of an earlier level have no row of their own."""
    draw = random.Random(5)
    pairs = [(u, v) for v in range(8) for u in range(v) if draw.random() < 0.8]
    draw.shuffle(pairs)
    graph = mf.Graph.from_edges(pairs[:6], num_vertices=8)
    before = mf.count(graph, pattern, device="cpu")
    with mf.Monitor(graph, pattern, mode=mode, matches=matches, device="cpu") as monitor:
        deltas = [*monitor.apply(inserts=pairs[6:]), *monitor.apply(deletes=pairs[:4])]
        after = mf.count(monitor.snapshot(), pattern, device="cpu")
    assert after > before
    assert before + sum(one.positive - one.negative for one in deltas) == after


@pytest.mark.parametrize("matches", [False, True])
def test_a_witness_replaced_by_another_label_in_a_batch_changes_nothing(matches: bool) -> None:
    graph = mf.Graph.from_edges([(0, 1), (1, 2)], edge_labels=["wire", "card"])
    monitor = mf.Monitor(graph, "(a)-[:wire|cash]-(b)--(c)", mode="batch", matches=matches)
    delta = monitor.apply([("-", 0, 1, "wire"), ("+", 0, 1, "cash")])[0]
    assert (delta.positive, delta.negative) == (0, 0)
    assert monitor.num_edges == 2


def test_a_witness_replaced_one_update_after_the_other_vanishes_and_appears() -> None:
    graph = mf.Graph.from_edges([(0, 1), (1, 2)], edge_labels=["wire", "card"])
    delta = mf.Monitor(graph, "(a)-[:wire|cash]-(b)--(c)").apply([("-", 0, 1, "wire"), ("+", 0, 1, "cash")])[
        0
    ]
    assert (delta.positive, delta.negative) == (1, 1)


@pytest.mark.parametrize("mode", MODES)
def test_a_repeated_transfer_goes_with_its_last_copy(mode: str) -> None:
    monitor = mf.Monitor(empty(directed=True), "(a)-->(b)", mode=mode)
    assert monitor.apply(inserts=[(0, 1)])[0].net == 1
    assert monitor.apply(inserts=[(0, 1)])[0].net == 0
    assert monitor.apply(deletes=[(0, 1)])[0].net == 0
    assert monitor.apply(deletes=[(0, 1)])[0].net == -1


def test_a_snapshot_has_no_copies_that_the_monitor_ignores() -> None:
    graph = mf.Graph.from_edges(([0, 0, 0, 1], [2, 2, 2, 0]))
    monitor = mf.Monitor(graph, "(a)--(b)", duplicates="ignore")
    assert monitor.snapshot().num_edge_copies == monitor.num_edges == 2
    assert monitor.apply([("-", 0, 2)])[0].negative == 2
    assert monitor.snapshot().num_edge_copies == 1
    counting = mf.Monitor(graph, "(a)--(b)")
    assert counting.snapshot().num_edge_copies == counting.num_edges + 2 == 4


def test_repeated_transfers_that_are_ignored_go_at_once() -> None:
    monitor = mf.Monitor(empty(directed=True), "(a)-->(b)", duplicates="ignore")
    assert monitor.apply(inserts=[(0, 1), (0, 1)]).noops == 1
    assert monitor.apply(deletes=[(0, 1)])[0].net == -1


@pytest.mark.parametrize("mode", MODES)
def test_a_homomorphism_may_use_the_new_edge_twice(mode: str) -> None:
    monitor = mf.Monitor(empty(), "(a)--(b)--(c)", mode=mode, semantics="homomorphism", matches=True)
    appeared = monitor.apply(inserts=[(0, 1)])[0].appeared().tolist()
    assert sorted(appeared) == [[0, 1, 0], [1, 0, 1]]
    assert sorted(monitor.apply(deletes=[(0, 1)])[0].vanished().tolist()) == sorted(appeared)


def test_an_edge_inserted_and_deleted_in_one_batch_cancels_out() -> None:
    monitor = mf.Monitor(empty(), "(a)--(b)", mode="batch", matches=True)
    delta = monitor.apply([("+", 0, 1), ("-", 0, 1)])[0]
    assert (delta.positive, delta.negative, len(delta.rows)) == (0, 0, 0)


def test_the_same_updates_one_by_one_do_not_cancel_out() -> None:
    delta = mf.Monitor(empty(), "(a)--(b)").apply([("+", 0, 1), ("-", 0, 1)])[0]
    assert (delta.positive, delta.negative) == (2, 2)
    assert (delta.updates.tolist(), delta.signs.tolist(), delta.matches.tolist()) == ([0, 1], [1, -1], [2, 2])


@pytest.mark.parametrize("last", [(0, 1), (1, 2), (2, 3), (3, 0)])
def test_the_row_that_vanishes_is_the_row_that_appeared(last: tuple[int, int]) -> None:
    square = [(0, 1), (1, 2), (2, 3), (3, 0)]
    for first in square:
        monitor = mf.Monitor(empty(), "(a)--(b)--(c)--(d)--(a)", symmetry="subgraphs", matches=True)
        monitor.apply(inserts=[edge for edge in square if edge != first])
        appeared = monitor.apply(inserts=[first])[0].appeared().tolist()
        assert len(appeared) == 1
        assert monitor.apply(deletes=[last])[0].vanished().tolist() == appeared


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"semantics": "isomorphic"}, "semantics: expected 'isomorphism', 'induced', 'homomorphism'"),
        ({"mode": "stream"}, "mode: expected 'sequence', 'batch'"),
        ({"semantics": "homomorphism", "symmetry": "subgraphs"}, "symmetry"),
        ({"duplicates": "drop"}, "duplicates"),
        (
            {"patterns": "(a)--(b) WHERE degree(a) > 3"},
            "patterns: expected no conditions on degrees on streams",
        ),
        (
            {"patterns": "(a)-[x]-(b) WHERE x.amount > 3", "duplicates": "ignore"},
            "duplicates: expected 'count' beside conditions on attributes of edges",
        ),
        (
            {"patterns": "(a)-[x]-(b) WHERE x.amount > 3", "attributes": False},
            "attributes: expected True or names",
        ),
        (
            {"attributes": "amount"},
            "attributes: expected whether attributes of edges are kept",
        ),
        ({"window": 0}, "window: expected a time such as"),
        ({"window": "1 fortnight"}, "window: expected a time such as"),
        ({"window": True}, "window: expected a time such as"),
        ({"window": -1.5}, "window: expected a time such as"),
        ({"window": "200000d"}, "window: expected a time such as"),
        ({"time_unit": "hours"}, "time_unit"),
        ({"disorder": "sort"}, "disorder"),
        ({"edge_times": "time"}, "edge_times: expected none without a window"),
        ({"edge_times": "time", "window": 5}, "edge_times: expected an attribute of the graph's edges"),
    ],
)
def test_what_a_monitor_cannot_do_is_refused_by_name(given: dict[str, Any], named: str) -> None:
    with pytest.raises(mf.ArgumentError) as refused:
        mf.Monitor(empty(), **given)
    assert str(refused.value).startswith(named)


def test_labels_that_the_graph_does_not_have_may_still_come() -> None:
    monitor = mf.Monitor(empty(2, vertex_labels=["payer", "payer"]), "(a:payer)-[:wire]-(b:shop)")
    delta = monitor.apply(inserts=[(0, 9, "wire")], vertex_labels={9: "shop"})
    assert delta[0].positive == 1
    assert int(monitor.count("(a:payer)-[:wire]-(b:shop)")) == 1


def test_labels_of_patterns_leave_those_of_the_graph_as_they_are() -> None:
    monitor = mf.Monitor(mf.Graph.from_edges([(0, 1)]), ["(a:shop)--(b)", "(a)-[:wire]-(b)"])
    monitor.apply(inserts=[(1, 2)])
    edges, vertex_labels, *_ = state(monitor)
    assert {label for *_, label, _ in edges} == {0}
    assert set(vertex_labels.values()) == {0}
    assert int(monitor.count(mf.Pattern.from_edges([(0, 1)], edge_labels=[0]))) == 4


@pytest.mark.parametrize("mode", MODES)
def test_updates_without_labels_have_the_label_0_where_another_one_came_first(mode: str) -> None:
    graph = mf.Graph.from_edges([(0, 1), (1, 2)], edge_labels=[-1, 0], directed=True)
    monitor = mf.Monitor(graph, "(a)-[:0]->(b)", mode=mode)
    columns = mf.Updates(np.array([True, True, False]), np.array([4, 5, 4]), np.array([5, 6, 5]))
    delta = monitor.apply(columns)[0]
    assert (delta.positive, delta.negative) == ((2, 1) if mode == "sequence" else (1, 0))
    assert int(monitor.count("(a)-[:0]->(b)")) == 2
    assert int(monitor.count(mf.Pattern.from_edges([(0, 1)], edge_labels=[-1], directed=True))) == 1


REFUSED = {
    "another vertex label": mf.Updates(
        np.array([True, True]),
        np.array([0, 8]),
        np.array([7, 9]),
        np.array([5, 6]),
        vertex_labels=VertexLabels(np.array([0]), np.array([3]), np.array([1])),
    ),
    "strings as ids": [("+", "a", "b", 1)],
    "strings as labels": [("+", 0, 7, "wire")],
    "strings as vertex labels": mf.Updates(
        np.array([True]),
        np.array([0]),
        np.array([9]),
        np.array([1]),
        vertex_labels=VertexLabels(np.array([9]), np.array(["shop"]), np.array([0])),
    ),
    "rows that are no rows": [("+", 0, 7, 1), ("?", 1, 2, 1)],
    "some without a label": [("+", 0, 7, 1), ("+", 1, 2)],
}


@pytest.mark.parametrize("updates", REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("mode", MODES)
def test_a_refused_call_changes_nothing(mode: str, updates: Any) -> None:
    graph = mf.Graph.from_edges([(0, 1), (1, 2)], vertex_labels=[1, 1, 2], edge_labels=[1, 2])
    monitor = mf.Monitor(graph, "(a)--(b)", mode=mode)
    monitor.apply(inserts=[(2, 3, 2)])
    before = state(monitor)
    with pytest.raises(mf.StreamError):
        monitor.apply(updates)
    assert state(monitor) == before
    assert monitor.apply(inserts=[(0, 7, 1)])[0].positive == 2


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("window", [None, 2, "10s"])
@pytest.mark.parametrize("late", ["_delta_of", "_matched"])
def test_ctrl_c_while_results_are_put_together_takes_all_back(
    mode: str, window: Any, late: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monitor = mf.Monitor(empty(4), "(a)--(b)", mode=mode, window=window)
    monitor.apply(inserts=[(0, 1), (1, 2), (1, 2)], times=[0, 5, 5])
    before = state(monitor)
    work = getattr(monitor, late)

    def interrupted(*given: Any) -> Any:
        work(*given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(monitor, late, interrupted)
        with pytest.raises(KeyboardInterrupt):
            monitor.apply([("-", 1, 2), ("+", 8, 9), ("+", 0, 3), ("-", 0, 1)], times=[6, 7, 20, 20])
    assert state(monitor) == before
    whole = mf.Monitor(empty(4), "(a)--(b)", mode=mode, window=window)
    whole.apply(inserts=[(0, 1), (1, 2), (1, 2)], times=[0, 5, 5])
    for updates, time in (([("+", 2, 3)], 9), ([("+", 0, 2), ("-", 1, 2)], 14), ([("+", 3, 8)], 15)):
        deltas = [one.apply(updates, times=time) for one in (monitor, whole)]
        told = [(delta.expired, delta.noops, delta[0].positive, delta[0].negative) for delta in deltas]
        assert told[0] == told[1]
    assert state(monitor) == state(whole)


def test_an_id_named_by_a_pattern_is_forgotten_with_the_vertex_of_a_refused_call() -> None:
    pattern = mf.Pattern.from_edges([(0, 1)], vertex_ids=[77, None])
    monitor = mf.Monitor(empty(2), pattern, strict=True)
    with pytest.raises(mf.StreamError):
        monitor.apply([("+", 0, 77), ("-", 0, 1)])
    assert monitor.apply([("+", 0, 55)])[0].positive == 0
    assert monitor.apply([("+", 0, 77)])[0].positive == 1


def test_an_empty_graph_takes_either_kind_of_id_after_a_refused_call() -> None:
    monitor = mf.Monitor(empty(0), "(a)--(b)", strict=True)
    with pytest.raises(mf.StreamError):
        monitor.apply([("+", 0, 1), ("-", 2, 3)])
    assert monitor.apply([("+", "a", "b")])[0].positive == 2


ANCHORED = [
    # One leaf of three may be any vertex, the others only some: their sets are not one set taken twice.
    "(c)--(x), (c)--(y), (c)--(z) WHERE id(y) IN [0, 2, 4] AND id(z) IN [0, 1, 3, 4]",
    # The last vertex sees what the one before sees, which is held to a list: it starts from scratch.
    "(a)--(b)--(c)--(a), (d)--(a), (d)--(b), (d)--(c) WHERE id(c) IN [2, 3]",
    "(a)--(b)--(c)--(a), (d)--(a), (d)--(b) WHERE id(d) IN [2, 3]",
]


@pytest.mark.parametrize("matches", [False, True])
@pytest.mark.parametrize("pattern", ANCHORED)
def test_vertices_that_ids_are_named_for_share_no_set_with_others(pattern: str, matches: bool) -> None:
    monitor = mf.Monitor(empty(), pattern, matches=matches)
    delta = monitor.apply(inserts=[(u, v) for v in range(6) for u in range(v)])[0]
    assert delta.positive == int(monitor.count(pattern))


@pytest.mark.parametrize(
    "given",
    [{"updates": 5}, {"updates": "+12"}, {"inserts": 5}, {"inserts": (1, 2)}, {"deletes": ["ab", "bc"]}],
    ids=str,
)
def test_what_is_no_rows_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(mf.StreamError, match="expected rows"):
        mf.Monitor(empty(), TRIANGLE).apply(**given)


def test_whether_edges_come_is_said_by_true_and_false() -> None:
    with pytest.raises(mf.StreamError, match="inserts: expected a column of True and False"):
        mf.Updates(np.array([1, -1]), np.array([0, 1]), np.array([1, 2]))


STAR = ", ".join(f"(c)--(x{leaf})" for leaf in range(9))


@pytest.mark.parametrize("mode", ["sequence", "batch"])
def test_there_may_be_more_matches_than_64_bits_count(mode: str) -> None:
    monitor = mf.Monitor(empty(), STAR, mode=mode)
    delta = monitor.apply(inserts=[(0, leaf) for leaf in range(1, 400)])
    assert delta[0].positive == int(monitor.count(STAR)) > 2**64


def test_a_pattern_that_names_ids_of_the_other_kind_is_refused() -> None:
    with pytest.raises(mf.ArgumentError, match="ids: expected integers, as the graph's ids are, found 'ann'"):
        mf.Monitor(empty(), "(a)--(b) WHERE id(a) IN ['ann']")


def test_ids_of_both_kinds_in_one_update_are_refused() -> None:
    with pytest.raises(mf.StreamError, match="both"):
        mf.Monitor(empty(0)).apply([("+", 1, "a")])


@pytest.mark.parametrize(
    ("updates", "row"),
    [([("+", 3, 4), ("+", 0, 1)], 1), ([("-", 0, 2)], 0), ([("-", 0, 1), ("+", 3, 3), ("-", 0, 1)], 2)],
)
def test_strict_names_the_update_that_changes_nothing(updates: Any, row: int) -> None:
    monitor = mf.Monitor(mf.Graph.from_edges([(0, 1), (1, 2)]), "(a)--(b)", strict=True)
    before = state(monitor)
    with pytest.raises(mf.StreamError, match=f"row {row}: expected an edge that is"):
        monitor.apply(updates)
    assert state(monitor) == before


def test_positions_are_those_of_the_updates_given_though_self_loops_are_left_out() -> None:
    monitor = mf.Monitor(empty(), "(a)--(b)", matches=True)
    delta = monitor.apply([("+", 1, 1), ("+", 0, 1), ("-", 2, 2), ("-", 0, 1)])
    assert (delta.self_loops, delta.updates, delta[0].updates.tolist()) == (2, 2, [1, 3])
    assert delta[0].rows.updates.tolist() == [1, 1, 3, 3]


def test_rows_of_a_batch_have_no_position() -> None:
    delta = mf.Monitor(empty(), "(a)--(b)", mode="batch", matches=True).apply([("+", 1, 1), ("+", 0, 1)])
    assert delta[0].rows.updates.tolist() == [0, 0]


def random_updates(seed: int, count: int, vertices: int) -> mf.Updates:
    draw = random.Random(seed)
    rows = [
        ("+" if draw.random() < 0.6 else "-", *draw.sample(range(vertices), 2), draw.randrange(2))
        for _ in range(count)
    ]
    return mf.Updates.of(rows)


@pytest.mark.turns(8)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("window", [None, 150])
@pytest.mark.parametrize("pattern", [TRIANGLE, "(a)-[:0]->(b)-[:1]->(c)", "(a)-->(b)-->(c)-->(d)-->(a)"])
def test_several_threads_find_what_one_does(pattern: str, window: int | None, mode: str) -> None:
    vertices = 12 if mode == "sequence" else 24
    updates = random_updates(7, 3000, vertices)
    found = []
    for threads in (1, 3):
        monitor = mf.Monitor(
            empty(vertices, directed=True),
            pattern,
            mode=mode,
            matches=True,
            window=window,
            threads=threads,
            tuning=private_tuning({"at_once": "on"}),
        )
        rows: list[Any] = []
        for call in (updates, random_updates(8, 2000, vertices)):
            delta = monitor.apply(call)[0]
            columns = (delta.rows.updates, delta.rows.positive, delta.rows.vertices)
            rows.extend(zip(*(column.tolist() for column in columns), strict=True))
        found.append((rows, delta.updates.tolist(), delta.matches.tolist(), state(monitor)))
    assert len(found[0][0]) > (1000 if mode == "sequence" else 300)
    assert found[0] == found[1]


@pytest.mark.turns(8)
@pytest.mark.parametrize("labels", [1, 30])
@pytest.mark.parametrize(("directed", "edges"), [(False, 230_000), (True, 450_000)])
def test_a_graph_is_loaded_as_if_its_edges_were_inserted(directed: bool, edges: int, labels: int) -> None:
    """The graphs are large enough that several threads load them."""
    drawn, vertices = np.random.default_rng(5), 2000
    ends = drawn.integers(vertices, size=(edges, 2)) * drawn.integers(
        2, size=(edges, 1)
    )  # half are copies of one edge
    ends[:, 1] = np.where(ends[:, 0] == ends[:, 1], (ends[:, 1] + 1) % vertices, ends[:, 1])
    of_edges, of_vertices = drawn.integers((labels + 4) // 5, size=edges), np.arange(vertices) % labels
    given: dict[str, Any] = {"directed": directed, "vertex_labels": of_vertices}
    graph = mf.Graph.from_edges(ends, edge_labels=of_edges, num_vertices=vertices, **given)
    edge = f"(a:{labels - 1})-[:0]-{'>' if directed else ''}(b:0)"
    columns = (*ends.T, of_edges)
    inserted = mf.Monitor(empty(vertices, **given), edge, mode="batch")
    assert inserted.apply(inserts=columns)[0].positive > 0
    expected = state(inserted)[:3]
    negative = inserted.apply(deletes=columns)[0].negative
    sizes = []
    for threads in (1, 2):
        monitor = mf.Monitor(graph, edge, mode="batch", threads=threads)
        sizes.append(monitor.nbytes)
        monitor.apply([("+", 1999, 1998, 0)])
        monitor.apply([("-", 1999, 1998, 0)])  # so that the snapshot is taken from the loaded rows
        assert state(monitor)[:3] == expected
        assert monitor.apply(deletes=columns)[0].negative == negative
        assert monitor.num_edges == 0
    assert sizes[0] == sizes[1]


def test_the_plans_of_a_pattern_are_made_once_for_all_monitors_on_a_graph(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = []
    plans = watching.delta_plans
    monkeypatch.setattr(
        watching, "delta_plans", lambda *args, **given: made.append(given) or plans(*args, **given)
    )
    graph = mf.Graph.from_edges([(0, 1), (1, 2)])
    for options in ({}, {}, {"matches": True}, {"symmetry": "subgraphs"}, {"symmetry": "subgraphs"}):
        assert mf.Monitor(graph, TRIANGLE, **options).apply(inserts=[(0, 2)])[0].positive > 0
    assert len(made) == 3


def test_a_call_during_another_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monitor = mf.Monitor(empty(), "(a)--(b)")
    calls = (
        monitor.snapshot,
        lambda: monitor.apply(inserts=[(0, 1)]),
        lambda: monitor.add("(a)--(b)--(c)"),
        lambda: monitor.drop(0),
        lambda: monitor.save("nowhere.mfg"),
    )
    refusals: list[str] = []

    def try_all() -> None:
        for call in calls:
            with pytest.raises(mf.ArgumentError) as refused:
                call()
            refusals.append(str(refused.value))

    take = monitor._take_snapshot

    def meanwhile() -> mf.Graph:
        elsewhere = threading.Thread(target=try_all)
        elsewhere.start()
        elsewhere.join()
        try_all()
        return take()

    monkeypatch.setattr(monitor, "_take_snapshot", meanwhile)
    monitor.snapshot()
    expected = "monitor: expected one call at a time, found 'a call while one is running in {} thread'"
    assert refusals == [expected.format(which) for which in ("another", "this") for _ in calls]
    assert monitor.apply(inserts=[(0, 1)])[0].positive == 2


def test_pickling_and_copying_are_refused_by_name() -> None:
    monitor = mf.Monitor(empty(), "(a)--(b)")
    for call in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(mf.ArgumentError, match=r"monitor\.save"):
            call(monitor)


def test_a_monitor_says_what_it_is() -> None:
    monitor = mf.Monitor(empty(directed=True), ["(a)-->(b)"], mode="batch", window="90s")
    assert repr(monitor) == "Monitor(1 pattern, 6 vertices, 0 edges, directed, batch, window of 90s)"
    monitor.close()
    assert repr(monitor) == "Monitor(closed)"


def star_with_leaves(leaves: int) -> mf.Pattern:
    return mf.Pattern.from_edges([(0, leaf) for leaf in range(1, leaves + 1)])


def test_counts_beyond_64_bits_are_exact() -> None:
    hub = mf.Graph.from_edges([(0, leaf) for leaf in range(1, 1000)])
    delta = mf.Monitor(hub, star_with_leaves(8)).apply(inserts=[(0, 1000)])[0]
    # Stars of 8 leaves at the hub that have the new one.
    expected = math.perm(1000, 8) - math.perm(999, 8)
    assert expected > 2**64
    assert (delta.positive, delta.matches.tolist()) == (expected, [expected])


def test_counts_beyond_128_bits_are_refused_and_nothing_is_applied() -> None:
    hub = mf.Graph.from_edges([(0, leaf) for leaf in range(1, 1000)])
    monitor = mf.Monitor(hub, star_with_leaves(16))
    with pytest.raises(mf.CountOverflowError, match="nothing of the call was applied"):
        monitor.apply(inserts=[(1, 2), (0, 1000)])
    assert (monitor.num_edges, monitor.num_vertices) == (999, 1000)
