"""The options of a call, checked once."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from motiflux.arguments import check_bytes, check_integer, check_seconds, check_word
from motiflux.config import Tuning, resolve_tuning
from motiflux.device import is_device, known_devices
from motiflux.errors import ArgumentError
from motiflux.graph import resolve_threads
from motiflux.request.devices import Devices, check_devices
from motiflux.request.elsewhere import elsewhere
from motiflux.request.registry import ENGINES
from motiflux.request.reports import ProgressCallback
from motiflux.types import Semantics, Symmetry

_MOST_REQUESTS = 256
"""Maximum number of cached requests: checking arguments takes a tenth of a short call on a GPU."""


@dataclass(frozen=True)
class Request:
    """The options of one call, validated."""

    semantics: Semantics
    symmetry: Symmetry
    device: str
    engine: str
    limit: int | None
    timeout: float | None
    threads: int
    tuning: Mapping[str, str]
    gpu_memory: int | None = None
    progress: ProgressCallback | None = None
    devices: Devices = None
    """The devices of the kind of `device`: ``"all"``, a number of them, or ordinals."""
    copies: bool = False
    """Whether choices of copies are wanted, not embeddings; each query edge is then one of its own."""
    elsewhere: Any = None
    """Who does the work, if not this machine: a `motiflux.request.stand_in.StandIn`."""

    @cached_property
    def key(self) -> Hashable:
        """All options that a physical plan depends on."""
        return (
            self.semantics, self.symmetry, self.device, self.engine, self.limit, self.timeout, self.threads,
            self.gpu_memory, self.devices, self.switches, self.copies, self.elsewhere,
        )  # fmt: skip

    @cached_property
    def switches(self) -> tuple[str, ...]:
        """The values of all switches, in their order in `motiflux.config`."""
        return tuple(self.tuning.values())


def make_request(
    *,
    semantics: str,
    symmetry: str,
    device: str = "auto",
    engine: str = "auto",
    limit: int | None = None,
    timeout: float | None = None,
    threads: int | None = None,
    gpu_memory: int | str | None = None,
    tuning: Mapping[str, str] | None = None,
    progress: ProgressCallback | None = None,
    devices: str | int | Sequence[int] | None = None,
    copies: bool = False,
) -> Request:
    """Return the options of a call. Without `progress`, equal arguments give the same object.

    Raises
    ------
    ArgumentError
        Names the first argument that is not usable.
    """
    if threads is None:
        threads = resolve_threads(None)  # the CPU affinity may change between calls
    who = elsewhere()
    given = semantics, symmetry, device, engine, limit, timeout, threads, gpu_memory
    if devices is None and (tuning is None or type(tuning) in (dict, Tuning)):
        with suppress(TypeError):  # an argument without a hash is checked below
            known = _known_request(*given, None if tuning is None else tuple(tuning.items()))
            if progress is None and not copies and who is None:
                return known
            return replace(known, progress=progress, copies=_flag("copies", copies), elsewhere=who)
    checked = _checked(*given, tuning, progress, devices)
    return replace(checked, copies=_flag("copies", copies), elsewhere=who)


@lru_cache(_MOST_REQUESTS, typed=True)
def _known_request(
    semantics: str,
    symmetry: str,
    device: str,
    engine: str,
    limit: int | None,
    timeout: float | None,
    threads: int,
    gpu_memory: int | str | None,
    tuning: tuple[tuple[str, str], ...] | None,
) -> Request:
    """Return a request; the same object for equal arguments while it is cached: requests are immutable."""
    given = semantics, symmetry, device, engine, limit, timeout, threads, gpu_memory
    return _checked(*given, None if tuning is None else dict(tuning), None, None)


def _checked(
    semantics: str,
    symmetry: str,
    device: str,
    engine: str,
    limit: int | None,
    timeout: float | None,
    threads: int,
    gpu_memory: int | str | None,
    tuning: Mapping[str, str] | None,
    progress: ProgressCallback | None,
    devices: str | int | Sequence[int] | None,
) -> Request:
    return Request(
        semantics=check_word("semantics", semantics, Semantics),
        symmetry=check_word("symmetry", symmetry, Symmetry),
        device=check_device(device),
        engine=_one_of("engine", engine, ("auto", *ENGINES)),
        limit=None if limit is None else check_integer("limit", limit, 0, or_none=True),
        timeout=None if timeout is None else check_seconds("timeout", timeout),
        threads=resolve_threads(threads),
        gpu_memory=None if gpu_memory is None else check_bytes("gpu_memory", gpu_memory),
        tuning=resolve_tuning(tuning),
        progress=progress,
        devices=check_devices(devices, device),
    )


def check_device(device: str) -> str:
    """Return the argument ``device=``; whether the device is present is checked when it is opened.

    Raises
    ------
    ArgumentError
        There is no device of this name.
    """
    if isinstance(device, str) and is_device(device):
        return device
    return _one_of("device", device, ("auto", "cpu", *known_devices()))


def _flag(argument: str, value: bool) -> bool:
    if value not in (True, False):
        raise ArgumentError(argument, "True or False", value)
    return bool(value)


def _one_of(argument: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise ArgumentError(argument, "one of " + ", ".join(allowed), value)
    return value
