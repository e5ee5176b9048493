"""The memory of a streaming kernel: no two blocks overlap and none is lost, whoever runs when."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from motiflux.codegen.streaming import UNIT_BYTES, Pool, PoolCounts
from tests.device.scheduled import scheduled

if TYPE_CHECKING:
    from motiflux.device.base import Buffer, Device, Kernel, Stream

pytestmark = pytest.mark.devices("emulated", "cuda", reason="it has no kernels")


class MemoryArgs(ctypes.Structure):
    # As streaming_memory.cu has it.
    _fields_ = (
        ("pool", Pool),
        ("owners", ctypes.c_uint64),
        ("refused", ctypes.c_uint64),
        ("wrong", ctypes.c_uint64),
        ("seed", ctypes.c_uint64),
        ("turns", ctypes.c_uint32),
        ("most_units", ctypes.c_uint32),
        ("keeps", ctypes.c_uint32),
    )


@dataclass
class Memory:
    """A pool and what its blocks are in."""

    kernel: Callable[[str], Kernel]
    stream: Stream
    buffers: list[Buffer]
    units: int

    def run(self, name: str, grid: int, block: int, **arguments: int) -> PoolCounts:
        """Run a kernel; return the counters after it."""
        pool = Pool(*(buffer.address for buffer in self.buffers[:3]), self.units)
        argument = MemoryArgs(pool, *(buffer.address for buffer in self.buffers[3:]), **arguments)
        self.stream.launch(self.kernel(name), grid, block, 0, argument)
        assert self.word(5) == 0
        return PoolCounts.from_buffer_copy(self._read(1, np.zeros(ctypes.sizeof(PoolCounts), np.uint8)))

    def word(self, number: int) -> int:
        return int(self._read(number, np.zeros(1, np.uint64))[0])

    def used_units(self) -> int:
        return int(self._read(3, np.zeros(self.units, np.uint32)).sum())

    def _read(self, number: int, array: np.ndarray) -> np.ndarray:
        self.stream.download(self.buffers[number], array)
        self.stream.wait()
        return array


MemoryOf = Callable[..., AbstractContextManager[Memory]]


@pytest.fixture
def memory(gpu: Device, image_of: Callable[[Path], bytes]) -> MemoryOf:
    image = image_of(Path(__file__).with_name("streaming_memory.cu"))

    @contextmanager
    def opened(units: int, seed: int = 1, policy: str = "random") -> Iterator[Memory]:
        with scheduled(gpu, seed, policy) as device:
            sizes = (units * UNIT_BYTES, ctypes.sizeof(PoolCounts), units // 64 * 8 + 8, 4 * units, 8, 8)
            buffers = [device.allocate(size, "a pool") for size in sizes]
            stream = device.stream()
            for buffer in buffers[1:]:
                stream.clear(buffer)
            try:
                yield Memory(device.load(image, "streaming_memory").kernel, stream, buffers, units)
            finally:
                stream.close()

    return opened


def check_many_threads(memory: MemoryOf, seed: int, policy: str) -> None:
    units = (60, 300, 20_000)[seed % 3]
    with memory(units, seed, policy) as pool:
        for turn in range(2):
            counts = pool.run("take_and_give", 3, 64, seed=seed + turn, turns=24, most_units=1 + seed % 9)
            assert (counts.in_use, counts.asked, pool.used_units()) == (0, 0, 0)
            assert 0 < counts.high_water <= min(units - 1, 3 * 64 * 4 * 10)
            assert counts.refusals == pool.word(4)
            if units < 100:
                assert counts.refusals > 0
            counts = pool.run("merge", 1, 32)
            assert (counts.carved, counts.merges) == (0, turn + 1)


@pytest.mark.turns(4)
@pytest.mark.parametrize("policy", ["random", "lowest", "highest"])
def test_no_blocks_overlap_and_none_is_lost(memory: MemoryOf, policy: str) -> None:
    for seed in range(60 if policy == "random" else 6):
        check_many_threads(memory, seed, policy)


@pytest.mark.long
@pytest.mark.parametrize("part", range(8))
def test_no_blocks_overlap_under_many_schedules(memory: MemoryOf, part: int) -> None:
    for seed in range(1000 + 600 * part, 1600 + 600 * part):
        check_many_threads(memory, seed, "random")


def test_counters_tell_what_is_in_use_and_what_was_asked_for(memory: MemoryOf) -> None:
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


def test_memory_that_is_short_is_refused_and_comes_back(memory: MemoryOf) -> None:
    with memory(9) as pool:
        counts = pool.run("take_and_give", 1, 64, seed=3, turns=30, most_units=3)
        assert counts.refusals > 0
        assert counts.in_use == 0
        assert counts.high_water <= 8
