"""Patterns that compare attributes, on a graph that changes.

`motiflux._native.Compared` has copies with the values that patterns compare, and matches the changes of a
call. What depends on the kinds of attributes is made anew when these change, which is rare: an attribute
comes, or integers become floats.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.comparisons import Operand, PatternComparison, Within
from motiflux.conditions import Condition, Operator
from motiflux.errors import PatternError, StreamError
from motiflux.graph import AttributeTable, Column, Direction, Kind
from motiflux.graph.copies import ColumnKey, Form
from motiflux.pattern import Pattern
from motiflux.pattern.automorphism import automorphisms
from motiflux.pattern.elements import edge_names
from motiflux.pattern.queries.watched import CasePattern
from motiflux.plan.bind import BareVertex, BoundEdge
from motiflux.plan.comparisons.bound import BoundComparisons, BoundVariable, bind_comparisons
from motiflux.plan.comparisons.native import native_comparison, native_span
from motiflux.plan.passes.symmetry import restrictions
from motiflux.stream.copies.changes import Expanded
from motiflux.stream.copies.facets import Facets
from motiflux.stream.copies.ranks import StringRanks
from motiflux.stream.copies.store import CopyStore
from motiflux.stream.matching.names import GrowingIds
from motiflux.types import Semantics, Symmetry

Values = tuple[NDArray[np.int64], NDArray[np.uint8]]
"""int64 [n], and uint8 [n]: 1 where there is no value."""

_Among = tuple[tuple[str, str | None], ...]

NativeNegation = tuple[int, int, bool, int, bool, list[int] | None, int, int]
"""A negated edge as the native code takes it."""


def compared_names(pattern: Pattern) -> set[str]:
    """Return the attributes of edges that the comparisons of a pattern look at."""
    names = set()
    for one in pattern.comparisons:
        if isinstance(one, Within):
            names.add(one.attribute)
        else:
            names |= {str(side.attribute) for side in (one.left, one.right) if side.is_edge}
    return names


def compared_of_vertices(pattern: Pattern) -> set[str]:
    """Return the attributes of vertices that the comparisons of a pattern look at."""
    sides = _sides(pattern.comparisons)
    return {side.attribute for side in sides if not side.is_edge and side.attribute is not None}


def _sides(comparisons: tuple[PatternComparison, ...]) -> list[Operand]:
    return [side for one in comparisons if not isinstance(one, Within) for side in (one.left, one.right)]


class LiveNegation(NamedTuple):
    """An edge that must not be there, in codes.

    Parameters
    ----------
    source, target
        Query vertices; None: any vertex.
    either
        Whether an edge the other way must not be there either.
    labels, where
        Those that the edge must not have, None: any; and the condition that it must not satisfy.
    ends, list_of_ends
        Of any vertex: the codes of its labels, None: any; and the number of the native list of vertices that
        it may be, -1: all.
    besides
        Query vertices whose images it is not.
    """

    source: int | None
    target: int | None
    either: bool
    labels: tuple[int, ...] | None
    where: Condition | None
    ends: tuple[int, ...] | None = None
    list_of_ends: int = -1
    besides: frozenset[int] = frozenset()

    @classmethod
    def of_pair(cls, edge: BoundEdge) -> LiveNegation:
        """Return the negation of an edge between two query vertices."""
        return cls(edge.source, edge.target, edge.either, edge.labels, edge.where)

    @classmethod
    def to_any(cls, one: BareVertex, list_of_ends: int) -> LiveNegation:
        """Return the negation of edges from or to any vertex."""
        arcs = one.arcs
        source, target = (None, one.vertex) if arcs.direction is Direction.IN else (one.vertex, None)
        either = arcs.direction is Direction.EITHER
        edge = (arcs.edge_labels, arcs.edge_where)
        return cls(source, target, either, *edge, arcs.target_labels, list_of_ends, one.besides)


@dataclass(frozen=True)
class LivePattern:
    """A pattern in codes.

    Parameters
    ----------
    slot, listed
        Its number in the native monitor, and whether its matches are given.
    labels, lists
        Of each query vertex: codes (None: all), and the number of the native list of vertices (-1: all).
    edges, negated
        Of each query edge, and of each negated edge, in codes.
    semantics, symmetry
        Of the monitor.
    directed
        Whether the graph is.
    """

    pattern: Pattern
    slot: int
    listed: bool
    labels: tuple[tuple[int, ...] | None, ...]
    lists: tuple[int, ...]
    edges: tuple[BoundEdge, ...]
    negated: tuple[LiveNegation, ...]
    semantics: Semantics
    symmetry: Symmetry
    directed: bool

    def vertices(self) -> list[tuple[list[int] | None, int, int, int, int]]:
        """Return the query vertices as the native code takes them."""
        size = len(self.labels)
        distinct, greater, smaller = [0] * size, [0] * size, [0] * size
        if self.semantics is not Semantics.HOMOMORPHISM:
            free = {frozenset(pair) for pair in self.pattern.may_coincide}
            for u in range(size):
                others = (v for v in range(size) if v != u and frozenset((u, v)) not in free)
                distinct[u] = sum(1 << v for v in others)
        for u, v in self._ascending():
            greater[u] |= 1 << v
            smaller[v] |= 1 << u
        labels = [None if codes is None else sorted(codes) for codes in self.labels]
        return list(zip(labels, self.lists, distinct, greater, smaller, strict=True))

    def _ascending(self) -> Sequence[tuple[int, int]]:
        """Return the pairs of query vertices whose images ascend."""
        if self.symmetry is not Symmetry.SUBGRAPHS:
            return ()
        if isinstance(self.pattern, CasePattern):
            return self.pattern.ascending
        return restrictions(automorphisms(self.pattern, directed=self.directed))


@dataclass(frozen=True)
class _Kinds:
    """The kinds of attributes and ids now, in the form of a graph without edges."""

    edge_attributes: AttributeTable
    vertex_attributes: AttributeTable
    vertex_ids: NDArray[Any]


class Compared:
    """The patterns of a monitor that compare attributes.

    Parameters
    ----------
    store, facets, native
        The copies of the monitor, what tells them apart, and the native monitor.
    ids
        Returns the ids of its vertices.
    vertex_attributes
        Of the first vertices; others have none.
    """

    def __init__(
        self,
        store: CopyStore,
        facets: Facets,
        native: _native.Monitor,
        ids: Callable[[], GrowingIds],
        vertex_attributes: AttributeTable,
    ) -> None:
        self._store, self._facets, self._monitor, self._ids = store, facets, native, ids
        self.vertex_attributes = vertex_attributes
        self._patterns: dict[int, LivePattern] = {}
        self._made: _Made | None = None
        self._is_stale = True
        self._made_in = -1  # the call in which it was made
        self._origins: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    @property
    def names(self) -> frozenset[str]:
        """The attributes of edges that the patterns look at."""
        return frozenset(name for one in self._patterns.values() for name in compared_names(one.pattern))

    @property
    def nbytes(self) -> int:
        """Bytes of values and rows by value."""
        return 0 if self._made is None else self._made.native.nbytes

    def check(self, pattern: Pattern) -> None:
        """Refuse comparisons that the kinds so far do not admit.

        Raises
        ------
        PatternError
            Names the attributes.
        """
        self._bound(pattern, self._kinds(compared_names(pattern)))

    def add(self, pattern: LivePattern) -> None:
        """Match one more pattern from the next call on."""
        self._is_stale = True  # first: an interrupted call leaves nothing that is matched otherwise
        self._patterns[pattern.slot] = pattern
        self._store.compared = self.names

    def drop(self, slot: int) -> None:
        """Match a pattern no more."""
        if slot in self._patterns:
            self._is_stale = True
            del self._patterns[slot]
            self._store.compared = self.names

    def has(self, slot: int) -> bool:
        """Return whether a pattern compares attributes."""
        return slot in self._patterns

    def begin(self) -> None:
        """Begin a call, after `CopyStore.begin`."""
        made = self._made
        if made is None or self._is_stale or made.copies is not self._store.native:
            self._made, self._is_stale = None, True
        else:
            made.begin()

    def undo(self) -> None:
        """Take back what was done since `begin`, before `CopyStore.undo`; it may be repeated."""
        made = self._made
        if made is None or self._is_stale:
            return
        if self._made_in == self._store.calls:
            self._is_stale = True
        else:
            made.undo()

    def apply(self, expanded: Expanded) -> None:
        """Write the changes of copies.

        Raises
        ------
        StreamError
            Attributes cannot be compared as a pattern asks for.
        """
        if not self._patterns:
            return
        signature = [self._ids().kind, *map(self._store.kind, sorted(self._store.compared))]
        made = self._made
        if made is None or self._is_stale or made.signature != signature:
            made = self._make(signature)
            self._made_in = self._store.calls
            self._made, self._is_stale = made, False
        else:
            made.extend()
        made.native.apply(expanded.rows, expanded.inserts)
        self._origins = expanded.origins

    def match(
        self,
        found: _native.Found,
        terms: _native.Terms,
        full: Callable[[_native.Found], None] | None,
        timeout: float | None,
    ) -> bool:
        """Add the matches of the changes to those of other patterns; return False after the timeout."""
        if not self._patterns or self._made is None:
            return True
        return self._made.native.match(found, terms, full, timeout) is not None

    def witnesses(
        self,
        pattern: Pattern,
        vertices: NDArray[np.uint32],
        updates: NDArray[np.int64],
        positive: NDArray[np.bool_],
        *,
        whole: bool,
    ) -> NDArray[np.uint32]:
        """Return the rows of the copies of a choice, [matches, query edges], of matches of the last call.

        Of the choices that the match had after the update, if it appeared, or before it, it is the first one:
        by the copies of the first query edge in their order of arrival, then by those of the second, ... If
        edges that left a window brought the match and took it in one update, it is a choice in between.
        """
        made = self._made
        assert made is not None
        if whole:
            came = least = np.where(positive, _NEVER - 1, 0)
            gone = np.where(positive, _NEVER, 1)
        else:
            least = np.searchsorted(self._origins, updates, side="left")
            came = np.where(positive, np.searchsorted(self._origins, updates, side="right"), least)
            gone = came + 1
        images = np.ascontiguousarray(vertices, dtype=np.uint32)
        rows = made.native.witnesses(
            made.slots[pattern],
            images,
            came.astype(np.int64),
            gone.astype(np.int64),
            least.astype(np.int64),
        )
        return rows.reshape(len(vertices), pattern.num_edges)

    def _kinds(self, names: set[str] | frozenset[str]) -> _Kinds:
        ids = self._ids().kind
        return _Kinds(
            self._store.table(np.zeros(0, dtype=np.int64), names),
            self.vertex_attributes,
            np.zeros(0, dtype="<U1" if ids == "U" else np.int64),
        )

    def _bound(self, pattern: Pattern, kinds: _Kinds) -> BoundComparisons:
        bound = bind_comparisons(pattern, kinds, range(pattern.num_edges), every_edge=False)
        assert bound is not None
        return bound

    def _make(self, signature: object) -> _Made:
        """Return the native object, with the copies as they were before the call."""
        kinds = self._kinds(self.names)
        made = _Made(self._store, self._facets, self._monitor, self._ids(), self.vertex_attributes, signature)
        try:
            bound = [(one, self._bound(one.pattern, kinds)) for one in self._patterns.values()]
        except PatternError as error:
            raise StreamError(f"updates: {error}") from None
        made.add(bound)
        made.extend()
        made.native.load()
        return made


_NEVER = 2**32 - 1
"""The moment that no copy comes or goes at."""


class _Made:
    """A native object for certain kinds of attributes and its columns."""

    def __init__(
        self,
        store: CopyStore,
        facets: Facets,
        monitor: _native.Monitor,
        ids: GrowingIds,
        vertex_attributes: AttributeTable,
        signature: object,
    ) -> None:
        self.signature = signature
        self.copies = store.native
        self.native = _native.Compared(self.copies, monitor)
        self._store, self._facets, self._monitor, self._ids = store, facets, monitor, ids
        self._vertex_attributes = vertex_attributes
        self._columns: dict[tuple[bool, ColumnKey], int] = {}  # of vertices or edges
        self._sizes: dict[int, int] = {}  # of columns, when the call began
        self._indexes: dict[tuple[int | None, bool], int] = {}
        self._ranks: dict[_Among, StringRanks] = {}
        self._ranks_given: dict[_Among, int] = {}
        self.slots: dict[Pattern, int] = {}
        self._accepting: list[tuple[int, int, tuple[int, ...] | None, Condition | None]] = []
        self._facets_known = -1

    def add(self, patterns: Sequence[tuple[LivePattern, BoundComparisons]]) -> None:
        for _, bound in patterns:
            for one in bound.comparisons:
                key = bound.variables[one.left].columns[one.left_column]
                if key.form is Form.RANK and one.operator not in (Operator.EQUAL, Operator.UNEQUAL):
                    self._ranks[key.among] = StringRanks(ordered=True)
        for live, bound in patterns:
            self._add(live, bound)

    def _add(self, live: LivePattern, bound: BoundComparisons) -> None:
        self.slots[live.pattern] = live.slot
        variables = []
        by_edge: dict[int, tuple[int, bool]] = {}
        for variable in bound.variables:
            is_vertex = variable.vertex is not None
            columns = [self._column(is_vertex, key) for key in variable.columns]
            position = variable.query_edge if variable.vertex is None else variable.vertex
            assert position is not None
            variables.append((is_vertex, position, columns))
            if not is_vertex:
                by_edge[position] = self._index_of(variable, columns[0])
        other = next((index for index, by_value in by_edge.values() if by_value), None)
        edges = []
        for position, edge in enumerate(live.edges):
            accepts_all = edge.labels is None and edge.where is None
            if position in by_edge:
                index, by_value = by_edge[position]
            else:
                index, by_value = self._index(None, floats=False) if other is None else other, False
            edges.append((edge.source, edge.target, edge.either, index, by_value, accepts_all))
            self._accepting.append((live.slot, position, edge.labels, edge.where))
        negated: list[NativeNegation] = []
        for position, one in enumerate(live.negated, len(live.edges)):
            source, target = (-1 if end is None else end for end in (one.source, one.target))
            index = self._index(None, floats=False) if other is None else other
            accepts_all = one.labels is None and one.where is None
            ends = None if one.ends is None else sorted(one.ends)
            besides = sum(1 << vertex for vertex in one.besides)
            own = (source, target, one.either, index, accepts_all, ends, one.list_of_ends, besides)
            negated.append(own)
            self._accepting.append((live.slot, position, one.labels, one.where))
        place = {at: at for at in range(len(variables))}
        comparisons = [native_comparison(one, place) for one in bound.comparisons]
        span = native_span(bound.span)
        vertices = live.vertices()
        self.native.add_pattern(
            live.slot, live.listed, vertices, edges, negated, variables, comparisons, span
        )

    def _index_of(self, variable: BoundVariable, column: int) -> tuple[int, bool]:
        """Return the rows in which the copies of a query edge are, and whether these are by value."""
        form = variable.columns[0].form
        if form is Form.RANK:
            return self._index(None, floats=False), False
        return self._index(column, floats=form is Form.FLOAT), True

    def _index(self, column: int | None, *, floats: bool) -> int:
        key = column, floats
        if key not in self._indexes:
            self._indexes[key] = self.native.add_index(column, floats)
        return self._indexes[key]

    def _column(self, is_vertex: bool, key: ColumnKey) -> int:
        ranked = False
        if key.form is Form.RANK:
            ranked = self._ranks.setdefault(key.among, StringRanks(ordered=False)).ordered
        if (is_vertex, key) not in self._columns:
            self._columns[is_vertex, key] = self.native.add_column(ranked)
        return self._columns[is_vertex, key]

    def begin(self) -> None:
        self.native.begin()
        self._sizes = {column: self.native.size(column) for column in self._columns.values()}

    def undo(self) -> None:
        self.native.undo()
        for column, size in self._sizes.items():
            self.native.shorten(column, size)

    def extend(self) -> None:
        """Append the values of copies and vertices that came, and accept facets that came."""
        for (is_vertex, key), column in self._columns.items():
            first = self.native.size(column)
            end = self._monitor.num_vertices if is_vertex else self.copies.rows
            if first < end:
                values = self._of_vertices(key, first, end) if is_vertex else self._of_edges(key, first, end)
                self.native.extend(column, *values)
        for among, ranks in self._ranks.items():
            if ranks.ordered and self._ranks_given.get(among) != ranks.changes:
                given = ranks.ranks()
                for (_, key), column in self._columns.items():
                    if key.among == among and key.form is Form.RANK:
                        self.native.set_ranks(column, given)
                self._ranks_given[among] = ranks.changes
        if self._facets_known != len(self._facets):
            all_labels = self._facets.labels()
            for slot, position, labels, where in self._accepting:
                accepted = self._facets.accepted(labels, where)
                self.native.accept(slot, position, accepted, np.unique(all_labels[accepted.astype(bool)]))
            self._facets_known = len(self._facets)

    def _of_edges(self, key: ColumnKey, first: int, end: int) -> Values:
        name = str(key.attribute)
        return self._converted(self._store.column(np.arange(first, end), name), key)

    def _of_vertices(self, key: ColumnKey, first: int, end: int) -> Values:
        if key.attribute is None:
            return self._of_ids(self._ids.names(np.arange(first, end, dtype=np.uint32)), key)
        column = self._vertex_attributes[key.attribute]
        there = np.arange(first, max(first, min(end, len(column))))
        values, missing = self._converted(column.take(there), key)
        more = end - first - len(there)
        return np.append(values, np.zeros(more, np.int64)), np.append(missing, np.ones(more, np.uint8))

    def _of_ids(self, ids: NDArray[Any], key: ColumnKey) -> Values:
        if key.form is Form.RANK:
            values = self._ranks[key.among].numbers(ids.tolist())
        elif key.form is Form.FLOAT:
            values = ids.astype(np.float64).view(np.int64)
        else:
            values = ids.astype(np.int64, copy=False)
        return np.ascontiguousarray(values), np.zeros(len(ids), dtype=np.uint8)

    def _converted(self, column: Column, key: ColumnKey) -> Values:
        absent = column.missing()
        missing = np.ascontiguousarray(absent).view(np.uint8)
        if column.kind is Kind.NOTHING:
            return np.zeros(len(absent), dtype=np.int64), missing
        if key.form is Form.RANK and column.strings is not None:
            numbers = np.append(self._ranks[key.among].numbers(list(column.strings)), 0)
            return np.ascontiguousarray(numbers[column.data], dtype=np.int64), missing
        if key.form is Form.FLOAT:
            return np.ascontiguousarray(column.data.astype(np.float64)).view(np.int64), missing
        return np.ascontiguousarray(column.data.astype(np.int64)), missing


def describe_compared(pattern: Pattern) -> str:
    """Return the searches that a copy starts, a line for each query edge."""
    names = edge_names(pattern.edges)
    rest = "then always the query edge with the fewest copies left"
    return "\n".join(f"{names[at]}; {rest}" for at in range(len(names)))
