"""The search of a range of entries of a sharded graph: part by part, each within a bound on memory."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from motiflux import _native
from motiflux.cluster.shards.layout import Layout
from motiflux.cluster.shards.part import Gathering, Part, Roots, TooLargeError
from motiflux.cluster.shards.reach import reach_of
from motiflux.cluster.shards.rows import Rows
from motiflux.cluster.shares import roots as roots_item
from motiflux.cpu import native
from motiflux.errors import ClusterError
from motiflux.plan import Plan
from motiflux.plan.bind import BoundPattern
from motiflux.plan.native_plan import native_problem
from motiflux.request.request import Request

SHARE_OF_ROWS = 3
"""The rows' cache and pieces take one part of so many of the memory."""
_FILLED = 0.6
"""Share of the memory that the next part is expected to fill."""
_FASTER = 4
"""Greatest ratio of the entries of a part to those of the part before."""
_FIRST = 1 << 12
"""Entries whose roots the first part has."""


@dataclass(frozen=True, slots=True)
class Ranged:
    """A plan as workers search it: bound to the labels of a sharded graph."""

    bound: BoundPattern
    plan: Plan
    request: Request


@dataclass(slots=True)
class Searched:
    """What was found in a range of entries.

    Parameters
    ----------
    total
        Embeddings, multiplier not applied.
    left
        The entries ``first .. left - 1`` of the range were not searched.
    parts
        Number of parts.
    """

    total: int
    left: int
    parts: int


class RangeSearch:
    """Counts the embeddings whose root arcs are in a range of entries.

    Parameters
    ----------
    memory
        Bytes for all that depends on the graph.
    """

    def __init__(self, rows: Rows, ranged: Ranged, memory: int, threads: int) -> None:
        self._rows, self._layout = rows, rows.layout
        self._ranged, self._threads = ranged, threads
        self._memory = memory - memory // SHARE_OF_ROWS
        self._reach = reach_of(ranged.bound, ranged.plan, rows.layout)
        self._gathering = Gathering(rows, self._reach, self._memory)
        self._wanted = float(_FIRST)
        self._rate = 0.0
        """Entries per second of the parts so far; 0: unknown."""

    def count(self, first: int, last: int, seconds: float | None, limit: int | None) -> Searched:
        """Count from the last entries to the first, until `seconds` are over or the limit is passed.

        Raises
        ------
        ClusterError
            The part of a single entry does not fit into the memory.
        """
        started = time.perf_counter()
        found = Searched(0, last, 0)
        until: list[int] = []  # where parts begin that were divided, the nearest last
        while found.left > first:
            elapsed = time.perf_counter() - started
            if seconds is not None and elapsed >= seconds and found.parts:
                break
            if limit is not None and found.total > limit:
                break
            begin = until.pop() if until else first
            wanted = self._entries(None if seconds is None else seconds - elapsed)
            if found.left - begin > wanted:
                until.append(begin)
                begin = found.left - wanted
            self._divide(begin, found, until)
        return found

    def _entries(self, seconds: float | None) -> int:
        wanted = self._wanted
        if seconds is not None and self._rate > 0:
            wanted = min(wanted, self._rate * max(seconds, 0.0))
        return max(1, int(wanted))

    def _divide(self, begin: int, found: Searched, until: list[int]) -> None:
        """Count one part, or note where to divide it."""
        started, entries = time.perf_counter(), found.left - begin
        try:
            counted = sum(self._counted(one) for one in _roots_between(self._rows, begin, found.left))
        except TooLargeError:
            if entries == 1:
                vertex = self._layout.vertex_of_entry(begin)
                raise ClusterError(
                    f"memory: the rows for a search from one arc of vertex {vertex} (internal id) take more "
                    f"than the {self._memory:,} bytes that memory= leaves for them"
                ) from None
            until += [begin, begin + entries // 2]
            self._wanted = max(1.0, entries / 2)
            return
        found.total += counted
        found.left = begin
        found.parts += 1
        filled = max(self._gathering.nbytes, 1) / self._memory
        self._wanted = max(1.0, min(_FASTER * entries, entries * _FILLED / filled))
        took = max(time.perf_counter() - started, 1e-6)
        self._rate = entries / took

    def _counted(self, roots: Roots) -> int:
        self._gathering.nbytes = 0
        part = self._gathering.part(roots)
        if part is None:
            return 0
        plan, tuning = self._ranged.plan, self._ranged.request.tuning
        search = native_problem(
            part.graph,
            plan,
            intersect=tuning["intersect"],
            simd=tuning["simd"],
            threads=self._threads,
            backjump=tuning["backjump"],
        )
        first, last = _root_arcs(part, plan, roots, self._threads)
        if first == last:
            return 0
        portion = ([roots_item(first, last)], None, None, None)
        total, stop, _ = _native.count_portion(search, portion, self._threads, native.native_limit(None), None)
        if stop != native.Stop.NONE:
            raise ClusterError(f"a search of a part ended early: {stop}")
        return total


def _root_arcs(part: Part, plan: Plan, roots: Roots, threads: int) -> tuple[int, int]:
    """Return the positions of root arcs in the rows from level 0 to level 1."""
    offsets, neighbors = part.graph.adjacency(plan.args.steps[1].adjacencies[0], threads)
    low, high = np.searchsorted(part.ids, [roots.first, roots.last])
    first, last = int(offsets[low]), int(offsets[high])
    if roots.last - roots.first == 1:
        least, most = np.searchsorted(part.ids, [roots.least, roots.most])
        row = neighbors[first:last]
        first, last = first + int(np.searchsorted(row, least)), first + int(np.searchsorted(row, most))
    return first, last


def _roots_between(rows: Rows, first: int, last: int) -> Iterator[Roots]:
    """Yield root arcs for a range of entries: at most two parts of rows, and whole rows between them.

    A part of a row stands for the neighbours from its first one up to that of the entry behind it, so that
    ranges that follow one another have each neighbour once, whatever number of entries it has.
    """
    layout = rows.layout
    vertices = layout.num_vertices
    at = first
    while at < last:
        vertex = layout.vertex_of_entry(at)
        begin = int(layout.first_entries_of(np.array([vertex]))[0])
        end = begin + int(layout.degrees_of(np.array([vertex]))[0])
        if at > begin or last < end:
            until = min(last, end)
            least = _neighbor(rows, vertex, at - begin, layout) if at > begin else 0
            most = _neighbor(rows, vertex, until - begin, layout) if until < end else vertices
            if least < most:
                yield Roots(vertex, vertex + 1, least, most)
            at = until
        else:
            behind = vertices if last >= layout.entries else layout.vertex_of_entry(last)
            yield Roots(vertex, behind, 0, vertices)
            at = int(layout.first_entries_of(np.array([behind]))[0]) if behind < vertices else layout.entries


def _neighbor(rows: Rows, vertex: int, entry: int, layout: Layout) -> int:
    """Return the neighbour of an entry of a row."""
    (piece,) = rows.pieces(np.array([vertex]), entry, entry + 1)
    return int(piece.neighbors[0])
