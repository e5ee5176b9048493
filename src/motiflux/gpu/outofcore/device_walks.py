"""Walks on the device that estimate how often the search of a run opens each row (GCSM, section IV).

They read the rows that the search is going to read, once touched rows are merged. Kernels are those of
``include/motiflux/changing/access_walks.cuh``; docs/design/out-of-core.md has the method.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.codegen.access_walks import (
    GATHER_ENTRY,
    OPEN_ENTRY,
    OPENED_ROW,
    WALK_ENTRY,
    WALK_LEVEL,
    WALK_THREADS,
    WalkArgs,
)
from motiflux.codegen.changing import ROOT, ChangingPlans
from motiflux.device import Buffer, Stream
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.changing.memory import Room, SpareRoom
from motiflux.gpu.changing.plans import COUNTED, LISTED, PlanTable
from motiflux.gpu.changing.searches.searched import RootsThere
from motiflux.gpu.outofcore.cache import NOTHING, Wanted
from motiflux.gpu.outofcore.walk_sums import Sums
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.jit import Source
from motiflux.types import MAX_PATTERN_VERTICES
from motiflux.units import grouped

WALKS_OF_MULTIPROCESSOR = 128
"""Walks of the first round, for each multiprocessor: fewer take as long."""
MOST_WALKS_OF_ROUND, MOST_WALKS = 1 << 18, 1 << 20
MOST_LOOKS = 64
"""Candidates that a lane looks at to tell whether a search comes to a level."""
MOST_SLOTS = 1 << 20
"""Slots of the table of rows."""

_GROWTH, _OF_TIME = 4, 0.8
"""Most walks of a round, in those of the last one, and the part of the time that is left to end in."""
_LEAST_SLOTS, _LEAST_WALKS = 1 << 10, 1 << 10
_ALIGNMENT = 16


@dataclass(frozen=True)
class Estimated:
    """How often rows are expected to be opened.

    Attributes
    ----------
    rows
        The rows that walks came to, the most often opened first.
    times
        Estimates, float64 [rows].
    walks, rounds
        How many walks there were, in how many rounds.
    is_exact
        Whether everything was looked at, so that the estimates are the true numbers.
    left_out
        How often a row was opened that the table had no room for.
    """

    rows: Wanted = NOTHING
    times: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    walks: int = 0
    rounds: int = 0
    is_exact: bool = False
    left_out: int = 0

    def describe(self) -> str:
        """Return how they were found."""
        if not self.rounds:
            return "rows chosen by walks on the device: the last run had none"
        of = "all nodes" if self.is_exact else f"{grouped(self.walks)} walks"
        text = f"rows chosen by walks on the device: {of} in {self.rounds} rounds"
        if self.left_out:
            text += f", of which {grouped(self.left_out)} opened rows were left out for want of room"
        return text


@dataclass(frozen=True)
class _Places:
    """Where the arrays of walks are in their memory, in bytes from its start."""

    slots: int
    table: int
    parents: int
    vertices: int
    sums: int
    blocks: int
    levels: int
    counts: int
    rows: int
    found: int
    nbytes: int

    @classmethod
    def of(cls, slots: int, table: int, deepest: int) -> _Places:
        sizes = {
            "parents": 4 * slots * deepest,
            "vertices": 4 * slots * deepest,
            "sums": 2 * 8 * slots,
            "blocks": 2 * 8 * (slots // WALK_THREADS),
            "levels": WALK_LEVEL.itemsize * (MAX_PATTERN_VERTICES + 1),
            "counts": 2 * 8,
            "rows": OPENED_ROW.itemsize * table,
            "found": OPENED_ROW.itemsize * table,
        }
        places, end = {}, 0
        for name, size in sizes.items():
            places[name] = end
            end += -(-size // _ALIGNMENT) * _ALIGNMENT
        return cls(slots, table, **places, nbytes=end)


class DeviceWalks:
    """Estimates from walks on one device, in memory that is kept between runs, unless it is short.

    Attributes
    ----------
    last
        The last estimate.
    lacks_memory
        Whether there was no memory for the last one.

    Parameters
    ----------
    budget
        Maximum number of bytes that motiflux holds on the device.
    source
        The unit that walks.
    """

    def __init__(self, accelerator: Accelerator, budget: int | None, source: Source) -> None:
        self._accelerator, self.source = accelerator, source
        device = accelerator.device
        self._memory = SpareRoom(device, "walks that estimate which rows are opened", budget)
        self._roots = Room(device, "roots of walks", budget)
        self._of_walk: float | None = None
        self.last, self.lacks_memory = Estimated(), False

    def upload_roots(self, stream: Stream, run: _native.Run, table: PlanTable) -> RootsThere | None:
        """Bring the roots of a run to the device, each with its own plan: those there have shared levels.

        None if there is no memory for them.
        """
        manners = table.manners[run.roots[:, 0]]
        counted, listed = (np.flatnonzero(manners == manner) for manner in (COUNTED, LISTED))
        given = run.roots[np.concatenate([counted, listed])]
        roots = np.zeros(len(given), ROOT)
        roots["plan"], roots["vertices"] = given[:, 0], given[:, 1:3]
        roots["moment"] = given[:, 3] + 1  # as kernels count them
        try:
            buffer = self._roots.of(max(1, roots.nbytes), stream)
        except DeviceMemoryError:
            return None
        if len(roots):
            stream.upload(buffer, roots.view(np.uint8))
            stream.wait()  # the array is not kept
        return RootsThere(buffer.address, len(counted), len(listed))

    def estimate(
        self,
        stream: Stream,
        plans: ChangingPlans,
        table: PlanTable,
        roots: RootsThere,
        vertices: int,
        *,
        seconds: float | None,
        threads: int = 1,
        goes_on: Callable[[], bool] = lambda: True,
        seed: int = 0,
    ) -> Estimated:
        """Return how often searches from roots are expected to open rows; nothing if memory is short.

        Parameters
        ----------
        plans
            The plans and rows of the search, and the candidate table; its roots are set here.
        vertices
            Number of vertices.
        seconds
            After which no round begins but the first; None: there are `MOST_WALKS` walks.
        threads
            Threads of the host that sort rows.
        goes_on
            Asked between rounds; the rows of those before are returned when it says no.
        seed
            Of the walks.
        """
        self.last = Estimated()
        deepest = deepest_level(table)
        if not len(roots) or not deepest:
            return self.last
        rows = vertices * max(1, len(table.names))
        memory, places = self._take(stream, deepest, rows)
        self.lacks_memory = memory is None
        if memory is None:
            return self.last
        try:
            plans.roots = roots.address
            args = _arguments(memory.address, places, plans, roots, seed)
            walking = _Walking(self._accelerator, self.source, stream, memory, places, args, deepest)
            opens = max(sum(len(step[0]) for step in steps[2:]) for steps in table.steps)
            first = min(places.slots, first_walks(self._most_at_first, seconds, self._of_walk))
            self.last = walking.estimate(first, Sums(max(1, opens)), seconds, goes_on, threads)
            self._of_walk = walking.of_walk
            return self.last
        finally:
            self._memory.give_back()

    def _take(self, stream: Stream, deepest: int, rows: int) -> tuple[Buffer | None, _Places]:
        """Return memory for walks: the less, the fewer there is."""
        first = self._most_at_first
        slots = max(MOST_WALKS_OF_ROUND // WALK_THREADS * WALK_THREADS, WALK_THREADS)
        table = max(32, min(MOST_SLOTS, max(_LEAST_SLOTS, 1 << (2 * rows - 1).bit_length())))
        while True:
            places = _Places.of(slots, table, deepest)
            memory = self._memory.take(places.nbytes, stream)
            if memory is not None or (slots <= first and table <= _LEAST_SLOTS):
                return memory, places
            slots = min(slots, max(first, slots // 4 // WALK_THREADS * WALK_THREADS))
            table = min(table, max(_LEAST_SLOTS, table // 4))

    @property
    def _most_at_first(self) -> int:
        return WALKS_OF_MULTIPROCESSOR * self._accelerator.device.multiprocessors

    def forget(self) -> None:
        """Forget the last estimate: the next run has none, or another one."""
        self.last = Estimated()

    def release(self) -> None:
        """Free the memory."""
        self._memory.release()
        self._roots.release()


def first_walks(most: int, seconds: float | None, of_walk: float | None) -> int:
    """Return the walks of the first round.

    Parameters
    ----------
    most
        How many there are at most: fewer take as long where rows are on the device.
    seconds
        For all rounds; None: any.
    of_walk
        Seconds of a walk in the last estimate, which are more where rows are on the host; None: not known.
    """
    if seconds is not None and of_walk is not None:
        most = min(most, max(_LEAST_WALKS, int(min(_OF_TIME * seconds / max(of_walk, 1e-12), 2.0**40))))
    return -(-most // WALK_THREADS) * WALK_THREADS


def deepest_level(table: PlanTable) -> int:
    """Return the last level at whose vertices a search by any plan opens rows; 0: none does."""
    found = 0
    for listed, levels, steps, tail in zip(
        table.listed.tolist(), table.levels.tolist(), table.steps, table.tails, strict=True
    ):
        if levels <= 2:
            continue
        if listed:
            found = max(found, 1, *(anchor for _, _, anchor, *_ in steps[2:]))
        else:
            found = max(found, min(tail[0], levels - 1) - 1)
    return found


def _arguments(begin: int, places: _Places, plans: ChangingPlans, roots: RootsThere, seed: int) -> WalkArgs:
    return WalkArgs(
        plans=plans,
        parents=begin + places.parents,
        vertices=begin + places.vertices,
        sums=begin + places.sums,
        blocks=begin + places.blocks,
        levels=begin + places.levels,
        found_count=begin + places.counts,
        left_out=begin + places.counts + 8,
        rows=begin + places.rows,
        found=begin + places.found,
        seed=seed,
        roots=len(roots),
        counted=roots.counted,
        mask=places.table - 1,
        looks=MOST_LOOKS,
    )


class _Walking:
    """The rounds of one estimate."""

    def __init__(
        self,
        accelerator: Accelerator,
        source: Source,
        stream: Stream,
        memory: Buffer,
        places: _Places,
        args: WalkArgs,
        deepest: int,
    ) -> None:
        self._kernels = accelerator.kernels(source, (WALK_ENTRY, OPEN_ENTRY, GATHER_ENTRY))
        self.of_walk: float | None = None
        self._stream, self._memory, self._places = stream, memory, places
        self._args, self._deepest = args, deepest
        self._levels = np.zeros(deepest + 1, WALK_LEVEL)

    def estimate(
        self, walks: int, sums: Sums, seconds: float | None, goes_on: Callable[[], bool], threads: int
    ) -> Estimated:
        """Walk in rounds, the first one with so many walks; return what they found."""
        deadline = None if seconds is None else time.perf_counter() + seconds
        rounds, is_exact = 0, False
        self._clear_rows()
        while walks and not is_exact:
            begun = time.perf_counter()
            is_exact = self._walk(walks, rounds)
            if is_exact and rounds:  # better than what the rounds before drew
                self._clear_rows()
                sums.restart()
            self._open(sums, walks)
            rounds += 1
            self.of_walk = (time.perf_counter() - begun) / walks
            if is_exact or not goes_on():
                break
            walks = self._next(walks, MOST_WALKS - sums.walks, deadline)
        rows, left_out = self._gather(threads)
        keys = rows["key"] - np.uint64(1)
        wanted = Wanted((keys >> np.uint64(32)).astype(np.uint32), keys.astype(np.uint32))
        return Estimated(wanted, sums.times(rows["times"]), sums.walks, rounds, is_exact, left_out)

    def _next(self, walks: int, left: int, deadline: float | None) -> int:
        """Return the walks of the next round; 0: there is none."""
        more = min(_GROWTH * walks, self._places.slots, left)
        if deadline is not None and self.of_walk is not None:
            in_time = max(0.0, _OF_TIME * (deadline - time.perf_counter()))
            more = min(more, int(in_time / max(self.of_walk, 1e-12)))
        more = more // WALK_THREADS * WALK_THREADS
        return more if more >= walks // 2 else 0

    def _launch(self, entry: str, threads: int) -> None:
        self._stream.launch(self._kernels[entry], -(-threads // WALK_THREADS), WALK_THREADS, 0, self._args)

    def _clear_rows(self) -> None:
        places = self._places
        self._stream.clear(self._memory, places.counts, 2 * 8)
        self._stream.clear(self._memory, places.rows, OPENED_ROW.itemsize * places.table)

    def _walk(self, walks: int, number: int) -> bool:
        """Draw the nodes of all levels; return whether these are all nodes."""
        levels, args = self._levels, self._args
        self._stream.clear(self._memory, self._places.levels, levels.nbytes)
        args.slots, args.round = walks, number
        for level in range(1, self._deepest + 1):
            args.level = level
            self._launch(WALK_ENTRY, walks)
        self._stream.download(self._memory, levels, self._places.levels)
        self._stream.wait()
        return int(args.roots) <= walks and int(levels["places"].max()) <= walks

    def _open(self, sums: Sums, walks: int) -> None:
        """Count the rows that all nodes open."""
        found = [
            int(self._args.roots),
            *self._levels["places"][1:-1].tolist(),
        ]  # the nodes that were drawn from
        nodes = [min(number, walks) for number in found]
        amounts = sums.amounts(self._levels["weight"][1:].tolist(), nodes, walks)
        args = self._args
        for level, (amount, number) in enumerate(zip(amounts, nodes, strict=True), 1):
            args.amounts[level] = amount if number else 0
        args.level = self._deepest
        self._launch(OPEN_ENTRY, walks * self._deepest)

    def _gather(self, threads: int) -> tuple[NDArray[np.void], int]:
        """Return the rows of the table, the most often opened first, and how often one was left out."""
        self._launch(GATHER_ENTRY, min(self._places.table, 1 << 16))
        counts = np.zeros(2, np.uint64)
        self._stream.download(self._memory, counts, self._places.counts)
        self._stream.wait()
        rows = np.zeros(int(counts[0]), OPENED_ROW)
        if len(rows):
            self._stream.download(self._memory, rows, self._places.found)
            self._stream.wait()
            _native.sort_opened_rows(rows.view(np.uint64).reshape(-1, 2), threads)
        return rows, int(counts[1])
