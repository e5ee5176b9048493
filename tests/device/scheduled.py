"""A device whose threads run as a seed says, where the device under test has a scheduler."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.simt.emulated import EmulatedDevice, Scheduling

if TYPE_CHECKING:
    from motiflux.device.base import Device


@contextmanager
def scheduled(
    gpu: Device, seed: int, policy: str = "random", *, multiprocessors: int = 3
) -> Iterator[Device]:
    """Give a device like this one for a time; a GPU as it is."""
    if not isinstance(gpu, EmulatedDevice):
        yield gpu
        return
    with gpu.current():
        yield EmulatedDevice(scheduling=Scheduling(seed=seed, policy=policy), multiprocessors=multiprocessors)
