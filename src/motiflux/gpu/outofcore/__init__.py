"""Monitors on GPUs of graphs that do not fit there: rows in memory of the host, the hottest on the device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from motiflux.gpu.changing.engine import ChangingEngine
from motiflux.gpu.changing.several import SeveralDevices, open_with
from motiflux.gpu.outofcore.engine import OUT_OF_CORE, OutOfCoreEngine

__all__ = ["OutOfCoreEngine", "open_update_engine"]


def open_update_engine(
    devices: Sequence[str], *, gpu_memory: int | None = None, tuning: Mapping[str, str] | None = None
) -> ChangingEngine | SeveralDevices:
    """Return the engine on devices of these names, as `motiflux.gpu.changing.open_update_engine` does."""
    return open_with(OUT_OF_CORE, devices, gpu_memory, tuning, OutOfCoreEngine)
