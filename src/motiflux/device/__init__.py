"""Memory, streams and launches of the devices of this machine, independent of graphs, plans and compilers.

`open_device` opens a device by its name; `base` has the interface of all devices. Importing these modules
needs no GPU and no GPU package.
"""

from motiflux.device.base import Buffer, Device, HostBuffer, HostRegistration, Kernel, Mark, Module, Stream
from motiflux.device.registry import (
    begin_opening,
    devices_like,
    is_device,
    known_devices,
    open_device,
    register,
)

__all__ = [
    "Buffer",
    "Device",
    "HostBuffer",
    "HostRegistration",
    "Kernel",
    "Mark",
    "Module",
    "Stream",
    "begin_opening",
    "devices_like",
    "is_device",
    "known_devices",
    "open_device",
    "register",
]
