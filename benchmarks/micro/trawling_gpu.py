"""Trawling beside a GPU, by its number of slots: ``python benchmarks/micro/trawling_gpu.py [--seconds 150]``.

The hard queries (`benchmarks/queries/trawl_*`), of which few samples are embeddings. Per query, estimator and
number of samples, these ways to estimate:

``off``           samples only
``auto``          trawled, one slot per 1,024 samples
``64``, ``512``   trawled, so many slots per batch (``auto``: 163)
``off, as long``  samples only, so many more that they take the time of ``auto``

A row has, per way: wall milliseconds of a call (median over the seeds; planned and compiled before), valid
samples, the q-error (geometric mean over the seeds; an estimate of 0 counts as 1) and the number of slots. At
the end: geometric means over the queries.

Queries are measured one after another until `--seconds` have passed; the rest is left out.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import motiflux as mf
from motiflux.bench.suite import load_part

SHARED = Path(os.environ["MOTIFLUX_SHARED"])
common = load_part(Path(__file__).resolve().parents[1] / "suite/estimate_parts/common.py")

MILLION = 1_000_000
CASES = (("wanderjoin", "off", 16), ("alley", "off", 16), ("wanderjoin", "off", 64), ("alley", "spread", 16))
"""Estimator, inheritance and millions of samples."""
SEEDS = 5
WAYS = {
    "off": {"trawling": "off"},
    "auto": {"trawling": "on"},
    "64": {"trawling": "on", "trawl_samples": "64"},
    "512": {"trawling": "on", "trawl_samples": "512"},
}
MOST_TIMES = 40.0
"""Most samples of ``off, as long``, as a multiple."""


class Measured(NamedTuple):
    """Calls of one way, under several seeds."""

    milliseconds: float
    q_error: float
    valid: float
    slots: float

    def __str__(self) -> str:
        slots = f" slots {self.slots:.0f}" if self.slots else ""
        return f"{self.milliseconds:7.1f} ms  valid {self.valid:8.0f}  q {self.q_error:11.4g}{slots}"


def measure(
    query: str, estimator: str, tuning: Mapping[str, str], samples: int, device: str, seeds: int
) -> Measured:
    """Return what `seeds` calls took and how far off they were; the first, untimed, plans and compiles."""
    graph, pattern = common.trawl_query(SHARED, query)
    count = common.trawl_counts()[query]

    def once(seed: int, number: int) -> mf.Estimate:
        return mf.estimate(
            graph, pattern, estimator=estimator, samples=number, seed=seed, device=device, tuning=tuning
        )

    once(0, 2048)
    times, found = [], []
    for seed in range(seeds):
        start = time.perf_counter()
        found.append(once(seed, samples))
        times.append(1000 * (time.perf_counter() - start))
    return Measured(
        statistics.median(times),
        common.geometric_mean([common.q_error(one.value, count) for one in found]),
        statistics.fmean(one.valid_samples for one in found),
        statistics.fmean(0 if one.trawled is None else one.trawled.slots for one in found),
    )


def measure_query(
    query: str, estimator: str, inheritance: str, samples: int, device: str, seeds: int
) -> dict[str, Measured]:
    """Return the measurements of all ways."""
    base = {"inheritance": inheritance}
    found = {
        way: measure(query, estimator, base | switches, samples, device, seeds)
        for way, switches in WAYS.items()
    }
    times = found["auto"].milliseconds / found["off"].milliseconds
    number = int(samples * min(max(times, 1.0), MOST_TIMES))
    found["off, as long"] = measure(query, estimator, base | WAYS["off"], number, device, seeds)
    return found


def print_means(case: str, rows: list[dict[str, Measured]]) -> None:
    """Print geometric means over the queries."""
    print(f"== {case}: geometric means of {len(rows)} queries")
    for way in rows[0]:
        milliseconds = common.geometric_mean([row[way].milliseconds for row in rows])
        error = common.geometric_mean([row[way].q_error for row in rows])
        print(f"   {way:14} {milliseconds:8.2f} ms  q {error:11.4g}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=150.0)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the numbers of samples")
    given = parser.parse_args()
    started = time.perf_counter()
    table: dict[str, list[dict[str, Measured]]] = {}
    for query in common.trawl_counts():
        if time.perf_counter() - started > given.seconds:
            print("time is over: the other queries are left out")
            break
        for estimator, inheritance, millions in CASES:
            case = f"{estimator}, inheritance {inheritance}, {millions} million"
            samples = int(millions * MILLION * given.scale)
            row = measure_query(query, estimator, inheritance, samples, given.device, given.seeds)
            table.setdefault(case, []).append(row)
            print(f"-- {query}: {case}")
            for way, one in row.items():
                print(f"   {way:14} {one}", flush=True)
    for case, rows in table.items():
        print_means(case, rows)


if __name__ == "__main__":
    main()
