"""Which cells of a grid `make test` looks at: few that have every pair of values, others with each commit.

And which tests it runs, of those that take long and are marked ``turns``.
"""

from __future__ import annotations

import random
import subprocess
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.full_checks import number_of_commit

Cell = TypeVar("Cell", bound=tuple[Any, ...])

_REPOSITORY = Path(__file__).resolve().parents[1]


def rotating(cells: Sequence[Cell], most: int | None = None) -> list[Any]:
    """Return all cells as parameters of a test: a cover of this commit, and the others marked ``long``.

    Parameters
    ----------
    cells
        Tuples of values.
    most
        Cells of the cover that are looked at, where a cell takes long or tells little: those with most pairs.
    """
    chosen = set(pairwise_cover(cells, seed_of_commit())[:most])
    return [
        pytest.param(
            # A named tuple is one parameter, a plain one is several.
            *(cell if type(cell) is tuple else (cell,)),
            marks=[] if cell in chosen else [pytest.mark.long],
        )
        for cell in cells
    ]


def in_turn(most: int, rows: Sequence[Any], *, on: Sequence[str] = ()) -> list[Any]:
    """Return all rows as parameters: so many of them for this commit, and the others marked ``long``.

    For cases that take long, on all devices or on those named, and differ little. A row is a value, or a
    tuple of several.
    """
    long = pytest.mark.long(*on) if on else pytest.mark.long
    chosen = random.Random(seed_of_commit()).sample(range(len(rows)), most)
    return [
        pytest.param(*(row if isinstance(row, tuple) else (row,)), marks=[] if at in chosen else [long])
        for at, row in enumerate(rows)
    ]


def few_emulated(most: int, first: Mapping[str, Any], second: Mapping[str, Any]) -> list[Any]:
    """Return all pairs of named values as parameters; `make test` emulates so many of them, in turn.

    For tests that the emulator takes seconds for.
    """
    names = list(product(first, second))
    chosen = set(pairwise_cover(names, seed_of_commit())[:most])
    return [
        pytest.param(
            *(first[one], second[other]),
            marks=[] if (one, other) in chosen else [pytest.mark.long("emulated")],
            id=f"{one}-{other}",
        )
        for one, other in names
    ]


def pairwise_cover(cells: Sequence[Cell], seed: str) -> list[Cell]:
    """Return few of the cells such that two values that are in one cell of all are in one of them.

    Another seed gives another cover. Each cell is in the cover of some seed.
    """
    shuffled = list(cells)
    random.Random(seed).shuffle(shuffled)
    left = set().union(*map(_pairs, shuffled))
    chosen: list[Cell] = []
    while left:
        best = max(shuffled, key=lambda cell: len(_pairs(cell) & left))  # the first of equal ones
        left -= _pairs(best)
        chosen.append(best)
    return chosen


def _pairs(cell: tuple[Any, ...]) -> set[Any]:
    """Return the pairs of values, each with its place."""
    return set(combinations(enumerate(cell), 2))


def is_turn_of(test: str, commits: int, commit: int | None = None) -> bool:
    """Return whether a test that is run with one of so many successive commits is run with this one.

    Tests of files with changes that are not committed yet are always run.

    Parameters
    ----------
    test
        Its name, as pytest writes it. It says which of the commits.
    commit
        The number of the commit; by default that of the current one.
    """
    if commit is None:
        if test.split("::")[0] in _edited():
            return True
        commit = _number_of_commit()
    return (zlib.crc32(test.encode()) + commit) % commits == 0


@cache
def _edited() -> frozenset[str]:
    """Return the files of tests that differ from the current commit or are new; none without Git."""
    changed = _git("diff", "--name-only", "HEAD", "--", "tests")
    new = _git("ls-files", "--others", "--exclude-standard", "--", "tests")
    return frozenset((changed + new).splitlines())


@cache
def seed_of_commit() -> str:
    """Return what differs from commit to commit; without Git, it is always the same."""
    return _git("rev-parse", "HEAD").strip() or "no git"


def _git(*arguments: str) -> str:
    """Return what Git prints, nothing if it fails."""
    command = ["git", *arguments]
    try:
        done = subprocess.run(command, cwd=_REPOSITORY, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout if done.returncode == 0 else ""


_number_of_commit = cache(number_of_commit)
