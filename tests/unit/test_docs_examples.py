"""The examples in README.md and the documentation, run page by page as a reader would.

``pycon`` blocks run as doctests, ``console`` blocks line by line in bash; the blocks of one page share
one empty folder and one Python session. ``...`` in the expected output stands for anything. A page says which
packages it needs that motiflux does not, as ``<!-- needs: pandas polars -->``.
"""

from __future__ import annotations

import doctest
import logging
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
NEEDS = re.compile(r"^<!-- needs: (.*) -->$", flags=re.MULTILINE)
FENCE = re.compile(r"^```(pycon|console)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    line: int


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [Block(found[1], found[2], text.count("\n", 0, found.start(2))) for found in FENCE.finditer(text)]


def commands_of(block: Block) -> list[tuple[str, str]]:
    """Split a block into its commands and what each should print."""
    parts = re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]
    return [(command, expected) for command, _, expected in (part.partition("\n") for part in parts)]


def starts_many_processes(page: Path) -> bool:
    """Return whether the commands of a page take seconds."""
    return sum(len(commands_of(block)) for block in blocks_of(page) if block.language == "console") > 1


@pytest.fixture
def loggers_as_before():
    """Undo what a page sets of the loggers."""
    loggers = [logging.getLogger(f"motiflux.{name}") for name in ("plan", "engine", "memory", "compile")]
    before = [(logger, logger.level, list(logger.handlers)) for logger in loggers]
    yield
    for logger, level, handlers in before:
        logger.setLevel(level)
        logger.handlers[:] = handlers


@pytest.mark.usefixtures("loggers_as_before")
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.turns(8)] if starts_many_processes(page) else [], id=page.name)
        for page in PAGES
        if blocks_of(page)
    ],
)
def test_the_examples_print_what_the_page_says(page, tmp_path, monkeypatch):
    for package in " ".join(NEEDS.findall(page.read_text(encoding="utf-8"))).split():
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    session: dict[str, object] = {}
    for block in blocks_of(page):
        if block.language == "pycon":
            run_python(block, page, session)
        else:
            run_commands(block, page)


def run_python(block: Block, page: Path, session: dict[str, object]) -> None:
    example = doctest.DocTestParser().get_doctest(block.text, session, page.name, str(page), block.line)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    runner.run(example, out=report.append, clear_globs=False)
    session.update(example.globs)
    assert not runner.summarize(verbose=False).failed, "".join(report)


def run_commands(block: Block, page: Path) -> None:
    for command, expected in commands_of(block):
        done = subprocess.run(
            ["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60
        )
        assert doctest.OutputChecker().check_output(expected, done.stdout, OPTIONS), (
            f"{page.name}, after line {block.line}: $ {command}\nexpected\n{expected}\ngot\n{done.stdout}"
        )
