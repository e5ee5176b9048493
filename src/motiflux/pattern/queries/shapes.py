"""The shapes of a query: the patterns that it stands for, and where its rows find their columns in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from motiflux.pattern.elements import QueryEdge, QueryVertex
from motiflux.pattern.negated import AnyVertex, NegatedEdge
from motiflux.pattern.pattern import Pattern
from motiflux.pattern.queries.skeleton import Skeleton


@dataclass(frozen=True, slots=True, repr=False)
class PartsTogether(Pattern):
    """Several parts as one pattern, which is not connected."""

    must_connect: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class Part:
    """A connected pattern of a case.

    Parameters
    ----------
    pattern
        The pattern.
    vertices
        For each of its query vertices, the vertex of the shape.
    """

    pattern: Pattern
    vertices: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """One of the cases of a shape: counts times factors add up, and no embedding is listed by two of them.

    Parameters
    ----------
    parts
        Its connected patterns: one, or several of a disconnected text.
    edges
        For each edge of the shape, the part and the position in its pattern.
    factor
        1, or -1 for embeddings that are counted twice by other cases.
    without
        Patterns of the same vertices whose embeddings are listed by other cases; None: this case is counted
        only, and not listed.
    apart
        Negated edges between vertices of two parts, which only rows can tell: other cases count those with
        them.
    joint
        All parts as one pattern, if comparisons are about several parts: its choices of copies are those of
        the case.
    joint_edges
        For each edge of the shape, the position in that pattern.
    """

    parts: tuple[Part, ...]
    edges: tuple[tuple[int, int], ...]
    factor: int = 1
    without: tuple[Pattern, ...] | None = ()
    apart: tuple[Absent, ...] = ()
    joint: PartsTogether | None = None
    joint_edges: tuple[int, ...] = ()

    @property
    def pattern(self) -> Pattern:
        """The only pattern."""
        (part,) = self.parts
        return part.pattern


@dataclass(frozen=True, slots=True)
class PathPlace:
    """The vertices and the edges of a path in a shape, in the order of the path."""

    vertices: tuple[int, ...]
    edges: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Absent:
    """An optional edge that is not there, or a negated one between two parts.

    Parameters
    ----------
    edge
        The edge and its ends as a pattern.
    ends
        For each of these two vertices, the vertex of the shape; None for the one that is in no shape.
    before
        The vertices of the shape whose images the new vertex could not have.
    form
        Of an edge that stands for an optional path: equal for paths that an automorphism may exchange.
    """

    edge: Pattern
    ends: tuple[int | None, ...]
    before: tuple[int, ...]
    form: str = ""


@dataclass(frozen=True, slots=True)
class LonePath:
    """A path that need not be there, of some lengths, as a pattern of its own.

    Parameters
    ----------
    pattern
        The path and its conditions.
    vertices
        The vertices of the pattern in the order of the path: twice the same one at both ends of a ring.
    edges
        The edges of the pattern in the order of the path.
    """

    pattern: Pattern
    vertices: tuple[int, ...]
    edges: tuple[int, ...]

    @property
    def turned(self) -> LonePath:
        """The path from its other end."""
        return LonePath(self.pattern, self.vertices[::-1], self.edges[::-1])


@dataclass(frozen=True, slots=True)
class AbsentPath:
    """An optional path that is not there.

    Parameters
    ----------
    paths
        The path for each choice of lengths; none may be there. The first vertex is one of the shape.
    ends
        The vertices of the shape at both ends; None for a last vertex that is in no shape.
    before
        The vertices of the shape whose images the new vertices could not have.
    form
        Equal for paths that an automorphism may exchange.
    turns
        Whether the path is the same from both ends.
    induced
        Whether its new vertices must have no edges but those of the path, among themselves and to `before`.
    """

    paths: tuple[LonePath, ...]
    ends: tuple[int, int | None]
    before: tuple[int, ...]
    form: str
    turns: bool = False
    induced: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """The query with lengths of its paths, and with some of its optional edges.

    Parameters
    ----------
    cases
        Disjoint cases, whose embeddings together are those of the shape.
    vertices
        For each vertex that the text names, the vertex of the shape; None where it is missing.
    edges
        The same for each edge that the text names.
    paths
        The places of paths; None where an optional one is missing.
    skeleton
        The whole shape, before its cases, for automorphisms.
    absent
        Optional edges and paths that must not be there.
    lengths
        The lengths of paths of variable length, and for each optional edge or path the number of its edges,
        in the order of the text: 0 where it is missing.
    """

    cases: tuple[Case, ...]
    vertices: tuple[int | None, ...]
    edges: tuple[int | None, ...]
    paths: tuple[PathPlace | None, ...]
    skeleton: Skeleton
    absent: tuple[Absent | AbsentPath, ...] = ()
    lengths: tuple[int, ...] = ()

    @property
    def is_pattern(self) -> bool:
        """Whether its embeddings, and its occurrences, are those of one pattern."""
        return len(self.cases) == 1 and len(self.cases[0].parts) == 1 and not self.absent

    @property
    def is_connected(self) -> bool:
        """Whether each case is one pattern."""
        return all(len(case.parts) == 1 for case in self.cases)

    @property
    def overlaps(self) -> bool:
        """Whether embeddings of several cases overlap, so that choices of copies are in several, too."""
        return any(case.without for case in self.cases)

    @property
    def absent_edges(self) -> tuple[Absent, ...]:
        """Optional edges that must not be there, without paths."""
        return tuple(one for one in self.absent if isinstance(one, Absent))

    @property
    def compares_parts(self) -> bool:
        """Whether comparisons are about several parts."""
        return any(case.joint is not None for case in self.cases)

    @property
    def has_negated_apart(self) -> bool:
        """Whether there are negated edges between two parts."""
        return any(case.apart for case in self.cases)


def absent_of_negated(negated: NegatedEdge) -> Absent:
    """Return a negated edge of a shape as an edge that must not be at the vertices of a row."""
    vertices: list[QueryVertex] = []
    ends: list[int | None] = []
    for at, end in enumerate((negated.source, negated.target)):
        if isinstance(end, AnyVertex):
            ends.append(None)
            vertices.append(QueryVertex(str(at), end.labels, where=end.where))
        else:
            ends.append(end)
            vertices.append(QueryVertex(str(at)))
    edge = QueryEdge(0, 1, negated.labels, negated.directed, where=negated.where)
    return Absent(Pattern(tuple(vertices), (edge,)), tuple(ends), ())
