"""Functions that call the native CPU search: counts, and rows in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux._native import NativePlan
from motiflux.errors import CountOverflowError
from motiflux.types import VertexArray

Progress = Callable[[int, int, int], None]
"""Called with (root arcs done, root arcs in total, embeddings found) on the calling thread."""

ProgressOfEach = Callable[[int, int, list[int]], None]
"""The same for several searches of one pass, with the number of embeddings found by each."""

Projection = tuple[list[int], list[tuple[list[int], int, int | None, int | None]], bool]
"""The level of each column, thresholds, and whether the search leaves a subtree at its first witness.

A threshold has counted levels, the least number, the greatest, and one that fails."""

_LARGEST_LIMIT = 2**64 - 1


class Stop(IntEnum):
    """The reason for the end of a search."""

    NONE = 0
    LIMIT = 1
    TIMEOUT = 2
    CANCELLED = 3


def count(
    search: NativePlan,
    *,
    threads: int,
    limit: int | None,
    timeout: float | None,
    progress: Progress | None,
    brief: bool = False,
) -> tuple[int, Stop, list[int]]:
    """Return the number of embeddings found (multiplier not applied), the reason for the end, and the sizes.

    The sizes are the numbers of partial embeddings up to each level but the last.

    With a `limit`, the search ends once it has found more than `limit`. A search expected to be `brief` runs
    on the calling thread first, for about 100 us.
    """
    with overflow_explained():
        total, reason, sizes = _native.count(search, threads, native_limit(limit), timeout, progress, brief)
    return total, Stop(reason), sizes


def count_arcs(search: NativePlan, *, threads: int, timeout: float | None) -> NDArray[np.uint64] | None:
    """Return the number of embeddings for each root arc, multiplier not applied; None if time was up.

    Raises
    ------
    OverflowError
        A number exceeds 64 bits.
    """
    counts, reason = _native.count_arcs(search, threads, timeout)
    return counts if Stop(reason) is Stop.NONE else None


def count_together(
    searches: Sequence[NativePlan],
    *,
    threads: int,
    limits: Sequence[int | None],
    timeout: float | None,
    progress: ProgressOfEach | None,
) -> list[tuple[int, Stop]]:
    """Return the number of embeddings found by each search of one pass, and the reason for its end.

    The searches share two levels (`motiflux.plan.shared_prefix`). Each has its limit, as in `count`.
    """
    native_limits = [native_limit(limit) for limit in limits]
    with overflow_explained():
        found = _native.count_together(searches, threads, native_limits, timeout, progress)
    return [(total, Stop(reason)) for total, reason in found]


def native_limit(limit: int | None) -> int | None:
    """Return a limit for the native code; None for one that no number of 64 bits reaches."""
    return None if limit is None or limit > _LARGEST_LIMIT else limit


@contextmanager
def overflow_explained() -> Iterator[None]:
    """Say what helps where a count exceeds the numbers of the native code.

    Raises
    ------
    CountOverflowError
        It does.
    """
    try:
        yield
    except OverflowError as error:
        raise CountOverflowError(f"{error}; limit= ends a count as soon as it is reached") from error


class Rows:
    """Embeddings in internal ids, block by block, in the pattern's vertex order; or rows of a projection."""

    def __init__(
        self,
        search: NativePlan,
        order: Sequence[int],
        *,
        threads: int,
        block_rows: int,
        limit: int | None,
        timeout: float | None,
        projection: Projection | None = None,
    ) -> None:
        self._rows = _native.Rows(
            search, order, threads, block_rows, native_limit(limit), timeout, projection
        )

    def next(self, progress: Progress | None) -> VertexArray | None:
        """Return the next block, uint32 [rows, k], or None at the end."""
        return self._rows.next(progress)

    def close(self) -> None:
        """Stop the search; blocks not taken are dropped."""
        self._rows.close()

    @property
    def stop(self) -> Stop:
        """The reason for the end of the search."""
        return Stop(self._rows.reason)
