"""The order of phases: the core from its smallest cycle on, then the trees (GENEVA, algorithm 8)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from math import inf, log
from typing import TypeAlias

from motiflux.plan.bind import BoundPattern, Codes
from motiflux.plan.passes.order import core_of
from motiflux.plan.phases.cycles import smallest_cycle
from motiflux.plan.phases.data import CORE_PATTERNS, FIRST_PATTERNS, PRIORITY, MatchingPattern
from motiflux.plan.phases.options import Draft, Options
from motiflux.plan.phases.statistics import PhaseStatistics


@dataclass(frozen=True, slots=True)
class ClosingEdges:
    """Query edges, by position, of one set of labels, whose ends are matched: the draft of an elimination."""

    partitions: Codes
    edges: tuple[int, ...]


Drafts: TypeAlias = list[Draft | ClosingEdges]


def draft_phases(pattern: BoundPattern, statistics: PhaseStatistics) -> tuple[Drafts, frozenset[int]]:
    """Return drafts of the phases in order, and the core.

    If the pattern is not connected, the phases do not match all its vertices.
    """
    core = core_of(pattern)
    drafting = _Drafting(pattern, statistics)
    if core:
        cycle = smallest_cycle(pattern, core, _weights(pattern, statistics))
        drafting.begin(cycle, cycle)
        drafting.extend(cycle, CORE_PATTERNS)
        drafting.extend(core, CORE_PATTERNS)
    elif pattern.edges:
        edge = min(range(len(pattern.edges)), key=lambda at: (statistics.arcs[at], at))
        ends = pattern.edges[edge].source, pattern.edges[edge].target
        drafting.begin(ends, range(pattern.size), through=edge)
    drafting.extend(range(pattern.size), PRIORITY)
    return drafting.drafts, core


def split_phases(drafts: Drafts, chosen: Callable[[Codes], bool]) -> Drafts:
    """Return the phases with some extension phases split into phases that match one vertex.

    Parameters
    ----------
    chosen
        Whether phases of some partitions are split.
    """
    parts: Drafts = []
    for draft in drafts:
        parts += draft.split() if isinstance(draft, Draft) and chosen(draft.partitions) else (draft,)
    return parts


class _Drafting:
    """The phases so far, and the query vertices and edges that they match."""

    def __init__(self, pattern: BoundPattern, statistics: PhaseStatistics) -> None:
        self._pattern = pattern
        self._statistics = statistics
        self._matched: set[int] = set()
        self._edges: set[int] = set()
        self.drafts: Drafts = []

    def begin(self, roots: Collection[int], allowed: Collection[int], through: int | None = None) -> None:
        """Append the first phase, from one of `roots`."""
        found: list[tuple[int, tuple[float, ...], int, Draft]] = []
        for root in sorted(roots):
            size = float(self._statistics.candidates[root])
            options = Options(self._pattern, self._statistics, {root}, allowed, through, size)
            draft = options.best(FIRST_PATTERNS)
            if draft is not None:
                found.append((PRIORITY.index(draft.pattern), options.cost(draft), root, draft))
        *_, root, draft = min(found, key=lambda one: one[:3])
        self._append(Draft(draft.partitions, draft.pattern, draft.sets, root))

    def extend(self, allowed: Collection[int], patterns: Collection[MatchingPattern]) -> None:
        """Append phases until no more of the allowed vertices can be matched."""
        while not self._matched.issuperset(allowed):
            options = Options(self._pattern, self._statistics, self._matched, allowed)
            draft = options.best(patterns)
            if draft is None:
                return
            self._append(draft)

    def _append(self, draft: Draft) -> None:
        """Append an extension phase, and the elimination phases that are then possible."""
        self.drafts.append(draft)
        self._matched.update(draft.vertices)
        self._edges.update(member.edge for member in draft.members)
        self.drafts += self._closing(draft.partitions)

    def _closing(self, resident: Codes) -> Iterator[ClosingEdges]:
        """Yield the edges between matched vertices by their labels.

        The partitions of the extension phase come first, as a device has them, then the smallest.
        """
        groups: dict[Codes, list[int]] = {}
        for at, edge in enumerate(self._pattern.edges):
            if at not in self._edges and {edge.source, edge.target} <= self._matched:
                groups.setdefault(edge.labels, []).append(at)
                self._edges.add(at)
        for labels in sorted(
            groups, key=lambda labels: (labels != resident, self._statistics.partition_arcs(labels))
        ):
            yield ClosingEdges(labels, tuple(groups[labels]))


def _weights(pattern: BoundPattern, statistics: PhaseStatistics) -> dict[tuple[int, int], float]:
    """Return weights of edges: their sum over a cycle is the logarithm of its expected embeddings."""
    weights: dict[tuple[int, int], float] = {}
    for edge, arcs in zip(pattern.edges, statistics.arcs, strict=True):
        ends = edge.source, edge.target
        pairs = 0.5 * sum(log(max(statistics.candidates[end], 1)) for end in ends)
        weight = log(arcs) - pairs if arcs > 0 else -inf
        for way in (ends, ends[::-1]):
            weights[way] = min(weight, weights.get(way, inf))
    return weights
