"""What the search of a run needs to know of plans and rows."""

from __future__ import annotations

from dataclasses import dataclass

_SHORT_ROWS = 16.0
"""Length of a typical row below which a group has few lanes."""


@dataclass(frozen=True)
class SearchedRows:
    """Rows that a search reads.

    Parameters
    ----------
    headers
        Address of their headers.
    typical
        The length of the row that an entry is in, on average.
    looked_up
        Whether candidates are looked up in them.
    """

    headers: int
    typical: float
    looked_up: bool


@dataclass(frozen=True)
class Searched:
    """What searches of a run need.

    Parameters
    ----------
    plans, rows
        Addresses of the plans and of the table of rows.
    most_levels, most_spans
        Most levels of a plan, and most sets that a step intersects.
    longest, lanes
        Room for the longest row, in entries, and lanes of a group.
    vertices
        Number of vertices.
    most_walked
        Most levels of a plan that are walked before those that are counted.
    row_sets
        The rows of the table, in its order.
    stages
        Most stages of the search by a plan; 1: no partial matches are pooled.
    sharing
        Addresses of the roots that share levels with each root, and of their numbers; None: no plan shares.
    candidates, candidate_bytes
        Address of the candidate table, 0 if candidates are not filtered, and bytes of a vertex in it.
    """

    plans: int
    rows: int
    most_levels: int
    most_spans: int
    longest: int
    lanes: int
    vertices: int
    most_walked: int
    row_sets: tuple[SearchedRows, ...]
    stages: int = 1
    sharing: tuple[int, int] | None = None
    candidates: int = 0
    candidate_bytes: int = 0


@dataclass(frozen=True)
class RootsThere:
    """Roots of a run in device memory, `ROOT` entries.

    Attributes
    ----------
    address
        Of the first one.
    counted, listed
        How many begin searches that count, and how many, behind them, searches that list.
    """

    address: int
    counted: int
    listed: int

    def __len__(self) -> int:
        return self.counted + self.listed


def lanes_for(typical: float) -> int:
    """Return the lanes of a group, by the size of the row that an entry is in on average."""
    return 8 if typical < _SHORT_ROWS else 32
