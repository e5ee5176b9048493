"""A monitor over millions of updates: ``python benchmarks/micro/soak.py [--updates N] [--mode sequence]``.

A window of the last edges slides over a stream that R-MAT draws, triangles and two-paths are watched. After
each tenth: updates a second (process CPU time), the monitor's and the process's memory, and whether the count
at the start with all gains and losses is that of the graph now, counted anew.
"""

from __future__ import annotations

import argparse
import resource
import time
from pathlib import Path

import numpy as np

import motiflux as mf

PATTERNS = {"triangle": "(a)--(b)--(c)--(a)", "two-path": "(a)--(b)--(c)"}


def resident_megabytes() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--updates", type=int, default=10_000_000)
    parser.add_argument("--scale", type=int, default=16)
    parser.add_argument("--mode", default="sequence", choices=("sequence", "batch"))
    parser.add_argument("--batch", type=int, default=20_000)
    given = parser.parse_args()
    stream = mf.generate.rmat(given.scale, given.updates, directed=False, seed=3)
    edges = stream.to_edges()
    order = np.random.default_rng(5).permutation(len(edges.src))
    sources, targets = edges.src[order], edges.dst[order]
    window = len(sources) // 10
    graph = mf.Graph.from_edges((sources[:window], targets[:window]))
    patterns = [mf.Pattern.parse(text) for text in PATTERNS.values()]
    with mf.Monitor(graph, patterns, mode=given.mode) as monitor:
        known = [int(monitor.count(pattern)) for pattern in patterns]
        begun, done, tenth = time.process_time(), 0, 0
        for first in range(window, len(sources), given.batch // 2):
            came = slice(first, min(first + given.batch // 2, len(sources)))
            went = slice(came.start - window, came.stop - window)
            size = came.stop - came.start
            updates = mf.Updates(
                np.concatenate([np.ones(size, bool), np.zeros(size, bool)]),
                np.concatenate([sources[came], sources[went]]),
                np.concatenate([targets[came], targets[went]]),
            )
            delta = monitor.apply(updates)
            known = [
                number + delta[pattern].positive - delta[pattern].negative
                for number, pattern in zip(known, patterns, strict=True)
            ]
            done += len(updates)
            if 10 * done // given.updates > tenth or came.stop == len(sources):
                tenth = 10 * done // given.updates
                seconds = time.process_time() - begun
                anew = [int(monitor.count(pattern)) for pattern in patterns]
                drift = "no drift" if anew == known else f"DRIFT: {known} but {anew}"
                held = f"monitor {monitor.nbytes / 2**20:.1f} MB, process {resident_megabytes():.0f} MB"
                print(
                    f"{done:>11,} updates  {done / seconds:>10,.0f}/s  {held}  {drift}",
                    flush=True,
                )
                begun += time.process_time() - begun - seconds


if __name__ == "__main__":
    main()
