"""The orbits of five vertices by the kernels of a device are those of the CPU."""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.cpu.five_orbits import most_trees
from motiflux.gpu.images import five_sums
from motiflux.gpu.kernels.table_run import TableRun

pytestmark = pytest.mark.devices("emulated", "cuda", reason="it has no kernels")


def skewed(vertices: int, edges: int, seed: int) -> mf.Graph:
    """Return a graph with hubs and many triangles."""
    rng = np.random.default_rng(seed)
    ends = (vertices * rng.random((edges, 2)) ** 2.5).astype(np.int64)
    return mf.Graph.from_edges(np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]]), axis=0))


def agree(graph: mf.Graph, device: str) -> None:
    found = mf.orbits(graph, 5, device=device)
    assert (found.device, found.engine, found.complete) == (device, "dfs", True)
    assert np.array_equal(found.counts, mf.orbits(graph, 5, threads=1).counts)
    for size in (4, 5):
        at_edges = mf.edge_orbits(graph, size, device=device)
        assert (at_edges.device, at_edges.engine, at_edges.complete) == (device, "dfs", True)
        assert np.array_equal(at_edges.counts, mf.edge_orbits(graph, size, threads=1).counts)


def test_they_agree_on_a_graph_with_hubs(device: str) -> None:
    agree(skewed(24, 80, seed=3), device)


@pytest.mark.parametrize("size", [4, 5])
def test_a_second_call_launches_the_same_job(size: int, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = skewed(24, 80, seed=3)
    first = mf.orbits(graph, size, device=device)

    def refused(*_: Any) -> None:
        raise AssertionError("a job was set up again")

    monkeypatch.setattr(TableRun, "__init__", refused)
    again = mf.orbits(graph, size, device=device)
    assert np.array_equal(first.counts, again.counts)
    assert np.array_equal(first.counts, mf.orbits(graph, size).counts)


@pytest.mark.turns(8, "emulated")
@pytest.mark.parametrize("room", [None, 256])
def test_rows_of_all_classes_of_hubs_agree(
    room: int | None, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if room is not None:  # bits and counters in device memory
        monkeypatch.setattr(TableRun, "room_of_two", lambda _: room)
    monkeypatch.setattr(five_sums, "_HUBS", ((40, 3, 64), (20, 2, 128), (1, 1, 32)))
    graph = skewed(90, 700, seed=5)
    assert np.diff(graph.forward.offsets).max() > 64
    agree(graph, device)


@pytest.mark.turns(8, "emulated")
def test_a_hub_whose_neighbours_have_few_edges(device: str) -> None:
    ring = [(v, 1 + v % 200) for v in range(1, 201)]
    chords = [(v, v + 50) for v in range(1, 151, 3)]
    agree(mf.Graph.from_edges([*ring, *chords, *((0, v) for v in range(1, 201))]), device)


def test_arcs_of_both_directions_are_one_edge(device: str) -> None:
    rng = np.random.default_rng(7)
    arcs = np.unique(rng.integers(0, 14, (90, 2)), axis=0)
    agree(mf.Graph.from_edges(arcs[arcs[:, 0] != arcs[:, 1]], directed=True), device)


@pytest.mark.turns(8, "emulated")
def test_a_clique_of_more_members_than_lanes(device: str) -> None:
    edges = [*combinations(range(34), 2), *((0, leaf) for leaf in range(34, 44)), (33, 44)]
    graph = mf.Graph.from_edges(edges)
    agree(graph, device)
    assert mf.orbits(graph, 5, device=device)[1][72] == comb(33, 4)


def test_graphs_with_few_edges_agree(device: str) -> None:
    for edges, vertices in (([], 0), ([], 3), ([(0, 1)], 2), ([(0, 1), (1, 2), (0, 2)], 4)):
        agree(mf.Graph.from_edges(np.array(edges).reshape(-1, 2), num_vertices=vertices), device)


@pytest.mark.parametrize(("name", "value"), [("_TIMES", 2**60), ("_MOST_ARCS", 10)])
def test_numbers_that_may_pass_64_bits_are_for_the_cpu(
    name: str, value: int, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(five_sums, name, value)
    found = mf.orbits(mf.Graph.from_edges(list(combinations(range(6), 2))), 5, device=device)
    assert (found.engine, found[0][72]) == ("cpu", comb(5, 4))
    assert "a number passed 64 bits" in found.reason


def test_a_hub_whose_bits_are_too_many_is_for_the_cpu(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(five_sums, "_MOST_BIT_WORDS", 8)
    found = mf.orbits(mf.Graph.from_edges(list(combinations(range(12), 2))), 5, device=device)
    assert (found.engine, found[0][72]) == ("cpu", comb(11, 4))


def test_the_cpu_takes_over_where_memory_is_short(device: str) -> None:
    graph = skewed(60, 240, seed=3)
    options: dict[str, Any] = {"gpu_memory": 2048, "device": device}
    found = mf.orbits(graph, 5, **options)
    assert np.array_equal(found.counts, mf.orbits(graph, 5).counts)
    assert "not enough memory" in found.reason


def test_a_timeout_gives_no_counts(device: str) -> None:
    found = mf.orbits(skewed(60, 240, seed=3), 5, device=device, timeout=1e-9)
    assert not found.complete
    assert not found.counts.any()


def test_a_vertex_is_in_no_more_subgraphs_than_trees() -> None:
    graph = skewed(60, 240, seed=3)
    rows = graph.forward.offsets, graph.forward.neighbors
    most = most_trees(*rows)
    assert int(mf.orbits(graph, 5).counts[:, 15:].sum(axis=1).max()) <= most
    assert most <= 9 * float(np.diff(rows[0]).max()) ** 4
