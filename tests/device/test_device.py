"""What every device does, whatever it is: memory, streams, marks, launches."""

from __future__ import annotations

import ctypes
import gc
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiflux.errors import DeviceError, DeviceMemoryError, InternalError, MotifluxError

if TYPE_CHECKING:
    from motiflux.device.base import Buffer, Device, Kernel, Mark, Stream

pytestmark = pytest.mark.devices("emulated", "cuda", reason="it has no kernels")

SPIN_LIMIT = 20_000_000
"""About so many microseconds, then a kernel that waits in vain gives up."""
PATIENCE = 60.0


class Job(ctypes.Structure):
    """The parameter of the test kernels."""

    _fields_ = [
        ("out", ctypes.c_uint64),
        ("in_", ctypes.c_uint64),
        ("flag", ctypes.c_uint64),
        ("operand", ctypes.c_uint64),
        ("count", ctypes.c_uint32),
        ("limit", ctypes.c_uint32),
    ]


Kernels = Callable[[str], "Kernel"]


def filled(gpu: Device, stream: Stream, array: np.ndarray[Any, Any]) -> Buffer:
    """Return device memory that holds an array."""
    buffer = gpu.allocate(array.nbytes, "a test")
    stream.upload(buffer, array)
    return buffer


def contents(stream: Stream, buffer: Buffer, count: int) -> list[int]:
    """Return what 64-bit words device memory holds, once work on the stream is done."""
    found = np.empty(count, np.uint64)
    stream.download(buffer, found)
    stream.wait()
    return [int(word) for word in found]


def settled(gpu: Device) -> int:
    """Return what is held, once nothing that others let go is on its way back."""
    gc.collect()
    used = gpu.used_memory()
    time.sleep(0.01)
    while (now := gpu.used_memory()) != used:
        used = now
        time.sleep(0.01)
    return used


def emptied(gpu: Device) -> int:
    """Return what is held once copies of graphs are given up: what other tests keep would make room."""
    gc.collect()
    with pytest.raises(DeviceMemoryError):
        gpu.allocate(8, "a test", budget=0)
    return settled(gpu)


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for something that is about to happen."""
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, "it does not happen"
        time.sleep(1e-4)


class Spinning:
    """A kernel that runs on a stream of its own until it is told to stop."""

    def __init__(self, gpu: Device, kernel: Kernels) -> None:
        self.stream = gpu.stream()
        self.host = gpu.allocate_host(64, "a test")
        self.words = self.host.array.view(np.uint64)
        start = self.host.address
        self.stream.launch(kernel("spin"), 1, 32, 0, Job(start, 0, start + 32, 0, 0, SPIN_LIMIT))
        self.mark = self.stream.mark()
        wait_until(lambda: bool(self.words[0]))

    def stop(self) -> None:
        """Stop it, and check that it was running until now."""
        running = not self.mark.done()
        self.words[4] = 1
        self.stream.close()
        assert running
        assert self.words[1] == 1


class TestMemory:
    def test_what_is_uploaded_is_downloaded(self, gpu: Device, stream: Stream) -> None:
        for dtype in (np.uint8, np.int32, np.float64, np.bool_):
            array = (np.arange(1000) % 120).astype(dtype).reshape(10, 100)
            buffer = filled(gpu, stream, array)
            found = np.empty_like(array)
            stream.download(buffer, found)
            stream.wait()
            assert np.array_equal(found, array)

    def test_copies_start_where_they_are_told(self, gpu: Device, stream: Stream) -> None:
        buffer = gpu.allocate(80, "a test")
        stream.clear(buffer)
        stream.upload(buffer, np.array([5, 6, 7], np.uint64), offset=24)
        assert contents(stream, buffer, 10) == [0, 0, 0, 5, 6, 7, 0, 0, 0, 0]
        part = np.empty(2, np.uint64)
        stream.download(buffer, part, offset=32)
        stream.wait()
        assert part.tolist() == [6, 7]

    def test_a_part_can_be_cleared(self, gpu: Device, stream: Stream) -> None:
        buffer = filled(gpu, stream, np.arange(1, 7, dtype=np.uint64))
        stream.clear(buffer, offset=8, nbytes=16)
        assert contents(stream, buffer, 6) == [1, 0, 0, 4, 5, 6]
        stream.clear(buffer, offset=32)
        assert contents(stream, buffer, 6) == [1, 0, 0, 4, 0, 0]
        stream.clear(buffer, nbytes=0)
        assert contents(stream, buffer, 1) == [1]

    def test_large_copies_from_memory_that_is_not_pinned(self, gpu: Device, stream: Stream) -> None:
        array = np.random.default_rng(1).integers(0, 2**63, 4 * 2**20, dtype=np.uint64)
        buffer = filled(gpu, stream, array)
        found = np.empty_like(array)
        stream.download(buffer, found)
        stream.wait()
        assert np.array_equal(found, array)

    def test_no_bytes_are_copied_without_ado(self, gpu: Device, stream: Stream) -> None:
        buffer = gpu.allocate(0, "a test")
        stream.upload(buffer, np.empty(0, np.uint32))
        stream.download(buffer, np.empty(0, np.uint32))
        stream.clear(buffer)
        stream.wait()
        assert buffer.nbytes == 0

    @pytest.mark.parametrize(("count", "offset"), [(3, 0), (1, 16), (1, -8), (2, 8)])
    def test_copies_beyond_the_buffer_are_refused(
        self, gpu: Device, stream: Stream, count: int, offset: int
    ) -> None:
        buffer = gpu.allocate(16, "a test")
        with pytest.raises(MotifluxError):
            stream.upload(buffer, np.zeros(count, np.uint64), offset)
        with pytest.raises(MotifluxError):
            stream.download(buffer, np.zeros(count, np.uint64), offset)
        with pytest.raises(MotifluxError):
            stream.clear(buffer, offset, 8 * count)

    def test_arrays_with_gaps_are_refused(self, gpu: Device, stream: Stream) -> None:
        buffer = gpu.allocate(64, "a test")
        with pytest.raises(MotifluxError, match="contiguous"):
            stream.upload(buffer, np.arange(16)[::2])

    def test_a_closed_buffer_is_not_used(self, gpu: Device, stream: Stream) -> None:
        buffer = gpu.allocate(8, "a test")
        buffer.close()
        buffer.close()
        with pytest.raises(InternalError):
            stream.upload(buffer, np.zeros(1, np.uint64))

    def test_memory_is_given_back_when_closed_or_collected(self, gpu: Device, stream: Stream) -> None:
        before = settled(gpu)
        closed, collected = gpu.allocate(1 << 20, "a test"), gpu.allocate(1 << 19, "a test")
        stream.clear(collected)
        assert gpu.used_memory() == before + (1 << 20) + (1 << 19)
        closed.close()
        wait_until(lambda: gpu.used_memory() == before + (1 << 19))
        del collected
        gc.collect()
        wait_until(lambda: gpu.used_memory() == before)

    @pytest.mark.turns(8, "emulated")
    def test_memory_in_use_is_not_given_to_another(self, gpu: Device, kernel: Kernels) -> None:
        before = settled(gpu)
        spinning = Spinning(gpu, kernel)
        buffer = gpu.allocate(1 << 20, "a test")
        spinning.stream.clear(buffer)
        buffer.close()
        assert gpu.used_memory() == before + (1 << 20)
        spinning.stop()
        wait_until(lambda: gpu.used_memory() == before)

    def test_a_budget_that_is_passed_leaves_the_device_usable(self, gpu: Device, stream: Stream) -> None:
        used = emptied(gpu)
        held = gpu.allocate(600, "a test")
        with pytest.raises(DeviceMemoryError, match="a table") as refused:
            gpu.allocate(500, "a table", budget=used + 1000)
        assert (refused.value.needed, refused.value.available) == (500, 400)
        assert gpu.used_memory() == used + 600
        held.close()
        buffer = gpu.allocate(504, "a table", budget=used + 1000)
        stream.clear(buffer)
        assert contents(stream, buffer, 63) == [0] * 63

    def test_more_than_the_device_has_leaves_it_usable(self, gpu: Device, stream: Stream) -> None:
        used, free = emptied(gpu), gpu.free_memory()
        with pytest.raises(DeviceMemoryError, match="a huge table") as refused:
            gpu.allocate(4 * free + (1 << 40), "a huge table")
        assert refused.value.available <= 2 * free
        assert gpu.used_memory() == used
        assert contents(stream, filled(gpu, stream, np.arange(9, dtype=np.uint64)), 9) == list(range(9))

    def test_reclaimers_give_back_before_memory_is_refused(self, gpu: Device) -> None:
        used = emptied(gpu)
        cached = [gpu.allocate(800, "an upload")]

        def reclaim(missing: int) -> int:
            freed = sum(buffer.nbytes for buffer in cached)
            while cached:
                cached.pop().close()
            return freed

        gpu.add_reclaimer(reclaim)
        buffer = gpu.allocate(700, "a table", budget=used + 1000)
        assert not cached
        assert gpu.used_memory() == used + 700
        buffer.close()

    def test_free_memory_goes_down_by_what_is_taken(self, gpu: Device) -> None:
        settled(gpu)
        before = gpu.free_memory()
        size = 64 << 20
        buffer = gpu.allocate(size, "a test")
        assert gpu.free_memory() <= before - size
        buffer.close()
        assert gpu.free_memory() >= before - (8 << 20)


class TestHostMemory:
    def test_it_is_zeroed(self, gpu: Device) -> None:
        assert not gpu.allocate_host(5000, "a test").array.any()
        gpu.allocate_host(5000, "a test", clear=False).array[:] = 1  # whatever it held

    def test_kernels_read_and_write_it(self, gpu: Device, stream: Stream, kernel: Kernels) -> None:
        host = gpu.allocate_host(160, "a test")
        words = host.array.view(np.uint64)
        words[:10] = np.arange(10)
        stream.launch(kernel("add"), 1, 32, 0, Job(host.address + 80, host.address, 0, 7, 10, 0))
        stream.wait()
        assert words[10:].tolist() == list(range(7, 17))

    def test_copies_to_and_from_it_are_quick_to_enqueue(
        self, gpu: Device, stream: Stream, kernel: Kernels
    ) -> None:
        spinning = Spinning(gpu, kernel)
        host = gpu.allocate_host(80, "a test")
        buffer = gpu.allocate(80, "a test")
        host.array.view(np.uint64)[:] = 3
        spinning.stream.upload(buffer, host.array)
        spinning.stream.download(buffer, host.array)
        spinning.stop()
        assert host.array.view(np.uint64).tolist() == [3] * 10


class TestMemoryOfOthers:
    def test_kernels_read_it_where_it_is(self, gpu: Device, stream: Stream, kernel: Kernels) -> None:
        memory = np.zeros(3 * 4096, np.uint8)
        first = -memory.ctypes.data % 4096  # whole pages
        words = memory[first : first + 8192].view(np.uint64)
        words[:] = np.arange(1024)
        registered = gpu.register_host(words.ctypes.data, words.nbytes, "a test", memory)
        out = gpu.allocate(80, "a test")
        job = Job(out.address, registered.address + 8000, 0, 7, 10, 0)
        stream.launch(kernel("add"), 1, 32, 0, job)
        assert contents(stream, out, 10) == list(range(1007, 1017))
        words[1000] = 5  # what the host writes is there for the next kernel
        stream.launch(kernel("add"), 1, 32, 0, job)
        assert contents(stream, out, 1) == [12]
        with pytest.raises(DeviceError):
            gpu.register_host(words.ctypes.data + 4096, 4096, "a test", memory)
        registered.close()

        def can_be_registered_again() -> bool:
            gpu.used_memory()  # releases what no running work needs
            try:
                gpu.register_host(words.ctypes.data + 4096, 4096, "a test", memory).close()
            except DeviceError:
                return False
            return True

        wait_until(can_be_registered_again)


class TestStreams:
    def test_a_running_kernel_is_stopped_from_another_stream(
        self, gpu: Device, stream: Stream, kernel: Kernels
    ) -> None:
        out, flag = gpu.allocate(16, "a test"), gpu.allocate(4, "a test")
        stream.clear(out)
        stream.clear(flag)
        stream.wait()
        stream.launch(kernel("spin"), 1, 1, 0, Job(out.address, 0, flag.address, 0, 0, SPIN_LIMIT))
        mark = stream.mark()
        other = gpu.stream()
        wait_until(lambda: contents(other, out, 1) == [1])
        assert not mark.done()
        other.upload(flag, np.ones(1, np.uint32))
        other.wait()
        wait_until(mark.done)
        assert contents(stream, out, 2) == [1, 1]
        other.close()

    def test_streams_run_side_by_side(self, gpu: Device, kernel: Kernels) -> None:
        first, second = Spinning(gpu, kernel), Spinning(gpu, kernel)
        second.stop()
        first.stop()

    def test_work_on_one_stream_is_done_in_order(self, gpu: Device, stream: Stream, kernel: Kernels) -> None:
        buffer = filled(gpu, stream, np.arange(1000, dtype=np.uint64))
        for _ in range(50):
            job = Job(buffer.address, buffer.address, 0, 1, 1000, 0)
            stream.launch(kernel("add"), 8, 128, 0, job)
        assert contents(stream, buffer, 1000) == list(range(50, 1050))

    @pytest.mark.parametrize("what", ["allocate", "free", "pin", "unpin", "load", "stream", "copy", "launch"])
    def test_nothing_waits_for_a_kernel_that_runs_elsewhere(
        self, gpu: Device, stream: Stream, kernel: Kernels, image: bytes, what: str
    ) -> None:
        if what == "load" and gpu.name == "cuda":
            pytest.skip("CUDA loads a module only once running kernels have ended")
        buffer = gpu.allocate(1 << 20, "a test")
        stream.clear(buffer)
        stream.wait()
        pinned: Any = gpu.allocate_host(4096, "a test")
        add = kernel("add")
        spinning = Spinning(gpu, kernel)
        if what == "allocate":
            gpu.allocate(256 << 20, "a test")
        elif what == "free":
            used = settled(gpu)
            buffer.close()
            wait_until(lambda: gpu.used_memory() == used - (1 << 20))
        elif what == "pin":
            gpu.allocate_host(1 << 20, "a test")
        elif what == "unpin":
            pinned = None
            gc.collect()
            gpu.used_memory()
        elif what == "load":
            gpu.load(image, "again").kernel("turn_around")
        elif what == "stream":
            gpu.stream().close()
        elif what == "copy":
            assert contents(stream, buffer, 10) == [0] * 10
        else:
            stream.launch(add, 1, 32, 0, Job(buffer.address, buffer.address, 0, 1, 10, 0))
            assert contents(stream, buffer, 10) == [1] * 10
        spinning.stop()
        del pinned

    def test_later_work_follows_a_mark_of_another_stream(
        self, gpu: Device, stream: Stream, kernel: Kernels
    ) -> None:
        buffer = filled(gpu, stream, np.zeros(4, np.uint64))
        spinning = Spinning(gpu, kernel)
        stream.upload(buffer, np.ones(2, np.uint64))
        before = stream.mark()
        stream.follow(spinning.mark)
        stream.upload(buffer, np.full(2, 2, np.uint64), 16)
        behind = stream.mark()
        wait_until(before.done)
        assert contents(gpu.stream(), buffer, 4) == [1, 1, 0, 0]
        assert not behind.done()
        spinning.stop()
        stream.wait()
        assert contents(stream, buffer, 4) == [1, 1, 2, 2]

    def test_work_that_follows_a_mark_that_is_done_begins_at_once(self, gpu: Device, stream: Stream) -> None:
        mark = gpu.stream().mark()
        wait_until(mark.done)
        stream.follow(mark)
        stream.wait()

    def test_only_marks_of_the_device_are_followed(self, stream: Stream) -> None:
        wrong: Any = object()
        with pytest.raises(InternalError, match="expected one of this device, found object"):
            stream.follow(wrong)

    def test_a_closed_stream_may_be_closed_again(self, gpu: Device) -> None:
        stream = gpu.stream()
        stream.close()
        stream.close()


class TestMarks:
    def test_a_mark_is_done_after_what_came_before(self, gpu: Device, kernel: Kernels) -> None:
        spinning = Spinning(gpu, kernel)
        mark = spinning.stream.mark()
        assert not mark.done()
        spinning.stop()
        assert mark.done()

    def test_marks_know_the_time_between_them(self, gpu: Device, stream: Stream, kernel: Kernels) -> None:
        out = gpu.allocate(16, "a test")
        flag = gpu.allocate(4, "a test")
        stream.clear(flag)
        first = stream.mark()
        stream.launch(kernel("spin"), 1, 1, 0, Job(out.address, 0, flag.address, 0, 0, 2000))
        second = stream.mark()
        stream.wait()
        assert 0.5 < second.milliseconds_since(first) < 1000 * PATIENCE
        assert second.milliseconds_since(second) == 0

    def test_the_time_to_a_mark_that_is_not_done_is_not_known(self, gpu: Device, kernel: Kernels) -> None:
        spinning = Spinning(gpu, kernel)
        early = gpu.stream().mark()
        wait_until(early.done)
        late: Mark = spinning.stream.mark()
        with pytest.raises(InternalError):
            late.milliseconds_since(early)
        spinning.stop()


class TestKernels:
    def test_a_structure_is_passed_by_value(self, gpu: Device, stream: Stream, kernel: Kernels) -> None:
        buffer = filled(gpu, stream, np.arange(300, dtype=np.uint64))
        job = Job(buffer.address, buffer.address, 0, 2**40, 300, 0)
        stream.launch(kernel("add"), 3, 128, 0, job)
        job.operand = 0  # too late to matter
        del job
        assert contents(stream, buffer, 300) == [2**40 + i for i in range(300)]

    def test_all_the_shared_memory_of_a_block_can_be_used(
        self, gpu: Device, stream: Stream, kernel: Kernels
    ) -> None:
        turn = kernel("turn_around")
        buffer = filled(gpu, stream, np.arange(512, dtype=np.uint64))
        out = gpu.allocate(4096, "a test")
        for shared in (256 * 8, gpu.shared_per_block):
            stream.clear(out)
            stream.launch(turn, 2, 256, shared, Job(out.address, buffer.address, 0, 0, 512, 0))
            assert contents(stream, out, 512) == [*range(255, -1, -1), *range(511, 255, -1)]

    @pytest.mark.parametrize(("stopping", "expected"), [(0, 1000), (1, 32)])
    def test_a_warp_that_goes_through_rows_hears_soon_that_it_is_to_stop(
        self, gpu: Device, stream: Stream, kernel: Kernels, stopping: int, expected: int
    ) -> None:
        """One root of tables may have millions of rows to go through: 32 are begun at a time."""
        out = filled(gpu, stream, np.zeros(64, np.uint64))
        job = Job(out.address, out.address, 0, stopping, 1000, 0)
        stream.launch(kernel("stop_among_parts"), 1, 32, 0, job)
        assert contents(stream, out, 1) == [expected]

    def test_more_shared_memory_than_there_is_is_refused(
        self, gpu: Device, stream: Stream, kernel: Kernels
    ) -> None:
        turn = kernel("turn_around")
        buffer = filled(gpu, stream, np.arange(256, dtype=np.uint64))
        job = Job(buffer.address, buffer.address, 0, 0, 256, 0)
        with pytest.raises(DeviceError, match="shared memory"):
            stream.launch(turn, 1, 256, gpu.shared_per_block + 1, job)
        assert turn.blocks_per_multiprocessor(256, gpu.shared_per_block + 1) == 0
        stream.launch(turn, 1, 256, 2048, job)
        assert contents(stream, buffer, 2) == [255, 254]

    @pytest.mark.parametrize(("grid", "block"), [(0, 32), (1, 0), (1, 2048), (2**31, 32)])
    def test_grids_and_blocks_have_bounds(
        self, stream: Stream, kernel: Kernels, grid: int, block: int
    ) -> None:
        with pytest.raises(MotifluxError):
            stream.launch(kernel("add"), grid, block, 0, Job())
        stream.wait()

    def test_blocks_that_run_at_once_are_known(self, kernel: Kernels) -> None:
        add = kernel("add")
        assert add.name == "add"
        assert add.blocks_per_multiprocessor(128, 0) >= 1
        assert add.blocks_per_multiprocessor(128, 0) >= add.blocks_per_multiprocessor(1024, 0)

    def test_an_entry_point_that_is_not_there_is_a_defect(self, kernel: Kernels) -> None:
        with pytest.raises(InternalError, match="multiply"):
            kernel("multiply")

    def test_what_is_no_image_is_refused(self, gpu: Device, stream: Stream) -> None:
        for wrong in (b"", b"not an image", b"\x7fELF" + bytes(200)):
            with pytest.raises(DeviceError, match="example"):
                gpu.load(wrong, "example")
        stream.wait()

    def test_a_kernel_keeps_its_module_loaded(self, gpu: Device, stream: Stream, image: bytes) -> None:
        add = gpu.load(image, "the test kernels").kernel("add")
        gc.collect()
        gpu.used_memory()
        buffer = filled(gpu, stream, np.zeros(4, np.uint64))
        stream.launch(add, 1, 32, 0, Job(buffer.address, buffer.address, 0, 9, 4, 0))
        assert contents(stream, buffer, 4) == [9] * 4
