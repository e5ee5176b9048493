"""``device="auto"`` for samples: drawn on the CPU first, on the GPU once the rest is expected sooner there.

A group of samples is the same on every device, so the device is chosen by time alone, before each draw. The
CPU's time is extrapolated from its draws; the GPU takes a small share of it, and the time to open it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from motiflux import _native
from motiflux.graph import Graph
from motiflux.plan import Plan
from motiflux.request.costs import seconds_alone
from motiflux.request.engine import CANNOT
from motiflux.request.policy import SamplingPolicy
from motiflux.request.request import Request
from motiflux.request.sampler import Sampler
from motiflux.result.sample_groups import Groups, joined
from motiflux.sampling.cpu_sampler import CpuSampler
from motiflux.statistics import GROUP
from motiflux.units import quantity, seconds_text

_TRIAL = 8
"""Groups in the first, timed draw on the CPU."""
_TIME_TO_OPEN = 0.5
"""Maximum share of the remaining time for opening a GPU."""


class SamplingGpu(Protocol):
    """A GPU that draws samples. It is opened when it is first needed, which takes time and may fail."""

    def why_not(self) -> str | None:
        """Return the reason why it cannot be used, as text, or None if none is known. It takes no time."""

    def sampling_seconds(self, seconds: float, graph: Graph, nbytes: int) -> tuple[float, float]:
        """Return the seconds until it can draw, and the seconds to draw the samples.

        Parameters
        ----------
        seconds
            Time that one CPU thread takes for the samples.
        nbytes
            Size of the candidate graph; 0 if rows of the data graph are sampled.
        """

    def sampler(self, graph: Graph, plan: Plan, request: Request, candidates: _native.SampleGraph) -> Sampler:
        """Return a sampler over `candidates`; `DeviceError` if the GPU cannot be opened."""


@dataclass
class _Pace:
    """Groups of one estimator that the CPU drew, and their time."""

    groups: int = 0
    seconds: float = 0.0

    @property
    def of_group(self) -> float:
        return self.seconds / self.groups


class AutoSampler:
    """Draws on the device that is expected to finish first.

    Attributes
    ----------
    device
        Device of the last groups.
    reason
        Reason for this device, as text.
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
        """Minimum number of groups of a draw on the current device."""
        return (self._there or self._host).least_piece

    def expect(self, groups: int) -> None:
        """Set the number of groups that are expected to be drawn from now on."""
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
        assert isinstance(estimator, str)  # policies of the user need a named device
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
            if part is None:  # the GPU failed: the CPU draws it
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
        """Return groups from the current device; None if the GPU failed."""
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
        """Switch to the GPU if it is expected to draw `groups` groups sooner."""
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
        """Draw on the CPU from now on, after an error of the GPU."""
        if self._there is not None:
            self._there.close()
        self._there, self._refused = None, True
        self.device = self._host.device
        self.reason = f"the GPU cannot do it: {str(error).partition(chr(10))[0]}"

    def close(self) -> None:
        """Release the GPU."""
        if self._there is not None:
            self._there.close()
