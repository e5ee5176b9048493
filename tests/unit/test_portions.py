"""A search that is cut into portions, each of which hands back what is left, finds what one search finds."""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Iterator

import numpy as np
import pytest

import motiflux as mf
from motiflux import _native
from motiflux.cluster.shares import Share, arcs_of, halves, roots
from motiflux.cluster.tasks import native_search
from motiflux.config import private_tuning
from motiflux.cpu import native
from motiflux.cpu.engine import CpuEngine
from motiflux.graph import Graph
from motiflux.plan import Plan
from motiflux.request.deadline import Deadline
from motiflux.request.request import Request, make_request

PATTERNS = {
    "triangle": "(a)--(b)--(c)--(a)",
    "clique": "(a)--(b)--(c)--(d)--(a), (a)--(c), (b)--(d)",
    "house": "(a)--(b)--(c)--(d)--(a), (a)--(e)--(b)",
    "path": "(a)--(b)--(c)--(d)--(e)--(f)",
    "cycle": "(a)--(b)--(c)--(d)--(e)--(a)",
    "wheel": "(h)--(a)--(b)--(c)--(d)--(a), (b)--(h), (c)--(h), (d)--(h)",
    "tails": "(a)--(b), (a)--(c)--(d), (b)--(e)--(f), (a)--(g)",
    "labelled": "(a:1)--(b:0)--(c:1)--(d:0)--(a)",
}


def graph_of(seed: int, vertices: int = 60, density: float = 0.4) -> Graph:
    draws = random.Random(seed)
    pairs = [
        (u, v) for u in range(vertices) for v in range(u) if draws.random() < (0.9 if v < 5 else density)
    ]
    labels = [draws.randrange(2) for _ in range(vertices)]
    return mf.Graph.from_edges(pairs, vertex_labels=labels)


def planned(graph: Graph, pattern: str, *, counting: bool = True, **options: str) -> tuple[Plan, Request]:
    request = make_request(
        semantics=options.pop("semantics", "isomorphism"),
        symmetry=options.pop("symmetry", "embeddings"),
        threads=1,
        tuning={"tables": "off", **options},
    )
    physical = CpuEngine().plan(
        graph, mf.Pattern.parse(pattern), request, Deadline.after(None), counting=counting
    )
    assert physical is not None
    return physical.plan, request


def cut(search: _native.NativePlan, seed: int) -> Iterator[tuple[Share, deque[Share]]]:
    """Yield shares until none is left; the caller adds those that are handed back."""
    draws = random.Random(seed)
    waiting: deque[Share] = deque([[roots(0, search.units)]])
    while waiting:
        share = waiting.popleft()
        parts = halves(share) if draws.random() < 0.3 else None
        if parts is not None:
            waiting.extend(parts)
            continue
        yield share, waiting


def counted(
    search: _native.NativePlan, threads: int, bounds: tuple[float | None, int | None]
) -> tuple[int, int]:
    total = tasks = arcs = 0
    for share, waiting in cut(search, seed=tasks):
        found, stop, left = _native.count_portion(search, (share, *bounds, None), threads, None, None)
        assert stop == 0
        total, tasks, arcs = total + found, tasks + 1, arcs + arcs_of(share) - arcs_of(left)
        if left:
            waiting.append(left)
    assert arcs == search.units
    return total, tasks


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_a_portion_without_bounds_is_counted_whole(pattern: str, threads: int) -> None:
    few, many = graph_of(1, vertices=20), graph_of(1, vertices=60)
    for graph in (few, many):  # one takes less time than starting a thread, the other more
        plan, request = planned(graph, pattern)
        search = native_search(graph, plan, request)
        portion = ([roots(0, search.units)], None, None, None)
        found = _native.count_portion(search, portion, threads, None, None)
        assert found == (_native.count(search, 1, None, None, None, False)[0], 0, [])


@pytest.mark.parametrize("threads", [1, 3])
def test_a_count_of_a_portion_ends_once_it_has_passed_its_limit(threads: int) -> None:
    for vertices in (20, 60):  # one takes less time than starting a thread, the other more
        plan, request = planned(graph_of(1, vertices=vertices), PATTERNS["cycle"])
        search = native_search(graph_of(1, vertices=vertices), plan, request)
        portion = ([roots(0, search.units)], None, None, None)
        expected, _, _ = _native.count(search, 1, None, None, None, False)
        for limit in (0, expected // 2, expected - 1):
            found, stop, _ = _native.count_portion(search, portion, threads, limit, None)
            assert limit < found <= expected
            assert stop == native.Stop.LIMIT
        for limit in (expected, 2**64 - 1):
            assert _native.count_portion(search, portion, threads, limit, None) == (expected, 0, [])


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
@pytest.mark.parametrize("bounds", [(0.0, None), (None, 1)], ids=["no time", "little work"])
def test_the_counts_of_portions_add_up(pattern: str, bounds: tuple[float | None, int | None]) -> None:
    graph = graph_of(1, vertices=200 if pattern == PATTERNS["triangle"] else 60)
    plan, request = planned(graph, pattern)
    search = native_search(graph, plan, request)
    expected, _, _ = _native.count(search, 1, None, None, None, False)
    found, tasks = counted(search, 1, bounds)
    assert found == expected > 0
    assert tasks > 1


@pytest.mark.parametrize(
    "options",
    [
        {"semantics": "induced"},
        {"semantics": "homomorphism"},
        {"symmetry": "subgraphs"},
        {"candidates": "on"},
        {"candidates": "on", "backjump": "on"},
        {"tail": "off"},
    ],
    ids=str,
)
@pytest.mark.parametrize("threads", [1, 3])
def test_portions_add_up_under_all_options(options: dict[str, str], threads: int) -> None:
    graph = graph_of(2)
    for pattern in (PATTERNS["cycle"], PATTERNS["house"], PATTERNS["labelled"]):
        plan, request = planned(graph, pattern, **options)
        search = native_search(graph, plan, request)
        expected, _, _ = _native.count(search, 1, None, None, None, False)
        assert counted(search, threads, (0.0, None))[0] == expected


def test_sums_of_tails_that_nest_are_handed_back_below_their_levels() -> None:
    graph = graph_of(3, vertices=70)
    plan, request = planned(graph, PATTERNS["tails"], parts="on")
    assert plan.tail is not None
    search = native_search(graph, plan, request)
    expected, _, _ = _native.count(search, 1, None, None, None, False)
    found, tasks = counted(search, 1, (0.0, None))
    assert found == expected
    assert tasks > 3


def rows_of(
    search: _native.NativePlan, plan: Plan, share: Share, work: int
) -> tuple[list[tuple[int, ...]], Share]:
    rows = _native.Rows(search, plan.order, 1, 1000, None, None, None, (share, None, work, 3000))
    found: list[tuple[int, ...]] = []
    while (block := rows.next(None)) is not None:
        found.extend(map(tuple, block.tolist()))
    assert rows.reason == 0
    return found, rows.left()


@pytest.mark.parametrize("name", ["triangle", "house", "labelled"])
def test_rows_of_portions_are_all_rows_and_the_same_each_time(name: str) -> None:
    graph = graph_of(4, vertices=60 if name == "triangle" else 25)
    plan, request = planned(graph, PATTERNS[name], counting=False)
    search = native_search(graph, plan, request)
    whole = _native.Rows(search, plan.order, 1, 1 << 16, None, None)
    expected: Counter[tuple[int, ...]] = Counter()
    while (block := whole.next(None)) is not None:
        expected.update(map(tuple, block.tolist()))
    found: Counter[tuple[int, ...]] = Counter()
    tasks = 0
    for share, waiting in cut(search, seed=1):
        rows, left = rows_of(search, plan, share, 1)
        assert (rows, left) == rows_of(search, plan, share, 1)
        found.update(rows)
        tasks += 1
        if left:
            waiting.append(left)
    assert found == expected
    assert tasks > 1


def test_copies_of_edges_are_divided_between_portions() -> None:
    draws = random.Random(5)
    edges = [(draws.randrange(30), draws.randrange(30)) for _ in range(900)]
    edges = [(u, v) for u, v in edges if u != v]
    graph = mf.Graph.from_edges(
        edges,
        directed=True,
        edge_attributes={"t": np.arange(len(edges)), "x": [i % 7 for i in range(len(edges))]},
    )
    pattern = "(a)-[e]->(b)-[f]->(c)-[g]->(d) WHERE e.t < f.t AND f.t < g.t AND e.x = g.x"
    for walk in ("on", "off"):
        plan, request = planned(graph, pattern, **private_tuning({"copy_walk": walk}))
        search = native_search(graph, plan, request)
        expected, _, _ = _native.count(search, 1, None, None, None, False)
        assert counted(search, 1, (0.0, None))[0] == expected > 0


@pytest.mark.turns(4)
@pytest.mark.parametrize("bounds", [(0.0, None), (None, 1)], ids=["no time", "little work"])
def test_wedges_are_gathered_again_in_each_portion(bounds: tuple[float | None, int | None]) -> None:
    draws = random.Random(6)
    edges = [(draws.randrange(40), draws.randrange(40)) for _ in range(2000)]
    graph = mf.Graph.from_edges(
        [(u, v) for u, v in edges if u != v],
        directed=True,
        edge_attributes={"t": [draws.randrange(90) for u, v in edges if u != v]},
    )
    pattern = "(a)-[e]->(b)-[f]->(c)-[g]->(d)-[h]->(a) WHERE e.t < f.t < g.t < h.t"
    expected = mf.count(graph, pattern, tuning=private_tuning({"wedge_walk": "off", "copy_walk": "off"}))
    plan, request = planned(graph, pattern, **private_tuning({"wedge_walk": "on"}))
    assert plan.copy_walk is not None
    assert plan.copy_walk.wedges
    search = native_search(graph, plan, request)
    total, tasks = counted(search, 3, bounds)
    assert total == expected > 0
    assert tasks > 1


def test_an_item_that_does_not_fit_the_search_is_refused() -> None:
    graph = graph_of(1)
    plan, request = planned(graph, PATTERNS["triangle"], tail="off")
    search = native_search(graph, plan, request)
    for item in [
        roots(0, search.units + 1),
        (1, 0, 5, 0, 0, search.units + 1, [0]),
        (1, 0, 5, 0, 0, 1, []),
        (1, 0, 5, 0, 0, 1, [10**6]),
        (9, 0, 1, 0, 0, 1, [0] * 9),
    ]:
        with pytest.raises(ValueError, match="an item"):
            _native.count_portion(search, ([item], None, None, None), 1, None, None)
    with pytest.raises(RuntimeError, match="candidates that are not there"):
        _native.count_portion(search, ([(1, 0, 10**6, 0, 0, 5, [0])], None, None, None), 1, None, None)
