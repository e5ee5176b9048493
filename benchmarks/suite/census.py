"""Censuses, random graphs, and orbits: times, and counts beside networkx and igraph.

``motiflux bench census``. Needs the shared graphs (``MOTIFLUX_SHARED``). What a case is named for:

``triads GRAPH``        the triad census of a directed graph on one thread, and by the wall clock on two; on
                        an R-MAT graph of about 10 million edges too (``MOTIFLUX_EDGES``: their number)
``tetrads GRAPH``       the census of four vertices
``nulls GRAPH SIZE``    100 random graphs and their censuses, the mixing rule included, on two threads
``orbits GRAPH SIZE``   orbits of vertices, or of edges

Where networkx is installed, its triad census of the connectome is compared, and igraph's motifs of four
vertices where that is. Times are process CPU time on one thread unless a case says ``wall``.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import motiflux as mf
from motiflux.bench.measure import cpu_clock, repeat, wall_clock
from motiflux.bench.results import Bar, CaseResult
from motiflux.bench.suite import GraphSource, Probe, Settings, Suite

EDGES = int(os.environ.get("MOTIFLUX_EDGES", "10_000_000"))
ENOUGH = 10_000_000
"""Edges that the bar of the triad census is set for."""
TRIAD_SECONDS = 3.0
NULL_SECONDS = 10.0
RMAT = "R-MAT"
CONNECTOME = "celegans_cook2019_herm"
NULLS = 100


def build(shared: Path) -> Suite:
    probes: list[Probe] = [Triads(shared, graph) for graph in (CONNECTOME, "wiki_vote", RMAT)]
    probes += [Tetrads(shared, graph) for graph in (CONNECTOME, "wiki_vote", "soc_slashdot0902")]
    probes += [Nulls(shared, CONNECTOME, size) for size in (3, 4)]
    probes += [Orbits(shared, CONNECTOME, what, size) for what in ("vertex", "edge") for size in (4, 5)]
    probes.append(Orbits(shared, "wiki_vote", "directed", 3))
    return Suite("census", (), bars, ("motiflux", "numpy", "networkx", "igraph"), probes)


def bars(results: Sequence[CaseResult]) -> list[Bar]:
    """Hold the results against the targets; what was not run has no bar."""
    seconds = {one.case: one.seconds.min for one in results if one.seconds is not None}
    found = [Bar("counts that disagree", sum(one.disagrees for one in results), 0, "lower")]
    triads = f"triads {RMAT}, wall, 2 threads"
    if triads in seconds and EDGES >= ENOUGH:
        found.append(
            Bar("triads of about 10 million edges, two threads, s", seconds[triads], TRIAD_SECONDS, "lower")
        )
    nulls = f"nulls {CONNECTOME} 4, wall, 2 threads"
    if nulls in seconds:
        found.append(
            Bar("100 random graphs with a census of 4, two threads, s", seconds[nulls], NULL_SECONDS, "lower")
        )
    return found


@lru_cache(maxsize=2)
def read(shared: Path, name: str) -> mf.Graph:
    if name == RMAT:
        return mf.generate.rmat(scale=20, edges=EDGES, seed=1)
    return GraphSource(shared / f"data/{name}.npz").read()


def timed(
    name: str, engine: str, call: Callable[[int], Any], count: Callable[[Any], int], settings: Settings
) -> Iterator[CaseResult]:
    """Give the case on one thread by CPU time, and on two by the wall clock."""
    for threads, clock, suffix in ((1, cpu_clock, ""), (2, wall_clock, ", wall, 2 threads")):
        found, seconds = repeat(lambda threads=threads: call(threads), clock, runs=settings.runs)  # type: ignore[misc]
        yield CaseResult(name + suffix, engine, count(found), None, seconds)


@dataclass(frozen=True)
class Triads:
    """A triad census, beside that of networkx."""

    shared: Path
    graph: str

    @property
    def name(self) -> str:
        return f"triads {self.graph}"

    @property
    def quick(self) -> bool:
        return self.graph == CONNECTOME

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        graph = read(self.shared, self.graph)
        yield from timed(
            self.name,
            "cpu",
            lambda threads: mf.census(graph, threads=threads),
            lambda found: found["030T"],
            settings,
        )
        if self.graph != CONNECTOME or importlib.util.find_spec("networkx") is None:
            return
        import networkx as nx

        other = nx.DiGraph(list(zip(graph.to_edges().src, graph.to_edges().dst, strict=True)))
        known, seconds = repeat(lambda: nx.triadic_census(other), runs=1)
        own = {name: count for name, count in mf.census(graph).items() if name != "003"}
        same = own == {name: known[name] for name in own} or graph.num_vertices != len(other)
        yield CaseResult(
            f"{self.name} by networkx", "networkx", known["030T"], "census", seconds, disagrees=not same
        )


@dataclass(frozen=True)
class Tetrads:
    """A census of four vertices, directed and not, beside igraph's."""

    shared: Path
    graph: str

    @property
    def name(self) -> str:
        return f"tetrads {self.graph}"

    @property
    def quick(self) -> bool:
        return self.graph == CONNECTOME

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        graph = read(self.shared, self.graph)
        for directed in (True, False) if graph.directed else (False,):
            how = "directed" if directed else "undirected"
            yield from timed(
                f"{self.name}, {how}",
                "cpu",
                lambda threads, directed=directed: mf.census(graph, 4, directed=directed, threads=threads),  # type: ignore[misc]
                lambda found: sum(found.counts[at] for at, one in enumerate(found.classes) if one.connected),
                settings,
            )
        if importlib.util.find_spec("igraph") is None:
            return
        import igraph

        edges = graph.to_edges()
        pairs = {(min(u, v), max(u, v)) for u, v in zip(edges.src.tolist(), edges.dst.tolist(), strict=True)}
        names = {vertex: at for at, vertex in enumerate(graph.vertex_ids.tolist())}
        other = igraph.Graph(n=len(names), edges=[(names[u], names[v]) for u, v in pairs])
        known, seconds = repeat(lambda: other.motifs_randesu(size=4), runs=1)
        connected = sorted(int(number) for number in known if number == number)
        own = mf.census(graph, 4, directed=False, connected=True)
        yield CaseResult(
            f"{self.name}, undirected, by igraph",
            "igraph",
            sum(connected),
            "census",
            seconds,
            disagrees=connected != sorted(own.counts),
        )


@dataclass(frozen=True)
class Nulls:
    """Random graphs and their censuses."""

    shared: Path
    graph: str
    size: int
    quick: bool = True

    @property
    def name(self) -> str:
        return f"nulls {self.graph} {self.size}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        graph = read(self.shared, self.graph)
        yield from timed(
            self.name,
            "cpu",
            lambda threads: mf.significance(graph, self.size, nulls=NULLS, threads=threads),
            lambda found: len(found.null_counts),
            settings,
        )


@dataclass(frozen=True)
class Orbits:
    """Orbits of all vertices or edges; the count is the sum of the last orbit."""

    shared: Path
    graph: str
    what: str
    size: int

    @property
    def name(self) -> str:
        return f"orbits {self.graph} {self.what} {self.size}"

    @property
    def quick(self) -> bool:
        return self.size == 4

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        graph = read(self.shared, self.graph)

        def call() -> Any:
            graph.forget()
            if self.what == "edge":
                return mf.edge_orbits(graph, self.size, threads=1)
            return mf.orbits(graph, self.size, directed=self.what == "directed", threads=1)

        found, seconds = repeat(call, runs=settings.runs)
        yield CaseResult(self.name, "cpu", int(found.counts[:, -1].sum()), None, seconds)
