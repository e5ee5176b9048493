"""Counts depend on the graph and the pattern, not on how they are written down."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.pattern.automorphism import automorphisms
from tests.rotating import rotating
from tests.strategies import (
    COMBINATIONS,
    Case,
    Combination,
    cases,
    renamed,
    reordered_edges,
    reordered_pattern,
    rows_of,
)

DEPTHS = ["default", pytest.param("long", marks=pytest.mark.long)]
DATA = sorted({(c.directed, c.labels) for c in COMBINATIONS})
"""Direction and labels of the data graph."""


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("combination", rotating(COMBINATIONS, most=10), ids=str)
def test_order_of_vertices_and_edges_changes_no_match(
    combination: Combination, depth: str, device: str
) -> None:
    @settings(settings.get_profile(depth))
    @given(cases(combination.directed, combination.labels), st.data())
    def holds(case: Case, data: st.DataObject) -> None:
        options: dict[str, Any] = {"semantics": combination.semantics, "device": device}
        vertices = data.draw(st.permutations(range(len(case.ids))), label="vertices")
        edges = data.draw(st.permutations(range(len(case.edges))), label="edges")
        other = reordered_edges(renamed(case, vertices), edges)
        pattern = case.pattern()
        expected = set(rows_of(mf.match(case.graph(), pattern, **options)))
        assert set(rows_of(mf.match(other.graph(), pattern, **options))) == expected

        query = data.draw(st.permutations(range(pattern.num_vertices)), label="query vertices")
        rows = rows_of(mf.match(case.graph(), reordered_pattern(case, query).pattern(), **options))
        assert set(rows) == {tuple(image[vertex] for vertex in query) for image in expected}
        assert len(rows) == len(expected)
        if combination.symmetry == "subgraphs":
            options["symmetry"] = "subgraphs"
            counts = {
                int(mf.count(variant.graph(), variant.pattern(), **options))
                for variant in (case, other, reordered_pattern(case, query))
            }
            assert len(counts) == 1

    holds()


@pytest.mark.turns(8)
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize(("directed", "labels"), DATA)
def test_counts_obey_the_identities_between_meanings(
    directed: bool, labels: str, depth: str, device: str
) -> None:
    @settings(settings.get_profile(depth))
    @given(cases(directed, labels))
    def holds(case: Case) -> None:
        graph, pattern = case.graph(), case.pattern()
        count = {
            (semantics, symmetry): int(
                mf.count(graph, pattern, semantics=semantics, symmetry=symmetry, device=device)
            )
            for _, semantics, symmetry in {(None, c.semantics, c.symmetry) for c in COMBINATIONS}
        }
        order = len(case.automorphisms())
        for semantics in ("isomorphism", "induced"):
            assert count[semantics, "embeddings"] == order * count[semantics, "subgraphs"]
        assert count["induced", "embeddings"] <= count["isomorphism", "embeddings"]
        assert count["isomorphism", "embeddings"] <= count["homomorphism", "embeddings"]

    holds()


@pytest.mark.turns(8)
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("labels", ["none", "vertex", "edge", "both"])
def test_directed_read_as_undirected_is_both_arcs_of_every_edge(labels: str, depth: str, device: str) -> None:
    """On symmetric arcs, a directed graph and its undirected reading have the same matches."""

    @settings(settings.get_profile(depth))
    @given(cases(False, labels), st.sampled_from(("isomorphism", "induced", "homomorphism")))
    def holds(case: Case, semantics: str) -> None:
        both_ways = replace(
            case,
            directed=True,
            edges=case.edges + tuple((v, u) for u, v in case.edges),
            edge_labels=None if case.edge_labels is None else case.edge_labels * 2,
            pattern_edges=tuple((u, v, choice, "either") for u, v, choice, _ in case.pattern_edges),
        )
        options: dict[str, Any] = {"semantics": semantics, "device": device}
        expected = set(rows_of(mf.match(case.graph(), case.pattern(), **options)))
        assert set(rows_of(mf.match(both_ways.graph(), both_ways.pattern(), **options))) == expected

    holds()


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize(("directed", "labels"), DATA)
def test_automorphisms_are_those_found_by_trying_all_permutations(
    directed: bool, labels: str, depth: str
) -> None:
    @settings(settings.get_profile(depth))
    @given(cases(directed, labels), st.data())
    def holds(case: Case, data: st.DataObject) -> None:
        expected = case.automorphisms()
        base = data.draw(st.permutations(range(len(case.pattern_vertex_labels))), label="base")
        found = automorphisms(case.pattern(), directed=case.directed, base=base)
        assert found.order == len(expected)
        assert closure(found.generators, len(base)) == expected
        for depth, orbit in enumerate(found.orbits):
            fixing = [to for to in expected if all(to[v] == v for v in base[:depth])]
            assert orbit == {to[base[depth]] for to in fixing}

    holds()


def closure(generators: Iterable[tuple[int, ...]], size: int) -> set[tuple[int, ...]]:
    """All products of the permutations."""
    reached = {tuple(range(size))}
    frontier = list(reached)
    while frontier:
        permutation = frontier.pop()
        for generator in generators:
            product = tuple(generator[vertex] for vertex in permutation)
            if product not in reached:
                reached.add(product)
                frontier.append(product)
    return reached
