"""Disconnected patterns mean in sharded graphs what they mean in whole ones."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.cluster.shards import distinct, parts
from motiflux.request.deadline import Deadline
from motiflux.result.queries import sources
from tests.inline_ray import InlineRay
from tests.unit.test_sharded_queries import (
    Data,
    check_query,
    random_data,
    rows_of,
    sharding,
    with_ray,
)

EDGES = "(a)--(b), (c)--(d)"
QUERIES = [
    EDGES,
    "(a)-[p*1..2]-(b), (c:1)--(d)",
    "(a)--(b), (c)--(d) WHERE a.x = 1 OR c.x = 2",
    "(a:0)--(b), (c)--(d), (e)--(f:1)",
    "(a)--(b), (c)--(d) WHERE NOT (a)--(c) AND NOT (b)-[:0]-(d)",
    "(a:1)--(b), (c:1)--(d) WHERE NOT (a)-[:1]-(c)",
    "(a:1)--(b:0), (c:none)--(d)",
    "(a)--(b), (c)--(d) WHERE NOT (a)--(:1) AND c.x > 2",
    "(a)-[x]-(b)-[y]-(c), (d)-[z]-(e) WHERE x.t < y.t AND NOT (c)--(d)",
    "(a)-[*1..2]-(b), (c)--(d) WHERE (a.x > 3 OR degree(d) > 2) AND NOT (b)--(c)",
]
DIRECTED = [
    "(a)-->(b), (c)-->(d) WHERE NOT (a)-->(c)",
    "(a)-->(b), (c)<--(d) WHERE NOT (a)<-[:1]-(c)",
    "(a)-->(b)-->(c), (d)--(e) WHERE NOT (d)--(a)",
]


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> InlineRay:
    return with_ray(monkeypatch)


@pytest.mark.turns(4)
@settings(max_examples=6)
@given(
    seed=st.integers(0, 10**6),
    directed=st.booleans(),
    queries=st.lists(st.sampled_from(QUERIES), min_size=2, max_size=2, unique=True),
    more=st.sampled_from(DIRECTED),
    semantics=st.sampled_from(["isomorphism", "homomorphism"]),
    symmetry=st.sampled_from(["embeddings", "subgraphs"]),
    memory=st.sampled_from([500_000, 1 << 20]),
)
def test_rows_are_those_of_the_whole_graph(
    seed: int, directed: bool, queries: list[str], more: str, memory: int, semantics: str, symmetry: str
) -> None:
    data = random_data(seed, directed=directed)
    given = [*queries, more] if directed else queries
    check_query(data, given, memory, {"semantics": semantics, "symmetry": symmetry})


def test_columns_and_lists_are_those_of_the_whole_graph(ray: InlineRay, tmp_path: Path) -> None:
    data, query = random_data(3, directed=True), "(a)-[p*1..2]->(b), (c:1)-->(d)"
    graph = data.graph()
    with mf.Cluster() as cluster:
        made = data.shard(cluster, tmp_path)
        here, there = partial(mf.match, graph), partial(cluster.match, made)
        ray.loses = 0.05
        for names in (False, True):
            expected, found = (call(query, names=names).to_arrow() for call in (here, there))
            assert found.schema.equals(expected.schema, check_metadata=True)
            assert rows_of(found) == rows_of(expected)
        array, whole = (call(query).to_numpy() for call in (there, here))
        assert (array.dtype, array.shape) == (whole.dtype, whole.shape)
        assert Counter(map(str, array.tolist())) == Counter(map(str, whole.tolist()))
        plain = "(a)-->(b), (c)-->(d)"
        batches = list(there(plain, batch_rows=3))
        assert max(map(len, batches)) == 3
        assert sum(map(len, batches)) == mf.count(graph, plain)
        queries = ["(a)-->(b)", query]
        listed = there(queries)
        assert [len(one.to_numpy()) for one in listed] == mf.count(graph, queries)
        written = there(queries, output=tmp_path / "rows")
        assert [one.rows for one in written] == mf.count(graph, queries)
        none = there("(a:none)-->(b), (c)-->(d)", output=tmp_path / "none")
        assert (none.rows, none.complete) == (0, True)
        assert pq.read_schema(next((tmp_path / "none").glob("*.parquet"))).names[:4] == [
            "v0",
            "v1",
            "v2",
            "v3",
        ]
        with pytest.raises(mf.MotifluxError, match="connected patterns"):
            next(iter(there(query).graphs()))


def test_limits_timeouts_and_progress(ray: InlineRay, tmp_path: Path) -> None:
    data = random_data(5, directed=False)
    graph, query = data.graph(), "(a)-[p*1..2]-(b), (c)--(d)"
    whole = int(mf.count(graph, query))
    every = rows_of(mf.match(graph, query).to_arrow())
    reports: list[mf.ProgressReport] = []
    with mf.Cluster() as cluster:
        made = data.shard(cluster, tmp_path)
        for limit in (0, 5, whole, whole + 1):
            listed = cluster.match(made, query, limit=limit)
            found = rows_of(listed.to_arrow())
            assert found <= every
            assert (found.total(), listed.complete) == (min(limit, whole), limit >= whole)
        written = cluster.match(made, query, limit=5, output=tmp_path / "five")
        assert (written.rows, written.complete) == (5, False)
        late = cluster.match(made, query, timeout=0.0)
        assert rows_of(late.to_arrow()) <= every
        assert not late.complete
        written = cluster.match(made, query, timeout=0.0, output=tmp_path / "late")
        assert (written.rows, written.complete) == (0, False)
        with cluster.match(made, query, batch_rows=2) as matches:
            next(iter(matches))
        assert matches.complete is False
        cluster.match(made, query, progress=reports.append).to_numpy()
    shares = [report.done / report.total for report in reports]
    assert (shares, shares[-1]) == (sorted(shares), 1)
    found_by_then = [report.found for report in reports]
    assert (found_by_then, found_by_then[-1]) == (sorted(found_by_then), whole)


def test_rows_that_were_put_together_are_given_when_time_is_up(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = random_data(5, directed=False)
    every = rows_of(mf.match(data.graph(), EDGES).to_arrow())
    with mf.Cluster() as cluster:
        made = data.shard(cluster, tmp_path)
        monkeypatch.setattr(sources, "_MOST_PAIRS", 8)
        matches = cluster.match(made, EDGES, timeout=60.0, batch_rows=2)
        taken = [next(iter(matches))]
        monkeypatch.setattr(Deadline, "passed", True)
        taken += list(matches)
        assert matches.complete is False
    rows = Counter(tuple(row) for batch in taken for row in batch.tolist())
    assert rows <= every


def test_a_part_that_does_not_fit_is_an_error_that_says_what_helps(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = random_data(7, directed=False)
    with mf.Cluster() as cluster:
        made = data.shard(cluster, tmp_path)
        whole = int(mf.count(data.graph(), "(a)--(b)"))
        few, many = "(a:0)--(b)", "(c)--(d)"
        fits = int(mf.count(data.graph(), few))
        assert 0 < fits < whole
        monkeypatch.setattr(parts, "_COPIES", made.memory // (16 * fits))
        found = cluster.match(made, f"{many}, {few}")
        assert len(found.to_numpy()) == mf.count(data.graph(), f"{many}, {few}")
        said = rf"at most {fits} rows of .*memory=, write the part with the most rows first"
        for output in ({}, {"output": tmp_path / "rows"}):
            with pytest.raises(mf.ClusterError, match=said):
                len(cluster.match(made, f"{few}, {many}", **output).to_numpy())
        monkeypatch.setattr(parts, "_COPIES", 2)
        monkeypatch.setattr(parts, "_COPIES_OF_PAIRS", made.memory)
        with pytest.raises(mf.ClusterError, match=r"rows of \(a\)--\(c\)"):
            cluster.match(made, f"{EDGES} WHERE NOT (a)--(c)").to_numpy()


def test_a_job_that_ended_is_not_done_again(ray: InlineRay, tmp_path: Path) -> None:
    data = random_data(5, directed=False)
    options: dict[str, Any] = {"output": tmp_path / "rows", "job": "mine", "names": True}
    with mf.Cluster() as cluster:
        made = data.shard(cluster, tmp_path)
        ran = 0

        def lose_driver() -> None:
            nonlocal ran
            ran += 1
            if ran == 4:
                raise SystemExit

        ray.before = lose_driver
        with pytest.raises(SystemExit):
            cluster.match(made, EDGES, **options)
        ray.before = None
        written = cluster.match(made, EDGES, **options)
        before = len(ray.names)
        again = cluster.match(made, EDGES, **options)
        assert len(ray.names) == before
        assert (again.rows, again.complete, again.resumed) == (written.rows, True, 1)
        assert rows_of(pq.read_table(tmp_path / "rows")) == rows_of(
            mf.match(data.graph(), EDGES, names=True).to_arrow()
        )
        with pytest.raises(mf.OutputError, match="pattern"):
            cluster.match(made, f"{EDGES} WHERE NOT (a)--(c)", **options)


DISTINCT = [
    f"{EDGES} RETURN DISTINCT a",
    f"{EDGES} WHERE NOT (a)--(c) RETURN DISTINCT d, a",
    "(a)-[*1..2]-(b), (c:1)--(d) RETURN DISTINCT b, c",
    "(a)--(b), (c)--(d) WHERE a.x = 1 OR c.x > 2 RETURN DISTINCT c, b",
]


@pytest.mark.turns(4)
@pytest.mark.parametrize("query", DISTINCT)
@settings(max_examples=3)
@given(
    seed=st.integers(0, 10**6),
    directed=st.booleans(),
    semantics=st.sampled_from(["isomorphism", "homomorphism"]),
)
def test_distinct_rows_are_those_of_the_whole_graph(
    query: str, seed: int, directed: bool, semantics: Any
) -> None:
    data = random_data(seed, directed=directed)
    graph = data.graph()
    options: dict[str, Any] = {"semantics": semantics}
    with sharding() as (cluster, name):
        made = data.shard(cluster, Path(name))
        here, there = partial(mf.match, graph), partial(cluster.match, made)
        expected = here(query, names=True, **options).to_arrow()
        found = there(query, names=True, batch_rows=3, **options)
        table = found.to_arrow()
        assert table.schema.equals(expected.schema, check_metadata=True)
        assert (rows_of(table), found.complete) == (rows_of(expected), True)
        counted = cluster.count(made, query, **options)
        assert (counted, counted.complete) == (mf.count(graph, query, **options), True)
        output, queries = Path(name) / "rows", [query, "(a)--(b)"]
        written = there(queries, output=output, job="mine", **options)
        assert [one.rows for one in written] == mf.count(graph, queries, **options)
        assert rows_of(pq.read_table(output / "pattern-000")) == rows_of(here(query, **options).to_arrow())


@pytest.mark.parametrize("condition", ["< 100", ">= 4"])
def test_thresholds_have_all_images_only_at_the_end(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, condition: str
) -> None:
    monkeypatch.setattr(sources, "_MOST_PAIRS", 8)
    data, query = random_data(5, directed=False), f"{EDGES} RETURN DISTINCT a HAVING count(d) {condition}"
    whole = int(mf.count(data.graph(), query))
    reports: list[mf.ProgressReport] = []
    with mf.Cluster() as cluster:
        made = data.shard(cluster, tmp_path)
        for limit in (1, whole, None):
            for progress in (False, reports.append):
                found = cluster.match(made, query, limit=limit, progress=progress)
                expected = whole if limit is None else limit
                assert (len(found.to_numpy()), found.complete) == (expected, expected == whole)
    assert {report.found for report in reports if report.done < report.total} <= set(range(whole + 1))
    assert {report.found for report in reports if report.done == report.total} == {whole}


def test_limits_timeouts_and_progress_of_distinct_rows(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, query = random_data(5, directed=False), f"{EDGES} RETURN DISTINCT a, c"
    graph = data.graph()
    whole = rows_of(mf.match(graph, query).to_arrow())
    total = whole.total()
    monkeypatch.setattr(sources, "_MOST_PAIRS", 8)
    with mf.Cluster() as cluster:
        made = data.shard(cluster, tmp_path)
        ray.loses = 0.05
        for limit in (0, 1, total, total + 1):
            listed = cluster.match(made, query, limit=limit)
            found = rows_of(listed.to_arrow())
            assert found <= whole
            assert (found.total(), listed.complete) == (min(limit, total), limit >= total)
            counted = cluster.count(made, query, limit=limit)
            assert (counted, counted.complete) == (min(limit, total), limit >= total)
        late = cluster.count(made, query, timeout=0.0)
        assert late <= total
        assert not late.complete
        late_rows = cluster.match(made, query, timeout=0.0)
        assert rows_of(late_rows.to_arrow()) <= whole
        assert not late_rows.complete
        for call in (cluster.count, lambda *given, **more: cluster.match(*given, **more).to_numpy()):
            reports: list[mf.ProgressReport] = []
            call(made, query, progress=reports.append)
            shares = [report.done / report.total for report in reports]
            assert (shares, shares[-1]) == (sorted(shares), 1)
            numbers = [report.found for report in reports]
            assert (numbers, numbers[-1]) == (sorted(numbers), total)


@pytest.mark.parametrize("semantics", ["isomorphism", "homomorphism"])
@pytest.mark.parametrize("having", ["count(b) > 1", "count(d) >= 2", "count(b, c) < 9", "count(c) = 3"])
def test_thresholds_count_images_of_all_parts(
    ray: InlineRay, tmp_path: Path, having: str, semantics: Any
) -> None:
    data = random_data(7, directed=False)
    options: dict[str, Any] = {"semantics": semantics, "distinct": ["a"], "having": having}
    with mf.Cluster() as cluster:
        made = data.shard(cluster, tmp_path)
        expected = rows_of(mf.match(data.graph(), EDGES, **options).to_arrow())
        assert rows_of(cluster.match(made, EDGES, **options).to_arrow()) == expected
        assert cluster.count(made, EDGES, **options) == expected.total()
        for limit in (1, expected.total() + 1):
            found = cluster.count(made, EDGES, limit=limit, **options)
            assert found <= min(limit, expected.total())
            assert found == expected.total() or not found.complete


def test_distinct_rows_and_parts_share_the_memory(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, query = random_data(7, directed=False), f"{EDGES} RETURN DISTINCT a"
    with mf.Cluster() as cluster:
        made = data.shard(cluster, tmp_path)
        options: list[dict[str, Any]] = [
            {"symmetry": "subgraphs"},
            {"copies": True},
            {"semantics": "induced"},
        ]
        for one in options:
            with pytest.raises(mf.ArgumentError, match=next(iter(one))):
                cluster.count(made, query, **one)
        edges = int(mf.count(data.graph(), "(a)--(b)"))
        monkeypatch.setattr(parts, "_COPIES", made.memory // (2 * 16 * edges))
        assert cluster.count(made, query) == mf.count(data.graph(), query)
        monkeypatch.setattr(parts, "_COPIES", made.memory // (2 * 16 * (edges - 1)))
        with pytest.raises(mf.ClusterError, match=r"count: expected at most .* rows of .*most rows first"):
            cluster.count(made, query)
        monkeypatch.setattr(parts, "_COPIES", 2)
        monkeypatch.setattr(distinct, "COPIES", 3_000)
        with pytest.raises(mf.ClusterError, match=r"match: expected at most 1 distinct rows"):
            cluster.match(made, query).to_numpy()


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    (EDGES, {"semantics": "induced"}, "'isomorphism' or 'homomorphism' for a disconnected pattern"),
    (EDGES, {"semantics": "homomorphism", "symmetry": "subgraphs"}, "'embeddings' with homomorphism"),
    (f"{EDGES} OPTIONAL (b)--(e)", {}, "one connected part beside OPTIONAL, for a sharded graph"),
    (f"{EDGES} WHERE a.nothing = 1", {}, "nothing"),
    (EDGES, {"edges": True}, "edges: expected none"),
    ("(a)-[*1..9]-(b), (c)-[*1..9]-(d)", {}, "rows of at most 128 patterns"),
]


@pytest.mark.parametrize(("query", "options", "said"), REFUSED)
def test_what_rows_of_parts_do_not_have_is_refused_by_name(
    ray: InlineRay, tmp_path: Path, query: str, options: dict[str, Any], said: str
) -> None:
    data: Data = random_data(4, directed=False)
    with mf.Cluster() as cluster:
        made = data.shard(cluster, tmp_path)
        before = len(ray.names)
        with pytest.raises(mf.MotifluxError, match=said):
            cluster.match(made, query, **options)
        with pytest.raises(mf.MotifluxError, match=said):
            cluster.match(made, query, output=tmp_path / "rows", **options)
        assert len(ray.names) == before  # no task ran
