"""The census on the CPU."""

from __future__ import annotations

from motiflux import _native
from motiflux.graph import Graph
from motiflux.plan.census import as_counts, induced_counts
from motiflux.request.deadline import Deadline


def count_census(
    graph: Graph, size: int, *, directed: bool, threads: int, deadline: Deadline
) -> tuple[int, ...] | None:
    """Return the number of vertex sets of each class of `motiflux.plan.census.classes`; None if late."""
    forward, reverse = ((rows.offsets, rows.neighbors) for rows in (graph.forward, graph.reverse))
    bins = _native.census_bins(forward, reverse, directed, size, threads, deadline.left())
    if bins is None:
        return None
    return as_counts(induced_counts([bins], size, directed, graph.num_vertices)[0])
