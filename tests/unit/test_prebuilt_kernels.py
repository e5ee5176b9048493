"""Kernels that come with the package serve where they fit, and are never in the way."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from motiflux.errors import DeviceError, DeviceMemoryError, MotifluxWarning
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.jit import Compiler, KernelCache, PrebuiltKernels, Source
from motiflux.jit.key import headers_digest
from motiflux.jit.prebuilt import write_archive
from tests.unit.accelerator_cases import LoadingDevice
from tests.unit.jit_cases import CopyingToolchain, run_python

UNIT = Source("unit", "text", ("-DA=1",), description="a search for triangles")
OTHER = Source("other", "other text")


class Unavailable(CopyingToolchain):
    """NVRTC that is not installed."""

    def identity(self) -> dict[str, str]:
        raise DeviceError("NVRTC cannot be loaded")


@pytest.fixture
def include(tmp_path: Path) -> tuple[Path, ...]:
    folder = tmp_path / "include"
    folder.mkdir()
    (folder / "header.hpp").write_text("int header;")
    return (folder,)


@pytest.fixture
def folder(tmp_path: Path, include: tuple[Path, ...]) -> Path:
    """Return a folder with the archive of sm_80."""
    folder = tmp_path / "cubins"
    folder.mkdir()
    write_archive(folder / "sm_80.zip", [(UNIT, b"prebuilt"), (OTHER, b"both")], headers_digest(include))
    return folder


def compiler_with(folder: Path, include: tuple[Path, ...], toolchain: CopyingToolchain) -> Compiler:
    prebuilt = PrebuiltKernels.for_architecture("sm_80", folder)
    return Compiler(toolchain, KernelCache(None), include, prebuilt)


def test_a_unit_that_is_there_needs_no_toolchain(folder: Path, include: tuple[Path, ...]) -> None:
    compiler = compiler_with(folder, include, Unavailable())
    assert compiler.known(UNIT)
    code = compiler.wait(UNIT)
    assert (code.image, code.cached, code.prebuilt) == (b"prebuilt", True, True)
    assert compiler.submit(OTHER).result(1).image == b"both"
    with pytest.raises(DeviceError, match="NVRTC"):
        compiler.compile(Source("third", "text of a third unit"))


@pytest.mark.parametrize(
    "unit",
    [
        Source("unit", "another text", UNIT.options),
        Source("unit", "text"),
        Source("renamed", "text", UNIT.options),
        UNIT.quick(),
    ],
    ids=["text", "options", "name", "quick"],
)
def test_another_unit_is_compiled(folder: Path, include: tuple[Path, ...], unit: Source) -> None:
    toolchain = CopyingToolchain()
    code = compiler_with(folder, include, toolchain).compile(unit)
    assert (code.image, code.prebuilt, toolchain.built) == (unit.text.encode(), False, [unit.name])


def test_with_other_headers_all_is_compiled(folder: Path, include: tuple[Path, ...]) -> None:
    (include[0] / "header.hpp").write_text("int edited;")
    toolchain = CopyingToolchain()
    assert compiler_with(folder, include, toolchain).compile(UNIT).image == b"text"
    assert toolchain.built == ["unit"]


@pytest.mark.parametrize(
    ("arch", "serves"),
    [
        ("sm_80", True),
        ("sm_86", True),
        ("sm_89", True),
        ("sm_75", False),
        ("sm_90", False),
        ("sm_100", False),
    ],
)
def test_an_archive_serves_its_architecture_and_later_ones_of_the_same_major_version(
    folder: Path, arch: str, serves: bool
) -> None:
    found = PrebuiltKernels.for_architecture(arch, folder)
    assert len(found) == (2 if serves else 0)
    assert (found.archive == folder / "sm_80.zip") is serves


def test_no_archive_has_no_kernels(tmp_path: Path) -> None:
    for found in (PrebuiltKernels.for_architecture("sm_90", tmp_path), PrebuiltKernels(None)):
        assert len(found) == 0
        assert found.get(UNIT, "headers") is None
    assert PrebuiltKernels.for_architecture("gfx90a", tmp_path).archive is None


@pytest.mark.parametrize("damage", ["cut", "flipped", "no archive"])
def test_a_damaged_archive_means_one_warning_and_compiled_kernels(
    folder: Path, include: tuple[Path, ...], damage: str
) -> None:
    path = folder / "sm_80.zip"
    whole = path.read_bytes()
    at = whole.index(b".cubin") + 6 + 9 + 8  # within the first compressed image
    flipped = whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1 :]
    path.write_bytes({"cut": whole[: len(whole) // 2], "flipped": flipped, "no archive": b"text"}[damage])
    toolchain = CopyingToolchain()
    compiler = compiler_with(folder, include, toolchain)
    with pytest.warns(MotifluxWarning, match=r"sm_80.zip: expected an archive of kernels.*install"):
        code = compiler.compile(UNIT)
    assert code.image == b"text"
    assert compiler.compile(OTHER).image == b"other text"  # without a second warning, which would be an error


@pytest.mark.turns(8)
def test_a_python_without_lzma_compiles(
    folder: Path, include: tuple[Path, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    script = (
        "import sys; sys.modules['lzma'] = sys.modules['_lzma'] = None\n"
        "import motiflux as mf\n"
        "print(int(mf.count(mf.Graph.from_edges([(0, 1)]), '(a)--(b)', device='cpu')))"
    )
    assert run_python(script)[:2] == (0, "2\n")
    monkeypatch.setattr("zipfile.lzma", None)
    compiler = compiler_with(folder, include, CopyingToolchain())
    with pytest.warns(MotifluxWarning, match="cannot be read"):
        code = compiler.compile(UNIT)
    assert code.image == b"text"


def test_equal_images_give_equal_archives(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("one.zip", "two.zip")]
    for path in paths:
        write_archive(path, [(UNIT, b"image" * 1000)], "headers")
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert paths[0].stat().st_size < 1000


def test_a_fork_reads_the_archive_by_itself(folder: Path, include: tuple[Path, ...]) -> None:
    compiler = compiler_with(folder, include, Unavailable())
    assert compiler.compile(UNIT).image == b"prebuilt"
    sys.stdout.flush()
    if (child := os.fork()) == 0:
        os._exit(0 if compiler.compile(OTHER).image == b"both" else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert compiler.compile(OTHER).image == b"both"


def test_a_general_kernel_serves_where_there_is_no_compiler_for_a_special_one(
    folder: Path, include: tuple[Path, ...]
) -> None:
    accelerator = Accelerator(LoadingDevice(), compiler_with(folder, include, Unavailable()))
    for _ in range(2):
        assert accelerator.choose(UNIT, Source("special", "special text"), "auto") == (UNIT, False)
    assert accelerator.kernel(UNIT).image == b"prebuilt"


class TestDriver:
    def test_one_that_refuses_them_gets_compiled_kernels(
        self, folder: Path, include: tuple[Path, ...]
    ) -> None:
        device, toolchain = LoadingDevice(refused=[b"prebuilt", b"both"]), CopyingToolchain()
        accelerator = Accelerator(device, compiler_with(folder, include, toolchain))
        assert accelerator.kernel(UNIT).image == b"text"
        assert accelerator.kernel(OTHER).image == b"other text"
        assert device.loaded == [b"prebuilt", b"text", b"other text"]  # one refusal is enough
        assert toolchain.built == ["unit", "other"]

    def test_what_was_read_before_the_refusal_is_forgotten(
        self, folder: Path, include: tuple[Path, ...]
    ) -> None:
        device, toolchain = LoadingDevice(refused=[b"prebuilt", b"both"]), CopyingToolchain()
        compiler = compiler_with(folder, include, toolchain)
        assert compiler.compile(OTHER).prebuilt
        accelerator = Accelerator(device, compiler)
        assert accelerator.kernel(UNIT).image == b"text"
        assert accelerator.kernel(OTHER).image == b"other text"

    def test_one_without_memory_is_no_refusal(self, folder: Path, include: tuple[Path, ...]) -> None:
        device, toolchain = LoadingDevice(full=True), CopyingToolchain()
        with pytest.raises(DeviceMemoryError):
            Accelerator(device, compiler_with(folder, include, toolchain)).kernel(UNIT)
        assert toolchain.built == []

    def test_a_compiled_kernel_that_is_refused_is_an_error(self, include: tuple[Path, ...]) -> None:
        device = LoadingDevice(refused=[b"text"])
        with pytest.raises(DeviceError, match="refused"):
            Accelerator(device, Compiler(CopyingToolchain(), KernelCache(None), include)).kernel(UNIT)
