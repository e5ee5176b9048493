"""Counts per vertex and per edge of patterns with comparisons are those of the reference."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.cpu import reference
from tests.compared_cases import ComparedCase, compared_cases

DEPTHS = ["default", pytest.param("long", marks=pytest.mark.long)]


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize(
    ("semantics", "symmetry"),
    [
        ("isomorphism", "embeddings"),
        ("isomorphism", "subgraphs"),
        ("induced", "embeddings"),
        ("homomorphism", "embeddings"),
    ],
)
def test_they_count_embeddings_with_a_choice_of_copies(semantics: Any, symmetry: Any, depth: str) -> None:
    @settings(settings.get_profile(depth))
    @given(compared_cases(), st.sampled_from((1, 3)))
    def holds(case: ComparedCase, threads: int) -> None:
        pairs = [frozenset(edge[:2]) for edge in case.pattern_edges]
        assume(symmetry == "embeddings" or len(set(pairs)) == len(pairs))  # see test_projection
        results: Any = case.occurrences(semantics) if symmetry == "subgraphs" else case.embeddings(semantics)
        options = {"semantics": semantics, "symmetry": symmetry, "threads": threads}
        found = mf.count_per_vertex(case.graph(), case.pattern(), **options)
        assert found.complete
        for place in range(len(case.pattern_vertex_labels)):
            expected = reference.counts_of_images(results, place, case.num_vertices)
            counts = dict(zip(found.ids.tolist(), found.counts[:, place].tolist(), strict=True))
            assert [counts.get(vertex, 0) for vertex in range(case.num_vertices)] == expected

    holds()


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize(
    ("semantics", "symmetry"),
    [
        ("isomorphism", "embeddings"),
        ("isomorphism", "subgraphs"),
        ("induced", "embeddings"),
        ("homomorphism", "embeddings"),
    ],
)
def test_those_of_edges_need_a_copy_of_the_edge_in_a_choice(
    semantics: Any, symmetry: Any, depth: str
) -> None:
    @settings(settings.get_profile(depth))
    @given(compared_cases(), st.sampled_from((1, 3)))
    def holds(case: ComparedCase, threads: int) -> None:
        pairs = [frozenset(edge[:2]) for edge in case.pattern_edges]
        assume(symmetry == "embeddings" or len(set(pairs)) == len(pairs))  # see test_projection
        results: Any = case.occurrences(semantics) if symmetry == "subgraphs" else case.embeddings(semantics)
        chosen = case.choices(semantics)
        options = {"semantics": semantics, "symmetry": symmetry, "threads": threads}
        graph = case.graph()
        found = mf.count_per_edge(graph, case.pattern(), **options)
        edges = graph.to_edges()
        labels = [None] * graph.num_edges if edges.labels is None else edges.labels.tolist()
        keys = [
            key(case, (u, v), label)
            for u, v, label in zip(edges.src.tolist(), edges.dst.tolist(), labels, strict=True)
        ]
        of_copies = case.edge_labels if edges.labels is not None else [None] * len(case.edges)
        copies = [keys.index(key(case, *copy)) for copy in zip(case.edges, of_copies, strict=True)]
        assert found.complete
        for place in range(len(case.pattern_edges)):
            expected = reference.counts_of_chosen(results, chosen, place, copies, graph.num_edges)
            assert found.counts[:, place].tolist() == expected

    holds()


def key(case: ComparedCase, ends: tuple[int, int], label: Any) -> tuple[Any, ...]:
    """Return what tells an edge from others."""
    return (*(ends if case.directed else sorted(ends)), label)


def test_induced_edges_of_either_direction_are_witnesses_beside_one_back() -> None:
    graph = mf.Graph.from_edges([(3, 1), (1, 4), (1, 3)], directed=True, edge_attributes={"time": [9, 0, 0]})
    pattern = "(a)-[x]->(b), (a)-->(c), (a)-[z]-(b) WHERE x.time < id(a)"
    found = mf.count_per_edge(graph, pattern, semantics="induced")
    edges = list(zip(graph.to_edges().src.tolist(), graph.to_edges().dst.tolist(), strict=True))
    assert mf.count(graph, pattern, semantics="induced") == 1
    assert dict(zip(edges, found.counts.tolist(), strict=True)) == {
        (3, 1): [0, 0, 1],
        (1, 4): [0, 1, 0],
        (1, 3): [1, 0, 1],
    }
