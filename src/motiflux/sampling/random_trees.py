"""Trees drawn at random, and those that are embeddings: here, or those that a device says are some."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.errors import MotifluxWarning
from motiflux.graph import Graph
from motiflux.plan import Plan
from motiflux.request.costs import seconds_alone
from motiflux.request.engine import CANNOT
from motiflux.request.request import Request
from motiflux.request.sampler import Sampler, reason_asked
from motiflux.result.sample_groups import Groups
from motiflux.statistics import GROUP
from motiflux.types import VertexArray
from motiflux.units import seconds_text

_TRIAL = 1 << 12
"""Trees that are timed on the CPU before a GPU is thought of."""
_CALL = 80e-6
"""Seconds that a group takes to be drawn by itself, beyond its trees."""
_UNSEEN = 1 << 20
"""Trees that may be drawn if none of the first is an embedding."""


class Trees:
    """Trees of one plan, numbered; a tree is the same wherever it is drawn.

    A device draws groups of 32 and tells how many of each are embeddings. Those of groups that have any are
    drawn again here: where hardly one is, that is little.

    Attributes
    ----------
    device, reason
        Where they are drawn, and why there, in words.
    """

    def __init__(
        self, graph: Graph, plan: Plan, request: Request, candidates: _native.SampleGraph, seed: int
    ) -> None:
        # Trees are drawn one by one, and none goes on with another.
        alone = {**request.tuning, "inheritance": "off", "sync": "sample"}
        self._graph, self._plan, self._request = graph, plan, replace(request, tuning=alone)
        self._candidates = candidates
        self._seed = seed
        self._sieve: Sampler | None = None
        self.device, self.reason = "cpu", reason_asked("cpu")

    @property
    def least_piece(self) -> int:
        """Groups that are worth a draw."""
        return 1 if self._sieve is None else self._sieve.least_piece

    def choose(self, rows: int, timeout: float | None) -> None:
        """Choose where to draw so many embeddings, in the time that is left.

        Raises
        ------
        DeviceError
            The device asked for is not here.
        """
        device = self._request.device
        if device == "auto":
            self._choose(rows, timeout)
        elif device != "cpu":
            # Imported here: the CPU needs nothing of this.
            from motiflux.gpu.kernels.sampler import DeviceSampler

            self._sieve = DeviceSampler(self._graph, self._plan, self._request, self._candidates)
            self.device, self.reason = device, self._sieve.reason

    def _choose(self, rows: int, timeout: float | None) -> None:
        from motiflux.dispatch.choose import GPU

        if (why_not := GPU.why_not()) is not None:
            self.reason = why_not
            return
        start = time.perf_counter()
        found, drawn = self._draw_here(0, _TRIAL, timeout)
        seconds = (time.perf_counter() - start) / max(1, drawn)
        trees = rows * drawn / len(found) if len(found) else _UNSEEN
        here, again = trees * seconds, rows * (_CALL + GROUP * seconds)
        nbytes = 0 if self._plan.space is None else self._candidates.tree_bytes
        alone = seconds_alone(here, self._request.threads)
        ready, there = GPU.sampling_seconds(alone, self._graph, nbytes)
        expected, on_host = seconds_text(ready + there + again), seconds_text(here)
        if ready + there + again >= here or (timeout is not None and 2 * ready >= timeout):
            self.reason = f"about {on_host} expected, {expected} on the GPU"
            return
        try:
            self._sieve = GPU.sampler(self._graph, self._plan, self._request, self._candidates)
        except CANNOT as error:
            self.reason = _refused(error)
            return
        self.device = self._sieve.device
        self.reason = f"about {expected} expected, {on_host} on the CPU"

    def draw(self, first: int, count: int, rows: int, timeout: float | None) -> tuple[VertexArray, int]:
        """Return the embeddings among trees ``first .. first + count - 1``, whole groups, by level.

        And of how many trees they are: of fewer where time was up before, or there are `rows` of them.
        """
        end = None if timeout is None else time.perf_counter() + timeout
        if self._sieve is not None:
            try:
                groups = self._sieve.draw("tree", self._seed, first // GROUP, count // GROUP, timeout)
                return self._draw_living(groups, first, rows, end)
            except CANNOT as error:
                if self._request.device != "auto":
                    raise
                self._leave(error)
        return self._draw_here(first, count, _left(end))

    def _draw_living(
        self, groups: Groups, first: int, rows: int, end: float | None
    ) -> tuple[VertexArray, int]:
        parts = [np.empty((0, len(self._plan.order)), np.uint32)]
        for begin, behind in _runs(np.flatnonzero(groups.valid)):
            found, drawn = self._draw_here(first + GROUP * begin, GROUP * (behind - begin), _left(end))
            parts.append(found)
            rows -= len(found)
            if rows <= 0 or drawn < GROUP * (behind - begin):
                return np.concatenate(parts), GROUP * begin + drawn
        return np.concatenate(parts), GROUP * len(groups.valid)

    def _draw_here(self, first: int, count: int, timeout: float | None) -> tuple[VertexArray, int]:
        threads = self._request.threads
        return _native.draw_embeddings(self._candidates, self._seed, first, count, threads, timeout)

    def _leave(self, error: Exception) -> None:
        self.close()
        self._sieve = None
        self.device, self.reason = "cpu", _refused(error)
        warnings.warn(f"{self.reason}; the CPU goes on", MotifluxWarning, stacklevel=2)

    def close(self) -> None:
        """Give back what the device holds."""
        if self._sieve is not None:
            self._sieve.close()


def _runs(numbers: NDArray[np.intp]) -> Iterator[tuple[int, int]]:
    """Give ascending numbers as ranges without gaps."""
    starts = np.flatnonzero(np.diff(numbers, prepend=-2) > 1)
    for begin, end in pairwise([*starts.tolist(), len(numbers)]):
        yield int(numbers[begin]), int(numbers[end - 1]) + 1


def _left(end: float | None) -> float | None:
    return None if end is None else max(0.0, end - time.perf_counter())


def _refused(error: Exception) -> str:
    return f"the GPU cannot do it: {str(error).partition(chr(10))[0]}"
