"""The GPU as ``device="auto"`` sees it: whether it is there, what of it is ready, what a call would take."""

from __future__ import annotations

import os
from typing import Protocol

from motiflux.device.presence import why_no_gpu
from motiflux.engine.base import Engine
from motiflux.engine.costs import H100, GpuCosts, GpuState, HostWork
from motiflux.errors import DeviceError
from motiflux.graph import Graph
from motiflux.jit import KernelCache

DEVICE = "cuda"


class Gpu(Protocol):
    """An engine that is opened when it is first needed, which takes a while, and may fail."""

    def why_not(self) -> str | None:
        """Return in words why it cannot be used; None where nothing is known against it. Costs nothing."""

    def is_open(self) -> bool:
        """Whether this process has it open."""

    def seconds(self, work: HostWork | None, graph: Graph, *, new: bool = False) -> float:
        """Return the expected seconds of a call, for a `new` query or not, without opening it.

        Of None, until it can begin.
        """

    def engine(self) -> Engine:
        """Return the engine, opened; `DeviceError` if that fails, and `why_not` says so from then on."""


class CudaGpu:
    """The GPU of this machine.

    What was found out belongs to the process: the child of a fork cannot use what its parent has open.
    """

    def __init__(self, costs: GpuCosts = H100) -> None:
        self._costs = costs
        self._failed: tuple[int, str] | None = None
        self._compiled = False

    def why_not(self) -> str | None:
        """Return in words why it cannot be used."""
        if self._failed is not None and self._failed[0] == os.getpid():
            return self._failed[1]
        return why_no_gpu()

    def is_open(self) -> bool:
        """Whether this process has it open."""
        # Imported here: a search on the CPU needs nothing of this.
        from motiflux.engine.accelerator import known_accelerator

        return known_accelerator(DEVICE) is not None

    def seconds(self, work: HostWork | None, graph: Graph, *, new: bool = False) -> float:
        """Return the expected seconds of a call."""
        from motiflux.engine.accelerator import known_accelerator
        from motiflux.engine.resident import is_resident

        accelerator, speed = known_accelerator(DEVICE), 0.0
        self._compiled = self._compiled or _compiled_before()
        state = GpuState(opened=False, compiled=self._compiled, resident=False)
        if accelerator is not None:
            device = accelerator.device
            compiled = self._compiled or accelerator.has_kernels
            state = GpuState(opened=True, compiled=compiled, resident=is_resident(graph, device))
            speed = getattr(device, "speed", 0.0)
        search = 0.0 if work is None else self._costs.search(work, speed)
        meeting = self._costs.meeting(work) if new else 0.0
        return self._costs.ready(state, len(graph.forward.neighbors)) + meeting + search

    def engine(self) -> Engine:
        """Return the engine, opened."""
        from motiflux.engine.accelerator import open_accelerator
        from motiflux.engine.dfs import DfsEngine

        try:
            return DfsEngine(open_accelerator(DEVICE))
        except DeviceError as error:
            self._failed = os.getpid(), f"the GPU cannot be used: {error}"
            raise


def _compiled_before() -> bool:
    """Whether any process left compiled kernels."""
    folder = KernelCache.from_environment().folder
    return folder is not None and any(folder.glob("*.kernel"))
