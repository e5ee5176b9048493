"""The census is what its definition says: every set of vertices, by the subgraph that it induces."""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import motiflux as mf
from motiflux.cpu import reference_census as reference
from motiflux.plan.census import classes
from motiflux.plan.triad_orbits import triad_orbit_tables
from tests.interrupts import ctrl_c_in_native_code

ISOMORPHISM_CLASSES = {(3, True): 16, (3, False): 4, (4, True): 218, (4, False): 11}


@st.composite
def edge_lists(draw: st.DrawFn, directed: bool, most: int = 9) -> tuple[int, list[tuple[int, int]]]:
    vertices = draw(st.integers(1, most))
    density = draw(st.integers(1, 9))
    edges = []
    for u, v in combinations(range(vertices), 2):
        for arc in ((u, v), (v, u)) if directed else ((u, v),):
            if draw(st.integers(0, 9)) < density:
                edges.append(arc)
    return vertices, edges


def graph_of(vertices: int, edges: list[tuple[int, int]], *, directed: bool) -> mf.Graph:
    ends = np.array(edges, np.int64).reshape(-1, 2)
    return mf.Graph.from_edges((ends[:, 0], ends[:, 1]), num_vertices=vertices, directed=directed)


def by_code(found: mf.Census) -> dict[int, int]:
    return {one.code: count for one, count in zip(found.classes, found.counts, strict=True) if count}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("size", [3, 4])
def test_every_set_of_vertices_is_counted_in_its_class(size: int, directed: bool, threads: int) -> None:
    @given(edge_lists(directed))
    def holds(given: tuple[int, list[tuple[int, int]]]) -> None:
        vertices, edges = given
        graph = graph_of(vertices, edges, directed=directed)
        found = mf.census(graph, size, threads=threads)
        assert by_code(found) == reference.census(vertices, edges, size, directed=directed)
        assert (found.complete, found.total) == (True, comb(vertices, size))

    holds()


@pytest.mark.parametrize("size", [3, 4])
@given(edge_lists(directed=True))
def test_directions_may_be_ignored(size: int, given: tuple[int, list[tuple[int, int]]]) -> None:
    vertices, edges = given
    graph = graph_of(vertices, edges, directed=True)
    found = mf.census(graph, size, directed=False)
    assert by_code(found) == reference.census(vertices, edges, size, directed=False)


@given(edge_lists(directed=True, most=14))
def test_triads_are_those_of_networkx(given: tuple[int, list[tuple[int, int]]]) -> None:
    networkx = pytest.importorskip("networkx")
    vertices, edges = given
    other = networkx.DiGraph(edges)
    other.add_nodes_from(range(vertices))
    graph = graph_of(vertices, edges, directed=True)
    expected = networkx.triadic_census(other)
    assert dict(mf.census(graph)) == expected
    assert list(mf.census(graph)) == list(expected)


@pytest.mark.parametrize(("size", "directed"), ISOMORPHISM_CLASSES)
def test_classes_are_different_and_complete(size: int, directed: bool) -> None:
    every = classes(size, directed).all
    assert len({one.code for one in every}) == len({one.name for one in every}) == len(every)
    assert len(every) == ISOMORPHISM_CLASSES[size, directed]
    for one in every:
        assert reference.canonical(range(size), one.arcs) == one.code


def test_many_connected_classes_are_left() -> None:
    assert sum(one.connected for one in classes(4, True).all) == 199
    graph = mf.Graph.from_edges([(0, 1), (1, 2)], directed=True)
    assert (len(mf.census(graph, 4, connected=True)), len(mf.census(graph, connected=True))) == (199, 13)


def test_parallel_edges_of_several_labels_are_one() -> None:
    graph = mf.Graph.from_edges(
        [(0, 1), (0, 1), (1, 2), (1, 2), (2, 0)], edge_labels=["a", "b", "a", "c", "a"], directed=True
    )
    assert {name: count for name, count in mf.census(graph).items() if count} == {"030C": 1}


@pytest.mark.turns(8)
def test_a_hub_has_more_subgraphs_than_64_bits_hold() -> None:
    leaves = 5_000_000
    star = mf.Graph.from_edges((np.zeros(leaves, np.int64), np.arange(1, leaves + 1)), directed=True)
    found = mf.census(star)
    assert (found["021D"], found["003"]) == (comb(leaves, 2), comb(leaves, 3))
    assert found["003"] > 2**64
    assert str(found["003"]) in found.to_arrow().column("count").to_pylist()
    four = mf.census(star, 4, directed=False)
    assert (four["star"], four["empty"], four.total) == (
        comb(leaves, 3),
        comb(leaves, 4),
        comb(leaves + 1, 4),
    )


def test_a_timeout_gives_no_counts() -> None:
    graph = mf.generate.erdos_renyi(vertices=20_000, edges=1_000_000, seed=1, directed=True)
    for size in (3, 4):
        found = mf.census(graph, size, timeout=1e-3)
        assert (found.complete, found.total) == (False, 0)
        assert "incomplete" in repr(found)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"size": 5}, "size: expected 3 or 4"),
        ({"size": True}, "size: expected 3 or 4"),
        ({"size": [3]}, "size: expected 3 or 4"),
        ({"directed": True}, "directed: expected False or None: the graph is undirected"),
        ({"timeout": -1}, "timeout"),
    ],
)
def test_what_cannot_be_counted_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(mf.ArgumentError, match=message):
        mf.census(mf.Graph.from_edges([(0, 1)]), **arguments)


def test_it_is_a_table_and_a_picture() -> None:
    found = mf.census(mf.Graph.from_edges([(0, 1), (1, 2), (2, 0), (2, 3)], directed=True))
    rows = found.to_arrow().to_pylist()
    assert rows[9] == {"class": "030C", "code": 98, "connected": True, "count": 1}
    picture = found.to_svg()
    assert "030C" in picture
    assert "003" not in picture


@pytest.mark.parametrize("size", [3, 4])
def test_ctrl_c_ends_a_census(size: int) -> None:
    graph = mf.generate.power_law(vertices=60_000, edges=900_000, seed=1, directed=True)
    with pytest.raises(KeyboardInterrupt), ctrl_c_in_native_code():
        mf.census(graph, size)
    assert mf.census(graph).complete


@pytest.mark.parametrize("threads", [1, 4])
def test_a_large_census_agrees_with_orbits_and_with_itself_without_directions(threads: int) -> None:
    graph = mf.generate.rmat(scale=12, edges=40_000, seed=2)
    directed = mf.census(graph, 4, threads=threads)
    plain = mf.census(graph, 4, directed=False, threads=threads)
    assert directed.total == plain.total == comb(graph.num_vertices, 4)
    added = dict.fromkeys(plain, 0)
    codes = {one.code: one.name for one in plain.classes}
    for one, count in zip(directed.classes, directed.counts, strict=True):
        added[codes[reference.canonical(range(4), {*one.arcs, *((v, u) for u, v in one.arcs)})]] += count
    assert added == dict(plain)
    sums = [int(column.sum()) for column in mf.orbits(graph).counts.T]
    vertices = {
        "path": (4, 2),
        "star": (7, 1),
        "cycle": (8, 4),
        "paw": (9, 1),
        "diamond": (12, 2),
        "clique": (14, 4),
    }
    assert {name: plain[name] for name in vertices} == {
        name: sums[orbit] // times for name, (orbit, times) in vertices.items()
    }
    triads = mf.census(graph, threads=threads)
    names = triad_orbit_tables().names
    of_vertices = mf.orbits(graph, 3, directed=True, threads=threads).counts.sum(axis=0)
    for at, name in enumerate(names):
        if name in ("021D 2 0", "021C 1 1", "030T 0 2", "120C 1 2", "210 2 2"):
            assert of_vertices[at] == triads[name.split()[0]]
    assert of_vertices[names.index("300 2 2")] == 3 * triads["300"]
