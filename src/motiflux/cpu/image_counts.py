"""Counts by the images of query vertices or edges on the CPU: from tables, or by a search with counters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux import _native, log
from motiflux.cpu import local, native
from motiflux.graph import Graph
from motiflux.plan.image_counts import ImagePlan, RootedSearch
from motiflux.plan.native_plan import native_problem
from motiflux.request.deadline import Deadline
from motiflux.request.reports import ProgressReport
from motiflux.request.request import Request

Numbers = NDArray[Any]
"""A number for each image: int64, or Python integers if some pass 2^63."""

_LARGEST = 2**63 - 1


def count_images(
    graph: Graph, plan: ImagePlan, request: Request, deadline: Deadline
) -> tuple[list[Numbers], bool, str]:
    """Return the embeddings at each image of each class of a plan, whether all were found, and how.

    Numbers are by vertex, or by arc of the rows of a class.
    """
    if plan.impossible is not None:
        return _zeros(graph, plan, request.threads), True, plan.impossible
    [found], complete = count_all_images(graph, [plan], request, deadline)
    return found, complete, _words(plan, _usable([plan], request))


def count_all_images(
    graph: Graph, plans: Sequence[ImagePlan], request: Request, deadline: Deadline
) -> tuple[list[list[Numbers]], bool]:
    """Return the embeddings at each image of each class of several plans, and whether all were found.

    Tables that the plans share are computed once.
    """
    found = [_zeros(graph, plan, request.threads) for plan in plans]
    by_table = _usable(plans, request)
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
            complete &= _fill_by_search(graph, plan, search, together, request, deadline, found[at])
            left = [number for number in left if number not in together]
    return found, complete


def _zeros(graph: Graph, plan: ImagePlan, threads: int) -> list[Numbers]:
    return [np.zeros(_size(graph, plan, number, threads), np.int64) for number in range(len(plan.classes))]


def _size(graph: Graph, plan: ImagePlan, number: int, threads: int) -> int:
    rows = plan.classes[number].rows
    return graph.num_vertices if rows is None else len(graph.adjacency(rows, threads)[1])


def _usable(plans: Sequence[ImagePlan], request: Request) -> list[tuple[int, int]]:
    """Return the plans and classes to count from tables: none near a timeout, when tables give nothing."""
    seconds = sum(table.seconds for plan in plans for table in plan.tables.values())
    if request.timeout is not None and seconds > request.timeout / 2 and request.tuning["tables"] != "on":
        return []
    return [(at, number) for at, plan in enumerate(plans) for number in sorted(plan.tables)]


def _words(plan: ImagePlan, by_table: Sequence[tuple[int, int]]) -> str:
    if len(by_table) == len(plan.classes):
        return "from tables of local counts"
    listing = any(search.listing for at, search in enumerate(plan.searches) if (0, at) not in by_table)
    searched = "by a search that lists each subgraph once" if listing else "by a search from each image"
    return f"{searched}, and from tables of local counts" if by_table else searched


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
) -> bool:
    """Count some classes by one search; return whether it ended."""
    tuning = request.tuning
    problem = native_problem(
        graph,
        search.plan,
        intersect=tuning["intersect"],
        simd=tuning["simd"],
        threads=request.threads,
        backjump=tuning["backjump"],
    )
    rows = plan.classes[classes[0]].rows
    first = {number: at * graph.num_vertices for at, number in enumerate(classes)}
    levels = [
        (one[0], one[1] if len(one) > 1 else -1, first[number])
        for number, one in search.levels
        if number in first
    ]
    arcs = None if rows is None else graph.adjacency(rows, request.threads)
    size = len(classes) * graph.num_vertices if arcs is None else len(arcs[1])
    words, above, reason = _native.count_images(
        problem,
        levels,
        arcs,
        size,
        search.listing,
        request.threads,
        deadline.left(),
        _progress(request, deadline),
    )
    if arcs is not None:
        found[classes[0]] = exact(words, 1, above, _times(plan, search, classes[0]))
    else:
        for number, start in first.items():
            end = start + graph.num_vertices
            missing = [(at - start, more) for at, more in above if start <= at < end]
            found[number] = exact(words[start:end], 1, missing, _times(plan, search, number))
    return native.Stop(reason) is native.Stop.NONE


def _times(plan: ImagePlan, search: RootedSearch, number: int) -> int:
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
