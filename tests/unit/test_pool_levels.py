"""Where partial matches may be pooled: the planner and the engine that pools say the same."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import motiflux as mf
from motiflux import _native
from motiflux.gpu.changing.pooled_plans import chain_of
from motiflux.plan.bind import bind
from motiflux.plan.passes.delta import delta_plans
from motiflux.plan.passes.drafts import DeltaPlan, Drafter, reads_of
from motiflux.plan.passes.order import Order
from motiflux.plan.passes.pools import LevelReads, pool_levels
from motiflux.stream.matching.native import PlanWriter
from motiflux.types import Semantics, Symmetry

_ENDS = np.random.default_rng(5).integers(0, 200, (2000, 2))
GRAPH = mf.Graph.from_edges(_ENDS[_ENDS[:, 0] != _ENDS[:, 1]], vertex_labels=np.arange(200) % 3)
PATTERNS = [
    "(a:0)--(b:1)--(c:2)--(d:0)--(e:1)--(f:2)--(a)",
    "(a:0)--(b:1)--(c:2)--(d:0)--(a)--(e:1)--(f:2)",
    "(a)--(b)--(c)--(d)--(e)--(a)",
    "(a:0)--(b:1)--(c:0)--(d:1)--(e:2)--(f:2)--(b)",
    "(a:0)--(b:0)--(c:1)--(d:2), (b)--(d), (c)--(e:0)",
    "(a:0)--(b:1)--(c:2)--(a)--(d:1)--(e:2)--(a)",
    "(a:0)--(b:1)--(c:2)--(d:0)--(e), (d)--(f), (d)--(a)",
    "(a:0)--(b:1), (a)--(c:2)--(b), (a)--(d:2)--(b), (b)--(e:1)",
]


def plans_of(text: str) -> tuple[mf.Pattern, list[DeltaPlan]]:
    pattern = mf.Pattern.parse(text)
    bound = bind(pattern, GRAPH)
    found: list[DeltaPlan] = []
    for pools in (False, True):
        for tail in (False, True):
            found += delta_plans(GRAPH, pattern, bound, mixed_tails=False, tail=tail, pools=pools)
    return pattern, found


def reads(levels: int, *, reuse: int | None = None, sets: int = 1) -> LevelReads:
    return LevelReads(levels, reuse, sets)


@pytest.mark.parametrize("text", PATTERNS)
def test_planner_and_engine_pool_at_the_same_levels(text: str) -> None:
    pattern, plans = plans_of(text)
    native = _native.Monitor(False, False)
    writer = PlanWriter(native, pattern, bind(pattern, GRAPH), injective=True)
    writer.find_vertices(lambda _: None, lambda _: np.ones(native.num_vertices + 1, bool))
    native.add_pattern(0, [writer.write(plan) for plan in plans], False)
    for number, plan in enumerate(plans):
        *_, steps, tail = native.plan(number)
        of_planner = list(pool_levels(reads_of(plan.shape, [False] * len(steps)), plan.walked))
        of_engine, level = [], 0
        for one in chain_of(steps, tail):
            if one.level:
                level += one.level - (one.given + 1 if level else 0)
                of_engine.append(level)
        assert [level for level, _ in of_planner] == of_engine


def test_the_patterns_above_are_pooled_at_several_levels_at_one_and_at_none() -> None:
    found = {
        len(list(pool_levels(reads_of(plan.shape, [False] * len(plan.order)), plan.walked)))
        for text in PATTERNS
        for plan in plans_of(text)[1]
    }
    assert {0, 1, 2} <= found


def test_an_order_whose_sets_are_used_again_costs_as_much_as_without_pools() -> None:
    """The engine does not pool before a set that is used again."""
    pattern = mf.Pattern.parse("(a)--(b), (a)--(c), (c)--(d)--(b), (c)--(e)--(b), (e)--(a)")
    bound = bind(pattern, GRAPH)
    drafter = Drafter.of(
        pattern,
        bound,
        semantics=Semantics.ISOMORPHISM,
        symmetry=Symmetry.EMBEDDINGS,
        counting=True,
        merge=False,
        tail=False,
        mixed_tails=False,
        reuse=True,
    )
    order = Order((0, 1, 2, 3, 4), (1.0, 10.0, 100.0, 1000.0, 10000.0))
    alone = drafter.draft(order)
    pooled = dataclasses.replace(drafter, pools=True).draft(order)
    assert alone.plan.shape.steps[4].reuse == 3
    assert pooled.costs == alone.costs


def test_parts_that_only_the_pair_joins_cost_less_with_pools() -> None:
    of_pair = [reads(0), reads(1), reads(3, sets=2), reads(3, sets=2), reads(3, sets=2)]
    assert list(pool_levels(of_pair, 4)) == [(3, 0), (4, 0)]


def test_sizes_of_rows_are_looked_up_for_each_partial_match() -> None:
    assert list(pool_levels([reads(0), reads(1), reads(2), reads(4), reads(8)], 4)) == []
    assert list(pool_levels([reads(0), reads(1), reads(2), reads(4), reads(8, sets=2)], 4)) == [(4, 3)]
