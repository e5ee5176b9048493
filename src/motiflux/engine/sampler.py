"""What draws samples: the CPU here, a GPU where one is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from motiflux import _native
from motiflux.cpu.sampling import Groups, draw_groups, sample_graph
from motiflux.engine.base import Request
from motiflux.engine.sampling_policy import SamplingPolicy
from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.plan import Plan
from motiflux.plan.sampling import sampling_plan


def nothing() -> None:
    """Do nothing."""


class Sampler(Protocol):
    """Draws groups of 32 samples by one plan on one graph.

    A group is a function of the plan, the estimator, the switches ``inheritance`` and ``sync``, the seed and
    its number: every sampler gives the same for it, to the last bit.
    """

    device: str
    reason: str
    """Why there, in words."""
    candidates: _native.SampleGraph
    """What it samples, as this machine has it."""

    @property
    def least_piece(self) -> int:
        """Groups that are worth a draw, where more are wanted."""

    def expect(self, groups: int) -> None:
        """Hear how many groups are likely to be asked for from now on."""

    def draw(
        self,
        estimator: str | SamplingPolicy,
        seed: int,
        first: int,
        count: int,
        timeout: float | None = None,
        meanwhile: Callable[[], None] = nothing,
    ) -> Groups:
        """Return groups ``first .. first + count - 1``; fewer, from the first on, if time was up before.

        Parameters
        ----------
        meanwhile
            Called once, as soon as the first of them are being drawn, or before.

        Raises
        ------
        KeyboardInterrupt
            Within 100 ms of Ctrl-C.
        """

    def close(self) -> None:
        """Give back what it holds."""


class CpuSampler:
    """Draws on the threads of this machine."""

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
        meanwhile: Callable[[], None] = nothing,
    ) -> Groups:
        """Return groups; see `Sampler`. Policies of the user's are for devices."""
        assert isinstance(estimator, str)
        meanwhile()
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


def inheritance_of(request: Request) -> str:
    """Return how samples are inherited: lanes that go on at once, each with a new one, inherit none."""
    return "off" if request.tuning["sync"] == "iteration" else request.tuning["inheritance"]


def reason_asked(device: str) -> str:
    """Return in words why a device draws that was named."""
    return f"asked for by device={device!r}"


def plan_samples(graph: Graph, pattern: Pattern, request: Request, deadline: float | None) -> Plan:
    """Return the plan by which a request is sampled; raises what `sampling_plan` does."""
    return sampling_plan(
        graph,
        pattern,
        semantics=request.semantics,
        symmetry=request.symmetry,
        threads=request.threads,
        deadline=deadline,
        switches=request.tuning,
    )


def open_sampler(graph: Graph, plan: Plan, request: Request, deadline: float | None = None) -> Sampler:
    """Return what draws for `request`, by a plan that is not impossible.

    Raises
    ------
    DeviceError
        The device asked for is not here.
    TimeoutError
        `deadline`, a moment of `time.perf_counter`, passed while rows were narrowed.
    """
    if request.device == "cpu":
        return CpuSampler(graph, plan, request, deadline=deadline)
    # Imported here: sampling on the CPU needs nothing of this.
    if request.device == "auto":
        from motiflux.engine.auto_sampler import AutoSampler
        from motiflux.engine.dispatch import GPU

        why_not = GPU.why_not()
        return (
            AutoSampler(graph, plan, request, GPU, deadline=deadline)
            if why_not is None
            else CpuSampler(graph, plan, request, why_not, deadline)
        )
    from motiflux.engine.device_sampler import DeviceSampler

    return DeviceSampler(graph, plan, request, deadline=deadline)
