"""What an engine offers, and what its counts give back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from motiflux.graph import Graph
from motiflux.plan import Plan
from motiflux.plan.estimate.prediction import Prediction
from motiflux.plan.local_counts.speeds import Speeds
from motiflux.request.request import Request
from motiflux.result.rows import RowSource


@dataclass(frozen=True, slots=True)
class Ran:
    """What searched: the engine, its device, and why that one, in words."""

    engine: str
    device: str
    why: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a count came to.

    Parameters
    ----------
    value
        The count, at most the limit.
    complete
        Whether nothing was cut.
    sizes
        Partial embeddings up to each level that was enumerated; empty where the engine does not tell.
    ran
        Who counted, where that is not the engine that was asked; None else.
    """

    value: int
    complete: bool
    sizes: tuple[int, ...] = ()
    ran: Ran | None = None


class Engine(Protocol):
    """Executes plans over its own storage."""

    name: str
    device: str
    searches_space: bool
    """Whether it searches candidate spaces, or rows of the graph only."""
    counts_tails: bool
    """Whether it counts tails in closed form."""
    counts_parts: bool
    """Whether it counts tails that are trees of parts."""
    counts_tables: Speeds | None
    """What counting from tables of local counts takes; None if it cannot."""
    parts_cost: float
    """How many times as much parts seem to take it, beside other ways to count, as they do one CPU thread."""
    searchers: int
    """Partial embeddings that it needs at once to be busy."""
    tells_sizes: bool
    """Whether its outcomes have the sizes of steps."""
    shares_passes: bool
    """Whether it can count plans that begin alike in one pass."""

    def count(self, graph: Graph, plan: Plan, request: Request, started: float) -> Outcome:
        """Return the count, at most ``request.limit``."""

    def count_together(
        self, graph: Graph, plans: Sequence[Plan], request: Request, started: float
    ) -> list[Outcome]:
        """Return the count of each plan of one pass, without sizes (`motiflux.plan.shared_prefix`)."""

    def rows(self, graph: Graph, plan: Plan, request: Request, batch_rows: int, started: float) -> RowSource:
        """Start an enumeration of at most ``request.limit`` rows."""

    def predict(self, graph: Graph, plan: Plan, request: Request) -> Prediction:
        """Return what a count will give and take, without searching."""
