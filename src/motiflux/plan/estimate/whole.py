"""Sizes in a graph for plans on a sketch of it: k edges are in it with the k-th power of its share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf

from motiflux.plan.bind import BoundPattern
from motiflux.plan.ir import Plan
from motiflux.plan.shape import TailComponent


def in_whole(number: float, share: float, edges: int) -> float:
    """Return a number that grows with so many edges, in the graph of which a sketch has a share of edges.

    Infinite beyond the range of floats.
    """
    part: float = share**edges
    return number / part if part else inf if number else 0.0


def edges_among(vertices: Sequence[int], pattern: BoundPattern) -> int:
    """Return the number of query edges between vertices."""
    return sum(edge.source in vertices and edge.target in vertices for edge in pattern.edges)


def edges_of_reads(plan: Plan, pattern: BoundPattern) -> int:
    """Return the most query edges on which the number of set elements that a search reads depends.

    Those between the vertices that are matched when a set is read, and that to its members. Numbers that are
    cached are taken as counted anew.
    """

    def read(before: Sequence[int]) -> int:
        return edges_among([plan.order[level] for level in before], pattern) + 1

    def of_components(before: Sequence[int], components: Iterable[TailComponent]) -> Iterable[int]:
        for one in components:
            yield read(before)
            for level, block in zip(one.levels, one.child_blocks, strict=False):
                if block is not None:
                    yield from of_components([*before, level], block.components)
            for listed in one.lists:
                yield from (read([*before, *listed.levels[:at]]) for at in range(len(listed.levels)))
                if listed.child_block is not None:
                    yield from of_components([*before, *listed.levels], listed.child_block.components)

    enumerated = len(plan.order) if plan.tail is None else plan.tail.start
    reads = [read(range(level)) for level in range(1, enumerated)]
    if plan.tail is not None:
        reads += of_components(range(enumerated), plan.tail.components)
    return max(reads, default=0)
