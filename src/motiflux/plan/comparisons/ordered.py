"""The variables of comparisons in the order in which a plan matches them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from motiflux.plan.comparisons.bound import BoundVariable
from motiflux.plan.comparisons.native import Ends, followed
from motiflux.plan.ir import Plan


@dataclass(frozen=True, slots=True)
class OrderedVariables:
    """Variables in the order of their levels.

    Parameters
    ----------
    variables, ends
        The variables, and the levels and copies of each.
    place
        For each position in `BoundComparisons.variables` the position here.
    columns
        For each variable the number of its first column among all columns.
    """

    variables: Sequence[BoundVariable]
    ends: Sequence[Ends]
    place: Sequence[int]
    columns: Sequence[int]

    @classmethod
    def of(cls, plan: Plan) -> OrderedVariables:
        """Return the variables of a plan that compares attributes."""
        assert plan.comparisons is not None
        ends, variables = followed(plan), plan.comparisons.variables
        order = sorted(range(len(ends)), key=lambda at: ends[at].level)
        ordered = [variables[at] for at in order]
        first = np.cumsum([0, *(len(one.columns) for one in ordered)]).tolist()
        place = [order.index(at) for at in range(len(order))]
        return cls(ordered, [ends[at] for at in order], place, first)

    def matched(self, levels: int) -> list[int]:
        """Return the number of variables matched up to each level."""
        return [sum(one.level <= level for one in self.ends) for level in range(levels)]
