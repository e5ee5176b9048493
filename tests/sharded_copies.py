"""Graphs with copies of edges, sharded in this process: files as those of a cluster, but no Ray.

``python -m tests.sharded_copies BYTES`` prints the memory of a search, as `tests.sharded_memory` does.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import numpy as np

import motiflux as mf
from motiflux.cluster.shards.attributes import EDGE, joined, types_of
from motiflux.cluster.shards.conditions import Narrowed, narrowed
from motiflux.cluster.shards.copies import edges_of_copies, ordered
from motiflux.cluster.shards.part_copies import PartCopies, compares_edges
from motiflux.cluster.shards.planning import ranged
from motiflux.cluster.shards.rows import Rows
from motiflux.cluster.shards.search import SHARE_OF_ROWS, Ranged, RangeSearch
from motiflux.cluster.shards.server import Served, ShardServer
from motiflux.cluster.shards.sharded import ShardedGraph
from motiflux.cluster.shards.store import shard_path, write_rows
from motiflux.cluster.shards.values import VertexValues, compared_names
from motiflux.graph import AttributeTable
from motiflux.request.deadline import Deadline
from motiflux.request.request import Request, make_request
from motiflux.result.arc_counts import edge_ends, edge_labels
from tests import inline_ray
from tests.sharded import ids_of, sharded


class Actor:
    """A server in this process."""

    def __init__(self, server: ShardServer) -> None:
        self._server = server

    def __getattr__(self, name: str) -> Any:
        return SimpleNamespace(remote=getattr(self._server, name))


def write_shards(graph: mf.Graph, shards: int, folder: str, memory: int) -> ShardedGraph:
    """Write a graph whose edges have attributes into shards; return it, with servers in this process."""
    layout, parts = sharded(graph, shards)
    layout = replace(
        layout,
        attributes=types_of(graph.vertex_attributes),
        edge_attributes=types_of(graph.edge_attributes),
        duplicate_edges=graph.num_edge_copies - graph.num_edges,
        copies=True,
    )
    ids = ids_of(graph, layout).all()
    place = {one: at for at, one in enumerate(np.asarray(graph.vertex_ids).tolist())}
    internal = np.array([place[one] for one in ids.tolist()])
    numbers = np.empty(len(ids), np.int64)
    numbers[internal] = np.arange(len(ids))
    rows, neighbors, kinds, copies = _halves(graph, numbers)
    for number, (part, first, last) in enumerate(
        zip(parts, layout.starts[:-1], layout.starts[1:], strict=True)
    ):
        own = (first <= rows) & (rows < last)
        table = AttributeTable(
            EDGE, joined([(int(own.sum()), _taken(graph, copies[own]))], layout.edge_attributes)
        )
        found = ordered(
            *(one[own].astype(np.uint32) for one in (rows, neighbors, kinds)), table, len(part.neighbors)
        )
        columns = graph.vertex_attributes.take(internal[first:last])
        write_rows(shard_path(Path(folder), number), part, ids[first:last], columns, found)
    actors = tuple(Actor(ShardServer(folder, layout, number)) for number in range(shards))
    sketch = replace(
        graph,
        vertex_ids=numbers,
        vertex_attributes=AttributeTable("vertex"),
        edge_attributes=AttributeTable("edge"),
    )
    served = Served("", folder, layout, actors, ("",) * shards, None, memory)
    ray = SimpleNamespace(
        get=lambda value, timeout=None: value, put=lambda value: value, exceptions=inline_ray
    )
    return ShardedGraph(folder, memory, layout, _without_copies(sketch), served, ray)


def _taken(graph: mf.Graph, copies: Any) -> Mapping[str, Any]:
    return dict(graph.edge_attributes.take(copies))


def _without_copies(graph: mf.Graph) -> mf.Graph:
    forward, reverse = (replace(one, copies=None) for one in (graph.forward, graph.reverse))
    return replace(graph, forward=forward, reverse=reverse if graph.directed else forward, duplicate_edges=0)


def _halves(graph: mf.Graph, numbers: Any) -> tuple[Any, Any, Any, Any]:
    """Return the row, the neighbour and the kind of each half of a copy, and the copy's number."""
    edges = edges_of_copies(graph)
    sources, targets = (numbers[one[edges]] for one in edge_ends(graph))
    labels = edge_labels(graph).astype(np.int64)[edges]
    sides, number = (2 if graph.directed else 1), len(graph.vertex_label_table)
    of_vertices = np.zeros(graph.num_vertices, np.int64)
    if graph.vertex_labels is not None:
        of_vertices[numbers] = graph.vertex_labels
    kinds = [
        (labels * sides + side) * number + of_vertices[end]
        for side, end in ((0, targets), (sides - 1, sources))
    ]
    copies = np.arange(len(edges))
    return (
        np.concatenate([sources, targets]),
        np.concatenate([targets, sources]),
        np.concatenate(kinds),
        np.concatenate([copies, copies]),
    )


@dataclass(frozen=True)
class Planned:
    """A pattern as it is searched in shards."""

    graph: ShardedGraph
    subject: Narrowed
    ranged: Ranged

    def search(self, memory: int, near: int = 1, threads: int = 1) -> RangeSearch:
        """Return the search, with some shards near the worker."""
        served, plan = self.subject.graph.served(), self.ranged.plan
        layout, shards = served.layout, [served.open_rows(at) for at in range(len(served.actors))]
        is_near = [at < near for at in range(len(shards))]
        rows = Rows(layout, shards, is_near, None, memory // SHARE_OF_ROWS)
        actors: Any = served.actors
        names = compared_names(plan)
        asks = [lambda places, one=one: lambda: one.values.remote(names, places) for one in actors]
        values = VertexValues(layout, names, asks) if names else None
        given = () if served.judged is None else served.judged.conditions
        of_copies = [lambda *wanted, one=one: lambda: one.copies.remote(*wanted) for one in actors]
        copies = PartCopies(layout, of_copies, dict(zip(layout.judged, given, strict=True)))
        return RangeSearch(
            rows,
            self.ranged,
            memory,
            threads,
            values=values,
            copies=copies if compares_edges(plan) else None,
        )

    def count(self, memory: int, cut: float = 0.5, near: int = 1) -> tuple[int, int]:
        """Return the count, from two ranges of entries, and the number of parts."""
        if self.ranged.plan.impossible is not None:
            return 0, 0
        search, entries = self.search(memory, near), self.graph.layout.entries
        at = int(cut * entries)
        found = [search.each(*one, None, None, search.counted) for one in ((0, at), (at, entries))]
        return sum(one.total for one in found) * self.ranged.plan.multiplier, sum(one.parts for one in found)


def planned(graph: ShardedGraph, pattern: str, **options: Any) -> Planned:
    """Return the plan of a pattern."""
    request: Request = make_request(
        threads=1, **{"semantics": "isomorphism", "symmetry": "embeddings"} | options
    )
    subject = narrowed(graph, mf.Pattern.parse(pattern), Deadline.after(None))
    found = ranged(subject.sketch, subject.pattern, request, Deadline.after(None), allowed=subject.allowed)
    assert found is not None
    return Planned(graph, subject, found)


def main(memory: int) -> None:
    """Measure a search."""
    from tests.sharded_memory import Peak

    pattern = "(a)-[x]->(b)-[y]->(c) WHERE x.time < y.time AND x.amount > 2 * y.amount"
    draws = np.random.default_rng(3)
    ends = draws.integers(0, 8_000, (70_000, 2))
    ends = np.concatenate([ends, ends[:25_000], ends[:25_000]])
    columns = {"time": draws.integers(0, 100_000, len(ends)), "amount": draws.random(len(ends))}
    graph = mf.Graph.from_edges(ends, directed=True, edge_attributes=columns, self_loops="drop")
    with TemporaryDirectory() as folder:
        made = planned(write_shards(graph, 3, folder, 1 << 30), pattern)
        search, last = made.search(memory, near=3), made.graph.layout.entries
        first = last // 2
        for _ in range(2):  # the first search imports and compiles
            peak = Peak()
            with peak:
                found = search.each(first, last, None, None, search.counted)
        whole = made.search(1 << 30)
        expected = whole.each(first, last, None, None, whole.counted).total
    facts = {"peak": peak.nbytes, "parts": found.parts}
    print(json.dumps({**facts, "total": found.total, "expected": expected}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
