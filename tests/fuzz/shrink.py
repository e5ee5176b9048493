"""Make a scenario that differs smaller, step by step, as long as it still differs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tests.fuzz.edits import (
    without_anchor,
    without_data_edges,
    without_data_vertex,
    without_edge,
    without_vertex,
)
from tests.fuzz.scenario import Call, DataGraph, Query, Scenario

Differs = Callable[[Scenario], bool]


def shrink(scenario: Scenario, differs: Differs, seconds: float) -> Scenario:
    """Return a scenario that differs too and of which no single step is left that can be undone.

    Every step that `simpler` offers is tried, and kept where the scenario still differs, until none is or
    `seconds` have passed.
    """
    deadline = time.monotonic() + seconds
    changed = True
    while changed:
        changed = False
        for step in STEPS:
            candidates = step(scenario)
            while (candidate := next(candidates, None)) is not None:
                if time.monotonic() > deadline:
                    return scenario
                if differs(candidate):
                    scenario, changed = candidate, True
                    candidates = step(scenario)
    return scenario


# --- calls ---


def fewer_calls(scenario: Scenario) -> Iterator[Scenario]:
    """Leave out calls before the last one: all, halves, each."""
    if not scenario.calls:
        return
    *earlier, last = scenario.calls
    if earlier:
        yield replace(scenario, calls=(last,))
        for half in (earlier[len(earlier) // 2 :], earlier[: len(earlier) // 2]):
            if 0 < len(half) < len(earlier):
                yield replace(scenario, calls=(*half, last))
    for position in range(len(earlier)):
        kept = earlier[:position] + earlier[position + 1 :]
        yield replace(scenario, calls=(*kept, last))


def fewer_queries(scenario: Scenario) -> Iterator[Scenario]:
    """Leave out patterns that no call is about, and patterns of calls that are about several."""
    used = {query for call in scenario.calls for query in call.queries}
    for unused in sorted({*range(len(scenario.queries))} - used):
        yield replace(
            scenario,
            queries=scenario.queries[:unused] + scenario.queries[unused + 1 :],
            calls=tuple(
                replace(call, queries=tuple(query - (query > unused) for query in call.queries))
                for call in scenario.calls
            ),
        )
    for at, call in enumerate(scenario.calls):
        for position in range(len(call.queries) if len(call.queries) > 1 else 0):
            queries = call.queries[:position] + call.queries[position + 1 :]
            yield _with_call(scenario, at, replace(call, queries=queries))


def plainer_calls(scenario: Scenario) -> Iterator[Scenario]:
    """Take options and switches back to their defaults."""
    for at, call in enumerate(scenario.calls):
        for plainer in _plainer(call):
            yield _with_call(scenario, at, plainer)
    if scenario.as_large:
        yield replace(scenario, as_large=False)
    if scenario.chances:
        yield replace(scenario, chances=0)


def _plainer(call: Call) -> Iterator[Call]:
    if call.kind == "several" and len(call.queries) == 1:
        yield replace(call, kind="count")
    if call.kind == "match":
        options = {name: value for name, value in call.options.items() if name != "batch_rows"}
        yield replace(call, kind="count", options=options)
    if call.symmetry != "embeddings":
        yield replace(call, symmetry="embeddings")
    if call.semantics != "isomorphism":
        yield replace(call, semantics="isomorphism")
    switched = [name for name in call.tuning if name != "specialize"]
    if len(switched) > 1:
        yield replace(call, tuning=_without(call.tuning, switched))
    for name in switched:
        yield replace(call, tuning=_without(call.tuning, [name]))
    for name in call.options:
        if name != "samples":  # without it a call draws a million
            yield replace(call, options=_without(call.options, [name]))


def _without(given: dict[str, Any], names: list[str]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name not in names}


def _with_call(scenario: Scenario, at: int, call: Call) -> Scenario:
    return replace(scenario, calls=(*scenario.calls[:at], call, *scenario.calls[at + 1 :]))


# --- patterns ---


def smaller_queries(scenario: Scenario) -> Iterator[Scenario]:
    """Leave out query vertices and query edges."""
    for at, query in enumerate(scenario.queries):
        smaller = [without_vertex(query, position) for position in range(len(query.vertices))]
        smaller += [without_edge(query, position) for position in range(len(query.edges))]
        yield from (_with_query(scenario, at, one) for one in smaller if one is not None)


def plainer_queries(scenario: Scenario) -> Iterator[Scenario]:
    """Ask for less: any label, any vertex, no condition, no direction of its own."""
    for at, query in enumerate(scenario.queries):
        for position in range(len(query.coinciding)):
            pairs = query.coinciding[:position] + query.coinciding[position + 1 :]
            yield _with_query(scenario, at, replace(query, coinciding=pairs))
        for column, plain in (("vertices", _PLAIN), ("edges", {**_PLAIN, "kind": "follow"})):
            for position, one in enumerate(getattr(query, column)):
                yield from (
                    _with_query(scenario, at, _with_element(query, column, position, plainer))
                    for plainer in _plainer_elements(one, plain)
                )


_PLAIN: dict[str, Any] = {"where": None, "anchors": None, "labels": None}


def _plainer_elements(one: Any, plain: dict[str, Any]) -> Iterator[Any]:
    for name, value in plain.items():
        if getattr(one, name, value) != value:
            yield replace(one, **{name: value})
    if isinstance(one.labels, frozenset):
        yield from (replace(one, labels=label) for label in sorted(one.labels, key=repr))


def _with_element(query: Query, column: str, position: int, element: Any) -> Query:
    elements = getattr(query, column)
    return replace(query, **{column: (*elements[:position], element, *elements[position + 1 :])})


def _with_query(scenario: Scenario, at: int, query: Query) -> Scenario:
    return replace(scenario, queries=(*scenario.queries[:at], query, *scenario.queries[at + 1 :]))


# --- the graph ---


def smaller_graphs(scenario: Scenario) -> Iterator[Scenario]:
    """Leave out data vertices, then data edges."""
    graph = scenario.graph
    for vertex in range(len(graph.ids)):
        queries = [without_anchor(query, vertex) for query in scenario.queries]
        if all(query is not None for query in queries):
            kept = tuple(query for query in queries if query is not None)
            yield replace(scenario, graph=without_data_vertex(graph, vertex), queries=kept)
    for row in range(len(graph.edges)):
        yield replace(scenario, graph=without_data_edges(graph, {row}))


def plainer_graphs(scenario: Scenario) -> Iterator[Scenario]:
    """Take labels, values, ids and directions out of the graph."""
    yield from (replace(scenario, graph=graph) for graph in _plainer_graphs(scenario))


def _plainer_graphs(scenario: Scenario) -> Iterator[DataGraph]:
    graph = scenario.graph
    edges = [edge for query in scenario.queries for edge in query.edges]
    vertices = [vertex for query in scenario.queries for vertex in query.vertices]
    asked = [one.where for one in vertices] + [one.where for one in edges]
    if (graph.vertex_values is not None or graph.edge_values is not None) and not any(asked):
        yield replace(graph, vertex_values=None, edge_values=None)
    if graph.ids != tuple(range(len(graph.ids))):
        yield replace(graph, ids=tuple(range(len(graph.ids))))
    if graph.directed and all(edge.kind != "arc" for edge in edges):
        yield replace(graph, directed=False)
    for labels in _plainer_labels(graph.vertex_labels):
        yield replace(graph, vertex_labels=labels)
    for labels in _plainer_labels(graph.edge_labels):
        yield replace(graph, edge_labels=labels)


def _plainer_labels(labels: tuple[Any, ...] | None) -> Iterator[tuple[Any, ...] | None]:
    """Take labels away, or make one of them the least."""
    if labels is None:
        return
    yield None
    least = min(labels, default=None)
    for position, label in enumerate(labels):
        if label != least:
            yield (*labels[:position], least, *labels[position + 1 :])


STEPS = (
    fewer_calls,
    fewer_queries,
    smaller_queries,
    smaller_graphs,
    plainer_calls,
    plainer_queries,
    plainer_graphs,
)
"""What is tried, in this order; each gives scenarios that are one step smaller."""
