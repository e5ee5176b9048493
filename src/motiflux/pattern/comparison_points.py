"""Comparisons as points of the structure that automorphisms preserve.

Each query edge that a comparison names is a point that is linked to its ends, and each comparison one that is
linked to its two operands. An automorphism of a pattern is then a permutation of all points that keeps
colours and links: it permutes edges between the same vertices too, which a permutation of vertices does not
tell apart.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol

from motiflux.comparisons import MIRRORED, Duration, Operand, PatternComparison, Relation
from motiflux.pattern.compared import compared_edges
from motiflux.pattern.elements import QueryEdge, QueryVertex
from motiflux.pattern.negated import NegatedEdge


class Elements(Protocol):
    """The fields of a pattern, of which it need not have the properties."""

    @property
    def vertices(self) -> Sequence[QueryVertex]:
        """Its vertices."""

    @property
    def edges(self) -> Sequence[QueryEdge]:
        """Its edges."""

    @property
    def may_coincide(self) -> Sequence[tuple[int, int]]:
        """Pairs of vertices that may have the same image."""

    @property
    def comparisons(self) -> Sequence[PatternComparison]:
        """Its comparisons."""

    @property
    def negated(self) -> Sequence[NegatedEdge]:
        """Its negated edges."""

    @property
    def negated_pairs(self) -> Sequence[NegatedEdge]:
        """Those between two of its vertices."""

    @property
    def num_vertices(self) -> int:
        """Number of vertices."""

    @property
    def num_edges(self) -> int:
        """Number of edges."""


@dataclass(frozen=True, slots=True)
class ComparisonPoints:
    """The points after the vertices.

    Parameters
    ----------
    colors
        The kind of each point.
    links
        Pairs of points, vertices among them, with the kind of their link.
    """

    colors: tuple[Hashable, ...] = ()
    links: tuple[tuple[int, int, Hashable], ...] = ()


def comparison_points(pattern: Elements, directed: bool, *, every_edge: bool = False) -> ComparisonPoints:
    """Return the points of a pattern's comparisons; none without comparisons of two elements.

    Parameters
    ----------
    directed
        The direction of the data graph.
    every_edge
        Whether all edges are points, not only those that are compared.
    """
    relations = [one for one in pattern.comparisons if isinstance(one, Relation)]
    if not (relations or every_edge):
        return ComparisonPoints()
    colors: list[Hashable] = []
    links: list[tuple[int, int, Hashable]] = []
    point_of: dict[int, int] = {}
    points = range(pattern.num_edges) if every_edge else sorted(compared_edges(relations))
    for position in points:
        edge = pattern.edges[position]
        arc = directed if edge.directed is None else edge.directed
        point = point_of[position] = pattern.num_vertices + len(colors)
        colors.append(("edge", edge.labels, edge.where, arc))
        links.append((edge.source, point, "source" if arc else "end"))
        links.append((edge.target, point, "target" if arc else "end"))

    def point_for(operand: Operand) -> int:
        return point_of[operand.position] if operand.is_edge else operand.position

    for relation in relations:
        point = pattern.num_vertices + len(colors)
        form, symmetric = _form(relation)
        colors.append(("comparison", _color(form)))
        links.append((point_for(form.left), point, "side" if symmetric else "left"))
        links.append((point_for(form.right), point, "side" if symmetric else "right"))
    return ComparisonPoints(tuple(colors), tuple(links))


def _form(relation: Relation) -> tuple[Relation, bool]:
    """Return the form of a relation that its kind determines, and whether both forms are of one kind."""
    if abs(relation.factor) != 1:
        return relation, False
    turned = _exchanged(relation)
    first, second = _color(relation), _color(turned)
    return (relation, first == second) if repr(first) <= repr(second) else (turned, False)


def _exchanged(relation: Relation) -> Relation:
    exchanged = replace(relation, left=relation.right, right=relation.left)
    if relation.factor == -1:
        return exchanged
    offset = relation.offset
    opposite = Duration(-offset.nanoseconds) if isinstance(offset, Duration) else Fraction(-offset)
    return replace(exchanged, operator=MIRRORED[relation.operator], offset=opposite)


def _color(relation: Relation) -> tuple[Any, ...]:
    sides = ((side.element, side.attribute) for side in (relation.left, relation.right))
    return (*sides, relation.operator, relation.factor, relation.offset)
