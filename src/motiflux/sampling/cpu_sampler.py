"""Samples drawn on CPU threads."""

from __future__ import annotations

from motiflux.cpu.sampling import draw_groups, sample_graph
from motiflux.graph import Graph
from motiflux.plan import Plan
from motiflux.request.policy import SamplingPolicy
from motiflux.request.request import Request
from motiflux.request.sampler import inheritance_of, reason_asked
from motiflux.result.sample_groups import Groups


class CpuSampler:
    """Draws samples on CPU threads."""

    device = "cpu"
    least_piece = 64

    def __init__(
        self, graph: Graph, plan: Plan, request: Request, reason: str = "", deadline: float | None = None
    ) -> None:
        self.reason = reason or reason_asked("cpu")
        self.candidates = sample_graph(graph, plan, request.threads, deadline)
        self._threads = request.threads
        self._inheritance = inheritance_of(request)

    def expect(self, groups: int) -> None:
        """Do nothing: there is no choice."""

    def draw(
        self,
        estimator: str | SamplingPolicy,
        seed: int,
        first: int,
        count: int,
        timeout: float | None = None,
    ) -> Groups:
        """Return groups; see `Sampler`. Policies of the user run on devices only."""
        assert isinstance(estimator, str)
        if estimator == "tree":
            self.candidates.grow_tree()
        return draw_groups(
            self.candidates,
            estimator=estimator,
            inheritance=self._inheritance,
            seed=seed,
            first=first,
            count=count,
            threads=self._threads,
            timeout=timeout,
        )

    def close(self) -> None:
        """Do nothing."""
