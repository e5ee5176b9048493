"""Patterns and delta plans in the terms of the native monitor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from motiflux import _native
from motiflux.conditions import Condition
from motiflux.device.host_memory import available
from motiflux.errors import ArgumentError
from motiflux.graph import AdjacencyKey, Direction, Graph
from motiflux.pattern import Pattern
from motiflux.plan.bind import BoundEdge, BoundPattern, bound_edge
from motiflux.plan.ir import SharedLevels
from motiflux.plan.passes.drafts import DeltaPlan
from motiflux.plan.passes.symmetry import Transversal
from motiflux.plan.shape import Tail
from motiflux.stream.copies.facets import Facets
from motiflux.stream.matching.names import GrowingLabels, label_codes
from motiflux.types import VertexId

_WAYS = {Direction.OUT: 0, Direction.IN: 1, Direction.EITHER: 2}
_NONE = -1
_LENT_ARCS = 1 << 20
"""Least arcs of rows that stay in a file. The pages of the rows by source and by target then differ."""
_COPIES = 1.6
"""Bytes of a monitor's rows, over those of rows without room for more; 1.46 on R-MAT 22."""
_FILTERS = {"mask": 0, "nlf": 1, "none": 2}
"""Switch values as ``dynamic::Filter``."""


def bind_growing(
    pattern: Pattern,
    *,
    directed: bool,
    vertex_labels: GrowingLabels,
    edge_labels: GrowingLabels,
) -> BoundPattern:
    """Return `pattern` in codes; labels that do not occur yet get one, since they still may.

    Raises
    ------
    ArgumentError
        Conditions on attributes of vertices: updates bring none.
    PatternError
        A directed query edge on an undirected graph.
    """
    for vertex in pattern.vertices:
        if vertex.where is not None:
            expected = "no conditions on attributes of vertices: updates carry attributes of edges"
            raise ArgumentError("patterns", expected, str(pattern))
    if pattern.comparisons:
        raise ArgumentError("patterns", "no comparisons between attributes on streams", str(pattern))
    vertices = tuple(label_codes(vertex.labels, vertex_labels) for vertex in pattern.vertices)
    edges: dict[BoundEdge, None] = {}
    for edge in pattern.edges:
        names = [pattern.vertices[end].name for end in (edge.source, edge.target)]
        edges[bound_edge(edge, label_codes(edge.labels, edge_labels), names, directed)] = None
    coinciding = frozenset(pair for u, v in pattern.may_coincide for pair in ((u, v), (v, u)))
    return BoundPattern(directed, vertices, tuple(edges), None, coinciding)


def loaded(graph: Graph, *, count_copies: bool, threads: int, lends: str = "off") -> _native.Monitor:
    """Return a native monitor with the edges of a graph.

    Parameters
    ----------
    lends
        ``on``: rows stay in a mapped graph file until they are changed, if they serve as they are there: a
        large graph without labels, or with rows sorted by class. ``auto``: if there is no room for copies,
        too. ``off``: they are copied.

    Raises
    ------
    FormatError
        Rows sorted by class are not those of the graph.
    """
    native = _native.Monitor(graph.directed, count_copies)
    labels, rows = graph.vertex_labels, graph.forward
    codes = np.zeros(graph.num_vertices, dtype=np.uint32) if labels is None else labels
    turned = graph.reverse if graph.directed else None
    out = (rows.offsets, rows.neighbors, rows.labels)
    into = None if turned is None else (turned.offsets, turned.neighbors, turned.labels)
    copies = rows.copies if count_copies else None
    if not is_lent(graph, lends):
        native.load(codes, out, into, copies, threads)
    elif (order := rows.class_order) is None:
        lenders = (rows.neighbors, None if turned is None else turned.neighbors)
        native.load_lent(out, into, copies, threads, lenders)
    else:
        there = (order.forward, order.reverse)
        fault = native.load_in_class_order(
            codes, out, into, copies, order.classes.ravel(), *there, threads, there
        )
        if fault:
            raise order.fault(fault)
    return native


def is_lent(graph: Graph, lends: str) -> bool:
    """Return whether the rows of a graph stay in its file, by the switch."""
    rows = graph.forward
    if lends == "off" or rows.num_arcs < _LENT_ARCS or not rows.is_mapped:
        return False
    labelled = graph.vertex_labels is not None or rows.labels is not None
    return (rows.class_order is not None or not labelled) and (lends == "on" or lack_room(graph))


def lack_room(graph: Graph) -> bool:
    """Return whether the machine seems to lack memory for copies of the rows of a graph."""
    there, order = available(), graph.forward.class_order
    both = [graph.forward, graph.reverse] if graph.directed else [graph.forward]
    rows = sum(one.neighbors.nbytes for one in both) if order is None else order.nbytes
    return there is not None and there < _COPIES * (rows + sum(one.offsets.nbytes for one in both))


def filter_of(switches: Mapping[str, str]) -> tuple[int, int]:
    """Return how a native monitor filters vertices: the filter, and the bits of neighbour counts."""
    return _FILTERS[switches["filter"]], int(switches["filter_bits"])


class PlanWriter:
    """Turns delta plans of one pattern into arguments of the native monitor.

    Parameters
    ----------
    monitor
        Which numbers relations, targets and lists of vertices.
    bound
        The pattern.
    always_sums
        Whether plans that can be are counted as sums even if few plans share these.
    injective
        Whether all vertices of a match differ.
    facets
        The labels of edges in the monitor, if these stand for copies with attributes.
    """

    def __init__(
        self,
        monitor: _native.Monitor,
        pattern: Pattern,
        bound: BoundPattern,
        *,
        injective: bool,
        always_sums: bool = False,
        facets: Facets | None = None,
    ) -> None:
        self._always_sums, self._injective = always_sums, injective
        self._monitor = monitor
        self._facets = facets
        self.pattern = pattern
        self.bound = bound
        self.awaited: dict[VertexId, list[int]] = {}
        """Lists that ids belong to as soon as there is such a vertex."""
        self.lists: list[int] = []
        """All lists that were made."""
        self._list_of: list[int] = []
        self._targets: dict[tuple[int, bool], tuple[int, int, int]] = {}  # by query edge and its direction

    def find_vertices(self, vertex_of: Callable[[VertexId], int | None]) -> None:
        """Make the lists of the vertices that the pattern names, before plans are written.

        Parameters
        ----------
        vertex_of
            The vertex of an id, or None while there is no such vertex.
        """
        self._list_of = [
            _NONE if vertex.ids is None else self._list(sorted(vertex.ids, key=str), vertex_of)
            for vertex in self.pattern.vertices
        ]

    def _list(self, ids: Sequence[VertexId], vertex_of: Callable[[VertexId], int | None]) -> int:
        found = {name: vertex_of(name) for name in ids}
        number = self._monitor.add_list(sorted(vertex for vertex in found.values() if vertex is not None))
        self.lists.append(number)
        for name, vertex in found.items():
            if vertex is None:
                self.awaited.setdefault(name, []).append(number)
        return number

    def write(self, plan: DeltaPlan, canonical: Sequence[Transversal] = ()) -> tuple[Any, ...]:
        """Return one plan.

        Parameters
        ----------
        canonical
            Automorphisms under which the least image of a match is the one to give.
        """
        first, second = plan.place
        return (
            [self._pair_edge(edge, first) for edge in plan.edges],
            self.bound.labels[first],
            self.bound.labels[second],
            [self._step(plan, level) for level in range(len(plan.order))],
            _tail(plan.tail, len(plan.order)),
            [list(image) for image in plan.images],
            plan.multiplier,
            (plan.row_cost, plan.replaces_last, plan.symmetries, self._always_sums, self._injective),
            [(point, [(image, list(moves)) for image, moves in images]) for point, images in canonical],
            _shared(plan.shared),
        )

    def counted(self) -> BoundPattern:
        """Return the pattern in the labels by which the monitor counts edges now."""
        return self.bound if self._facets is None else self._facets.counted(self.bound)

    def _relation(self, labels: tuple[int, ...] | None, where: Condition | None, way: int) -> int:
        either = way == _WAYS[Direction.EITHER] and self.bound.directed
        if self._facets is not None:
            return self._facets.relation(labels, where, either=either)
        return self._monitor.relation(labels, either)

    def _pair_edge(self, edge: BoundEdge, first: int) -> tuple[int, int]:
        if edge.either:
            way = _WAYS[Direction.EITHER]
        else:
            way = _WAYS[Direction.OUT if edge.source == first else Direction.IN]
        return way, self._relation(edge.labels, edge.where, way)

    def _step(self, plan: DeltaPlan, level: int) -> tuple[Any, ...]:
        shape = plan.shape.steps[level]
        sources = []
        if level >= len(plan.place):
            step = plan.args.steps[level]
            hidden = plan.before_change[level]
            for source, key, edge, before in zip(
                shape.sources, step.adjacencies, step.edges, hidden, strict=True
            ):
                if edge not in self._targets:
                    self._targets[edge] = self._target(key)
                sources.append((source.level, *self._targets[edge], before))
        return (
            sources,
            _NONE if shape.reuse is None else shape.reuse,
            shape.anchor,
            _bits(shape.after),
            _bits(shape.before),
            _bits(shape.distinct),
            self._list_of[plan.order[level]],
        )

    def _target(self, key: AdjacencyKey) -> tuple[int, int, int]:
        way = _WAYS[key.direction]
        relation = self._relation(key.edge_labels, key.edge_where, way)
        return way, self._monitor.target(relation, key.target_labels), relation


def _shared(shared: SharedLevels | None) -> tuple[int, list[tuple[int, int, int]]] | None:
    if shared is None:
        return None
    steps = [(_bits(step.after), _bits(step.before), _bits(step.distinct)) for step in shared.steps]
    return shared.group, steps


def _tail(tail: Tail | None, levels: int) -> tuple[int, list[tuple[list[int], list[int], list[int]]]]:
    if tail is None:
        return levels, []
    return tail.start, [
        (list(component.levels), list(component.sets), list(component.chains))
        for component in tail.components
    ]


def _bits(levels: Sequence[int]) -> int:
    return sum([1 << level for level in levels]) if levels else 0
