"""Formulas as passes: what is written down, what is only summed up; and the blocks that make tables."""

from __future__ import annotations

from itertools import combinations
from types import SimpleNamespace
from typing import cast

import pytest

import motiflux as mf
from motiflux.device import Device
from motiflux.gpu.kernels.table_run import shape_of
from motiflux.pattern import Pattern
from motiflux.plan.bind import bind
from motiflux.plan.local_counts.choose import cheapest_formula
from motiflux.plan.local_counts.schedule import At, Product, Schedule, schedule_of


def passes_for(pattern: str) -> Schedule:
    graph = mf.Graph.from_edges(list(combinations(range(20), 2)))
    formula = cheapest_formula(graph, bind(Pattern.parse(pattern), graph), 1)
    assert formula is not None
    return schedule_of(formula)


def test_a_diamond_is_one_table_and_one_sum() -> None:
    passes = passes_for("(a)--(b)--(c)--(a), (b)--(d)--(c)")
    assert [type(table).__name__ for table in passes.tables] == ["Triangles"]
    counted = {
        len(sum_.factors): times for sum_, times in passes.scalars.items() if isinstance(sum_, Product)
    }
    assert counted == {1: -1, 2: 1}
    assert all(
        factor.at is At.SELF
        for sum_ in passes.scalars
        if isinstance(sum_, Product)
        for factor in sum_.factors
    )


def test_a_house_takes_two_tables_and_one_pass_over_arcs() -> None:
    passes = passes_for("(a)--(b)--(c)--(d)--(a), (a)--(e)--(b)")
    assert sorted(type(table).__name__ for table in passes.tables) == ["Triangles", "Wedges"]
    assert len({sum_.domain for sum_ in passes.scalars if isinstance(sum_, Product)}) == 1
    assert sorted(passes.scalars.values()) == [-2, 1, 2]


@pytest.mark.parametrize(("arcs", "room"), [(20, 40), (10**7, 4 * 10**6), (10**6, 20_000), (10**6, 90_000)])
@pytest.mark.parametrize("shared", [48 << 10, 99 << 10, 227 << 10])
def test_blocks_have_room_for_hash_tables_of_all_their_warps(arcs: int, room: int, shared: int) -> None:
    device = cast("Device", SimpleNamespace(shared_per_block=shared, multiprocessors=132))
    assert shape_of(device, 10**6, room, share=0.5).threads == 1024
    shape = shape_of(device, arcs, room)
    assert 2 * shape.slots * (shape.threads // 32) <= shape.words
    assert shape.shared <= shared
    assert shape.light < shape.slots
