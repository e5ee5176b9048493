"""The structures of `motiflux.codegen.layout` are those of the headers: same sizes, same offsets."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from motiflux.codegen import layout
from motiflux.codegen.kernels import Goal, clique, search_source

REPOSITORY = Path(__file__).parents[2]
INCLUDE = REPOSITORY / "src/motiflux/include"

STATIC = layout.static_args(3, 3)
STRUCTURES: dict[str, Any] = {
    "motiflux::view::Adjacency": layout.Adjacency,
    "motiflux::view::StepShape": layout.StepShape,
    "motiflux::view::StepArgs": layout.StepArgs,
    "motiflux::match::RuntimePlan": layout.RuntimePlan,
    "motiflux::match::SearchArgs<motiflux::match::RuntimePlan>": layout.RuntimeArgs,
    "motiflux::match::Control": layout.Control,
    "motiflux::match::Task": layout.Task,
    "motiflux::match::Cursor": layout.Cursor,
    "motiflux::match::LevelState": layout.LevelState,
    "motiflux::match::Place": layout.Place,
    "motiflux::match::Saved": layout.Saved,
    "motiflux::sets::View": layout.View,
    "motiflux::device::Ring": layout.Ring,
    "motiflux::device::Tickets": layout.Tickets,
    "motiflux::random::Permutation": layout.Permutation,
    "motiflux::generate::Quadrants": layout.Quadrants,
    "motiflux::generate::Rmat": layout.Rmat,
    "motiflux::generate::RmatArgs": layout.RmatArgs,
    "motiflux::rows::NumberArgs": layout.NumberArgs,
    "motiflux::device::EchoArgs": layout.EchoArgs,
    "motiflux::device::FloodArgs": layout.FloodArgs,
    "Plan": dict(STATIC._fields_)["plan"],
    "motiflux::match::SearchArgs<Plan>": STATIC,
}
CONSTANTS = {
    "motiflux::view::kMaxLevels": layout.MAX_PATTERN_VERTICES,
    "motiflux::match::kMaxSources": layout.MAX_PATTERN_EDGES,
    "motiflux::generate::kMaxLevels": layout.MAX_RMAT_LEVELS,
    "motiflux::match::kNoLimit": f"{layout.NO_LIMIT}ull",
    "motiflux::match::kStaged": layout.ROWS_PER_PACKET,
    "static_cast<int>(motiflux::match::Stop::kPause)": layout.STOP_PAUSE,
    "static_cast<int>(motiflux::match::Stop::kLimit)": layout.STOP_LIMIT,
    "static_cast<int>(motiflux::match::Stop::kHost)": layout.STOP_HOST,
}


def assertions() -> Iterator[str]:
    for name, structure in STRUCTURES.items():
        yield f'static_assert(sizeof({name}) == {ctypes.sizeof(structure)}, "{name}");'
        for field, *_ in structure._fields_:
            offset = getattr(structure, field).offset
            member = field.removesuffix("_")
            yield f'static_assert(__builtin_offsetof({name}, {member}) == {offset}, "{name}.{field}");'
    for name, value in CONSTANTS.items():
        yield f'static_assert({name} == {value}, "{name}");'


def compiled(text: str, tmp_path: Path) -> str:
    compiler = shutil.which(os.environ.get("CXX", "g++"))
    if compiler is None:
        pytest.skip("no C++ compiler")
    source = tmp_path / "layout.cpp"
    source.write_text(text)
    command = [compiler, "-std=c++20", "-fsyntax-only", "-Wno-invalid-offsetof", f"-I{INCLUDE}", str(source)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


def header() -> str:
    text = search_source(Goal.COUNT, 8, clique(3)).text
    shape = text[text.index("namespace {") : text.index('extern "C"')]
    includes = (
        "match/task.hpp",
        "match/state.hpp",
        "match/plan_policy.hpp",
        "device/echo.cuh",
        "generate/rmat.cuh",
        "rows/number.cuh",
    )
    return "\n".join([*(f'#include "motiflux/{name}"' for name in includes), shape])


def test_sizes_and_offsets_agree(tmp_path: Path) -> None:
    assert compiled("\n".join([header(), *assertions()]), tmp_path) == ""


def test_a_difference_would_be_seen(tmp_path: Path) -> None:
    wrong = "static_assert(sizeof(motiflux::match::Task) == 8);"
    assert "static assertion failed" in compiled(f"{header()}\n{wrong}", tmp_path)
