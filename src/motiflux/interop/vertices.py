"""A table of vertices beside a table of edges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motiflux.errors import GraphError
from motiflux.interop.columns import Coded, GraphColumns


@dataclass(frozen=True, eq=False)
class VertexColumns:
    """What a table of vertices says.

    Parameters
    ----------
    ids
        Integers or strings [n].
    labels
        Integers or strings [n], or `Coded`; None where there are none.
    attributes
        Columns by name, as in `GraphColumns`.
    """

    ids: NDArray[Any]
    labels: ArrayLike | Coded | None = None
    attributes: Mapping[str, object] = field(default_factory=dict)

    def added_to(self, columns: GraphColumns) -> GraphColumns:
        """Return the columns of edges with these as the vertices, all of them and no others.

        Raises
        ------
        GraphError
            An edge ends at a vertex that is not listed, or the ids are of another kind.
        """
        sources, targets = columns.sources, columns.targets
        if columns.positions and columns.vertex_ids is not None:
            places = self._places(np.asarray(columns.vertex_ids), columns)
            sources, targets = places[sources], places[targets]
        return replace(
            columns,
            sources=sources,
            targets=targets,
            vertex_ids=self.ids,
            vertex_labels=self.labels,
            vertex_attributes=self.attributes,
        )

    def _places(self, wanted: NDArray[Any], columns: GraphColumns) -> NDArray[np.uint32]:
        if wanted.size and self.ids.size and (wanted.dtype.kind == "U") != (self.ids.dtype.kind == "U"):
            raise GraphError("vertices and edges: expected ids of one kind, found integers and strings")
        order = np.argsort(self.ids, kind="stable")
        place = np.searchsorted(self.ids, wanted, sorter=order)
        known = place < len(order)
        known[known] = self.ids[order[place[known]]] == wanted[known]
        if not known.all():
            unknown = ~known
            row = int((unknown[columns.sources] | unknown[columns.targets]).argmax())
            end = columns.sources[row] if unknown[columns.sources[row]] else columns.targets[row]
            raise GraphError(
                f"edges, row {row}: expected an id that the table of vertices lists, "
                f"found {wanted[end].item()!r}"
            )
        return order[place].astype(np.uint32)
