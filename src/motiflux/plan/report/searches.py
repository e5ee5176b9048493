"""The searches of a monitor as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from motiflux.pattern import Pattern
from motiflux.plan.passes.drafts import DeltaPlan
from motiflux.plan.passes.places import Place


def describe_searches(
    pattern: Pattern, plans: Sequence[DeltaPlan], measured: Mapping[Place, float] = MappingProxyType({})
) -> str:
    """Return the searches that an update starts, a line for each; those that share levels together.

    `measured`: of searches that replaced others, the share of the work of these that they took.
    """
    alone = [plan for plan in plans if plan.shared is None]
    groups: dict[int, list[DeltaPlan]] = {}
    for plan in plans:
        if plan.shared is not None:
            groups.setdefault(plan.shared.group, []).append(plan)
    lines: list[str] = []
    for group in groups.values():
        lines.append(f"together, as if there were no {_names(pattern, _removed(group[0]))}:")
        lines += [f"  {line}" for line in _lines(pattern, group, measured)]
    if alone and groups:
        lines.append("alone:")
        lines += [f"  {line}" for line in _lines(pattern, alone, measured)]
    elif alone:
        lines += _lines(pattern, alone, measured)
    return "\n".join(lines)


def _removed(plan: DeltaPlan) -> Sequence[int]:
    return () if plan.shared is None else plan.shared.removed


def _lines(pattern: Pattern, plans: Sequence[DeltaPlan], measured: Mapping[Place, float]) -> Iterator[str]:
    for plan in plans:
        pair = len(plan.place)
        shared = pair if plan.shared is None else pair + len(plan.shared.steps)
        counted = len(plan.order) if plan.tail is None else plan.tail.start
        parts = [f"{'NOT ' if plan.inverse else ''}({_names(pattern, plan.place)})"]
        if shared > pair:
            parts.append(f"together {_names(pattern, plan.order[pair:shared])}")
        if counted > shared:
            parts.append(f"then {_names(pattern, plan.order[shared:counted])}")
        if counted < len(plan.order):
            parts.append(f"in closed form {_names(pattern, plan.order[counted:])}")
        if plan.tallied:
            parts.append(f"counts at {_names(pattern, [plan.order[level] for level, _ in plan.tallied])}")
        if plan.replaces_last:
            parts.append("instead of the one before, if this is shorter for an update")
        if plan.place in measured:
            parts.append(f"took {measured[plan.place]:.0%} of the work of the search before it")
        yield "; ".join(parts)


def _names(pattern: Pattern, vertices: Sequence[int]) -> str:
    names = [vertex.name for vertex in pattern.vertices]
    return ", ".join(names[vertex] if vertex < len(names) else "any vertex" for vertex in vertices)
