"""The query graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import index
from typing import SupportsIndex, TypeAlias

from motiflux.arguments import check_integer
from motiflux.errors import PatternError
from motiflux.types import MAX_PATTERN_EDGES, MAX_PATTERN_VERTICES, Label

LabelChoice: TypeAlias = Label | Iterable[Label] | None
"""One label, a set of labels of which any will do, or None: any label at all."""


@dataclass(frozen=True, slots=True)
class QueryVertex:
    """A query vertex: its name and the labels it may have; None is a wildcard."""

    name: str
    labels: frozenset[Label] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", label_set(self.labels))


@dataclass(frozen=True, slots=True)
class QueryEdge:
    """A query edge between two query vertices, given by position.

    Parameters
    ----------
    source, target
        Positions in `Pattern.vertices`.
    labels
        The labels it may have; None is a wildcard.
    directed
        True: the arc source -> target. False: an arc either way. None: what the data graph says.
    """

    source: int
    target: int
    labels: frozenset[Label] | None = None
    directed: bool | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", label_set(self.labels))


@dataclass(frozen=True, slots=True)
class Pattern:
    """A query graph: connected, 2 to 32 vertices.

    Make one with `Pattern.from_edges`, `PatternBuilder` or `motiflux.read_pattern`. A query edge listed twice
    counts once.

    Raises
    ------
    PatternError
        Too few or too many vertices or edges, a self-loop, an edge to a vertex that is not there, a pattern
        that is not connected, two vertices of one name.
    """

    vertices: tuple[QueryVertex, ...]
    edges: tuple[QueryEdge, ...]
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "vertices", tuple(self.vertices))
        object.__setattr__(self, "edges", tuple(dict.fromkeys(self.edges)))
        _check_edges(self)
        _check_size(self.num_vertices)
        _check_names(self)
        _check_connected(self)

    @classmethod
    def from_edges(
        cls,
        edges: Iterable[tuple[int, int]],
        *,
        num_vertices: int | None = None,
        vertex_labels: Sequence[LabelChoice] | None = None,
        edge_labels: Sequence[LabelChoice] | None = None,
        directed: bool | None = None,
        name: str = "",
    ) -> Pattern:
        """Make a pattern from pairs of vertex numbers.

        Parameters
        ----------
        edges
            Pairs ``(u, v)`` of numbers 0..k-1.
        num_vertices
            k; default: the length of `vertex_labels`, else one more than the largest number in `edges`.
        vertex_labels, edge_labels
            A label, a set of labels or None (any label) per vertex and per edge; without them all are
            wildcards.
        directed
            For all edges, as in `QueryEdge`.
        name
            Shown by `motiflux.explain`.

        Examples
        --------
        >>> from motiflux import Pattern
        >>> Pattern.from_edges([(0, 1), (1, 2), (2, 0)], name="triangle")
        Pattern('triangle', 3 vertices, 3 edges)
        """
        pairs = _pairs(edges)
        if num_vertices is None:
            named = 1 + max((max(pair) for pair in pairs), default=-1)
            num_vertices = named if vertex_labels is None else max(named, len(vertex_labels))
        num_vertices = check_integer("num_vertices", num_vertices, 0)
        if num_vertices > MAX_PATTERN_VERTICES:
            _check_size(num_vertices)  # before anything of that size is made
        vertex_choices = _one_each(vertex_labels, num_vertices, "vertex_labels")
        edge_choices = _one_each(edge_labels, len(pairs), "edge_labels")
        return cls(
            vertices=tuple(QueryVertex(str(v), label_set(choice)) for v, choice in enumerate(vertex_choices)),
            edges=tuple(
                QueryEdge(source, target, label_set(choice), directed)
                for (source, target), choice in zip(pairs, edge_choices, strict=True)
            ),
            name=name,
        )

    @property
    def num_vertices(self) -> int:
        """Number of query vertices."""
        return len(self.vertices)

    @property
    def num_edges(self) -> int:
        """Number of distinct query edges."""
        return len(self.edges)

    def __repr__(self) -> str:
        name = f"{self.name!r}, " if self.name else ""
        return f"Pattern({name}{self.num_vertices} vertices, {self.num_edges} edges)"


class PatternBuilder:
    """Makes a pattern vertex by vertex and edge by edge.

    Examples
    --------
    >>> from motiflux import PatternBuilder
    >>> (
    ...     PatternBuilder()
    ...     .vertex("payer", label="person")
    ...     .vertex("payee")
    ...     .edge("payer", "payee", label={"wire", "cash"}, directed=True)
    ...     .build("payment")
    ... )
    Pattern('payment', 2 vertices, 1 edges)
    """

    def __init__(self) -> None:
        self._vertices: dict[str, QueryVertex] = {}
        self._edges: list[QueryEdge] = []

    def vertex(self, name: str, label: LabelChoice = None) -> PatternBuilder:
        """Add a vertex; `label` is a label, a set of labels or None (any)."""
        if name in self._vertices:
            raise PatternError(f"vertex {name!r}: expected a new name, found one that is taken")
        self._vertices[name] = QueryVertex(name, label_set(label))
        return self

    def edge(
        self, source: str, target: str, label: LabelChoice = None, directed: bool | None = None
    ) -> PatternBuilder:
        """Add an edge between two vertices by name; `directed` as in `QueryEdge`."""
        positions = list(self._vertices)
        for name in (source, target):
            if name not in self._vertices:
                known = ", ".join(positions) or "none"
                raise PatternError(
                    f"edge {source!r} - {target!r}: expected vertices added before ({known}), found {name!r}"
                )
        self._edges.append(
            QueryEdge(positions.index(source), positions.index(target), label_set(label), directed)
        )
        return self

    def build(self, name: str = "") -> Pattern:
        """Return the pattern."""
        return Pattern(tuple(self._vertices.values()), tuple(self._edges), name)


def label_set(choice: LabelChoice) -> frozenset[Label] | None:
    """Return the labels `choice` stands for, or None for a wildcard.

    Raises
    ------
    PatternError
        An empty set, or something that is neither an integer nor a string.
    """
    if choice is None:
        return None
    if isinstance(choice, (str, bytes, Mapping)) or not isinstance(choice, Iterable):
        return frozenset([_label(choice)])
    labels = frozenset(_label(label) for label in choice)
    if not labels:
        raise PatternError("label: expected at least one label or None (any label), found an empty set")
    return labels


def _label(label: object) -> Label:
    if isinstance(label, str):
        return str(label)
    if not isinstance(label, bool) and isinstance(label, SupportsIndex):
        return index(label)
    raise PatternError(f"label: expected an integer, a string, a set of them or None, found {label!r}")


def _pairs(edges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    if not isinstance(edges, Iterable):
        raise PatternError(f"edges: expected pairs of vertex numbers, found {edges!r}")
    pairs = []
    for position, edge in enumerate(edges):
        try:
            source, target = edge
            pairs.append((index(source), index(target)))
        except (TypeError, ValueError):
            raise PatternError(
                f"query edge {position}: expected two vertex numbers, found {edge!r}"
            ) from None
    return pairs


def _one_each(choices: Sequence[LabelChoice] | None, length: int, what: str) -> Sequence[LabelChoice]:
    if choices is None:
        return [None] * length
    if len(choices) != length:
        raise PatternError(f"{what}: expected {length} labels, found {len(choices)}")
    return choices


def _check_size(num_vertices: int) -> None:
    if not 2 <= num_vertices <= MAX_PATTERN_VERTICES:
        raise PatternError(f"expected 2 to {MAX_PATTERN_VERTICES} query vertices, found {num_vertices}")


def _check_names(pattern: Pattern) -> None:
    seen: set[str] = set()
    for vertex in pattern.vertices:
        if vertex.name in seen:
            raise PatternError(f"expected each vertex name once, found {vertex.name!r} twice")
        seen.add(vertex.name)


def _check_edges(pattern: Pattern) -> None:
    for position, edge in enumerate(pattern.edges):
        for end in (edge.source, edge.target):
            if not 0 <= end < pattern.num_vertices:
                last = pattern.num_vertices - 1
                raise PatternError(f"query edge {position}: expected vertices 0 to {last}, found {end}")
        if edge.source == edge.target:
            name = pattern.vertices[edge.source].name
            raise PatternError(
                f"query edge {position}: expected two different vertices, found {name!r} twice"
            )
        if edge.directed not in (True, False, None):
            raise PatternError(
                f"query edge {position}: expected directed to be True, False or None, found {edge.directed!r}"
            )
    if pattern.num_edges > MAX_PATTERN_EDGES:
        raise PatternError(f"expected at most {MAX_PATTERN_EDGES} query edges, found {pattern.num_edges}")


def _check_connected(pattern: Pattern) -> None:
    reached, frontier = {0}, [0]
    while frontier:
        vertex = frontier.pop()
        for edge in pattern.edges:
            for near, far in ((edge.source, edge.target), (edge.target, edge.source)):
                if near == vertex and far not in reached:
                    reached.add(far)
                    frontier.append(far)
    if len(reached) < pattern.num_vertices:
        left_out = next(v.name for i, v in enumerate(pattern.vertices) if i not in reached)
        start = pattern.vertices[0].name
        raise PatternError(
            f"expected a connected pattern, found no path from vertex {start!r} to {left_out!r}"
        )
