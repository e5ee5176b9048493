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
    """

    done: int
    total: int
    found: int
    seconds: float
    each: tuple[int, ...] = ()


ProgressCallback: TypeAlias = Callable[[ProgressReport], None]
