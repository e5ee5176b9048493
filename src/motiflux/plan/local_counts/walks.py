"""Walks from one vertex at a time: without that vertex, a pattern is a tree and what hangs on it.

Let a be the first vertex of a pattern, and let others make a tree, the *spine*, so that all that is left
hangs on one vertex of the spine, on one of its edges, or on an edge from a to it. For each image of a, the
spine is folded up from its leaves: a number for each data vertex that a query vertex may go to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations

from motiflux.plan.ir import Finish, Move, Step, Table, Walks
from motiflux.plan.local_counts.family import Family, Undecided
from motiflux.plan.rooted import Rooted

# What a step takes that goes over all that is within two steps, in steps that go over neighbours only.
_FAR = 8


@dataclass(frozen=True, slots=True)
class Spine:
    """A tree within a pattern without its first vertex.

    Parameters
    ----------
    vertices
        Those of the tree.
    hanging
        By one vertex or by two joined ones, of the spine and the first: what hangs there.
    """

    vertices: frozenset[int]
    hanging: dict[tuple[int, ...], list[int]]

    def met(self, pattern: Rooted, *, apart: bool) -> frozenset[tuple[int, int]]:
        """Return the pairs of vertices that are known to differ, the lesser first."""
        pairs = {(min(u, v), max(u, v)) for u, v, _ in pattern.edges}
        if apart:
            pairs |= {(0, v) for v in self.vertices}
        pairs |= {(0, v) for v in pattern.below}
        for roots, part in self.hanging.items():
            pairs |= set(combinations(sorted([*roots, *part]), 2))
        return frozenset(pairs)


def spines(pattern: Rooted) -> Iterator[Spine]:
    """Yield spines of a pattern, those of few vertices first; none that has another within it."""
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
    hanging: dict[tuple[int, ...], list[int]] = {}
    for part in pattern.connected(set(range(1, len(pattern.vertices))) - vertices):
        roots = tuple(sorted(set().union(*(pattern.neighbors(v) for v in part)) - set(part)))
        if roots == (0,) or (len(roots) > 1 and roots not in joined):
            return None
        if pattern.roots == 2 and roots == (0, 1):
            return None
        hanging.setdefault(roots, []).extend(part)
    return Spine(vertices, {roots: sorted(part) for roots, part in hanging.items()})


@dataclass(frozen=True)
class _Node:
    """A query vertex of the spine with all that hangs below it; equal where the numbers are."""

    look: object
    level: int
    """How many steps from the first vertex its images lie, at most; a leaf that may be anywhere has none."""
    vertex: int = field(compare=False)
    seeded: bool = field(compare=False)
    children: tuple[tuple[_Node, int], ...]
    """Different ones, and how often each is there."""


_ANYWHERE = 99


class WalkPlan:
    """Turns a spine into steps.

    Parameters
    ----------
    table
        Returns the table of a pattern that hangs on the spine.
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
            A leaf that may be anywhere is weighed.
        """
        pattern = self._pattern
        if pattern.roots == 2:
            self._fold(self._node(1, None))
            return self._finished(Finish.ARCS, (0, 1))
        tree = [
            (u, v)
            for u, v, kind in pattern.edges
            if u in self._spine.vertices
            and v in self._spine.vertices
            and self._family.is_either(kind)
            and self._hung(u, v) is None
        ]
        best: tuple[int, list[Step], tuple[int, int] | None] | None = None
        tops: list[tuple[int, tuple[int, int] | None]] = [(v, None) for v in sorted(self._spine.vertices)]
        for vertex, ends in (*tops, *((u, (u, v)) for u, v in tree)):
            self._steps, self._registers, self._fresh = [], {}, 0
            node = self._node(vertex, None if ends is None else ends[1])
            if node.level == _ANYWHERE or (ends is not None and node != self._node(ends[1], ends[0])):
                continue
            cost = self._fold_all(node) + (0 if ends is None else _FAR // 2)
            if best is None or cost < best[0]:
                best = cost, self._steps, ends
        if best is None:
            raise Undecided("no vertex to walk to")
        _, self._steps, ends = best
        return self._finished(Finish.SUM if ends is None else Finish.EDGES, ends)

    def _finished(self, finish: Finish, ends: tuple[int, int] | None) -> Walks:
        # The first step must be a seed, which it is: leaves come first.
        return Walks(self._pattern, tuple(self._steps), finish, ends, self._family.injective)

    def _fold_all(self, node: _Node) -> int:
        """Fold up everything, and return about what it takes."""
        self._fold(node)
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

    def _edge(self, start: int, end: int) -> tuple[int, bool, bool]:
        for u, v, kind in self._pattern.edges:
            if {u, v} == {start, end}:
                either = self._family.is_either(kind)
                return kind, either, either or u == start
        raise AssertionError("no such edge")

    def _node(self, vertex: int, parent: int | None) -> _Node:
        pattern = self._pattern
        around = pattern.neighbors(vertex)
        seeded = 0 in around
        below: dict[_Node, int] = {}
        for child in sorted((around & self._spine.vertices) - {parent}):
            node = self._node(child, vertex)
            below[node] = below.get(node, 0) + 1
        seed = (self._edge(0, vertex), self._hung(0, vertex)) if seeded else None
        upward = None if parent is None else (self._edge(parent, vertex), self._hung(parent, vertex))
        look = (pattern.vertices[vertex], vertex in pattern.below, seed, self._hung(vertex), upward)
        levels = [1] if seeded else [min(node.level + 1, _ANYWHERE) for node in below]
        children = sorted(below.items(), key=lambda item: (item[0].level, item[0].vertex))
        return _Node(look, min(levels, default=_ANYWHERE), vertex, seeded, tuple(children))

    def _hung(self, *roots: int) -> Rooted | None:
        """Return what hangs at a vertex or on an edge of the spine, with these roots."""
        part = self._spine.hanging.get(tuple(sorted(roots)))
        if part is None:
            return None
        hung = replace(self._pattern, below=frozenset()).part([*roots, *part], len(roots))
        return self._family.canonical(self._family.renumbered(hung, range(len(hung.vertices)), hung.roots))

    def _weights(self, *roots: int) -> Table | None:
        hung = self._hung(*roots)
        return None if hung is None else self._table(hung)

    def _fold(self, node: _Node) -> int:
        """Add the steps that lead to a node's numbers, and return their register."""
        if node in self._registers:
            return self._registers[node]
        vertex = node.vertex
        ready = {child: self._fold(child) for child, _ in node.children if child.level != _ANYWHERE}
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
            self._meet(node, register, child, ready.get(child), times)
        if (hung := self._weights(vertex)) is not None:
            self._steps.append(Step(Move.SCALE, register, weights=hung))
        self._registers[node] = register
        return register

    def _meet(self, node: _Node, register: int, child: _Node, source: int | None, times: int) -> None:
        vertex, below = node.vertex, child.vertex in self._pattern.below
        ends = (vertex, child.vertex)
        if source is None:
            hung = self._hung(*ends), self._hung(child.vertex)
            if child.children or hung != (None, None) or not below:
                raise Undecided("a leaf that may be anywhere")
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
