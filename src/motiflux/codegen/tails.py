"""Tails for kernels (``view/tail.hpp``): sets, and numbers that follow from their sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import factorial
from typing import TypeAlias

from motiflux.codegen import layout
from motiflux.graph import AdjacencyKey
from motiflux.plan.ir import Plan
from motiflux.plan.shape import Source, Tail, TailBlock, TailComponent

_MOST_BY_LANE = 2
"""Most rows that one lane intersects alone."""
PAIR = 2
"""Levels of a component whose number is the product of two sizes minus the size of the intersection."""


_MOST_KNOWN = 512
_known: dict[int, tuple[Plan, DeviceTail | None]] = {}


@dataclass(frozen=True, slots=True)
class TailSet:
    """An intersection of rows whose size a tail needs, or whose vertices it enumerates.

    Parameters
    ----------
    places
        For each row, its source's position among all sources of the plan, and the level whose vertex has it.
    reuse
        The enumerated levels whose sets are intersected too.
    after, before
        Levels whose vertex must be smaller (greater) than the vertices of the set.
    apart
        Levels whose vertex is excluded, although it might be in the rows.
    """

    places: tuple[tuple[int, int], ...]
    reuse: tuple[int, ...]
    after: frozenset[int]
    before: frozenset[int]
    apart: frozenset[int]

    @property
    def levels(self) -> frozenset[int]:
        """Levels on which the set depends. A reused set exists once its level is matched."""
        picked = {level for _, level in self.places}
        return frozenset(picked) | set(self.reuse) | self.after | self.before | self.apart

    @property
    def spans(self) -> int:
        """Number of sets that are intersected."""
        return len(self.places) + len(self.reuse)


@dataclass(frozen=True, slots=True)
class Sizes:
    """A component whose number follows from the sizes of its levels' sets and of their intersections."""

    component: TailComponent
    sets: tuple[TailSet, ...]
    of_level: tuple[int, ...]
    terms: tuple[tuple[int, tuple[int, ...]], ...] = ()
    common: int = 0

    @property
    def kind(self) -> int:
        """``view::TailKind``."""
        if len(self.of_level) == 1:
            return layout.TAIL_ONE
        if len(set(self.component.sets)) == 1:
            return layout.TAIL_SAME
        return layout.TAIL_PAIR if len(self.of_level) == PAIR else layout.TAIL_MIXED

    @property
    def levels(self) -> frozenset[int]:
        """Levels on which the number depends."""
        return frozenset().union(*(one.levels for one in self.sets))

    @property
    def by_lane(self) -> bool:
        """Whether one lane can compute the number alone."""
        return self.kind != layout.TAIL_MIXED and all(one.spans <= _MOST_BY_LANE for one in self.sets)


@dataclass(frozen=True, slots=True)
class Walked:
    """A level of the tail that is enumerated; `block` is counted for each of its candidates."""

    level: int
    block: TailBlock | None
    set: TailSet
    sizes: tuple[Sizes, ...]
    children: tuple[Walked, ...]

    @property
    def kept(self) -> bool:
        """Whether the number of the block is cached: if a look-up takes less time than counting."""
        if self.block is None:
            return False
        excluded = [levels for _, levels in self.block.excluded]
        words = len(self.block.exact) + sum(map(len, excluded))
        return (
            self.block.kept
            and bool(self.children)
            and len(excluded) <= layout.MOST_KEY_GROUPS
            and 0 < words <= layout.MOST_KEY_WORDS
        )

    @property
    def levels(self) -> frozenset[int]:
        """Levels on which the sum depends, including levels of the block."""
        below = [*(one.levels for one in self.sizes), *(one.levels for one in self.children)]
        return self.set.levels.union(*below)

    def all(self) -> Iterator[Walked]:
        """Yield this level and all enumerated levels below it."""
        yield self
        for child in self.children:
            yield from child.all()


@dataclass(frozen=True)
class DeviceTail:
    """A tail by levels: the sizes to multiply and the levels to enumerate once a level is matched."""

    start: int
    sizes: dict[int, tuple[Sizes, ...]]
    children: dict[int, tuple[Walked, ...]]

    @property
    def nested(self) -> bool:
        """Whether any level is enumerated."""
        return any(self.children.values())

    def walked(self) -> Iterator[Walked]:
        """Yield all levels of the tail that are enumerated."""
        for children in self.children.values():
            for child in children:
                yield from child.all()

    def sets(self) -> Iterator[TailSet]:
        """Yield all sets."""
        for sizes in self.sizes.values():
            for one in sizes:
                yield from one.sets
        for walked in self.walked():
            yield walked.set
            for one in walked.sizes:
                yield from one.sets

    @property
    def keeps(self) -> bool:
        """Whether any numbers are cached."""
        return any(walked.kept for walked in self.walked())

    @property
    def max_spans(self) -> int:
        """Maximum number of sets in one intersection."""
        return max(one.spans for one in self.sets())


def device_tail(plan: Plan) -> DeviceTail | None:
    """Return the tail of `plan` for kernels; None if there is none, or none that they can count.

    Cached by the plan's id: hashing a plan takes about as long as making its tail again.
    """
    if plan.tail is None:
        return None
    known = _known.get(id(plan))
    if known is not None and known[0] is plan:
        return known[1]
    made = None if _has_overlapping_parts(plan.tail) else _Maker(plan).tail()
    fitting = made if made is not None and _fits(made) else None
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    _known[id(plan)] = plan, fitting
    return fitting


def _has_overlapping_parts(block: Tail | TailBlock) -> bool:
    """Return whether parts of a component can share vertices: no kernel counts such a tail."""
    return any(
        (component.deep and (bool(component.lists) or len(component.levels) > 1))
        or any(below is not None and _has_overlapping_parts(below) for below in component.child_blocks)
        for component in block.components
    )


def _fits(tail: DeviceTail) -> bool:
    sets = list(tail.sets())
    sizes = [one for many in tail.sizes.values() for one in many]
    sizes += [one for walked in tail.walked() for one in walked.sizes]
    return (
        len(sets) <= layout.MOST_TAIL_SETS
        and sum(len(one.places) for one in sets) <= layout.MOST_TAIL_SOURCES
        and sum(len(one.terms) for one in sizes) <= layout.MOST_TAIL_TERMS
        and all(len(one.reuse) <= 1 for one in sets)
    )


_Row: TypeAlias = tuple[Source, AdjacencyKey, tuple[int, bool] | None]


class _Maker:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._place: list[int] = []
        place = 0
        for step in plan.shape.steps:
            self._place.append(place)
            place += len(step.sources)

    def tail(self) -> DeviceTail:
        tail = self._plan.tail
        assert tail is not None
        matched = frozenset(range(tail.start))
        sizes: dict[int, list[Sizes]] = {level: [] for level in matched}
        children: dict[int, list[Walked]] = {level: [] for level in matched}
        found, below = self._block(tail, matched)
        for one in found:
            sizes[max(one.levels & matched, default=0)].append(one)
        for child in below:
            children[max(child.levels & matched, default=0)].append(child)
        return DeviceTail(
            tail.start,
            {level: tuple(many) for level, many in sizes.items()},
            {level: tuple(many) for level, many in children.items()},
        )

    def _block(
        self, block: TailBlock | Tail | None, matched: frozenset[int]
    ) -> tuple[tuple[Sizes, ...], tuple[Walked, ...]]:
        sizes: list[Sizes] = []
        children: list[Walked] = []
        for component in () if block is None else block.components:
            if not component.deep:
                sizes.append(self._sizes(component, matched))
            else:
                children.append(self._walked(component.levels[0], component.child_blocks[0], matched))
        return tuple(sizes), tuple(children)

    def _walked(self, level: int, child_block: TailBlock | None, matched: frozenset[int]) -> Walked:
        return Walked(
            level, child_block, self._set([level], matched), *self._block(child_block, matched | {level})
        )

    def _sizes(self, component: TailComponent, matched: frozenset[int]) -> Sizes:
        """Return a component as sizes, each different set once."""
        if len(set(component.sets)) == 1:
            own = self._set(component.levels[:1], matched)
            return Sizes(component, (own,), (0,) * len(component.levels))
        number: dict[TailSet, int] = {}
        first: dict[int, int] = {}
        for level, which in zip(component.levels, component.sets, strict=True):
            first.setdefault(which, level)

        def measured(which: Iterable[int]) -> int:
            made = self._set([first[one] for one in sorted(which)], matched)
            return number.setdefault(made, len(number))

        of_level = tuple(measured([which]) for which in component.sets)
        if len(component.levels) == PAIR:
            common = measured(component.sets)
            return Sizes(component, tuple(number), of_level, common=common)
        terms: Counter[tuple[int, ...]] = Counter()
        for blocks in _partitions(component.sets):
            sign = 1
            for block in blocks:
                sign *= (-1) ** (len(block) - 1) * factorial(len(block) - 1)
            terms[tuple(sorted(measured(set(block)) for block in blocks))] += sign
        kept = tuple((times, factors) for factors, times in terms.items() if times)
        return Sizes(component, tuple(number), of_level, kept)

    def _set(self, levels: Sequence[int], matched: frozenset[int]) -> TailSet:
        """Return the intersection of the sets of `levels`."""
        steps = [self._plan.shape.steps[level] for level in levels]
        reuse = {step.reuse for step in steps if step.reuse is not None}
        rows: dict[_Row, int] = {}
        for level in levels:
            self._add_rows(level, rows, through=len(reuse) > 1)
        after = frozenset().union(*(step.after for step in steps))
        before = frozenset().union(*(step.before for step in steps))
        apart = frozenset().union(*(matched.intersection(step.distinct) for step in steps))
        picked = {source.level for source, _, _ in rows}
        # No vertex is in its own row, nor less or greater than itself.
        return TailSet(
            tuple((place, source.level) for (source, _, _), place in rows.items()),
            tuple(sorted(reuse)) if len(reuse) == 1 else (),
            after,
            before,
            apart - picked - after - before,
        )

    def _add_rows(self, level: int, rows: dict[_Row, int], *, through: bool) -> None:
        """Add the rows of a level; with `through`, those of the set that it reuses too."""
        step, args = self._plan.shape.steps[level], self._plan.args.steps[level]
        for at, source in enumerate(step.sources):
            place = self._place[level] + at
            # Rows of a candidate space are those of one query edge.
            edge = None if self._plan.space is None else args.edges[at]
            row = (source, args.adjacencies[at], edge)
            # The intersection of a row with its part above its vertex is that part.
            if source.level in step.after:
                rows[row] = place
            else:
                rows.setdefault(row, place)
        if through and step.reuse is not None:
            self._add_rows(step.reuse, rows, through=True)


def _partitions(members: Sequence[int]) -> Iterator[list[list[int]]]:
    """Yield the ways to split `members`, which may repeat, into blocks."""
    if not members:
        yield []
        return
    first, rest = members[0], members[1:]
    for blocks in _partitions(rest):
        yield [[first], *blocks]
        for at, block in enumerate(blocks):
            yield [*blocks[:at], [first, *block], *blocks[at + 1 :]]
