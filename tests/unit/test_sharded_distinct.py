"""Distinct rows of sharded graphs, and thresholds on them, are those of whole graphs."""

from __future__ import annotations

import itertools
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.cluster import jobs
from motiflux.cluster import rows as cluster_rows
from motiflux.cluster.shards import distinct
from motiflux.cluster.shards.image_tables import held, tables_of
from motiflux.pattern.asked import projection_of
from motiflux.pattern.automorphism import automorphisms
from tests.inline_ray import InlineRay
from tests.unit.test_sharded_queries import random_data, rows_of, sharding, with_ray


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> InlineRay:
    return with_ray(monkeypatch)


@pytest.mark.turns(4)
@pytest.mark.parametrize("directed", [False, True])
def test_distinct_rows_are_counted_once(ray: InlineRay, tmp_path: Path, directed: bool) -> None:
    data = random_data(7, directed=directed)
    graph = data.graph()
    with mf.Cluster() as cluster:
        made = data.shard(cluster, tmp_path)
        ray.loses = 0.05
        for query in (
            "(a)--(b)--(c) RETURN DISTINCT c, a",
            "(a:1)-[*1..3]-(b) RETURN DISTINCT b",
            "(a)--(b) OPTIONAL (b)-[:0]-(c:1) RETURN DISTINCT a, c",  # c may be missing
            "(a)--(b)--(c) WHERE a.x = 1 OR NOT (a)-[:0]-(c) RETURN DISTINCT b, a",
        ):
            for semantics in ("isomorphism", "homomorphism"):
                found = cluster.count(made, query, semantics=semantics)
                assert (found, found.complete) == (mf.count(graph, query, semantics=semantics), True)
        paths = "(a)--(b)--(c)"
        whole = mf.count(graph, paths, distinct=["a"])
        both = cluster.count(made, [paths, "(a)-[*1..2]-(c)"], distinct=["a"])
        assert both == mf.count(graph, [paths, "(a)-[*1..2]-(c)"], distinct=["a"])
        mixed = [paths, f"{paths} RETURN DISTINCT b", "(a)--(b), (c)--(d)"]
        assert cluster.count(made, mixed) == mf.count(graph, mixed)
        for limit in (1, int(whole), int(whole) + 1):
            found = cluster.count(made, paths, distinct=["a"], limit=limit)
            assert (found, found.complete) == (min(limit, whole), whole <= limit)
        ends: Any = np.array(["a", "c"])
        for subject in (made, graph):
            assert cluster.count(subject, paths, distinct=ends) == mf.count(graph, paths, distinct=ends)
        late = cluster.count(made, paths, distinct=["a"], timeout=0.0)
        assert late <= whole
        assert not late.complete


@pytest.mark.parametrize("option", ["progress", "limit"])
def test_progress_and_limits_do_not_compare_all_distinct_rows_after_each_task(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    data, query = random_data(5, directed=False, most=30), "(a)--(b)--(c)"
    options: dict[str, Any] = {"limit": 10_000} if option == "limit" else {"progress": lambda report: None}
    merge, merged = distinct._Kept.merge, []

    def noting(self: Any) -> None:
        if self._pending:
            merged.append((self._size, self._pending))
        merge(self)

    monkeypatch.setattr(distinct._Kept, "merge", noting)
    for module in (jobs, cluster_rows):
        monkeypatch.setattr(module, "ROWS_OF_TASK", 20)
    with mf.Cluster() as cluster:
        made = data.shard(cluster, tmp_path, 1 << 20)
        found = cluster.match(made, query, distinct=["a", "c"], **options)
        rows = rows_of(found.to_arrow())
        tasks = len([one for one in ray.names if one.startswith("match")])
    assert rows == rows_of(mf.match(data.graph(), query, distinct=["a", "c"]).to_arrow())
    assert 1 < len(merged) < tasks
    assert all(new * 8 > kept for kept, new in merged[:-1])


def test_distinct_rows_that_do_not_fit_are_an_error(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = random_data(7, directed=False)
    with mf.Cluster() as cluster:
        made = data.shard(cluster, tmp_path)
        options: list[dict[str, Any]] = [
            {"symmetry": "subgraphs", "semantics": "homomorphism"},
            {"copies": True},
        ]
        for one in options:
            with pytest.raises(mf.ArgumentError, match=next(iter(one))):
                cluster.count(made, "(a)--(b)--(c)", distinct=["a"], **one)
            with pytest.raises(mf.MotifluxError, match=next(iter(one))):
                cluster.match(made, "(a)--(b)--(c)", distinct=["a"], **one)
        for query in ("(a)-[*1..2]-(b)", "(a)--(b) OPTIONAL (b)--(c)"):
            calls: list[Any] = [cluster.count, cluster.match, cluster.explain]
            for call in [partial(mf.count, data.graph()), *(partial(one, made) for one in calls)]:
                with pytest.raises(mf.ArgumentError, match=r"symmetry: .* beside distinct rows of a query"):
                    call(query, distinct=["a"], symmetry="subgraphs")
        with pytest.raises(mf.ArgumentError, match="edges"):
            cluster.match(made, "(a)--(b)--(c)", distinct=["a"], edges=True)
        monkeypatch.setattr(distinct, "COPIES", 4_000)
        with pytest.raises(mf.ClusterError, match=r"at most 1 distinct rows.*without distinct"):
            cluster.count(made, "(a)--(b)--(c)", distinct=["a"])
        with pytest.raises(mf.ClusterError, match="match: expected at most 1 distinct rows"):
            cluster.match(made, "(a)--(b)--(c)", distinct=["a"]).to_numpy()


DISTINCT = [
    "(a)--(b)--(c) RETURN DISTINCT c, a",
    "(a:1)-[*1..3]-(b) RETURN DISTINCT b",
    "(a)--(b) OPTIONAL (b)-[:0]-(c:1) RETURN DISTINCT a, c",  # c may be missing
    "(a)--(b)--(c) WHERE a.x = 1 OR NOT (a)-[:0]-(c) RETURN DISTINCT b, a",
]


@pytest.mark.turns(4)
@pytest.mark.parametrize("query", DISTINCT)
@settings(max_examples=3)
@given(
    seed=st.integers(0, 10**6),
    directed=st.booleans(),
    semantics=st.sampled_from(["isomorphism", "homomorphism"]),
    names=st.booleans(),
)
def test_distinct_rows_are_those_of_the_whole_graph(
    query: str, seed: int, directed: bool, semantics: Any, names: bool
) -> None:
    data = random_data(seed, directed=directed)
    graph = data.graph()
    options: dict[str, Any] = {"semantics": semantics, "names": names}
    with sharding() as (cluster, name):
        made = data.shard(cluster, Path(name))
        here, there = partial(mf.match, graph), partial(cluster.match, made)
        expected = here(query, **options).to_arrow()
        found = there(query, batch_rows=3, **options)
        table = found.to_arrow()
        assert table.schema.equals(expected.schema, check_metadata=True)
        assert (rows_of(table), found.complete) == (rows_of(expected), True)
        array, whole = (call(query, **options).to_numpy() for call in (there, here))
        assert (array.dtype, array.shape) == (whole.dtype, whole.shape)
        assert Counter(map(str, array.tolist())) == Counter(map(str, whole.tolist()))
        output, queries = Path(name) / "rows", [query, "(a)--(b)", query]
        written = there(queries, output=output, job="mine", **options)
        for at in (0, 2):
            assert rows_of(pq.read_table(output / f"pattern-00{at}")) == rows_of(expected)
        assert [one.rows for one in written] == mf.count(graph, queries, semantics=semantics)
        again = there(queries, output=output, job="mine", **options)
        assert [(one.rows, one.complete) for one in again] == [(one.rows, True) for one in written]
        assert all(one.resumed > 0 for one in again)


def test_limits_and_lost_tasks_of_distinct_rows(ray: InlineRay, tmp_path: Path) -> None:
    data, query = random_data(7, directed=False), "(a)--(b)--(c) RETURN DISTINCT a, c"
    whole = rows_of(mf.match(data.graph(), query).to_arrow())
    total = whole.total()
    reports: list[mf.ProgressReport] = []
    with mf.Cluster() as cluster:
        made = data.shard(cluster, tmp_path)
        ray.loses = 0.05
        for limit in (0, 1, total, total + 1):
            listed = cluster.match(made, query, limit=limit)
            found = rows_of(listed.to_arrow())
            assert found <= whole
            assert (found.total(), listed.complete) == (min(limit, total), limit >= total)
        late = cluster.match(made, query, timeout=0.0)
        assert rows_of(late.to_arrow()) <= whole
        assert not late.complete
        with cluster.match(made, query, batch_rows=2) as matches:
            next(iter(matches))
        assert matches.complete is False
        cluster.match(made, query, progress=reports.append).to_numpy()
        assert (reports[-1].done, reports[-1].found) == (reports[-1].total, total)


HAVING = [
    "(a)--(b)--(c) RETURN DISTINCT a HAVING count(b) >= 3",
    "(a)--(b)--(c) RETURN DISTINCT c, a HAVING count(b) = 1",
    "(a)--(b)--(c)--(d) RETURN DISTINCT b HAVING count(a, d) < 9 AND count(c) >= 2",
    "(a)--(b)--(c) RETURN DISTINCT b HAVING 2 <= count(a) <= 4 AND count(*) <> 6",
    "(a)--(b)--(c)--(d) RETURN DISTINCT d HAVING count(a) > 2 AND count(b) <= 5 AND count(a, b) > 3",
    "(a:1)-[*1..3]-(b) RETURN DISTINCT b HAVING count(a) >= 2",
    "(a)--(b) OPTIONAL (b)-[:0]-(c:1) RETURN DISTINCT a HAVING count(c) < 2",  # c may be missing
    "(a)--(b) OPTIONAL (b)-[:0]-(c:1) RETURN DISTINCT c, a HAVING count(b) = 1",
    "(a)--(b) OPTIONAL (b)-[:0]-(c:1) RETURN DISTINCT b HAVING count(a, c) = 0 AND count(a) >= 1",
    "(a)--(b)--(c) WHERE a.x = 1 OR NOT (a)-[:0]-(c) RETURN DISTINCT b HAVING count(a, c) >= 4",
    "(a)--(b) RETURN DISTINCT a HAVING count(b) >= 0",
    "(a)--(b) RETURN DISTINCT a HAVING count(b) < 1",
]


@pytest.mark.turns(4)
@pytest.mark.parametrize("query", HAVING)
@settings(max_examples=3)
@given(
    seed=st.integers(0, 10**6),
    directed=st.booleans(),
    semantics=st.sampled_from(["isomorphism", "homomorphism"]),
    loses=st.sampled_from([0.0, 0.05]),
)
def test_thresholds_hold_for_the_rows_of_the_whole_graph(
    query: str, seed: int, directed: bool, semantics: Any, loses: float
) -> None:
    data = random_data(seed, directed=directed)
    graph = data.graph()
    options: dict[str, Any] = {"semantics": semantics, "names": True}
    expected = mf.match(graph, query, **options).to_arrow()
    with sharding() as (cluster, name), pytest.MonkeyPatch.context() as patch:
        made = data.shard(cluster, Path(name))
        patch.setattr(sys.modules["ray"], "loses", loses)
        patch.setattr(distinct, "_MERGED", 30)
        found = cluster.match(made, query, batch_rows=3, **options)
        table = found.to_arrow()
        assert table.schema.equals(expected.schema, check_metadata=True)
        assert (rows_of(table), found.complete) == (rows_of(expected), True)
        number = cluster.count(made, query, semantics=semantics)
        assert (number, number.complete) == (len(expected), True)
        written = cluster.match(made, query, output=Path(name) / "rows", job="mine", **options)
        assert rows_of(pq.read_table(Path(name) / "rows")) == rows_of(expected)
        assert (written.rows, written.complete) == (len(expected), True)
        every = query[: query.index(" HAVING")]
        with pytest.raises(mf.MotifluxError, match="distinct"):
            cluster.match(made, every, output=Path(name) / "rows", job="mine", **options)


def sleeping_before(task: int) -> Callable[[], None]:
    """Return a function that sleeps at the call of this number."""
    numbers = itertools.count()
    return lambda: time.sleep(0.3 if next(numbers) == task else 0.0)


@pytest.mark.parametrize("having", ["count(b) >= 3", "count(b) < 3", "count(b) <> 2"])
def test_what_was_found_of_thresholds_holds(ray: InlineRay, tmp_path: Path, having: str) -> None:
    data = random_data(7, directed=False, most=20)
    asked: dict[str, Any] = {"distinct": ["a"], "having": having}
    paths = "(a)--(b)--(c)"
    whole = rows_of(mf.match(data.graph(), paths, **asked).to_arrow())
    total = whole.total()
    reports: list[mf.ProgressReport] = []
    with mf.Cluster() as cluster:
        made = data.shard(cluster, tmp_path)
        for limit in (0, 1, total, total + 1):
            listed = cluster.match(made, paths, limit=limit, **asked)
            found = rows_of(listed.to_arrow())
            assert found <= whole
            assert (found.total(), listed.complete) == (min(limit, total), limit >= total)
            number = cluster.count(made, paths, limit=limit, **asked)
            assert (number, number.complete) == (min(limit, total), limit >= total)
        cluster.match(made, paths, progress=reports.append, **asked).to_numpy()
        assert (reports[-1].done, reports[-1].found) == (reports[-1].total, total)
        assert all(one.found <= total for one in reports)
        for ended in (1, 4, 7):
            ray.before = sleeping_before(ended)
            late = cluster.match(made, paths, timeout=0.2, **asked)
            found = rows_of(late.to_arrow())
            assert found <= whole
            assert not late.complete
            assert not found or having == "count(b) >= 3"


def test_tasks_return_no_more_images_than_decide_a_threshold(ray: InlineRay, tmp_path: Path) -> None:
    star = mf.Graph.from_edges([(0, leaf) for leaf in range(1, 60)])
    mf.write_graph(star, tmp_path / "star.npz")
    with mf.Cluster() as cluster:
        made: Any = cluster.shard([tmp_path / "star.npz"], tmp_path / "g", shards=2, memory=100_000)
        kept: list[int] = []
        returned: list[int] = []
        with pytest.MonkeyPatch.context() as patch:
            merge, take = distinct._Kept.merge, distinct._Distinct.take

            def noting(self: Any) -> None:
                merge(self)
                kept.append(max(map(len, self._kept)))

            def taking(self: Any, order: Any, done: Any) -> None:
                (images,) = done.value
                returned.append(int((images[:, 0] == 0).sum()))  # of the hub
                take(self, order, done)

            patch.setattr(distinct._Kept, "merge", noting)
            patch.setattr(distinct._Distinct, "take", taking)
            for having, most in {
                "count(b) >= 5": 5,
                "count(b) = 5": 6,
                "count(b) < 5": 5,
                "count(b) <= 8 AND count(b) > 3": 9,
            }.items():
                kept.clear()
                returned.clear()
                found = cluster.count(made, "(a)--(b)", distinct=["a"], having=having)
                assert found == mf.count(star, "(a)--(b)", distinct=["a"], having=having)
                assert max(kept) == 59 + most  # of leaves, the hub
                assert 0 < max(returned) <= most


def test_images_that_do_not_fit_are_an_error(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = random_data(7, directed=False)
    asked: dict[str, Any] = {"distinct": ["a"], "having": "count(b) >= 2"}
    with mf.Cluster() as cluster:
        made = data.shard(cluster, tmp_path)
        monkeypatch.setattr(distinct, "COPIES", 4_000)
        with pytest.raises(mf.ClusterError, match=r"at most 25 bytes .*smaller numbers, or list all rows"):
            cluster.count(made, "(a)--(b)--(c)", **asked)
        with pytest.raises(mf.ClusterError, match="match: expected at most 25 bytes"):
            cluster.match(made, "(a)--(b)--(c)", output=tmp_path / "rows", **asked)


def test_the_images_of_all_thresholds_have_to_fit(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    star = mf.Graph.from_edges([(0, leaf) for leaf in range(1, 60)])
    mf.write_graph(star, tmp_path / "star.npz")
    monkeypatch.setattr(distinct, "COPIES", 50)
    with mf.Cluster() as cluster:
        made: Any = cluster.shard([tmp_path / "star.npz"], tmp_path / "g", shards=2, memory=100_000)
        for having in ("count(b) >= 1", "count(c) >= 1"):  # an image of each of 59 leaves, of 24 bytes
            assert cluster.count(made, "(a)--(b)--(c)", distinct=["a"], having=having) == 59
        with pytest.raises(mf.ClusterError, match="at most 2,000 bytes"):
            cluster.count(made, "(a)--(b)--(c)", distinct=["a"], having=["count(b) >= 1", "count(c) >= 1"])


def different(images: list[dict[str, int]], *names: str) -> int:
    return len({tuple(one[name] for name in names) for one in images if all(name in one for name in names)})


THRESHOLDS: dict[str, Callable[[list[dict[str, int]]], bool]] = {
    "count(c) >= 2": lambda images: different(images, "c") >= 2,
    "count(c) = 2 AND count(d) < 3": lambda images: (
        different(images, "c") == 2 and different(images, "d") < 3
    ),
    "count(c, d) <> 3": lambda images: different(images, "c", "d") != 3,
    "1 <= count(d) <= 2": lambda images: 1 <= different(images, "d") <= 2,
    "count(d) > 0 AND count(c) <= 3": lambda images: (
        different(images, "d") > 0 and different(images, "c") <= 3
    ),
    "count(c) <= 2 AND count(c) >= 1": lambda images: 1 <= different(images, "c") <= 2,
    "count(d) < 1": lambda images: different(images, "d") < 1,
    "count(d) > 1 AND count(c) >= 1": lambda images: (
        different(images, "d") > 1 and different(images, "c") >= 1
    ),
}
LASTING = ["count(c) >= 2", "count(d) > 1 AND count(c) >= 1"]
"""Those that hold with more images, too."""


@pytest.mark.parametrize("having", THRESHOLDS)
@given(
    rows=st.lists(st.tuples(*2 * [st.integers(0, 1)], *2 * [st.integers(0, 3)]), max_size=40),
    parts=st.integers(1, 5),
    missing=st.booleans(),
)
def test_tables_of_parts_are_joined_to_that_of_all(
    having: str, rows: list[tuple[int, ...]], parts: int, missing: bool
) -> None:
    holds = THRESHOLDS[having]
    pattern = mf.Pattern.parse("(a)--(b)--(c)--(d)")
    projection = projection_of(pattern, ["b", "a"], having)
    assert projection is not None
    tables, array = tables_of(projection), np.array(rows, np.int64).reshape(-1, 4)
    vertices = [(0, 1, 2, 3), (0, 1, 2, None) if missing else (0, 1, 2, 3)]
    pieces = [
        [table.images(piece, vertices[at % 2]) for at, piece in enumerate(np.array_split(array, parts))]
        for table in tables
    ]
    joined = [table.joined(some) for table, some in zip(tables, pieces, strict=True)]
    found = held(projection, tables, joined, complete=True)
    early = held(projection, tables, joined, complete=False)
    assert early.tolist() == (found.tolist() if having in LASTING else [])
    images: dict[tuple[int, int], list[dict[str, int]]] = {}
    for at, piece in enumerate(np.array_split(array, parts)):
        for a, b, c, d in piece.tolist():
            there = {"c": c} if vertices[at % 2][3] is None else {"c": c, "d": d}
            images.setdefault((b, a), []).append(there)
    expected = [row for row, some in images.items() if holds(some)]
    assert sorted(map(tuple, found[:, :2].tolist())) == sorted(expected)


def test_explain_tells_the_listing_and_the_room_of_a_row(ray: InlineRay, tmp_path: Path) -> None:
    data, paths = random_data(7, directed=False), "(a)--(b)--(c)"
    graph = data.graph()
    kept = "the different ones are kept where the call is made, at most"
    with mf.Cluster() as cluster:
        made = data.shard(cluster, tmp_path)
        before = len(ray.names)
        told = cluster.explain(made, paths, distinct=["c", "a"], limit=1)
        assert len(ray.names) == before  # no task ran
        assert f"rows      distinct c, a; {kept} 144 B each" in told
        assert "for 4 tasks at a time; all rows are listed" in told
        assert all(level in told for level in ("reads ", "memory", "level"))
        assert told.to_dict()["rows"]["nbytes"] == 144
        assert told.report.tail == ()  # it counts no last levels
        assert told.report.predicted is not None
        whole = mf.count(graph, paths)
        assert told.report.predicted.count == pytest.approx(float(whole), rel=0.5)  # not of the limit
        for query in (f"{paths} RETURN DISTINCT a HAVING count(b) >= 5 AND count(b, c) = 2", HAVING[2]):
            told = cluster.explain(made, query, analyze=True)
            assert told.report.actual is not None
            assert told.report.actual.count == mf.count(graph, query)
        of_rows = cluster.explain(made, f"{paths} RETURN DISTINCT a HAVING count(b) >= 5 AND count(b, c) = 2")
        assert f"distinct a having count(b) >= 5 and count(b, c) = 2; {kept} 1.27 KiB each" in of_rows
        query = "(a)--(b) OPTIONAL (b)-[:0]-(c:1) RETURN DISTINCT a, c HAVING count(b) > 1"
        several = cluster.explain(made, query, analyze=True)
        assert isinstance(several, mf.QueryExplanation)
        assert several.startswith("query     (a)--(b) OPTIONAL (b)-[:0]-(c:1) RETURN DISTINCT a, c")
        assert f"; all rows are listed\n  rows    {kept} 384 B each" in several
        assert len(several.parts) == 3
        assert all(one.report.rows is not None and one.report.actual is not None for one in several.parts)
        some = cluster.explain(made, "(a)--(b) OPTIONAL (b)--(c) RETURN DISTINCT c")
        assert "\nrows      distinct no vertices; " in some  # of the pattern without c
        nothing = cluster.explain(made, "(a:9)--(b)", distinct=["a"], analyze=True)
        assert nothing.report.actual is not None
        assert nothing.report.actual.count == 0
        told = cluster.explain(made, paths, distinct=["a", "c"], symmetry="subgraphs", analyze=True)
        assert "one kept of those that automorphisms turn into each other" in told
        assert "\nsearch    isomorphism, subgraphs\n" in told
        assert told.report.symmetry == "subgraphs"
        assert f"predicted about {whole} embeddings" in told  # of the listing
        assert told.report.actual is not None
        assert told.report.actual.count == mf.count(graph, paths, distinct=["a", "c"], symmetry="subgraphs")
        with pytest.raises(mf.ArgumentError, match="pattern: expected one pattern"):
            cluster.explain(made, [paths, paths], distinct=["a"])  # type: ignore[arg-type]


SUBGRAPHS: list[tuple[str, list[str], str | None]] = [
    ("(a)--(b)--(c)", ["a", "c"], None),
    ("(a)--(b)--(c)", ["b"], "count(a) >= 3"),
    ("(a)--(b)--(c)", ["c", "a"], "count(b) = 1"),
    ("(a)--(b)--(c)--(a)", ["b", "a"], "count(c) < 3"),
    ("(a)--(b), (a)--(c), (a)--(d)", ["d", "b", "c"], None),
    ("(a)--(b), (a)--(c), (a)--(d)", ["a", "d"], "count(b, c) > 2"),
    ("(a)--(b)--(c)--(d)--(a)", ["a", "c"], "count(b) >= 2 AND count(d) >= 2"),
    ("(a)--(b)--(c)--(d)--(a)", ["a", "c"], "count(b) >= 2"),
    ("(a)--(b)--(c)--(d)", ["b", "c"], "count(a) >= 2 AND count(d) >= 2"),
    ("(a:1)--(b)--(c:1)", ["a", "c"], None),
    ("(a)--(b)--(c) WHERE NOT (a)--(c)", ["a", "c"], None),
    ("(a)--(b)--(c) WHERE a.x < c.x", ["a", "c"], None),  # no automorphism but one
]


@pytest.mark.turns(4)
@pytest.mark.parametrize(("pattern", "returned", "having"), SUBGRAPHS)
@settings(max_examples=3)
@given(
    seed=st.integers(0, 10**6), directed=st.booleans(), semantics=st.sampled_from(["isomorphism", "induced"])
)
def test_rows_that_automorphisms_turn_into_each_other_are_one(
    pattern: str, returned: list[str], having: str | None, seed: int, directed: bool, semantics: Any
) -> None:
    data = random_data(seed, directed=directed)
    options: dict[str, Any] = {"distinct": returned, "having": having, "semantics": semantics}
    subgraphs: dict[str, Any] = {**options, "symmetry": "subgraphs"}
    parsed = mf.Pattern.parse(pattern)
    projection = projection_of(parsed, returned, having)
    assert projection is not None
    group = automorphisms(parsed, directed=directed, colors=projection.colors(parsed.num_vertices))
    places = [
        [projection.returned.index(image[vertex]) for vertex in projection.returned]
        for image in group.elements()
    ]

    def first_images(table: Any) -> list[tuple[int, ...]]:
        rows = rows_of(table).elements()
        return sorted(min(tuple(row[at] for at in image) for image in places) for row in rows)

    here = mf.match(data.graph(), pattern, **subgraphs).to_arrow()
    every = rows_of(mf.match(data.graph(), pattern, **options).to_arrow())
    with sharding() as (cluster, name):
        made = data.shard(cluster, Path(name))
        found = cluster.match(made, pattern, **subgraphs)
        table = found.to_arrow()
        assert set(rows_of(table)) <= set(every)
        assert first_images(table) == first_images(here)
        assert (cluster.count(made, pattern, **subgraphs), found.complete) == (len(here), True)
        cluster.match(made, pattern, output=Path(name) / "rows", **subgraphs)
        assert rows_of(pq.read_table(Path(name) / "rows")) == rows_of(table)
