"""The expected result, time and memory of a count."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MemoryReport:
    """Bytes that a run holds in addition to the graph; upper bounds if they are not known yet.

    Parameters
    ----------
    rows
        The candidate space, or the rows of the graph narrowed to the labels and conditions of the pattern.
    search
        Buffers of all threads.
    device
        Copies of rows and candidate lists on a GPU; None for a search on the CPU.
    tables
        Tables of local counts on the CPU, approximately: the most that exist at one time, with buffers of the
        threads. None if the count does not use tables.
    copied
        Bytes of rows that are copied to a GPU, if none are there; None if they are not predicted.
    """

    rows: int
    search: int
    device: int | None = None
    tables: int | None = None
    copied: int | None = None


@dataclass(frozen=True, slots=True)
class Prediction:
    """The expected result, time and memory of a run.

    Parameters
    ----------
    count
        Expected result, at most the limit; None without an estimate.
    seconds
        Expected seconds of the search, without planning; None if they are not predicted.
    threads
        Threads of this machine that the run has.
    memory
        Bytes that the run holds.
    note
        The reason if there are no seconds, else None.
    """

    count: float | None
    seconds: float | None
    threads: int
    memory: MemoryReport
    note: str | None = None
