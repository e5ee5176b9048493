"""How well and how fast counts are estimated on the shared yeast queries.

    python benchmarks/micro/estimate.py errors [--samples N] [--seeds N]    q-errors and CPU milliseconds
    python benchmarks/micro/estimate.py coverage [--groups N] [--runs N]    how often intervals hold the count
    python benchmarks/micro/estimate.py orders         error times root of time, by order and estimator
    python benchmarks/micro/estimate.py inheritance    the same with and without inheritance
    python benchmarks/micro/estimate.py cycles         the same by the cycles that arcs must close

Times are process CPU time on one thread, planning and pilot included where `estimate` is called.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.cpu.sampling import ESTIMATORS, draw_groups, sample_graph
from motiflux.plan.sampling import sampling_plan
from motiflux.result.sample_groups import Groups
from motiflux.statistics import GROUP, UNIT_BITS, Tally, confidence_interval
from motiflux.types import Semantics, Symmetry

SHARED = Path(os.environ.get("MOTIFLUX_SHARED", Path(__file__).resolve().parents[3] / "shared"))


def queries() -> Iterator[tuple[str, Any, int]]:
    """Yield the name, pattern and count of each query whose count is known."""
    folder = SHARED / "oracle" / "yeast"
    counts = json.loads((folder / "embeddings.json").read_text())
    for name in sorted(counts, key=lambda name: (int(name.split("_")[2]), name)):
        if counts[name] is not None:
            yield name[6:-6], mf.read_pattern(folder / "queries" / name), int(counts[name])


def q_error(estimate: float, count: int) -> float:
    """Return by which factor an estimate is off, floored at 1."""
    value = max(estimate, 1.0)
    return max(value / count, count / value)


def errors(graph: Any, samples: int, seeds: int) -> None:
    """Print q-errors of `estimate` and its time."""
    worst, all_errors, covered = 0.0, [], []
    for name, pattern, count in queries():
        found, times = [], []
        for seed in range(seeds):
            fresh = mf.read_graph(SHARED / "data" / "yeast.npz") if seed == 0 else graph
            started = time.process_time()
            found.append(mf.estimate(fresh, pattern, rel_error=0.02, samples=samples, seed=seed, threads=1))
            times.append(time.process_time() - started)
        off = [q_error(one.value, count) for one in found]
        covered += [one.low <= count * (1 + 1e-9) and count <= one.high * (1 + 1e-9) for one in found]
        all_errors += off
        worst = max(worst, max(off))
        chosen = ",".join(sorted({one.estimator for one in found}))
        print(f"{name:14} q {np.median(off):.3f} max {max(off):.3f}  {1e3 * np.median(times):5.1f} ms"
              f" max {1e3 * max(times):5.1f}  {chosen}")  # fmt: skip
    print(
        f"q-error median {np.median(all_errors):.3f}, max {worst:.3f}; intervals hold {np.mean(covered):.3f}"
    )


def drawn(graph: Any, pattern: Any, estimator: str, groups: int, **tuning: str) -> tuple[Groups, float]:
    """Return groups of samples and the seconds that they took."""
    switches = private_tuning(tuning)
    plan = sampling_plan(
        graph,
        pattern,
        semantics=Semantics.ISOMORPHISM,
        symmetry=Symmetry.EMBEDDINGS,
        threads=1,
        deadline=None,
        switches=switches,
    )
    candidates = sample_graph(graph, plan, 1)
    candidates.grow_tree()
    started = time.process_time()
    found = draw_groups(
        candidates,
        estimator=estimator,
        inheritance=switches["inheritance"],
        seed=11,
        first=0,
        count=groups,
        threads=1,
    )
    return found, time.process_time() - started


def coverage(graph: Any, groups: int, runs: int) -> None:
    """Print how often intervals of so many groups hold the count."""
    for estimator in ESTIMATORS:
        shares = {}
        for name, pattern, count in queries():
            found, _ = drawn(graph, pattern, estimator, groups * runs)
            held = 0
            for run in range(runs):
                part = slice(run * groups, (run + 1) * groups)
                tally = Tally()
                tally.add(*(column[part] for column in found))
                interval = confidence_interval(tally.moments(), 0.95)
                held += interval.low <= count * (1 + 1e-9) and count <= interval.high * (1 + 1e-9)
            shares[name] = held / runs
        least = min(shares, key=lambda name: shares[name])
        print(f"{estimator:10} {np.mean(list(shares.values())):.3f}, least {shares[least]:.3f} ({least})")


def efficiency(graph: Any, switch: str, values: tuple[str, ...]) -> None:
    """Print the error of one second, for each value of a switch: geometric means over the queries."""
    for value in values:
        for estimator in ESTIMATORS:
            logs, lost = [], 0
            for _, pattern, count in queries():
                found, seconds = drawn(graph, pattern, estimator, 4000, **{switch: value})
                means = np.ldexp(found.weights, UNIT_BITS) / GROUP / count
                lost += means.sum() == 0
                logs.append(np.log(means.std() * (seconds / 4000) ** 0.5 + 1e-6))
            print(f"{switch}={value:8} {estimator:10} {np.exp(np.mean(logs)):.5f}, nothing found: {lost}")


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["errors", "coverage", "orders", "inheritance", "cycles"])
    parser.add_argument("--samples", type=int, default=90_000)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--groups", type=int, default=512)
    parser.add_argument("--runs", type=int, default=100)
    given = parser.parse_args()
    graph = mf.read_graph(SHARED / "data" / "yeast.npz")
    if given.what == "errors":
        errors(graph, given.samples, given.seeds)
    elif given.what == "coverage":
        coverage(graph, given.groups, given.runs)
    elif given.what == "orders":
        efficiency(graph, "sample_order", ("cost", "quicksi", "plan"))
    elif given.what == "cycles":
        efficiency(graph, "cycles", ("0", "3", "4"))
    else:
        efficiency(graph, "inheritance", ("spread", "one", "off"))


if __name__ == "__main__":
    main()
