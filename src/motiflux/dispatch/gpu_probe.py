"""The GPU for ``device="auto"``: whether it exists, its state, and the expected time of a call."""

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
    """A GPU engine that is opened when it is first needed, which takes time and may fail."""

    @property
    def compile_seconds(self) -> float:
        """Seconds in which a kernel is compiled."""

    def why_not(self) -> str | None:
        """Return the reason, in words, why the GPU cannot be used; None if none is known. Takes no time."""

    def is_open(self) -> bool:
        """Whether this process has the GPU open."""

    def seconds(self, work: HostWork | None, graph: Graph, *, new: bool = False) -> float:
        """Return the expected seconds of a call, for a `new` query or not, without opening the GPU.

        If `work` is None, return the seconds until a call can begin.
        """

    def stays_on_host(self, graph: Graph, gpu_memory: int | None) -> bool:
        """Whether the edges of a graph are expected not to fit into the memory of an open GPU."""

    def engine(self) -> Engine:
        """Return the open engine; raise `DeviceError` if that fails, which `why_not` then reports."""


class CudaGpu:
    """The GPU of this machine.

    Its state belongs to the process: a forked child cannot use a GPU that its parent has open.
    """

    def __init__(self, costs: GpuCosts = H100) -> None:
        self._costs = costs
        self._failed: tuple[int, str] | None = None
        self._compiled = False

    @property
    def compile_seconds(self) -> float:
        """Seconds in which a kernel is compiled."""
        return self._costs.compile

    def why_not(self) -> str | None:
        """Return the reason, in words, why the GPU cannot be used."""
        if self._failed is not None and self._failed[0] == os.getpid():
            return self._failed[1]
        return why_no_gpu()

    def is_open(self) -> bool:
        """Whether this process has the GPU open."""
        return _opened() is not None

    def seconds(self, work: HostWork | None, graph: Graph, *, new: bool = False) -> float:
        """Return the expected seconds of a call."""
        state, speed = self._state(graph)
        search = 0.0 if work is None else self._costs.search(work, speed)
        first_look = self._costs.first_look(work) if new else 0.0
        return self._costs.ready(state, len(graph.forward.neighbors)) + first_look + search

    def stays_on_host(self, graph: Graph, gpu_memory: int | None) -> bool:
        """Whether half of the arcs, the least of unlabelled searches, do not fit; False if unknown.

        Copies of other graphs that no search reads leave room for them.
        """
        if (accelerator := _opened()) is None:
            return False
        from motiflux.gpu.runtime.device_cache import droppable
        from motiflux.gpu.storage.device_csr import is_resident

        device = accelerator.device
        room = device.free_memory() + droppable(device) if gpu_memory is None else gpu_memory
        return 2 * len(graph.forward.neighbors) > room and not is_resident(graph, device)

    def sampling_seconds(self, seconds: float, graph: Graph, nbytes: int) -> tuple[float, float]:
        """Return the expected seconds until the GPU can draw samples, and the seconds of drawing."""
        state, speed = self._state(graph)
        arcs = 0 if nbytes else len(graph.forward.neighbors)
        return self._costs.ready(state, arcs), self._costs.sampling(seconds, nbytes, speed)

    def _state(self, graph: Graph) -> tuple[GpuState, float]:
        """Return the state of the GPU and its speed (0 if it is not open)."""
        accelerator = _opened()
        self._compiled = self._compiled or _compiled_before()
        if accelerator is None:
            return GpuState(opened=False, compiled=self._compiled, resident=False), 0.0
        from motiflux.gpu.storage.device_csr import is_resident

        device = accelerator.device
        compiled = self._compiled or accelerator.has_kernels
        state = GpuState(opened=True, compiled=compiled, resident=is_resident(graph, device))
        return state, getattr(device, "speed", 0.0)

    def open(self) -> str:
        """Open the GPU and return its name; raises `DeviceError`."""
        from motiflux.gpu.runtime.accelerator import open_accelerator

        with self._opening():
            open_accelerator(DEVICE)
        return DEVICE

    def engine(self) -> Engine:
        """Return the open engine."""
        from motiflux.gpu.outofcore.fitting import open_engine

        with self._opening():
            return open_engine([DEVICE])

    def sampler(self, graph: Graph, plan: Plan, request: Request, candidates: _native.SampleGraph) -> Sampler:
        """Return the sampler of `candidates` on the GPU; raise `DeviceError` if that cannot be opened."""
        from motiflux.gpu.kernels.sampler import DeviceSampler
        from motiflux.gpu.runtime.accelerator import open_accelerator

        with self._opening():
            open_accelerator(DEVICE)
        return DeviceSampler(graph, plan, replace(request, device=DEVICE), candidates)

    @contextmanager
    def _opening(self) -> Iterator[None]:
        """Store the reason if the GPU cannot be opened."""
        try:
            yield
        except DeviceError as error:
            self._failed = os.getpid(), f"the GPU cannot be used: {error}"
            raise


def _opened() -> Accelerator | None:
    """Return the GPU if this process has it open.

    Imports no GPU modules, which a search on the CPU does not need. Another thread may be importing them.
    """
    module = sys.modules.get("motiflux.gpu.runtime.accelerator")
    known = getattr(module, "known_accelerator", None)
    return None if known is None else known(DEVICE)


def _compiled_before() -> bool:
    """Whether there are compiled kernels: of an earlier process, or in the package."""
    from motiflux.jit.archives import has_archives
    from motiflux.jit.cache import KernelCache

    if has_archives():
        return True
    folder = KernelCache.from_environment().folder
    return folder is not None and any(folder.glob("*.kernel"))
