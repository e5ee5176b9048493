"""The search of ``dfs`` with counters: each subgraph is found once, and added to numbers of its images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen import layout
from motiflux.codegen.kernels import LANES, Goal
from motiflux.device import Buffer
from motiflux.gpu.images.running import fetched, finished
from motiflux.gpu.kernels.table_run import TooWide
from motiflux.gpu.launch.job_pool import job_pool
from motiflux.gpu.launch.prepare import prepare, set_up_stage
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.runtime.job import SearchJob
from motiflux.gpu.storage.device_csr import RowsKey, resident
from motiflux.gpu.storage.upload import UploadContext
from motiflux.gpu.strategy import DeviceFacts, search_kernel
from motiflux.graph import AdjacencyKey, Graph
from motiflux.plan import Plan
from motiflux.plan.image_counts import ImagePlan, RootedSearch, Roots
from motiflux.plan.ir import Searched
from motiflux.plan.physical import Family, SearchKernel, Stage
from motiflux.request.deadline import Deadline, OutOfTimeError
from motiflux.request.request import Request

T = TypeVar("T")

_MOST = 2**64
"""Numbers are below this."""
_BYTES_OF_NEIGHBOR = 4


@dataclass(frozen=True)
class Places:
    """The levels whose images are counted, and the numbers to which they add.

    Parameters
    ----------
    levels
        The level of each place, or the levels of an arc's source and target, and its first number.
    rows
        The rows of arcs of a graph, by whose positions they are numbered.
    size
        How many numbers there are.
    """

    levels: tuple[tuple[Roots, int], ...]
    rows: AdjacencyKey | None
    size: int


def places_of(
    graph: Graph, plan: ImagePlan, search: RootedSearch, classes: Sequence[int], threads: int
) -> Places | None:
    """Return the places at which a search adds to the numbers of some classes; None if they are too many.

    The numbers of the classes follow one another. Classes of arcs are counted one by one.
    """
    first = {number: at * graph.num_vertices for at, number in enumerate(classes)}
    levels = tuple((one, first[number]) for number, one in search.levels if number in first)
    if len(levels) > layout.MOST_PLACES:
        return None
    rows = plan.classes[classes[0]].rows
    arcs = len(graph.adjacency(rows, threads)[1]) if rows is not None else 0
    return Places(levels, rows, len(classes) * graph.num_vertices if rows is None else arcs)


def images_kernel(plan: Plan, deepest: int, facts: DeviceFacts, request: Request) -> SearchKernel:
    """Return the search kernel that counts by images. Groups of a block share work only if asked to.

    Parameters
    ----------
    deepest
        The deepest level of a place. If it is not one of the last two, these are counted at once.
    """
    kernel = search_kernel(plan, Goal.IMAGES, facts, request)
    stealing = None if request.tuning["stealing"] == "auto" else kernel.stealing
    flattened = kernel.flattened and deepest + 2 < len(plan.shape.steps)
    lanes = LANES[2] if flattened and request.tuning["lanes"] == "auto" else kernel.lanes
    return replace(kernel, stealing=stealing, flattened=flattened, lanes=lanes)


def numbers_of_search(
    accelerator: Accelerator,
    graph: Graph,
    plan: Plan,
    places: Places,
    request: Request,
    deadline: Deadline,
) -> tuple[NDArray[np.uint64], bool]:
    """Return the numbers of the images at all places, and whether all embeddings were found.

    Raises
    ------
    TooWide
        A number may pass 64 bits.
    DeviceMemoryError
        Not even the smallest launch fits.
    """

    def read(job: SearchJob, numbers: Buffer) -> NDArray[np.uint64]:
        return fetched(job, numbers, places.size)

    try:
        return _searched(accelerator, graph, plan, places, request, deadline, read, kept=True)
    except OutOfTimeError:
        return np.zeros(places.size, np.uint64), False


def numbers_of_share(
    accelerator: Accelerator,
    graph: Graph,
    plan: Plan,
    places: Places,
    request: Request,
    deadline: Deadline,
    restrict: Callable[[SearchJob], None],
) -> tuple[NDArray[np.uint64], int, bool]:
    """Return the same for a part of the work, to which `restrict` limits the job, and what it found.

    Raises
    ------
    TooWide, DeviceMemoryError
        As `numbers_of_search`.
    """

    def read(job: SearchJob, numbers: Buffer) -> tuple[NDArray[np.uint64], int]:
        return fetched(job, numbers, places.size), job.result().found

    try:
        (words, found), in_time = _searched(
            accelerator, graph, plan, places, request, deadline, read, kept=False, restrict=restrict
        )
        return words, found, in_time
    except OutOfTimeError:
        return np.zeros(places.size, np.uint64), 0, False


def too_many(found: int, places: Places) -> bool:
    """Return whether a number of these places may pass 64 bits if so many embeddings were found."""
    return found * len(places.levels) >= _MOST


def search_from_arcs(
    accelerator: Accelerator, graph: Graph, table: Searched, request: Request, deadline: Deadline
) -> Buffer:
    """Return device memory with the numbers of a table of searches from each arc.

    Raises
    ------
    TooWide, DeviceMemoryError, OutOfTimeError
        As `numbers_of_search`; and if time was up.
    """
    plan, rows = table.plan, table.plan.args.steps[1].adjacencies[0]
    assert plan.order[:2] == (0, 1), "the roots come first, and in this order"
    places = Places((((0, 1), 0),), rows, len(graph.adjacency(rows, request.threads)[1]))

    def read(_: SearchJob, numbers: Buffer) -> Buffer:
        return numbers

    numbers, complete = _searched(accelerator, graph, plan, places, request, deadline, read, kept=False)
    if not complete:
        raise OutOfTimeError
    return numbers


def _searched(
    accelerator: Accelerator,
    graph: Graph,
    plan: Plan,
    places: Places,
    request: Request,
    deadline: Deadline,
    read: Callable[[SearchJob, Buffer], T],
    *,
    kept: bool,
    restrict: Callable[[SearchJob], None] | None = None,
) -> tuple[T, bool]:
    """Run a search; return the result of `read`, from its open job and its numbers, and whether it ended.

    Parameters
    ----------
    kept
        Whether the job is kept for later calls: its memory is not read once it is closed.
    restrict
        Limits the job to a part of the work.
    """
    deadline.check()
    pool = job_pool(graph, accelerator)
    name = ("images", id(plan), places, request.gpu_memory, request.switches)
    job: SearchJob | None = pool.begin(name, request) if kept else None
    if job is None:
        job, numbers = _prepared(accelerator, graph, plan, places, request, deadline, restrict)
        job.subject = plan, numbers
        if kept:
            pool.keep(name, job, job.subject, request)
    else:
        _, numbers = cast("tuple[Plan, Buffer]", job.subject)
    with finished(job, deadline, request) as in_time:
        result = job.result()
        if result.overflow or too_many(result.found, places):
            raise TooWide
        return read(job, numbers), in_time


def _prepared(
    accelerator: Accelerator,
    graph: Graph,
    plan: Plan,
    places: Places,
    request: Request,
    deadline: Deadline,
    restrict: Callable[[SearchJob], None] | None,
) -> tuple[SearchJob, Buffer]:
    """Return the job of a search, and the memory of its numbers."""
    facts = DeviceFacts(accelerator.device.multiprocessors, getattr(accelerator.device, "speed", 0.0))
    deepest = max(max(levels) for levels, _ in places.levels)
    stage = Stage(Family.SEARCH, plan, images_kernel(plan, deepest, facts, request))
    numbers: list[Buffer] = []

    def set_up(job: SearchJob, graph: Graph, stage: Stage, request: Request, context: UploadContext) -> None:
        set_up_stage(job, graph, stage, request, context)
        arcs = [] if places.rows is None else [_arcs(job, graph, places.rows, context)] * len(places.levels)
        numbers.append(add_numbers(job, places, context, arcs))
        if restrict is not None:
            restrict(job)

    return prepare(accelerator, graph, stage, request, None, deadline, set_up), numbers[-1]


def _arcs(job: SearchJob, graph: Graph, arcs: AdjacencyKey, context: UploadContext) -> tuple[int, int]:
    """Return the addresses of the rows of the arcs to whose numbers a job adds, which reads them."""
    rows = resident(graph, job.accelerator.device).rows(graph, RowsKey(arcs, above=False), context)
    if not job.memory.reads(rows):
        job.memory.read(rows)
    return rows.addresses


def add_numbers(
    job: SearchJob, places: Places, context: UploadContext, arcs: Sequence[tuple[int, int]] = ()
) -> Buffer:
    """Give a job its places and the memory of their numbers, which it returns.

    Parameters
    ----------
    arcs
        For each place the addresses of the rows of its arcs; empty for places of vertices.
    """
    device, images = job.accelerator.device, job.launches.argument.images
    numbers = device.allocate(max(8, 8 * places.size), "counts by images", budget=context.budget)
    job.memory.hold(numbers)
    job.launches.clear_before(numbers)
    images.numbers = numbers.address
    each = zip(places.levels, arcs or [(0, 0)] * len(places.levels), strict=True)
    ordered = sorted(each, key=lambda place: max(place[0][0]))
    for at, ((levels, first), rows) in enumerate(ordered):
        target, begin = layout.NO_LEVEL, first
        if len(levels) == 2:
            target, begin = levels[1], (first - rows[1] // _BYTES_OF_NEIGHBOR) % _MOST
        images.places[at] = layout.ImagePlace(levels[0], target, begin, layout.Adjacency(*rows))
    for level in range(len(images.ends)):
        images.ends[level] = sum(max(levels) <= level for levels, _ in places.levels)
    return numbers
