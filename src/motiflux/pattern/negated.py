"""Negated edges: data edges that a match must not have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from operator import index
from typing import Any, TypeAlias

from motiflux.conditions import Condition
from motiflux.errors import PatternError
from motiflux.pattern.elements import LabelChoice, QueryEdge, QueryVertex, label_set
from motiflux.pattern.where import normal_form
from motiflux.types import MAX_PATTERN_EDGES, Label, VertexId


@dataclass(frozen=True, slots=True)
class AnyVertex:
    """An end of a negated edge that is no query vertex: any data vertex with these labels.

    Parameters
    ----------
    labels
        The labels it may have; None is a wildcard.
    where
        A condition on its attributes (`motiflux.conditions`).
    ids
        The ids it may have; None: any. They are for monitors alone.
    """

    labels: frozenset[Label] | None = None
    where: Condition | None = None
    ids: frozenset[VertexId] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", label_set(self.labels))
        object.__setattr__(self, "where", normal_form(self.where))


@dataclass(frozen=True, slots=True)
class PossibleEnd(AnyVertex):
    """A possible end of an optional edge behind which there are negated edges.

    Parameters
    ----------
    negated
        Negated edges of the vertex that the optional edge begins at, 0, and of this one, 1. A vertex is no
        possible end if it has one of them.
    """

    negated: tuple[NegatedEdge, ...] = ()


End: TypeAlias = int | AnyVertex
"""An end of a negated edge: a query vertex by position, or any data vertex."""


@dataclass(frozen=True, slots=True)
class NegatedEdge:
    """An edge that is not in the data graph: ``NOT (a)-[:wire]->(b)``, ``NOT (a)-->()``.

    Parameters
    ----------
    source, target
        Positions in `Pattern.vertices`. One of them may be an `AnyVertex`: then the vertex at the other end
        has no such edge at all.
    labels
        The labels that the edge must not have; None: any label.
    directed
        True: no arc source -> target. False: no arc in either direction. None: follow the data graph.
    where
        A condition on attributes (`motiflux.conditions`): no edge that satisfies it.
    besides
        Beside an `AnyVertex`: query vertices, by position, whose images may be at that end all the same. So
        no edge leads to another vertex. Only monitors and queries in sharded graphs look for such edges; they
        say where an optional edge of a query is missing.
    """

    source: End
    target: End
    labels: frozenset[Label] | None = None
    directed: bool | None = None
    where: Condition | None = None
    besides: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", label_set(self.labels))
        object.__setattr__(self, "where", normal_form(self.where))
        object.__setattr__(self, "besides", frozenset(self.besides))

    @property
    def is_pair(self) -> bool:
        """Whether both ends are query vertices."""
        return not (isinstance(self.source, AnyVertex) or isinstance(self.target, AnyVertex))

    @property
    def ends(self) -> tuple[int, ...]:
        """The query vertices that it is about."""
        return tuple(end for end in (self.source, self.target) if not isinstance(end, AnyVertex))

    def as_edge(self) -> QueryEdge:
        """Return the query edge that it negates; both ends are query vertices."""
        source, target = self.ends
        return QueryEdge(source, target, self.labels, self.directed, where=self.where)

    def between(self, positions: Sequence[int] | dict[int, int]) -> NegatedEdge:
        """Return the negated edge for vertices of which vertex i now is at ``positions[i]``."""
        source, target = (
            end if isinstance(end, AnyVertex) else positions[end] for end in (self.source, self.target)
        )
        besides = frozenset(positions[vertex] for vertex in self.besides)
        return replace(self, source=source, target=target, besides=besides)


def negated_of(given: Iterable[Any], directed: bool | None) -> list[Any]:
    """Return pairs of vertex numbers, None standing for any vertex, as negated edges; others as they are.

    Raises
    ------
    PatternError
        It is no list.
    """
    if not isinstance(given, Iterable):
        raise PatternError(f"negated: expected pairs of vertex numbers or negated edges, found {given!r}")
    found = []
    for one in given:
        if isinstance(one, (tuple, list)) and len(one) == 2:
            source, target = (AnyVertex() if end is None else _number(end) for end in one)
            found.append(NegatedEdge(source, target, directed=directed))
        else:
            found.append(one)
    return found


def positions_of(vertices: Iterable[int | str], known: Sequence[QueryVertex]) -> list[int]:
    """Return the positions of vertices given by position or name.

    Raises
    ------
    PatternError
        There are fewer than two, or one is not in the pattern.
    """
    names = {vertex.name: position for position, vertex in enumerate(known)}
    found = []
    for one in vertices:
        position = names.get(one) if isinstance(one, str) else one
        if isinstance(position, bool) or not isinstance(position, int) or not 0 <= position < len(known):
            raise PatternError(
                f"induced: expected vertices of the pattern, {', '.join(names)}, found {one!r}"
            )
        found.append(position)
    if len(set(found)) < 2:
        raise PatternError(f"induced: expected two vertices or more, found {len(set(found))}")
    return found


def _number(end: object) -> Any:
    try:
        return index(end)  # type: ignore[arg-type]
    except TypeError:
        return end


def negated_edges(negated: Iterable[Any], vertices: Sequence[QueryVertex]) -> tuple[NegatedEdge, ...]:
    """Return negated edges, each once and in one order.

    Raises
    ------
    PatternError
        One names a vertex that is not there or one vertex twice, or there are too many.
    """
    found = {_checked(position, one, vertices) for position, one in enumerate(negated)}
    if len(found) > MAX_PATTERN_EDGES:
        raise PatternError(f"expected at most {MAX_PATTERN_EDGES} negated edges, found {len(found)}")
    return tuple(sorted(found, key=_key))


def induced_edges(
    vertices: Sequence[int], edges: Sequence[QueryEdge], labels: LabelChoice, directed: bool | None
) -> list[NegatedEdge]:
    """Return the edges that induced matching of some vertices negates.

    Parameters
    ----------
    vertices
        Positions of query vertices.
    edges
        All query edges.
    labels
        Labels whose edges must be edges of the pattern; None: an edge of any label, where the pattern has no
        edge of any label in its direction.
    directed
        Whether the data graph is directed; None: not known, so that an edge that follows the data graph is
        refused.

    Raises
    ------
    PatternError
        An edge between two of the vertices has no direction of its own.
    """
    chosen = label_set(labels)
    found: list[NegatedEdge] = []
    for u, v in combinations(sorted(set(vertices)), 2):
        between = [edge for edge in edges if {edge.source, edge.target} == {u, v}]
        if directed is None and any(edge.directed is None for edge in between):
            raise PatternError(
                "induced: expected edges with a direction, '-->' or '--',"
                " found one that follows the data graph"
            )
        for missing in (None,) if chosen is None else sorted(chosen, key=_label_key):
            out, into = _ways(between, u, missing, bool(directed)), _ways(between, v, missing, bool(directed))
            of = None if missing is None else frozenset((missing,))
            if not (out or into):
                found.append(NegatedEdge(u, v, of, False))
            elif not (out and into):
                found.append(NegatedEdge(*((v, u) if out else (u, v)), of, True))
    return _labels_joined(found)


def _ways(between: Sequence[QueryEdge], start: int, label: Label | None, directed: bool) -> bool:
    """Whether the pattern has an edge from a vertex to the other one: of a label; None: of any."""
    return any(
        (edge.source == start or not (directed if edge.directed is None else edge.directed))
        and (label is None or edge.labels is None or label in edge.labels)
        for edge in between
    )


def _labels_joined(negated: Sequence[NegatedEdge]) -> list[NegatedEdge]:
    """Return edges that differ in their labels as one."""
    labels: dict[NegatedEdge, set[Label]] = {}
    for one in negated:
        labels.setdefault(replace(one, labels=None), set()).update(one.labels or ())
    return [replace(one, labels=frozenset(some) or None) for one, some in labels.items()]


def _checked(position: int, one: object, vertices: Sequence[QueryVertex]) -> NegatedEdge:
    what = f"negated edge {position}"
    if not isinstance(one, NegatedEdge):
        raise PatternError(f"{what}: expected a NegatedEdge, found {one!r}")
    if not one.ends:
        raise PatternError(f"{what}: expected a vertex of the pattern at one end, found none")
    for end in one.ends:
        if isinstance(end, bool) or not isinstance(end, int) or not 0 <= end < len(vertices):
            raise PatternError(f"{what}: expected vertices 0 to {len(vertices) - 1}, found {end!r}")
    if len(set(one.ends)) < len(one.ends):
        name = vertices[one.ends[0]].name
        raise PatternError(f"{what}: expected two different vertices, found {name!r} twice")
    if one.directed not in (True, False, None):
        raise PatternError(f"{what}: expected directed to be True, False or None, found {one.directed!r}")
    others = range(len(vertices))
    if not one.besides <= set(others) or (one.besides and one.is_pair):
        expected = f"vertices 0 to {len(vertices) - 1} beside an end that is any vertex"
        raise PatternError(f"{what}: expected {expected}, found besides={sorted(one.besides, key=str)}")
    turns = one.directed is False and (
        isinstance(one.source, AnyVertex) or (one.is_pair and one.ends[0] > one.ends[1])
    )
    return replace(one, source=one.target, target=one.source) if turns else one


def _key(one: NegatedEdge) -> tuple[Any, ...]:
    return (
        _end_key(one.source),
        _end_key(one.target),
        str(one.directed),
        _labels_key(one.labels),
        repr(one.where),
        sorted(one.besides),
    )


def _end_key(end: End) -> tuple[Any, ...]:
    if not isinstance(end, AnyVertex):
        return 0, end
    negated = sorted(map(_key, end.negated)) if isinstance(end, PossibleEnd) else []
    return 1, _labels_key(end.labels), repr(end.where), _labels_key(end.ids), negated


def _labels_key(labels: frozenset[Label] | None) -> list[tuple[bool, Any]]:
    return [] if labels is None else sorted(map(_label_key, labels))


def _label_key(label: Label) -> tuple[bool, Any]:
    return isinstance(label, str), label
