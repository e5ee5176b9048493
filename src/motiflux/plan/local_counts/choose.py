"""The formula that takes the least time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from motiflux.graph import Graph
from motiflux.plan.bind import BoundPattern
from motiflux.plan.ir import Formula, Searched, Table
from motiflux.plan.local_counts.costs import KNOWN_TABLES_BYTES, Costs, KnownTables
from motiflux.plan.local_counts.derive import MOST_VERTICES, Derivation
from motiflux.plan.local_counts.estimate_costs import CostEstimator
from motiflux.plan.local_counts.family import Family, Undecided
from motiflux.plan.local_counts.speeds import HOST_SPEEDS, Speeds
from motiflux.plan.local_counts.stopwatch import Stopwatch
from motiflux.plan.rooted import Kinds
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
    if not has_formulas(bound, semantics):
        return None
    family = Family(bound, injective=semantics is Semantics.ISOMORPHISM)
    derivation, estimator = _derivation(graph, family, threads, seconds, most, speeds, tails=tails)
    try:
        table, cost = derivation.table(family.whole)
    except Undecided:
        return None
    if isinstance(table, Searched):
        return None
    formula = Formula(family.kinds, table, cost)
    return replace(formula, seconds=cost + sum(map(estimator.correction, formula.tables())))


@dataclass(frozen=True, slots=True)
class RootedTable:
    """A table with a number for each image of the roots of a pattern, and the expected seconds."""

    table: Table
    seconds: float


def cheapest_rooted_tables(
    graph: Graph,
    bound: BoundPattern,
    roots: Sequence[tuple[int, ...]],
    threads: int,
    semantics: Semantics,
    *,
    seconds: float = float("inf"),
    most: float = float("inf"),
    speeds: Speeds = HOST_SPEEDS,
) -> tuple[Kinds, list[RootedTable | None]]:
    """Return tables of the embeddings at each image of one vertex, or of two that an edge joins, by `roots`.

    Parameters
    ----------
    seconds, most, speeds
        As for `cheapest_formula`; `most` for each table.

    Returns
    -------
    Kinds, list
        The kinds to which the patterns of the tables refer; and a table, or None if only a search is known.
    """
    family = Family(bound, injective=semantics is Semantics.ISOMORPHISM)
    if not has_formulas(bound, semantics):
        return family.kinds, [None] * len(roots)
    derivation, _ = _derivation(graph, family, threads, seconds, most, speeds, tails=True)
    found: list[RootedTable | None] = []
    for vertices in roots:
        order = [*vertices, *(v for v in range(bound.size) if v not in vertices)]
        pattern = family.renumbered(family.whole, order, len(vertices))
        try:
            table, cost = derivation.table(pattern)
        except Undecided:
            found.append(None)
            continue
        found.append(None if isinstance(table, Searched) else RootedTable(table, cost))
    return family.kinds, found


def has_formulas(bound: BoundPattern, semantics: Semantics) -> bool:
    """Return whether there may be formulas for a pattern."""
    negates = semantics is Semantics.INDUCED or bool(bound.negated)
    return 2 < bound.size <= MOST_VERTICES and not bound.may_coincide and not negates


def _derivation(
    graph: Graph,
    family: Family,
    threads: int,
    seconds: float,
    most: float,
    speeds: Speeds,
    *,
    tails: bool,
) -> tuple[Derivation, CostEstimator]:
    estimator = CostEstimator(graph, family, threads, speeds, Stopwatch(seconds), tails=tails)
    costs = Costs(
        vertices=graph.num_vertices * speeds.number + speeds.begin,
        arcs=graph.forward.num_arcs * speeds.number + speeds.begin,
        search=estimator.search,
        triangles=estimator.triangles,
        wedges=estimator.wedges,
        walks=estimator.walks,
        weighted_cycles=estimator.weighted_cycles if speeds.threads else None,
    )
    known = KnownTables()
    if len(family.kinds.vertices) == 1:  # merging adds no kinds, so kinds keep their numbers
        name = (family.kinds, family.injective, threads, speeds, tails)
        known = graph.memo.get_sized("tables", name, KnownTables, KNOWN_TABLES_BYTES)
    return Derivation(family, costs, seconds, most, known, estimator.watch.elapsed), estimator
