"""Walks on the device against walks on the host, by coverage.

``access_walks.py [DEVICE] [SCALE] [QUERY] [FOLDER]`` prints a table, and writes
``access-walks-<query>-<device>-<date>.json`` into the folder (``benchmarks/results``).

First it checks, on a small graph, that walks which look at everything find the true numbers, and that deltas
are those of the CPU Monitor; it ends with an error if not. Then it applies batches of 4,096 updates of the
suite ``outofcore`` to an R-MAT graph of this scale. For each of the batches after the first, before its rows
are copied, both estimate how often rows are opened, for several limits of time. What they choose is judged by
an estimate of the host that takes `TRUTH_SECONDS`:

    walks, rounds, seconds   of the estimate
    covered                  the part of all opens that is of rows in a cache of a twentieth of the edges, in
                             percent of what the best choice covers
    top 1 %                  the part of the hundredth of the rows that are opened most that are chosen
    sum of opens             of all rows, over that of the long estimate

In the file a case is an estimate, its count the rows that it found, its baseline the host's of equal limit,
and its ratio how many times less of what the best choice covers it leaves out.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from motiflux.bench.results import CaseResult

TRUTH_SECONDS = 2.0
SECONDS = (5e-4, 1e-3, 3e-3, 1e-2)
BATCHES = 3
SHARE = 0.05
CHECKED: Mapping[str, Mapping[str, Any]] = {
    "(a)--(b)--(c)--(a)": {},
    "(a)--(b)--(c)--(d)--(a)": {"matches": True},
    "(a)--(b)--(c)--(d)--(a), (a)--(e)--(b)": {"symmetry": "subgraphs"},
    "(a:0)--(b)--(c)--(d), (c)--(e:1)": {"mode": "sequence"},
}
"""Patterns, and options of their monitors."""


def check(device: str) -> None:
    """Compare walks that look at everything with the true numbers, and deltas with those of the CPU."""
    import numpy as np

    import motiflux as mf
    from motiflux import _native
    from motiflux.config import private_tuning
    from motiflux.gpu.outofcore import device_walks
    from motiflux.gpu.outofcore.engine import OutOfCoreEngine

    device_walks.MOST_LOOKS = 1 << 20
    rng, vertices = np.random.default_rng(3), 300
    ends = (vertices * rng.random((2, 2000)) ** 2).astype(np.int64)
    ends = ends[:, ends[0] != ends[1]]
    graph = mf.Graph.from_edges(
        (ends[0], ends[1]), num_vertices=vertices, vertex_labels=np.arange(vertices) % 3
    )
    changed = rng.permutation(ends, axis=1)[:, :40]
    updates = mf.Updates(np.arange(40) % 2 == 0, *np.where(np.arange(40) % 2, changed, changed[::-1]))
    walk, found = OutOfCoreEngine._walk, []

    def beside(engine: Any, stream: Any, run: Any, roots: Any, _: float) -> None:
        names = engine._table.names
        exact = engine._native.estimate_accesses(_native.AccessEstimator(), run, names, 2, seconds=None)
        walk(engine, stream, run, roots, 1e9)
        last = engine._walks.last
        keys = exact.names.astype(np.uint64) << np.uint64(32) | exact.vertices
        truth = dict(zip(keys.tolist(), exact.times.tolist(), strict=True))
        walked = dict(zip(last.rows.keys.tolist(), last.times.tolist(), strict=True))
        apart = max((abs(walked.get(key, 0.0) / times - 1) for key, times in truth.items()), default=0.0)
        found.append((last.is_exact, walked.keys() == truth.keys(), apart, last.walks))

    OutOfCoreEngine._walk = beside  # type: ignore[method-assign]
    tuning = private_tuning({"access_walks": "device", "cache_time": "free"})
    for pattern, options in CHECKED.items():
        given: dict[str, Any] = {"mode": "batch", **options}
        with (
            mf.Monitor(graph, pattern, device="cpu", **given) as here,
            mf.Monitor(graph, pattern, device=device, engine="outofcore", tuning=tuning, **given) as there,
        ):
            ours, theirs = here.apply(updates)[0], there.apply(updates)[0]
        is_exact, same_rows, apart, walks = found[-1]
        print(f"{pattern}: {walks:,} walks, all rows {same_rows}, farthest from the truth {apart:.2g}")
        if (ours.positive, ours.negative) != (theirs.positive, theirs.negative):
            raise SystemExit(f"{pattern}: the deltas differ from those of the CPU")
        if not (is_exact and same_rows and apart < 1e-6):
            raise SystemExit(f"{pattern}: expected the true numbers of opens")
    OutOfCoreEngine._walk = walk  # type: ignore[method-assign]
    device_walks.MOST_LOOKS = 64


def main(
    device: str = "cuda", scale: str = "20", query: str = "Q3", folder: str = "benchmarks/results"
) -> None:
    """Apply the batches, and write what both estimated."""
    check(device)
    os.environ |= {"MOTIFLUX_DEVICE": device, "MOTIFLUX_RMAT": scale}
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "suite"))

    import outofcore as suite

    import motiflux as mf
    from motiflux.bench.machine import commit, versions
    from motiflux.bench.results import Report, write_report
    from motiflux.config import private_tuning
    from motiflux.device import open_device
    from motiflux.gpu.outofcore.engine import OutOfCoreEngine

    graph, updates = suite.skewed()
    walk, number = OutOfCoreEngine._walk, 0
    cases: list[CaseResult] = []

    def beside(engine: Any, stream: Any, run: Any, roots: Any, seconds: float) -> None:
        nonlocal number
        if number:
            room = SHARE * 8 * graph.num_edges
            for case in compare(engine, stream, run, roots, walk, room):
                cases.append(replace(case, case=f"{query}, batch {number}, {case.case}"))
        number += 1
        walk(engine, stream, run, roots, seconds)

    OutOfCoreEngine._walk = beside  # type: ignore[method-assign]
    tuning = private_tuning({"access_walks": "device", "cache_time": "free"})
    with mf.Monitor(
        graph, suite.QUERIES[query], mode="batch", device=device, engine="outofcore", tuning=tuning
    ) as monitor:
        for _, some in zip(range(1 + BATCHES), updates.slices(suite.BATCH), strict=False):
            begun = time.perf_counter()
            monitor.apply(some)
            print(f"batch of {suite.BATCH}: {time.perf_counter() - begun:.3f} s with all comparisons")
    report = Report(
        suite=f"access-walks-{query.lower()}",
        commit=commit(Path.cwd()),
        date=datetime.now(UTC).date().isoformat(),
        device=open_device(device).model,
        versions=versions(("motiflux", "numpy")),
        cases=cases,
    )
    print(write_report(report, Path(folder)))


@dataclass(frozen=True)
class Estimate:
    """Rows, the most often opened first, by key, and how often."""

    keys: Any
    times: Any
    walks: int
    rounds: int
    seconds: float


def compare(engine: Any, stream: Any, run: Any, roots: Any, walk: Any, room: float) -> Iterator[CaseResult]:
    """Print both estimates for each limit of time, and give them."""
    import numpy as np

    from motiflux import _native
    from motiflux.bench.measure import Timing
    from motiflux.bench.results import BaselineTime, CaseResult

    native, names = engine._native, engine._table.names

    def of_host(seconds: float) -> Estimate:
        begun = time.perf_counter()
        found = native.estimate_accesses(
            estimator, run, names, 0, seconds=seconds, threads=engine._threads, most_walks=1 << 22
        )
        took = time.perf_counter() - begun
        keys = found.names.astype(np.uint64) << np.uint64(32) | found.vertices
        return Estimate(keys, found.times, found.walks, found.rounds, took)

    def of_device(seconds: float) -> Estimate:
        begun = time.perf_counter()
        walk(engine, stream, run, roots, seconds)
        took, last = time.perf_counter() - begun, engine._walks.last
        return Estimate(last.rows.keys, last.times, last.walks, last.rounds, took)

    estimator = _native.AccessEstimator()
    of_host(1e-3)  # finds the longest row
    truth = of_host(TRUTH_SECONDS)
    known = dict(zip(truth.keys.tolist(), truth.times.tolist(), strict=True))
    sizes = sizes_of(engine, truth.keys)
    best = covered(truth.keys, known, sizes, room)
    print(
        f"{run.num_roots:,} roots, {len(known):,} rows opened {truth.times.sum():.4g} times by"
        f" {truth.walks:,} walks, of which a cache covers {100 * best / truth.times.sum():.1f} %"
    )
    top = truth.keys[: max(1, len(truth.keys) // 100)]
    for seconds in SECONDS:
        host: tuple[float, float] | None = None
        for where, estimate in (("host", of_host), ("device", of_device)):
            found = estimate(seconds)
            share = covered(found.keys, known, {**sizes_of(engine, found.keys), **sizes}, room) / best
            chosen = np.isin(top, found.keys).mean()
            print(
                f"  {1e3 * seconds:5.1f} ms  {where:<7} {found.walks:>9,} walks in {found.rounds} rounds,"
                f" {1e3 * found.seconds:7.2f} ms  covered {100 * share:5.1f} %  top 1 % {100 * chosen:5.1f} %"
                f"  sum of opens {found.times.sum() / truth.times.sum():.3f} of the long estimate"
            )
            host = host or (found.seconds, share)
            yield CaseResult(
                f"{1e3 * seconds:g} ms, {where}",
                "outofcore",
                len(found.keys),
                None,
                Timing.of([found.seconds]),
                BaselineTime("host", host[0]),
                (1 - host[1]) / max(1e-9, 1 - share),
                figures={
                    "walks": float(found.walks),
                    "rounds": float(found.rounds),
                    "covered": float(share),
                    "top_hundredth": float(chosen),
                    "sum_of_opens": float(found.times.sum() / truth.times.sum()),
                },
            )


def sizes_of(engine: Any, keys: Any) -> dict[int, int]:
    """Return the bytes of the copy of each row."""
    import numpy as np

    found: dict[int, int] = {}
    for number, rows in enumerate(engine._kinds()):
        own = keys[keys >> np.uint64(32) == number]
        vertices = own.astype(np.uint32)
        _, sizes = rows.places_of(vertices, engine._threads)
        found |= dict(zip(own.tolist(), (4 * sizes + 12).tolist(), strict=True))
    return found


def covered(keys: Any, known: Mapping[int, float], sizes: Mapping[int, int], room: float) -> float:
    """Return the opens of the first rows that there is room for."""
    total, used = 0.0, 0
    for key in keys.tolist():
        used += sizes[key]
        if used > room:
            break
        total += known.get(key, 0.0)
    return total


if __name__ == "__main__":
    main(*sys.argv[1:])
