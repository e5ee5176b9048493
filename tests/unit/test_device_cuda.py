"""The CUDA device, over a driver whose device is host memory."""

from __future__ import annotations

import ctypes
import gc
import importlib
import os
import threading
import weakref
from typing import Any

import numpy as np
import pytest

from motiflux.device import cuda, cuda_driver, cuda_memory
from motiflux.device.base import NotPinnedError
from motiflux.device.cuda import CudaDevice
from motiflux.device.cuda_driver import CudaDriver
from motiflux.errors import ArgumentError, DeviceError, DeviceMemoryError, InternalError
from tests.device.fake_driver import FakeDriver, cubin

KIB = 1024


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    fake = FakeDriver()
    monkeypatch.setattr(cuda_driver, "import_bindings", lambda: fake)
    monkeypatch.setattr(cuda_memory, "_pieces", {})  # of the drivers of other tests
    return fake


@pytest.fixture
def gpu(driver: FakeDriver) -> CudaDevice:
    return cuda.open_device()


class Owner:
    """Memory belongs to it."""


class Three(ctypes.Structure):
    """A parameter of 24 bytes."""

    _fields_ = [("a", ctypes.c_uint64), ("b", ctypes.c_uint64), ("c", ctypes.c_uint64)]


class TestOpening:
    def test_missing_packages_are_said_with_how_to_install_them(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def missing(name: str) -> Any:
            raise ModuleNotFoundError(f"No module named {name!r}")

        monkeypatch.setattr(importlib, "import_module", missing)
        with pytest.raises(DeviceError, match=r"GPU packages.*pip install 'motiflux\[gpu\]'"):
            cuda.open_device()

    def test_a_missing_driver_is_said(self, driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
        def start(flags: int) -> int:
            raise RuntimeError("libcuda.so.1: cannot open shared object file")

        monkeypatch.setattr(driver, "cuInit", start)
        with pytest.raises(
            DeviceError, match=r"found no libcuda that works; install the driver.*cannot open"
        ):
            cuda.open_device()

    def test_a_driver_without_a_gpu_is_said(
        self, driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        driver.devices = 0
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
        with pytest.raises(DeviceError, match=r"finds no GPU.*CUDA_VISIBLE_DEVICES, which is '7'"):
            cuda.open_device()

    @pytest.mark.parametrize("version", [11080, 12000])
    def test_a_driver_older_than_cuda_12_1_is_refused(self, driver: FakeDriver, version: int) -> None:
        driver.version = version
        driver.CUDA_VERSION = 12090
        with pytest.raises(DeviceError, match=r"expected a driver that supports CUDA 12\.1.*530 or newer"):
            cuda.open_device()

    def test_packages_of_a_later_cuda_than_the_driver_are_refused(self, driver: FakeDriver) -> None:
        driver.version = 12080
        with pytest.raises(
            DeviceError, match=r"supports CUDA 12\.8.*for CUDA 13; install.*580.*cuda-core\[cu12\]"
        ):
            cuda.open_device()

    def test_any_driver_of_the_packages_major_version_will_do(self, driver: FakeDriver) -> None:
        driver.version, driver.CUDA_VERSION = 13000, 13050
        assert cuda.open_device().driver_cuda == "13.0"

    def test_a_gpu_that_is_too_old_is_refused(self, driver: FakeDriver) -> None:
        driver.attributes["COMPUTE_CAPABILITY_MAJOR"] = 7
        with pytest.raises(DeviceError, match=r"capability 7\.5 or more, found 7\.0 \(Example GPU\)"):
            cuda.open_device()

    def test_a_child_of_a_fork_is_told_so_by_the_driver(self, driver: FakeDriver) -> None:
        driver.fail["cuInit"] = 3
        with pytest.raises(DeviceError, match="a parent of this process used CUDA before it forked"):
            cuda.open_device()

    def test_a_gpu_that_is_not_there_is_refused(self, driver: FakeDriver) -> None:
        with pytest.raises(DeviceError, match="expected GPU 0 to 0, found 3"):
            cuda.open_device(3)

    def test_what_the_device_is(self, gpu: CudaDevice) -> None:
        assert (gpu.name, gpu.model, gpu.arch) == ("cuda", "Example GPU", "sm_90")
        assert (gpu.multiprocessors, gpu.shared_per_block, gpu.l2_bytes) == (132, 232_448, 50 * 2**20)

    def test_a_forked_child_must_not_use_it(self, gpu: CudaDevice, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "getpid", lambda: -1)
        for use in (gpu.use, gpu.free_memory, gpu.stream, lambda: gpu.allocate(8, "a table")):
            with pytest.raises(DeviceError, match="CUDA does not survive a fork"):
                use()


class TestMemory:
    def test_what_is_held_is_counted_until_closed_or_collected(
        self, gpu: CudaDevice, driver: FakeDriver
    ) -> None:
        first, second = gpu.allocate(1000, "a table"), gpu.allocate(500, "another")
        assert gpu.used_memory() == 1500 == driver.used()
        first.close()
        first.close()
        assert gpu.used_memory() == 500 == driver.used()
        del second
        gc.collect()
        assert gpu.used_memory() == 0 == driver.used()

    def test_a_closed_buffer_has_no_address(self, gpu: CudaDevice) -> None:
        buffer = gpu.allocate(8, "a table")
        buffer.close()
        with pytest.raises(InternalError, match="closed"):
            _ = buffer.address

    def test_no_bytes_are_memory_too(self, gpu: CudaDevice) -> None:
        buffer = gpu.allocate(0, "an empty table")
        assert buffer.nbytes == 0
        assert buffer.address
        assert gpu.used_memory() == 0

    @pytest.mark.parametrize("nbytes", [-1, 2.5, True])
    def test_sizes_that_are_none_are_refused(self, gpu: CudaDevice, nbytes: Any) -> None:
        with pytest.raises(ArgumentError, match="nbytes: expected"):
            gpu.allocate(nbytes, "a table")

    def test_the_budget_holds_over_everything(self, gpu: CudaDevice) -> None:
        held = gpu.allocate(600, "a table")
        with pytest.raises(
            DeviceMemoryError, match=r"another: expected 500 bytes.*found 400; .*gpu_memory"
        ) as e:
            gpu.allocate(500, "another", budget=1000)
        assert (e.value.needed, e.value.available) == (500, 400)
        assert gpu.used_memory() == 600
        held.close()
        gpu.allocate(500, "another", budget=1000)

    def test_a_full_device_is_said_and_stays_usable(self, gpu: CudaDevice, driver: FakeDriver) -> None:
        held = gpu.allocate(600 * KIB, "a table")
        with pytest.raises(DeviceMemoryError, match=r"another.*Example GPU.*motiflux holds 614,400") as e:
            gpu.allocate(600 * KIB, "another")
        assert e.value.available == 424 * KIB
        assert driver.counted("cuMemPoolTrimTo") == 1
        assert gpu.used_memory() == 600 * KIB
        held.close()
        gpu.allocate(600 * KIB, "another")

    def test_reclaimers_are_asked_before_memory_is_refused(self, gpu: CudaDevice) -> None:
        cached = [gpu.allocate(600 * KIB, "a cached upload")]
        asked: list[int] = []

        def reclaim(missing: int) -> int:
            asked.append(missing)
            freed = sum(buffer.nbytes for buffer in cached)
            for buffer in cached:
                buffer.close()
            cached.clear()
            return freed

        gpu.add_reclaimer(reclaim)
        first = gpu.allocate(700 * KIB, "a table")
        assert asked == [700 * KIB]
        assert gpu.used_memory() == first.nbytes
        first.close()
        cached.append(gpu.allocate(10 * KIB, "a cached upload"))
        gpu.allocate(15 * KIB, "a table", budget=20 * KIB)
        assert asked[1:] == [5 * KIB]

    def test_reclaimers_are_asked_only_until_enough_came_back(self, gpu: CudaDevice) -> None:
        cached = gpu.allocate(600 * KIB, "a cached upload")
        asked: list[str] = []

        def first(missing: int) -> int:
            asked.append("first")
            cached.close()
            return cached.nbytes

        def second(missing: int) -> int:
            asked.append("second")
            return 0

        gpu.add_reclaimer(first)
        gpu.add_reclaimer(second)
        gpu.allocate(500 * KIB, "a table")
        assert asked == ["first"]

    def test_free_memory_is_what_the_device_and_our_pool_have(
        self, gpu: CudaDevice, driver: FakeDriver
    ) -> None:
        buffer = gpu.allocate(100 * KIB, "a table")
        assert gpu.free_memory() == driver.memory - 100 * KIB
        buffer.close()
        assert gpu.free_memory() == driver.memory
        assert driver.reserved == 100 * KIB

    def test_memory_is_given_back_only_when_its_streams_are_done(
        self, gpu: CudaDevice, driver: FakeDriver
    ) -> None:
        stream, other = gpu.stream(), gpu.stream()
        buffer, elsewhere = gpu.allocate(64, "a table"), gpu.allocate(32, "another")
        stream.clear(buffer)
        other.clear(elsewhere)
        driver.busy.add(stream.handle)
        buffer.close()
        elsewhere.close()
        assert gpu.used_memory() == 64 == driver.used()
        driver.busy.clear()
        assert gpu.used_memory() == 0 == driver.used()

    def test_memory_that_no_stream_copied_waits_for_all_of_them(
        self, gpu: CudaDevice, driver: FakeDriver
    ) -> None:
        stream = gpu.stream()
        buffer = gpu.allocate(64, "a table")
        driver.busy.add(stream.handle)
        buffer.close()
        assert gpu.used_memory() == 64
        driver.busy.clear()
        assert gpu.used_memory() == 0

    def test_memory_on_its_way_back_is_waited_for_before_any_is_refused(
        self, gpu: CudaDevice, driver: FakeDriver
    ) -> None:
        stream = gpu.stream()
        buffer = gpu.allocate(900, "a table")
        stream.clear(buffer)
        driver.busy.add(stream.handle)
        buffer.close()
        timer = threading.Timer(0.05, driver.busy.clear)
        timer.start()
        gpu.allocate(900, "another", budget=1000)
        timer.join()

    def test_a_stream_that_is_dropped_outlives_its_work(self, gpu: CudaDevice, driver: FakeDriver) -> None:
        before = set(driver.streams)
        stream = gpu.stream()
        handle = stream.handle
        buffer = gpu.allocate(64, "a table")
        stream.clear(buffer)
        driver.busy.add(handle)
        del stream, buffer
        gc.collect()
        assert gpu.used_memory() == 64
        assert handle in driver.streams
        driver.busy.clear()
        assert gpu.used_memory() == 0
        assert driver.streams == before

    def test_a_buffer_outliving_its_closed_stream_is_given_back(self, gpu: CudaDevice) -> None:
        stream = gpu.stream()
        buffer = gpu.allocate(64, "a table")
        stream.clear(buffer)
        stream.close()
        assert gpu.used_memory() == 64
        buffer.close()
        assert gpu.used_memory() == 0

    def test_memory_whose_streams_are_closed_waits_for_all_others(
        self, gpu: CudaDevice, driver: FakeDriver
    ) -> None:
        upload, search = gpu.stream(), gpu.stream()
        buffer = gpu.allocate(64, "a table")
        upload.clear(buffer)
        upload.close()
        driver.busy.add(search.handle)
        buffer.close()
        assert gpu.used_memory() == 64
        driver.busy.clear()
        assert gpu.used_memory() == 0

    def test_a_long_lived_buffer_forgets_streams_that_are_gone(self, gpu: CudaDevice) -> None:
        buffer = gpu.allocate(64, "a table")
        for _ in range(100):
            stream = gpu.stream()
            stream.clear(buffer)
            stream.close()
            gpu.used_memory()
        assert len(buffer.lines) < 20

    def test_a_thread_that_did_not_call_use_is_told(self, gpu: CudaDevice, driver: FakeDriver) -> None:
        stream = gpu.stream()
        driver.fail["cuEventCreate"] = 201
        with pytest.raises(DeviceError, match=r"CUDA_ERROR_INVALID_CONTEXT.*call use\(\) on every thread"):
            stream.mark()

    def test_threads_count_together(self, gpu: CudaDevice) -> None:
        def work() -> None:
            for _ in range(100):
                gpu.allocate(16, "a table").close()
                kept.append(gpu.allocate(8, "a table"))

        kept: list[Any] = []
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert gpu.used_memory() == 4 * 100 * 8


class TestHostMemory:
    def test_it_is_zeroed_and_freed_once_when_no_view_is_left(
        self, gpu: CudaDevice, driver: FakeDriver
    ) -> None:
        buffer = gpu.allocate_host(40, "a ring")
        assert buffer.array.tolist() == [0] * 40
        view = buffer.array.view(np.uint32)[2:]
        view[:] = 7
        buffer.close()
        with pytest.raises(InternalError, match="closed"):
            _ = buffer.array
        gpu.used_memory()
        assert len(driver.host) == 1
        assert set(view.tolist()) == {7}
        del view, buffer
        gc.collect()
        gpu.used_memory()
        assert not driver.host
        assert driver.counted("cuMemFreeHost") == 1

    def test_what_the_driver_cannot_pin_is_said(self, gpu: CudaDevice, driver: FakeDriver) -> None:
        driver.fail["cuMemHostAlloc"] = 2
        with pytest.raises(
            NotPinnedError, match=r"a ring: expected 4,096 bytes of pinned host memory.*ulimit -l"
        ):
            gpu.allocate_host(4096, "a ring")
        for code, kind in ((801, NotPinnedError), (719, DeviceError)):
            driver.fail["cuMemHostAlloc"] = code
            with pytest.raises(DeviceError, match="pinned memory for a ring: ") as failed:
                gpu.allocate_host(4096, "a ring")
            assert type(failed.value) is kind


class TestUnifiedMemory:
    def test_it_has_one_address_and_is_freed_once(self, gpu: CudaDevice, driver: FakeDriver) -> None:
        buffer = gpu.allocate_managed(40, "rows")
        assert buffer.address == buffer.array.ctypes.data
        view = buffer.array
        buffer.close()
        with pytest.raises(InternalError, match="closed"):
            _ = buffer.address
        gpu.used_memory()
        assert len(driver.host) == 1
        del view, buffer
        gc.collect()
        gpu.used_memory()
        assert not driver.host
        assert driver.counted("cuMemFree") == 1

    def test_there_is_no_more_of_it_than_is_free_on_the_device(
        self, gpu: CudaDevice, driver: FakeDriver
    ) -> None:
        with pytest.raises(DeviceMemoryError, match="rows"):
            gpu.allocate_managed(driver.memory + 1, "rows")
        driver.fail["cuMemAllocManaged"] = 801
        with pytest.raises(DeviceError, match="unified memory for rows"):
            gpu.allocate_managed(40, "rows")
        assert not driver.host


class TestMemoryOfOthers:
    def test_it_is_pinned_once_for_all_devices_until_the_last_has_closed_it(
        self, gpu: CudaDevice, driver: FakeDriver
    ) -> None:
        driver.devices = 2
        other = cuda.open_device(1)
        memory = np.zeros(4096, np.uint8)
        place = memory.ctypes.data
        one = gpu.register_host(place, 4096, "rows", memory)
        two = other.register_host(place, 4096, "rows", memory)
        assert one.address == two.address == place
        assert (one.nbytes, driver.registered) == (4096, {place: 4096})
        one.close()
        with pytest.raises(InternalError, match="closed"):
            _ = one.address
        gpu.used_memory()
        assert driver.registered
        two.close()
        for device in (gpu, other):
            device.used_memory()
        assert not driver.registered
        assert driver.counted("cuMemHostRegister") == driver.counted("cuMemHostUnregister") == 1

    def test_memory_that_the_device_only_reads_is_registered_so(
        self, gpu: CudaDevice, driver: FakeDriver
    ) -> None:
        for only_reads, flags in ((False, 3), (True, 11)):
            gpu.register_host(1 << 20, 4096, "rows", None, only_reads=only_reads).close()
            gpu.used_memory()
            assert driver.register_flags == flags
            assert not driver.registered

    @pytest.mark.turns(8)
    def test_its_owner_is_kept_until_running_work_is_done(self, gpu: CudaDevice, driver: FakeDriver) -> None:
        owner = Owner()
        known = weakref.ref(owner)
        stream = gpu.stream()
        held = gpu.register_host(1 << 20, 4096, "rows", owner)
        stream.clear(gpu.allocate(8, "a table"))
        driver.busy.update(driver.streams)
        held.close()
        del owner, held
        gc.collect()
        gpu.used_memory()
        assert known() is not None
        assert driver.registered
        driver.busy.clear()
        gpu.used_memory()
        gc.collect()
        assert known() is None
        assert not driver.registered

    def test_what_the_driver_cannot_pin_is_said(self, gpu: CudaDevice, driver: FakeDriver) -> None:
        driver.fail["cuMemHostRegister"] = 2
        with pytest.raises(
            NotPinnedError, match=r"rows: expected 4,096 bytes of host memory that can be pinned.*ulimit -l"
        ):
            gpu.register_host(1 << 20, 4096, "rows", None)
        driver.fail["cuMemHostRegister"] = 801
        with pytest.raises(NotPinnedError, match="pinning 4,096 bytes of host memory for rows: "):
            gpu.register_host(1 << 20, 4096, "rows", None)
        driver.fail["cuMemHostRegister"] = 700
        with pytest.raises(DeviceError, match="restart") as failed:
            gpu.register_host(1 << 20, 4096, "rows", None)
        assert not isinstance(failed.value, NotPinnedError)
        driver.fail.clear()
        held = gpu.register_host(1 << 20, 4096, "rows", None)
        with pytest.raises(DeviceError, match="pinning"):
            gpu.register_host((1 << 20) - 64, 4096, "rows", None)
        assert list(driver.registered) == [held.address]

    def test_a_registration_that_nobody_noted_is_no_obstacle(
        self, gpu: CudaDevice, driver: FakeDriver
    ) -> None:
        """As Ctrl-C leaves it between the call and the assignment: its release waits for running work."""
        stream = gpu.stream()
        stream.clear(gpu.allocate(8, "a table"))
        driver.busy.update(driver.streams)
        for _ in range(2):
            gpu.register_host(1 << 20, 4096, "rows", Owner())
        held = gpu.register_host(1 << 20, 4096, "rows", Owner())
        driver.busy.clear()
        gpu.used_memory()
        assert driver.registered == {1 << 20: 4096}
        assert driver.counted("cuMemHostRegister") == 1
        held.close()
        gpu.used_memory()
        assert not driver.registered

    def test_an_interrupt_while_the_driver_pins_is_no_obstacle(
        self, gpu: CudaDevice, driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Its traceback holds the registration."""

        def interrupt(*_: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(CudaDriver, "ask", interrupt)
            with pytest.raises(KeyboardInterrupt) as held_by:
                gpu.register_host(1 << 20, 4096, "rows", None)
        held = gpu.register_host(1 << 20, 4096, "rows", None)
        held.close()
        del held_by
        gc.collect()
        gpu.used_memory()
        assert not driver.registered

    def test_memory_that_cannot_be_mapped_is_released(self, gpu: CudaDevice, driver: FakeDriver) -> None:
        driver.fail["cuMemHostGetDevicePointer"] = 801
        with pytest.raises(DeviceError, match="mapping memory of the host for rows"):
            gpu.register_host(1 << 20, 4096, "rows", None)
        gc.collect()
        gpu.used_memory()
        assert not driver.registered


class TestStreams:
    def test_what_is_uploaded_comes_back(self, gpu: CudaDevice) -> None:
        stream = gpu.stream()
        buffer = gpu.allocate(80, "a table")
        stream.clear(buffer)
        stream.upload(buffer, np.arange(5, dtype=np.uint64), offset=16)
        stream.clear(buffer, offset=24, nbytes=8)
        found = np.empty(10, np.uint64)
        stream.download(buffer, found)
        stream.wait()
        assert found.tolist() == [0, 0, 0, 0, 2, 3, 4, 0, 0, 0]

    def test_nothing_is_copied_for_empty_arrays(self, gpu: CudaDevice, driver: FakeDriver) -> None:
        buffer = gpu.allocate(8, "a table")
        gpu.stream().upload(buffer, np.empty(0, np.uint32), offset=8)
        assert not driver.counted("cuMemcpyHtoDAsync")

    @pytest.mark.parametrize(("offset", "count"), [(0, 3), (-8, 1), (12, 1), (16, 1)])
    def test_copies_stay_within_the_buffer(self, gpu: CudaDevice, offset: int, count: int) -> None:
        buffer = gpu.allocate(16, "a table")
        with pytest.raises(ArgumentError, match="offset: expected a range within 16 bytes"):
            gpu.stream().upload(buffer, np.zeros(count, np.uint64), offset)

    def test_arrays_that_cannot_be_copied_are_refused(self, gpu: CudaDevice) -> None:
        stream, buffer = gpu.stream(), gpu.allocate(64, "a table")
        with pytest.raises(ArgumentError, match="source: expected a contiguous array"):
            stream.upload(buffer, np.arange(8)[::2])
        with pytest.raises(ArgumentError, match="source: expected a NumPy array of numbers"):
            stream.upload(buffer, np.array([object()]))
        constant = np.zeros(2)
        constant.flags.writeable = False
        with pytest.raises(ArgumentError, match="destination: expected an array that can be written"):
            stream.download(buffer, constant)

    def test_marks_tell_when_work_is_done_and_how_long_it_took(
        self, gpu: CudaDevice, driver: FakeDriver
    ) -> None:
        stream = gpu.stream()
        first = stream.mark()
        driver.busy.add(stream.handle)
        second = stream.mark()
        assert not second.done()
        with pytest.raises(InternalError, match="two marks that are done"):
            second.milliseconds_since(first)
        driver.busy.clear()
        assert second.done()
        assert second.milliseconds_since(first) > 0
        del first, second
        gc.collect()
        assert not driver.events

    def test_work_follows_a_mark_by_the_order_of_the_driver(
        self, gpu: CudaDevice, driver: FakeDriver
    ) -> None:
        stream, other = gpu.stream(), gpu.stream()
        driver.busy.add(other.handle)
        stream.follow(other.mark())
        assert driver.counted("cuStreamWaitEvent") == 1
        wrong: Any = object()
        with pytest.raises(InternalError, match="expected one of this device, found object"):
            stream.follow(wrong)
        driver.busy.clear()

    def test_waiting_lets_other_threads_and_interrupts_through(
        self, gpu: CudaDevice, driver: FakeDriver
    ) -> None:
        stream = gpu.stream()
        driver.busy.add(stream.handle)
        timer = threading.Timer(0.02, driver.busy.clear)
        timer.start()
        stream.wait()
        timer.join()
        assert not driver.busy

    def test_a_failed_kernel_is_named_and_the_process_is_to_be_restarted(
        self, gpu: CudaDevice, driver: FakeDriver
    ) -> None:
        stream = gpu.stream()
        driver.broken = 700
        with pytest.raises(DeviceError, match=r"CUDA_ERROR_ILLEGAL_ADDRESS.*cannot use the device any more"):
            stream.wait()
        with pytest.raises(DeviceError, match="CUDA_ERROR_ILLEGAL_ADDRESS"):
            stream.close()

    def test_a_close_that_is_interrupted_gives_the_stream_back_when_its_work_is_done(
        self, gpu: CudaDevice, driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupt(seconds: float) -> None:
            raise KeyboardInterrupt

        stream = gpu.stream()
        driver.busy.add(stream.handle)
        with monkeypatch.context() as patch:
            patch.setattr("time.sleep", interrupt)
            with pytest.raises(KeyboardInterrupt):
                stream.close()
        gpu.used_memory()
        assert stream.handle in driver.streams
        driver.busy.clear()
        gpu.used_memory()
        assert stream.handle not in driver.streams

    def test_a_closed_stream_takes_no_work(self, gpu: CudaDevice) -> None:
        stream = gpu.stream()
        stream.close()
        stream.close()
        with pytest.raises(InternalError, match="closed"):
            stream.clear(gpu.allocate(8, "a table"))


class TestKernels:
    def test_a_structure_is_passed_by_value(self, gpu: CudaDevice, driver: FakeDriver) -> None:
        kernel = gpu.load(cubin(), "example").kernel("known")
        argument = Three(1, 2, 3)
        gpu.stream().launch(kernel, 5, 64, 100, argument)
        assert driver.launched == [(5, 64, 100, bytes(argument))]

    def test_much_shared_memory_is_asked_for_once(self, gpu: CudaDevice, driver: FakeDriver) -> None:
        kernel = gpu.load(cubin(), "example").kernel("known")
        stream = gpu.stream()
        stream.launch(kernel, 1, 32, 48 * KIB, Three())
        assert not driver.counted("cuFuncSetAttribute")
        for shared in (60 * KIB, 100 * KIB, 60 * KIB):
            stream.launch(kernel, 1, 32, shared, Three())
        assert driver.counted("cuFuncSetAttribute") == 1

    @pytest.mark.parametrize(
        ("block", "shared", "message"),
        [
            (0, 0, "blocks of 1 to 1024 threads, found 0"),
            (1025, 0, "blocks of 1 to 1024 threads, found 1025"),
            (32, 232_448, "at most 231,424 bytes of dynamic shared memory"),
            (32, -1, "found -1"),
        ],
    )
    def test_what_the_device_cannot_run_is_refused(
        self, gpu: CudaDevice, block: int, shared: int, message: str
    ) -> None:
        kernel = gpu.load(cubin(), "example").kernel("known")
        with pytest.raises(DeviceError, match=message):
            gpu.stream().launch(kernel, 1, block, shared, Three())
        assert kernel.blocks_per_multiprocessor(block, shared) == 0

    @pytest.mark.parametrize("grid", [0, 2**31])
    def test_grids_have_bounds(self, gpu: CudaDevice, grid: int) -> None:
        kernel = gpu.load(cubin(), "example").kernel("known")
        with pytest.raises(ArgumentError, match="grid: expected"):
            gpu.stream().launch(kernel, grid, 32, 0, Three())

    def test_a_structure_of_another_size_is_a_defect(self, gpu: CudaDevice, driver: FakeDriver) -> None:
        driver.parameter_bytes = 32
        kernel = gpu.load(cubin(), "example").kernel("known")
        with pytest.raises(InternalError, match="expected a structure of 32 bytes, found 24"):
            gpu.stream().launch(kernel, 1, 32, 0, Three())

    def test_a_launch_that_the_driver_refuses_is_said(self, gpu: CudaDevice, driver: FakeDriver) -> None:
        kernel = gpu.load(cubin(), "example").kernel("known")
        driver.fail["cuLaunchKernel"] = 719
        with pytest.raises(DeviceError, match=r"launching known: CUDA_ERROR_LAUNCH_FAILED"):
            gpu.stream().launch(kernel, 1, 32, 0, Three())

    def test_occupancy(self, gpu: CudaDevice) -> None:
        assert gpu.load(cubin(), "example").kernel("known").blocks_per_multiprocessor(256, 0) == 8

    def test_an_unknown_entry_point_is_a_defect(self, gpu: CudaDevice) -> None:
        with pytest.raises(InternalError, match="module example: expected an entry point 'other'"):
            gpu.load(cubin(), "example").kernel("other")

    @pytest.mark.parametrize(
        "image", [b"", b"\x7fELF", b"x" * 100, cubin().replace(b"\xbe", b"\x3e"), b"// ptx".ljust(80)]
    )
    def test_what_is_no_cubin_never_reaches_the_driver(
        self, gpu: CudaDevice, driver: FakeDriver, image: bytes
    ) -> None:
        with pytest.raises(DeviceError, match="example: expected a cubin"):
            gpu.load(image, "example")
        assert not driver.counted("cuLibraryLoadData")

    def test_a_cubin_that_is_cut_off_is_refused(self, gpu: CudaDevice) -> None:
        image = bytearray(cubin(128))
        image[40:48] = (1000).to_bytes(8, "little")
        with pytest.raises(DeviceError, match="at least 1,000 bytes, found 128: it is cut off"):
            gpu.load(bytes(image), "example")

    def test_an_image_that_the_driver_refuses_is_said(self, gpu: CudaDevice, driver: FakeDriver) -> None:
        driver.fail["cuLibraryLoadData"] = 200
        with pytest.raises(DeviceError, match="loading example: CUDA_ERROR_INVALID_IMAGE"):
            gpu.load(cubin(), "example")

    @pytest.mark.turns(8)
    def test_a_module_is_unloaded_when_no_kernel_of_it_is_left(
        self, gpu: CudaDevice, driver: FakeDriver
    ) -> None:
        kernel = gpu.load(cubin(), "example").kernel("known")
        gc.collect()
        gpu.used_memory()
        assert not driver.counted("cuLibraryUnload")
        assert kernel.name == "known"
        del kernel
        gc.collect()
        gpu.used_memory()
        assert driver.counted("cuLibraryUnload") == 1
