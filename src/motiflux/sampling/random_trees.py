"""Trees drawn at random, of which the embeddings are kept; a device can find the groups with embeddings."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.cpu.sampling import kinds_apart
from motiflux.errors import MotifluxWarning
from motiflux.graph import Graph
from motiflux.plan import Plan
from motiflux.request.costs import seconds_alone
from motiflux.request.engine import CANNOT
from motiflux.request.request import Request
from motiflux.request.sampler import Sampler, reason_asked
from motiflux.request.stand_in import StandIn
from motiflux.result.sample_groups import Groups
from motiflux.statistics import GROUP
from motiflux.types import VertexArray
from motiflux.units import seconds_text

_TRIAL = 1 << 12
"""Trees of the first, timed draw on the CPU."""
_CALL = 80e-6
"""Seconds of a draw of one group, without its trees."""
_UNSEEN = 1 << 20
"""Expected number of trees if none of the first is an embedding."""


class Trees:
    """Numbered trees of one plan; a tree is the same on every device.

    A device draws groups of 32 trees and returns the number of embeddings of each group. The CPU draws the
    groups with embeddings again, which takes little time if they are few.

    Attributes
    ----------
    device, reason
        Device that draws the trees, and the reason for it, as text.
    """

    def __init__(
        self, graph: Graph, plan: Plan, request: Request, candidates: _native.SampleGraph, seed: int
    ) -> None:
        # Each tree is drawn independently.
        alone = {**request.tuning, "inheritance": "off", "sync": "sample"}
        self._graph, self._plan, self._request = graph, plan, replace(request, tuning=alone)
        self._candidates = candidates
        self._seed = seed
        self._sieve: Sampler | None = None
        self.device, self.reason = "cpu", reason_asked("cpu")

    @property
    def least_piece(self) -> int:
        """Minimum number of groups of a draw."""
        return 1 if self._sieve is None else self._sieve.least_piece

    def choose(self, rows: int, timeout: float | None) -> None:
        """Choose the device for `rows` embeddings, within the remaining time.

        Raises
        ------
        DeviceError
            The device is not available.
        """
        device = self._request.device
        if self._request.elsewhere is not None:
            who: StandIn = self._request.elsewhere
            self.device, self.reason = who.draws_on()
            return
        if kinds_apart(self._plan):
            self.reason = "the CPU looks for negated edges with labels or conditions"
            return
        if device == "auto":
            self._choose(rows, timeout)
        elif device != "cpu":
            # Imported here: the CPU does not need this module.
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
        """Return the embeddings among trees ``first .. first + count - 1`` by level, and a number of trees.

        These are whole groups. The number of trees is smaller than `count` if the time was over, or once
        `rows` embeddings were found.
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
        if self._request.elsewhere is not None:
            who: StandIn = self._request.elsewhere
            given = (self._graph, self._plan, self._request, self._seed)
            return who.draw_embeddings(*given, first, count, timeout)
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
