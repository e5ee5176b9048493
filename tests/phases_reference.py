"""Executes phases in plain Python: what kernels have to do, without their parallelism.

Every embedding of a chunk is extended or tested by itself. What a phase finds fills chunks of a bounded size:
when a chunk is full, the phase waits, the chunk goes through all later phases, and the phase goes on. So no
phase holds more embeddings than a chunk has, however many there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import motiflux as mf
from motiflux.conditions import Condition
from motiflux.graph import AdjacencyKey, Direction, VertexFilter
from motiflux.plan.bind import Codes
from motiflux.plan.phases.data import (
    CandidateSet,
    Checks,
    EdgeTest,
    Elimination,
    Extension,
    Pair,
    PhasePlan,
    Relation,
)

Image = dict[int, int]
"""The data vertex of each matched query vertex."""


class Partitions:
    """The arcs of a graph by edge label, and which partitions were read."""

    def __init__(self, graph: mf.Graph) -> None:
        self._graph = graph
        self._rows: dict[tuple[int, Direction, Condition | None], list[list[int]]] = {}
        self._labels = range(len(graph.edge_label_table))
        self._vertex_labels = (
            [0] * graph.num_vertices if graph.vertex_labels is None else graph.vertex_labels.tolist()
        )

    def codes(self, labels: Codes) -> Sequence[int]:
        """Return the codes of the partitions that a phase names."""
        return self._labels if labels is None else labels

    def row(self, vertex: int, label: int, direction: Direction, where: Condition | None = None) -> list[int]:
        """Return the row of a vertex in one partition: ascending, each neighbour once."""
        key = label, direction, where
        if key not in self._rows:
            offsets, neighbors = self._graph.adjacency(AdjacencyKey(direction, (label,), None, None, where))
            self._rows[key] = [neighbors[first:last].tolist() for first, last in pairwise(offsets.tolist())]
        return self._rows[key][vertex]

    def merged(self, vertex: int, labels: Codes, direction: Direction, where: Condition | None) -> list[int]:
        """Return the union of the rows of a vertex: an arc that several partitions have counts once."""
        rows = [self.row(vertex, label, direction, where) for label in self.codes(labels)]
        return sorted(set().union(*rows))

    def accepts(self, vertex: int, labels: Codes, narrowing: VertexFilter | None) -> bool:
        """Return whether a data vertex has one of some labels and passes a filter."""
        if labels is not None and self._vertex_labels[vertex] not in labels:
            return False
        if narrowing is None:
            return True
        if narrowing.ids is not None and vertex not in narrowing.ids:
            return False
        return narrowing.condition is None or bool(self._graph.vertex_mask(narrowing.condition)[vertex])

    def roots(self, labels: Codes, sets: Sequence[CandidateSet]) -> Iterator[int]:
        """Yield the vertices that have rows in partitions."""
        for vertex in range(self._graph.num_vertices):
            if all(self.merged(vertex, labels, one.direction, one.where) for one in sets):
                yield vertex


class Executor:
    """A run of the phases of one plan.

    Parameters
    ----------
    chunk
        Most embeddings that wait between two phases.
    """

    def __init__(self, graph: mf.Graph, plan: PhasePlan, *, chunk: int) -> None:
        self._graph = graph
        self._plan = plan
        self._chunk = chunk
        self._partitions = Partitions(graph)
        self._held = [0] * (len(plan.phases) + 1)
        self.most_held = 0
        """Most embeddings held at one moment, over all phases."""
        self.sizes = [0] * len(plan.phases)
        """Embeddings that each phase found."""
        self.pairs_made = 0
        """Pairs of one set of candidates that were made, in this order or that."""

    def rows(self) -> list[tuple[int, ...]]:
        """Return all embeddings, by the order of the pattern's vertices, in internal ids."""
        return list(self.each_row())

    def each_row(self) -> Iterator[tuple[int, ...]]:
        """Yield all embeddings as they are found."""
        for image in self._through(0, None):
            yield tuple(image[vertex] for vertex in range(len(self._plan.order)))

    def _through(self, at: int, chunk: list[Image] | None) -> Iterator[Image]:
        """Yield what becomes of a chunk in the phases from `at` on."""
        if chunk is not None:
            assert 0 < len(chunk) <= self._chunk
            self._held[at] = len(chunk)
            self.most_held = max(self.most_held, sum(self._held))
        if at == len(self._plan.phases):
            yield from chunk or ()
        else:
            waiting: list[Image] = []
            for image in self._phase(at, chunk):
                self.sizes[at] += 1
                waiting.append(image)
                if len(waiting) == self._chunk:
                    yield from self._through(at + 1, waiting)
                    waiting = []
            if waiting:
                yield from self._through(at + 1, waiting)
        self._held[at] = 0

    def _phase(self, at: int, chunk: list[Image] | None) -> Iterator[Image]:
        phase = self._plan.phases[at]
        if isinstance(phase, Elimination):
            yield from (image for image in chunk or () if self._stays(phase, image))
        elif phase.root is None:
            for image in chunk or ():
                yield from self._extended(phase, image)
        else:
            assert chunk is None, "only the first phase takes its source from the partition"
            root = phase.root
            for vertex in self._partitions.roots(phase.partitions, phase.sets):
                if self._partitions.accepts(vertex, root.labels, root.narrowing):
                    yield from self._extended(phase, {root.vertex: vertex})

    def _stays(self, phase: Elimination, image: Image) -> bool:
        """Return whether an embedding passes an elimination phase: one partition after the other is read."""
        found = [False] * len(phase.required)
        for label in self._partitions.codes(phase.partitions):
            for at, edge in enumerate(phase.required):
                found[at] |= self._has_edge(edge, image, label)
            if any(self._has_arc(image[u], image[v], (label,)) for u, v in phase.forbidden):
                return False
        return all(found)

    def _has_edge(self, edge: EdgeTest, image: Image, label: int) -> bool:
        direction = Direction.EITHER if edge.either else Direction.OUT
        return image[edge.target] in self._partitions.row(image[edge.source], label, direction, edge.where)

    def _has_arc(self, source: int, target: int, labels: Codes) -> bool:
        direction = Direction.OUT if self._graph.directed else Direction.EITHER
        return any(
            target in self._partitions.row(source, label, direction)
            for label in self._partitions.codes(labels)
        )

    def _extended(self, phase: Extension, image: Image) -> Iterator[Image]:
        """Yield the extensions of one embedding: combinations of its candidates."""
        candidates = [self._candidates(phase, one, image) for one in phase.sets]
        if not all(candidates):
            return
        able = {
            member: {value for value in values if self._passes(checks, value, image, phase.partitions)}
            for one, values in zip(phase.sets, candidates, strict=True)
            for member, checks in zip(one.members, one.own, strict=True)
        }
        combining = _Combinations(self, phase, image, able)
        yield from combining.of(candidates)

    def _candidates(self, phase: Extension, one: CandidateSet, image: Image) -> list[int]:
        """Return the candidates of a set, without those that no member can take."""
        row = self._partitions.merged(image[one.source], phase.partitions, one.direction, one.where)
        return [
            value
            for value in row
            if self._partitions.accepts(value, one.labels, one.narrowing)
            and self._passes(one.common, value, image, phase.partitions)
        ]

    def _passes(self, checks: Checks, value: int, image: Image, partitions: Codes) -> bool:
        return (
            all(image[u] != value for u in checks.distinct)
            and all(image[u] < value for u in checks.after)
            and not any(self._has_arc(image[u], value, partitions) for u in checks.not_out)
            and not any(self._has_arc(value, image[u], partitions) for u in checks.not_in)
        )

    def pair_passes(self, pair: Pair, first: int, second: int, partitions: Codes) -> bool:
        """Return whether two data vertices satisfy a comparison."""
        holds = {
            Relation.LESS: first < second,
            Relation.DIFFERENT: first != second,
            Relation.ANY: True,
        }
        return (
            holds[pair.relation]
            and not (pair.not_out and self._has_arc(first, second, partitions))
            and not (pair.not_in and self._has_arc(second, first, partitions))
        )


class _Combinations:
    """Combinations of the candidates of one embedding (algorithms 4 to 6, with the tests they lack)."""

    def __init__(self, run: Executor, phase: Extension, image: Image, able: dict[int, set[int]]) -> None:
        self._run = run
        self._phase = phase
        self._image = image
        self._able = able
        self._pairs = {(pair.first, pair.second): pair for pair in phase.pairs}

    def of(self, candidates: list[list[int]]) -> Iterator[Image]:
        """Yield all combinations: an outer loop over all vertices but two of the first set, then pairs."""
        first, *second = self._phase.sets
        outer = [(member, candidates[1]) for one in second for member in one.members]
        if len(first.members) == 1:
            outer.append((first.members[0], candidates[0]))
            yield from self._nested(outer, {})
            return
        outer += [(member, candidates[0]) for member in first.members[:-2]]
        for chosen in self._nested(outer, {}):
            yield from self._triangular(first.members[-2], first.members[-1], candidates[0], chosen)

    def _nested(self, members: list[tuple[int, list[int]]], chosen: Image) -> Iterator[Image]:
        if not members:
            yield {**self._image, **chosen}
            return
        (member, values), *rest = members
        for value in values:
            if self._fits(member, value, chosen):
                yield from self._nested(rest, {**chosen, member: value})

    def _triangular(self, first: int, second: int, values: list[int], image: Image) -> Iterator[Image]:
        """Yield pairs of one set, each unordered pair read once: algorithm 5."""
        pair = self._pairs.get((first, second))
        relation = Relation.ANY if pair is None else pair.relation
        for at, low in enumerate(values):
            ordered = [(low, low)] if relation is Relation.ANY else []
            for high in values[at + 1 :]:
                ordered.append((low, high))
                if relation is not Relation.LESS:
                    ordered.append((high, low))
            for one, other in ordered:
                self._run.pairs_made += 1
                if self._fits(first, one, image) and self._fits(second, other, {**image, first: one}):
                    yield {**image, first: one, second: other}

    def _fits(self, member: int, value: int, chosen: Image) -> bool:
        """Return whether a candidate suits a member, beside the members of the phase that are chosen."""
        if value not in self._able[member]:
            return False
        for other, vertex in chosen.items():
            for pair, images in (
                (self._pairs.get((other, member)), (vertex, value)),
                (self._pairs.get((member, other)), (value, vertex)),
            ):
                if pair is not None and not self._run.pair_passes(pair, *images, self._phase.partitions):
                    return False
        return True
