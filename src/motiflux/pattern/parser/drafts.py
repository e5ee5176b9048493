"""Query vertices and edges under construction, by name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import count
from typing import TypeAlias

from motiflux.conditions import Condition
from motiflux.errors import PatternError
from motiflux.pattern.elements import QueryEdge, QueryVertex
from motiflux.pattern.parser.syntax import EdgeText, Labels, Symbol, TextError, VertexText
from motiflux.pattern.where import joined
from motiflux.types import MAX_PATTERN_VERTICES, VertexId


@dataclass(eq=False)
class VertexDraft:
    """A vertex; one without a name gets one in the end."""

    position: int
    name: str | None
    start: int
    labels: Labels | None = None
    ids: frozenset[VertexId] | None = None
    conditions: list[Condition] = field(default_factory=list)


@dataclass(eq=False)
class EdgeDraft:
    """An edge."""

    source: VertexDraft
    target: VertexDraft
    text: EdgeText
    conditions: list[Condition] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Its name; empty if it has none."""
        symbol = self.text.details.symbol
        return symbol.name if symbol else ""


Draft: TypeAlias = VertexDraft | EdgeDraft


class Drafts:
    """All vertices and edges, in the order in which the text mentions them first."""

    def __init__(self) -> None:
        self.vertices: list[VertexDraft] = []
        self.edges: list[EdgeDraft] = []
        self._named: dict[str, Draft] = {}

    def add_vertex(self, text: VertexText) -> VertexDraft:
        """Take in a mention of a vertex."""
        symbol = text.details.symbol
        draft = self._named.get(symbol.name) if symbol else None
        if isinstance(draft, EdgeDraft):
            raise TextError(f"expected a name that no edge has, found {draft.name!r} again", text.start + 1)
        if draft is None:
            draft = self._new_vertex(text)
        given = text.details.labels
        if given is not None:
            if draft.labels is not None and draft.labels.choice != given.choice:
                raise TextError(
                    f"vertex {draft.name!r} has other labels already: expected them once, or the same again",
                    given.start,
                )
            draft.labels = given
        return draft

    def add_edge(self, text: EdgeText, left: VertexDraft, right: VertexDraft) -> EdgeDraft:
        """Take in an edge."""
        if left is right:
            raise TextError(
                f"expected two different vertices, found {left.name!r} twice: a graph has no self-loops",
                text.start,
            )
        symbol = text.details.symbol
        draft = EdgeDraft(right, left, text) if text.leftward else EdgeDraft(left, right, text)
        if symbol and symbol.name:
            if symbol.name in self._named:
                raise TextError(
                    f"expected a name that no vertex and no other edge has, found {symbol.name!r} again",
                    symbol.start,
                )
            self._named[symbol.name] = draft
        self.edges.append(draft)
        return draft

    def named(self, symbol: Symbol) -> Draft:
        """Return the vertex or edge of a name."""
        draft = self._named.get(symbol.name)
        if draft is None:
            close = get_close_matches(symbol.name, self._named, n=1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            raise TextError(
                f"expected the name of a vertex or an edge, found {symbol.name!r}{hint}", symbol.start
            )
        return draft

    def find(self, symbol: Symbol | None) -> VertexDraft | None:
        """Return the vertex of a name; None if there is none."""
        found = None if symbol is None else self._named.get(symbol.name)
        return found if isinstance(found, VertexDraft) else None

    def vertex_named(self, symbol: Symbol) -> VertexDraft:
        """Return the vertex of a name."""
        draft = self.named(symbol)
        if isinstance(draft, EdgeDraft):
            raise TextError(f"expected a vertex, found the edge {symbol.name!r}", symbol.start)
        return draft

    def built_vertices(self) -> tuple[QueryVertex, ...]:
        """Return the query vertices."""
        unused = (name for number in count(1) if (name := f"_{number}") not in self._named)
        vertices = []
        for draft in self.vertices:
            name = next(unused) if draft.name is None else draft.name
            labels = draft.labels.choice if draft.labels else None
            with blamed_on(draft.start):
                vertices.append(QueryVertex(name, labels, draft.ids, joined(draft.conditions)))
        return tuple(vertices)

    def built_edges(self) -> tuple[QueryEdge, ...]:
        """Return the query edges, one for each in the text."""
        edges = []
        for draft in self.edges:
            labels = draft.text.details.labels
            with blamed_on(draft.text.start):
                edges.append(
                    QueryEdge(
                        draft.source.position,
                        draft.target.position,
                        labels.choice if labels else None,
                        draft.text.directed,
                        draft.name,
                        joined(draft.conditions),
                    )
                )
        return tuple(edges)

    def _new_vertex(self, text: VertexText) -> VertexDraft:
        if len(self.vertices) == MAX_PATTERN_VERTICES:
            raise TextError(
                f"expected at most {MAX_PATTERN_VERTICES} query vertices, found one more", text.start
            )
        symbol = text.details.symbol
        draft = VertexDraft(len(self.vertices), symbol.name if symbol else None, text.start)
        self.vertices.append(draft)
        if symbol:
            self._named[symbol.name] = draft
        return draft


@contextmanager
def blamed_on(position: int) -> Iterator[None]:
    """Say of a `PatternError` in the block where in the text its cause is."""
    try:
        yield
    except PatternError as error:
        raise TextError(str(error), position) from None
