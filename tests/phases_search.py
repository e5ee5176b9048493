"""Stands in for the kernels of phases: the functions of `motiflux.gpu.pvm.search`, in plain Python."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
import pytest

import motiflux as mf
from motiflux.gpu.pvm import search
from motiflux.gpu.pvm.search import Counted
from motiflux.plan.phases.data import PhasePlan
from motiflux.request.deadline import Deadline
from motiflux.request.reports import ProgressReport
from motiflux.request.request import Request
from motiflux.types import VERTEX_DTYPE, VertexArray
from tests.phases_reference import Executor

CHUNK = 100


class Standing:
    """The functions, and what they were asked for."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.phases: list[PhasePlan] = []
        self.batch_rows: list[int] = []

    def count_phases(
        self, accelerator: object, graph: mf.Graph, phases: PhasePlan, request: Request, deadline: Deadline
    ) -> Counted:
        """Count, and stop at a limit or a deadline."""
        self._note(phases, request)
        run, found = Executor(graph, phases, chunk=CHUNK), 0
        for _ in run.each_row():
            if found == request.limit or deadline.passed:
                return Counted(found, complete=False, sizes=tuple(run.sizes), overflow=False)
            found += 1
            if request.progress is not None:
                request.progress(ProgressReport(0, 1, found, deadline.elapsed()))
        return Counted(found, complete=True, sizes=tuple(run.sizes), overflow=False)

    def list_phases(
        self,
        accelerator: object,
        graph: mf.Graph,
        phases: PhasePlan,
        request: Request,
        batch_rows: int,
        deadline: Deadline,
    ) -> Rows:
        """List rows."""
        self._note(phases, request)
        self.batch_rows.append(batch_rows)
        run = Executor(graph, phases, chunk=CHUNK)
        return Rows(run.each_row(), len(phases.order), request.limit, batch_rows, deadline)

    def _note(self, phases: PhasePlan, request: Request) -> None:
        self.phases.append(phases)
        self.requests.append(request)

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Have the engine call these functions."""
        monkeypatch.setattr(search, "count_phases", self.count_phases)
        monkeypatch.setattr(search, "list_phases", self.list_phases)


class Rows:
    """A source of rows that one iterator yields."""

    def __init__(
        self,
        rows: Iterator[tuple[int, ...]],
        columns: int,
        limit: int | None,
        batch_rows: int,
        deadline: Deadline,
    ) -> None:
        self._rows, self._columns, self._batch_rows = rows, columns, batch_rows
        self._left, self._deadline = limit, deadline
        self._open, self.complete = True, False

    def next(self) -> VertexArray | None:
        """Return the next block; at a limit, look whether there are more rows."""
        if not self._open or self._deadline.passed:
            return None
        most = self._batch_rows if self._left is None else min(self._batch_rows, self._left)
        if self._left == 0:
            self.complete = next(self._rows, None) is None
            return None
        block = list(islice(self._rows, most))
        if self._left is not None:
            self._left -= len(block)
        if not block:
            self.complete = True
            return None
        return np.array(block, VERTEX_DTYPE).reshape(-1, self._columns)

    def close(self) -> None:
        """Stop."""
        self._open = False
