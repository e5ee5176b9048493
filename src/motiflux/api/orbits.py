"""The public call `orbits`: graphlet degree vectors."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from motiflux import log
from motiflux.api.subject import GraphLike, data_graph
from motiflux.cpu.image_counts import count_all_images
from motiflux.cpu.orbits import small_orbits
from motiflux.errors import ArgumentError
from motiflux.graph import Graph
from motiflux.plan.graphlets import ORBITS, graphlets_of, induced
from motiflux.plan.image_counts import image_plan
from motiflux.request.deadline import Deadline
from motiflux.request.planning import plan_options
from motiflux.request.progress import Progress, progress_callback
from motiflux.request.request import Request, make_request
from motiflux.result.image_counts import OrbitCounts

_LARGEST = 5


def orbits(
    graph: GraphLike,
    size: int = 4,
    *,
    timeout: float | None = None,
    progress: Progress = False,
    threads: int | None = None,
    tuning: Mapping[str, str] | None = None,
) -> OrbitCounts:
    """Count, for each vertex, the induced subgraphs in which it is in each orbit: graphlet degree vectors.

    A graphlet is a connected graph of two to `size` vertices; an orbit is a set of its vertices that
    automorphisms map to each other. Labels and directions are ignored.

    Parameters
    ----------
    size
        4: the 15 orbits of up to four vertices; 5: the 73 orbits of up to five.
    timeout
        Seconds of wall clock for the whole call; afterwards all counts are 0, and ``.complete`` is False.
    progress, threads, tuning
        As for `count`.

    Returns
    -------
    OrbitCounts
        ``.counts``, int64 [vertices, 15 or 73], in the order of ``.ids``; Python integers if a count passes
        2^63 - 1. The orbits have the numbers of Przulj (2007) and of ORCA: 0 the degree, 3 the triangles,
        14 the 4-cliques.

    Raises
    ------
    ArgumentError
        An argument is invalid.
    CountOverflowError
        The product of the numbers of vertices and edges passes 2^61.
    KeyboardInterrupt
        Within 100 ms of Ctrl-C; the graph stays usable.

    Notes
    -----
    The counts of all subgraphs, induced or not, come from closed forms and tables of local counts; those of
    denser graphlets are subtracted. For four vertices, this takes about the time of the 4-cycles and
    4-cliques.

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
    if isinstance(size, bool) or size not in ORBITS:
        raise ArgumentError("size", "4 or 5", size)
    with progress_callback(progress, "counting orbits") as callback:
        request = make_request(
            semantics="isomorphism",
            symmetry="subgraphs",
            device="cpu",
            devices=None,
            engine="auto",
            limit=None,
            timeout=timeout,
            threads=threads,
            gpu_memory=None,
            tuning=tuning,
            progress=callback,
        )
        deadline = Deadline.after(request.timeout)
        counts = small_orbits(data, request, deadline)
        if counts is not None and size == _LARGEST:
            more = _orbits_of_five(data, request, deadline)
            counts = None if more is None else np.concatenate([counts, more], axis=1)
    complete = counts is not None
    result = OrbitCounts(
        graph=data,
        pattern=None,
        columns=tuple(f"o{orbit}" for orbit in range(ORBITS[size])),
        counts=np.zeros((data.num_vertices, ORBITS[size]), np.int64) if counts is None else counts,
        complete=complete,
        seconds=time.perf_counter() - deadline.started,
        plan_seconds=0.0,
        engine="cpu",
        device="cpu",
        reason="orbits are counted on the CPU",
    )
    log.ENGINE.info("orbits of %r: %r", data, result)
    return result


def _orbits_of_five(graph: Graph, request: Request, deadline: Deadline) -> Any:
    """Return the orbits of graphlets of five vertices: [vertices, 58]; None if time was up."""
    graphlets = graphlets_of(_LARGEST)
    places = [
        [graphlet.orbits.index(orbit) for orbit in sorted(set(graphlet.orbits))] for graphlet in graphlets
    ]
    options = plan_options(request, deadline)
    try:
        plans = [
            image_plan(graph, graphlet.pattern(), [((place,), None) for place in each], options)
            for graphlet, each in zip(graphlets, places, strict=True)
        ]
    except TimeoutError:
        return None
    found, complete = count_all_images(graph, plans, request, deadline)
    if not complete:
        return None
    counts = {}
    for graphlet, each, plan, numbers in zip(graphlets, places, plans, found, strict=True):
        for place, number in zip(each, plan.class_of, strict=True):
            counts[graphlet.orbits[place]] = numbers[number] // plan.classes[number].order
    columns = induced(counts, _LARGEST)
    return np.stack([columns[orbit] for orbit in range(ORBITS[4], ORBITS[_LARGEST])], axis=1)
