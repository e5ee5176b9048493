"""Sizes of the formats of one graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

import motiflux as mf
from motiflux.bench.measure import cpu_clock, repeat
from motiflux.bench.results import CaseResult
from motiflux.bench.suite import GraphSource, Settings
from motiflux.gpu.pcsr.formats import IntervalFormat
from motiflux.gpu.pcsr.partitions import Partitions


@dataclass(frozen=True)
class Labelled:
    """A graph with its labels, or with that many random labels of edges and of vertices."""

    name: str
    source: GraphSource
    labels: int | None = None

    @property
    def case(self) -> str:
        """Name it with its labels."""
        return self.name if self.labels is None else f"{self.name}, {self.labels} labels"

    def read(self) -> mf.Graph:
        """Return the graph."""
        graph = read(self.source)
        return graph if self.labels is None else drawn(graph, self.labels, self.labels)


@lru_cache(maxsize=1)
def read(source: GraphSource) -> mf.Graph:
    return source.read()


def drawn(graph: mf.Graph, labels: int, of_edges: int | None) -> mf.Graph:
    """Return the graph with so many random labels of vertices, and so many of edges unless None."""
    rng, ends = np.random.default_rng(labels), graph.to_edges()
    return mf.Graph.from_edges(
        (ends.src, ends.dst),
        directed=graph.directed,
        vertex_ids=graph.vertex_ids,
        vertex_labels=rng.integers(0, labels, graph.num_vertices),
        edge_labels=None if of_edges is None else rng.integers(0, of_edges, len(ends.src)),
    )


@dataclass(frozen=True)
class FormatSizes:
    """Bytes of each format."""

    graph: Labelled
    quick: bool = False

    @property
    def name(self) -> str:
        """Name of the case."""
        return f"formats {self.graph.case}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        """Build the formats, and time those by intervals."""
        graph = self.graph.read()
        partitions = Partitions.of(graph)
        made, seconds = repeat(
            lambda: Partitions.of(graph).intervals(),
            cpu_clock,
            settings.runs,
        )
        figures = sizes(graph, partitions, made)
        if self.graph.labels is not None:
            alone = drawn(read(self.graph.source), self.graph.labels, None)
            by_target = Partitions.of(alone)
            others = sizes(alone, by_target, by_target.intervals())
            figures |= {f"vertex_{name}": value for name, value in others.items()}
        arcs = sum(len(part.neighbors) for part in made.partitions)
        expected = arcs_of(graph)
        checked = "arcs of the graph" + ("" if arcs == expected else f", DISAGREES: {expected}")
        yield CaseResult(
            self.name,
            "interval-PCSR",
            arcs,
            checked,
            seconds,
            figures=figures,
            disagrees=arcs != expected,
        )


def arcs_of(graph: mf.Graph) -> int:
    return graph.forward.num_arcs + (graph.reverse.num_arcs if graph.directed else 0)


def sizes(graph: mf.Graph, partitions: Partitions, made: IntervalFormat) -> dict[str, float]:
    """Return bytes of all formats, numbers of intervals, and ratios to plain CSR with labels."""
    old, hashed = partitions.intervals(renames=False), partitions.hashes()
    arcs, vertices, keys = arcs_of(graph), graph.num_vertices, len(partitions.keys)
    of_vertices = 1 if graph.vertex_labels is None else len(graph.vertex_label_table)
    of_plans = keys * of_vertices * (1 if partitions.by_target else of_vertices)
    unlabelled = 4 * (vertices + 1) * (2 if graph.directed else 1) + 4 * arcs
    labelled = unlabelled + (0 if graph.forward.labels is None else 4 * arcs)
    found = {
        "interval": made.nbytes,
        "unrenamed": old.nbytes,
        "hash": hashed.nbytes,
        "per_key": 8 * (vertices + 1) * of_plans + 4 * arcs,
        "per_partition": 8 * (vertices + 1) * keys + 4 * arcs,
        "unlabelled": unlabelled,
    }
    return {
        "arcs_per_vertex": arcs / vertices,
        "partitions": keys,
        "rows": sum(part.rows for part in made.partitions),
        "labelled": labelled,
        **found,
        **{f"{name}_ratio": value / labelled for name, value in found.items()},
        "interval_largest": made.largest,
        "hash_largest": hashed.largest,
        "intervals": made.intervals,
        "most_intervals": max(len(part.firsts) for part in made.partitions),
        "unrenamed_intervals": old.intervals,
        "unrenamed_most_intervals": max(len(part.firsts) for part in old.partitions),
    }
