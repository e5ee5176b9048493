"""The orbits of graphlets of up to four vertices on the CPU."""

from __future__ import annotations

from motiflux import _native
from motiflux.cpu.image_counts import Numbers, exact
from motiflux.errors import CountOverflowError
from motiflux.graph import AdjacencyKey, Direction, Graph
from motiflux.plan.graphlets import ORBITS
from motiflux.request.deadline import Deadline
from motiflux.request.request import Request


def small_orbits(graph: Graph, request: Request, deadline: Deadline) -> Numbers | None:
    """Return the number of induced subgraphs of each orbit at each vertex: [vertices, 15]; None if late.

    Raises
    ------
    CountOverflowError
        The graph is too large.
    """
    rows = graph.adjacency(AdjacencyKey(Direction.EITHER, None, None, None), request.threads)
    try:
        found = _native.orbits_of_vertices(rows, request.threads, deadline.left())
    except OverflowError as error:
        raise CountOverflowError(str(error)) from error
    if found is None:
        return None
    words, above = found
    numbers: Numbers = exact(words, 1, above).reshape(-1, ORBITS[4])
    return numbers
