"""GAMMA's experiments (section VI) on ``engine="batch"``, beside the CPU Monitor in the same run.

``motiflux bench batch``, on a machine with a GPU (``MOTIFLUX_DEVICE`` names it; default ``cuda``). Graphs are
those of the shared folder (``MOTIFLUX_SHARED``) and an R-MAT graph (``MOTIFLUX_RMAT``: its scale, 20).
Queries are drawn by random walks with a seed, ``MOTIFLUX_QUERIES`` a set (3; the paper: 50). A query that is
not solved within ``MOTIFLUX_LIMIT`` seconds (1; the paper: 1800) is unsolved; as a baseline it counts with
the limit. A case has a batch of a tenth of the edges and queries of 6 vertices unless it says otherwise.
Times are wall clock of `Monitor.apply` and of what it leaves to other threads, the rows of the host. Each
batch is undone afterwards, which is timed too. All numbers are compared with the CPU's, or with those of the
other ways, whose queries are the ones of ``table``.

``table GRAPH``      dense, sparse and tree sets; also beside one thread of the CPU (table III, figure 12)
``sizes GRAPH``      4, 8 and 12 vertices (figure 8)
``rates GRAPH``      batches of 2 to 8 % (figure 9), inserted and deleted
``density GRAPH``    edges of the k-core for k of 4, 8 and 12 (figure 10)
``mixed GRAPH``      two insertions for each deletion (figure 11)
``stealing GRAPH``   utilisation with and without work stealing (figure 13)
``ablation GRAPH``   WBM alone, with work stealing, with coalesced search, and with both (figure 14)
``coalesced GRAPH``  matches listed, with and without coalesced search beyond k = 0 (section V-B)
``memory GRAPH``     device memory of the search, and of the frontiers of a breadth-first one (figure 5)
``pipeline GRAPH``   20 batches of 1 %, from a file or memory, beside the longest stage of each (section IV-A)

``pipeline`` runs each query twice, with batches that overlap and with one stage after the other; the latter
gives the times of stages. Update and match are one stage, and so are reading, numbering and netting.
``over_longest`` is the time of the former over the sum of each batch's longest stage. A triangle is counted
in the graph without labels, where batches are prepared too; one with labels is listed to a file.

In the ablation, coalesced search is that of k = 0: query edges that automorphisms exchange are searched once.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import motiflux as mf
from motiflux.bench.measure import Timing
from motiflux.bench.results import Bar, BaselineTime, CaseResult
from motiflux.bench.suite import Probe, Settings, Suite, load_part
from motiflux.device import open_device

inputs = load_part(Path(__file__).resolve().parent / "batch_parts/inputs.py")
trials = load_part(Path(__file__).resolve().parent / "batch_parts/trials.py")
pipelined = load_part(Path(__file__).resolve().parent / "batch_parts/pipelined.py")
QUERIES = int(os.environ.get("MOTIFLUX_QUERIES", "3"))
VERTICES, RATE = 6, 0.1
SIZES, RATES, CORES = (4, 8, 12), (0.02, 0.04, 0.06, 0.08), (4, 8, 12)
GPU, CPU, ONE = "GPU", "CPU", "one thread"
SMALL, MIDDLE, LARGE = "enron_label20", "soc_slashdot0902", inputs.RMAT
OVER_CPU, OVER_CPU_DENSE, OVER_ONE = 3.0, 1.2, 5.0
STOLEN, COALESCED, NEVER_BELOW, UTILISATION = 1.2, 1.1, 0.95, 0.8
BATCHES, SHARE, OVER_LONGEST = 20, 0.01, 1.15
TRIANGLE = mf.Pattern.parse("(a)--(b)--(c)--(a)")
NO_SHARING = {"stealing": "none", "handover": "off"}
WITHOUT, AUTO = "without", "auto"
STEALING: dict[str, dict[str, str]] = {
    WITHOUT: NO_SHARING,
    AUTO: {},
    "passive": {"stealing": "passive"},
    "active": {"stealing": "active"},
    "not pooled": {"pooling": "off"},
}
WAYS: dict[str, dict[str, str]] = {
    "WBM": {"roots": "update", "orbits": "off", **NO_SHARING},
    "WBM, stealing": {"roots": "update", "orbits": "off"},
    "WBM, coalesced": {"roots": "update", **NO_SHARING},
    "WBM, both": {"roots": "update"},
    "default": {},
}
TOGETHER: dict[str, dict[str, str]] = {
    WITHOUT: {"coalesce": "off"},
    "together": {"coalesce": "on", "coalesce_without": "any"},
}
EQUIVALENT = {
    "tailed triangle": "(a)--(b)--(c)--(a), (a)--(d:1)",
    "triangle with a path": "(a)--(b)--(c:1)--(a), (a)--(d:1)--(e:0)",
    "house with a roof": "(a)--(b)--(c)--(a), (a)--(d:1)--(b), (c)--(e:1)",
}
"""Patterns whose edges are equivalent without one or two vertices."""


def batch_of(graph: mf.Graph, rate: float, core: int = 0) -> tuple[mf.Graph, Any]:
    """Return a graph and a batch of insertions."""
    first, inserted = inputs.split(graph, rate, core)
    return first, trials.Batch(inserted)


def result(name: str, found: Any, baseline: str, side: str = GPU, **figures: float) -> CaseResult:
    """Return the result of a set on one side, beside another."""
    queries = found.sides[side]
    seconds = [one.seconds for one in found.solved(side)]
    update = found.mean(side, "write_seconds") + found.mean(side, "settle_seconds")
    mean = found.mean(side)
    numbers = {
        "queries": float(len(queries)),
        "solved_share": len(seconds) / max(1, len(queries)),
        "baseline_solved_share": len(found.solved(baseline)) / max(1, len(queries)),
        "mean_seconds": mean,
        "undo_ratio": found.over(side, baseline, undo=True) or 0.0,
        "update_seconds": update,
        "update_share": update / mean if mean else 0.0,
        "answer_ms": 1e3 * found.mean(side, "answer_seconds"),
        "search_kernel_ms": 1e3 * found.mean(side, "kernel_seconds"),
        **figures,
    }
    return CaseResult(
        name,
        "batch",
        found.changes(side) if seconds else None,
        "the CPU Monitor" if CPU in found.sides else "the other ways",
        Timing.of(seconds) if seconds else None,
        BaselineTime(baseline, found.mean(baseline), len(found.solved(baseline)) < len(queries)),
        found.over(side, baseline),
        found.disagrees(),
        figures=numbers,
    )


@dataclass(frozen=True)
class Experiment:
    """Query sets on a graph, on several monitors."""

    what: str
    source: Any
    quick: bool = False

    @property
    def name(self) -> str:
        """The experiment and the graph."""
        return f"{self.what} {self.source.name}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        """Run it."""
        yield from RUNS[self.what](self.name, self.source.read())


def beside_cpu(
    name: str,
    graph: mf.Graph,
    split: tuple[mf.Graph, Any],
    sizes: Sequence[int] = (VERTICES,),
    *,
    one_thread: bool = False,
) -> Iterator[CaseResult]:
    """Compare with the CPU Monitor on all threads, and on one."""
    first, batch = split
    with ExitStack() as stack:
        sides = {CPU: trials.Side(first, "cpu"), GPU: trials.Side(first, trials.DEVICE)}
        if one_thread:
            sides[ONE] = trials.Side(first, "cpu", threads=1)
        for side in sides.values():
            stack.enter_context(side)
        for kind in inputs.KINDS:
            for vertices in sizes:
                found = trials.solve_all(sides, inputs.queries(graph, kind, vertices, QUERIES), batch)
                size = "" if vertices == VERTICES else f", {vertices} vertices"
                over_one = {"over_one_thread": found.over(GPU, ONE) or 0.0} if one_thread else {}
                yield result(f"{name}, {kind}{size}", found, CPU, updates=float(len(batch)), **over_one)


def table(name: str, graph: mf.Graph) -> Iterator[CaseResult]:
    """Run the query sets of table III."""
    yield from beside_cpu(name, graph, batch_of(graph, RATE), one_thread=True)


def sizes(name: str, graph: mf.Graph) -> Iterator[CaseResult]:
    """Vary the vertices of queries."""
    yield from beside_cpu(name, graph, batch_of(graph, RATE), SIZES)


def rates(name: str, graph: mf.Graph) -> Iterator[CaseResult]:
    """Vary the share of edges in a batch."""
    for rate in RATES:
        yield from beside_cpu(f"{name}, {rate:.0%}", graph, batch_of(graph, rate))


def density(name: str, graph: mf.Graph) -> Iterator[CaseResult]:
    """Vary where the updated edges are."""
    for core in CORES:
        yield from beside_cpu(f"{name}, {core}-core", graph, batch_of(graph, RATE, core))


def mixed(name: str, graph: mf.Graph) -> Iterator[CaseResult]:
    """Insert two edges for each that is deleted."""
    first, inserted, deleted = inputs.mixed(graph, RATE)
    yield from beside_cpu(name, graph, (first, trials.Batch(inserted, deleted)))


def in_ways(graph: mf.Graph, ways: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, Any]]:
    """Solve the query sets on the GPU in several ways, by kind."""
    first, batch = batch_of(graph, RATE)
    with ExitStack() as stack:
        sides = {
            way: stack.enter_context(trials.Side(first, trials.DEVICE, tuning=tuning))
            for way, tuning in ways.items()
        }
        for kind in inputs.KINDS:
            yield kind, trials.solve_all(sides, inputs.queries(graph, kind, VERTICES, QUERIES), batch)


def stealing(name: str, graph: mf.Graph) -> Iterator[CaseResult]:
    """Measure utilisation with and without work stealing."""
    ways = {way: {"measure": "utilisation", **tuning} for way, tuning in STEALING.items()}
    for kind, found in in_ways(graph, ways):
        for way in list(ways)[1:]:
            figures = {
                "utilisation": found.mean(way, "utilisation"),
                "utilisation_without": found.mean(WITHOUT, "utilisation"),
                "stolen": found.mean(way, "stolen"),
                "given": found.mean(way, "given"),
                "kernel_ratio": found.over(way, WITHOUT, figure="kernel_seconds") or 0.0,
            }
            yield result(f"{name}, {kind}, {way}", found, WITHOUT, way, **figures)


def ablation(name: str, graph: mf.Graph) -> Iterator[CaseResult]:
    """Switch work stealing and coalesced search on one by one."""
    for kind, found in in_ways(graph, WAYS):
        for way in list(WAYS)[1:]:
            kernels = found.over(way, "WBM", figure="kernel_seconds") or 0.0
            yield result(f"{name}, {kind}, {way}", found, "WBM", way, kernel_ratio=kernels)


def coalesced(name: str, graph: mf.Graph) -> Iterator[CaseResult]:
    """List matches with and without levels that plans share."""
    first, batch = batch_of(graph, RATE)
    with ExitStack() as stack:
        sides = {
            way: stack.enter_context(trials.Side(first, trials.DEVICE, tuning=tuning, listed=True))
            for way, tuning in TOGETHER.items()
        }
        for pattern, text in EQUIVALENT.items():
            found = trials.solve_all(sides, [mf.Pattern.parse(text)], batch)
            kernels = found.over("together", WITHOUT, figure="kernel_seconds") or 0.0
            yield result(f"{name}, {pattern}", found, WITHOUT, "together", kernel_ratio=kernels)


def memory(name: str, graph: mf.Graph) -> Iterator[CaseResult]:
    """Compare the memory of the search with the least that frontiers of a breadth-first one need."""
    first, batch = batch_of(graph, RATE)
    with trials.Side(first, trials.DEVICE) as side:
        for kind in inputs.KINDS:
            for number, query in enumerate(inputs.queries(graph, kind, VERTICES, QUERIES)):
                found = side.solve(query, batch)
                depth = side.search_bytes()
                breadth = max(
                    4.0 * len(prefix.vertices) * partial.changes[0][0]
                    for prefix in inputs.prefixes(query)
                    if (partial := side.solve(prefix, batch)).solved
                )
                yield CaseResult(
                    f"{name}, {kind} {number}",
                    "batch",
                    found.changes[0][0] if found.solved else None,
                    None,
                    None,
                    figures={"depth_first_bytes": depth, "breadth_first_bytes": breadth},
                )


def pipeline(name: str, graph: mf.Graph) -> Iterator[CaseResult]:
    """Compare runs whose batches overlap with the longest stage of each batch."""
    first, inserted = inputs.split(graph, BATCHES * SHARE)
    plain = inputs.without_labels(first)
    labels = (3 * list(graph.vertex_label_table.values))[:3]
    labelled = mf.Pattern.from_edges([(0, 1), (1, 2), (2, 0)], vertex_labels=labels)
    with TemporaryDirectory() as folder:
        stream = pipelined.Insertions.of(Path(folder, "updates.stream"), inserted, BATCHES)
        output = Path(folder, "matches.csv")
        cases = [
            pipelined.Case("triangle", plain, TRIANGLE),
            pipelined.Case("triangle, in memory", plain, TRIANGLE, in_memory=True),
            pipelined.Case("labelled triangle, listed", first, labelled, output),
        ]
        for kind in inputs.KINDS:
            queries = enumerate(inputs.queries(graph, kind, VERTICES, QUERIES))
            cases += [pipelined.Case(f"{kind} {number}", first, query) for number, query in queries]
        for case in cases:
            off, on = (pipelined.run(case, stream, trials.DEVICE, way) for way in ("off", "on"))
            yield of_pipeline(f"{name}, {case.name}", on, off)


def of_pipeline(case: str, on: Any, off: Any) -> CaseResult:
    """Return the result of a run whose batches overlap, beside one whose stages follow one another."""
    return CaseResult(
        case,
        "batch",
        sum(on.matches),
        "one stage after the other",
        Timing.of([on.seconds]),
        BaselineTime("off", off.seconds, False),
        off.seconds / on.seconds,
        on.matches != off.matches,
        figures={
            "updates": float(on.updates),
            "over_longest": on.seconds / off.stages.longest(),
            **off.stages.figures(),
        },
    )


RUNS: dict[str, Callable[[str, mf.Graph], Iterator[CaseResult]]] = {
    "table": table,
    "sizes": sizes,
    "rates": rates,
    "density": density,
    "mixed": mixed,
    "stealing": stealing,
    "ablation": ablation,
    "coalesced": coalesced,
    "memory": memory,
    "pipeline": pipeline,
}
GRAPHS = {
    "table": (SMALL, MIDDLE, LARGE),
    "sizes": (SMALL,),
    "rates": (MIDDLE,),
    "density": (MIDDLE,),
    "mixed": (MIDDLE, LARGE),
    "stealing": (SMALL, LARGE),
    "ablation": (SMALL, LARGE),
    "coalesced": (SMALL,),
    "memory": (SMALL,),
    "pipeline": (MIDDLE, LARGE),
}


def build(shared: Path) -> Suite:
    """Return the suite."""
    probes: list[Probe] = []
    for what, graphs in GRAPHS.items():
        for graph in graphs:
            if graph == LARGE or (shared / f"data/{graph}.npz").exists():
                probes.append(Experiment(what, inputs.Source(graph, shared), quick=graph == SMALL))
    return Suite("batch", (), bars, probes=probes, device=lambda: open_device(trials.DEVICE).model)


def bars(results: Sequence[CaseResult]) -> list[Bar]:
    """Return the bars that we set ourselves."""

    def of(what: str, *endings: str) -> list[CaseResult]:
        return [
            one for one in results if one.case.startswith(f"{what} ") and one.case.endswith(endings or "")
        ]

    def ratios(cases: Sequence[CaseResult]) -> list[float]:
        return [one.ratio for one in cases if one.ratio]

    def figures(cases: Sequence[CaseResult], name: str) -> list[float]:
        return [one.figures[name] for one in cases if one.figures.get(name)]

    over = f"over the CPU Monitor on {trials.THREADS} threads"
    light, dense = ratios(of("table", "sparse", "tree")), ratios(of("table", "dense"))
    one_thread = figures(of("table"), "over_one_thread")
    stolen = figures(of("stealing", AUTO), "kernel_ratio")
    coalesced = figures(of("ablation", "WBM, coalesced"), "kernel_ratio")
    overlapped = figures(of("pipeline"), "over_longest")
    busy = figures(of("stealing", f"sparse, {AUTO}", f"tree, {AUTO}"), "utilisation")
    wrong = sum(one.disagrees for one in results)
    return [
        Bar("cases that differ from the CPU Monitor", wrong, 0, "lower"),
        Bar(f"sparse and tree sets, 10 %: {over}", mean(light), OVER_CPU, "higher"),
        Bar(f"dense sets, 10 %: {over}", mean(dense), OVER_CPU_DENSE, "higher"),
        Bar("all sets, 10 %: over one thread of the CPU", mean(one_thread), OVER_ONE, "higher"),
        Bar("work stealing: the most that a set gains", max(stolen, default=None), STOLEN, "higher"),
        Bar("work stealing: the least", min(stolen, default=None), NEVER_BELOW, "higher"),
        Bar("coalesced search: the most that a set gains", max(coalesced, default=None), COALESCED, "higher"),
        Bar(
            "pipeline: the most over the longest stages", max(overlapped, default=None), OVER_LONGEST, "lower"
        ),
        Bar("coalesced search: the least", min(coalesced, default=None), NEVER_BELOW, "higher"),
        Bar(
            "utilisation, sparse and tree sets",
            sum(busy) / len(busy) if busy else None,
            UTILISATION,
            "higher",
        ),
    ]


def mean(values: Sequence[float]) -> float | None:
    """Return the geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None
