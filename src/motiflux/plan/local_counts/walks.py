"""Walks: count the embeddings of a pattern for each image of its first vertex, along a tree.

Let a be the first vertex of a pattern. Choose a tree of other vertices, the *spine*, such that each connected
component of the remaining vertices is joined to one vertex of the spine only, to the ends of one of its
edges, or to the ends of an edge from a to it. Such a component is a branch: its table weights the walks. For
each image of a, the spine is evaluated from its leaves: a query vertex has a number for each possible data
vertex.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations

from motiflux.plan.ir import Finish, Move, Step, Table, Walks
from motiflux.plan.local_counts.family import Family, Undecided
from motiflux.plan.rooted import Rooted

# Cost of a step over all vertices within two edges, relative to a step over neighbours.
_FAR = 8


@dataclass(frozen=True, slots=True)
class Spine:
    """A tree within a pattern without its first vertex.

    Parameters
    ----------
    vertices
        The vertices of the tree.
    branches
        The vertices of branches, by the one vertex or two joined vertices of the spine, or the first vertex,
        to which they are joined.
    """

    vertices: frozenset[int]
    branches: dict[tuple[int, ...], list[int]]

    def differing_pairs(self, pattern: Rooted, *, apart: bool) -> frozenset[tuple[int, int]]:
        """Return the pairs of vertices whose images differ in any case, the lesser vertex first.

        Parameters
        ----------
        apart
            Whether the walks avoid the image of the first vertex.
        """
        pairs = {(min(u, v), max(u, v)) for u, v, _ in pattern.edges}
        if apart:
            pairs |= {(0, v) for v in self.vertices}
        pairs |= {(0, v) for v in pattern.below}
        for roots, component in self.branches.items():
            pairs |= set(combinations(sorted([*roots, *component]), 2))
        return frozenset(pairs)


def spines(pattern: Rooted) -> Iterator[Spine]:
    """Yield minimal spines of a pattern, smaller ones first."""
    needed = set(pattern.below) | ({1} if pattern.roots == 2 else set())
    others = [v for v in range(1, len(pattern.vertices)) if v not in needed]
    found: list[frozenset[int]] = []
    for size in range(len(others) + 1):
        for chosen in combinations(others, size):
            vertices = frozenset({*needed, *chosen})
            if not vertices or any(one <= vertices for one in found):
                continue
            spine = _spine(pattern, vertices)
            if spine is not None:
                found.append(vertices)
                yield spine


def _spine(pattern: Rooted, vertices: frozenset[int]) -> Spine | None:
    within = [(u, v) for u, v, _ in pattern.edges if u in vertices and v in vertices]
    if len(within) != len(vertices) - 1 or len(pattern.connected(set(vertices))) != 1:
        return None
    seeds = [u + v for u, v, _ in pattern.edges if 0 in (u, v) and u + v in vertices]
    if not seeds or len(set(seeds)) != len(seeds):
        return None
    joined = [*(tuple(sorted(pair)) for pair in within), *((0, v) for v in seeds)]
    branches: dict[tuple[int, ...], list[int]] = {}
    for component in pattern.connected(set(range(1, len(pattern.vertices))) - vertices):
        roots = tuple(sorted(set().union(*(pattern.neighbors(v) for v in component)) - set(component)))
        if roots == (0,) or (len(roots) > 1 and roots not in joined):
            return None
        if pattern.roots == 2 and roots == (0, 1):
            return None
        branches.setdefault(roots, []).extend(component)
    return Spine(vertices, {roots: sorted(component) for roots, component in branches.items()})


@dataclass(frozen=True)
class _Node:
    """A query vertex of the spine with its subtree; equal nodes have equal numbers."""

    kind: object
    level: int
    """Most edges between the first vertex and an image of this one; `_ANYWHERE` for an unrestricted leaf."""
    vertex: int = field(compare=False)
    seeded: bool = field(compare=False)
    children: tuple[tuple[_Node, int], ...]
    """The different children, each with its multiplicity."""


_ANYWHERE = 99


class WalkPlan:
    """Turns a spine into the steps of walks.

    Parameters
    ----------
    table
        Returns the table of a branch's pattern.
    """

    def __init__(
        self, pattern: Rooted, family: Family, spine: Spine, table: Callable[[Rooted], Table]
    ) -> None:
        self._pattern = pattern
        self._family = family
        self._spine = spine
        self._table = table
        self._steps: list[Step] = []
        self._registers: dict[_Node, int] = {}
        self._fresh = 0

    def walks(self) -> Walks:
        """Return the walks that take the fewest steps.

        Raises
        ------
        Undecided
            The walks would have to weight an unrestricted leaf.
        """
        pattern = self._pattern
        if pattern.roots == 2:
            self._add_steps(self._node(1, None))
            return self._finished(Finish.ARCS, (0, 1))
        tree = [
            (u, v)
            for u, v, kind in pattern.edges
            if u in self._spine.vertices
            and v in self._spine.vertices
            and self._family.is_either(kind)
            and self._branch_pattern(u, v) is None
        ]
        best: tuple[int, list[Step], tuple[int, int] | None] | None = None
        tops: list[tuple[int, tuple[int, int] | None]] = [(v, None) for v in sorted(self._spine.vertices)]
        for vertex, ends in (*tops, *((u, (u, v)) for u, v in tree)):
            self._steps, self._registers, self._fresh = [], {}, 0
            node = self._node(vertex, None if ends is None else ends[1])
            if node.level == _ANYWHERE or (ends is not None and node != self._node(ends[1], ends[0])):
                continue
            cost = self._add_all_steps(node) + (0 if ends is None else _FAR // 2)
            if best is None or cost < best[0]:
                best = cost, self._steps, ends
        if best is None:
            raise Undecided("no vertex to walk to")
        _, self._steps, ends = best
        return self._finished(Finish.SUM if ends is None else Finish.EDGES, ends)

    def _finished(self, finish: Finish, ends: tuple[int, int] | None) -> Walks:
        # Leaves come first, so the first step is a seed, as required.
        return Walks(self._pattern, tuple(self._steps), finish, ends, self._family.injective)

    def _add_all_steps(self, node: _Node) -> int:
        """Add the steps of the whole tree, and return their approximate cost."""
        self._add_steps(node)
        far = {Move.PUSH, Move.PULL}
        level = dict.fromkeys(range(self._fresh), 1)
        cost = 0
        for step in self._steps:
            if step.move is Move.PUSH:
                level[step.into] = level[step.source] + 1
            if step.move in far:
                at = level[step.source] if step.move is Move.PUSH else level[step.into]
                cost += 1 if at == 1 else _FAR
        return cost

    def _node(self, vertex: int, parent: int | None) -> _Node:
        pattern = self._pattern
        around = pattern.neighbors(vertex)
        seeded = 0 in around
        below: dict[_Node, int] = {}
        for child in sorted((around & self._spine.vertices) - {parent}):
            node = self._node(child, vertex)
            below[node] = below.get(node, 0) + 1
        seed = (self._family.edge(pattern, 0, vertex), self._branch_pattern(0, vertex)) if seeded else None
        upward = (
            None
            if parent is None
            else (self._family.edge(pattern, parent, vertex), self._branch_pattern(parent, vertex))
        )
        kind = (
            pattern.vertices[vertex],
            vertex in pattern.below,
            seed,
            self._branch_pattern(vertex),
            upward,
        )
        levels = [1] if seeded else [min(node.level + 1, _ANYWHERE) for node in below]
        children = sorted(below.items(), key=lambda item: (item[0].level, item[0].vertex))
        return _Node(kind, min(levels, default=_ANYWHERE), vertex, seeded, tuple(children))

    def _branch_pattern(self, *roots: int) -> Rooted | None:
        """Return the pattern of the branch at a vertex or an edge of the spine, with these roots."""
        component = self._spine.branches.get(tuple(sorted(roots)))
        if component is None:
            return None
        branch = replace(self._pattern, below=frozenset()).induced([*roots, *component], len(roots))
        return self._family.canonical(
            self._family.renumbered(branch, range(len(branch.vertices)), branch.roots)
        )

    def _weights(self, *roots: int) -> Table | None:
        branch = self._branch_pattern(*roots)
        return None if branch is None else self._table(branch)

    def _add_steps(self, node: _Node) -> int:
        """Add the steps that compute the numbers of a node, and return their register."""
        if node in self._registers:
            return self._registers[node]
        vertex = node.vertex
        ready = {child: self._add_steps(child) for child, _ in node.children if child.level != _ANYWHERE}
        register = self._new()
        children = list(node.children)
        below = vertex in self._pattern.below
        if node.seeded:
            weights = self._weights(0, vertex)
            self._steps.append(Step(Move.SEED, register, 0, (0, vertex), weights, 1, below))
        else:
            child, times = children.pop(0)
            self._push(register, ready[child], child.vertex, vertex)
            if times > 1:
                self._steps.append(Step(Move.POWER, register, power=times))
        for child, times in children:
            self._multiply(node, register, child, ready.get(child), times)
        if (weights := self._weights(vertex)) is not None:
            self._steps.append(Step(Move.SCALE, register, weights=weights))
        self._registers[node] = register
        return register

    def _multiply(self, node: _Node, register: int, child: _Node, source: int | None, times: int) -> None:
        vertex, below = node.vertex, child.vertex in self._pattern.below
        ends = (vertex, child.vertex)
        if source is None:
            branch = self._branch_pattern(*ends), self._branch_pattern(child.vertex)
            if child.children or branch != (None, None) or not below:
                raise Undecided("an unrestricted leaf with weights")
            self._steps.append(Step(Move.ENDS, register, 0, ends, None, times, below))
        elif node.level <= child.level:
            self._steps.append(Step(Move.PULL, register, source, ends, self._weights(*ends), times, below))
        else:
            reached = self._new()
            self._push(reached, source, child.vertex, vertex)
            self._steps.append(Step(Move.TIMES, register, reached, power=times))

    def _push(self, register: int, source: int, start: int, end: int) -> None:
        weights = self._weights(start, end)
        below = end in self._pattern.below
        self._steps.append(Step(Move.PUSH, register, source, (start, end), weights, 1, below))

    def _new(self) -> int:
        self._fresh += 1
        return self._fresh - 1
