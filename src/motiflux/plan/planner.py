"""Sequences the passes; decides nothing itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from motiflux.config import resolve_tuning
from motiflux.errors import ArgumentError
from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.pattern.automorphism import automorphisms
from motiflux.plan.bind import bind
from motiflux.plan.ir import Plan
from motiflux.plan.order import CostModel, cheapest_order, frequencies, given_order
from motiflux.plan.reuse import share_intersections
from motiflux.plan.space import candidate_space, space_key
from motiflux.plan.steps import build_steps
from motiflux.plan.symmetry import restrictions
from motiflux.types import Semantics, Symmetry

_NO_CANDIDATES = "some query vertex has no candidate"


def make_plan(
    graph: Graph,
    pattern: Pattern,
    *,
    semantics: Semantics = Semantics.ISOMORPHISM,
    symmetry: Symmetry = Symmetry.EMBEDDINGS,
    counting: bool = True,
    space: bool = False,
    threads: int = 1,
    tuning: Mapping[str, str] | None = None,
) -> Plan:
    """Return the plan that finds `pattern` in `graph`, remembered with the graph.

    Parameters
    ----------
    counting
        Only the number is wanted: embeddings may then be counted as subgraphs times the order of the
        automorphism group (not under homomorphism, where an automorphism may leave a map as it is).
    space
        Whether the engine can search a candidate space.
    threads
        Threads that filter candidates.
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
    options = _Options(semantics, symmetry, counting, space, threads, switches)
    key = ("plan", pattern, semantics, symmetry, counting, space, tuple(switches.values()))
    return graph.memo.get(key, lambda: _make_plan(graph, pattern, options))


@dataclass(frozen=True)
class _Options:
    semantics: Semantics
    symmetry: Symmetry
    counting: bool
    space: bool
    threads: int
    switches: Mapping[str, str]


def _make_plan(graph: Graph, pattern: Pattern, options: _Options) -> Plan:
    semantics, switches = options.semantics, options.switches
    bound = bind(pattern, graph)
    key, space = None, None
    if options.space:
        key = space_key(bound, injective=semantics is not Semantics.HOMOMORPHISM, switches=switches)
        space = None if key is None else candidate_space(graph, key, options.threads)
    if space is not None:
        model = CostModel(bound, space.sizes, space.arcs)
    else:
        model = CostModel(bound, *frequencies(bound, graph.label_frequencies()))
    choose_order = given_order if switches["order"] == "given" else cheapest_order
    order = choose_order(bound, model)
    group = automorphisms(pattern, directed=graph.directed, base=order.vertices)
    once_each = options.symmetry is Symmetry.SUBGRAPHS
    multiply = (
        options.counting
        and not once_each
        and semantics is not Semantics.HOMOMORPHISM
        and switches["multiply"] == "on"
    )
    breaking = restrictions(group) if once_each or multiply else ()
    shape, args = build_steps(bound, order.vertices, breaking, semantics, degrees=switches["degrees"] == "on")
    if switches["reuse"] == "on":
        classes = None if space is None else [space.classes[vertex] for vertex in order.vertices]
        shape, args = share_intersections(shape, args, classes)
    return Plan(
        order=order.vertices,
        shape=shape,
        args=args,
        semantics=semantics,
        symmetry=options.symmetry,
        multiplier=group.order if multiply else 1,
        automorphisms=group.order,
        restrictions=breaking,
        estimates=order.estimates,
        space=None if space is None else key,
        impossible=bound.missing or (_NO_CANDIDATES if space is not None and space.empty else None),
    )
