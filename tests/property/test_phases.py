"""The phases of a pattern find what the definitions say, for every combination of options."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motiflux.plan.bind import bind
from motiflux.plan.phases.data import HandOver
from motiflux.plan.phases.decompose import decompose
from motiflux.plan.phases.statistics import phase_statistics
from motiflux.types import Semantics
from tests.phases_reference import Executor
from tests.rotating import rotating
from tests.strategies import EMBEDDINGS, SUBGRAPHS, Case, Combination, cases

DEPTHS = ["default", pytest.param("long", marks=pytest.mark.long)]
CHUNKS = st.sampled_from((1, 2, 7, 10_000))
Way = Literal["pv", "sv"]
WAYS: st.SearchStrategy[Way] = st.sampled_from(("pv", "sv"))


def found(
    case: Case, combination: Combination, way: Way, chunk: int, *, once_each: bool
) -> tuple[list[tuple[Any, ...]], int]:
    """Return the rows that the phases find, in external ids, and the order of the automorphism group."""
    graph, pattern = case.graph(), case.pattern()
    bound = bind(pattern, graph)
    plan = decompose(
        pattern,
        bound,
        phase_statistics(bound, graph),
        Semantics(combination.semantics),
        once_each=once_each,
        pvm=way,
    )
    assert not isinstance(plan, HandOver)
    run = Executor(graph, plan, chunk=chunk)
    rows = run.rows()
    assert run.most_held <= chunk * len(plan.phases)
    ids = graph.vertex_ids.tolist()
    return [tuple(ids[vertex] for vertex in row) for row in rows], plan.automorphisms


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("combination", rotating(EMBEDDINGS), ids=str)
def test_phases_find_the_embeddings_of_the_reference(combination: Combination, depth: str) -> None:
    @settings(settings.get_profile(depth))
    @given(cases(combination.directed, combination.labels), WAYS, CHUNKS)
    def holds(case: Case, way: Way, chunk: int) -> None:
        expected = case.embeddings(combination.semantics)
        rows, _ = found(case, combination, way, chunk, once_each=False)
        assert set(rows) == expected
        assert len(rows) == len(expected), "an embedding came twice"

    holds()


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("combination", rotating(SUBGRAPHS), ids=str)
def test_restricted_phases_find_one_embedding_of_each_occurrence(
    combination: Combination, depth: str
) -> None:
    @settings(settings.get_profile(depth))
    @given(cases(combination.directed, combination.labels), WAYS, CHUNKS)
    def holds(case: Case, way: Way, chunk: int) -> None:
        expected = case.occurrences(combination.semantics)
        rows, automorphisms = found(case, combination, way, chunk, once_each=True)
        occurrence_of = {image: occurrence for occurrence in expected for image in occurrence}
        assert set(rows) <= set(occurrence_of), "a row is no embedding"
        assert {occurrence_of[row] for row in rows} == expected
        assert len(rows) == len(expected), "an occurrence came twice"
        assert len(rows) * automorphisms == len(occurrence_of)

    holds()
