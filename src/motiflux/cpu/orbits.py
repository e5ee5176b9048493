"""The orbits of graphlets of up to four vertices, and of directed triads, on the CPU."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.cpu.image_counts import exact
from motiflux.errors import CountOverflowError
from motiflux.graph import AdjacencyKey, Direction, Graph
from motiflux.plan.graphlets import EDGE_ORBITS, ORBITS
from motiflux.plan.triad_orbits import triad_orbit_tables
from motiflux.request.deadline import Deadline
from motiflux.request.images import Numbers
from motiflux.request.request import Request
from motiflux.result.arc_counts import at_edges
from motiflux.types import OffsetArray, VertexArray

_Found = tuple[NDArray[np.uint64], list[tuple[int, int]]]


def rows_of(graph: Graph, request: Request) -> tuple[OffsetArray, VertexArray]:
    """Return the rows whose orbits are counted: neighbours in either direction, of any label."""
    return graph.adjacency(AdjacencyKey(Direction.EITHER, None, None, None), request.threads)


def numbers_of(count: Callable[[], _Found | None], orbits: int) -> Numbers | None:
    """Return what native code counts, a row of so many orbits for each place; None if it was late.

    Raises
    ------
    CountOverflowError
        The graph is too large.
    """
    try:
        found = count()
    except OverflowError as error:
        raise CountOverflowError(str(error)) from error
    if found is None:
        return None
    words, above = found
    numbers: Numbers = exact(words, 1, above).reshape(-1, orbits)
    return numbers


def small_orbits(graph: Graph, request: Request, deadline: Deadline) -> Numbers | None:
    """Return the number of induced subgraphs of each orbit at each vertex: [vertices, 15]; None if late.

    Raises
    ------
    CountOverflowError
        The graph is too large.
    """
    rows = rows_of(graph, request)
    return numbers_of(lambda: _native.orbits_of_vertices(rows, request.threads, deadline.left()), ORBITS[4])


def small_edge_orbits(graph: Graph, request: Request, deadline: Deadline) -> Numbers | None:
    """Return the number of induced subgraphs of each orbit of edges of up to four vertices: [edges, 12].

    Raises
    ------
    CountOverflowError
        The graph is too large.
    """
    rows = rows_of(graph, request)
    # Those of arcs to greater vertices; the others have zeros.
    numbers = numbers_of(
        lambda: _native.orbits_of_edges(rows, request.threads, deadline.left()), EDGE_ORBITS[4]
    )
    if numbers is None:
        return None
    columns = [at_edges(graph, rows, np.ascontiguousarray(column), either=True) for column in numbers.T]
    return np.stack(columns, axis=1)


def orbits_of_three(graph: Graph, request: Request, deadline: Deadline) -> Numbers | None:
    """Return the number of induced subgraphs of each orbit of up to three vertices: [vertices, 4]."""
    offsets, neighbors = graph.adjacency(AdjacencyKey(Direction.EITHER, None, None, None), request.threads)
    found = _native.triangles_of_arcs((offsets, neighbors), request.threads, deadline.left())
    if found is None:
        return None
    begins = offsets.view(np.int64)
    degrees: NDArray[np.int64] = begins[1:] - begins[:-1]
    closed = _row_sums(found[0].view(np.int64), offsets) // 2
    ends = _row_sums(degrees[neighbors] - 1, offsets)
    return np.stack([degrees, ends - 2 * closed, degrees * (degrees - 1) // 2 - closed, closed], axis=1)


def directed_orbits(graph: Graph, request: Request, deadline: Deadline) -> Numbers | None:
    """Return the number of induced subgraphs of each orbit of directed pairs and triads: [vertices, 33]."""
    tables = triad_orbit_tables()
    forward, reverse = ((rows.offsets, rows.neighbors) for rows in (graph.forward, graph.reverse))
    found = _native.triad_orbits(
        forward,
        reverse,
        len(tables.names),
        tables.pairs,
        tables.middles,
        tables.ends,
        tables.triangles,
        tables.contained,
        request.threads,
        deadline.left(),
    )
    return None if found is None else found.view(np.int64).reshape(-1, len(tables.names))


def _row_sums(numbers: NDArray[np.int64], offsets: OffsetArray) -> NDArray[np.int64]:
    sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(numbers)])
    return np.diff(sums[offsets])
