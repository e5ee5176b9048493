"""Signatures of vertices, by which GSI filters candidates (``pvm/filter.cuh``): to compare with.

A signature has the label of a vertex, the number of its arcs, and groups of two bits that tell whether it has
none, one or more neighbours by a label of edges, a label of vertices and a direction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen.pvm import EVERY_LABEL, SIGNATURE_WORDS
from motiflux.graph import Direction, Graph
from motiflux.plan.bind import Codes
from motiflux.plan.passes.symmetry import closure
from motiflux.plan.phases.data import Elimination, Extension, PhasePlan, Relation

_LABEL, _ARCS, _FIRST_GROUP = 0, 1, 2
_GROUPS_OF_WORD = 16
GROUPS = (SIGNATURE_WORDS - _FIRST_GROUP) * _GROUPS_OF_WORD
"""Groups of two bits."""
_CODES = np.array([0b00, 0b01, 0b11], np.uint32)
"""Bits for none, one and more."""
_BLOCK = 1 << 14
"""Vertices whose signatures are made at a time."""


class Signature(NamedTuple):
    """The words that a candidate needs."""

    words: tuple[int, ...]

    @classmethod
    def common(cls, wanted: Sequence[Signature | None]) -> Self | None:
        """Return what candidates of any of some query vertices need; None if one needs nothing."""
        found = [one.words for one in wanted if one is not None]
        if not found or len(found) < len(wanted):
            return None
        labels = {words[_LABEL] for words in found}
        bits = np.bitwise_and.reduce(np.array(found, np.uint32), axis=0).tolist()
        bits[_LABEL] = labels.pop() if len(labels) == 1 else EVERY_LABEL
        bits[_ARCS] = min(words[_ARCS] for words in found)
        return cls(tuple(bits))


class Arc(NamedTuple):
    """A query edge as one of its ends sees it: direction, code of the edge label, and the other end."""

    direction: Direction
    label: int
    neighbor: int


@dataclass(frozen=True, slots=True)
class Labels:
    """Numbers of labels of a graph, by which arcs have groups.

    Parameters
    ----------
    directed
        Whether its edges have directions.
    edges, vertices
        Numbers of labels.
    """

    directed: bool
    edges: int
    vertices: int

    @classmethod
    def of(cls, graph: Graph) -> Self:
        """Return those of a graph."""
        edges = 1 if graph.forward.labels is None else len(graph.edge_label_table)
        vertices = 1 if graph.vertex_labels is None else len(graph.vertex_label_table)
        return cls(graph.directed, edges, vertices)

    def group(self, direction: Direction, edge: int, vertex: int) -> int:
        """Return the group of arcs in a direction, with a label, to vertices with a label."""
        way = int(direction is Direction.IN)
        return ((way * self.edges + edge) * self.vertices + vertex) % GROUPS


def signatures_of_graph(graph: Graph) -> NDArray[np.uint32]:
    """Return the signatures of all vertices, uint32 [words, n]; kept with the graph.

    Takes time linear in the size of the graph.
    """
    return graph.memo.keep("signatures", lambda: _made(graph))


def _made(graph: Graph) -> NDArray[np.uint32]:
    labels, count = Labels.of(graph), graph.num_vertices
    found = np.zeros((SIGNATURE_WORDS, count), np.uint32)
    if graph.vertex_labels is not None:
        found[_LABEL] = graph.vertex_labels
    sides = {Direction.OUT: graph.forward}
    if graph.directed:
        sides[Direction.IN] = graph.reverse
    shifts = 2 * np.arange(_GROUPS_OF_WORD, dtype=np.uint32)
    for first in range(0, count, _BLOCK):
        end = min(first + _BLOCK, count)
        numbers = np.zeros((end - first) * GROUPS, np.int64)
        for direction, rows in sides.items():
            begin, behind = int(rows.offsets[first]), int(rows.offsets[end])
            ends = rows.offsets[first : end + 1].astype(np.int64)
            degrees = ends[1:] - ends[:-1]
            found[_ARCS, first:end] += degrees.astype(np.uint32)
            places = np.zeros(behind - begin, np.int64)
            if graph.vertex_labels is not None:
                places += graph.vertex_labels[rows.neighbors[begin:behind]]
            if rows.labels is not None:
                places += rows.labels[begin:behind].astype(np.int64) * labels.vertices
            places += labels.edges * labels.vertices * int(direction is Direction.IN)
            places = places % GROUPS + np.repeat(np.arange(end - first) * GROUPS, degrees)
            numbers += np.bincount(places, minlength=len(numbers))
        bits = _CODES[np.minimum(numbers, 2)].reshape(end - first, -1, _GROUPS_OF_WORD)
        found[_FIRST_GROUP:, first:end] = np.bitwise_or.reduce(bits << shifts, axis=2).T
    return found


def signatures_of_query(plan: PhasePlan, labels: Labels) -> dict[int, Signature]:
    """Return the signature of each query vertex, which each of its images has.

    Query edges with one label, to vertices with one label, have groups. Neighbours count as two only where
    their images differ.
    """
    of_vertices = _vertex_labels(plan)
    arcs: dict[int, set[Arc]] = {vertex: set() for vertex in plan.order}
    neighbors: dict[int, set[int]] = {vertex: set() for vertex in plan.order}
    for source, target, direction, codes in _edges(plan):
        neighbors[source].add(target)
        neighbors[target].add(source)
        code = _single(codes, labels.edges)
        if not labels.directed:
            direction = Direction.EITHER
        elif direction is Direction.EITHER:
            continue
        if code is None:
            continue
        back = {Direction.OUT: Direction.IN, Direction.IN: Direction.OUT}.get(direction, direction)
        arcs[source].add(Arc(direction, code, target))
        arcs[target].add(Arc(back, code, source))
    differ = _Differing(plan, of_vertices)
    found = {}
    for vertex in plan.order:
        words = np.zeros(SIGNATURE_WORDS, np.uint32)
        code = _single(of_vertices[vertex], labels.vertices)
        words[_LABEL] = EVERY_LABEL if code is None else code
        words[_ARCS] = differ.least(neighbors[vertex])
        for group, number in _groups(arcs[vertex], of_vertices, labels, differ).items():
            place = _FIRST_GROUP + group // _GROUPS_OF_WORD
            words[place] |= _CODES[min(number, 2)] << np.uint32(2 * (group % _GROUPS_OF_WORD))
        found[vertex] = Signature(tuple(words.tolist()))
    return found


def _groups(
    arcs: Iterable[Arc], of_vertices: dict[int, Codes], labels: Labels, differ: _Differing
) -> dict[int, int]:
    """Return the least number of arcs of each group that images have."""
    ends: dict[tuple[Direction, int, int], set[int]] = {}
    for arc in arcs:
        code = _single(of_vertices[arc.neighbor], labels.vertices)
        if code is not None:
            ends.setdefault((arc.direction, arc.label, code), set()).add(arc.neighbor)
    found: dict[int, int] = {}
    for key, some in ends.items():
        group = labels.group(*key)
        found[group] = found.get(group, 0) + differ.least(some)
    return found


class _Differing:
    """Query vertices whose images differ."""

    def __init__(self, plan: PhasePlan, of_vertices: dict[int, Codes]) -> None:
        self._labels = of_vertices
        self._pairs = {frozenset(pair) for pair in closure(plan.restrictions)}
        self._pairs |= {frozenset(pair) for pair in _compared(plan)}

    def least(self, vertices: Collection[int]) -> int:
        """Return a number of vertices that all differ: the least number of their images."""
        found: list[int] = []
        for vertex in sorted(vertices):
            if all(self._differ(vertex, other) for other in found):
                found.append(vertex)
        return len(found)

    def _differ(self, first: int, second: int) -> bool:
        one, other = self._labels[first], self._labels[second]
        if one is not None and other is not None and set(one).isdisjoint(other):
            return True
        return frozenset((first, second)) in self._pairs


def _compared(plan: PhasePlan) -> Iterator[tuple[int, int]]:
    """Yield query vertices that phases compare."""
    for phase in plan.extensions:
        for pair in phase.pairs:
            if pair.relation is not Relation.ANY:
                yield pair.first, pair.second
        for one in phase.sets:
            for member, own in zip(one.members, one.own, strict=True):
                for checks in (one.common, own):
                    yield from ((u, member) for u in (*checks.distinct, *checks.after))


def _vertex_labels(plan: PhasePlan) -> dict[int, Codes]:
    found: dict[int, Codes] = {}
    for phase in plan.extensions:
        if phase.root is not None:
            found[phase.root.vertex] = phase.root.labels
        found.update((member, one.labels) for one in phase.sets for member in one.members)
    return found


def _edges(plan: PhasePlan) -> Iterator[tuple[int, int, Direction, Codes]]:
    """Yield the query edges: ends, direction from the first one, and labels."""
    for phase in plan.phases:
        if isinstance(phase, Extension):
            for one in phase.sets:
                yield from ((one.source, member, one.direction, phase.partitions) for member in one.members)
        elif isinstance(phase, Elimination):
            for edge in phase.required:
                direction = Direction.EITHER if edge.either else Direction.OUT
                yield edge.source, edge.target, direction, phase.partitions


def _single(codes: Codes, number: int) -> int | None:
    """Return the only code of some labels; None if there are several."""
    if codes is None:
        return 0 if number == 1 else None
    return codes[0] if len(codes) == 1 else None
