"""The searches of a monitor as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from motiflux.pattern import Pattern
from motiflux.plan.passes.delta import DeltaPlan


def describe_searches(pattern: Pattern, plans: Sequence[DeltaPlan]) -> str:
    """Return the searches that an update starts, a line for each; those that share levels together."""
    alone = [plan for plan in plans if plan.shared is None]
    groups: dict[int, list[DeltaPlan]] = {}
    for plan in plans:
        if plan.shared is not None:
            groups.setdefault(plan.shared.group, []).append(plan)
    lines: list[str] = []
    for group in groups.values():
        lines.append(f"together, as if there were no {_names(pattern, _removed(group[0]))}:")
        lines += [f"  {line}" for line in _lines(pattern, group)]
    if alone and groups:
        lines.append("alone:")
        lines += [f"  {line}" for line in _lines(pattern, alone)]
    elif alone:
        lines += _lines(pattern, alone)
    return "\n".join(lines)


def _removed(plan: DeltaPlan) -> Sequence[int]:
    return () if plan.shared is None else plan.shared.removed


def _lines(pattern: Pattern, plans: Sequence[DeltaPlan]) -> Iterator[str]:
    for plan in plans:
        pair = len(plan.place)
        shared = pair if plan.shared is None else pair + len(plan.shared.steps)
        counted = len(plan.order) if plan.tail is None else plan.tail.start
        parts = [f"({_names(pattern, plan.place)})"]
        if shared > pair:
            parts.append(f"together {_names(pattern, plan.order[pair:shared])}")
        if counted > shared:
            parts.append(f"then {_names(pattern, plan.order[shared:counted])}")
        if counted < len(plan.order):
            parts.append(f"in closed form {_names(pattern, plan.order[counted:])}")
        if plan.replaces_last:
            parts.append("instead of the one before, if this is shorter for an update")
        yield "; ".join(parts)


def _names(pattern: Pattern, vertices: Sequence[int]) -> str:
    return ", ".join(pattern.vertices[vertex].name for vertex in vertices)
