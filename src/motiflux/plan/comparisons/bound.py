"""Binds the comparisons of a pattern to a graph: attributes become columns of whole numbers or floats."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from math import floor
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from motiflux.comparisons import Duration, Element, Offset, Operand, Relation, Within
from motiflux.conditions import Operator
from motiflux.errors import PatternError
from motiflux.graph import AttributeTable, Kind
from motiflux.graph.copies import ColumnKey, Form
from motiflux.pattern import Pattern
from motiflux.pattern.compared import whole

_NUMBERS = (Kind.INTEGER, Kind.FLOAT)
_TIMES = (Kind.DATETIME, Kind.DATETIME_UTC)
_MOST_NAMES = 8
_EQUAL_WEIGHT = 3
_LARGEST = 2**63 - 1


class Attributed(Protocol):
    """The part of a graph that tells the kinds of its attributes and ids."""

    @property
    def edge_attributes(self) -> AttributeTable:
        """The attributes of edges."""

    @property
    def vertex_attributes(self) -> AttributeTable:
        """The attributes of vertices."""

    @property
    def vertex_ids(self) -> NDArray[Any]:
        """The external ids of vertices."""


@dataclass(frozen=True, slots=True)
class BoundVariable:
    """A query edge, for which a copy is chosen, or a query vertex whose attributes are compared.

    Parameters
    ----------
    vertex
        The query vertex; None for an edge.
    edge, query_edge
        The position of the edge in the bound pattern and in the pattern; None for a vertex.
    columns
        The compared attributes; of an edge, the first is the main one.
    """

    vertex: int | None
    edge: int | None
    query_edge: int | None
    columns: tuple[ColumnKey, ...]


@dataclass(frozen=True, slots=True)
class BoundComparison:
    """``m * left operator n * right + c`` for integers; for floats ``left operator factor * right + offset``.

    `left` and `right` are positions of variables, and the columns are positions in theirs.
    """

    left: int
    right: int
    left_column: int
    right_column: int
    operator: Operator
    floats: bool
    m: int
    n: int
    c: int
    factor: float
    offset: float


@dataclass(frozen=True, slots=True)
class BoundSpan:
    """The most by which main values of edges differ: an integer, or a float."""

    floats: bool
    span: int
    float_span: float


@dataclass(frozen=True, slots=True)
class BoundComparisons:
    """The comparisons of a bound pattern.

    Parameters
    ----------
    variables
        Edges in the order of the pattern, and vertices.
    count_choices
        Whether choices of copies are counted, not embeddings; all query edges are variables then.
    """

    variables: tuple[BoundVariable, ...]
    comparisons: tuple[BoundComparison, ...]
    span: BoundSpan | None
    count_choices: bool = False


def bind_comparisons(
    pattern: Pattern,
    graph: Attributed,
    edges: Sequence[int],
    *,
    every_edge: bool,
    count_choices: bool = False,
) -> BoundComparisons | None:
    """Return the comparisons of `pattern` in columns of `graph`; None if there is nothing to choose.

    Parameters
    ----------
    edges
        The position of each query edge in the bound pattern.
    every_edge
        Whether all query edges are variables, not only those that are compared.

    Raises
    ------
    PatternError
        An attribute that the graph does not have, or two that cannot be compared with each other.
    """
    if not (pattern.comparisons or every_edge):
        return None
    return _Binding(pattern, graph, edges, every_edge=every_edge).bound(count_choices)


class _Binding:
    def __init__(
        self, pattern: Pattern, graph: Attributed, edges: Sequence[int], *, every_edge: bool
    ) -> None:
        self._pattern = pattern
        self._graph = graph
        self._edges = edges
        self._relations = [one for one in pattern.comparisons if isinstance(one, Relation)]
        spans = [one for one in pattern.comparisons if isinstance(one, Within)]
        self._span = spans[0] if spans else None
        for other in spans[1:]:  # one span decides the main column
            if pattern.num_edges == 1:
                raise PatternError(f"WITHIN: expected one span for one edge, found {len(spans)}")
            self._form_of_span(other)
            self._relations += _in_pairs(other, pattern.num_edges)
        self._forms = [self._forms_of(one) for one in self._relations]
        self._among = self._strings()
        self._compared: dict[tuple[bool, int], list[ColumnKey]] = {}
        if every_edge or self._span is not None:
            self._compared = {(True, position): [] for position in range(pattern.num_edges)}
        self._span_form = Form.INTEGER if self._span is None else self._form_of_span(self._span)
        for relation, form in zip(self._relations, self._forms, strict=True):
            for operand in (relation.left, relation.right):
                self._compared.setdefault((operand.is_edge, operand.position), [])
                self._column(operand, form)
        self._set_main_columns()

    def bound(self, count_choices: bool) -> BoundComparisons:
        order = sorted(self._compared, key=lambda one: (not one[0], one[1]))
        place = {one: at for at, one in enumerate(order)}
        variables = tuple(
            BoundVariable(
                None if is_edge else position,
                self._edges[position] if is_edge else None,
                position if is_edge else None,
                tuple(self._compared[is_edge, position]),
            )
            for is_edge, position in order
        )
        comparisons = []
        for relation, form in zip(self._relations, self._forms, strict=True):
            sides = [(operand.is_edge, operand.position) for operand in (relation.left, relation.right)]
            columns = [
                self._compared[side].index(self._key(operand, form))
                for side, operand in zip(sides, (relation.left, relation.right), strict=True)
            ]
            m, n, c = whole(relation)
            offset = _length(relation.offset)
            floats = form is Form.FLOAT
            comparisons.append(
                BoundComparison(
                    place[sides[0]],
                    place[sides[1]],
                    columns[0],
                    columns[1],
                    relation.operator,
                    floats,
                    1 if floats else m,
                    1 if floats else n,
                    0 if floats else c,
                    float(relation.factor) if floats else 1.0,
                    float(offset) if floats else 0.0,
                )
            )
        return BoundComparisons(variables, tuple(comparisons), self._bound_span(), count_choices)

    def _bound_span(self) -> BoundSpan | None:
        if self._span is None:
            return None
        length = _length(self._span.span)
        if self._span_form is Form.FLOAT:
            return BoundSpan(True, 0, float(length))
        return BoundSpan(False, floor(length), 0.0)

    def _forms_of(self, relation: Relation) -> Form:
        """Return the form in which two attributes are compared.

        Raises
        ------
        PatternError
            They cannot be.
        """
        kinds = [self._kind(operand) for operand in (relation.left, relation.right)]
        shown = [self._shown(operand) for operand in (relation.left, relation.right)]
        plain = relation.factor == 1 and _length(relation.offset) == 0
        if Kind.NOTHING in kinds:
            return Form.INTEGER
        if all(kind in _NUMBERS for kind in kinds):
            if isinstance(relation.offset, Duration):
                raise PatternError(
                    f"{shown[0]}: expected datetimes beside a duration, found {kinds[0].value}, whose unit is"
                    " not known: write the difference as a number"
                )
            return Form.FLOAT if Kind.FLOAT in kinds else Form.INTEGER
        if kinds[0] is not kinds[1]:
            raise PatternError(
                f"expected values of one kind to compare, found {kinds[0].value} in {shown[0]} and"
                f" {kinds[1].value} in {shown[1]}"
            )
        if kinds[0] in _TIMES:
            if relation.factor != 1 or not (isinstance(relation.offset, Duration) or plain):
                raise PatternError(
                    f"{shown[0]}: expected a duration such as 1h in a difference of {kinds[0].value},"
                    " found a number"
                )
            return Form.INTEGER
        if not plain:
            raise PatternError(
                f"{shown[0]}: expected numbers or datetimes in arithmetic, found {kinds[0].value}"
            )
        return Form.RANK if kinds[0] is Kind.STRING else Form.INTEGER

    def _form_of_span(self, span: Within) -> Form:
        attribute = span.attribute
        kind = self._known_values(self._graph.edge_attributes, attribute, f"WITHIN: {attribute!r}")
        a_duration = isinstance(span.span, Duration)
        if kind not in (*_NUMBERS, *_TIMES, Kind.NOTHING):
            raise PatternError(f"WITHIN: expected numbers or datetimes in {attribute!r}, found {kind.value}")
        if a_duration and kind in _NUMBERS:
            raise PatternError(
                f"WITHIN: expected a number, as {attribute!r} holds {kind.value}, whose unit is not known"
            )
        if not a_duration and kind in _TIMES:
            raise PatternError(
                f"WITHIN: expected a duration such as 3d, as {attribute!r} holds {kind.value}, found a number"
            )
        return Form.FLOAT if kind is Kind.FLOAT else Form.INTEGER

    def _set_main_columns(self) -> None:
        """Put the main column of each edge first: that of the span, else the one most compared by order."""
        if self._span is not None:
            key = ColumnKey(self._span.attribute, self._span_form)
            for (is_edge, _), columns in self._compared.items():
                if is_edge:
                    columns[:] = [key, *(column for column in columns if column != key)]
            return
        uses: Counter[tuple[bool, int, ColumnKey]] = Counter()
        for relation, form in zip(self._relations, self._forms, strict=True):
            if relation.operator is Operator.UNEQUAL or relation.factor < 0:
                continue
            for operand in (relation.left, relation.right):
                weight = _EQUAL_WEIGHT if relation.operator is Operator.EQUAL else 1  # few values are equal
                uses[operand.is_edge, operand.position, self._key(operand, form)] += weight
        for (is_edge, position), columns in self._compared.items():
            columns.sort(key=lambda column: -uses[is_edge, position, column])

    def _column(self, operand: Operand, form: Form) -> None:
        columns = self._compared[operand.is_edge, operand.position]
        key = self._key(operand, form)
        if key not in columns:
            columns.append(key)

    def _key(self, operand: Operand, form: Form) -> ColumnKey:
        return ColumnKey(operand.attribute, form, self._among if form is Form.RANK else ())

    def _strings(self) -> tuple[tuple[str, str | None], ...]:
        named = {
            (operand.element.value, operand.attribute)
            for relation, form in zip(self._relations, self._forms, strict=True)
            if form is Form.RANK
            for operand in (relation.left, relation.right)
        }
        return tuple(sorted(named, key=lambda one: (one[0], one[1] or "")))

    def _kind(self, operand: Operand) -> Kind:
        if operand.attribute is None:
            return Kind.INTEGER if self._graph.vertex_ids.dtype.kind in "iu" else Kind.STRING
        table = self._graph.edge_attributes if operand.is_edge else self._graph.vertex_attributes
        return self._known_values(table, operand.attribute, self._shown(operand))

    def _known_values(self, table: AttributeTable, attribute: str, shown: str) -> Kind:
        """Return the kind of an attribute; refuse integers that need 64 bits without a sign."""
        kind = self._known(table, attribute)
        if kind is Kind.INTEGER:
            data = table[attribute].data
            largest = int(data.max()) if data.dtype == np.uint64 and len(data) else 0
            if largest > _LARGEST:
                raise PatternError(f"{shown}: expected integers below 2**63 to compare, found {largest}")
        return kind

    def _known(self, table: AttributeTable, attribute: str) -> Kind:
        kinds = table.kinds()
        if attribute in kinds:
            return kinds[attribute]
        names = sorted(kinds)
        shown = ", ".join(map(repr, names[:_MOST_NAMES])) + (", ..." if len(names) > _MOST_NAMES else "")
        close = difflib.get_close_matches(attribute, names, n=1)
        raise PatternError(
            f"{table.of} attribute {attribute!r}: expected one of the graph's {table.of} attributes"
            f" ({shown or 'it has none'})" + (f", perhaps {close[0]!r}" if close else "")
        )

    def _shown(self, operand: Operand) -> str:
        elements = self._pattern.edges if operand.is_edge else self._pattern.vertices
        name = elements[operand.position].name
        return f"id({name})" if operand.attribute is None else f"{name}.{operand.attribute}"


def _in_pairs(span: Within, num_edges: int) -> list[Relation]:
    """Return a span over all edges as relations between each two."""
    edges = [Operand(Element.EDGE, position, span.attribute) for position in range(num_edges)]
    return [
        Relation(late, Operator.AT_MOST, early, offset=span.span) for late, early in permutations(edges, 2)
    ]


def _length(offset: Offset) -> Fraction:
    return Fraction(offset.nanoseconds) if isinstance(offset, Duration) else offset
