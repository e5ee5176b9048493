"""Containers of rows that change on a GPU: the packed memory array alone, and beside slack rows in a Monitor.

``motiflux bench container``, on a machine with a GPU (``MOTIFLUX_DEVICE`` names it; default ``cuda``). The
R-MAT graph is drawn (``MOTIFLUX_RMAT``: its scale, 20). Edges are undirected, so an edge is two entries; the
array takes internal ids, sorted.

``tenth inserted``
    A tenth of the edges, inserted into the others, then deleted again. The time is that of the device, from
    its clock, with the host between its kernels; "with transfers" is the wall clock of the upload and the
    kernels.
``tenth inserted, SWITCH``
    The same with one switch changed.
``sustained``
    Batches of 2^20 edges, inserted one after another into a half of the graph, then deleted.
``monitor NAME``
    The tenth as one batch of a Monitor that counts triangles, over each container. Figures are the device's
    times for writing rows before and after the search, the search, and the memory.
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import motiflux as mf
from motiflux.bench.measure import Timing
from motiflux.bench.results import Bar, BaselineTime, CaseResult
from motiflux.bench.suite import Probe, Settings, Suite
from motiflux.codegen.gpma import GroupSizes
from motiflux.config import TUNING
from motiflux.device import Buffer, Stream, open_device
from motiflux.generate import rmat
from motiflux.gpu.changing.gpma import PackedMemoryArray, packed_updates
from motiflux.gpu.changing.gpma_settings import PackedSettings
from motiflux.gpu.changing.packed_rows import RunOfPackedRows
from motiflux.gpu.changing.rows import RunOfRows, RunOfSlackRows
from motiflux.gpu.runtime.accelerator import open_accelerator

DEVICE = os.environ.get("MOTIFLUX_DEVICE", "cuda")
SCALE = int(os.environ.get("MOTIFLUX_RMAT", "20"))
BATCH = 1 << min(20, SCALE)
"""Edges of a sustained batch."""
MOST_MS, LEAST_RATE = 15.0, 100e6
TENTH, SUSTAINED = "tenth inserted", "sustained"
SWITCHES: dict[str, dict[str, Any]] = {
    "index in device memory": {"index_levels": 0},
    "12 levels of the index shared": {"index_levels": 12},
    "groups of fixed size": {"group_sizes": GroupSizes.FIXED},
    "whole warps": {"group_sizes": GroupSizes.WARP},
    "leaves of 16": {"leaf_shift": 4},
    "leaves of 8": {"leaf_shift": 3},
}
Keys = NDArray[np.uint64]


@lru_cache(maxsize=1)
def edges() -> tuple[NDArray[np.uint64], NDArray[np.uint64], int]:
    """Return the ends of all edges, in random order, and the number of vertices."""
    graph = rmat(SCALE, 16 << SCALE, directed=False, duplicates="drop", seed=1)
    listed = graph.to_edges()
    order = np.random.default_rng(5).permutation(len(listed.src))
    ends = (np.asarray(one)[order].astype(np.uint64) for one in (listed.src, listed.dst))
    return (*ends, graph.num_vertices)  # type: ignore[return-value]


@lru_cache(maxsize=3)
def keys_of(first: int, last: int) -> Keys:
    """Return the entries of some edges, ascending."""
    src, dst, _ = edges()
    shift = np.uint64(32)
    keys = np.concatenate(
        [src[first:last] << shift | dst[first:last], dst[first:last] << shift | src[first:last]]
    )
    keys.sort()
    return keys


@contextmanager
def stream() -> Iterator[Stream]:
    """Give a stream of the device."""
    accelerator = open_accelerator(DEVICE)
    session = accelerator.session()
    try:
        yield session.main
    finally:
        accelerator.recycle(session)


def array_of(on: Stream, keys: Keys, settings: PackedSettings) -> PackedMemoryArray:
    """Return an array with entries."""
    array = PackedMemoryArray(open_accelerator(DEVICE), None, settings)
    sizes = np.bincount((keys >> np.uint64(32)).astype(np.int64), minlength=edges()[2])
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint64)
    array.load(on, offsets, keys.astype(np.uint32))
    return array


@dataclass(frozen=True)
class Batch:
    """Updates of one kind, on the host and on the device."""

    updates: NDArray[np.void]
    buffer: Buffer
    inserts: int

    @classmethod
    def of(cls, on: Stream, keys: Keys, *, inserts: bool) -> Batch:
        """Return updates, uploaded."""
        updates = packed_updates(keys, np.full(len(keys), inserts))
        buffer = open_device(DEVICE).allocate(updates.nbytes, "updates")
        on.upload(buffer, updates)
        on.wait()
        return cls(updates, buffer, len(keys) if inserts else 0)

    def seconds(self, on: Stream, array: PackedMemoryArray) -> float:
        """Apply it; return the seconds of the device, and of the host between its kernels."""
        begin = on.mark()
        array.update(on, self.buffer.address, len(self.updates), self.inserts)
        end = on.mark()
        on.wait()
        return end.milliseconds_since(begin) / 1e3

    def seconds_with_transfer(self, on: Stream, array: PackedMemoryArray) -> float:
        """Upload and apply it; return the seconds of the wall clock."""
        begin = time.perf_counter()
        on.upload(self.buffer, self.updates)
        array.update(on, self.buffer.address, len(self.updates), self.inserts)
        on.wait()
        return time.perf_counter() - begin


def differs(array: PackedMemoryArray, on: Stream, keys: Keys) -> bool:
    """Whether an array does not hold these entries, or finds its rows elsewhere."""
    found = array.read(on)
    shift = array.settings.leaf_shift
    counts = np.diff(found["before"].astype(np.int64))
    leaf = np.repeat(np.arange(len(counts)), counts)
    number = np.arange(len(leaf)) - np.repeat(found["before"][:-1].astype(np.int64), counts)
    slots = (leaf << shift) + (number << shift) // np.repeat(counts, counts)
    held = found["sources"][slots] << np.uint64(32) | found["neighbors"][slots]
    degrees = np.bincount((keys >> np.uint64(32)).astype(np.int64), minlength=len(found["headers"]))
    headers = found["headers"]
    return not (np.array_equal(held, keys) and np.array_equal(headers["size"] - headers["changes"], degrees))


@dataclass(frozen=True)
class Tenth:
    """A tenth of the edges as one batch."""

    switch: str = ""
    quick: bool = False

    @property
    def name(self) -> str:
        """What is switched."""
        return TENTH + (f", {self.switch}" if self.switch else "")

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        """Insert and delete the batch several times."""
        last = len(edges()[0])
        first = last - last // 10
        chosen = dataclasses.replace(PackedSettings(), **SWITCHES.get(self.switch, {}))
        with stream() as on:
            kept, late = keys_of(0, first), keys_of(first, last)
            array = array_of(on, kept, chosen)
            leaves = array.array.leaves
            inserts, deletes = Batch.of(on, late, inserts=True), Batch.of(on, late, inserts=False)
            inserted, deleted, uploaded = [], [], []
            for _ in range(settings.runs):
                inserted.append(inserts.seconds(on, array))
                deleted.append(deletes.seconds(on, array))
                uploaded.append(inserts.seconds_with_transfer(on, array))
                deletes.seconds(on, array)
            inserts.seconds(on, array)
            wrong = not self.switch and differs(array, on, np.sort(np.concatenate([kept, late])))
            figures = {
                "updates": float(last - first),
                "deleted_ms": 1e3 * min(deleted),
                "with_transfers_ms": 1e3 * min(uploaded),
                "memory_bytes": float(array.nbytes),
                "leaves": float(array.array.leaves),
                "resized": float(array.array.leaves != leaves),
            }
            yield CaseResult(
                self.name,
                "gpma",
                array.entries,
                "the entries, sorted",
                Timing.of(inserted),
                disagrees=wrong,
                figures=figures,
            )
            array.release()


@dataclass(frozen=True)
class Sustained:
    """Batches of many edges, one after another."""

    name: str = SUSTAINED
    quick: bool = False

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        """Insert all batches, then delete them."""
        last = len(edges()[0])
        half = last - (last // 2) // BATCH * BATCH if last // 2 >= BATCH else last // 2
        with stream() as on:
            array = array_of(on, keys_of(0, half), PackedSettings())
            parts = [keys_of(at, min(at + BATCH, last)) for at in range(half, last, BATCH)]
            seconds: dict[str, list[float]] = {"inserts": [], "deletes": [], "with_transfers": []}
            for kind in ("inserts", "deletes"):
                for part in parts if kind == "inserts" else parts[::-1]:
                    batch = Batch.of(on, part, inserts=kind == "inserts")
                    seconds[kind].append(batch.seconds(on, array))
            for part in parts:
                batch = Batch.of(on, part, inserts=True)
                seconds["with_transfers"].append(batch.seconds_with_transfer(on, array))
            wrong = differs(array, on, keys_of(0, last))
            figures = {f"{kind}_per_second": (last - half) / sum(taken) for kind, taken in seconds.items()}
            figures |= {"batches": float(len(parts)), "slowest_ms": 1e3 * max(seconds["inserts"])}
            yield CaseResult(
                self.name,
                "gpma",
                array.entries,
                "the entries, sorted",
                Timing.of(seconds["inserts"]),
                disagrees=wrong,
                figures=figures,
            )
            array.release()


@contextmanager
def timed(spent: dict[str, float]) -> Iterator[None]:
    """Add the device's seconds of writing rows to `spent`; each call is waited for."""
    kept: list[tuple[type[RunOfRows], str, Any]] = []
    for kind in (RunOfSlackRows, RunOfPackedRows):
        for name in ("merge", "settle"):
            call = getattr(kind, name)

            def clocked(
                _: type[RunOfRows], on: Stream, *rows: Any, call: Any = call, name: str = name
            ) -> None:
                begin = on.mark()
                call(on, *rows)
                end = on.mark()
                on.wait()
                spent[f"{name}_ms"] = spent.get(f"{name}_ms", 0.0) + end.milliseconds_since(begin)

            kept.append((kind, name, vars(kind)[name]))
            setattr(kind, name, classmethod(clocked))
    try:
        yield
    finally:
        for kind, name, method in kept:
            setattr(kind, name, method)


@lru_cache(maxsize=1)
def graph_and_batch() -> tuple[mf.Graph, mf.Updates]:
    """Return nine tenths of the graph, and the insertions of the others."""
    src, dst, vertices = (np.asarray(one) for one in edges())
    first = len(src) - len(src) // 10
    graph = mf.Graph.from_edges(
        (src[:first].astype(np.int64), dst[:first].astype(np.int64)), num_vertices=int(vertices)
    )
    late = slice(first, None)
    return graph, mf.Updates(
        np.ones(len(src) - first, bool), src[late].astype(np.int64), dst[late].astype(np.int64)
    )


@dataclass(frozen=True)
class Monitored:
    """A Monitor that counts triangles, over a container."""

    container: str
    quick: bool = True

    @property
    def name(self) -> str:
        """The container."""
        return f"monitor {self.container}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        """Apply the batch to new Monitors, the first of which loads kernels."""
        best: dict[str, float] = {}
        taken: list[float] = []
        found = 0
        for _ in range(2):
            found, seconds, spent = applied(self.container)
            if not taken or seconds < min(taken):
                best = spent
            taken.append(seconds)
        expected = applied_by_cpu()
        yield CaseResult(
            self.name,
            "changing",
            found,
            f"the CPU Monitor ({expected[0]:,})",
            Timing.of(taken),
            BaselineTime("CPU Monitor", expected[1]),
            expected[1] / min(taken),
            found != expected[0],
            figures=best,
        )


def applied(container: str) -> tuple[int, float, dict[str, float]]:
    """Apply the batch to a Monitor; return its triangles, the seconds of the call, and parts of these."""
    graph, batch = graph_and_batch()
    place: dict[str, Any] = {"device": "cpu"}
    if container != "cpu":
        place = {"device": DEVICE, "tuning": {"container": container}}
    spent: dict[str, float] = {}
    with mf.Monitor(graph, "(a)--(b)--(c)--(a)", mode="batch", **place) as monitor:
        monitor.apply([])  # rows are loaded
        with timed(spent):
            begin = time.perf_counter()
            delta = monitor.apply(batch)[0]
            seconds = time.perf_counter() - begin
        engine: Any = getattr(monitor, "_engine", None)
        if engine is not None:
            spent["search_ms"] = 1e3 * engine.spent["search_seconds"]
            spent["memory_bytes"] = float(sum(rows.nbytes for rows in engine._rows.values()))
    return delta.positive - delta.negative, seconds, spent


@lru_cache(maxsize=1)
def applied_by_cpu() -> tuple[int, float]:
    """Return the triangles and the seconds of the CPU Monitor."""
    found, seconds, _ = applied("cpu")
    return found, seconds


def build(shared: Path) -> Suite:
    """Return the suite."""
    probes: list[Probe] = [Tenth(quick=True), *map(Tenth, SWITCHES), Sustained()]
    probes += map(Monitored, TUNING["container"].values)
    return Suite("container", (), bars, probes=probes, device=model)


def model() -> str:
    """Return the name of the device, which this process need not have opened yet."""
    return open_device(DEVICE).model


def bars(results: Sequence[CaseResult]) -> list[Bar]:
    """Return the bars that we set ourselves."""
    by_name = {one.case: one for one in results}
    tenth, sustained = by_name.get(TENTH), by_name.get(SUSTAINED)
    least = None if tenth is None or tenth.seconds is None else 1e3 * tenth.seconds.min
    rate = (
        None
        if sustained is None
        else min(sustained.figures["inserts_per_second"], sustained.figures["deletes_per_second"])
    )
    wrong = sum(one.disagrees for one in results)
    return [
        Bar("containers that differ from sorted entries, or from the CPU Monitor", wrong, 0, "lower"),
        Bar(
            f"packed memory array, a tenth of R-MAT {SCALE} inserted: ms of kernels", least, MOST_MS, "lower"
        ),
        Bar(f"packed memory array, edges per second in batches of {BATCH:,}", rate, LEAST_RATE, "higher"),
    ]
