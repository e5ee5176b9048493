"""What a count is expected to give and to take."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MemoryReport:
    """Bytes that a run will hold beside the graph: at most, where they are not known yet.

    Parameters
    ----------
    rows
        The candidate space, or rows of the graph narrowed to what the pattern asks for.
    search
        Buffers of all threads.
    device
        Copies of rows and candidate lists on a GPU; None for a search on the CPU.
    tables
        Tables of local counts on the CPU, about: as many as are there at once, and what threads make them
        with. None where it does not count from tables.
    """

    rows: int
    search: int
    device: int | None = None
    tables: int | None = None


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a run is expected to give and to take.

    Parameters
    ----------
    count
        Expected result, at most the limit; None where there is no estimate.
    seconds
        Expected seconds of the search, planning not included; None where they are not predicted.
    threads
        Threads of this machine that it will have.
    memory
        Bytes it will hold.
    note
        Why there are no seconds; None where there are.
    """

    count: float | None
    seconds: float | None
    threads: int
    memory: MemoryReport
    note: str | None = None
