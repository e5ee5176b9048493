"""Parallel vertex matching (GENEVA): its formats, and searches beside ``engine="dfs"`` (section 8).

``motiflux bench pvm``. Needs the shared graphs (``MOTIFLUX_SHARED``). Graphs without labels are drawn 3, 5, 7
and 12 random labels of edges, and as many of vertices; wn18rr and yago_temporal have labels of edges.

``formats GRAPH``     sizes of formats (section 8.2, table 2), without a GPU; seconds for rows by intervals
``phases GRAPH``      phases of queries by matching patterns, and the time to find them; without a GPU
``search GRAPH``      time to find the rows of vertices on a GPU, by intervals and by hash tables (figure 8);
                      ``MOTIFLUX_DEVICE`` names it, default ``cuda``; left out without one, as all below are
``overall GRAPH``     ``pvm`` beside ``dfs``: ``counting`` one by one, ``listing`` at most 20 million rows as
                      ids in device memory, counting with ``closed forms`` (figure 6); figures of the first
                      say what copies of tables and kernels take (figure 7)
``pv_sv GRAPH``       phases of several vertices beside those of one, counting one by one (figure 9)
``published GRAPH``   ``pvm`` beside the same with the switches of GSI, counting one by one; each call copies
                      its tables, as in the paper, and a figure is the ratio of those that do not
``auto GRAPH``        ``engine="auto"`` beside the better one of both
``memory PATTERN``    tables of 8 and 2 times the memory that may be held, of an R-MAT graph
                      (``MOTIFLUX_RMAT``: its scale)

Nine random walks make the queries of a graph, of 4 to 12 vertices (``MOTIFLUX_QUERIES``: how many of them);
``pvm_parts/workload.py`` has the graphs. Times are wall clock of calls after the first one. Each query is
asked at least five times, in turns with what it is compared with, until the 95 % interval of the mean is
within 2 %, as in section 7.2; or twice, where ``MOTIFLUX_CASE_SECONDS``, 3 for a graph and experiment, are
over. A query that takes longer than ``MOTIFLUX_LIMIT`` seconds, 1, has not ended and has no time. Ratios are
of medians. Counts are compared with those of the CPU engine, and with each other.

Figures of sizes are bytes, or ratios to plain CSR with labels: 4 bytes for each offset, neighbour and edge
label (``labelled``); without labels of edges it is the paper's CSR (``unlabelled``). ``per_key`` are the rows
of all keys that patterns with all labels have on the device for ``dfs``, by labels of the edge and of both
ends: 8 bytes of offset for each key and vertex of the graph; ``per_partition`` are as few keys as partitions.
``vertex_*`` are sizes of the graph with labels of vertices alone, in partitions by the label of the target.
Labels of vertices are in no size.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean, mean

from motiflux.bench.machine import cpu_model
from motiflux.bench.results import Bar, CaseResult
from motiflux.bench.suite import GraphSource, Probe, Suite, load_part
from motiflux.errors import DeviceError
from motiflux.gpu.runtime.accelerator import open_accelerator

PARTS = Path(__file__).resolve().parent / "pvm_parts"
formats, search, workload, plans, experiments, memory, search_bars = (
    load_part(PARTS / f"{name}.py")
    for name in ("formats", "search", "workload", "plans", "experiments", "memory", "search_bars")
)

DEVICE = os.environ.get("MOTIFLUX_DEVICE", "cuda")
GRAPHS = ("ca_condmat", "email_enron", "wiki_vote", "facebook_mit8", "soc_slashdot0902", "web_uk2007_100k")
OWN_LABELS = ("wn18rr", "yago_temporal")
LABELS = (3, 5, 7, 12)
SPARSE = 16
"""Arcs per vertex of a sparse graph, at most: those on which the paper saves 87 to 94 % have up to 10."""


def build(shared: Path) -> Suite:
    sources = [
        *(
            formats.Labelled(name, GraphSource(shared / f"data/{name}.npz", directed=False), labels)
            for name in GRAPHS
            for labels in LABELS
        ),
        *(formats.Labelled(name, GraphSource(shared / f"data/{name}.npz")) for name in OWN_LABELS),
    ]
    probes: list[Probe] = [formats.FormatSizes(source, source.name == "ca_condmat") for source in sources]
    graphs = workload.graphs(shared)
    probes += [plans.Phases(graph, graph.name == "ca_condmat") for graph in graphs]
    if model() is not None:
        probes += [search.RowSearch(source, DEVICE) for source in sources]
        for graph in graphs:
            probes += experiments.experiments(graph, quick=graph.name == "ca_condmat")
        probes += memory.probes()
    return Suite("pvm", (), bars, probes=probes, device=lambda: model() or cpu_model())


def model() -> str | None:
    """Name the GPU; None if there is none."""
    try:
        return open_accelerator(DEVICE).device.model
    except DeviceError:
        return None


def bars(results: Sequence[CaseResult]) -> list[Bar]:
    """Return the bars of what was run."""
    sizes = [one.figures for one in results if one.case.startswith("formats ")]
    times = [one.figures["hash_over_interval"] for one in results if one.case.startswith("search ")]
    found = [Bar("sizes, rows or counts that disagree", sum(one.disagrees for one in results), 0, "lower")]
    if sizes:
        found += size_bars(sizes)
    if times:
        name = "vertex search, hash-PCSR (by warps) over interval-PCSR (by lanes), geometric mean"
        found.append(Bar(name, geometric_mean(times), 2, "higher"))
    found += search_bars.bars(results)
    return found


def size_bars(sizes: Sequence[Mapping[str, float]]) -> list[Bar]:
    """Return the bars of formats."""
    sparse = [one for one in sizes if one["arcs_per_vertex"] <= SPARSE]

    def average(values: Iterable[float]) -> float | None:
        found = list(values)
        return mean(found) if found else None

    return [
        Bar(
            "interval-PCSR over plain CSR with labels, mean",
            average(one["interval"] / one["labelled"] for one in sizes),
            1.2,
            "lower",
        ),
        Bar(
            "interval-PCSR over plain CSR, labels of vertices alone, mean",
            average(
                one["vertex_interval"] / one["vertex_labelled"] for one in sizes if "vertex_interval" in one
            ),
            1.2,
            "lower",
        ),
        Bar(
            "interval-PCSR over CSR for each key, mean",
            average(one["interval"] / one["per_key"] for one in sizes),
            0.6,
            "lower",
        ),
        Bar(
            "interval-PCSR over CSR for each edge label, mean",
            average(one["interval"] / one["per_partition"] for one in sizes),
            0.6,
            "lower",
        ),
        Bar(
            "interval-PCSR smaller than hash-PCSR, share of sparse graphs, mean",
            average(1 - one["interval"] / one["hash"] for one in sparse),
            0.8,
            "higher",
        ),
    ]
