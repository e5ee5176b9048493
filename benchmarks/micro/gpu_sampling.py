"""Samples on a GPU: ``python benchmarks/micro/gpu_sampling.py [GRAPH ...] [--samples N] [--ablation]``.

Per graph, queries of 16 vertices: those of yeast are shared, for the others two dense and two sparse
ones are drawn from the graph, always the same. Times are milliseconds of the kernel by the device's clock
for a million samples, the least of five, and in brackets wall times with the results on the host; then
valid samples in a thousand. Sixty-four groups are compared with the CPU's to the last bit.

With ``--ablation``, nanoseconds per valid sample without inheritance and streaming (O0), with inheritance
only (O1), with both (O2), with adaptive streaming and as Algorithm 3 has it, and milliseconds with iteration
synchronisation beside those with sample synchronisation, nothing inherited. With ``--setup``, what it takes
until the first sample.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import random
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import motiflux as mf
from motiflux.bench.suite import load_part
from motiflux.config import private_tuning
from motiflux.gpu.kernels.sampler import DeviceSampler
from motiflux.plan import Plan
from motiflux.plan.sampling import sampling_plan
from motiflux.request.request import Request, make_request
from motiflux.sampling.cpu_sampler import CpuSampler

random_queries = load_part(Path(__file__).resolve().parents[1] / "suite/estimate_parts/random_queries.py")

SHARED = Path(os.environ["MOTIFLUX_SHARED"])
GRAPHS = {
    "yeast": "yeast",
    "hprd": "hprd",
    "human": "human",
    "enron_label20": "enron_label20",
    "wordnet30": "wordnet30_relations",
    "slashdot": "soc_slashdot0902",
    "uk2007": "web_uk2007_100k",
}
RANDOM_LABELS = {"slashdot": 16, "uk2007": 16}
VERTICES = 16
SEED = 1611
RUNS = 5
FEWER = 8
"""Of samples over rows of the graph: a part of those over candidates."""
ESTIMATORS = ("wanderjoin", "alley", "tree")
O0 = {"inheritance": "off", "streaming": "off"}
O1 = {"streaming": "off"}
LEADER = {"streaming": "leader"}
ADAPTIVE = {"streaming": "adaptive"}
NO_BITS = {"edge_bits": "off"}
# Rows of the graph, narrowed to labels; no candidate graph.
ROWS = {"candidates": "off"}
OFF = {"inheritance": "off"}
ITERATION = {"inheritance": "off", "sync": "iteration"}


def queries(name: str, graph: mf.Graph) -> Iterator[tuple[str, mf.Pattern]]:
    """Give queries of `VERTICES` vertices with their names."""
    if name == "yeast":
        files = sorted((SHARED / "oracle/yeast/queries").glob(f"query_*_{VERTICES}_*.graph"))
        for kind in ("dense", "sparse"):
            for file in [file for file in files if kind in file.stem][:2]:
                yield file.stem.removeprefix("query_"), mf.read_pattern(file)
        return
    randomness = random.Random(f"{SEED} {name}")
    for number in range(2):
        yield f"dense_{number}", random_queries.dense_query(graph, VERTICES, randomness)
    for number in range(2):
        yield f"sparse_{number}", random_queries.sparse_query(graph, VERTICES, randomness)


def graph_of(name: str) -> mf.Graph:
    """Return a shared graph, undirected; where it has no labels, with random ones, always the same."""
    path = SHARED / f"data/{GRAPHS[name]}.npz"
    return random_queries.read_labelled(path, RANDOM_LABELS.get(name), SEED)


def request_of(tuning: dict[str, str], device: str) -> Request:
    return make_request(
        semantics="isomorphism",
        symmetry="embeddings",
        device=device,
        tuning=private_tuning(tuning),
        threads=1,
    )


def plan_of(graph: mf.Graph, pattern: mf.Pattern, request: Request) -> Plan:
    return sampling_plan(
        graph,
        pattern,
        semantics=request.semantics,
        symmetry=request.symmetry,
        threads=request.threads,
        deadline=None,
        switches=request.tuning,
    )


def measure(
    graph: mf.Graph, pattern: mf.Pattern, estimator: str, tuning: dict[str, str], samples: int, device: str
) -> tuple[float, float, int, bool]:
    """Return kernel and wall milliseconds, valid samples, and whether the CPU draws the same."""
    request = request_of(tuning, device)
    plan = plan_of(graph, pattern, request)
    if plan.impossible:
        raise SystemExit(f"{plan.impossible}")
    sampler = DeviceSampler(graph, plan, request)
    own = CpuSampler(graph, plan, request).draw(estimator, 7, 0, min(64, samples // 32))
    groups = samples // 32
    sampler.timed = True
    found = sampler.draw(estimator, 7, 0, groups)
    same = all(np.array_equal(mine[:64], theirs) for mine, theirs in zip(found, own, strict=True))
    inner, outer = [], []
    for run in range(RUNS):
        sampler.kernel_seconds = 0
        began = time.perf_counter()
        sampler.draw(estimator, run, 0, groups)
        outer.append(1000 * (time.perf_counter() - began))
        inner.append(1000 * sampler.kernel_seconds)
    sampler.close()
    return min(inner), min(outer), int(found.valid.sum()), same


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graph", nargs="*", choices=[[], *GRAPHS], default=[])
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--ablation", action="store_true")
    parser.add_argument("--setup", action="store_true")
    given = parser.parse_args()
    ratios: dict[str, list[float]] = {}
    for name in given.graph or GRAPHS:
        graph = graph_of(name)
        for query, pattern in queries(name, graph):
            if given.setup:
                setup(name, query, graph, pattern, given.device)
            line = f"{name:<14}{query:<15}"
            for estimator in ESTIMATORS:
                inner, outer, valid, same = measure(
                    graph, pattern, estimator, {}, given.samples, given.device
                )
                share = 1000 * valid / given.samples
                line += f" | {inner:7.3f} ({outer:7.3f}) {share:7.2f}{'' if same else ' DIFFERS'}"
            print(line, flush=True)
            if given.ablation:
                ablation(graph, pattern, given.samples, given.device, ratios)
    for what, several in ratios.items():
        least, mean, most = min(several), math.exp(statistics.fmean(map(math.log, several))), max(several)
        print(f"{what:<54} {least:6.2f} to {most:6.2f}, geometric mean {mean:6.2f}, of {len(several)}")


def ablation(
    graph: mf.Graph, pattern: mf.Pattern, samples: int, device: str, ratios: dict[str, list[float]]
) -> None:
    """Print one line per estimator, and note ratios."""
    for estimator in ("wanderjoin", "alley"):
        per_valid, whole, line = {}, {}, f"    {estimator:<12}"
        named = {"O0": O0, "O1": O1, "off": OFF, "iteration": ITERATION}
        if estimator == "alley":
            named |= {
                "O2": {},
                "adaptive": ADAPTIVE,
                "leader": LEADER,
                "no bits": NO_BITS,
                "O1 rows": O1 | ROWS,
                "adaptive rows": ADAPTIVE | ROWS,
                "leader rows": LEADER | ROWS,
                "O2 rows": ROWS,
            }
        for what, tuning in named.items():
            count = samples // FEWER if "rows" in what else samples
            inner, _, valid, same = measure(graph, pattern, estimator, tuning, count, device)
            per_valid[what], whole[what] = (1e6 * inner / valid if valid else math.nan), inner
            line += f" | {what} {inner:8.3f} ms {per_valid[what]:10.2f}{'' if same else ' DIFFERS'}"
        print(line, flush=True)
        for what, slow, fast, of in (
            ("inheritance, per valid sample", "O0", "O1", per_valid),
            ("streaming packed, per valid sample", "O1", "O2", per_valid),
            ("streaming adaptive, per valid sample", "O1", "adaptive", per_valid),
            ("streaming leader, per valid sample", "O1", "leader", per_valid),
            ("the same over rows of the graph, packed", "O1 rows", "O2 rows", per_valid),
            ("... adaptive", "O1 rows", "adaptive rows", per_valid),
            ("... leader", "O1 rows", "leader rows", per_valid),
            ("both, per valid sample", "O0", "O2", per_valid),
            ("bits", "no bits", "O2", whole),
            ("iteration over sample", "iteration", "off", whole),
        ):
            ratio = of.get(slow, math.nan) / of.get(fast, math.nan)
            if math.isfinite(ratio):
                ratios.setdefault(f"{estimator}: {what}", []).append(ratio)


def setup(name: str, query: str, graph: mf.Graph, pattern: mf.Pattern, device: str) -> None:
    """Print what a new query takes until it can be sampled: the plan, the first draw, the next one."""
    request = request_of({}, device)
    began = time.perf_counter()
    plan = plan_of(graph, pattern, request)
    planned = time.perf_counter()
    sampler = DeviceSampler(graph, plan, request)
    times = [planned]
    for _ in range(3):
        sampler.draw("alley", 7, 0, 32)
        times.append(time.perf_counter())
    first, again, third = (1000 * (b - a) for a, b in itertools.pairwise(times))
    copied = sum(one.nbytes for one in sampler._loader._copies._kept.values())
    print(
        f"{name:<14}{query:<15} plan {1000 * (planned - began):8.2f} ms, first draw {first:8.2f} "
        f"(compiled and all), again {again:6.3f}, {third:6.3f} ms; {copied:,} bytes on the device"
    )
    sampler.close()


if __name__ == "__main__":
    main()
