"""What motiflux finds is what the definitions say, for every combination of options."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

import motiflux as mf
from tests.rotating import rotating
from tests.strategies import EMBEDDINGS, SUBGRAPHS, Case, Combination, cases, rows_of

DEPTHS = ["default", pytest.param("long", marks=pytest.mark.long)]


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("combination", rotating(EMBEDDINGS), ids=str)
def test_matches_and_count_are_the_embeddings_of_the_reference(
    combination: Combination, depth: str, device: str
) -> None:
    @settings(settings.get_profile(depth))
    @given(cases(combination.directed, combination.labels))
    def holds(case: Case) -> None:
        expected = case.embeddings(combination.semantics)
        graph, pattern = case.graph(), case.pattern()
        matches = mf.match(graph, pattern, semantics=combination.semantics, device=device)
        rows = rows_of(matches)
        assert set(rows) == expected
        assert len(rows) == len(expected), "a row came twice"
        assert (matches.rows, matches.complete) == (len(rows), True)
        counted = mf.count(graph, pattern, semantics=combination.semantics, device=device)
        assert (counted, counted.complete) == (len(expected), True)

    holds()


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("combination", rotating(SUBGRAPHS), ids=str)
def test_subgraphs_are_one_embedding_of_each_occurrence(
    combination: Combination, depth: str, device: str
) -> None:
    @settings(settings.get_profile(depth))
    @given(cases(combination.directed, combination.labels))
    def holds(case: Case) -> None:
        expected = case.occurrences(combination.semantics)
        graph, pattern = case.graph(), case.pattern()
        options = combination.options(device)
        rows = rows_of(mf.match(graph, pattern, **options))
        occurrence_of = {image: occurrence for occurrence in expected for image in occurrence}
        assert set(rows) <= set(occurrence_of), "a row is no embedding"
        assert {occurrence_of[row] for row in rows} == expected
        assert len(rows) == len(expected), "an occurrence came twice"
        counted = mf.count(graph, pattern, **options)
        assert (counted, counted.complete) == (len(expected), True)

    holds()
