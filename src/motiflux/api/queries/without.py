"""Counts of embeddings that have no optional edge, by counts of patterns.

An edge to a new vertex is missing where all of its possible ends are images of the embedding already. So for
each set of k vertices of the shape, the pattern with an edge to each of them is counted where the vertex has
k possible ends in all: a number that each data vertex has, and that a condition on an attribute compares. An
edge between two vertices of the shape is missing in all embeddings but those of the shape with the edge.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from motiflux.api.per_vertex import count_per_vertex
from motiflux.comparisons import Within
from motiflux.conditions import Comparison, Operator
from motiflux.graph import AttributeTable, Column, Graph
from motiflux.pattern import Pattern
from motiflux.pattern.queries.gluing import Product, both_vertices
from motiflux.pattern.queries.shapes import Absent, Shape
from motiflux.pattern.where import joined
from motiflux.request.request import Request
from motiflux.types import Semantics

_POOL, _MOST_GRAPHS = "graphs with possible ends", 4
"""Name of the pool in the graph's memo, and its maximum number of graphs."""

MAX_PATTERNS = 128
"""Most patterns of a shape without optional edges; beyond, rows are counted one by one."""


@dataclass(frozen=True, slots=True)
class Without:
    """Patterns whose counts, each with a factor, add up to the number of embeddings, and the graph."""

    products: tuple[tuple[Product, int], ...]
    graph: Graph | None


def counts_without(shape: Shape, request: Request, graph: Graph) -> Without | None:
    """Return the counts for a shape without its optional edges; None if rows have to be counted."""
    patterns = [case.parts[0].pattern for case in shape.cases]
    factors = [case.factor for case in shape.cases]
    if (
        request.copies
        or len(shape.absent_edges) < len(shape.absent)
        or not shape.is_connected
        or any(isinstance(one, Within) for pattern in patterns for one in pattern.comparisons)
        or shape.skeleton.may_coincide
    ):
        return None
    homomorphic = request.semantics is Semantics.HOMOMORPHISM
    found: Counter[Pattern] = Counter()
    for pattern, factor in zip(patterns, factors, strict=True):
        found[pattern] += factor
    columns: dict[str, Absent] = {}
    for number, absent in enumerate(shape.absent_edges):
        if None not in absent.ends:
            for pattern, factor in list(found.items()):
                joined_too = _with_edges(pattern, absent, ())
                assert joined_too is not None
                found[joined_too] -= factor
            continue
        name = _unused(f"possible ends {number}", graph)
        columns[name] = absent
        found = Counter(dict(_summed(_all_sets(found, absent, name, homomorphic=homomorphic))))
        if len(found) > MAX_PATTERNS:
            return None
    products = tuple(((pattern,), factor) for pattern, factor in found.items() if factor)
    return Without(products, _extended(graph, columns, request.threads) if columns else None)


def _summed(terms: Iterator[tuple[Pattern, int]]) -> Iterator[tuple[Pattern, int]]:
    total: dict[Pattern, int] = {}
    for pattern, factor in terms:
        total[pattern] = total.get(pattern, 0) + factor
    yield from total.items()


def _all_sets(
    found: Counter[Pattern], absent: Absent, name: str, *, homomorphic: bool
) -> Iterator[tuple[Pattern, int]]:
    """Yield the patterns with edges to each set of vertices, where there is no other possible end."""
    (start,) = (at for at in absent.ends if at is not None)
    others = [] if homomorphic else [at for at in absent.before if at != start]
    for pattern, factor in found.items():
        for size in range(len(others) + 1):
            for chosen in combinations(others, size):
                whole = _with_edges(pattern, absent, chosen)
                if whole is None:
                    continue
                vertex = whole.vertices[start]
                condition = Comparison(name, Operator.EQUAL, size)
                where = joined([*([vertex.where] if vertex.where is not None else []), condition])
                vertices = list(whole.vertices)
                vertices[start] = replace(vertex, where=where)
                yield replace(whole, vertices=tuple(vertices)), factor


def _with_edges(pattern: Pattern, absent: Absent, chosen: Sequence[int]) -> Pattern | None:
    """Return a pattern with the optional edge to each of some vertices; None if one cannot be its end.

    Without vertices to choose, the edge is between the vertices that it names.
    """
    vertices, edges, negated = list(pattern.vertices), list(pattern.edges), list(pattern.negated)
    (edge,) = absent.edge.edges
    edge = replace(edge, name="")
    new = absent.ends.index(None) if None in absent.ends else None
    ends = [absent.ends] if new is None else [_filled(absent.ends, vertex) for vertex in chosen]
    for pair in ends:
        source, target = pair[edge.source], pair[edge.target]
        assert source is not None
        assert target is not None
        edges.append(replace(edge, source=source, target=target))
        negated += [one.between([end for end in pair if end is not None]) for one in absent.edge.negated]
    if new is not None:
        for at in chosen:
            whole = both_vertices(vertices[at], absent.edge.vertices[new])
            if whole is None:
                return None
            vertices[at] = whole
    return replace(pattern, vertices=tuple(vertices), edges=tuple(edges), negated=tuple(negated))


def _filled(ends: Sequence[int | None], vertex: int) -> tuple[int, ...]:
    return tuple(vertex if at is None else at for at in ends)


def _possible_ends(
    graph: Graph, absent: Absent, threads: int
) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Return how many vertices the optional edge could lead to, from each vertex."""
    counts = count_per_vertex(graph, absent.edge, threads=threads, device="cpu")
    return np.ascontiguousarray(counts.counts[:, 1 - absent.ends.index(None)], np.int64)


def _unused(name: str, graph: Graph) -> str:
    while name in graph.vertex_attributes:
        name += "'"
    return name


def _extended(graph: Graph, columns: dict[str, Absent], threads: int) -> Graph:
    """Return the graph with numbers of possible ends as attributes of vertices; kept for later calls."""

    def make() -> Graph:
        found = {name: Column(_possible_ends(graph, absent, threads)) for name, absent in columns.items()}
        table = AttributeTable("vertex", {**graph.vertex_attributes, **found})
        return replace(graph, vertex_attributes=table)

    key = tuple((name, one.edge, one.ends.index(None)) for name, one in columns.items())
    found: Graph | None = graph.memo.recent(_POOL, key)
    if found is None:
        found = make()
        graph.memo.store(_POOL, key, found, _MOST_GRAPHS)
    return found
