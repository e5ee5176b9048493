"""Edges drawn on a device are those that the CPU draws."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import motiflux as mf
from motiflux.device import Device
from motiflux.generate import Rmat
from motiflux.gpu.runtime.accelerator import open_accelerator
from tests.device.test_device import settled

pytestmark = pytest.mark.devices("emulated", "cuda", reason="draws on a GPU, or on what stands in for one")

CASES = [
    Rmat(scale=1, edges=100, seed=1),
    Rmat(scale=9, edges=3000, seed=2, directed=False, permute=False),
    Rmat(scale=20, edges=3000, seed=3, noise=0.7),
    Rmat(scale=31, edges=3000, seed=2**64 - 1),
    Rmat(scale=5, edges=0),
]


@pytest.mark.parametrize("rmat", CASES, ids=lambda one: f"scale{one.scale}")
@pytest.mark.parametrize("rows", [1000, 1 << 26])
def test_a_device_draws_the_same_edges(device: str, rmat: Rmat, rows: int) -> None:
    expected = rmat.columns()
    found = [[ends.to_numpy() for ends in block] for block in rmat.device_blocks(device, rows=rows)]
    assert all(len(sources) == rows for sources, _ in found[:-1])
    nothing = np.empty(0, dtype=np.uint32)
    assert np.array_equal(np.concatenate([nothing, *(block[0] for block in found)]), expected.sources)
    assert np.array_equal(np.concatenate([nothing, *(block[1] for block in found)]), expected.targets)


def alone(device: str, gpu: Device) -> int:
    """Return the bytes that are held once all that earlier tests left to be given up is."""
    gc.collect()
    open_accelerator(device).reclaim(1 << 60)
    return settled(gpu)


def test_blocks_shrink_to_the_budget(device: str, gpu: Device) -> None:
    rmat = Rmat(scale=12, edges=20_000, seed=4)
    budget = alone(device, gpu) + 16 * 1024
    sizes = [len(sources) for sources, _ in rmat.device_blocks(device, gpu_memory=budget)]
    assert sum(sizes) == 20_000
    assert max(sizes) == 1024


def test_blocks_that_are_held_fill_the_budget(device: str, gpu: Device) -> None:
    rmat = Rmat(scale=12, edges=20_000, seed=4)
    budget = alone(device, gpu) + 16 * 1024
    with pytest.raises(mf.DeviceMemoryError, match="a block of edges"):
        list(rmat.device_blocks(device, gpu_memory=budget))


def test_a_block_can_be_read_by_other_libraries(device: str) -> None:
    rmat = Rmat(scale=8, edges=100)
    sources, _ = next(rmat.device_blocks(device))
    if device == "cuda":
        assert sources.__cuda_array_interface__["shape"] == (100,)
    else:
        assert np.array_equal(np.from_dlpack(sources), rmat.columns().sources)


def test_a_block_outlives_what_drew_it(device: str) -> None:
    rmat = Rmat(scale=8, edges=100)
    ((sources, targets),) = rmat.device_blocks(device)
    del rmat
    assert (sources.to_numpy() != targets.to_numpy()).all()


def test_dropping_duplicates_is_refused(device: str) -> None:
    with pytest.raises(mf.ArgumentError, match="duplicates: expected 'keep' on a device"):
        Rmat(scale=8, edges=100, duplicates="drop").device_blocks(device)
