"""`reachable_sources` names the kernels that the default tuning leads to, no more and no fewer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np

import motiflux as mf
from motiflux.codegen.all_kernels import all_sources, reachable_sources
from motiflux.codegen.kernels import Goal, search_source
from motiflux.codegen.tails import device_tail
from motiflux.gpu.images.search import images_kernel
from motiflux.gpu.strategy import DeviceFacts, counting_goal, search_kernel
from motiflux.plan import Plan
from motiflux.plan.physical import SearchKernel
from motiflux.plan.planner import make_plan
from motiflux.request.request import make_request
from tests.backend.cases import clique, cycle, path

STAR = [(0, leaf) for leaf in (1, 2, 3)]
LONG = path(6)
PATTERNS = (
    *([(0, 1)], cycle(3), clique(5), path(4), LONG, cycle(6), STAR),
    [*clique(4), (3, 4), (3, 5)],  # a tail of two leaves after four levels
    [*clique(5), (4, 5), (4, 6)],
    [*path(3), (1, 3), (1, 4), (2, 5), (2, 6)],
    [*clique(5), *((at, 5 + at) for at in range(5)), (5, 10)],
    [*clique(4), *((at, 4 + at) for at in range(4)), (4, 8)],
)


def plans() -> Iterator[Plan]:
    """Yield plans with tails and without."""
    pairs = np.random.default_rng(1).integers(0, 40, (300, 2))
    graph = mf.Graph.from_edges(pairs, self_loops="drop")
    ways = ("isomorphism", "homomorphism"), ((False, "off"), (True, "off"), (True, "on"))
    for edges, semantics, (tail, parts) in product(PATTERNS, *ways):
        pattern = mf.Pattern.from_edges(edges)
        yield make_plan(graph, pattern, semantics=semantics, tail=tail, parts=tail, tuning={"parts": parts})
    transfers = mf.Graph.from_edges(
        pairs, self_loops="drop", directed=True, edge_attributes={"time": range(300)}
    )
    for size in (3, 20):
        path_in_time = "-->".join(f"(v{at})" for at in range(size)) + " WITHIN 9"
        yield make_plan(transfers, mf.Pattern.parse(path_in_time), copy_walks=False)


def kernels_by_default() -> Iterator[SearchKernel]:
    """Yield the search kernels for plans whose rows are short or long, and that have few roots or many."""
    request = make_request(semantics="isomorphism", symmetry="embeddings")
    for plan, roots, length in product(plans(), (1.0, 1e6), (1.5, 20.0)):
        sized = replace(plan, estimates=(roots, roots * length, *plan.estimates[2:]))
        countable = plan.tail is None or device_tail(plan) is not None
        listing = Goal.STORE if plan.comparisons is None else Goal.STORE_COMPARED
        for goal in [
            *([counting_goal(plan)] if countable else []),
            *([listing] if plan.tail is None else []),
        ]:
            yield search_kernel(sized, goal, DeviceFacts(multiprocessors=100), request)
        if plan.tail is None:
            for deepest in range(len(plan.shape.steps)):
                yield images_kernel(sized, deepest, DeviceFacts(multiprocessors=100), request)


def test_the_search_kernels_that_default_tuning_leads_to_are_those() -> None:
    kernels = set(kernels_by_default())
    used = {search_source(Goal(found.goal), found.lanes, within=found.stealing).name for found in kernels}
    named = {source.name for source in reachable_sources() if source.name.startswith("search-")}
    assert used == named


def test_each_reachable_kernel_is_one_of_all() -> None:
    assert set(reachable_sources()) < set(all_sources())
