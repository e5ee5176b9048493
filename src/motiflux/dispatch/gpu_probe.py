"""The GPU as ``device="auto"`` sees it: whether it is there, what of it is ready, what a call would take."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from motiflux import _native
from motiflux.device.presence import why_no_gpu
from motiflux.errors import DeviceError
from motiflux.graph import Graph
from motiflux.plan import Plan
from motiflux.request.costs import H100, GpuCosts, GpuState, HostWork
from motiflux.request.engine import Engine
from motiflux.request.request import Request
from motiflux.request.sampler import Sampler

if TYPE_CHECKING:
    from motiflux.gpu.runtime.accelerator import Accelerator

DEVICE = "cuda"


class Gpu(Protocol):
    """An engine that is opened when it is first needed, which takes a while, and may fail."""

    @property
    def compile_seconds(self) -> float:
        """Seconds that a kernel takes to be compiled."""

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

    @property
    def compile_seconds(self) -> float:
        """Seconds that a kernel takes to be compiled."""
        return self._costs.compile

    def why_not(self) -> str | None:
        """Return in words why it cannot be used."""
        if self._failed is not None and self._failed[0] == os.getpid():
            return self._failed[1]
        return why_no_gpu()

    def is_open(self) -> bool:
        """Whether this process has it open."""
        return _opened() is not None

    def seconds(self, work: HostWork | None, graph: Graph, *, new: bool = False) -> float:
        """Return the expected seconds of a call."""
        state, speed = self._state(graph)
        search = 0.0 if work is None else self._costs.search(work, speed)
        first_look = self._costs.first_look(work) if new else 0.0
        return self._costs.ready(state, len(graph.forward.neighbors)) + first_look + search

    def sampling_seconds(self, seconds: float, graph: Graph, nbytes: int) -> tuple[float, float]:
        """Return the expected seconds until it can draw samples, and those that it draws."""
        state, speed = self._state(graph)
        arcs = 0 if nbytes else len(graph.forward.neighbors)
        return self._costs.ready(state, arcs), self._costs.sampling(seconds, nbytes, speed)

    def _state(self, graph: Graph) -> tuple[GpuState, float]:
        """Return what is there already, and the speed of the device; 0 where it is not open."""
        accelerator = _opened()
        self._compiled = self._compiled or _compiled_before()
        if accelerator is None:
            return GpuState(opened=False, compiled=self._compiled, resident=False), 0.0
        from motiflux.gpu.storage.device_csr import is_resident

        device = accelerator.device
        compiled = self._compiled or accelerator.has_kernels
        state = GpuState(opened=True, compiled=compiled, resident=is_resident(graph, device))
        return state, getattr(device, "speed", 0.0)

    def engine(self) -> Engine:
        """Return the engine, opened."""
        from motiflux.gpu.engine import open_engine

        with self._opening():
            return open_engine([DEVICE])

    def sampler(self, graph: Graph, plan: Plan, request: Request, candidates: _native.SampleGraph) -> Sampler:
        """Return what draws samples of `candidates` there; `DeviceError` if it cannot be opened."""
        from motiflux.gpu.kernels.sampler import DeviceSampler
        from motiflux.gpu.runtime.accelerator import open_accelerator

        with self._opening():
            open_accelerator(DEVICE)
        return DeviceSampler(graph, plan, replace(request, device=DEVICE), candidates)

    @contextmanager
    def _opening(self) -> Iterator[None]:
        """Remember what keeps it from being opened."""
        try:
            yield
        except DeviceError as error:
            self._failed = os.getpid(), f"the GPU cannot be used: {error}"
            raise


def _opened() -> Accelerator | None:
    """Return the GPU if this process has it open.

    Imports nothing of it: a search on the CPU needs none of that. Another thread may be importing it.
    """
    module = sys.modules.get("motiflux.gpu.runtime.accelerator")
    known = getattr(module, "known_accelerator", None)
    return None if known is None else known(DEVICE)


def _compiled_before() -> bool:
    """Whether any process left compiled kernels, or they came with the package."""
    from motiflux.jit import KernelCache
    from motiflux.jit.prebuilt import has_archives

    if has_archives():
        return True
    folder = KernelCache.from_environment().folder
    return folder is not None and any(folder.glob("*.kernel"))
