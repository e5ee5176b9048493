"""Which rows of the host a run is expected to open: what `RowCache` copies for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.gpu.changing.plans import PlanTable
from motiflux.gpu.outofcore.cache import NOTHING, Wanted, found_in
from motiflux.gpu.outofcore.own_rows import HostOrOwnRows

WEIGHTED, PAPER = range(2)
"""How the walks of an estimate are weighted, as the native monitor numbers them."""
_GROWTH = 1.25
"""Growth of the entries after which the longest rows are sought anew."""


@dataclass(frozen=True)
class Coming:
    """A run that is to be searched, before the places of rows change.

    Parameters
    ----------
    native, run, table
        The monitor, what it applies, and its plans.
    rows
        The rows of the names of `table`, in their order; `Wanted` numbers them so.
    touched
        The vertices whose rows the run changes, ascending.
    room
        Bytes that there is room for.
    threads
        Threads of the host that may read rows.
    seconds
        For which rows may be chosen, as far as a policy can be cut short.
    left
        The rows that were copied and are not any more, if all others that were wanted last are still there.
    """

    native: _native.Monitor
    run: _native.Run
    table: PlanTable
    rows: Sequence[HostOrOwnRows]
    touched: NDArray[np.uint32]
    room: int
    threads: int
    seconds: float
    left: Wanted | None


class Policy(Protocol):
    """Chooses rows for the run to come."""

    def wanted(self, coming: Coming) -> Wanted:
        """Return rows, best first."""


class NoRows:
    """Copies no row: all are read from the host (zero-copy)."""

    def wanted(self, coming: Coming) -> Wanted:
        """Return none."""
        return NOTHING


class LongestRows:
    """Copies the longest rows, whatever the run: the naive policy of GCSM's section VI-A."""

    def __init__(self) -> None:
        self._found = NOTHING
        self._keys = np.empty(0, np.uint64)  # of the rows found, ascending
        self._of: tuple[object, int] | None = None

    def wanted(self, coming: Coming) -> Wanted:
        """Return the longest rows that there is room for, or those of them that are missing, if known."""
        rows, room = coming.rows, coming.room
        of = coming.table.names, room, tuple(one.written for one in rows)
        entries = sum(one.entries for one in rows)
        if self._of is None or self._of[0] != of or entries > _GROWTH * self._of[1]:
            self._found, self._of = self._longest(rows, room), (of, entries)
            self._keys = np.sort(self._found.keys)
        elif coming.left is not None:
            return coming.left[found_in(self._keys, coming.left.keys)]
        return self._found

    @staticmethod
    def _longest(rows: Sequence[HostOrOwnRows], room: int) -> Wanted:
        if not rows:
            return NOTHING
        of_kinds = [one.all_sizes for one in rows]
        sizes = np.concatenate(of_kinds)
        starts = np.cumsum([0, *map(len, of_kinds)])
        order = np.argsort(-sizes, kind="stable")
        order = order[4 * sizes[order] <= room]  # one that is longer does not keep others out
        order = order[: int(np.searchsorted(np.cumsum(4 * sizes[order]), room, "right"))]
        order = order[sizes[order] > 0]
        kinds = np.searchsorted(starts, order, "right") - 1
        return Wanted(kinds.astype(np.uint32), (order - starts[kinds]).astype(np.uint32))


class NearRows:
    """Copies the rows of all vertices that a search may come to, the nearest first (VSGM).

    VSGM needs all of them. Here those that are left out for want of room are read from the host.
    """

    def wanted(self, coming: Coming) -> Wanted:
        """Return the rows of vertices up to so many steps from the changed edges as plans take."""
        seen = frontier = coming.touched
        found: list[Wanted] = []
        left = coming.room
        for _ in range(most_hops(coming.table)):
            near = np.unique(
                np.concatenate([_neighbors(one, frontier, coming.threads) for one in coming.rows])
            )
            frontier = np.setdiff1d(near, seen, assume_unique=True)
            seen = np.union1d(seen, frontier)
            for number, one in enumerate(coming.rows):
                found.append(Wanted(np.full(len(frontier), number, np.uint32), frontier))
                left -= 4 * int(one.places_of(frontier, coming.threads)[1].sum())
            if left <= 0 or not len(frontier):
                break
        if not found:
            return NOTHING
        return Wanted(
            np.concatenate([one.kinds for one in found]), np.concatenate([one.vertices for one in found])
        )


def _neighbors(rows: HostOrOwnRows, vertices: NDArray[np.uint32], threads: int) -> NDArray[np.uint32]:
    """Return the neighbours of vertices in these rows, which may not have those that are new."""
    vertices = vertices[vertices < rows.num_rows]
    addresses, sizes = rows.places_of(vertices, threads)
    starts = np.zeros(len(vertices) + 1, np.uint64)
    np.cumsum(sizes, out=starts[1:])
    found = np.empty(int(starts[-1]), np.uint32)
    _native.copy_rows(addresses, starts, found, threads)
    return np.unique(found)


def most_hops(table: PlanTable) -> int:
    """Return the most steps from the changed edge to a vertex whose row a plan reads."""
    most = 0
    for steps in table.steps:
        hops = [0, 0]
        for sources, reuse, *_ in steps[2:]:
            levels = [source[0] for source in sources]
            most = max([most, *(hops[level] for level in levels)])
            near = [hops[level] + 1 for level in levels] + ([hops[reuse]] if reuse >= 0 else [])
            hops.append(min(near, default=1))
    return most


class OftenOpened:
    """Copies the rows that the search is expected to open most often (GCSM, section IV).

    Parameters
    ----------
    method
        How walks are weighted: `WEIGHTED` or `PAPER`.
    """

    def __init__(self, method: int = WEIGHTED) -> None:
        self._method, self._estimator = method, _native.AccessEstimator()
        self._native: _native.Monitor | None = None

    def wanted(self, coming: Coming) -> Wanted:
        """Return the rows that walks from the changed edges come to, those opened most often first."""
        if self._native is not coming.native:  # it knows the plans and the longest row of one monitor
            self._native, self._estimator = coming.native, _native.AccessEstimator()
        if not coming.table.names or not coming.run.num_roots or not coming.room or not coming.seconds:
            return NOTHING
        found = coming.native.estimate_accesses(
            self._estimator,
            coming.run,
            coming.table.names,
            self._method,
            walks=0 if self._method == WEIGHTED else None,
            seconds=coming.seconds,
            threads=coming.threads,
        )
        return Wanted(found.names, found.vertices)


def policy_of(tuning: Mapping[str, str]) -> Policy:
    """Return the policy that the values of all switches say."""
    match tuning["cache"]:
        case "none":
            return NoRows()
        case "degree":
            return LongestRows()
        case "khop":
            return NearRows()
    return OftenOpened(PAPER if tuning["access_walks"] == "paper" else WEIGHTED)
