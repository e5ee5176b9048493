"""Binds a pattern to a data graph: label names become codes, and edges get directions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from motiflux.conditions import AllOf, AnyOf, Condition, Degree, Not
from motiflux.errors import PatternError
from motiflux.graph import AdjacencyKey, Direction, Graph, LabelTable, VertexFilter
from motiflux.pattern import AnyVertex, NegatedEdge, Pattern, QueryEdge, QueryVertex
from motiflux.plan.comparisons.bound import BoundComparisons, bind_comparisons
from motiflux.types import Label, VertexId

Codes = tuple[int, ...] | None
"""Label codes, ascending; None allows all labels."""

_MOST_NAMED = 4
_MOST_COMPARED = 10_000
"""Most labels of a graph with which an unknown label is compared; each takes some microseconds."""


@dataclass(frozen=True, slots=True)
class BoundEdge:
    """A query edge: the arc source -> target, or with `either` an arc one way or the other."""

    source: int
    target: int
    labels: Codes
    either: bool
    where: Condition | None = None

    def other(self, end: int) -> int:
        """Return the end that is not `end`."""
        return self.target if self.source == end else self.source


@dataclass(frozen=True, slots=True)
class BareVertex:
    """Neighbours that a query vertex must not have: those that `arcs` from it lead to.

    Parameters
    ----------
    besides
        Query vertices whose images may be among them.
    ids
        The ids of the neighbours, on graphs that change; None: any.
    """

    vertex: int
    arcs: AdjacencyKey
    besides: frozenset[int] = frozenset()
    ids: frozenset[VertexId] | None = None


@dataclass(frozen=True, slots=True)
class OtherCase:
    """Edges of another case of the same condition that are there, and edges that are not."""

    edges: tuple[BoundEdge, ...]
    negated: tuple[BoundEdge, ...]


@dataclass(frozen=True, slots=True)
class Approach:
    """A query edge as it leads to one of its ends.

    Parameters
    ----------
    start
        The other end.
    adjacency
        The arcs of the graph by which it leads from there.
    edge
        Its position in the bound pattern, and whether it is followed from its source.
    """

    start: int
    adjacency: AdjacencyKey
    edge: tuple[int, bool]


@dataclass(frozen=True, slots=True)
class BoundPattern:
    """A pattern bound to a graph.

    Parameters
    ----------
    labels
        Label codes allowed for each query vertex.
    edges
        Query edges, each once; those of an undirected graph have ``source < target``.
    missing
        The reason if nothing can match, such as a label that the graph does not have; None otherwise.
    may_coincide
        Pairs of query vertices that may share a data vertex, each in both orders.
    filters
        Conditions and ids of each query vertex, beyond its labels; None for none.
    comparisons
        Comparisons of attributes, and choices to be counted; None for none.
    negated
        Edges between two query vertices that must not be there, each once, in the form of `edges`.
    bare
        Edges to any vertex that must not be there, on graphs that change; else they are in `filters`.
    others
        On graphs that change, the other cases of a condition whose case the pattern is: a match that changes
        from one case to another neither comes nor goes.
    ascending
        Pairs of query vertices whose images ascend in the one of several embeddings that counts, beside
        `others`.
    """

    directed: bool
    labels: tuple[Codes, ...]
    edges: tuple[BoundEdge, ...]
    missing: str | None
    may_coincide: frozenset[tuple[int, int]] = frozenset()
    filters: tuple[VertexFilter | None, ...] = ()
    comparisons: BoundComparisons | None = None
    negated: tuple[BoundEdge, ...] = ()
    bare: tuple[BareVertex, ...] = ()
    others: tuple[OtherCase, ...] = ()
    ascending: tuple[tuple[int, int], ...] = ()
    incident: tuple[tuple[BoundEdge, ...], ...] = field(init=False, compare=False, repr=False)
    """The edges at each query vertex."""
    approaches: tuple[tuple[Approach, ...], ...] = field(init=False, compare=False, repr=False)
    """The same edges as they lead to the vertex."""
    neighbors: tuple[frozenset[int], ...] = field(init=False, compare=False, repr=False)
    """The query vertices joined to each query vertex."""
    rivals: tuple[frozenset[int], ...] = field(init=False, compare=False, repr=False)
    """The query vertices that an embedding might map to the same data vertex as each query vertex.

    It could not do so with neighbours, as there are no self-loops, or with vertices of disjoint labels.
    Vertices that may coincide are not rivals either.
    """
    position: Mapping[BoundEdge, int] = field(init=False, compare=False, repr=False)
    """The position of each edge in `edges`."""

    def __post_init__(self) -> None:
        if all(narrowing is None for narrowing in self.filters):
            object.__setattr__(self, "filters", (None,) * len(self.labels))
        incident: list[list[BoundEdge]] = [[] for _ in self.labels]
        for edge in self.edges:
            incident[edge.source].append(edge)
            incident[edge.target].append(edge)
        neighbors = tuple(frozenset(edge.other(v) for edge in edges) for v, edges in enumerate(incident))
        object.__setattr__(self, "incident", tuple(map(tuple, incident)))
        object.__setattr__(self, "neighbors", neighbors)
        object.__setattr__(self, "rivals", self._rivals())
        object.__setattr__(self, "position", {edge: at for at, edge in enumerate(self.edges)})
        approaches: list[list[Approach]] = [[] for _ in self.labels]
        for at, edge in enumerate(self.edges):
            for start, end in ((edge.source, edge.target), (edge.target, edge.source)):
                key = self._adjacency(edge, start, end)
                approaches[end].append(Approach(start, key, (at, edge.source == start)))
        object.__setattr__(self, "approaches", tuple(map(tuple, approaches)))

    def _rivals(self) -> tuple[frozenset[int], ...]:
        label_sets = [None if labels is None else frozenset(labels) for labels in self.labels]
        rivals: list[set[int]] = [set() for _ in self.labels]
        for u, labels in enumerate(label_sets):
            for v, others in enumerate(label_sets[:u]):
                if labels is None or others is None or not labels.isdisjoint(others):
                    rivals[u].add(v)
                    rivals[v].add(u)
        for u, v in self.may_coincide:
            rivals[u].discard(v)
        return tuple(frozenset(found - near) for found, near in zip(rivals, self.neighbors, strict=True))

    def _adjacency(self, edge: BoundEdge, start: int, end: int) -> AdjacencyKey:
        """Return the arcs by which `edge` leads from `start` to `end`."""
        if edge.either:
            direction = Direction.EITHER
        else:
            direction = Direction.OUT if edge.source == start else Direction.IN
        return AdjacencyKey(
            direction,
            edge.labels,
            self.labels[start],
            self.labels[end],
            edge.where,
            self.filters[start],
            self.filters[end],
        )

    def rows_from(self, edge: BoundEdge, start: int) -> AdjacencyKey:
        """Return the arcs by which an edge leads from one of its ends to the other."""
        return self._adjacency(edge, start, edge.other(start))

    def rows_of(self, edge: BoundEdge) -> AdjacencyKey:
        """Return the arcs by which an edge leads from its source to its target."""
        return self._adjacency(edge, edge.source, edge.target)

    @property
    def size(self) -> int:
        """Number of query vertices."""
        return len(self.labels)

    @property
    def negates(self) -> bool:
        """Whether there are edges that must not be there, other than in `filters`, other cases, or parts."""
        return bool(self.negated or self.bare or self.others or self.ascending or not self.is_connected)

    @property
    def is_connected(self) -> bool:
        """Whether a path joins each two vertices; patterns of monitors may have several parts."""
        reached, frontier = {0}, [0]
        while frontier:
            fresh = self.neighbors[frontier.pop()] - reached
            reached |= fresh
            frontier += fresh
        return len(reached) == self.size


def bind(pattern: Pattern, graph: Graph, *, count_choices: bool = False) -> BoundPattern:
    """Return `pattern` in the label codes and directions of `graph`.

    Parameters
    ----------
    count_choices
        Whether choices of copies are counted: then all query edges are variables of the comparisons.

    Raises
    ------
    PatternError
        A directed query edge on an undirected graph, or a condition on an attribute that the graph does not
        have, or whose values are of another type; comparisons of attributes of different types.
    ArgumentError
        Ids that are integers where the graph's are strings, or the other way round.
    """
    missing: list[str] = []

    def codes(labels: frozenset[Label] | None, table: LabelTable, part: str) -> Codes:
        if labels is None:
            return None
        found = table.codes(labels)
        if not found:
            missing.append(f"{part} asks for the {_not_there(labels, table)}")
        return None if len(found) == len(table) else found

    vertex_codes = tuple(
        codes(vertex.labels, graph.vertex_label_table, f"query vertex {vertex.name!r}")
        for vertex in pattern.vertices
    )
    edges: dict[BoundEdge, int] = {}
    positions: list[int] = []
    for edge in pattern.edges:
        names = [pattern.vertices[end].name for end in (edge.source, edge.target)]
        edge_codes = codes(edge.labels, graph.edge_label_table, f"query edge {names[0]!r} - {names[1]!r}")
        if edge.where is not None:
            graph.edge_attributes.check(edge.where)
        bound = bound_edge(edge, edge_codes, names, graph.directed)
        edges.setdefault(bound, len(edges))
        positions.append(edges[bound])
    comparisons = bind_comparisons(
        pattern, graph, positions, every_edge=count_choices, count_choices=count_choices
    )
    negated = bind_negated(pattern, graph)
    filters = tuple(
        _filter(vertex, graph, missing, negated.without[position])
        for position, vertex in enumerate(pattern.vertices)
    )
    coinciding = frozenset(pair for u, v in pattern.may_coincide for pair in ((u, v), (v, u)))
    return BoundPattern(
        graph.directed,
        vertex_codes,
        tuple(edges),
        missing[0] if missing else None,
        coinciding,
        filters,
        comparisons,
        negated.pairs,
    )


@dataclass(frozen=True, slots=True)
class BoundNegations:
    """The negated edges of a pattern, bound to a graph.

    Parameters
    ----------
    pairs
        Those between two query vertices, each once.
    without
        For each query vertex, the arcs that none may leave it by.
    idle
        Why some negated edges exclude nothing.
    """

    pairs: tuple[BoundEdge, ...]
    without: tuple[tuple[AdjacencyKey, ...], ...]
    idle: tuple[str, ...] = ()


def bind_negated(pattern: Pattern, graph: Graph) -> BoundNegations:
    """Return the negated edges of a pattern; without those of labels that the graph does not have.

    Raises
    ------
    PatternError
        A directed edge on an undirected graph, or a condition on an attribute that the graph does not have,
        or whose values are of another type.
    """
    pairs: dict[BoundEdge, None] = {}
    without: list[dict[AdjacencyKey, None]] = [{} for _ in pattern.vertices]
    idle: list[str] = []

    def codes(one: NegatedEdge, labels: frozenset[Label] | None, table: LabelTable) -> tuple[bool, Codes]:
        """Return whether the graph has any of the labels, and their codes."""
        found = None if labels is None else table.codes(labels)
        if labels is not None and not found:
            from motiflux.pattern.text import negated_edge_text  # messages alone need it

            text = negated_edge_text(one, pattern)
            idle.append(f"NOT {text} excludes nothing: it asks for the {_not_there(labels, table)}")
        return found is None or bool(found), None if found is None or len(found) == len(table) else found

    for one in pattern.negated:
        if one.besides or any(isinstance(end, AnyVertex) and end.ids for end in (one.source, one.target)):
            raise PatternError("expected a monitor for negated edges to any vertex but some, found a search")
        if one.where is not None:
            graph.edge_attributes.check(one.where)
        there, edge_codes = codes(one, one.labels, graph.edge_label_table)
        if one.is_pair:
            edge = one.as_edge()
            names = [pattern.vertices[end].name for end in one.ends]
            bound = bound_edge(edge, edge_codes, names, graph.directed)
            if there:
                pairs[bound] = None
            continue
        (vertex,) = one.ends
        out = isinstance(one.target, AnyVertex)
        other = one.target if out else one.source
        assert isinstance(other, AnyVertex)
        if other.where is not None:
            graph.vertex_attributes.check(other.where)
        names = [pattern.vertices[vertex].name, "()"] if out else ["()", pattern.vertices[vertex].name]
        either = bound_edge(QueryEdge(0, 1, directed=one.directed), None, names, graph.directed).either
        ends_there, end_codes = codes(one, other.labels, graph.vertex_label_table)
        if there and ends_there:
            key = AdjacencyKey(
                Direction.EITHER if either else Direction.OUT if out else Direction.IN,
                edge_codes,
                None,
                end_codes,
                one.where,
                None,
                None if other.where is None else VertexFilter(other.where),
            )
            without[vertex][key] = None
    return BoundNegations(tuple(pairs), tuple(map(tuple, without)), tuple(idle))


def _filter(
    vertex: QueryVertex, graph: Graph, missing: list[str], without: tuple[AdjacencyKey, ...] = ()
) -> VertexFilter | None:
    """Return the conditions and ids of a query vertex."""
    if vertex.where is not None:
        graph.vertex_attributes.check(vertex.where)
        if not graph.directed:
            _check_directions(vertex.where, vertex.name)
    if vertex.ids is None:
        return VertexFilter(vertex.where, None, without) if vertex.where is not None or without else None
    known = graph.vertex_index(sorted(vertex.ids))
    found = tuple(sorted(index for index in known.tolist() if index >= 0))
    if not found:
        names = ", ".join(map(repr, sorted(vertex.ids, key=str)[:_MOST_NAMED]))
        more = ", ..." if len(vertex.ids) > _MOST_NAMED else ""
        missing.append(
            f"query vertex {vertex.name!r} asks for the id {names}{more}, which does not occur in the graph"
        )
    return VertexFilter(vertex.where, found, without)


def _check_directions(condition: Condition, name: str) -> None:
    """Refuse degrees with a direction, for undirected graphs."""
    match condition:
        case Degree(direction=str() as direction):
            raise PatternError(
                f"query vertex {name!r}: expected a degree without a direction on an undirected graph, found"
                f" {direction!r}"
            )
        case Not(inner):
            _check_directions(inner, name)
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                _check_directions(part, name)


def _not_there(labels: frozenset[Label], table: LabelTable) -> str:
    """Return a clause about labels that a graph does not have."""
    names = ", ".join(sorted(map(repr, labels)))
    return f"label {names}, which does not occur in the graph{_hint(labels, table)}"


def _hint(labels: frozenset[Label], table: LabelTable) -> str:
    """Return a similar label of the graph, as part of a sentence; empty if no label is similar."""
    if len(table) > _MOST_COMPARED:
        return ""
    written = {str(label).casefold(): label for label in table.values}
    for label in sorted(labels, key=str):
        key = str(label).casefold()
        if key in written:
            return f"; did you mean {written[key]!r}?"
        close = get_close_matches(key, written, n=1) if isinstance(label, str) else []
        if close and isinstance(written[close[0]], str):
            return f"; did you mean {written[close[0]]!r}?"
    return ""


def bound_edge(edge: QueryEdge, codes: Codes, names: list[str], directed_graph: bool) -> BoundEdge:
    """Return a query edge in label codes; `names` are the names of its ends.

    Raises
    ------
    PatternError
        A directed query edge on an undirected graph.
    """
    if edge.directed and not directed_graph:
        raise PatternError(
            f"query edge {names[0]!r} -> {names[1]!r}: expected an undirected query edge "
            "on an undirected graph, found a directed one; write --, or read the graph as directed"
        )
    either = not directed_graph if edge.directed is None else not edge.directed
    swap = either and edge.source > edge.target
    source, target = (edge.target, edge.source) if swap else (edge.source, edge.target)
    return BoundEdge(source, target, codes, either, edge.where)
