"""What the operations on tables take, on the host and on a device: measured constants, all in one place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Speeds:
    """Seconds that things take.

    Parameters
    ----------
    number
        A number of a table in one pass over it.
    wedge
        A wedge of a histogram.
    choice
        What a wedge takes more where other middles than pairs of one kind are chosen.
    triangle
        A lesser neighbour of a lesser neighbour.
    walk
        An entry of a row that walks read.
    start
        Whatever is done once for a table that is made by roots.
    begin
        Whatever is done once for one that others make up in a pass.
    search
        Of a search, by what it takes one thread of the host.
    look
        That a formula may be looked for in any case.
    parts
        How many times as much as probes say a search takes that counts in parts, beside other searches.
    margin
        What share of a search's time a formula may be expected to take in order to be preferred.
    threads
        Whether all this is shared among the threads of the host.
    """

    number: float
    wedge: float
    choice: float
    triangle: float
    walk: float
    start: float
    begin: float
    search: float
    look: float
    parts: float
    margin: float
    threads: bool

    def of_search(self, seconds: float, threads: int) -> float:
        """Return what a search takes that takes `threads` threads of the host so many seconds."""
        return seconds if self.threads else self.start + seconds * threads * self.search

    def shared(self, threads: int) -> int:
        """Return among how many threads work is shared."""
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
    look=0.0,
    parts=1.0,
    margin=1.0,
    threads=True,
)
"""Of numpy and native code on one thread of an AMD EPYC."""

DEVICE_SPEEDS = Speeds(
    number=15e-12,
    wedge=25e-12,
    choice=5e-12,
    triangle=25e-12,
    walk=10e-12,
    start=50e-6,
    begin=10e-6,
    search=0.012,  # six searches .010 to .017, before tails with many roots .003
    look=0.05,
    parts=2.0,
    margin=0.55,  # by search and by tables: diamond of email_enron 463, 185 us; q_6_dense_0 1.2, 2.4 s
    threads=False,
)
"""Of an NVIDIA H100 (`benchmarks/micro/gpu_tables.py`)."""
