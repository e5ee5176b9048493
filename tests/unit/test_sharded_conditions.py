"""Conditions and ids of query vertices mean in sharded graphs what they mean in whole ones."""

from __future__ import annotations

import os
import random
import tempfile
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.cluster import jobs
from motiflux.cluster.shards import allowance, rows, search, sharded
from motiflux.cluster.shards import values as values_module
from motiflux.cluster.shards.allowance import bits_of_shard
from motiflux.cluster.shards.attributes import types_of
from motiflux.cluster.shards.conditions import narrowed
from motiflux.cluster.shards.planning import ranged
from motiflux.cluster.shards.ranks import all_attributes, merge_range, ranks_of, sampled, write_ranks
from motiflux.cluster.shards.rows import Rows
from motiflux.cluster.shards.search import RangeSearch
from motiflux.cluster.shards.values import VertexValues, compared_names, values_at
from motiflux.graph import AttributeTable, Column
from motiflux.request.deadline import Deadline
from motiflux.request.request import make_request
from tests import inline_ray
from tests.inline_ray import InlineRay, replace_ray
from tests.sharded import ids_of, last_rows
from tests.sharded import sharded as shards_of
from tests.unit.test_sharded_calls import rows_in
from tests.unit.test_sharded_graphs import COLUMNS

CONDITIONS = [
    "{v}.age > 3",
    "{v}.age <= 4",
    "NOT {v}.age = 2",
    "{v}.age IS NULL",
    "{v}.name STARTS WITH 'b'",
    "{v}.name IN ['ann', 'cy']",
    "{v}.score >= 0.5 OR {v}.age < 2",
    "{v}.when >= '2024-03-01'",
    "degree({v}) > 3",
    "NOT degree({v}) = 2",
    "id({v}) IN [1, 3, 5, 8]",
    "id({v}) = 3",
    "NOT ({v})--()",
]
COMPARISONS = [
    "{v}.age < {w}.age",
    "{v}.age >= 2 * {w}.age",
    "{v}.age = {w}.age",
    "{v}.age <> {w}.score",
    "{v}.score < {w}.score",
    "{v}.when <= {w}.when",
    "id({v}) < id({w})",
    "{v}.name < {w}.name",
    "{v}.name = {w}.name",
    "{v}.name <> {w}.nick",
    "{v}.nick >= {w}.name",
]
SHAPES = [
    "(a)--(b)",
    "(a)--(b)--(c)--(a)",
    "(a)--(b:1)--(c:0)",
    "(a:1)--(b)--(c)--(a)",
    "(a)--(b)--(c)--(d)--(a)",
    "(a)--(b), (a)--(c), (a)--(d)",
    "(a)--(b)--(c)--(d)--(a), (a)--(c), (b)--(d)",
]
DIRECTED = ["(a)-->(b)-->(c)-->(a)", "(a)-->(b)<--(c)", "(a)-[:1]->(b:1)-->(c)"]


def attributes_of(draws: random.Random, number: int) -> dict[str, Any]:
    return {
        "age": [draws.choice([None, *range(8)]) for _ in range(number)],
        "name": [draws.choice([None, "ann", "bob", "bea", "cy"]) for _ in range(number)],
        "nick": [draws.choice([None, "", "ann", "b", "zoë", "\U0001f600", "\uffff"]) for _ in range(number)],
        "score": [draws.random() for _ in range(number)],
        "when": np.array([draws.choice(["2024-01-01", "2024-05-01", "NaT"]) for _ in range(number)], "M8[s]"),
    }


def random_graph(seed: int, *, directed: bool) -> mf.Graph:
    draws = random.Random(seed)
    number = draws.randrange(4, 26)
    share = draws.choice([0.1, 0.3, 0.6])
    pairs = [(u, v) for u in range(number) for v in range(number) if u != v and draws.random() < share]
    pairs += [(0, v) for v in range(1, number)]
    return mf.Graph.from_edges(
        pairs,
        directed=directed,
        vertex_ids=range(number),
        vertex_labels=[draws.randrange(2) for _ in range(number)],
        edge_labels=[draws.randrange(2) for _ in pairs],
        vertex_attributes=attributes_of(draws, number),
    )


def random_pattern(seed: int, *, directed: bool) -> str:
    draws = random.Random(seed)
    shape = draws.choice(SHAPES + DIRECTED if directed else SHAPES)
    names = [name for name in "abcd" if f"({name}" in shape]
    asked = [
        draws.choice(CONDITIONS).format(v=draws.choice(names)) for _ in range(draws.choice([1, 1, 2, 3]))
    ]
    for _ in range(draws.choice([0, 0, 1, 2])):
        v, w = draws.sample(names, 2)
        asked.append(draws.choice(COMPARISONS).format(v=v, w=w))
    if directed:
        asked += draws.choice([[], ["degree(a, out) > 1"], ["NOT (a)<-[:1]-(:0)"]])
        asked = [one.replace(")--()", ")-->()") for one in asked]
    return f"{shape} WHERE {' AND '.join(f'({one})' for one in asked)}"


def as_sharded(graph: mf.Graph, shards: int, folder: str = "") -> tuple[Any, list[Any]]:
    """Return a sharded graph as `narrowed` takes it, whose servers are in this process, and its rows."""
    layout, parts = shards_of(graph, shards)
    layout = replace(layout, attributes=types_of(graph.vertex_attributes))
    ids = ids_of(graph, layout).all()
    place = {one: at for at, one in enumerate(np.asarray(graph.vertex_ids).tolist())}
    internal = np.array([place[one] for one in ids.tolist()])
    servers: list[Any] = []
    tables = []
    spans = zip(parts, layout.starts[:-1], layout.starts[1:], strict=True)
    for number, (rows_of_shard, first, last) in enumerate(spans):
        columns = dict(graph.vertex_attributes.take(internal[first:last]))
        for name, column in columns.items():
            if column.strings is not None:
                codes, strings = column.strings.used(column.data)
                columns[name] = Column(codes, column.mask, strings)
        tables.append(AttributeTable("vertex", columns))

        def allowed(
            wanted: Any,
            judged: Any,
            rows: Any = rows_of_shard,
            own: Any = ids[first:last],
            columns: Any = tables[-1],
        ) -> Any:
            return [bits_of_shard(one, rows, own, columns, layout) for one in wanted]

        def values(
            names: Any,
            places: Any,
            own: Any = ids[first:last],
            columns: Any = tables[-1],
            number: int = number,
        ) -> list[Any]:
            return values_at(names, own, columns, places, partial(ranks_of, folder, layout, number))

        def sample_strings(among: Any, most: int, columns: Any = tables[-1]) -> Any:
            return sampled(all_attributes(columns, {}), among, most)

        def merge_strings(*given: Any) -> int:
            return merge_range([all_attributes(one, {}) for one in tables], *given)

        def write(
            among: Any, where: str, before: Any, columns: Any = tables[-1], number: int = number
        ) -> None:
            write_ranks(all_attributes(columns, {}), among, where, number, before)

        methods = {"allowed": allowed, "values": values, "sample_strings": sample_strings}
        methods |= {"merge_strings": merge_strings, "write_ranks": write}
        servers.append(
            SimpleNamespace(**{name: SimpleNamespace(remote=method) for name, method in methods.items()})
        )
    numbers = np.empty(len(ids), np.int64)
    numbers[internal] = np.arange(len(ids))
    sketch = replace(graph, vertex_ids=numbers, vertex_attributes=AttributeTable("vertex"))
    return (
        SimpleNamespace(
            layout=layout,
            sketch=sketch,
            num_vertices=layout.num_vertices,
            folder=folder,
            memory=400,
            served=lambda: SimpleNamespace(layout=layout, actors=servers),
            ray=SimpleNamespace(get=lambda value, timeout: value, exceptions=inline_ray),
        ),
        parts,
    )


@pytest.mark.turns(4)
@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    directed=st.booleans(),
    semantics=st.sampled_from(["isomorphism", "induced", "homomorphism"]),
    symmetry=st.sampled_from(["embeddings", "subgraphs"]),
    shards=st.integers(1, 4),
    hot=st.sampled_from([0, 3, 30]),
    memory=st.sampled_from([6_000, 12_000, 1 << 20]),
    cut=st.floats(0, 1),
)
def test_counts_are_those_of_the_whole_graph(
    seed: int,
    directed: bool,
    semantics: Any,
    symmetry: Any,
    shards: int,
    hot: int,
    memory: int,
    cut: float,
) -> None:
    if (semantics, symmetry) == ("homomorphism", "subgraphs"):
        symmetry = "embeddings"
    graph, pattern = random_graph(seed, directed=directed), random_pattern(seed, directed=directed)
    expected = mf.count(graph, pattern, semantics=semantics, symmetry=symmetry)
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        made, parts = as_sharded(graph, shards, folder)
        patch.setattr(os, "fsync", lambda file: None)
        patch.setattr(rows, "_LEAST_PIECE", 8)
        patch.setattr(search, "_LEAST", 0)
        patch.setattr(allowance, "_AT_ONCE", 8)
        patch.setattr(values_module, "_AT_ONCE", 5)
        subject = narrowed(made, mf.Pattern.parse(pattern), Deadline.after(None))
        request = make_request(threads=1, semantics=semantics, symmetry=symmetry)
        planned = ranged(
            subject.sketch, subject.pattern, request, Deadline.after(None), allowed=subject.allowed
        )
        assert planned is not None
        found = 0
        if planned.plan.impossible is None:
            near = [True] + [False] * (shards - 1)
            entries = made.layout.entries
            of_rows = Rows(made.layout, parts, near, last_rows(graph, hot), memory // search.SHARE_OF_ROWS)
            names = compared_names(planned.plan)
            asks = [
                lambda places, one=one: lambda: one.values.remote(names, places)
                for one in made.served().actors
            ]
            values = VertexValues(made.layout, names, asks) if names else None
            searched = RangeSearch(of_rows, planned, memory, 1, values=values)
            for first, last in ((0, int(cut * entries)), (int(cut * entries), entries)):
                found += searched.each(first, last, None, None, searched.counted).total
    assert found * planned.plan.multiplier == expected


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> InlineRay:
    monkeypatch.setattr(search, "_FIRST", 16)
    monkeypatch.setattr(sharded, "_HOT", 200)
    monkeypatch.setattr(os, "fsync", lambda file: None)
    monkeypatch.setattr(jobs, "_MANIFEST_SECONDS", 0.0)
    return replace_ray(monkeypatch, nodes=2)


def write_files(folder: Path, seed: int, *, directed: bool) -> tuple[list[Path], list[Path], mf.Graph]:
    """Write a graph into files of edges and, with attributes, of vertices; return the graph as well."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    graph = random_graph(seed, directed=directed)
    edges = graph.to_edges()
    paths, tables = [folder / "a.csv", folder / "b.csv"], [folder / "v.parquet", folder / "w.csv"]
    assert edges.labels is not None
    for part, path in enumerate(paths):
        own = zip(*(one[part::2].tolist() for one in (edges.src, edges.dst, edges.labels)), strict=True)
        path.write_text("from,to,kind\n" + "".join(f"{u},{v},{kind}\n" for u, v, kind in own))
    ids = np.asarray(graph.vertex_ids).tolist()
    labels = graph.vertex_labels
    assert labels is not None
    columns = {"id": ids, "label": labels.astype(np.int64).tolist()}
    columns |= {name: column.to_list() for name, column in graph.vertex_attributes.items()}
    half = len(ids) // 2
    pq.write_table(pa.table({name: pa.array(column[:half]) for name, column in columns.items()}), tables[0])
    lines = [",".join(columns)]
    for row in zip(*(column[half:] for column in columns.values()), strict=True):
        lines.append(",".join("" if one is None else str(one).replace(" ", "T") for one in row))
    tables[1].write_text("\n".join(lines) + "\n")
    return paths, tables, graph


@pytest.mark.turns(6)
@pytest.mark.parametrize("directed", [False, True])
def test_calls_with_conditions_are_those_of_a_graph_read_from_the_same_files(
    ray: InlineRay, tmp_path: Path, directed: bool
) -> None:
    paths, tables, graph = write_files(tmp_path, 3, directed=directed)
    patterns = [random_pattern(seed, directed=directed) for seed in range(14)]
    patterns += [f"(a)--(b)--(c) WHERE {one.format(v='b')}" for one in CONDITIONS if "()" not in one]
    patterns += [
        "(a)--(b)--(c)--(a) WHERE a.age > 2 AND b.age > 2 AND c.age > 2",
        "(a)--(b) WHERE id(a) = 99",
    ]
    compared = [f"(a)--(b)--(c) WHERE {one.format(v='a', w='c')}" for one in COMPARISONS]
    with mf.Cluster() as cluster:
        made = cluster.shard(
            paths, tmp_path / "g", directed=directed, vertices=tables, memory=30_000, shards=3, **COLUMNS
        )
        assert made.vertex_attributes == graph.vertex_attributes.kinds()
        ray.loses = 0.03
        assert cluster.count(made, patterns) == mf.count(graph, patterns)
        assert cluster.count(made, compared) == mf.count(graph, compared)
        for at, pattern in enumerate([*patterns[:6], compared[0], compared[-1]]):
            expected = Counter(map(tuple, mf.match(graph, pattern).to_numpy().tolist()))
            assert Counter(map(tuple, cluster.match(made, pattern).to_numpy().tolist())) == expected
            cluster.match(made, pattern, output=tmp_path / f"rows-{at}", job="mine")
            assert rows_in(tmp_path / f"rows-{at}") == expected
            found, local = (
                one.count_per_vertex(where, pattern) for one, where in ((cluster, made), (mf, graph))
            )
            counts = dict(zip(found.ids.tolist(), found.counts.tolist(), strict=True))
            assert counts == dict(zip(local.ids.tolist(), local.counts.tolist(), strict=True))
            assert cluster.estimate(made, pattern).value == mf.count(graph, pattern)
        told = cluster.explain(made, "(a)--(b) WHERE a.age > 3 AND id(b) = 4", analyze=True)
        assert "age > 3" in told
        assert "id 4" in told
        again = cluster.open_sharded(tmp_path / "g", memory=100_000)
        assert cluster.count(again, patterns[0]) == mf.count(graph, patterns[0])


def test_negated_edges_of_labels_that_are_not_there_break_symmetry(ray: InlineRay, tmp_path: Path) -> None:
    paths, tables, graph = write_files(tmp_path, 3, directed=False)
    with mf.Cluster() as cluster:
        made = cluster.shard(paths, tmp_path / "g", vertices=tables, memory=100_000, **COLUMNS)
        for negated in (
            "NOT (a)--(:9)",
            "NOT (a)-[:9]-() AND NOT (b)-[:9]-()",
            "NOT (a)--(:9) AND NOT (b)--(:8)",
        ):
            pattern = f"(a)--(b)--(c)--(a) WHERE c.age > 1 AND {negated}"
            expected = mf.count(graph, pattern, symmetry="subgraphs")
            assert cluster.count(made, pattern, symmetry="subgraphs") == expected > 0


def test_conditions_that_do_not_fit_are_refused_as_locally(ray: InlineRay, tmp_path: Path) -> None:
    paths, tables, graph = write_files(tmp_path, 3, directed=False)
    with mf.Cluster() as cluster:
        made = cluster.shard(paths, tmp_path / "g", vertices=tables, memory=100_000, **COLUMNS)
        for pattern in (
            "(a)--(b) WHERE a.size > 3",
            "(a)--(b) WHERE a.age = 'x'",
            "(a)--(b) WHERE NOT (a)--({size: 3})",
            "(a)--(b) WHERE degree(a, in) > 1",
            "(a)--(b) WHERE id(a) = 'ann'",
        ):
            with pytest.raises(mf.MotifluxError) as local:
                mf.count(graph, pattern)
            with pytest.raises(type(local.value)) as there:
                cluster.count(made, pattern)
            assert str(there.value) == str(local.value)
        none = "(a)--(b)--(c) WHERE degree(a) > 1000 AND may_equal(a, c)"
        for call in (cluster.count, cluster.estimate):
            with pytest.raises(mf.ArgumentError, match="symmetry"):
                call(made, none, symmetry="subgraphs")


def test_tables_that_do_not_fit_together_are_refused_by_name(ray: InlineRay, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("src,dst\n1,2\n2,3\n")
    (tmp_path / "v.csv").write_text("id,size\n1,3\n2,4\n")
    (tmp_path / "w.csv").write_text("id,size\n3,big\n")
    (tmp_path / "x.csv").write_text("id,size\n2,5.5\n")
    (tmp_path / "y.csv").write_text("id,size,extra\n3,0.5,yes\n")
    edges = tmp_path / "e.csv"
    with mf.Cluster() as cluster:
        with pytest.raises(
            mf.GraphError, match=r"'size': expected values of one kind, found integers .*w\.csv"
        ):
            cluster.shard(edges, tmp_path / "g", vertices=[tmp_path / "v.csv", tmp_path / "w.csv"])
        with pytest.raises(mf.GraphError, match="one row of attributes of each vertex, found two of 2"):
            cluster.shard(edges, tmp_path / "h", vertices=[tmp_path / "v.csv", tmp_path / "x.csv"])
        made = cluster.shard(edges, tmp_path / "i", vertices=[tmp_path / "v.csv", tmp_path / "y.csv"])
        assert dict(made.vertex_attributes) == {"size": "floats", "extra": "strings"}
        counts = cluster.count(
            made,
            ["(a)--(b) WHERE a.size < 4", "(a)--(b) WHERE a.extra = 'yes'", "(a)--(b) WHERE a.extra <> 'x'"],
        )
        assert counts == [2, 1, 1]


def test_many_attributes_make_more_shards(ray: InlineRay, tmp_path: Path) -> None:
    number = 400
    (tmp_path / "e.csv").write_text("src,dst\n" + "".join(f"{v},{v + 1}\n" for v in range(number - 1)))
    names = [f"x{at}" for at in range(20)]
    rows = (",".join(map(str, [v, *(v + at for at in range(20))])) for v in range(number))
    (tmp_path / "v.csv").write_text("\n".join([",".join(["id", *names]), *rows]) + "\n")
    with mf.Cluster() as cluster:
        without = cluster.shard(tmp_path / "e.csv", tmp_path / "g", memory=100_000)
        made = cluster.shard(tmp_path / "e.csv", tmp_path / "h", vertices=tmp_path / "v.csv", memory=100_000)
        assert (without.num_shards, made.num_shards) == (2, 4)
        assert cluster.count(made, "(a)--(b) WHERE a.x3 > 300") == 2 * (number - 298) - 1
