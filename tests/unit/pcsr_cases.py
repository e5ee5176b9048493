"""Algorithm 2 of GENEVA in plain Python, and graphs whose partitions are awkward."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import motiflux as mf
from motiflux.graph import Graph


def renamed_by_the_paper(partitions_of: Sequence[Sequence[int]]) -> list[int]:
    """Return the new id of each vertex, which is in the partitions `partitions_of[vertex]`.

    As printed, but for ids from 0 and for ties, which the paper leaves open: the partition with the least
    number; the first sub-partition with the most vertices; that with the fewest partitions, then the first.
    """
    members = {}
    for vertex, partitions in enumerate(partitions_of):
        for one in partitions:
            members.setdefault(one, set()).add(vertex)
    renamed: dict[int, int] = {}
    while members:
        largest = max(sorted(members), key=lambda one: len(members[one]))
        subs: dict[frozenset[int], list[int]] = {}
        for vertex in sorted(members[largest]):
            subs.setdefault(frozenset(p for p in members if vertex in members[p]), []).append(vertex)
        for share_set, vertices in subs.items():
            for one in share_set:
                members[one] -= set(vertices)
        before = max(subs, key=lambda share_set: (len(share_set), len(subs[share_set])))
        while True:
            for vertex in subs.pop(before):
                renamed[vertex] = len(renamed)
            if not subs:
                break
            before = min(subs, key=lambda share_set: (-len(share_set & before), len(share_set)))
        members = {one: vertices for one, vertices in members.items() if vertices and one != largest}
    for vertex in range(len(partitions_of)):
        renamed.setdefault(vertex, len(renamed))
    return [renamed[vertex] for vertex in range(len(partitions_of))]


def as_arrays(partitions_of: Sequence[Sequence[int]]) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
    """Return offsets and partitions of all vertices."""
    ends = np.cumsum([0, *(len(one) for one in partitions_of)]).astype(np.uint64)
    return ends, np.array([p for one in partitions_of for p in sorted(one)], np.uint32)


def number_of_intervals(partitions_of: Sequence[Sequence[int]], renamed: Sequence[int]) -> dict[int, int]:
    """Return the number of intervals of each partition."""
    ids: dict[int, set[int]] = {}
    for vertex, partitions in enumerate(partitions_of):
        for one in partitions:
            ids.setdefault(one, set()).add(renamed[vertex])
    return {one: sum(id_ - 1 not in of for id_ in of) for one, of in ids.items()}


def labelled_graph(
    rng: np.random.Generator,
    vertices: int,
    edges: int,
    *,
    directed: bool,
    vertex_labels: int,
    edge_labels: int,
) -> Graph:
    """Draw a graph; some vertices are isolated."""
    ends = rng.integers(0, max(1, vertices), (edges, 2))
    return mf.Graph.from_edges(
        ends,
        directed=directed,
        num_vertices=vertices,
        vertex_labels=rng.integers(0, vertex_labels, vertices) if vertex_labels > 1 else None,
        edge_labels=rng.integers(0, edge_labels, edges) if edge_labels > 1 else None,
        self_loops="drop",
    )


Rows = dict[int, list[int]]


def true_rows(graph: Graph) -> dict[tuple[str, int], Rows]:
    """Return the rows of every partition by direction and label, by a loop over all arcs."""
    of_edge = graph.forward.labels is not None
    labels = graph.vertex_labels
    sides = {"either": graph.forward} if not graph.directed else {"out": graph.forward, "in": graph.reverse}
    rows: dict[tuple[str, int], Rows] = {}
    for name, side in sides.items():
        for vertex in range(graph.num_vertices):
            for arc in range(int(side.offsets[vertex]), int(side.offsets[vertex + 1])):
                neighbor = int(side.neighbors[arc])
                target = 0 if labels is None else int(labels[neighbor])
                code = int(side.labels[arc]) if of_edge and side.labels is not None else target
                rows.setdefault((name, code), {}).setdefault(vertex, []).append(neighbor)
    if of_edge and labels is not None:
        for one in rows.values():
            for row in one.values():
                row.sort(key=lambda neighbor: (labels[neighbor], neighbor))
    return rows


HASH = 7
"""The group of `ids_of_one_hash`."""


def ids_of_one_hash(number: int, groups: int) -> NDArray[np.uint32]:
    """Return ids whose group is `HASH` of `groups`, by ``view::HashGroup::of``."""
    ids = np.arange(4 * number * groups, dtype=np.uint64)
    mixed = (ids ^ ids >> np.uint64(16)) * np.uint64(0x85EBCA6B) & np.uint64(0xFFFFFFFF)
    mixed = (mixed ^ mixed >> np.uint64(13)) * np.uint64(0xC2B2AE35) & np.uint64(0xFFFFFFFF)
    found = ids[(mixed ^ mixed >> np.uint64(16)) % np.uint64(groups) == HASH]
    assert len(found) >= number
    return found[:number].astype(np.uint32)
