"""How a resident kernel is laid out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Preset = Literal["flush", "paper"]
Order = Literal["arrival", "completion"]


@dataclass(frozen=True)
class StreamSettings:
    """Sizes of a resident kernel and of its memory.

    Parameters
    ----------
    slot_count
        Maximum number of updates under way, a power of two.
    input_packets, output_packets
        Capacities of the input and of the ring of answers in packets, powers of two; a packet holds up to 32
        updates, or records.
    updater_warps
        Warps that write a batch together, 1 to 16; fewer where a block of as many has no room.
    multiprocessors
        How many multiprocessors the kernel takes at most; None: all but `spared`.
    spared
        Multiprocessors that are left to others.
    versions
        Bytes for versions of rows; None: `memory_share` of what is free.
    memory_share
        Share of the free memory, or of the budget.
    longest_row
        Entries that candidate lists have room for at first; None: twice the longest row, at least 1024. The
        kernel parks and lists are made larger when a row outgrows them.
    spare_vertices
        Vertices that rows are reserved for beyond those that there are; None: an eighth, at least 1024.
    strip
        Entries of a strip: of a batch that is sorted, rows of more than an eighth as many are copied in
        strips, if they have two strips together, by warps of the updater and by executors without work.
    preset
        ``"flush"``: a batch of the updater is what waits; ``"paper"``: it waits for 64 updates, or .125 ms.
    order
        ``"arrival"``: `ResidentStream.take` gives the answers that are in lines in the order of their
        updates; ``"completion"``: also those of later updates, as soon as they are there. Answers in the
        output ring come by completion in either case.
    stall_seconds
        The kernel is stopped after so long without progress.
    quick_first
        Whether a kernel that is not compiled yet is first compiled to slower code, in less time, where the
        accelerator does so (`Accelerator.compiles_long_quickly`). The kernel at full speed takes its place
        the next time that it is started.
    checks
        Whether the updater checks the rows that it writes: for tests.
    measures
        Whether stages measure: `ResidentStream.counters` has the steps of batches, in cycles, and
        `ResidentStream.stamps` the times of updates.
    without
        Shorter ways of an update to its answer that are left out, to measure what they save: those of
        `motiflux.codegen.streaming.SHORTCUTS`; ``"lines"``, answers in lines of their own; ``"long_strips"``,
        long rows copied in strips, by executors, too; ``"helpers"``, strips that executors copy; and
        ``"sorts"``, updates that are sorted because many wait that change the same few rows.
    """

    slot_count: int = 8192
    input_packets: int = 256
    output_packets: int = 1024
    updater_warps: int = 16
    multiprocessors: int | None = None
    spared: int = 0
    versions: int | None = None
    memory_share: float = 0.5
    longest_row: int | None = None
    spare_vertices: int | None = None
    strip: int = 1024
    preset: Preset = "flush"
    order: Order = "arrival"
    stall_seconds: float = 10.0
    quick_first: bool = True
    checks: bool = False
    measures: bool = False
    without: frozenset[str] = frozenset()
