"""Random rows of a sharded graph: all ranges of entries are counted, then those that were drawn are listed.

Each row is a number below that of all embeddings, drawn with equal chances. The counts of the ranges tell in
which one it is, and its place there; a task lists that range and picks the rows by their places. Which rows
have these places depends on the range and on the memory only, wherever it is listed. The embeddings of the
patterns of a query follow those of each other.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motiflux.api.listing import LateRows
from motiflux.api.random_rows import MAX_ROWS, MAX_SEED
from motiflux.arguments import check_integer
from motiflux.cluster.shards.columns import IdColumns, QueryIds, layout_of
from motiflux.cluster.shards.conditions import Narrowed
from motiflux.cluster.shards.counting import job_of
from motiflux.cluster.shards.estimating import RangeCounts
from motiflux.cluster.shards.planning import plan_narrowed, sampled
from motiflux.cluster.shards.progress import BehindSearch, tell_end, telling
from motiflux.cluster.shards.query_tasks import numbered, width_of
from motiflux.cluster.shards.ranges import Ranges
from motiflux.cluster.shards.reasons import reason_of
from motiflux.cluster.shards.row_tasks import patterns_of_shapes
from motiflux.cluster.shards.search import Ranged
from motiflux.cluster.shards.sharded import Stage
from motiflux.cluster.shards.tasks import picked_rows
from motiflux.cluster.tasks import BlockSource
from motiflux.errors import ArgumentError, CountOverflowError
from motiflux.pattern import Pattern, Query
from motiflux.pattern.queries.symmetry import automorphisms_of
from motiflux.plan.passes.symmetry import check_symmetry
from motiflux.request.deadline import Deadline
from motiflux.request.progress import of_equal_parts, progress_callback
from motiflux.request.reports import ProgressCallback
from motiflux.request.request import Request, make_request
from motiflux.result.images import Images
from motiflux.result.matches import Matches
from motiflux.result.rows import NoRows, RowSource
from motiflux.types import Symmetry

if TYPE_CHECKING:
    from motiflux.cluster.shards.sharded import ShardedGraph
    from motiflux.cluster.workers import Workers

_BYTES_OF_DRAW, _BYTES_OF_ID = 80, 12
"""Bytes of a row while it is drawn, and of each of its ids, some of which are there twice: at most."""
_ROWS_OF_TASK = 1 << 18
_BLOCK = 1 << 16
_MOST_OF_RANGE = 1 << 62


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A pattern whose embeddings are drawn.

    Parameters
    ----------
    each
        How many of its embeddings are one row: the automorphisms of a shape of a query.
    """

    pattern: Pattern
    each: int = 1


@dataclass(frozen=True, slots=True)
class _Asked:
    """The patterns of a call, and the columns of its rows.

    Parameters
    ----------
    width
        The columns of rows: those of a query have the number of their pattern before the vertices.
    """

    patterns: tuple[_Drawn, ...]
    request: Request
    columns: IdColumns | QueryIds
    width: int


@dataclass
class _Source:
    """The embeddings of a pattern that may have some, in the order of the ranges that they are listed from.

    Parameters
    ----------
    number
        The number of the pattern.
    graph
        The graph as its search sees it.
    counting, listing
        Two plans of the same embeddings.
    """

    drawn: _Drawn
    number: int
    graph: ShardedGraph
    counting: Ranged
    listing: Ranged
    counts: list[int] = field(default_factory=list)
    """Rows of each range, without their images."""

    @cached_property
    def images(self) -> Images:
        """The embeddings that each row that is listed stands for."""
        return Images(self.listing.plan)

    @property
    def embeddings(self) -> int:
        """The number of embeddings."""
        return sum(self.counts) * self.images.of_each


def sample_sharded(
    workers: Workers,
    graph: ShardedGraph,
    query: Pattern | Query,
    k: int,
    options: Mapping[str, Any],
    chosen: Mapping[str, Any],
    kind: str | None = None,
) -> Matches:
    """Return `k` rows of a pattern or a query, drawn uniformly with replacement once the first is asked for.

    Parameters
    ----------
    chosen
        The options of the search.
    kind
        The kind of device of which each task that counts has one; None: tasks count on CPUs. CPUs list.
    """
    wanted = check_integer("k", k, 0, MAX_ROWS)
    seed = check_integer("seed", options.get("seed", 0), 0, MAX_SEED)
    asked = _asked(query, make_request(**chosen, progress=None), directed=graph.directed)
    request = asked.request
    most = graph.memory // (_BYTES_OF_DRAW + _BYTES_OF_ID * asked.width)
    if wanted > most:
        raise ArgumentError("k", f"at most {most:,} rows, which fit into the memory of the graph", k)
    deadline = Deadline.after(request.timeout)
    graph.served()  # refuses a closed one
    sources, reason = _planned(graph, asked, deadline, kind)
    ways = "ranges are counted, and those that are drawn are listed" + ("" if kind is None else " by CPUs")
    planned = time.perf_counter()

    def begin() -> RowSource:
        if not sources or wanted == 0:
            return NoRows(complete=sources is not None)
        with progress_callback(options.get("progress", False), "sampling") as report:
            return _Sampling(workers, graph, sources, asked, report, deadline, kind).rows(wanted, seed)

    return Matches(
        LateRows(begin),
        layout_of(asked.columns),
        started=planned,
        plan_seconds=planned - deadline.started,
        engine="sampling",
        device=workers.device_on(kind),
        reason=f"{reason}: {ways}",
    )


def _asked(query: Pattern | Query, request: Request, *, directed: bool) -> _Asked:
    """Return what is drawn: of occurrences of a query any embedding, in proportion to their number.

    Raises
    ------
    ArgumentError
        No patterns tell the rows of a query.
    """
    if isinstance(query, Pattern):
        check_symmetry(request.semantics, request.symmetry)
        return _Asked((_Drawn(query),), request, IdColumns(query, names=False), query.num_vertices)
    if not all(shape.is_connected for shape in query.shapes):
        raise ArgumentError("pattern", "a connected pattern, to draw its rows at random", str(query))
    query, request, found = patterns_of_shapes(query, request, directed=directed)
    shapes, patterns = tuple(shape for shape, _ in found), tuple(pattern for _, pattern in found)
    each = [1] * len(found)
    if request.symmetry is Symmetry.SUBGRAPHS:
        each = [automorphisms_of(shape.skeleton, directed=directed).order for shape in shapes]
    return _Asked(
        tuple(map(_Drawn, patterns, each)),
        replace(request, symmetry=Symmetry.EMBEDDINGS),
        QueryIds.of_patterns(query, False, patterns, shapes),
        width_of(patterns),
    )


def _planned(
    graph: ShardedGraph, asked: _Asked, deadline: Deadline, kind: str | None
) -> tuple[list[_Source] | None, str]:
    """Return the patterns that may have embeddings, None if time was up before all had plans; and why so."""
    sources, reasons = [], []
    request, on_gpu = asked.request, kind is not None

    def plan(subject: Narrowed) -> tuple[Ranged, Ranged] | None:
        return sampled(subject.sketch, subject.pattern, request, deadline, subject.allowed, on_gpu=on_gpu)

    for number, drawn in enumerate(asked.patterns):
        view, plans = plan_narrowed(graph, drawn.pattern, deadline, plan)
        reasons.append(reason_of(None if plans is None else plans[0], view.layout, kind))
        if plans is None:
            return None, reasons[0]
        if plans[1].plan.impossible is None:
            sources.append(_Source(drawn, number, view, *plans))
    return sources, "; ".join(dict.fromkeys(reasons))


@dataclass(frozen=True, slots=True)
class _Counting:
    """The progress of the counts of several patterns."""

    searches: Sequence[RangeCounts]

    @property
    def progress(self) -> tuple[int, int]:
        """The number of entries that are counted, and of all."""
        each = [one.progress for one in self.searches]
        return sum(done for done, _ in each), sum(units for _, units in each)

    @property
    def found(self) -> int:
        """Embeddings found so far."""
        return sum(one.found for one in self.searches)


class _Sampling:
    """The random rows of patterns, by plans that count and plans that list what these count."""

    def __init__(
        self,
        workers: Workers,
        graph: ShardedGraph,
        sources: Sequence[_Source],
        asked: _Asked,
        report: ProgressCallback | None,
        deadline: Deadline,
        kind: str | None,
    ) -> None:
        self._kind, self._asked = kind, asked
        self._counting, self._listing = of_equal_parts(report, 2)
        self._workers, self._sources, self._deadline = workers, sources, deadline
        self._ranges = Ranges.of(graph.layout.entries)

    def rows(self, wanted: int, seed: int) -> RowSource:
        """Return the rows; none if time was up."""
        if not self._count():
            return NoRows(complete=False)
        every = [count for one in self._sources for count in one.counts]
        if not any(every):
            tell_end(self._listing, self._deadline)
            return NoRows(complete=True)
        if max(every) >= _MOST_OF_RANGE:
            raise CountOverflowError(
                f"sample: expected ranges of entries of fewer than {_MOST_OF_RANGE:,} rows, "
                f"found one of {max(every):,}"
            )
        rows = self._drawn(wanted, seed)
        if rows is None:
            return NoRows(complete=False)
        return BlockSource([rows[first : first + _BLOCK] for first in range(0, wanted, _BLOCK)])

    def _count(self) -> bool:
        """Count the rows of each range, without their images; return False if time was up."""
        searches = []
        for one in self._sources:
            search = RangeCounts(
                *(self._workers, one.graph, one.counting, self._ranges, "sample"),
                self._kind,
                one.images.of_each,
            )
            for number in range(self._ranges.number):
                search.add(number)
            searches.append(search)
        tell = telling(self._counting, _Counting(searches), self._deadline)
        self._run(searches, self._workers.slots_on(self._kind), tell)
        for one, search in zip(self._sources, searches, strict=True):
            one.counts[:] = [search.counts[number] for number in range(self._ranges.number)]
        return not any(left for search in searches for left in search.left.values())

    def _drawn(self, wanted: int, seed: int) -> NDArray[np.int64] | None:
        """Return rows in the order in which they are drawn; None if time was up.

        Embeddings of which several are one row have as many numbers less.
        """
        common = math.lcm(*(one.drawn.each for one in self._sources))
        factors = [common // one.drawn.each for one in self._sources]
        sizes = [one.embeddings * factor for one, factor in zip(self._sources, factors, strict=True)]
        *begins, total = accumulate(sizes, initial=0)
        numbers = _numbers(total, wanted, seed)
        rows = np.zeros((wanted, self._asked.width), np.int64)
        tasks: list[Callable[[], Any]] = []
        places: list[tuple[_Source, NDArray[np.int64], NDArray[np.int64]]] = []
        for one, begin, size, factor in zip(self._sources, begins, sizes, factors, strict=True):
            own = np.flatnonzero((begin <= numbers) & (numbers < begin + size))
            if not len(own):
                continue
            drawn, images = (numbers[own] - begin) // factor, one.images.of_each
            image = drawn % images
            for task, some in self._tasks(one, drawn // images):
                tasks.append(task)
                places.append((one, own[some], image[some].astype(np.int64)))
        stage = Stage(self._workers, f"sample {self._workers.pattern}", tasks)
        listing = BehindSearch(stage, sum(one.embeddings for one in self._sources))
        if not self._run([stage], self._workers.slots, telling(self._listing, listing, self._deadline)):
            return None
        for number, (one, own, image) in enumerate(places):
            columns = one.images.sources[image].astype(np.int64)
            found = np.take_along_axis(stage.found[number], columns, axis=1)
            of_query = isinstance(self._asked.columns, QueryIds)
            rows[own] = numbered(found, one.number, self._asked.width) if of_query else found
        return rows

    def _tasks(
        self, source: _Source, drawn: NDArray[Any]
    ) -> Iterator[tuple[Callable[[], Any], NDArray[np.int64]]]:
        """Yield tasks that return rows by their numbers in all ranges, and the places of these numbers."""
        before = [0, *accumulate(source.counts)]
        at = np.searchsorted(np.array(before[1:], drawn.dtype), drawn, side="right")
        order = np.argsort(drawn, kind="stable")  # by range, too
        job = job_of(self._workers, source.graph, source.listing)
        cuts = np.flatnonzero(np.diff(at[order], prepend=-1)).tolist()
        for first, last in zip(cuts, [*cuts[1:], len(order)], strict=True):
            number = int(at[order[first]])
            begin, end = self._ranges.bounds(number)
            for start in range(first, last, _ROWS_OF_TASK):
                own = order[start : min(last, start + _ROWS_OF_TASK)]
                inside = (drawn[own] - before[number]).astype(np.int64)
                yield partial(picked_rows, job, begin, end, source.counts[number], inside), own

    def _run(self, searches: Sequence[Any], slots: int, tell: Callable[[], None] | None) -> bool:
        """Run tasks, so many at a time; return whether all ended."""
        driver = self._workers.driver(slots)
        try:
            driver.run_all(searches, self._deadline, tell)
        finally:
            driver.wait_for_cancelled()
        return all(driver.has_all_of(one) for one in searches)


def _numbers(total: int, wanted: int, seed: int) -> NDArray[Any]:
    """Return random numbers below `total`, with equal chances: int64, or Python integers."""
    if total < 2**63:
        return np.random.Generator(np.random.Philox(key=seed)).integers(0, total, wanted)
    source = random.Random(seed)
    numbers = np.empty(wanted, object)
    numbers[:] = [source.randrange(total) for _ in range(wanted)]
    return numbers
