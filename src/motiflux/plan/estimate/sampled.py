"""What a search costs, from random partial embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from operator import add

from motiflux import _native
from motiflux.graph import Graph
from motiflux.plan.ir import Plan
from motiflux.plan.native_plan import native_problem
from motiflux.plan.shape import Tail

# Set elements read for one estimate: about half a millisecond.
_MOST_WORK = 500_000
_SEED = 0x6D6F7469

# Root arcs that a probe takes at most, and the time of a unit of its work on an AMD EPYC.
_PROBED_ARCS = 256
_WORK_SECONDS = 25e-9

# Elements that inclusion and exclusion reads in the time of a step.
_CLOSED_IN_A_STEP = 8


def probe(graph: Graph, plan: Plan, seconds: float, threads: int) -> float:
    """Return the seconds that one thread will take to count by `plan`, from a try of about `seconds`.

    The time is counted in work done, so that the same plan and graph give the same.
    """
    problem = native_problem(graph, plan, intersect="auto", threads=threads)
    return _native.probe(problem, _PROBED_ARCS, int(seconds / _WORK_SECONDS), _SEED) * _WORK_SECONDS


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a search is expected to do.

    Parameters
    ----------
    sizes
        Partial embeddings up to each level.
    scanned
        Elements of sets read to find the candidates of each level.
    enumerated
        Number of levels that are not counted in closed form.
    closing
        Elements of each level's sets read where several sets of a tail meet.
    """

    sizes: tuple[float, ...]
    scanned: tuple[float, ...]
    enumerated: int
    closing: tuple[float, ...]

    @property
    def read(self) -> tuple[float, ...]:
        """Elements of sets read for each level, all told."""
        return tuple(map(add, self.scanned, self.closing))

    @property
    def cost(self) -> float:
        """A number that grows with the time of the search."""
        closing = sum(self.closing) / _CLOSED_IN_A_STEP
        return sum(self.sizes[: self.enumerated]) + sum(self.scanned) + closing


def sample(graph: Graph, plan: Plan, members: int, threads: int) -> Estimate:
    """Return an estimate from `members` random partial embeddings (`csrc/search/sample.hpp`).

    The same plan and graph give the same estimate. Levels that sampling did not reach are extrapolated by the
    growth that ``plan.estimates`` expects.
    """
    problem = native_problem(graph, plan, intersect="auto", threads=threads)
    drawn = _native.sample_sizes(problem, members, _MOST_WORK, _SEED)
    levels = len(plan.order)
    sizes, scanned, met = ([one[part] for one in drawn] for part in range(3))
    enumerated = levels if plan.tail is None else plan.tail.start
    if not drawn:
        nothing = (0.0,) * levels
        return Estimate(nothing, nothing, enumerated, nothing)
    if sizes[-1] == 0:
        # No member had a candidate: likely there are fewer than one for each two members.
        sizes[-1] = (sizes[-2] if len(sizes) > 1 else 1.0) / (2 * members)
    for level in range(len(sizes), levels):
        growth = plan.estimates[level] / max(plan.estimates[level - 1], 1e-300)
        sizes.append(sizes[-1] * growth)
        scanned.append(sizes[-1])
        met.append(sizes[min(level, enumerated) - 1] * growth)
    closing = _closing(plan.tail, met)
    if plan.tail is not None:
        # Sampling follows no order among levels of the tail.
        sizes[-1] /= prod(component.divisor for component in plan.tail.components)
    return Estimate(tuple(sizes), tuple(scanned), enumerated, closing)


def _closing(tail: Tail | None, met: Sequence[float]) -> tuple[float, ...]:
    """Return the elements read by inclusion and exclusion over several sets, for each subset of them."""
    closing = [0.0] * len(met)
    for component in () if tail is None else tail.components:
        firsts = dict(zip(reversed(component.sets), reversed(component.levels), strict=True))
        for level in firsts.values() if len(firsts) > 1 else ():
            closing[level] = met[level] * 2 ** (len(firsts) - 1)
    return tuple(closing)
