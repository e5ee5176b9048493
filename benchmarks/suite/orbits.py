"""Counts per vertex and orbits on a GPU, beside one thread of the CPU: ``motiflux bench orbits``.

On a machine with a GPU. Needs the shared graphs (``MOTIFLUX_SHARED``). Both take the wall clock, on a graph
that was counted on before: rows lie on the device, kernels are compiled and plans are known. What a case is
named for:

orbits 4 GRAPH, orbits 5 GRAPH   graphlet degree vectors; its count is their sum
edge orbits 4 GRAPH, ... 5 GRAPH the same of edges
vertices GRAPH QUERY             counts at each vertex, of one query vertex; the figure ``count`` is the
                                 seconds of `count` on the GPU
edges GRAPH QUERY                counts at each edge, of one query edge

The figures ``kernels`` and ``kernel NAME`` are seconds of kernels of tables by the clock of the GPU, in one
more call.

A ratio is how many times as fast the GPU is. If the thread does not end in time (``--timeout``), it is a
lower bound, and numbers are not compared.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import motiflux as mf
from motiflux.bench.measure import Timing
from motiflux.bench.results import Bar, BaselineTime, CaseResult
from motiflux.bench.suite import GraphSource, Probe, Settings, Suite, load_part
from motiflux.gpu.runtime.kernel_times import taking_times

HERE = Path(__file__).resolve().parent
common = load_part(HERE / "gpu_parts/common.py")

GRAPHS = ("email_enron", "soc_slashdot0902", "ego_facebook", "wiki_vote")
BARRED = GRAPHS[:3]
"""Graphs whose orbits have a bar."""
LEAST_RATIO = 10.0
"""How many times as fast as one thread orbits are at least."""
MOST_OF_COUNT = {"triangle": 2.0, "4cycle": 2.0, "house": 5.0}
"""Most time of counts per vertex, as a multiple of the count's on the same GPU."""
PATTERNS = {
    "triangle": ("(a)-[x]-(b)--(c)--(a)", "a"),
    "4cycle": ("(a)-[x]-(b)--(c)--(d)--(a)", "a"),
    "house": ("(r)--(a)-[x]-(b)--(c)--(d)--(a), (r)--(b)", "r"),
    "4clique": ("(a)-[x]-(b)--(c)--(d)--(a), (a)--(c), (b)--(d)", "a"),
}
Call = Callable[[str, int | None, float], Any]
"""Counts on a device, with a number of threads, in so many seconds."""


def build(shared: Path) -> Suite:
    sources = {name: GraphSource(shared / f"data/{name}.npz", directed=False) for name in GRAPHS}
    probes: list[Probe] = [
        Beside(f"{what} {size} {name}", source, of(size), quick=size == 4)
        for name, source in sources.items()
        for what, of in (("orbits", orbits), ("edge orbits", edge_orbits))
        for size in (4, 5)
    ]
    for name, source in sources.items():
        for query, (text, vertex) in PATTERNS.items():
            quick = name == "email_enron"
            at_vertices, at_edges = per_vertex(text, vertex), per_edge(text)
            probes += [
                Beside(f"vertices {name} {query}", source, at_vertices, counted=text, quick=quick),
                Beside(f"edges {name} {query}", source, at_edges, counted=text, quick=quick),
            ]
    return Suite(
        "orbits",
        (),
        bars,
        packages=("motiflux", "numpy", "cuda-core", "cuda-bindings"),
        probes=probes,
        device=lambda: common.accelerator().device.model,
    )


def bars(results: Sequence[CaseResult]) -> list[Bar]:
    by_name = {one.case: one for one in results}
    found = [Bar("numbers that differ", sum(one.disagrees for one in results), 0, "lower")]
    for size in (4, 5):
        for graph in BARRED:
            name = f"orbits {size} {graph}"
            one = by_name.get(name)
            ratio = None if one is None else one.ratio
            found.append(Bar(f"{name}, times one thread", ratio, LEAST_RATIO, "higher"))
    for query, most in MOST_OF_COUNT.items():
        for graph in GRAPHS:
            one = by_name.get(f"vertices {graph} {query}")
            if one is not None and one.seconds is not None:
                over = one.seconds.min / one.figures["count"]
                found.append(Bar(f"{one.case}, times the count", over, most, "lower"))
    return found


def orbits(size: int) -> Callable[[mf.Graph], Call]:
    return lambda graph: (
        lambda device, threads, seconds: mf.orbits(
            graph, size, device=device, threads=threads, timeout=seconds
        )
    )


def edge_orbits(size: int) -> Callable[[mf.Graph], Call]:
    return lambda graph: (
        lambda device, threads, seconds: mf.edge_orbits(
            graph, size, device=device, threads=threads, timeout=seconds
        )
    )


def per_vertex(text: str, vertex: str) -> Callable[[mf.Graph], Call]:
    pattern = mf.Pattern.parse(text)
    return lambda graph: (
        lambda device, threads, seconds: mf.count_per_vertex(
            graph, pattern, vertex, device=device, threads=threads, timeout=seconds
        )
    )


def per_edge(text: str) -> Callable[[mf.Graph], Call]:
    pattern = mf.Pattern.parse(text)
    return lambda graph: (
        lambda device, threads, seconds: mf.count_per_edge(
            graph, pattern, "x", device=device, threads=threads, timeout=seconds
        )
    )


@dataclass(frozen=True)
class Beside:
    """Numbers at each vertex or edge of a graph, on the GPU and on one thread."""

    name: str
    graph: GraphSource
    of: Callable[[mf.Graph], Call]
    counted: str = ""
    quick: bool = False

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        common.tell(self.name)
        graph = common.read(self.graph)
        call = self.of(graph)
        found: list[Any] = []

        def timed(device: str, threads: int | None) -> Timing:
            def once() -> bool:
                found[:] = [call(device, threads, settings.timeout)]
                return bool(found[0].complete)

            once()
            if device == common.DEVICE:
                common.accelerator().compiler.settle(common.COMPILE_SECONDS)
                once()
            timing: Timing = common.several(once, settings.runs)
            return timing

        ours = timed(common.DEVICE, None)
        [there] = found
        if not there.complete:
            yield CaseResult(self.name, there.engine, None, None, None)
            return
        figures = _kernels(lambda: call(common.DEVICE, None, settings.timeout))
        if self.counted:
            figures["count"] = self._count(graph, settings)
        theirs = timed("cpu", 1)
        [host] = found
        differ = host.complete and not np.array_equal(there.counts, host.counts)
        yield CaseResult(
            self.name,
            there.engine,
            int(there.counts.sum(dtype=object)),
            "one thread of the CPU" if host.complete else None,
            ours,
            BaselineTime("motiflux, one thread", theirs.min, timeout=not host.complete),
            theirs.min / ours.min,
            disagrees=differ,
            figures=figures,
        )

    def _count(self, graph: mf.Graph, settings: Settings) -> float:
        """Return the seconds of the count on the GPU."""
        pattern = mf.Pattern.parse(self.counted)
        common.warm(graph, pattern, settings.timeout)
        least = float("inf")
        for _ in range(settings.runs):
            began = time.perf_counter()
            common.count(graph, pattern, settings.timeout)
            least = min(least, time.perf_counter() - began)
        return least


def _kernels(call: Callable[[], Any]) -> dict[str, float]:
    """Return the seconds of the kernels of tables in a call, together and by name."""
    with taking_times(by_kernel=True) as times:
        call()
    by_name = {f"kernel {name}": seconds for name, seconds in times.kernels().items()}
    return {"kernels": sum(by_name.values()), **by_name}
