"""Estimates of the cost of a search, from random partial embeddings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from operator import add

from motiflux import _native
from motiflux.graph import Graph
from motiflux.graph.arrays import Shares
from motiflux.plan.bind import BoundPattern
from motiflux.plan.estimate.whole import edges_among, in_whole
from motiflux.plan.ir import Plan
from motiflux.plan.native_plan import native_problem
from motiflux.plan.shape import Tail

# Set elements read for one estimate: about half a millisecond.
_MOST_WORK = 500_000
_SEED = 0x6D6F7469

MANY_MEMBERS = 256
"""Random partial embeddings that estimate a plan which may be taken."""

# Most root arcs of a probe, and the time of a unit of its work on an AMD EPYC.
_PROBED_ARCS = 256
_WORK_SECONDS = 25e-9

# Elements that inclusion and exclusion reads in the time in which a search extends a partial embedding.
_CLOSED_IN_A_STEP = 8


def probe(graph: Graph, plan: Plan, seconds: float, threads: int) -> float:
    """Return the expected seconds of a count by `plan` on one thread, from a probe of about `seconds`.

    Time is measured as work done, so that equal plans and graphs give equal results.
    """
    problem = native_problem(graph, plan, intersect="auto", threads=threads)
    return _native.probe(problem, _PROBED_ARCS, int(seconds / _WORK_SECONDS), _SEED) * _WORK_SECONDS


def probe_levels(
    graph: Graph, plan: Plan, arcs: int, threads: int, most: int = _MOST_WORK
) -> tuple[float, tuple[float, ...]]:
    """Return the expected seconds of a count on one thread, and the partial embeddings up to each level.

    From a search of the embeddings of `arcs` root arcs, or root copies, of at most `most` work.
    """
    problem = native_problem(graph, plan, intersect="auto", threads=threads)
    work, sizes = _native.probe_sizes(problem, arcs, most, _SEED)
    return work * _WORK_SECONDS, (*sizes, *(0.0,) * (len(plan.order) - len(sizes)))


@dataclass(frozen=True, slots=True)
class Estimate:
    """The expected work of a search.

    Parameters
    ----------
    sizes
        Partial embeddings up to each level.
    scanned
        Set elements read to find the candidates of each level.
    enumerated
        Number of levels that are not counted in closed form.
    closing
        Set elements read for each level by inclusion and exclusion over several sets of a tail.
    """

    sizes: tuple[float, ...]
    scanned: tuple[float, ...]
    enumerated: int
    closing: tuple[float, ...]

    @property
    def read(self) -> tuple[float, ...]:
        """All set elements read for each level."""
        return tuple(map(add, self.scanned, self.closing))

    def in_whole(self, shares: Shares | None, order: Sequence[int], pattern: BoundPattern) -> Estimate:
        """Return what is expected in the graph that a sketch has these shares of; None: it is no sketch.

        k edges of the graph are all in the sketch with the k-th power of its share of edges. Sizes beyond the
        range of floats are infinite.
        """
        if shares is None or not 0 < shares.edges < 1:
            return self
        among = [edges_among(order[:level], pattern) for level in range(len(order) + 1)]
        # Rows are longer, too, and so are the sets that they are intersected to.
        before = [among[min(level, self.enumerated)] + 1 for level in range(1, len(order))]

        def of_edges(numbers: Sequence[float], edges: Sequence[int]) -> Iterator[float]:
            return (in_whole(number, shares.edges, one) for number, one in zip(numbers, edges, strict=True))

        return Estimate(
            (self.sizes[0] / shares.vertices, *of_edges(self.sizes[1:], among[2:])),
            (self.scanned[0], *of_edges(self.scanned[1:], before)),
            self.enumerated,
            (self.closing[0], *of_edges(self.closing[1:], before)),
        )

    @property
    def cost(self) -> float:
        """A number that grows with the time of the search."""
        closing = sum(self.closing) / _CLOSED_IN_A_STEP
        return sum(self.sizes[: self.enumerated]) + sum(self.scanned) + closing


def plan_in_whole(plan: Plan, shares: Shares | None, pattern: BoundPattern) -> Plan:
    """Return a plan with the sizes that are expected in the graph of which a sketch has these shares."""
    if plan.impossible is not None:
        return plan
    nothing = (0.0,) * len(plan.order)
    estimate = Estimate(plan.estimates, plan.scanned or nothing, enumerated_levels(plan), nothing)
    found = estimate.in_whole(shares, plan.order, pattern)
    return replace(plan, estimates=found.sizes, scanned=found.scanned if plan.scanned else plan.scanned)


def enumerated_levels(plan: Plan) -> int:
    """Return the number of levels that are not counted in closed form."""
    return len(plan.order) if plan.tail is None else plan.tail.start


def sample(graph: Graph, plan: Plan, members: int, threads: int) -> Estimate:
    """Return an estimate from `members` random partial embeddings (`csrc/search/sample.hpp`).

    Equal plans and graphs give equal estimates. Levels that sampling did not reach are extrapolated by the
    growth of ``plan.estimates``.
    """
    problem = native_problem(graph, plan, intersect="auto", threads=threads)
    drawn = _native.sample_sizes(problem, members, _MOST_WORK, _SEED)
    levels = len(plan.order)
    sizes, scanned, reached = ([one[part] for one in drawn] for part in range(3))
    enumerated = enumerated_levels(plan)
    if not drawn:
        zeros = (0.0,) * levels
        return Estimate(zeros, zeros, enumerated, zeros)
    if sizes[-1] == 0:
        # No member had a candidate: take half a candidate among all members.
        sizes[-1] = (sizes[-2] if len(sizes) > 1 else 1.0) / (2 * members)
    for level in range(len(sizes), levels):
        growth = plan.estimates[level] / max(plan.estimates[level - 1], 1e-300)
        sizes.append(sizes[-1] * growth)
        scanned.append(sizes[-1])
        reached.append(sizes[min(level, enumerated) - 1] * growth)
    closing = _closing(plan.tail, reached)
    if plan.tail is not None:
        # Sampling ignores order restrictions between levels of the tail.
        sizes[-1] /= prod(component.divisor for component in plan.tail.components)
    return Estimate(tuple(sizes), tuple(scanned), enumerated, closing)


def _closing(tail: Tail | None, reached: Sequence[float]) -> tuple[float, ...]:
    """Return the set elements that inclusion and exclusion over several sets reads, by level."""
    closing = [0.0] * len(reached)
    for component in () if tail is None else tail.components:
        firsts = dict(zip(reversed(component.sets), reversed(component.levels), strict=True))
        for level in firsts.values() if len(firsts) > 1 else ():
            closing[level] = reached[level] * 2 ** (len(firsts) - 1)
    return tuple(closing)
