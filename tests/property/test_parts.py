"""Counting in parts finds what enumerating finds, whatever else is switched on."""

from __future__ import annotations

from itertools import combinations
from math import perm

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.plan import make_plan
from tests.rotating import rotating
from tests.strategies import COMBINATIONS, Case, Combination, cases, small_searches

MANY = ["many", pytest.param("long", marks=pytest.mark.long)]
"""Profiles of tests that no combination of options splits."""
PLAIN = private_tuning(
    {"parts": "off", "tail": "off", "multiply": "off", "candidates": "off", "order": "given"}
)
SWITCHES = st.fixed_dictionaries(
    {
        "parts": st.just("on"),
        "candidates": st.sampled_from(["auto", "on", "off"]),
        "order": st.sampled_from(["sampled", "cost", "given"]),
        "multiply": st.sampled_from(["on", "off"]),
        "degrees": st.sampled_from(["on", "off"]),
        "lists": st.sampled_from(["on", "on", "off"]),
    }
).map(private_tuning)

CASES = small_searches(most=8, reach=3, more=3)
"""Patterns that fall apart."""


@pytest.mark.turns(8)
@pytest.mark.parametrize("depth", MANY)
@pytest.mark.parametrize("semantics", ["isomorphism", "homomorphism", "induced"])
def test_parts_count_what_enumerating_counts(semantics: str, depth: str) -> None:
    @settings(settings.get_profile(depth))
    @given(CASES, SWITCHES)
    def holds(case: tuple[mf.Graph, mf.Pattern], tuning: dict[str, str]) -> None:
        graph, pattern = case
        for symmetry in ("embeddings", "subgraphs") if semantics != "homomorphism" else ("embeddings",):
            asked = {"semantics": semantics, "symmetry": symmetry}
            expected = mf.count(graph, pattern, tuning=PLAIN, **asked)
            assert mf.count(graph, pattern, tuning=tuning, **asked) == expected
            assert mf.count(graph, pattern, tuning=tuning, threads=2, **asked) == expected

    holds()


@pytest.mark.parametrize("combination", rotating(COMBINATIONS), ids=str)
def test_parts_count_the_embeddings_of_the_reference(combination: Combination) -> None:
    @settings(settings.get_profile("default"))
    @given(cases(combination.directed, combination.labels))
    def holds(case: Case) -> None:
        find = case.embeddings if combination.symmetry == "embeddings" else case.occurrences
        counted = mf.count(case.graph(), case.pattern(), tuning={"parts": "on"}, **combination.options("cpu"))
        assert (counted, counted.complete) == (len(find(combination.semantics)), True)

    holds()


@pytest.mark.turns(8)
@pytest.mark.parametrize("depth", MANY)
def test_a_limit_that_is_not_reached_cuts_nothing(depth: str) -> None:
    @settings(settings.get_profile(depth))
    @given(CASES, st.integers(10**9, 10**10))
    def holds(case: tuple[mf.Graph, mf.Pattern], limit: int) -> None:
        counted = mf.count(*case, tuning={"parts": "on"}, limit=limit)
        assert (counted, counted.complete) == (mf.count(*case, tuning=PLAIN), True)

    holds()


@st.composite
def trees(draw: st.DrawFn) -> mf.Pattern:
    size = draw(st.integers(4, 9))
    return mf.Pattern.from_edges([(draw(st.integers(0, v - 1)), v) for v in range(1, size)])


@pytest.mark.turns(8)
@settings(max_examples=100)
@given(trees(), st.sampled_from([9, 10]), st.sampled_from(["given", "cost"]))
def test_complete_graphs_hold_every_injective_map_of_a_tree(tree: mf.Pattern, size: int, order: str) -> None:
    graph = mf.Graph.from_edges(list(combinations(range(size), 2)))
    for candidates in ("on", "off"):
        tuning = {"parts": "on", "order": order, "candidates": candidates}
        assert mf.count(graph, tree, tuning=tuning) == perm(size, tree.num_vertices)
        plan = make_plan(graph, tree, space=True, tail=True, parts=True, tuning=tuning)
        assert plan.tail is not None
