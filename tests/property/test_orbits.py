"""Orbits are what the definitions say, in ORCA's order."""

from __future__ import annotations

from itertools import combinations, permutations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import motiflux as mf
from motiflux import _native
from motiflux.cpu import reference
from motiflux.cpu.reference_census import directed_orbit_counts, edge_orbit_counts
from motiflux.plan.census import classes
from motiflux.plan.graphlets import EDGE_ORBITS, GRAPHLETS, ORBITS, graphlets_of
from motiflux.plan.triad_orbits import triad_orbit_tables
from tests.data_paths import shared_path

SHAPES = {size: [(one.edges, one.orbits) for one in GRAPHLETS if len(one.orbits) <= size] for size in ORBITS}


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]], bool]:
    vertices = draw(st.integers(1, 9))
    pairs = list(combinations(range(vertices), 2))
    density = draw(st.integers(2, 9))
    edges = [pair for pair in pairs if draw(st.integers(0, 9)) < density]
    directed = draw(st.booleans())
    return vertices, [pair[::-1] if directed and draw(st.booleans()) else pair for pair in edges], directed


@pytest.mark.parametrize("threads", [1, 3])
def test_those_of_four_vertices_are_the_induced_subgraphs(threads: int, device: str) -> None:
    @given(graphs())
    def holds(given: tuple[int, list[tuple[int, int]], bool]) -> None:
        vertices, edges, directed = given
        graph = mf.Graph.from_edges(np.array(edges).reshape(-1, 2), num_vertices=vertices, directed=directed)
        expected = reference.orbit_counts(vertices, edges, SHAPES[4])
        found = mf.orbits(graph, threads=threads, device=device)
        assert [list(found[vertex]) for vertex in range(vertices)] == expected
        assert (found.complete, found.counts.dtype, found.device) == (True, np.int64, device)

    holds()


@pytest.mark.turns(4)
def test_those_of_five_vertices_are_the_induced_subgraphs(device: str) -> None:
    @given(graphs())
    def holds(given: tuple[int, list[tuple[int, int]], bool]) -> None:
        vertices, edges, directed = given
        graph = mf.Graph.from_edges(np.array(edges).reshape(-1, 2), num_vertices=vertices, directed=directed)
        expected = reference.orbit_counts(vertices, edges, SHAPES[5])
        found = mf.orbits(graph, 5, device=device)
        assert [list(found[vertex]) for vertex in range(vertices)] == expected
        assert (found.complete, found.device) == (True, device)

    holds()


@pytest.mark.parametrize("size", ORBITS)
def test_orbits_are_those_of_automorphisms(size: int) -> None:
    numbers = [orbit for one in GRAPHLETS for orbit in one.orbits if len(one.orbits) <= size]
    assert sorted(set(numbers)) == list(range(ORBITS[size]))
    for one in graphlets_of(size):
        query = [(u, v, None, "follow") for u, v in one.edges]
        group = reference.automorphisms([None] * size, query)
        for vertex, orbit in enumerate(one.orbits):
            reached = {to[vertex] for to in group}
            assert reached == {v for v in range(size) if one.orbits[v] == orbit}


@pytest.mark.turns(4)
def test_numbers_beyond_64_bits_are_given_in_two_parts() -> None:
    degree = 4_900_000
    star = mf.Graph.from_edges((np.zeros(degree, np.int64), np.arange(1, degree + 1)))
    words, above = _native.orbits_of_vertices((star.forward.offsets, star.forward.neighbors), 2, None)
    numbers = words.reshape(-1, ORBITS[4])
    assert comb(degree, 3) > 2**64
    [(at, missing)] = above
    assert divmod(at, ORBITS[4]) == (degree, 7)
    assert int(numbers[degree, 7]) + missing == comb(degree, 3)
    assert numbers[degree, [0, 1, 2, 3, 6]].tolist() == [degree, 0, comb(degree, 2), 0, 0]
    assert (numbers[:degree, 6] == comb(degree - 1, 2)).all()


def test_five_vertices_beyond_64_bits_are_exact() -> None:
    degree = 130_000
    star = mf.Graph.from_edges((np.zeros(degree, np.int64), np.arange(1, degree + 1)))
    found = mf.orbits(star, 5)
    assert found[0][23] == comb(degree, 4) > 2**63
    assert found[1][22] == comb(degree - 1, 3)
    assert sum(found[0][24:]) == 0


def test_a_timeout_gives_no_counts() -> None:
    graph = mf.generate.erdos_renyi(vertices=20_000, edges=400_000, seed=1)
    for size in ORBITS:
        found = mf.orbits(graph, size, timeout=1e-3)
        assert not found.complete
        assert not found.counts.any()
        assert "incomplete" in repr(found)


def test_other_sizes_are_refused() -> None:
    graph = mf.Graph.from_edges([(0, 1)])
    for size in (2, 6, "4", True, [4]):
        with pytest.raises(mf.ArgumentError, match="size: expected 3, 4 or 5"):
            mf.orbits(graph, size)  # type: ignore[arg-type]
        with pytest.raises(mf.ArgumentError, match="size: expected 4 or 5"):
            mf.edge_orbits(graph, size)  # type: ignore[arg-type]
    with pytest.raises(mf.ArgumentError, match="directed: expected False: the graph is undirected"):
        mf.orbits(graph, 3, directed=True)
    with pytest.raises(mf.ArgumentError, match="directed: expected False: only orbits of size 3"):
        mf.orbits(graph, 4, directed=True)


EDGE_SHAPES = {
    size: [(one.edges, one.edge_orbits) for one in GRAPHLETS if 3 <= len(one.orbits) <= size]
    for size in ORBITS
}


@pytest.mark.turns(4)
@pytest.mark.parametrize("size", ORBITS)
def test_those_of_edges_are_the_induced_subgraphs(size: int, device: str) -> None:
    @given(graphs())
    def holds(given: tuple[int, list[tuple[int, int]], bool]) -> None:
        vertices, edges, directed = given
        if not edges:
            return
        ends = np.array(edges)
        graph = mf.Graph.from_edges((ends[:, 0], ends[:, 1]), num_vertices=vertices, directed=directed)
        found = mf.edge_orbits(graph, size, device=device)
        table = graph.to_edges()
        pairs = list(zip(table.src.tolist(), table.dst.tolist(), strict=True))
        assert found.counts.tolist() == edge_orbit_counts(pairs, EDGE_SHAPES[size])
        assert (found.complete, found.device) == (True, device)

    holds()


@pytest.mark.parametrize("size", ORBITS)
def test_orbits_of_edges_are_those_of_automorphisms(size: int) -> None:
    numbers = [orbit for one in GRAPHLETS for orbit in one.edge_orbits if len(one.orbits) <= size]
    assert sorted(set(numbers)) == list(range(EDGE_ORBITS[size]))
    for one in graphlets_of(size):
        group = reference.automorphisms([None] * size, [(u, v, None, "follow") for u, v in one.edges])
        for (u, v), orbit in zip(one.edges, one.edge_orbits, strict=True):
            reached = {frozenset((to[u], to[v])) for to in group}
            same = {frozenset(e) for e, o in zip(one.edges, one.edge_orbits, strict=True) if o == orbit}
            assert reached == same


@given(graphs())
def test_those_of_three_vertices_are_the_first_of_four(
    given: tuple[int, list[tuple[int, int]], bool],
) -> None:
    vertices, edges, directed = given
    ends = np.array(edges, np.int64).reshape(-1, 2)
    graph = mf.Graph.from_edges((ends[:, 0], ends[:, 1]), num_vertices=vertices, directed=directed)
    found = mf.orbits(graph, 3)
    assert [list(found[vertex]) for vertex in range(vertices)] == reference.orbit_counts(
        vertices, edges, SHAPES[4][:3]
    )


@pytest.mark.parametrize("threads", [1, 3])
@given(st.data())
def test_directed_ones_are_the_induced_triads(threads: int, data: st.DataObject) -> None:
    vertices = data.draw(st.integers(1, 9))
    density = data.draw(st.integers(1, 9))
    arcs = [arc for arc in permutations(range(vertices), 2) if data.draw(st.integers(0, 9)) < density]
    ends = np.array(arcs, np.int64).reshape(-1, 2)
    graph = mf.Graph.from_edges((ends[:, 0], ends[:, 1]), num_vertices=vertices, directed=True)
    found = mf.orbits(graph, 3, directed=True, threads=threads)
    names = triad_orbit_tables().names
    triads = {one.name: one.code for one in classes(3, True).all}
    expected = directed_orbit_counts(vertices, arcs, 3)
    pairs = directed_orbit_counts(vertices, arcs, 2)
    of_pairs = {"arc 1 0": (2, (1, 0)), "arc 0 1": (2, (0, 1)), "mutual 1 1": (6, (1, 1))}
    for vertex in range(vertices):
        row = [
            pairs[vertex][of_pairs[name]]
            if name in of_pairs
            else expected[vertex][triads[name.split()[0]], tuple(map(int, name.split()[1:]))]
            for name in names
        ]
        assert list(found[vertex]) == row


def test_those_of_edges_are_those_of_orca_on_a_connectome() -> None:
    # By `orca edge 4` (github.com/thocevar/orca), as below.
    given = mf.read_graph(shared_path("data/celegans_cook2019_herm.npz"), directed=False)
    table = given.to_edges()
    pairs = sorted({tuple(sorted(pair)) for pair in zip(table.src.tolist(), table.dst.tolist(), strict=True)})
    assert mf.edge_orbits(mf.Graph.from_edges(pairs)).counts.sum(axis=0).tolist() == ORCA_EDGES


def test_they_are_those_of_orca_on_a_connectome() -> None:
    # By `orca node 5` (github.com/thocevar/orca) on the pairs of neurons and muscles that any synapse joins.
    graph = mf.read_graph(shared_path("data/celegans_cook2019_herm.npz"), directed=False)
    found = mf.orbits(graph, 5)
    assert found.counts.sum(axis=0).tolist() == ORCA


ORCA = [
    9946, 227782, 113891, 39258, 4416464, 4416464,
    3341478, 1113826, 231668, 769161, 1538322, 769161,
    239984, 239984, 63352, 73401518, 73401518, 36700759,
    53947722, 107895444, 53947722, 53947722, 42295892, 10573973,
    26697504, 13348752, 26697504, 12630362, 12630362, 25260724,
    12630362, 20953940, 20953940, 10476970, 2608825, 4497681,
    4497681, 8995362, 4497681, 4884936, 9769872, 4884936,
    4884936, 3827472, 956868, 3829512, 3829512, 3829512,
    7659024, 302967, 201978, 2235816, 1117908, 2235816,
    1093746, 729164, 1042756, 3128268, 1042756, 2011440,
    2011440, 1005720, 191501, 383002, 383002, 432171,
    864342, 864342, 267408, 66852, 176136, 264204,
    61190,
]  # fmt: skip

ORCA_EDGES = [
    227782, 39258, 4416464, 2208232, 3341478, 231668, 769161, 769161, 1538322, 479968, 119992, 95028,
]  # fmt: skip


def test_a_hub_with_more_neighbours_than_rows_of_bits() -> None:
    parts = 4_100
    firsts = 1 + 4 * np.arange(parts)
    ends = [(firsts + u, firsts + v) for u, v in combinations(range(4), 2)]
    ends += [(np.zeros(parts, np.int64), firsts + u) for u in range(4)]
    graph = mf.Graph.from_edges(tuple(np.concatenate(side) for side in zip(*ends, strict=True)))
    found = mf.orbits(graph, 5, threads=1)
    assert [found[0][orbit] for orbit in (44, 58, 71, 72)] == [
        36 * comb(parts, 2),
        4 * 4 * parts * (parts - 1),
        0,
        parts,
    ]
    assert [found[1][orbit] for orbit in (43, 57, 72)] == [18 * (parts - 1), 12 * (parts - 1), 1]


def test_edges_of_a_star_have_numbers_of_two_words_in_between() -> None:
    degree = 130_000
    star = mf.Graph.from_edges((np.zeros(degree, np.int64), np.arange(1, degree + 1)))
    found = mf.edge_orbits(star, 5)
    assert (found.counts[:, [0, 4, 17]] == [degree - 1, comb(degree - 1, 2), comb(degree - 1, 3)]).all()
    assert not np.delete(found.counts, [0, 4, 17], axis=1).any()
