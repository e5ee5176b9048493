"""Sampling plans: an order, and steps without symmetry breaking, tails or reuse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from motiflux.errors import ArgumentError
from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.pattern.automorphism import automorphisms
from motiflux.plan.bind import BoundPattern, bind
from motiflux.plan.candidates.space import CandidateSpace, candidate_space, space_key
from motiflux.plan.ir import Plan
from motiflux.plan.passes.order import CostModel, frequencies, ordered, promising_orders
from motiflux.plan.passes.steps import build_steps
from motiflux.plan.passes.symmetry import check_symmetry
from motiflux.plan.planner import empty_plan, make_plan, why_empty
from motiflux.plan.shape import SpaceKey
from motiflux.types import Semantics, Symmetry


def sampling_plan(
    graph: Graph,
    pattern: Pattern,
    *,
    semantics: Semantics,
    symmetry: Symmetry,
    threads: int,
    deadline: float | None,
    switches: Mapping[str, str],
) -> Plan:
    """Return the sampling plan of `pattern`, kept with the graph.

    Its steps find each embedding once; for subgraphs, an estimate is divided by ``plan.automorphisms``.

    Parameters
    ----------
    deadline
        Time limit, a value of `time.perf_counter`; None: no limit.
    switches
        All switches of `motiflux.config`.

    Raises
    ------
    ArgumentError
        Symmetry is ``subgraphs`` and query vertices may share a data vertex; or the pattern has comparisons.
    TimeoutError
        The deadline passed while candidates were filtered or labels counted.
    """
    check_symmetry(semantics, symmetry, pattern)
    if pattern.comparisons:
        raise ArgumentError(
            "pattern",
            "no comparisons between attributes, which samples do not judge; see count",
            str(pattern),
        )
    key = ("sampling plan", pattern, semantics, symmetry, tuple(switches.values()))
    return graph.memo.get(
        key, lambda: _make(graph, pattern, semantics, symmetry, threads, deadline, switches)
    )


def _make(
    graph: Graph,
    pattern: Pattern,
    semantics: Semantics,
    symmetry: Symmetry,
    threads: int,
    deadline: float | None,
    switches: Mapping[str, str],
) -> Plan:
    bound = bind(pattern, graph)
    key: SpaceKey | None = space_key(bound, semantics, switches)
    space: CandidateSpace | None = None
    if key is not None:
        key = replace(key, cycles=int(switches["cycles"]))
        space = candidate_space(graph, key, threads, deadline)
    if (why := why_empty(bound, space)) is not None:
        return empty_plan(bound, semantics, symmetry, None if space is None else key, why)
    sizes, arcs = (space.sizes, space.arcs) if space is not None else frequencies(bound, graph, deadline)
    if switches["sample_order"] == "plan":
        planned = make_plan(
            graph,
            pattern,
            semantics=semantics,
            counting=False,
            space=True,
            threads=threads,
            deadline=deadline,
            tuning=switches,
        )
        order = planned.order
    elif switches["sample_order"] == "cost":
        order = promising_orders(bound, CostModel(bound, sizes, arcs), tails=False)[0].vertices
    else:
        order = quicksi_order(bound, sizes, arcs)
    degrees = space is None and switches["degrees"] == "on"
    shape, args = build_steps(bound, order, (), semantics, degrees=degrees)
    return Plan(
        order=order,
        shape=shape,
        args=args,
        semantics=semantics,
        symmetry=symmetry,
        multiplier=1,
        automorphisms=automorphisms(pattern, directed=graph.directed, base=order).order,
        restrictions=(),
        estimates=ordered(bound, CostModel(bound, sizes, arcs), order).estimates,
        space=key if space is not None else None,
        classes=tuple(range(bound.size)) if space is not None else (),
    )


def quicksi_order(pattern: BoundPattern, sizes: Sequence[int], arcs: Sequence[int]) -> tuple[int, ...]:
    """Return the order in which QuickSI grows a tree: always by the rarest edge that leaves it.

    The tree begins with the rarest edge, at its rarer end. Among equally rare edges, the edge is next whose
    new vertex has more edges to the tree, then more edges in total.
    """
    edges = list(zip(pattern.edges, arcs, strict=True))
    first, _ = min(edges, key=lambda one: one[1])
    order = sorted((first.source, first.target), key=lambda v: (sizes[v], -len(pattern.neighbors[v]), v))
    reached = set(order)
    while len(order) < pattern.size:
        leaving = (
            (number, edge.target if edge.source in reached else edge.source)
            for edge, number in edges
            if (edge.source in reached) != (edge.target in reached)
        )
        _, chosen = min(
            leaving,
            key=lambda one: (
                one[0],
                -len(pattern.neighbors[one[1]] & reached),
                -len(pattern.neighbors[one[1]]),
                one[1],
            ),
        )
        order.append(chosen)
        reached.add(chosen)
    return tuple(order)
