"""Counts per vertex, per edge and orbits on a device: every way that they go, and what the CPU takes over."""

from __future__ import annotations

from itertools import combinations
from math import comb, perm
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.codegen import layout
from motiflux.config import private_tuning
from motiflux.gpu.images import counter, orbits, search, tables
from motiflux.gpu.kernels import tables as kernels_of_tables
from motiflux.gpu.kernels.table_run import TableRun
from motiflux.request.deadline import Deadline
from motiflux.request.request import make_request
from tests.backend.cases import clique, cycle
from tests.rotating import in_turn

pytestmark = pytest.mark.devices("emulated", "cuda", reason="it has no kernels")

ON, OFF = {"tables": "on"}, {"tables": "off"}
TRIANGLE = "(a)-[x]-(b)-[y]-(c)-[z]-(a)"
PATTERNS = {
    "edge": "(a)-[x]-(b)",
    "path": "(a)-[x]-(b)-[y]-(c)-[z]-(d)",
    "tailed triangle": f"{TRIANGLE}, (a)-[w]-(d)",
    "4-clique": "(a)-[x]-(b)-[y]-(c)-[z]-(d)-[u]-(a), (a)-[v]-(c), (b)-[w]-(d)",
    "house": "(a)-[x]-(b)-[y]-(c)-[z]-(d)-[u]-(a), (a)-[v]-(e)-[w]-(b)",
}


def skewed(vertices: int, edges: int, seed: int, **more: Any) -> mf.Graph:
    """Return a random graph with a few hubs."""
    rng = np.random.default_rng(seed)
    weights = rng.random(vertices) ** 3
    pairs = rng.choice(vertices, (edges, 2), p=weights / weights.sum())
    return mf.Graph.from_edges(pairs[pairs[:, 0] != pairs[:, 1]], num_vertices=vertices, **more)


def check(call: Any, graph: mf.Graph, pattern: str, device: str, **options: Any) -> mf.VertexCounts:
    """Return the counts of a device, which are those of the CPU."""
    found = call(graph, pattern, device=device, **options)
    options.pop("tuning", None)
    expected = call(graph, pattern, device="cpu", **options)
    assert np.array_equal(found.counts, expected.counts)
    assert found.complete
    return found


@pytest.mark.turns(2, "emulated")
@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("call", [mf.count_per_vertex, mf.count_per_edge])
@pytest.mark.parametrize("symmetry", ["embeddings", "subgraphs"])
def test_a_search_counts_around_hubs(call: Any, name: str, symmetry: str, device: str) -> None:
    graph = skewed(70, 260, seed=len(name))
    found = check(call, graph, PATTERNS[name], device, symmetry=symmetry, tuning=private_tuning(OFF))
    assert (found.engine, found.device) == ("dfs", device)
    assert found.reason.endswith("by a search that lists each subgraph once")


@pytest.mark.turns(2, "emulated")
@pytest.mark.parametrize(
    "tuning",
    in_turn(
        3,
        [
            {"lanes": "8"},
            {"lanes": "32", "stealing": "passive"},
            {"lanes": "16", "stealing": "active"},
            {"lanes": "8", "handover": "off"},
            {"specialize": "on", "lanes": "16"},
        ],
        on=("emulated",),
    ),
)
def test_groups_that_share_work_count_each_embedding_once(tuning: dict[str, str], device: str) -> None:
    graph = skewed(60, 300, seed=5)
    given = private_tuning({**OFF, **tuning})
    check(mf.count_per_vertex, graph, PATTERNS["house"], device, tuning=given)


@pytest.mark.parametrize(
    ("pattern", "options"),
    [
        ("(a:0)-[x]->(b:1)-[y]->(c)", {}),
        ("(a)-[x]->(b)<-[y]-(c), (a)-[z]-(c)", {}),
        ("(a)-[x]->(b)-[y]->(c)", {"semantics": "induced"}),
        ("(a)-[x]->(b)-[y]->(c)-[z]->(a)", {"semantics": "homomorphism"}),
    ],
)
@pytest.mark.parametrize("call", [mf.count_per_vertex, mf.count_per_edge])
def test_labels_directions_and_semantics_are_those_of_the_cpu(
    call: Any, pattern: str, options: dict[str, Any], device: str
) -> None:
    labels = np.random.default_rng(3).integers(0, 2, 40)
    graph = skewed(40, 220, seed=6, directed=True, vertex_labels=labels)
    check(call, graph, pattern, device, tuning=private_tuning(OFF), **options)


def test_conditions_are_those_of_the_cpu(device: str) -> None:
    edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 0), (0, 4), (4, 2)]
    amounts = {"amount": np.array([5, 20, 30, 40, 50, 60, 70])}
    graph = mf.Graph.from_edges(edges, directed=True, edge_attributes=amounts)
    pattern = "(a)-[x]->(b)-[y]->(c) WHERE x.amount > 10"
    for call in (mf.count_per_vertex, mf.count_per_edge):
        check(call, graph, pattern, device, tuning=private_tuning(OFF))


@pytest.mark.turns(2, "emulated")
@pytest.mark.parametrize("name", ["tailed triangle", "house"])
def test_tables_count_at_vertices_and_edges(name: str, device: str) -> None:
    graph = skewed(60, 240, seed=7)
    for call in (mf.count_per_vertex, mf.count_per_edge):
        found = check(call, graph, PATTERNS[name], device, tuning=private_tuning(ON))
        assert found.reason.endswith("from tables of local counts")


@pytest.mark.parametrize("directed", [False, True])
def test_searches_from_arcs_fill_tables_on_the_device(
    directed: bool, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled: list[Any] = []

    def noted(*given: Any) -> Any:
        filled.append(given[2])
        return search.search_from_arcs(*given)

    monkeypatch.setattr(tables, "search_from_arcs", noted)
    monkeypatch.setattr(kernels_of_tables._Preparation, "_search_arcs", None)
    graph = skewed(50, 220, seed=12, directed=directed)
    pattern = "(a)-[x]-(b)-[y]-(c)-[z]-(a), (b)--(d)--(c), (d)--(e)"
    if directed:
        pattern = "(a)-[x]->(b)-[y]->(c)<-[z]-(a), (b)-->(d)-->(c), (d)-->(e)"
    for call in (mf.count_per_vertex, mf.count_per_edge):
        check(call, graph, pattern, device, tuning=private_tuning(ON))
    assert filled


@pytest.mark.parametrize("packing", ["on", "off"])
def test_levels_without_a_place_are_counted_at_once(
    packing: str, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels: list[Any] = []

    def noted(*given: Any) -> Any:
        kernels.append(images_kernel(*given))
        return kernels[-1]

    images_kernel = search.images_kernel
    monkeypatch.setattr(search, "images_kernel", noted)
    tuning = private_tuning({**ON, "packing": packing})
    graph = skewed(60, 300, seed=12)
    check(mf.count_per_vertex, graph, "(a)--(b)--(c)--(a), (b)--(d)--(c), (d)--(e)", device, tuning=tuning)
    assert [(kernel.lanes, kernel.flattened) for kernel in kernels] == [
        (32, True) if packing == "on" else (kernel.lanes, False) for kernel in kernels
    ]
    assert kernels


def test_one_of_several_query_vertices_is_counted(device: str) -> None:
    graph = skewed(50, 200, seed=8)
    found = check(mf.count_per_vertex, graph, PATTERNS["house"], device, by="e", tuning=private_tuning(OFF))
    assert found.counts.shape == (50,)
    top = mf.top(graph, PATTERNS["house"], "e", 3, device=device)
    assert top == found.top(3)


def test_counts_lie_in_memory_of_the_device(device: str) -> None:
    graph = skewed(50, 200, seed=9)
    found = mf.count_per_vertex(graph, TRIANGLE, device=device)
    there = found.to_device()
    assert (there.device.name.partition(":")[0], there.shape) == (device, (50, 3))
    assert np.array_equal(there.to_numpy(), found.counts)
    # Those of the CPU are copied to it.
    assert np.array_equal(mf.orbits(graph).to_device(device).to_numpy(), mf.orbits(graph).counts)


def test_the_cpu_takes_over_what_passes_64_bits(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = mf.Graph.from_edges([(0, leaf) for leaf in range(1, 801)])
    star = "(c)--(l1), (c)--(l2), (c)--(l3), (c)--(l4), (c)--(l5), (c)--(l6), (c)--(l7)"
    found = mf.count_per_vertex(hub, star, by="c", device=device, tuning=private_tuning(ON))
    assert found[0] == perm(800, 7) > 2**64
    assert (found.engine, found.device) == ("cpu", "cpu")
    assert f"the CPU took over from {device}: a number passed 64 bits" in found.reason
    monkeypatch.setattr(search, "_MOST", 100)
    found = check(mf.count_per_vertex, skewed(40, 160, 1), TRIANGLE, device, tuning=private_tuning(OFF))
    assert f"the CPU took over from {device}: a number passed 64 bits" in found.reason


def test_the_cpu_takes_over_more_places_than_a_kernel_has(device: str) -> None:
    nine = mf.Pattern.from_edges(clique(9))
    graph = mf.Graph.from_edges(clique(10))
    assert layout.MOST_PLACES < 9 * 8
    found = mf.count_per_edge(graph, nine, 0, symmetry="subgraphs", device=device, tuning=private_tuning(OFF))
    assert (found.counts == comb(8, 7)).all()
    assert "more than 64 places in one subgraph" in found.reason


@pytest.mark.parametrize("tables", ["on", "off"])
def test_the_cpu_takes_over_where_memory_is_short(tables: str, device: str) -> None:
    graph = skewed(60, 240, seed=3)
    options: dict[str, Any] = {"gpu_memory": 2048, "device": device}
    found = mf.count_per_vertex(graph, TRIANGLE, tuning=private_tuning({"tables": tables}), **options)
    assert np.array_equal(found.counts, mf.count_per_vertex(graph, TRIANGLE).counts)
    assert "not enough memory" in found.reason
    vectors = mf.orbits(graph, **options)
    assert np.array_equal(vectors.counts, mf.orbits(graph).counts)
    assert "not enough memory" in vectors.reason


def test_the_cpu_takes_over_tails_that_a_search_would_enumerate(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counter, "_WORTH_COMPARING", 0.0)
    graph = skewed(300, 3000, seed=4)
    star = "(c)--(l1), (c)--(l2), (c)--(l3), (c)--(l4), (c)--(l5)"
    found = mf.count_per_vertex(graph, star, by="c", device=device, tuning=private_tuning(OFF))
    assert "it counts the last levels of this pattern in closed form" in found.reason
    assert np.array_equal(found.counts, mf.count_per_vertex(graph, star, by="c").counts)


def test_a_pattern_for_the_cpu_does_not_keep_others_from_the_device(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counter, "_WORTH_COMPARING", 0.0)
    tuning = private_tuning(OFF)
    request = make_request(semantics="isomorphism", symmetry="embeddings", device=device, tuning=tuning)
    deadline, there = Deadline.after(None), counter.open_counter(device)
    graph = skewed(300, 3000, seed=4)
    star = mf.Pattern.from_edges([(0, leaf) for leaf in range(1, 6)])
    patterns = [mf.Pattern.from_edges(clique(3)), star, mf.Pattern.from_edges(clique(4))]
    plans = [there.plan(graph, pattern, [((0,), None)], request, deadline) for pattern in patterns]
    found = there.count(graph, plans, request, deadline)
    for pattern, [numbers] in zip(patterns, found.found, strict=True):
        assert np.array_equal(numbers, mf.count_per_vertex(graph, pattern, 0).counts)
    assert (found.engine, found.device, found.complete) == ("dfs", device, True)
    assert "by a search that lists each subgraph once" in found.way
    assert "it counts the last levels of this pattern in closed form" in found.way


def test_a_number_of_one_pattern_does_not_keep_others_from_the_device(device: str) -> None:
    request = make_request(semantics="isomorphism", symmetry="embeddings", device=device, tuning=ON)
    deadline, there = Deadline.after(None), counter.open_counter(device)
    hub = mf.Graph.from_edges([(0, leaf) for leaf in range(1, 801)])
    patterns = [mf.Pattern.from_edges([(0, leaf) for leaf in range(1, 1 + leaves)]) for leaves in (7, 2)]
    plans = [there.plan(hub, pattern, [((0,), None)], request, deadline) for pattern in patterns]
    assert all(plan.tables for plan in plans)
    found = there.count(hub, plans, request, deadline)
    at = hub.vertex_index([0])[0]
    assert [int(numbers[0][at]) for numbers in found.found] == [perm(800, 7), perm(800, 2)]
    assert (found.engine, found.device, found.complete) == ("dfs", device, True)
    assert "a number passed 64 bits" in found.way


def test_a_timeout_gives_lower_bounds(device: str) -> None:
    graph = mf.Graph.from_edges(clique(60))
    pattern = mf.Pattern.from_edges(cycle(6))
    options: dict[str, Any] = {"tuning": private_tuning(OFF), "device": device}
    found = mf.count_per_vertex(graph, pattern, by=0, timeout=0.2, **options)
    assert not found.complete
    assert (found.counts <= perm(59, 5)).all()
    late = mf.count_per_vertex(graph, pattern, by=0, timeout=1e-9, **options)
    assert not late.complete
    assert not late.counts.any()
    assert not mf.orbits(graph, device=device, timeout=1e-9).complete


def test_an_interrupt_stops_the_device_and_leaves_the_graph_usable(device: str) -> None:
    graph, pattern = mf.Graph.from_edges(clique(60)), mf.Pattern.from_edges(cycle(6))
    reports: list[Any] = []

    def press(report: Any) -> None:
        reports.append(report)
        raise KeyboardInterrupt

    tuning = private_tuning(OFF)
    with pytest.raises(KeyboardInterrupt):
        mf.count_per_vertex(graph, pattern, by=0, progress=press, device=device, tuning=tuning)
    assert [0 <= report.done <= report.total for report in reports] == [True]
    found = mf.count_per_vertex(graph, "(a)--(b)", by="a", device=device, tuning=tuning)
    assert (found.counts == 59).all()


@pytest.mark.parametrize("tables", ["on", "off"])
def test_a_second_call_launches_the_same_job(
    tables: str, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, tuning = skewed(60, 240, seed=3), private_tuning({"tables": tables})

    def counted() -> list[Any]:
        at_vertices = mf.count_per_vertex(graph, TRIANGLE, device=device, tuning=tuning)
        at_edges = mf.count_per_edge(graph, TRIANGLE, device=device, tuning=tuning)
        assert (at_vertices.device, at_edges.device) == (device, device)
        return [at_vertices.counts, at_edges.counts]

    first = counted()

    def refused(*_: Any) -> None:
        raise AssertionError("a job was set up again")

    monkeypatch.setattr(TableRun, "__init__", refused)
    monkeypatch.setattr(search, "prepare", refused)
    here = [mf.count_per_vertex(graph, TRIANGLE).counts, mf.count_per_edge(graph, TRIANGLE).counts]
    for again in (first, counted(), counted()):
        assert all(np.array_equal(one, other) for one, other in zip(again, here, strict=True))


def test_nothing_is_counted_where_nothing_can_match(device: str) -> None:
    labelled = mf.Graph.from_edges([(0, 1)], vertex_labels=[0, 0])
    found = mf.count_per_vertex(labelled, "(a:7)--(b)", device=device)
    assert (found.complete, found.counts.tolist()) == (True, [[0, 0], [0, 0]])
    for vertices in (0, 3):
        empty = mf.Graph.from_edges([], num_vertices=vertices)
        assert mf.orbits(empty, device=device).counts.tolist() == [[0] * 15] * vertices
        assert mf.count_per_vertex(empty, TRIANGLE, device=device).counts.shape == (vertices, 3)
        assert mf.count_per_edge(empty, TRIANGLE, device=device).counts.shape == (0, 3)


@pytest.mark.turns(2, "emulated")
@pytest.mark.parametrize("room", [None, 256])
def test_orbits_of_cliques_whose_rows_are_long(
    room: int | None, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if room is not None:  # bits of neighbours in device memory
        monkeypatch.setattr(TableRun, "room_of_two", lambda _: room)
    edges = [*clique(40), *((0, leaf) for leaf in range(40, 60)), (40, 41)]
    graph = mf.Graph.from_edges(edges)
    found = mf.orbits(graph, device=device)
    assert np.array_equal(found.counts, mf.orbits(graph).counts)
    assert (found.engine, found[1][14]) == ("dfs", comb(39, 3))


def test_orbits_of_graphs_that_are_too_large_are_for_the_cpu(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(orbits, "_MOST", 100)
    graph = mf.Graph.from_edges(list(combinations(range(6), 2)))
    found = mf.orbits(graph, device=device)
    assert (found.engine, found[0][14]) == ("cpu", comb(5, 3))
    assert "a number passed 64 bits" in found.reason


def test_several_devices_are_refused_by_name(device: str) -> None:
    with pytest.raises(mf.DeviceError, match=r"made on one GPU, found devices=2|devices that are here"):
        mf.count_per_vertex(mf.Graph.from_edges([(0, 1)]), TRIANGLE, device=device, devices=2)
