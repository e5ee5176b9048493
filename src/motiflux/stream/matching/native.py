"""Patterns and delta plans in the terms of the native monitor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.conditions import Condition
from motiflux.device.host_memory import available
from motiflux.errors import ArgumentError
from motiflux.graph import AdjacencyKey, Direction, Graph, VertexFilter
from motiflux.pattern import AnyVertex, NegatedEdge, Pattern, QueryEdge, QueryVertex
from motiflux.pattern.queries.watched import CasePattern
from motiflux.pattern.where import has_degree
from motiflux.plan.bind import BareVertex, BoundEdge, BoundPattern, OtherCase, bound_edge
from motiflux.plan.ir import SharedLevels
from motiflux.plan.passes.drafts import DeltaPlan
from motiflux.plan.passes.symmetry import Transversal
from motiflux.plan.shape import Tail
from motiflux.stream.copies.facets import Facets
from motiflux.stream.matching.names import GrowingLabels, label_codes
from motiflux.stream.matching.numbering import Awaited
from motiflux.types import MAX_PATTERN_VERTICES, Semantics, VertexId

_WAYS = {Direction.OUT: 0, Direction.IN: 1, Direction.EITHER: 2}
_NONE = -1
_LENT_ARCS = 1 << 20
"""Least arcs of rows that stay in a file. The pages of the rows by source and by target then differ."""
_COPIES = 1.6
"""Bytes of a monitor's rows, over those of rows without room for more; 1.46 on R-MAT 22."""
_FILTERS = {"mask": 0, "nlf": 1, "none": 2}
"""Switch values as ``dynamic::Filter``."""


class _Allowed(NamedTuple):
    """The vertices of a list: with some ids, that satisfy a condition, and that have some labels, by codes.

    `is_whole`: it is made although all vertices are in it.
    """

    ids: frozenset[VertexId] | None
    where: Condition | None
    is_whole: bool = False
    labels: tuple[int, ...] | None = None


_ANY = _Allowed(None, None)


def _ends_of(one: BareVertex) -> _Allowed:
    """Return the vertices that a negated edge must not lead to, labels aside."""
    where = one.arcs.target_where
    return _Allowed(one.ids, None if where is None else where.condition)


def bind_growing(
    pattern: Pattern,
    *,
    directed: bool,
    vertex_labels: GrowingLabels,
    edge_labels: GrowingLabels,
    semantics: Semantics = Semantics.ISOMORPHISM,
) -> BoundPattern:
    """Return `pattern` in codes; labels that do not occur yet get one, since they still may.

    Of an induced pattern, all edges that it does not have are negated.

    Raises
    ------
    ArgumentError
        Conditions on degrees. Negated edges to any vertex of 32 query vertices, or, without comparisons,
        between vertices that an edge joins beside vertices that may coincide.
    PatternError
        A directed query edge on an undirected graph.
    """
    for vertex in pattern.vertices:
        check_on_streams(vertex, str(pattern))
    others = pattern.others if isinstance(pattern, CasePattern) else ()
    ascending = pattern.ascending if isinstance(pattern, CasePattern) else ()
    if semantics is Semantics.INDUCED:
        pattern = pattern.induced(directed=directed)
        others = tuple(one.induced(directed=directed) for one in others)
    coincides = semantics is Semantics.HOMOMORPHISM or bool(pattern.may_coincide)
    if (
        coincides and not pattern.comparisons
    ):  # which are matched by copies, not by the plans of `delta_plans`
        joined = {frozenset((edge.source, edge.target)) for edge in pattern.edges}
        if any(frozenset(one.ends) in joined for one in pattern.negated):
            expected = "negated edges between vertices that no edge joins, beside vertices that may coincide"
            raise ArgumentError("patterns", expected, str(pattern))
    vertices = tuple(label_codes(vertex.labels, vertex_labels) for vertex in pattern.vertices)

    def bound(given: Iterable[QueryEdge]) -> tuple[BoundEdge, ...]:
        return tuple(
            dict.fromkeys(edges_in_codes(pattern, given, directed=directed, edge_labels=edge_labels))
        )

    coinciding = frozenset(pair for u, v in pattern.may_coincide for pair in ((u, v), (v, u)))
    if pattern.negated_pairs != pattern.negated and pattern.num_vertices == MAX_PATTERN_VERTICES:
        expected = f"at most {MAX_PATTERN_VERTICES - 1} query vertices beside negated edges to any vertex"
        raise ArgumentError("patterns", expected, str(pattern))
    negated = bound(one.as_edge() for one in pattern.negated_pairs)
    bare = tuple(
        dict.fromkeys(
            _bare(one, pattern, directed=directed, vertex_labels=vertex_labels, edge_labels=edge_labels)
            for one in pattern.negated
            if not one.is_pair
        )
    )
    return BoundPattern(
        directed,
        vertices,
        bound(pattern.edges),
        None,
        coinciding,
        negated=negated,
        bare=bare,
        others=tuple(
            OtherCase(bound(one.edges), bound(edge.as_edge() for edge in one.negated_pairs)) for one in others
        ),
        ascending=ascending,
    )


def _bare(
    one: NegatedEdge,
    pattern: Pattern,
    *,
    directed: bool,
    vertex_labels: GrowingLabels,
    edge_labels: GrowingLabels,
) -> BareVertex:
    """Return a negated edge to any vertex in codes.

    Raises
    ------
    ArgumentError
        Conditions on the degree of that vertex.
    PatternError
        A directed edge on an undirected graph.
    """
    (vertex,) = one.ends
    out = isinstance(one.target, AnyVertex)
    other = one.target if out else one.source
    assert isinstance(other, AnyVertex)
    check_on_streams(other, str(pattern))
    names = [pattern.vertices[vertex].name, "()"] if out else ["()", pattern.vertices[vertex].name]
    either = bound_edge(QueryEdge(0, 1, directed=one.directed), None, names, directed).either
    way = Direction.EITHER if either else Direction.OUT if out else Direction.IN
    arcs = AdjacencyKey(
        way,
        label_codes(one.labels, edge_labels),
        None,
        label_codes(other.labels, vertex_labels),
        one.where,
        None,
        None if other.where is None else VertexFilter(other.where),
    )
    return BareVertex(vertex, arcs, one.besides, other.ids)


def check_on_streams(vertex: QueryVertex | AnyVertex, text: str) -> None:
    """Refuse conditions on the degree of a query vertex: each update changes degrees.

    Raises
    ------
    ArgumentError
        Says what to do instead.
    """
    if vertex.where is not None and has_degree(vertex.where):
        expected = (
            "no conditions on degrees on streams, where each update changes degrees (watch the pattern "
            "without them, and count in monitor.snapshot())"
        )
        raise ArgumentError("patterns", expected, text)


def edges_in_codes(
    pattern: Pattern, edges: Iterable[QueryEdge], *, directed: bool, edge_labels: GrowingLabels
) -> tuple[BoundEdge, ...]:
    """Return each of some edges between the vertices of a pattern in codes, also those that are equal."""
    found = []
    for edge in edges:
        names = [pattern.vertices[end].name for end in (edge.source, edge.target)]
        found.append(bound_edge(edge, label_codes(edge.labels, edge_labels), names, directed))
    return tuple(found)


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
        self.awaited: dict[Awaited, list[int]] = {}
        """Lists that vertices belong to as soon as they come."""
        self.lists: list[int] = []
        """All lists that were made."""
        self._list_of: list[int] = []
        self._numbers: dict[_Allowed, int] = {}
        self._first_of_part: list[int] = []  # by query vertex: the list of all that it may be
        self._targets: dict[tuple[int, bool], tuple[int, int, int]] = {}  # by query edge and its direction

    def find_vertices(
        self,
        vertex_of: Callable[[VertexId], int | None],
        satisfying: Callable[[Condition], NDArray[np.bool_]],
    ) -> None:
        """Make the lists of vertices that the pattern names or has conditions on, before its plans.

        Parameters
        ----------
        vertex_of
            The vertex of an id, or None while there is no such vertex.
        satisfying
            Returns which vertices satisfy a condition, and last whether those that come later do.
        """
        self._list_of = [
            self._list(_Allowed(vertex.ids, vertex.where), vertex_of, satisfying)
            for vertex in self.pattern.vertices
        ]
        for one in self.bound.bare:
            self._list(_ends_of(one), vertex_of, satisfying)
        if not self.bound.is_connected:
            self._first_of_part = [
                self._list(_Allowed(vertex.ids, vertex.where, True, labels), vertex_of, satisfying)
                for vertex, labels in zip(self.pattern.vertices, self.bound.labels, strict=True)
            ]

    def _list(
        self,
        allowed: _Allowed,
        vertex_of: Callable[[VertexId], int | None],
        satisfying: Callable[[Condition], NDArray[np.bool_]],
    ) -> int:
        """Return the list of some vertices; -1 if it need not be listed."""
        if allowed == _ANY:
            return _NONE
        if allowed in self._numbers:
            return self._numbers[allowed]
        holds = np.ones(self._monitor.num_vertices + 1, bool)
        if allowed.where is not None:
            holds = satisfying(allowed.where)
        of_later = bool(holds[-1])
        if allowed.labels is not None:
            holds = np.append(np.isin(_native.vertex_codes(self._monitor), allowed.labels), True) & holds
        known = np.flatnonzero(holds[:-1]).tolist()
        awaited = [Awaited(None, allowed.labels)]
        if allowed.ids is not None:
            found = {name: vertex_of(name) for name in sorted(allowed.ids, key=str)}
            known = sorted(vertex for vertex in found.values() if vertex is not None and holds[vertex])
            awaited = [Awaited(name, allowed.labels) for name, vertex in found.items() if vertex is None]
        number = self._monitor.add_list(known)
        self.lists.append(number)
        for one in awaited if of_later else ():
            self.awaited.setdefault(one, []).append(number)
        self._numbers[allowed] = number
        return number

    @property
    def list_of(self) -> tuple[int, ...]:
        """The number of the list of each query vertex; -1 for those that may be any vertex."""
        return tuple(self._list_of)

    def list_of_ends(self, one: BareVertex) -> int:
        """Return the list of the vertices that a negated edge must not lead to; -1 for any vertex."""
        ends = _ends_of(one)
        return _NONE if ends == _ANY else self._numbers[ends]

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
            self._labels_of(first),
            self._labels_of(second),
            [self._step(plan, level) for level in range(len(plan.order))],
            _tail(plan.tail, len(plan.order)),
            [list(image) for image in plan.images],
            plan.multiplier,
            (plan.row_cost, plan.replaces_last, plan.symmetries, self._always_sums, self._injective),
            [(point, [(image, list(moves)) for image, moves in images]) for point, images in canonical],
            _shared(plan.shared),
            self._negated(plan) if self.bound.negates else None,
            list(plan.tallied),
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

    def _negated(self, plan: DeltaPlan) -> tuple[Any, ...]:
        """Return whether a plan is inverse, and its negated edges: within the pair, others, to any vertex.

        Last, the level of its free end, and the other cases.
        """
        level_of = {vertex: level for level, vertex in enumerate(plan.order)}
        pair, later = [], []
        ignoring = plan.negated_before or (False,) * len(self.bound.negated)
        for edge, before in zip(self.bound.negated, ignoring, strict=True):
            first, last = sorted((level_of[edge.source], level_of[edge.target]))
            way, relation = self._pair_edge(edge, plan.order[first])
            if last < len(plan.place):
                pair.append((way, relation))
            else:
                later.append((last, first, way, relation, before))
        bare = self._bare(plan, level_of)
        if plan.free_end is not None:
            for one in self.bound.bare:
                if level_of[one.vertex] == 1 - plan.free_end:
                    pair += self._from_first(one.arcs, plan.free_end)
        free_end = _NONE if plan.free_end is None else plan.free_end
        return plan.inverse, pair, later, bare, free_end, self._cases(level_of)

    def _bare(self, plan: DeltaPlan, level_of: Mapping[int, int]) -> list[tuple[Any, ...]]:
        """Return the negated edges to any vertex; all of a vertex are judged at one level."""
        judged: dict[int, int] = {}
        for one in self.bound.bare:
            levels = [level_of[vertex] for vertex in (one.vertex, *one.besides)]
            judged[one.vertex] = max(judged.get(one.vertex, 0), *levels, 0)
        return [
            (
                *(level_of[one.vertex], judged[one.vertex], *self._target(one.arcs)),
                _bits([level_of[vertex] for vertex in one.besides]),
                one.vertex in plan.bare_before,
                self.list_of_ends(one),
            )
            for one in self.bound.bare
        ]

    def _cases(self, level_of: Mapping[int, int]) -> tuple[list[Any], list[tuple[int, int]]]:
        """Return the edges of other cases, and the levels that ascend."""

        def joined(edges: Iterable[BoundEdge]) -> list[tuple[int, int, int, int]]:
            return [
                (level_of[edge.source], level_of[edge.target], *self._pair_edge(edge, edge.source))
                for edge in edges
            ]

        others = [(joined(one.edges), joined(one.negated)) for one in self.bound.others]
        return others, [(level_of[first], level_of[second]) for first, second in self.bound.ascending]

    def _from_first(self, arcs: AdjacencyKey, free_end: int) -> list[tuple[int, int]]:
        """Return the arcs of a vertex as edges of a pair with a free end, if they can be the changed edge."""
        way = _WAYS[Direction.EITHER]
        if arcs.direction is not Direction.EITHER:
            if (arcs.direction is Direction.OUT) != (free_end == 1):
                return []
            way = _WAYS[Direction.OUT]  # a changed edge goes from level 0 to level 1
        return [(way, self._relation(arcs.edge_labels, arcs.edge_where, way))]

    def _labels_of(self, vertex: int) -> tuple[int, ...] | None:
        """Return the labels of a query vertex, or of a free end."""
        return self.bound.labels[vertex] if vertex < self.bound.size else None

    def _step(self, plan: DeltaPlan, level: int) -> tuple[Any, ...]:
        shape = plan.shape.steps[level]
        begins_part = level >= len(plan.place) and not shape.sources and shape.reuse is None
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
            self._allowed(plan.order[level], begins_part=begins_part),
        )

    def _allowed(self, vertex: int, *, begins_part: bool) -> int:
        """Return the list of the vertices that a query vertex may be; -1 for those of its rows."""
        if vertex >= self.bound.size:
            return _NONE
        return (self._first_of_part if begins_part else self._list_of)[vertex]

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
