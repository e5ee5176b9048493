"""Patterns with comparisons: embeddings, occurrences and choices on the CPU, against the reference."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.pattern.automorphism import automorphisms
from tests.compared_cases import ComparedCase, compared_cases, long_row_cases, without_comparisons
from tests.strategies import rows_of

DEPTHS = ["default", pytest.param("long", marks=pytest.mark.long)]
SEMANTICS = ["isomorphism", "induced", "homomorphism"]


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("semantics", SEMANTICS)
def test_embeddings_have_a_choice_of_copies_that_satisfies_all_comparisons(
    semantics: str, depth: str
) -> None:
    @settings(settings.get_profile(depth))
    @given(compared_cases(), st.sampled_from((1, 3)), st.sampled_from(("given", "sampled")))
    def holds(case: ComparedCase, threads: int, order: str) -> None:
        expected = case.embeddings(semantics)
        graph, pattern = case.graph(), case.pattern()
        options = {"semantics": semantics, "device": "cpu", "threads": threads, "tuning": {"order": order}}
        rows = rows_of(mf.match(graph, pattern, **options))
        assert set(rows) == expected
        assert len(rows) == len(expected), "a row came twice"
        assert mf.count(graph, pattern, **options) == len(expected)

    holds()


@pytest.mark.parametrize("semantics", SEMANTICS[:2])
@given(case=compared_cases())
def test_each_occurrence_is_found_once(semantics: str, case: ComparedCase) -> None:
    expected = case.occurrences(semantics)
    options = {"semantics": semantics, "symmetry": "subgraphs", "device": "cpu"}
    found = rows_of(mf.match(case.graph(), case.pattern(), **options))
    assert len(found) == len(expected)
    assert {occurrence for row in found for occurrence in expected if row in occurrence} == expected
    assert mf.count(case.graph(), case.pattern(), **options) == len(expected)


@pytest.mark.turns(8)
@pytest.mark.parametrize("depth", DEPTHS)
def test_candidates_by_value_are_those_of_whole_rows(depth: str) -> None:
    @settings(settings.get_profile(depth))
    @given(long_row_cases(), st.sampled_from((1, 3)))
    def holds(case: ComparedCase, threads: int) -> None:
        expected = case.embeddings()
        rows = rows_of(mf.match(case.graph(), case.pattern(), device="cpu", threads=threads))
        assert len(rows) == len(expected)
        assert set(rows) == expected

    holds()


@pytest.mark.parametrize("semantics", SEMANTICS)
@given(case=compared_cases(most_copies=7), compared=st.booleans())
def test_each_choice_of_copies_is_a_row(semantics: str, case: ComparedCase, compared: bool) -> None:
    if not compared:
        case = without_comparisons(case)
    graph, pattern = case.graph(), case.pattern()
    choices = case.choices(semantics)
    size, edges = len(case.pattern_vertex_labels), len(case.pattern_edges)
    options = {"semantics": semantics, "device": "cpu"}
    assert mf.count(graph, pattern, copies=True, **options) == sum(map(len, choices.values()))

    def copies_of(found: mf.Matches) -> list[tuple[int, ...]]:
        table = found.to_arrow().to_pydict()
        columns = [table[f"v{v}"] for v in range(size)] + [table[f"e{e}.number"] for e in range(edges)]
        return list(zip(*columns, strict=True))

    numbered = with_numbers(case)
    more = {"attributes": ["number"], **options}
    every = copies_of(mf.match(numbered, pattern, edges="all", **more))
    assert sorted(every) == sorted((*image, *copies) for image, found in choices.items() for copies in found)
    first = copies_of(mf.match(numbered, pattern, edges=True, **more))
    assert {row[:size] for row in first} == set(choices)
    assert all(row[size:] in choices[row[:size]] for row in first)


def with_numbers(case: ComparedCase) -> mf.Graph:
    """Return the graph of a case with the position of each copy as an attribute."""
    numbers = {"number": list(range(len(case.edges)))}
    return replace(case, edge_attributes={**case.edge_attributes, **numbers}).graph()


@given(case=compared_cases(most_copies=7), compared=st.booleans())
def test_choices_of_occurrences_are_counted_and_listed_by_one_rule(
    case: ComparedCase, compared: bool
) -> None:
    if not compared:
        case = without_comparisons(case)
    pattern = case.pattern()
    options = {"symmetry": "subgraphs", "device": "cpu"}
    listed = len(mf.match(case.graph(), pattern, edges="all", **options).to_numpy())
    assert mf.count(case.graph(), pattern, copies=True, **options) == listed
    group = automorphisms(pattern, directed=case.directed, every_edge=True)
    assert listed * group.order == sum(map(len, case.choices().values()))
