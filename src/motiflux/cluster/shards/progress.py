"""Progress of searches of sharded graphs, told as their tasks end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from motiflux.cluster.shards.sharded import Stage
from motiflux.request.deadline import Deadline
from motiflux.request.reports import ProgressCallback, ProgressReport


class Counted(Protocol):
    """A search whose progress can be told."""

    @property
    def progress(self) -> tuple[int, int]:
        """Units of work done, and all of them."""

    @property
    def found(self) -> int:
        """Embeddings found so far."""


@dataclass(frozen=True, slots=True)
class BehindSearch:
    """The progress of tasks behind a search, which find no more embeddings than it did."""

    stage: Stage
    found: int

    @property
    def progress(self) -> tuple[int, int]:
        """The number of tasks that ended, and of all."""
        return self.stage.progress


def telling(
    report: ProgressCallback | None, search: Counted, deadline: Deadline
) -> Callable[[], None] | None:
    """Return the function that tells the progress of a search; None if nobody wants to know."""
    if report is None:
        return None

    def tell() -> None:
        report(ProgressReport(*search.progress, search.found, deadline.elapsed()))

    return tell


def tell_end(report: ProgressCallback | None, deadline: Deadline) -> None:
    """Tell that a part of a call ended that had nothing to do."""
    if report is not None:
        report(ProgressReport(1, 1, 0, deadline.elapsed()))
