"""What long calls report while they run."""

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
        Embeddings found so far, before the multiplication by a factor of the plan.
    seconds
        Wall-clock seconds since the start.
    """

    done: int
    total: int
    found: int
    seconds: float


ProgressCallback: TypeAlias = Callable[[ProgressReport], None]
