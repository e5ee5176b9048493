"""``motiflux doctor``."""

import os
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import numpy as np
import pytest

from motiflux.cli.commands import doctor
from motiflux.cli.output import print_table
from motiflux.device import cuda, cuda_driver
from motiflux.errors import DeviceError
from motiflux.jit.base import BuildError, Built, Source
from motiflux.jit.nvrtc import NvrtcToolchain
from tests.device.fake_driver import FakeDriver, cubin
from tests.unit.cli_run import motiflux, only_json


def test_a_working_installation_is_exit_0() -> None:
    result = motiflux("doctor", "--json")
    assert result.exit_code == 0
    fields = only_json(result)
    assert fields["ok"] is True
    checks = {check["check"]: check for check in fields["checks"]}
    assert {"Python", "motiflux", "numpy", "CPU engine", "CPU"} <= set(checks)
    assert {"NVIDIA driver", "cuda.core", "cupy", "GPU compiler", "kernel cache"} <= set(checks)
    assert all(check["advice"] for check in checks.values() if not check["ok"])
    assert "The CPU engine works." in motiflux("doctor").stdout


def test_a_table_begins_at_the_edge_of_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    print_table("fruit", ["name", "number"], [["apple", "1"], ["fig", "10"]], right=("number",))
    lines = capsys.readouterr().out.splitlines()[1:]  # without the title, which is filled up
    assert lines == ["name   number", "apple       1", "fig        10"]


def test_a_broken_extension_is_found_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    import motiflux as package

    def fail(*_: object, **__: object) -> int:
        raise ImportError("libexample.so.1: no such file")

    monkeypatch.setattr(package, "count", fail)
    result = motiflux("doctor", "--json")
    assert result.exit_code == 3
    engine = next(check for check in only_json(result)["checks"] if check["check"] == "CPU engine")
    assert not engine["ok"]
    assert "libexample.so.1" in engine["found"]
    assert "make setup" in engine["advice"]


def test_a_missing_package_is_not_sought_on_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.version", missing)
    assert doctor._package("motiflux").advice == "in the clone: make setup"


def test_a_wrong_count_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    import motiflux as package

    monkeypatch.setattr(package, "count", lambda *_, **__: 5)
    assert motiflux("doctor").exit_code == 3


def test_modules_are_found_without_importing_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "examplepackage"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    (package / "core.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    assert doctor._module("examplepackage.core").ok
    assert not doctor._module("examplepackage.other").ok
    assert "examplepackage" not in sys.modules


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeDriver:
    fake = FakeDriver()
    monkeypatch.setattr(cuda_driver, "import_bindings", lambda: fake)
    monkeypatch.setattr(doctor, "_is_installed", lambda name: True)
    monkeypatch.setattr(doctor, "NVIDIA_DRIVER", tmp_path / "version")
    (tmp_path / "version").write_text("NVRM version: 580.1\nGCC version: 12\n")
    return fake


def test_a_driver_is_told_with_the_cuda_it_supports(driver: FakeDriver) -> None:
    check = doctor._nvidia_driver()
    assert check.ok
    assert check.found == "supports CUDA 13.0; NVRM version: 580.1"


def test_a_driver_that_is_too_old_is_told_with_what_is_needed(driver: FakeDriver) -> None:
    driver.version = 12040
    check = doctor._nvidia_driver()
    assert not check.ok
    assert check.found == "NVRM version: 580.1"
    assert "580 or newer" in check.advice
    assert [check.check for check in doctor._gpus()] == ["GPU"]


def test_without_packages_a_driver_is_still_told(driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_is_installed", lambda name: False)
    assert doctor._nvidia_driver().found == "NVRM version: 580.1"
    monkeypatch.setattr(doctor, "NVIDIA_DRIVER", Path("/nowhere"))
    assert "install NVIDIA driver" in doctor._nvidia_driver().advice
    assert "pip install 'motiflux[gpu]'" in doctor._gpus()[0].advice
    assert "pip install 'motiflux[gpu]'" in doctor._module("cupy").advice


def test_gpus_are_listed_and_the_first_runs_a_kernel(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = np.arange(7, 1007, dtype=np.uint32)
    monkeypatch.setattr(doctor, "_run_kernel", lambda: (answer, 12_345))
    gpu, self_test = doctor._gpus()
    assert gpu.ok
    assert gpu.found == "Example GPU, 1,048,576 bytes, compute capability 9.0"
    assert self_test.ok
    assert "12,345 bytes free" in self_test.found
    monkeypatch.setattr(doctor, "_run_kernel", lambda: (answer[::-1], 1))
    assert doctor._self_test().found == "a kernel returned a wrong result"


def test_a_gpu_that_is_too_old_is_named(driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    driver.attributes["COMPUTE_CAPABILITY_MAJOR"] = 6
    monkeypatch.setattr("motiflux.device.open_device", lambda name: cuda.open_device())
    gpu, self_test = doctor._gpus()
    assert not gpu.ok
    assert "7.5 or more" in gpu.advice
    assert not self_test.ok
    assert "found 6.0 (Example GPU)" in self_test.advice


def test_the_self_test_launches_what_the_compiler_gives(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("motiflux.device.open_device", lambda name: cuda.open_device())
    monkeypatch.setattr(NvrtcToolchain, "build", lambda *_: Built(cubin()))
    monkeypatch.setattr(driver, "cuLibraryGetKernel", lambda library, name: (0, 1), raising=False)
    found, free = doctor._run_kernel()
    assert len(found) == 1000
    assert free == driver.memory - 4000
    (grid, block, shared, _) = driver.launched[0]
    assert (grid, block, shared) == (8, 128, 0)


@pytest.mark.parametrize(
    ("error", "found"),
    [
        (DeviceError("NVRTC cannot be loaded"), "not usable"),
        (BuildError("ptxas is missing"), "NVRTC refuses a small kernel: ptxas is missing"),
        (ValueError("something else"), "ValueError: something else"),
    ],
)
def test_a_compiler_that_does_not_work_is_told(
    error: Exception, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: NvrtcToolchain, source: Source, include: object) -> Built:
        raise error

    monkeypatch.setattr(NvrtcToolchain, "identity", lambda self: {"version": "13.0"})
    monkeypatch.setattr(NvrtcToolchain, "build", fail)
    check = doctor._compiler()
    assert not check.ok
    assert check.found == found
    assert check.advice


def test_the_kernel_cache_is_told_with_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOTIFLUX_CACHE", str(tmp_path / "kernels"))
    assert doctor._kernel_cache().ok
    assert not (tmp_path / "kernels").exists()
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "a.kernel").write_bytes(b"x" * 1500)
    assert doctor._kernel_cache().found.endswith("kernels: 1 kernel, 1,500 bytes")
    monkeypatch.setenv("MOTIFLUX_CACHE", "off")
    assert doctor._kernel_cache().found.startswith("off")


def test_a_kernel_cache_that_cannot_be_written_to_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MOTIFLUX_CACHE", str(tmp_path / "file" / "kernels"))
    check = doctor._kernel_cache()
    assert not check.ok
    assert "MOTIFLUX_CACHE" in check.advice
    monkeypatch.setenv("MOTIFLUX_CACHE", str(tmp_path))
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert "not writable" in doctor._kernel_cache().found
    monkeypatch.setenv("MOTIFLUX_CACHE_BYTES", "many")
    assert "MOTIFLUX_CACHE_BYTES" in doctor._kernel_cache().found
