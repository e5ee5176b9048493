"""The interface of engines, and the results of their counts."""

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
"""Errors after which another engine may count: no memory, no driver, no such kernel."""


@dataclass(frozen=True, slots=True)
class Ran:
    """The engine and the device of a search, and the reason for the choice in words."""

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
        Whether the count is exact: neither a limit nor a timeout ended it.
    sizes
        Partial embeddings up to each level that was enumerated; empty if the engine does not report them.
    ran
        The engine that counted, if another one was called; None otherwise.
    copied
        Bytes of rows that were copied to the devices; None if the engine does not count them.
    """

    value: int
    complete: bool
    sizes: tuple[int, ...] = ()
    ran: Ran | None = None
    copied: int | None = None


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Properties of an engine for the planner.

    Parameters
    ----------
    candidate_spaces
        Whether it can search candidate spaces, not only rows of the graph.
    tails, parts
        Whether it counts tails in closed form, and tails that are trees of parts.
    tables
        Times of operations on tables of local counts; None if it does not count from tables.
    parts_cost
        Time to count parts, divided by that of one CPU thread, both relative to other kernels.
    searchers
        Number of partial embeddings that keep it busy.
    reports_sizes
        Whether its outcomes have the sizes of levels.
    shares_passes
        Whether it can count several plans with the same first levels in one pass.
    copy_walks
        Whether it searches patterns with comparisons from copy to copy too, not only level by level.
    at_once
        Whether it counts any plans of a call at once, without common work.
    """

    candidate_spaces: bool
    tails: bool
    parts: bool
    tables: Speeds | None
    parts_cost: float = 1.0
    searchers: int = 1
    reports_sizes: bool = False
    shares_passes: bool = False
    copy_walks: bool = False
    at_once: bool = False


class Engine(Protocol):
    """Plans and executes requests over its own storage."""

    name: str
    device: str

    @property
    def capabilities(self) -> Capabilities:
        """Properties of the engine for the planner."""

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
        """Return the physical plan of a request; None if time was up before there was one.

        Parameters
        ----------
        counting
            Whether embeddings are counted, or listed.
        beside
            Plans of the same call that may be counted in one pass with this one.
        """

    def begin(self, physical: PhysicalPlan, request: Request) -> bool:
        """Begin long preparations of a plan in the background; return whether they are done."""

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

        Also return the engine that lists, if another one was called.
        """

    def predict(self, graph: Graph, physical: PhysicalPlan, request: Request) -> Prediction:
        """Return the expected result, time and memory of a count, without searching."""

    def notes(self, graph: Graph, physical: PhysicalPlan, request: Request) -> str:
        """Return the text that `explain` adds to the reason for the engine."""

    def executor(self, physical: PhysicalPlan) -> Engine:
        """Return the engine that executes a plan: this one, unless it chooses between others."""

    def is_current(self) -> bool:
        """Whether this process would open the same engine again."""
