"""Sequences the passes; decides nothing itself."""

from __future__ import annotations

from collections.abc import Mapping

from motiflux.config import resolve_tuning
from motiflux.errors import ArgumentError
from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.pattern.automorphism import automorphisms
from motiflux.plan.bind import bind
from motiflux.plan.ir import Plan
from motiflux.plan.order import CostModel, cheapest_order, given_order
from motiflux.plan.reuse import share_intersections
from motiflux.plan.steps import build_steps
from motiflux.plan.symmetry import restrictions
from motiflux.types import Semantics, Symmetry


def make_plan(
    graph: Graph,
    pattern: Pattern,
    *,
    semantics: Semantics = Semantics.ISOMORPHISM,
    symmetry: Symmetry = Symmetry.EMBEDDINGS,
    counting: bool = True,
    tuning: Mapping[str, str] | None = None,
) -> Plan:
    """Return the plan that finds `pattern` in `graph`, remembered with the graph.

    Parameters
    ----------
    counting
        Only the number is wanted: embeddings may then be counted as subgraphs times the order of the
        automorphism group (not under homomorphism, where an automorphism may leave a map as it is).
    tuning
        Switches of `motiflux.config.TUNING`.

    Raises
    ------
    ArgumentError
        Subgraphs of a homomorphism, or an unknown switch.
    PatternError
        The pattern asks for directions in an undirected graph.
    """
    if semantics is Semantics.HOMOMORPHISM and symmetry is Symmetry.SUBGRAPHS:
        raise ArgumentError("symmetry", "'embeddings' with semantics='homomorphism'", symmetry.value)
    switches = resolve_tuning(tuning)
    key = ("plan", pattern, semantics, symmetry, counting, tuple(switches.values()))
    return graph.memo.get(key, lambda: _make_plan(graph, pattern, semantics, symmetry, counting, switches))


def _make_plan(
    graph: Graph,
    pattern: Pattern,
    semantics: Semantics,
    symmetry: Symmetry,
    counting: bool,
    switches: Mapping[str, str],
) -> Plan:
    bound = bind(pattern, graph)
    model = CostModel(bound, graph.label_frequencies())
    choose_order = given_order if switches["order"] == "given" else cheapest_order
    order = choose_order(bound, model)
    group = automorphisms(pattern, directed=graph.directed, base=order.vertices)
    once_each = symmetry is Symmetry.SUBGRAPHS
    multiply = (
        counting
        and not once_each
        and semantics is not Semantics.HOMOMORPHISM
        and switches["multiply"] == "on"
    )
    breaking = restrictions(group) if once_each or multiply else ()
    shape, args = build_steps(bound, order.vertices, breaking, semantics, degrees=switches["degrees"] == "on")
    if switches["reuse"] == "on":
        shape, args = share_intersections(shape, args)
    return Plan(
        order=order.vertices,
        shape=shape,
        args=args,
        semantics=semantics,
        symmetry=symmetry,
        multiplier=group.order if multiply else 1,
        automorphisms=group.order,
        restrictions=breaking,
        estimates=order.estimates,
        impossible=bound.missing,
    )
