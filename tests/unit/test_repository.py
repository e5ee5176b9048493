from __future__ import annotations

import ast
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
    ("text", "refused"),
    [
        ("failed |= add(sum, value_of(root, failed));", True),
        ("failed |= add(sum, value);", False),
        ("failed_ |= add(sum, failed);", False),
        ("total += next(total);", True),
        ("mask &= ~gone([&] { mask = 0; });", True),
        ("found.low += for_each(set, [&](int one) { if (one > 2) ++found.low; });", True),
        ("found_ += f(); } int f() { return 1 + g(); } int g() const { found_ = 0; return 2; }", True),
        ("found_ += f(); } int f() { return 1 + g(); } int g() const { return found_ == 2; }", False),
        ("found_ += f(); } int f() { set(1, found_); return 1; }", True),
        ("found += other.found(1);", False),
        ("value += __shfl_xor_sync(mask, value, step);", False),
        ("use(failed, [&] { failed = true; });", False),
    ],
)
def test_what_is_assigned_to_and_set_on_the_way_is_found(text: str, refused: bool) -> None:
    assert bool(set_on_the_way(text)) is refused


def test_kernels_assign_to_nothing_that_the_right_side_sets() -> None:
    """In ``failed |= f(failed)`` NVRTC reads the left side before the call, against C++17."""
    found = {
        named(path): statements
        for kind in ("*.hpp", "*.cuh")
        for path in (REPOSITORY / "src/motiflux/include").rglob(kind)
        if (statements := set_on_the_way(path.read_text()))
    }
    assert found == {}


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Imports in functions and those for annotations count too."""
    assert circles(imports_within("motiflux")) == []


def test_a_circle_of_imports_is_found() -> None:
    imports = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}, "e": set()}
    assert circles(imports) == [["b", "c"]]


def imports_within(package: str) -> dict[str, set[str]]:
    """Return the modules of a package that each of its modules imports; its root is left out."""
    paths = {}
    for path in (REPOSITORY / "src" / package).rglob("*.py"):
        parts = path.relative_to(REPOSITORY / "src").with_suffix("").parts
        paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    imports: dict[str, set[str]] = {}
    for module, path in paths.items():
        imports[module] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imports[module].update(one.name for one in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{module} has a relative import"
                for one in node.names:
                    inner = f"{node.module}.{one.name}"
                    imports[module].add(inner if inner in paths else str(node.module))
        imports[module] &= paths.keys() - {module, package}
    return imports


def circles(imports: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules each of which reaches all others of its group by imports."""
    reached = {module: _reached(module, imports) for module in imports}
    groups = {
        tuple(sorted(other for other in reached[module] if module in reached[other]))
        for module in imports
        if module in reached[module]
    }
    return sorted(map(list, groups))


def _reached(module: str, imports: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    frontier = [module]
    while frontier:
        fresh = imports[frontier.pop()] - found
        found |= fresh
        frontier += fresh
    return found


_COMPOUND = re.compile(r"(?<![\w.>])([A-Za-z_]\w*(?:\.\w+)*) (?:[-+*/%|&^]|<<|>>)= ")
_CALL = re.compile(r"(?<![\w.>:])(?!(?:if|for|while|switch|return)\b)(\w+)(?:<[^<>;()]*>)?\(")
_DEFINITION = re.compile(r"\b(?!(?:if|for|while|switch)\b)(\w+)\((?:[^(){};]|\([^()]*\))*\) (?:const )?\{")


def set_on_the_way(text: str) -> list[str]:
    """Return compound assignments whose right side may set the left one.

    It names it among the arguments of a call or in a lambda, or calls a function of the same text that sets
    the member of that name or hands it on, itself or through others.
    """
    text = re.sub(r"//[^\n]*", "", text)
    bodies: dict[str, list[str]] = {}
    for one in _DEFINITION.finditer(text):
        bodies.setdefault(one[1], []).append(_to_the_end(text, one.end(), statement=False))
    found = []
    for one in _COMPOUND.finditer(text):
        right = _to_the_end(text, one.end(), statement=True)
        by_value = re.sub(r"__shfl\w*\([^;]*\)", "0", right)
        called = _called(right, bodies) if one[1].endswith("_") else []
        if any(_may_set(part, one[1]) for part in (by_value, *called)):
            found.append(one[0] + right)
    return found


def _called(text: str, bodies: dict[str, list[str]]) -> list[str]:
    """Return the bodies of the functions that are called there, and that those call."""
    parts, known = [text], set[str]()
    for part in parts:
        for name in sorted(set(_CALL.findall(part)) - known):
            known.add(name)
            parts += bodies.get(name, [])
    return parts[1:]


def _may_set(text: str, name: str) -> bool:
    name = re.escape(name)
    ways = (
        rf"(?<![\w.>]){name}(\+\+|--| ([-+*/%|&^]|<<|>>)?= )",
        rf"(\+\+|--){name}\b",
        rf"\w\(([^;]*, )?{name}[,)]",
    )
    return any(re.search(way, text) for way in ways)


def _to_the_end(text: str, start: int, *, statement: bool) -> str:
    """Return the rest of a statement, or of a block in braces."""
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth < 0 or (statement and depth == 0 and text[at] == ";"):
            return text[start:at]
    return text[start:]
