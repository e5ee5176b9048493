"""Memory for searches in phases in tests, as tight on a GPU as under the emulator."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from motiflux.device import open_device
from motiflux.gpu.pvm.frontiers import left_bytes
from motiflux.gpu.pvm.launches import most_warps

FEW_WARPS = most_warps(2)
"""The warps of a device of the emulator."""
_POSITION_BYTES = 8


@contextmanager
def room(device: str, nbytes: int, *, positions: int = 0) -> Iterator[dict[str, Any]]:
    """Yield options of a search that may take so many bytes beside what others hold.

    A device of many warps may take more: for the work that a launch leaves, and for the positions of its
    warps in this number of phases.
    """
    gc.collect()
    gpu = open_device(device)
    gpu._account.reclaim(1 << 40)  # type: ignore[attr-defined]
    gpu.settle()
    warps = most_warps(gpu.multiprocessors)
    of_warps = left_bytes(warps, 0) - left_bytes(FEW_WARPS, 0)
    of_warps += _POSITION_BYTES * positions * (warps - FEW_WARPS)
    yield {"device": device, "engine": "pvm", "gpu_memory": gpu.used_memory() + nbytes + of_warps}
