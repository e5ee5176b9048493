"""What the tests of running searches share."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

import motiflux as mf

TASKS = Path("/proc/self/task")

Found = TypeVar("Found")


def clique(size: int) -> list[tuple[int, int]]:
    return [(u, v) for v in range(size) for u in range(v)]


def path(size: int) -> list[tuple[int, int]]:
    return [(v, v + 1) for v in range(size - 1)]


def cycle(size: int) -> list[tuple[int, int]]:
    return [*path(size), (size - 1, 0)]


TRIANGLE = mf.Pattern.from_edges(cycle(3))
EDGE = mf.Pattern.from_edges([(0, 1)])
PATH = mf.Pattern.from_edges(path(8))
ODD_CYCLE = mf.Pattern.from_edges(cycle(9))

SMALL_TRIANGLES = 30 * 29 * 28


def threads_of_this_process(expected: int | None = None) -> int:
    """Count this process's threads; the kernel lists one for a moment after it was joined."""
    if not TASKS.is_dir():
        pytest.skip(f"no {TASKS} to count threads by")
    number = len(list(TASKS.iterdir()))
    for _ in range(100 if expected is None else 3000):
        time.sleep(0.01)
        before, number = number, len(list(TASKS.iterdir()))
        if number == (before if expected is None else expected):
            break
    return number


COMPILE_SECONDS = 3.0
"""About what a kernel takes to compile."""


def given_time(search: Callable[[float], Found], gets_somewhere: Callable[[Found], bool]) -> Found:
    """Return what an endless search finds in a moment, a longer one where the machine was held up in it.

    In between, kernels that are not compiled yet have time to be.
    """
    for timeout, pause in ((0.2, 0.0), (0.5, COMPILE_SECONDS), (2.0, COMPILE_SECONDS)):
        found = search(timeout)
        if gets_somewhere(found):
            return found
        time.sleep(pause)
    return search(20.0)
