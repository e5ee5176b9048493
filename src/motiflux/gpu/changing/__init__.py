"""Changing graphs on a GPU."""

from __future__ import annotations

from typing import Any

from motiflux.device import open_device
from motiflux.errors import DeviceError


def open_update_engine(device_name: str, *, gpu_memory: int | None) -> Any:
    """Open the engine on a device.

    Raises
    ------
    DeviceError
        The device cannot be used.
    """
    open_device(device_name)
    raise DeviceError("a Monitor runs on device='cpu' only")
