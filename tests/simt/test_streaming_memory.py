"""The memory of a streaming kernel: no two blocks overlap and none is lost, whoever runs when."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pytest

from motiflux.codegen.streaming import UNIT_BYTES, Pool, PoolCounts
from tests.simt.emulated import EmulatedBuffer, EmulatedDevice, EmulatedStream, Scheduling
from tests.simt.harness import kernel


class MemoryArgs(ctypes.Structure):
    # As kernels/streaming_memory.cu has it.
    _fields_ = (
        ("pool", Pool),
        ("owners", ctypes.c_uint64),
        ("refused", ctypes.c_uint64),
        ("seed", ctypes.c_uint64),
        ("turns", ctypes.c_uint32),
        ("most_units", ctypes.c_uint32),
        ("keeps", ctypes.c_uint32),
    )


@dataclass
class Memory:
    """A pool and what its blocks are in."""

    device: EmulatedDevice
    stream: EmulatedStream
    buffers: list[EmulatedBuffer]
    units: int

    def run(self, name: str, grid: int, block: int, **arguments: int) -> PoolCounts:
        """Run a kernel; return the counters after it."""
        pool = Pool(*(buffer.address for buffer in self.buffers[:3]), self.units)
        argument = MemoryArgs(pool, *(buffer.address for buffer in self.buffers[3:]), **arguments)
        self.stream.launch(kernel("streaming_memory", name, self.device), grid, block, 0, argument)
        read = np.zeros(ctypes.sizeof(PoolCounts), np.uint8)
        self.stream.download(self.buffers[1], read)
        self.stream.wait()
        return PoolCounts.from_buffer_copy(read)

    def refused(self) -> int:
        read = np.zeros(1, np.uint64)
        self.stream.download(self.buffers[4], read)
        self.stream.wait()
        return int(read[0])

    def used_units(self) -> int:
        read = np.zeros(self.units, np.uint32)
        self.stream.download(self.buffers[3], read)
        self.stream.wait()
        return int(read.sum())


@contextmanager
def memory(units: int, seed: int = 1, policy: str = "random") -> Iterator[Memory]:
    device = EmulatedDevice(scheduling=Scheduling(seed=seed, policy=policy), multiprocessors=3)
    sizes = (units * UNIT_BYTES, ctypes.sizeof(PoolCounts), units // 64 * 8 + 8, 4 * units, 8)
    buffers = [device.allocate(size, "a pool") for size in sizes]
    stream = device.stream()
    for buffer in buffers[1:]:
        stream.clear(buffer)
    try:
        yield Memory(device, stream, buffers, units)
    finally:
        stream.close()


def check_many_threads(seed: int, policy: str) -> None:
    units = (60, 300, 20_000)[seed % 3]
    with memory(units, seed, policy) as pool:
        for turn in range(2):
            counts = pool.run("take_and_give", 3, 64, seed=seed + turn, turns=24, most_units=1 + seed % 9)
            assert (counts.in_use, counts.asked, pool.used_units()) == (0, 0, 0)
            assert 0 < counts.high_water <= min(units - 1, 3 * 64 * 4 * 10)
            assert counts.refusals == pool.refused()
            if units < 100:
                assert counts.refusals > 0
            counts = pool.run("merge", 1, 32)
            assert (counts.carved, counts.merges) == (0, turn + 1)


@pytest.mark.parametrize("policy", ["random", "lowest", "highest"])
def test_no_blocks_overlap_and_none_is_lost(policy: str) -> None:
    for seed in range(12 if policy == "random" else 3):
        check_many_threads(seed, policy)


@pytest.mark.long
@pytest.mark.parametrize("part", range(8))
def test_no_blocks_overlap_under_many_schedules(part: int) -> None:
    for seed in range(1000 + 60 * part, 1060 + 60 * part):
        check_many_threads(seed, "random")


def test_counters_tell_what_is_in_use_and_what_was_asked_for() -> None:
    with memory(5_000) as pool:
        counts = pool.run("take_and_give", 2, 32, seed=5, turns=7, most_units=12, keeps=1)
        assert counts.in_use == pool.used_units() > 0
        assert 0 < counts.asked <= UNIT_BYTES * counts.in_use
        assert counts.in_use <= counts.high_water <= counts.carved < 5_000
        assert counts.refusals == 0
        # All that is carved is in use, or on a stack: merging moves no block that is in use.
        merged = pool.run("merge", 1, 32)
        assert (merged.in_use, merged.asked) == (counts.in_use, counts.asked)
        assert counts.in_use <= merged.carved <= counts.carved
        assert pool.run("merge", 1, 32).carved == merged.carved


def test_memory_that_is_short_is_refused_and_comes_back() -> None:
    with memory(9) as pool:
        counts = pool.run("take_and_give", 1, 64, seed=3, turns=30, most_units=3)
        assert counts.refusals > 0
        assert counts.in_use == 0
        assert counts.high_water <= 8
