"""Counts of embeddings that have no optional edge, by counts of patterns.

An edge to a new vertex is missing where all of its possible ends are images of the embedding already. So for
each set of k vertices of the shape, the pattern with an edge to each of them is counted where the vertex has
k possible ends in all: a number that each data vertex has, and that a condition on an attribute compares. An
edge between two vertices of the shape is missing in all embeddings but those of the shape with the edge. Its
copies are not among those that are chosen, also within a span: patterns have it as a negated edge there.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from motiflux.api.per_vertex import count_per_vertex
from motiflux.comparisons import Within
from motiflux.conditions import Comparison, Operator
from motiflux.graph import AttributeTable, Column, Graph
from motiflux.pattern import Pattern
from motiflux.pattern.queries.absent_edges import NoOthers, negated_edge, with_edges, with_no_end
from motiflux.pattern.queries.gluing import Product
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


class PossibleEnds(Protocol):
    """Says in patterns which possible ends of an optional edge a vertex has."""

    def no_others(self, absent: Absent) -> NoOthers:
        """Return the function that says that there are no others."""

    def graph(self) -> Graph | None:
        """Return the graph of these patterns, if it is another one than that of the call."""


def counts_without(shape: Shape, request: Request, ends: PossibleEnds) -> Without | None:
    """Return the counts for a shape without its optional edges; None if rows have to be counted."""
    patterns = [case.parts[0].pattern for case in shape.cases]
    factors = [case.factor for case in shape.cases]
    of_copies = request.copies or any(
        isinstance(one, Within) for pattern in patterns for one in pattern.comparisons
    )
    if (
        len(shape.absent_edges) < len(shape.absent)
        or not shape.is_connected
        or shape.skeleton.may_coincide
        or (of_copies and any(None in one.ends or one.edge.negated for one in shape.absent_edges))
    ):
        return None
    homomorphic = request.semantics is Semantics.HOMOMORPHISM
    found: Counter[Pattern] = Counter()
    for pattern, factor in zip(patterns, factors, strict=True):
        found[pattern] += factor
    for absent in shape.absent_edges:
        if of_copies:
            negated: Counter[Pattern] = Counter()
            for pattern, factor in found.items():
                negated[replace(pattern, negated=(*pattern.negated, negated_edge(absent)))] += factor
            found = negated
            continue
        if None not in absent.ends:
            for pattern, factor in list(found.items()):
                joined_too = with_edges(pattern, absent, ())
                assert joined_too is not None
                found[joined_too] -= factor
            continue
        summed: Counter[Pattern] = Counter()
        no_others = ends.no_others(absent)
        for pattern, factor in found.items():
            for one in with_no_end(pattern, absent, no_others, homomorphic=homomorphic):
                summed[one] += factor
        found = summed
        if len(found) > MAX_PATTERNS:
            return None
    return Without(tuple(((pattern,), factor) for pattern, factor in found.items() if factor), ends.graph())


class EndsAsAttributes:
    """Possible ends as attributes of vertices, their numbers, in a graph that has these, too.

    Parameters
    ----------
    graph
        The graph of the call.
    threads
        Threads that count.
    """

    def __init__(self, graph: Graph, threads: int) -> None:
        self._graph, self._threads = graph, threads
        self._columns: dict[str, Absent] = {}

    def no_others(self, absent: Absent) -> NoOthers:
        """Return the function that says that there are no others."""
        name = _unused(f"possible ends {len(self._columns)}", self._graph)
        self._columns[name] = absent

        def no_others(pattern: Pattern, start: int, chosen: tuple[int, ...]) -> Pattern:
            vertices = list(pattern.vertices)
            vertex, condition = vertices[start], Comparison(name, Operator.EQUAL, len(chosen))
            where = joined([*([vertex.where] if vertex.where is not None else []), condition])
            vertices[start] = replace(vertex, where=where)
            return replace(pattern, vertices=tuple(vertices))

        return no_others

    def graph(self) -> Graph | None:
        """Return the graph with the attributes."""
        return _extended(self._graph, self._columns, self._threads) if self._columns else None


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
