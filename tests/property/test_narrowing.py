"""Candidate spaces whose arcs must close cycles lose no embedding, and keep no arc over which none closes."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings

from motiflux.config import resolve_tuning
from motiflux.cpu.sampling import sample_graph
from motiflux.plan.sampling import sampling_plan
from motiflux.types import Semantics, Symmetry
from tests.rotating import rotating
from tests.strategies import COMBINATIONS, Case, Combination, cases

Arcs = dict[tuple[int, int], set[tuple[Any, Any]]]
"""By pair of query vertices, each way round: the data vertices that the space joins, by all edges at once."""


def arcs_of(case: Case, semantics: str, cycles: str) -> Arcs | None:
    graph = case.graph()
    plan = sampling_plan(
        graph,
        case.pattern(),
        semantics=Semantics(semantics),
        symmetry=Symmetry.EMBEDDINGS,
        threads=1,
        deadline=None,
        switches=resolve_tuning({"candidates": "on", "cycles": cycles}),
    )
    if plan.impossible:
        return None
    sampled = sample_graph(graph, plan, 1)
    ids = graph.vertex_ids.tolist()
    found: Arcs = {}
    number = 0
    for level, step in enumerate(plan.shape.steps):
        for source in step.sources:
            starts, ends = sampled.members(source.level), sampled.members(level)
            assert starts is not None
            assert ends is not None
            offsets, neighbors = (array.tolist() for array in sampled.rows(number))
            number += 1
            pairs = {
                (ids[starts[at]], ids[ends[to]])
                for at in range(len(starts))
                for to in neighbors[offsets[at] : offsets[at + 1]]
            }
            u, v = plan.order[source.level], plan.order[level]
            found[u, v] = found.get((u, v), pairs) & pairs
            found[v, u] = {(b, a) for a, b in found[u, v]}
    return found


def closes(arcs: Arcs, u: int, v: int, a: Any, b: Any, *, squares: bool, injective: bool) -> bool:
    """Whether each triangle, and each square, of the pattern on the edge (u, v) can close over (a, b)."""

    def reached(by: int, to: int, start: Any) -> set[Any]:
        return {end for begin, end in arcs[by, to] if begin == start}

    after = {to for by, to in arcs if by == u and to != v}
    before = {to for by, to in arcs if by == v and to != u}
    if not all(reached(u, w, a) & reached(v, w, b) for w in after & before):
        return False
    for x, y in product(after, before) if squares else ():
        if x != y and (x, y) in arcs:
            others = reached(u, x, a) - ({b} if injective else set())
            there = {end for one in others for end in reached(x, y, one)} - ({a} if injective else set())
            if not reached(v, y, b) & there:
                return False
    return True


@pytest.mark.turns(2)
@pytest.mark.parametrize("depth", ["default", pytest.param("long", marks=pytest.mark.long)])
@pytest.mark.parametrize("combination", rotating(COMBINATIONS), ids=str)
def test_arcs_stay_where_embeddings_or_cycles_need_them(combination: Combination, depth: str) -> None:
    semantics = combination.semantics
    injective = semantics != "homomorphism"

    @settings(settings.get_profile(depth))
    @given(cases(combination.directed, combination.labels))
    def holds(case: Case) -> None:
        embeddings = case.embeddings(semantics)
        wide = arcs_of(case, semantics, "0")
        for cycles in ("3", "4"):
            arcs = arcs_of(case, semantics, cycles)
            if arcs is None:
                assert not embeddings
                continue
            assert wide is not None
            for (u, v), pairs in arcs.items():
                assert {(row[u], row[v]) for row in embeddings} <= pairs <= wide[u, v]
                for a, b in pairs:
                    assert closes(wide, u, v, a, b, squares=cycles == "4", injective=injective)

    holds()
