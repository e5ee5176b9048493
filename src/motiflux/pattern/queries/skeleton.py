"""The structure of a shape that its automorphisms preserve: vertices, edges, and marks on them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from motiflux.comparisons import PatternComparison
from motiflux.pattern.elements import QueryEdge, QueryVertex
from motiflux.pattern.negated import NegatedEdge


@dataclass(frozen=True, slots=True)
class Mark:
    """A condition that is no part of a pattern: on one element, or that joins others.

    Parameters
    ----------
    kind
        Equal for marks that an automorphism may exchange.
    vertices, edges
        The elements that it is about, by position; vertices in their order.
    marks
        The marks that it joins, by position among the marks.
    around
        Vertices that it is about too, in no order.
    """

    kind: Hashable
    vertices: tuple[int, ...] = ()
    edges: tuple[int, ...] = ()
    marks: tuple[int, ...] = ()
    around: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Skeleton:
    """Vertices and edges that need not be connected, and what else a pattern has; marks.

    Its fields are those of a pattern, without checks.
    """

    vertices: tuple[QueryVertex, ...]
    edges: tuple[QueryEdge, ...]
    may_coincide: tuple[tuple[int, int], ...] = ()
    comparisons: tuple[PatternComparison, ...] = ()
    marks: tuple[Mark, ...] = ()
    negated: tuple[NegatedEdge, ...] = ()

    @property
    def negated_pairs(self) -> tuple[NegatedEdge, ...]:
        """The negated edges between two of the vertices."""
        return tuple(one for one in self.negated if one.is_pair)

    @property
    def num_vertices(self) -> int:
        """Number of vertices."""
        return len(self.vertices)

    @property
    def num_edges(self) -> int:
        """Number of edges."""
        return len(self.edges)
