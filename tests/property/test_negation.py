"""Negated edges: embeddings, occurrences and automorphisms against the reference."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.cpu import reference
from motiflux.pattern.automorphism import automorphisms
from tests.compared_cases import ComparedCase, compared_cases
from tests.negation import Negated, negated_cases, negated_edges, with_negated
from tests.property.test_coinciding import Coinciding, coinciding_cases
from tests.rotating import rotating
from tests.strategies import COMBINATIONS, EMBEDDINGS, SUBGRAPHS, Combination, rows_of

DEPTHS = ["default", pytest.param("long", marks=pytest.mark.long)]


def check(combination: Combination, depth: str, **options: Any) -> None:
    """Compare rows and counts with the reference."""

    @settings(settings.get_profile(depth))
    @given(negated_cases(combination.directed, combination.labels))
    def holds(drawn: Negated) -> None:
        graph, pattern = drawn.case.graph(), drawn.pattern()
        given_options: dict[str, Any] = {**combination.options("cpu"), **options}
        rows = rows_of(mf.match(graph, pattern, **given_options))
        if combination.symmetry == "subgraphs":
            expected = drawn.occurrences(combination.semantics)
            assert {next((one for one in expected if row in one), None) for row in rows} == expected
        else:
            assert set(rows) == drawn.embeddings(combination.semantics)
            expected = set(rows)
        assert len(rows) == len(expected), "a row came twice"
        assert mf.count(graph, pattern, **given_options) == len(expected)

    holds()


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("combination", rotating(EMBEDDINGS, most=8), ids=str)
def test_matches_and_count_are_the_embeddings_of_the_reference(combination: Combination, depth: str) -> None:
    check(combination, depth)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("combination", rotating(SUBGRAPHS, most=6), ids=str)
def test_occurrences_are_those_of_the_reference(combination: Combination, depth: str) -> None:
    check(combination, depth)


@pytest.mark.turns(8)
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize(
    "tuning",
    [
        {"order": "given"},
        {"candidates": "on"},
        {"candidates": "on", "order": "adaptive"},
        {"backjump": "on"},
        {"tail": "off", "reuse": "off"},
        {"negation": "subtract"},
        {"negation": "search"},
    ],
    ids=lambda tuning: "-".join(f"{key}-{value}" for key, value in tuning.items()),
)
@pytest.mark.parametrize("combination", rotating(COMBINATIONS, most=3), ids=str)
def test_switches_change_nothing(combination: Combination, tuning: dict[str, str], depth: str) -> None:
    check(combination, depth, tuning=private_tuning(tuning))


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("labels", ["none", "both"])
@pytest.mark.parametrize("directed", [False, True])
def test_automorphisms_keep_negated_edges(directed: bool, labels: str, depth: str) -> None:
    @settings(settings.get_profile(depth))
    @given(negated_cases(directed, labels))
    def holds(drawn: Negated) -> None:
        expected = reference.automorphisms(
            drawn.case.pattern_vertex_labels, drawn.case.pattern_edges, directed=directed, negated=drawn.edges
        )
        assert automorphisms(drawn.pattern(), directed=directed).order == len(expected)

    holds()


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("labels", ["none", "both"])
@pytest.mark.parametrize("directed", [False, True])
def test_what_prints_reads_back(directed: bool, labels: str, depth: str) -> None:
    @settings(settings.get_profile(depth))
    @given(negated_cases(directed, labels))
    def holds(drawn: Negated) -> None:
        pattern = drawn.pattern()
        text = str(pattern)
        again = mf.Pattern.parse(text)
        assert again == pattern
        assert hash(again) == hash(pattern)
        assert str(again) == text

    holds()


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize(
    "combination", rotating([c for c in EMBEDDINGS if c.semantics == "isomorphism"]), ids=str
)
def test_negating_all_missing_edges_is_induced_matching(combination: Combination, depth: str) -> None:
    @settings(settings.get_profile(depth))
    @given(negated_cases(combination.directed, combination.labels))
    def holds(drawn: Negated) -> None:
        graph, pattern = drawn.case.graph(), drawn.case.pattern()
        induced = pattern.induced(directed=combination.directed)
        assert mf.count(graph, induced) == mf.count(graph, pattern, semantics="induced")
        assert set(rows_of(mf.match(graph, induced))) == drawn.case.embeddings("induced")

    holds()


@pytest.mark.parametrize("depth", DEPTHS)
def test_limits_cut_counts_and_rows(depth: str) -> None:
    @settings(settings.get_profile(depth))
    @given(negated_cases(True, "edge"), st.integers(0, 5), st.sampled_from(["subtract", "search"]))
    def holds(drawn: Negated, limit: int, negation: str) -> None:
        graph, pattern = drawn.case.graph(), drawn.pattern()
        whole = len(drawn.embeddings("isomorphism"))
        tuning = private_tuning({"negation": negation})
        found = mf.count(graph, pattern, limit=limit, tuning=tuning)
        assert found == min(whole, limit)
        assert found.complete == (whole <= limit)
        assert len(rows_of(mf.match(graph, pattern, limit=limit))) == min(whole, limit)

    holds()


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("combination", rotating(COMBINATIONS, most=6), ids=str)
def test_counts_per_vertex_are_those_of_the_reference(combination: Combination, depth: str) -> None:
    @settings(settings.get_profile(depth))
    @given(negated_cases(combination.directed, combination.labels))
    def holds(drawn: Negated) -> None:
        graph, pattern = drawn.case.graph(), drawn.pattern()
        counts = mf.count_per_vertex(
            graph, pattern, semantics=combination.semantics, symmetry=combination.symmetry
        )
        found = (
            drawn.occurrences(combination.semantics)
            if combination.symmetry == "subgraphs"
            else {frozenset((one,)) for one in drawn.embeddings(combination.semantics)}
        )
        for vertex in graph.vertex_ids.tolist():
            expected = tuple(
                sum(any(row[place] == vertex for row in rows) for rows in found)
                for place in range(pattern.num_vertices)
            )
            assert counts[vertex] == expected

    holds()


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("combination", rotating(COMBINATIONS, most=6), ids=str)
def test_several_patterns_are_counted_as_one_by_one(combination: Combination, depth: str) -> None:
    @settings(settings.get_profile(depth))
    @given(st.data())
    def holds(data: st.DataObject) -> None:
        drawn = data.draw(negated_cases(combination.directed, combination.labels))
        more = data.draw(negated_edges(drawn.case))
        patterns = [drawn.pattern(), drawn.case.pattern(), with_negated(drawn.case.pattern(), more)]
        graph, options = drawn.case.graph(), combination.options("cpu")
        counts = mf.count(graph, patterns, **options)
        assert [int(one) for one in counts] == [int(mf.count(graph, one, **options)) for one in patterns]

    holds()


@pytest.mark.turns(8)
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("estimator", ["wanderjoin", "alley", "tree"])
@pytest.mark.parametrize("combination", rotating(EMBEDDINGS, most=4), ids=str)
def test_estimates_of_many_samples_are_near_the_count(
    combination: Combination, estimator: str, depth: str
) -> None:
    """Horvitz-Thompson estimates are unbiased: an edge that is not looked for would show in the mean."""

    @settings(settings.get_profile(depth))
    @given(negated_cases(combination.directed, combination.labels, most=1))
    def holds(drawn: Negated) -> None:
        if combination.semantics == "induced":  # all arcs are looked for: others are refused
            plain = tuple(edge for edge in drawn.edges if edge[2] is None)
            drawn = Negated(drawn.case, plain)
        whole = len(drawn.embeddings(combination.semantics))
        found = mf.estimate(
            drawn.case.graph(),
            drawn.pattern(),
            semantics=combination.semantics,
            estimator=estimator,
            samples=1 << 14,
            confidence=0.9999999,
            seed=1,
            device="cpu",
            tuning={"count_first": "off", "trawling": "off"},
        )
        assert found.low <= whole <= found.high

    holds()


@pytest.mark.parametrize("depth", DEPTHS)
def test_random_rows_are_embeddings(depth: str) -> None:
    @settings(settings.get_profile(depth))
    @given(negated_cases(True, "both", most=1))
    def holds(drawn: Negated) -> None:
        whole = drawn.embeddings("isomorphism")
        rows = rows_of(mf.sample(drawn.case.graph(), drawn.pattern(), 20, seed=1, device="cpu", timeout=5))
        assert set(rows) <= whole
        assert bool(rows) == bool(whole)

    holds()


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("combination", rotating(EMBEDDINGS, most=6), ids=str)
def test_vertices_that_coincide_have_no_edge_between_them(combination: Combination, depth: str) -> None:
    @settings(settings.get_profile(depth))
    @given(coinciding_cases(combination.directed, combination.labels), st.data())
    def holds(drawn: Coinciding, data: st.DataObject) -> None:
        edges = data.draw(negated_edges(drawn.case))
        expected = Negated(drawn.case, edges).embeddings(combination.semantics, may_coincide=drawn.pairs)
        graph, pattern = drawn.case.graph(), with_negated(drawn.pattern(), edges)
        for negation in ("search", "subtract"):
            tuning = private_tuning({"negation": negation})
            options = {"semantics": combination.semantics, "device": "cpu", "tuning": tuning}
            assert mf.count(graph, pattern, **options) == len(expected)
        assert set(rows_of(mf.match(graph, pattern, semantics=combination.semantics))) == expected

    holds()


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("semantics", ["isomorphism", "induced", "homomorphism"])
def test_comparisons_go_with_negated_edges(semantics: str, depth: str) -> None:
    @settings(settings.get_profile(depth))
    @given(compared_cases(), st.data())
    def holds(case: ComparedCase, data: st.DataObject) -> None:
        edges = data.draw(negated_edges(case, pairs_only=False))
        found = reference.choices(
            *case._data, semantics=semantics, negated=edges, **case._options, **case._compared
        )
        pattern = with_negated(case.pattern(), edges)
        options: dict[str, Any] = {"semantics": semantics, "device": "cpu"}
        assert set(rows_of(mf.match(case.graph(), pattern, **options))) == set(found)
        assert mf.count(case.graph(), pattern, **options) == len(found)
        assert mf.count(case.graph(), pattern, copies=True, **options) == sum(map(len, found.values()))

    holds()


@pytest.mark.turns(3, "cpu", "emulated")
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("combination", rotating(EMBEDDINGS, most=4), ids=str)
def test_all_devices_know_edges_to_any_vertex(combination: Combination, depth: str, device: str) -> None:
    """They are conditions on vertices, which no engine hands over."""

    @settings(settings.get_profile(depth))
    @given(negated_cases(combination.directed, combination.labels))
    def holds(drawn: Negated) -> None:
        alone = tuple(
            edge for edge in drawn.edges if not isinstance(edge[0], int) or not isinstance(edge[1], int)
        )
        drawn = Negated(drawn.case, alone)
        found = mf.count(drawn.case.graph(), drawn.pattern(), **combination.options(device))
        assert found == len(drawn.embeddings(combination.semantics))

    holds()
