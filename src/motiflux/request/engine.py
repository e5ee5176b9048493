"""What an engine offers, and what its counts return."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from motiflux.errors import CompileError, DeviceError
from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.plan import Plan
from motiflux.plan.estimate.prediction import Prediction
from motiflux.plan.local_counts.speeds import Speeds
from motiflux.plan.physical import PhysicalPlan
from motiflux.request.deadline import Deadline
from motiflux.request.request import Request
from motiflux.result.rows import RowSource

CANNOT = (DeviceError, CompileError)
"""Errors of an engine that cannot do a count which another can: no memory, no driver, no such kernel."""


@dataclass(frozen=True, slots=True)
class Ran:
    """The engine and the device of a search, and why they were chosen, in words."""

    engine: str
    device: str
    why: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a count.

    Parameters
    ----------
    value
        The count, at most the limit.
    complete
        Whether nothing was cut.
    sizes
        Partial embeddings up to each level that was enumerated; empty if the engine does not report them.
    ran
        The engine that counted, if it is not the one that was asked; None otherwise.
    """

    value: int
    complete: bool
    sizes: tuple[int, ...] = ()
    ran: Ran | None = None


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What the planner has to know of an engine.

    Parameters
    ----------
    candidate_spaces
        Whether it searches candidate spaces, or rows of the graph only.
    tails, parts
        Whether it counts tails in closed form, and tails that are trees of parts.
    tables
        What counting from tables of local counts takes; None if it cannot.
    parts_cost
        Time that it needs to count parts, divided by that of one CPU thread, both relative to other kernels.
    searchers
        Partial embeddings that it needs at once to be busy.
    reports_sizes
        Whether its outcomes have the sizes of steps.
    shares_passes
        Whether it can count several plans with the same first levels in one pass.
    """

    candidate_spaces: bool
    tails: bool
    parts: bool
    tables: Speeds | None
    parts_cost: float = 1.0
    searchers: int = 1
    reports_sizes: bool = False
    shares_passes: bool = False


class Engine(Protocol):
    """Plans and executes requests over its own storage."""

    name: str
    device: str

    @property
    def capabilities(self) -> Capabilities:
        """What the planner has to know of it."""

    def plan(
        self,
        graph: Graph,
        pattern: Pattern,
        request: Request,
        deadline: Deadline,
        *,
        counting: bool = True,
        beside: Sequence[Plan] = (),
    ) -> PhysicalPlan | None:
        """Return how a request is executed; None if time was up before.

        Parameters
        ----------
        counting
            Whether embeddings are counted, or listed.
        beside
            Plans of the same call that this one may share a pass with.
        """

    def begin(self, physical: PhysicalPlan, request: Request) -> bool:
        """Begin, in the background, what takes long before a plan can run; return whether it is done."""

    def count(self, graph: Graph, physical: PhysicalPlan, request: Request, deadline: Deadline) -> Outcome:
        """Return the count, at most ``request.limit``."""

    def count_together(
        self, graph: Graph, plans: Sequence[PhysicalPlan], request: Request, deadline: Deadline
    ) -> list[Outcome]:
        """Return the count of each plan of one pass, without sizes (`motiflux.plan.shared_prefix`)."""

    def rows(
        self, graph: Graph, physical: PhysicalPlan, request: Request, batch_rows: int, deadline: Deadline
    ) -> tuple[RowSource, Ran | None]:
        """Start an enumeration of at most ``request.limit`` rows.

        Also return the engine that lists, if it is not the one that was asked.
        """

    def predict(self, graph: Graph, physical: PhysicalPlan, request: Request) -> Prediction:
        """Return the expected result, time and memory of a count, without searching."""

    def notes(self, graph: Graph, physical: PhysicalPlan, request: Request) -> str:
        """Return what `explain` adds to the reason for the engine."""

    def executor(self, physical: PhysicalPlan) -> Engine:
        """Return the engine that executes a plan: itself, unless it chooses between others."""

    def is_current(self) -> bool:
        """Whether this process would open the same engine again."""
