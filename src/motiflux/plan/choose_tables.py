"""Whether to count from tables of local counts: where a formula is found that takes less than the search."""

from __future__ import annotations

from math import inf

from motiflux.graph import Graph
from motiflux.plan.bind import BoundPattern
from motiflux.plan.estimate.predict import expected_seconds
from motiflux.plan.ir import Formula, Plan
from motiflux.plan.local_counts.choose import cheapest_formula
from motiflux.plan.options import PlanOptions
from motiflux.types import Semantics

# Seconds that a search must be expected to take before a formula is looked for, which takes milliseconds,
# and the share of these seconds in which it must be found.
WORTH_A_FORMULA = 0.01
_SHARE_OF_SEARCH = 0.25
_LONGEST_LOOK = 2.0


def formula_for(graph: Graph, bound: BoundPattern, plan: Plan, options: PlanOptions) -> Formula | None:
    """Return how to count from tables, where that is expected to take less time than the search."""
    speeds = options.tables
    if not options.counting or speeds is None or options.semantics is Semantics.INDUCED:
        return None
    switch = options.switches["tables"]
    threads = speeds.shared(options.threads)
    search = expected_seconds(plan, threads, None)
    if switch == "off" or (switch == "auto" and (search is None or search < WORTH_A_FORMULA)):
        return None
    share = _LONGEST_LOOK
    if switch == "auto" and search is not None:
        share = max(_SHARE_OF_SEARCH * search, speeds.look)
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
            options.seconds_to_look(None if search is None else speeds.of_search(search, threads)),
            _LONGEST_LOOK,
        ),
        most=most,
        speeds=speeds,
        tails=options.tail,
    )
    return formula if formula is not None and formula.seconds < most else None
