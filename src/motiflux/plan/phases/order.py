"""The order of phases: the core from its smallest cycle on, then the trees (GENEVA, algorithm 8)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from math import inf, log, prod
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
_MOST_STARTS = 4
"""Vertices from which a tree is tried, beside the ends of an edge."""


def draft_phases(pattern: BoundPattern, statistics: PhaseStatistics) -> tuple[Drafts, frozenset[int]]:
    """Return drafts of the phases in order, and the core.

    If the pattern is not connected, the phases do not match all its vertices.
    """
    core = core_of(pattern)
    if core:
        drafting = _Drafting(pattern, statistics)
        cycle = smallest_cycle(pattern, core, _weights(pattern, statistics))
        drafting.begin(cycle, cycle)
        drafting.extend(cycle, CORE_PATTERNS)
        drafting.extend(core, CORE_PATTERNS)
        drafting.extend(range(pattern.size), PRIORITY)
        return drafting.drafts, core
    if not pattern.edges:
        return [], core
    return _tree(pattern, statistics).drafts, core


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


def _tree(pattern: BoundPattern, statistics: PhaseStatistics) -> _Drafting:
    """Return the phases of a tree from the vertex where they leave the fewest expected embeddings.

    Tried are the ends of the query edge with the fewest arcs, and the vertices whose first phase leaves the
    fewest expected embeddings.
    """
    everywhere = range(pattern.size)
    edge = min(range(len(pattern.edges)), key=lambda at: (statistics.arcs[at], at))
    ends = pattern.edges[edge].source, pattern.edges[edge].target
    found = []
    for roots, through in ((ends, edge), *(((root,), None) for root in everywhere)):
        drafting = _Drafting(pattern, statistics)
        if drafting.begin(roots, everywhere, through):
            found.append(drafting)
    found = [found[0], *sorted(found[1:], key=lambda one: one.written)[:_MOST_STARTS]]
    for drafting in found:
        drafting.extend(everywhere, PRIORITY)
    return min(found, key=lambda one: one.between)


class _Drafting:
    """The phases so far, and the query vertices and edges that they match.

    Attributes
    ----------
    between, written
        Expected embeddings that all phases leave but the last one, and those that all leave.
    """

    def __init__(self, pattern: BoundPattern, statistics: PhaseStatistics) -> None:
        self._pattern = pattern
        self._statistics = statistics
        self._matched: set[int] = set()
        self._edges: set[int] = set()
        self._size: float = 1
        self.drafts: Drafts = []
        self.between = self.written = 0.0

    def begin(self, roots: Collection[int], allowed: Collection[int], through: int | None = None) -> bool:
        """Append the first phase, from one of `roots`; return False if none of them has an edge."""
        found: list[tuple[int, tuple[float, ...], int, Draft]] = []
        for root in sorted(roots):
            size = float(self._statistics.candidates[root])
            options = Options(self._pattern, self._statistics, {root}, allowed, through, size)
            draft = options.best(FIRST_PATTERNS)
            if draft is not None:
                found.append((PRIORITY.index(draft.pattern), options.cost(draft), root, draft))
        if not found:
            return False
        *_, root, draft = min(found, key=lambda one: one[:3])
        self._append(Draft(draft.partitions, draft.pattern, draft.sets, root))
        return True

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
        arcs, candidates = self._statistics.arcs, self._statistics.candidates
        self.drafts.append(draft)
        if draft.root is not None:
            self._size = candidates[draft.root]
        reached = ((one.key.source, member.edge) for one in draft.sets for member in one.members)
        self._leave(prod(arcs[edge] / max(candidates[source], 1) for source, edge in reached))
        self._matched.update(draft.vertices)
        self._edges.update(member.edge for member in draft.members)
        for closing in self._closing(draft.partitions):
            self.drafts.append(closing)
            self._leave(prod(map(self._closes, closing.edges)))

    def _leave(self, factor: float) -> None:
        """Add the expected embeddings that a phase leaves, as a multiple of those before."""
        self._size *= factor
        self.between = self.written
        self.written += self._size

    def _closes(self, at: int) -> float:
        """Return the expected share of pairs of candidates that a query edge joins."""
        edge, candidates = self._pattern.edges[at], self._statistics.candidates
        pairs = candidates[edge.source] * candidates[edge.target]
        return min(1.0, self._statistics.arcs[at] / max(pairs, 1))

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
