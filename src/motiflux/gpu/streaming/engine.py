"""``engine="streaming"``: a kernel that stays on the device answers the updates of a monitor one by one."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from motiflux import _native
from motiflux.config import resolve_tuning
from motiflux.errors import DeviceError
from motiflux.gpu.changing.answer import Found
from motiflux.gpu.changing.plans import PlanTable, table_of
from motiflux.gpu.runtime.accelerator import open_accelerator
from motiflux.gpu.runtime.process import check_process
from motiflux.gpu.streaming import ResidentStream, StreamSettings
from motiflux.gpu.streaming.native_updates import RunUpdates
from motiflux.units import grouped

_LEAST_SPARE, _SPARE_SHARE = 1024, 8
"""Vertices that rows are reserved for beyond those that there are: it takes long."""
_SPARED, _SHARE_SPARED = 4, 16
"""Multiprocessors that the kernel leaves to others, and of how many it leaves one at most."""
_SECONDS_OF_STAY = 1.0
"""The kernel ends for a moment so often: what others do in this process may wait for its end."""
_SECONDS_OF_WAIT = 1e-3
"""A wait for results ends so often, to look for Ctrl-C and the time limit."""


class StreamingEngine:
    """Has the updates of a native monitor answered by a resident kernel.

    The kernel has versions of the rows that plans read; the native monitor has the graph, judges which
    updates have an effect, and finds the searches of each. A call that fails stops the kernel: the next call
    loads the rows anew. Between calls the kernel is parked, so that the device is free for others, unless
    `hold` says that calls follow each other.

    Parameters
    ----------
    stream
        The kernel and its graph.
    device
        The name of the device.
    """

    name = "streaming"
    coalesces = False
    pools = False
    counts_tails = True
    overlaps_calls = False
    takes_turns = True
    feed_updates = 256

    def __init__(self, stream: ResidentStream, device: str) -> None:
        self.device = device
        self.stream = stream
        self._native: _native.Monitor | None = None
        self._table: PlanTable | None = None
        self._updates: RunUpdates | None = None
        self._versions: tuple[int, int] = (-1, -1)
        self._has_matched = self._is_held = self._is_in_turn = False
        self._started = 0.0
        self._process = os.getpid()
        # A kernel that nobody asks any more ends; also at the end of the process, which would wait for it.
        self._end = weakref.finalize(self, _close, stream, self._process)

    def check(self, plans: list[Any]) -> None:
        """Accept all plans."""

    def is_ready(self) -> bool:
        """Whether nothing is left to compile but with other plans; compiled in the background if not."""
        return self.stream.has_best_kernel

    def measured(self) -> Mapping[str, float]:
        """Return nothing: counters of the kernel are read while it is parked."""
        return {}

    def describe(self, positions: Mapping[int, int]) -> str:
        """Return how updates are answered, and where each stage of the kernel stands."""
        first = f"engine {self.name} on {self.device}: a kernel that stays there answers updates one by one"
        if self._native is None:
            return f"{first}\nit begins with the next call"
        slow = "" if self.is_ready() else "; a slower kernel serves until the one at full speed is compiled"
        return f"{first}{slow}\n{self.stream.where()}"

    def begin(self, native: _native.Monitor, threads: int) -> None:
        """Have the kernel run, with the plans and rows that there are now.

        Raises
        ------
        DeviceMemoryError
            The rows do not fit.
        """
        check_process(self.device, self._process)
        self._has_matched = False
        versions = (native.plans_version, native.lists_version)
        if self._native is not native or versions != self._versions:
            self._load(native, versions, threads)

    def hold(self, *, on: bool) -> None:
        """Have the kernel stay between calls from now on, or not."""
        self._is_held = on
        if not on and self._native is not None:
            self.stream.park()

    def _load(self, native: _native.Monitor, versions: tuple[int, int], threads: int) -> None:
        """Load plans and rows: rows have the edges that plans need; those of other plans may lack some."""
        self.outdate()
        native.prepare()
        self._table = table_of(native)
        self.stream.load(native, self._table, threads)
        self._updates = RunUpdates(native, self._table, threads)
        self._native, self._versions = native, versions

    def match(self, run: _native.Run, meanwhile: Callable[[], None] | None = None) -> Found | None:
        """Return the matches of a run; None if it was stopped.

        `meanwhile` is not called.
        """
        native, table, updates = self._native, self._table, self._updates
        assert native is not None, "begin() comes first"
        assert table is not None
        assert updates is not None
        self._has_matched = True
        self._disarm()
        if native.lists_version != self._versions[1]:
            self._bring_lists(native, table, updates)
        if native.num_vertices > self.stream.vertices:
            self.stream.reserve(native.num_vertices + max(_LEAST_SPARE, native.num_vertices // _SPARE_SHARE))
        if updates.has_new_classes:
            self.stream.accept_classes(native)
        updates.list(run, self.stream.kind)
        if not self.stream.is_running:
            self._started = time.monotonic()
            self.stream.start()
        if not self._answered(updates.listed, run.keep_going):
            return None
        if not self._is_held or time.monotonic() - self._started > _SECONDS_OF_STAY:
            self.stream.park()
        elif self._is_in_turn:
            self.stream.arm(updates.listed, native)
        return updates.answers()

    def begin_turn(self) -> _native.StreamUpdates | None:
        """Have runs matched without Python while the kernel runs and nothing else is needed."""
        if self._native is None or self._updates is None:
            return None
        self._is_in_turn = True
        if time.monotonic() - self._started > _SECONDS_OF_STAY:
            self.stream.park()
        elif self.stream.is_running:
            self.stream.arm(self._updates.listed, self._native)
        return self._updates.listed

    def end_turn(self) -> None:
        """Have all runs come to `match` again."""
        self._disarm()
        self._is_in_turn = False

    def _disarm(self) -> None:
        """Take note of the updates that were answered without Python."""
        if self._updates is not None:
            self.stream.disarm(self._updates.listed)

    def _bring_lists(self, native: _native.Monitor, table: PlanTable, updates: RunUpdates) -> None:
        """Have the kernel know new vertices whose ids a pattern names."""
        self.stream.park()
        self.stream.replace_plans(native, table, 1)
        updates.forget_kinds()
        self._versions = self._versions[0], native.lists_version

    def _answered(self, listed: _native.StreamUpdates, keeps_going: Callable[[], bool]) -> bool:
        """Have updates answered; False if `keeps_going` was False."""
        while not self.stream.exchange(listed, _SECONDS_OF_WAIT):
            if not keeps_going():
                return False
        return keeps_going()

    def outdate(self) -> None:
        """Stop the kernel: the host applies updates alone from now on."""
        if self._native is not None:
            self._native = self._table = self._updates = None
            self._versions = (-1, -1)
            self.stream.stop()

    def abandon(self) -> None:
        """Stop the kernel if a run was submitted since `begin`: the host's changes were undone."""
        if self._has_matched:
            self.outdate()

    def close(self) -> None:
        """Stop the kernel and free all memory."""
        self._native = self._table = self._updates = None
        self._end()


def _close(stream: ResidentStream, process: int) -> None:
    """Close a stream, unless this is the child of a fork: its kernel is not that of the child."""
    if os.getpid() == process:
        stream.close()


def open_update_engine(
    devices: Sequence[str], *, gpu_memory: int | None = None, tuning: Mapping[str, str] | None = None
) -> StreamingEngine:
    """Return the engine on one device, as `motiflux.gpu.changing.open_update_engine` does.

    Raises
    ------
    DeviceError
        There are several devices, or the device cannot be used.
    """
    if len(devices) > 1:
        found = f"{grouped(len(devices))}: {', '.join(devices)}"
        raise DeviceError(
            f"engine='streaming': expected one device, whose kernel has all edges, found {found}"
        )
    accelerator = open_accelerator(devices[0])
    switches = resolve_tuning(tuning)
    settings = StreamSettings(
        preset="paper" if switches["stream_batches"] == "paper" else "flush",
        updater_warps=int(switches["stream_updaters"]),
        spared=min(_SPARED, accelerator.device.multiprocessors // _SHARE_SPARED),
    )
    return StreamingEngine(ResidentStream(accelerator, gpu_memory, settings), accelerator.device.name)
