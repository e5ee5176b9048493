"""Counting with tails finds what enumerating finds, on every device."""

from __future__ import annotations

from itertools import combinations
from math import comb, perm
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.codegen import layout
from motiflux.codegen.tails import DeviceTail, device_tail
from motiflux.config import private_tuning
from motiflux.plan import make_plan
from tests.rotating import rotating
from tests.strategies import COMBINATIONS, Case, Combination, cases, small_searches

MANY = 60
PLAIN = private_tuning(
    {"parts": "off", "tail": "off", "multiply": "off", "candidates": "off", "order": "given"}
)
SWITCHES = st.fixed_dictionaries(
    {
        "parts": st.sampled_from(["on", "off"]),
        "candidates": st.sampled_from(["auto", "on", "off"]),
        "order": st.sampled_from(["sampled", "cost", "given"]),
        "multiply": st.sampled_from(["on", "off"]),
        "degrees": st.sampled_from(["on", "off"]),
        "reuse": st.sampled_from(["on", "on", "off"]),
        "lanes": st.sampled_from(["8", "16"]),
        "remember": st.sampled_from(["on", "off"]),
        "specialize": st.just("off"),
    }
).map(private_tuning)
PATTERNS = {
    "star": [(0, 1), (0, 2), (0, 3)],
    "path": [(0, 1), (1, 2), (2, 3)],
    "triangle with a tail": [(0, 1), (1, 2), (2, 0), (0, 3)],
    "triangle with three tails": [(0, 1), (1, 2), (2, 0), (0, 3), (1, 4), (2, 5)],
    "triangle with a tail of four": [(0, 1), (1, 2), (2, 0), (0, 3), (3, 4), (4, 5), (5, 6)],
    "two triangles on a path": [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)],
    "square with two tails each": [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (0, 5), (2, 6), (2, 7)],
}

CASES = small_searches(most=7, reach=4, more=2)
"""Patterns that have tails."""


@pytest.mark.turns(8)
@pytest.mark.parametrize("semantics", ["isomorphism", "homomorphism", "induced"])
def test_tails_count_what_enumerating_counts(device: str, semantics: str) -> None:
    @settings(max_examples=MANY)
    @given(CASES, SWITCHES)
    def holds(case: tuple[mf.Graph, mf.Pattern], tuning: dict[str, str]) -> None:
        graph, pattern = case
        for symmetry in ("embeddings", "subgraphs") if semantics != "homomorphism" else ("embeddings",):
            asked: dict[str, Any] = {"semantics": semantics, "symmetry": symmetry}
            expected = mf.count(graph, pattern, tuning=PLAIN, **asked)
            counted = mf.count(graph, pattern, tuning=tuning, device=device, **asked)
            assert (counted, counted.complete) == (expected, True)

    holds()


@pytest.mark.turns(8)
@settings(max_examples=MANY)
@given(CASES, st.integers(0, 300))
def test_a_limit_cuts_where_there_is_more(device: str, case: tuple[mf.Graph, mf.Pattern], limit: int) -> None:
    expected = mf.count(*case, tuning=PLAIN)
    counted = mf.count(*case, limit=limit, device=device, tuning={"specialize": "off"})
    assert (counted, counted.complete) == (min(expected, limit), expected <= limit)


@pytest.mark.parametrize("combination", rotating(COMBINATIONS), ids=str)
def test_parts_count_the_embeddings_of_the_reference(device: str, combination: Combination) -> None:
    @settings(settings.get_profile("default"))
    @given(cases(combination.directed, combination.labels))
    def holds(case: Case) -> None:
        find = case.embeddings if combination.symmetry == "embeddings" else case.occurrences
        options = combination.options(device)
        counted = mf.count(case.graph(), case.pattern(), tuning={"parts": "on"}, **options)
        assert (counted, counted.complete) == (len(find(combination.semantics)), True)

    holds()


@pytest.fixture(scope="module")
def hubs() -> mf.Graph:
    """A graph of 60 vertices of which six have most neighbours, and many have them in common."""
    pairs = np.random.default_rng(5).integers(0, 60, (420, 2))
    pairs[:150, 0] %= 6
    return mf.Graph.from_edges(pairs, self_loops="drop")


@pytest.mark.turns(8, "cpu", "emulated")
@pytest.mark.parametrize("lanes", ["8", "16", "32"])
@pytest.mark.parametrize("edges", PATTERNS.values(), ids=PATTERNS.keys())
def test_hubs_are_counted_by_all_lanes(
    device: str, hubs: mf.Graph, edges: list[tuple[int, int]], lanes: str
) -> None:
    pattern = mf.Pattern.from_edges(edges)
    expected = mf.count(hubs, pattern, device="cpu")
    for parts in ("on", "off"):
        tuning = {"lanes": lanes, "parts": parts, "specialize": "off"}
        assert mf.count(hubs, pattern, device=device, tuning=tuning) == expected


@pytest.mark.parametrize("leaves", [2, 3, 5, 8, 12, 31])
def test_stars_are_falling_factorials_of_any_size(device: str, leaves: int) -> None:
    """From 8 leaves on, some of these pass 64 bits, and with 31 they pass 128."""
    size = 70_000 if leaves > 8 else 5_000
    graph = mf.Graph.from_edges([(0, leaf) for leaf in range(1, size + 1)])
    star = mf.Pattern.from_edges([(0, leaf) for leaf in range(1, leaves + 1)])
    assert mf.count(graph, star, device=device) == perm(size, leaves)
    assert mf.count(graph, star, device=device, symmetry="subgraphs") == comb(size, leaves)
    mapped = mf.count(graph, star, device=device, semantics="homomorphism")
    assert mapped == size**leaves + size
    limited = mf.count(graph, star, device=device, limit=1000)
    assert (int(limited), limited.complete) == (1000, False)


@pytest.mark.parametrize("size", [9, 10])
def test_complete_graphs_hold_every_injective_map_of_a_tree(device: str, size: int) -> None:
    graph = mf.Graph.from_edges(list(combinations(range(size), 2)))
    for edges in ([(0, 1), (1, 2), (2, 3), (3, 4), (1, 5)], [(0, v) for v in range(1, 7)]):
        tree = mf.Pattern.from_edges(edges)
        for parts in ("on", "off"):
            tuning = {"parts": parts, "specialize": "off"}
            assert mf.count(graph, tree, device=device, tuning=tuning) == perm(size, tree.num_vertices)


def test_vertices_that_may_coincide_are_counted_once(device: str) -> None:
    graph = mf.Graph.from_edges(list(combinations(range(8), 2))[:22])
    pattern = mf.Pattern.parse("(a)--(b), (a)--(c), (a)--(d), (b)--(e), (b)--(f) WHERE may_equal(c, e)")
    expected = mf.count(graph, pattern, tuning=PLAIN)
    for parts in ("on", "off"):
        assert mf.count(graph, pattern, device=device, tuning={"parts": parts}) == expected


class TestWhatIsMeasured:
    def tail(self, pattern: str, semantics: str = "isomorphism", **tuning: str) -> DeviceTail:
        graph = mf.Graph.from_edges(list(combinations(range(8), 2)))
        plan = make_plan(
            graph,
            mf.Pattern.parse(pattern),
            semantics=mf.types.Semantics(semantics),
            tail=True,
            parts=True,
            tuning={"order": "given", **tuning},
        )
        tail = device_tail(plan)
        assert tail is not None
        return tail

    def test_what_depends_on_the_first_vertex_alone_is_counted_once_for_it(self) -> None:
        tail = self.tail("(a)--(b), (b)--(c), (a)--(d)", "homomorphism", parts="off")
        assert (tail.start, tail.nested) == (2, False)
        assert [len(tail.sizes[level]) for level in (0, 1)] == [1, 1]

    def test_two_sets_of_which_one_contains_the_other_are_two_sizes(self) -> None:
        tail = self.tail("(a)--(b), (a)--(c), (b)--(c), (a)--(d)", parts="off")
        (pair,) = tail.sizes[1]
        assert (pair.kind, len(pair.sets), pair.of_level, pair.common) == (layout.TAIL_PAIR, 2, (0, 1), 0)

    def test_vertices_of_rows_that_are_read_need_no_look_up(self) -> None:
        tail = self.tail("(a)--(b), (a)--(c), (b)--(d)", parts="off")
        (pair,) = tail.sizes[1]
        assert [one.apart for one in pair.sets] == [{1}, {0}, frozenset()]

    def test_a_level_from_which_something_hangs_is_walked(self) -> None:
        tail = self.tail("(a)--(b), (b)--(c), (c)--(a), (c)--(d), (d)--(e)", parts="on")
        assert tail.nested
        assert {one.level for one in tail.walked()} >= {2}
