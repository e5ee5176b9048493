"""Sampling on a GPU."""

from __future__ import annotations

from motiflux.cpu.sampling import Groups, sample_graph
from motiflux.engine.base import Request
from motiflux.errors import DeviceError
from motiflux.graph import Graph
from motiflux.plan import Plan


class DeviceSampler:
    """Draws on a device."""

    device = "cuda"

    def __init__(self, graph: Graph, plan: Plan, request: Request) -> None:
        self.candidates = sample_graph(graph, plan, request.threads)
        raise DeviceError(f"device={request.device!r}: no kernel samples yet; use device='cpu'")

    def draw(self, estimator: str, seed: int, first: int, count: int, timeout: float | None = None) -> Groups:
        """Return groups; see `motiflux.engine.sampler.Sampler`."""
        raise NotImplementedError

    def close(self) -> None:
        """Give back what it holds."""
