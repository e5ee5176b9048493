"""``engine="batch"``: GAMMA's search on the engine of changing graphs, by its own defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from motiflux.gpu.changing.engine import ChangingEngine
from motiflux.gpu.changing.manner import BATCH
from motiflux.gpu.changing.several import SeveralDevices, open_with


def open_update_engine(
    devices: Sequence[str], *, gpu_memory: int | None = None, tuning: Mapping[str, str] | None = None
) -> ChangingEngine | SeveralDevices:
    """Return the engine on devices of these names, as `motiflux.gpu.changing.open_update_engine` does."""
    return open_with(BATCH, devices, gpu_memory, tuning)
