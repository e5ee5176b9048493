"""Large batches of patterns of three vertices, whose rows are marked: they find what single searches find."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import motiflux as mf
from motiflux.config import private_tuning

VERTICES = 150
HUBS = 6
PATTERNS = {
    "triangle": "(a)--(b)--(c)--(a)",
    "path": "(a)--(b)--(c)",
    "cycle": "(a)-->(b)-->(c)-->(a)",
    "labels": "(a:0)--(b:1)--(c:2)--(a)",
    "two labels": "(a:0)--(b:0)--(c:1)--(a)",
    "labels of edges": "(a)-[:0]-(b)-[:1]-(c)-[:0]-(a)",
    "directed labels": "(a:0)-[:0]->(b)<-[:1]-(c:1)-[:0]->(a)",
}
Rows = NDArray[np.int64]


def pairs(random: np.random.Generator, size: int, directed: bool) -> Rows:
    """Draw different edges, half of them at hubs."""
    ends = random.integers(VERTICES, size=(4 * size, 2))
    ends[::2, 0] = random.integers(HUBS, size=len(ends[::2]))
    ends = ends[ends[:, 0] != ends[:, 1]]
    _, first = np.unique(ends if directed else np.sort(ends, axis=1), axis=0, return_index=True)
    return np.asarray(ends[random.permutation(first)[:size]])


@dataclass(frozen=True)
class Drawn:
    first: mf.Graph
    last: mf.Graph
    pattern: mf.Pattern
    updates: mf.Updates

    def delta(self, **options: Any) -> mf.PatternDelta:
        with mf.Monitor(self.first, self.pattern, **options) as monitor:
            return monitor.apply(self.updates)[self.pattern]


def drawn(name: str, seed: int) -> Drawn:
    random = np.random.default_rng([seed, len(name)])
    directed = ">" in PATTERNS[name]
    every = pairs(random, 5_000, directed)
    labels = random.integers(3, size=VERTICES)
    edge_labels = random.integers(2, size=len(every))
    leave, stay, come = np.split(np.arange(len(every)), [1_300, 2_600])

    def graph(rows: Rows) -> mf.Graph:
        return mf.Graph.from_edges(
            every[rows],
            directed=directed,
            num_vertices=VERTICES,
            vertex_labels=labels if "labels" in name else None,
            edge_labels=edge_labels[rows] if "[" in PATTERNS[name] else None,
        )

    rows = random.permutation(np.concatenate([leave, come]))
    columns = [every[rows, 0], every[rows, 1]] + ([edge_labels[rows]] if "[" in PATTERNS[name] else [])
    updates = mf.Updates(np.isin(rows, come), *columns)
    first, last = graph(np.concatenate([leave, stay])), graph(np.concatenate([stay, come]))
    return Drawn(first, last, mf.Pattern.parse(PATTERNS[name]), updates)


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("mode", ["batch", "sequence"])
def test_marked_rows_are_those_of_the_moment_of_each_update(name: str, mode: str) -> None:
    stream = drawn(name, seed=1)
    alone = stream.delta(mode=mode, threads=1, tuning=private_tuning({"at_once": "off"}))
    net = int(mf.count(stream.last, stream.pattern)) - int(mf.count(stream.first, stream.pattern))
    assert alone.positive - alone.negative == net
    assert alone.positive > 0
    assert alone.negative > 0
    for threads, at_once in ((1, "auto"), (2, "on"), (3, "on")):
        found = stream.delta(mode=mode, threads=threads, tuning=private_tuning({"at_once": at_once}))
        assert (found.positive, found.negative) == (alone.positive, alone.negative)
