"""Engines that match the updates of a monitor, and the choice of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from motiflux.arguments import check_bytes
from motiflux.errors import ArgumentError, DeviceError
from motiflux.request.devices import Devices, asked_for, check_devices, names_of
from motiflux.request.request import check_device

if TYPE_CHECKING:
    from motiflux import _native

HOST = "cpu"
"""The engine, and its device, that needs no other: the native monitor itself."""

ENGINES = {
    "changing": "motiflux.gpu.changing",
    "batch": "motiflux.gpu.changing.batch",
    "outofcore": "motiflux.gpu.outofcore.engine",
    "streaming": "motiflux.gpu.streaming.engine",
}
"""Engines on GPUs: modules with ``open_update_engine(devices, *, gpu_memory, tuning)``, imported on use."""

OUT_OF_CORE = "outofcore"
"""The engine that reads rows in memory of the host."""
STREAMING = "streaming"
"""The engine that answers updates one by one."""

_GPU_ENGINE, _GPU_DEVICE = "changing", "cuda"


class UpdateEngine(Protocol):
    """Matches the updates of one monitor elsewhere (docs/design/gpu-changing.md).

    The native monitor keeps the graph. The engine has a copy of the rows that the plans need.
    """

    name: str
    """As in ``engine=``."""
    device: str
    """As in ``device=``; several devices with a comma between them."""
    coalesces: bool
    """Whether plans that list matches may share levels."""
    pools: bool
    """Whether it may pool partial matches that agree in all that later levels depend on."""
    counts_tails: bool
    """Whether it counts levels in closed form, of components that have one set each."""
    overlaps_calls: bool
    """Whether `match` calls `meanwhile`, while it does not look at the native monitor."""
    takes_turns: bool
    """Whether calls of a feed may follow each other between `begin_turn` and `end_turn`, without `begin`."""
    feed_updates: int
    """Most updates of a feed that are applied in one call: all answers of a call are given at its end."""

    def check(self, plans: list[Any]) -> str | None:
        """Return why the engine cannot take plans of a new pattern, in words; None: it can.

        Parameters
        ----------
        plans
            As `_native.Monitor.plan` returns them.
        """

    def begin(self, native: _native.Monitor, threads: int) -> None:
        """Bring the copy up to date before updates are applied: plans, targets, rows.

        `native` is another object only after `Monitor.load`. Threads may be used to read it. In the child of
        a fork it raises `DeviceError` unless the engine can go on there.
        """

    def is_ready(self) -> bool:
        """Whether the kernels that count are compiled; compiled in the background if not."""

    def measured(self) -> Mapping[str, float]:
        """Return figures of the last call by name, if any are measured."""

    def describe(self, positions: Mapping[int, int]) -> str:
        """Return how updates are matched, in lines of text.

        Parameters
        ----------
        positions
            The position of each pattern by its number in the native monitor.
        """

    def match(
        self, run: _native.Run, meanwhile: Callable[[], None] | None = None
    ) -> _native.RunMatches | None:
        """Return the matches of a run; None if `Run.keep_going` was False.

        Parameters
        ----------
        meanwhile
            Called at most once, in the calling thread, while the device searches, after `Run.write_rows`. An
            error that it raises ends the searches and is raised.
        """

    def outdate(self) -> None:
        """Take note that the host applies updates alone from now on: `begin` has to load the rows anew."""

    def abandon(self) -> None:
        """Take note that the call failed: the runs matched since `begin` were undone on the host.

        If there were any, the copy is not that of the host any more, and `begin` has to load it anew.
        """

    def hold(self, *, on: bool) -> None:
        """Take note whether calls follow each other closely from now on: kernels may stay between them."""

    def begin_turn(self) -> _native.StreamUpdates | None:
        """Take note that calls follow without `begin` until `end_turn`.

        Returns
        -------
        StreamUpdates or None
            What may match runs without Python, before `match`.
        """

    def end_turn(self) -> None:
        """Take note that `begin` comes before the next call again."""

    def close(self) -> None:
        """Give back the memory. No other method is called afterwards."""


class UnmatchedPatternError(ArgumentError):
    """An engine cannot match a pattern."""

    def __init__(self, engine: UpdateEngine, why_not: str, pattern: str) -> None:
        expected = f"device='cpu', or a pattern that engine={engine.name!r} can match ({why_not})"
        super().__init__("pattern", expected, pattern)


@dataclass(frozen=True)
class Placement:
    """The checked arguments `device`, `devices`, `engine` and `gpu_memory` of a monitor."""

    device: str = "auto"
    devices: Devices = None
    engine: str = "auto"
    gpu_memory: int | None = None

    @classmethod
    def of(
        cls,
        *,
        device: str = "auto",
        devices: str | int | Sequence[int] | None = None,
        engine: str = "auto",
        gpu_memory: int | str | None = None,
    ) -> Placement:
        """Return it.

        Raises
        ------
        ArgumentError
            There is no such device or engine, or the devices or the amount of memory are invalid.
        DeviceError
            The engine does not run on this device.
        """
        if engine not in ("auto", HOST, *ENGINES):
            raise ArgumentError("engine", "one of " + ", ".join(("auto", HOST, *ENGINES)), engine)
        device = check_device(device)
        chosen = check_devices(devices, device)
        if engine == HOST and chosen is not None:
            raise DeviceError(f"engine={engine!r} runs on device='cpu', found devices={chosen!r}")
        if engine == HOST and device not in ("auto", HOST):
            raise DeviceError(f"engine={engine!r} runs on device='cpu', found device={device!r}")
        if device == HOST and engine not in ("auto", HOST):
            raise DeviceError(f"engine={engine!r} runs on a GPU (device={_GPU_DEVICE!r}), found device='cpu'")
        return cls(
            device, chosen, engine, None if gpu_memory is None else check_bytes("gpu_memory", gpu_memory)
        )

    def check_mode(self, mode: str) -> None:
        """Refuse a mode that the engine does not have.

        Raises
        ------
        ArgumentError
            ``mode="batch"`` and an engine that answers updates one by one.
        """
        if self.engine == STREAMING and mode != "sequence":
            expected = f"'sequence' with engine={STREAMING!r}, which answers updates one by one"
            raise ArgumentError(
                "mode", f"{expected}; engine='changing' and engine='batch' match batches", mode
            )

    @property
    def reason(self) -> str:
        """The arguments that leave no choice of an engine, in words; empty if there are none."""
        return asked_for(self.device, self.engine, self.devices)

    @property
    def needs_gpu(self) -> bool:
        """Whether the arguments name a GPU, or an engine on one."""
        return bool(self.reason) and HOST not in (self.engine, self.device)

    def open(self, tuning: Mapping[str, str]) -> UpdateEngine | None:
        """Return the engine asked for; None: the native monitor matches.

        Parameters
        ----------
        tuning
            The value of every switch.

        Raises
        ------
        DeviceError
            A device cannot be used.
        """
        if not self.needs_gpu:
            return None
        kind = _GPU_DEVICE if self.device == "auto" else self.device
        names = (kind,) if self.devices is None else names_of(kind, self.devices)
        engine = _GPU_ENGINE if self.engine == "auto" else self.engine
        return open_engine(names, engine, self.gpu_memory, tuning)


def open_engine(
    devices: Sequence[str],
    engine: str = _GPU_ENGINE,
    gpu_memory: int | None = None,
    tuning: Mapping[str, str] | None = None,
) -> UpdateEngine:
    """Return an engine on devices of these names; raises `DeviceError`."""
    module = import_module(ENGINES[engine])
    opened: UpdateEngine = module.open_update_engine(devices, gpu_memory=gpu_memory, tuning=tuning)
    return opened
