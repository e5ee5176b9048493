"""Updates that concern no pattern, a long random stream on several threads, and the memory of the graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

import motiflux as mf
from motiflux.bench.measure import repeat, wall_clock
from motiflux.bench.results import CaseResult
from motiflux.bench.suite import Settings, load_part
from motiflux.generate import rmat

modes = load_part(Path(__file__).resolve().parent / "modes.py")
ENGINE = "cpu"
PASSED = 1_000_000
SCALE = modes.SCALE
LABELLED = "(a:1000001)--(b:1000002)--(c:1000003)--(a)"
"""A pattern whose labels no vertex of the graphs has."""
EDGE_BYTES, VERTEX_BYTES = 24, 32


@lru_cache(maxsize=1)
def random_graph() -> mf.Graph:
    return rmat(SCALE, 16 << (SCALE - 1), directed=False, duplicates="drop", seed=1)


def random_updates(graph: mf.Graph, size: int) -> mf.Updates:
    """Return insertions and deletions between vertices drawn by degree, or alike where there are labels."""
    draw = np.random.default_rng(7)
    edges = graph.to_edges()
    ids = graph.vertex_ids if len(graph.vertex_label_table) > 1 else np.concatenate([edges.src, edges.dst])
    sources, targets = draw.choice(ids, size), draw.choice(ids, size)
    kept = sources != targets
    return mf.Updates(draw.random(size)[kept] < 0.7, sources[kept], targets[kept])


@dataclass(frozen=True)
class Passed:
    """Updates that no pattern is concerned by."""

    graph: str
    read: Callable[[], mf.Graph]
    quick: bool = False

    @property
    def name(self) -> str:
        return f"pass {self.graph}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        graph = self.read()
        updates = random_updates(graph, PASSED)
        fresh: list[mf.Monitor] = []

        def before() -> None:
            fresh[:] = [mf.Monitor(graph, LABELLED, threads=1, device="cpu")]

        delta, seconds = repeat(lambda: fresh[0].apply(updates), runs=settings.runs, before=before)
        nanoseconds = 1e9 * seconds.min / delta.updates
        figures = {"nanoseconds_per_update": nanoseconds}
        yield CaseResult(self.name, ENGINE, delta.updates, None, seconds, figures=figures)


@dataclass(frozen=True)
class Streamed:
    """Triangles of a random stream on the R-MAT graph, by the wall clock."""

    threads: int
    quick: bool = False

    @property
    def name(self) -> str:
        return str(modes.on_threads(f"stream R-MAT {SCALE} triangle", self.threads))

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        graph = random_graph()
        fresh = mf.Monitor(graph, "(a)--(b)--(c)--(a)", threads=self.threads, device="cpu")
        updates = random_updates(graph, PASSED)
        delta, seconds = repeat(lambda: fresh.apply(updates), wall_clock, 1)
        yield CaseResult(self.name, ENGINE, delta[0].positive, None, seconds)


@dataclass(frozen=True)
class Held:
    """What the changing R-MAT graph takes."""

    name: str = f"bytes R-MAT {SCALE}"
    quick: bool = False

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        graph = random_graph()
        held = mf.Monitor(graph, device="cpu").nbytes
        most = EDGE_BYTES * graph.num_edges + VERTEX_BYTES * graph.num_vertices
        yield CaseResult(self.name, ENGINE, held, None, None, figures={"share": held / most})
