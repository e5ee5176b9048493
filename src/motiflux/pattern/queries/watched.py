"""The patterns of a query that a monitor watches one by one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

from motiflux.errors import ArgumentError
from motiflux.pattern.checks import unreached
from motiflux.pattern.elements import QueryEdge, QueryVertex
from motiflux.pattern.negated import NegatedEdge
from motiflux.pattern.pattern import Pattern
from motiflux.pattern.queries.absent_edges import negated_edge, new_vertex
from motiflux.pattern.queries.disjoint import alternatives_with_lone_edges, disjoint_choices
from motiflux.pattern.queries.query import Query
from motiflux.pattern.queries.shapes import Absent, AbsentPath, Case, Shape
from motiflux.pattern.queries.symmetry import automorphisms_of, distinct_shapes
from motiflux.types import Semantics

MAX_CASES = 64
"""Most cases of OR across edges: no two of them hold for the same vertices."""


@dataclass(frozen=True, slots=True, repr=False)
class CasePattern(Pattern):
    """One case of a condition, of which no two hold at once: a monitor watches all of them as one.

    It may have several parts, whose vertices differ, too.

    Parameters
    ----------
    others
        The other cases, with the same vertices. A match that one of them takes over does not vanish.
    ascending
        Pairs of vertices whose images ascend in the one embedding of each occurrence that counts.
    """

    others: tuple[Pattern, ...] = ()
    ascending: tuple[tuple[int, int], ...] = ()

    must_connect: ClassVar[bool] = False

    @property
    def alone(self) -> Pattern:
        """The case without the others."""
        make = Pattern if unreached(self.num_vertices, self.edges) is None else CasePattern
        return make(self.vertices, self.edges, self.name, self.may_coincide, self.comparisons, self.negated)


def name_of(query: Query) -> str:
    """Return the name of all patterns of a watched query: its own, or its text."""
    return query.name or str(query)


def watched_patterns(
    query: Query, *, directed: bool, by_occurrence: bool, semantics: Semantics = Semantics.ISOMORPHISM
) -> list[Pattern]:
    """Return the patterns whose matches are those of a query, all under its name.

    Parameters
    ----------
    directed
        The direction of the graph.
    by_occurrence
        Whether occurrences are reported, not embeddings.
    semantics
        How they are matched.

    Raises
    ------
    ArgumentError
        The query has several parts, or an optional edge or OR across edges that no
        patterns tell.
    """
    shapes = distinct_shapes(query.shapes, directed=directed) if by_occurrence else query.shapes
    name = name_of(query)
    found: list[Pattern] = []
    for shape in shapes:
        _check(shape, query, semantics)
        cases = _cases_of(shape, query, semantics)
        if len(cases) == 1 and shape.is_connected:
            found.append(replace(cases[0], name=name))
            continue
        ascending = _ascending(shape, directed=directed) if by_occurrence else ()
        for at, one in enumerate(cases):
            # Conditions of vertices do not change, so cases with others never take over.
            others = tuple(
                case for place, case in enumerate(cases) if place != at and case.vertices == one.vertices
            )
            found.append(
                CasePattern(
                    one.vertices,
                    one.edges,
                    name,
                    one.may_coincide,
                    one.comparisons,
                    one.negated,
                    others,
                    ascending,
                )
            )
    return found


@lru_cache(64)
def all_watched(query: Query) -> frozenset[Pattern]:
    """Return all patterns that may be watched for a query, whichever the options of the monitor.

    Of cases, they are those without the others.
    """
    name = name_of(query)
    found: set[Pattern] = set()
    for semantics in (Semantics.ISOMORPHISM, Semantics.HOMOMORPHISM):
        for shape in query.shapes:
            try:
                _check(shape, query, semantics)
                found.update(replace(one, name=name) for one in _cases_of(shape, query, semantics))
            except ArgumentError:
                continue
    return frozenset(found)


def _check(shape: Shape, query: Query, semantics: Semantics) -> None:
    """Refuse what no patterns tell."""
    if not shape.is_connected:
        if semantics is Semantics.INDUCED:
            expected = "'isomorphism' or 'homomorphism' for a disconnected pattern"
            raise ArgumentError("semantics", expected, semantics.value)
        if shape.skeleton.comparisons:
            expected = "no comparisons beside several parts on streams"
            raise ArgumentError("patterns", expected, str(query))
    if shape.absent and semantics is Semantics.INDUCED:
        raise ArgumentError("semantics", "'isomorphism' or 'homomorphism' beside OPTIONAL", semantics.value)
    if shape.overlaps and (semantics is Semantics.HOMOMORPHISM or shape.skeleton.may_coincide):
        expected = "different vertices beside OR across edges, on streams"
        raise ArgumentError("patterns", expected, str(query))
    if alternatives_with_lone_edges(shape):
        expected = "no negated edges to any vertex beside OR across edges, on streams"
        raise ArgumentError("patterns", expected, str(query))


def _cases_of(shape: Shape, query: Query, semantics: Semantics) -> list[Pattern]:
    """Return the patterns of a shape, of which no two have the same match."""
    missing = tuple(_missing(one, shape, query, semantics) for one in shape.absent)
    found: list[Pattern] = []
    for case in shape.cases:
        if case.without is None:
            continue
        one = _together(case, shape)
        for edges, negated in disjoint_choices(case.without, (one.edges, one.negated)):
            found.append(replace(one, edges=edges, negated=(*negated, *missing)))
            if len(found) > MAX_CASES:
                expected = f"at most {MAX_CASES} cases of OR across edges on streams"
                raise ArgumentError("patterns", expected, str(query))
    return found


def _together(case: Case, shape: Shape) -> Pattern:
    """Return the parts of a case as one pattern."""
    if len(case.parts) == 1:
        return case.pattern
    vertices: dict[int, QueryVertex] = {}
    edges: list[QueryEdge] = []
    negated: list[NegatedEdge] = []
    for part in case.parts:
        to = part.vertices
        vertices |= zip(to, part.pattern.vertices, strict=True)
        edges += [
            replace(edge, source=to[edge.source], target=to[edge.target]) for edge in part.pattern.edges
        ]
        negated += [one.between(to) for one in part.pattern.negated]
    for apart in case.apart:
        (edge,) = apart.edge.edges
        source, target = (apart.ends[end] for end in (edge.source, edge.target))
        assert source is not None
        assert target is not None
        negated.append(NegatedEdge(source, target, edge.labels, edge.directed, edge.where))
    return CasePattern(
        tuple(vertices[at] for at in range(len(vertices))),
        tuple(edges),
        may_coincide=shape.skeleton.may_coincide,
        negated=tuple(negated),
    )


def _missing(absent: Absent | AbsentPath, shape: Shape, query: Query, semantics: Semantics) -> NegatedEdge:
    """Return an optional edge that is not there as a negated edge."""
    if isinstance(absent, AbsentPath):
        expected = (
            "OPTIONAL edges, or paths of one edge or more to any vertex, without comparisons, on streams"
        )
        raise ArgumentError("patterns", expected, str(query))
    if absent.edge.negated:
        raise ArgumentError("patterns", "no negated edges behind OPTIONAL on streams", str(query))
    besides: set[int] = set()
    if None in absent.ends and semantics is not Semantics.HOMOMORPHISM:
        # An end has another label than some vertices, so it is none of their images.
        new = new_vertex(absent)
        besides = {at for at in absent.before if _may_be(shape.skeleton.vertices[at], new)}
    return negated_edge(absent, frozenset(besides.difference(absent.ends)))


def _may_be(vertex: QueryVertex, end: QueryVertex) -> bool:
    """Whether the image of a vertex may have a label of an end."""
    return vertex.labels is None or end.labels is None or not vertex.labels.isdisjoint(end.labels)


def _ascending(shape: Shape, *, directed: bool) -> tuple[tuple[int, int], ...]:
    """Return pairs of vertices that ascend in one of the embeddings of each occurrence."""
    group = automorphisms_of(shape.skeleton, directed=directed)
    return tuple(
        (point, image)
        for point, orbit in zip(group.base, group.orbits, strict=True)
        for image in sorted(orbit - {point})
    )
