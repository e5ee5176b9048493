"""What ``devices=`` takes: all devices of one kind, so many, or some by their ordinals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from motiflux.device import devices_like
from motiflux.errors import ArgumentError, DeviceError

Devices: TypeAlias = Literal["all"] | int | tuple[int, ...] | None
"""``devices=``, checked; None where it was not given."""

_EXPECTED = '"all", a number of devices, or their ordinals such as [0, 1]'


def check_devices(given: str | int | Sequence[int] | None, device: str) -> Devices:
    """Return what ``devices=`` asks for beside ``device=``.

    Raises
    ------
    ArgumentError
        It is none of the things that are expected, or `device` leaves no choice.

    Examples
    --------
    >>> check_devices([0, 1], "auto"), check_devices("all", "cuda"), check_devices("2,0", "cuda")
    ((0, 1), 'all', (2, 0))
    """
    if given is None:
        return None
    if device == "cpu" or ":" in device:
        raise ArgumentError("devices", f"None beside device={device!r}", given)
    if isinstance(given, str):
        return _from_text(given)
    if isinstance(given, int) and not isinstance(given, bool):
        if given < 1:
            raise ArgumentError("devices", "at least 1", given)
        return given
    if not isinstance(given, Sequence):
        raise ArgumentError("devices", _EXPECTED, given)
    ordinals = tuple[Any, ...](given)
    if not ordinals or any(isinstance(one, bool) or not isinstance(one, int) or one < 0 for one in ordinals):
        raise ArgumentError("devices", _EXPECTED, given)
    if len(set(ordinals)) < len(ordinals):
        raise ArgumentError("devices", "each ordinal once", given)
    return ordinals


def _from_text(text: str) -> Devices:
    """Read what the command line gives: ``all``, ``2``, ``0,1``. A comma makes ordinals: ``1,``."""
    if text == "all":
        return "all"
    parts = [part.strip() for part in text.split(",")]
    if len(parts) > 1 and not parts[-1]:
        parts.pop()
    if not all(part.isdecimal() and part.isascii() for part in parts):
        raise ArgumentError("devices", '"all", a number such as "2", or ordinals such as "0,1"', text)
    numbers = [int(part) for part in parts]
    return check_devices(numbers if "," in text else numbers[0], "auto")


def names_of(kind: str, devices: Devices) -> tuple[str, ...]:
    """Return the names of the devices asked for.

    Raises
    ------
    DeviceError
        Not all of them are there; the message says what is.
    """
    there = devices_like(kind)
    if devices == "all":
        chosen: Sequence[int] = range(len(there))
    else:
        assert devices is not None
        chosen = range(devices) if isinstance(devices, int) else devices
    if not there or max(chosen) >= len(there):
        found = f"{len(there)} of the kind {kind!r}" + (f": {', '.join(there)}" if there else "")
        asked = list(devices) if isinstance(devices, tuple) else devices
        raise DeviceError(f"devices={asked!r}: expected devices that are here, found {found}")
    return tuple(there[ordinal] for ordinal in chosen)
