"""Signatures, by which candidates are filtered, leave out no vertex of an embedding."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.codegen.pvm import EVERY_LABEL
from motiflux.gpu.pvm.signatures import Labels, Signature, signatures_of_graph, signatures_of_query
from motiflux.plan.bind import bind
from motiflux.plan.phases.data import PhasePlan
from motiflux.plan.phases.decompose import decompose
from motiflux.plan.phases.statistics import phase_statistics
from motiflux.types import Semantics
from tests.property.test_coinciding import Coinciding, coinciding_cases
from tests.rotating import rotating
from tests.strategies import EMBEDDINGS, Case, Combination, cases


def phases(graph: mf.Graph, pattern: mf.Pattern, semantics: str, pvm: str) -> PhasePlan:
    bound = bind(pattern, graph)
    plan = decompose(
        pattern,
        bound,
        phase_statistics(bound, graph),
        Semantics(semantics),
        pvm="sv" if pvm == "sv" else "pv",
    )
    assert isinstance(plan, PhasePlan)
    return plan


def candidates(graph: mf.Graph, signature: Signature) -> set[int]:
    """Return the vertices that have a signature, as the kernel finds them."""
    words = signatures_of_graph(graph)
    label, arcs, *bits = signature.words
    found = words[1] >= arcs
    if label != EVERY_LABEL:
        found &= words[0] == label
    for have, want in zip(words[2:], bits, strict=True):
        found &= have & np.uint32(want) == want
    return set(np.flatnonzero(found).tolist())


def check(
    graph: mf.Graph, pattern: mf.Pattern, embeddings: set[tuple[int, ...]], semantics: str, pvm: str
) -> None:
    plan = phases(graph, pattern, semantics, pvm)
    wanted = signatures_of_query(plan, Labels.of(graph))
    ids = graph.vertex_ids.tolist()
    for vertex in plan.order:
        images = {row[vertex] for row in embeddings}
        assert images <= {ids[one] for one in candidates(graph, wanted[vertex])}
    for phase in plan.extensions:
        for one in phase.sets:
            common = Signature.common([wanted[member] for member in one.members])
            assert common is not None
            for member in one.members:
                assert candidates(graph, wanted[member]) <= candidates(graph, common)


@pytest.mark.parametrize("combination", rotating(EMBEDDINGS), ids=str)
def test_images_of_query_vertices_have_their_signatures(combination: Combination) -> None:
    @settings(deadline=None)
    @given(cases(combination.directed, combination.labels), st.sampled_from(("pv", "sv")))
    def holds(case: Case, pvm: str) -> None:
        expected = case.embeddings(combination.semantics)
        check(case.graph(), case.pattern(), expected, combination.semantics, pvm)

    holds()


@pytest.mark.parametrize("combination", rotating(EMBEDDINGS, 4), ids=str)
def test_vertices_that_may_coincide_do_not_count_as_two(combination: Combination) -> None:
    @settings(deadline=None)
    @given(coinciding_cases(combination.directed, combination.labels), st.sampled_from(("pv", "sv")))
    def holds(drawn: Coinciding, pvm: str) -> None:
        expected = drawn.embeddings(combination.semantics)
        check(drawn.case.graph(), drawn.pattern(), expected, combination.semantics, pvm)

    holds()


def test_signatures_tell_none_one_and_more_neighbours_by_labels() -> None:
    graph = mf.Graph.from_edges(
        [(0, 1), (0, 2), (0, 3), (4, 5), (4, 6), (7, 8), (7, 9)],
        edge_labels=["x", "x", "y", "x", "y", "x", "x"],
        vertex_labels=["r", "s", "s", "s", "r", "s", "s", "r", "s", "t"],
    )
    ids = graph.vertex_ids.tolist()

    def found(text: str, vertex: int, semantics: str = "isomorphism") -> set[int]:
        pattern = mf.Pattern.parse(text)
        wanted = signatures_of_query(phases(graph, pattern, semantics, "pv"), Labels.of(graph))
        return {ids[one] for one in candidates(graph, wanted[vertex])}

    assert found("(a:r)-[:x]-(b:s)", 0) == {0, 4, 7}
    assert found("(a:r)-[:y]-(b:s)", 0) == {0, 4}
    assert found("(a:r)-[:x]-(b:s), (a)-[:x]-(c:s)", 0) == {0}
    assert found("(a:r)-[:x]-(b:s), (a)-[:x]-(c:s)", 0, "homomorphism") == {0, 4, 7}
    assert found("(a:r)-[:x]-(b), (a)-[:x]-(c)", 0) == {0, 4, 7}  # by the number of arcs alone
    assert found("(a:r)--(b)--(c), (a)--(d), (a)--(e)", 0) == {0}
    assert found("(a:r)-[:x]-(b:t)", 0) == {7}
    assert found("(a:r)-[:x]-(b:t)", 1) == {9}


def test_signatures_tell_directions_apart() -> None:
    graph = mf.Graph.from_edges([(0, 1), (2, 0), (3, 4)], directed=True)
    ids = graph.vertex_ids.tolist()
    wanted = signatures_of_query(
        phases(graph, mf.Pattern.parse("(a)-->(b), (c)-->(a)"), "isomorphism", "pv"), Labels.of(graph)
    )
    assert {ids[one] for one in candidates(graph, wanted[0])} == {0}
