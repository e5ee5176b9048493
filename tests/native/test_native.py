"""The parts of the extension that need no Python, compiled with sanitizers and run."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
SOURCES = sorted(HERE.glob("test_*.cpp"))
FLAGS = (
    "-std=c++20",
    "-O1",
    "-g",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
    "-D_GLIBCXX_ASSERTIONS",
)
INCLUDES = ("csrc", "src/motiflux/include", "tests/native")


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_the_native_checks_hold_under_the_sanitizers(source: Path, tmp_path: Path) -> None:
    compiler = shutil.which(os.environ.get("CXX", "g++"))
    if compiler is None:
        pytest.skip("no C++ compiler")
    program = tmp_path / source.stem
    includes = [f"-I{REPOSITORY / folder}" for folder in INCLUDES]
    command = [compiler, *FLAGS, *includes, str(source), "-o", str(program)]
    compiled = subprocess.run(command, capture_output=True, text=True, check=False)
    assert compiled.returncode == 0, compiled.stderr
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_all_native_checks_are_found() -> None:
    assert {source.name for source in SOURCES} >= {"test_sets.cpp", "test_total.cpp"}
