"""Steps: the first form of a search, from a matching order and order restrictions."""

from __future__ import annotations

from dataclasses import dataclass

from motiflux.graph import AdjacencyKey, Direction
from motiflux.plan.bind import BoundEdge, BoundPattern, Codes
from motiflux.plan.passes.symmetry import Restriction, closure
from motiflux.plan.shape import PlanArgs, PlanShape, Source, StepArgs, StepShape
from motiflux.types import Semantics


@dataclass(frozen=True, slots=True)
class _Arcs:
    """The directions of the arcs between two query vertices, seen from the first."""

    out: bool
    into: bool
    either: bool


def build_steps(
    pattern: BoundPattern,
    order: tuple[int, ...],
    restrictions: tuple[Restriction, ...],
    semantics: Semantics,
    *,
    degrees: bool,
) -> tuple[PlanShape, PlanArgs]:
    """Return the search that matches `pattern` in `order`, without `reuse`.

    Parameters
    ----------
    degrees
        Whether to bound the degrees of candidates. There are no bounds under homomorphism, as query vertices
        may share an image.
    """
    compared = closure(restrictions)
    shapes, args = [], []
    for level, vertex in enumerate(order):
        earlier = order[:level]
        sources = _sources(pattern, vertex, earlier)
        bounds = (0, 0)
        if degrees and semantics is not Semantics.HOMOMORPHISM:
            bounds = degree_bounds(pattern, vertex, set(earlier))
        shapes.append(
            StepShape(
                sources=tuple(found.source for found in sources),
                anchor=max((found.source.level for found in sources), default=0),
                after=tuple(e for e, other in enumerate(earlier) if (other, vertex) in restrictions),
                before=tuple(e for e, other in enumerate(earlier) if (vertex, other) in restrictions),
                distinct=_distinct(pattern, vertex, earlier, compared, semantics),
                not_out=_forbidden(pattern, vertex, earlier, semantics, outward=True),
                not_in=_forbidden(pattern, vertex, earlier, semantics, outward=False),
                bounds_out=bounds[0] > 0,
                bounds_in=bounds[1] > 0,
            )
        )
        args.append(
            StepArgs(
                tuple(found.adjacency for found in sources), tuple(found.edge for found in sources), *bounds
            )
        )
    return PlanShape(tuple(shapes)), PlanArgs(tuple(args))


@dataclass(frozen=True, slots=True)
class _FoundSource:
    """A source, and the rows that it reads in the graph and in a candidate space."""

    source: Source
    adjacency: AdjacencyKey
    edge: tuple[int, bool]


def _sources(pattern: BoundPattern, vertex: int, earlier: tuple[int, ...]) -> list[_FoundSource]:
    """Return a source for each query edge from `vertex` to an earlier level."""
    level_of = {other: level for level, other in enumerate(earlier)}
    found = []
    for edge in pattern.incident[vertex]:
        other = edge.other(vertex)
        if other in level_of:
            key = _adjacency(pattern, edge, other, vertex)
            source = Source(level_of[other], key.direction)
            found.append(_FoundSource(source, key, (pattern.position[edge], edge.source == other)))
    return sorted(found, key=lambda one: one.source.level)


def _adjacency(pattern: BoundPattern, edge: BoundEdge, matched: int, vertex: int) -> AdjacencyKey:
    """Return the arcs by which `edge` leads from `matched` to `vertex`."""
    if edge.either:
        direction = Direction.EITHER
    else:
        direction = Direction.OUT if edge.source == matched else Direction.IN
    return AdjacencyKey(
        direction,
        edge.labels,
        pattern.labels[matched],
        pattern.labels[vertex],
        edge_where=edge.where,
        source_where=pattern.filters[matched],
        target_where=pattern.filters[vertex],
    )


def adjacency_of(pattern: BoundPattern, start: int, end: int) -> AdjacencyKey:
    """Return the arcs by which the only query edge between two vertices leads from `start` to `end`."""
    (edge,) = (edge for edge in pattern.incident[start] if edge.other(start) == end)
    return _adjacency(pattern, edge, start, end)


def _distinct(
    pattern: BoundPattern,
    vertex: int,
    earlier: tuple[int, ...],
    compared: frozenset[Restriction],
    semantics: Semantics,
) -> tuple[int, ...]:
    """Return the levels whose vertex must be compared with the candidate, as it could be the same.

    Neighbours differ, as there are no self-loops; so do vertices with an order restriction or with disjoint
    labels. Vertices that may coincide are not compared.
    """
    if semantics is Semantics.HOMOMORPHISM:
        return ()
    adjacent = pattern.neighbors[vertex]
    return tuple(
        level
        for level, other in enumerate(earlier)
        if other not in adjacent
        and (other, vertex) not in pattern.may_coincide
        and (other, vertex) not in compared
        and (vertex, other) not in compared
        and _share(pattern.labels[other], pattern.labels[vertex])
    )


def _share(a: Codes, b: Codes) -> bool:
    return a is None or b is None or not set(a).isdisjoint(b)


def _forbidden(
    pattern: BoundPattern, vertex: int, earlier: tuple[int, ...], semantics: Semantics, *, outward: bool
) -> tuple[int, ...]:
    """Return the levels whose vertex must have no arc to the candidate (`outward`) or from it.

    An arc is forbidden if the pattern has none in its direction; a query edge of either direction allows
    both. In an undirected graph, the outward test is enough.
    """
    if semantics is not Semantics.INDUCED or not (outward or pattern.directed):
        return ()
    levels = []
    for level, other in enumerate(earlier):
        arcs = _arcs(pattern, other, vertex)
        if not (arcs.either or (arcs.out if outward else arcs.into)):
            levels.append(level)
    return tuple(levels)


def _arcs(pattern: BoundPattern, first: int, second: int) -> _Arcs:
    between = [edge for edge in pattern.incident[first] if edge.other(first) == second]
    return _Arcs(
        out=any(not edge.either and edge.source == first for edge in between),
        into=any(not edge.either and edge.target == first for edge in between),
        either=any(edge.either for edge in between),
    )


def degree_bounds(pattern: BoundPattern, vertex: int, matched: set[int]) -> tuple[int, int]:
    """Return the least out-degree and in-degree of a candidate; 0 if the sources imply the bound.

    In a directed graph, query edges of either direction bound neither degree. Neighbours that may coincide
    may share one arc.
    """
    out: set[int] = set()
    into: set[int] = set()
    for edge in pattern.incident[vertex]:
        if not edge.either:
            (out if edge.source == vertex else into).add(edge.other(vertex))
    if not pattern.directed:
        out.update(pattern.neighbors[vertex])
    return (
        0 if out <= matched else _least_images(pattern, out),
        0 if into <= matched else _least_images(pattern, into),
    )


def _least_images(pattern: BoundPattern, vertices: set[int]) -> int:
    """Return a lower bound on the number of different images of `vertices`."""
    different: list[int] = []
    for vertex in sorted(vertices):
        if not any((vertex, other) in pattern.may_coincide for other in different):
            different.append(vertex)
    return len(different)
