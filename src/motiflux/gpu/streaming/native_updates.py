"""Updates of runs for a resident kernel, which csrc/dynamic/stream_updates.cpp lists: rows and kinds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.gpu.changing.plans import PlanTable
from motiflux.gpu.changing.rows import EITHER

KindOf = Callable[[int, int, tuple[int, ...], frozenset[int]], int]
"""Returns the number of a kind of updates, as `ResidentStream.kind` does."""


class RunUpdates:
    """Turns runs into updates, and answers into those of the native monitor.

    A target may accept parallel edges with different labels, and a row of both directions has the edges of
    either. Such a row has a neighbour once, so the edges of each entry are counted: an insertion changes the
    row if it brings the neighbour's first edge, a deletion if it takes the last.

    Parameters
    ----------
    native
        The monitor, whose rows are read now.
    table
        Its plans.
    threads
        Threads that read rows.

    Attributes
    ----------
    listed
        The updates of the run that was listed last.
    """

    def __init__(self, native: _native.Monitor, table: PlanTable, threads: int) -> None:
        self._native, self._table, self._threads = native, table, threads
        self._classes = -1
        self.listed = _native.StreamUpdates(native.directed)
        self._follow_classes(None)

    @property
    def has_new_classes(self) -> bool:
        """Whether there are classes that rows were not told of: new labels bring new ones."""
        return self._native.num_classes != self._classes

    def list(self, run: _native.Run, kind_of: KindOf) -> None:
        """List the updates of a run; to be called once for each run, in order."""
        if self.has_new_classes:
            self._follow_classes(run)
        unknown = self.listed.begin(run)
        if unknown:
            numbers = [
                kind_of(forward, back, plans, frozenset(skipped)) for forward, back, plans, skipped in unknown
            ]
            self.listed.number_kinds(np.array(numbers, np.uint32))

    def forget_kinds(self) -> None:
        """Have all kinds get other numbers."""
        self.listed.forget_kinds()

    def answers(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64] | None, NDArray[np.uint32] | None]:
        """Return totals, no sums, and rows, as the native monitor takes them."""
        totals, rows = self.listed.answers(1 + self._table.most_levels)
        return totals, None, rows if self._table.lists_any else None

    def _follow_classes(self, run: _native.Run | None) -> None:
        """Tell of the classes of rows; `run`: that whose edges the monitor's rows have already."""
        native, number_of_classes = self._native, self._native.num_classes
        for number, (target, way) in enumerate(self._table.names):
            classes = native.target_classes(target)
            accepted = None
            if classes is not None:
                accepted = np.zeros(number_of_classes, np.uint8)
                accepted[classes] = 1
            repeats = not native.one_witness(target) or (native.directed and way == EITHER)
            if not repeats or self.listed.counts(number):
                self.listed.set_rows(number, way, accepted)
                continue
            entries, edges = _entries(*native.target_rows(target, way, self._threads))
            self.listed.set_rows(number, way, accepted, entries, edges)
            if run is not None:
                self.listed.uncount(number, run)
        self._classes = number_of_classes


def _entries(
    offsets: NDArray[np.uint64], sizes: NDArray[np.uint64], neighbors: NDArray[np.uint32]
) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
    """Return the entries of rows, vertex and neighbour, ascending, and the number of edges of each."""
    vertices = np.repeat(np.arange(len(sizes), dtype=np.uint64), sizes.astype(np.int64))
    entries, edges = np.unique(vertices << np.uint64(32) | neighbors[: len(vertices)], return_counts=True)
    return entries, edges.astype(np.uint32)
