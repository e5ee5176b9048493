"""Memory through which groups of lanes without work get work of others, on the whole device."""

from __future__ import annotations

from typing import Any

from motiflux.codegen import layout
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.runtime.job import SearchJob


def add_work_queue(job: SearchJob, task: Any, groups: int, budget: int | None) -> None:
    """Give groups wait slots, in which they get work of other groups, if there is memory for that."""
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
