"""What each switch of ``engine="pvm"`` changes on a GPU: ``python benchmarks/micro/pvm_switches.py``.

Queries of the workload of ``motiflux bench pvm`` are counted by ``dfs``, and by phases with each switch that
makes the engine what it is compared with, alone and together. A line that begins with ``DIFFERS`` names
counts that differ, and the exit code is then 1. A table follows: for each switch, the geometric mean over the
queries of its time by that of no switch, the least of five warm calls in turns, with tables on the device,
and with tables that each call copies. ``--seconds`` is for the checks, most of them for compiling kernels,
and half as many are for the times: what is left then is left out, and the numbers of queries say so.
``MOTIFLUX_QUERIES`` is the number of queries of a graph, 3. ``--device emulated`` checks without a GPU.
Writes ``pvm-switches-<device>-<date>.json`` into the folder that ``--out`` names, ``benchmarks/results``.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import motiflux as mf
from motiflux.bench.machine import commit, versions
from motiflux.bench.measure import wall_clock
from motiflux.bench.results import Bar, CaseResult, Report, write_report
from motiflux.bench.suite import load_part
from motiflux.config import private_tuning
from motiflux.gpu.runtime.accelerator import open_accelerator

PARTS = Path(__file__).resolve().parents[1] / "suite/pvm_parts"
SHARED = Path(os.environ.get("MOTIFLUX_SHARED", "../shared"))
GSI = {"pvm": "sv", "pvm_rows": "hash", "pvm_filter": "on", "pvm_writes": "two_pass"}
WAYS: Mapping[str, Mapping[str, str]] = {
    "none": {},
    "GSI": GSI,
    "sv": {"pvm": "sv"},
    "hash": {"pvm_rows": "hash"},
    "filter": {"pvm_filter": "on"},
    "two passes": {"pvm_writes": "two_pass"},
    "nested": {"pvm_generation": "nested"},
    "unrenamed": {"pvm_rows": "unrenamed"},
    "round robin": {"pvm_distribution": "round_robin"},
    "not fused": {"pvm_fused": "off"},
    "GSI, not fused": {**GSI, "pvm_fused": "off"},
}
"""Switches by the name of a line."""
ASKED = (("isomorphism", True), ("isomorphism", False), ("induced", True), ("homomorphism", True))
"""Kinds of embeddings, and whether they are counted one by one."""
RUNS, LONGEST, MOST = 5, 5.0, 10**8


def main() -> int:
    """Check, then time; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("graphs", nargs="*", default=["ca_condmat", "wn18rr"])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    options = parser.parse_args()
    os.environ["MOTIFLUX_DEVICE"] = options.device
    os.environ.setdefault("MOTIFLUX_QUERIES", "3")
    workload, trials = (load_part(PARTS / f"{name}.py") for name in ("workload", "trials"))
    asked = [
        (workload.read(graph), query)
        for graph in workload.graphs(SHARED)
        if graph.name in options.graphs
        for query in workload.queries(graph)
    ]
    number, differ = checked(trials, asked, options.seconds)
    found = timed(trials, asked, options.seconds / 2)
    print(write_report(report(options.device, number, differ, found), options.out))
    return int(differ > 0)


def report(
    device: str, number: int, differ: int, found: Mapping[str, Sequence[tuple[float, float]]]
) -> Report:
    """Return the results: the means of each line, and how many counts differ."""
    cases = [CaseResult("counts compared", "pvm", number, "engine dfs", None)]
    for name, ratios in found.items():
        if ratios:
            resident, copied = map(geometric_mean, zip(*ratios, strict=True))
            figures = {"resident": resident, "copied": copied, "queries": float(len(ratios))}
            cases.append(CaseResult(f"switch {name}", "pvm", None, None, None, figures=figures))
    return Report(
        suite="pvm-switches",
        commit=commit(Path.cwd()),
        date=datetime.now(UTC).date().isoformat(),
        device=open_accelerator(device).device.model,
        versions=versions(("motiflux", "numpy")),
        cases=cases,
        bars=[Bar("counts that differ from those of dfs", differ, 0, "lower")],
    )


def checked(trials: Any, asked: list[tuple[mf.Graph, Any]], seconds: float) -> tuple[int, int]:
    """Compare counts with those of ``dfs``; return how many were compared, and how many differ."""
    end, number, differ = wall_clock() + seconds, 0, 0
    known: dict[tuple[int, str, bool], mf.Count] = {}
    for (name, own), (semantics, single), (at, (graph, query)) in product(
        WAYS.items(), ASKED, enumerate(asked)
    ):
        if wall_clock() > end:
            break
        ending = trials.ENUMERATE if single else {}

        def count(engine: str, tuning: Mapping[str, str]) -> mf.Count:
            return mf.count(
                graph,  # noqa: B023 - called at once
                query.pattern,  # noqa: B023
                device=trials.DEVICE,
                engine=engine,
                semantics=semantics,  # noqa: B023
                timeout=LONGEST,
                limit=MOST,
                tuning=private_tuning(tuning),
            )

        if (key := (at, semantics, single)) not in known:
            known[key] = count("dfs", ending)
        found, expected = count("pvm", {**ending, **own}), known[key]
        if all(one.complete or one == MOST for one in (found, expected)):
            number += 1
            if found != expected or found.engine != "pvm":
                differ += 1
                print(
                    f"DIFFERS: {query.name} {semantics} {name}: {found} by {found.engine}, {expected} by dfs"
                )
    total = len(WAYS) * len(ASKED) * len(asked)
    print(f"{number} of {total} counts compared with dfs, {differ} differ", flush=True)
    return number, differ


def timed(
    trials: Any, asked: list[tuple[mf.Graph, Any]], seconds: float
) -> Mapping[str, Sequence[tuple[float, float]]]:
    """Print what switches take; return it for each query, with tables on the device and copied."""
    end = wall_clock() + seconds
    ratios: dict[str, list[tuple[float, float]]] = {name: [] for name in WAYS}
    for graph, query in asked:
        if wall_clock() > end:
            break
        resident, copied = (times(trials, graph, query, copies=copies) for copies in (False, True))
        if "none" in resident and "none" in copied:
            for name in resident.keys() & copied.keys():
                ratios[name].append((resident[name] / resident["none"], copied[name] / copied["none"]))
    print(f"{'switch':16} {'resident':>9} {'copied':>9} {'queries':>8}")
    for name, found in ratios.items():
        if found:
            resident_mean, copied_mean = map(geometric_mean, zip(*found, strict=True))
            print(f"{name:16} {resident_mean:9.2f} {copied_mean:9.2f} {len(found):8}")
    return ratios


def times(trials: Any, graph: mf.Graph, query: Any, *, copies: bool) -> dict[str, float]:
    """Return the least time of each way that ends within the limit."""
    ways = {name: trials.Way("pvm", {**trials.ENUMERATE, **own}) for name, own in WAYS.items()}
    ended = [
        name for name, way in ways.items() if trials.warm(graph, query.pattern, way)[0].count is not None
    ]
    taken: dict[str, list[float]] = {name: [] for name in ended}
    for _ in range(RUNS):
        for name in ended:
            if copies:
                trials.forget_tables(graph)
            begun = wall_clock()
            trials.ask(graph, query.pattern, ways[name])
            taken[name].append(wall_clock() - begun)
    return {name: min(seconds) for name, seconds in taken.items()}


if __name__ == "__main__":
    sys.exit(main())
