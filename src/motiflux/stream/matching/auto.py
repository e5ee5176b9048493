"""``device="auto"``: a GPU matches the calls for which it is expected to be faster, the CPU all others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from motiflux import log
from motiflux.dispatch.choose import GPU
from motiflux.stream.matching.break_even import H200, LEAST_UPDATES, Choice, Facts, decide, expected, work_of
from motiflux.stream.matching.engine import UpdateEngine, open_engine

_ALWAYS = "expected"
_MEASURED_FROM = 1024
"""Updates of a call on the CPU from which its time tells how long searches take."""


class Gpu(Protocol):
    """A GPU that is opened when it is first needed, which takes time and may fail."""

    def why_not(self) -> str | None:
        """Return the reason, in words, why it cannot be used; None if none is known."""

    def is_open(self) -> bool:
        """Whether this process has it open."""

    def open(self) -> str:
        """Open it and return its name; raises `DeviceError`."""


class AutoMatching:
    """Chooses the engine of each call of one monitor.

    Parameters
    ----------
    gpu_memory
        Maximum number of bytes on the GPU.
    switches
        The tuning.
    threads
        Threads of the CPU.
    """

    def __init__(self, gpu_memory: int | None, switches: Mapping[str, str], threads: int) -> None:
        self._gpu: Gpu = GPU
        self._gpu_memory, self._threads = gpu_memory, threads
        least = switches["auto_updates"]
        self._least = None if least == _ALWAYS else int(least)
        self._engine: UpdateEngine | None = None
        self._failed: str | None = None
        self._work: float | None = None
        self._lost = 0.0
        self._facts: Facts | None = None
        self._on_gpu = False
        self.why = self._gpu.why_not() or "no updates were applied yet"

    @property
    def least(self) -> int:
        """Updates of a call below which the CPU matches it, unless the GPU matched the call before."""
        return LEAST_UPDATES if self._least is None else self._least

    def forget_work(self) -> None:
        """Forget how long searches take: there are other patterns."""
        self._work = None

    def choose(
        self, updates: int, *, row_cost: float, arcs: int, vertices: int, lists: bool
    ) -> Choice | None:
        """Return the choice for a call; None if there is no GPU.

        Parameters
        ----------
        row_cost
            Candidates that the plans are expected to visit, for each vertex of the row they begin with.
        arcs, vertices
            Of the graph.
        lists
            Whether matches are listed.
        """
        self._facts = None
        why_not = self._failed or self._gpu.why_not()
        if why_not is not None:
            self.why = why_not
            return None
        planned = row_cost * arcs / max(1, vertices) * H200.candidate
        facts = Facts(
            updates,
            planned if self._work is None else self._work,
            self._threads,
            arcs,
            lists,
            self._on_gpu,
            self._gpu.is_open(),
            self._lost,
            self._least,
        )
        self._facts, choice = facts, decide(facts, H200)
        self.why = choice.why
        return choice

    def engine(self) -> UpdateEngine:
        """Return the engine on the GPU, which is opened if it is not; raises `DeviceError`."""
        if self._engine is None:
            self._engine = open_engine([self._gpu.open()], gpu_memory=self._gpu_memory)
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
            self._on_gpu, self._lost = on_gpu, 0.0

    def give_up(self, error: Exception) -> None:
        """Leave all further calls to the CPU."""
        self._failed = self.why = f"the GPU cannot do it: {str(error).partition(chr(10))[0]}"
        log.ENGINE.info("the CPU takes over: %s", self.why)
        self.close()

    def note(self, updates: int, seconds: float) -> None:
        """Take note of the time of a call that was chosen for."""
        facts = self._facts
        if facts is None:
            return
        if not self._on_gpu and updates >= _MEASURED_FROM:
            self._work = work_of(updates, seconds, self._threads, H200)
            facts = replace(facts, work=self._work)
        if self._on_gpu or updates >= self.least:
            other = expected(facts, H200)[0 if self._on_gpu else 1]
            self._lost = max(0.0, self._lost + seconds - other)

    def close(self) -> None:
        """Free the memory on the GPU."""
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()
