"""Patterns with a universal vertex: a vertex that is adjacent to all others.

Once it is matched, the images of all others are neighbours of its image (members), and a bitmap holds the
arcs between them (``match/universal_vertex.cuh``). This module chooses matching orders and turns levels into
operations on bits; levels are numbered without the universal vertex: 0, 1, ...
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from math import inf

from motiflux.graph import AdjacencyKey, Direction, VertexFilter
from motiflux.plan.bind import BoundPattern, Codes
from motiflux.plan.passes.symmetry import closure
from motiflux.plan.shape import StepShape
from motiflux.types import Semantics

LEAST_LEVELS, MOST_LEVELS = 3, 9
"""Limits without the universal vertex; the upper one is ``match::kMostUniversalVertexLevels``."""

_LANES = 32
_NOMINAL = ((64.0, 0.3), (500.0, 0.1), (500.0, 0.02))
"""Pairs of a root's number of neighbours and the probability that two of them are adjacent. The best order
for each pair is considered."""
_STEP_WORDS = 8.0
"""Approximate number of words that take as long as a step of a warp."""


class ClosedForm(IntEnum):
    """Closed form of the last one or two levels (``match::UniversalVertexClosedForm``)."""

    SIZE = 0
    PAIRS = 1
    ORDERED = 2
    PRODUCT = 3
    DISTINCT = 4

    @property
    def levels(self) -> int:
        """Number of levels in closed form."""
        return 1 if self is ClosedForm.SIZE else 2


@dataclass(frozen=True, slots=True)
class NeighborhoodStep:
    """Operations that make the set of a level (``match::UniversalVertexStep``): earlier levels, and a base.

    Parameters
    ----------
    start
        The level whose set is the first operand; None if it is the base.
    """

    joined: frozenset[int]
    apart: frozenset[int]
    after: frozenset[int]
    before: frozenset[int]
    distinct: frozenset[int]
    base: int
    start: int | None = None

    @property
    def levels(self) -> frozenset[int]:
        """All levels on which the set depends."""
        return self.joined | self.apart | self.after | self.before | self.distinct

    def without(self, levels: frozenset[int]) -> NeighborhoodStep:
        """Return the step without some levels."""
        return replace(
            self,
            joined=self.joined - levels,
            apart=self.apart - levels,
            after=self.after - levels,
            before=self.before - levels,
            distinct=self.distinct - levels,
        )


@dataclass(frozen=True, slots=True)
class NeighborhoodShape:
    """Operations on bits of all levels (``match::UniversalVertexShape``).

    Parameters
    ----------
    lanes
        The level whose vertices lanes match; later levels are counted in closed form.
    bases
        First operands of sets: the number of a kind, and 1 (2) for members greater (less) than the root.
    """

    lanes: int
    close: ClosedForm
    bases: tuple[tuple[int, int], ...]
    steps: tuple[NeighborhoodStep, ...]
    renewed: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class NeighborhoodRows:
    """Rows and kinds of the vertices of a pattern with a universal vertex.

    Parameters
    ----------
    kinds
        Labels and filters of images of the levels.
    roots, members
        The arcs from a root to members, and the arcs between members.
    """

    kinds: tuple[tuple[Codes, VertexFilter | None], ...]
    roots: AdjacencyKey
    members: AdjacencyKey


def has_universal_vertex(bound: BoundPattern, semantics: Semantics) -> bool:
    """Return whether a pattern has a universal vertex and can be counted in bitmaps."""
    return bool(universal_vertices(bound, semantics))


def universal_vertices(bound: BoundPattern, semantics: Semantics) -> list[int]:
    """Return the universal vertices of a pattern; none if it cannot be counted in bitmaps.

    All edges must have equal labels and conditions, since there is one bitmap; for induced matching, edges
    must have no labels and conditions.
    """
    kinds = {(edge.labels, edge.where) for edge in bound.edges}
    if len(kinds) != 1 or not all(edge.either for edge in bound.edges):
        return []
    if semantics is Semantics.INDUCED and kinds != {(None, None)}:
        return []
    if not LEAST_LEVELS <= bound.size - 1 <= MOST_LEVELS:
        return []
    if sum(len(near) > 1 for near in bound.neighbors) == 1 and semantics is not Semantics.INDUCED:
        return []  # a star: counted in closed form
    return [vertex for vertex in range(bound.size) if len(bound.neighbors[vertex]) == bound.size - 1]


def rows_of(bound: BoundPattern, order: Sequence[int]) -> tuple[NeighborhoodRows, tuple[int, ...]]:
    """Return the rows of a pattern in that order, and the kind of each level."""
    universal, rest = order[0], order[1:]
    asked = [(bound.labels[vertex], bound.filters[vertex]) for vertex in rest]
    kinds = tuple(dict.fromkeys(asked))
    labels: Codes = None
    if all(codes is not None for codes, _ in kinds):
        labels = tuple(sorted({code for codes, _ in kinds for code in codes or ()}))
    edge = bound.edges[0]
    members = AdjacencyKey(Direction.EITHER, edge.labels, labels, labels, edge_where=edge.where)
    roots = replace(members, source_labels=bound.labels[universal], source_where=bound.filters[universal])
    return NeighborhoodRows(kinds, roots, members), tuple(kinds.index(one) for one in asked)


def promising_orders(bound: BoundPattern, universal: int, semantics: Semantics) -> list[tuple[int, ...]]:
    """Return orders of the vertices, the universal one first, each good for some sizes of rows."""
    rest = [vertex for vertex in range(bound.size) if vertex != universal]
    found = (_cheapest(bound, rest, semantics, members, chance) for members, chance in _NOMINAL)
    return list(dict.fromkeys((universal, *order) for order in found))


def _cheapest(
    bound: BoundPattern, rest: list[int], semantics: Semantics, members: float, chance: float
) -> tuple[int, ...]:
    """Return the order of the least work if any two members are adjacent with probability `chance`."""
    words = members / _LANES
    best: dict[frozenset[int], tuple[float, tuple[int, ...]]] = {frozenset(): (0.0, ())}
    chosen: tuple[float, tuple[int, ...]] = (inf, ())
    for _ in range(len(rest) - 1):
        grown: dict[frozenset[int], tuple[float, tuple[int, ...]]] = {}
        for matched, (cost, order) in best.items():
            for vertex in rest:
                if vertex in matched:
                    continue
                now = matched | {vertex}
                edges = sum(len(bound.neighbors[one] & now) for one in now) // 2
                size = members ** len(now) * chance**edges
                left = [one for one in rest if one not in now]
                if len(order) > 0 and _closes(bound, left, semantics):
                    total = cost + size * len(left) * words / _LANES
                    chosen = min(chosen, (total, (*order, vertex, *left)))
                further = cost + size * (_STEP_WORDS + words / _LANES)
                if now not in grown or further < grown[now][0]:
                    grown[now] = (further, (*order, vertex))
        best = grown
    return chosen[1]


def _closes(bound: BoundPattern, left: list[int], semantics: Semantics) -> bool:
    if len(left) == 1:
        return True
    free = semantics is not Semantics.INDUCED and left[0] not in bound.neighbors[left[-1]]
    return len(left) == ClosedForm.PRODUCT.levels and free


def neighborhood_shape(steps: Sequence[StepShape], kinds: Sequence[int]) -> NeighborhoodShape:
    """Return the operations on bits that count the same as `steps`, which must reuse no intersections.

    Parameters
    ----------
    kinds
        The number of the kind of each level.
    """
    found, bases = _steps(steps, kinds)
    levels = len(found)
    close = _close(found) if levels > LEAST_LEVELS else None
    if close is None:
        close = ClosedForm.SIZE
    lanes = levels - 1 - close.levels
    late = frozenset(range(lanes, levels))
    one_set = close in (ClosedForm.PAIRS, ClosedForm.ORDERED)  # the set of the first of the two levels
    needed = range(1, levels - one_set)
    known = {level: found[level].without(late) for level in needed}
    anchors = {level: max(known[level].levels, default=0) for level in needed}
    made = list(found)
    for level in needed:
        start = _start(level, known, anchors)
        if start is not None:
            had = known[start]
            made[level] = replace(
                found[level],
                joined=found[level].joined - had.joined,
                apart=found[level].apart - had.apart,
                after=found[level].after - had.after,
                before=found[level].before - had.before,
                distinct=found[level].distinct - had.distinct,
                start=start,
            )
    renewed = tuple(tuple(t for t in needed if anchors[t] == level) for level in range(levels))
    return NeighborhoodShape(lanes, close, bases, tuple(made), renewed)


def _steps(
    steps: Sequence[StepShape], kinds: Sequence[int]
) -> tuple[list[NeighborhoodStep], tuple[tuple[int, int], ...]]:
    """Return the steps, with implied order restrictions but without redundant ones, and the bases."""
    stated = {(other, level) for level, step in enumerate(steps) for other in step.after}
    stated |= {(level, other) for level, step in enumerate(steps) for other in step.before}
    certain = closure(tuple(stated))
    bases: dict[tuple[int, int], int] = {}
    found = []
    for level, step in enumerate(steps[1:], start=1):
        assert any(source.level == 0 for source in step.sources), "the universal is adjacent to all"
        smaller = {other for other in range(1, level) if (other, level) in certain}
        greater = {other for other in range(1, level) if (level, other) in certain}
        order = 1 if (0, level) in certain else 2 if (level, 0) in certain else 0
        found.append(
            NeighborhoodStep(
                joined=_below(source.level for source in step.sources),
                apart=_below((*step.not_out, *step.not_in)),
                after=_below(a for a in smaller if not any((a, b) in certain for b in smaller)),
                before=_below(b for b in greater if not any((a, b) in certain for a in greater)),
                distinct=_below(step.distinct),
                base=bases.setdefault((kinds[level - 1], order), len(bases)),
            )
        )
    return found, tuple(bases)


def _below(levels: Iterable[int]) -> frozenset[int]:
    """Return levels of a plan, numbered without the universal vertex."""
    return frozenset(level - 1 for level in levels if level > 0)


def _close(steps: list[NeighborhoodStep]) -> ClosedForm | None:
    """Return the closed form of the last two levels; None if there is none."""
    first, last = len(steps) - 2, len(steps) - 1
    one, other = steps[first], steps[last]
    if first in other.joined | other.apart:
        return None
    same = one == other.without(frozenset({first}))
    if first in other.after:
        # Vertices less than the first are less than the last, whose step omits these comparisons.
        same = replace(one, after=frozenset()) == replace(other, after=frozenset()).without(
            frozenset({first})
        )
        same = same and other.after == {first}
        return ClosedForm.PAIRS if same else None
    if first in other.before:
        return None
    if first not in other.distinct:
        return ClosedForm.PRODUCT
    return ClosedForm.ORDERED if same else ClosedForm.DISTINCT


def _start(level: int, known: dict[int, NeighborhoodStep], anchors: dict[int, int]) -> int | None:
    """Return the level whose set saves most as the first operand: all its conditions hold here too."""
    mine = known[level]
    apart = mine.distinct | mine.joined | mine.after | mine.before
    best, saved = None, 0
    for other, had in known.items():
        if other >= level or anchors[other] > anchors[level] or had.base != mine.base:
            continue
        holds = (
            had.joined <= mine.joined
            and had.apart <= mine.apart
            and had.after <= mine.after
            and had.before <= mine.before
            and had.distinct <= apart
        )
        if holds and len(had.joined) + len(had.apart) > saved:
            best, saved = other, len(had.joined) + len(had.apart)
    return best
