"""The public calls `orbits` and `edge_orbits`: graphlet degree vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from motiflux import log
from motiflux.api.subject import GraphLike, data_graph
from motiflux.cpu.orbits import directed_orbits, orbits_of_three
from motiflux.dispatch.image_counts import choose_image_counter
from motiflux.errors import ArgumentError
from motiflux.graph import Graph
from motiflux.plan.graphlets import EDGE_ORBITS, ORBITS
from motiflux.plan.triad_orbits import triad_orbit_tables
from motiflux.request.deadline import Deadline
from motiflux.request.progress import Progress, progress_callback
from motiflux.request.request import make_request
from motiflux.result.image_counts import EdgeOrbitCounts, ImageCounts, OrbitCounts
from motiflux.words import DeviceName

_SMALLEST, _LARGEST = 3, 5
_By = tuple[str, str, str]
"""The engine and device that counted, and how."""
_ON_HOST: _By = ("cpu", "cpu", "these orbits are counted on the CPU")


def orbits(
    graph: GraphLike,
    size: int = 4,
    *,
    directed: bool = False,
    device: DeviceName = "auto",
    devices: str | int | Sequence[int] | None = None,
    engine: str = "auto",
    timeout: float | None = None,
    progress: Progress = False,
    threads: int | None = None,
    gpu_memory: int | str | None = None,
    tuning: Mapping[str, str] | None = None,
) -> OrbitCounts:
    """Count, for each vertex, the induced subgraphs in which it is in each orbit: graphlet degree vectors.

    A graphlet is a connected graph of two to `size` vertices; an orbit is a set of its vertices that
    automorphisms map to each other. Labels are ignored, and directions too unless `directed`.

    Parameters
    ----------
    size
        3: the 4 orbits of up to three vertices; 4: the 15 orbits of up to four; 5: the 73 of up to five.
    directed
        With ``size=3``: the 33 orbits of directed pairs and triads. 0 and 1 are the source and target of
        an arc without its opposite, 2 an end of a pair of opposite arcs; then come the triads in the order of
        the triad census, from ``021D`` on. In one triad, orbits are ordered by the arcs that leave, the most
        first, then by those that enter, the fewest first.
    timeout
        Seconds of wall clock for the whole call; afterwards all counts are 0, and ``.complete`` is False.
    device, devices, engine
        As for `count_per_vertex`.
    progress, threads, gpu_memory, tuning
        As for `count`.

    Returns
    -------
    OrbitCounts
        ``.counts``, int64 [vertices, orbits], in the order of ``.ids``; Python integers if a count passes
        2^63 - 1. The orbits have the numbers of Przulj (2007) and of ORCA: 0 the degree, 3 the triangles,
        14 the 4-cliques.

    Raises
    ------
    ArgumentError
        An argument is invalid.
    DeviceError
        The device does not exist; several devices, or an engine that does not count orbits.
    CountOverflowError
        The product of the numbers of vertices and edges passes 2^61.
    KeyboardInterrupt
        Within 100 ms of Ctrl-C; the graph stays usable.

    Notes
    -----
    Nothing is enumerated but triangles and 4-cliques: other counts are sums over triangles, pairs of vertices
    with common neighbours and walks, less those of denser graphlets. For four vertices, this takes about the
    time of the 4-cycles and 4-cliques; for five, it needs 12 bytes for each triangle, up to 1 GiB.

    Examples
    --------
    >>> import motiflux as mf
    >>> kite = mf.Graph.from_edges([(1, 2), (2, 3), (1, 3), (3, 4)])
    >>> found = mf.orbits(kite)
    >>> found[3]
    (3, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0)
    >>> found.column("o3").tolist()
    [0, 1, 1, 1]
    """
    data = data_graph(graph)
    size = _checked_size(size, (_SMALLEST, *ORBITS))
    if directed and size != _SMALLEST:
        raise ArgumentError("directed", "False: only orbits of size 3 have directions", directed)
    if directed and not data.directed:
        raise ArgumentError("directed", "False: the graph is undirected", directed)
    with progress_callback(progress, "counting orbits") as callback:
        request = make_request(
            semantics="isomorphism",
            symmetry="subgraphs",
            device=device,
            devices=devices,
            engine=engine,
            limit=None,
            timeout=timeout,
            threads=threads,
            gpu_memory=gpu_memory,
            tuning=tuning,
            progress=callback,
        )
        deadline = Deadline.after(request.timeout)
        counter = choose_image_counter(request, "orbits")
        by = _ON_HOST
        if directed:
            counts = directed_orbits(data, request, deadline)
        elif size == _SMALLEST:
            counts = orbits_of_three(data, request, deadline)
        else:
            made = counter.orbits(data, size, request, deadline)
            counts, by = made.numbers, (made.engine, made.device, made.way)
    number = len(triad_orbit_tables().names) if directed else ORBITS.get(size, 4)
    result = _result(
        OrbitCounts, data, data.num_vertices, [f"o{at}" for at in range(number)], counts, by, deadline
    )
    log.ENGINE.info("orbits of %r: %r", data, result)
    return result


def edge_orbits(
    graph: GraphLike,
    size: int = 4,
    *,
    device: DeviceName = "auto",
    devices: str | int | Sequence[int] | None = None,
    engine: str = "auto",
    timeout: float | None = None,
    progress: Progress = False,
    threads: int | None = None,
    gpu_memory: int | str | None = None,
    tuning: Mapping[str, str] | None = None,
) -> EdgeOrbitCounts:
    """Count, for each edge, the induced subgraphs in which it is in each orbit.

    The subgraphs are the graphlets of three to `size` vertices. An orbit is a set of edges of a graphlet that
    automorphisms map to each other. Labels and directions are ignored; two edges that join the same vertices
    have the same counts.

    Parameters
    ----------
    size
        4: the 12 orbits of three and four vertices; 5: the 68 orbits of up to five.
    timeout
        Seconds of wall clock for the whole call; afterwards all counts are 0, and ``.complete`` is False.
    device, devices, engine
        As for `count_per_vertex`.
    progress, threads, gpu_memory, tuning
        As for `count`.

    Returns
    -------
    EdgeOrbitCounts
        ``.counts``, int64 [edges, 12 or 68], in the order of ``graph.to_edges()``; Python integers if a count
        passes 2^63 - 1. The orbits have the numbers of ORCA: 1 the triangles, 5 the 4-cycles, 11 the
        4-cliques.

    Raises
    ------
    ArgumentError
        An argument is invalid.
    DeviceError
        The device does not exist; several devices, or an engine that does not count orbits.
    CountOverflowError
        The product of the numbers of vertices and edges passes 2^61.
    KeyboardInterrupt
        Within 100 ms of Ctrl-C; the graph stays usable.

    Examples
    --------
    >>> import motiflux as mf
    >>> kite = mf.Graph.from_edges([(1, 2), (2, 3), (1, 3), (3, 4)])
    >>> found = mf.edge_orbits(kite)
    >>> dict(zip(zip(found.sources.tolist(), found.targets.tolist()), found.column("e1").tolist()))
    {(4, 3): 0, (1, 2): 1, (1, 3): 1, (2, 3): 1}
    """
    data = data_graph(graph)
    size = _checked_size(size, tuple(EDGE_ORBITS))
    with progress_callback(progress, "counting orbits of edges") as callback:
        request = make_request(
            semantics="isomorphism",
            symmetry="subgraphs",
            device=device,
            devices=devices,
            engine=engine,
            limit=None,
            timeout=timeout,
            threads=threads,
            gpu_memory=gpu_memory,
            tuning=tuning,
            progress=callback,
        )
        deadline = Deadline.after(request.timeout)
        made = choose_image_counter(request, "orbits").edge_orbits(data, size, request, deadline)
    columns = [f"e{at}" for at in range(EDGE_ORBITS[size])]
    by = made.engine, made.device, made.way
    result = _result(EdgeOrbitCounts, data, data.num_edges, columns, made.numbers, by, deadline)
    log.ENGINE.info("orbits of the edges of %r: %r", data, result)
    return result


Result = TypeVar("Result", bound=ImageCounts)


def _result(
    kind: type[Result],
    graph: Graph,
    rows: int,
    columns: list[str],
    counts: Any,
    by: _By,
    deadline: Deadline,
) -> Result:
    return kind(
        graph=graph,
        pattern=None,
        columns=tuple(columns),
        counts=np.zeros((rows, len(columns)), np.int64) if counts is None else counts,
        complete=counts is not None,
        seconds=deadline.elapsed(),
        plan_seconds=0.0,
        engine=by[0],
        device=by[1],
        reason=by[2],
    )


def _checked_size(size: object, sizes: tuple[int, ...]) -> int:
    if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size not in sizes:
        first = ", ".join(map(str, sizes[:-1]))
        raise ArgumentError("size", f"{first} or {sizes[-1]}", size)
    return int(size)
