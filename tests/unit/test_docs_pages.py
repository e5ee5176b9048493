"""The reference holds every public name, and pages made from code are as the code is."""

from __future__ import annotations

import importlib
import re
import runpy
from importlib.util import find_spec
from pathlib import Path

import pytest

import motiflux as mf
import motiflux.errors
from motiflux.cli.exits import ExitCode, report_error
from tests.data_paths import REPOSITORY

REFERENCE = REPOSITORY / "docs" / "reference"
PAGES = runpy.run_path(str(REPOSITORY / "scripts" / "write_pages.py"))
DIRECTIVE = re.compile(
    r"^\.\. (auto(?:function|class|module|data)|currentmodule|py:data):: (\S+)$", re.MULTILINE
)
SUBMODULES = [name for name in ("datasets", "draw", "generate", "plot") if find_spec(f"motiflux.{name}")]


def public() -> list[str]:
    """Return what a user may write after ``motiflux.``."""
    names = [name for name in mf.__all__ if name not in ("__version__", *SUBMODULES)]
    for submodule in SUBMODULES:
        module = importlib.import_module(f"motiflux.{submodule}")
        own = [name for name, value in vars(module).items() if is_from(value, module.__name__)]
        known = getattr(module, "__all__", [name for name in own if not name.startswith("_")])
        names += [f"{submodule}.{name}" for name in known]
    return sorted(names)


def documented() -> set[str]:
    """Return every name that a page of the reference describes, as a user writes it after ``motiflux.``."""
    names: set[str] = set()
    for page in REFERENCE.glob("*.md"):
        home = ""
        for kind, name in DIRECTIVE.findall(page.read_text(encoding="utf-8")):
            if kind == "currentmodule":
                home = name
            elif kind == "automodule":
                module = importlib.import_module(name)
                names |= {f"{name}.{one}" for one, value in vars(module).items() if is_from(value, name)}
            else:
                names.add(name if name.startswith("motiflux.") else f"{home}.{name}")
    return names


def is_from(value: object, module: str) -> bool:
    return getattr(value, "__module__", None) == module


@pytest.mark.parametrize("name", public())
def test_every_public_name_is_on_a_page_of_the_reference(name: str) -> None:
    value: object = mf
    for part in name.split("."):
        value = getattr(value, part)
    home = getattr(value, "__module__", "motiflux")
    assert documented() & {f"motiflux.{name}", f"{home}.{name.split('.')[-1]}"}


@pytest.mark.parametrize("page", [pytest.param(page, id=page[0].name) for page in PAGES["pages"]()])
def test_pages_made_from_code_are_as_the_code_is(page: tuple[Path, str]) -> None:
    path, text = page
    assert path.read_text(encoding="utf-8") == text, "python scripts/write_pages.py writes it anew"


def test_the_page_of_errors_tells_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    text = (REFERENCE / "errors.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| .* \| (\d+) \|$", text, re.MULTILINE)
    told = {name: int(code) for name, code in rows}
    errors = [one for one in vars(motiflux.errors).values() if isinstance(one, type)]
    raised = {one for one in errors if issubclass(one, mf.MotifluxError)} - {mf.MotifluxError}
    assert set(told) == {one.__name__ for one in raised}
    for one in raised:
        assert report_error(one.__new__(one)) == told[one.__name__], one.__name__
    codes = re.findall(r"^\| (\d+) \|", text, re.MULTILINE)
    assert {int(code) for code in codes} == set(map(int, ExitCode))
