"""The reference itself, against counts made by hand and against another library."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motiflux.cpu.reference import automorphisms, embeddings, occurrences

SQUARE = [(0, 1), (1, 2), (2, 3), (3, 0)]
SQUARE_WITH_DIAGONAL = [*SQUARE, (0, 2)]
COMPLETE = list(combinations(range(4), 2))
ANY = None


def follow(*pairs: tuple[int, int], label: Any = ANY) -> list[Any]:
    return [(u, v, label, "follow") for u, v in pairs]


EDGE = follow((0, 1))
PATH = follow((0, 1), (1, 2))
TRIANGLE = follow((0, 1), (1, 2), (0, 2))
CYCLE = follow((0, 1), (1, 2), (2, 3), (3, 0))


@pytest.mark.parametrize(
    ("edges", "size", "pattern", "semantics", "count"),
    [
        ([], 0, EDGE, "isomorphism", 0),
        ([], 3, EDGE, "homomorphism", 0),
        ([(0, 1)], 2, EDGE, "isomorphism", 2),
        ([(0, 1)], 2, PATH, "isomorphism", 0),
        ([(0, 1)], 2, PATH, "homomorphism", 2),
        (SQUARE, 4, PATH, "isomorphism", 8),
        (SQUARE, 4, PATH, "homomorphism", 16),
        (SQUARE, 4, TRIANGLE, "homomorphism", 0),
        (SQUARE, 4, CYCLE, "isomorphism", 8),
        (SQUARE, 4, CYCLE, "homomorphism", 32),
        (SQUARE_WITH_DIAGONAL, 4, CYCLE, "isomorphism", 8),
        (SQUARE_WITH_DIAGONAL, 4, CYCLE, "induced", 0),
        (SQUARE_WITH_DIAGONAL, 4, PATH, "isomorphism", 16),
        (SQUARE_WITH_DIAGONAL, 4, PATH, "induced", 4),
        (COMPLETE, 4, TRIANGLE, "isomorphism", 24),
        (COMPLETE, 4, PATH, "isomorphism", 24),
        (COMPLETE, 4, PATH, "induced", 0),
        (COMPLETE, 4, TRIANGLE, "homomorphism", 24),
    ],
)
def test_undirected_unlabelled(edges: Any, size: int, pattern: Any, semantics: str, count: int) -> None:
    num_query = 1 + max(max(u, v) for u, v, *_ in pattern)
    assert len(embeddings(size, edges, [ANY] * num_query, pattern, semantics=semantics)) == count


def test_arcs_run_one_way() -> None:
    found = embeddings(3, [(0, 1), (1, 2)], [ANY] * 3, PATH, directed=True)
    assert found == {(0, 1, 2)}


def test_either_edge_runs_both_ways_on_a_directed_graph() -> None:
    assert embeddings(2, [(0, 1)], [ANY] * 2, [(0, 1, ANY, "either")], directed=True) == {(0, 1), (1, 0)}


def test_arc_is_refused_on_an_undirected_graph() -> None:
    with pytest.raises(ValueError, match="undirected"):
        embeddings(2, [(0, 1)], [ANY] * 2, [(0, 1, ANY, "arc")])


def test_self_loop_is_refused() -> None:
    with pytest.raises(ValueError, match="self-loop"):
        embeddings(2, [(1, 1)], [ANY] * 2, EDGE)


def test_induced_forbids_the_arc_back() -> None:
    mutual = [(0, 1), (1, 0)]
    assert embeddings(2, mutual, [ANY] * 2, EDGE, directed=True, semantics="induced") == set()
    either = [(0, 1, ANY, "either")]
    assert len(embeddings(2, mutual, [ANY] * 2, either, directed=True, semantics="induced")) == 2


def test_induced_allows_parallel_edges_of_other_labels_where_the_pattern_has_an_edge() -> None:
    found = embeddings(
        2, [(0, 1), (0, 1)], [ANY] * 2, follow((0, 1), label=1), edge_labels=[1, 2], semantics="induced"
    )
    assert len(found) == 2


def test_induced_forbids_edges_of_labels_the_pattern_never_names() -> None:
    pattern = follow((0, 1), (1, 2), label="a")
    found = embeddings(
        3, [(0, 1), (1, 2), (0, 2)], [ANY] * 3, pattern, edge_labels=["a", "a", "z"], semantics="induced"
    )
    assert found == set()


def test_parallel_edges_and_copies_count_once() -> None:
    edges = [(0, 1), (0, 1), (1, 0)]
    assert len(embeddings(2, edges, [ANY] * 2, EDGE, edge_labels=[1, 2, 1])) == 2


def test_two_query_edges_may_share_a_witness() -> None:
    pattern = [(0, 1, frozenset({1, 2}), "follow"), (0, 1, ANY, "follow")]
    assert len(embeddings(2, [(0, 1)], [ANY] * 2, pattern, edge_labels=[1])) == 2


def test_each_parallel_query_edge_needs_a_witness() -> None:
    pattern = [(0, 1, 1, "follow"), (0, 1, 2, "follow")]
    assert embeddings(2, [(0, 1)], [ANY] * 2, pattern, edge_labels=[1]) == set()
    assert len(embeddings(2, [(0, 1), (0, 1)], [ANY] * 2, pattern, edge_labels=[1, 2])) == 2


def test_labels_sets_and_wildcards() -> None:
    labels = ["a", "b", "c"]
    cases: list[tuple[Any, set[tuple[int, ...]]]] = [
        (["a", "b"], {(0, 1)}),
        (["a", ANY], {(0, 1)}),
        ([ANY, frozenset({"a", "c"})], {(1, 0), (1, 2)}),
        (["a", "c"], set()),
        (["absent", ANY], set()),
    ]
    for choices, expected in cases:
        assert embeddings(3, [(0, 1), (1, 2)], choices, EDGE, vertex_labels=labels) == expected


def test_everything_unlabelled_has_label_zero() -> None:
    assert len(embeddings(2, [(0, 1)], [0, 0], follow((0, 1), label=0))) == 2
    assert embeddings(2, [(0, 1)], [1, 0], EDGE) == set()


@pytest.mark.parametrize(
    ("vertices", "pattern", "directed", "order"),
    [
        ([ANY] * 2, EDGE, False, 2),
        ([ANY] * 2, EDGE, True, 1),
        ([ANY] * 2, [(0, 1, ANY, "either")], True, 2),
        ([1, 2], EDGE, False, 1),
        ([1, frozenset({1})], EDGE, False, 2),
        ([1, frozenset({1, 2})], EDGE, False, 1),
        ([ANY] * 3, TRIANGLE, False, 6),
        ([ANY] * 3, TRIANGLE, True, 1),
        ([ANY] * 3, follow((0, 1), (1, 2), (2, 0)), True, 3),
        ([ANY] * 3, [*TRIANGLE, *EDGE], False, 6),
        ([ANY] * 3, [*TRIANGLE, (0, 1, 7, "follow")], False, 2),
        ([ANY] * 4, CYCLE, False, 8),
        ([ANY] * 5, follow(*combinations(range(5), 2)), False, 120),
        ([ANY] * 5, follow((0, 1), (0, 2), (0, 3), (0, 4)), False, 24),
    ],
)
def test_automorphisms(vertices: Any, pattern: Any, directed: bool, order: int) -> None:
    assert len(automorphisms(vertices, pattern, directed=directed)) == order


def test_occurrences_are_orbits_of_embeddings() -> None:
    found = occurrences(4, COMPLETE, [ANY] * 3, TRIANGLE)
    assert {frozenset(next(iter(orbit))) for orbit in found} == {
        frozenset(c) for c in combinations(range(4), 3)
    }
    assert all(len(orbit) == 6 for orbit in found)


def test_occurrences_of_homomorphisms_are_refused() -> None:
    with pytest.raises(ValueError, match="homomorphism"):
        occurrences(4, COMPLETE, [ANY] * 3, TRIANGLE, semantics="homomorphism")


@st.composite
def simple_graphs(draw: st.DrawFn, most: int) -> tuple[int, list[tuple[int, int]], list[int]]:
    size = draw(st.integers(2, most))
    edges = draw(st.lists(st.sampled_from(list(combinations(range(size), 2))), unique=True))
    return size, edges, draw(st.lists(st.integers(0, 1), min_size=size, max_size=size))


@pytest.mark.turns(8)
@given(simple_graphs(6), simple_graphs(4), st.booleans())
@settings(max_examples=100)
def test_networkx_finds_the_same_maps(data: Any, query: Any, directed: bool) -> None:
    networkx = pytest.importorskip("networkx")
    from networkx.algorithms import isomorphism

    def build(size: int, edges: Any, labels: Any) -> Any:
        graph = networkx.DiGraph() if directed else networkx.Graph()
        graph.add_nodes_from((vertex, {"label": labels[vertex]}) for vertex in range(size))
        graph.add_edges_from(edges)
        return graph

    matcher_class = isomorphism.DiGraphMatcher if directed else isomorphism.GraphMatcher
    matcher = matcher_class(
        build(*data), build(*query), node_match=lambda a, b: bool(a["label"] == b["label"])
    )
    size, edges, labels = data
    for semantics, maps in [
        ("isomorphism", matcher.subgraph_monomorphisms_iter()),
        ("induced", matcher.subgraph_isomorphisms_iter()),
    ]:
        expected = set()
        for data_to_query in maps:
            to_data = {query_vertex: vertex for vertex, query_vertex in data_to_query.items()}
            expected.add(tuple(to_data[vertex] for vertex in range(query[0])))
        found = embeddings(
            size,
            edges,
            query[2],
            follow(*query[1]),
            directed=directed,
            vertex_labels=labels,
            semantics=semantics,
        )
        assert found == expected
