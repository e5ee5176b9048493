"""Plans of patterns that have no embedding, where that is known before an order is looked for."""

from __future__ import annotations

from motiflux.plan.bind import BoundPattern
from motiflux.plan.candidates.space import CandidateSpace
from motiflux.plan.ir import Plan
from motiflux.plan.shape import PlanArgs, PlanShape, SpaceKey
from motiflux.types import Semantics, Symmetry

NO_CANDIDATES = "some query vertex has no candidate"
"""Why nothing matches where a candidate set is empty."""


def why_nothing(pattern: BoundPattern, space: CandidateSpace | None) -> str | None:
    """Return why there is no embedding at all; None if there may be one."""
    return pattern.missing or (NO_CANDIDATES if space is not None and space.empty else None)


def plan_of_nothing(
    pattern: BoundPattern, semantics: Semantics, symmetry: Symmetry, space: SpaceKey | None, why: str
) -> Plan:
    """Return a plan without steps: it is not to be searched.

    Steps and all that makes them fast would be most of what a call takes that ends here.
    """
    return Plan(
        order=tuple(range(pattern.size)),
        shape=PlanShape(()),
        args=PlanArgs(()),
        semantics=semantics,
        symmetry=symmetry,
        multiplier=1,
        automorphisms=1,
        restrictions=(),
        estimates=(0.0,) * pattern.size,
        space=space,
        classes=() if space is None else tuple(range(pattern.size)),
        impossible=why,
    )
