"""Tails as kernel arguments (``view/tail.hpp``)."""

from __future__ import annotations

from collections.abc import Sequence

from motiflux.codegen import layout
from motiflux.codegen.kernels import mask
from motiflux.codegen.tails import PAIR, DeviceTail, Sizes, TailSet, Walked
from motiflux.plan.shape import TailBlock

_NO_REUSE = -1


def pack_tail(tail: DeviceTail) -> layout.Tail:
    """Return a tail as the structure that kernels take."""
    return _Packer(tail).packed


class _Packer:
    def __init__(self, tail: DeviceTail) -> None:
        self.packed = layout.Tail(start=tail.start)
        self._sets = self._sources = self._terms = self._components = self._chains = self._children = 0
        for level in range(tail.start):
            if level < tail.start - 1 and (tail.sizes[level] or tail.children[level]):
                self.packed.early |= 1 << level
            self._level(level, tail.sizes[level], tail.children[level])

    def _level(self, level: int, sizes: Sequence[Sizes], children: Sequence[Walked]) -> None:
        packed = self.packed.levels[level]
        packed.first_component, packed.components = self._components, len(sizes)
        packed.first_child, packed.children = self._children, len(children)
        packed.by_lane = all(one.by_lane for one in sizes) and not children
        packed.walks = any(which.spans > 1 for one in sizes for which in one.sets)
        for one in sizes:
            self._component(one)
        for child in children:
            self.packed.children[self._children] = child.level
            self._children += 1
        for child in children:
            self._walked(level, child)

    def _walked(self, parent: int, walked: Walked) -> None:
        packed = self.packed.levels[walked.level]
        packed.parent, packed.set = parent, self._set(walked.set)
        if walked.kept and walked.block is not None:
            self._key(packed, walked.block)
        self._level(walked.level, walked.sizes, walked.children)

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
