"""Batches that a device is to match: the same edge several times, new labels, graphs that become empty."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.errors import StreamError
from tests.property.test_monitor_engines import told

pytestmark = [
    pytest.mark.devices("emulated", "cuda", reason="other tests are about the CPU's monitor"),
    pytest.mark.parametrize(
        "switches",
        [
            {},
            {"container": "gpma"},
            {"filter": "nlf"},
            {"filter": "nlf", "encode": "device"},
            {"pooling": "on"},
        ],
        ids=["rows", "gpma", "candidates", "encoded", "pools"],
    ),
]

PATTERNS = ["(a)--(b)--(c)--(a)", "(a:1)--(b)--(c:2)--(d)--(a)", "(a)-[:7]-(b:2)--(c)", "(a:5)--(b)--(c:1)"]


class Pair:
    """A monitor on the CPU and one on a device."""

    def __init__(self, graph: mf.Graph, device: str, switches: dict[str, str], **options: Any) -> None:
        options = {"mode": "batch", "tuning": private_tuning(switches), **options}
        self.here = mf.Monitor(graph, PATTERNS, **options)
        self.there = mf.Monitor(graph, PATTERNS, device=device, engine="batch", **options)

    def apply(self, *args: Any, **more: Any) -> mf.Delta:
        """Apply a batch to both, which say the same."""
        one, other = self.here.apply(*args, **more), self.there.apply(*args, **more)
        assert one.noops == other.noops
        assert [(part.positive, part.negative) for part in one] == [
            (part.positive, part.negative) for part in other
        ]
        assert list(map(told, one)) == list(map(told, other))
        assert self.here.num_edges == self.there.num_edges
        return other


def drawn(vertices: int, edges: int) -> mf.Graph:
    draw = np.random.default_rng(3)
    ends = draw.integers(0, vertices, (edges, 2))
    labels = draw.integers(0, 3, vertices)
    return mf.Graph.from_edges(ends[ends[:, 0] != ends[:, 1]], num_vertices=vertices, vertex_labels=labels)


@pytest.mark.parametrize("matches", [False, True])
@pytest.mark.parametrize("duplicates", ["count", "ignore"])
def test_an_edge_that_comes_and_goes_several_times_in_a_batch(
    device: str, switches: dict[str, str], duplicates: str, *, matches: bool
) -> None:
    pair = Pair(drawn(20, 60), device, switches, duplicates=duplicates, matches=matches)
    pair.apply([("+", 0, 1), ("+", 1, 0), ("-", 0, 1), ("+", 0, 1), ("-", 5, 6), ("-", 5, 6), ("+", 2, 3)])
    pair.apply([("-", 0, 1), ("+", 0, 1), ("-", 0, 1), ("-", 0, 1), ("-", 0, 1), ("-", 18, 19)])
    edges = [(u, v) for u in range(8) for v in range(u)]
    pair.apply([(op, u, v) for u, v in edges for op in "+-+"])
    pair.apply(inserts=edges[::2], deletes=edges)
    pair.apply(inserts=edges + edges, deletes=edges[::3])


@pytest.mark.parametrize("matches", [False, True])
def test_labels_that_are_new_in_a_batch(device: str, switches: dict[str, str], *, matches: bool) -> None:
    pair = Pair(drawn(20, 60), device, switches, matches=matches)
    news = {100: 5, 101: 1, 102: 2, 103: 9}
    ends = np.array([(100, 0), (100, 101), (101, 102), (102, 100), (103, 102), (3, 102), (3, 101), (100, 3)])
    kinds = np.array([7, 0, 7, 8, 7, 0, 9, 7])
    batch = mf.Updates(np.ones(len(ends), bool), *ends.T, labels=kinds, vertex_labels=news)
    assert sum(part.positive for part in pair.apply(batch)) > 0
    pair.apply(mf.Updates(np.arange(len(ends)) % 2 == 0, *ends.T, labels=kinds[::-1].copy()))
    pair.apply(mf.Updates(np.zeros(len(ends), bool), *ends.T, labels=kinds))


def test_a_batch_that_empties_the_graph(device: str, switches: dict[str, str]) -> None:
    graph = drawn(20, 60)
    edges = graph.to_edges()
    copies = np.repeat(np.arange(len(edges.src)), edges.multiplicity)
    src, dst = edges.src[copies], edges.dst[copies]
    pair = Pair(graph, device, switches)
    for _ in range(2):
        pair.apply(mf.Updates(np.zeros(len(src), bool), src, dst))
        assert pair.there.num_edges == 0
        pair.apply(mf.Updates(np.zeros(len(src), bool), src, dst))  # nothing is there to be deleted
        pair.apply(mf.Updates(np.ones(len(src), bool), src, dst))
    assert pair.there.num_edges == graph.num_edges


def test_a_batch_that_is_refused_leaves_rows_that_serve_the_next_one(
    device: str, switches: dict[str, str]
) -> None:
    pair = Pair(drawn(20, 60), device, switches)
    pair.apply([("+", 0, 1)])
    before = pair.there.num_edges
    for bad in ([("+", 0, 2), ("+", 3, "x")], [("+", 0, 2), ("?", 3, 4)]):
        with pytest.raises(StreamError):
            pair.there.apply(bad)
        assert pair.there.num_edges == before
    pair.apply([("+", u, v) for u in range(10) for v in range(u)])
