"""Conditions on edges mean in sharded graphs what they mean in whole ones (tasks: `tests.inline_ray`)."""

from __future__ import annotations

import gc
import os
import random
import threading
import tracemalloc
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.cluster.shards import conditions, judged_sets, judging, search, server, sharded
from motiflux.cluster.shards.copies import EdgeCopies
from motiflux.cluster.shards.rows import RowArrays
from motiflux.conditions import Comparison, Operator
from motiflux.graph import Column
from motiflux.request.deadline import Deadline, OutOfTimeError
from tests.inline_ray import InlineRay, replace_ray
from tests.sharded import sharded as shards_of
from tests.unit.cli_run import motiflux, only_json
from tests.unit.test_sharded_calls import rows_in
from tests.unit.test_sharded_edges import at_edges

CONDITIONS = [
    "{x}.amount > 2",
    "NOT {x}.amount = 1",
    "{x}.amount IS NULL",
    "{x}.tag IN ['x', 'z']",
    "{x}.tag STARTS WITH 'y' OR {x}.amount < 2",
    "{x}.share >= 0.5",
    "{x}.day >= '2024-03-01'",
]
PATTERNS = [f"(a)-[x]-(b)--(c) WHERE {one.format(x='x')}" for one in CONDITIONS] + [
    "(a)-[x]-(b)-[y]-(c)--(a) WHERE x.amount > 2 AND y.amount > 2",
    "(a)-[x]-(b)-[y]-(c)--(a) WHERE x.amount > 2 AND y.tag = 'x'",
    "(a)-[x:1]-(b)-[y]-(c)--(d)--(a) WHERE x.amount < 4 AND a.age > 1",
    "(a)--(b)--(c) WHERE NOT (a)-[{tag: 'x'}]-(c)",
    "(a)--(b)--(c) WHERE NOT (a)-[{amount: 3}]-(:0)",
    "(a:0)-[x]-(b), (a)-[y]-(c), (a)--(d) WHERE x.amount = 3 AND y.amount = 3",
]


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> InlineRay:
    monkeypatch.setattr(search, "_FIRST", 16)
    monkeypatch.setattr(sharded, "_HOT", 50)  # the rows of one or two vertices
    monkeypatch.setattr(judging, "_AT_ONCE", 7)
    monkeypatch.setattr(os, "fsync", lambda file: None)
    return replace_ray(monkeypatch, nodes=2)


def write_files(folder: Path, seed: int, *, directed: bool) -> tuple[list[Path], Path, mf.Graph]:
    """Write a graph, whose edges have copies with attributes, into files; return it, too."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    draws = random.Random(seed)
    number = 16
    pairs = [(u, v) for u in range(number) for v in range(number) if u != v and draws.random() < 0.2]
    pairs += [(0, v) for v in range(1, number)]
    pairs += draws.sample(pairs, len(pairs) // 3)
    columns: dict[str, Any] = {
        "kind": [draws.randrange(2) for _ in pairs],
        "amount": [draws.choice([None, *range(6)]) for _ in pairs],
        "tag": [draws.choice([None, "x", "yy", "z"]) for _ in pairs],
        "share": [draws.random() for _ in pairs],
        "day": np.array([draws.choice(["2024-01-01", "2024-05-01"]) for _ in pairs], "M8[s]"),
    }
    labels = [draws.randrange(2) for _ in range(number)]
    ages = [draws.randrange(4) for _ in range(number)]
    names = [f"n{7 * vertex % 5}" for vertex in range(number)]
    graph = mf.Graph.from_edges(
        pairs,
        directed=directed,
        vertex_ids=range(number),
        vertex_labels=labels,
        edge_labels=columns["kind"],
        vertex_attributes={"age": ages, "name": names},
        edge_attributes={name: columns[name] for name in ("amount", "tag", "share", "day")},
    )
    ends = {"from": [u for u, _ in pairs], "to": [v for _, v in pairs]}
    table = pa.table({**ends, **{name: pa.array(column) for name, column in columns.items()}})
    paths = [folder / f"edges-{part}.parquet" for part in range(3)]
    for part, path in enumerate(paths):
        pq.write_table(table.take(list(range(part, len(pairs), 3))), path)
    vertices = folder / "vertices.csv"
    columns_of = zip(range(number), labels, ages, names, strict=True)
    vertices.write_text("id,label,age,name\n" + "".join(f"{v},{of},{a},{n}\n" for v, of, a, n in columns_of))
    return paths, vertices, graph


NAMES = {"src": "from", "dst": "to", "label": "kind"}


@pytest.mark.turns(8)
@pytest.mark.parametrize("directed", [False, True])
def test_calls_with_conditions_on_edges_are_those_of_the_whole_graph(
    ray: InlineRay, tmp_path: Path, directed: bool
) -> None:
    paths, vertices, graph = write_files(tmp_path, 1, directed=directed)
    patterns = [one.replace("]-(c)", "]->(c)") if directed and "NOT" in one else one for one in PATTERNS]
    if directed:
        patterns = [one.replace("]-(:0)", "]->(:0)") for one in patterns]
        patterns += ["(a)-[x]->(b)-[y]->(c)-->(a) WHERE x.amount > 1 AND y.amount > 1"]
    with mf.Cluster() as cluster:
        made = cluster.shard(
            paths, tmp_path / "g", directed=directed, attributes=None, vertices=vertices, shards=3, **NAMES
        )
        assert made.edge_attributes == graph.edge_attributes.kinds()
        again = cluster.open_sharded(tmp_path / "g", memory=40_000)
        ray.loses = 0.03
        expected = mf.count(graph, patterns)
        assert cluster.count(made, patterns) == expected
        assert cluster.count(again, patterns) == expected
        assert sum(one > 0 for one in expected) > 10
        induced = {"semantics": "induced", "symmetry": "subgraphs"}
        assert cluster.count(made, patterns[7], **induced) == mf.count(graph, patterns[7], **induced)  # type: ignore[call-overload]
        for at, pattern in enumerate(patterns[6:10]):
            rows = Counter(map(tuple, mf.match(graph, pattern).to_numpy().tolist()))
            assert Counter(map(tuple, cluster.match(again, pattern).to_numpy().tolist())) == rows
            cluster.match(made, pattern, output=tmp_path / f"rows-{at}")
            assert rows_in(tmp_path / f"rows-{at}") == rows
            at_vertices, local = (
                one.count_per_vertex(where, pattern) for one, where in ((cluster, made), (mf, graph))
            )
            order = local.graph.vertex_index(at_vertices.ids)
            assert np.array_equal(at_vertices.counts, local.counts[order])
            found = cluster.count_per_edge(made, pattern, symmetry="subgraphs")
            whole = mf.count_per_edge(graph, pattern, symmetry="subgraphs")
            assert at_edges(found.to_arrow(), directed) == at_edges(whole.to_arrow(), directed)
            assert cluster.estimate(made, pattern).value == rows.total()
        told = str(cluster.explain(made, patterns[10], analyze=True))
        assert "tag = 'x'" in told
        assert "allowed" not in told
        assert "where amount > 2" in str(cluster.explain(made, patterns[0]))
        assert len(list((tmp_path / "g").glob("judged-*"))) > 3
        made.close()
        again.close()
        assert not list((tmp_path / "g").glob("judged-*")), "bits of conditions are deleted"


def test_attributes_of_edges_are_those_that_were_named(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths, _, graph = write_files(tmp_path, 2, directed=True)
    with mf.Cluster() as cluster:
        without = cluster.shard(paths, tmp_path / "g", directed=True, **NAMES)
        assert (without.edge_attributes, without.num_edges) == ({}, graph.num_edges)
        named = cluster.shard(paths, tmp_path / "h", directed=True, attributes=["tag"], **NAMES)
        assert dict(named.edge_attributes) == {"tag": "strings"}
        assert cluster.count(named, "(a)-[x]->(b) WHERE x.tag = 'yy'") == mf.count(
            graph, "(a)-[x]->(b) WHERE x.tag = 'yy'"
        )
        for made, pattern in [
            (without, "(a)-[x]->(b) WHERE x.tag = 'yy'"),
            (named, "(a)-[x]->(b) WHERE x.amount > 2"),
            (named, "(a)-[x]->(b) WHERE x.tag > 2"),
        ]:
            with pytest.raises(mf.PatternError, match=r"edge attribute|tag"):
                cluster.count(made, pattern)
        asked = " AND ".join(f"x{at}.tag = '{at}'" for at in range(9))
        long = "".join(f"-[x{at}]->(v{at})" for at in range(9))
        with pytest.raises(mf.PatternError, match="at most 8 different conditions on edges"):
            cluster.count(named, f"(a){long} WHERE {asked}")
        compared = "(a)-[x]->(b)-[y]->(c) WHERE x.tag < y.tag"
        assert cluster.count(named, compared) == mf.count(graph, compared) > 0
        with pytest.raises(mf.PatternError, match=r"edge attribute 'tag': .* \(it has none\)"):
            cluster.count(without, compared)
        monkeypatch.setattr(conditions, "MOST_KINDS", 7)
        with pytest.raises(mf.PatternError, match=r"fewer conditions on edges .* 8 kinds"):
            cluster.count(named, "(a)-[x]->(b) WHERE x.tag = 'yy'")


def test_attributes_of_a_graph_in_a_file_are_kept(ray: InlineRay, tmp_path: Path) -> None:
    _, _, graph = write_files(tmp_path, 2, directed=True)
    mf.write_graph(graph, tmp_path / "g.mfg")
    pattern = "(a)-[x]->(b)-[y]->(c) WHERE x.tag = 'yy' AND y.amount > 2"
    with mf.Cluster() as cluster:
        every = cluster.shard(tmp_path / "g.mfg", tmp_path / "g", attributes=None)
        assert every.edge_attributes == graph.edge_attributes.kinds()
        assert cluster.count(every, pattern) == mf.count(graph, pattern) > 0
        some = cluster.shard(tmp_path / "g.mfg", tmp_path / "h", attributes=["tag"])
        assert dict(some.edge_attributes) == {"tag": "strings"}
        with pytest.raises(mf.FormatError, match="expected the attribute 'size' of edges"):
            cluster.shard(tmp_path / "g.mfg", tmp_path / "i", attributes=["size"])
        with pytest.raises(mf.ArgumentError, match="a list of columns"):
            cluster.shard(tmp_path / "g.mfg", tmp_path / "j", attributes="tag")


def test_files_without_a_column_and_of_other_kinds(ray: InlineRay, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("src,dst,size\n1,2,3\n2,3,4\n1,2,9\n")
    (tmp_path / "b.csv").write_text("src,dst,size\n3,4,0.5\n2,1,1\n")
    (tmp_path / "c.csv").write_text("src,dst,size\n3,4,big\n")
    (tmp_path / "d.csv").write_text("src,dst\n4,5\n2,3\n")
    with mf.Cluster() as cluster:
        with pytest.raises(mf.GraphError, match=r"edge attribute 'size': expected values of one kind"):
            cluster.shard([tmp_path / "a.csv", tmp_path / "c.csv"], tmp_path / "g", attributes=None)
        files = [tmp_path / name for name in ("a.csv", "b.csv", "d.csv")]
        made = cluster.shard(files, tmp_path / "h", attributes=None)
        assert dict(made.edge_attributes) == {"size": "floats"}
        assert (made.num_edges, made.duplicate_edges) == (4, 3)
        counts = [
            cluster.count(made, f"(a)-[x]-(b) WHERE {one}", symmetry="subgraphs")
            for one in ("x.size < 2", "x.size > 8", "x.size IS NULL", "x.size IS NOT NULL")
        ]
        assert counts == [2, 1, 2, 3]


def test_the_command_line_keeps_attributes_of_edges(ray: InlineRay, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("src,dst,size,tag\n1,2,3,x\n2,3,4,y\n1,3,9,x\n")
    there = ("--cluster", "local", "--memory", "1MB", "--json")
    named = ("--attribute", "size", "--attribute", "tag")
    only_json(motiflux("shard", tmp_path / "e.csv", "-o", tmp_path / "g", *named, *there))
    pattern = "(a)-[x]-(b)-[y]-(c) WHERE x.size > 3 AND y.tag = 'x'"
    found = only_json(motiflux("count", tmp_path / "g", pattern, *there))
    assert found["count"] == 3, "3-2-1, 2-3-1 and 3-1-2"


@pytest.mark.parametrize(
    ("late", "where"),
    [
        ("judge", "x.amount > 2"),
        ("bits_at", "x.amount > 2"),
        ("allowed", "a.age > 1"),
        ("values", "a.age < b.age"),
        ("merge_strings", "a.name < b.name"),
    ],
)
def test_a_timeout_covers_what_servers_judge(ray: InlineRay, tmp_path: Path, late: str, where: str) -> None:
    paths, vertices, graph = write_files(tmp_path, 3, directed=False)
    pattern = f"(a)-[x]-(b)--(c) WHERE {where}"
    with mf.Cluster() as cluster:
        made = cluster.shard(paths, tmp_path / "g", attributes=None, vertices=vertices, shards=3, **NAMES)
        ray.late = {late}
        options: Any = {"timeout": 0.05}
        counts = cluster.count(made, [pattern, pattern], **options)
        assert [(int(one), one.complete) for one in counts] == [(0, False)] * 2
        for rows in (cluster.match(made, pattern, **options), cluster.sample(made, pattern, 3, **options)):
            assert (len(rows.to_numpy()), rows.complete) == (0, False)
        estimate = cluster.estimate(made, pattern, **options)
        assert (estimate.complete, estimate.high) == (False, np.inf)
        at_vertices = cluster.count_per_vertex(made, pattern, **options)
        at_edge = cluster.count_per_edge(made, pattern, **options)
        assert not at_vertices.complete
        assert not at_vertices.counts.any()
        assert (at_edge.complete, len(at_edge)) == (False, 0)
        with pytest.raises(mf.ClusterError, match="time was up before"):
            cluster.match(made, pattern, output=tmp_path / "rows", **options)
        assert not list((tmp_path / "g").glob("judged-*")) or late != "judge"
        ray.late = set()
        assert cluster.count(made, pattern) == mf.count(graph, pattern), "nothing half done is left"


def test_equal_conditions_are_judged_once_and_share_rows(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths, vertices, graph = write_files(tmp_path, 2, directed=False)
    put, judge, asked, hot = InlineRay.put, judging.judge, 0, 0

    def counted(*given: Any) -> None:
        nonlocal asked
        asked += 1
        judge(*given)

    def put_and_count(self: InlineRay, value: Any) -> Any:
        nonlocal hot
        hot += isinstance(value, RowArrays)
        return put(self, value)

    with mf.Cluster() as cluster:
        made = cluster.shard(paths, tmp_path / "g", attributes=None, vertices=vertices, shards=3, **NAMES)
        monkeypatch.setattr(server, "judge", counted)
        monkeypatch.setattr(InlineRay, "put", put_and_count)
        one, other = "x.amount > 2 AND y.tag = 'x'", "y.amount > 2 AND x.tag = 'x'"
        patterns = [f"(a)-[x]-(b)-[y]-(c) WHERE {where}" for where in (one, other)] * 5
        assert cluster.count(made, patterns) == mf.count(graph, patterns)
        assert (asked, hot) == (3, 1)
        assert len(list((tmp_path / "g").glob("judged-*"))) == 1


def test_conditions_that_no_call_uses_are_forgotten(ray: InlineRay, tmp_path: Path) -> None:
    paths, vertices, graph = write_files(tmp_path, 3, directed=False)
    with mf.Cluster() as cluster:
        made = cluster.shard(paths, tmp_path / "g", attributes=None, vertices=vertices, shards=3, **NAMES)
        pattern = "(a)-[x]-(b)--(c) WHERE x.amount > 1"
        rows = cluster.match(made, pattern, batch_rows=5)
        first = next(iter(rows))
        for least in range(2, 12):
            other = f"(a)-[x]-(b) WHERE x.amount < {least}"
            assert cluster.count(made, other) == mf.count(graph, other)
        assert len(list((tmp_path / "g").glob("judged-*"))) == judged_sets.MOST_KEPT + 1
        assert len(first) + sum(len(batch) for batch in rows) == mf.count(graph, pattern)
        del rows, first
        gc.collect()
        cluster.count(made, "(a)-[x]-(b) WHERE x.amount = 3")
        assert len(list((tmp_path / "g").glob("judged-*"))) == judged_sets.MOST_KEPT


def test_a_call_that_waits_for_one_that_fails_judges_itself(tmp_path: Path) -> None:
    sets, conditions = judged_sets.JudgedSets(), (Comparison("amount", Operator.GREATER, 2),)
    begun, go_on, never = threading.Event(), threading.Event(), Deadline.after(None)

    def fail(judged: judging.Judged) -> None:
        begun.set()
        go_on.wait(30)
        raise mf.ClusterError("a server was lost")

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(sets.judged, str(tmp_path), conditions, fail, never)
        begun.wait(30)
        second = threads.submit(sets.judged, str(tmp_path), conditions, lambda judged: None, never)
        with pytest.raises(OutOfTimeError):
            sets.judged(str(tmp_path), conditions, lambda judged: None, Deadline.after(0.01))
        go_on.set()
        with pytest.raises(mf.ClusterError, match="was lost"):
            first.result()
        found = second.result()
    assert [str(path) for path in tmp_path.iterdir()] == [found.folder]
    sets.close()
    assert not list(tmp_path.iterdir())


def test_judging_takes_no_memory_for_all_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "_AT_ONCE", 1 << 10)
    layout, _ = shards_of(mf.Graph.from_edges([(0, 1)]), 1)
    number = 1 << 22
    draws = np.random.default_rng(2)
    values = draws.integers(0, 5, number)
    kinds = draws.integers(0, 2, number).astype(np.uint8)
    rows = RowArrays(0, np.array([0, number], np.uint64), np.zeros(number, np.uint32), kinds, None)
    copies = EdgeCopies(None, {"amount": Column(values)})
    judged = judging.Judged(str(tmp_path), (Comparison("amount", Operator.GREATER, 2),))
    tracemalloc.start()
    judging.judge(judged, rows, copies, layout, 0)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    found = judged.rows(rows, layout, 0).kinds
    assert found is not None
    assert np.array_equal(found, 2 * kinds + (values > 2))
    assert most < number // 2, "a piece of the file alone"
