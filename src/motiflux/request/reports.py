"""Progress reports of long calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class ProgressReport:
    """Progress of a search.

    Parameters
    ----------
    done, total
        Units of work. Their cost varies. A search of a few milliseconds sends no report.
    found
        Embeddings found so far.
    seconds
        Wall-clock seconds since the start.
    each
        Embeddings found by each of several searches of one pass; empty for one search.
    expected
        About how many will be found, at most the limit, as planning estimated; None if it did not.
    """

    done: int
    total: int
    found: int
    seconds: float
    each: tuple[int, ...] = ()
    expected: float | None = None


ProgressCallback: TypeAlias = Callable[[ProgressReport], None]
