"""The formula that takes the least time."""

from __future__ import annotations

from dataclasses import replace

from motiflux.graph import Graph
from motiflux.plan.bind import BoundPattern
from motiflux.plan.ir import Formula, Searched
from motiflux.plan.local_counts.costs import KNOWN_TABLES_BYTES, Costs, KnownTables
from motiflux.plan.local_counts.derive import MOST_VERTICES, Derivation
from motiflux.plan.local_counts.estimate_costs import CostEstimator
from motiflux.plan.local_counts.family import Family, Undecided
from motiflux.plan.local_counts.speeds import HOST_SPEEDS, Speeds
from motiflux.plan.local_counts.stopwatch import Stopwatch
from motiflux.types import Semantics


def cheapest_formula(
    graph: Graph,
    bound: BoundPattern,
    threads: int,
    semantics: Semantics = Semantics.ISOMORPHISM,
    *,
    seconds: float = float("inf"),
    most: float = float("inf"),
    speeds: Speeds = HOST_SPEEDS,
    tails: bool = True,
) -> Formula | None:
    """Return the formula that counts `bound` from tables in the least time.

    Parameters
    ----------
    seconds
        Time limit of planning. The time of preparing rows and label frequencies, which are kept with the
        graph, is not included, up to the same number of seconds: otherwise the result would depend on
        earlier queries.
    most
        Most seconds that counting by the formula may take.
    speeds
        Times of operations on tables.
    tails
        Whether searches without roots count tails in closed form.

    Returns
    -------
    Formula or None
        None if the only known way to count is a search for the whole pattern.
    """
    if not 2 < bound.size <= MOST_VERTICES or bound.may_coincide or semantics is Semantics.INDUCED:
        return None
    family = Family(bound, injective=semantics is Semantics.ISOMORPHISM)
    estimator = CostEstimator(graph, family, threads, speeds, Stopwatch(seconds), tails=tails)
    costs = Costs(
        vertices=graph.num_vertices * speeds.number + speeds.begin,
        arcs=graph.forward.num_arcs * speeds.number + speeds.begin,
        search=estimator.search,
        triangles=estimator.triangles,
        wedges=estimator.wedges,
        walks=estimator.walks,
    )
    known = KnownTables()
    if len(family.kinds.vertices) == 1:  # merging adds no kinds, so kinds keep their numbers
        name = (family.kinds, family.injective, threads, speeds, tails)
        known = graph.memo.get_sized("tables", name, KnownTables, KNOWN_TABLES_BYTES)
    try:
        table, cost = Derivation(family, costs, seconds, most, known, estimator.watch.elapsed).table(
            family.whole
        )
    except Undecided:
        return None
    if isinstance(table, Searched):
        return None
    formula = Formula(family.kinds, table, cost)
    return replace(formula, seconds=cost + sum(map(estimator.correction, formula.tables())))
