"""The calls `count_per_edge` and `edge_orbits` on sharded graphs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from motiflux.api.per_vertex import checked_request, places_named
from motiflux.cluster.folder import Folder
from motiflux.cluster.jobs import WrittenRows
from motiflux.cluster.shards.edge_sums import EdgeColumn
from motiflux.cluster.shards.edges import EdgeSearches, edge_searches, with_edges
from motiflux.cluster.shards.vertices import TOO_LATE, no_vertices_of, vertices_of
from motiflux.errors import OutputError
from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.pattern.elements import edge_names
from motiflux.plan.graphlets import EDGE_ORBITS, GRAPHLETS
from motiflux.request.deadline import Deadline, OutOfTimeError
from motiflux.request.progress import in_parts, of_equal_parts
from motiflux.request.reports import ProgressCallback
from motiflux.request.request import Request
from motiflux.result.image_counts import EdgeCounts, EdgeOrbitCounts

if TYPE_CHECKING:
    from motiflux.cluster.shards.sharded import ShardedGraph
    from motiflux.cluster.workers import Workers

Counts = TypeVar("Counts", bound=EdgeCounts)

_PARTS = (0.9, 0.1)
"""Shares of searches, and of adding what they found, in the progress of a call."""
_DEFAULTS: dict[str, Any] = {
    "semantics": "isomorphism",
    "symmetry": "embeddings",
    "device": "auto",
    "devices": None,
    "engine": "auto",
    "limit": None,
    "timeout": None,
    "progress": False,
    "threads": None,
    "gpu_memory": None,
    "tuning": None,
}


def count_per_edge_sharded(
    workers: Workers,
    graph: ShardedGraph,
    pattern: Pattern,
    options: Mapping[str, Any],
    output: str | None,
    kind: str | None = None,
) -> EdgeCounts | WrittenRows:
    """Return the counts at edges, or write them into a data set; GPUs of a kind count, or CPUs."""
    given = {**_DEFAULTS, **options}
    by = given.pop("by", None)
    places = places_named("by", by, edge_names(pattern.edges), "query edge")
    single = isinstance(by, (str, int, np.integer))
    shown = checked_request(given, "counting per edge")
    with shown as request, edge_searches(workers, graph, kind) as searches:
        call = _begun(graph, request, output)
        searches.count(pattern, places, call.request, call.deadline)
        return _result(EdgeCounts, searches, call, output, pattern, single=single)


def edge_orbits_sharded(
    workers: Workers,
    graph: ShardedGraph,
    size: int,
    options: Mapping[str, Any],
    output: str | None,
    kind: str | None = None,
) -> EdgeOrbitCounts | WrittenRows:
    """Return the orbits of edges, or write them into a data set; GPUs of a kind count, or CPUs."""
    given = {**_DEFAULTS, **options, "semantics": "induced", "symmetry": "subgraphs"}
    shown = checked_request(given, "counting orbits of edges")
    with shown as request, edge_searches(workers, graph, kind) as searches:
        call = _begun(graph, request, output)
        searches.columns = _orbits(searches, size, call.request, call.deadline)
        if not searches.complete:  # as those of whole graphs: no counts
            searches.columns = [EdgeColumn(f"e{at}") for at in range(EDGE_ORBITS[size])]
            searches.pairs = 0
        return _result(EdgeOrbitCounts, searches, call, output, None, single=False)


def _orbits(searches: EdgeSearches, size: int, request: Request, deadline: Deadline) -> list[EdgeColumn]:
    """Count each graphlet at an edge of each orbit; return a column for each orbit."""
    orbits: list[int] = []
    graphlets = [one for one in GRAPHLETS if 3 <= len(one.orbits) <= size]
    for graphlet, report in zip(graphlets, of_equal_parts(request.progress, len(graphlets)), strict=True):
        if not searches.complete:
            break
        first = {orbit: at for at, orbit in reversed(list(enumerate(graphlet.edge_orbits)))}
        pattern = Pattern.from_edges(graphlet.edges, directed=False)
        searches.count(pattern, list(first.values()), replace(request, progress=report), deadline)
        orbits += first
    return [
        replace(one, name=f"e{orbit}")
        for orbit, one in sorted(zip(orbits, searches.columns, strict=True), key=lambda both: both[0])
    ]


@dataclass(frozen=True, slots=True)
class _Call:
    """A call whose searches can begin.

    Parameters
    ----------
    request
        Its progress is that of searches.
    adding
        Receives the progress of adding what was found.
    vertices
        All vertices, for a result that is returned; none if they are not needed, or time was up.
    late
        Whether time was up before there were vertices.
    """

    request: Request
    adding: ProgressCallback | None
    deadline: Deadline
    vertices: Graph
    late: bool


def _begun(graph: ShardedGraph, request: Request, output: str | None) -> _Call:
    """Begin a call.

    Raises
    ------
    OutputError
        Its folder has files.
    """
    if output is not None and Folder(output).files():
        raise OutputError(f"{output}: expected a folder without files for counts at edges, found some")
    deadline, late = Deadline.after(request.timeout), False
    searching, adding = in_parts(request.progress, _PARTS)
    vertices = no_vertices_of(graph)
    if output is None:
        try:
            vertices = vertices_of(graph, deadline)
        except OutOfTimeError:
            late = True
    return _Call(replace(request, progress=searching), adding, deadline, vertices, late)


def _result(
    kind: type[Counts],
    searches: EdgeSearches,
    call: _Call,
    output: str | None,
    pattern: Pattern | None,
    *,
    single: bool,
) -> Counts | WrittenRows:
    deadline = call.deadline
    if output is not None:
        metadata = {} if pattern is None else {"motiflux.pattern": str(pattern)}
        rows, files = searches.write(output, metadata, call.adding, deadline, single=single)
        seconds = time.perf_counter() - deadline.started
        return WrittenRows(output, rows, files, searches.complete, seconds, 0.0)
    if call.late:
        searches.forget(TOO_LATE)
    edges = searches.edges(call.adding, deadline)
    if kind is EdgeOrbitCounts and not searches.complete:
        edges = edges.none()
    return kind(
        graph=with_edges(call.vertices, edges),
        pattern=pattern,
        columns=tuple(column.name for column in searches.columns),
        counts=edges.counts[:, 0] if single else edges.counts,
        complete=searches.complete,
        seconds=deadline.elapsed(),
        plan_seconds=0.0,
        engine="cluster",
        device=searches.device,
        reason=searches.reason,
    )
