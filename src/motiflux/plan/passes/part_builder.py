"""Builds the tree of blocks of a tail that is counted in parts (`motiflux.plan.passes.parts`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from motiflux.plan.passes.tail import MOST_MIXED_LEVELS, MOST_SETS, Comparisons, LevelSet, comparisons
from motiflux.plan.shape import PlanArgs, PlanShape, TailBlock, TailComponent, TailList

Pair = tuple[int, int]

# Mirrors csrc/search/tail.hpp: lists of a component, levels beside them, separators of a list, and levels in
# an entry.
MOST_LISTS = 2
MOST_BESIDE_LISTS = 3
MOST_SEPARATORS = 3
MOST_LISTED = 4


@dataclass(frozen=True, slots=True)
class PartWay:
    """How branches that may share data vertices are counted.

    Parameters
    ----------
    weighted
        Whether branches with one separator are counted by inclusion and exclusion, each vertex weighted by
        the number of ways to match the rest of its branch.
    lists
        Whether branches with several separators are lists.
    """

    weighted: bool
    lists: bool


LISTED, WEIGHTED, APART = PartWay(True, True), PartWay(True, False), PartWay(False, False)


@dataclass(frozen=True, slots=True)
class _Unit:
    """Connected levels of a component; only `separators` may coincide with levels of other units."""

    levels: frozenset[int]
    separators: tuple[int, ...]


class PartBuilder:
    """Builds the blocks of a tail that is counted in parts; parameters as for `nest` and `part_order`.

    Parameters
    ----------
    reorders
        Whether the builder chooses the order of levels, which `placed` then holds.
    """

    def __init__(
        self,
        shape: PlanShape,
        args: PlanArgs,
        coinciding: frozenset[Pair],
        classes: tuple[int, ...] | None,
        way: PartWay,
        *,
        reorders: bool = False,
        largest_first: bool = False,
    ) -> None:
        self.steps = list(shape.steps)
        self.placed: dict[int, None] = {}
        self._reorders = reorders
        self._largest_first = largest_first
        self._way = way
        self._args = args
        self._before: Comparisons = comparisons(shape)
        self._coinciding = coinciding
        levels = range(len(shape.steps))
        self._sources = [frozenset(source.level for source in step.sources) for step in shape.steps]
        self._joined: list[set[int]] = [set(sources) for sources in self._sources]
        self._meets: list[set[int]] = [set(step.distinct) for step in shape.steps]
        self._ordered: list[set[int]] = [set() for _ in levels]
        for level in levels:
            for other in self._sources[level]:
                self._joined[other].add(level)
            for other in shape.steps[level].distinct:
                self._meets[other].add(level)
        for a, b in self._before.stated:
            self._ordered[a].add(b)
            self._ordered[b].add(a)
        self._kinds = [
            (
                None if classes is None else classes[level],
                frozenset(m for other, m in coinciding if other == level),
            )
            for level in levels
        ]

    def block(self, levels: Iterable[int], matched: tuple[int, ...]) -> TailBlock:
        """Return the block of `levels`, which is counted once the levels `matched` are matched."""
        mine = frozenset(levels)
        groups = _connected(mine, lambda level: self._joined[level] | self._related(level))
        components = [self._component(group, matched) for group in groups]
        components.sort(key=lambda one: (one.deep, len(set(one.sets)), one.levels))
        exact, excluded = self._dependencies(mine, matched)
        costly = any(one.deep or len(set(one.sets)) > 1 for one in components)
        return TailBlock(tuple(components), exact, excluded, costly and len(exact) < len(matched))

    def _related(self, level: int) -> set[int]:
        """Return the levels whose vertices might coincide with that of `level`, or are ordered against it."""
        return self._meets[level] | self._ordered[level]

    def _component(self, group: frozenset[int], matched: tuple[int, ...]) -> TailComponent:
        if len(group) > 1:
            found = self._listed(group, matched) if self._way.lists else None
            if found is not None:
                return found
            units = self._units(group)
            found = self._weighted(units, matched) if len(units) > 1 else None
            if found is not None:
                return found
        first = min(group)
        if self._reorders:
            branch = self._next_branch(group)
            first = min(level for level in branch if not self._sources[level] & group)
        self._restrict(first, matched)
        rest = group - {first}
        child_blocks = (self.block(rest, (*matched, first)),) if rest else ()
        return TailComponent((first,), (0,), child_blocks=child_blocks)

    def _next_branch(self, group: frozenset[int]) -> frozenset[int]:
        """Return the branch to match next: one with matched sources, or else the largest."""
        if not self._largest_first:
            return group
        placed = list(self.placed)

        def latest(branch: frozenset[int]) -> int:
            sources = {source for level in branch for source in self._sources[level]} - branch
            return max((placed.index(source) for source in sources if source in self.placed), default=-1)

        branches = _connected(group, lambda level: self._joined[level])
        return max(branches, key=lambda branch: (latest(branch), len(branch)))

    def _units(self, group: frozenset[int]) -> list[_Unit]:
        """Return `group` in units with one separator each; branches with more separators are merged."""
        branches = _connected(group, lambda level: self._joined[level])
        while True:
            units = [self._unit(branch, group) for branch in branches]
            bad = next((unit for unit in units if not self._has_one_door(unit)), None)
            if bad is None or len(branches) == 1:
                return units
            branches = self._merged(bad, branches)

    def _unit(self, branch: frozenset[int], group: frozenset[int]) -> _Unit:
        others = group - branch
        separators = [level for level in branch if self._related(level) & others]
        separators.sort(
            key=lambda level: (bool(self._sources[level] & branch), -len(self._related(level) & others))
        )
        return _Unit(branch, tuple(separators))

    def _has_one_door(self, unit: _Unit) -> bool:
        """Whether the unit has one separator, which can be matched before its other levels."""
        if len(unit.separators) != 1:
            return False
        separator = unit.separators[0]
        return not self._sources[separator] & unit.levels if self._reorders else separator == min(unit.levels)

    def _merged(self, bad: _Unit, branches: list[frozenset[int]]) -> list[frozenset[int]]:
        """Return the branches; `bad` is merged with the branches that its last separator relates to."""
        meets = self._related(bad.separators[-1])
        joined = [branch for branch in branches if branch & meets or branch == bad.levels]
        return [branch for branch in branches if branch not in joined] + [frozenset().union(*joined)]

    def _weighted(self, units: list[_Unit], matched: tuple[int, ...]) -> TailComponent | None:
        """Return units with one separator each as a component; None if no formula counts it."""
        pairs = sorted((unit.separators[0], unit.levels) for unit in units)
        levels = [level for level, _ in pairs]
        if self._may_coincide(levels):
            return None
        for level in levels:
            self._restrict(level, matched)
        numbers: dict[LevelSet, int] = {}
        sets = tuple(numbers.setdefault(self._set(level), len(numbers)) for level in levels)
        plain = all(len(unit.levels) == 1 for unit in units)
        if not (plain or self._way.weighted):
            return None
        fits = len(units) <= MOST_MIXED_LEVELS and (len(numbers) <= MOST_SETS or not plain)
        chains = self._chains(pairs, sets)
        if chains is None or not (fits or (plain and len(numbers) == 1)):
            return None
        if len(numbers) > MOST_SETS:
            sets = (0,) * len(levels)  # not used for weighted vertices
        child_blocks = tuple(
            self.block(branch - {level}, (*matched, level)) if len(branch) > 1 else None
            for level, branch in pairs
        )
        return TailComponent(tuple(levels), sets, chains, () if plain else child_blocks)

    def _may_coincide(self, levels: Sequence[int]) -> bool:
        return any((a, b) in self._coinciding for a in levels for b in levels)

    def _listed(self, group: frozenset[int], matched: tuple[int, ...]) -> TailComponent | None:
        """Return the branches of `group` as a component with lists; None if lists do not apply."""
        units = [self._unit(branch, group) for branch in _connected(group, lambda level: self._joined[level])]
        if len(units) == 1 or all(self._has_one_door(unit) for unit in units):
            return None
        beside = sorted(unit.separators[0] for unit in units if len(unit.levels) == 1)
        branches = [unit for unit in units if len(unit.levels) > 1]
        if len(beside) > MOST_BESIDE_LISTS or len(branches) > MOST_LISTS:
            return None
        if any(len(self._sources[level]) > 1 for level in beside):
            return None  # few candidates: matching them first is cheaper
        separators = [*beside, *(separator for unit in branches for separator in unit.separators)]
        if any(len(unit.separators) > MOST_SEPARATORS for unit in branches) or self._may_coincide(separators):
            return None
        if any(self._ordered[level] & (group - unit.levels) for unit in branches for level in unit.levels):
            return None
        for level in beside:
            self._restrict(level, matched)
        numbers: dict[LevelSet, int] = {}
        sets = tuple(numbers.setdefault(self._set(level), len(numbers)) for level in beside)
        chains = self._chains([(level, frozenset({level})) for level in beside], sets)
        if chains is None:
            return None
        lists = tuple(
            self._list(unit, matched) for unit in sorted(branches, key=lambda unit: min(unit.levels))
        )
        return TailComponent(tuple(beside), sets, chains, lists=lists)

    def _list(self, unit: _Unit, matched: tuple[int, ...]) -> TailList:
        """Return the list of `unit`: its levels up to the last separator are matched one after another."""
        levels = sorted(self._leading(unit) if self._reorders else range(max(unit.separators) + 1))
        levels = [level for level in levels if level in unit.levels]
        for at, level in enumerate(levels):
            self._restrict(level, (*matched, *levels[:at]))
        rest = unit.levels - set(levels)
        child_block = self.block(rest, (*matched, *levels)) if rest else None
        exact, excluded = self._dependencies(frozenset(levels), matched)
        below: set[int] = set()
        if child_block is not None:
            exact = tuple(sorted({*exact, *child_block.exact}.difference(levels)))
            below = {level for _, others in child_block.excluded for level in others}
        between = [level for level in levels if level not in unit.separators]
        avoiding = [level for level in between if any(level in members for members, _ in excluded)]
        listed = (*sorted(unit.separators), *avoiding)
        kept = len(listed) <= MOST_LISTED and below <= {*exact, *levels}
        return TailList(
            tuple(levels),
            listed if kept else tuple(sorted(unit.separators)),
            len(unit.separators),
            exact,
            kept,
            child_block,
        )

    def _leading(self, unit: _Unit) -> set[int]:
        """Return the separators of `unit`, and the levels of the unit from which they are reached."""
        found = set(unit.separators)
        frontier = list(unit.separators)
        while frontier:
            fresh = (self._sources[frontier.pop()] & unit.levels) - found
            found |= fresh
            frontier += fresh
        return found

    def _chains(self, pairs: list[tuple[int, frozenset[int]]], sets: Sequence[int]) -> tuple[int, ...] | None:
        """Return the sizes of groups of ordered levels; None if one has no total order or several sets."""
        levels = frozenset(level for level, _ in pairs)
        number = {level: one for (level, _), one in zip(pairs, sets, strict=True)}
        lone = {level for level, branch in pairs if len(branch) == 1}
        sizes = []
        for chain in _connected(levels, lambda level: self._ordered[level] & levels):
            if len(chain) == 1:
                continue
            ordered = all(
                a == b or (a, b) in self._before.implied or (b, a) in self._before.implied
                for a in chain
                for b in chain
            )
            if not (ordered and chain <= lone and len({number[level] for level in chain}) == 1):
                return None
            sizes.append(len(chain))
        return tuple(sizes)

    def _set(self, level: int) -> LevelSet:
        return LevelSet.of(self.steps[level], self._args.steps[level], self._kinds[level])

    def _restrict(self, level: int, matched: tuple[int, ...]) -> None:
        """Let the step of `level` compare it with exactly the levels matched before it."""
        self._place(level)
        self.steps[level] = replace(
            self.steps[level],
            after=tuple(sorted(e for e in matched if (e, level) in self._before.implied)),
            before=tuple(sorted(e for e in matched if (level, e) in self._before.implied)),
        )

    def _place(self, level: int) -> None:
        self.placed.pop(level, None)
        self.placed[level] = None

    def _dependencies(
        self, mine: frozenset[int], matched: tuple[int, ...]
    ) -> tuple[tuple[int, ...], tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]]:
        """Return the levels of `matched` on which the number of the levels `mine` depends."""
        exact = {source for level in mine for source in self._sources[level]} - mine
        for level in mine:
            exact |= set(self.steps[level].after) | set(self.steps[level].before)
        exact -= mine
        groups: dict[tuple[int, ...], list[int]] = {}
        for other in sorted(set(matched) - exact):
            members = tuple(sorted(level for level in mine if other in self.steps[level].distinct))
            if members:
                groups.setdefault(members, []).append(other)
        return tuple(sorted(exact)), tuple((members, tuple(levels)) for members, levels in groups.items())


def _connected(levels: frozenset[int], neighbors: Callable[[int], set[int]]) -> list[frozenset[int]]:
    """Return `levels` in connected groups, by their least level."""
    remaining, groups = set(levels), []
    while remaining:
        frontier = [min(remaining)]
        group = set(frontier)
        while frontier:
            fresh = (neighbors(frontier.pop()) & remaining) - group
            group |= fresh
            frontier += fresh
        remaining -= group
        groups.append(frozenset(group))
    return groups
