"""What makes a search fail sooner leaves nothing out, whatever else is switched on."""

from __future__ import annotations

from itertools import combinations
from math import comb
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.config import private_tuning
from tests.rotating import rotating
from tests.strategies import COMBINATIONS, Case, Combination, cases, rows_of, small_searches

ORDERS = ("adaptive", "given")
MANY = ["many", pytest.param("long", marks=pytest.mark.long)]
"""Profiles of tests that no combination of options splits."""
CELLS = [(*cell, order) for cell in COMBINATIONS for order in ("adaptive", "given")]
PLAIN = private_tuning({"backjump": "off", "room": "off", "parts": "off", "tail": "off", "tables": "off"})
SWITCHES = st.fixed_dictionaries(
    {
        "backjump": st.sampled_from(["on", "auto", "off"]),
        "room": st.sampled_from(["on", "off"]),
        "order": st.sampled_from(["adaptive", "sampled", "given"]),
        "candidates": st.sampled_from(["auto", "on", "off"]),
        "parts": st.sampled_from(["on", "off"]),
        "tail": st.sampled_from(["on", "off"]),
        "multiply": st.sampled_from(["on", "off"]),
        "reuse": st.sampled_from(["on", "off"]),
        "rounds": st.sampled_from(["0", "4"]),
    }
).map(private_tuning)


@pytest.mark.turns(2)
@pytest.mark.parametrize(
    (*Combination._fields, "order"), rotating([(*cell, order) for cell in COMBINATIONS for order in ORDERS])
)
def test_listing_and_counting_find_the_embeddings_of_the_reference(
    semantics: str, symmetry: str, directed: bool, labels: str, order: str
) -> None:
    combination = Combination(semantics, symmetry, directed, labels)

    @settings(settings.get_profile("default"))
    @given(cases(combination.directed, combination.labels), st.sampled_from((1, 4)), st.integers(1, 30))
    def holds(case: Case, threads: int, limit: int) -> None:
        tuning = {"backjump": "on", "order": order, "candidates": "on"}
        options = {**combination.options("cpu"), "tuning": tuning, "threads": threads}
        graph, pattern = case.graph(), case.pattern()
        everything = case.embeddings(combination.semantics)
        expected = len(everything)
        if combination.symmetry == "subgraphs":
            expected = len(case.occurrences(combination.semantics))
        assert mf.count(graph, pattern, **options) == expected
        limited = mf.count(graph, pattern, limit=limit, **options)
        assert (limited, limited.complete) == (min(limit, expected), expected <= limit)
        rows = rows_of(mf.match(graph, pattern, **options))
        assert len(rows) == len(set(rows)) == expected
        assert everything.issuperset(rows)

    holds()


@pytest.mark.turns(8)
@pytest.mark.parametrize("depth", MANY)
@pytest.mark.parametrize("semantics", ["isomorphism", "homomorphism", "induced"])
def test_every_switch_counts_the_same(semantics: str, depth: str) -> None:
    @settings(settings.get_profile(depth))
    @given(small_searches(most=8, reach=8, more=5), SWITCHES, st.sampled_from((1, 4)))
    def holds(case: tuple[mf.Graph, mf.Pattern], tuning: dict[str, str], threads: int) -> None:
        for symmetry in ("embeddings", "subgraphs") if semantics != "homomorphism" else ("embeddings",):
            asked = {"semantics": semantics, "symmetry": symmetry}
            expected = mf.count(*case, tuning=PLAIN, **asked)
            assert mf.count(*case, tuning=tuning, threads=threads, **asked) == expected
            limited = mf.count(*case, tuning=tuning, threads=threads, limit=10**6, **asked)
            assert (limited, limited.complete) == (min(expected, 10**6), expected <= 10**6)

    holds()


def two_cliques(seed: int) -> tuple[mf.Graph, mf.Pattern]:
    """Give a sparse graph and a pattern that is rare in it: a search meets much and finds little."""
    size, random = 300, Random(seed)
    edges = [pair for pair in combinations(range(size), 2) if random.random() < 0.08]
    graph = mf.Graph.from_edges(edges, num_vertices=size, vertex_labels=[v % 2 for v in range(size)])
    asked = [*combinations(range(4), 2), *combinations(range(3, 7), 2)]
    return graph, mf.Pattern.from_edges(asked, vertex_labels=[v % 2 for v in range(7)])


@pytest.mark.turns(8)
@settings(max_examples=20)
@given(st.integers(0, 100), st.sampled_from((1, 4)), st.sampled_from(["embeddings", "subgraphs"]))
def test_a_search_that_changes_its_order_on_the_way_finds_each_embedding_once(
    seed: int, threads: int, symmetry: str
) -> None:
    graph, pattern = two_cliques(seed)
    expected = sorted(rows_of(mf.match(graph, pattern, tuning=PLAIN, symmetry=symmetry)))
    for tuning in ({}, {"backjump": "on"}, {"order": "adaptive"}):
        options = {"tuning": tuning, "threads": threads, "symmetry": symmetry}
        assert mf.count(graph, pattern, limit=len(expected) + 1, **options) == len(expected)
        assert sorted(rows_of(mf.match(graph, pattern, **options))) == expected


def test_a_search_that_finds_little_changes_its_order() -> None:
    graph, pattern = two_cliques(0)
    in_order = rows_of(mf.match(graph, pattern, tuning={"backjump": "off"}, threads=1))
    changed = rows_of(mf.match(graph, pattern, threads=1))
    assert in_order != changed
    assert sorted(in_order) == sorted(changed)


def bushes_and_a_triangle() -> tuple[mf.Graph, mf.Pattern]:
    """Give a pattern whose triangle is never there, though every edge of it is, after leaves without end."""
    kinds, each = 6, 30
    bushes = [1 + kind * each + leaf for kind in range(kinds) for leaf in range(each)]
    ring = [1 + kinds * each + place for place in range(6)]
    edges = [(0, vertex) for vertex in bushes + ring]
    edges += [(ring[at], ring[(at + 1) % 6]) for at in range(6)]
    labels = [0, *(1 + (vertex - 1) // each for vertex in bushes), *[kinds + 1] * 6]
    graph = mf.Graph.from_edges(edges, vertex_labels=labels)
    asked = [(0, leaf) for leaf in range(1, kinds + 4)] + list(combinations(range(kinds + 1, kinds + 4), 2))
    pattern = mf.Pattern.from_edges(asked, vertex_labels=[*range(kinds + 1), *[kinds + 1] * 3])
    return graph, pattern


def test_a_triangle_that_is_not_there_is_sought_once() -> None:
    graph, pattern = bushes_and_a_triangle()
    tuning = {"order": "given", "tail": "off", "parts": "off", "backjump": "on", "tables": "off"}
    report = mf.explain(graph, pattern, analyze=True, tuning=tuning, threads=1).report
    assert sum(step.actual or 0 for step in report.steps) < 100
    assert mf.count(graph, pattern, tuning=tuning) == 0


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize(
    "tuning",
    [{"order": "given"}, {"order": "adaptive"}, {"order": "adaptive", "backjump": "off"}],
    ids=str,
)
def test_it_is_not_found_in_any_other_way_either(tuning: dict[str, str], threads: int) -> None:
    graph, pattern = bushes_and_a_triangle()
    assert mf.count(graph, pattern, limit=10, tuning=tuning, threads=threads) == 0
    assert len(mf.match(graph, pattern, tuning=tuning, threads=threads).to_numpy()) == 0


@pytest.mark.parametrize("leaves", [28, 31])
def test_leaves_are_not_taken_from_the_end_of_a_row_that_is_too_short(leaves: int) -> None:
    graph = mf.Graph.from_edges(list(combinations(range(33), 2)))
    star = mf.Pattern.from_edges([(0, leaf) for leaf in range(1, leaves + 1)])
    found = mf.match(graph, star, symmetry="subgraphs", limit=2000, threads=1).to_numpy()
    assert len(found) == min(2000, 33 * comb(32, leaves))


@pytest.mark.turns(8)
@pytest.mark.parametrize("size", [pytest.param(29, marks=pytest.mark.long), 31, 32])
def test_a_clique_looks_for_no_vertices_that_cannot_be_enough(size: int) -> None:
    graph = mf.Graph.from_edges(list(combinations(range(33), 2)))
    clique = mf.Pattern.from_edges(list(combinations(range(size), 2)))
    report = mf.explain(graph, clique, analyze=True, symmetry="subgraphs", threads=1).report
    sizes = [step.actual or 0 for step in report.steps]
    assert mf.count(graph, clique, symmetry="subgraphs", tuning={"tables": "off"}) == comb(33, size)
    assert sum(sizes) < size * comb(33, size) + 33**2
