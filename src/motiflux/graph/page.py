"""A graph as notebooks show it: a table of its sizes, which takes time linear in its vertices at most."""

from __future__ import annotations

import numpy as np

from motiflux.draw.page import facts_table
from motiflux.graph.arrays import GraphArrays
from motiflux.graph.attributes.table import AttributeTable
from motiflux.graph.stats import GraphStats
from motiflux.types import DEFAULT_LABEL
from motiflux.units import bytes_text, grouped

_MOST_LABELS, _MOST_NAMES, _MOST_CHARACTERS = 8, 12, 40


def graph_page(graph: GraphArrays, stats: GraphStats) -> str:
    """Return the sizes, labels, attributes and degrees of a graph as a table."""
    edges = grouped(stats.edges) + (", directed" if stats.directed else ", undirected")
    if stats.edge_copies > stats.edges:
        edges += f", given {grouped(stats.edge_copies)} times in all"
    facts = [("vertices", grouped(stats.vertices)), ("edges", edges)]
    degrees = f"{grouped(stats.min_degree)} to {grouped(stats.max_degree)}, mean {stats.mean_degree:,.3g}"
    isolated = f", {grouped(stats.isolated_vertices)} isolated" if stats.isolated_vertices else ""
    facts.append(("degrees", degrees + isolated))
    for heading, text in (
        ("vertex labels", _vertex_labels(graph)),
        ("edge labels", _edge_labels(graph)),
        ("vertex attributes", _attributes(graph.vertex_attributes)),
        ("edge attributes", _attributes(graph.edge_attributes)),
    ):
        if text:
            facts.append((heading, text))
    return facts_table([*facts, ("memory", bytes_text(graph.nbytes))])


def _vertex_labels(graph: GraphArrays) -> str:
    """Return the labels that most vertices have, with their numbers."""
    values = graph.vertex_label_table.values
    if graph.vertex_labels is None:
        return "" if values == (DEFAULT_LABEL,) or not values else _cut(str(values[0]))
    counts = np.bincount(graph.vertex_labels, minlength=len(values))
    order = np.argsort(-counts, kind="stable")[:_MOST_LABELS].tolist()
    return _few([f"{_cut(str(values[code]))}: {grouped(int(counts[code]))}" for code in order], len(values))


def _edge_labels(graph: GraphArrays) -> str:
    values = graph.edge_label_table.values
    return (
        "" if values == (DEFAULT_LABEL,) else _few([_cut(str(v)) for v in values[:_MOST_LABELS]], len(values))
    )


def _attributes(table: AttributeTable) -> str:
    kinds = list(table.kinds().items())
    return _few([f"{_cut(name)} ({kind.value})" for name, kind in kinds[:_MOST_NAMES]], len(kinds))


def _few(shown: list[str], number: int) -> str:
    return ", ".join(shown) + (f", ... ({grouped(number)})" if number > len(shown) else "")


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - 1] + "…"
