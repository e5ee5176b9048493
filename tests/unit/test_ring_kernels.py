"""The kernels that measure rings, in the emulator; and every atomic operation under NVRTC."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from motiflux._native import RingReader, echo
from motiflux.codegen import layout
from motiflux.jit import HEADERS, NvrtcToolchain, Source
from tests.rotating import in_turn
from tests.simt.emulated import EmulatedDevice, EmulatedKernel, EmulatedStream, GxxToolchain, Scheduling
from tests.unit.ring_memory import RingMemory

HAS_NVRTC = subprocess.run([sys.executable, "-c", "import cuda.core"], capture_output=True).returncode == 0
GOLDEN = 0x9E3779B9
SCHEDULES = [("random", 1), ("random", 2), ("lowest", 1), ("highest", 1)]

# What a search kernel does with a ring: every group writes `records` packets.
GROUPS = """
#include "motiflux/device/echo.cuh"
namespace device = motiflux::device;
using device::FloodArgs;
template <std::uint32_t Lanes>
__device__ void write_packets(const device::FloodArgs& args) {
  const motiflux::lanes::Group<Lanes> group;
  for (std::uint32_t packet = 0; packet < args.records;) {
    std::uint64_t ticket;
    if (!device::try_reserve(group, args.out, ticket)) continue;
    const std::uint32_t count = (group.in_grid() + packet) % 8;
    auto* words = device::payload_of<std::uint32_t>(args.out, ticket);
    for (std::uint32_t i = group.lane(); i < count * args.record_words; i += Lanes)
      words[i] = i % 4 == 0 ? group.in_grid() : i % 4 == 1 ? packet : i % 4 == 2 ? i / 4 : ~(i / 4);
    device::publish(group, args.out, ticket, count);
    ++packet;
  }
}
extern "C" __global__ void write_8(const __grid_constant__ FloodArgs args) { write_packets<8>(args); }
extern "C" __global__ void write_16(const __grid_constant__ FloodArgs args) { write_packets<16>(args); }
extern "C" __global__ void write_32(const __grid_constant__ FloodArgs args) { write_packets<32>(args); }
// Takes `records` packets and keeps their words one after another, at `next`.
extern "C" __global__ void read_packets(const __grid_constant__ FloodArgs args) {
  const motiflux::lanes::Group<16> group;
  std::uint32_t kept = 0;
  for (std::uint64_t position = 0; position < args.records;) {
    std::uint32_t count;
    const unsigned char* packet = device::try_take(group, args.out, position, count);
    if (packet == nullptr) continue;
    for (std::uint32_t i = group.lane(); i < count * args.record_words; i += 16)
      args.next[kept + i] = reinterpret_cast<const std::uint32_t*>(packet)[i];
    kept += count * args.record_words;
    device::release(group, args.out, position++);
  }
}
"""

EVERY_OPERATION = """
#include "motiflux/device/atomic_ref.hpp"
#include "motiflux/device/total.hpp"
using namespace motiflux::device;
template <class Ref, class T>
__device__ void use(Ref ref, T& other) {
  other += ref.load(Order::kRelaxed) + ref.load(Order::kAcquire) + ref.load(Order::kSeqCst);
  ref.store(other, Order::kRelaxed);
  ref.store(other, Order::kRelease);
  ref.store(other, Order::kSeqCst);
  other += ref.exchange(other, Order::kRelaxed) + ref.exchange(other, Order::kAcqRel);
  while (!ref.compare_exchange(other, other + 1, Order::kRelaxed)) continue;
  while (!ref.compare_exchange(other, other + 1, Order::kRelease)) continue;
  while (!ref.compare_exchange(other, other + 1, Order::kAcqRel)) continue;
  other += ref.fetch_add(other, Order::kAcquire) + ref.fetch_or(other, Order::kRelease);
  other += ref.fetch_and(other, Order::kRelaxed) + ref.fetch_max(other, Order::kAcqRel);
}
template <class T>
__device__ void use_all(T* words) {
  use(block_wide(words[0]), words[1]);
  use(device_wide(words[0]), words[1]);
  use(system_wide(words[0]), words[1]);
}
struct Args { std::uint32_t* short_words; std::uint64_t* long_words; std::uint64_t* more; };
extern "C" __global__ void every_operation(const __grid_constant__ Args args) {
  use_all(args.short_words);
  use_all(args.long_words);
  add_128(args.long_words, 7);
}
"""


class Addresses(ctypes.Structure):
    # `Args` above.
    _fields_ = (("short_words", ctypes.c_uint64), ("long_words", ctypes.c_uint64), ("more", ctypes.c_uint64))


@cache
def image() -> bytes:
    """Return all kernels of these tests for the emulator; skips without a compiler."""
    if shutil.which(os.environ.get("CXX", "g++")) is None:
        pytest.skip("no C++ compiler")
    return GxxToolchain().build(Source("rings", GROUPS + EVERY_OPERATION), (HEADERS,)).image


def view(ring: RingMemory, tickets: int = 0) -> layout.Ring:
    """Return the ring as the emulated device sees it: memory of the host is at the same address there."""
    parts = {name: ring.arguments[name] for name in ("tail", "published", "payload", "slots", "slot_bytes")}
    return layout.Ring(tickets=tickets, **parts)


class Kernels:
    """A device on which the kernels are loaded, and a stream."""

    def __init__(self, policy: str, seed: int) -> None:
        self.device = EmulatedDevice(scheduling=Scheduling(seed=seed, policy=policy))
        self.module = self.device.load(image(), "rings")
        self.stream: EmulatedStream = self.device.stream()
        # Tickets of a ring at 0, the flood's counter at 4, the stop flag at 5.
        self.words = np.zeros(8, np.uint64)
        self.tickets = self.words.ctypes.data
        self.next = self.tickets + 32
        self.stop = self.tickets + 40

    def kernel(self, name: str) -> EmulatedKernel:
        return self.module.kernel(name)


@contextmanager
def kernels(policy: str = "random", seed: int = 1) -> Iterator[Kernels]:
    made = Kernels(policy, seed)
    try:
        yield made
    finally:
        made.words[5] = 1  # a test that failed leaves no kernel running
        made.stream.close()


def read_rows(reader: RingReader, rows: int, words: int) -> NDArray[np.uint32]:
    out = np.zeros((rows, words), np.uint32)
    filled = 0
    while filled < rows:
        more = reader.read(out[filled:], wait_seconds=60)
        assert more > 0, f"{filled} of {rows} rows came"
        filled += more
    return out


@pytest.mark.turns(8)
@pytest.mark.parametrize(("policy", "seed"), in_turn(2, SCHEDULES))
def test_a_flood_brings_every_record_once_and_whole(policy: str, seed: int) -> None:
    records, words = 5000, 5
    ring = RingMemory(slots=4, slot_bytes=32 * words * 4, record_words=words)
    reader = ring.reader()
    with kernels(policy=policy, seed=seed) as made:
        args = layout.FloodArgs(view(ring, made.tickets), made.next, made.stop, records, words)
        made.stream.launch(made.kernel("motiflux_flood"), 3, 64, 0, args)
        out = read_rows(reader, records, words)
        made.stream.wait()
        assert reader.read(out) == 0
        assert reader.position == -(-records // 32) == made.words[0] == made.words[1]
    numbers = np.arange(records, dtype=np.uint64)[:, None] + np.arange(words, dtype=np.uint64) * GOLDEN
    assert (out[np.argsort(out[:, 0])] == numbers.astype(np.uint32)).all()


@pytest.mark.turns(8)
def test_packets_of_a_flood_hold_what_fits_into_a_slot() -> None:
    ring = RingMemory(slots=2, slot_bytes=64, record_words=3)
    reader = ring.reader()
    with kernels() as made:
        args = layout.FloodArgs(view(ring, made.tickets), made.next, made.stop, 101, 3)
        made.stream.launch(made.kernel("motiflux_flood"), 1, 32, 0, args)
        out = read_rows(reader, 101, 3)
        made.stream.wait()
    assert (out[:, 0] == np.arange(101)).all()
    assert reader.position == -(-101 // 5)


@pytest.mark.turns(8)
def test_a_flood_that_nobody_reads_ends_when_told_to() -> None:
    ring = RingMemory(slots=2, slot_bytes=32 * 8)
    with kernels() as made:
        args = layout.FloodArgs(view(ring, made.tickets), made.next, made.stop, 1 << 40, 2)
        made.stream.launch(made.kernel("motiflux_flood"), 2, 64, 0, args)
        first = read_rows(ring.reader(), 100, 2)
        made.words[5] = 1
        made.stream.wait()
        assert len(np.unique(first[:, 0])) == 100
        # Who had reserved has published.
        issued = int(made.words[1])
        assert sorted(int(word) >> 8 for word in ring.published) == [issued - 1, issued]


@pytest.mark.turns(8)
@pytest.mark.parametrize(("policy", "seed"), in_turn(2, SCHEDULES))
def test_an_echo_comes_back_until_the_stop_word(policy: str, seed: int) -> None:
    there, back = RingMemory(slots=2), RingMemory(slots=2)
    writer, reader = there.writer(), back.reader()
    with kernels(policy=policy, seed=seed) as made:
        args = layout.EchoArgs(view(there), view(back, made.tickets), made.stop, 2)
        made.stream.launch(made.kernel("motiflux_echo"), 1, 32, 0, args)
        assert len(echo(reader, writer, 100, round_seconds=30)) == 100
        assert writer.try_write(np.full((1, 2), 0xFFFFFFFF, np.uint32))
        made.stream.wait()
    assert reader.position == 100
    assert there.tail[0] == writer.position == 101


def test_an_echo_that_nobody_reads_ends_when_told_to_and_the_next_one_goes_on() -> None:
    there, back = RingMemory(slots=8), RingMemory(slots=1)
    writer, reader = there.writer(), back.reader()
    sent = np.arange(10, dtype=np.uint32).reshape(5, 1, 2)
    with kernels() as made:
        args = layout.EchoArgs(view(there), view(back, made.tickets), made.stop, 2)
        for packet in sent:
            assert writer.try_write(packet)
        made.stream.launch(made.kernel("motiflux_echo"), 1, 32, 0, args)
        came = [read_rows(reader, 1, 2)]
        made.words[5] = 1
        made.stream.wait()
        answered = int(made.words[1])
        assert there.tail[0] == answered < 4
        made.words[5] = 0
        made.stream.launch(made.kernel("motiflux_echo"), 1, 32, 0, args)
        came.append(read_rows(reader, 4, 2))
        assert writer.try_write(np.full((1, 2), 0xFFFFFFFF, np.uint32))
        made.stream.wait()
    assert (np.concatenate(came) == sent.reshape(5, 2)).all()


@pytest.mark.parametrize("lanes", [8, 16, 32])
def test_groups_of_any_size_share_a_ring(lanes: int) -> None:
    packets, blocks, threads = 20, 2, 64
    groups = blocks * threads // lanes
    ring = RingMemory(slots=2, slot_bytes=7 * 16, record_words=4)
    reader = ring.reader()
    expected = {(group, packet): (group + packet) % 8 for group in range(groups) for packet in range(packets)}
    with kernels() as made:
        args = layout.FloodArgs(view(ring, made.tickets), made.next, made.stop, packets, 4)
        made.stream.launch(made.kernel(f"write_{lanes}"), blocks, threads, 0, args)
        out = read_rows(reader, sum(expected.values()), 4)
        made.stream.wait()
    assert (out[:, 2] == ~out[:, 3]).all()
    for group in range(groups):
        mine = out[out[:, 0] == group]
        places = [(packet, place) for packet in range(packets) for place in range(expected[group, packet])]
        assert [(int(row[1]), int(row[2])) for row in mine] == places


@pytest.mark.parametrize(("policy", "seed"), SCHEDULES)
def test_a_group_takes_packets_whole_and_in_order(policy: str, seed: int) -> None:
    packets = 200
    ring = RingMemory(slots=1, slot_bytes=5 * 12, record_words=3)
    writer = ring.writer()
    sent = [
        np.arange(60 * number, 60 * number + 3 * (number % 6), dtype=np.uint32) for number in range(packets)
    ]
    found = np.zeros(sum(map(len, sent)), np.uint64)
    with kernels(policy, seed) as made:
        args = layout.FloodArgs(view(ring), found.ctypes.data, made.stop, packets, 3)
        made.stream.launch(made.kernel("read_packets"), 1, 16, 0, args)
        for words in sent:
            while not writer.try_write(words.reshape(-1, 3)):
                time.sleep(0)
        made.stream.wait()
    assert (found == np.concatenate(sent)).all()


@pytest.mark.skipif(not HAS_NVRTC, reason="cuda.core is not installed")
@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_every_atomic_operation_compiles_for_a_gpu(arch: str) -> None:
    built = NvrtcToolchain(arch).build(Source("every-operation", EVERY_OPERATION), (HEADERS,))
    assert "warning" not in built.log


def test_every_atomic_operation_runs_in_the_emulator() -> None:
    words = np.zeros(16, np.uint64)
    with kernels() as made:
        at = words.ctypes.data
        made.stream.launch(made.kernel("every_operation"), 1, 1, 0, Addresses(at, at + 64, at))
        made.stream.wait()
    assert words[:1].any()
    assert words[8:].any()
