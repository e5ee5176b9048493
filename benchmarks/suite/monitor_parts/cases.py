"""The streams that the suite ``monitor`` applies: recorded ones, and those of `streams`."""

from __future__ import annotations

import gzip
import shutil
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import numpy as np

import motiflux as mf
from motiflux.bench.suite import load_part

PARTS = Path(__file__).resolve().parent
streams = load_part(PARTS / "streams.py")
rapidflow = load_part(PARTS.parents[1] / "peer/by_rapidflow.py")


@dataclass(frozen=True)
class Loaded:
    """A stream, and what is known of it: the matches gained and lost, or the difference alone."""

    graph: mf.Graph
    pattern: mf.Pattern
    updates: mf.Updates
    net: int
    source: str
    total: int | None = None

    def disagrees(self, found: mf.PatternDelta) -> bool:
        """Whether what a Monitor found is wrong."""
        wrong = found.positive - found.negative != self.net
        return wrong or (self.total is not None and found.positive + found.negative != self.total)


class StreamCase(Protocol):
    """A stream that can be loaded, and written as the inputs of RapidFlow."""

    @property
    def name(self) -> str: ...

    @property
    def deletes(self) -> bool:
        """Whether some of its updates are deletions."""

    def load(self) -> Loaded: ...

    def write(self, folder: Path) -> None: ...


@dataclass(frozen=True)
class Recorded:
    """A stream of ``oracle/csm``."""

    folder: Path
    positive: int
    negative: int

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def deletes(self) -> bool:
        return self.negative > 0

    def load(self) -> Loaded:
        graph, pattern, updates = read_recorded(self.folder)
        known = f"{self.positive} gained, {self.negative} lost (several systems)"
        net, total = self.positive - self.negative, self.positive + self.negative
        return Loaded(graph, pattern, updates, net, known, total)

    def write(self, folder: Path) -> None:
        for packed, name in (("data.graph.gz", "data.graph"), ("updates.stream.gz", "updates")):
            with gzip.open(self.folder / packed) as source, (folder / name).open("wb") as target:
                shutil.copyfileobj(source, target)
        shutil.copy(self.folder / "query.graph", folder / "query.graph")


@lru_cache(maxsize=1)
def read_recorded(folder: Path) -> tuple[mf.Graph, mf.Pattern, mf.Updates]:
    columns: list[tuple[bool, int, int, int]] = []
    with gzip.open(folder / "updates.stream.gz", "rt") as lines:
        for line in lines:
            op, *numbers = line.split()
            if op != "v":
                source, target, *label = map(int, numbers)
                columns.append((op == "e", source, target, label[0] if label else 0))
    inserts, sources, targets, labels = (np.array(column) for column in zip(*columns, strict=True))
    graph = mf.read_graph(folder / "data.graph.gz")
    updates = mf.Updates(inserts.astype(bool), sources, targets, labels)
    return graph, mf.read_pattern(folder / "query.graph"), updates


@dataclass(frozen=True)
class Drawn:
    """A stream of `streams`; its net change is checked against counts of the graph before and after."""

    stream: streams.Stream
    data: Path

    @property
    def name(self) -> str:
        return str(self.stream.name)

    @property
    def deletes(self) -> bool:
        return self.stream.deletions > 0

    def load(self) -> Loaded:
        return load_drawn(self.stream, self.data)

    def write(self, folder: Path) -> None:
        drawn = streams.draw(self.stream, self.data)
        query = (drawn.query_labels, drawn.query_edges)
        updates = zip(drawn.inserts.tolist(), drawn.updates.tolist(), strict=True)
        rapidflow.write_inputs(folder, drawn.vertex_labels.tolist(), drawn.edges.tolist(), query, updates)


@lru_cache(maxsize=1)
def load_drawn(stream: streams.Stream, data: Path) -> Loaded:
    drawn = streams.draw(stream, data)
    labelled = stream.edge_labels != 1
    before, after = (graph_of(drawn, edges, labelled) for edges in (drawn.edges, edges_after(drawn)))
    pairs = [(source, target) for source, target, _ in drawn.query_edges]
    labels = [label for *_, label in drawn.query_edges] if labelled else None
    pattern = mf.Pattern.from_edges(pairs, vertex_labels=drawn.query_labels, edge_labels=labels)
    columns = [np.ascontiguousarray(column) for column in drawn.updates.T[: 3 if labelled else 2]]
    net = int(mf.count(after, pattern)) - int(mf.count(before, pattern))
    updates = mf.Updates(drawn.inserts, *columns)
    return Loaded(before, pattern, updates, net, f"{net:+d} by counts before and after")


def graph_of(drawn: streams.Inputs, edges: streams.Numbers, labelled: bool) -> mf.Graph:
    return mf.Graph.from_edges(
        edges[:, :2],
        num_vertices=len(drawn.vertex_labels),
        vertex_labels=drawn.vertex_labels,
        edge_labels=edges[:, 2] if labelled else None,
    )


def edges_after(drawn: streams.Inputs) -> streams.Numbers:
    """Return the edges when all updates are applied."""
    there = dict.fromkeys(map(tuple, drawn.edges.tolist()))
    for inserts, row in zip(drawn.inserts.tolist(), map(tuple, drawn.updates.tolist()), strict=True):
        if inserts:
            there[row] = None
        else:
            del there[row]
    return np.array(list(there), dtype=np.int64).reshape(-1, 3)
