"""Apply thousands of batches to one monitor on a device; compare counts, and look at its memory.

    python scripts/soak_batches.py [--batches 10000] [--seed N] [--scale 13] [--device cuda] [--engine batch]

Batches insert and delete edges of an R-MAT graph of ``2**SCALE`` vertices; half of these are there at the
start. Each batch is also applied to a monitor on the CPU, which must say the same; at ten intervals all
patterns are counted anew. The memory of the device must not grow by a quarter after the first fifth; that of
the process, which holds both monitors and makes the counts, is printed.

Exit codes: 0 all agree and memory is flat, 1 not, 130 interrupted.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import motiflux as mf
from motiflux.device import open_device

PATTERNS = (
    "(a)--(b)--(c)--(a)",
    "(a:0)--(b:1)--(c:2)--(d:3)",
    "(a:0)--(b:1), (a)--(c:1), (a)--(d:2), (d)--(e:3)",
    "(a:0)--(b:1)--(c:2)--(d:3)--(a)",
)
LABELS = 4
LARGEST = 2_000
INTERVALS = 10
SETTLED = 0.2
"""The share of the batches after which memory must not grow."""
GROWTH = 1.25
INTERRUPTED = 130


@dataclass
class Edges:
    """All edges, and which of them are there.

    Parameters
    ----------
    src, dst
        int64 [m].
    there
        bool [m].
    """

    src: NDArray[np.int64]
    dst: NDArray[np.int64]
    there: NDArray[np.bool_]

    def batch(self, random: np.random.Generator) -> mf.Updates:
        """Draw a batch, mostly a small one, and note what it changes."""
        size = 1 + int(min(LARGEST, len(self.src) // 4) * random.random() ** 4)
        chosen = random.choice(len(self.src), size, replace=False)
        inserts = ~self.there[chosen]
        self.there[chosen] = inserts
        return mf.Updates(inserts, self.src[chosen], self.dst[chosen])


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description="Apply thousands of batches to one monitor on a device.")
    parser.add_argument("--batches", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scale", type=int, default=13, help="the graph has 2**SCALE vertices")
    parser.add_argument("--device", default="cuda", help="as for a Monitor")
    parser.add_argument("--engine", default="batch", help="as for a Monitor")
    given = parser.parse_args(arguments)
    try:
        return soak(given)
    except KeyboardInterrupt:
        return INTERRUPTED


def soak(given: argparse.Namespace) -> int:
    """Apply the batches; return the exit code."""
    random = np.random.default_rng(given.seed)
    labels = random.integers(0, LABELS, 1 << given.scale)
    whole = mf.generate.rmat(
        given.scale, 8 << given.scale, directed=False, duplicates="drop", seed=given.seed
    ).to_edges()
    src, dst = np.asarray(whole.src, np.int64), np.asarray(whole.dst, np.int64)
    edges = Edges(src, dst, random.random(len(src)) < 0.5)
    first = _graph(edges, labels)
    held: list[int] = []
    spent = updates = 0.0
    interval = max(1, given.batches // INTERVALS)
    device = open_device(given.device)
    with (
        mf.Monitor(first, PATTERNS, mode="batch", device=given.device, engine=given.engine) as monitor,
        mf.Monitor(first, PATTERNS, mode="batch", device="cpu") as beside,
    ):
        totals = [int(mf.count(first, pattern, device="cpu")) for pattern in PATTERNS]
        for number in range(1, given.batches + 1):
            batch = edges.batch(random)
            begun = time.perf_counter()
            delta = monitor.apply(batch)
            spent += time.perf_counter() - begun
            updates += len(batch)
            found = [(one.positive, one.negative) for one in delta]
            expected = [(one.positive, one.negative) for one in beside.apply(batch)]
            if found != expected:
                print(f"batch {number}: found {found}, on the CPU {expected}; seed {given.seed}")
                return 1
            totals = [total + one - other for total, (one, other) in zip(totals, found, strict=True)]
            held.append(device.used_memory())
            if number % interval == 0:
                anew = _graph(edges, labels)
                counted = [int(mf.count(anew, pattern, device="cpu")) for pattern in PATTERNS]
                peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
                print(
                    f"{number:,} batches: {held[-1] / 2**20:,.1f} MiB on the device, process {peak:,.0f} MiB,"
                    f" {1e6 * spent / number:,.0f} us a batch of {updates / number:,.0f} updates",
                    flush=True,
                )
                if counted != totals:
                    print(f"batch {number}: totals {totals}, counted anew {counted}; seed {given.seed}")
                    return 1
    settled = held[int(SETTLED * len(held))]
    if max(held) > GROWTH * settled:
        print(f"memory of the device grew from {settled:,} to {max(held):,} bytes")
        return 1
    print(f"{given.batches:,} batches on {device.model}: all agree, memory is flat")
    return 0


def _graph(edges: Edges, labels: NDArray[np.int64]) -> mf.Graph:
    return mf.Graph.from_edges(
        (edges.src[edges.there], edges.dst[edges.there]), num_vertices=len(labels), vertex_labels=labels
    )


if __name__ == "__main__":
    raise SystemExit(main())
