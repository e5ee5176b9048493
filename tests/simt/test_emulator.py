"""What kernels may rely on in the emulator, and what it reports."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from motiflux.errors import DeviceError, DeviceMemoryError, InternalError
from tests.simt.emulated import EmulatedDevice, GxxToolchain, Scheduling, open_emulated, sanitizer_environment
from tests.simt.harness import Arguments, Words, image, kernel, run, with_seed

REPOSITORY = Path(__file__).resolve().parents[2]
LANES = np.arange(32)
ALL = 0xFFFFFFFF
SCHEDULES = [("random", 1), ("random", 2), ("lowest", 1), ("highest", 1)]


def _values(seed: int = 0, bits: int = 64) -> Words:
    return np.random.default_rng(seed).integers(0, 2**bits, 32, dtype=np.uint64)


def _mask_lanes(mask: int) -> list[int]:
    return [lane for lane in range(32) if mask >> lane & 1]


@pytest.mark.turns(8)
@pytest.mark.parametrize("width", [1, 2, 4, 8, 16, 32])
@pytest.mark.parametrize("operand", [0, 1, 3, 8, 31, 37])
def test_shuffles_read_the_lanes_that_ptx_says(width: int, operand: int) -> None:
    values = _values(operand)
    found = run("collectives", "shuffles", 128, given=values, operand=operand, width=width).reshape(4, 32)
    first, amount = LANES // width * width, operand % 32
    last = first + width - 1
    for row, source in zip(
        found,
        [
            first + amount % width,
            np.where(LANES - amount >= first, LANES - amount, LANES),
            np.where(LANES + amount <= last, LANES + amount, LANES),
            np.where(LANES ^ amount <= last, LANES ^ amount, LANES),
        ],
        strict=True,
    ):
        assert (row == values[source]).all()


def test_shuffles_keep_every_type_as_it_is() -> None:
    values = _values(bits=63)
    found = run("collectives", "shuffled_types", 160, given=values).reshape(5, 32)
    other = values[LANES ^ 1].astype(np.int64)
    assert (found[0].view(np.int64) == other.astype(np.int32)).all()
    assert (found[1] == other.astype(np.uint32)).all()
    assert (found[2].view(np.int64) == other).all()
    assert (found[3].view(np.float64) == other.astype(np.float32)).all()
    assert (found[4].view(np.float64) == other.astype(np.float64)).all()


@pytest.mark.parametrize("mask", [ALL, 0xFF, 0x80000001, 0x00F0F000, 1 << 17])
def test_votes_and_reductions_are_over_the_lanes_of_the_mask(mask: int) -> None:
    values = _values(3, bits=32)
    lanes = _mask_lanes(mask)
    found = run("collectives", "votes", 384, given=values, mask=mask).reshape(12, 32)[:, lanes]
    ours = values[lanes].astype(np.uint32)
    odd = ours % 2 == 1
    expected = [
        sum(1 << lane for lane, yes in zip(lanes, odd, strict=True) if yes),
        *(int(odd.any()), int(odd.all()), None),
        *(ours.sum(dtype=np.uint32), ours.min(), ours.max()),
        *(ours.view(np.int32).min().view(np.uint32), ours.view(np.int32).max().view(np.uint32)),
        *(ufunc.reduce(ours) for ufunc in (np.bitwise_and, np.bitwise_or, np.bitwise_xor)),
    ]
    for row, value in zip(found, expected, strict=True):
        assert value is None or (row == value).all()
    for at, rest in enumerate(ours % 5):
        same = [lane for lane, other in zip(lanes, ours % 5, strict=True) if other == rest]
        assert found[3, at] == sum(1 << lane for lane in same)


@pytest.mark.parametrize(("policy", "seed"), SCHEDULES)
def test_groups_of_eight_lanes_do_not_wait_for_each_other(policy: str, seed: int) -> None:
    found = run("collectives", "groups_apart", 32, device=with_seed(seed, policy))
    for lane in range(32):
        rounds = range(lane // 8 * 7 + 1)
        assert found[lane] == sum((lane // 8 * 8 + number % 8) * 1000 + number for number in rounds)


@pytest.mark.parametrize(("policy", "seed"), SCHEDULES)
def test_lanes_may_be_ahead_at_a_collective_of_the_whole_warp(policy: str, seed: int) -> None:
    assert (run("collectives", "lanes_ahead", 64, device=with_seed(seed, policy))[32:] == 0xFF).all()


def test_lanes_run_in_the_same_order_under_one_seed_and_in_another_under_another() -> None:
    orders = [run("collectives", "racy", 256, grid=4, block=64, device=with_seed(seed)) for seed in (1, 1, 2)]
    assert (orders[0] == orders[1]).all()
    assert (orders[0] != orders[2]).any()
    assert (orders[0][:64] != orders[0][64:128]).any()
    assert (np.sort(orders[2].reshape(4, 64)) == np.arange(64)).all()


def test_a_policy_may_run_the_lowest_or_the_highest_lane_first() -> None:
    assert (run("collectives", "racy", 64, block=64, device=with_seed(1, "lowest")) == np.arange(64)).all()
    assert (
        run("collectives", "racy", 64, block=64, device=with_seed(1, "highest")) == np.arange(64)[::-1]
    ).all()


def test_a_forgotten_syncwarp_shows() -> None:
    right = (LANES + 1) % 32 + 1
    for policy in ("random", "lowest", "highest"):
        assert (run("collectives", "forgets_to_sync", 32, device=with_seed(1, policy)) != right).any()


@pytest.mark.turns(8)
def test_blocks_have_shared_memory_of_their_own() -> None:
    found = run("memory", "turn_around", 2560, grid=20, block=128, shared=128 * 8)
    assert (found.reshape(20, 128)[:, ::-1].ravel() == np.arange(2560)).all()


@pytest.mark.turns(8)
def test_a_block_may_have_1024_threads() -> None:
    found = run("memory", "turn_around", 2048, grid=2, block=1024, shared=1024 * 8)
    assert (found.reshape(2, 1024)[:, ::-1].ravel() == np.arange(2048)).all()


def test_shared_memory_is_not_zero_when_a_block_starts() -> None:
    assert (run("memory", "look_first", 20, grid=10, block=1, shared=8) == 0xA5A5A5A5A5A5A5A5).all()


def test_atomics_of_many_blocks_lose_nothing() -> None:
    count = 8 * 96
    found = run("memory", "atomics", 11, grid=8, block=96)
    numbers = np.arange(count, dtype=np.uint64)
    assert found[0] == numbers.sum()
    assert (found[1], found[2], found[3], found[4]) == (count - 1, 0, 2**64 - 1, 0)
    assert found[5] == np.bitwise_xor.reduce(numbers)
    assert found[6] + found[7] == numbers.sum()
    assert (found[8], found[9]) == (2 * count, count)
    assert found[10:].view(np.float64)[0] == count / 2


def test_resident_blocks_run_side_by_side() -> None:
    assert run("memory", "take_turns", 1, grid=2, block=1, count=50)[0] == 100


WRONG = {
    "lane_not_in_its_mask": "lane 5: __syncwarp with mask 0x000000df, which does not name the lane itself",
    "different_masks": r"__ballot_sync of 4 bytes with mask 0x0000(00|ff)ff, but lanes 0x\w+ wait for it in",
    "different_kinds": r"(__ballot_sync|__syncwarp) of . bytes .* wait for it in (__ballot_sync|__syncwarp)",
    "different_sizes": r"__shfl_sync of . bytes .* wait for it in __shfl_sync of . bytes",
    "one_lane_returns": r"lane 4: returned, but lanes 0x|of which lanes 0x00000010 have returned",
    "reads_another_group": r"lane \d+ reads lane 3 in __shfl_sync, which mask 0x\w+ does not name",
    "width_of_three": "__shfl_sync with width 3; it is a power of two up to 32",
    "asserts": r"block 0, warp 0, lane \d+: assertion failed: threadIdx.x < args.count",
    "traps": r"block 0, warp 0, lane 2: __trap\(\)",
}


@pytest.mark.turns(8)
@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_reported_and_the_device_goes_on(name: str) -> None:
    device = EmulatedDevice()
    for _ in range(2):
        with pytest.raises(DeviceError, match=rf"(?s)kernel {name}: .*{WRONG[name]}"):
            run("wrong", name, 32, device=device, count=3)
        assert (run("wrong", "does_nothing_wrong", 32, device=device) == 0xAAAAAAAA).all()


def test_a_lane_outside_of_a_warp_that_is_not_full_is_reported() -> None:
    with pytest.raises(DeviceError, match="of which lanes 0xff000000 have returned or never were"):
        run("wrong", "does_nothing_wrong", 32, block=24)


def test_a_deadlock_is_reported_with_where_all_wait() -> None:
    with pytest.raises(DeviceError) as found:
        run("wrong", "waits_at_two_places", 32, block=64)
    assert "deadlock" in str(found.value)
    assert "warp 0: lanes 0xffffffff wait in __syncthreads" in str(found.value)
    assert "warp 1: lanes 0x55555555 wait in __syncwarp with mask 0xffffffff" in str(found.value)
    assert "warp 1: lanes 0xaaaaaaaa wait in __syncthreads" in str(found.value)


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (Scheduling(stall_seconds=0.1), "has spun for 0.1"),
        (Scheduling(launch_seconds=0.1), "has run for 0.1"),
        (Scheduling(idle_yields=5000), "scheduling points of the block led nowhere"),
    ],
    ids=["stall", "launch", "yields"],
)
def test_threads_that_spin_for_too_long_are_stopped(limits: Scheduling, said: str) -> None:
    device = EmulatedDevice(scheduling=limits)
    with pytest.raises(DeviceError, match=rf"watchdog: .*{said}"):
        run("memory", "spin_forever", 1, device=device)
    assert run("memory", "take_turns", 1, grid=2, block=1, count=1, device=device)[0] == 2


@pytest.mark.parametrize(("policy", "seed"), SCHEDULES[1:3])
def test_a_kernel_waits_for_the_host_while_another_stream_goes_on(policy: str, seed: int) -> None:
    device = with_seed(seed, policy)
    waiting, other = device.stream(), device.stream()
    flag, count = device.allocate_host(8, "a flag"), device.allocate(8, "a count")
    waiting.clear(count)
    argument = Arguments(count.address, flag.address)
    waiting.launch(kernel("memory", "wait_for_host", device), 2, 64, 0, argument)
    mark = waiting.mark()
    scratch, read = device.allocate(8, "scratch"), np.zeros(1, np.uint64)
    other.upload(scratch, np.array([41], np.uint64))
    other.download(scratch, read)
    other.wait()
    assert read[0] == 41
    assert not mark.done()
    flag.array.view(np.uint64)[0] = 1
    waiting.download(count, read)
    waiting.wait()
    assert mark.done()
    assert read[0] == 128
    other.close()
    waiting.close()


def test_a_failure_is_told_by_marks_and_skips_what_follows_until_it_is_waited_for() -> None:
    device = EmulatedDevice()
    stream, out = device.stream(), device.allocate(32 * 8, "output")
    read = np.zeros(32, np.uint64)
    stream.launch(kernel("wrong", "traps", device), 1, 32, 0, Arguments(out.address))
    stream.download(out, read)
    mark = stream.mark()
    with pytest.raises(DeviceError, match="__trap"):
        stream.wait()
    with pytest.raises(DeviceError, match="__trap"):
        mark.done()
    assert (read == 0).all()
    stream.download(out, read)
    stream.wait()
    assert (read == 0xCDCDCDCDCDCDCDCD).all()
    stream.close()


def test_a_kernel_that_is_not_there_and_a_launch_that_cannot_be_are_refused() -> None:
    device = EmulatedDevice()
    with pytest.raises(InternalError, match="expected kernel nothing, found none"):
        kernel("wrong", "nothing", device)
    good, stream = kernel("wrong", "traps", device), device.stream()
    assert good.blocks_per_multiprocessor(32, 0) == 1
    assert good.blocks_per_multiprocessor(32, device.shared_per_block + 1) == 0
    for grid, block, shared in [(0, 32, 0), (1, 0, 0), (1, 1025, 0), (1, 32, device.shared_per_block + 1)]:
        with pytest.raises(DeviceError, match="kernel traps: expected"):
            stream.launch(good, grid, block, shared, Arguments())
    stream.close()
    with pytest.raises(DeviceError, match="cannot be loaded"):
        device.load(b"not a library", "text")


def test_memory_is_limited_and_comes_back_when_no_stream_needs_it_any_more() -> None:
    device = EmulatedDevice(memory=1000)
    stream, first = device.stream(), device.allocate(600, "a table")
    flag, count = device.allocate_host(8, "a flag"), device.allocate(8, "a count")
    with pytest.raises(DeviceMemoryError, match="another: expected 600 bytes of device memory, found 392"):
        device.allocate(600, "another")
    with pytest.raises(DeviceMemoryError, match="the budget gpu_memory is 700 bytes"):
        device.allocate(200, "another", budget=700)
    stream.launch(kernel("memory", "wait_for_host", device), 1, 32, 0, Arguments(count.address, flag.address))
    first.close()
    assert device.used_memory() == 608
    flag.array[0] = 1
    stream.wait()
    assert (device.used_memory(), device.free_memory()) == (8, 992)
    with pytest.raises(InternalError, match="used after it was closed"):
        stream.clear(first)
    with pytest.raises(InternalError, match="found 8 bytes at 1"):
        stream.upload(count, np.zeros(1, np.uint64), 1)
    device.add_reclaimer(lambda missing: count.close() or 8)
    device.allocate(996, "all of it").close()
    stream.close()


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_the_thread_of_a_stream_ends_with_it_although_nobody_looks() -> None:
    device = EmulatedDevice(name="emulated")
    stream, given = device.stream(), np.arange(1000, dtype=np.uint32)
    buffer = device.allocate(given.nbytes, "a test")
    stream.upload(buffer, given)
    before = threading.active_count()
    del stream
    until = time.monotonic() + 10
    while threading.active_count() == before:
        assert time.monotonic() < until
        time.sleep(1e-3)
    buffer.close()
    assert not device._retirement.drain(10.0), "memory is freed, too"
    assert device.used_memory() == 0


def test_a_child_of_a_fork_gets_a_device_of_its_own() -> None:
    ours = open_emulated()
    assert open_emulated() is ours
    child = os.fork()
    if child == 0:
        os._exit(0 if open_emulated() is not ours else 1)
    assert os.waitpid(child, 0)[1] == 0


def _graph(edges: int) -> tuple[Words, int, int]:
    """Return a graph for the kernel `triangles`, its number of vertices, and of triangles counted thrice."""
    vertices = edges // 10
    drawn = np.random.default_rng(7).integers(0, vertices, (2 * edges, 2))
    drawn = np.unique(np.sort(drawn[drawn[:, 0] != drawn[:, 1]], axis=1), axis=0)
    drawn = drawn[np.random.default_rng(8).permutation(len(drawn))[:edges]]
    both = np.concatenate([drawn, drawn[:, ::-1]])
    both = both[np.lexsort((both[:, 1], both[:, 0]))]
    starts = np.searchsorted(both[:, 0], np.arange(vertices + 1))
    matrix = np.zeros((vertices, vertices), np.float32)
    matrix[both[:, 0], both[:, 1]] = 1
    thrice = int(np.trace(matrix @ matrix @ matrix)) // 2
    return np.concatenate([starts, both[:, 1], drawn.ravel()]).astype(np.uint64), vertices, thrice


@pytest.mark.turns(8)
def test_a_warp_counts_the_triangles_of_an_edge() -> None:
    edges = 20_000
    graph, vertices, thrice = _graph(edges)
    run("memory", "take_turns", 1, grid=1, block=1, count=0)
    began = time.perf_counter()
    found = run("memory", "triangles", 1, given=graph, grid=64, block=128, count=edges, mask=vertices)
    print(f"{edges:,} edges, a warp each: {time.perf_counter() - began:.3f} s")
    assert found[0] == thrice


SANITIZED = {
    ("write_past_device_memory", 32): r"heap-buffer-overflow",
    ("write_past_shared_memory", 1): r"heap-buffer-overflow",
    ("write_past_stack", 1): r"stack-buffer-overflow",
    ("write_to_ended_thread", 0): r"use-after-poison",
    ("overflow", 0): r"memory.cu:\d+:\d+: runtime error: signed integer overflow",
    ("atomics", 0): "",
}


@pytest.fixture(scope="module")
def sanitized_image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sanitized") / "memory.so"
    path.write_bytes(image("memory", GxxToolchain(sanitize=True)))
    return path


@pytest.mark.turns(8)
@pytest.mark.skipif(
    platform.machine() != "x86_64", reason="elsewhere fibers are switched by ucontext, which hides stacks"
)
@pytest.mark.parametrize(("name", "count"), SANITIZED)
def test_the_sanitizers_find(name: str, count: int, sanitized_image: Path) -> None:
    command = [sys.executable, "-m", "tests.simt.harness", str(sanitized_image), name, str(count)]
    # Where the image is unpacked stays behind when a sanitizer ends the process.
    environment = {**sanitizer_environment(), "TMPDIR": str(sanitized_image.parent)}
    done = subprocess.run(
        command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False
    )
    finding = SANITIZED[name, count]
    if not finding:
        assert done.returncode == 0, done.stderr
        return
    assert done.returncode != 0
    assert re.search(finding, done.stderr), done.stderr
    assert f"{name} " in done.stderr or "memory.cu" in done.stderr


LEFT_RUNNING = """
import ctypes, sys
from pathlib import Path
from tests.simt.harness import Arguments, EmulatedDevice, kernel

libc = ctypes.CDLL(None)
# Called after the image's own destructors, since it is loaded later: the blocks go on meanwhile.
libc.__cxa_atexit(libc.usleep, ctypes.c_void_p(200_000), None)
device = EmulatedDevice()
out, given = device.allocate(4096, "output"), device.allocate(8, "input")
stream = device.stream()
argument = Arguments(out.address, given.address, count=0, mask=0xFFFFFFFF, operand=0, width=32)
stream.launch(kernel(Path(sys.argv[1]), "atomics", device), 1 << 30, 32, 0, argument)
print("over")
"""


@pytest.mark.turns(8)
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the sanitizers are used on x86-64 only")
def test_a_kernel_that_runs_while_the_process_ends_is_no_trouble(sanitized_image: Path) -> None:
    command = [sys.executable, "-c", LEFT_RUNNING, str(sanitized_image)]
    environment = {**sanitizer_environment(), "TMPDIR": str(sanitized_image.parent)}
    done = subprocess.run(
        command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "over\n", "")
