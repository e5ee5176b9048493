"""Time to find the rows of vertices in all partitions of a graph on a device.

A warp finds the row of one vertex, as GSI does with its tables; or each lane finds one, as a phase does that
opens the rows of 32 embeddings at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import motiflux as mf
from motiflux.bench.measure import Timing
from motiflux.bench.results import BaselineTime, CaseResult
from motiflux.bench.suite import Settings, load_part
from motiflux.device import Stream
from motiflux.gpu.pcsr.device_rows import DeviceRows, Grid, RowFinder
from motiflux.gpu.pcsr.formats import HashPartition, IntervalFormat, IntervalPartition
from motiflux.gpu.pcsr.partitions import Partitions
from motiflux.gpu.runtime.accelerator import open_accelerator

formats = load_part(Path(__file__).resolve().parent / "formats.py")

ONE_WARP = Grid(1, 32)
"""The paper's launch: nothing but the search of one warp is measured."""
ASKED = 4096
"""Vertices that one warp finds the rows of, in random order."""
LEAST_RUNS = 5
BY_VERTEX, BY_ID, HASH = "interval, a warp", "interval, a warp, by new id", "hash, a warp"
BY_LANE, HASH_BY_LANE, UNRENAMED = "interval, a lane", "hash, a lane", "interval, a lane, not renamed"


@dataclass(frozen=True)
class Way:
    """Rows of all partitions on the device, and what is asked of them: the vertices as the rows name them."""

    rows: Sequence[DeviceRows]
    asked: NDArray[np.uint32]
    alone: bool = False


@dataclass(frozen=True)
class RowSearch:
    """Every way to find rows, by one warp and by all of the device."""

    graph: formats.Labelled
    device: str
    quick: bool = False

    @property
    def name(self) -> str:
        """Name of the case."""
        return f"search {self.graph.case}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        """Copy all formats to the device, compare what is found, and time it."""
        graph = self.graph.read()
        accelerator = open_accelerator(self.device)
        session = accelerator.session()
        try:
            finder = RowFinder(accelerator, session.main)
            ways, disagreements = prepare(graph, finder)
            times = self._times(ways, finder, session.main, max(LEAST_RUNS, settings.runs))
        finally:
            accelerator.recycle(session)
        figures = {f"{name}, {grid}": time.min for (name, grid), time in times.items()}
        ours, theirs = times[BY_LANE, "one warp"], times[HASH, "one warp"]
        for grid in ("one warp", "all"):
            for name, left, right in (
                ("hash_over_interval", HASH, BY_LANE),
                ("hash_over_interval_by_warp", HASH, BY_VERTEX),
                ("hash_over_interval_by_warp_and_id", HASH, BY_ID),
                ("hash_over_interval_by_lane", HASH_BY_LANE, BY_LANE),
            ):
                suffix = "" if grid == "one warp" else "_all"
                figures[name + suffix] = times[left, grid].min / times[right, grid].min
        yield CaseResult(
            self.name,
            "interval-PCSR",
            disagreements,
            "rows of the graph" + (", DISAGREES: 0" if disagreements else ""),
            ours,
            BaselineTime("hash-PCSR", theirs.min),
            theirs.min / ours.min,
            figures=figures,
            disagrees=disagreements > 0,
        )

    def _times(
        self, ways: dict[str, Way], finder: RowFinder, stream: Stream, runs: int
    ) -> dict[tuple[str, str], Timing]:
        taken: dict[tuple[str, str], list[float]] = {}
        for run in range(runs + 1):
            for name, way in ways.items():
                for grid, chosen in (("one warp", ONE_WARP), ("all", None)):
                    count = min(ASKED, len(way.asked)) if chosen else len(way.asked)
                    seconds = timed(way, finder, stream, count, chosen)
                    if run > 0:  # the first one is slower: clocks, caches
                        taken.setdefault((name, grid), []).append(seconds)
        return {name: Timing.of(seconds) for name, seconds in taken.items()}


def prepare(graph: mf.Graph, finder: RowFinder) -> tuple[dict[str, Way], int]:
    """Return all ways, and how many rows differ from those of the graph."""
    partitions = Partitions.of(graph)
    new, old, hashed = partitions.intervals(), partitions.intervals(renames=False), partitions.hashes()
    vertices = np.random.default_rng(1).permutation(graph.num_vertices).astype(np.uint32)
    assert new.renamed is not None
    renamed = finder.upload_ids(new.renamed)
    with_map = [finder.upload(part, renamed) for part in new.partitions]
    by_id = [finder.upload(part) for part in new.partitions]
    in_tables = [finder.upload(part) for part in hashed.partitions]
    ways = {
        BY_VERTEX: Way(with_map, vertices),
        BY_ID: Way(by_id, new.renamed[vertices]),
        BY_LANE: Way(with_map, vertices, alone=True),
        UNRENAMED: Way([finder.upload(part) for part in old.partitions], vertices, alone=True),
        HASH: Way(in_tables, vertices),
        HASH_BY_LANE: Way(in_tables, vertices, alone=True),
    }
    differ = 0
    arrays: dict[str, IntervalFormat] = {BY_VERTEX: new, BY_ID: new, BY_LANE: new, UNRENAMED: old}
    for number in range(len(partitions.keys)):
        expected = None
        for name, way in ways.items():
            part = arrays.get(name, hashed).partitions[number]
            found = digests(finder, way, number, part)
            expected = found if expected is None else expected
            differ += int(np.count_nonzero(found != expected))
    return ways, differ


def digests(
    finder: RowFinder, way: Way, number: int, part: IntervalPartition | HashPartition
) -> NDArray[np.uint64]:
    """Return a number for each row that is found: its length, and a sum over its entries and their places."""
    rows = np.array(finder.find(way.rows[number], way.asked, alone=way.alone), np.uint64).reshape(-1, 2)
    ends = np.cumsum(np.append(np.uint64(0), (part.neighbors.astype(np.uint64) + np.uint64(1)) ** 2))
    sums: NDArray[np.uint64] = ends[rows[:, 0] + rows[:, 1]] - ends[rows[:, 0]]
    return sums * np.uint64(64) + rows[:, 1]


def timed(way: Way, finder: RowFinder, stream: Stream, count: int, grid: Grid | None) -> float:
    """Return the seconds of the device for the rows of `count` vertices in all partitions."""
    asked: Any = finder.upload_ids(way.asked[:count])
    began = stream.mark()
    for rows in way.rows:
        finder.launch(rows, count, vertices=asked, grid=grid, alone=way.alone)
    ended = stream.mark()
    stream.wait()
    return ended.milliseconds_since(began) / 1000
