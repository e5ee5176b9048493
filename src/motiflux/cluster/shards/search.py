"""The search of a range of entries of a sharded graph: part by part, each within a bound on memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.cluster.shards.division import Blocks, divided
from motiflux.cluster.shards.layout import Layout
from motiflux.cluster.shards.part import Gathering, Part, Span, Spans, TooLarge, least_memory
from motiflux.cluster.shards.part_copies import OfVariables, PartCopies, share_of_rows
from motiflux.cluster.shards.reach import Reach, RowsOfPlan, reach_of, rows_of_plan
from motiflux.cluster.shards.roots import first_entry, in_halves, in_pieces, roots_between
from motiflux.cluster.shards.rows import Rows
from motiflux.cluster.shards.values import VertexValues
from motiflux.cluster.shares import Item
from motiflux.cluster.shares import roots as roots_item
from motiflux.cpu import native
from motiflux.errors import ClusterError, InternalError, MotifluxError
from motiflux.plan import Plan
from motiflux.plan.bind import BoundPattern
from motiflux.plan.comparisons.native import comparisons_of_rows_of_plan
from motiflux.plan.native_plan import native_problem_of_rows, steps_of_rows
from motiflux.request.request import Request

SHARE_OF_ROWS = 8
"""The rows' cache and pieces take one part of so many of the memory."""
_LEAST = 1 << 13
"""Bytes beside masks for which a search can be divided far enough."""
_BYTES_OF_ROOTS = 4
"""Bytes of a part for an entry whose root it has: half of the entries are read, and fill half of the part."""
_FEW_PARTS = 4
"""Roots with more parts than so many for each piece are tried in pieces, which have fewer candidates."""
_ENTRIES_BESIDE_PART = 20_000
"""A part takes as long beside its entries as so many of these."""
_PART_OF_PIECE = 0.85
"""A part of a piece takes so many times as long as another: its first levels have fewer candidates."""
_PASSES_OF_PIECE = 1.5
"""A piece of the roots is read so many times as often as to find and to weigh its candidates."""
_MANY_PARTS = 32
"""From so many parts on, the half of the roots that has lower degrees is tried in pieces of one part each."""
_PASSES_OF_LOW = 2
"""The rows of such a piece are read so many times: to find candidates, and for the part."""
_GAIN_OF_LOW = 4
"""Pieces of low roots have to take less than one part of so many of the time of all boxes: the other half of
the roots may need as many boxes."""
_OVERFILLED = 1.1
"""Many parts have fewer vertices than their weights tell: so much more should fit; else parts are halved."""
_BYTES_OF_ENTRY = 4
"""Bytes of an entry in the rows of a part."""
_FIRST = 1 << 12
"""Entries whose roots the first part has."""


@dataclass(frozen=True, slots=True)
class Ranged:
    """A plan as workers search it.

    Parameters
    ----------
    bound
        The pattern, bound to the labels of the sharded graph.
    divided
        Plans of the same order for parts of divided candidates: by the query vertices that have candidates of
        their own, each one and all.
    allowed
        For each query vertex, a bit for each vertex of the graph that it may be; None: as labels say.
    share
        The most entries whose roots a part should have so that each worker has some parts.
    """

    bound: BoundPattern
    plan: Plan
    divided: Mapping[frozenset[int], Plan]
    request: Request
    allowed: tuple[NDArray[np.uint8] | None, ...] = ()
    share: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes of the bits of vertices."""
        distinct = {id(bits): bits.nbytes for bits in self.allowed if bits is not None}
        return sum(distinct.values())


def least_bytes(layout: Layout, reach: Reach, beside: int, share: int = 1) -> int:
    """Return the least memory of a worker, in bytes, with which a search begins.

    Parameters
    ----------
    beside
        Bytes that are used beside the search.
    share
        See `RangeSearch`.
    """
    least = least_memory(layout, reach) + beside
    return least * SHARE_OF_ROWS // (SHARE_OF_ROWS - 1) + share * _LEAST


def part_memory(layout: Layout, reach: Reach, memory: int, beside: int, share: int = 1) -> int:
    """Return the bytes of the rows of a part, as those of `least_bytes`."""
    return max(1, (memory - memory // SHARE_OF_ROWS - beside - least_memory(layout, reach)) // share)


def shares_of_part(planned: Ranged, reach: Reach, layout: Layout) -> int:
    """Return which part of the memory of a part its rows take, one of so many, beside copies of edges."""
    rows = rows_of_plan(planned.bound, planned.plan, reach, layout)
    return share_of_rows(planned.plan, layout, len(rows.keys))


@dataclass(frozen=True, slots=True)
class MakeSearch:
    """Makes the native search of a part: not all parts are searched by it.

    Parameters
    ----------
    make
        Makes it.
    limit
        A count of the part may end once it has passed so many embeddings; None: it has to be whole.
    """

    make: Callable[[], _native.NativePlan]
    limit: int | None = None

    def __call__(self) -> _native.NativePlan:
        """Return the search."""
        return self.make()


Use = Callable[[Part, MakeSearch, Item], int]
"""Searches a part from all its roots; returns the number found."""


@dataclass(slots=True)
class Searched:
    """What was found in a range of entries.

    Parameters
    ----------
    total
        Embeddings, multiplier not applied.
    left
        The entries ``first .. left - 1`` of the range were not searched, unless the limit was passed.
    parts
        Number of parts.
    limit
        The search ends once `total` is greater; None: it does not.
    """

    total: int
    left: int
    parts: int
    limit: int | None = None

    @property
    def is_over(self) -> bool:
        """Whether the limit is passed."""
        return self.limit is not None and self.total > self.limit

    @property
    def left_of_limit(self) -> int | None:
        """The limit without what was found."""
        return None if self.limit is None else self.limit - self.total


class _LimitPassedError(Exception):
    """The rest of a range need not be searched."""


class RangeSearch:
    """Counts the embeddings whose root arcs are in a range of entries.

    Parameters
    ----------
    memory
        Bytes for all that depends on the graph.
    values
        The values of vertices that the plan compares; None for none.
    copies
        Asks for the copies of edges that the plan compares; None if it compares none.
    of_graph, of_part
        Bytes for each vertex of the graph, and of a part, that are used beside the search.
    share
        A part takes one of so many of the bytes that are left for it.
    """

    def __init__(
        self,
        rows: Rows,
        ranged: Ranged,
        memory: int,
        threads: int,
        *,
        values: VertexValues | None = None,
        copies: PartCopies | None = None,
        of_graph: int = 0,
        of_part: int = 0,
        share: int = 1,
    ) -> None:
        self._rows, self._layout, self._given = rows, rows.layout, memory
        self._ranged, self.threads = ranged, threads
        self._values, self._copies = values, copies
        of_part += 0 if values is None else values.bytes_of_vertex
        beside = of_graph * rows.layout.num_vertices + ranged.nbytes
        self._memory = memory - memory // SHARE_OF_ROWS - beside
        self._reach = reach_of(ranged.bound, ranged.plan, rows.layout)
        self._of_copies = 0
        """Copies of edges take as many times the bytes of a part."""
        if copies is not None:
            self._of_copies = shares_of_part(ranged, self._reach, rows.layout) - 1
        share += self._of_copies
        least = least_bytes(rows.layout, self._reach, beside, share)
        masks = least_memory(rows.layout, self._reach)
        room = max(1, self._memory - masks)
        self._memory = masks + room // share
        self._room_of_copies = room // share * self._of_copies
        self.room = room - self._room_of_copies
        """Bytes of a part, and of what is used beside it and beside copies."""
        self._beside_room, self._share = beside + masks, share
        if memory < least:
            raise ClusterError(
                f"memory: expected at least {least:,} bytes for this graph and pattern, found {memory:,}"
            )
        self.gathering = Gathering(rows, self._reach, self._memory, of_part, ranged.allowed)
        self._planned = {
            vertices: (plan, rows_of_plan(ranged.bound, plan, self._reach, rows.layout))
            for vertices, plan in ({**ranged.divided, frozenset[int](): ranged.plan}).items()
        }
        self._every = frozenset(range(self._reach.size))
        self._steps: dict[int, list[_native.Step]] = {}
        """Of the plans, by their identity."""
        self._rate = 0.0
        """Entries per second of the parts so far; 0: unknown."""
        self._gathers = False
        self.planned = self._planned[frozenset[int]()]
        """The plan of the part that is searched, and the rows that it reads."""
        self._search_seconds = 0.0
        """The time that searches of parts took, without that for their rows."""

    def each(self, first: int, last: int, seconds: float | None, limit: int | None, use: Use) -> Searched:
        """Search parts from the last entries to the first, until `seconds` are over or the limit is passed.

        Raises
        ------
        ClusterError
            The memory is too small.
        """
        started = time.perf_counter()
        found = Searched(0, last, 0, limit)
        while found.left > first:
            begun = time.perf_counter()
            rest = None if seconds is None else seconds - (begun - started)
            if rest is not None and rest <= 0 and found.left < last:
                break
            searched = self._search_seconds
            begin = max(first, found.left - self._entries(rest))
            try:
                self._search_range(begin, found.left, found, use)
            except _LimitPassedError:
                break
            seconds_here = max(time.perf_counter() - begun, 1e-6)
            self._rate = (found.left - begin) / seconds_here
            self._gathers = self._search_seconds - searched < seconds_here / 2
            found.left = begin
        return found

    @property
    def request(self) -> Request:
        """The request of the call."""
        return self._ranged.request

    @property
    def _entries_of_room(self) -> int:
        return self.gathering.memory // _BYTES_OF_ENTRY

    @property
    def entries_of_part(self) -> int:
        """The number of entries whose roots fill a part's share for roots."""
        return max(1, self.gathering.memory // _BYTES_OF_ROOTS)

    def whole(self, first: int, last: int, use: Use) -> None:
        """Search all parts of a range."""
        self._search_range(first, last, Searched(0, last, 0), use)

    def _search_range(self, first: int, last: int, found: Searched, use: Use) -> None:
        for spans in roots_between(self._rows, self._reach, first, last):
            self._search_spans(spans, found, use)

    def _entries(self, seconds: float | None) -> int:
        """Return the number of entries whose roots are next.

        If reading rows takes most of the time, as nearly all of them are read for few roots, it is the number
        whose rows fill a part's share for roots, even if that takes longer.
        """
        if seconds is None:
            return self._layout.entries
        least = min(self.entries_of_part, self._ranged.share) if self._gathers else 1
        return max(1, least, int(self._rate * seconds)) if self._rate > 0 else _FIRST

    def _search_spans(self, spans: Spans, found: Searched, use: Use, *, whole: bool = True) -> None:
        """Search for embeddings within spans, in several parts if they do not fit together.

        Parameters
        ----------
        whole
            Whether the roots are all those of a range.
        """
        gathering = self.gathering
        if not gathering.find(spans):
            found.parts += 1
            return
        own = frozenset(spans) - {self._reach.root}
        plan, rows = self._planned[own if own in self._planned else self._every]
        if self._search_part({}, plan, rows, found, use):
            return
        blocks = self._blocks(own, 1.0 if whole else _OVERFILLED)
        if whole and not own:
            parts, roots = float(blocks.parts.sum(dtype=np.float64)), spans[self._reach.root]
            two = in_halves(self._layout, roots) if parts > _MANY_PARTS else None
            if two is not None and (size := self._size_of_low_pieces(roots, two[0], parts)):
                self._search_low(two[0], size, found, use)
                self._search_spans({self._reach.root: two[1]}, found, use)
                return
            if pieces := self._pieces_that_pay(spans, parts):
                for piece in pieces:
                    self._search_spans({self._reach.root: piece}, found, use, whole=False)
                return
        plan, rows = self._planned[blocks.divided]
        large: list[Spans] = []
        boxes = blocks.boxes()[::-1]
        while boxes:
            box, fits = boxes.pop()
            within = blocks.spans(box)
            if fits and self._search_part(within, plan, rows, found, use):
                continue
            if fits and (halves := blocks.halves(box, self._reach.root)):
                boxes += [(half, True) for half in halves[::-1]]
            else:
                large.append(within)
        for within in large:  # these have other candidates
            if within == spans:
                raise self._error_of_least_part(within, plan, rows)
            self._search_spans(within, found, use, whole=False)

    def _search_part(self, spans: Spans, plan: Plan, rows: RowsOfPlan, found: Searched, use: Use) -> bool:
        """Search the part of candidates within spans; return whether it fits."""
        part = self.gathering.part(rows, spans)
        if isinstance(part, TooLarge):
            return False
        if part is not None:
            copies = self._copies_of(part, plan, rows)
            if isinstance(copies, TooLarge):
                return False
            found.parts += 1
            found.total += self._used(part, plan, rows, copies, found.left_of_limit, use)
            if found.is_over:
                raise _LimitPassedError
        return True

    def _copies_of(self, part: Part, plan: Plan, rows: RowsOfPlan) -> OfVariables | TooLarge:
        """Return the copies of edges that a plan compares."""
        if self._copies is None or not _roots_of(part, rows):
            return {}
        vertices = self.gathering.vertices()
        room = self._room_of_copies - vertices.nbytes
        return self._copies.of(plan, rows, part, vertices, room, self.threads)

    def _error_of_least_part(self, spans: Spans, plan: Plan, rows: RowsOfPlan) -> MotifluxError:
        """Return the error for a part that does not fit, and that has one candidate for each query vertex."""
        self.gathering.find(spans)
        part = self.gathering.part(rows, spans)
        if self._copies is None or not isinstance(part, Part):
            return InternalError("expected a part of one candidate each to fit into its memory")
        vertices = self.gathering.vertices()
        needed = self._copies.bytes_of(plan, rows, part, vertices, self.threads)
        room = -(-(needed.nbytes + vertices.nbytes) // self._of_copies) * self._share
        memory = -(-(room + self._beside_room) * SHARE_OF_ROWS // (SHARE_OF_ROWS - 1)) + 1
        if memory <= self._given:
            return InternalError(
                "expected the copies of edges between single vertices to fit into their memory"
            )
        ends = [self._described(plan.order[level]) for level in needed.levels]
        return ClusterError(
            f"memory: expected at least about {memory:,} bytes for this graph and pattern, found "
            f"{self._given:,}: there are {needed.copies:,} copies of edges between {ends[0]} and {ends[1]}, "
            f"and the copies of such single vertices take about {needed.nbytes:,} bytes in a search"
        )

    def _described(self, vertex: int) -> str:
        """Return what an image of a query vertex is."""
        table, codes = self._layout.vertex_label_table, self._ranged.bound.labels[vertex]
        if len(table) == 1 or codes is None:
            return "a vertex"
        return f"a vertex labelled {' or '.join(repr(table.values[code]) for code in codes)}"

    def _blocks(self, own: frozenset[int], filled: float) -> Blocks:
        """Return the boxes of the candidates; `own`: query vertices that have blocks of their own already."""
        planned = {vertices: rows for vertices, (_, rows) in self._planned.items() if own <= vertices}
        weights = self.gathering.weights(list(planned.values()))
        return divided(self.gathering, weights, self._reach, planned, filled)

    def _size_of_low_pieces(self, roots: Span, low: Span, parts: float) -> int:
        """Return the number of entries of low roots whose rows fill one part; 0 if boxes take less time.

        It is that of roots in the middle of the low ones: pieces of 1, 2, 4, ... of them are tried.
        """
        gathering, layout, root = self.gathering, self._layout, self._reach.root
        begin, end = first_entry(layout, low[0]), first_entry(layout, low[1])
        at = layout.vertex_of_entry((begin + end) // 2)
        size, tried = 0, 1
        while at + tried <= low[1]:
            before = gathering.read
            gathering.find({root: (at, at + tried)})
            if gathering.read - before > self._entries_of_room:
                break
            size = first_entry(layout, at + tried) - first_entry(layout, at)
            tried *= 2
        gathering.find({root: roots})
        of_boxes = parts * (gathering.memory // 4 + _ENTRIES_BESIDE_PART)
        of_piece = _PASSES_OF_LOW * self._entries_of_room + _ENTRIES_BESIDE_PART
        return size if (end - begin) / max(size, 1) * of_piece < of_boxes / _GAIN_OF_LOW else 0

    def _search_low(self, low: Span, size: int, found: Searched, use: Use) -> None:
        """Search from low roots, in pieces of as many entries as make one part; `size`: about so many.

        What `find` reads is the same wherever rows lie, so the pieces are, and the order of what is found.
        """
        gathering, layout, root = self.gathering, self._layout, self._reach.root
        at, last = low
        while at < last:
            most = min(first_entry(layout, at) + size, layout.entries - 1)
            until = min(last, max(at + 1, layout.vertex_of_entry(most)))
            before = gathering.read
            has_candidates = gathering.find({root: (at, until)})
            read = gathering.read - before
            if not has_candidates:
                found.parts += 1
            elif not self._search_part({}, *self._planned[frozenset()], found, use):
                if until - at > 1:
                    size = max(1, size // 2)
                    continue
                self._search_spans({root: (at, until)}, found, use, whole=False)
            if read < self._entries_of_room // 2:
                size += size // 2 + 1
            at = until

    def _pieces_that_pay(self, spans: Spans, parts: float) -> list[Span]:
        """Return pieces of the roots if these are expected to take less time than all together; else none.

        Three of them are weighed: the first one, which has the most vertices, one in the middle for all
        between, and the last one, which has the hubs.
        """
        root, gathering = self._reach.root, self.gathering
        pieces = in_pieces(self._layout, spans[root], self.entries_of_part // 2)  # a quarter of a part each
        last = len(pieces) - 1
        if last < 1 or parts <= _FEW_PARTS * len(pieces):
            return []
        of_part = gathering.memory // 4 + _ENTRIES_BESIDE_PART
        expected = 0.0
        for at, times in ((0, 1), (len(pieces) // 2, last - 1), (last, 1)):
            if times and expected < parts * of_part:
                before = gathering.read
                of_piece = _PART_OF_PIECE * of_part * self._parts_of({root: pieces[at]})
                expected += times * (_PASSES_OF_PIECE * (gathering.read - before) + of_piece)
        if expected < parts * of_part:
            return pieces
        gathering.find(spans)
        return []

    def _parts_of(self, spans: Spans) -> float:
        """Return about the number of parts of some roots; the candidates are theirs afterwards."""
        if not self.gathering.find(spans):
            return 0.0
        return float(self._blocks(frozenset(), 1.0).parts.sum(dtype=np.float64))

    def _used(
        self, part: Part, plan: Plan, rows: RowsOfPlan, copies: OfVariables, limit: int | None, use: Use
    ) -> int:
        """Return what `use` returns for the search of a part."""
        if not (roots := _roots_of(part, rows)):
            return 0
        self.planned = plan, rows
        begun = time.perf_counter()
        search = MakeSearch(partial(self._native_search, part, plan, rows, copies), limit)
        found = use(part, search, roots_item(roots.start, roots.stop))
        self._search_seconds += time.perf_counter() - begun
        return found

    def _native_search(
        self, part: Part, plan: Plan, rows: RowsOfPlan, copies: OfVariables
    ) -> _native.NativePlan:
        """Return the native search of the part that was gathered last."""
        tuning = self._ranged.request.tuning
        compared = None
        if plan.comparisons is not None:
            values = None if self._values is None else self._values.of(self.gathering.vertices())
            compared = comparisons_of_rows_of_plan(values, plan, copies)
        return native_problem_of_rows(
            plan,
            part.rows,
            sources=rows.sources,
            out=rows.out,
            into=rows.into,
            apart=rows.apart,
            intersect=tuning["intersect"],
            simd=tuning["simd"],
            backjump=tuning["backjump"],
            compared=compared,
            steps=self._steps_of(plan),
        )

    def _steps_of(self, plan: Plan) -> list[_native.Step]:
        steps = self._steps.get(id(plan))
        if steps is None:
            steps = self._steps[id(plan)] = steps_of_rows(plan)
        return steps

    def counted(self, part: Part, search: MakeSearch, item: Item) -> int:
        """Return the number of embeddings in a part, or one beyond the limit.

        Raises
        ------
        CountOverflowError
            It is too large.
        """
        portion = ([item], None, None, None)
        limit = native.native_limit(search.limit)
        with native.overflow_explained():
            total, stop, _ = _native.count_portion(search(), portion, self.threads, limit, None)
        if stop not in (native.Stop.NONE, native.Stop.LIMIT):
            raise ClusterError(f"a search of a part ended early: {stop}")
        return total


def _roots_of(part: Part, rows: RowsOfPlan) -> range:
    """Return the root arcs of a part, by their places in its rows."""
    offsets, _ = part.rows[rows.sources[0]]
    return range(int(offsets[part.first]), int(offsets[part.last]))
