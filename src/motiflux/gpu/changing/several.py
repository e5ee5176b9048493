"""Several devices of one host that match the updates of one monitor.

Each device has the rows and writes every run into them. The roots of a run are shared out; totals are added,
and rows are put in the order of their roots.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.config import resolve_tuning
from motiflux.errors import MotifluxError
from motiflux.gpu.changing.answer import Found
from motiflux.gpu.changing.engine import ChangingEngine
from motiflux.gpu.changing.manner import CHANGING, Measured, Preset
from motiflux.gpu.runtime.accelerator import open_accelerator

_SECONDS_BETWEEN_LOOKS = 1e-3


class SeveralDevices:
    """Matches the runs of a native monitor on several devices, each on a thread of the host of its own.

    If one device fails, the call fails: no device's rows are used any more (`abandon`).

    Parameters
    ----------
    engines
        An engine on each device.
    """

    counts_tails = ChangingEngine.counts_tails
    takes_turns = False
    feed_updates = ChangingEngine.feed_updates
    overlaps_calls = False
    """The threads of other devices may look at the native monitor whenever one device searches."""

    def __init__(self, engines: Sequence[ChangingEngine]) -> None:
        self._engines = tuple(engines)
        self.name = engines[0].name
        self.coalesces = all(engine.coalesces for engine in engines)
        self.pools = any(engine.pools for engine in engines)
        self._threads = ThreadPoolExecutor(len(engines), "motiflux-device")
        self.device = ", ".join(engine.device for engine in engines)

    def check(self, plans: list[Any]) -> None:
        """Accept all plans."""

    def begin(self, native: _native.Monitor, threads: int) -> None:
        """Bring the copies on all devices up to date, one after another.

        Raises
        ------
        DeviceMemoryError
            The rows do not fit on one of them.
        """
        for engine in self._engines:
            with _named(engine):
                engine.begin(native, threads)

    def measured(self) -> Mapping[str, float]:
        """Return the figures of all devices together, as one engine does."""
        total, copied = Measured(), Counter[str]()
        for engine in self._engines:
            copied.update(engine.copied())
            if engine.search.measured is not None:
                total.add(engine.search.measured)
        searched = {} if self._engines[0].search.measured is None else total.figures()
        return {**searched, **copied}

    def describe(self, positions: Mapping[int, int]) -> str:
        """Return how updates are searched, device by device."""
        return "\n".join(engine.describe(positions) for engine in self._engines)

    def is_ready(self) -> bool:
        """Whether the kernels that count are compiled; compiled in the background if not."""
        return all(engine.is_ready() for engine in self._engines)

    def match(self, run: _native.Run, meanwhile: Callable[[], None] | None = None) -> Found | None:
        """Return the matches of a run; None if it was stopped.

        `meanwhile` is not called.
        """
        devices = len(self._engines)
        futures: list[Future[Found | None]] = []
        failed: list[Future[Found | None]] = []
        goes_on = working = True
        searching = [threading.Event() for _ in self._engines]
        waits_for = searching if self._engines[0].reads_host_rows else []
        with _named(self._engines[0]):
            foreseen = self._engines[0].foresee(run)
        try:
            for number, engine in enumerate(self._engines):
                share = run.share(number, devices)
                launched = searching[number].set
                futures.append(self._threads.submit(_matched, engine, share, launched, foreseen))
            is_written = False
            while goes_on and working and not failed:
                if not is_written and all(map(_has_launched, waits_for, futures)):
                    run.write_rows()  # the host's, while the devices search
                    is_written = True
                done, others = wait(futures, _SECONDS_BETWEEN_LOOKS, FIRST_EXCEPTION)
                failed, working = [one for one in done if one.exception() is not None], bool(others)
                goes_on = not working or run.keep_going()
        finally:
            self._stop(run, futures)  # kernels of other devices still read and write rows of this call
        for one in failed:  # before what the others raised when they were stopped
            one.result()
        if not goes_on:
            return None
        found = [one.result() for one in futures]
        return _together([part for part in found if part is not None])

    def _stop(self, run: _native.Run, futures: Sequence[Future[Any]]) -> None:
        """Stop the devices that still work on a run, and wait until none does."""
        while not all(future.done() for future in futures):
            with suppress(KeyboardInterrupt):  # the first one is being raised
                run.stop_shares()
                wait(futures)
        while len(futures) < len(self._engines):  # an interrupt may have come between a start and its note
            with suppress(KeyboardInterrupt):
                run.stop_shares()
                self._threads.shutdown()
                self._threads = ThreadPoolExecutor(len(self._engines), "motiflux-device")
                break

    def abandon(self) -> None:
        """Forget the rows of all devices if a run changed them since `begin`: the host's were undone."""
        for engine in self._engines:
            engine.abandon()

    def begin_turn(self) -> None:
        """Do nothing: calls of a feed come one by one."""

    def end_turn(self) -> None:
        """Do nothing."""

    def hold(self, *, on: bool) -> None:
        """Tell all engines whether calls follow each other closely."""
        for engine in self._engines:
            engine.hold(on=on)

    def outdate(self) -> None:
        """Forget the rows on all devices: the host applies updates alone from now on."""
        for engine in self._engines:
            engine.outdate()

    def close(self) -> None:
        """Free all memory."""
        self._threads.shutdown()
        for engine in self._engines:
            engine.close()


@contextmanager
def _named(engine: ChangingEngine) -> Iterator[None]:
    """Have errors in the context name the device of an engine."""
    try:
        yield
    except MotifluxError as error:
        error.args = (f"on {engine.device}: {error}", *error.args[1:])
        raise


def _matched(
    engine: ChangingEngine, share: _native.Run, launched: Callable[[], None], foreseen: object
) -> Found | None:
    with _named(engine):
        return engine.match(share, meanwhile=launched, foreseen=foreseen)


def _has_launched(launched: threading.Event, future: Future[Any]) -> bool:
    """Return whether a device searches, or has nothing to search."""
    return launched.is_set() or future.done()


def _together(parts: Sequence[Found]) -> Found:
    """Return the matches of all roots.

    Raises
    ------
    OverflowError
        A sum exceeds 128 bits.
    """
    totals, sums, rows = zip(*parts, strict=True)
    return _added(totals), _added(sums), _in_order(rows)


def _added(numbers: Sequence[NDArray[np.uint64] | None]) -> NDArray[np.uint64] | None:
    """Return the sum of arrays of numbers of two words, the low one first."""
    total = numbers[0]
    for number in numbers[1:]:
        assert (total is None) == (number is None), "all devices have the same plans"
        if total is None or number is None:
            continue
        found = total + number
        low, high = found[..., 0], found[..., 1]
        carry = low < number[..., 0]
        overflows = high < number[..., 1]
        high += carry
        if (overflows | (carry & (high == 0))).any():
            raise OverflowError("the count exceeds 2^128 - 1")
        total = found
    return total


def _in_order(parts: Sequence[NDArray[np.uint32] | None]) -> NDArray[np.uint32] | None:
    """Return the rows of all devices by root: all rows of a root are from one device."""
    given = [rows for rows in parts if rows is not None]
    if not given:
        return None
    rows = np.concatenate(given)
    return rows[np.argsort(rows[:, 0], kind="stable")]


def open_update_engine(
    devices: Sequence[str], *, gpu_memory: int | None = None, tuning: Mapping[str, str] | None = None
) -> ChangingEngine | SeveralDevices:
    """Return an engine on devices of these names; raises `DeviceError`.

    Parameters
    ----------
    gpu_memory
        Maximum number of bytes that motiflux holds on each device.
    tuning
        Switches; those that are missing have their defaults.
    """
    return open_with(CHANGING, devices, gpu_memory, tuning)


def open_with(
    preset: Preset,
    devices: Sequence[str],
    gpu_memory: int | None,
    tuning: Mapping[str, str] | None,
    engine: type[ChangingEngine] = ChangingEngine,
) -> ChangingEngine | SeveralDevices:
    """Return an engine with its defaults."""
    switches = resolve_tuning(tuning)
    engines = [engine(open_accelerator(device), gpu_memory, switches, preset) for device in devices]
    return engines[0] if len(engines) == 1 else SeveralDevices(engines)
