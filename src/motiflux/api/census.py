"""The public call `census`: how many sets of three or four vertices induce each small graph."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from motiflux import log
from motiflux.api.subject import GraphLike, data_graph
from motiflux.cpu.census import count_census
from motiflux.errors import ArgumentError
from motiflux.graph import Graph
from motiflux.plan.census import SIZES, classes
from motiflux.request.deadline import Deadline
from motiflux.request.progress import Progress, progress_callback
from motiflux.request.request import make_request
from motiflux.result.census import Census


def census(
    graph: GraphLike,
    size: int = 3,
    *,
    directed: bool | None = None,
    connected: bool = False,
    timeout: float | None = None,
    progress: Progress = False,
    threads: int | None = None,
) -> Census:
    """Count the sets of three or four vertices by the subgraph that they induce: the triad census, graphlets.

    Labels are ignored, and parallel edges count once.

    Parameters
    ----------
    size
        The number of vertices: 3 or 4.
    directed
        Whether directions tell subgraphs apart; default: if the graph is directed.
    connected
        Leave out the subgraphs that are not connected.
    timeout
        Seconds of wall clock; afterwards all counts are 0, and ``.complete`` is False.
    progress, threads
        As for `count`.

    Returns
    -------
    Census
        A mapping from names to Python integers. Directed triads have the names of Holland and Leinhardt
        and of networkx, ``003`` to ``300``; directed subgraphs of four vertices (218, 199 of them connected)
        those of Alon's motif dictionary, such as ``id204``, the bi-fan; undirected ones words.

    Raises
    ------
    ArgumentError
        An argument is invalid; `directed` is True, and the graph is not.
    KeyboardInterrupt
        Within 100 ms of Ctrl-C; the graph stays usable.

    Notes
    -----
    Triangles and 4-cliques are listed, 4-cycles counted by wedges; all other numbers are closed forms. Four
    vertices of a directed graph take 36 bytes for each pair of adjacent vertices, and for each vertex and
    thread.

    Examples
    --------
    >>> import motiflux as mf
    >>> g = mf.Graph.from_edges([(0, 1), (0, 2), (3, 1), (3, 2)], directed=True)
    >>> mf.census(g)["021D"], mf.census(g, 4, connected=True)["id204"]
    (2, 1)
    >>> dict(mf.census(g, 4, directed=False, connected=True))
    {'path': 0, 'star': 0, 'cycle': 1, 'paw': 0, 'diamond': 0, 'clique': 0}
    """
    data = data_graph(graph)
    size = checked_size(size)
    with_directions = checked_directions(data, directed)
    with progress_callback(progress, "counting subgraphs"):
        request = make_request(
            semantics="induced", symmetry="subgraphs", device="cpu", timeout=timeout, threads=threads
        )
        deadline = Deadline.after(request.timeout)
        counts = count_census(
            data, size, directed=with_directions, threads=request.threads, deadline=deadline
        )
    result = census_of(counts, size, deadline, directed=with_directions, connected=connected)
    log.ENGINE.info("census of %r: %r", data, result)
    return result


def census_of(
    counts: Sequence[int] | None, size: int, deadline: Deadline, *, directed: bool, connected: bool
) -> Census:
    """Return the result of a census, from the numbers of all classes; None: time was up."""
    every = classes(size, directed).all
    chosen = [at for at, one in enumerate(every) if one.connected or not connected]
    return Census(
        size=size,
        directed=directed,
        classes=tuple(every[at] for at in chosen),
        counts=tuple(0 if counts is None else counts[at] for at in chosen),
        complete=counts is not None,
        seconds=deadline.elapsed(),
    )


def checked_size(size: object) -> int:
    """Return the size of a census."""
    if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size not in SIZES:
        raise ArgumentError("size", "3 or 4", size)
    return int(size)


def checked_directions(graph: Graph, directed: bool | None) -> bool:
    """Return whether a census tells directions apart."""
    if directed is None:
        return graph.directed
    if directed and not graph.directed:
        raise ArgumentError("directed", "False or None: the graph is undirected", directed)
    return bool(directed)
