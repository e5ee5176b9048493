"""GPUs that cannot be used: every call that asks for one says why, and all others go on without."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import motiflux as mf
from motiflux.device import cuda_driver
from motiflux.device.cuda_driver import import_bindings
from motiflux.errors import DeviceError, DeviceMemoryError
from motiflux.jit import nvrtc
from tests.backend.cases import TRIANGLE, clique
from tests.device.fake_driver import ILLEGAL_ADDRESS, FakeDriver
from tests.unit.cli_run import clique_pattern, complete_graph, motiflux
from tests.unit.jit_cases import run_python

SIZE = 8
TRIANGLES = 8 * 7 * 6


@pytest.fixture
def graph() -> mf.Graph:
    return mf.Graph.from_edges(clique(SIZE))


@pytest.fixture
def driver(no_devices: None, monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    fake = FakeDriver()
    monkeypatch.setattr(cuda_driver, "import_bindings", lambda: fake)
    return fake


def refusal(graph: mf.Graph, **options: Any) -> DeviceError:
    """Return the error of a count that asks for a GPU; a listing must say the same."""
    with pytest.raises(DeviceError) as caught:
        mf.count(graph, TRIANGLE, **options)
    with pytest.raises(DeviceError) as again:
        mf.match(graph, TRIANGLE, **options)
    assert (type(again.value), str(again.value)) == (type(caught.value), str(caught.value))
    return caught.value


def count_without_a_gpu(graph: mf.Graph) -> None:
    for options in ({}, {"device": "auto"}, {"device": "cpu"}, {"engine": "cpu"}):
        found = mf.count(graph, TRIANGLE, **options)
        assert (found, found.device) == (TRIANGLES, "cpu")
        assert len(mf.match(graph, TRIANGLE, **options).to_numpy()) == TRIANGLES


def no_packages(driver: FakeDriver, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(cuda_driver, "import_bindings", import_bindings)
    patch.setitem(sys.modules, "cuda.bindings.driver", None)


def no_library(driver: FakeDriver, patch: pytest.MonkeyPatch) -> None:
    def start(flags: int) -> int:
        raise RuntimeError("libcuda.so.1: cannot open shared object file")

    patch.setattr(driver, "cuInit", start)


def no_gpu(driver: FakeDriver, patch: pytest.MonkeyPatch) -> None:
    driver.devices = 0
    patch.setenv("CUDA_VISIBLE_DEVICES", "7")


def old_driver(driver: FakeDriver, patch: pytest.MonkeyPatch) -> None:
    driver.version = 12000
    patch.setattr(FakeDriver, "CUDA_VERSION", 12090)


def driver_older_than_the_packages(driver: FakeDriver, patch: pytest.MonkeyPatch) -> None:
    driver.version = 12080


def old_gpu(driver: FakeDriver, patch: pytest.MonkeyPatch) -> None:
    driver.attributes["COMPUTE_CAPABILITY_MAJOR"] = 6


FAULTS: list[tuple[Callable[[FakeDriver, pytest.MonkeyPatch], None], str]] = [
    (no_packages, r"expected the GPU packages, found none .*; install them: pip install 'motiflux\[gpu\]'"),
    (no_library, r"expected the NVIDIA driver, found no libcuda that works; install the driver"),
    (no_gpu, r"the driver .* finds no GPU .*nvidia-smi, and at CUDA_VISIBLE_DEVICES, which is '7'"),
    (old_driver, r"expected .* CUDA 12\.1 or newer, found one for 12\.0; install NVIDIA driver 530 or newer"),
    (driver_older_than_the_packages, r"supports CUDA 12\.8, the installed packages .* 13; install .*580"),
    (old_gpu, r"expected .* 7\.5 or more, found 6\.0 \(Example GPU\); .* or use device='cpu'"),
]


@pytest.mark.parametrize(("fault", "said"), FAULTS, ids=[fault.__name__ for fault, _ in FAULTS])
class TestUnusableGpu:
    @pytest.fixture(autouse=True)
    def _break(
        self,
        driver: FakeDriver,
        monkeypatch: pytest.MonkeyPatch,
        fault: Callable[[FakeDriver, pytest.MonkeyPatch], None],
    ) -> None:
        fault(driver, monkeypatch)

    def test_a_search_there_says_what_is_missing_and_others_go_on(self, graph: mf.Graph, said: str) -> None:
        error = refusal(graph, device="cuda")
        assert type(error) is DeviceError
        assert str(error).startswith("device 'cuda': ")
        count_without_a_gpu(graph)
        assert str(refusal(graph, device="auto", engine="dfs")) == f"engine='dfs' runs on a GPU: {error}"
        with pytest.raises(DeviceError, match=said):
            raise error

    def test_the_command_line_says_it_in_one_line_with_exit_3(self, tmp_path: Path, said: str) -> None:
        files = complete_graph(tmp_path / "graph.txt", SIZE), clique_pattern(tmp_path / "triangle.graph", 3)
        result = motiflux("count", *files, "--device", "cuda")
        assert (result.exit_code, result.stdout) == (3, "")
        (line,) = result.stderr.splitlines()
        assert line.startswith("error: device 'cuda': ")
        for device in ("cpu", "auto"):
            result = motiflux("count", *files, "--device", device)
            assert (result.exit_code, result.stdout.splitlines()[0]) == (0, f"{TRIANGLES} embeddings")


class TestFailingGpu:
    @pytest.fixture
    def no_nvrtc(self, driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        monkeypatch.setitem(sys.modules, "cuda.core", None)
        nvrtc._versions.cache_clear()
        yield
        nvrtc._versions.cache_clear()

    def test_a_gpu_without_its_compiler_says_what_to_install(self, graph: mf.Graph, no_nvrtc: None) -> None:
        error = refusal(graph, device="cuda")
        assert str(error).startswith("compiling for a GPU needs the package cuda: ")
        assert str(error).endswith("pip install 'motiflux[gpu]'")
        count_without_a_gpu(graph)

    @pytest.mark.turns(8)
    def test_a_gpu_that_others_fill_names_them(self, graph: mf.Graph, driver: FakeDriver) -> None:
        driver.memory = 200
        error = refusal(graph, device="cuda", engine="dfs", gpu_memory="1GiB")
        assert isinstance(error, DeviceMemoryError)
        held = driver.memory - error.available
        assert held > 0
        assert str(error) == (
            f"a copy of the graph: expected {error.needed} bytes of device memory, found {error.available}; "
            f"of 200 bytes on Example GPU, {error.available} are free, motiflux holds {held}, and "
            "the rest belongs to other libraries of this process and to other programs (nvidia-smi shows "
            "them): end those, or search a smaller graph; "
            "engine='outofcore' leaves the edges in memory of the host"
        )
        count_without_a_gpu(graph)

    def test_a_gpu_that_fails_is_named_and_the_process_goes_on_without_it(
        self, graph: mf.Graph, driver: FakeDriver
    ) -> None:
        driver.fail["cuMemcpyHtoDAsync"] = driver.broken = ILLEGAL_ADDRESS
        error = refusal(graph, device="cuda")
        assert "CUDA_ERROR_ILLEGAL_ADDRESS" in str(error)
        assert "this process cannot use the device any more, restart it" in str(error)
        count_without_a_gpu(graph)


WITHOUT = """
import sys
import motiflux as mf
if sys.argv[1] == "no packages":
    sys.modules["cuda"] = None
graph = mf.Graph.from_edges([(0, 1), (1, 2), (2, 0)])
triangle = mf.Pattern.from_edges([(0, 1), (1, 2), (2, 0)])
for search in (mf.count, mf.match):
    try:
        search(graph, triangle, device="cuda")
    except mf.MotifluxError as error:
        print(type(error).__name__, error)
print(*(int(mf.count(graph, triangle, device=device)) for device in ("cpu", "auto")))
"""


@pytest.mark.turns(8)
@pytest.mark.parametrize("fault", ["no packages", "no GPU"])
def test_a_process_that_finds_no_gpu_says_so_and_counts_without(fault: str) -> None:
    status, out, err = run_python(WITHOUT, fault, CUDA_VISIBLE_DEVICES="")
    assert (status, err) == (0, "")
    *errors, counts = out.splitlines()
    assert len(errors) == 2
    assert all(error.startswith("DeviceError device 'cuda': ") for error in errors)
    assert counts == "6 6"
