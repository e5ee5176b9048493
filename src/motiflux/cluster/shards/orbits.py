"""Orbits of the vertices of a sharded graph: counts of graphlets, as induced patterns, at their vertices."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from motiflux.api.per_vertex import count_per_vertex
from motiflux.cluster.shards.vertices import vertices_of
from motiflux.pattern import Pattern
from motiflux.plan.graphlets import GRAPHLETS, Graphlet
from motiflux.request.deadline import Deadline
from motiflux.result.image_counts import OrbitCounts

if TYPE_CHECKING:
    from motiflux.cluster.shards.sharded import ShardedGraph


def orbits_sharded(
    graph: ShardedGraph, size: int, deadline: Deadline, options: Mapping[str, Any]
) -> OrbitCounts:
    """Return the orbits of graphlets of up to `size` vertices, where the call counts by images elsewhere.

    Parameters
    ----------
    options
        Of `motiflux.count_per_vertex`.
    """
    vertices = vertices_of(graph)
    columns: dict[int, Any] = {}
    complete, device, reasons = True, "", []
    for graphlet in GRAPHLETS:
        if len(graphlet.orbits) > size:
            break
        names = _representatives(graphlet)
        found = count_per_vertex(
            vertices,
            Pattern.from_edges(graphlet.edges, directed=False),
            by=list(names),
            semantics="induced",
            symmetry="subgraphs",
            timeout=None if deadline.at is None else max(0.0, deadline.at - time.perf_counter()),
            **options,
        )
        complete = complete and found.complete
        device = found.device
        reasons.append(found.reason)
        columns |= {orbit: found.counts[:, at] for at, orbit in enumerate(names.values())}
        if not complete:
            break
    number = 1 + max(max(one.orbits) for one in GRAPHLETS if len(one.orbits) <= size)
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
