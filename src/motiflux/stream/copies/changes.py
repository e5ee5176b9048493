"""What a call does to copies: its updates in numbers, those of the native graph, and deleted copies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from motiflux.graph import AttributeTable
from motiflux.stream.copies.columns import GrowingColumn


class Numbered(NamedTuple):
    """Updates in numbers.

    Parameters
    ----------
    inserts, sources, targets, labels
        Columns [k].
    origin
        int64 [k], the position of each among those given; None if all are there.
    moments
        int64 [k], in nanoseconds; None where no window needs them.
    """

    inserts: NDArray[np.uint8]
    sources: NDArray[np.uint32]
    targets: NDArray[np.uint32]
    labels: NDArray[np.uint32] | None
    origin: NDArray[np.int64] | None
    moments: NDArray[np.int64] | None


class Expanded(NamedTuple):
    """Updates of the native graph, in which labels are facets, with the deletions by the window.

    Parameters
    ----------
    inserts, sources, targets, facets, origins
        Columns; `origins` are positions among the given updates.
    rows
        uint32 [k]: the row of the copy that each adds or takes away.
    deleted
        The copies that deletions took.
    expired, noops
        Numbers: copies that the window ended, and updates without effect.
    first_noop
        The position of the first update without effect; None where there is none.
    """

    inserts: NDArray[np.uint8]
    sources: NDArray[np.uint32]
    targets: NDArray[np.uint32]
    facets: NDArray[np.uint32]
    origins: NDArray[np.int64]
    rows: NDArray[np.uint32]
    deleted: DeletedCopies
    expired: int
    noops: int
    first_noop: int | None


@dataclass(frozen=True, eq=False)
class DeletedCopies:
    """The copies of edges that the deletions of a call took.

    Parameters
    ----------
    updates
        int64 [k]: the positions of the deletions.

    Examples
    --------
    >>> import motiflux as mf
    >>> empty = mf.Graph.from_edges([], num_vertices=2, directed=True)
    >>> with mf.Monitor(empty, "(a)-[x WHERE x.amount > 5]->(b)") as monitor:
    ...     _ = monitor.apply([("+", 0, 1), ("+", 0, 1)], attributes={"amount": [3, 9]})
    ...     delta = monitor.apply([("-", 0, 1)], attributes={"amount": [9]})
    ...     print(delta[0].negative, delta.deleted.updates, delta.deleted.attributes["amount"].to_list())
    1 [0] [9]
    """

    updates: NDArray[np.int64]
    _rows: NDArray[np.int64]
    _columns: Mapping[str, GrowingColumn]

    def __len__(self) -> int:
        return len(self.updates)

    @property
    def attributes(self) -> AttributeTable:
        """Their attributes, one value for each of `updates`."""
        return AttributeTable("edge", {name: one.column(self._rows) for name, one in self._columns.items()})
