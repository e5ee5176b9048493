"""Query vertices and query edges from a graph of networkx, which is not imported here."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from motiflux.conditions import Comparison, Condition, OneOf, Operator
from motiflux.errors import PatternError
from motiflux.interop.libraries.networkx import edge_records, is_networkx
from motiflux.pattern.elements import QueryEdge, QueryVertex, label_set
from motiflux.pattern.where import joined
from motiflux.types import Label

_USUAL = (bool, int, float, str, dt.date, np.generic)
"""Types of the values of conditions, the datetimes of Python and pandas included."""


class Chosen(NamedTuple):
    """The labels and conditions made of attributes of vertices, or of edges.

    Parameters
    ----------
    of
        ``"vertex"`` or ``"edge"``.
    label
        The attribute that holds labels; None: none does.
    attributes
        The attributes that become conditions; None: all but the label.
    """

    of: str
    label: str | None
    attributes: Sequence[str] | None


def read_networkx(
    graph: Any, of_vertices: Chosen, of_edges: Chosen, directed: bool | None
) -> tuple[tuple[QueryVertex, ...], tuple[QueryEdge, ...]]:
    """Return the query vertices and query edges of a graph; see `Pattern.from_networkx`."""
    if not is_networkx(graph):
        raise PatternError(f"graph: expected a graph of networkx, found {type(graph).__name__}")
    arcs = bool(graph.is_directed()) if directed is None else directed
    nodes = dict(graph.nodes(data=True))
    edges = edge_records(graph)
    _check_chosen(of_vertices, nodes.values())
    _check_chosen(of_edges, (record for _, _, record in edges))
    positions = {node: position for position, node in enumerate(nodes)}
    vertices = []
    for node, record in nodes.items():
        labels, where = _asked(record, of_vertices, f"node {node!r}")
        vertices.append(QueryVertex(str(node), labels, where=where))
    query_edges = []
    for source, target, record in edges:
        labels, where = _asked(record, of_edges, f"edge {source!r} -> {target!r}")
        query_edges.append(QueryEdge(positions[source], positions[target], labels, arcs, where=where))
    return tuple(vertices), tuple(query_edges)


def _check_chosen(chosen: Chosen, records: Iterable[Mapping[Any, Any]]) -> None:
    """Refuse names of attributes that no element has."""
    if chosen.attributes is None:
        return
    argument = f"{chosen.of}_attributes"
    if isinstance(chosen.attributes, str):
        raise PatternError(f"{argument}: expected a list of names, found {chosen.attributes!r}")
    names = dict.fromkeys(name for record in records for name in record)
    for name in chosen.attributes:
        if name not in names and names:
            known = ", ".join(map(repr, names))
            raise PatternError(f"{argument}: expected names out of those there are ({known}), found {name!r}")


def _asked(
    record: Mapping[Any, Any], chosen: Chosen, element: str
) -> tuple[frozenset[Label] | None, Condition | None]:
    """Return the labels of an element and the condition that its other attributes state."""
    conditions = []
    for name, value in record.items():
        wanted = name != chosen.label if chosen.attributes is None else name in chosen.attributes
        if wanted and value is not None:
            conditions.append(_condition(name, value, chosen.of, element))
    try:
        return label_set(record.get(chosen.label)), joined(conditions)
    except PatternError as error:
        raise PatternError(f"{element}: {error}") from None


def _condition(name: object, value: Any, of: str, element: str) -> Condition:
    """Return the condition that an attribute has a value, or one of several."""
    several = isinstance(value, (list, tuple, set, frozenset))
    values = list(value) if several else [value]
    usual = all(isinstance(one, _USUAL) and one == one for one in values)
    if not isinstance(name, str) or not values or not usual:
        raise PatternError(
            f"{element}, attribute {name!r}: expected an integer, a float, a boolean, a string, a datetime, "
            f"or several of these, found {value!r}; {of}_attributes=[...] takes only those it lists"
        )
    if several:
        return OneOf(name, tuple(sorted(values, key=repr) if isinstance(value, (set, frozenset)) else values))
    return Comparison(name, Operator.EQUAL, value)
