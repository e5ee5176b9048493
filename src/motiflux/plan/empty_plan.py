"""Empty plans: for patterns of which it is known before planning that they have no embedding."""

from __future__ import annotations

from motiflux.plan.bind import BoundPattern
from motiflux.plan.candidates.space import CandidateSpace
from motiflux.plan.ir import Plan
from motiflux.plan.shape import PlanArgs, PlanShape, SpaceKey
from motiflux.types import Semantics, Symmetry

NO_CANDIDATES = "some query vertex has no candidate"
"""The reason for an empty plan if a candidate set is empty."""


def why_empty(pattern: BoundPattern, space: CandidateSpace | None) -> str | None:
    """Return the reason if there can be no embedding, else None."""
    return pattern.missing or (NO_CANDIDATES if space is not None and space.empty else None)


def empty_plan(
    pattern: BoundPattern, semantics: Semantics, symmetry: Symmetry, space: SpaceKey | None, why: str
) -> Plan:
    """Return a plan without steps, which is not searched.

    Making the steps would take most of the time of such a call.
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
