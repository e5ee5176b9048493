"""Measured times of operations on tables, on the host and on a device."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Speeds:
    """Seconds of operations on tables, and limits of the choice between tables and a search.

    Parameters
    ----------
    number
        A number of a table in one pass over it.
    wedge
        A wedge of a histogram.
    choice
        Extra seconds of a wedge, unless the middles are pairs of one kind.
    triangle
        A lesser neighbour of a lesser neighbour, in counting triangles.
    walk
        An entry of a row that walks read.
    start
        Fixed seconds of a table that is computed root by root.
    begin
        Fixed seconds of a table that one pass computes from other tables.
    search
        A search, in seconds that it takes on one thread of the host.
    planning
        Seconds that finding a formula may take in any case.
    parts
        Ratio of the time of a search that counts in parts to the time by probes, relative to other searches.
    margin
        A formula is preferred if its time is below this share of the time of a search.
    threads
        Whether the threads of the host share the work.
    arcs
        Whether searches from each arc run where tables are made, without closed forms of their last levels;
        else on the host.
    """

    number: float
    wedge: float
    choice: float
    triangle: float
    walk: float
    start: float
    begin: float
    search: float
    planning: float
    parts: float
    margin: float
    threads: bool
    arcs: bool = False

    def of_search(self, seconds: float, threads: int) -> float:
        """Return the seconds of a search that takes `seconds` on `threads` threads of the host."""
        return seconds if self.threads else self.start + seconds * threads * self.search

    def shared(self, threads: int) -> int:
        """Return the number of threads that share the work."""
        return threads if self.threads else 1


HOST_SPEEDS = Speeds(
    number=2.5e-9,
    wedge=1.8e-9,
    choice=1.5e-9,
    triangle=2.4e-9,
    walk=0.9e-9,
    start=0.0,
    begin=0.0,
    search=1.0,
    planning=0.0,
    parts=1.0,
    margin=1.0,
    threads=True,
)
"""Measured with numpy and native code on one thread of an AMD EPYC."""

DEVICE_SPEEDS = Speeds(
    number=15e-12,
    wedge=25e-12,
    choice=5e-12,
    triangle=25e-12,
    walk=10e-12,
    start=50e-6,
    begin=10e-6,
    search=0.012,  # six searches .010 to .017, before tails with many roots .003
    planning=0.05,
    parts=1.35,  # 1.03 to 1.78 choose as seven queries were measured (`tests/unit/test_parts_cost.py`)
    margin=0.55,  # by search and by tables: diamond of email_enron 463, 185 us; q_6_dense_0 1.2, 2.4 s
    threads=False,
)
"""Measured on an NVIDIA H100 (`benchmarks/micro/gpu_tables.py`)."""

DEVICE_IMAGE_SPEEDS = replace(DEVICE_SPEEDS, arcs=True)
"""The same where counts per vertex and per edge are wanted."""
