"""A GPU that is made up, for tests of where ``device="auto"`` draws samples."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import motiflux as mf
from motiflux.plan import Plan
from motiflux.request.request import Request
from motiflux.request.sampler import Sampler
from motiflux.result.sample_groups import Groups
from motiflux.sampling.cpu_sampler import CpuSampler


class FakeSampler(CpuSampler):
    """The CPU under another name, which may fail after so many draws."""

    device = "fake"
    least_piece = 256

    def __init__(self, graph: mf.Graph, plan: Plan, request: Request, fails: list[Exception | None]) -> None:
        super().__init__(graph, plan, request)
        self.fails = fails
        self.drawn: list[tuple[int, int]] = []
        self.closed = False

    def draw(self, estimator: Any, seed: int, first: int, count: int, timeout: float | None = None) -> Groups:
        error = self.fails.pop(0) if self.fails else None
        if error is not None:
            raise error
        self.drawn.append((first, count))
        return super().draw(estimator, seed, first, count, timeout)

    def close(self) -> None:
        self.closed = True


@dataclass
class FakeGpu:
    """A GPU that takes so many seconds until it is ready, and a share of what a thread takes."""

    ready: float = 0.0
    share: float = 0.0
    absent: str | None = None
    error: Exception | None = None
    fails: list[Exception | None] = field(default_factory=list)
    made: list[Sampler] = field(default_factory=list)
    asked: list[float] = field(default_factory=list)

    def why_not(self) -> str | None:
        return self.absent

    def sampling_seconds(self, seconds: float, graph: mf.Graph, nbytes: int) -> tuple[float, float]:
        self.asked.append(seconds)
        return self.ready, self.share * seconds

    def sampler(self, graph: mf.Graph, plan: Plan, request: Request, candidates: Any) -> Sampler:
        if self.error is not None:
            raise self.error
        self.made.append(FakeSampler(graph, plan, request, self.fails))
        self.made[-1].candidates = candidates
        return self.made[-1]
