"""Memory of the groups of a launch: candidate lists of levels, cached counts of parts, work queues."""

from __future__ import annotations

import ctypes
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from motiflux.codegen import layout
from motiflux.codegen.kernels import COMPARED, Goal
from motiflux.codegen.tails import DeviceTail
from motiflux.device import Buffer, Device
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.runtime.job import SearchJob
from motiflux.plan import Plan

_LINE_WORDS = 32
USABLE = 0.9
"""Largest share of the free memory for candidate lists."""
_LEAST_KEPT, _MOST_KEPT = 1 << 10, 1 << 20
"""Least and greatest number of cached counts of parts."""
_KEPT_PER_ARC = 256


@dataclass(frozen=True)
class Lists:
    """Layout of the candidate lists of a group: total words, and the first word of each level's list."""

    words: int
    places: tuple[int, ...]


def lay_out(
    plan: Plan,
    sources: Sequence[Sequence[Hashable]],
    longest: Mapping[Any, int],
    goal: Goal,
    tail: DeviceTail | None = None,
) -> Lists:
    """Return the layout, each list as long as the level's shortest set; `sources` names the rows of a level.

    In a tail, only levels that are enumerated have lists. Searches that compare attributes have none.
    """
    if goal in COMPARED:
        return Lists(0, (0,) * len(plan.shape.steps))
    walked = set() if tail is None else {*range(tail.start), *(one.level for one in tail.walked())}
    bounds: list[int] = []
    places: list[int] = []
    words = 0
    last = len(plan.shape.steps) - 1
    for level, (step, keys) in enumerate(zip(plan.shape.steps, sources, strict=True)):
        sets = [] if step.reuse is None else [bounds[step.reuse]]
        sets += [longest[key] for key in keys]
        bounds.append(min(sets, default=0))
        places.append(words)
        if tail is None:
            never_kept = goal in (Goal.COUNT, Goal.IMAGES) and level == last and step.anchor == last - 1
        else:
            never_kept = level not in walked
        if level > 1 and len(sets) > 1 and not never_kept:
            words += _lines(bounds[level])
    return Lists(words, tuple(places))


def _lines(words: int) -> int:
    return -(-words // _LINE_WORDS) * _LINE_WORDS


def allocate_for(
    device: Device, bytes_of_block: int, budget: int | None, grid: int
) -> tuple[int, Buffer | None]:
    """Return the number of blocks that fit, at most `grid`, and memory for them."""
    if bytes_of_block == 0:
        return grid, None
    while True:
        try:
            buffer = device.allocate(bytes_of_block * grid, "candidate lists of the search", budget=budget)
        except DeviceMemoryError:
            if grid == 1:
                raise
            available = device.free_memory()
            if budget is not None:
                available = min(available, budget - device.used_memory())
            grid = max(1, min(grid // 2, int(USABLE * available) // bytes_of_block))
        else:
            return grid, buffer


def kept_places(arcs: int) -> int:
    """Return the number of counts of parts that a search caches, if there is enough memory."""
    most = min(_MOST_KEPT, max(_LEAST_KEPT, _KEPT_PER_ARC * arcs))
    return 1 << (most - 1).bit_length()


def add_kept(job: SearchJob, argument: Any, places: int, budget: int | None) -> None:
    """Allocate a cache for `places` counts of parts, or for fewer if memory is short."""
    entry = ctypes.sizeof(layout.KeptNumber)
    while places >= _LEAST_KEPT:
        try:
            buffer = job.accelerator.device.allocate(places * entry, "numbers of parts", budget=budget)
        except DeviceMemoryError:
            places //= 4
            continue
        job.memory.hold(buffer)
        job.memory.clear_at_launches(buffer, buffer.nbytes)
        argument.kept, argument.kept_mask = buffer.address, places - 1
        return


def add_work_queue(job: SearchJob, task: Any, groups: int, budget: int | None) -> None:
    """Allocate a work queue with wait slots, through which groups hand over work, if memory suffices."""
    slots = layout.wait_slots_for(groups)
    try:
        buffer = job.accelerator.device.allocate(
            layout.work_queue_bytes(slots), "work that changes hands", budget=budget
        )
    except DeviceMemoryError:
        return
    job.memory.hold(buffer)
    job.memory.clear_at_launches(buffer, layout.work_queue_cleared_bytes(slots))
    task.work_queue = layout.work_queue_at(buffer.address, slots)
