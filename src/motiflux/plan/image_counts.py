"""Plans that count embeddings by the images of query vertices, or of the two ends of a query edge.

The images of equivalent query vertices (an automorphism maps one to the other) are counted once. There are
three ways:

* a table of local counts whose roots are the counted vertices (`motiflux.plan.local_counts`),
* a search that matches them first, and counts all other levels, in closed form where it can,
* one search for all of them, which finds each subgraph once and adds it at the images of all levels.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf

from motiflux.graph import AdjacencyKey, Graph
from motiflux.pattern import Pattern
from motiflux.pattern.automorphism import Automorphisms, automorphisms
from motiflux.plan.bind import bind
from motiflux.plan.builder import PlanBuilder, PlanOptions
from motiflux.plan.candidates.space import candidate_space, space_key
from motiflux.plan.comparisons.order import compared_plan
from motiflux.plan.estimate.predict import expected_seconds
from motiflux.plan.estimate.sampled import MANY_MEMBERS, sample
from motiflux.plan.ir import Plan
from motiflux.plan.local_counts.choose import RootedTable, cheapest_rooted_tables, has_formulas
from motiflux.plan.local_counts.speeds import HOST_SPEEDS, Speeds
from motiflux.plan.passes.order import Order, promising_orders, rooted_orders
from motiflux.plan.passes.symmetry import check_symmetry
from motiflux.plan.planner import WORTH_A_FORMULA, why_empty
from motiflux.plan.probe_parts import WORTH_PARTS, probed_in_whole
from motiflux.plan.rooted import Kinds
from motiflux.types import Symmetry

Roots = tuple[int, ...]
"""The query vertices whose images are counted together: one, or the two ends of a query edge."""
Asked = tuple[Roots, AdjacencyKey | None]
"""Roots, and the rows whose arcs are the images of two."""

_FEW_MEMBERS = 64
_ADD_SECONDS = 1.5e-9
"""Seconds to add to the number of an image, where embeddings are listed."""
_SHARE_OF_SEARCH, _LONGEST_PLANNING = 0.25, 2.0
_PROBE_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class RootedSearch:
    """A search that counts for each image of the first query vertices of its order.

    Parameters
    ----------
    plan
        Its multiplier is 1 if it finds every embedding.
    levels
        The levels whose images are counted together, with the position of the class that they count: a pair
        for each place in an occurrence.
    listing
        Whether all levels are enumerated.
    """

    plan: Plan
    levels: tuple[tuple[int, Roots], ...]
    listing: bool


@dataclass(frozen=True, slots=True)
class ImageClass:
    """Roots that automorphisms map to each other; their images are counted equally.

    Parameters
    ----------
    roots
        One of them.
    order
        Number of automorphisms that fix each vertex of the roots.
    rows
        The rows whose arcs are the images, if the roots are two vertices.
    """

    roots: Roots
    order: int
    rows: AdjacencyKey | None


@dataclass(frozen=True, slots=True)
class ImagePlan:
    """How to count the images of several roots.

    Parameters
    ----------
    classes
        The classes of roots.
    class_of
        The position of the class of each of the roots that were asked for.
    kinds
        The kinds to which the patterns of tables refer.
    tables
        By class: the table that counts its images, and the expected seconds.
    searches
        The search of each class without a table, and of each class if the tables' numbers pass their words.
        A search that counts several classes is given for each.
    impossible
        The reason if nothing can match.
    automorphisms
        Number of automorphisms of the pattern.
    seconds
        Expected seconds; infinite if nothing was sampled.
    """

    classes: tuple[ImageClass, ...]
    class_of: tuple[int, ...]
    kinds: Kinds | None
    tables: dict[int, RootedTable]
    searches: tuple[RootedSearch, ...]
    impossible: str | None
    automorphisms: int
    seconds: float = 0.0


def image_plan(graph: Graph, pattern: Pattern, asked: Sequence[Asked], options: PlanOptions) -> ImagePlan:
    """Return the plan that counts the images of each of the roots `asked`, kept with the graph.

    Raises
    ------
    ArgumentError
        Symmetry is ``subgraphs`` and query vertices may share a data vertex.
    PatternError
        The pattern has a directed edge and the graph is undirected.
    TimeoutError
        The deadline passed while candidates were filtered.
    """
    check_symmetry(options.semantics, options.symmetry, pattern)
    # Searches break the symmetry that fixes the roots in any case: embeddings are counted.
    options = replace(options, symmetry=Symmetry.EMBEDDINGS)
    key = ("image plan", pattern, tuple(asked), options)

    def make() -> tuple[int, ImagePlan]:
        return options.haste, make_image_plan(graph, pattern, asked, options)

    haste, plan = graph.memo.get(key, make)
    if haste > options.haste:
        graph.memo.drop(key)
        _, plan = graph.memo.get(key, make)
    return plan


def make_image_plan(
    graph: Graph, pattern: Pattern, asked: Sequence[Asked], options: PlanOptions
) -> ImagePlan:
    """Return the plan of `image_plan`, made anew; raises the same errors."""
    bound = bind(pattern, graph)
    group = automorphisms(pattern, directed=graph.directed)
    classes, class_of = _classes(group, asked)
    key = space = None
    if options.space and bound.comparisons is None:  # copies are found by vertices, not by positions
        key = space_key(bound, options.semantics, options.switches)
        space = None if key is None else candidate_space(graph, key, options.threads, options.deadline)
    why = why_empty(bound, space)
    if why is not None:
        return ImagePlan(classes, class_of, None, {}, (), why, group.order)
    builder = PlanBuilder(graph, pattern, options, bound, key, space)
    if bound.comparisons is not None:
        walks = dict.fromkeys(("copy_walk", "pair_walk", "wedge_walk"), "off")
        by_levels = replace(options, switches={**options.switches, **walks})
        builder = PlanBuilder(graph, pattern, by_levels, bound, None, None)
        search = _listing_search(compared_plan(builder, bound.comparisons), classes, group)
        return ImagePlan(classes, class_of, None, {}, (search,) * len(classes), None, group.order)
    return replace(_choose(builder, classes, group), class_of=class_of)


def _classes(group: Automorphisms, asked: Sequence[Asked]) -> tuple[tuple[ImageClass, ...], tuple[int, ...]]:
    known: dict[Roots, int] = {}
    classes: list[ImageClass] = []
    for roots, rows in asked:
        if roots not in known:
            orbit = orbit_of(roots, group)
            known |= dict.fromkeys(orbit, len(classes))
            classes.append(ImageClass(roots, group.order // len(orbit), rows))
    return tuple(classes), tuple(known[roots] for roots, _ in asked)


def orbit_of(roots: Roots, group: Automorphisms) -> list[Roots]:
    """Return the roots to which automorphisms map `roots`, itself first."""
    found: dict[Roots, None] = {roots: None}
    frontier = [roots]
    while frontier:
        one = frontier.pop()
        for generator in group.generators:
            image = tuple(generator[vertex] for vertex in one)
            if image not in found:
                found[image] = None
                frontier.append(image)
    return list(found)


def _choose(builder: PlanBuilder, classes: tuple[ImageClass, ...], group: Automorphisms) -> ImagePlan:
    """Return the plan with a table for each class that one is expected to count in the least time.

    Searches from each image count other levels in closed form: without tails there are none.
    """
    speeds, threads = _speeds(builder), builder.options.threads
    listing, searching = _listing(builder, classes, group)
    listing_seconds = speeds.of_search(searching, threads)
    rooted = [
        _rooted_search(builder, number, one) if builder.options.tail else None
        for number, one in enumerate(classes)
    ]
    seconds = [inf if one is None else speeds.of_search(one[1], threads) for one in rooted]
    most = max(seconds) if builder.options.tail else listing_seconds
    worth = min(searching, sum(inf if one is None else one[1] for one in rooted))
    kinds, found = _tables(builder, classes, worth, most)
    forced = builder.options.switches["tables"] == "on"
    tables = {
        number: table
        for number, table in enumerate(found)
        if table is not None and (forced or table.seconds < seconds[number])
    }
    switch = builder.options.switches["images_by"]
    if switch == "listing":
        listing_seconds = 0.0
    elif switch == "rooted" and None not in rooted:
        listing_seconds = inf
    total = sum(tables[at].seconds if at in tables else seconds[at] for at in range(len(classes)))
    if listing_seconds < total and not (forced and tables):
        tables = {}
    if listing_seconds < total or None in rooted:
        searches = (listing,) * len(classes)
        by_table = sum(table.seconds for table in tables.values())
        total = by_table + (listing_seconds if len(tables) < len(classes) else 0.0)
    else:
        searches = tuple(one[0] for one in rooted if one is not None)
    return ImagePlan(classes, (), kinds, tables, searches, None, group.order, total)


def _speeds(builder: PlanBuilder) -> Speeds:
    return builder.options.tables or HOST_SPEEDS


def _tables(
    builder: PlanBuilder, classes: Sequence[ImageClass], search: float, most: float
) -> tuple[Kinds | None, list[RootedTable | None]]:
    """Return the tables of classes, if a search that takes the host `search` seconds is worth one.

    Each takes at most `most` seconds.
    """
    options, speeds = builder.options, _speeds(builder)
    switch = options.switches["tables"]
    nothing: list[RootedTable | None] = [None] * len(classes)
    auto = switch == "auto"
    if (
        switch == "off"
        or (auto and search < WORTH_A_FORMULA)
        or not has_formulas(builder.bound, options.semantics)
    ):
        return None, nothing
    left = inf if options.deadline is None else options.deadline - time.perf_counter()
    share = max(_SHARE_OF_SEARCH * search, speeds.planning) if auto else inf
    return cheapest_rooted_tables(
        builder.graph,
        builder.bound,
        [one.roots for one in classes],
        options.threads,
        options.semantics,
        seconds=min(share, _LONGEST_PLANNING, left / 4),
        most=most if auto else inf,
        speeds=speeds,
    )


def _listing(
    builder: PlanBuilder, classes: Sequence[ImageClass], group: Automorphisms
) -> tuple[RootedSearch, float]:
    """Return the search that finds each subgraph once, and its seconds."""
    orders = promising_orders(builder.bound, builder.model, tails=False)
    plans = [builder.without_tail(order) for order in orders]
    plan, read = plans[0], inf
    if builder.cheap_to_sample:
        plans = [_sampled(builder, one, _FEW_MEMBERS) for one in plans]
        plan = min(plans, key=partial(_seconds, builder))
        plan = _sampled(builder, plan, MANY_MEMBERS)
        read = _seconds(builder, plan)
    search = _listing_search(plan, classes, group)
    found = builder.in_whole(plan).estimates[-1]
    return search, read + found * len(search.levels) * _ADD_SECONDS / builder.options.threads


def _seconds(builder: PlanBuilder, plan: Plan) -> float:
    """Return the expected seconds of a sampled plan; on a sketch, in the larger graph."""
    return expected_seconds(builder.in_whole(plan), builder.options.threads, None) or inf


def _listing_search(plan: Plan, classes: Sequence[ImageClass], group: Automorphisms) -> RootedSearch:
    """Return the search of a plan, which adds each subgraph at the images of all levels."""
    places = {vertex: level for level, vertex in enumerate(plan.order)}
    broken = plan.multiplier > 1
    levels = tuple(
        (number, tuple(places[vertex] for vertex in roots))
        for number, one in enumerate(classes)
        for roots in (orbit_of(one.roots, group) if broken else [one.roots])
    )
    return RootedSearch(plan, levels, listing=True)


def _rooted_search(builder: PlanBuilder, number: int, one: ImageClass) -> tuple[RootedSearch, float] | None:
    """Return the search that matches the roots first, and its seconds; None if it has no further levels."""
    roots = len(one.roots)
    if builder.bound.size <= roots:
        return None
    orders = rooted_orders(builder.bound, builder.model, one.roots)
    plans = [plan for order in orders if (plan := builder.rooted(order, roots)) is not None]
    plan, seconds = plans[0], inf
    if builder.cheap_to_sample:
        plans = [_sampled(builder, plan, _FEW_MEMBERS) for plan in plans]
        plan = min(plans, key=partial(_seconds, builder))
        plan = _sampled(builder, plan, MANY_MEMBERS)
        seconds = _seconds(builder, plan)
    if builder.parts and seconds > WORTH_PARTS:
        plan = _in_parts(builder, [Order(one.order, one.estimates) for one in plans], roots, plan)
        seconds = expected_seconds(plan, builder.options.threads, None) or seconds
    levels = ((number, tuple(range(roots))),)
    return RootedSearch(plan, levels, listing=False), seconds


def _in_parts(builder: PlanBuilder, orders: Iterable[Order], roots: int, plan: Plan) -> Plan:
    """Return a plan that counts the levels after the roots in parts if it is cheaper, else `plan`."""
    plans = [plan]
    for order in orders:
        for way in builder.part_ways:
            found = builder.rooted(builder.order(order.vertices), roots, way)
            if found is not None and all(found.tail != other.tail for other in plans):
                plans.append(replace(found, scanned=plan.scanned))
    probed = [probed_in_whole(builder, one, _PROBE_SECONDS / len(plans)) for one in plans]
    return min(probed, key=lambda one: one.probed or inf)


def _sampled(builder: PlanBuilder, plan: Plan, members: int) -> Plan:
    estimate = sample(builder.graph, plan, members, builder.options.threads)
    return replace(plan, estimates=estimate.sizes, scanned=estimate.read)
