"""The interface of those who do the work of calls elsewhere (`motiflux.request.elsewhere`)."""

from __future__ import annotations

from typing import Protocol

from motiflux.graph import Graph
from motiflux.plan import Plan
from motiflux.plan.projection import ProjectedPlan
from motiflux.request.deadline import Deadline
from motiflux.request.engine import Engine
from motiflux.request.images import ImageCounter
from motiflux.request.request import Request
from motiflux.request.sampler import Sampler
from motiflux.result.rows import RowSource
from motiflux.types import VertexArray

CPU_ASKED = "the CPU was asked for"
"""Why the CPU does what was asked for with ``device="cpu"``."""


class StandIn(Protocol):
    """Who does the work of a call; `Request.elsewhere` names it."""

    def engine(self, why_host: str | None) -> tuple[Engine, str]:
        """Return the engine that counts and lists, and the reason for it in words.

        Parameters
        ----------
        why_host
            The reason for the CPU if no engine on GPUs can execute the request; None if some can.
        """

    def projected_rows(
        self, graph: Graph, plan: ProjectedPlan, request: Request, batch_rows: int, deadline: Deadline
    ) -> RowSource:
        """Start a listing of at most ``request.limit`` distinct rows."""

    def image_counter(self, why_host: str | None) -> ImageCounter:
        """Return who counts by images; `why_host` as for `engine`."""

    def sampler(self, graph: Graph, plan: Plan, request: Request, deadline: float | None) -> Sampler:
        """Return the sampler of a plan."""

    def draws_on(self) -> tuple[str, str]:
        """Return the device that draws embeddings, and the reason for it in words."""

    def draw_embeddings(
        self,
        graph: Graph,
        plan: Plan,
        request: Request,
        seed: int,
        first: int,
        count: int,
        left: float | None,
    ) -> tuple[VertexArray, int]:
        """Return the embeddings among trees ``first .. first + count - 1``, and the number of trees drawn."""
