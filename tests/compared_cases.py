"""Random small cases with comparisons between attributes: a multigraph with attributes, and a pattern."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import strategies as st

import motiflux as mf
from motiflux.comparisons import Element, Operand, PatternComparison, Relation, Within
from motiflux.conditions import Operator
from motiflux.cpu import reference
from motiflux.pattern.elements import label_set

OPERATORS = ["<", "<", "<=", ">", ">=", "=", "<>"]
DIRECTIONS: dict[str, bool | None] = {"follow": None, "either": False, "arc": True}
KINDS = {True: ("follow", "follow", "arc", "either"), False: ("follow", "either")}


@dataclass(frozen=True)
class ComparedCase:
    """One data graph whose edges have copies and attributes, and one pattern with comparisons.

    Attributes of edges: ``time`` (integers), ``amount`` (floats), ``kind`` (strings); of vertices: ``level``
    (integers), ``name`` (strings). None is a missing value.
    """

    directed: bool
    num_vertices: int
    edges: tuple[tuple[int, int], ...]
    edge_labels: tuple[int, ...] | None
    vertex_labels: tuple[int, ...] | None
    edge_attributes: dict[str, list[Any]]
    vertex_attributes: dict[str, list[Any]]
    pattern_vertex_labels: tuple[Any, ...]
    pattern_edges: tuple[reference.PatternEdge, ...]
    comparisons: tuple[reference.Comparison, ...]
    negated: tuple[reference.NegatedEdge, ...] = ()

    def graph(self) -> mf.Graph:
        """Build the data graph."""
        ends = np.array(self.edges, dtype=np.int64).reshape(-1, 2)
        return mf.Graph.from_edges(
            (ends[:, 0], ends[:, 1]),
            directed=self.directed,
            num_vertices=self.num_vertices,
            vertex_labels=self.vertex_labels,
            edge_labels=self.edge_labels,
            edge_attributes=self.edge_attributes,
            vertex_attributes=self.vertex_attributes,
        )

    def pattern(self) -> mf.Pattern:
        """Build the pattern; all of its edges have names."""
        return mf.Pattern(
            tuple(
                mf.QueryVertex(f"q{v}", label_set(labels))
                for v, labels in enumerate(self.pattern_vertex_labels)
            ),
            tuple(
                mf.QueryEdge(u, v, label_set(labels), DIRECTIONS[str(kind)], f"x{position}")
                for position, (u, v, labels, kind) in enumerate(self.pattern_edges)
            ),
            comparisons=tuple(map(as_comparison, self.comparisons)),
        )

    def embeddings(self, semantics: str = "isomorphism") -> set[tuple[int, ...]]:
        """All embeddings according to the reference."""
        return reference.embeddings(
            *self._data, semantics=semantics, negated=self.negated, **self._options, **self._compared
        )

    def choices(self, semantics: str = "isomorphism") -> dict[tuple[int, ...], set[tuple[int, ...]]]:
        """All choices of copies according to the reference."""
        return reference.choices(*self._data, semantics=semantics, **self._options, **self._compared)

    def occurrences(self, semantics: str = "isomorphism") -> set[frozenset[tuple[int, ...]]]:
        """All occurrences according to the reference."""
        return reference.occurrences(
            *self._data, semantics=semantics, negated=self.negated, **self._options, **self._compared
        )

    def automorphisms(self) -> set[tuple[int, ...]]:
        """All automorphisms of the pattern according to the reference."""
        return reference.automorphisms(
            self.pattern_vertex_labels,
            self.pattern_edges,
            directed=self.directed,
            comparisons=self.comparisons,
        )

    @property
    def _data(self) -> tuple[Any, ...]:
        return self.num_vertices, self.edges, self.pattern_vertex_labels, self.pattern_edges

    @property
    def _options(self) -> dict[str, Any]:
        return {
            "directed": self.directed,
            "vertex_labels": self.vertex_labels,
            "edge_labels": self.edge_labels,
        }

    @property
    def _compared(self) -> dict[str, Any]:
        vertices = dict(self.vertex_attributes, id=list(range(self.num_vertices)))
        return {
            "comparisons": self.comparisons,
            "vertex_attributes": vertices,
            "edge_attributes": self.edge_attributes,
        }


def as_comparison(one: reference.Comparison) -> PatternComparison:
    """Return a comparison of the reference as one of a pattern."""
    if len(one) == 2:
        attribute, span = one
        return Within(span, attribute)
    left, operator, right, factor, offset = one
    return Relation(_operand(left), Operator(operator), _operand(right), factor, offset)


def _operand(operand: reference.Operand) -> Operand:
    element, position, attribute = operand
    return Operand(Element(element), position, None if attribute == "id" else attribute)


@st.composite
def comparisons(
    draw: st.DrawFn, num_vertices: int, num_edges: int, *, most: int = 4
) -> tuple[reference.Comparison, ...]:
    """Draw comparisons, mostly of edges; chains in time are frequent."""
    found: list[reference.Comparison] = []
    if num_edges > 1 and draw(st.booleans()):
        operator = draw(st.sampled_from(("<", "<=", ">")))
        order = draw(st.permutations(range(num_edges)))[: draw(st.integers(2, num_edges))]
        found += [(("edge", a, "time"), operator, ("edge", b, "time"), 1, 0) for a, b in pairwise(order)]
    edge = st.integers(0, num_edges - 1)
    vertex = st.integers(0, num_vertices - 1)
    number = st.one_of(
        st.tuples(st.just("edge"), edge, st.sampled_from(("time", "time", "amount"))),
        st.tuples(st.just("edge"), edge, st.sampled_from(("time", "time", "amount"))),
        st.tuples(st.just("vertex"), vertex, st.sampled_from(("level", "id"))),
    )
    text = st.tuples(st.just("edge"), edge, st.just("kind")) | st.tuples(
        st.just("vertex"), vertex, st.just("name")
    )
    factors = st.sampled_from((1, 1, 1, 1, -1, 2, Fraction(1, 2), Fraction(9, 10), Fraction(-1, 3)))
    offsets = st.sampled_from((0, 0, 0, 1, -1, 2, Fraction(1, 2)))
    for _ in range(draw(st.integers(0 if found else 1, most - min(most, len(found))))):
        kind = draw(st.sampled_from(("number", "number", "number", "text", "within")))
        if kind == "within":
            found.append(("time", draw(st.integers(0, 3))))
            continue
        side = number if kind == "number" else text
        left = draw(side)
        right = draw(side.filter(lambda other: other != left))  # noqa: B023
        plain = kind == "text" or "id" in (left[2], right[2])
        found.append(
            (
                left,
                draw(st.sampled_from(OPERATORS)),
                right,
                1 if plain else draw(factors),
                0 if plain else draw(offsets),
            )
        )
    spans = [one for one in found if len(one) == 2]
    return tuple([one for one in found if len(one) != 2] + spans[:1])


@st.composite
def with_all_edges(
    draw: st.DrawFn, compared: tuple[reference.Comparison, ...], num_edges: int
) -> tuple[reference.Comparison, ...]:
    """Add a span, or relations of the edges that have none."""
    if any(len(one) == 2 for one in compared):
        return compared
    named = {side[1] for one in compared if len(one) != 2 for side in (one[0], one[2]) if side[0] == "edge"}
    others = [edge for edge in range(num_edges) if edge not in named]
    if others and (num_edges == 1 or draw(st.booleans())):
        return (*compared, ("time", draw(st.integers(0, 6))))
    found = []
    for edge in others:
        other = draw(st.integers(0, num_edges - 1).filter(lambda at, edge=edge: at != edge))
        operator = draw(st.sampled_from(OPERATORS))
        found.append((("edge", edge, "time"), operator, ("edge", other, "time"), 1, 0))
    return (*compared, *found)


@st.composite
def compared_cases(
    draw: st.DrawFn, *, most_edges: int = 4, most_copies: int = 14, all_edges: bool = False
) -> ComparedCase:
    """Draw a multigraph of up to 5 vertices and a pattern of 2 to 4 with comparisons.

    `all_edges` says whether every query edge is compared, by a relation or by a span.
    """
    directed = draw(st.booleans())
    num_vertices = draw(st.integers(2, 5))
    pairs = [(u, v) for u in range(num_vertices) for v in range(num_vertices) if u != v]
    chosen = draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=6, unique=True))
    edges = tuple(
        draw(st.lists(st.sampled_from(chosen), min_size=min(len(chosen), most_copies), max_size=most_copies))
    )
    labelled = draw(st.sampled_from((False, False, True)))
    size = draw(st.sampled_from((2, 3, 3, 4)))
    tree = [(draw(st.integers(0, vertex - 1)), vertex) for vertex in range(1, size)]
    every = [(u, v) for u in range(size) for v in range(size) if u != v]
    further = draw(st.lists(st.sampled_from(every), max_size=max(0, most_edges - len(tree))))
    kinds = KINDS[directed]
    pattern_edges = tuple(
        (
            *draw(st.sampled_from((pair, pair[::-1]))),
            draw(st.sampled_from((None, None, 0))) if labelled else None,
            draw(st.sampled_from(kinds)),
        )
        for pair in draw(st.permutations(tree + further))
    )

    def many(values: Any, count: int) -> list[Any]:
        return draw(st.lists(values, min_size=count, max_size=count))  # type: ignore[no-any-return]

    compared = draw(comparisons(size, len(pattern_edges)))
    if all_edges:
        compared = draw(with_all_edges(compared, len(pattern_edges)))
    missing = draw(st.sampled_from((False, False, True)))
    numbers = st.integers(0, 5) | (st.none() if missing else st.integers(-2, 2))
    return ComparedCase(
        directed=directed,
        num_vertices=num_vertices,
        edges=edges,
        edge_labels=tuple(many(st.integers(0, 1), len(edges))) if labelled else None,
        vertex_labels=tuple(many(st.integers(0, 1), num_vertices)) if labelled else None,
        edge_attributes={
            "time": _typed(many(numbers, len(edges)), int),
            "amount": _typed(
                many(st.sampled_from((0.5, 1.0, 2.0, 2.5)) | numbers.map(_float), len(edges)), float
            ),
            "kind": many(st.sampled_from(("a", "b", "ab")), len(edges)),
        },
        vertex_attributes={
            "level": _typed(many(numbers, num_vertices), int),
            "name": many(st.sampled_from(("a", "b", "c")), num_vertices),
        },
        pattern_vertex_labels=tuple(
            draw(st.sampled_from((None, None, 0))) if labelled else None for _ in range(size)
        ),
        pattern_edges=pattern_edges,
        comparisons=compared,
    )


def _float(value: int | None) -> float | None:
    return None if value is None else float(value)


def _typed(values: list[Any], kind: type) -> list[Any]:
    """Make sure that one value has the type of the column: one of missing values alone has none."""
    return [kind(0) if all(value is None for value in values) else values[0], *values[1:]]


def without_comparisons(case: ComparedCase) -> ComparedCase:
    """Return the case with the same graph and pattern, and no comparisons."""
    return replace(case, comparisons=())


@st.composite
def long_row_cases(draw: st.DrawFn) -> ComparedCase:
    """Draw a graph with rows of up to 11 vertices, and a path, a ring or a star of 3 edges with a span."""
    size = draw(st.integers(8, 12))
    pairs = [(u, v) for u in range(size) for v in range(size) if u != v]
    random = draw(st.randoms(use_true_random=False))
    edges = [pair for pair in pairs if random.random() < 0.7]
    edges += random.sample(edges, len(edges) // 4)
    shape = draw(
        st.sampled_from(([(0, 1), (1, 2), (2, 3)], [(0, 1), (1, 2), (2, 0)], [(0, 1), (2, 1), (1, 3)]))
    )
    query = tuple((u, v, None, "follow") for u, v in draw(st.permutations(shape)))
    labelled = draw(st.booleans())
    return ComparedCase(
        directed=True,
        num_vertices=size,
        edges=tuple(edges),
        edge_labels=None,
        vertex_labels=tuple(random.randrange(2) for _ in range(size)) if labelled else None,
        edge_attributes={
            "time": [random.randrange(40) for _ in edges],
            "amount": [random.randrange(8) / 2 for _ in edges],
            "kind": [random.choice("ab") for _ in edges],
        },
        vertex_attributes={
            "level": [random.randrange(40) for _ in range(size)],
            "name": [random.choice("ab") for _ in range(size)],
        },
        pattern_vertex_labels=tuple(
            random.choice((None, 0)) if labelled else None
            for _ in range(1 + max(max(pair) for pair in shape))
        ),
        pattern_edges=query,
        comparisons=(*draw(comparisons(3, 3)), ("time", draw(st.integers(1, 12)))),
    )
