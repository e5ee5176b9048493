"""The checks of phases: order restrictions, injectivity and, for induced matching, absent arcs."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import fields, replace
from functools import reduce

from motiflux.plan.bind import BoundPattern, Codes
from motiflux.plan.passes.symmetry import Restriction, closure
from motiflux.plan.phases.data import (
    CandidateSet,
    Checks,
    EdgeTest,
    Elimination,
    Extension,
    Pair,
    Phase,
    Relation,
    Root,
)
from motiflux.plan.phases.options import Draft, DraftSet
from motiflux.plan.phases.order import ClosingEdges, Drafts
from motiflux.plan.phases.statistics import PhaseStatistics
from motiflux.types import Semantics


def checked_phases(
    pattern: BoundPattern,
    drafts: Drafts,
    core: frozenset[int],
    restrictions: tuple[Restriction, ...],
    semantics: Semantics,
    statistics: PhaseStatistics,
) -> tuple[Phase, ...]:
    """Return the phases of drafts with all their checks.

    Restrictions compare a query vertex with one that is matched after it.

    For induced matching, each phase checks for absent arcs in the partitions that it reads. The rest of these
    checks follow in elimination phases, one for each partition: once the core is matched, and at the end.
    """
    checking = _Checking(pattern, restrictions, semantics, statistics)
    phases: list[Phase] = []
    for at, draft in enumerate(drafts):
        phases.append(checking.extension(draft) if isinstance(draft, Draft) else checking.elimination(draft))
        next_extends = at + 1 == len(drafts) or isinstance(drafts[at + 1], Draft)
        done = checking.matched >= (core or set(range(pattern.size))) and next_extends
        if done:
            phases += checking.absences(draft.partitions)
            core = frozenset()
    return tuple(phases)


class _Checking:
    """The query vertices matched so far, and the partitions in which absent arcs are still to be checked."""

    def __init__(
        self,
        pattern: BoundPattern,
        restrictions: tuple[Restriction, ...],
        semantics: Semantics,
        statistics: PhaseStatistics,
    ) -> None:
        self._pattern = pattern
        self._restrictions = frozenset(restrictions)
        self._ordered = closure(restrictions)
        self._rivals = (
            pattern.rivals if semantics is not Semantics.HOMOMORPHISM else (frozenset[int](),) * pattern.size
        )
        self._statistics = statistics
        self._labels = range(len(statistics.partitions))
        self._absent: dict[tuple[int, int], set[int]] = {}
        if semantics is Semantics.INDUCED:
            self._absent = {pair: set(self._labels) for pair in absent_arcs(pattern)}
        self.matched: set[int] = set()

    def extension(self, draft: Draft) -> Extension:
        """Return an extension phase with its checks."""
        root = None
        if draft.root is not None:
            root = Root(draft.root, self._pattern.labels[draft.root], self._pattern.filters[draft.root])
            self.matched.add(draft.root)
        sets = tuple(self._candidate_set(one) for one in draft.sets)
        vertices = tuple(member.vertex for member in draft.members)
        pairs = tuple(
            pair
            for at, second in enumerate(vertices)
            for first in vertices[:at]
            if (pair := self._pair(first, second)) is not None
        )
        self.matched.update(vertices)
        checked = [pair for pair in self._pending(draft.partitions) if not set(pair).isdisjoint(vertices)]
        self._drop(checked, draft.partitions)
        return Extension(draft.partitions, draft.pattern, sets, pairs, root)

    def elimination(self, draft: ClosingEdges) -> Elimination:
        """Return an elimination phase, which also checks for absent arcs."""
        edges = [self._pattern.edges[at] for at in draft.edges]
        required = tuple(EdgeTest(edge.source, edge.target, edge.either, edge.where) for edge in edges)
        forbidden = self._pending(draft.partitions)
        self._drop(forbidden, draft.partitions)
        return Elimination(draft.partitions, required, forbidden)

    def absences(self, resident: Codes) -> Iterator[Elimination]:
        """Yield phases that check for absent arcs in the partitions that no phase has read for them."""
        here = set(self._labels if resident is None else resident)
        by_size = sorted(
            self._labels, key=lambda label: (label not in here, self._statistics.partitions[label], label)
        )
        for label in by_size:
            if forbidden := self._pending((label,)):
                self._drop(forbidden, (label,))
                yield Elimination((label,), (), forbidden)

    def _candidate_set(self, draft: DraftSet) -> CandidateSet:
        vertices = tuple(member.vertex for member in draft.members)
        checks = [self._checks(vertex) for vertex in vertices]
        after = self._all_after(vertices)
        below = {u for u in self.matched if u in after or any((u, least) in self._ordered for least in after)}
        checks = [replace(one, after=tuple(u for u in one.after if u not in below)) for one in checks]
        common = replace(reduce(_both, checks), after=after)
        key = draft.key
        return CandidateSet(
            key.source,
            key.direction,
            key.where,
            key.labels,
            key.narrowing,
            vertices,
            common,
            tuple(_beyond(one, common) for one in checks),
        )

    def _all_after(self, vertices: tuple[int, ...]) -> tuple[int, ...]:
        """Return the matched vertices that candidates of all members of a set come after.

        Of members in ascending order, restrictions name the first one only; the others are cut with it before
        combinations of candidates are made. Vertices that come before another one found are left out.
        """
        found = [u for u in sorted(self.matched) if all((u, vertex) in self._ordered for vertex in vertices)]
        return tuple(u for u in found if not any((u, other) in self._ordered for other in found))

    def _checks(self, vertex: int) -> Checks:
        """Return the checks of a candidate with the vertices matched before the phase."""
        matched = sorted(self.matched)
        return Checks(
            distinct=tuple(
                u for u in matched if u in self._rivals[vertex] and (u, vertex) not in self._ordered
            ),
            after=tuple(u for u in matched if (u, vertex) in self._restrictions),
            not_out=tuple(u for u in matched if self._arc(u, vertex) in self._absent),
            not_in=tuple(u for u in matched if self._pattern.directed and (vertex, u) in self._absent),
        )

    def _pair(self, first: int, second: int) -> Pair | None:
        if (first, second) in self._ordered:
            relation = Relation.LESS
        else:
            relation = Relation.DIFFERENT if second in self._rivals[first] else Relation.ANY
        pair = Pair(
            first,
            second,
            relation,
            not_out=self._arc(first, second) in self._absent,
            not_in=self._pattern.directed and (second, first) in self._absent,
        )
        return None if pair == Pair(first, second, Relation.ANY) else pair

    def _arc(self, source: int, target: int) -> tuple[int, int]:
        """Return the pair by which an absent arc is known: in an undirected graph, in ascending order."""
        return (source, target) if self._pattern.directed or source < target else (target, source)

    def _pending(self, partitions: Codes) -> tuple[tuple[int, int], ...]:
        """Return the pairs of matched vertices that are still to be checked in one of some partitions."""
        labels = self._labels if partitions is None else partitions
        return tuple(
            pair
            for pair, left in self._absent.items()
            if self.matched.issuperset(pair) and not left.isdisjoint(labels)
        )

    def _drop(self, pairs: Collection[tuple[int, int]], partitions: Codes) -> None:
        """Note that pairs are checked in some partitions."""
        for pair in pairs:
            self._absent[pair].difference_update(self._labels if partitions is None else partitions)


def absent_arcs(pattern: BoundPattern) -> tuple[tuple[int, int], ...]:
    """Return the arcs that induced matching forbids, by query vertices; undirected ones ascend."""
    allowed = {(edge.source, edge.target) for edge in pattern.edges}
    allowed |= {(edge.target, edge.source) for edge in pattern.edges if edge.either}
    vertices = range(pattern.size)
    return tuple(
        (u, v)
        for u in vertices
        for v in vertices
        if u != v and (pattern.directed or u < v) and (u, v) not in allowed
    )


def _both(one: Checks, other: Checks) -> Checks:
    """Return the checks that two vertices have in common."""
    return Checks(*(tuple(u for u in mine if u in theirs) for mine, theirs in _aligned(one, other)))


def _beyond(one: Checks, common: Checks) -> Checks:
    """Return the checks that are not in `common`."""
    return Checks(*(tuple(u for u in mine if u not in theirs) for mine, theirs in _aligned(one, common)))


def _aligned(one: Checks, other: Checks) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    return [(getattr(one, part.name), getattr(other, part.name)) for part in fields(Checks)]
