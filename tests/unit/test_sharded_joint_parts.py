"""Comparisons between parts of disconnected patterns mean in sharded graphs what they mean in whole ones."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.cluster.shards import joint_parts, parts
from motiflux.request.deadline import Deadline
from tests.inline_ray import InlineRay
from tests.unit.test_sharded_edge_conditions import NAMES, write_files
from tests.unit.test_sharded_queries import check_query, random_data, rows_of, with_ray

VERTICES = "(a)--(b), (c)--(d) WHERE a.x < c.x"
EDGES = "(a)-[x]-(b), (c)-[y]-(d) WHERE x.t < y.t"
QUERIES = [
    VERTICES,
    EDGES,
    "(a)-[x]-(b), (c)-[y]-(d) WITHIN 1 OF t",
    "(a)-[x]-(b)-[z]-(e), (c)-[y]-(d) WHERE x.t < y.t AND y.t <= z.t",
    "(a)--(b), (c)-[y:1]-(d) WHERE a.x < y.t",
    "(a)--(b), (c)--(d) WHERE a.x + 1 = c.x AND NOT (a)--(d)",
    "(a:0)--(b), (c:1)--(d), (e:0)--(f) WHERE a.x < c.x AND d.x <= e.x",
    "(a)--(b), (c)--(d) WHERE id(a) < id(c)",
    "(a)-[x]-(b), (c)-[y]-(d) WHERE x.t = y.t AND x.t > 1 AND y.t < 3",
    "(a:1)-[*1..2]-(b), (c:0)--(d) WHERE b.x <> d.x",
    "(a)-[x]-(b), (c)-[y]-(d) WHERE x.t < y.t AND (a.x = 1 OR c.x = 2)",
]
DIRECTED = [
    "(a)-[x]->(b), (c)-[y]->(d) WHERE x.t < y.t",
    "(a)<-[x]-(b), (c)-[y:0]->(d) WHERE x.t + 1 = y.t",
    "(a)-[x]->(b)-[z]->(e), (c)<-[y]-(d) WITHIN 1 OF t",
]


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> InlineRay:
    return with_ray(monkeypatch)


@pytest.mark.turns(4)
@settings(max_examples=6)
@given(
    seed=st.integers(0, 10**6),
    directed=st.booleans(),
    query=st.sampled_from(QUERIES),
    more=st.sampled_from(DIRECTED),
    semantics=st.sampled_from(["isomorphism", "homomorphism"]),
    symmetry=st.sampled_from(["embeddings", "subgraphs"]),
)
def test_counts_and_rows_are_those_of_the_whole_graph(
    seed: int, directed: bool, query: str, more: str, semantics: str, symmetry: str
) -> None:
    data = random_data(seed, directed=directed, most=9)
    queries = [query, more] if directed else [query]
    check_query(data, queries, 1 << 21, {"semantics": semantics, "symmetry": symmetry})


TYPES = [
    "(a)-[x]-(b), (c)-[y]-(d) WHERE x.tag < y.tag",
    "(a)-[x]-(b), (c:1)--(d) WHERE x.tag <> c.name",
    "(a:0)--(b), (c:1)--(d) WHERE a.name < c.name AND b.age >= d.age",
    "(a:0)-[x]-(b), (c:1)-[y]-(d) WHERE x.share * 2 < y.share",
    "(a:0)-[x]-(b), (c:1)-[y]-(d) WHERE x.day - y.day > 30d AND x.amount <= y.amount",
    "(a:0)-[x:1]-(b), (c:1)-[y {tag: 'x'}]-(d) WITHIN 100d OF day",
]


@pytest.mark.turns(2)
@pytest.mark.parametrize("directed", [False, True])
def test_values_of_all_types_are_compared(ray: InlineRay, tmp_path: Path, directed: bool) -> None:
    paths, vertices, graph = write_files(tmp_path, 3, directed=directed)
    with mf.Cluster() as cluster:
        made = cluster.shard(
            paths, tmp_path / "g", directed=directed, attributes=None, vertices=vertices, shards=3, **NAMES
        )
        ray.loses = 0.02
        for query in TYPES:
            expected = rows_of(mf.match(graph, query, names=True).to_arrow())
            assert rows_of(cluster.match(made, query, names=True).to_arrow()) == expected
            assert 0 < expected.total() < mf.count(graph, query.partition(" W")[0])
            found = cluster.count(made, query)
            assert (found, found.complete) == (expected.total(), True)


def test_distinct_rows_files_and_estimates(ray: InlineRay, tmp_path: Path) -> None:
    data = random_data(5, directed=False)
    graph = data.graph()
    with mf.Cluster() as cluster:
        made = data.shard(cluster, tmp_path, 1 << 21)
        for query in (VERTICES, EDGES):
            expected = mf.match(graph, query, names=True).to_arrow()
            output = tmp_path / f"rows-{len(query)}"
            written = cluster.match(made, query, names=True, output=output, job="mine")
            assert (written.rows, written.complete) == (expected.num_rows, True)
            assert rows_of(pq.read_table(output)) == rows_of(expected)
            told = cluster.estimate(made, query)
            assert (told.value, told.estimator) == (expected.num_rows, "exact")
            distinct = f"{query} RETURN DISTINCT d, a"
            assert cluster.count(made, distinct) == mf.count(graph, distinct)
            found = rows_of(cluster.match(made, distinct).to_arrow())
            assert found == rows_of(mf.match(graph, distinct).to_arrow())
        both = cluster.count(made, [VERTICES, "(a)--(b)", EDGES])
        assert both == mf.count(graph, [VERTICES, "(a)--(b)", EDGES])
        assert (both[0].engine, both[0].reason) == (
            "cluster",
            "the graph is sharded; rows of its parts are compared",
        )


def test_counts_of_two_parts_that_one_comparison_joins_list_no_combinations(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = random_data(5, directed=False)
    graph = data.graph()
    made_of: list[int] = []

    class Noted(joint_parts.BesideRows):
        def __init__(self, *given: Any) -> None:
            made_of.append(1)
            super().__init__(*given)

    monkeypatch.setattr(joint_parts, "BesideRows", Noted)
    several = "(a)-[x]-(b), (c)-[y]-(d) WHERE x.t = y.t"  # edges with copies have several values
    with mf.Cluster() as cluster:
        made = data.shard(cluster, tmp_path, 1 << 21)
        for query, combined in (
            (VERTICES, False),
            (EDGES, False),
            ("(a:0)-[x]-(b), (c)--(d) WHERE x.t <= d.x", False),
            (several, True),
            ("(a)--(b), (c)--(d) WHERE a.x < c.x AND b.x < d.x", True),
            (f"{EDGES} AND NOT (a)--(c)", True),
        ):
            for semantics in ("isomorphism", "homomorphism"):
                made_of.clear()
                options: dict[str, Any] = {"semantics": semantics}
                found = cluster.count(made, query, **options)
                assert (found, found.complete) == (mf.count(graph, query, **options), True)
                assert (len(made_of) > 0) is combined, query
        made_of.clear()
        monkeypatch.setattr(parts, "_BYTES_OF_VALUE", 1 << 20)  # sorted values do not fit
        assert cluster.count(made, VERTICES) == mf.count(graph, VERTICES)
        assert made_of


def test_limits_and_timeouts(ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = random_data(5, directed=False)
    graph = data.graph()
    with mf.Cluster() as cluster:
        made = data.shard(cluster, tmp_path, 1 << 21)
        for query in (VERTICES, EDGES):
            every = rows_of(mf.match(graph, query).to_arrow())
            whole = every.total()
            for limit in (0, 5, whole, whole + 1):
                found = cluster.count(made, query, limit=limit)
                assert (found, found.complete) == (min(limit, whole), limit >= whole)
                listed = cluster.match(made, query, limit=limit)
                rows = rows_of(listed.to_arrow())
                assert rows <= every
                assert (rows.total(), listed.complete) == (min(limit, whole), limit >= whole)
            for late in (set(), {"ids"}, {"values", "copies"}):
                ray.late = late
                timeout = 0.2 if late else 0.0
                found = cluster.count(made, query, timeout=timeout)
                assert (found, found.complete) == (0, False)
                listed = cluster.match(made, query, timeout=timeout)
                assert (len(listed.to_numpy()), listed.complete) == (0, False)
            ray.late = set()
            reports: list[mf.ProgressReport] = []
            cluster.match(made, query, progress=reports.append).to_numpy()
            assert (reports[-1].done, reports[-1].found) == (reports[-1].total, whole)
        matches = cluster.match(made, EDGES, timeout=60.0, batch_rows=2)
        taken = [next(iter(matches))]
        monkeypatch.setattr(Deadline, "passed", True)
        taken += list(matches)
        assert matches.complete is False
    assert Counter(tuple(row) for batch in taken for row in batch.tolist()) <= every


def test_values_that_do_not_fit_are_an_error(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = random_data(5, directed=False)
    with mf.Cluster() as cluster:
        made = data.shard(cluster, tmp_path, 1 << 21)
        monkeypatch.setattr(joint_parts, "_BYTES_OF_VERTEX", made.memory)
        for query in (VERTICES, EDGES):
            said = r"expected what is compared in .* to fit into 524,288 bytes.*memory="
            with pytest.raises(mf.ClusterError, match=said):
                cluster.match(made, query).to_numpy()
            with pytest.raises(mf.ClusterError, match=said):
                cluster.count(made, query)


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    (VERTICES, {"copies": True}, "copies: expected False beside negated edges or comparisons between parts"),
    (VERTICES, {"semantics": "induced"}, "'isomorphism' or 'homomorphism' for a disconnected pattern"),
    ("(a)--(b), (c)--(d) WHERE a.nothing < c.x", {}, "nothing"),
    ("(a)-[x]-(b), (c)-[y]-(d) WHERE x.t < y.nothing", {}, "nothing"),
    (f"{VERTICES} OPTIONAL (b)--(e)", {}, "one connected part beside OPTIONAL"),
]


@pytest.mark.parametrize(("query", "options", "said"), REFUSED)
def test_what_comparisons_between_parts_do_not_have_is_refused(
    ray: InlineRay, tmp_path: Path, query: str, options: dict[str, Any], said: str
) -> None:
    data = random_data(4, directed=False)
    with mf.Cluster() as cluster:
        made = data.shard(cluster, tmp_path, 1 << 21)
        before = len(ray.names)
        with pytest.raises(mf.MotifluxError, match=said):
            cluster.count(made, query, **options)
        if "copies" not in options:
            with pytest.raises(mf.MotifluxError, match=said):
                cluster.match(made, query, **options)
        assert len(ray.names) == before  # no task ran
