"""Memory, streams and launches of the devices of this machine. Knows no graphs, plans or compilers.

`open_device` opens one by its name; `base` has the interface of all devices. Importing any of this needs no
GPU and no GPU package.
"""

from motiflux.device.base import Buffer, Device, HostBuffer, Kernel, Mark, Module, Stream
from motiflux.device.registry import devices_like, is_device, known_devices, open_device, register

__all__ = [
    "Buffer",
    "Device",
    "HostBuffer",
    "Kernel",
    "Mark",
    "Module",
    "Stream",
    "devices_like",
    "is_device",
    "known_devices",
    "open_device",
    "register",
]
