"""Estimates by sampling: how near, how sure, how fast (gSWORD, section 6).

``motiflux bench estimate``. Needs the shared graphs (``MOTIFLUX_SHARED``). Counts are from the oracle or the
CPU engine, which gets ten seconds for each. A q-error is the greater of estimate / count and
count / estimate, both at least 1. Seconds are CPU time of one thread, planning included where the case says
"first call".

* yeast: the shared queries, estimated under ten seeds each.
* tables: queries drawn from each graph, always the same; milliseconds are those of a million samples.
* ablations: of the tables' largest queries.
* trawling: queries of which hardly a sample in 100,000 is an embedding if none inherits
  (`benchmarks/queries/trawl_*`), with and without, inheritance on and off. On a machine without a GPU there
  is nothing for the searches to hide behind: the time they add is all of their CPU time.

Where a GPU is, also cases whose names begin with ``gpu`` (``--only gpu`` runs these alone): they take under
four minutes, after which the rest is left out. A million samples each; seconds are those of the kernels by
the device's clock, or of calls by the wall clock where the case says "call". Counts are committed. Groups are
compared with the CPU's to the last bit: a case whose groups differ has a wrong count.

``gpu time``       each estimator on queries of 16 vertices, over candidates and over rows of the graph
``gpu ablation``   without inheritance and streaming (O0), with inheritance (O1), with both (O2), other ways
                   to stream; lanes that go on alone (iteration synchronisation); over our candidates, and as
                   the paper has them: by label and degree only, in QuickSI's order, edges not as bits
``gpu yeast``      the shared queries: a first call, planning included, under several seeds
``gpu trawl``      the queries that samples hardly answer, nothing inherited, without trawling and with it, by
                   the wall clock: 1, 16 and 64 million samples, and what parts of the call took
``gpu sweep``      the same by the number of threads
"""

from __future__ import annotations

import statistics
from pathlib import Path

from motiflux.bench.machine import cpu_model
from motiflux.bench.results import Bar
from motiflux.bench.suite import Probe, Suite, load_part

PARTS = Path(__file__).resolve().parent / "estimate_parts"
common = load_part(PARTS / "common.py")
cpu = load_part(PARTS / "cpu.py")
trawls = load_part(PARTS / "trawls.py")
gpu = load_part(PARTS / "gpu.py")

MILLISECONDS = 80.0


def build(shared: Path) -> Suite:
    measured = common.Measured()
    graphs, sizes = common.GRAPHS, common.SIZES
    probes: list[Probe] = [cpu.Yeast(shared, measured)]
    probes += [
        cpu.Table(shared, name, size, kind) for name in graphs for size in sizes for kind in sizes[size]
    ]
    probes += [cpu.Ablation(shared, name, kind) for name in graphs for kind in sizes[16]]
    probes += [trawls.Trawling(shared, name, measured) for name in common.trawl_counts()]
    probes += [trawls.Sweep(shared, name) for name in common.SWEPT]
    there = gpu.has_gpu()
    if there:
        probes += gpu.probes(shared)
    return Suite(
        "estimate",
        (),
        lambda results: [*bars(measured), *gpu.bars(results)],
        probes=probes,
        device=gpu.model if there else cpu_model,
    )


def bars(measured: common.Measured) -> list[Bar]:
    """Hold what was measured on the CPU against the targets; what was not run has no bar."""
    found = []
    if measured.errors:
        found += [
            Bar("yeast: 95 % intervals that hold the count", common.mean(measured.covered), 0.93, "higher"),
            Bar("yeast: median q-error", statistics.median(measured.errors), 1.1, "lower"),
            Bar("yeast: largest q-error", max(measured.errors), 2.0, "lower"),
            Bar(
                "yeast: slowest estimate, first call, ms of CPU",
                1000 * max(measured.seconds),
                MILLISECONDS,
                "lower",
            ),
        ]
    for what, cuts in measured.cuts.items():
        estimator, inheritance, way = what
        # Where dead samples inherit, more than one in 100,000 are embeddings.
        if inheritance == "off" and way == "trawled":
            slower = measured.slower[what]
            text = f"of hard queries, {estimator}, nothing inherited, trawled over not"
            mean = common.geometric_mean
            found += [
                Bar(f"{text}: cut of the geometric mean q-error", mean(cuts), 100, "higher"),
                Bar(f"{text}: CPU time, geometric mean", mean(slower), 1.1, "lower"),
                Bar(f"{text}: CPU time, worst", max(slower), 1.1, "lower"),
            ]
    return found
