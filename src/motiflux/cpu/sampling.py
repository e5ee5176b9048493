"""Functions that call the native sampler: groups of 32 samples, on CPU threads."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.errors import InternalError
from motiflux.graph import Adjacency, AdjacencyKey, Direction, Graph
from motiflux.plan import Plan
from motiflux.plan.candidates.space import candidate_space
from motiflux.plan.shape import StepArgs, StepShape
from motiflux.result.sample_groups import Groups

ESTIMATORS = {"wanderjoin": 0, "alley": 1, "tree": 2}
INHERITANCE = {"off": 0, "one": 1, "spread": 2}
_LARGE = 1 << 18
"""Number of edges from which filtering rows takes a millisecond; smaller graphs ignore the deadline."""


def sample_graph(
    graph: Graph, plan: Plan, threads: int, deadline: float | None = None
) -> _native.SampleGraph:
    """Return the candidate graph that `plan` samples: its candidate space, or narrowed rows of the graph.

    Raises
    ------
    TimeoutError
        `deadline`, a value of `time.perf_counter`, passed before all rows of a large graph were filtered.
    """
    levels = []
    for step, args in zip(plan.shape.steps, plan.args.steps, strict=True):
        not_out, not_in = apart_of(step, args)
        sources = [source.level for source in step.sources]
        levels.append((sources, _mask(step.distinct), _mask(not_out), _mask(not_in)))
    out, into = _all_arcs(graph, plan, threads)
    if plan.space is not None:
        space = candidate_space(graph, plan.space, threads)
        if space is None:
            raise InternalError("the candidate space of a plan does not fit into memory any more")
        if space.empty:
            raise InternalError("the candidate space of a plan is empty now")
        return _native.SampleGraph(
            levels=levels,
            space=space.native,
            order=plan.order,
            source_edges=[edge for args in plan.args.steps for edge in args.edges],
            out=out,
            in_=into,
        )
    narrowed: dict[AdjacencyKey, tuple[NDArray[np.uint64], NDArray[np.uint32]]] = {}
    keys = [key for args in plan.args.steps for key in args.adjacencies]
    for key in keys:
        if key not in narrowed:
            if graph.num_edges >= _LARGE and deadline is not None and time.perf_counter() >= deadline:
                raise TimeoutError("time was up while rows were filtered")
            narrowed[key] = graph.adjacency(key, threads)
    return _native.SampleGraph(
        levels=levels,
        rows=[narrowed[key] for key in keys],
        roots=_roots(graph, plan, narrowed[plan.args.steps[1].adjacencies[0]][0]),
        out=out,
        in_=into,
    )


def apart_of(step: StepShape, args: StepArgs) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the levels whose vertex must have no arc of the plan's kind to a candidate, or from it, once."""
    if not args.apart:
        return step.not_out, step.not_in
    not_out = {level for level, key in args.apart if key.direction is not Direction.IN}
    not_in = {level for level, key in args.apart if key.direction is not Direction.OUT}
    return tuple(sorted(not_out)), tuple(sorted(not_in))


def kinds_apart(plan: Plan) -> set[AdjacencyKey]:
    """Return the kinds of arcs that must be absent, without directions; none if all arcs must."""
    kinds = {replace(key, direction=Direction.EITHER) for args in plan.args.steps for _, key in args.apart}
    steps = zip(plan.shape.steps, plan.args.steps, strict=True)
    if kinds and any((shape.not_out or shape.not_in) and not args.apart for shape, args in steps):
        kinds.add(AdjacencyKey(Direction.EITHER, None, None, None))  # levels that all arcs must not lead to
    return kinds


def _all_arcs(graph: Graph, plan: Plan, threads: int) -> tuple[Adjacency, Adjacency]:
    """Return the arcs that are looked for where arcs must be absent, from each vertex and to it."""
    kinds = kinds_apart(plan)
    if not kinds:
        return (
            (graph.forward.offsets, graph.forward.neighbors),
            (graph.reverse.offsets, graph.reverse.neighbors),
        )
    if len(kinds) > 1:
        raise InternalError("expected absent arcs of one kind")
    (kind,) = kinds
    if not graph.directed:
        rows = graph.adjacency(kind, threads)
        return rows, rows
    ways = (graph.adjacency(replace(kind, direction=way), threads) for way in (Direction.OUT, Direction.IN))
    out, into = ways
    return out, into


def _roots(graph: Graph, plan: Plan, offsets: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """Return the candidates of the first level: vertices with a row and with the degrees of the plan."""
    fits = np.diff(offsets) > 0
    least = plan.args.steps[0]
    if least.min_out_degree > 0:
        fits &= graph.forward.degrees() >= least.min_out_degree
    if least.min_in_degree > 0:
        fits &= graph.reverse.degrees() >= least.min_in_degree
    return np.flatnonzero(fits).astype(np.uint32)


def draw_groups(
    candidates: _native.SampleGraph,
    *,
    estimator: str,
    inheritance: str,
    seed: int,
    first: int,
    count: int,
    threads: int,
    timeout: float | None = None,
) -> Groups:
    """Return groups ``first .. first + count - 1``; only the first of them after a timeout."""
    return Groups(
        *_native.draw_groups(
            candidates,
            ESTIMATORS[estimator],
            INHERITANCE[inheritance],
            seed,
            first,
            count,
            threads,
            timeout,
        )
    )


def _mask(levels: tuple[int, ...]) -> int:
    return sum(1 << level for level in levels)
