"""Sets shared between levels hold all that each level may need, also for patterns beyond the oracle's reach.

In a complete graph every injective map is an embedding, so the truth for n data and k query vertices is
n! / (n - k)!, at any size.
"""

from __future__ import annotations

from itertools import combinations
from math import perm

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.pattern.automorphism import automorphisms
from motiflux.plan import Plan, make_plan
from motiflux.types import Symmetry

MANY = 500
"""Examples of a cheap property whose counterexamples are rare: 1 pattern in 1,000 when it was broken."""

COMPLETE = {n: mf.Graph.from_edges(list(combinations(range(n), 2))) for n in (7, 8, 9)}

# Level 2 is clipped to > v0, level 3 takes its set over, and level 5 that of level 3 without asking for > v0.
INHERITED = [
    (1, 0), (2, 0), (2, 1), (3, 2), (4, 0), (4, 2), (4, 3),
    (5, 0), (5, 2), (5, 3), (6, 1), (6, 2), (6, 4), (6, 5),
]  # fmt: skip


@st.composite
def connected_patterns(draw: st.DrawFn) -> mf.Pattern:
    size = draw(st.integers(5, 8))
    tree = [(draw(st.integers(0, v - 1)), v) for v in range(1, size)]
    more = draw(st.lists(st.sampled_from(list(combinations(range(size), 2))), max_size=14))
    return mf.Pattern.from_edges(sorted({*tree, *more}), num_vertices=size)


@pytest.mark.parametrize("size", [7, 8])
def test_a_clip_that_was_inherited_counts(size: int) -> None:
    pattern = mf.Pattern.from_edges(INHERITED)
    assert mf.count(COMPLETE[size], pattern) == perm(size, 7)
    rows = mf.match(COMPLETE[size], pattern, symmetry="subgraphs").to_numpy()
    assert len(rows) * automorphisms(pattern).order == perm(size, 7)


@pytest.mark.turns(8)
@settings(max_examples=MANY)
@given(pattern=connected_patterns(), size=st.sampled_from([8, 9]), order=st.sampled_from(["cost", "given"]))
def test_complete_graphs_hold_every_injective_map(pattern: mf.Pattern, size: int, order: str) -> None:
    assert mf.count(COMPLETE[size], pattern, tuning={"order": order}) == perm(size, pattern.num_vertices)


@pytest.mark.turns(8)
@settings(max_examples=MANY)
@given(pattern=connected_patterns(), order=st.sampled_from(["cost", "given"]))
def test_a_set_is_clipped_no_more_than_any_level_that_starts_from_it(pattern: mf.Pattern, order: str) -> None:
    plan = make_plan(COMPLETE[9], pattern, symmetry=Symmetry.SUBGRAPHS, tuning={"order": order})
    for level in range(len(plan.order)):
        certain = levels_certainly_smaller(plan, level)
        step = plan.shape.steps[level]
        while step.reuse is not None:
            step = plan.shape.steps[step.reuse]
            assert {clip for clip in step.after if clip <= step.anchor} <= certain


def levels_certainly_smaller(plan: Plan, level: int) -> set[int]:
    """Follow the restrictions down from one level."""
    found, frontier = set(), [level]
    while frontier:
        for smaller in plan.shape.steps[frontier.pop()].after:
            if smaller not in found:
                found.add(smaller)
                frontier.append(smaller)
    return found
