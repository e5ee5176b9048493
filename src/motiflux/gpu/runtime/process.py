"""The process that opened a device: a child of a fork cannot use it."""

from __future__ import annotations

import os

from motiflux.errors import DeviceError


def check_process(device: str, process: int) -> None:
    """Refuse calls of a monitor outside of the process that made it.

    Parameters
    ----------
    device
        The name of the device.
    process
        The number of the process.
    """
    if os.getpid() != process:
        raise DeviceError(
            f"device={device!r}: expected the process that made the monitor, found a child of a fork;"
            " make a monitor in the child, or use device='cpu'"
        )
