"""Host memory that uploads of a run go through."""

from __future__ import annotations

from typing import Any

import numpy as np

from motiflux.gpu.changing.memory import Staging


class Pinned:
    def __init__(self, nbytes: int) -> None:
        self.array = np.zeros(nbytes, np.uint8)


class Device:
    def allocate_host(self, nbytes: int, what: str) -> Any:
        return Pinned(nbytes)


LARGE = 33 << 20


def owner(array: np.ndarray) -> Any:
    while array.base is not None:
        array = array.base
    return array


def test_large_memory_is_used_again_by_the_next_large_run() -> None:
    staging = Staging(Device())  # type: ignore[arg-type]
    first = staging.of(LARGE)
    staging.of(100)
    staging.sent()
    second = staging.of(LARGE - 10)
    assert len(second) == LARGE - 10
    assert owner(second) is owner(first)


def test_large_memory_is_freed_after_a_run_that_did_not_need_it() -> None:
    staging = Staging(Device())  # type: ignore[arg-type]
    first = staging.of(LARGE)
    staging.sent()
    staging.of(100)
    staging.sent()
    assert owner(staging.of(LARGE)) is not owner(first)


def test_larger_memory_replaces_smaller() -> None:
    staging = Staging(Device())  # type: ignore[arg-type]
    staging.of(LARGE)
    assert len(staging.of(2 * LARGE)) == 2 * LARGE
