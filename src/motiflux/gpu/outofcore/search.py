"""``engine="outofcore"`` for graphs that do not change: searches over edges in pinned memory of the host."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from motiflux import notes
from motiflux.device.base import NotPinnedError
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.engine import CAPABILITIES, DfsEngine
from motiflux.gpu.group import DeviceGroup
from motiflux.gpu.storage.device_csr import DeviceRows, RowsKey, resident
from motiflux.gpu.storage.row_tiles import RowTiles, tiles_for
from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.plan import Plan
from motiflux.plan.estimate.prediction import Prediction
from motiflux.plan.physical import Family, PhysicalPlan, RowCopies
from motiflux.request.deadline import Deadline
from motiflux.request.engine import Outcome, Ran
from motiflux.request.registry import OUT_OF_CORE
from motiflux.request.request import Request
from motiflux.result.rows import RowSource
from motiflux.units import bytes_text

T = TypeVar("T")

_TRIANGLE = 3


class OutOfCoreSearch(DfsEngine):
    """Executes plans on a group of devices, which read the neighbours of the graph where the host has them.

    A device has the offsets of rows, 8 bytes for each vertex and kind of rows, and the memory of the search.
    Candidate spaces and tables of local counts, which can be larger than the graph, are left out.

    If memory of the host cannot be pinned, all rows that a search reads are copied to the devices, as ``dfs``
    has them, until ``graph.forget()``; a `MotifluxWarning` says so. They may fit where the search of ``dfs``
    does not: of labelled graphs they can be a small part.
    """

    name = OUT_OF_CORE
    capabilities = replace(CAPABILITIES, candidate_spaces=False, tables=None)

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
        """Return the physical plan of a request; None if time was up before there was one."""
        return super().plan(graph, pattern, _mine(request), deadline, counting=counting, beside=beside)

    @classmethod
    def plan_ahead(
        cls, graph: Graph, pattern: Pattern, request: Request, deadline: Deadline, *, counting: bool = True
    ) -> None:
        """Leave with the graph what `plan` takes long for, as far as it does not depend on the devices."""
        super().plan_ahead(graph, pattern, _mine(request), deadline, counting=counting)

    def strategy(self, graph: Graph, plan: Plan, request: Request, *, counting: bool = True) -> PhysicalPlan:
        """Return the physical plan of a logical plan."""
        copies = _copies(request.tuning)
        physical = _of_host(super().strategy(graph, plan, request, counting=counting), copies)
        if request.tuning["triangles"] == "auto" and self._batches(graph, physical, request) is not None:
            by_arcs = replace(request, tuning={**request.tuning, "triangles": "arcs"})
            physical = _of_host(super().strategy(graph, plan, by_arcs, counting=counting), copies)
        return physical

    def _batches(self, graph: Graph, physical: PhysicalPlan, request: Request) -> RowTiles | None:
        """Return the tiles of rows, if triangles are counted with roots in batches."""
        stage = physical.stages[0] if physical.stages else None
        if stage is None or stage.clique is None or stage.copies is None:
            return None
        if len(stage.plan.shape.steps) != _TRIANGLE:
            return None
        device, key, unlimited = (
            self.group.first.device,
            RowsKey(stage.clique, above=True),
            Deadline.after(None),
        )
        copies, budget = resident(graph, device), request.gpu_memory
        return tiles_for(copies, device, graph, key, stage.copies, request.threads, budget, unlimited)

    def count(self, graph: Graph, physical: PhysicalPlan, request: Request, deadline: Deadline) -> Outcome:
        """Return the count, at most ``request.limit``."""

        def counted(physical: PhysicalPlan, request: Request) -> Outcome:
            return super(OutOfCoreSearch, self).count(graph, physical, request, deadline)

        return self._executed(graph, physical, request, counted)

    def rows(
        self, graph: Graph, physical: PhysicalPlan, request: Request, batch_rows: int, deadline: Deadline
    ) -> tuple[RowSource, Ran | None]:
        """Start an enumeration of at most ``request.limit`` rows."""

        def begun(physical: PhysicalPlan, request: Request) -> tuple[RowSource, Ran | None]:
            return super(OutOfCoreSearch, self).rows(graph, physical, request, batch_rows, deadline)

        return self._executed(graph, physical, request, begun)

    def _executed(
        self,
        graph: Graph,
        physical: PhysicalPlan,
        request: Request,
        execute: Callable[[PhysicalPlan, Request], T],
    ) -> T:
        """Execute a plan over rows of the host, or of the devices if memory of the host cannot be pinned."""
        refusal: NotPinnedError | None = None
        if not graph.memo.knows(self._cannot_pin):
            try:
                return execute(physical, _mine(request))
            except NotPinnedError as error:
                refusal = error.with_traceback(None)  # it must not hold rows
        try:
            found = execute(_of_device(physical), replace(request, engine=DfsEngine.name))
        except DeviceMemoryError:
            if refusal is not None:
                raise NotPinnedError(
                    f"{refusal}; without it, {self.device} lacks memory for the rows"
                ) from None
            graph.memo.drop(self._cannot_pin)
        else:
            if refusal is not None:
                graph.memo.get(self._cannot_pin, lambda: True)
                self._warn(graph, refusal)
            return found
        return execute(physical, _mine(request))

    @property
    def _cannot_pin(self) -> Hashable:
        """The name of the note that rows of a graph could not be pinned."""
        return "not pinned", self.device

    def _warn(self, graph: Graph, refusal: NotPinnedError) -> None:
        rows = resident(graph, self.group.first.device).entries()
        held = sum(one.nbytes for one in rows if isinstance(one, DeviceRows) and not one.pinned)
        notes.note(
            f"engine={OUT_OF_CORE!r}: the edges are not pinned ({refusal}); all rows"
            f" that the search reads, {bytes_text(held)}, were copied to {self.device} instead, through"
            " ordinary memory: they take memory of the device, and the first search waits for the copies"
        )

    def notes(self, graph: Graph, physical: PhysicalPlan, request: Request) -> str:
        """Return the text that `explain` adds to the reason for the engine."""
        tiles = self._batches(graph, physical, request) if _is_by_arcs(physical) else None
        told = super().notes(graph, physical, _mine(request))
        return told if tiles is None else f"{told}; {tiles}"

    def predict(self, graph: Graph, physical: PhysicalPlan, request: Request) -> Prediction:
        """Return the expected result, time and memory of a count, without searching."""
        return super().predict(graph, physical, _mine(request))


def _is_by_arcs(physical: PhysicalPlan) -> bool:
    """Return whether triangles are counted by arcs."""
    kernel = physical.stages[0].kernel if physical.stages else None
    return kernel is not None and kernel.goal == "triangles"


def _mine(request: Request) -> Request:
    """Return the request as one for this engine, by which uploads leave edges on the host."""
    return request if request.engine == OUT_OF_CORE else replace(request, engine=OUT_OF_CORE)


def _copies(tuning: Mapping[str, str]) -> RowCopies | None:
    """Return the rows that are copied to the device. All vertices are roots: `khop` says nothing of rows."""
    if (policy := tuning["cache"]) == "none":
        return None
    percent = tuning["cache_percent"]
    policy = "degree" if policy == "degree" else "frequency"
    return RowCopies(policy, None if percent == "auto" else int(percent), tuning["root_batches"])


def _of_host(physical: PhysicalPlan, copies: RowCopies | None) -> PhysicalPlan:
    """Return the same plan for rows that stay on the host."""
    stages = tuple(
        stage if stage.family is Family.HOST else replace(stage, copies=copies) for stage in physical.stages
    )
    fallback = None if physical.fallback is None else _of_host(physical.fallback, copies)
    return replace(physical, engine=OUT_OF_CORE, stages=stages, fallback=fallback)


def _of_device(physical: PhysicalPlan) -> PhysicalPlan:
    """Return the same plan for rows of which all are on the device."""
    return _of_host(physical, None)


def open_engine(names: Sequence[str]) -> OutOfCoreSearch:
    """Return the engine on devices of these names; raises `DeviceError`."""
    return OutOfCoreSearch(DeviceGroup.open(names))


plan_ahead = OutOfCoreSearch.plan_ahead
