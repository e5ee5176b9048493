"""All kernels: those that the package compiles ahead, and those that a release must be able to compile."""

from __future__ import annotations

from motiflux.codegen.access_walks import walks_source
from motiflux.codegen.changing import changing_sources, changing_sources_of_switches, filtered_sources
from motiflux.codegen.gpma import gpma_source
from motiflux.codegen.kernels import (
    COMPARED,
    DEFAULT_LANES,
    ENTRY,
    LANES,
    WITHIN_BLOCK,
    Goal,
    clique,
    clique_source,
    number_source,
    placed,
    ring_sources,
    rmat_source,
    search_source,
    triangle_source,
    triangle_tile_source,
)
from motiflux.codegen.local_counts_kernels import LocalCountKernel, local_counts_source
from motiflux.codegen.pcsr import pcsr_source
from motiflux.codegen.pvm import phase_sources
from motiflux.codegen.row_access import RowAccess, access_sources
from motiflux.codegen.sampling import ESTIMATORS, bits_source, draw_source, draw_sources
from motiflux.codegen.space import space_source
from motiflux.codegen.streaming import load_source, stream_sources, versions_sources
from motiflux.codegen.universal_vertex import universal_vertex_source
from motiflux.graph import Direction
from motiflux.jit import Source
from motiflux.plan.neighborhood.universal_vertex import neighborhood_shape
from motiflux.plan.shape import PlanShape, StepShape
from motiflux.plan.shape import Source as PlanSource

_DEFAULT_STEALING = "passive"

_BOTH = tuple(PlanSource(level, Direction.EITHER) for level in (0, 1))
_DIAMOND = PlanShape(
    (
        StepShape(bounds_out=True),
        StepShape(_BOTH[:1], after=(0,), bounds_out=True),
        StepShape(_BOTH, anchor=1),
        StepShape(reuse=2, anchor=1, after=(2,)),
    )
)
"""Two adjacent vertices with two common neighbours: the last step reuses the candidates of the one before."""
_RING = PlanShape(
    (
        StepShape(bounds_out=True, bounds_in=True),
        StepShape((PlanSource(0, Direction.OUT),), distinct=(0,), bounds_out=True, bounds_in=True),
        StepShape(
            (PlanSource(1, Direction.OUT),), anchor=1, distinct=(0, 1), bounds_out=True, bounds_in=True
        ),
        StepShape((PlanSource(2, Direction.OUT), PlanSource(0, Direction.IN)), anchor=2, distinct=(0, 1, 2)),
    )
)
"""A directed ring of four."""
_STEALING = (
    (Goal.COUNT, LANES[0], None),
    *((goal, LANES[2], None) for goal in (Goal.COUNT, Goal.TAIL, Goal.NESTED)),
    *((Goal.STORE, lanes, None) for lanes in LANES[:2]),
    (Goal.COUNT, LANES[2], clique(5)),
    (Goal.TAIL, LANES[2], _DIAMOND),
)
"""Kernels of `all_sources` with stealing within blocks: goals with their default lanes."""


_ALL_THREE = tuple(PlanSource(level, Direction.EITHER) for level in (0, 1, 2))
_WHEEL = neighborhood_shape(
    (
        StepShape(),
        StepShape(_BOTH[:1]),
        StepShape(_BOTH[:1], after=(1,)),
        StepShape(_ALL_THREE, after=(1,)),
        StepShape(_ALL_THREE, after=(3,)),
    ),
    (0, 0, 0, 0),
)
"""A universal vertex and a cycle of four."""


def all_sources() -> list[Source]:
    """Return all general kernels, and some for one shape: a release must be able to compile all of them."""
    searches = [search_source(goal, lanes) for goal in Goal for lanes in LANES]
    cliques = [search_source(Goal.COUNT, lanes, clique(3)) for lanes in LANES]
    cliques += [search_source(goal, 32, clique(5)) for goal in (Goal.COUNT, Goal.STORE)]
    compared = [search_source(goal, LANES[1], _RING) for goal in COMPARED]
    diamonds = [search_source(goal, 16, _DIAMOND) for goal in (Goal.COUNT, Goal.TAIL)]
    stealing = [
        search_source(goal, lanes, shape, within=within)
        for within in WITHIN_BLOCK
        for goal, lanes, shape in _STEALING
    ]
    tables = [local_counts_source(kernel, ENTRY) for kernel in LocalCountKernel]
    others = [
        clique_source(),
        triangle_source(),
        universal_vertex_source(),
        universal_vertex_source(_WHEEL),
        *placed_sources(),
        *tables,
        *ring_sources(),
        rmat_source(),
        number_source(),
        space_source(),
        *draw_sources(),
        *changing_sources(),
        *changing_sources_of_switches(),
        *filtered_sources(),
        *access_sources(),
        *walk_sources(),
        gpma_source(),
        pcsr_source(),
        *phase_sources(),
        load_source(),
        *versions_sources(),
        *stream_sources(),
    ]
    return [*searches, *cliques, *compared, *diamonds, *stealing, *others]


def walk_sources() -> list[Source]:
    """Return the walks over rows that are opened by headers, and over those in two parts, looked up."""
    return [walks_source(), RowAccess("hash", "always", two_parts=True).unit(walks_source())]


def placed_sources() -> list[Source]:
    """Return kernels for rows that stay on the host: the general ones, and one for a shape."""
    special = (Goal.IMAGES, *COMPARED)
    searches = [search_source(goal, DEFAULT_LANES[goal][-1]) for goal in Goal if goal not in special]
    searches += [search_source(Goal.COUNT, LANES[2], clique(5))]
    cliques = [clique_source(), triangle_source(), universal_vertex_source()]
    return [*(placed(one) for one in (*searches, *cliques)), triangle_tile_source()]


def reachable_sources() -> list[Source]:
    """Return the kernels that calls with the default tuning can use.

    Kernels for the shape of one plan are not included: their number has no limit. `motiflux.gpu.strategy`
    chooses the search kernels; ``tests/unit/test_reachable_kernels.py`` compares.
    """
    searches = [search_source(goal, lanes) for goal in Goal for lanes in DEFAULT_LANES[goal]]
    # Groups of a block share work if four levels or more are matched, unlike with stars and nested tails.
    stealing = [
        search_source(goal, lanes, within=_DEFAULT_STEALING)
        for goal in (Goal.COUNT, Goal.STORE, Goal.TAIL)
        for lanes in DEFAULT_LANES[goal]
    ]
    return [
        *searches,
        *stealing,
        clique_source(),
        triangle_source(),
        universal_vertex_source(),
        *(local_counts_source(kernel, ENTRY) for kernel in LocalCountKernel),
        rmat_source(),
        number_source(),
        space_source(),
        *(draw_source(estimator) for estimator in ESTIMATORS.values()),
        bits_source(),
        *changing_sources(),
    ]
