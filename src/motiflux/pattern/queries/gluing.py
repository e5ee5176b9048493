"""Embeddings of a disconnected shape, by those of connected patterns.

Pairs of embeddings of two parts are counted by a product. In some pairs, vertices of the first part and of
the second part have the same image: such a pair is an embedding of the two parts glued together at these
vertices, of exactly one such gluing. So the embeddings of both parts beside each other are the product minus
the embeddings of all gluings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from motiflux.comparisons import Relation
from motiflux.errors import PatternError
from motiflux.pattern.elements import QueryEdge, QueryVertex
from motiflux.pattern.negated import NegatedEdge
from motiflux.pattern.pattern import Pattern
from motiflux.pattern.where import joined
from motiflux.types import MAX_PATTERN_EDGES, MAX_PATTERN_VERTICES

MAX_GLUED = 2048
"""Most patterns for the coincidences of a disconnected pattern."""

Product = tuple[Pattern, ...]
"""Patterns whose counts are multiplied."""


def products_of(parts: Sequence[Pattern], *, every_edge: bool = False) -> Counter[Product]:
    """Return the products of counts, each with a factor, whose sum is the number of embeddings of all parts.

    Parameters
    ----------
    parts
        Connected patterns, whose vertices all have different images.
    every_edge
        Whether edges that become equal stay edges of their own, as for choices of copies.

    Raises
    ------
    PatternError
        There are too many coincidences; says how many there are, or could be.
    """
    expected = _most_gluings(parts)
    if expected > MAX_GLUED:
        raise PatternError(
            f"expected a connected pattern, or parts with at most {MAX_GLUED:,} ways to coincide, found up to"
            f" {expected:,}: list the parts one by one"
        )
    return _products(tuple(parts), every_edge)


def _products(parts: Product, every_edge: bool) -> Counter[Product]:
    if len(parts) == 1:
        return Counter({parts: 1})
    *rest, last = parts
    found: Counter[Product] = Counter()
    for product, factor in _products(tuple(rest), every_edge).items():
        found[_in_order((*product, last))] += factor
    for glued in _glued(rest, last, every_edge):
        for product, factor in _products(glued, every_edge).items():
            found[product] -= factor
    return found


def _in_order(product: Product) -> Product:
    return tuple(sorted(product, key=str))


def _most_gluings(parts: Sequence[Pattern]) -> int:
    """Return an upper bound of the number of gluings of all parts."""
    total, size = 1, parts[0].num_vertices
    for part in parts[1:]:
        ways, term = 1, 1
        for chosen in range(1, min(size, part.num_vertices) + 1):
            term = term * (size - chosen + 1) * (part.num_vertices - chosen + 1) // chosen
            ways += term
        total *= ways
        size += part.num_vertices
    return total - 1


def _glued(rest: Sequence[Pattern], last: Pattern, every_edge: bool) -> Iterator[Product]:
    """Yield the parts for each way in which vertices of the last part coincide with others, one or more."""
    places = [(number, vertex) for number, part in enumerate(rest) for vertex in range(part.num_vertices)]
    for chosen in _matchings(places, last.num_vertices):
        if chosen:
            glued = _gluing(rest, last, chosen, every_edge)
            if glued is not None:
                yield glued


def _matchings(places: Sequence[tuple[int, int]], size: int) -> Iterator[dict[int, tuple[int, int]]]:
    """Yield all ways to give some of `size` vertices a place, each a place of its own."""

    def extended(vertex: int, used: dict[int, tuple[int, int]]) -> Iterator[dict[int, tuple[int, int]]]:
        if vertex == size:
            yield dict(used)
            return
        yield from extended(vertex + 1, used)
        taken = set(used.values())
        for place in places:
            if place not in taken:
                yield from extended(vertex + 1, {**used, vertex: place})

    yield from extended(0, {})


def _gluing(
    rest: Sequence[Pattern], last: Pattern, chosen: dict[int, tuple[int, int]], every_edge: bool
) -> Product | None:
    """Return the parts with the last one glued to some of them; None if no vertex can be both."""
    touched = sorted({number for number, _ in chosen.values()})
    apart = [part for number, part in enumerate(rest) if number not in touched]
    vertices: list[QueryVertex] = []
    places: dict[tuple[int, int], int] = {}
    for number in touched:
        for at, vertex in enumerate(rest[number].vertices):
            places[number, at] = len(vertices)
            vertices.append(vertex)
    where = {}
    for at, vertex in enumerate(last.vertices):
        if at in chosen:
            where[at] = places[chosen[at]]
            both = both_vertices(vertices[where[at]], vertex)
            if both is None:
                return None
            vertices[where[at]] = both
        else:
            where[at] = len(vertices)
            vertices.append(vertex)
    edges: list[QueryEdge] = []
    comparisons = []
    negated: list[NegatedEdge] = []
    for part, moved in (
        *(
            (rest[number], {at: places[number, at] for at in range(rest[number].num_vertices)})
            for number in touched
        ),
        (last, where),
    ):
        first = len(edges)
        edges += [replace(edge, source=moved[edge.source], target=moved[edge.target]) for edge in part.edges]
        for one in part.comparisons:
            if isinstance(one, Relation):
                left, right = (
                    replace(
                        operand,
                        position=operand.position + first if operand.is_edge else moved[operand.position],
                    )
                    for operand in (one.left, one.right)
                )
                one = replace(one, left=left, right=right)
            comparisons.append(one)
        negated += [one.between(moved) for one in part.negated]
    if len(vertices) > MAX_PATTERN_VERTICES or len(edges) > MAX_PATTERN_EDGES:
        raise PatternError(f"expected at most {MAX_PATTERN_VERTICES} query vertices in all parts together")
    if every_edge:
        edges = [replace(edge, name=f"edge {number}") for number, edge in enumerate(edges)]
    named = [replace(vertex, name=f"vertex {number}") for number, vertex in enumerate(vertices)]
    glued = Pattern(tuple(named), tuple(edges), comparisons=tuple(comparisons), negated=tuple(negated))
    return (*apart, glued)


def both_vertices(first: QueryVertex, second: QueryVertex) -> QueryVertex | None:
    """Return the vertex that has to be both; None if nothing can."""
    labels, ids = first.labels, first.ids
    if second.labels is not None:
        labels = second.labels if labels is None else labels & second.labels
    if second.ids is not None:
        ids = second.ids if ids is None else ids & second.ids
    if labels == frozenset() or ids == frozenset():
        return None
    conditions = [one for one in (first.where, second.where) if one is not None]
    where = joined(sorted(conditions, key=str)) if len(conditions) > 1 else next(iter(conditions), None)
    return QueryVertex(first.name, labels, ids, where)
