"""The census of a sharded graph: counts of all connected classes, and closed forms of the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from motiflux.api.census import census_of, checked_directions, checked_size
from motiflux.cluster.shards.counting import count_sharded
from motiflux.errors import ArgumentError
from motiflux.pattern import Pattern
from motiflux.plan.census import Arc, classes, counts_from_connected
from motiflux.request.deadline import Deadline
from motiflux.request.request import make_request
from motiflux.result.census import Census
from motiflux.result.partial import replace_partial

if TYPE_CHECKING:
    from motiflux.cluster.shards.sharded import ShardedGraph
    from motiflux.cluster.workers import Workers


def census_sharded(
    workers: Workers, graph: ShardedGraph, size: int, options: dict[str, Any], kind: str | None = None
) -> Census:
    """Return the census of a sharded graph, counted by tasks on CPUs or on GPUs of a kind.

    Raises
    ------
    ArgumentError
        Directed subgraphs of four vertices are asked for: they have 199 connected classes, each a search.
    """
    size = checked_size(size)
    directed = checked_directions(graph.sketch, options.get("directed"))
    if size == 4 and directed:
        expected = "False beside size=4 in a sharded graph: there are 199 classes with directions"
        raise ArgumentError("directed", expected, options.get("directed"))
    sizes = sorted({3, size})
    arcs: list[Sequence[Arc]] = [[(0, 1)], [(0, 1), (1, 0)]] if directed else [[(0, 1), (1, 0)]]
    for vertices in sizes:
        arcs += [one.arcs for one in classes(vertices, directed).all if one.connected]
    request = make_request(
        semantics="induced",
        symmetry="subgraphs",
        timeout=options.get("timeout"),
        threads=options.get("threads"),
        progress=options.get("callback"),
        gpu_memory=options.get("gpu_memory"),
    )
    deadline = Deadline.after(request.timeout)
    patterns = [_pattern(one, directed=directed) for one in arcs]
    try:
        found = count_sharded(workers, graph, patterns, request, deadline, kind)
    except KeyboardInterrupt as stop:
        replace_partial(stop, None)  # counts of some classes are no census
        raise
    counts = None
    if all(one.complete for one in found):
        numbers = [int(one) for one in found]
        pairs = (numbers[0], numbers[1]) if directed else (0, numbers[0])
        at, induced = (2 if directed else 1), {}
        for vertices in sizes:
            number = sum(one.connected for one in classes(vertices, directed).all)
            induced[vertices] = numbers[at : at + number]
            at += number
        counts = counts_from_connected(size, directed, pairs, induced, graph.num_vertices)
    connected = bool(options.get("connected", False))
    return census_of(counts, size, deadline, directed=directed, connected=connected)


def _pattern(arcs: Sequence[Arc], *, directed: bool) -> Pattern:
    """Return the pattern of a class; without directions, any arc between two vertices is an edge."""
    if directed:
        return Pattern.from_edges(list(arcs), directed=True)
    text = ", ".join(f"(v{u})--(v{v})" for u, v in arcs if u < v)
    return Pattern.parse(text)
