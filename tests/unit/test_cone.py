"""What bits are asked to count a pattern with a vertex adjacent to all others."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.plan import make_plan
from motiflux.plan.neighborhood import universal_vertex
from motiflux.plan.neighborhood.choices import UniversalVertexPlan, universal_vertex_plans
from motiflux.plan.neighborhood.universal_vertex import ClosedForm, NeighborhoodStep
from motiflux.types import Semantics, Symmetry

RANDOM = np.random.default_rng(5)
EDGES = [pair for pair in combinations(range(60), 2) if RANDOM.random() < 0.3]
GRAPH = mf.Graph.from_edges(EDGES)
SPOKES = [(0, v) for v in range(1, 5)]
WHEEL = mf.Pattern.from_edges([*SPOKES, (1, 2), (2, 3), (3, 4), (4, 1)])
GEM = mf.Pattern.from_edges([*SPOKES, (1, 2), (2, 3), (3, 4)])
DIAMOND = mf.Pattern.from_edges([(0, 1), (0, 2), (0, 3), (1, 2), (2, 3)])


def without(size: int, *gone: tuple[int, int]) -> mf.Pattern:
    return mf.Pattern.from_edges([edge for edge in combinations(range(size), 2) if edge not in gone])


def cones(
    pattern: mf.Pattern,
    semantics: Semantics = Semantics.ISOMORPHISM,
    graph: mf.Graph = GRAPH,
    **options: Any,
) -> list[UniversalVertexPlan]:
    return universal_vertex_plans(graph, make_plan(graph, pattern, semantics=semantics, **options), threads=1)


@pytest.mark.parametrize(
    ("pattern", "semantics", "options", "ways"),
    [
        (WHEEL, Semantics.ISOMORPHISM, {}, {ClosedForm.PAIRS, ClosedForm.SIZE}),
        (without(5, (3, 4)), Semantics.ISOMORPHISM, {}, {ClosedForm.PAIRS}),
        (
            without(5, (3, 4)),
            Semantics.ISOMORPHISM,
            {"tuning": private_tuning({"multiply": "off"})},
            {ClosedForm.ORDERED},
        ),
        (GEM, Semantics.ISOMORPHISM, {}, {ClosedForm.DISTINCT}),
        (GEM, Semantics.HOMOMORPHISM, {}, {ClosedForm.PRODUCT}),
        (WHEEL, Semantics.INDUCED, {}, {ClosedForm.SIZE}),
        (
            DIAMOND,
            Semantics.ISOMORPHISM,
            {},
            {ClosedForm.SIZE},
        ),  # a level must be left for lanes, and for warps
    ],
)
def test_the_last_levels_are_sizes_where_they_are_not_adjacent(
    pattern: mf.Pattern, semantics: Semantics, options: dict[str, Any], ways: set[ClosedForm]
) -> None:
    found = cones(pattern, semantics, **options)
    assert {cone.shape.close for cone in found} == ways
    for cone in found:
        assert cone.shape.lanes == cone.levels - 1 - cone.shape.close.levels >= 1


def test_of_several_apexes_the_root_is_the_least() -> None:
    (cone,) = cones(without(5, (3, 4)), symmetry=Symmetry.SUBGRAPHS)
    above, any_member = cone.shape.bases.index((0, 1)), cone.shape.bases.index((0, 0))
    assert [step.base for step in cone.shape.steps] == [above, above, any_member, any_member]
    assert cone.plan.restrictions
    assert set(cone.plan.order[:3]) == {0, 1, 2}


def test_sets_are_found_once_and_start_from_others_that_were_asked_no_more() -> None:
    """K6 without two edges: of the other apex and two that are not adjacent, later levels ask the same."""
    found = cones(without(6, (2, 3), (4, 5)))
    for cone in found:
        shape = cone.shape
        assert sorted(level for levels in shape.renewed for level in levels)[:3] == [1, 2, 3]
        for level, step in enumerate(shape.steps):
            if step.start is not None:
                assert 0 < step.start < level
                assert not step.joined & shape.steps[step.start].joined
    assert any(step.start is not None for cone in found for step in cone.shape.steps)


def test_the_apex_with_the_fewest_candidates_comes_first() -> None:
    labels = ["rare" if v < 5 else "common" for v in range(60)]
    graph = mf.Graph.from_edges(EDGES, vertex_labels=labels)
    pairs = [pair for pair in combinations(range(5), 2) if pair != (3, 4)]
    pattern = mf.Pattern.from_edges(pairs, vertex_labels=["common", "rare", None, None, "common"])
    assert cones(pattern, graph=graph)
    for cone in cones(pattern, graph=graph):
        assert cone.plan.order[0] == 1
        assert cone.least == 4
        assert len(cone.rows.kinds) == 2
    assert all(cone.least == 1 for cone in cones(GEM, Semantics.HOMOMORPHISM))


def test_a_star_is_no_cone_unless_its_leaves_must_not_be_linked() -> None:
    star = mf.Pattern.from_edges(SPOKES)
    assert cones(star) == []
    assert cones(star, Semantics.INDUCED)
    assert cones(mf.Pattern.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)])) == []
    assert cones(mf.Pattern.from_edges([(0, 1), (1, 2), (2, 0)])) == []
    large = mf.Pattern.from_edges([*((0, v) for v in range(1, 11)), (1, 2)])
    assert cones(large) == []


def step(**levels: set[int]) -> NeighborhoodStep:
    conditions = {name: frozenset(levels.get(name, ())) for name in ("joined", "apart", "after", "before")}
    return NeighborhoodStep(**conditions, distinct=frozenset(), base=0)


@pytest.mark.parametrize(
    ("one", "other", "form"),
    [
        (step(), step(after={1}), ClosedForm.PAIRS),
        (step(joined={0}), step(joined={0}, after={1}), ClosedForm.PAIRS),
        (step(after={0}), step(after={1}), ClosedForm.PAIRS),
        (step(joined={0}), step(after={1}), None),
        (step(), step(joined={0}, after={1}), None),
        (step(), step(after={0, 1}), None),
        (step(after={0}), step(after={0, 1}), None),
    ],
)
def test_the_last_two_levels_are_pairs_only_if_they_differ_by_their_order_alone(
    one: NeighborhoodStep, other: NeighborhoodStep, form: ClosedForm | None
) -> None:
    assert universal_vertex._close([step(), one, other]) is form
