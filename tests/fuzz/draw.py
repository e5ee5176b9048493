"""Random scenarios: a small graph, patterns that often occur in it, and calls with random options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations

from motiflux.types import Label, VertexId
from tests.fuzz.calls import NO_SWITCHES, draw_calls
from tests.fuzz.draws import Draws
from tests.fuzz.queries import draw_query
from tests.fuzz.scenario import DataGraph, Scenario

VALUES = (0.0, 1.0, 2.0, None)

MOST_MAPS = {700: 50, 2_500: 44, 8_000: 6}
"""How many maps the reference tries for one pattern at most, and how often that is drawn."""


def draw_scenario(draws: Draws, device: str, fixed: Mapping[str, str] = NO_SWITCHES) -> Scenario:
    """Draw a graph, one to three patterns and calls, all with the tuning switches in `fixed`."""
    graph = draw_graph(draws)
    most = draws.choices(list(MOST_MAPS), list(MOST_MAPS.values()))[0]
    queries = tuple(draw_query(draws, graph, most) for _ in range(draws.choice((1, 2, 2, 3))))
    calls = draw_calls(draws, queries, device, fixed)
    return Scenario(
        device,
        graph,
        queries,
        calls,
        as_large=device != "cpu" and draws.happens(0.6),
        chances=_chances(draws) if device == "emulated" else 0,
    )


def _chances(draws: Draws) -> int:
    """Return a seed of what the emulator draws; 0, by which it draws nothing, in one of eight cases."""
    return 0 if draws.happens(0.125) else draws.getrandbits(32)


def draw_graph(draws: Draws) -> DataGraph:
    """Draw a graph of mostly 4 to 8 vertices, with or without labels, parallel edges and values."""
    size = draws.randint(4, 8) if draws.happens(0.92) else draws.randint(0, 9)
    directed = draws.happens(0.5)
    vertex_labels, edge_labels = draws.palette(0.25), draws.palette(0.5)
    rows = _rows(draws, _pairs(draws, size, directed), directed, edge_labels)
    graph = DataGraph(
        directed,
        _ids(draws, size),
        tuple((u, v) for u, v, _ in rows),
        None if vertex_labels is None else tuple(draws.choices(vertex_labels, k=size)),
        None if edge_labels is None else tuple(label for *_, label in rows),
    )
    if not draws.happens(0.2):
        return graph
    vertex_values, edge_values = (tuple(draws.choices(VALUES, k=number)) for number in (size, len(rows)))
    return replace(graph, vertex_values=vertex_values, edge_values=edge_values)


def _pairs(draws: Draws, size: int, directed: bool) -> list[tuple[int, int]]:
    """Return the pairs of vertices that edges join: of any density, sometimes with a hub."""
    density = draws.choice((0.2, 0.35, 0.5, 0.7, 1.0))
    hub = draws.choice((None, None, None, 0))
    pairs: list[tuple[int, int]] = []
    for u, v in combinations(range(size), 2):
        if u == hub or draws.happens(density):
            pairs.append((u, v) if draws.happens(0.5) else (v, u))
            if directed and draws.happens(0.25):
                pairs.append(pairs[-1][::-1])
    return pairs


def _rows(
    draws: Draws, pairs: list[tuple[int, int]], directed: bool, labels: tuple[Label, ...] | None
) -> list[tuple[int, int, Label]]:
    """Return edges in any order, with parallel ones of other labels and with copies."""
    rows: list[tuple[int, int, Label]] = []
    for u, v in pairs:
        number = 1 if labels is None else min(len(labels), draws.choice((1, 1, 1, 2, 3)))
        rows += [(u, v, label) for label in draws.sample(labels or (0,), number)]
    for u, v, label in [row for row in rows if draws.happens(0.07)]:
        rows.append((u, v, label) if directed or draws.happens(0.5) else (v, u, label))
    draws.shuffle(rows)
    return rows


def _ids(draws: Draws, size: int) -> tuple[VertexId, ...]:
    kind = draws.choice(("counted", "counted", "numbers", "words"))
    if kind == "numbers":
        return tuple(draws.sample((*range(-3, 12), 2**40, -(2**62)), size))
    if kind == "words":
        return tuple(draws.sample(("a", "b", "c d", "é", "10", "9", "x", "y", "long name"), size))
    return tuple(range(size))
