"""Every header compiles alone, for a GPU and where it can for the CPU, and brings in nothing heavy."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from motiflux.jit import HEADERS, Source
from tests.nvrtc.accepted import Accepted
from tests.nvrtc.results import Depth, Results

ALL = sorted(path.relative_to(HEADERS).as_posix() for path in HEADERS.rglob("*") if path.is_file())

# What needs threads and lanes, and so does whatever includes it.
NEEDS_SIMT = {
    "motiflux/lanes/clock.hpp",
    "motiflux/streaming/stage_times.hpp",
    "motiflux/lanes/group.hpp",
    "motiflux/device/backoff.hpp",
    "motiflux/match/busy_clock.hpp",
}

INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"]+)[>\"]", re.MULTILINE)
# Seconds of compile time, and packages that users would have to install.
HEAVY = re.compile(r"(cub|thrust|cuda|cccl|nv)/|cooperative_groups|cuda_|mma\.h")


def includes(header: str) -> list[str]:
    return INCLUDE.findall((HEADERS / header).read_text())


def needs_simt(header: str) -> bool:
    if header in NEEDS_SIMT or header.endswith(".cuh"):
        return True
    return any(needs_simt(inner) for inner in includes(header) if inner in ALL)


def test_headers_have_the_names_that_tell_what_they_are() -> None:
    assert {header.rsplit(".", 1)[-1] for header in ALL} <= {"hpp", "cuh"}
    assert set(ALL) >= NEEDS_SIMT


@pytest.mark.parametrize("header", ALL)
def test_a_header_includes_none_of_the_heavy_libraries(header: str) -> None:
    assert not [name for name in includes(header) if HEAVY.match(name)]


@pytest.mark.parametrize("header", ALL)
def test_a_header_names_ours_by_their_whole_path(header: str) -> None:
    ours = {name.rsplit("/", 1)[-1] for name in ALL}
    assert not [name for name in includes(header) if name.rsplit("/", 1)[-1] in ours and name not in ALL]


@pytest.mark.parametrize("header", ALL)
def test_a_header_compiles_alone_for_a_gpu(header: str, results: Results, accepted: Accepted) -> None:
    source = Source("header", f'#include "{header}"\n')
    what = (f"header {header}", source, "sm_75", Depth.FRONT_END)
    if accepted.has(*what):
        return
    assert "warning" not in results.of(source, "sm_75", Depth.FRONT_END).log
    accepted.add(*what)


@pytest.mark.turns(8)
@pytest.mark.parametrize("header", [header for header in ALL if not needs_simt(header)])
def test_a_header_without_lanes_compiles_alone_for_the_cpu(header: str) -> None:
    compiler = shutil.which("c++") or shutil.which("g++")
    assert compiler is not None
    options = ["-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{HEADERS}", "-x", "c++", "-"]
    result = subprocess.run(
        [compiler, *options], input=f'#include "{header}"\n', capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
