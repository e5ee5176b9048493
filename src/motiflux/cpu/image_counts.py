"""Counts by the images of query vertices or edges on the CPU: from tables, or by a search with counters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from motiflux import _native, log
from motiflux.cpu import local, native
from motiflux.graph import AdjacencyKey, Graph
from motiflux.plan.image_counts import ImagePlan, RootedSearch
from motiflux.plan.native_plan import native_problem
from motiflux.request.deadline import Deadline
from motiflux.request.images import Numbers
from motiflux.request.reports import ProgressReport
from motiflux.request.request import Request

_LARGEST = 2**63 - 1

Searched = tuple[NDArray[np.uint64], list[tuple[int, int]], bool]
"""Numbers modulo 2^64, what is missing in some of them, and whether the search ended."""


class Search(Protocol):
    """A search that counts at the images of levels."""

    def __call__(
        self,
        graph: Graph,
        search: RootedSearch,
        levels: Sequence[tuple[int, int, int]],
        rows: AdjacencyKey | None,
        size: int,
        request: Request,
        deadline: Deadline,
    ) -> Searched:
        """Return the numbers at the images of `levels`: vertices, or the arcs of `rows`."""


def count_all_images(
    graph: Graph,
    plans: Sequence[ImagePlan],
    request: Request,
    deadline: Deadline,
    search_images: Search | None = None,
) -> tuple[list[list[Numbers]], bool]:
    """Return the embeddings at each image of each class of several plans, and whether all were found.

    Tables that the plans share are computed once. `search_images` searches, if not this process.
    """
    by = search_here if search_images is None else search_images
    found = [zeros_of(graph, plan, request.threads) for plan in plans]
    by_table = usable_tables(plans, request)
    complete = True
    if by_table:
        try:
            _fill_from_tables(graph, plans, by_table, request, deadline, found)
        except local.Late:
            complete = False
        except OverflowError:  # weights of walks have 64 bits; a search counts any number
            log.ENGINE.info("a search takes over: the tables' numbers would pass 64 bits")
            by_table = []
    for at, plan in enumerate(plans):
        left = [] if plan.impossible else [n for n in range(len(plan.classes)) if (at, n) not in by_table]
        while left and complete:
            search = plan.searches[left[0]]
            together = [number for number in left if plan.searches[number] is search]
            if plan.classes[left[0]].rows is not None:
                together = together[:1]
            complete &= _fill_by_search(graph, plan, search, together, request, deadline, found[at], by)
            left = [number for number in left if number not in together]
    return found, complete


def zeros_of(graph: Graph, plan: ImagePlan, threads: int) -> list[Numbers]:
    """Return a zero for each image of each class."""
    return [np.zeros(_size(graph, plan, number, threads), np.int64) for number in range(len(plan.classes))]


def _size(graph: Graph, plan: ImagePlan, number: int, threads: int) -> int:
    rows = plan.classes[number].rows
    return graph.num_vertices if rows is None else len(graph.adjacency(rows, threads)[1])


def usable_tables(plans: Sequence[ImagePlan], request: Request) -> list[tuple[int, int]]:
    """Return the plans and classes to count from tables: none near a timeout, when tables give nothing."""
    seconds = sum(table.seconds for plan in plans for table in plan.tables.values())
    if request.timeout is not None and seconds > request.timeout / 2 and request.tuning["tables"] != "on":
        return []
    return [(at, number) for at, plan in enumerate(plans) for number in sorted(plan.tables)]


def ways(plans: Sequence[ImagePlan], by_table: Sequence[tuple[int, int]]) -> str:
    """Return how plans are counted, in words, if these plans and classes are counted from tables."""
    if all(plan.impossible is not None for plan in plans):
        return plans[0].impossible or ""
    searches = [
        search
        for at, plan in enumerate(plans)
        for number, search in enumerate(plan.searches)
        if (at, number) not in by_table
    ]
    said = ["by a search that lists each subgraph once"] if any(one.listing for one in searches) else []
    said += ["by a search from each image"] if any(not one.listing for one in searches) else []
    said += ["from tables of local counts"] if by_table else []
    return ", and ".join(said)


def _fill_from_tables(
    graph: Graph,
    plans: Sequence[ImagePlan],
    classes: Sequence[tuple[int, int]],
    request: Request,
    deadline: Deadline,
    found: list[list[Numbers]],
) -> None:
    kinds = plans[classes[0][0]].kinds
    assert kinds is not None
    tables = [plans[at].tables[number].table for at, number in classes]
    progress = _progress(request, deadline)
    counts = local.evaluate_tables(graph, kinds, tables, request.threads, deadline.at, progress)
    for (at, number), (words, width) in zip(classes, counts, strict=True):
        found[at][number] = exact(words, width)


def _fill_by_search(
    graph: Graph,
    plan: ImagePlan,
    search: RootedSearch,
    classes: Sequence[int],
    request: Request,
    deadline: Deadline,
    found: list[Numbers],
    by: Search,
) -> bool:
    """Count some classes by one search; return whether it ended."""
    rows = plan.classes[classes[0]].rows
    first = {number: at * graph.num_vertices for at, number in enumerate(classes)}
    levels = [
        (one[0], one[1] if len(one) > 1 else -1, first[number])
        for number, one in search.levels
        if number in first
    ]
    one_size = _size(graph, plan, classes[0], request.threads)
    size = one_size * (len(classes) if rows is None else 1)
    words, above, ended = by(graph, search, levels, rows, size, request, deadline)
    if rows is not None:
        found[classes[0]] = exact(words, 1, above, times_of(plan, search, classes[0]))
    else:
        for number, start in first.items():
            end = start + graph.num_vertices
            missing = [(at - start, more) for at, more in above if start <= at < end]
            found[number] = exact(words[start:end], 1, missing, times_of(plan, search, number))
    return ended


def search_here(
    graph: Graph,
    search: RootedSearch,
    levels: Sequence[tuple[int, int, int]],
    rows: AdjacencyKey | None,
    size: int,
    request: Request,
    deadline: Deadline,
) -> Searched:
    """Search on the threads of this machine; see `Search`."""
    tuning = request.tuning
    problem = native_problem(
        graph,
        search.plan,
        intersect=tuning["intersect"],
        simd=tuning["simd"],
        threads=request.threads,
        backjump=tuning["backjump"],
    )
    words, above, reason = _native.count_images(
        problem,
        levels,
        None if rows is None else [graph.adjacency(rows, request.threads)] * len(levels),
        size,
        search.listing,
        request.threads,
        deadline.left(),
        _progress(request, deadline),
    )
    return words, above, native.Stop(reason) is native.Stop.NONE


def times_of(plan: ImagePlan, search: RootedSearch, number: int) -> int:
    """Return the embeddings that each embedding found stands for: all images of it that fix the roots."""
    return 1 if search.plan.multiplier == 1 else plan.classes[number].order


def exact(
    words: NDArray[np.uint64], width: int = 1, above: Iterable[tuple[int, int]] = (), times: int = 1
) -> Numbers:
    """Return numbers of several words, low words first, as int64, or as Python integers if some are greater.

    Parameters
    ----------
    above
        What is missing in some numbers.
    times
        A factor of all.
    """
    missing = dict(above)
    if width == 1 and not missing and int(words.max(initial=0)) * times <= _LARGEST:
        return words.view(np.int64) if times == 1 else words.view(np.int64) * times
    table = words.reshape(-1, width).astype(object)
    numbers = table[:, 0]
    for word in range(1, width):
        numbers = numbers + (table[:, word] << (64 * word))
    for at, more in missing.items():
        numbers[at] += more
    numbers = numbers * times
    return numbers if max(numbers, default=0) > _LARGEST else numbers.astype(np.int64)


def _progress(request: Request, deadline: Deadline) -> native.Progress | None:
    report = request.progress
    if report is None:
        return None

    def progress(done: int, total: int, found: int) -> None:
        report(ProgressReport(done, total, found, deadline.elapsed()))

    return progress
