"""Tails as kernel arguments (``view/tail.hpp``, ``view/overlap.hpp``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from motiflux.codegen import layout, overlap_layout
from motiflux.codegen.kernels import mask
from motiflux.codegen.tails import PAIR, Child, DeviceTail, OverlapComponent, Sizes, TailSet, Walked
from motiflux.plan.ir import TailBlock

_NO_REUSE = -1


ChoiceBuffer = tuple[int, int]
"""Where the choices of a branch are written, in words of a group's memory, and the capacity in choices."""


def pack_tail(tail: DeviceTail) -> layout.Tail:
    """Return a tail as the structure that kernels take."""
    return _Packer(tail).packed


def pack_overlaps(
    tail: DeviceTail, choice_buffers: Mapping[int, ChoiceBuffer]
) -> overlap_layout.OverlapComponents:
    """Return overlapping components for kernels; `choice_buffers` by the first level of each branch."""
    packed = _Packer(tail).overlaps
    for branch in packed.branch[: packed.branches]:
        branch.at, branch.capacity = choice_buffers[branch.first]
    return packed


class _Packer:
    def __init__(self, tail: DeviceTail) -> None:
        self.packed = layout.Tail(start=tail.start)
        self.overlaps = overlap_layout.OverlapComponents()
        self._sets = self._sources = self._terms = self._components = self._chains = self._children = 0
        for level in range(tail.start):
            if level < tail.start - 1 and (tail.sizes[level] or tail.children[level]):
                self.packed.early |= 1 << level
            self._level(level, tail.sizes[level], tail.children[level])

    def _level(self, level: int, sizes: Sequence[Sizes], children: Sequence[Child]) -> None:
        packed = self.packed.levels[level]
        packed.first_component, packed.components = self._components, len(sizes)
        packed.first_child, packed.children = self._children, len(children)
        packed.by_lane = all(one.by_lane for one in sizes) and not children
        packed.walks = any(which.spans > 1 for one in sizes for which in one.sets)
        for one in sizes:
            self._component(one)
        for child in children:
            first = child.branches[0].walked if isinstance(child, OverlapComponent) else child
            self.packed.children[self._children] = first.level
            self._children += 1
        for child in children:
            if isinstance(child, OverlapComponent):
                self._overlap_component(level, child)
            else:
                self._walked(level, child)

    def _walked(self, parent: int, walked: Walked) -> None:
        packed = self.packed.levels[walked.level]
        packed.parent, packed.set = parent, self._set(walked.set)
        if walked.kept and walked.block is not None:
            self._key(packed, walked.block)
        self._level(walked.level, walked.sizes, walked.children)

    def _overlap_component(self, parent: int, component: OverlapComponent) -> None:
        every = self.overlaps
        number, first_branch = every.components, every.branches
        every.components += 1
        every.branches += len(component.branches)
        packed = every.all[number]
        packed.lists, packed.first_branch, packed.branches = (
            component.lists,
            first_branch,
            len(component.branches),
        )
        packed.leaf_levels, packed.sizes, packed.divisor = (
            component.leaf_levels,
            every.sizes,
            component.divisor,
        )
        every.sizes += len(component.common)
        if not component.lists:
            every.masks = max(every.masks, 1 << (component.leaf_levels + len(component.branches)))
        known: dict[TailSet, int] = {}
        for at, one in enumerate(component.common, start=1):
            if one not in known:
                known[one] = self._set(one)
            packed.common[at] = known[one]
        for at, branch in enumerate(component.branches, start=first_branch):
            packed_branch = every.branch[at]
            packed_branch.component, packed_branch.first, packed_branch.last = (
                number,
                branch.walked.level,
                branch.last,
            )
            packed_branch.separators = len(branch.separators)
            packed_branch.separator[: len(branch.separators)] = branch.separators
            every.begins[branch.walked.level] = every.ends[branch.last] = at + 1
        for branch in component.branches:
            self._walked(parent, branch.walked)

    def _key(self, packed: layout.TailLevel, block: TailBlock) -> None:
        packed.exact, packed.key_words = mask(block.exact), len(block.exact)
        for at, (_, levels) in enumerate(block.excluded):
            packed.groups[at] = mask(levels)
            packed.key_words += len(levels)

    def _component(self, sizes: Sizes) -> None:
        packed = self.packed.components[self._components]
        self._components += 1
        packed.kind, packed.levels = sizes.kind, len(sizes.of_level)
        packed.first_set, packed.sizes = self._sets, len(sizes.sets)
        for one in sizes.sets:
            self._set(one)
        if sizes.kind == layout.TAIL_SAME:
            packed.first_chain, packed.chains = self._chains, len(sizes.component.chains)
            for chain in sizes.component.chains:
                self.packed.chains[self._chains] = chain
                self._chains += 1
            return
        for at, number in enumerate(sizes.of_level):
            packed.size_of[at] = number
        if sizes.kind == layout.TAIL_PAIR:
            packed.size_of[PAIR] = sizes.common
        packed.divisor = sizes.component.divisor
        packed.first_term, packed.terms = self._terms, len(sizes.terms)
        for times, factors in sizes.terms:
            term = self.packed.terms[self._terms]
            self._terms += 1
            term.coefficient, term.factors = times, len(factors)
            for at, number in enumerate(factors):
                term.size[at] = number

    def _set(self, one: TailSet) -> int:
        packed = self.packed.sets[self._sets]
        packed.after, packed.before, packed.apart = (
            mask(tuple(levels)) for levels in (one.after, one.before, one.apart)
        )
        packed.reuse = one.reuse[0] if one.reuse else _NO_REUSE
        packed.first_source, packed.source_count = self._sources, len(one.places)
        for place, level in one.places:
            self.packed.sources[self._sources] = layout.TailSource(place, level)
            self._sources += 1
        self._sets += 1
        return self._sets - 1
