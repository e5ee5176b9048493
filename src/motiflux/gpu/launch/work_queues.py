"""Work that changes hands between groups of lanes: which searches have some, and seats for who waits."""

from __future__ import annotations

from typing import Any

from motiflux.codegen import layout
from motiflux.codegen.kernels import WITHIN_BLOCK
from motiflux.codegen.tails import DeviceTail
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.runtime.search import DeviceSearch
from motiflux.plan import Plan
from motiflux.request.request import Request

_FEW_ROOT_ARCS, _DEEP = 8, 4
"""Root arcs for each multiprocessor, which has 16 groups or more, that are so few that blocks are better off
sharing what each comes by, if they lead to so many levels. On an H100 that took .4 to 1.1 of the time for
such queries of enron_label20, and 1.3 times as long for 4-cycles, which have root arcs for all groups.
`active` gives the same, but kernels take 1.3 to 1.6 times as long to compile (`benchmarks/NOTES.md`)."""


def hands_over(plan: Plan, tail: DeviceTail | None, request: Request) -> bool:
    """Return whether groups that have no work left get some of others' by seats in device memory."""
    return _has_walks(plan, tail) and request.tuning["handover"] != "off"


def within_block(
    plan: Plan, tail: DeviceTail | None, request: Request, root_arcs: int, multiprocessors: int
) -> str | None:
    """Return how groups get work of others in their block (`WITHIN_BLOCK`); None if they do not."""
    asked = request.tuning["stealing"]
    if asked == "auto":
        narrow = root_arcs < _FEW_ROOT_ARCS * multiprocessors and _matched(plan, tail) >= _DEEP
        # Where pieces meet that was not measured.
        narrow = narrow and not (tail is not None and tail.overlaps)
        asked = "passive" if narrow else "none"
    return asked if asked in WITHIN_BLOCK and _has_walks(plan, tail) else None


def _matched(plan: Plan, tail: DeviceTail | None) -> int:
    """Return how many levels are matched one candidate after the other."""
    return len(plan.shape.steps) - 1 if tail is None else tail.start


def _has_walks(plan: Plan, tail: DeviceTail | None) -> bool:
    """Whether there is work to get: not where each root is all there is.

    That is so of two levels, and before a tail from level 1 on.
    """
    return len(plan.shape.steps) > 2 if tail is None else tail.start > 1


def add_seats(search: DeviceSearch, task: Any, groups: int, budget: int | None) -> None:
    """Give groups seats on which to wait for work of others, if there is memory for that."""
    seats = layout.wait_slots_for(groups)
    try:
        buffer = search.accelerator.device.allocate(
            layout.work_queue_bytes(seats), "work that changes hands", budget=budget
        )
    except DeviceMemoryError:
        return
    search.hold(buffer)
    search.clear_at_launches(buffer, layout.work_queue_cleared_bytes(seats))
    task.work_queue = layout.work_queue_at(buffer.address, seats)
