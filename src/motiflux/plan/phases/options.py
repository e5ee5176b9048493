"""The extension phases that are possible at one moment, and the best of them (GENEVA, section 5.5)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from motiflux.conditions import Condition
from motiflux.graph import Direction, VertexFilter
from motiflux.plan.bind import BoundPattern, Codes
from motiflux.plan.phases.data import PRIORITY, MatchingPattern
from motiflux.plan.phases.statistics import PhaseStatistics

_MANY = 3
"""Least number of vertices of the matching patterns 5 to 7."""


@dataclass(frozen=True, slots=True)
class SetKey:
    """The conditions that make a set of candidates, by the fields of `CandidateSet`."""

    source: int
    direction: Direction
    where: Condition | None
    labels: Codes
    narrowing: VertexFilter | None


@dataclass(frozen=True, slots=True)
class Member:
    """A query vertex to match, and the query edge that leads to it, by position."""

    vertex: int
    edge: int


@dataclass(frozen=True, slots=True)
class DraftSet:
    """A set of candidates and the query vertices matched from it."""

    key: SetKey
    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """An extension phase without its checks."""

    partitions: Codes
    pattern: MatchingPattern
    sets: tuple[DraftSet, ...]
    root: int | None = None

    @property
    def members(self) -> tuple[Member, ...]:
        """The vertices that it matches, the root excluded."""
        return tuple(member for one in self.sets for member in one.members)

    @property
    def vertices(self) -> tuple[int, ...]:
        """The vertices that it matches, in matching order."""
        first = () if self.root is None else (self.root,)
        return (*first, *(member.vertex for member in self.members))

    def split(self) -> tuple[Draft, ...]:
        """Return the phases that match the same vertices one at a time."""
        singles = [
            Draft(self.partitions, MatchingPattern.ONE_VERTEX, (DraftSet(one.key, (member,)),))
            for one in self.sets
            for member in one.members
        ]
        return (Draft(self.partitions, singles[0].pattern, singles[0].sets, self.root), *singles[1:])

    def without_last(self) -> tuple[Draft, ...]:
        """Return the phases that match the same vertices, the last one in a phase of its own."""
        if len(self.members) == 1:
            return (self,)
        *sets, last = self.sets
        *members, vertex = last.members
        if members:
            sets.append(DraftSet(last.key, tuple(members)))
        alone = DraftSet(last.key, (vertex,))
        return (
            Draft(self.partitions, _pattern_of(self.pattern, sets), tuple(sets), self.root),
            Draft(self.partitions, MatchingPattern.ONE_VERTEX, (alone,)),
        )

    def bounded(self, most: int) -> tuple[Draft, ...]:
        """Return the phases that match the same vertices, at most so many of a set of candidates at a time.

        If both sets together have more than that, each has phases of its own.
        """
        if len(self.members) <= most:
            return (self,)
        parts = [
            DraftSet(one.key, one.members[first : first + most])
            for one in self.sets
            for first in range(0, len(one.members), most)
        ]
        roots = [self.root, *[None] * (len(parts) - 1)]
        return tuple(
            Draft(self.partitions, _pattern_of(self.pattern, (one,)), (one,), root)
            for one, root in zip(parts, roots, strict=True)
        )


def _pattern_of(pattern: MatchingPattern, sets: Sequence[DraftSet]) -> MatchingPattern:
    """Return the matching pattern of sets that are a part of those of `pattern`."""
    if len(sets) == 1:
        return _PATTERN_OF_ONE_SET[min(len(sets[0].members), _MANY)]
    if sum(len(one.members) for one in sets) >= _MANY:
        return pattern
    if pattern is MatchingPattern.MANY_OF_ONE_SOURCE:
        return MatchingPattern.ONE_SOURCE_TWO_SETS
    first, second = (one.key.labels for one in sets)
    equal = labels_may_be_equal(first, second)
    return MatchingPattern.TWO_SOURCES_ONE_LABEL if equal else MatchingPattern.TWO_SOURCES_TWO_LABELS


_PATTERN_OF_ONE_SET = {
    1: MatchingPattern.ONE_VERTEX,
    2: MatchingPattern.PAIR_OF_ONE_SET,
    _MANY: MatchingPattern.MANY_OF_ONE_SET,
}
"""Matching patterns of one set of candidates, by the number of vertices."""


def labels_may_be_equal(first: Codes, second: Codes) -> bool:
    """Return whether two vertices with such labels may be the same."""
    return first is None or second is None or not set(first).isdisjoint(second)


class Options:
    """The extension phases by which some matched query vertices reach others.

    Parameters
    ----------
    matched
        Query vertices that are matched.
    allowed
        Query vertices that may be matched next, the matched ones included or not.
    through
        A query edge, by position, that the phase must take; None: any.
    size
        Expected number of embeddings of the matched vertices.
    """

    def __init__(
        self,
        pattern: BoundPattern,
        statistics: PhaseStatistics,
        matched: Collection[int],
        allowed: Collection[int],
        through: int | None = None,
        size: float = 1.0,
    ) -> None:
        self._pattern = pattern
        self._statistics = statistics
        self._matched = frozenset(matched)
        self._through = through
        self._size = size
        found: dict[Codes, dict[SetKey, list[Member]]] = {}
        for end in sorted(set(allowed) - self._matched):
            for approach in pattern.approaches[end]:
                if approach.start in self._matched:
                    rows = approach.adjacency
                    key = SetKey(
                        approach.start, rows.direction, rows.edge_where, rows.target_labels, rows.target_where
                    )
                    of_labels = found.setdefault(rows.edge_labels, {})
                    of_labels.setdefault(key, []).append(Member(end, approach.edge[0]))
        self._sets: Mapping[Codes, list[DraftSet]] = {
            labels: [
                DraftSet(key, tuple(sorted(members, key=lambda one: self._rank(key, one))))
                for key, members in sets.items()
            ]
            for labels, sets in found.items()
        }

    def best(self, patterns: Collection[MatchingPattern]) -> Draft | None:
        """Return the phase whose matching pattern has the highest priority; None if no phase is possible.

        Of these, the phase with the most vertices; then the one with the fewest expected embeddings after
        the eliminations that follow; then the one of the smallest partitions.
        """
        for pattern in PRIORITY:
            if pattern in patterns:
                found = [draft for draft in self._drafts(pattern) if self._is_through(draft)]
                if found:
                    return min(found, key=self.cost)
        return None

    def cost(self, draft: Draft) -> tuple[float, ...]:
        """Return the order in which phases of one matching pattern are preferred."""
        members = draft.members
        seen = set(self._matched)
        size = self._size
        for candidates in draft.sets:
            for member in candidates.members:
                size *= self._multiplies(candidates.key, member, seen)
                seen.add(member.vertex)
        return (
            -len(members),
            size,
            self._statistics.partition_arcs(draft.partitions),
            *(member.vertex for member in members),
        )

    def _is_through(self, draft: Draft) -> bool:
        return self._through is None or any(member.edge == self._through for member in draft.members)

    def _rank(self, key: SetKey, member: Member) -> tuple[bool, float, int]:
        """Return the order in which members of a set are preferred."""
        return member.edge != self._through, self._multiplies(key, member, self._matched), member.vertex

    def _multiplies(self, key: SetKey, member: Member, seen: Collection[int]) -> float:
        """Return the expected factor of the number of embeddings if a vertex is matched and edges checked."""
        arcs, candidates = self._statistics.arcs, self._statistics.candidates
        factor = arcs[member.edge] / max(candidates[key.source], 1)
        for approach in self._pattern.approaches[member.vertex]:
            at, _ = approach.edge
            if at != member.edge and approach.start in seen:
                pairs = candidates[approach.start] * candidates[member.vertex]
                factor *= min(1.0, arcs[at] / max(pairs, 1))
        return factor

    def _drafts(self, pattern: MatchingPattern) -> Iterator[Draft]:
        for labels, sets in self._sets.items():
            for chosen in _choices(pattern, sets):
                larger_first = sorted(chosen, key=lambda one: -len(one.members))
                yield Draft(labels, pattern, tuple(larger_first))


def _choices(pattern: MatchingPattern, sets: list[DraftSet]) -> Iterator[tuple[DraftSet, ...]]:
    """Yield the sets of candidates of the phases of one matching pattern."""
    match pattern:
        case MatchingPattern.ONE_VERTEX:
            yield from ((DraftSet(one.key, (member,)),) for one in sets for member in one.members)
        case MatchingPattern.PAIR_OF_ONE_SET:
            yield from ((DraftSet(one.key, one.members[:2]),) for one in sets if len(one.members) >= 2)
        case MatchingPattern.MANY_OF_ONE_SET:
            yield from ((one,) for one in sets if len(one.members) >= _MANY)
        case MatchingPattern.ONE_SOURCE_TWO_SETS:
            yield from _pairs(_two_sets(sets, one_source=True))
        case MatchingPattern.TWO_SOURCES_ONE_LABEL | MatchingPattern.TWO_SOURCES_TWO_LABELS:
            one_label = pattern is MatchingPattern.TWO_SOURCES_ONE_LABEL
            for first, second in _two_sets(sets, one_source=False):
                if labels_may_be_equal(first.key.labels, second.key.labels) == one_label:
                    yield from _pairs([(first, second)])
        case MatchingPattern.MANY_OF_ONE_SOURCE:
            yield from _many(_two_sets(sets, one_source=True))
        case MatchingPattern.MANY_OF_TWO_SOURCES:
            yield from _many(_two_sets(sets, one_source=False))


def _two_sets(sets: list[DraftSet], *, one_source: bool) -> Iterator[tuple[DraftSet, DraftSet]]:
    for first, second in combinations(sets, 2):
        if (first.key.source == second.key.source) == one_source:
            yield first, second


def _pairs(sets: Iterable[tuple[DraftSet, DraftSet]]) -> Iterator[tuple[DraftSet, ...]]:
    """Yield the first members of both sets; where these are one vertex, with the next member of either."""
    for first, second in sets:
        for one, other in product(first.members[:2], second.members[:2]):
            if one.vertex != other.vertex:
                yield DraftSet(first.key, (one,)), DraftSet(second.key, (other,))


def _many(sets: Iterable[tuple[DraftSet, DraftSet]]) -> Iterator[tuple[DraftSet, ...]]:
    """Yield both sets whole; a vertex that both have is a member of only one of them."""
    for first, second in sets:
        for one, other in ((first, _without(second, first)), (_without(first, second), second)):
            if one.members and other.members and len(one.members) + len(other.members) >= _MANY:
                yield one, other
            if len(one.members) == len(first.members) and len(other.members) == len(second.members):
                break


def _without(one: DraftSet, other: DraftSet) -> DraftSet:
    taken = {member.vertex for member in other.members}
    return DraftSet(one.key, tuple(member for member in one.members if member.vertex not in taken))
