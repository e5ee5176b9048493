"""Counts at each edge of patterns with comparisons, where not every edge between two images is a witness.

Parallel edges between two vertices differ in their labels, or in their direction. So the query edge is
restricted to one label and one direction at a time: then only one edge between two images can be its witness,
and the count at these images is the count at this edge. All copies of the edge are tried by the search.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.graph import Graph
from motiflux.pattern import Pattern, QueryEdge
from motiflux.plan.bind import BoundEdge, bind, bound_edge
from motiflux.request.deadline import Deadline
from motiflux.request.images import CountedImages, ImageCounter
from motiflux.request.request import Request
from motiflux.result.arc_counts import at_edges, edge_labels, sum_of
from motiflux.types import Semantics


def counts_at_witnesses(
    graph: Graph, pattern: Pattern, place: int, counter: ImageCounter, request: Request, deadline: Deadline
) -> tuple[NDArray[Any], CountedImages | None]:
    """Return the embeddings in which each edge is a witness of a query edge.

    Returns
    -------
    tuple[numpy.ndarray, CountedImages or None]
        [edges], int64 or Python integers; and who counted, None if the graph has no label that is accepted.
        Lower bounds if that is not complete.

    Raises
    ------
    TimeoutError
        Time was up before a plan was made.
    """
    if request.semantics is Semantics.INDUCED:  # of the pattern, not of one with fewer directions
        pattern = pattern.induced(directed=graph.directed)
        request = replace(request, semantics=Semantics.ISOMORPHISM)
    counts: NDArray[Any] = np.zeros(graph.num_edges, np.int64)
    made = None
    for code, edge in alone(graph, pattern.edges[place]):
        restricted = replace(pattern, edges=(*pattern.edges[:place], edge, *pattern.edges[place + 1 :]))
        one = bound_query_edge(restricted, edge, graph)
        rows = bind(restricted, graph).rows_of(one)
        plan = counter.plan(graph, restricted, [((one.source, one.target), rows)], request, deadline)
        made = counter.count(graph, [plan], request, deadline)
        numbers = at_edges(
            graph, graph.adjacency(rows, request.threads), made.found[0][plan.class_of[0]], either=one.either
        )
        if code is not None:
            numbers = np.where(edge_labels(graph) == code, numbers, 0)
        counts = sum_of(counts, numbers)
        if not made.complete:
            break
    return counts, made


def bound_query_edge(pattern: Pattern, edge: QueryEdge, graph: Graph) -> BoundEdge:
    """Return a query edge of a pattern in label codes."""
    codes = None if edge.labels is None else graph.edge_label_table.codes(edge.labels)
    if codes is not None and len(codes) == len(graph.edge_label_table):
        codes = None
    names = [pattern.vertices[end].name for end in (edge.source, edge.target)]
    return bound_edge(edge, codes, names, graph.directed)


def alone(graph: Graph, edge: QueryEdge) -> Iterator[tuple[int | None, QueryEdge]]:
    """Yield the query edge with one accepted label and one direction each, and the code of the label.

    The code is None if all edges have one label.
    """
    table = graph.edge_label_table
    ways = [edge]
    if graph.directed and edge.directed is False:
        there = replace(edge, directed=True)
        ways = [there, replace(there, source=edge.target, target=edge.source)]
    codes = range(len(table)) if edge.labels is None else table.codes(edge.labels)
    for code in codes:
        for way in ways:
            if len(table) == 1:
                yield None, way
            else:
                yield code, replace(way, labels=frozenset([table.values[code]]))
