"""Patterns with conditions and comparisons as SQL for DuckDB, over tables with a row per copy of an edge.

    edges(src, dst, label, ...)    a row per copy, with a column per attribute
    arcs(src, dst, label, ...)     the same, with both directions of each copy
    vertices(id, label, ...)       a row per vertex

A missing value, NaN included, is NULL. A datetime is a BIGINT of nanoseconds, so that differences are exact.

An embedding is a map of vertices: it is counted once for all choices of copies by which it satisfies the
pattern. A choice has a copy for each query edge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from motiflux import NegatedEdge, Pattern, QueryEdge
from motiflux.comparisons import Duration, Offset, Operand, PatternComparison, Relation, Within
from motiflux.conditions import AllOf, AnyOf, Comparison, Condition, IsMissing, Not, OneOf, Operator, Value
from motiflux.pattern.projection import Projection

Kinds = Mapping[str, str]
"""``"i"`` (integers), ``"f"`` (floats), ``"t"`` (datetimes) or ``"o"`` (others) by the name of a column."""

STRUCTURE = ("src", "dst", "id", "label")
TEXT = {
    Operator.STARTS_WITH: "starts_with",
    Operator.ENDS_WITH: "suffix",
    Operator.CONTAINS: "contains",
}


@dataclass(frozen=True)
class Schema:
    """What the tables hold."""

    directed: bool
    edges: Kinds = field(default_factory=dict)
    vertices: Kinds = field(default_factory=dict)


def load(
    connection: Any,
    src: Any,
    dst: Any,
    *,
    directed: bool,
    edge_labels: Any = None,
    edge_attributes: Mapping[str, Any] | None = None,
    vertex_ids: Any = None,
    vertex_labels: Any = None,
    vertex_attributes: Mapping[str, Any] | None = None,
) -> Schema:
    """Make the tables; arrays have an entry per copy of an edge, or per vertex, and masked ones are NULL."""
    of_edges, edge_kinds = _columns(edge_attributes or {})
    of_vertices, vertex_kinds = _columns(vertex_attributes or {})
    src, dst = np.asarray(src), np.asarray(dst)
    ids = np.unique(np.concatenate([src, dst])) if vertex_ids is None else np.asarray(vertex_ids)
    edge_labels = np.zeros(len(src), np.int64) if edge_labels is None else np.asarray(edge_labels)
    vertex_labels = np.zeros(len(ids), np.int64) if vertex_labels is None else np.asarray(vertex_labels)
    _create(connection, "edges", {"src": src, "dst": dst, "label": edge_labels, **of_edges})
    _create(connection, "vertices", {"id": ids, "label": vertex_labels, **of_vertices})
    others = "".join(f", {_quoted(name)}" for name in of_edges)
    connection.execute(
        f"CREATE VIEW arcs AS SELECT src, dst, label{others} FROM edges "
        f"UNION ALL SELECT dst, src, label{others} FROM edges"
    )
    return Schema(directed, edge_kinds, vertex_kinds)


def count_sql(
    pattern: Pattern, schema: Schema, *, what: str = "embeddings", semantics: str = "isomorphism"
) -> str:
    """Return the query for a number of ``"embeddings"`` or of ``"choices"``.

    Raises
    ------
    ValueError
        The semantics are neither ``isomorphism`` nor ``homomorphism``.
    """
    if semantics not in ("isomorphism", "homomorphism"):
        raise ValueError(f"semantics: expected isomorphism or homomorphism, found {semantics!r}")
    every_copy = what == "choices"
    query = _Query(pattern, schema, every_copy=every_copy, distinct=semantics == "isomorphism")
    body = f"FROM {', '.join(query.tables())} WHERE {' AND '.join(query.conditions()) or 'true'}"
    if every_copy or not query.has_copies:
        return f"SELECT count(*) {body}"
    vertices = ", ".join(f"{place} AS v{at}" for at, place in enumerate(query.places))
    return f"SELECT count(*) FROM (SELECT DISTINCT {vertices} {body})"


def rows_sql(pattern: Pattern, projection: Projection, schema: Schema) -> str:
    """Return the query for the number of distinct rows of a projection under isomorphism."""
    query = _Query(pattern, schema, every_copy=False, distinct=True)
    body = f"FROM {', '.join(query.tables())} WHERE {' AND '.join(query.conditions()) or 'true'}"
    vertices = ", ".join(f"{place} AS v{at}" for at, place in enumerate(query.places))
    returned = ", ".join(f"v{at}" for at in projection.returned)
    having = []
    for one in projection.thresholds:
        counted = ", ".join(f"v{at}" for at in one.counted)
        images = f"({counted})" if len(one.counted) > 1 else counted
        having.append(f"count(DISTINCT {images}) {one.operator.value} {one.number}")
    rows = f"SELECT {returned} FROM (SELECT {vertices} {body}) GROUP BY {returned}"
    return f"SELECT count(*) FROM ({rows}{' HAVING ' + ' AND '.join(having) if having else ''})"


class _Query:
    """The parts of a query: edge i is the table ``e<i>``, and vertex i is ``v<i>``, where it is needed."""

    def __init__(self, pattern: Pattern, schema: Schema, *, every_copy: bool, distinct: bool) -> None:
        self.pattern, self.schema = pattern, schema
        self.distinct = distinct
        compared = set(_compared(pattern))
        self.copied = [every_copy or edge in compared for edge in range(pattern.num_edges)]
        # Where no comparison looks at copies, each pair of vertices is there once.
        self.has_copies = any(self.copied)
        self.places = self._places()
        named = [
            operand.position
            for one in pattern.comparisons
            if isinstance(one, Relation)
            for operand in (one.left, one.right)
            if not operand.is_edge and operand.attribute is not None
        ]
        self.joined = [
            at
            for at, vertex in enumerate(pattern.vertices)
            if vertex.labels is not None or vertex.where is not None or at in named
        ]

    def _places(self) -> list[str]:
        """Return the column that has the image of each vertex."""
        found: dict[int, str] = {}
        for at, edge in enumerate(self.pattern.edges):
            found.setdefault(edge.source, f"e{at}.src")
            found.setdefault(edge.target, f"e{at}.dst")
        return [found[vertex] for vertex in range(self.pattern.num_vertices)]

    def tables(self) -> list[str]:
        """Return the tables that are joined."""
        edges = [self._edge_table(at, edge) for at, edge in enumerate(self.pattern.edges)]
        return [*edges, *(f"vertices v{at}" for at in self.joined)]

    def _edge_table(self, at: int, edge: QueryEdge) -> str:
        table = self._source(edge)
        if self.copied[at]:
            return f"{table} e{at}"
        conditions = " AND ".join(self._edge_conditions(edge, "")) or "true"
        return f"(SELECT DISTINCT src, dst FROM {table} WHERE {conditions}) e{at}"

    def _source(self, edge: QueryEdge) -> str:
        if edge.directed and not self.schema.directed:
            raise ValueError("an arc cannot be asked of an undirected graph")
        follows = self.schema.directed if edge.directed is None else edge.directed
        return "edges" if follows else "arcs"

    def conditions(self) -> Iterator[str]:
        """Yield the conditions that all hold."""
        for at, edge in enumerate(self.pattern.edges):
            for vertex, column in ((edge.source, "src"), (edge.target, "dst")):
                if self.places[vertex] != f"e{at}.{column}":
                    yield f"e{at}.{column} = {self.places[vertex]}"
            if self.copied[at]:
                yield from self._edge_conditions(edge, f"e{at}.")
        for at in self.joined:
            yield f"v{at}.id = {self.places[at]}"
        yield from self._vertex_conditions()
        if self.distinct:
            free = set(self.pattern.may_coincide)
            joined = {frozenset((edge.source, edge.target)) for edge in self.pattern.edges}
            for u, v in combinations(range(self.pattern.num_vertices), 2):
                if (u, v) not in free and frozenset((u, v)) not in joined:
                    yield f"{self.places[u]} <> {self.places[v]}"
        for one in self.pattern.comparisons:
            yield from self._comparison(one)
        for negated in self.pattern.negated:
            yield f"NOT EXISTS ({self._negated(negated)})"

    def _negated(self, one: NegatedEdge) -> str:
        """Return the query for the edges that must not be there."""
        edge = QueryEdge(0, 1, one.labels, one.directed, where=one.where)
        tables, conditions = [f"{self._source(edge)} n"], list(self._edge_conditions(edge, "n."))
        for end, column in ((one.source, "n.src"), (one.target, "n.dst")):
            if isinstance(end, int):
                conditions.append(f"{column} = {self.places[end]}")
            elif end.labels is not None or end.where is not None:
                tables.append("vertices m")
                conditions.append(f"m.id = {column}")
                if end.labels is not None:
                    conditions.append(_one_of("m.label", end.labels))
                if end.where is not None:
                    conditions.append(condition_sql(end.where, "m.", self.schema.vertices))
        return f"SELECT 1 FROM {', '.join(tables)} WHERE {' AND '.join(conditions)}"

    def _edge_conditions(self, edge: QueryEdge, prefix: str) -> Iterator[str]:
        if edge.labels is not None:
            yield _one_of(f"{prefix}label", edge.labels)
        if edge.where is not None:
            yield condition_sql(edge.where, prefix, self.schema.edges)

    def _vertex_conditions(self) -> Iterator[str]:
        for at, vertex in enumerate(self.pattern.vertices):
            if vertex.labels is not None:
                yield _one_of(f"v{at}.label", vertex.labels)
            if vertex.ids is not None:
                yield _one_of(self.places[at], vertex.ids)
            if vertex.where is not None:
                yield condition_sql(vertex.where, f"v{at}.", self.schema.vertices)

    def _comparison(self, one: PatternComparison) -> Iterator[str]:
        if isinstance(one, Relation):
            yield self._relation(one)
            return
        # For pairs, so that a join can use them; a NULL makes one of them unknown.
        columns = [f"e{at}.{_quoted(one.attribute)}" for at in range(self.pattern.num_edges)]
        span = _number(one.span, floats=self.schema.edges[one.attribute] == "f")
        if len(columns) == 1:
            yield f"{columns[0]} IS NOT NULL"
        for left, right in combinations(columns, 2):
            yield f"{left} <= {right} + {span}"
            yield f"{right} <= {left} + {span}"

    def _relation(self, one: Relation) -> str:
        left, right = self._operand(one.left), self._operand(one.right)
        kinds = {self._kind(one.left), self._kind(one.right)}
        if "f" in kinds:
            if one.factor != 1:
                right = f"{_number(one.factor, floats=True)} * {right}"
            if one.offset != 0:
                offset = _number(one.offset, floats=True)
                if abs(one.factor) == 1:
                    return _with_exact_sum(left, one.operator, f"({right})::DOUBLE", offset)
                right = f"{right} + {offset}"
            return f"{left} {one.operator} {right}"
        if one.factor == 1 and one.offset == 0:
            return f"{left} {one.operator} {right}"
        offset = _fraction(one.offset)
        scale = np.lcm(one.factor.denominator, offset.denominator).item()
        whole = f"{one.factor * scale} * {right}::HUGEINT + {offset * scale}"
        return f"{scale} * {left}::HUGEINT {one.operator} {whole}"

    def _operand(self, operand: Operand) -> str:
        if operand.attribute is None:
            return self.places[operand.position]
        prefix = "e" if operand.is_edge else "v"
        return f"{prefix}{operand.position}.{_quoted(operand.attribute)}"

    def _kind(self, operand: Operand) -> str:
        if operand.attribute is None:
            return "o"
        return (self.schema.edges if operand.is_edge else self.schema.vertices)[operand.attribute]


def condition_sql(condition: Condition, prefix: str, kinds: Kinds) -> str:
    """Return a condition on the attributes of one row; what is unknown is NULL."""
    match condition:
        case Not(inner):
            return f"NOT {condition_sql(inner, prefix, kinds)}"
        case AllOf(parts):
            return f"({' AND '.join(condition_sql(part, prefix, kinds) for part in parts)})"
        case AnyOf(parts):
            return f"({' OR '.join(condition_sql(part, prefix, kinds) for part in parts)})"
        case IsMissing(name):
            return f"({prefix}{_quoted(name)} IS NULL)"
        case OneOf(name, values):
            column = f"{prefix}{_quoted(name)}"
            if not values:
                return f"(CASE WHEN {column} IS NULL THEN NULL ELSE false END)"
            return f"({column} IN ({', '.join(_literal(value, kinds[name]) for value in values)}))"
        case Comparison(name, operator, value):
            column, literal = f"{prefix}{_quoted(name)}", _literal(value, kinds[name])
            if operator in TEXT:
                return f"{TEXT[operator]}({column}, {literal})"
            return f"({column} {operator} {literal})"
    raise AssertionError(condition)


def _compared(pattern: Pattern) -> Iterator[int]:
    """Yield the edges of which comparisons look at copies."""
    for one in pattern.comparisons:
        if isinstance(one, Within):
            yield from range(pattern.num_edges)
        else:
            yield from (operand.position for operand in (one.left, one.right) if operand.is_edge)


def _one_of(column: str, values: Any) -> str:
    return f"{column} IN ({', '.join(sorted(_literal(value, 'o') for value in values))})"


def _literal(value: Value, kind: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        if kind == "t":
            return str(np.datetime64(value.rstrip("Z"), "ns").astype(np.int64).item())
        escaped = value.replace("'", "''")
        return f"'{escaped}'"
    return str(value) if isinstance(value, int) else f"CAST('{value!r}' AS DOUBLE)"


def _number(value: Offset, *, floats: bool) -> str:
    number = _fraction(value)
    if floats:
        return f"CAST('{float(number)!r}' AS DOUBLE)"
    if number.denominator != 1:
        # The span of integers.
        return str(number.numerator // number.denominator)
    return str(number)


def _with_exact_sum(left: str, operator: str, a: str, b: str) -> str:
    """Compare with a sum of doubles without rounding: where the rounded sum is equal, its error decides."""
    total = f"({a} + {b})"
    of_b = f"({total} - {a})"
    error = f"(({a} - ({total} - {of_b})) + ({b} - {of_b}))"
    return f"CASE WHEN {left} = {total} THEN 0 {operator} {error} ELSE {left} {operator} {total} END"


def _fraction(value: Offset) -> Fraction:
    return Fraction(value.nanoseconds) if isinstance(value, Duration) else Fraction(value)


def _quoted(name: str) -> str:
    if name in STRUCTURE:
        raise ValueError(
            f"expected an attribute with another name than a column of the tables, found {name!r}"
        )
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def _columns(attributes: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return arrays without NaN and datetimes, and the kind of each one."""
    columns, kinds = {}, {}
    for name, given in attributes.items():
        _quoted(name)
        values, missing = np.ma.getdata(np.ma.asanyarray(given)), np.ma.getmaskarray(given)
        kind = {"i": "i", "u": "i", "f": "f", "M": "t"}.get(values.dtype.kind, "o")
        if kind == "t":
            missing = missing | np.isnat(values)
            values = values.astype("datetime64[ns]").astype(np.int64)
        elif kind == "f":
            missing = missing | np.isnan(values)
        columns[name] = np.ma.masked_array(values, missing) if missing.any() else values
        kinds[name] = kind
    return columns, kinds


def _create(connection: Any, table: str, columns: Mapping[str, Any]) -> None:
    """Make a table of arrays; masked values become NULL."""
    import pyarrow as pa

    arrays = {
        name: pa.array(np.ma.getdata(values), mask=np.ma.getmaskarray(values))
        if isinstance(values, np.ma.MaskedArray)
        else pa.array(values)
        for name, values in columns.items()
    }
    connection.register("given", pa.table(arrays))
    connection.execute(f"CREATE TABLE {table} AS SELECT * FROM given")
    connection.unregister("given")
