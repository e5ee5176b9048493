"""Calls that come again: what was settled of one before it searched, kept with its graph.

Which engine, why, and by which plan: to find the same anew takes as long as all else that the host does for
a short count on a GPU. Where ``device="auto"`` leaves the choice open, nothing is kept: it depends on more
than the call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from motiflux.engine.base import Engine, Request
from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.plan import Plan

if TYPE_CHECKING:
    from motiflux.engine.dfs import DfsEngine, Way

_POOL, _MOST = "calls", 64
"""Where they are kept, and how many of one graph."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call that can be done again: a pattern and a request are the same if they are the same objects."""

    pattern: Pattern
    request: Request
    engine: DfsEngine
    why: str
    plan: Plan
    way: Way


def known_call(graph: Graph, pattern: Pattern, request: Request) -> Call | None:
    """Return what is known of a call; None if nothing is, or its device was opened anew since."""
    call: Call | None = graph.memo.recent(_POOL, (id(pattern), id(request)))
    return call if call is not None and call.engine.is_current() else None


def remember_call(
    graph: Graph, pattern: Pattern, request: Request, engine: Engine, why: str, plan: Plan
) -> None:
    """Keep what was settled of a call, if it is for one GPU and would be settled in the same way again."""
    on_gpu = request.engine == "dfs" or request.device not in ("auto", "cpu")
    if on_gpu and request.devices is None and request.progress is None:
        chosen: DfsEngine = engine  # type: ignore[assignment]  # no other one is for one GPU
        call = Call(pattern, request, chosen, why, plan, chosen.way(graph, plan, request))
        graph.memo.put_down(_POOL, (id(pattern), id(request)), call, _MOST)  # it holds on to both
