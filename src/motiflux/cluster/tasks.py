"""The functions that run on workers, and what they keep between tasks."""

from __future__ import annotations

import os
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from motiflux import _native
from motiflux._native import TooManyChoicesError
from motiflux.cluster.folder import Folder
from motiflux.cluster.graphs import SharedGraph, opened, state_of
from motiflux.cluster.prepared import MOST_KEPT, forget, install, is_installed, read_by
from motiflux.cluster.shares import Share
from motiflux.cpu import native
from motiflux.cpu.engine import CpuEngine
from motiflux.cpu.image_counts import count_all_images
from motiflux.cpu.projection import native_projection, prepare_rows
from motiflux.cpu.sampling import draw_groups, sample_graph
from motiflux.errors import ClusterError
from motiflux.graph import AdjacencyKey, Graph
from motiflux.packages import require
from motiflux.pattern import Pattern, Query
from motiflux.plan import Plan
from motiflux.plan.native_plan import native_problem
from motiflux.request.deadline import Deadline
from motiflux.request.request import Request
from motiflux.result.choices import ChoiceRows, Choices
from motiflux.result.columns import RowColumns
from motiflux.result.images import Block, Images, written
from motiflux.result.matches import Matches
from motiflux.result.queries.columns import QueryColumns
from motiflux.result.rows import RowSource
from motiflux.types import VertexArray

_MOST_KEPT = 8
"""Prepared searches that a worker process keeps."""
TOO_MANY_CHOICES = -1
"""In place of a reason to stop: an embedding has more choices of copies than are kept."""


@dataclass(frozen=True, slots=True)
class Job:
    """A search whose shares are searched by tasks.

    Parameters
    ----------
    token
        Names it in worker processes.
    content
        A plan and a `Request` in the object store, as a list: Ray would replace a reference by its object.
    units
        Number of root arcs.
    made
        A `Prepared` in the object store, as a list; empty if workers make all of it themselves.
    """

    token: str
    graph: SharedGraph
    content: list[Any]
    units: int = 0
    made: list[Any] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where a task ends: seconds, steps of the search, rows; and the threads that it may have."""

    threads: int = 1
    seconds: float | None = None
    work: int | None = None
    rows: int | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a task.

    Parameters
    ----------
    value
        What it found.
    left
        The share that it handed back.
    stop
        The reason for the end of the search, a `motiflux.cpu.native.Stop`.
    began, seconds
        Its begin by the clock of its node, in seconds since 1970, and its time.
    cpu_seconds
        Processor time of its process meanwhile.
    node, process
        Where it ran.
    rows
        Rows of a listing that `Bounds.rows` bounds: without images, and before any are left out.
    """

    value: Any
    left: Share
    stop: int
    began: float
    seconds: float
    cpu_seconds: float
    node: str
    process: int
    rows: int = 0


class Watch:
    """The clock of a task: it begins when the task does."""

    def __init__(self) -> None:
        self._began, self._started, self._cpu = time.time(), time.perf_counter(), time.process_time()

    def done(self, value: Any, left: Share | None = None, stop: int = 0, rows: int = 0) -> Done:
        """Return the result of the task."""
        seconds = time.perf_counter() - self._started
        cpu, node = time.process_time() - self._cpu, os.uname().nodename
        return Done(value, left or [], stop, self._began, seconds, cpu, node, os.getpid(), rows)


def plain(request: Request) -> Request:
    """Return a request that can be sent: without a callback, and without the cluster."""
    return replace(request, progress=None, elsewhere=None)


_KEPT: OrderedDict[str, tuple[Graph, Any, Request, dict[str, Any]]] = OrderedDict()


def content_of(job: Job) -> tuple[Graph, Any, Request, dict[str, Any]]:
    """Return the graph, the plan and the request of a job, and a place for what is made of them."""
    kept = _KEPT.get(job.token)
    if kept is None:
        import ray

        plan, request = ray.get(job.content[0])
        kept = _KEPT[job.token] = (opened(job.graph), plan, request, {})
        if job.made:
            _map_prepared(kept[0], plan, job.made[0])
        while len(_KEPT) > _MOST_KEPT:
            _KEPT.popitem(last=False)
    else:
        _KEPT.move_to_end(job.token)
    return kept


_MAPPED: OrderedDict[Hashable, tuple[Graph, Plan]] = OrderedDict()
"""What was prepared elsewhere and is mapped here: the graph, and a plan that reads it."""


def _map_prepared(graph: Graph, plan: Plan, reference: Any) -> None:
    """Let a graph find what the driver prepared for a plan.

    What is mapped takes room in the object store, so the oldest is forgotten, with the searches that read it.
    """
    import ray

    call = (id(graph), read_by(plan))
    if call not in _MAPPED or not is_installed(graph, plan):
        install(graph, plan, ray.get(reference))
        _MAPPED[call] = graph, plan
    _MAPPED.move_to_end(call)
    while len(_MAPPED) > MOST_KEPT:
        old = _MAPPED.popitem(last=False)[1]
        forget(*old)
        for token in [token for token, kept in _KEPT.items() if _reads_same(kept, *old)]:
            del _KEPT[token]


def _reads_same(kept: tuple[Graph, Any, Request, dict[str, Any]], graph: Graph, plan: Plan) -> bool:
    return kept[0] is graph and isinstance(kept[1], Plan) and read_by(kept[1]) == read_by(plan)


def native_search(graph: Graph, plan: Plan, request: Request, *, images: bool = False) -> _native.NativePlan:
    """Return the native search of a plan: the same on the driver and on workers."""
    tuning = request.tuning
    return native_problem(
        graph,
        plan,
        intersect=tuning["intersect"],
        simd=tuning["simd"],
        threads=request.threads,
        backjump=tuning["backjump"],
        adaptive=not images,
    )


def _search(
    job: Job, threads: int, *, images: bool = False
) -> tuple[_native.NativePlan, Plan, Graph, Request]:
    graph, plan, request, made = content_of(job)
    if "search" not in made:
        search = native_search(graph, plan, replace(request, threads=threads), images=images)
        check_units(search.units, job.units)
        made["search"] = search
    return made["search"], plan, graph, request


def check_units(found: int, expected: int) -> None:
    """Raise `ClusterError` if a search has another number of root arcs than on the driver."""
    if found != expected:
        raise ClusterError(
            f"graph: expected {expected:,} root arcs, as on the driver, found {found:,} "
            f"on node {os.uname().nodename}"
        )


def count_share(job: Job, share: Share, bounds: Bounds) -> Done:
    """Count the embeddings of a share, multiplier not applied."""
    watch = Watch()
    search = _search(job, bounds.threads)[0]
    portion = (share, bounds.seconds, bounds.work, None)
    try:
        with native.overflow_explained():
            total, stop, left = _native.count_portion(
                search, portion, bounds.threads, native.native_limit(bounds.limit), None
            )
    except TooManyChoicesError:
        return watch.done(0, stop=TOO_MANY_CHOICES)
    return watch.done(total, left, stop)


def rows_of_share(job: Job, share: Share, bounds: Bounds) -> Done:
    """List the rows of a share: all images, in internal ids, [rows, vertices] uint32.

    On one thread, and bounded by work and rows only, the result depends on the share alone.
    """
    watch = Watch()
    blocks, left, stop = list_on_cpu(job, share, bounds)
    return watch.done(rows_of_blocks(content_of(job)[1], blocks), left, stop, sum(map(len, blocks)))


def rows_of_blocks(plan: Plan, blocks: Sequence[VertexArray]) -> VertexArray:
    """Return all images of the rows of blocks."""
    images = Images(plan)
    parts = [written(images.of(block)) for block in blocks]
    return np.concatenate([np.empty((0, len(plan.order)), np.uint32), *parts])


def list_on_cpu(job: Job, share: Share, bounds: Bounds) -> tuple[list[VertexArray], Share, int]:
    """Return the rows of a share in blocks, without images, what is left, and the reason for the end."""
    search, plan, _, _ = _search(job, 1)
    return list_search(search, plan.order, share, bounds)


def list_search(
    search: _native.NativePlan,
    order: Sequence[int],
    share: Share,
    bounds: Bounds,
    projection: native.Projection | None = None,
) -> tuple[list[VertexArray], Share, int]:
    """List a share on one thread: return the blocks, what is left, and the reason for the end."""
    portion = (share, bounds.seconds, bounds.work, bounds.rows)
    found = _native.Rows(search, order, 1, 1 << 16, None, None, projection, portion)
    try:
        blocks = []
        while (block := found.next(None)) is not None:
            blocks.append(block)
        return blocks, found.left(), found.reason
    finally:
        found.close()


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of rows, as for `motiflux.match`, and the pattern that they are of.

    Parameters
    ----------
    returned
        The query vertices of distinct rows; None: all, and rows are not distinct.
    """

    pattern: Pattern | Query
    edges: bool | Literal["all"]
    attributes: tuple[str, ...]
    names: bool
    returned: tuple[int, ...] | None = None


class BlockSource:
    """Blocks that a task has found."""

    complete = True

    def __init__(self, blocks: Sequence[Any]) -> None:
        self._blocks = deque(blocks)

    def next(self) -> Any:
        """Return the next block, or None at the end."""
        return self._blocks.popleft() if self._blocks else None

    def close(self) -> None:
        """Drop the blocks."""
        self._blocks.clear()


def write_share(job: Job, share: Share, bounds: Bounds, folder: str, name: str, columns: Columns) -> Done:
    """Write the rows of a share into a file; return their number and its size.

    There is no file without rows.
    """
    watch = Watch()
    blocks, left, stop = list_on_cpu(job, share, bounds)
    graph, plan, _, _ = content_of(job)
    written = write_blocks(graph, plan, blocks, folder, name, columns)
    return watch.done(written, left, stop, sum(map(len, blocks)))


def rows_of_groups(job: Job, share: Share, bounds: Bounds) -> Done:
    """List the distinct rows of a share, in internal ids, [rows, returned vertices] uint32.

    The result depends on the share alone, as that of `rows_of_share`.
    """
    watch = Watch()
    blocks, left, stop = _groups(job, share, bounds)
    plan = content_of(job)[1]
    empty = np.empty((0, len(plan.projection.returned)), np.uint32)
    return watch.done(np.concatenate([empty, *blocks]), left, stop, sum(map(len, blocks)))


def write_groups(job: Job, share: Share, bounds: Bounds, folder: str, name: str, columns: Columns) -> Done:
    """Write the distinct rows of a share into a file, as `write_share`."""
    watch = Watch()
    blocks, left, stop = _groups(job, share, bounds)
    written = write_file(folder, name, *parquet_of(content_of(job)[0], columns, blocks))
    return watch.done(written, left, stop, sum(map(len, blocks)))


def _groups(job: Job, share: Share, bounds: Bounds) -> tuple[list[VertexArray], Share, int]:
    """Return the distinct rows of a share in blocks, what is left, and the reason for the end."""
    graph, plan, request, made = content_of(job)
    if "search" not in made:
        made["search"] = prepare_rows(graph, plan, replace(request, threads=1))
        check_units(made["search"].units, job.units)
    return list_search(made["search"], (), share, bounds, native_projection(plan, request))


def write_blocks(
    graph: Graph, plan: Plan, blocks: Sequence[VertexArray], folder: str, name: str, columns: Columns
) -> tuple[int, int]:
    """Write all images of the rows of blocks; return their number and the file's size."""
    images = Images(plan)
    return write_file(folder, name, *parquet_of(graph, columns, [images.of(block) for block in blocks]))


def write_file(folder: str, name: str, rows: int, data: bytes) -> tuple[int, int]:
    """Write a file, unless it has no rows; return the number of rows and the file's size."""
    if rows == 0:
        return 0, 0
    Folder(folder).write(name, data)
    return rows, len(data)


def parquet_of(graph: Graph, columns: Columns, blocks: Sequence[Block]) -> tuple[int, bytes]:
    """Return the number of rows of blocks, and the rows as a Parquet file."""
    pattern = columns.pattern
    assert isinstance(pattern, Pattern)
    choosing = columns.edges == "all" or bool(columns.edges and pattern.comparisons)
    layout = RowColumns(
        graph,
        pattern,
        edges=bool(columns.edges),
        attributes=columns.attributes,
        names=columns.names,
        choices=choosing,
        threads=1,
        returned=columns.returned,
    )
    source: RowSource = BlockSource(blocks)
    if choosing:
        choices = Choices(graph, pattern, every=columns.edges == "all")
        source = ChoiceRows(source, choices, None, lambda: None)
    return parquet_of_rows(layout, source)


def parquet_of_rows(layout: RowColumns | QueryColumns, source: RowSource) -> tuple[int, bytes]:
    """Return the number of rows of a source, and the rows as a Parquet file."""
    pa = require("pyarrow", "match: output=")
    pq = require("pyarrow.parquet", "match: output=")
    matches = Matches(
        source, layout, started=time.perf_counter(), plan_seconds=0.0, engine="cluster", device="cpu"
    )
    table = matches.to_arrow()
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return table.num_rows, sink.getvalue().to_pybytes()


def images_of_share(
    job: Job,
    share: Share,
    bounds: Bounds,
    levels: list[tuple[int, int, int]],
    rows: AdjacencyKey | None,
    size: int,
    listing: bool,
) -> Done:
    """Count the embeddings of a share at the images of levels: words, and what is missing in some of them."""
    watch = Watch()
    search, _, graph, _ = _search(job, bounds.threads, images=True)
    arcs = None if rows is None else [graph.adjacency(rows, bounds.threads)] * len(levels)
    words, above, stop, left = _native.count_images(
        search,
        levels,
        arcs,
        size,
        listing,
        bounds.threads,
        None,
        None,
        (share, bounds.seconds, bounds.work, None),
    )
    return watch.done((words, above), left, stop)


def count_whole(job: Job, threads: int, timeout: float | None) -> Done:
    """Count by a physical plan that is not cut, such as one of tables."""
    watch = Watch()
    graph, physical, request, _ = content_of(job)
    here = replace(request, threads=threads, timeout=timeout)
    return watch.done(CpuEngine().count(graph, physical, here, Deadline.after(timeout)))


def images_whole(job: Job, threads: int, timeout: float | None) -> Done:
    """Count by the images of several plans that are not cut."""
    watch = Watch()
    graph, plans, request, _ = content_of(job)
    here = replace(request, threads=threads, timeout=timeout)
    return watch.done(count_all_images(graph, plans, here, Deadline.after(timeout)))


def call_whole(shared: SharedGraph, name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Done:
    """Return the result of a public call on a graph."""
    watch = Watch()
    import motiflux

    return watch.done(getattr(motiflux, name)(opened(shared), *arguments, **options))


def draw_share(
    job: Job,
    estimator: str,
    inheritance: str,
    seed: int,
    first: int,
    count: int,
    threads: int,
    left: float | None,
) -> Done:
    """Draw groups of samples."""
    watch = Watch()
    candidates = candidates_of(job, threads)
    if estimator == "tree":
        candidates.grow_tree()
    groups = draw_groups(
        candidates,
        estimator=estimator,
        inheritance=inheritance,
        seed=seed,
        first=first,
        count=count,
        threads=threads,
        timeout=left,
    )
    return watch.done(groups)


def draw_trees(job: Job, seed: int, first: int, count: int, threads: int, left: float | None) -> Done:
    """Draw trees; return the embeddings among them, and the number of trees."""
    watch = Watch()
    candidates = candidates_of(job, threads)
    candidates.grow_tree()
    return watch.done(_native.draw_embeddings(candidates, seed, first, count, threads, left))


def candidates_of(job: Job, threads: int) -> _native.SampleGraph:
    """Return the candidate graph of a job, kept for its later tasks."""
    graph, plan, _, made = content_of(job)
    if "candidates" not in made:
        made["candidates"] = sample_graph(graph, plan, threads)
    candidates: _native.SampleGraph = made["candidates"]
    return candidates


def call(function: Callable[[], Any]) -> Done:
    """Return the result of a function."""
    watch = Watch()
    return watch.done(function())


def nothing() -> Done:
    """Do nothing, in a process that has imported this module."""
    return Watch().done(None)


def state_here(path: str) -> tuple[int, int] | None:
    """Return the size and time of change of a file on this node."""
    return state_of(path)
