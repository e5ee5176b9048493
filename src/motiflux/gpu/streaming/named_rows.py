"""The rows that the plans of a stream read: of each name, a row for each vertex."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.codegen.changing import FOREVER
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.changing.plans import PlanTable, RowsName
from motiflux.gpu.changing.rows import EITHER, IN, OUT
from motiflux.gpu.streaming.graph_memory import Move
from motiflux.gpu.streaming.kinds import Places

_LEAST_SPARE, _SPARE_SHARE = 1024, 8

Entries = tuple[NDArray[np.uint64], NDArray[np.uint32]]
"""Offsets, and neighbours in ascending order without repeats."""


@dataclass(frozen=True)
class NamedRows:
    """Row v of name k is row ``k * vertices + v`` of the graph of versions.

    Parameters
    ----------
    names
        Target and direction of each kind of rows.
    classes
        The classes whose edges the rows of each name hold; None: all.
    directed
        Whether the graph is.
    vertices
        Vertices that rows are reserved for.
    entries
        The rows that the host has, by name; None where they are not needed.
    """

    names: tuple[RowsName, ...]
    classes: tuple[frozenset[int] | None, ...]
    directed: bool
    vertices: int
    entries: tuple[Entries | None, ...]

    @staticmethod
    def of(
        native: _native.Monitor,
        table: PlanTable,
        spare: int | None,
        threads: int,
        before: NamedRows | None = None,
    ) -> NamedRows:
        """Return the rows of a monitor.

        Parameters
        ----------
        spare
            Vertices to reserve rows for beyond those that there are; None: an eighth, at least 1024.
        before
            Rows that are there already, as the monitor has them; they are not read again.
        """
        number = native.num_vertices
        spare = max(_LEAST_SPARE, number // _SPARE_SHARE) if spare is None else spare
        known = () if before is None else before.names
        classes = [native.target_classes(target) for target, _ in table.names]
        reserved = number + spare
        if before is not None and number <= before.vertices:
            reserved = before.vertices
        return NamedRows(
            table.names,
            tuple(None if some is None else frozenset(some.tolist()) for some in classes),
            native.directed,
            max(1, reserved),
            tuple(None if name in known else _entries_of(native, name, threads) for name in table.names),
        ).checked()

    def checked(self) -> NamedRows:
        """Return itself; raise `DeviceMemoryError` if there are more rows than numbers of rows."""
        if self.number > FOREVER:
            raise DeviceMemoryError(
                "heads of rows", self.number, FOREVER, "watch fewer patterns, or reserve fewer vertices"
            )
        return self

    def moves_from(self, before: NamedRows) -> list[Move]:
        """Return which rows get which numbers here."""
        number_of = {name: number for number, name in enumerate(self.names)}
        count = min(before.vertices, self.vertices)
        moves = []
        for number, name in enumerate(before.names):
            to = number_of.get(name)
            moves.append(Move(before.first_row(number), None if to is None else self.first_row(to), count))
        return moves

    @property
    def number(self) -> int:
        """Number of rows."""
        return max(1, len(self.names)) * self.vertices

    @property
    def longest(self) -> int:
        """Entries of the longest row that the host has."""
        there = [rows[0] for rows in self.entries if rows is not None]
        return max((int(np.diff(offsets).max(initial=0)) for offsets in there), default=0)

    def without_entries(self) -> NamedRows:
        """Return the same without the rows."""
        return replace(self, entries=(None,) * len(self.names))

    def with_classes(self, native: _native.Monitor) -> NamedRows:
        """Return the same with the classes that a monitor's targets accept now: new labels bring new ones."""
        classes = [native.target_classes(target) for target, _ in self.names]
        return replace(
            self, classes=tuple(None if some is None else frozenset(some.tolist()) for some in classes)
        )

    def first_row(self, name: int) -> int:
        """Return the row of vertex 0 of a name."""
        return name * self.vertices

    def places(self, forward: int, back: int, skipped: frozenset[int] = frozenset()) -> Places:
        """Return where an edge is written, by its classes as seen from its source and its target."""
        found: list[tuple[int, int]] = []
        for number, (_, way) in enumerate(self.names):
            if number in skipped:
                continue
            either = not self.directed or way == EITHER
            for of_target, seen, ways in ((0, forward, OUT), (1, back, IN)):
                accepted = self.classes[number]
                if (either or way == ways) and (accepted is None or seen in accepted):
                    found.append((number, of_target))
        return tuple(found)


def _entries_of(native: _native.Monitor, name: RowsName, threads: int) -> Entries:
    target, way = name
    offsets, _, neighbors = native.target_rows(target, way, threads)
    return without_repeats(offsets, neighbors)


def without_repeats(offsets: NDArray[np.uint64], neighbors: NDArray[np.uint32]) -> Entries:
    """Return rows in which each neighbour is once: several edges may lead to one."""
    first = np.ones(len(neighbors), bool)
    first[1:] = neighbors[1:] != neighbors[:-1]
    begins = offsets[:-1][offsets[:-1] < len(neighbors)].astype(np.int64)
    first[begins] = True
    if first.all():
        return offsets, neighbors
    kept = np.concatenate([[0], np.cumsum(first)]).astype(np.uint64)
    return kept[offsets.astype(np.int64)], neighbors[first]
