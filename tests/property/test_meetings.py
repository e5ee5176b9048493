"""Pieces that meet others are counted as a whole as they are one by one; for a device, by the host."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.codegen.tails import device_tail
from motiflux.config import private_tuning
from motiflux.gpu.engine import DfsEngine
from motiflux.plan import Plan, make_plan
from tests.strategies import Case

MANY = 30
PLAIN = private_tuning(
    {"parts": "off", "tail": "off", "multiply": "off", "candidates": "off", "order": "given"}
)
SWITCHES = st.fixed_dictionaries(
    {
        "parts": st.just("on"),
        "lists": st.sampled_from(["on", "on", "off"]),
        "candidates": st.sampled_from(["auto", "on", "off"]),
        "order": st.sampled_from(["sampled", "cost", "given"]),
        "multiply": st.sampled_from(["on", "off"]),
        "reuse": st.sampled_from(["on", "off"]),
        "lanes": st.sampled_from(["8", "32"]),
        "remember": st.sampled_from(["on", "off"]),
        "specialize": st.just("off"),
    }
).map(private_tuning)
FORK = [(0, 1), (0, 2), (2, 3), (0, 4), (4, 5), (5, 6)]
"""Paths of two and of three from one end of an edge: any of their vertices might be the same."""


@pytest.fixture(autouse=True)
def _parts_begin_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device would enumerate so small graphs, to be busy."""
    monkeypatch.setattr(DfsEngine, "capabilities", replace(DfsEngine.capabilities, searchers=1))


@st.composite
def glued(draw: st.DrawFn) -> Case:
    """Draw a graph, and trees that are glued to a core of one to three vertices.

    Where each tree begins is often of one label, and what hangs there of others, so that trees meet in one
    vertex each, or in several.
    """
    vertices, labels, directed = draw(st.integers(5, 9)), draw(st.integers(1, 4)), draw(st.booleans())
    label = st.one_of(st.just(0), st.integers(0, labels - 1))
    pairs = [pair for pair in combinations(range(vertices), 2) if draw(st.integers(0, 9)) < 6]
    edges = [pair[::-1] if directed and draw(st.booleans()) else pair for pair in pairs or [(0, 1)]]
    core = draw(st.integers(1, 3))
    asked = [pair for pair in combinations(range(core), 2) if pair[1] == pair[0] + 1 or draw(st.booleans())]
    wanted: list[int | None] = [draw(st.one_of(st.none(), label)) for _ in range(core)]
    for leg in range(draw(st.integers(2, 3))):
        below, own = draw(st.integers(0, core - 1)), draw(st.one_of(st.none(), st.just(leg % labels)))
        for depth in range(draw(st.integers(1, 3))):
            asked.append((below, len(wanted)))
            if depth == 0 or draw(st.booleans()):
                below = len(wanted)
            wanted.append(0 if depth == 0 and labels > 1 else own)
    return Case(
        directed=directed,
        ids=tuple(range(vertices)),
        universe="count",
        edges=tuple(edges),
        vertex_labels=tuple(draw(label) for _ in range(vertices)),
        edge_labels=None,
        pattern_vertex_labels=tuple(wanted),
        pattern_edges=tuple((u, v, None, "follow") for u, v in asked),
    )


@pytest.mark.turns(8)
@pytest.mark.parametrize("semantics", ["isomorphism", "homomorphism"])
def test_meetings_count_what_enumerating_counts(device: str, semantics: str) -> None:
    @settings(max_examples=MANY, deadline=None)
    @given(glued(), SWITCHES)
    def holds(case: Case, tuning: dict[str, str]) -> None:
        assume(len(case.pattern_vertex_labels) < 9)
        graph, pattern = case.graph(), case.pattern()
        for symmetry in ("embeddings", "subgraphs") if semantics != "homomorphism" else ("embeddings",):
            asked: dict[str, Any] = {"semantics": semantics, "symmetry": symmetry}
            expected = mf.count(graph, pattern, tuning=PLAIN, **asked)
            counted = mf.count(graph, pattern, device=device, tuning=tuning, **asked)
            assert (counted, counted.complete) == (expected, True)

    holds()


@pytest.mark.turns(8)
def test_meetings_count_the_embeddings_of_the_reference(device: str) -> None:
    @settings(max_examples=30, deadline=None)
    @given(glued(), SWITCHES)
    def holds(case: Case, tuning: dict[str, str]) -> None:
        assume(len(case.pattern_vertex_labels) < 7)
        expected = len(case.embeddings("isomorphism"))
        assert mf.count(case.graph(), case.pattern(), device=device, tuning=tuning) == expected

    holds()


def complete(size: int) -> mf.Graph:
    return mf.Graph.from_edges(list(combinations(range(size), 2)))


def plan_of(graph: mf.Graph, pattern: mf.Pattern, **tuning: str) -> Plan:
    switches = private_tuning({"parts": "on", "order": "given", **tuning})
    plan = make_plan(graph, pattern, space=True, tail=True, parts=True, tuning=switches)
    assert plan.tail is not None
    return plan


def legs(number: int) -> tuple[mf.Graph, mf.Pattern]:
    """Return a graph and legs that meet in the vertex next to the hub, each with an end of its own label."""
    middles, ends = range(1, 9), range(9, 9 + 3 * number)
    graph = mf.Graph.from_edges(
        [(0, middle) for middle in middles]
        + [(middle, end) for middle in middles for end in ends if (middle * end) % 5 < 3],
        vertex_labels=[1] + [0] * 8 + [2 + end % number for end in ends],
    )
    pattern = mf.Pattern.from_edges(
        [(0, 1), *((0, 2 + 2 * leg) for leg in range(number))]
        + [(2 + 2 * leg, 3 + 2 * leg) for leg in range(number)],
        vertex_labels=[1, 0, *(label for leg in range(number) for label in (0, 2 + leg))],
    )
    return graph, pattern


class TestSlots:
    """Pieces that meet in one vertex each, from which something hangs."""

    @pytest.mark.parametrize("number", [2, 3, 4])
    def test_legs_are_one_component_that_kernels_do_not_count(self, device: str, number: int) -> None:
        graph, pattern = legs(number)
        plan = plan_of(graph, pattern)
        assert plan.tail is not None
        assert [len(one.levels) for one in plan.tail.components if one.deep] == [number]
        assert device_tail(plan) is None
        expected = mf.count(graph, pattern, tuning=PLAIN)
        tuning = {"parts": "on", "order": "given", "specialize": "off"}
        assert mf.count(graph, pattern, device=device, tuning=tuning) == expected > 0

    def test_where_it_is_off_their_first_vertices_are_matched(self, device: str) -> None:
        graph, pattern = legs(3)
        assert device_tail(plan_of(graph, pattern, meetings="off")) is not None
        tuning = private_tuning({"parts": "on", "meetings": "off", "specialize": "off"})
        expected = mf.count(graph, pattern, tuning=PLAIN)
        assert mf.count(graph, pattern, device=device, tuning=tuning) == expected

    def test_levels_from_which_nothing_hangs_are_beside_one_with_more(self, device: str) -> None:
        graph = mf.Graph.from_edges(
            list(combinations(range(9), 2)), vertex_labels=[0, 0, 0, 0, 0, 0, 1, 1, 1]
        )
        pattern = mf.Pattern.parse("(a:1)--(b:1), (a)--(c:0), (a)--(d:0), (b)--(e:0), (e)--(f:1)")
        assert device_tail(plan_of(graph, pattern)) is None
        tuning = {"parts": "on", "order": "given", "specialize": "off"}
        expected = mf.count(graph, pattern, tuning=PLAIN)
        assert mf.count(graph, pattern, device=device, tuning=tuning) == expected > 0


class TestLists:
    """Pieces that meet others in several vertices."""

    def test_kernels_do_not_count_them(self) -> None:
        plan = plan_of(complete(9), mf.Pattern.from_edges(FORK))
        assert plan.tail is not None
        assert any(component.lists for component in plan.tail.components)
        assert device_tail(plan) is None

    def test_two_lists_in_a_complete_graph(self, device: str) -> None:
        for candidates in ("on", "off"):
            tuning = {"parts": "on", "order": "given", "candidates": candidates}
            assert mf.count(complete(9), mf.Pattern.from_edges(FORK), device=device, tuning=tuning) == (
                math.perm(9, 7)
            )

    def test_a_count_that_runs_out_of_time_says_so(self, device: str) -> None:
        """In a complete graph each tail has lists of hundreds and thousands: it is stopped in one."""
        graph, pattern = complete(24), mf.Pattern.from_edges(FORK)
        assert device_tail(plan_of(graph, pattern)) is None
        counted = mf.count(
            graph, pattern, device=device, tuning={"parts": "on", "order": "given"}, timeout=0.2
        )
        assert counted <= math.perm(24, 7)
        assert not counted.complete or counted == math.perm(24, 7)

    @pytest.mark.parametrize("leaves", [1, 6, 12])
    def test_entries_of_as_many_ways_as_hang_from_them(self, device: str, leaves: int) -> None:
        """Weights of one word, and of two."""
        inner = list(combinations(range(6), 2))
        graph = mf.Graph.from_edges(
            inner + [(v, 6 + leaf) for v in range(6) for leaf in range(600)],
            vertex_labels=[0] * 6 + [1] * 300 + [2] * 300,
        )
        edges = [(0, 1), (1, 2), (0, 3), (3, 4)]
        edges += [(2, 5 + leaf) for leaf in range(leaves)] + [
            (4, 5 + leaves + leaf) for leaf in range(leaves)
        ]
        pattern = mf.Pattern.from_edges(edges, vertex_labels=[0] * 5 + [1] * leaves + [2] * leaves)
        tuning = {"parts": "on", "order": "given"}
        assert device_tail(plan_of(graph, pattern)) is None
        found = mf.count(graph, pattern, device=device, tuning=tuning)
        assert found == math.perm(6, 5) * math.perm(300, leaves) ** 2
