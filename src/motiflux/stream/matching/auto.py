"""``device="auto"``: a GPU matches the calls for which it is expected to be faster, the CPU all others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol

from motiflux import log
from motiflux.dispatch.choose import GPU
from motiflux.request.engine import Ran
from motiflux.stream.matching.break_even import (
    H200,
    LEAST_SECONDS,
    LEAST_UPDATES,
    Choice,
    Facts,
    decide,
    expected,
    price,
    work_of,
)
from motiflux.stream.matching.engine import HOST, UpdateEngine, open_engine

_ALWAYS = "expected"
_AS_EXPECTED = (1.0, 1.0)
"""Times of the last two calls on the GPU over what the model says; one may be long for other reasons."""
_FORGETTING = 0.97
"""Each large call on the CPU takes them so much nearer to 1."""
_STRIKES = 2
"""So many calls of few updates in a row that take longer on the GPU end its use for such calls."""


class Gpu(Protocol):
    """A GPU that is opened when it is first needed, which takes time and may fail."""

    def why_not(self) -> str | None:
        """Return the reason, in words, why it cannot be used; None if none is known."""

    def is_open(self) -> bool:
        """Whether this process has it open."""

    def open(self) -> str:
        """Open it and return its name; raises `DeviceError`."""


def auto_matching(gpu_memory: int | None, switches: Mapping[str, str], threads: int) -> AutoMatching | str:
    """Return what chooses the engine of each call, or the reason why there is no choice."""
    return GPU.why_not() or AutoMatching(GPU, gpu_memory, switches, threads)


class AutoMatching:
    """Chooses the engine of each call of one monitor.

    Parameters
    ----------
    gpu, gpu_memory
        The GPU, and the maximum number of bytes on it.
    switches
        The tuning.
    threads
        Threads of the CPU.
    """

    def __init__(self, gpu: Gpu, gpu_memory: int | None, switches: Mapping[str, str], threads: int) -> None:
        self._gpu: Gpu = gpu
        self._gpu_memory, self._threads, self._switches = gpu_memory, threads, switches
        least = switches["auto_updates"]
        self._least = None if least == _ALWAYS else int(least)
        self._engine: UpdateEngine | None = None
        self._work: float | None = None
        self._planned: float | None = None
        self._lost = 0.0
        self._gpu_ratios = _AS_EXPECTED
        self._facts: Facts | None = None
        self._on_gpu = False
        self._seen = self._barred = self._came_with_few = False
        self._strikes = 0
        self._first_long: float | None = None
        self.why = ""
        """The reason for the last choice, in words."""
        self.small = Ran(HOST, HOST, f"the call has fewer than {self.least:,} updates")
        """What matches calls of fewer than `least` updates, unless the GPU matched the call before."""
        self.failed: Ran | None = None
        """What matches all calls since the GPU failed."""

    @property
    def least(self) -> int:
        """Updates of a call from which on it may be brought to the GPU."""
        return LEAST_UPDATES if self._least is None else self._least

    def leaves_to_cpu(self, updates: int) -> bool:
        """Whether the CPU matches a call of so many updates, unless the GPU matched the call before."""
        return updates < self.least and not self._seen

    def forget_work(self) -> None:
        """Forget how long searches take: there are other patterns."""
        self._work = self._planned = None
        self._gpu_ratios = _AS_EXPECTED
        self._seen = self._barred = False
        self._first_long = None

    def choose(
        self, updates: int, *, row_cost: float, typical_row: Callable[[], float], arcs: int, lists: bool
    ) -> Choice:
        """Return the choice for a call.

        Parameters
        ----------
        row_cost
            Candidates that the plans are expected to visit, for each vertex of the row they begin with.
        typical_row
            Called for the size of the row that an edge is in, on average, if that matters.
        arcs
            Of the graph.
        lists
            Whether matches are listed.
        """
        if self._planned is None and self._work is None and updates >= self.least:
            self._planned = row_cost * typical_row() * H200.candidate
        work = self._planned if self._work is None else self._work
        facts = Facts(
            updates,
            work or 0.0,
            self._threads,
            arcs,
            lists,
            self._on_gpu,
            self._gpu.is_open(),
            self._lost,
            self._least,
            self._seen,
            measured=self._work is not None,
            gpu_scale=min(self._gpu_ratios),
        )
        self._facts, choice = facts, decide(facts, H200)
        if self._barred and choice.on_gpu and updates < LEAST_UPDATES:
            why = "the GPU took longer for calls of few updates"
            choice = Choice(False, choice.host, choice.gpu, why)
        self.why = choice.why
        return choice

    def engine(self) -> UpdateEngine:
        """Return the engine on the GPU, which is opened if it is not; raises `DeviceError`."""
        if self._engine is None:
            self._engine = open_engine([self._gpu.open()], gpu_memory=self._gpu_memory, tuning=self._switches)
        return self._engine

    def awaits_kernels(self, engine: UpdateEngine, choice: Choice) -> bool:
        """Whether the CPU is faster than the compilation of kernels, which begins in the background."""
        if self._least is not None or choice.host > H200.compile or engine.is_ready():
            return False
        self.why = "the GPU's kernels are being compiled"
        return True

    def use(self, *, on_gpu: bool) -> None:
        """Take note of the engine that matches from now on."""
        if on_gpu != self._on_gpu:
            self._on_gpu, self._lost, self._strikes = on_gpu, 0.0, 0
            few = self._facts is not None and self._facts.updates < LEAST_UPDATES
            self._came_with_few = few and self._least is None

    def give_up(self, error: Exception) -> None:
        """Leave all further calls to the CPU."""
        self.failed = Ran(HOST, HOST, f"the GPU cannot do it: {str(error).partition(chr(10))[0]}")
        log.ENGINE.info("the CPU takes over: %s", self.failed.why)
        self.close()

    def note(self, updates: int, seconds: float) -> None:
        """Take note of the time of a call."""
        facts, self._facts = self._facts, None
        is_long = self._is_long(facts, seconds)
        if not self._on_gpu and (updates >= self.least or is_long):
            self._learn(work_of(updates, seconds, self._threads, H200), few=updates < self.least)
        if facts is None:
            return
        if not self._on_gpu:
            facts = replace(facts, work=self._work or 0.0)
        if self._on_gpu and self._came_with_few:
            self._compare(facts, seconds)
        self._compare_with_model(replace(facts, gpu_scale=1.0), seconds)
        if self._on_gpu or updates >= self.least or is_long:
            other = expected(facts, H200)[0 if self._on_gpu else 1]
            self._lost = max(0.0, self._lost + seconds - other)

    def _compare_with_model(self, facts: Facts, seconds: float) -> None:
        """Take note of how long calls take on the GPU, beside what the model says."""
        if self._least is not None:
            return
        if self._on_gpu:
            ratio = seconds / (expected(facts, H200)[1] + price(facts, H200))
            self._gpu_ratios = (self._gpu_ratios[1], ratio)
        elif facts.updates >= LEAST_UPDATES:
            before, last = (max(min(one, 1.0), _FORGETTING * one) for one in self._gpu_ratios)
            self._gpu_ratios = (before, last)

    def _learn(self, work: float, *, few: bool) -> None:
        """Take the work of an update as a call tells it; the first of few may be long for other reasons."""
        if not few or self._seen:
            self._work = work
        elif self._first_long is None:
            self._first_long = work
        else:
            self._seen, self._work = True, min(work, self._first_long)

    def _is_long(self, facts: Facts | None, seconds: float) -> bool:
        """Whether a call that the CPU matched took long, or was expected to."""
        if self._on_gpu or self._barred or self._least is not None:
            return False
        host = expected(facts, H200)[0] if facts is not None and self._seen else 0.0
        return max(seconds, host) >= LEAST_SECONDS

    def _compare(self, facts: Facts, seconds: float) -> None:
        """Leave calls of few updates to the CPU if the GPU took longer, whatever is expected."""
        if facts.updates >= LEAST_UPDATES:
            return
        self._strikes = self._strikes + 1 if seconds > expected(facts, H200)[0] else 0
        if self._strikes >= _STRIKES:
            self._barred, self._seen = True, False

    def close(self) -> None:
        """Free the memory on the GPU."""
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()
