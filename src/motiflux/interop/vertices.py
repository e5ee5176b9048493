"""A table of vertices beside a table of edges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motiflux.errors import GraphError
from motiflux.interop.columns import Coded, GraphColumns, RowError


@dataclass(frozen=True, eq=False)
class VertexColumns:
    """The columns of a table of vertices.

    Parameters
    ----------
    ids
        Integers or strings [n].
    labels
        Integers or strings [n], or `Coded`; None where there are none.
    attributes
        Columns by name, as in `GraphColumns`.
    first_line
        The line of a file that the first vertex is on, where every line after it is one vertex.
    notes
        As in `GraphColumns`.
    """

    ids: NDArray[Any]
    labels: ArrayLike | Coded | None = None
    attributes: Mapping[str, object] = field(default_factory=dict)
    first_line: int | None = None
    notes: tuple[str, ...] = ()

    def check_distinct(self) -> None:
        """Refuse a table that lists an id twice.

        Raises
        ------
        GraphError
            Names the id, and the row.
        """
        if (self.ids[1:] > self.ids[:-1]).all():
            return
        order = np.argsort(self.ids, kind="stable")
        ascending = self.ids[order]
        again = order[1:][ascending[1:] == ascending[:-1]]
        if again.size:
            row = int(again.min())
            found = self.ids[row].item()
            raise RowError("the table of vertices", row, f"expected each id once, found {found!r} twice")

    def added_to(self, columns: GraphColumns) -> GraphColumns:
        """Return the columns of edges with these as the vertices, all of them and no others.

        Raises
        ------
        GraphError
            An edge ends at a vertex that is not listed, or the ids are of another kind.
        """
        order = np.argsort(self.ids, kind="stable")
        ends = (columns.sources, columns.targets)
        if columns.positions and columns.vertex_ids is not None:
            ids = np.asarray(columns.vertex_ids)
            places, known = self._places(ids, order)
            found = [(places[end], known[end]) for end in ends]
        else:
            ids = None
            found = [self._places(np.asarray(end), order) for end in ends]
        if not (found[0][1].all() and found[1][1].all()):
            row = int((found[0][1] & found[1][1]).argmin())
            end = ends[0 if not found[0][1][row] else 1][row]
            odd = (end if ids is None else ids[end]).item()
            raise RowError("edges", row, f"expected an id that the table of vertices lists, found {odd!r}")
        return replace(
            columns,
            sources=found[0][0],
            targets=found[1][0],
            positions=True,
            vertex_ids=self.ids,
            vertex_labels=self.labels,
            vertex_attributes=self.attributes,
            notes=(*columns.notes, *(f"vertices: {one}" for one in self.notes)),
        )

    def _places(
        self, wanted: NDArray[Any], order: NDArray[np.intp]
    ) -> tuple[NDArray[np.uint32], NDArray[np.bool_]]:
        """Return the row of each id, and whether it is listed; `order` sorts the rows."""
        if wanted.size and self.ids.size and (wanted.dtype.kind == "U") != (self.ids.dtype.kind == "U"):
            raise GraphError("vertices and edges: expected ids of one kind, found integers and strings")
        if not self.ids.size:
            return np.zeros(len(wanted), dtype=np.uint32), np.zeros(len(wanted), dtype=bool)
        place = np.searchsorted(self.ids, wanted, sorter=order)
        place[place == len(order)] = 0
        rows = order[place].astype(np.uint32)
        return rows, self.ids[rows] == wanted
