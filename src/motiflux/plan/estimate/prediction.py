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
class ShardsReport:
    """What the tasks of a cluster read of a sharded graph.

    Parameters
    ----------
    shards
        Number of shards.
    read
        The query vertices whose rows are read.
    parts
        Expected number of parts, each of which is gathered and searched at a time.
    entries
        Expected number of entries of rows that all parts read.
    memory
        Bytes that each worker may use.
    least_memory
        The least bytes with which the search begins.
    """

    shards: int
    read: tuple[str, ...]
    parts: int
    entries: int
    memory: int
    least_memory: int


@dataclass(frozen=True, slots=True)
class TasksReport:
    """How a cluster cuts a count.

    Parameters
    ----------
    at_once
        Number of tasks that run at a time.
    expected
        Expected number of tasks; None if no time is predicted.
    shards
        What they read of a sharded graph; None for a graph that fits a node.
    gpus
        Number of GPUs that tasks have, one each; 0 for tasks on CPUs.
    """

    at_once: int
    expected: int | None
    shards: ShardsReport | None = None
    gpus: int = 0


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
    tasks
        How a cluster cuts the count; None for one machine.
    """

    count: float | None
    seconds: float | None
    threads: int
    memory: MemoryReport
    note: str | None = None
    tasks: TasksReport | None = None
