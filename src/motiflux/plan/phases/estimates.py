"""Expected numbers of embeddings after each phase, by label frequencies."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from motiflux.conditions import Condition
from motiflux.graph import Direction
from motiflux.plan.bind import Approach, BoundEdge, BoundPattern, Codes
from motiflux.plan.passes.symmetry import Restriction, closure
from motiflux.plan.phases.data import CandidateSet, EdgeTest, Extension, PhasePlan
from motiflux.plan.phases.statistics import PhaseStatistics


def phase_estimates(plan: PhasePlan, pattern: BoundPattern, statistics: PhaseStatistics) -> tuple[float, ...]:
    """Return the expected number of embeddings after each phase.

    Query edges are taken to be independent. Comparisons for injectivity and absent arcs are taken to keep all
    embeddings.
    """
    return tuple(_Estimating(plan, pattern, statistics).sizes())


class _Estimating:
    """The phases of a plan, and the numbers by which their sizes are estimated."""

    def __init__(self, plan: PhasePlan, pattern: BoundPattern, statistics: PhaseStatistics) -> None:
        self._plan = plan
        self._pattern = pattern
        self._statistics = statistics
        self._ordered = closure(plan.restrictions)

    def sizes(self) -> Iterator[float]:
        """Yield the expected embeddings after each phase."""
        size, matched = 1.0, set[int]()
        for phase in self._plan.phases:
            if isinstance(phase, Extension):
                if phase.root is not None:
                    size *= self._statistics.candidates[phase.root.vertex]
                for one in phase.sets:
                    for member in one.members:
                        size *= self._per_source(one, member, phase.partitions)
                matched.update(phase.vertices)
            else:
                for edge in phase.required:
                    size *= self._kept(edge, phase.partitions)
            yield size * _share_in_order(matched, self._ordered)

    def _per_source(self, one: CandidateSet, member: int, labels: Codes) -> float:
        """Return the expected candidates of a member for one image of its source."""
        wanted = one.source, one.direction, labels, one.where
        at = next(
            approach.edge[0]
            for approach in self._pattern.approaches[member]
            if (approach.start, *_arcs(approach)) == wanted
        )
        return self._statistics.arcs[at] / max(self._statistics.candidates[one.source], 1)

    def _kept(self, tested: EdgeTest, labels: Codes) -> float:
        """Return the expected share of embeddings that have an edge."""
        at = self._pattern.position[
            BoundEdge(tested.source, tested.target, labels, tested.either, tested.where)
        ]
        candidates = self._statistics.candidates
        pairs = candidates[tested.source] * candidates[tested.target]
        return min(1.0, self._statistics.arcs[at] / max(pairs, 1))


def _arcs(approach: Approach) -> tuple[Direction, Codes, Condition | None]:
    rows = approach.adjacency
    return rows.direction, rows.edge_labels, rows.edge_where


def _share_in_order(matched: Collection[int], ordered: Collection[Restriction]) -> float:
    """Return the share of the orders of images that satisfy the restrictions among matched vertices.

    Exact if the restrictions form a forest (the hook length formula), as they do where each vertex must be
    less than the others of its orbit.
    """
    share = 1.0
    for vertex in matched:
        share /= 1 + sum(first == vertex and second in matched for first, second in ordered)
    return share
