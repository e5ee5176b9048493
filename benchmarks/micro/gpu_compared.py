"""Comparisons on a device beside the CPU: ``python benchmarks/micro/gpu_compared.py [--only TEXT]``.

The transfers and queries are those of ``motiflux bench temporal``; ``--transfers`` is their number. For each
query: the count; milliseconds of the kernel by the device's clock, for groups of 8, 16 and 32 lanes, and for
16 lanes without windows; the wall time of a call after the first; that of the CPU on ``--threads`` threads.
Medians of ``--runs`` launches. A count that differs from the CPU's is marked. ``--repeated`` draws 100 copies
of each edge. With ``--device emulated`` and the emulator in MOTIFLUX_DEVICES, only counts mean something.

What to look at: kernels against the CPU's times 16; 8 and 32 lanes against 16, which is the default; windows
against none at hubs; and whether kernels of a shape (``--specialize on``) gain anything, as comparisons are
read from the argument in both.
"""

from __future__ import annotations

import argparse
import statistics
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gpu_jobs import DfsEngine, open_engine, search_job

import motiflux as mf
from motiflux.bench.machine import commit, versions
from motiflux.bench.results import CaseResult, Report, write_report
from motiflux.bench.suite import load_part
from motiflux.codegen.compared import why_not
from motiflux.config import private_tuning
from motiflux.gpu.runtime.accelerator import open_accelerator
from motiflux.plan.planner import make_plan
from motiflux.request.request import make_request

PARTS = Path(__file__).resolve().parents[1] / "suite" / "temporal_parts"
probes, queries = load_part(PARTS / "probes.py"), load_part(PARTS / "queries.py")

WAYS = {
    "8 lanes": {"lanes": "8"},
    "16 lanes": {"lanes": "16"},
    "32 lanes": {"lanes": "32"},
    "no windows": {"lanes": "16", "copy_windows": "off"},
}


def kernel(
    engine: DfsEngine,
    graph: mf.Graph,
    pattern: mf.Pattern,
    options: argparse.Namespace,
    switches: dict[str, str],
) -> tuple[int | None, float]:
    """Return the count and the milliseconds of the kernel; None if it took too long or gave up."""
    request = make_request(
        semantics="isomorphism",
        symmetry="embeddings",
        device=options.device,
        tuning=private_tuning({"specialize": options.specialize, **switches}),
    )
    plan = make_plan(graph, pattern, tuning=request.tuning, copy_walks=False)
    if plan.impossible is not None:
        return 0, 0.0
    assert plan.comparisons is not None
    if why_not(plan.comparisons) is not None:
        return None, 0.0
    times, found = [], None
    for _ in range(options.runs):
        with search_job(engine, graph, plan, request) as search:
            start = time.perf_counter()
            search.launch()
            while not search.done():
                if time.perf_counter() - start > options.longest:
                    search.stop_and_wait()
                    return None, 1000 * options.longest
            times.append(1000 * search.timer.seconds())
            result = search.result()
            found = None if result.overflow else result.found * plan.multiplier
    return found, statistics.median(times)


def call(graph: mf.Graph, pattern: mf.Pattern, runs: int, **options: Any) -> tuple[mf.Count, float]:
    """Return a count, and the median of the milliseconds of calls after the first."""
    found, times = mf.count(graph, pattern, **options), []
    for _ in range(runs):
        start = time.perf_counter()
        found = mf.count(graph, pattern, **options)
        times.append(1000 * (time.perf_counter() - start))
    return found, statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--transfers", type=int, default=2_000_000)
    parser.add_argument("--repeated", action="store_true")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--longest", type=float, default=10.0)
    parser.add_argument("--specialize", choices=("off", "on"), default="off")
    parser.add_argument("--out", type=Path, help="folder of the results")
    options = parser.parse_args()
    made = probes.repeated(options.transfers) if options.repeated else probes.generator(options.transfers)
    _, graph = probes.loaded(made)
    engine = open_engine([options.device])
    print(f"{len(WAYS)} ways, {graph.num_edge_copies:,} transfers, device {options.device}")
    print(f"{'query':36} {'count':>14}" + "".join(f"{way:>12}" for way in (*WAYS, "call", "CPU")))
    cases: list[CaseResult] = []
    for name, text in queries.QUERIES.items():
        if options.only not in name:
            continue
        pattern = mf.Pattern.parse(text)
        expected, host = call(
            graph, pattern, options.runs, device="cpu", threads=options.threads, timeout=options.longest
        )
        marks, cells, figures = "", "", {}
        for way, switches in WAYS.items():
            found, milliseconds = kernel(engine, graph, pattern, options, switches)
            marks += (
                "" if found is None or not expected.complete or found == expected else f" {way}: {found}!"
            )
            cells += f"{'-' if found is None else f'{milliseconds:.3f}':>12}"
            if found is not None:
                figures[f"{way}: kernel_ms"] = milliseconds
        tuning = {"specialize": options.specialize}
        _, whole = call(
            graph, pattern, options.runs, device=options.device, tuning=tuning, timeout=options.longest
        )
        print(f"{name:36} {int(expected):14,}{cells}{whole:12.3f}{host:12.3f}{marks}", flush=True)
        figures |= {"call_ms": whole, "cpu_ms": host, "threads": float(options.threads)}
        checked = f"DISAGREES:{marks}" if marks else "engine cpu" if expected.complete else None
        cases.append(CaseResult(name, "dfs", int(expected), checked, None, figures=figures))
    if options.out is not None:
        print(write_report(report(options.device, options.repeated, cases), options.out))


def report(device: str, repeated: bool, cases: list[CaseResult]) -> Report:
    """Return the results."""
    return Report(
        suite="gpu-compared-repeated" if repeated else "gpu-compared",
        commit=commit(Path.cwd()),
        date=datetime.now(UTC).date().isoformat(),
        device=open_accelerator(device).device.model,
        versions=versions(("motiflux", "numpy")),
        cases=cases,
    )


if __name__ == "__main__":
    main()
