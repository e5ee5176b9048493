"""The argument ``devices=``: all devices of one kind, a number of them, or some by their ordinals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from motiflux.device import devices_like
from motiflux.errors import ArgumentError, DeviceError

Devices: TypeAlias = Literal["all"] | int | tuple[int, ...] | None
"""The checked argument ``devices=``; None if it was not given."""

_EXPECTED = '"all", a number of devices, or their ordinals such as [0, 1]'


def check_devices(given: str | int | Sequence[int] | None, device: str) -> Devices:
    """Return the checked argument ``devices=``, given beside ``device=``.

    Raises
    ------
    ArgumentError
        The argument is of another type or value, or `device` names a single device.

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
    """Parse a value of the command line: ``all``, ``2``, ``0,1``. With a comma, it has ordinals: ``1,``."""
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
        Some of them do not exist; the message names the existing ones.
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


def asked_for(device: str, engine: str, devices: Devices = None) -> str:
    """Return the arguments that leave no choice of an engine, in words; empty if there are none.

    Examples
    --------
    >>> asked_for("cuda", "auto", 2), asked_for("auto", "auto")
    ("asked for by device='cuda' and devices=2", '')
    """
    named = (("device", device), ("engine", engine))
    asked = [f"{option}={value!r}" for option, value in named if value != "auto"]
    if devices is not None:
        asked.append(f"devices={devices!r}")
    return f"asked for by {' and '.join(asked)}" if asked else ""
