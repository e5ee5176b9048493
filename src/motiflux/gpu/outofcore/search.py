"""``engine="outofcore"`` for graphs that do not change: searches over edges in pinned memory of the host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from motiflux.gpu.engine import CAPABILITIES, DfsEngine
from motiflux.gpu.group import DeviceGroup
from motiflux.graph import Graph
from motiflux.plan import Plan
from motiflux.plan.physical import PhysicalPlan
from motiflux.request.registry import OUT_OF_CORE
from motiflux.request.request import Request


class OutOfCoreSearch(DfsEngine):
    """Executes plans on a group of devices, which read the neighbours of the graph where the host has them.

    A device has the offsets of rows, 8 bytes for each vertex and kind of rows, and the memory of the search.
    Candidate spaces and tables of local counts, which can be larger than the graph, are left out.
    """

    name = OUT_OF_CORE
    capabilities = replace(CAPABILITIES, candidate_spaces=False, tables=None)

    def strategy(self, graph: Graph, plan: Plan, request: Request, *, counting: bool = True) -> PhysicalPlan:
        """Return the physical plan of a logical plan."""
        return _named(super().strategy(graph, plan, request, counting=counting))


def _named(physical: PhysicalPlan) -> PhysicalPlan:
    fallback = None if physical.fallback is None else _named(physical.fallback)
    return replace(physical, engine=OUT_OF_CORE, fallback=fallback)


def open_engine(names: Sequence[str]) -> OutOfCoreSearch:
    """Return the engine on devices of these names; raises `DeviceError`."""
    return OutOfCoreSearch(DeviceGroup.open(names))
