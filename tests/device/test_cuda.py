"""What only an NVIDIA GPU does: other libraries' arrays, failures of a process."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiflux.device import open_device
from motiflux.device.arrays import DeviceArray, from_any
from motiflux.errors import ArgumentError, DeviceError

if TYPE_CHECKING:
    from motiflux.device.cuda import CudaDevice
    from motiflux.device.cuda_stream import CudaStream

pytestmark = pytest.mark.devices("cuda", reason="it is no NVIDIA GPU")

FOLDER = Path(__file__).parent


@pytest.fixture
def gpu() -> CudaDevice:
    device: Any = open_device("cuda")
    return device


@pytest.fixture
def stream(gpu: CudaDevice) -> CudaStream:
    return gpu.stream()


def test_what_the_device_is(gpu: CudaDevice, device: str) -> None:
    from motiflux.device.cuda import driver_version, list_devices

    listed = list_devices()[0]
    assert (gpu.name, gpu.model, gpu.total_memory) == (device, listed.model, listed.total_memory)
    assert gpu.arch == "sm_" + listed.capability.replace(".", "")
    assert gpu.driver_cuda == driver_version()
    assert listed.usable
    assert gpu.multiprocessors > 0
    assert gpu.shared_per_block >= 48 * 1024
    assert 0 < gpu.free_memory() <= gpu.total_memory


class TestArrays:
    def test_cupy_sees_our_memory_and_we_see_its(
        self, gpu: CudaDevice, stream: CudaStream, device: str
    ) -> None:
        cupy: Any = pytest.importorskip("cupy")
        ours = DeviceArray.from_numpy(gpu, np.arange(12, dtype=np.int32).reshape(3, 4), stream, "a test")
        for theirs in (cupy.asarray(ours), cupy.from_dlpack(ours)):
            assert theirs.data.ptr == ours.address
            assert np.array_equal(theirs.get(), np.arange(12).reshape(3, 4))
        made = cupy.arange(1000, dtype=cupy.uint64) * 3
        back = from_any(made, gpu)
        assert back.address == made.data.ptr
        assert np.array_equal(back.to_numpy(), np.arange(1000) * 3)

    def test_our_memory_outlives_our_array_while_cupy_has_it(
        self, gpu: CudaDevice, stream: CudaStream, device: str
    ) -> None:
        cupy: Any = pytest.importorskip("cupy")
        used = gpu.used_memory()
        for take in (cupy.asarray, cupy.from_dlpack):
            ours = DeviceArray.from_numpy(gpu, np.full(1000, 7), stream, "a test")
            theirs = take(ours)
            del ours
            gc.collect()
            assert gpu.used_memory() >= used + 8000
            assert int(theirs.sum()) == 7000
            del theirs
            gc.collect()
            stream.wait()
            assert gpu.used_memory() <= used

    def test_pytorch_sees_our_memory_and_we_see_its(
        self, gpu: CudaDevice, stream: CudaStream, device: str
    ) -> None:
        torch: Any = pytest.importorskip("torch")
        ours = DeviceArray.from_numpy(gpu, np.arange(10.0), stream, "a test")
        theirs = torch.from_dlpack(ours)
        assert theirs.data_ptr() == ours.address
        assert theirs.sum().item() == 45
        made = torch.arange(10, device="cuda", dtype=torch.int64) + 1
        assert from_any(made, gpu).to_numpy().tolist() == list(range(1, 11))
        with pytest.raises(DeviceError, match="host memory"):
            from_any(torch.arange(3), gpu)

    def test_arrays_with_gaps_are_refused(self, gpu: CudaDevice, device: str) -> None:
        cupy: Any = pytest.importorskip("cupy")
        with pytest.raises(ArgumentError, match="contiguous"):
            from_any(cupy.arange(10)[::2], gpu)
        with pytest.raises(DeviceError, match="host memory"):
            from_any(np.arange(10), gpu)


def run(code: str) -> str:
    """Return what a process of its own prints."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=FOLDER.parents[1],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_forked_child_is_told_that_it_must_not_use_the_device(device: str) -> None:
    said = run(
        """
import gc, os
from motiflux.device import open_device
from motiflux.errors import DeviceError
device = open_device("cuda")
buffer = device.allocate(1000, "a test")
child = os.fork()
if child == 0:
    for use in (lambda: device.allocate(10, "a test"), lambda: open_device("cuda")):
        try:
            use()
        except DeviceError as error:
            print("fork" in str(error), flush=True)
    del buffer
    gc.collect()
    os._exit(0)
os.waitpid(child, 0)
assert device.used_memory() == 1000
"""
    )
    assert said.split() == ["True", "True"]


def test_a_fault_of_a_kernel_is_named_and_the_process_to_be_restarted(device: str) -> None:
    said = run(
        """
import ctypes
from pathlib import Path
from motiflux.device import open_device
from motiflux.errors import DeviceError
from motiflux.jit.base import Source
from motiflux.jit.compiler import HEADERS
from motiflux.jit.nvrtc import NvrtcToolchain
from tests.device.test_device import Job
device = open_device("cuda")
text = Path("tests/device/kernels.cu").read_text()
image = NvrtcToolchain(device.arch).build(Source("device", text), (HEADERS,)).image
kernel = device.load(image, "example").kernel("add")
stream = device.stream()
held = device.allocate(100, "a test")
stream.launch(kernel, 1, 32, 0, Job(8, 8, 0, 1, 32, 0))
for use in (stream.wait, lambda: device.allocate(1000, "a test"), stream.close):
    try:
        use()
    except DeviceError as error:
        print("ILLEGAL_ADDRESS" in str(error) and "restart" in str(error))
del held, kernel, stream
"""
    )
    assert said.split() == ["True", "True", "True"]
