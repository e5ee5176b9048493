"""The times of operations on tables, and sums of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from motiflux.plan.ir import Plan, Table, Walks, Wedges
from motiflux.plan.local_counts.family import Undecided
from motiflux.plan.rooted import Rooted

MOST_KNOWN = 3_000
"""Maximum number of rooted patterns of a family whose cheapest tables are kept, and, roughly, of a graph."""
_PATTERN_BYTES = 5_000
"""Bytes of one kept pattern, approximately."""
KNOWN_TABLES_BYTES = MOST_KNOWN * _PATTERN_BYTES

Found = tuple[Table, dict[Table, float]]
"""A table, and the seconds of each table from which it is computed, itself included."""


def seconds_of(found: Found) -> float:
    """Return the seconds of a table and of all tables from which it is computed."""
    return sum(found[1].values())


class KnownTables(dict[Rooted, Found]):
    """The cheapest table of each pattern of one family, at the same costs."""

    @property
    def nbytes(self) -> int:
        """Bytes held, approximately."""
        return _PATTERN_BYTES * (1 + len(self))


class TooExpensive(Undecided):
    """The table takes at least as much time as a known table."""


class CostSum:
    """Adds up the seconds of a table: passes over tables, and each table from which it is computed once.

    Raises `TooExpensive` as soon as the sum reaches `max_seconds`.
    """

    def __init__(self, max_seconds: float, pass_seconds: float = 0.0) -> None:
        self.parts: dict[Table, float] = {}
        self.pass_seconds = 0.0
        self._seconds = 0.0
        self._max_seconds = max_seconds
        self.add_passes(pass_seconds)

    def add_passes(self, seconds: float) -> None:
        """Add the seconds of passes over tables."""
        self.pass_seconds += seconds
        self._add(seconds)

    def add_tables(self, parts: dict[Table, float]) -> None:
        """Add tables that were not added before."""
        fresh = {table: seconds for table, seconds in parts.items() if table not in self.parts}
        self.parts |= fresh
        self._add(sum(fresh.values()))

    def _add(self, seconds: float) -> None:
        self._seconds += seconds
        if self._seconds >= self._max_seconds:
            raise TooExpensive

    def found(self, table: Table) -> Found:
        """Return a table that takes the passes added, with the seconds of all tables added."""
        return table, {**self.parts, table: self.pass_seconds}


@dataclass(frozen=True, slots=True)
class Costs:
    """The times of operations on tables, in seconds.

    Parameters
    ----------
    vertices, arcs
        A pass over a table with a number per vertex, and per arc.
    search
        Returns the plan and the time of a search from every image of a pattern's roots.
    triangles
        Returns the time of counting the triangles of all arcs.
    wedges
        Returns the time of a histogram of wedges.
    walks
        Returns the time of walks from all vertices, without the tables that weight them.
    weighted_cycles
        Returns the time of 4-cycles with weights, from the histogram that counts them; None if there is no
        such method.
    """

    vertices: float
    arcs: float
    search: Callable[[Rooted], tuple[Plan, float] | None]
    triangles: Callable[[Rooted], float]
    wedges: Callable[[Wedges], float]
    walks: Callable[[Walks], float]
    weighted_cycles: Callable[[Wedges], float] | None = None

    def table(self, roots: int) -> float:
        """Return the time of a pass over a table."""
        return (0.0, self.vertices, self.arcs)[roots]
