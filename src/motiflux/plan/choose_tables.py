"""The choice between a search and a formula over tables of local counts."""

from __future__ import annotations

from math import inf

from motiflux.graph import Graph
from motiflux.plan.bind import BoundPattern
from motiflux.plan.estimate.predict import expected_seconds
from motiflux.plan.ir import Formula, Plan
from motiflux.plan.local_counts.choose import cheapest_formula
from motiflux.plan.options import PlanOptions
from motiflux.types import Semantics

# A formula, which takes milliseconds to find, is considered if the search is expected to take this number of
# seconds. It must be found within this share of the expected time, and within the longest planning time.
WORTH_A_FORMULA = 0.01
_SHARE_OF_SEARCH = 0.25
_LONGEST_PLANNING = 2.0


def cheaper_formula(graph: Graph, bound: BoundPattern, plan: Plan, options: PlanOptions) -> Formula | None:
    """Return a formula that is expected to take less time than the search; None if none is found."""
    speeds = options.tables
    if not options.counting or speeds is None or options.semantics is Semantics.INDUCED:
        return None
    switch = options.switches["tables"]
    threads = speeds.shared(options.threads)
    search = expected_seconds(plan, threads, None)
    if switch == "off" or (switch == "auto" and (search is None or search < WORTH_A_FORMULA)):
        return None
    share = _LONGEST_PLANNING
    if switch == "auto" and search is not None:
        share = max(_SHARE_OF_SEARCH * search, speeds.planning)
    most = inf
    if switch == "auto" and search is not None:
        most = speeds.margin * speeds.of_search(search, threads)
    formula = cheapest_formula(
        graph,
        bound,
        options.threads,
        options.semantics,
        seconds=min(
            share,
            options.planning_seconds(None if search is None else speeds.of_search(search, threads)),
            _LONGEST_PLANNING,
        ),
        most=most,
        speeds=speeds,
        tails=options.tail,
    )
    return formula if formula is not None and formula.seconds < most else None
