"""The calls `count_per_edge` and `edge_orbits` on sharded graphs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from motiflux.api.per_vertex import checked_request, places_named
from motiflux.cluster.folder import Folder
from motiflux.cluster.jobs import WrittenRows
from motiflux.cluster.shards.edge_sums import EdgeColumn
from motiflux.cluster.shards.edges import EdgeSearches, edge_searches, graph_of
from motiflux.errors import OutputError
from motiflux.pattern import Pattern
from motiflux.pattern.elements import edge_names
from motiflux.plan.graphlets import EDGE_ORBITS, GRAPHLETS
from motiflux.request.deadline import Deadline
from motiflux.request.request import Request
from motiflux.result.image_counts import EdgeCounts, EdgeOrbitCounts

if TYPE_CHECKING:
    from motiflux.cluster.shards.sharded import ShardedGraph
    from motiflux.cluster.workers import Workers

Counts = TypeVar("Counts", bound=EdgeCounts)

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
) -> EdgeCounts | WrittenRows:
    """Return the counts at edges, or write them into a data set."""
    given = {**_DEFAULTS, **options}
    by = given.pop("by", None)
    places = places_named("by", by, edge_names(pattern.edges), "query edge")
    single = isinstance(by, (str, int, np.integer))
    with checked_request(given, "counting per edge") as request, edge_searches(workers, graph) as searches:
        _check_empty(output)
        deadline = Deadline.after(request.timeout)
        searches.count(pattern, places, request, deadline)
        return _result(EdgeCounts, searches, deadline, output, pattern, single=single)


def edge_orbits_sharded(
    workers: Workers, graph: ShardedGraph, size: int, options: Mapping[str, Any], output: str | None
) -> EdgeOrbitCounts | WrittenRows:
    """Return the orbits of edges, or write them into a data set."""
    given = {**_DEFAULTS, **options, "semantics": "induced", "symmetry": "subgraphs"}
    shown = checked_request(given, "counting orbits of edges")
    with shown as request, edge_searches(workers, graph) as searches:
        _check_empty(output)
        deadline = Deadline.after(request.timeout)
        searches.columns = _orbits(searches, size, request, deadline)
        if not searches.complete:  # as those of whole graphs: no counts
            searches.columns = [EdgeColumn(f"e{at}", -1, 0, 1, 1) for at in range(EDGE_ORBITS[size])]
            searches.pairs = 0
        return _result(EdgeOrbitCounts, searches, deadline, output, None, single=False)


def _orbits(searches: EdgeSearches, size: int, request: Request, deadline: Deadline) -> list[EdgeColumn]:
    """Count each graphlet at an edge of each orbit; return a column for each orbit."""
    orbits: list[int] = []
    for graphlet in GRAPHLETS:
        if not 3 <= len(graphlet.orbits) <= size or not searches.complete:
            continue
        first = {orbit: at for at, orbit in reversed(list(enumerate(graphlet.edge_orbits)))}
        pattern = Pattern.from_edges(graphlet.edges, directed=False)
        searches.count(pattern, list(first.values()), request, deadline)
        orbits += first
    return [
        EdgeColumn(f"e{orbit}", one.search, one.place, one.times, one.divisor)
        for orbit, one in sorted(zip(orbits, searches.columns, strict=True), key=lambda both: both[0])
    ]


def _check_empty(output: str | None) -> None:
    """Refuse a folder that has files.

    Raises
    ------
    OutputError
        It has some.
    """
    if output is not None and Folder(output).files():
        raise OutputError(f"{output}: expected a folder without files for counts at edges, found some")


def _result(
    kind: type[Counts],
    searches: EdgeSearches,
    deadline: Deadline,
    output: str | None,
    pattern: Pattern | None,
    *,
    single: bool,
) -> Counts | WrittenRows:
    if output is not None:
        metadata = {} if pattern is None else {"motiflux.pattern": str(pattern)}
        rows, files = searches.write(output, metadata, deadline, single=single)
        seconds = time.perf_counter() - deadline.started
        return WrittenRows(output, rows, files, searches.complete, seconds, 0.0)
    graph, edges = searches.graph, searches.edges(deadline)
    if kind is EdgeOrbitCounts and not searches.complete:
        edges = edges.none()
    return kind(
        graph=graph_of(graph, edges),
        pattern=pattern,
        columns=tuple(column.name for column in searches.columns),
        counts=edges.counts[:, 0] if single else edges.counts,
        complete=searches.complete,
        seconds=deadline.elapsed(),
        plan_seconds=0.0,
        engine="cluster",
        device=f"{searches.workers.device}, {graph.num_shards} shards",
        reason=searches.way,
    )
