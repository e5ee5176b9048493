"""Arrays in device memory, and what other libraries make of them."""

from __future__ import annotations

import ctypes
import gc
import linecache
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from motiflux.device import cuda, cuda_driver, dlpack
from motiflux.device.arrays import DeviceArray, ForeignBuffer, from_any
from motiflux.device.cuda import CudaDevice
from motiflux.errors import ArgumentError, DeviceError, DeviceMemoryError
from tests.device.fake_driver import FakeDriver


class HostBuffer:
    """A buffer of a device whose memory is the host's."""

    def __init__(self, nbytes: int) -> None:
        self.memory = np.zeros(nbytes, np.uint8)
        self.address = self.memory.ctypes.data
        self.nbytes = nbytes


class HostDevice:
    """A device whose memory is the host's, as far as arrays ask."""

    name = "example"

    def allocate(self, nbytes: int, what: str, *, budget: int | None = None) -> HostBuffer:
        return HostBuffer(nbytes)


class ForeignArray:
    """Another library's array on a GPU."""

    def __init__(self, **changes: Any) -> None:
        self.__cuda_array_interface__ = {
            "shape": (2, 3),
            "typestr": "<u4",
            "data": (4096, False),
            "strides": None,
            "version": 3,
            "stream": None,
        } | changes


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    fake = FakeDriver()
    monkeypatch.setattr(cuda_driver, "import_bindings", lambda: fake)
    return fake


@pytest.fixture
def gpu(driver: FakeDriver) -> CudaDevice:
    return cuda.open_device()


@pytest.fixture
def host() -> Any:
    return HostDevice()


DEVICE = Path(cuda.__file__).parent


def stopped_at(point: int, work: Callable[[], Any]) -> bool:
    """Hear Ctrl-C at that line of those that `work` runs in motiflux.device; False if it runs fewer.

    Not where a ``with`` block begins or ends: between its last step and what is done at its end Python hears
    nothing, but says that a line is run. Nor in what finalizers do, out of which nothing comes.
    """
    passed = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal passed
        if Path(frame.f_code.co_filename).parent != DEVICE:
            return None
        text = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
        if (
            event in {"line", "return"}
            and not text.strip().startswith("with ")
            and frame.f_code.co_name != "add"
        ):
            passed += 1
            if passed == point:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    except KeyboardInterrupt:
        return True
    except DeviceMemoryError:
        pass
    finally:
        sys.settrace(before)
    return False


class TestInterrupted:
    """Ctrl-C at any line leaves nothing allocated that nobody knows of, and nothing counted that is not."""

    @pytest.mark.parametrize("budget", [None, 4096, 4095])
    def test_an_allocation(self, gpu: CudaDevice, driver: FakeDriver, budget: int | None) -> None:
        kept: list[Any] = []
        point, stopped = 0, True
        while stopped:
            point += 1
            stopped = stopped_at(point, lambda: kept.append(gpu.allocate(4096, "a table", budget=budget)))
            kept.clear()
            assert (gpu.used_memory(), driver.used()) == (0, 0), f"at line {point}"
        assert point > 20

    @pytest.mark.turns(8)
    @pytest.mark.parametrize("nbytes", [4096, 1 << 30])
    def test_one_that_asks_others_for_room(self, gpu: CudaDevice, driver: FakeDriver, nbytes: int) -> None:
        caches: list[Any] = []
        kept: list[Any] = []

        def reclaim(missing: int) -> int:
            kept.extend(caches)  # held on to by somebody, so it is closed
            caches.clear()
            for cache in kept:
                cache.close()
            return driver.memory

        gpu.add_reclaimer(reclaim)
        point, stopped = 0, True
        while stopped:
            point += 1
            caches.append(gpu.allocate(driver.memory - 1024, "a cache"))
            stopped = stopped_at(point, lambda: kept.append(gpu.allocate(nbytes, "a table")))
            caches.clear()
            kept.clear()
            assert (gpu.used_memory(), driver.used()) == (0, 0), f"at line {point}"
        assert point > 60

    def test_giving_back(self, gpu: CudaDevice, driver: FakeDriver) -> None:
        point, stopped = 0, True
        while stopped:
            point += 1
            for buffer in [gpu.allocate(1024, "a table") for _ in range(3)]:
                buffer.close()
            stopped = stopped_at(point, gpu.used_memory)
            assert (gpu.used_memory(), driver.used()) == (0, 0), f"at line {point}"
        assert point > 30


class TestOurs:
    def test_a_copy_goes_there_and_back(self, gpu: CudaDevice) -> None:
        stream = gpu.stream()
        array = DeviceArray.from_numpy(gpu, np.arange(6, dtype=np.float32).reshape(2, 3), stream, "a table")
        assert (array.shape, array.dtype, array.size, array.nbytes, len(array)) == ((2, 3), "<f4", 6, 24, 2)
        assert array.to_numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
        part = DeviceArray(gpu, array.buffer, np.float32, 2, offset=8)
        assert part.to_numpy().tolist() == [2, 3]

    def test_the_cuda_array_interface_says_what_it_is(self, gpu: CudaDevice) -> None:
        stream = gpu.stream()
        array = DeviceArray.empty(gpu, (4, 2), np.int64, "a table", stream=stream)
        assert array.__cuda_array_interface__ == {
            "shape": (4, 2),
            "typestr": "<i8",
            "data": (array.address, False),
            "strides": None,
            "version": 3,
            "stream": stream.handle,
        }
        empty = DeviceArray.empty(gpu, 0, np.int64, "an empty table")
        assert empty.__cuda_array_interface__["data"] == (0, False)
        assert empty.__cuda_array_interface__["stream"] is None

    def test_only_cuda_has_the_cuda_array_interface(self, host: Any) -> None:
        assert not hasattr(DeviceArray.empty(host, 3, np.int64, "a table"), "__cuda_array_interface__")

    def test_dlpack_says_which_device_and_orders_the_consumers_stream(
        self, gpu: CudaDevice, driver: FakeDriver
    ) -> None:
        array = DeviceArray.empty(gpu, 3, np.uint32, "a table", stream=gpu.stream())
        assert array.__dlpack_device__() == (2, 0)
        array.__dlpack__(stream=-1)
        assert not driver.counted("cuStreamWaitEvent")
        capsule = array.__dlpack__(stream=5)
        assert driver.counted("cuStreamWaitEvent") == 1
        tensor = dlpack.read(capsule)
        assert (tensor.address, tensor.dtype, tensor.shape) == (array.address, np.uint32, (3,))
        assert tensor.strides is None

    @pytest.mark.parametrize("asked", [{"copy": True}, {"dl_device": (1, 0)}])
    def test_dlpack_makes_no_copies(self, gpu: CudaDevice, asked: dict[str, Any]) -> None:
        with pytest.raises(BufferError, match="without a copy"):
            DeviceArray.empty(gpu, 3, np.uint32, "a table").__dlpack__(**asked)

    @pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "u8", "f2", "f4", "f8", "?"])
    def test_numpy_takes_the_memory_through_dlpack(self, host: Any, dtype: str) -> None:
        array = DeviceArray.empty(host, (2, 2), dtype, "a table")
        found: Any = np.from_dlpack(array)  # type: ignore[arg-type]
        assert (found.dtype, found.shape, found.ctypes.data) == (np.dtype(dtype), (2, 2), array.address)

    @pytest.mark.turns(8)
    def test_memory_lives_as_long_as_the_consumer_holds_it(self, host: Any) -> None:
        array = DeviceArray.empty(host, 8, np.uint8, "a table")
        alive = weakref.ref(array.buffer)
        found: Any = np.from_dlpack(array)  # type: ignore[arg-type]
        del array
        gc.collect()
        assert alive() is not None
        assert found.tolist() == [0] * 8
        del found
        gc.collect()
        assert alive() is None

    @pytest.mark.turns(8)
    def test_a_capsule_that_nobody_takes_holds_nothing_for_long(self, host: Any) -> None:
        array = DeviceArray.empty(host, 8, np.uint8, "a table")
        alive = weakref.ref(array.buffer)
        capsule = array.__dlpack__()
        del array
        gc.collect()
        assert alive() is not None
        del capsule
        gc.collect()
        assert alive() is None

    @pytest.mark.parametrize("dtype", [np.complex128, ">i4", object, "U3", "M8[s]", [("a", "i4")]])
    def test_other_types_are_refused(self, host: Any, dtype: Any) -> None:
        with pytest.raises(ArgumentError, match="dtype: expected"):
            DeviceArray.empty(host, 3, dtype, "a table")

    @pytest.mark.parametrize("shape", [(), (1, 2, 3), (-1,), (2, -1)])
    def test_other_shapes_are_refused(self, host: Any, shape: tuple[int, ...]) -> None:
        with pytest.raises(ArgumentError, match="shape: expected one or two lengths"):
            DeviceArray.empty(host, shape, np.int32, "a table")

    @pytest.mark.parametrize(("count", "offset"), [(5, 0), (1, 16), (1, -8), (1, 4)])
    def test_an_array_lies_within_its_buffer(self, host: Any, count: int, offset: int) -> None:
        with pytest.raises(ArgumentError, match="offset: expected room"):
            DeviceArray(host, HostBuffer(20), np.uint64, count, offset=offset)  # type: ignore[arg-type]


class TestTheirs:
    @pytest.mark.turns(8)
    def test_numpy_memory_is_taken_where_the_device_is_the_host(self, host: Any) -> None:
        theirs = np.arange(6, dtype=np.int64).reshape(3, 2)
        array = from_any(theirs, host)
        assert (array.address, array.dtype, array.shape) == (theirs.ctypes.data, np.int64, (3, 2))
        alive = weakref.ref(theirs)
        del theirs
        gc.collect()
        assert alive() is not None
        assert np.from_dlpack(array).sum() == 15  # type: ignore[arg-type]
        del array
        gc.collect()
        assert alive() is None

    def test_gpu_memory_is_taken_through_the_cuda_array_interface(
        self, gpu: CudaDevice, driver: FakeDriver
    ) -> None:
        theirs = ForeignArray(stream=77, strides=(12, 4))
        array = from_any(theirs, gpu)
        assert (array.address, array.nbytes, array.shape, array.dtype) == (4096, 24, (2, 3), "<u4")
        assert driver.counted("cuStreamWaitEvent") == 1
        alive = weakref.ref(theirs)
        del theirs
        gc.collect()
        assert alive() is not None

    def test_our_own_array_is_taken_as_it_is(self, gpu: CudaDevice, driver: FakeDriver) -> None:
        array = DeviceArray.empty(gpu, 3, np.uint32, "a table", stream=gpu.stream())
        assert from_any(array, gpu) is array
        assert driver.counted("cuEventQuery") == 1

    def test_an_array_of_another_device_is_refused(
        self, gpu: CudaDevice, host: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with pytest.raises(
            DeviceError, match=r"expected memory of CudaDevice.*ndarray in host memory: upload"
        ):
            from_any(np.arange(3), gpu)
        with pytest.raises(DeviceError, match="found a DeviceArray on"):
            from_any(DeviceArray.empty(host, 3, np.uint32, "a table"), gpu)
        monkeypatch.setattr(CudaDevice, "ordinal_of", lambda self, address: 1)
        with pytest.raises(DeviceError, match="found a ForeignArray in memory of GPU 1"):
            from_any(ForeignArray(), gpu)
        monkeypatch.setattr(CudaDevice, "ordinal_of", lambda self, address: None)
        with pytest.raises(DeviceError, match="found a ForeignArray in host or managed memory"):
            from_any(ForeignArray(), gpu)

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"strides": (24, 4)}, "contiguous"),
            ({"strides": (4, 8)}, "contiguous"),
            ({"typestr": "<c16"}, "dtype: expected"),
            ({"typestr": ">u4"}, "dtype: expected"),
            ({"shape": (1, 2, 3)}, "shape: expected"),
            ({"mask": object()}, "without a mask"),
        ],
    )
    def test_what_cannot_be_used_is_named(
        self, gpu: CudaDevice, changes: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(ArgumentError, match=message):
            from_any(ForeignArray(**changes), gpu)

    def test_strides_of_a_numpy_array_are_looked_at(self, host: Any) -> None:
        with pytest.raises(ArgumentError, match="array: expected a contiguous array"):
            from_any(np.arange(10)[::2], host)
        assert from_any(np.zeros((0, 5)), host).shape == (0, 5)

    def test_an_array_that_must_not_be_exported_is_refused(self, host: Any) -> None:
        constant = np.arange(3)
        constant.flags.writeable = False
        with pytest.raises(ArgumentError, match="exported through DLPack"):
            from_any(constant, host)

    def test_something_else_is_refused(self, gpu: CudaDevice) -> None:
        with pytest.raises(
            ArgumentError, match="__dlpack__ or __cuda_array_interface__, found 'list without'"
        ):
            from_any([1, 2], gpu)

    def test_a_capsule_is_taken_once(self, host: Any) -> None:
        capsule = DeviceArray.empty(host, 3, np.uint32, "a table").__dlpack__()
        dlpack.read(capsule)
        with pytest.raises(ArgumentError, match="nobody has taken yet"):
            dlpack.read(capsule)

    def test_types_that_numpy_has_not_are_refused(self, host: Any) -> None:
        array = DeviceArray.empty(host, 3, np.uint16, "a table")
        capsule: Any = array.__dlpack__()
        managed = dlpack.DLManagedTensor.from_address(dlpack._get(capsule, b"dltensor"))
        managed.dl_tensor.dtype.code = 4  # bfloat16
        with pytest.raises(ArgumentError, match="DLPack type 4 of 16 bits x 1"):
            dlpack.read(capsule)


def test_a_foreign_buffer_lets_go_when_closed() -> None:
    memory = (ctypes.c_uint8 * 8)()
    buffer = ForeignBuffer(ctypes.addressof(memory), 8, memory)
    alive = weakref.ref(memory)
    del memory
    assert alive() is not None
    buffer.close()
    assert alive() is None
