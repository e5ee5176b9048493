"""Orbits of the vertices of a sharded graph: counts of graphlets, as induced patterns, at their vertices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from motiflux.api.per_vertex import count_per_vertex
from motiflux.cluster.shards.vertices import TOO_LATE, device_of, no_vertices_of, vertices_of
from motiflux.pattern import Pattern
from motiflux.plan.graphlets import GRAPHLETS, Graphlet
from motiflux.request.deadline import Deadline, OutOfTimeError
from motiflux.request.progress import of_equal_parts, progress_callback
from motiflux.request.reports import ProgressCallback
from motiflux.result.image_counts import OrbitCounts

if TYPE_CHECKING:
    from motiflux.cluster.shards.sharded import ShardedGraph
    from motiflux.cluster.workers import Workers


def orbits_sharded(
    workers: Workers,
    graph: ShardedGraph,
    size: int,
    deadline: Deadline,
    options: Mapping[str, Any],
    kind: str | None = None,
) -> OrbitCounts:
    """Return the orbits of graphlets of up to `size` vertices, where the call counts by images elsewhere.

    Parameters
    ----------
    options
        Of `motiflux.count_per_vertex`.
    kind
        See `count_sharded`.
    """
    options = dict(options)
    with progress_callback(options.pop("progress", False), "counting orbits") as report:
        return _orbits(workers, graph, size, report, deadline, options, kind)


def _orbits(
    workers: Workers,
    graph: ShardedGraph,
    size: int,
    report: ProgressCallback | None,
    deadline: Deadline,
    options: Mapping[str, Any],
    kind: str | None,
) -> OrbitCounts:
    columns: dict[int, Any] = {}
    complete, device, reasons = True, device_of(workers, graph, kind), []
    try:
        vertices, late = vertices_of(graph, deadline), False
    except OutOfTimeError:  # the first call refuses what it always refuses
        vertices, late = no_vertices_of(graph), True
    graphlets = [one for one in GRAPHLETS if len(one.orbits) <= size]
    for graphlet, part in zip(graphlets, of_equal_parts(report, len(graphlets)), strict=True):
        if not complete:
            break
        names = _representatives(graphlet)
        found = count_per_vertex(
            vertices,
            Pattern.from_edges(graphlet.edges, directed=False),
            by=list(names),
            semantics="induced",
            symmetry="subgraphs",
            timeout=deadline.left(),
            progress=part or False,
            **options,
        )
        complete = found.complete and not late
        reasons.append(TOO_LATE if late else found.reason)
        columns |= {orbit: found.counts[:, at] for at, orbit in enumerate(names.values())}
    number = 1 + max(max(one.orbits) for one in graphlets)
    counts = np.zeros((vertices.num_vertices, number), np.int64)
    if complete:
        counts = np.stack([columns[orbit] for orbit in range(number)], axis=1)
    return OrbitCounts(
        graph=vertices,
        pattern=None,
        columns=tuple(f"o{orbit}" for orbit in range(number)),
        counts=counts,
        complete=complete,
        seconds=deadline.elapsed(),
        plan_seconds=0.0,
        engine="cluster",
        device=device,
        reason="; ".join(dict.fromkeys(part for one in reasons for part in one.split("; "))),
    )


def _representatives(graphlet: Graphlet) -> dict[str, int]:
    """Return the name of a vertex for each orbit, and the orbit."""
    first: dict[int, int] = {}
    for vertex, orbit in enumerate(graphlet.orbits):
        first.setdefault(orbit, vertex)
    return {str(vertex): orbit for orbit, vertex in first.items()}
