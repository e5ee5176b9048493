"""Random rows of a sharded graph: all ranges of entries are counted, then those that were drawn are listed.

Each row is a number below that of all embeddings, drawn with equal chances. The counts of the ranges tell in
which one it is, and its place there; a task lists that range and picks the rows by their places. Which rows
have these places depends on the range and on the memory only, wherever it is listed.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motiflux.api.listing import LateRows
from motiflux.api.random_rows import MAX_ROWS, MAX_SEED
from motiflux.arguments import check_integer
from motiflux.cluster.shards.columns import ColumnsOfIds, IdColumns
from motiflux.cluster.shards.conditions import Narrowed
from motiflux.cluster.shards.counting import job_of
from motiflux.cluster.shards.estimating import RangeCounts
from motiflux.cluster.shards.planning import plan_narrowed, sampled
from motiflux.cluster.shards.progress import BehindSearch, tell_end, telling
from motiflux.cluster.shards.ranges import Ranges
from motiflux.cluster.shards.reasons import reason_of
from motiflux.cluster.shards.search import Ranged
from motiflux.cluster.shards.sharded import Stage
from motiflux.cluster.shards.tasks import picked_rows
from motiflux.cluster.tasks import BlockSource
from motiflux.errors import ArgumentError, CountOverflowError
from motiflux.pattern import Pattern
from motiflux.plan.passes.symmetry import check_symmetry
from motiflux.request.deadline import Deadline
from motiflux.request.progress import of_equal_parts, progress_callback
from motiflux.request.reports import ProgressCallback
from motiflux.request.request import make_request
from motiflux.result.images import Images
from motiflux.result.matches import Matches
from motiflux.result.rows import NoRows, RowSource

if TYPE_CHECKING:
    from motiflux.cluster.shards.sharded import ShardedGraph
    from motiflux.cluster.workers import Workers

_BYTES_OF_DRAW = 64
"""Bytes of a row beside its ids, while it is drawn."""
_ROWS_OF_TASK = 1 << 18
_BLOCK = 1 << 16
_MOST_OF_RANGE = 1 << 62


def sample_sharded(
    workers: Workers,
    graph: ShardedGraph,
    pattern: Pattern,
    k: int,
    options: Mapping[str, Any],
    chosen: Mapping[str, Any],
    kind: str | None = None,
) -> Matches:
    """Return `k` embeddings, drawn uniformly with replacement once the first is asked for.

    Parameters
    ----------
    chosen
        The options of the search.
    kind
        The kind of device of which each task that counts has one; None: tasks count on CPUs. CPUs list.
    """
    wanted = check_integer("k", k, 0, MAX_ROWS)
    seed = check_integer("seed", options.get("seed", 0), 0, MAX_SEED)
    most = graph.memory // (_BYTES_OF_DRAW + 8 * pattern.num_vertices)
    if wanted > most:
        raise ArgumentError("k", f"at most {most:,} rows, which fit into the memory of the graph", k)
    request = make_request(**chosen, progress=None)
    check_symmetry(request.semantics, request.symmetry)
    deadline = Deadline.after(request.timeout)
    graph.served()  # refuses a closed one
    on_gpu, device = kind is not None, workers.device_on(kind)

    def plan(subject: Narrowed) -> tuple[Ranged, Ranged] | None:
        return sampled(subject.sketch, subject.pattern, request, deadline, subject.allowed, on_gpu=on_gpu)

    view, plans = plan_narrowed(graph, pattern, deadline, plan)
    ways = "ranges are counted, and those that are drawn are listed" + (" by CPUs" if on_gpu else "")
    reason = reason_of(None if plans is None else plans[0], view.layout, kind)
    planned = time.perf_counter()

    def begin() -> RowSource:
        if plans is None or plans[1].plan.impossible is not None or wanted == 0:
            return NoRows(complete=plans is not None)
        with progress_callback(options.get("progress", False), "sampling") as report:
            return _Sampling(workers, view, plans, report, deadline, kind).rows(wanted, seed)

    return Matches(
        LateRows(begin),
        ColumnsOfIds(IdColumns(pattern, names=False)),
        started=planned,
        plan_seconds=planned - deadline.started,
        engine="sampling",
        device=device,
        reason=f"{reason}: {ways}",
    )


class _Sampling:
    """The random rows of a pattern, by a plan that counts and one that lists what it counts."""

    def __init__(
        self,
        workers: Workers,
        graph: ShardedGraph,
        plans: tuple[Ranged, Ranged],
        report: ProgressCallback | None,
        deadline: Deadline,
        kind: str | None,
    ) -> None:
        self._kind = kind
        self._images = Images(plans[1].plan)
        self._counting, self._listing = of_equal_parts(report, 2)
        self._workers, self._graph, self._plans, self._deadline = workers, graph, plans, deadline
        self._ranges = Ranges.of(graph.layout.entries)

    def rows(self, wanted: int, seed: int) -> RowSource:
        """Return the rows; none if time was up."""
        counts = self._counts()
        if counts is None:
            return NoRows(complete=False)
        images = self._images
        total = sum(counts)
        if total == 0:
            tell_end(self._listing, self._deadline)
            return NoRows(complete=True)
        if max(counts) >= _MOST_OF_RANGE:
            raise CountOverflowError(
                f"sample: expected ranges of entries of fewer than {_MOST_OF_RANGE:,} rows, "
                f"found one of {max(counts):,}"
            )
        drawn, image = _drawn(total, images.of_each, wanted, seed)
        rows = self._picked(counts, drawn)
        if rows is None:
            return NoRows(complete=False)
        blocks = []
        for first in range(0, wanted, _BLOCK):
            columns = images.sources[image[first : first + _BLOCK]].astype(np.int64)
            blocks.append(np.take_along_axis(rows[first : first + _BLOCK], columns, axis=1))
        return BlockSource(blocks)

    def _counts(self) -> list[int] | None:
        """Return the number of rows of each range, without their images; None if time was up."""
        plan, ranges = self._plans[0], self._ranges
        times = self._images.of_each
        search = RangeCounts(self._workers, self._graph, plan, ranges, "sample", self._kind, times)
        numbers = range(self._ranges.number)
        for number in numbers:
            search.add(number)
        tell = telling(self._counting, search, self._deadline)
        self._run(search, self._workers.slots_on(self._kind), tell)
        return [search.counts[one] for one in numbers] if not any(search.left.values()) else None

    def _picked(self, counts: Sequence[int], drawn: NDArray[Any]) -> NDArray[np.int64] | None:
        """Return the rows at some places among those of all ranges; None if time was up."""
        before = [0, *accumulate(counts)]
        at = np.searchsorted(np.array(before[1:], drawn.dtype), drawn, side="right")
        order = np.argsort(drawn, kind="stable")  # by range, too
        job = job_of(self._workers, self._graph, self._plans[1])
        tasks, places = [], []
        cuts = np.flatnonzero(np.diff(at[order], prepend=-1)).tolist()
        for first, last in zip(cuts, [*cuts[1:], len(order)], strict=True):
            number = int(at[order[first]])
            begin, end = self._ranges.bounds(number)
            for start in range(first, last, _ROWS_OF_TASK):
                own = order[start : min(last, start + _ROWS_OF_TASK)]
                inside = (drawn[own] - before[number]).astype(np.int64)
                tasks.append(partial(picked_rows, job, begin, end, counts[number], inside))
                places.append(own)
        stage = Stage(self._workers, f"sample {self._workers.pattern}", tasks)
        listing = BehindSearch(stage, before[-1] * self._images.of_each)
        if not self._run(stage, self._workers.slots, telling(self._listing, listing, self._deadline)):
            return None
        rows = np.empty((len(drawn), self._plans[1].bound.size), np.int64)
        for number, own in enumerate(places):
            rows[own] = stage.found[number]
        return rows

    def _run(self, search: Any, slots: int, tell: Callable[[], None] | None) -> bool:
        """Run tasks, so many at a time; return whether all ended."""
        driver = self._workers.driver(slots)
        try:
            driver.run_all([search], self._deadline, tell)
        finally:
            driver.wait_for_cancelled()
        return driver.has_all_of(search)


def _drawn(total: int, images: int, wanted: int, seed: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return random rows below `total` and images of each, with equal chances."""
    if total * images < 2**63:
        draws = np.random.Generator(np.random.Philox(key=seed)).integers(0, total * images, wanted)
        return draws // images, draws % images
    source = random.Random(seed)
    both = [divmod(source.randrange(total * images), images) for _ in range(wanted)]
    rows = np.empty(wanted, object)
    rows[:] = [row for row, _ in both]
    return rows, np.array([image for _, image in both], np.int64)
