"""Results of NVRTC are kept by all that they depend on."""

from __future__ import annotations

from pathlib import Path

import pytest

from motiflux.jit import BuildError, Source
from tests.nvrtc.results import Depth, Results

UNIT = Source("unit", '#include "outer.hpp"\nextern "C" __global__ void k(int* out) { *out = kSize; }\n')


@pytest.fixture
def headers(tmp_path: Path) -> Path:
    folder = tmp_path / "include"
    folder.mkdir()
    (folder / "outer.hpp").write_text('#include "inner.hpp"\n')
    (folder / "inner.hpp").write_text("inline constexpr int kSize = 1;\n")
    (folder / "other.hpp").write_text("#error\n")
    return folder


@pytest.fixture
def made(tmp_path: Path, headers: Path, results: Results) -> Results:
    """Return results in a folder of their own; skips where there is no NVRTC."""
    return Results(folder=tmp_path / "results", headers=headers)


def test_a_unit_is_compiled_once(made: Results, tmp_path: Path, headers: Path) -> None:
    first = made.of(UNIT, "sm_90")
    assert first.is_image
    assert "Used" in first.log
    assert made.of(UNIT, "sm_90") == first
    later = Results(folder=tmp_path / "results", headers=headers)
    assert later.of(UNIT, "sm_90") == first
    assert (made.compiled, later.compiled) == (1, 0)
    anew = Results(folder=tmp_path / "results", headers=headers, anew=True)
    assert anew.of(UNIT, "sm_90") == first
    assert anew.compiled == 1


def test_all_that_it_depends_on_is_in_its_key(made: Results, tmp_path: Path, headers: Path) -> None:
    def key(source: Source = UNIT, arch: str = "sm_90", depth: Depth = Depth.CUBIN) -> str:
        return made.key(source, arch, depth)

    keys = {
        key(),
        key(arch="sm_80"),
        key(depth=Depth.FRONT_END),
        key(Source("unit", UNIT.text + "\n")),
        key(Source("unit", UNIT.text, ("--fmad=false",))),
        key(Source("other", UNIT.text)),
    }
    assert len(keys) == 6
    (headers / "other.hpp").write_text("")
    assert Results(headers=headers).key(UNIT, "sm_90", Depth.CUBIN) == key()
    changed = tmp_path / "changed"
    changed.mkdir()
    (changed / "outer.hpp").write_text((headers / "outer.hpp").read_text())
    (changed / "inner.hpp").write_text("inline constexpr int kSize = 2;\n")
    assert Results(headers=changed).key(UNIT, "sm_90", Depth.CUBIN) not in keys


def test_a_refusal_is_told_and_not_kept(made: Results, tmp_path: Path) -> None:
    bad = Source("bad", "__global__ void k() { static_assert(sizeof(int) == 8); }\n")
    for depth in Depth:
        for _ in range(2):
            with pytest.raises(BuildError, match="static assertion failed"):
                made.of(bad, "sm_90", depth)
    assert made.compiled == 4
    assert not list(tmp_path.glob("results/*.json"))


def test_the_front_end_sees_warnings(made: Results) -> None:
    found = made.of(Source("unit", "__global__ void k() { int unused; }\n"), "sm_90", Depth.FRONT_END)
    assert "warning" in found.log


def test_a_damaged_file_is_compiled_again(made: Results, tmp_path: Path) -> None:
    first = made.of(UNIT, "sm_90")
    (file,) = tmp_path.glob("results/*.json")
    file.write_text(file.read_text()[:20])
    assert made.of(UNIT, "sm_90") == first
    assert made.compiled == 2
