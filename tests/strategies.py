"""Random small cases: a data graph, a pattern, and how each is handed to motiflux.

A `Case` holds plain data. Its vertices are ``0..n-1`` for the reference; motiflux is given external
ids, and `Case.to_ids` translates. Nothing here calls motiflux but `Case.graph` and `Case.pattern`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

import motiflux as mf
from motiflux.cpu import reference

MOST_VERTICES = 9
"""Data vertices of a case at most: the reference tries up to 9**5 maps."""

LABELS: dict[str, Sequence[int] | Sequence[str]] = {"int": (-7, 0, 3), "str": ("", "a", "b b")}
ABSENT: dict[str, int | str] = {"int": 1_000_000, "str": "absent"}
"""A label of each type that no graph uses."""


class Combination(NamedTuple):
    """One cell of the grid that property tests cover for certain."""

    semantics: str
    symmetry: str
    directed: bool
    labels: str
    """Which labels the data graph has: none, vertex, edge or both."""

    def options(self, device: str) -> dict[str, Any]:
        """What a call of this cell is given."""
        return {"semantics": self.semantics, "symmetry": self.symmetry, "device": device}

    def __str__(self) -> str:
        direction = "directed" if self.directed else "undirected"
        return f"{self.semantics}-{self.symmetry}-{direction}-{self.labels}_labels"


COMBINATIONS = [
    Combination(*cell)
    for cell in product(
        ("isomorphism", "induced", "homomorphism"),
        ("embeddings", "subgraphs"),
        (False, True),
        ("none", "vertex", "edge", "both"),
    )
    if cell[:2] != ("homomorphism", "subgraphs")
]
EMBEDDINGS = [cell for cell in COMBINATIONS if cell.symmetry == "embeddings"]
SUBGRAPHS = [cell for cell in COMBINATIONS if cell.symmetry == "subgraphs"]


@dataclass(frozen=True)
class Case:
    """One data graph and one pattern.

    ``universe`` says how external ids are given: ``count`` (``num_vertices=``), ``labels`` (as many
    as ``vertex_labels``), ``ids`` (``vertex_ids=``) or ``edges`` (those that edges use).
    """

    directed: bool
    ids: tuple[int | str, ...]
    universe: str
    edges: tuple[tuple[int, int], ...]
    vertex_labels: tuple[Any, ...] | None
    edge_labels: tuple[Any, ...] | None
    pattern_vertex_labels: tuple[reference.LabelChoice, ...]
    pattern_edges: tuple[reference.PatternEdge, ...]
    as_columns: bool = field(default=False)

    def graph(self, **more: Any) -> Any:
        """Build the data graph; `more` goes to `Graph.from_edges`."""
        given: dict[str, Any] = dict(more)
        if self.universe == "count":
            given["num_vertices"] = len(self.ids)
        elif self.universe == "ids":
            given["vertex_ids"] = _id_array(self.ids)
        if self.vertex_labels is not None:
            given["vertex_labels"] = _label_array(self.vertex_labels)
        if self.edge_labels is not None:
            given["edge_labels"] = _label_array(self.edge_labels)
        source = _id_array(self.ids)[[u for u, _ in self.edges]] if self.edges else _id_array(self.ids)[:0]
        target = _id_array(self.ids)[[v for _, v in self.edges]] if self.edges else _id_array(self.ids)[:0]
        # An array of two rows may be taken for a matrix, of which a note speaks.
        use_columns = self.as_columns or source.dtype.kind == "U" or len(source) == 2
        edges = (source, target) if use_columns else np.column_stack([source, target])
        return mf.Graph.from_edges(edges, directed=self.directed, **given)

    def pattern(self) -> Any:
        """Build the pattern: in one call where all edges are of one kind, else edge by edge."""
        direction: dict[Any, bool | None] = {"follow": None, "either": False, "arc": True}
        kinds = {kind for *_, kind in self.pattern_edges}
        if len(kinds) == 1:
            return mf.Pattern.from_edges(
                [(u, v) for u, v, _, _ in self.pattern_edges],
                num_vertices=len(self.pattern_vertex_labels),
                vertex_labels=list(self.pattern_vertex_labels),
                edge_labels=[labels for _, _, labels, _ in self.pattern_edges],
                directed=direction[kinds.pop()],
            )
        builder = mf.PatternBuilder()
        for vertex, labels in enumerate(self.pattern_vertex_labels):
            builder = builder.vertex(f"q{vertex}", labels)
        for u, v, labels, kind in self.pattern_edges:
            builder = builder.edge(f"q{u}", f"q{v}", labels, directed=direction[kind])
        return builder.build()

    def embeddings(self, semantics: str) -> set[tuple[Any, ...]]:
        """All embeddings according to the reference, in external ids."""
        return {self.to_ids(image) for image in reference.embeddings(*self._data, **self._options(semantics))}

    def occurrences(self, semantics: str) -> set[frozenset[tuple[Any, ...]]]:
        """All occurrences according to the reference, in external ids."""
        found = reference.occurrences(*self._data, **self._options(semantics))
        return {frozenset(self.to_ids(image) for image in occurrence) for occurrence in found}

    def automorphisms(self) -> set[tuple[int, ...]]:
        """All automorphisms of the pattern according to the reference."""
        return reference.automorphisms(self.pattern_vertex_labels, self.pattern_edges, directed=self.directed)

    def to_ids(self, image: tuple[int, ...]) -> tuple[Any, ...]:
        """Translate data vertices to external ids."""
        return tuple(self.ids[vertex] for vertex in image)

    @property
    def _data(self) -> tuple[Any, ...]:
        return len(self.ids), self.edges, self.pattern_vertex_labels, self.pattern_edges

    def _options(self, semantics: str) -> dict[str, Any]:
        return {
            "directed": self.directed,
            "vertex_labels": self.vertex_labels,
            "edge_labels": self.edge_labels,
            "semantics": semantics,
        }


def rows_of(matches: Any) -> list[tuple[Any, ...]]:
    """All rows of a match, as tuples of external ids."""
    return [tuple(row) for batch in matches for row in batch.tolist()]


@st.composite
def cases(draw: st.DrawFn, directed: bool, labels: str) -> Case:
    """Draw a data graph of 0 to 9 vertices and a connected pattern of 2 to 5."""
    vertex_kind = draw(st.sampled_from(("int", "str"))) if labels in ("vertex", "both") else None
    edge_kind = draw(st.sampled_from(("int", "str"))) if labels in ("edge", "both") else None
    num_query = draw(st.sampled_from((2, 3, 3, 4, 4, 5)))
    num_vertices = draw(st.integers(num_query, MOST_VERTICES) | st.integers(0, MOST_VERTICES))
    edges = draw(data_edges(num_vertices))
    case = Case(
        directed=directed,
        ids=tuple(range(num_vertices)),
        universe="count",
        edges=edges,
        vertex_labels=draw(label_columns(vertex_kind, num_vertices)),
        edge_labels=draw(label_columns(edge_kind, len(edges))),
        pattern_vertex_labels=draw(pattern_vertices(num_query, vertex_kind)),
        pattern_edges=draw(pattern_edges(num_query, directed, edge_kind)),
        as_columns=draw(st.booleans()),
    )
    if num_query <= num_vertices and draw(st.sampled_from((True, True, False))):
        case = planted(case, draw(st.permutations(range(num_vertices)))[:num_query])
    universe, ids = draw(external_ids(num_vertices, case.edges, labelled=vertex_kind is not None))
    return replace(case, universe=universe, ids=ids)


@st.composite
def small_searches(draw: st.DrawFn, *, most: int, reach: int, more: int) -> tuple[mf.Graph, mf.Pattern]:
    """Draw a dense graph and a pattern with few labels: a tree, and some edges that close cycles.

    Parameters
    ----------
    most
        Vertices of the pattern, at most.
    reach
        How far back a vertex of the tree may hang: where it is short, the pattern is long.
    more
        Edges that are not the tree's, at most.
    """
    vertices, size = draw(st.integers(5, 11)), draw(st.integers(3, most))
    labels, directed = draw(st.integers(1, 3)), draw(st.booleans())
    label = st.integers(0, labels - 1)
    pairs = [pair for pair in combinations(range(vertices), 2) if draw(st.integers(0, 9)) < 6]
    edges = [pair[::-1] if directed and draw(st.booleans()) else pair for pair in pairs or [(0, 1)]]
    both = [pair[::-1] for pair in edges if directed and draw(st.integers(0, 3)) == 0]
    graph = mf.Graph.from_edges(
        [*edges, *both],
        num_vertices=vertices,
        vertex_labels=[draw(label) for _ in range(vertices)],
        directed=directed,
    )
    asked = {(draw(st.integers(max(0, v - reach), v - 1)), v) for v in range(1, size)}
    asked |= set(draw(st.lists(st.sampled_from(list(combinations(range(size), 2))), max_size=more)))
    pattern = mf.Pattern.from_edges(
        sorted(asked),
        num_vertices=size,
        vertex_labels=[draw(st.one_of(st.none(), label, label)) for _ in range(size)],
        directed=directed,
    )
    return graph, pattern


def planted(case: Case, image: Sequence[int]) -> Case:
    """Add the edges and set the labels that make ``image`` an embedding, as far as the labels exist.

    Without this most draws with labels would have no match at all.
    """
    vertex_labels = None if case.vertex_labels is None else list(case.vertex_labels)
    if vertex_labels is not None:
        for vertex, choice in zip(image, case.pattern_vertex_labels, strict=True):
            vertex_labels[vertex] = _accepted(choice, vertex_labels[vertex])
    edges = tuple((image[u], image[v]) for u, v, _, _ in case.pattern_edges)
    edge_labels = case.edge_labels
    if edge_labels is not None:
        if not edge_labels:
            return case
        otherwise = edge_labels[-1]
        edge_labels += tuple(_accepted(choice, otherwise) for _, _, choice, _ in case.pattern_edges)
    return replace(
        case,
        edges=case.edges + edges,
        vertex_labels=None if vertex_labels is None else tuple(vertex_labels),
        edge_labels=edge_labels,
    )


def _accepted(choice: reference.LabelChoice, otherwise: Any) -> Any:
    """A label of the choice that graphs use; ``otherwise`` if it takes any label, or none of theirs."""
    if choice is None:
        return otherwise
    known = (choice if isinstance(choice, frozenset) else {choice}) - set(ABSENT.values())
    return min(known) if known else otherwise


@st.composite
def data_edges(draw: st.DrawFn, num_vertices: int) -> tuple[tuple[int, int], ...]:
    """Draw edges in any order, some of them again or reversed; dense graphs as likely as sparse ones."""
    pairs = [(u, v) for u in range(num_vertices) for v in range(num_vertices) if u != v]
    if not pairs:
        return ()
    few = st.lists(st.sampled_from(pairs), max_size=2 * num_vertices)
    many = st.lists(st.sampled_from(pairs), min_size=min(len(pairs), 2 * num_vertices), max_size=len(pairs))
    return tuple(draw(st.one_of(few, many, many)))


@st.composite
def external_ids(
    draw: st.DrawFn, num_vertices: int, edges: Sequence[tuple[int, int]], *, labelled: bool
) -> tuple[str, tuple[int | str, ...]]:
    """Draw how vertices are named. Labels and isolated vertices need a stated universe."""
    all_occur = len({vertex for edge in edges for vertex in edge}) == num_vertices
    implied = ["labels"] if labelled else ["edges"] if all_occur else []
    universe = draw(st.sampled_from(["count", "ids", "ids", *implied]))
    if universe in ("count", "labels"):
        return universe, tuple(range(num_vertices))
    numbers = st.integers(-5, 12) | st.integers(-(2**62), 2**62)
    words = st.text("abcé10 ", min_size=1, max_size=3)
    chosen: st.SearchStrategy[Any] = draw(st.sampled_from((numbers, words)))
    return universe, tuple(draw(st.lists(chosen, min_size=num_vertices, max_size=num_vertices, unique=True)))


def label_columns(kind: str | None, size: int) -> st.SearchStrategy[tuple[Any, ...] | None]:
    """Draw one label per vertex or edge; None where the graph has no labels."""
    if kind is None:
        return st.none()
    return st.tuples(*[st.sampled_from(LABELS[kind]) for _ in range(size)])


def label_choices(kind: str | None) -> st.SearchStrategy[Any]:
    """Draw what a query vertex or edge accepts; on a graph without labels, any or the default label."""
    if kind is None:
        return st.sampled_from((None, None, None, None, 0, frozenset({0}), frozenset({0, 5})))
    known = st.sampled_from(LABELS[kind])
    sets = st.frozensets(st.sampled_from((*LABELS[kind], ABSENT[kind])), min_size=1, max_size=3)
    return st.one_of(st.none(), st.none(), known, known, sets, sets)


@st.composite
def pattern_vertices(draw: st.DrawFn, num_query: int, labels: str | None) -> tuple[Any, ...]:
    """Draw what query vertices accept.

    Often all accept the same, so that patterns have automorphisms, and often some accept any label and the
    others one, so that query vertices which require different labels can have the same candidates.
    """
    choice = label_choices(labels)
    mix = draw(st.sampled_from(("same", "wildcards", "wildcards", "any")))
    if mix == "same":
        return (draw(choice),) * num_query
    if mix == "any" or labels is None:
        return tuple(draw(choice) for _ in range(num_query))
    labelled = draw(st.sampled_from(LABELS[labels]))
    return tuple(draw(st.sampled_from((None, labelled, labelled))) for _ in range(num_query))


@st.composite
def pattern_edges(
    draw: st.DrawFn, num_query: int, directed: bool, labels: str | None
) -> tuple[reference.PatternEdge, ...]:
    """Draw a spanning tree and further edges, parallel ones among them, in any order."""
    tree = [(draw(st.integers(0, vertex - 1)), vertex) for vertex in range(1, num_query)]
    pairs = [(u, v) for u in range(num_query) for v in range(num_query) if u != v]
    further = draw(st.lists(st.sampled_from(pairs), max_size=num_query + 1))
    ends = draw(st.permutations(tree + further))
    kinds = draw(st.sampled_from(KIND_MIXES[directed]))
    choice = label_choices(labels)
    uniform = draw(st.booleans())
    shared = draw(choice)
    return tuple(
        (
            *(draw(st.sampled_from((pair, pair[::-1])))),
            shared if uniform else draw(choice),
            draw(st.sampled_from(kinds)),
        )
        for pair in ends
    )


@st.composite
def other_patterns(draw: st.DrawFn, case: Case) -> list[dict[str, Any]]:
    """Draw 1 to 4 further patterns for the data graph of ``case``, as what to replace in it."""
    vertex_kind, edge_kind = _kind_of(case.vertex_labels), _kind_of(case.edge_labels)
    sizes = draw(st.lists(st.integers(2, 5), min_size=1, max_size=4))
    return [
        {
            "pattern_vertex_labels": draw(pattern_vertices(size, vertex_kind)),
            "pattern_edges": draw(pattern_edges(size, case.directed, edge_kind)),
        }
        for size in sizes
    ]


def _kind_of(labels: tuple[Any, ...] | None) -> str | None:
    if labels is None:
        return None
    return "str" if any(isinstance(label, str) for label in labels) else "int"


KIND_MIXES: dict[bool, tuple[tuple[str, ...], ...]] = {
    False: (("follow",), ("either",), ("follow", "either")),
    True: (("follow",), ("either",), ("arc",), ("follow", "either", "arc")),
}
"""The kinds of query edges of one pattern, for an undirected and for a directed data graph."""


def renamed(case: Case, order: Sequence[int]) -> Case:
    """The same graph with its vertices listed in another order, edges following them."""
    place = {vertex: position for position, vertex in enumerate(order)}
    labels = case.vertex_labels
    return replace(
        case,
        ids=tuple(case.ids[vertex] for vertex in order),
        universe="ids",
        edges=tuple((place[u], place[v]) for u, v in case.edges),
        vertex_labels=None if labels is None else tuple(labels[vertex] for vertex in order),
    )


def reordered_edges(case: Case, order: Sequence[int]) -> Case:
    """The same graph with its edges listed in another order."""
    labels = case.edge_labels
    return replace(
        case,
        edges=tuple(case.edges[row] for row in order),
        edge_labels=None if labels is None else tuple(labels[row] for row in order),
    )


def reordered_pattern(case: Case, order: Sequence[int]) -> Case:
    """The same pattern with vertex ``order[i]`` listed at position i, and its edges reversed in order."""
    place = {vertex: position for position, vertex in enumerate(order)}
    return replace(
        case,
        pattern_vertex_labels=tuple(case.pattern_vertex_labels[vertex] for vertex in order),
        pattern_edges=tuple(
            (place[u], place[v], labels, kind) for u, v, labels, kind in reversed(case.pattern_edges)
        ),
    )


def _id_array(ids: Sequence[Any]) -> np.ndarray:
    return np.array(ids, dtype=np.str_ if ids and isinstance(ids[0], str) else np.int64)


_label_array: Callable[[Sequence[Any]], np.ndarray] = _id_array
