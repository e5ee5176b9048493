"""Rings of transfers on a live stream, beside the count in all transfers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import motiflux as mf
from motiflux.bench.measure import repeat, wall_clock
from motiflux.bench.results import CaseResult
from motiflux.bench.suite import Settings, load_part

probes = load_part(Path(__file__).resolve().parent / "probes.py")

THREADS = 2
BATCH = 65_536
COMPARED = ("time", "amount")


def updates_of(tables: Any) -> list[mf.Updates]:
    """Return the transfers as insertions in order of time, batch by batch."""
    order = np.argsort(tables.edge_attributes["time"], kind="stable")
    found = []
    for first in range(0, len(order), BATCH):
        rows = order[first : first + BATCH]
        compared = {name: tables.edge_attributes[name][rows] for name in COMPARED}
        inserts = np.ones(len(rows), dtype=bool)
        found.append(mf.Updates(inserts, tables.src[rows], tables.dst[rows], attributes=compared))
    return found


@dataclass(frozen=True)
class LiveRings:
    """The rings of `probes.Rings`, each found with its last transfer.

    A `Monitor` that begins without edges gets all transfers in the order of their times, on two threads, by
    the wall clock. Its counts are those of the graph of all transfers.
    """

    name: str = "rings of 3 to 6, live"
    quick: bool = True

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        """Play all transfers."""
        tables, graph = probes.loaded(probes.generator(probes.TRANSFERS))
        patterns = [mf.Pattern.parse(probes.queries.ring(size)) for size in probes.SIZES]
        updates = updates_of(tables)
        accounts = mf.Graph.from_edges([], num_vertices=len(tables.vertex_labels), directed=True)

        def play() -> tuple[list[int], float]:
            counts = [0] * len(patterns)
            slowest = 0.0
            with mf.Monitor(
                accounts, patterns, attributes=COMPARED, threads=THREADS, device="cpu"
            ) as monitor:
                for batch in updates:
                    delta = monitor.apply(batch)
                    slowest = max(slowest, delta.seconds)
                    counts = [count + one.net for count, one in zip(counts, delta, strict=True)]
            return counts, slowest

        (counts, slowest), seconds = repeat(play, wall_clock, settings.runs)
        expected = [int(mf.count(graph, one, device="cpu", progress=False)) for one in patterns]
        wrong = counts != expected
        yield CaseResult(
            self.name,
            "cpu",
            sum(counts),
            f"the graph of all transfers{', DISAGREES' if wrong else ''}",
            seconds,
            disagrees=wrong,
            figures={
                "transfers_per_second": probes.TRANSFERS / seconds.min,
                "slowest_batch_s": slowest,
                "threads": THREADS,
            },
        )
