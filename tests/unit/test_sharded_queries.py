"""Queries that stand for several patterns mean in sharded graphs what they mean in whole ones."""

from __future__ import annotations

import os
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.cluster import jobs
from motiflux.cluster import rows as cluster_rows
from motiflux.cluster.shards import allowance, counting, search, sharded
from motiflux.cluster.shards import queries as queries_module
from motiflux.pattern.queries.symmetry import first_alike
from motiflux.result.partial import partial_result
from tests.inline_ray import InlineRay, replace_ray
from tests.query_cases import QueryCase, query_cases

NEGATED_BETWEEN_PARTS = "(a)--(b), (c)--(d) WHERE NOT (a)--(c)"
SEVERAL_PARTS = ["(a)--(b), (c:1)--(d)", NEGATED_BETWEEN_PARTS, "(a)--(b)--(c), (d)-[:0]-(e:1)"]
OPTIONAL_WITHIN = [
    "(a)--(b)--(c) OPTIONAL (a)-[:1]-(c)",
    "(a)--(b)--(c) OPTIONAL (a)-[:0]-(c) WHERE NOT (a)-[:1]-(c)",
    "(a)--(b)--(c) OPTIONAL (a)--(c) WHERE NOT (a)-[{t: 1}]-(c)",
]
"""Their optional edges lead to no new vertex."""
NEGATED_BEHIND = [
    "(a)--(b) OPTIONAL (b)--(c) WHERE NOT (c)-[:1]-()",
    "(a)--(b) OPTIONAL (b)-[:0]-(c) WHERE NOT (b)-[:1]-(c)",
    "(a)--(b) OPTIONAL (b)--(c) WHERE NOT (b)-[:1]-(:0) AND NOT (c)-[:0]-({x: 1})",
    "(a)--(b) OPTIONAL (b)--(c:1) WHERE NOT (c)-[{t: 1}]-({x: 2}) AND c.x > 1 AND NOT (b)-[{t: 2}]-(c)",
    "(a)--(b), (a)--(c) OPTIONAL (a)--(d) WHERE NOT (d)-[:1]-() OPTIONAL (b)-[:1]-(e) WHERE NOT (b)-[:0]-(e)",
    "(a)--(b) OPTIONAL (b)--(c) WHERE NOT (c)-[:7]-() AND NOT (b)-[:7]-(c)",
]
QUERIES = [
    "(a)-[p*1..3]-(b)",
    "(a)-[*3..4]-(a)",
    *SEVERAL_PARTS,
    "(a)--(b) OPTIONAL (b)--(c)",
    "(a:1)--(b) OPTIONAL (b)-[:0]-(c:0)",
    *OPTIONAL_WITHIN,
    *NEGATED_BEHIND,
    "(a)--(b) OPTIONAL (b)--(c) OPTIONAL (c)--(d:1)",
    "(a)--(b) OPTIONAL (a)--(c) OPTIONAL (b)--(d:1)",
    "(a)--(b), (a)--(c) OPTIONAL (a)--(d)",
    "(a)--(b) OPTIONAL (b)-[p*1..2]-(c)",
    "(a)--(b)--(c) WHERE degree(a) > 3 OR degree(c) < 5",
    "(a)--(b)--(c) WHERE a.x > 3 OR b.x > 3 OR c.x IS NULL",
    "(a)--(b)--(c) WHERE NOT (a)-[:0]-(c) OR degree(b) > 4",
    "(a)--(b)--(c)--(d) WHERE NOT (a)--(c) OR NOT (b)-[:1]-(d)",
    "WALK (a)-[p*2..3]-(b)",
    "(a)-[*1..2]-(b) WHERE a.x < b.x",
    "(a)--(b) OPTIONAL (b)--(c:2)",
    "(a)--(b) OPTIONAL (b)-[y]-(c:1) WHERE y.t > 1",
    "(a)--(b) OPTIONAL (b)--(c {x: 1})",
    "(a)--(b)--(c) OPTIONAL (b)-[y:0]-(d:1) WHERE y.t > 1 AND (d.x > 2 OR degree(d) > 3)",
    "(a)--(b) OPTIONAL (a)-[:1]-(c) WHERE id(c) IN [0, 1, 2, 3]",
    "(a)-[*1..2]-(b) WHERE NOT (a)-[:0]-(:1 {x: 1}) AND NOT (b)--({x: 2})",
    "(a)-[x]-(b)-[y]-(c) WHERE x.t = 1 OR y.t = 2",
    "WALK (a)-[p*2..3]-(b) WHERE NOT (a)-[:0]-(b) OR NOT (a)-[:1]-(b)",
    "(a)--(b)--(c) WHERE NOT (a)-[:0]-(c) OR a.x = 1 OPTIONAL (b)--(d:1)",
]
DIRECTED = [
    "(a)-->(b) OPTIONAL (b)-->(c)",
    "(a)-->(b) OPTIONAL (b)<-[:1]-(c:0)",
    "(a)-->(b) OPTIONAL (b)-->(c) WHERE NOT (c)-->(b) AND NOT (c)-[:1]->()",
    "(a)-->(b)-->(c) OPTIONAL (a)-->(c) WHERE NOT (c)-->(a)",
    "(a)-[p*1..2]->(b:1)",
    "(a)-->(b)-->(c) WHERE NOT (a)-->(c) OR NOT (c)-->(a)",
]
SEMANTICS = ["isomorphism", "induced", "homomorphism"]


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> InlineRay:
    return with_ray(monkeypatch)


def with_ray(patch: pytest.MonkeyPatch) -> InlineRay:
    """Have many small tasks run in this process."""
    patch.setattr(search, "_FIRST", 16)
    patch.setattr(sharded, "_HOT", 200)
    patch.setattr(allowance, "_AT_ONCE", 8)
    patch.setattr(os, "fsync", lambda file: None)
    patch.setattr(jobs, "_MANIFEST_SECONDS", 0.0)
    for module in (jobs, cluster_rows):
        patch.setattr(module, "ROWS_OF_TASK", 400)
        patch.setattr(module, "FIRST_WORK", 1_000)
    return replace_ray(patch, nodes=2)


@contextmanager
def sharding() -> Iterator[tuple[mf.Cluster, str]]:
    """Have many small tasks run in this process, and a folder."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        with_ray(patch)
        with mf.Cluster() as cluster:
            yield cluster, folder


@dataclass(frozen=True)
class Data:
    """A graph that is written into files, too."""

    edges: list[tuple[int, int, Any, int | None]]
    """Ends, label, and time."""
    vertices: dict[int, tuple[Any, int | None]]
    """By id: label, and number."""
    directed: bool

    def graph(self) -> mf.Graph:
        return mf.Graph.from_edges(
            [(u, v) for u, v, _, _ in self.edges],
            directed=self.directed,
            vertex_ids=list(self.vertices),
            vertex_labels=[label for label, _ in self.vertices.values()],
            vertex_attributes={"x": [number for _, number in self.vertices.values()]},
            edge_labels=[label for _, _, label, _ in self.edges],
            edge_attributes={"t": [time for *_, time in self.edges]},
        )

    def shard(self, cluster: mf.Cluster, folder: Path, memory: int = 100_000) -> Any:
        def lines(rows: Iterable[tuple[Any, ...]]) -> str:
            return "".join(",".join("" if one is None else str(one) for one in row) + "\n" for row in rows)

        edges, vertices = folder / "edges.csv", folder / "vertices.csv"
        edges.write_text(f"from,to,kind,t\n{lines(self.edges)}")
        vertices.write_text(f"id,label,x\n{lines((one, *rest) for one, rest in self.vertices.items())}")
        return cluster.shard(
            edges,
            folder / "g",
            directed=self.directed,
            vertices=vertices,
            attributes=None,
            memory=memory,
            shards=3,
            src="from",
            dst="to",
            label="kind",
        )

    @classmethod
    def of(cls, case: QueryCase) -> Data:
        """Return the graph of a random case."""
        data = case.data
        assert data.vertex_attributes is not None
        assert data.edge_attributes is not None
        labels = data.edge_labels or [0] * len(data.edges)
        ends = zip(data.edges, labels, data.edge_attributes["t"], strict=True)
        of_vertices = data.vertex_labels or [0] * data.num_vertices
        numbers = zip(of_vertices, data.vertex_attributes["x"], strict=True)
        return cls([(u, v, label, t) for (u, v), label, t in ends], dict(enumerate(numbers)), data.directed)


def random_data(seed: int, *, directed: bool, most: int = 12) -> Data:
    """Return a graph in which one vertex has an edge to each other one, and some pairs have two."""
    draws = random.Random(seed)
    number = draws.randrange(3, most)
    share = draws.choice([0.1, 0.2, 0.4])
    pairs = [(u, v) for u in range(number) for v in range(number) if u != v and draws.random() < share]
    pairs += [(0, v) for v in range(1, number)]
    pairs += [pair for pair in pairs if draws.random() < 0.2]
    ids = draws.sample(range(-100, 1000), number)
    return Data(
        [(ids[u], ids[v], draws.randrange(2), draws.choice([None, 1, 2, 3])) for u, v in pairs],
        {one: (draws.randrange(2), draws.choice([None, *range(8)])) for one in ids},
        directed,
    )


def rows_of(table: Any) -> Counter[tuple[Any, ...]]:
    """Return the rows of a table."""
    columns = [
        [tuple(one) if isinstance(one, list) else one for one in table.column(name).to_pylist()]
        for name in table.column_names
    ]
    return Counter(zip(*columns, strict=True))


def counted(call: Callable[[], Any]) -> Any:
    """Return the result of a call, or the error that says what it refuses."""
    try:
        return call()
    except (mf.ArgumentError, mf.PatternError) as error:
        return error


Refused = Callable[[str, str, dict[str, Any]], tuple[str, ...]]
"""Type of functions that return what errors may say of a call, a query and options, if any may be raised."""


def known_refusals(call: str, query: str, options: dict[str, Any]) -> tuple[str, ...]:
    """Return what the error says of a query of the lists that is refused with these options."""
    optional = " OPTIONAL " in query
    if options.get("copies"):
        beside = "negated edges" if query == NEGATED_BETWEEN_PARTS else None
        if optional and query != OPTIONAL_WITHIN[0]:
            beside = "OPTIONAL"
        return () if beside is None else (f"copies: expected False beside {beside}",)
    if optional and options["semantics"] == "induced" and query not in OPTIONAL_WITHIN:
        return ("expected 'isomorphism' or 'homomorphism' beside OPTIONAL edges to new vertices",)
    return ()


def check_refusal(error: Exception, allowed: tuple[str, ...]) -> None:
    """Check that an error is one of those that are allowed."""
    assert "sharded graph" in str(error)
    assert any(one in str(error) for one in allowed)


def check_rows(graph: mf.Graph, query: str, found: Any, options: dict[str, Any]) -> None:
    """Compare rows with those of the whole graph: occurrences may be told by any of their embeddings."""
    expected = rows_of(mf.match(graph, query, names=True, **options).to_arrow())
    if options["symmetry"] == "embeddings":
        assert found == expected
        return
    every = rows_of(mf.match(graph, query, names=True, semantics=options["semantics"]).to_arrow())
    assert (found.total(), len(found)) == (expected.total(), expected.total())
    assert set(found) <= set(every)


def check_query(
    data: Data,
    queries: list[str],
    memory: int,
    options: dict[str, Any],
    refused: Refused = known_refusals,
) -> None:
    """Compare counts and rows of queries in a sharded graph with those of the whole graph."""
    graph = data.graph()
    with sharding() as (cluster, name):
        made = data.shard(cluster, Path(name), memory)
        for number, query in enumerate(queries):
            expected = counted(lambda query=query: mf.count(graph, query, **options))
            found = counted(lambda query=query: cluster.count(made, query, **options))
            if isinstance(expected, Exception):
                assert isinstance(found, Exception)
                continue
            if isinstance(found, Exception):
                check_refusal(found, refused("count", query, options))
            else:
                assert (found, found.complete) == (expected, True)
            output = Path(name) / f"rows-{number}"
            listing = counted(lambda query=query: cluster.match(made, query, names=True, **options))
            if isinstance(listing, Exception):
                check_refusal(listing, refused("match", query, options))
                continue
            check_rows(graph, query, rows_of(listing.to_arrow()), options)
            written = cluster.match(made, query, output=output, names=True, **options)
            rows = rows_of(pq.read_table(output))
            assert (written.rows, written.complete) == (rows.total(), True)
            check_rows(graph, query, rows, options)


OPTIONS: dict[str, Any] = {
    "semantics": st.sampled_from(SEMANTICS),
    "symmetry": st.sampled_from(["embeddings", "subgraphs"]),
    "memory": st.sampled_from([30_000, 1 << 20]),
}


@pytest.mark.turns(4)
@settings(max_examples=6)
@given(
    seed=st.integers(0, 10**6),
    directed=st.booleans(),
    queries=st.lists(st.sampled_from(QUERIES + DIRECTED), min_size=3, max_size=3, unique=True),
    **OPTIONS,
)
def test_counts_and_rows_are_those_of_the_whole_graph(
    seed: int, directed: bool, queries: list[str], semantics: str, symmetry: str, memory: int
) -> None:
    data = random_data(seed, directed=directed)
    check_query(data, queries, memory, {"semantics": semantics, "symmetry": symmetry})


COMPARING = [
    "(a)-[x*1..3]-(b) WHERE increasing(x.t)",
    "(a)-[x]-(b)-[y]-(c) WHERE x.t < y.t OPTIONAL (c)--(d)",
    "(a)-[x]-(b)-[y]-(c) WHERE x.t < y.t AND (a.x = 1 OR c.x = 2)",
    "(a)-[x]-(b)-[y]-(c)-[z]-(d) WHERE x.t < y.t AND y.t <= z.t AND (degree(a) > 2 OR degree(d) > 2)",
]


@pytest.mark.turns(2)
@settings(max_examples=4)
@given(
    seed=st.integers(0, 10**6),
    directed=st.booleans(),
    comparing=st.sampled_from(COMPARING),
    query=st.sampled_from(QUERIES + DIRECTED),
    semantics=st.sampled_from(["isomorphism", "homomorphism"]),
    memory=st.sampled_from([250_000, 1 << 20]),
)
def test_edges_are_compared_and_copies_counted_in_queries(
    seed: int, directed: bool, comparing: str, query: str, semantics: str, memory: int
) -> None:
    data = random_data(seed, directed=directed)
    check_query(data, [comparing], memory, {"semantics": semantics, "symmetry": "embeddings"})
    options: dict[str, Any] = {"semantics": semantics, "copies": True}
    with sharding() as (cluster, name):
        made, graph = data.shard(cluster, Path(name), memory), data.graph()
        for one in (comparing, query):
            expected = counted(partial(mf.count, graph, one, **options))
            found = counted(partial(cluster.count, made, one, **options))
            if isinstance(expected, Exception):
                assert isinstance(found, Exception)
            elif isinstance(found, Exception):
                check_refusal(found, known_refusals("count", one, options))
            else:
                assert (found, found.complete) == (expected, True)


@pytest.mark.parametrize("directed", [False, True])
def test_copies_are_chosen_beside_optional_edges_between_two_vertices(
    ray: InlineRay, tmp_path: Path, directed: bool
) -> None:
    data = random_data(5, directed=directed)
    arrow = "->" if directed else "-"
    queries = [
        f"(a)-[x]{arrow}(b)-[y]{arrow}(c) OPTIONAL (a)-[:1]{arrow}(c)",
        f"(a)-[x]{arrow}(b)-[y]-(c)--(d) OPTIONAL (a)--(c) OPTIONAL (b)-[z]-(d) WHERE z.t > 1",
        "(a)-[*1..2]-(b) OPTIONAL (a)-[z:1]-(b) WHERE z.t = 1",
        "(a)-[x]-(b)-[y]-(c) WHERE NOT (a)-[:0]-(c) OPTIONAL (a)--(c)",
    ]
    with mf.Cluster() as cluster:
        made, graph = data.shard(cluster, tmp_path, 1 << 20), data.graph()
        for query in queries:
            choices = len(mf.match(graph, query, edges="all").to_arrow())
            assert mf.count(graph, query, copies=True) == choices > mf.count(graph, query)
            assert cluster.count(made, query, copies=True) == choices
            span = f"{query} WITHIN 1 OF t"
            rows = rows_of(mf.match(graph, span).to_arrow())
            assert rows_of(cluster.match(made, span).to_arrow()) == rows
            assert cluster.count(made, span) == mf.count(graph, span) == rows.total() > 0
            within = len(mf.match(graph, span, edges="all").to_arrow())
            assert cluster.count(made, span, copies=True) == mf.count(graph, span, copies=True) == within


def test_spans_and_edges_beside_each_other_tell_patterns_apart(ray: InlineRay, tmp_path: Path) -> None:
    data = random_data(8, directed=False)
    spans = [f"(a)-[x]-(b)-[y]-(c) WITHIN {span} OF t" for span in range(2)]
    parts = [
        "(a:1)--(b)--(c:0), (d)--(e)--(f)",
        "(a:1)--(b)--(c)--(d:0), (e)--(f)",
        "(a)--(b), (c)--(d)--(e)",
        "(a)-[x]-(b)-[y]-(c), (a)-[z]-(b)",
    ]
    doubled = [f"(a:1)-[x]-(b)-[y]-(c:0), ({end})-[z]-(b)" for end in "ac"]
    with mf.Cluster() as cluster:
        made, graph = data.shard(cluster, tmp_path, 1 << 20), data.graph()
        found, expected = (
            f([*spans, "(a)-[*1..2]-(b)"]) for f in (partial(cluster.count, made), partial(mf.count, graph))
        )
        assert found == expected
        assert expected[0] != expected[1]
        for queries in (parts, [*doubled, "(a)-[*1..2]-(b)"]):
            assert cluster.count(made, queries, copies=True) == mf.count(graph, queries, copies=True)


FEATURES = [
    *(
        "path",
        "ring",
        "walk",
        "increasing",
        "or",
        "optional",
        "optpath",
        "parts",
        "labels",
        "negated",
        "degree",
    )
]


def refusals_of(features: frozenset[str], call: str, options: dict[str, Any]) -> tuple[str, ...]:
    """Return what errors may say of random queries with some features."""
    optional = bool(features & {"optional", "optpath"})
    cases = {
        "beside OPTIONAL edges to new vertices": optional and options["semantics"] == "induced",
        "OPTIONAL paths of one edge or more to any vertex": "optpath" in features,
        "one connected part beside OPTIONAL": optional and "parts" in features,
        "no WALK or may_equal beside OPTIONAL": optional and "walk" in features,
        "no negated edges to any vertex behind OPTIONAL edges between two": call == "match"
        and optional
        and "negated" in features,
        "beside OR across edges": call == "match" and features >= {"or", "negated"},
        "rows of at most 128 patterns": call == "match",
    }
    return tuple(message for message, may_be in cases.items() if may_be)


@pytest.mark.long
@settings(max_examples=150)
@given(
    drawn=st.data(),
    features=st.frozensets(st.sampled_from(FEATURES), min_size=1, max_size=4),
    directed=st.booleans(),
    **OPTIONS,
)
def test_random_queries_are_those_of_the_whole_graph(
    drawn: Any, features: frozenset[str], directed: bool, semantics: str, symmetry: str, memory: int
) -> None:
    case = drawn.draw(query_cases(features=features, directed=directed))
    note(case.text())
    options = {"semantics": semantics, "symmetry": symmetry}
    if "increasing" in features:  # copies of edges have to fit
        memory = 1 << 20
    check_query(
        Data.of(case),
        [case.text()],
        memory,
        options,
        lambda call, _, options: refusals_of(features, call, options),
    )


def test_a_list_has_queries_beside_patterns(ray: InlineRay, tmp_path: Path, monkeypatch: Any) -> None:
    data = random_data(1, directed=False)
    graph = data.graph()
    queries = ["(a)--(b)--(c)", "(a)-[*1..2]-(b)", "(a)--(b), (c)--(d)", "(a)--(b)", "(x)--(y)--(z)"]
    searched: list[list[str]] = []

    def count_sharded(workers: Any, graph: Any, patterns: Any, *options: Any) -> Any:
        searched.append([str(one) for one in patterns])
        return counting.count_sharded(workers, graph, patterns, *options)

    monkeypatch.setattr(queries_module, "count_sharded", count_sharded)
    with mf.Cluster() as cluster:
        made = data.shard(cluster, tmp_path)
        found = cluster.count(made, queries)
        assert found == mf.count(graph, queries)
        assert all(one.complete and one.engine == "cluster" and one.seconds > 0 for one in found)
        (at_once,) = searched
        assert len(at_once) == len(set(at_once)) == 3  # an edge, one and its reverse, paths of two edges
        found = cluster.count(made, queries, symmetry="subgraphs")
        assert found == mf.count(graph, queries, symmetry="subgraphs")
        with pytest.raises(mf.ArgumentError, match=r"pattern\[2\]: symmetry: expected 'embeddings'"):
            cluster.count(made, queries, symmetry="subgraphs", semantics="homomorphism")


def test_searches_stop_once_one_count_passes_a_limit(
    ray: InlineRay, tmp_path: Path, monkeypatch: Any
) -> None:
    data = random_data(1, directed=False)
    limits: list[int | None] = []

    def count_sharded(workers: Any, graph: Any, patterns: Any, request: Any, *options: Any) -> Any:
        limits.append(request.limit)
        return counting.count_sharded(workers, graph, patterns, request, *options)

    monkeypatch.setattr(queries_module, "count_sharded", count_sharded)
    paths, subtracted = "(a)-[*1..2]-(b)", "(a)--(b), (c)--(d)"
    either = "(a)--(b)--(c) WHERE a.x = 1 OR c.x = 1 OR degree(b) > 2"
    with mf.Cluster() as cluster:
        made = data.shard(cluster, tmp_path)
        for queries, symmetry, limit in (
            ([paths], "embeddings", 4),
            ([paths, subtracted], "embeddings", None),
            ([either], "subgraphs", 7),
        ):
            found = cluster.count(made, queries, limit=3, symmetry=symmetry)
            assert found == mf.count(data.graph(), queries, limit=3, symmetry=symmetry) == [3] * len(queries)
            assert not any(one.complete for one in found)
            assert limits.pop() == limit


def test_limits_timeouts_and_progress_of_queries(ray: InlineRay, tmp_path: Path) -> None:
    data = random_data(2, directed=False)
    graph, query = data.graph(), "(a)-[p*1..3]-(b)"
    whole = mf.count(graph, query)
    reports: list[mf.ProgressReport] = []
    with mf.Cluster() as cluster:
        made = data.shard(cluster, tmp_path)
        for limit in (0, 5, int(whole), int(whole) + 1):
            found = cluster.count(made, query, limit=limit)
            assert (found, found.complete) == (min(limit, whole), whole <= limit)
            rows = cluster.match(made, query, limit=limit)
            assert (len(rows.to_numpy()), rows.complete) == (min(limit, whole), whole <= limit)
        written = cluster.match(made, query, limit=5, output=tmp_path / "rows")
        assert (written.rows, written.complete) == (5, False)
        late = cluster.count(made, ["(a)--(b)", query, "(a)--(b), (c)--(d)"], timeout=0.0)
        assert not all(one.complete for one in late)
        assert all(
            one <= two
            for one, two in zip(late, mf.count(graph, ["(a)--(b)", query, "(a)--(b), (c)--(d)"]), strict=True)
        )
        late_rows = cluster.match(made, query, timeout=0.0)
        assert len(late_rows.to_numpy()) <= whole
        assert not late_rows.complete
        cluster.count(made, query, progress=reports.append)
        assert reports[-1].done == reports[-1].total
        cluster.match(made, query, progress=reports.append).to_numpy()
        assert (reports[-1].done, reports[-1].found) == (reports[-1].total, whole)


def test_rows_of_queries_have_the_columns_of_whole_graphs(ray: InlineRay, tmp_path: Path) -> None:
    data = random_data(3, directed=True)
    graph = data.graph()
    with mf.Cluster() as cluster:
        made = data.shard(cluster, tmp_path)
        for query, names in (
            ("(a)-[p*1..2]->(b)", True),
            ("(a)-[p*1..2]->(b)", False),
            ("(a)-->(b) OPTIONAL (b)-->(c)", True),
            ("(a)-->(b) WHERE a.x = 1 OR b.x = 2", True),
        ):
            expected, found = (
                call(query, names=names) for call in (partial(mf.match, graph), partial(cluster.match, made))
            )
            assert found.columns == expected.columns
            array, whole = found.to_numpy(), expected.to_numpy()
            assert (array.dtype, array.shape) == (whole.dtype, whole.shape)
            assert Counter(map(str, array.tolist())) == Counter(map(str, whole.tolist()))
            tables = (
                call(query, names=names) for call in (partial(mf.match, graph), partial(cluster.match, made))
            )
            here, there = (table.to_arrow().schema for table in tables)
            assert there.equals(here, check_metadata=True)
        both = cluster.match(made, ["(a)-->(b)", "(a)-[p*1..2]->(b)"], output=tmp_path / "rows")
        assert [one.rows for one in both] == mf.count(graph, ["(a)-->(b)", "(a)-[p*1..2]->(b)"])
        none = cluster.match(made, "(a:none)-[p*1..2]->(b)", output=tmp_path / "none")
        assert (none.rows, none.complete) == (0, True)
        assert pq.read_schema(tmp_path / "none" / "part-000000.parquet").names == ["v0", "v1", "p0"]
        listed = cluster.match(made, "(a:none)-[p*1..2]->(b)")
        assert (len(listed.to_numpy()), listed.complete) == (0, True)
        with pytest.raises(mf.MotifluxError, match="found a sharded graph"):
            next(iter(cluster.match(made, "(a)-[p*1..2]->(b)").graphs()))


@pytest.mark.parametrize("symmetry", ["embeddings", "subgraphs"])
def test_a_job_of_a_query_whose_driver_was_lost_continues(
    ray: InlineRay, tmp_path: Path, symmetry: Any
) -> None:
    data, query = random_data(5, directed=False), "(a)--(b)--(c) OPTIONAL (c)--(d)"
    options: dict[str, Any] = {"symmetry": symmetry}
    ran, folder = 0, tmp_path / "rows"

    def lose_driver() -> None:
        nonlocal ran
        ran += 1
        if ran == 6:
            raise SystemExit

    with mf.Cluster() as cluster:
        made = data.shard(cluster, tmp_path)
        ray.before = lose_driver
        with pytest.raises(SystemExit):
            cluster.match(made, query, output=folder, job="mine", names=True, **options)
        ray.before = None
        with pytest.raises(mf.OutputError, match=r"others: .*pattern"):
            cluster.match(
                made, f"{query} OPTIONAL (a)--(c)", output=folder, job="mine", names=True, **options
            )
        ray.loses = 0.1
        written = cluster.match(made, query, output=folder, job="mine", names=True, **options)
        assert (written.resumed, written.complete) == (5, True)
        check_rows(
            data.graph(), query, rows_of(pq.read_table(folder)), options | {"semantics": "isomorphism"}
        )


def test_tasks_that_end_by_their_rows_tell_no_steps_per_second(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [(u, v, (u + v) % 2, 1) for u in range(12) for v in range(u)]
    data = Data(pairs, dict.fromkeys(range(12), (0, 1)), directed=False)
    query = "(a)--(b)--(c)--(d) WHERE NOT (a)-[:0]-(c) OR NOT (b)-[:0]-(d)"
    ended: list[bool] = []
    rates: list[float] = []
    take, note = jobs.RowJob.take, cluster_rows.RowSearch.note

    def taken(self: Any, order: Any, done: Any) -> None:
        take(self, order, done)
        ended.append(bool(done.left))
        rates.append(self.shares.rate)

    def noted(self: Any, order: Any, done: Any, rows: int) -> None:
        note(self, order, done, rows)
        ended.append(bool(done.left))
        rates.append(self._seconds)

    monkeypatch.setattr(jobs.RowJob, "take", taken)
    monkeypatch.setattr(cluster_rows.RowSearch, "note", noted)
    for module in (jobs, cluster_rows):
        monkeypatch.setattr(module, "FIRST_WORK", 1 << 24)
    with mf.Cluster() as cluster:
        made = data.shard(cluster, tmp_path, 1 << 20)
        # Of the rows that are found, the half is left out.
        cluster.match(made, query, symmetry="subgraphs", output=tmp_path / "rows")
        cluster.match(made, query, symmetry="subgraphs").to_numpy()
    assert any(ended)
    assert not any(rates)


def test_tasks_tell_the_number_of_rows_without_images(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [(u, v, 0, 1) for u in range(12) for v in range(u)]
    data = Data(pairs, dict.fromkeys(range(12), (0, 1)), directed=False)
    ended: list[tuple[int, int]] = []
    note = cluster_rows.RowSearch.note

    def noted(self: Any, order: Any, done: Any, rows: int) -> None:
        note(self, order, done, rows)
        ended.append((done.rows, rows))

    monkeypatch.setattr(cluster_rows.RowSearch, "note", noted)
    with mf.Cluster() as cluster:
        made = data.shard(cluster, tmp_path, 1 << 20)
        for graph in (made, data.graph()):
            cluster.match(graph, "(a)--(b)--(c)--(d), (a)--(c), (b)--(d), (a)--(d)").to_numpy()
    assert len(ended) > 1
    assert all(rows == 24 * number for number, rows in ended)


def test_an_interrupted_count_keeps_what_was_found(ray: InlineRay, tmp_path: Path) -> None:
    data, ran = random_data(2, directed=False, most=30), 0

    def interrupt() -> None:
        nonlocal ran
        ran += 1
        if ran == 10:  # about six tasks wait at a time
            raise KeyboardInterrupt

    def so_far(queries: Any) -> Any:
        nonlocal ran
        ran = 0
        with pytest.raises(KeyboardInterrupt) as stopped:
            cluster.count(made, queries)
        return partial_result(stopped.value)

    graph = data.graph()
    with mf.Cluster() as cluster:
        made = data.shard(cluster, tmp_path)
        ray.before = interrupt
        paths = "(a)-[*1..3]-(b)"
        patterns = ["(a)--(b)--(c)--(d)", "(a)--(b)--(c)", "(a)--(b)"]
        for queries in ([paths], [paths, "(x)--(y)", "(a)--(b)--(c)--(d)"], patterns):
            found = so_far(queries)
            whole = mf.count(graph, queries)
            assert all(0 <= one <= most for one, most in zip(found, whole, strict=True))
            assert sum(found) > 0
            assert not any(one.complete for one in found)
        (subtracted,) = so_far("(a)--(b)--(c), (d)--(e)")
        assert (subtracted, subtracted.complete) == (0, False)
        assert so_far([paths, "(a)--(b) RETURN DISTINCT a"]) is None
        ran = 0
        with pytest.raises(KeyboardInterrupt) as stopped:
            cluster.census(made, size=4)
        assert partial_result(stopped.value) is None


def test_progress_of_calls_of_several_searches_never_goes_back(ray: InlineRay, tmp_path: Path) -> None:
    data = random_data(2, directed=False, most=30)
    reports: list[Any] = []

    def done(call: Callable[[], Any]) -> list[float]:
        reports.clear()
        call()
        return [one.done / one.total for one in reports if hasattr(one, "done")]

    with mf.Cluster() as cluster:
        made = data.shard(cluster, tmp_path)
        told: dict[str, Any] = {"progress": reports.append}
        mixed = ["(a)--(b)", "(a)-[*1..2]-(b)", "(a)--(b), (c)--(d)"]  # counted by two calls
        nothing = ["(a:9)--(b)--(c) WHERE a.x = 1 OR b.x = 1", "(a:9)--(b)"]
        distinct = ["(a)--(b)--(c)", "(a)--(b) RETURN DISTINCT a"]
        for call in (
            lambda: cluster.count(made, mixed, symmetry="subgraphs", **told),
            lambda: cluster.count(made, nothing, symmetry="subgraphs", **told),
            lambda: cluster.count(made, distinct, **told),
            lambda: cluster.estimate(made, "(a)-[*1..3]-(b)", **told),
        ):
            shares = done(call)
            assert shares == sorted(shares)
            assert shares[-1] == 1


REFUSED: list[tuple[str, str | None, str]] = [
    (
        "(a)-[x]-(b)-[y]-(c) OPTIONAL (c)--(d) WITHIN 1 OF t",
        "no WITHIN beside OPTIONAL",
        "no WITHIN beside OPTIONAL edges to new vertices",
    ),
    *(
        (query, told, told)
        for query, told in [
            ("(a)--(b), (c)--(d) OPTIONAL (b)--(e)", "one connected part beside OPTIONAL"),
            ("(a)--(b) OPTIONAL (b)-[*1..2]-(c:1)", "OPTIONAL paths of one edge or more to any vertex"),
            ("WALK (a)-[*3]-(b) OPTIONAL (b)--(c)", "no WALK or may_equal beside OPTIONAL"),
        ]
    ),
    ("(a)--(b) WHERE NOT (a)-[:1]-() OR NOT (b)-[:0]-()", None, "beside OR across edges"),
    (
        "(a)--(b)--(c) OPTIONAL (a)-[:0]-(c) WHERE NOT (a)-[:1]-()",
        None,
        "no negated edges to any vertex behind OPTIONAL edges between two vertices",
    ),
    (
        "(a)-[x]-(b)-[y]-(c) OPTIONAL (a)-[:0]-(c) WHERE NOT (a)-[:1]-(c) WITHIN 1 OF t",
        "no WITHIN beside OPTIONAL",
        "no WITHIN beside negated edges behind OPTIONAL",
    ),
]


def test_what_a_sharded_graph_cannot_tell_of_queries_is_refused_by_name(
    ray: InlineRay, tmp_path: Path
) -> None:
    data = random_data(4, directed=False)
    with mf.Cluster() as cluster:
        made = data.shard(cluster, tmp_path)
        graph, before = data.graph(), len(ray.names)
        for query, of_count, of_match in REFUSED:
            if of_count is not None:
                with pytest.raises(mf.MotifluxError, match=of_count):
                    cluster.count(made, query)
            with pytest.raises(mf.MotifluxError, match=of_match):
                cluster.match(made, query)
            with pytest.raises(mf.MotifluxError, match=of_match):
                cluster.match(made, query, output=tmp_path / "rows")
            if "RETURN" not in query:
                with pytest.raises(mf.ArgumentError, match=f"{of_match}|to draw its rows at random"):
                    cluster.sample(made, query, 1)
        assert len(ray.names) == before  # no task ran
        for query, of_count, _ in REFUSED:
            if of_count is None:
                assert cluster.count(made, query) == mf.count(graph, query)
        with pytest.raises(
            mf.ArgumentError, match="semantics: expected 'isomorphism' or 'homomorphism' beside"
        ):
            cluster.count(made, "(a)--(b) OPTIONAL (b)--(c)", semantics="induced")
        ends = mf.NegatedEdge(0, mf.AnyVertex(), besides=frozenset([1]))
        pattern = mf.Pattern(
            (mf.QueryVertex("a"), mf.QueryVertex("b")), (mf.QueryEdge(0, 1),), negated=(ends,)
        )
        with pytest.raises(mf.PatternError, match="expected a monitor"):
            cluster.count(made, pattern)
        for query, beside in (
            ("(a)--(b) OPTIONAL (b)--(c)", "OPTIONAL"),
            ("(a)--(b), (c)--(d) WHERE NOT (a)--(c)", "negated edges or comparisons between parts"),
        ):
            with pytest.raises(mf.ArgumentError, match=f"copies: expected False beside {beside}"):
                cluster.count(made, query, copies=True)


def test_explain_tells_the_plan_of_each_pattern(ray: InlineRay, tmp_path: Path) -> None:
    data, query = random_data(4, directed=False), "(a)--(b) OPTIONAL (b)-[:0]-(c:1)"
    with mf.Cluster() as cluster:
        made = data.shard(cluster, tmp_path)
        before = len(ray.names)
        told = cluster.explain(made, query)
        assert len(ray.names) == before  # no task ran
        assert isinstance(told, mf.QueryExplanation)
        assert [one.report.pattern.text for one in told.parts] == [
            "(a)--(b), (b)-[:0]-(c:1)",
            "(a)--(b), NOT (b)-[:0]-(:1)",
            "(a:1)--(b), (b)-[:0]-(a), NOT (b)-[:0]-(:1 EXCEPT a)",
        ]
        assert "the sum of 3 counts" in told
        ran = cluster.explain(made, query, analyze=True)
        assert isinstance(ran, mf.QueryExplanation)
        counts = [one.report.actual.count for one in ran.parts if one.report.actual is not None]
        assert sum(counts) == mf.count(data.graph(), query)
        query = "(a)--(b), (c)--(d)"
        told = cluster.explain(made, query)
        assert isinstance(told, mf.QueryExplanation)
        searched = [one.report.pattern.text for one in told.parts]
        assert len(searched) == len(set(searched))
        assert "  search  3 of 8 patterns: the others are the same but for names" in told
        before = len(ray.names)
        whole = cluster.count(made, query)
        tasks = {name.partition(",")[2] for name in ray.names[before:]}
        assert len(searched) == len(tasks) == 3  # an edge, one and its reverse, paths of two edges
        ran = cluster.explain(made, query, analyze=True)
        assert isinstance(ran, mf.QueryExplanation)
        assert [one.report.pattern.text for one in ran.parts] == searched
        assert whole == mf.count(data.graph(), query)
        told = cluster.explain(made, "(a)--(b), (c)--(d) WHERE a.x < c.x", analyze=True)
        assert isinstance(told, mf.QueryExplanation)
        assert "  rows    (a)--(b); (c)--(d): counted one by one" in told
        assert "  search  1 of 2 patterns: the others are the same but for names" in told
        (edge,) = [one.report.actual.count for one in told.parts if one.report.actual is not None]
        assert edge == mf.count(data.graph(), "(a)--(b)")


def test_patterns_that_differ_in_names_and_numbers_alone_are_alike() -> None:
    texts = [
        "(a)-->(b)-->(c)",
        "(z)<--(y)<--(x)",
        "(a)-->(b)<--(c)",
        "(a:1)-->(b)-->(c)",
        "(c)-->(b), (a)-->(c)",
        "(a)-->(b)-->(c) WHERE a.x < c.x",
        "(c)-->(b)-->(a) WHERE c.x < a.x",
        "(a)-->(b)-->(c) WHERE NOT (a)-->(c)",
        "(c)-->(b)-->(a) WHERE NOT (c)-->(a)",
        "(a)-->(b)-->(c) WHERE NOT (c)-->(a)",
    ]
    patterns = [mf.Pattern.parse(text) for text in texts]
    assert first_alike(patterns, directed=True) == [0, 0, 2, 3, 0, 5, 5, 7, 7, 9]


@pytest.mark.parametrize("directed", [False, True])
def test_negated_edges_to_vertices_with_conditions(ray: InlineRay, tmp_path: Path, directed: bool) -> None:
    data = random_data(8, directed=directed)
    graph = data.graph()
    with mf.Cluster() as cluster:
        made = data.shard(cluster, tmp_path)
        for pattern in (
            "(a)--(b) WHERE NOT (a)--({x: 2})",
            "(a)--(b)--(c) WHERE NOT (b)-[:0]-(:1 {x: 3}) AND NOT (a)--({x: 99})",
        ):
            for semantics in ("isomorphism", "induced"):
                found = cluster.count(made, pattern, semantics=semantics)
                assert found == mf.count(graph, pattern, semantics=semantics)
            at_vertices = cluster.count_per_vertex(made, pattern, by="a")
            whole = mf.count_per_vertex(graph, pattern, by="a")
            assert (at_vertices.counts == whole.counts[graph.vertex_index(at_vertices.ids)]).all()
        told = cluster.explain(made, "(a)--(b) WHERE NOT (a)--({x: 2})")
        assert "no (a)--(WHERE x = 2)" in told
