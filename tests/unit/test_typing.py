"""The types of the public API: checked in a program that uses every public name, and part of the wheel."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import motiflux as mf
from tests.data_paths import REPOSITORY

PROGRAM = REPOSITORY / "tests" / "typing" / "public_api.py"
WRONG = """\
import motiflux as mf

graph = mf.Graph.from_edges([(0, 1)])
mf.count(graph, "(a)--(b)", semantics="isomorphic")
mf.match(graph, "(a)--(b)", symmetry="subgraph")
mf.estimate(graph, "(a)--(b)", samples="many")
mf.Monitor(graph, "(a)--(b)", mode="sequential")
mf.count(graph, "(a)--(b)", device="cuda:1", semantics="induced")
"""


def checked(program: Path) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("mypy")
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context", program],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_program_names_every_public_name_and_runs(tmp_path: Path) -> None:
    text = PROGRAM.read_text(encoding="utf-8")
    assert {name for name in mf.__all__ if not re.search(rf"\bmf\.{name}\b", text)} == set()
    runpy.run_path(str(PROGRAM))["main"](tmp_path)


@pytest.mark.long
def test_a_strict_checker_accepts_the_program() -> None:
    done = checked(PROGRAM)
    assert (done.stdout, done.returncode) == ("", 0)


@pytest.mark.long
def test_a_checker_finds_misspelt_words_and_only_those(tmp_path: Path) -> None:
    program = tmp_path / "wrong.py"
    program.write_text(WRONG)
    done = checked(program)
    assert sorted(set(re.findall(r"wrong\.py:(\d+): error", done.stdout))) == ["4", "5", "6", "7"]


def test_stubs_and_the_mark_of_types_are_part_of_the_wheel() -> None:
    """A wheel holds the files of the package that git does not ignore."""
    package = REPOSITORY / "src" / "motiflux"
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = settings["tool"]["scikit-build"]["wheel"]
    assert wheel["packages"] == ["src/motiflux"]
    assert "exclude" not in wheel
    for name in ("py.typed", "_native.pyi"):
        assert (package / name).is_file()
        ignored = subprocess.run(["git", "check-ignore", "-q", package / name], cwd=REPOSITORY, check=False)
        assert ignored.returncode == 1


def test_the_stub_describes_every_name_of_the_extension() -> None:
    from motiflux import _native

    stub = (REPOSITORY / "src/motiflux/_native.pyi").read_text(encoding="utf-8")
    described = set(re.findall(r"^(?:def|class) (\w+)|^(\w+)(?:: | = )", stub, re.MULTILINE))
    names = {name for pair in described for name in pair if name}
    there = {name for name in vars(_native) if not name.startswith("_")}
    assert there <= names
