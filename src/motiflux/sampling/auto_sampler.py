"""``device="auto"`` for samples: drawn on the CPU first, on the GPU once the rest is sooner done there.

A group of samples is the same wherever it is drawn, so who draws the next ones is a question of time alone,
asked before each draw. What the CPU takes is known from what it drew; the GPU takes a small share of that,
and what has to come first.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from motiflux import _native
from motiflux.dispatch.race import CANNOT
from motiflux.graph import Graph
from motiflux.plan import Plan
from motiflux.request.costs import seconds_alone
from motiflux.request.policy import SamplingPolicy
from motiflux.request.request import Request
from motiflux.request.sampler import Sampler
from motiflux.result.sample_groups import Groups, joined
from motiflux.sampling.cpu_sampler import CpuSampler
from motiflux.statistics import GROUP
from motiflux.units import quantity, seconds_text

_TRIAL = 8
"""Groups that are timed on the CPU before it is given more."""
_TIME_TO_OPEN = 0.5
"""Share of the time that is left which opening a GPU may take."""


class SamplingGpu(Protocol):
    """The GPU as samples see it: opened when it is first needed, which takes a while, and may fail."""

    def why_not(self) -> str | None:
        """Return in words why it cannot be used; None where nothing is known against it. Costs nothing."""

    def sampling_seconds(self, seconds: float, graph: Graph, nbytes: int) -> tuple[float, float]:
        """Return the seconds until it can draw, and those that it draws what takes one thread `seconds`.

        `nbytes` is the size of the candidate graph; 0 where rows of the graph are sampled.
        """

    def sampler(self, graph: Graph, plan: Plan, request: Request, candidates: _native.SampleGraph) -> Sampler:
        """Return what draws samples of `candidates` there; `DeviceError` if it cannot be opened."""


@dataclass
class _Pace:
    """What the CPU drew of one estimator, and in which time."""

    groups: int = 0
    seconds: float = 0.0

    @property
    def of_group(self) -> float:
        return self.seconds / self.groups


class AutoSampler:
    """Draws where it is expected to be done first.

    Attributes
    ----------
    device
        Where the last groups were drawn.
    reason
        Why there, in words.
    """

    def __init__(
        self,
        graph: Graph,
        plan: Plan,
        request: Request,
        gpu: SamplingGpu,
        clock: Callable[[], float] = time.perf_counter,
        deadline: float | None = None,
    ) -> None:
        self._graph, self._plan, self._request, self._gpu = graph, plan, request, gpu
        self._clock = clock
        self._host: Sampler = CpuSampler(graph, plan, request, deadline=deadline)
        self._there: Sampler | None = None
        self._refused = False
        self._expected = 0
        self._drawn = 0
        self._paces: dict[str, _Pace] = {}
        self.candidates = self._host.candidates
        self.device = self._host.device
        self.reason = "few samples were drawn"

    @property
    def least_piece(self) -> int:
        """Groups that are worth a draw, where it draws now."""
        return (self._there or self._host).least_piece

    def expect(self, groups: int) -> None:
        """Hear how many groups are likely to be asked for from now on."""
        self._expected = groups

    def draw(
        self,
        estimator: str | SamplingPolicy,
        seed: int,
        first: int,
        count: int,
        timeout: float | None = None,
    ) -> Groups:
        """Return groups; see `Sampler`."""
        assert isinstance(estimator, str)  # policies of the user's are for a device that is named
        end = None if timeout is None else self._clock() + timeout
        parts: list[Groups] = []
        begun = 0
        while begun < count:
            left = None if end is None else max(0.0, end - self._clock())
            pace = self._paces.setdefault(estimator, _Pace())
            self._choose(pace, max(self._expected, count - begun), left)
            size = count - begun
            if self._there is None and pace.groups == 0:
                size = min(size, _TRIAL)
            part = self._drawn_by(pace, estimator, seed, first + begun, size, left)
            if part is None:  # not there: here
                continue
            parts.append(part)
            begun += len(part.weights)
            self._expected = max(0, self._expected - len(part.weights))
            if len(part.weights) < size:
                break
        self._drawn += begun
        return joined(parts)

    def _drawn_by(
        self, pace: _Pace, estimator: str, seed: int, first: int, count: int, left: float | None
    ) -> Groups | None:
        """Return groups of whoever draws now; None if it is the GPU and cannot."""
        if self._there is not None:
            try:
                return self._there.draw(estimator, seed, first, count, left)
            except CANNOT as error:
                self._leave(error)
                return None
        start = self._clock()
        found = self._host.draw(estimator, seed, first, count, left)
        pace.seconds += self._clock() - start
        pace.groups += len(found.weights)
        return found

    def _choose(self, pace: _Pace, groups: int, left: float | None) -> None:
        """Go to the GPU if so many groups are expected to be there sooner."""
        if self._there is not None or self._refused or pace.groups == 0:
            return
        if (why := self._gpu.why_not()) is not None:
            self.reason = why
            return
        here = pace.of_group * groups
        nbytes = 0 if self._plan.space is None else self.candidates.tree_bytes
        one_thread = seconds_alone(here, self._request.threads)
        ready, there = self._gpu.sampling_seconds(one_thread, self._graph, nbytes)
        expected, on_host = seconds_text(ready + there), seconds_text(here)
        if ready + there >= here or (left is not None and ready >= _TIME_TO_OPEN * left):
            self.reason = f"about {on_host} expected, {expected} on the GPU"
            return
        try:
            self._there = self._gpu.sampler(self._graph, self._plan, self._request, self.candidates)
        except CANNOT as error:
            self._leave(error)
            return
        self.device = self._there.device
        begun = f", after {quantity(GROUP * self._drawn, 'sample')} there" if self._drawn else ""
        self.reason = f"about {expected} expected, {on_host} on the CPU{begun}"

    def _leave(self, error: Exception) -> None:
        """Draw here from now on: the GPU cannot."""
        if self._there is not None:
            self._there.close()
        self._there, self._refused = None, True
        self.device = self._host.device
        self.reason = f"the GPU cannot do it: {str(error).partition(chr(10))[0]}"

    def close(self) -> None:
        """Give back what it holds."""
        if self._there is not None:
            self._there.close()
