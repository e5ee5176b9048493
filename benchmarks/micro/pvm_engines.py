"""Both engines and the choice between them, query by query: ``pvm_engines.py [GRAPH ...] [--out FOLDER]``.

The queries of the suite ``pvm`` on graphs whose names begin so, all by default: milliseconds of a warm count
by ``dfs``, by ``pvm`` and by ``engine="auto"`` once it has compared them, the least of up to ten calls in
.12 s, those of the kernels, and seconds of the first call; with closed forms, and for the two engines without
(``one by one``). Where the better engine takes 1 ms or more, ``auto`` over the better one ends the line; the
geometric mean and the most of it are the last line. The exit code is 1 if counts differ. ``--seconds`` ends
it early.
"""

from __future__ import annotations

import argparse
import math
import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import motiflux as mf
from motiflux.bench.machine import commit, versions
from motiflux.bench.measure import wall_clock
from motiflux.bench.results import CaseResult, Report, write_report
from motiflux.bench.suite import load_part
from motiflux.gpu.runtime.accelerator import open_accelerator
from motiflux.gpu.runtime.kernel_times import taking_times

PARTS = Path(__file__).resolve().parents[1] / "suite/pvm_parts"
SHARED = Path(os.environ.get("MOTIFLUX_SHARED", "../shared"))
SECONDS, CALLS, COMPARED = 0.12, 10, 4
LEAST_MS = 1.0
workload, trials = (load_part(PARTS / f"{part}.py") for part in ("workload", "trials"))
WAYS = {
    "dfs": trials.Way("dfs"),
    "pvm": trials.Way("pvm"),
    "auto": trials.Way("auto"),
    "dfs, one by one": trials.Way("dfs", trials.ENUMERATE),
    "pvm, one by one": trials.Way("pvm", trials.ENUMERATE),
}


def measured(graph: mf.Graph, pattern: mf.Pattern, way: Any) -> tuple[Any, dict[str, float]]:
    """Return the answer and the figures of one way."""
    begun = wall_clock()
    answer, _ = trials.warm(graph, pattern, way)
    first = wall_clock() - begun
    if answer.count is None:
        return answer, {"first_s": first}
    for _ in range(COMPARED if way.engine == "auto" else 0):
        answer = trials.ask(graph, pattern, way)
        trials.settle()
    calls, kernels = [], []
    until = wall_clock() + SECONDS
    while len(calls) < 2 or (len(calls) < CALLS and wall_clock() < until):
        with taking_times() as times:
            began = wall_clock()
            answer = trials.ask(graph, pattern, way)
            calls.append(1e3 * (wall_clock() - began))
        kernels.append(1e3 * times.total)
    return answer, {"ms": min(calls), "kernels_ms": min(kernels), "first_s": first}


def cases(graphs: list[str], seconds: float) -> Iterator[tuple[CaseResult, float | None]]:
    """Yield a result for each query, and how many times the better engine ``auto`` takes, if it counts."""
    until = time.monotonic() + seconds
    for source in workload.graphs(SHARED):
        if graphs and not source.case.startswith(tuple(graphs)):
            continue
        data = workload.read(source)
        for query in sorted(workload.queries(source), key=lambda one: one.count or math.inf):
            if time.monotonic() > until:
                return
            found = {name: measured(data, query.pattern, way) for name, way in WAYS.items()}
            times = {name: figures.get("ms") for name, (_, figures) in found.items()}
            counts = {answer.count for answer, _ in found.values()} - {None}
            best = min((times[name] for name in ("dfs", "pvm") if times[name]), default=math.inf)
            over = times["auto"] / best if times["auto"] and math.inf > best >= LEAST_MS else None
            case = f"{source.case}, {query.name}"
            figures = {
                f"{name}: {what}": value for name, (_, of) in found.items() for what, value in of.items()
            }
            text = "  ".join(
                f"{name} {'-' if value is None else f'{value:.2f}'}" for name, value in times.items()
            )
            engine = found["auto"][0].engine
            print(f"{case:36} {text}  auto: {engine}{'' if over is None else f' {over:.2f}'}", flush=True)
            count = min(counts, default=None)
            yield (
                CaseResult(
                    case, engine, count, "each other", None, disagrees=len(counts) > 1, figures=figures
                ),
                over,
            )


def main() -> int:
    """Measure, and print a line for each query."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("graphs", nargs="*")
    parser.add_argument("--seconds", type=float, default=150.0)
    parser.add_argument("--out", type=Path, help="folder of the results")
    given = parser.parse_args()
    found = list(cases(given.graphs, given.seconds))
    ratios = [over for _, over in found if over is not None]
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"auto over the better engine, {len(ratios)} queries: mean {mean:.2f}, most {max(ratios):.2f}")
    results = [one for one, _ in found]
    if given.out is not None:
        report = Report(
            suite="pvm-engines",
            commit=commit(Path.cwd()),
            date=datetime.now(UTC).date().isoformat(),
            device=open_accelerator(trials.DEVICE).device.model,
            versions=versions(("motiflux", "numpy")),
            cases=results,
        )
        print(write_report(report, given.out))
    wrong = [one.case for one in results if one.disagrees]
    print("counts differ: " + ", ".join(wrong) if wrong else "all counts agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
