"""Counts of matches at each vertex of a graph that changes, and alerts where one passes a threshold.

The matches that each call finds are added at the images of the counted query vertex, and those that vanish
taken away. With ``symmetry="subgraphs"`` these are the images of all query vertices that an automorphism maps
to it, as in `motiflux.count_per_vertex`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.pattern import Pattern
from motiflux.pattern.automorphism import automorphisms
from motiflux.plan.image_counts import orbit_of
from motiflux.stream.matching.delta import Changes
from motiflux.stream.matching.match_rows import MatchRows
from motiflux.stream.vertex_options import VertexOptions

_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class VertexAlert:
    """A count at a vertex that passed a threshold.

    Parameters
    ----------
    pattern
        The pattern.
    vertex
        The id of the vertex.
    update
        The position of the update among those of the call; 0 in batch mode.
    before, count
        The count before and after this update.
    """

    pattern: Pattern
    vertex: Any
    update: int
    before: int
    count: int

    @property
    def up(self) -> bool:
        """Whether the count grew."""
        return self.count > self.before


@dataclass(eq=False)
class VertexTally:
    """The counts of one pattern, by internal number of the vertex; later vertices have 0.

    Parameters
    ----------
    places
        The query vertices whose images are counted.
    counts
        int64, or Python integers once one passes 2^63 - 1.
    """

    places: list[int]
    counts: NDArray[Any]

    def at(self, vertices: NDArray[np.int64]) -> NDArray[Any]:
        """Return the counts of vertices."""
        known = vertices < len(self.counts)
        found: NDArray[Any] = np.zeros(len(vertices), self.counts.dtype)
        found[known] = self.counts[vertices[known]]
        return found

    def put(self, vertices: NDArray[np.int64], counts: NDArray[Any]) -> None:
        """Set the counts of vertices."""
        if len(vertices) and (most := int(vertices[-1])) >= len(self.counts):
            grown = np.zeros(max(most + 1, 2 * len(self.counts)), self.counts.dtype)
            grown[: len(self.counts)] = self.counts
            self.counts = grown
        if counts.dtype == object and self.counts.dtype != object:
            self.counts = self.counts.astype(object)
        self.counts[vertices] = counts


@dataclass(frozen=True, slots=True)
class Pending:
    """The changes of one call: for each tally the vertices, ascending, and their counts before and after."""

    changes: list[tuple[VertexTally, NDArray[np.int64], NDArray[Any], NDArray[Any]]]
    alerts: tuple[VertexAlert, ...]

    def commit(self) -> None:
        """Set the counts after the call; done again, it changes nothing."""
        for tally, vertices, _, after in self.changes:
            tally.put(vertices, after)

    def undo(self) -> None:
        """Set the counts before the call."""
        for tally, vertices, before, _ in self.changes:
            tally.put(vertices, before)


class VertexCounting:
    """The counts of all watched patterns.

    Parameters
    ----------
    options
        What is counted.
    once
        Whether each occurrence is counted once at a vertex (``symmetry="subgraphs"``).
    directed
        Whether the graph is directed.
    """

    def __init__(self, options: VertexOptions, *, once: bool, directed: bool) -> None:
        self.options = options
        self._once = once
        self._directed = directed
        self.tallies: dict[Pattern, VertexTally] = {}

    def watch(self, pattern: Pattern, counts: NDArray[Any]) -> None:
        """Count a pattern from now on, beginning with these counts."""
        place = self.options.place(pattern)
        places = [place]
        if self._once:
            group = automorphisms(pattern, directed=self._directed)
            places = [one for (one,) in orbit_of((place,), group)]
        self.tallies[pattern] = VertexTally(places, counts)

    def prepare(self, changes: Changes, slots: Iterable[tuple[Pattern, int]]) -> Pending:
        """Return the changes of counts by the matches of a call; no count is changed."""
        found: list[tuple[VertexTally, NDArray[np.int64], NDArray[Any], NDArray[Any]]] = []
        alerts: list[VertexAlert] = []
        for pattern, slot in slots:
            tally, rows = self.tallies.get(pattern), changes.rows_in(slot)
            if tally is None or rows is None or not len(rows):
                continue
            vertices, updates, net = _events(rows, tally.places, each=self.options.alert is not None)
            ends = np.flatnonzero(np.append(vertices[1:] != vertices[:-1], True))
            starts = np.append(0, ends[:-1] + 1)
            touched = vertices[ends]
            before = tally.at(touched)
            running = _running(before, net, starts, ends)
            found.append((tally, touched, before, running[ends]))
            alerts += self._alerts(pattern, changes, (vertices, updates), running, running - net)
        return Pending(found, tuple(sorted(alerts, key=lambda one: one.update)))

    def _alerts(
        self,
        pattern: Pattern,
        changes: Changes,
        events: tuple[NDArray[np.int64], NDArray[np.int64]],
        after: NDArray[Any],
        before: NDArray[Any],
    ) -> Sequence[VertexAlert]:
        alert = self.options.alert
        if alert is None:
            return ()
        passed = (before < alert) & (after >= alert)
        if self.options.alert_down:
            passed |= (before >= alert) & (after < alert)
        at = np.flatnonzero(passed.astype(bool))
        if not len(at):
            return ()
        names = changes.names(events[0][at].astype(np.uint32)).tolist()
        return [
            VertexAlert(pattern, name, int(events[1][event]), int(before[event]), int(after[event]))
            for name, event in zip(names, at.tolist(), strict=True)
        ]


def _events(
    rows: MatchRows, places: Sequence[int], *, each: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return vertices, updates and net changes, by vertex and update; with `each` one for every update."""
    vertices = rows.vertices[:, places].ravel().astype(np.int64)
    signs = np.repeat(np.where(rows.positive, 1, -1), len(places))
    updates = (
        np.repeat(rows.updates.astype(np.int64), len(places)) if each else np.zeros(len(vertices), np.int64)
    )
    order = np.lexsort((updates, vertices))
    vertices, updates, signs = vertices[order], updates[order], signs[order]
    differs = (vertices[1:] != vertices[:-1]) | (updates[1:] != updates[:-1])
    firsts = np.flatnonzero(np.concatenate([[len(vertices) > 0], differs]))
    return vertices[firsts], updates[firsts], np.add.reduceat(signs, firsts)


def _running(
    before: NDArray[Any], net: NDArray[np.int64], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[Any]:
    """Return the count after each event; events [start, end] are of one vertex, with its count before."""
    sums = np.cumsum(net)
    of_vertex = np.repeat(np.arange(len(starts)), ends - starts + 1)
    within = sums - (sums[starts] - net[starts])[of_vertex]
    if before.dtype != object and len(before) and int(before.max()) > _LARGEST - int(np.abs(net).sum()):
        before = before.astype(object)
    running: NDArray[Any] = before[of_vertex] + within
    return running
