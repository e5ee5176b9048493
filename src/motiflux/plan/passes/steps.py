"""Steps: the first form of a search, from a matching order and order restrictions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from typing import NamedTuple

from motiflux.graph import AdjacencyKey, Direction
from motiflux.plan.bind import BoundPattern
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
    compared = closure(restrictions) if restrictions else ()
    injective = semantics is not Semantics.HOMOMORPHISM
    induced = semantics is Semantics.INDUCED
    negates = induced or bool(pattern.negated)
    shapes, args = [], []
    level_of: dict[int, int] = {}
    for level, vertex in enumerate(order):
        found = [
            (level_of[approach.start], approach)
            for approach in pattern.approaches[vertex]
            if approach.start in level_of
        ]
        found.sort(key=itemgetter(0))
        adjacencies = tuple([approach.adjacency for _, approach in found])
        edges = tuple([approach.edge for _, approach in found])
        bounds = degree_bounds(pattern, vertex, set(level_of)) if degrees and injective else (0, 0)
        rivals = pattern.rivals[vertex] if injective else ()
        after: tuple[int, ...] = ()
        before: tuple[int, ...] = ()
        if restrictions:
            after = _levels(level_of, [u for u, v in restrictions if v == vertex])
            before = _levels(level_of, [v for u, v in restrictions if u == vertex])
            if rivals:
                rivals = rivals.difference(*[pair for pair in compared if vertex in pair])
        apart = _apart(pattern, vertex, order[:level], induced=induced) if negates else _NOWHERE
        shapes.append(
            StepShape(  # by position: keywords would take 2 us more
                tuple([_source(at, approach.adjacency.direction) for at, approach in found]),
                None,
                found[-1][0] if found else 0,
                after,
                before,
                _levels(level_of, rivals) if rivals else (),
                apart.not_out,
                apart.not_in,
                bounds[0] > 0,
                bounds[1] > 0,
            )
        )
        args.append(StepArgs(adjacencies, edges, *bounds, apart.rows))
        level_of[vertex] = level
    return PlanShape(tuple(shapes)), PlanArgs(tuple(args))


@cache
def _source(level: int, direction: Direction) -> Source:
    """Return the one object of equal sources: a pattern has 32 levels at most."""
    return Source(level, direction)


def _levels(level_of: Mapping[int, int], vertices: Collection[int]) -> tuple[int, ...]:
    """Return the levels of those of `vertices` that are matched."""
    return tuple(sorted([level_of[vertex] for vertex in vertices if vertex in level_of]))


def adjacency_of(pattern: BoundPattern, start: int, end: int) -> AdjacencyKey:
    """Return the arcs by which the only query edge between two vertices leads from `start` to `end`."""
    (approach,) = (approach for approach in pattern.approaches[end] if approach.start == start)
    return approach.adjacency


class _Apart(NamedTuple):
    """The arcs that must not lead to a candidate: see `StepShape.not_out` and `StepArgs.apart`."""

    not_out: tuple[int, ...] = ()
    not_in: tuple[int, ...] = ()
    rows: tuple[tuple[int, AdjacencyKey], ...] = ()


_NOWHERE = _Apart()


def _apart(pattern: BoundPattern, vertex: int, earlier: tuple[int, ...], *, induced: bool) -> _Apart:
    """Return the arcs that must not lead to a candidate, by induced matching and by negated edges."""
    out = list(_forbidden(pattern, vertex, earlier, outward=True) if induced else ())
    into = list(_forbidden(pattern, vertex, earlier, outward=False) if induced else ())
    rows = [(level, AdjacencyKey(_all_arcs(pattern), None, None, None)) for level in out]
    rows += [(level, AdjacencyKey(Direction.IN, None, None, None)) for level in into]
    plain = True
    for edge in pattern.negated:
        if vertex not in (edge.source, edge.target) or edge.other(vertex) not in earlier:
            continue
        level = earlier.index(edge.other(vertex))
        outward = edge.target == vertex
        direction = Direction.EITHER if edge.either else Direction.OUT if outward else Direction.IN
        key = AdjacencyKey(direction, edge.labels, None, None, edge.where)
        rows.append((level, key))
        plain &= key.lets_all_through
        if outward or edge.either:
            out.append(level)
        if pattern.directed and (edge.either or not outward):
            into.append(level)
    return _Apart(
        tuple(sorted(set(out))), tuple(sorted(set(into))), () if plain else tuple(dict.fromkeys(rows))
    )


def _all_arcs(pattern: BoundPattern) -> Direction:
    return Direction.OUT if pattern.directed else Direction.EITHER


def _forbidden(
    pattern: BoundPattern, vertex: int, earlier: tuple[int, ...], *, outward: bool
) -> tuple[int, ...]:
    """Return the levels whose vertex must have no arc to the candidate (`outward`) or from it.

    An arc is forbidden if the pattern has none in its direction; a query edge of either direction allows
    both. In an undirected graph, the outward test is enough.
    """
    if not (outward or pattern.directed):
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
