"""``engine="outofcore"``: updates matched on a GPU over rows that stay in memory of the host (GCSM)."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.codegen.changing import cache_source
from motiflux.device import Stream
from motiflux.gpu.changing.engine import ChangingEngine
from motiflux.gpu.changing.manner import Preset
from motiflux.gpu.changing.rows import Rows
from motiflux.gpu.outofcore.cache import NOTHING, RowCache, Wanted
from motiflux.gpu.outofcore.host_rows import HostRows
from motiflux.gpu.outofcore.policies import Coming, policy_of
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.jit import Source
from motiflux.units import bytes_text, grouped

_SHARE_OF_MEMORY = 0.5
"""Share of the memory that is free at first which the cache takes at most: searches need some, too."""

_NO_EFFECT = {"container": "slack", "bitmaps": "off"}
"""Switches of rows in memory of the device: bitmaps would read all long rows of the host."""

OUT_OF_CORE = Preset("outofcore", "active")


class OutOfCoreEngine(ChangingEngine):
    """Matches the runs of a native monitor on one device, with the rows in memory of the host.

    Before each run the rows that it will open most often are copied to the device; others are read from the
    host while it is searched. Touched rows are merged on the device, so they are there, too.

    Parameters
    ----------
    accelerator, gpu_memory, tuning, preset
        As `ChangingEngine` has them; ``cache`` chooses the rows that are copied.

    Attributes
    ----------
    spent
        As `ChangingEngine` has it. Of ``write_seconds``, choosing rows took ``choose_seconds`` and copying
        them ``copy_seconds``.
    """

    def __init__(
        self,
        accelerator: Accelerator,
        gpu_memory: int | None,
        tuning: Mapping[str, str],
        preset: Preset = OUT_OF_CORE,
    ) -> None:
        super().__init__(accelerator, gpu_memory, {**tuning, **_NO_EFFECT}, preset)
        self._policy_name = tuning["cache"]
        self._policy = policy_of(tuning)
        self.cache = RowCache(
            accelerator,
            gpu_memory,
            _SHARE_OF_MEMORY,
            carries=tuning["carry"] == "on",
            copies_there=tuning["cache_copies"] == "device",
        )
        self._wanted: Wanted = NOTHING
        self._touched: NDArray[np.uint32] = NOTHING.vertices
        self._threads = 1
        self._spent = {"choose_seconds": 0.0, "copy_seconds": 0.0}

    def begin(self, native: _native.Monitor, threads: int) -> None:
        """Bring rows and plans up to date, as `ChangingEngine` does."""
        self._threads = threads
        super().begin(native, threads)

    def measured(self) -> Mapping[str, float]:
        """Return the figures of the last run: what was copied, and what the search measures."""
        brought = {f"cache_{name}": float(number) for name, number in asdict(self.cache.brought).items()}
        return {**super().measured(), **brought}

    def describe(self) -> str:
        """Return how updates are searched, where rows are, and what the last run copied."""
        last = self.cache.brought
        rows = (
            f"rows in pinned memory of the host; cache={self._policy_name}: the last run wanted"
            f" {grouped(last.wanted)} rows, kept {grouped(last.kept)} and copied {grouped(last.copied)}"
            f" ({bytes_text(last.nbytes)})"
        )
        return f"{super().describe()}\n{rows}"

    def _writers(self) -> list[Source]:
        return [*super()._writers(), cache_source()]

    def _new_rows(self, way: int, *, directed: bool) -> Rows:
        return HostRows(self._accelerator, self._budget, way=way, directed=directed)

    def foresee(self, run: _native.Run) -> Wanted:
        """Return the rows that a whole run is expected to open."""
        return self._wanted_of(run, self._kinds(), np.unique(run.ends[:, 0]))

    def _kinds(self) -> list[HostRows]:
        """Return the rows of the names of plans, in their order."""
        assert self._table is not None, "begin() comes first"
        return [one for one in (self._rows[name] for name in self._table.names) if isinstance(one, HostRows)]

    def _wanted_of(self, run: _native.Run, kinds: Sequence[HostRows], touched: NDArray[np.uint32]) -> Wanted:
        assert self._native is not None, "begin() comes first"
        assert self._table is not None
        room = self.cache.room if self.cache.is_open else sys.maxsize
        return self._policy.wanted(
            Coming(self._native, run, self._table, kinds, touched, room, self._threads)
        )

    def _choose_rows(self, stream: Stream, run: _native.Run) -> None:
        """Choose the rows to copy, and drop the copies of rows that the run touches."""
        begun = time.perf_counter()
        kinds, self._touched = self._kinds(), np.unique(run.ends[:, 0])
        self.cache.open(stream, kinds)
        foreseen = self._foreseen
        if isinstance(foreseen, Wanted):
            self._wanted = foreseen
        else:
            self._wanted = self._wanted_of(run, kinds, self._touched)
        self.cache.leave(stream, self._touched)
        self._spent["choose_seconds"] = time.perf_counter() - begun

    def _bring_rows(self, stream: Stream) -> None:
        """Copy the rows that were chosen."""
        begun = time.perf_counter()
        self.cache.bring(stream, self._wanted, self._touched, self._threads)
        self._spent["copy_seconds"] = time.perf_counter() - begun
        self._wanted = NOTHING

    def _forget(self) -> None:
        super()._forget()
        self.cache.release()

    def _sent(self) -> None:
        super()._sent()
        self.cache.sent()
        self.spent.update(self._spent)
