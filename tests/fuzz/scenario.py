"""Scenarios of the fuzzer: a data graph, patterns and calls, as plain data.

Vertices are positions in `DataGraph.ids` here, as they are for the reference; motiflux is given the ids. What
motiflux is given is kept as arguments, which `tests.fuzz.program` prints, so that a printed program does what
was done.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import motiflux as mf
from motiflux.conditions import Condition
from motiflux.config import TUNING, private_tuning
from motiflux.types import Label, VertexId

ATTRIBUTE = "x"
"""The one attribute that vertices and edges may have."""

DIRECTED: dict[str, bool | None] = {"follow": None, "either": False, "arc": True}
"""The argument ``directed=`` of a query edge, by the reference's word for its kind."""


@dataclass(frozen=True)
class DataGraph:
    """A data graph; edges are positions in `ids`, and a value is None where it is missing."""

    directed: bool
    ids: tuple[VertexId, ...]
    edges: tuple[tuple[int, int], ...]
    vertex_labels: tuple[Label, ...] | None = None
    edge_labels: tuple[Label, ...] | None = None
    vertex_values: tuple[float | None, ...] | None = None
    edge_values: tuple[float | None, ...] | None = None

    def arguments(self) -> dict[str, Any]:
        """Return what `motiflux.Graph.from_edges` is given."""
        counted = self.ids == tuple(range(len(self.ids)))
        given: dict[str, Any] = {"edges": [(self.ids[u], self.ids[v]) for u, v in self.edges]}
        given |= {"num_vertices": len(self.ids)} if counted else {"vertex_ids": list(self.ids)}
        given |= {"directed": True} if self.directed else {}
        for name in ("vertex_labels", "edge_labels"):
            if (labels := getattr(self, name)) is not None:
                given[name] = list(labels)
        for name, values in (("vertex", self.vertex_values), ("edge", self.edge_values)):
            if values is not None:
                given[f"{name}_attributes"] = {ATTRIBUTE: list(values)}
        return given


@dataclass(frozen=True)
class VertexChoice:
    """What a query vertex accepts: labels, data vertices by position, values; None accepts all."""

    labels: Label | frozenset[Label] | None = None
    anchors: frozenset[int] | None = None
    where: Condition | None = None


@dataclass(frozen=True)
class EdgeChoice:
    """A query edge; `kind` is a word of `motiflux.cpu.reference.EdgeKind`."""

    source: int
    target: int
    labels: Label | frozenset[Label] | None = None
    kind: str = "follow"
    where: Condition | None = None


class Step(NamedTuple):
    """A call of a method of `motiflux.PatternBuilder`."""

    method: str
    positional: tuple[Any, ...]
    named: dict[str, Any]


@dataclass(frozen=True)
class Query:
    """A pattern, and the pairs of its vertices that may coincide."""

    vertices: tuple[VertexChoice, ...]
    edges: tuple[EdgeChoice, ...]
    coinciding: tuple[tuple[int, int], ...] = ()

    @property
    def has_conditions(self) -> bool:
        """Whether it asks for attributes, or for vertices by their ids."""
        return any(one.where is not None or one.anchors is not None for one in self.vertices) or any(
            one.where is not None for one in self.edges
        )

    @property
    def is_tree(self) -> bool:
        """Whether it has no cycle; patterns are connected."""
        return len(self.edges) == len(self.vertices) - 1

    def steps(self, ids: Sequence[VertexId]) -> list[Step]:
        """Return the calls that make the pattern, for a data graph of these ids."""
        made = []
        for position, vertex in enumerate(self.vertices):
            named: dict[str, Any] = {}
            if vertex.anchors is not None:
                named["ids"] = frozenset(ids[anchor] for anchor in vertex.anchors)
            made.append(_step("vertex", (f"v{position}",), vertex.labels, vertex.where, named))
        for edge in self.edges:
            named = {} if DIRECTED[edge.kind] is None else {"directed": DIRECTED[edge.kind]}
            ends = (f"v{edge.source}", f"v{edge.target}")
            made.append(_step("edge", ends, edge.labels, edge.where, named))
        made += [Step("may_coincide", (f"v{u}", f"v{v}"), {}) for u, v in self.coinciding]
        return made


def _step(
    method: str, names: tuple[str, ...], labels: Any, where: Condition | None, named: dict[str, Any]
) -> Step:
    positional = names if labels is None else (*names, labels)
    return Step(method, positional, named if where is None else {**named, "where": where})


@dataclass(frozen=True)
class Call:
    """A call of motiflux on patterns by their positions: ``count``, ``several``, ``match`` or ``estimate``.

    ``several`` is one ``count`` of several patterns.
    """

    kind: str
    queries: tuple[int, ...]
    semantics: str = "isomorphism"
    symmetry: str = "embeddings"
    tuning: dict[str, str] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)

    def arguments(self, device: str) -> dict[str, Any]:
        """Return what the call is given beside graph and pattern."""
        given: dict[str, Any] = {"device": device}
        given |= {} if self.semantics == "isomorphism" else {"semantics": self.semantics}
        given |= {} if self.symmetry == "embeddings" else {"symmetry": self.symmetry}
        switches = self.tuning if self.tuning.keys() <= TUNING.keys() else private_tuning(self.tuning)
        return {**given, **self.options, **({"tuning": switches} if switches else {})}


@dataclass(frozen=True)
class Scenario:
    """Calls on one graph, in their order: what is remembered of an earlier call may change a later one.

    Parameters
    ----------
    device, graph, queries, calls
        What is called.
    as_large
        Whether devices plan as on large graphs. Otherwise their plans for graphs as small as these match more
        levels one by one, so that the device is busy, and count fewer in closed form.
    chances
        For the emulator, as in `tests.simt.image.Scheduling`.
    """

    device: str
    graph: DataGraph
    queries: tuple[Query, ...]
    calls: tuple[Call, ...]
    as_large: bool = False
    chances: int = 0


class Built(NamedTuple):
    """A scenario's graph and patterns as motiflux has them."""

    graph: mf.Graph
    patterns: list[mf.Pattern]


def build(scenario: Scenario) -> Built:
    """Build the graph and the patterns."""
    graph = mf.Graph.from_edges(**scenario.graph.arguments())
    return Built(graph, [pattern_of(query, scenario.graph.ids) for query in scenario.queries])


def pattern_of(query: Query, ids: Sequence[VertexId]) -> mf.Pattern:
    """Build a pattern."""
    builder = mf.PatternBuilder()
    for step in query.steps(ids):
        builder = getattr(builder, step.method)(*step.positional, **step.named)
    return builder.build()


@contextmanager
def settings_of(scenario: Scenario) -> Iterator[None]:
    """Set ``as_large`` and ``chances`` for the calls of a scenario."""
    with ExitStack() as settings:
        if scenario.as_large:
            settings.enter_context(_planned_as_large())
        if scenario.device == "emulated":
            from tests.simt.image import chances_by

            settings.enter_context(chances_by(scenario.chances))
        yield


@contextmanager
def _planned_as_large() -> Iterator[None]:
    from tests.executing import parts_from_the_start

    with parts_from_the_start():
        yield
