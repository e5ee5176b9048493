"""The copy of a native monitor on a device: its plans, and the rows that they read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.codegen.changing import ROWS
from motiflux.device import Stream
from motiflux.gpu.changing.candidates import CandidateTable, UploadedCandidates
from motiflux.gpu.changing.encoded_candidates import EncodedCandidates
from motiflux.gpu.changing.gpma_settings import packed_settings
from motiflux.gpu.changing.host_work import wait_until_idle
from motiflux.gpu.changing.memory import Staging, large_pinned
from motiflux.gpu.changing.packed_rows import PackedRows
from motiflux.gpu.changing.plans import PlanTable, RowsName, table_of
from motiflux.gpu.changing.rows import EITHER, Rows, SlackRows
from motiflux.gpu.changing.uploaded_plans import UploadedPlans
from motiflux.gpu.runtime.accelerator import Accelerator


class MonitorCopy:
    """Plans and rows of one native monitor on one device.

    Parameters
    ----------
    budget
        Maximum number of bytes that motiflux holds on the device.
    tuning
        ``container`` chooses what holds the rows, ``filter`` whether candidates are tested by a table.
    coalesces, pools
        Whether plans of a group share levels, and whether partial matches may be pooled.
    """

    def __init__(
        self,
        accelerator: Accelerator,
        budget: int | None,
        tuning: Mapping[str, str],
        *,
        coalesces: bool,
        pools: bool,
    ) -> None:
        self._accelerator, self._budget = accelerator, budget
        self.coalesces, self.pools = coalesces, pools
        self._packed = packed_settings(tuning) if tuning["container"] == "gpma" else None
        device = accelerator.device
        self._candidates: CandidateTable | None = None
        if tuning["filter"] == "nlf":
            there = tuning["encode"] == "device"
            self._candidates = (EncodedCandidates if there else UploadedCandidates)(accelerator, budget)
        self._staging = Staging(device, large_pinned(device))
        self._plans = UploadedPlans(device, budget, self._staging)
        self._rows: dict[RowsName, Rows] = {}
        self._versions: tuple[int, ...] = ()
        self._classes = -1
        self._covered: tuple[int, int] | None = None
        self._table: PlanTable | None = None
        self._native: _native.Monitor | None = None
        self._lists_version = -1

    def bring(self, native: _native.Monitor, threads: int) -> None:
        """Bring the copy up to date: plans, and rows that were not needed before.

        Raises
        ------
        DeviceMemoryError
            The rows do not fit.
        """
        versions = (native.plans_version, native.lists_version)
        if self._native is native and versions == self._versions and not self._has_waste():
            return
        self._accelerator.device.use()
        # Rows have the edges that plans need: those of other plans may lack some. If loading fails, the next
        # call begins here again.
        if self._native is not native or versions[:1] != self._versions[:1] or self._has_waste():
            self._forget()
        native.prepare()  # finds the columns of the candidate table
        table = table_of(native, coalesces=self.coalesces, pools=self.pools)
        self._classes, self._covered = -1, None
        session = self._accelerator.session()
        try:
            names = [*table.names, *([] if self._candidates is None else self._candidates.rows(native))]
            for target, way in [name for name in dict.fromkeys(names) if name not in self._rows]:
                rows = self._new_rows(native, target, way)
                rows.load(session.main, native, target, threads)
                self._rows[target, way] = rows
            self._find_classes(native)
            self._upload_plans(session.main, native, table, chains=self._pools(table))
        except BaseException:
            wait_until_idle(session.main)  # copies may still read what they are from
            raise
        finally:
            self._accelerator.recycle(session)
        self._table, self._versions, self._native = table, versions, native
        self._lists_version = native.lists_version

    def _new_rows(self, native: _native.Monitor, target: int, way: int) -> Rows:
        """Return a container for the rows of a target, which has none yet."""
        directed = native.directed
        if self._packed is None:
            return SlackRows(self._accelerator, self._budget, way=way, directed=directed)
        return PackedRows(self._accelerator, self._budget, self._packed, way=way, directed=directed)

    def _has_waste(self) -> bool:
        return any(rows.is_wasteful for rows in self._rows.values())

    def _find_classes(self, native: _native.Monitor) -> None:
        """Learn which classes the rows hold: there may be new ones."""
        number = native.num_classes
        if number == self._classes:
            return
        for (target, way), rows in self._rows.items():
            rows.accept(native.target_classes(target), number)
            rows.repeats = not native.one_witness(target) or (native.directed and way == EITHER)
        self._classes = number

    @property
    def _typical(self) -> float:
        """The length of the row that an entry is in, on average, where it is greatest."""
        return max((rows.typical for rows in self._rows.values()), default=1.0)

    def _pools(self, table: PlanTable) -> bool:
        """Whether searches from updates pool partial matches, by the rows that there are now."""
        return False

    def _upload_plans(
        self, stream: Stream, native: _native.Monitor, table: PlanTable, *, chains: bool
    ) -> None:
        named = self._rows_table(stream, max(1, len(table.names)))
        self._plans.upload(stream, native, table, self._rows, named, chains=chains)

    def _rows_table(self, stream: Stream, number: int) -> NDArray[Any]:
        """Return a table of so many kinds of rows, as kernels read it, whose places are not set yet."""
        return np.zeros(number, ROWS)

    def _cover(self, stream: Stream, native: _native.Monitor, run: _native.Run) -> bool:
        """Have rows for all vertices and classes; return whether kernels have to be told of other rows."""
        known = native.num_classes, native.num_vertices
        if known == self._covered:
            return False
        before = [(rows.headers, rows.repeats) for rows in self._rows.values()]
        self._find_classes(native)
        for rows in self._rows.values():
            rows.cover(stream, native.num_vertices)
        self._covered = known
        return before != [(rows.headers, rows.repeats) for rows in self._rows.values()]

    def _forget(self) -> None:
        for rows in self._rows.values():
            rows.release()
        if self._candidates is not None:
            self._candidates.release()
        self._rows, self._versions, self._table = {}, (), None
        self._covered = None
        self._plans.forget()
