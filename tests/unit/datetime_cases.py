"""Graphs with datetimes as attributes, for tests."""

from __future__ import annotations

import datetime as dt
from typing import Any

import motiflux as mf
from motiflux.graph.attributes.columns import Kind

UTC = dt.UTC
MARCH = dt.datetime(2024, 3, 1)
NANOSECONDS = 1_709_251_200 * 10**9
FINE = "2024-03-01T00:00:00.000000001"


def of_edges(when: Any) -> mf.Graph:
    """Give a path with an attribute of its edges."""
    ends = range(len(when))
    return mf.Graph.from_edges(
        (list(ends), [end + 1 for end in ends]), directed=True, edge_attributes={"when": when}
    )


def shown(graph: mf.Graph, name: str = "when") -> tuple[Kind, list[str]]:
    """Give the kind of an attribute, and its sorted values."""
    column = graph.edge_attributes[name]
    return column.kind, sorted(map(str, column.to_numpy()))
