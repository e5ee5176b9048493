from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = [REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + sorted(
    (REPOSITORY / "docs").rglob("*.md")
)
FRAGMENT_NAME = re.compile(r"[a-z0-9-]+\.(added|changed|fixed|removed)\.md")


def read(name: str) -> str:
    return (REPOSITORY / name).read_text(encoding="utf-8")


def project() -> dict[str, object]:
    return tomllib.loads(read("pyproject.toml"))["project"]


def named(path: Path) -> str:
    return str(path.relative_to(REPOSITORY))


def test_the_readme_shows_the_two_commands_to_begin_with():
    lines = read("README.md").splitlines()
    assert "make demo" in lines
    assert "make test" in lines


def test_the_installed_version_is_the_projects():
    assert version("motiflux") == project()["version"]


def test_every_changelog_fragment_is_named_after_its_kind_and_says_something():
    for fragment in (REPOSITORY / "changelog.d").iterdir():
        if fragment.name == "README.md":
            continue
        assert FRAGMENT_NAME.fullmatch(fragment.name), fragment.name
        assert fragment.read_text(encoding="utf-8").startswith("- "), fragment.name


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_relative_link_leads_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{named(page)} links to {target}"


@pytest.mark.parametrize("picture", sorted((REPOSITORY / "docs" / "images").glob("*.svg")), ids=named)
def test_pictures_are_well_formed_and_read_themselves_aloud(picture):
    assert ET.parse(picture).getroot().get("aria-label")


def test_pictures_are_those_that_are_made_now(tmp_path):
    subprocess.run([sys.executable, REPOSITORY / "docs" / "images" / "make.py", tmp_path], check=True)
    made, kept = (
        {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.svg")}
        for folder in (tmp_path, REPOSITORY / "docs" / "images")
    )
    assert made.keys() == kept.keys()
    for name in made:
        assert alike(made[name], kept[name]), f"{name}: made by python docs/images/make.py"


def alike(one, other):
    """Tell whether two documents differ in no more than the rounding of coordinates, and so in their ids."""
    number = re.compile(r"-?\d+(?:\.\d+)?")
    first, second = (re.sub(r"mf-[0-9a-f]{12}", "mf", text) for text in (one, other))
    if number.sub("", first) != number.sub("", second):
        return False
    values = zip(map(float, number.findall(first)), map(float, number.findall(second)), strict=True)
    return all(abs(a - b) < 0.3 for a, b in values)


def test_make_help_names_every_target():
    helped = subprocess.run(
        ["make", "help"], cwd=REPOSITORY, env=_plain_environment(), capture_output=True, text=True, check=True
    )
    named_targets = set(re.findall(r"make ([a-z-]+)", helped.stdout))
    phony = re.search(r"^\.PHONY: (.*)$", read("Makefile"), flags=re.MULTILINE)
    assert phony is not None
    assert named_targets >= set(phony[1].split())


def test_the_tool_check_names_what_is_missing_and_the_one_command_that_brings_it():
    checked = subprocess.run(
        [REPOSITORY / "scripts" / "check-tools.sh", "no-such-python"],
        env=_plain_environment(CXX="no-such-compiler"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 1
    assert "no-such-python is not on the PATH" in checked.stderr
    assert "no-such-compiler is not on the PATH" in checked.stderr
    assert checked.stderr.count("apt-get install") == 1


def test_the_tool_check_refuses_a_compiler_too_old_for_the_language(tmp_path):
    old = tmp_path / "old-compiler"
    old.write_text("#!/bin/sh\n[ \"$1\" = --version ] && echo 'old-compiler 4.8' && exit 0\nexit 1\n")
    old.chmod(0o755)
    checked = subprocess.run(
        [REPOSITORY / "scripts" / "check-tools.sh", sys.executable],
        env=_plain_environment(CXX=str(old)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 1
    assert "old-compiler 4.8" in checked.stderr


def _plain_environment(**more: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return {**kept, **more}


@pytest.mark.parametrize(
    ("statement", "refused"),
    [
        ("failed |= add(sum, value_of(root, failed));", True),
        ("failed |= add(sum, value);", False),
        ("failed_ |= add(sum, failed);", False),
    ],
)
def test_what_is_assigned_to_and_set_on_the_way_is_found(statement: str, refused: bool) -> None:
    assert bool(set_on_the_way(statement)) is refused


def test_kernels_assign_to_nothing_that_the_right_side_sets() -> None:
    """In ``failed |= f(failed)`` NVRTC reads the left side before the call, against C++17."""
    headers = [
        path
        for kind in ("*.hpp", "*.cuh")
        for path in (REPOSITORY / "src/motiflux/include").rglob(kind)
        if set_on_the_way(path.read_text())
    ]
    assert [named(path) for path in headers] == []


def set_on_the_way(text: str) -> list[str]:
    """Return assignments to flags, of calls, whose right side names the flag too."""
    found = re.finditer(r"\b(\w*(?:failed|beyond|passed)_?) \|= ([^;]*\([^;]*);", text)
    return [one[0] for one in found if re.search(rf"\b{one[1]}\b", one[2])]
