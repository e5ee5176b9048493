"""Patterns as SQL: DuckDB finds what the reference and the engines find."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import motiflux as mf
from motiflux.bench.suite import load_part
from motiflux.comparisons import Duration, Operand, Relation
from motiflux.conditions import Condition
from motiflux.cpu import reference
from motiflux.generate import Transfers
from tests.compared_cases import ComparedCase, compared_cases, without_comparisons
from tests.data_paths import REPOSITORY
from tests.property.test_conditions import VALUES, conditions
from tests.property.test_conditions import truth as is_true
from tests.unit.condition_cases import truth

duckdb = pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

sql = load_part(REPOSITORY / "benchmarks/peer/pattern_sql.py")
PARTS = REPOSITORY / "benchmarks/suite/temporal_parts"
inputs, queries = load_part(PARTS / "inputs.py"), load_part(PARTS / "queries.py")

NO_STRUCTURES = dict.fromkeys(("rings", "fan_ins", "fan_outs", "gather_scatters"), 0)
FEW = Transfers(transfers=60, accounts=8, copies=3, seconds=4 * 86_400, seed=5, **NO_STRUCTURES)
"""So few that the reference, which tries all maps, can judge patterns of four vertices."""
FEWER = replace(FEW, transfers=40, accounts=6, seed=16)
"""For those of five and six."""
MANY = Transfers(
    transfers=6000,
    accounts=800,
    copies=6,
    hubs=4,
    hub_share=0.1,
    ordered_rings=8,
    ordered_decoys=12,
    ordered_copies=3,
    seed=2,
    **NO_STRUCTURES,
)


@pytest.fixture
def connection() -> Iterator[Any]:
    with duckdb.connect(":memory:") as made:
        made.execute("SET threads = 1")
        yield made


def found(connection: Any, schema: Any, pattern: mf.Pattern, what: str = "embeddings", **options: Any) -> int:
    return int(connection.execute(sql.count_sql(pattern, schema, what=what, **options)).fetchone()[0])


def column(values: list[Any]) -> Any:
    """Return an array, masked where a value is None."""
    missing = [value is None for value in values]
    typed = next(value for value in values if value is not None)
    filled = np.array([typed if value is None else value for value in values])
    return np.ma.masked_array(filled, missing) if any(missing) else filled


def drop_tables(connection: Any) -> None:
    connection.execute("DROP VIEW IF EXISTS arcs; DROP TABLE IF EXISTS edges; DROP TABLE IF EXISTS vertices")


def load_case(connection: Any, case: ComparedCase) -> Any:
    ends = np.array(case.edges, dtype=np.int64).reshape(-1, 2)
    drop_tables(connection)
    return sql.load(
        connection,
        ends[:, 0],
        ends[:, 1],
        directed=case.directed,
        edge_labels=case.edge_labels,
        edge_attributes={name: column(values) for name, values in case.edge_attributes.items()},
        vertex_ids=np.arange(case.num_vertices),
        vertex_labels=case.vertex_labels,
        vertex_attributes={name: column(values) for name, values in case.vertex_attributes.items()},
    )


SHARED = duckdb.connect(":memory:")
"""A new one for each case takes most of the time."""


@given(compared_cases())
def test_random_comparisons_are_those_of_the_reference(case: ComparedCase) -> None:
    schema = load_case(SHARED, case)
    for semantics in ("isomorphism", "homomorphism"):
        choices = case.choices(semantics)
        assert found(SHARED, schema, case.pattern(), semantics=semantics) == len(choices)
        expected = sum(map(len, choices.values()))
        assert found(SHARED, schema, case.pattern(), "choices", semantics=semantics) == expected


@given(compared_cases())
def test_random_patterns_without_comparisons_are_those_of_the_engine(case: ComparedCase) -> None:
    plain = without_comparisons(case)
    schema = load_case(SHARED, plain)
    for semantics in ("isomorphism", "homomorphism"):
        expected = mf.count(plain.graph(), plain.pattern(), semantics=semantics)
        assert found(SHARED, schema, plain.pattern(), semantics=semantics) == expected


@given(conditions(), st.lists(st.sampled_from(VALUES), min_size=1, max_size=6))
def test_conditions_keep_the_rows_for_which_they_are_true(condition: Condition, values: list[float]) -> None:
    count = len(values)
    pattern = mf.Pattern.from_edges([(0, 1)], edge_where=[condition])
    drop_tables(SHARED)
    schema = sql.load(
        SHARED, range(count), range(1, count + 1), directed=True, edge_attributes={"x": np.array(values)}
    )
    assert found(SHARED, schema, pattern) == sum(is_true(condition, value) is True for value in values)


def test_text_dates_and_anchors_are_conditions_too(connection: Any) -> None:
    tables = inputs.tables_of(FEW)
    schema = sql.load(connection, directed=True, **tables.columns())
    graph = tables.graph()
    for text in (
        "(a)-[x]->(b) WHERE (a.country STARTS WITH 'B' OR a.limit < 900) AND NOT b.country CONTAINS 'E'",
        "(a)-[x]->(b) WHERE a.country ENDS WITH 'E' AND x.fee IS NULL",
        "(a)-[x]->(b)-[y]->(c) WHERE x.time < '2024-01-02T12:00:00' AND y.time >= '2024-01-02'",
        "(a)-[x]->(b) WHERE id(a) IN [1, 3] AND a.country IN ['AT', 'DE'] AND x.cents <> 1",
        "(a)-[x]->(b), (a)-[y]->(c) WHERE may_equal(b, c)",
    ):
        pattern = mf.Pattern.parse(text)
        assert found(connection, schema, pattern) == mf.count(graph, pattern), text


def test_there_are_thirty_queries_at_least() -> None:
    assert len({str(mf.Pattern.parse(text)) for text in queries.QUERIES.values()}) >= 30


@pytest.mark.parametrize("name", queries.QUERIES)
def test_queries_over_few_transfers_are_those_of_the_reference(name: str, connection: Any) -> None:
    pattern = mf.Pattern.parse(queries.QUERIES[name])
    tables = inputs.tables_of(FEW if pattern.num_vertices < 5 else FEWER)
    schema = sql.load(connection, directed=True, **tables.columns())
    choices = judged(pattern, tables)
    assert found(connection, schema, pattern) == len(choices)
    assert found(connection, schema, pattern, "choices") == sum(map(len, choices.values()))


def test_most_queries_find_some_and_not_all() -> None:
    """Else the tests above would say little."""
    tables = inputs.tables_of(FEW)
    telling = 0
    for text in queries.QUERIES.values():
        pattern = mf.Pattern.parse(text)
        if pattern.num_vertices < 5:
            every = judged(replace(pattern, comparisons=()), tables)
            kept = judged(pattern, tables)
            telling += 0 < sum(map(len, kept.values())) < sum(map(len, every.values()))
    assert telling >= 28


@pytest.mark.turns(8)
@pytest.mark.parametrize("name", queries.QUERIES)
def test_queries_over_many_transfers_are_those_of_the_engine(name: str, connection: Any) -> None:
    pattern = mf.Pattern.parse(queries.QUERIES[name])
    tables, graph = many()
    schema = sql.load(connection, directed=True, **tables.columns())
    assert mf.count(graph, pattern) == found(connection, schema, pattern)
    choices = found(connection, schema, pattern, "choices")
    assert mf.count(graph, pattern, copies=True) == choices
    if choices < 50_000:
        assert len(mf.match(graph, pattern, edges="all").to_arrow()) == choices


@lru_cache(maxsize=1)
def many() -> tuple[Any, mf.Graph]:
    tables = inputs.tables_of(MANY)
    return tables, tables.graph()


def test_planted_rings_are_found_and_no_decoys(connection: Any) -> None:
    columns = MANY.columns()
    schema = sql.load(
        connection,
        columns.sources,
        columns.targets,
        directed=True,
        edge_labels=np.array(columns.edge_label_names)[columns.edge_labels],
        edge_attributes=columns.edge_attributes,
    )
    rings = [one for one in MANY.planted if one.kind == "ordered_ring"]
    for size in range(3, 7):
        mine = [one for one in rings if len(one.vertices) == size]
        pattern = mf.Pattern.parse(mine[0].pattern())
        assert found(connection, schema, pattern) == len(mine)
        assert found(connection, schema, pattern, "choices") == sum(one.choices for one in mine)


@pytest.mark.parametrize("fails", ["order", "span", "amount"])
def test_without_a_condition_the_decoys_that_fail_it_are_found(fails: str, connection: Any) -> None:
    columns = MANY.columns()
    schema = sql.load(
        connection,
        columns.sources,
        columns.targets,
        directed=True,
        edge_labels=np.array(columns.edge_label_names)[columns.edge_labels],
        edge_attributes=columns.edge_attributes,
    )
    decoy = next(one for one in MANY.decoys if one.fails == fails)
    ids = " AND ".join(f"id(a{at}) = {account}" for at, account in enumerate(decoy.vertices.tolist()))
    pattern = mf.Pattern.parse(f"{decoy.pattern()} AND {ids}")
    assert found(connection, schema, pattern) == 0
    kept = [one for one in pattern.comparisons if isinstance(one, Relation) and condition_of(one) != fails]
    assert found(connection, schema, replace(pattern, comparisons=tuple(kept))) == 1


def condition_of(one: Relation) -> str:
    if one.left.attribute == "amount":
        return "amount"
    return "order" if one.offset == 0 else "span"


def test_what_sql_cannot_say_is_refused(connection: Any) -> None:
    schema = sql.load(connection, [0], [1], directed=False)
    with pytest.raises(ValueError, match="an arc cannot be asked of an undirected graph"):
        sql.count_sql(mf.Pattern.parse("(a)-->(b)"), schema)
    with pytest.raises(ValueError, match="expected isomorphism or homomorphism"):
        sql.count_sql(mf.Pattern.parse("(a)--(b)"), schema, semantics="induced")
    with pytest.raises(ValueError, match="another name than a column"):
        sql.load(connection, [0], [1], directed=True, edge_attributes={"label": [1]})


def judged(pattern: mf.Pattern, tables: Any) -> dict[tuple[int, ...], set[tuple[int, ...]]]:
    """Return all choices by the reference, for which each copy and each vertex is a label of its own."""
    edges, vertices = plain(tables.edge_attributes), plain(tables.vertex_attributes)
    vertices["id"] = list(range(len(tables.vertex_labels)))
    accepted = [accepting(one, tables.vertex_labels, vertices) for one in pattern.vertices]
    pattern_edges = [
        (edge.source, edge.target, accepting(edge, tables.edge_labels, edges), directions(edge))
        for edge in pattern.edges
    ]
    return reference.choices(
        len(tables.vertex_labels),
        list(zip(tables.src.tolist(), tables.dst.tolist(), strict=True)),
        accepted,  # type: ignore[arg-type]
        pattern_edges,  # type: ignore[arg-type]
        directed=True,
        vertex_labels=range(len(tables.vertex_labels)),
        edge_labels=range(len(tables.src)),
        comparisons=[plain_comparison(one) for one in pattern.comparisons],
        vertex_attributes=vertices,
        edge_attributes=edges,
    )


def directions(edge: mf.QueryEdge) -> str:
    return {None: "follow", True: "arc", False: "either"}[edge.directed]


def accepting(
    element: mf.QueryVertex | mf.QueryEdge, labels: Any, attributes: dict[str, list[Any]]
) -> set[int]:
    rows = range(len(labels))
    return {
        row
        for row in rows
        if (element.labels is None or labels[row] in element.labels)
        and (
            element.where is None
            or truth(element.where, {name: all_[row] for name, all_ in attributes.items()})
        )
        and (not isinstance(element, mf.QueryVertex) or element.ids is None or row in element.ids)
    }


def plain(attributes: dict[str, Any]) -> dict[str, list[Any]]:
    """Return lists of Python's values; datetimes in nanoseconds."""
    return {
        name: (
            values.astype("datetime64[ns]").astype(np.int64) if values.dtype.kind == "M" else values
        ).tolist()
        for name, values in attributes.items()
    }


def plain_comparison(one: Any) -> reference.Comparison:
    def number(offset: Any) -> Any:
        return offset.nanoseconds if isinstance(offset, Duration) else offset

    def operand(of: Operand) -> reference.Operand:
        return str(of.element), of.position, "id" if of.attribute is None else of.attribute

    if isinstance(one, Relation):
        return operand(one.left), str(one.operator), operand(one.right), one.factor, number(one.offset)
    return one.attribute, number(one.span)


NEGATED = load_part(REPOSITORY / "benchmarks/suite/negation_parts/queries.py")


@pytest.mark.parametrize("query", NEGATED.QUERIES)
def test_negated_edges_are_those_of_the_engine(query: str, connection: Any) -> None:
    pattern = mf.Pattern.parse(NEGATED.QUERIES[query])
    for generator in (FEW, MANY):
        tables = inputs.tables_of(generator)
        schema = sql.load(connection, directed=True, **tables.columns())
        graph = tables.graph()
        expected = found(connection, schema, pattern)
        for negation in ("search", "subtract"):
            assert mf.count(graph, pattern, tuning={"negation": negation}) == expected
        assert mf.match(graph, pattern).to_numpy().shape[0] == expected
        assert expected <= found(connection, schema, replace(pattern, negated=()))
        drop_tables(connection)
