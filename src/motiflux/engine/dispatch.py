"""Which engine serves a call, and why."""

from __future__ import annotations

from motiflux.engine.base import Engine, Request
from motiflux.engine.cpu import CpuEngine
from motiflux.errors import DeviceError


def choose_engine(request: Request) -> tuple[Engine, str]:
    """Return the engine for `request` and the reason in words.

    Raises
    ------
    DeviceError
        The device asked for has no engine here.
    """
    if request.device == "cuda":
        raise DeviceError("device='cuda': this version has no GPU engine; use device='cpu' or 'auto'")
    asked = request.engine != "auto" or request.device != "auto"
    return CpuEngine(), "asked for" if asked else "the only engine of this version"
