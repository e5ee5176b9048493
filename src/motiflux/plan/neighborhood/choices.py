"""Plans of counts in bitmaps: a matching order, and operations on bits."""

from __future__ import annotations

from dataclasses import dataclass, replace

from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.pattern.automorphism import automorphisms
from motiflux.plan.bind import BoundPattern, bind
from motiflux.plan.estimate.sampled import Estimate, sample
from motiflux.plan.ir import Plan
from motiflux.plan.neighborhood.universal_vertex import (
    ClosedForm,
    NeighborhoodRows,
    NeighborhoodShape,
    neighborhood_shape,
    promising_orders,
    rows_of,
    universal_vertices,
)
from motiflux.plan.passes.order import frequencies
from motiflux.plan.passes.reuse import share_intersections
from motiflux.plan.passes.steps import build_steps
from motiflux.plan.passes.symmetry import restrictions
from motiflux.plan.passes.tail import close_tail
from motiflux.types import Semantics, Symmetry

_MEMBERS = 128
"""Number of random partial embeddings that estimate the sizes of an order's levels."""


@dataclass(frozen=True, slots=True)
class UniversalVertexPlan:
    """A plan of a count in bitmaps.

    Parameters
    ----------
    plan
        The plan of a search that counts from roots with too many neighbours. Level 0 is the universal vertex.
    least
        Least number of neighbours of a root.
    """

    plan: Plan
    shape: NeighborhoodShape
    rows: NeighborhoodRows
    least: int

    @property
    def levels(self) -> int:
        """Number of levels without the universal vertex."""
        return len(self.shape.steps)

    def weight(self, words: float) -> tuple[float, float]:
        """Return the estimated numbers of vertices that warps match, and of words that lanes read.

        Sets have `words` words.
        """
        sizes, lanes = self.plan.estimates, self.shape.lanes
        sets = [len(renewed) for renewed in self.shape.renewed]
        taken = sum(sizes[level + 1] * (1 + sets[level] * (1 + words / 32)) for level in range(lanes))
        two = self.shape.close in (ClosedForm.PRODUCT, ClosedForm.DISTINCT)
        return taken, sizes[lanes + 1] * (1 + two) * words


def universal_vertex_plans(graph: Graph, plan: Plan, threads: int) -> list[UniversalVertexPlan]:
    """Return plans of counts in bitmaps, in several orders; none if no vertex is universal.

    Sizes are estimated from random partial embeddings.
    """
    pattern = plan.asked
    if pattern is None or plan.impossible is not None:
        return []
    bound = bind(pattern, graph)
    if not (found := universal_vertices(bound, plan.semantics)):
        return []
    candidates = frequencies(bound, graph)[0]
    universal = min(found, key=lambda vertex: candidates[vertex])
    orders = promising_orders(bound, universal, plan.semantics)
    return [_plan_in_order(graph, pattern, bound, order, plan, threads) for order in orders]


def _plan_in_order(
    graph: Graph, pattern: Pattern, bound: BoundPattern, order: tuple[int, ...], plan: Plan, threads: int
) -> UniversalVertexPlan:
    group = automorphisms(pattern, directed=graph.directed, base=order)
    breaks = plan.symmetry is Symmetry.SUBGRAPHS or plan.multiplier > 1
    breaking = restrictions(group) if breaks else ()
    shape, args = build_steps(bound, order, breaking, plan.semantics, degrees=True)
    flat = replace(
        plan,
        order=order,
        shape=shape,
        args=args,
        restrictions=breaking,
        estimates=(1.0,) * len(order),
        scanned=(),
        tail=None,
        space=None,
        classes=(),
        probed=None,
        formula=None,
        all_different=(),
        adaptive_order=None,
    )
    rows, kinds = rows_of(bound, order)
    in_bits = neighborhood_shape(shape.steps, kinds)
    estimate: Estimate = sample(graph, flat, _MEMBERS, threads)
    level_of = {vertex: level for level, vertex in enumerate(order)}
    coinciding = frozenset((level_of[u], level_of[v]) for u, v in bound.may_coincide)
    shape, tail = close_tail(shape, args, coinciding)
    shape, args = share_intersections(shape, args, None, tail)
    searched = replace(
        flat, shape=shape, args=args, tail=tail, estimates=estimate.sizes, scanned=estimate.read
    )
    injective = plan.semantics is not Semantics.HOMOMORPHISM and not coinciding
    return UniversalVertexPlan(searched, in_bits, rows, len(order) - 1 if injective else 1)
