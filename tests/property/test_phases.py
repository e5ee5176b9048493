"""The phases of a pattern find what the definitions say, for every combination of options."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.plan.bind import bind
from motiflux.plan.phases.data import HandOver, MatchingPattern
from motiflux.plan.phases.decompose import decompose
from motiflux.plan.phases.statistics import phase_statistics
from motiflux.types import Semantics
from tests.phases_reference import Executor
from tests.property.test_coinciding import Coinciding, coinciding_cases
from tests.property.test_conditions import Conditioned, conditioned_cases
from tests.rotating import rotating
from tests.strategies import EMBEDDINGS, SUBGRAPHS, Case, Combination, cases, rows_of

DEPTHS = ["default", pytest.param("long", marks=pytest.mark.long)]
CHUNKS = st.sampled_from((1, 2, 7, 10_000))
Way = Literal["pv", "sv", "one partition"]
_MOST_ROWS = 3000
"""Rows of the largest case that is compared: the executor takes some ten microseconds for each."""
WAYS: st.SearchStrategy[Way] = st.sampled_from(("pv", "sv", "one partition"))


def found(
    graph: mf.Graph,
    pattern: mf.Pattern,
    semantics: str,
    way: Way,
    chunk: int,
    *,
    once_each: bool = False,
) -> tuple[list[tuple[Any, ...]], int]:
    """Return the rows that the phases find, in external ids, and the order of the automorphism group."""
    bound = bind(pattern, graph)
    plan = decompose(
        pattern,
        bound,
        phase_statistics(bound, graph),
        Semantics(semantics),
        once_each=once_each,
        pvm="sv" if way == "sv" else "pv",
        one_partition=way == "one partition",
    )
    assert not isinstance(plan, HandOver)
    for phase in plan.extensions:
        several = len(graph.edge_label_table if phase.partitions is None else phase.partitions) > 1
        if way == "sv" or (way == "one partition" and several):
            assert phase.pattern is MatchingPattern.ONE_VERTEX
    run = Executor(graph, plan, chunk=chunk)
    rows = run.rows()
    assert run.most_held <= chunk * len(plan.phases)
    ids = graph.vertex_ids.tolist()
    return [tuple(ids[vertex] for vertex in row) for row in rows], plan.automorphisms


@pytest.mark.turns(2)
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("combination", rotating(EMBEDDINGS), ids=str)
def test_phases_find_the_embeddings_of_the_reference(combination: Combination, depth: str) -> None:
    @settings(settings.get_profile(depth))
    @given(cases(combination.directed, combination.labels), WAYS, CHUNKS)
    def holds(case: Case, way: Way, chunk: int) -> None:
        expected = case.embeddings(combination.semantics)
        rows, _ = found(case.graph(), case.pattern(), combination.semantics, way, chunk)
        assert set(rows) == expected
        assert len(rows) == len(expected), "an embedding came twice"

    holds()


@pytest.mark.turns(2)
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("combination", rotating(SUBGRAPHS), ids=str)
def test_restricted_phases_find_one_embedding_of_each_occurrence(
    combination: Combination, depth: str
) -> None:
    @settings(settings.get_profile(depth))
    @given(cases(combination.directed, combination.labels), WAYS, CHUNKS)
    def holds(case: Case, way: Way, chunk: int) -> None:
        expected = case.occurrences(combination.semantics)
        rows, automorphisms = found(
            case.graph(), case.pattern(), combination.semantics, way, chunk, once_each=True
        )
        occurrence_of = {image: occurrence for occurrence in expected for image in occurrence}
        assert set(rows) <= set(occurrence_of), "a row is no embedding"
        assert {occurrence_of[row] for row in rows} == expected
        assert len(rows) == len(expected), "an occurrence came twice"
        assert len(rows) * automorphisms == len(occurrence_of)

    holds()


@pytest.mark.turns(4)
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("combination", rotating(EMBEDDINGS, 4), ids=str)
def test_vertices_that_may_coincide_do(combination: Combination, depth: str) -> None:
    @settings(settings.get_profile(depth))
    @given(coinciding_cases(combination.directed, combination.labels), WAYS, CHUNKS)
    def holds(drawn: Coinciding, way: Way, chunk: int) -> None:
        expected = drawn.embeddings(combination.semantics)
        rows, _ = found(drawn.case.graph(), drawn.pattern(), combination.semantics, way, chunk)
        assert set(rows) == expected
        assert len(rows) == len(expected), "an embedding came twice"

    holds()


@pytest.mark.turns(4)
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("combination", rotating(EMBEDDINGS, 4), ids=str)
def test_conditions_and_ids_hold(combination: Combination, depth: str) -> None:
    @settings(settings.get_profile(depth))
    @given(conditioned_cases(combination.directed, combination.labels), WAYS, CHUNKS)
    def holds(drawn: Conditioned, way: Way, chunk: int) -> None:
        expected = drawn.embeddings(combination.semantics)
        rows, _ = found(drawn.graph(), drawn.pattern(), combination.semantics, way, chunk)
        assert set(rows) == expected
        assert len(rows) == len(expected), "an embedding came twice"

    holds()


@st.composite
def fringed(draw: st.DrawFn) -> tuple[mf.Graph, mf.Pattern, str, str]:
    """Draw a pattern of up to eight vertices, many of which are leaves of a few, and a graph that has it.

    Phases of three and more vertices need such patterns, which are too large for the reference.
    """
    size, directed = draw(st.integers(5, 8)), draw(st.booleans())
    inner = draw(st.integers(1, 3))
    vertex_labels, edge_labels = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    asked = {(draw(st.integers(0, v - 1)), v) for v in range(1, inner)}
    asked |= {(draw(st.integers(0, inner - 1)), v) for v in range(inner, size)}
    if inner == 3 and draw(st.booleans()):
        asked |= {(0, 1), (0, 2), (1, 2)}
    asked_edges = sorted(asked)
    any_vertex, any_edge = (
        st.sampled_from((None, *range(labels), *range(labels))) for labels in (vertex_labels, edge_labels)
    )
    alike = draw(st.booleans())
    of_vertices = [draw(any_vertex)] * size if alike else [draw(any_vertex) for _ in range(size)]
    of_edges = [draw(any_edge)] * len(asked) if alike else [draw(any_edge) for _ in asked]
    vertices = draw(st.integers(size, size + 2))
    image = draw(st.permutations(range(vertices)))
    pairs = [(u, v) for u in range(vertices) for v in range(u)]
    edges = [(image[u], image[v]) for u, v in asked_edges]
    edges += draw(st.lists(st.sampled_from(pairs), max_size=vertices, unique=True))
    labels = [draw(st.integers(0, vertex_labels - 1)) for _ in range(vertices)]
    for vertex, label in enumerate(of_vertices):
        labels[image[vertex]] = labels[image[vertex]] if label is None else label
    kinds = [draw(st.integers(0, edge_labels - 1)) if label is None else label for label in of_edges]
    kinds += [draw(st.integers(0, edge_labels - 1)) for _ in edges[len(kinds) :]]
    graph = mf.Graph.from_edges(
        edges, num_vertices=vertices, vertex_labels=labels, edge_labels=kinds, directed=directed
    )
    pattern = mf.Pattern.from_edges(
        asked_edges,
        num_vertices=size,
        vertex_labels=of_vertices,
        edge_labels=of_edges,
        directed=directed and draw(st.booleans()),
    )
    semantics, symmetry = draw(
        st.sampled_from(
            [
                (semantics, symmetry)
                for semantics in ("isomorphism", "induced", "homomorphism")
                for symmetry in ("embeddings", "subgraphs")
                if (semantics, symmetry) != ("homomorphism", "subgraphs")
            ]
        )
    )
    return graph, pattern, semantics, symmetry


@pytest.mark.parametrize("depth", DEPTHS)
def test_phases_of_many_vertices_find_the_rows_of_the_search(depth: str) -> None:
    @settings(settings.get_profile(depth))
    @given(fringed(), WAYS, CHUNKS)
    def holds(drawn: tuple[mf.Graph, mf.Pattern, str, str], way: Way, chunk: int) -> None:
        graph, pattern, semantics, symmetry = drawn
        if mf.count(graph, pattern, semantics=semantics, symmetry=symmetry, device="cpu") > _MOST_ROWS:
            return
        once_each = symmetry == "subgraphs"
        rows, automorphisms = found(graph, pattern, semantics, way, chunk, once_each=once_each)
        expected = rows_of(mf.match(graph, pattern, semantics=semantics, device="cpu"))
        assert len(rows) == len(set(rows))
        if once_each:
            assert set(rows) <= set(expected)
            assert len(rows) * automorphisms == len(expected)
        else:
            assert sorted(rows) == sorted(expected)

    holds()
