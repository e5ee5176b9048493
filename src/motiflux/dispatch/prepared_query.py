"""Calls that come again: what was settled of one before it searched, kept with its graph.

Which engine, why, and by which plan: to find the same anew takes as long as all else that the host does for
a short count on a GPU. Where ``device="auto"`` leaves the choice open, it is kept as long as what both
engines took says the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from motiflux.dispatch.auto import AutoEngine
from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.plan import Plan
from motiflux.request.engine import Engine, Outcome, Ran
from motiflux.request.request import Request

if TYPE_CHECKING:
    from motiflux.gpu.engine import DfsEngine, Way

_POOL, _MOST = "calls", 64
"""Where they are kept, and how many of one graph."""


class Settled(Protocol):
    """How a call is done again."""

    def is_current(self) -> bool:
        """Whether it would be settled in the same way again."""

    def count(self, graph: Graph, request: Request, started: float) -> Outcome:
        """Return the count, at most ``request.limit``."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call that can be done again: a pattern and a request are the same if they are the same objects."""

    pattern: Pattern
    request: Request
    ran: Ran
    """Who counts, where the outcome does not say."""
    settled: Settled


@dataclass(frozen=True, slots=True)
class OnGpu:
    """It is the GPU that was asked for."""

    engine: DfsEngine
    plan: Plan
    way: Way

    def is_current(self) -> bool:
        """Whether its device was not opened anew since."""
        return self.engine.is_current()

    def count(self, graph: Graph, request: Request, started: float) -> Outcome:
        """Return the count, at most ``request.limit``."""
        return self.engine.count_in(self.way, graph, self.plan, request, started)


def known_call(graph: Graph, pattern: Pattern, request: Request) -> Call | None:
    """Return what is known of a call; None if nothing is, or it would be settled anew."""
    call: Call | None = graph.memo.recent(_POOL, (id(pattern), id(request)))
    return call if call is not None and call.settled.is_current() else None


def remember_call(
    graph: Graph, pattern: Pattern, request: Request, engine: Engine, why: str, plan: Plan
) -> None:
    """Keep what was settled of a call, if it is for one GPU and would be settled in the same way again."""
    if request.devices is not None or request.progress is not None:
        return
    settled: Settled | None = None
    if isinstance(engine, AutoEngine):
        settled = engine.settled(graph, plan, request)
    elif request.engine == "dfs" or request.device not in ("auto", "cpu"):
        chosen: DfsEngine = engine  # type: ignore[assignment]  # no other one is for one GPU
        settled = OnGpu(chosen, plan, chosen.way(graph, plan, request))
    if settled is not None:
        call = Call(pattern, request, Ran(engine.name, engine.device, why), settled)
        graph.memo.store(_POOL, (id(pattern), id(request)), call, _MOST)  # it holds on to both
