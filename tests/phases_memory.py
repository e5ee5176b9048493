"""Memory for searches in phases in tests, as tight on a GPU as under the emulator."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

from motiflux.codegen.pvm import ITEMS
from motiflux.device import open_device
from motiflux.gpu.pvm.frontiers import left_bytes
from motiflux.gpu.pvm.launches import PLACE_BYTES, most_warps

FEW_WARPS = most_warps(2)
"""The warps of a device of the emulator."""
_POSITION_BYTES = 8


@contextmanager
def room(
    device: str, nbytes: int, switches: Mapping[str, str] = MappingProxyType({}), steps: int = 0
) -> Iterator[dict[str, Any]]:
    """Yield options of a search that may take so many bytes beside what others hold.

    A device of many warps may take more: for the work that a launch leaves, the places of its parts in two
    passes, and the positions of warps for each set or test of a phase.
    """
    gc.collect()
    gpu = open_device(device)
    gpu._account.reclaim(1 << 40)  # type: ignore[attr-defined]
    gpu.settle()
    warps = most_warps(gpu.multiprocessors)
    of_warps = left_bytes(warps, 0) - left_bytes(FEW_WARPS, 0)
    if switches.get("pvm_writes") == "two_pass":
        of_warps += PLACE_BYTES * of_warps // ITEMS.itemsize
    if switches.get("pvm_distribution") == "round_robin":
        of_warps += _POSITION_BYTES * steps * (warps - FEW_WARPS)
    yield {"device": device, "engine": "pvm", "gpu_memory": gpu.used_memory() + nbytes + of_warps}
