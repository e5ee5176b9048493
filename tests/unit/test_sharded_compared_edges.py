"""Comparisons of edges and choices of copies mean in sharded graphs what they mean in whole ones."""

from __future__ import annotations

import gc
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import warnings
import weakref
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.cluster.shards import edges, part_copies, ranks, rows, search, sharded
from motiflux.cluster.shards.part import Gathering, TooLarge
from motiflux.cluster.shards.part_copies import PartCopies
from motiflux.errors import InternalError
from motiflux.graph import AttributeTable
from motiflux.request.deadline import Deadline
from tests.inline_ray import InlineRay, replace_ray
from tests.sharded_copies import Planned, planned, write_shards
from tests.unit.test_sharded_calls import rows_in
from tests.unit.test_sharded_edge_conditions import NAMES, write_files
from tests.unit.test_sharded_edges import at_edges

COMPARISONS = [
    "{x}.time < {y}.time",
    "{x}.time <= {y}.time",
    "{x}.time = {y}.time",
    "{x}.time <> {y}.time",
    "{y}.time - {x}.time <= 2",
    "{x}.amount < {y}.amount",
    "{x}.amount * 2 >= {y}.time",
    "{x}.time < {y}.other",
    "{x}.tag < {y}.tag",
    "{x}.tag = {y}.tag",
    "{x}.tag <> {v}.name",
    "{x}.day < {y}.day",
    "{y}.day - {x}.day < 100d",
    "{x}.time < {v}.age",
    "{x}.other < {x}.time",
    "{v}.age < {w}.age",
]
CONDITIONS = ["{x}.time > 2", "{x}.tag = 'x'", "NOT {x}.amount < 0.5", "{x}.other IS NULL", "{v}.age > 1"]
WITHIN = ["WITHIN 2 OF time", "WITHIN 0.3 OF amount", "WITHIN 40d OF day"]
SHAPES = [
    "(a)-[x]-(b)",
    "(a)-[x]-(b)-[y]-(c)",
    "(a)-[x]-(b)-[y]-(c)-[z]-(a)",
    "(a)-[x]-(b)-[y]-(c)-[z]-(d)",
    "(a)-[x]-(b), (a)-[y]-(c), (a)-[z]-(d)",
    "(a:1)-[x]-(b)-[y:0]-(c)",
    "(a)-[x]-(b)-[y]-(c)-[z]-(d)-[w]-(a)",
    "(a)-[x]-(b)-[y]-(c)--(a)",
    "(a)-[x]-(b), (a)-[y]-(b)",
]
DIRECTED = [
    "(a)-[x]->(b)-[y]->(c)",
    "(a)-[x]->(b)<-[y]-(c)",
    "(a)<-[x]-(b)-[y]->(c)-[z]->(a)",
    "(a)-[x]->(b)-[y]->(c)-[z]->(a)",
    "(a)-[x]->(b)-[y]->(a)",
    "(a)-[x:1]->(b)-[y]-(c:0)",
    "(a)-[x]->(b)-[y]->(c)-[z]->(d)",
]


def random_graph(seed: int, *, directed: bool) -> mf.Graph:
    draws = random.Random(seed)
    number = draws.randrange(4, 20)
    share = draws.choice([0.1, 0.3, 0.5])
    pairs = [(u, v) for u in range(number) for v in range(number) if u != v and draws.random() < share]
    pairs += [(0, v) for v in range(1, number)]
    pairs = [pair for pair in pairs for _ in range(draws.randrange(1, 5))]
    draws.shuffle(pairs)
    labels = draws.choice([1, 2])
    days = ["2024-01-01", "2024-02-01", "2024-05-01", "NaT"]
    return mf.Graph.from_edges(
        pairs,
        directed=directed,
        vertex_ids=range(number),
        vertex_labels=[draws.randrange(2) for _ in range(number)],
        edge_labels=[draws.randrange(labels) for _ in pairs],
        vertex_attributes={
            "age": [draws.choice([None, *range(6)]) for _ in range(number)],
            "name": [draws.choice([None, "x", "yy", "zz"]) for _ in range(number)],
        },
        edge_attributes={
            "time": [draws.choice([None, *range(8)]) for _ in pairs],
            "other": [draws.choice([None, *range(8)]) for _ in pairs],
            "amount": [draws.choice([np.nan, draws.random()]) for _ in pairs],
            "tag": [draws.choice([None, "", "x", "yy", "\U0001f600"]) for _ in pairs],
            "day": np.array([draws.choice(days) for _ in pairs], "M8[s]"),
        },
    )


def random_pattern(seed: int, *, directed: bool, within: bool = True) -> str:
    draws = random.Random(seed)
    shape = draws.choice(SHAPES + DIRECTED if directed else SHAPES)
    edges = [name for name in "xyzw" if f"[{name}" in shape]
    vertices = [name for name in "abcd" if f"({name}" in shape]
    asked = []
    for _ in range(draws.choice([0, 1, 1, 2, 3])):
        x, y = draws.sample(edges, 2) if len(edges) > 1 else ("x", "y")
        v, w = draws.sample(vertices, 2)
        fitting = [one for one in COMPARISONS if len(edges) > 1 or "{y}" not in one]
        asked.append(draws.choice(fitting).format(x=x, y=y, v=v, w=w))
    for _ in range(draws.choice([0, 0, 1])):
        asked.append(draws.choice(CONDITIONS).format(x=draws.choice(edges), v=draws.choice(vertices)))
    where = f" WHERE {' AND '.join(f'({one})' for one in asked)}" if asked else ""
    span = f" {draws.choice(WITHIN)}" if within and (not asked or draws.random() < 0.3) else ""
    return f"{shape}{where}{span}"


@pytest.mark.turns(4)
@settings(max_examples=20)
@given(
    seed=st.integers(0, 10**6),
    directed=st.booleans(),
    semantics=st.sampled_from(["isomorphism", "induced", "homomorphism"]),
    symmetry=st.sampled_from(["embeddings", "subgraphs"]),
    copies=st.booleans(),
    shards=st.integers(1, 4),
    memory=st.sampled_from([30_000, 60_000, 1 << 20]),
    cut=st.floats(0, 1),
)
def test_counts_are_those_of_the_whole_graph(
    seed: int,
    directed: bool,
    semantics: Any,
    symmetry: Any,
    copies: bool,
    shards: int,
    memory: int,
    cut: float,
) -> None:
    if semantics == "homomorphism":
        symmetry = "embeddings"
    graph, pattern = random_graph(seed, directed=directed), random_pattern(seed, directed=directed)
    options = {"semantics": semantics, "symmetry": symmetry, "copies": copies}
    expected = mf.count(graph, pattern, **options)
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(os, "fsync", lambda file: None)
        patch.setattr(rows, "_LEAST_PIECE", 8)
        patch.setattr(search, "_LEAST", 0)
        made = write_shards(graph, shards, folder, 1 << 20)
        found, _ = planned(made, pattern, **options).count(memory, cut)
        made.close()
    assert found == expected


PATTERNS = [
    "(a)-[x]-(b)-[y]-(c) WHERE x.amount < y.amount",
    "(a)-[x]-(b)-[y]-(c)-[z]-(a) WHERE x.amount <= y.amount AND y.day <= z.day AND x.tag > 'w'",
    "(a)-[x]-(b)-[y]-(c)--(d) WHERE x.tag = y.tag AND x.share < y.share + 0.5",
    "(a)-[x]-(b)-[y]-(c) WHERE x.tag > a.name AND y.amount > b.age",
    "(a)-[x:1]-(b)-[y]-(c:0) WITHIN 2 OF amount",
    "(a)-[x]-(b), (a)-[y]-(c), (a)-[z]-(d) WHERE x.day < y.day WITHIN 0.4 OF share",
]


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> InlineRay:
    monkeypatch.setattr(search, "_FIRST", 16)
    monkeypatch.setattr(sharded, "_HOT", 50)  # the rows of one or two vertices
    monkeypatch.setattr(os, "fsync", lambda file: None)
    return replace_ray(monkeypatch, nodes=2)


@pytest.mark.turns(8)
@pytest.mark.parametrize("directed", [False, True])
def test_calls_with_compared_edges_are_those_of_the_whole_graph(
    ray: InlineRay, tmp_path: Path, directed: bool
) -> None:
    paths, vertices, graph = write_files(tmp_path, 1, directed=directed)
    patterns = PATTERNS
    if directed:
        patterns = [PATTERNS[1], *(one.replace("-(", "->(") for one in PATTERNS)]
    with mf.Cluster() as cluster:
        made = cluster.shard(
            paths, tmp_path / "g", directed=directed, attributes=None, vertices=vertices, shards=3, **NAMES
        )
        again = cluster.open_sharded(tmp_path / "g", memory=2_000_000)
        ray.loses = 0.03
        for copies in (False, True):
            expected = mf.count(graph, patterns, copies=copies)
            assert cluster.count(made, patterns, copies=copies) == expected
            assert cluster.count(again, patterns, copies=copies) == expected
            assert min(expected) > 0
        plain = "(a)-[x]-(b)-[y]-(c)--(a)"
        assert cluster.count(made, plain, copies=True) == mf.count(graph, plain, copies=True)
        for at, pattern in enumerate(patterns[1:6:2]):
            rows = Counter(map(tuple, mf.match(graph, pattern).to_numpy().tolist()))
            assert Counter(map(tuple, cluster.match(again, pattern).to_numpy().tolist())) == rows
            cluster.match(made, pattern, output=tmp_path / f"rows-{at}")
            assert rows_in(tmp_path / f"rows-{at}") == rows
            at_vertices, local = (
                one.count_per_vertex(where, pattern) for one, where in ((cluster, made), (mf, graph))
            )
            order = local.graph.vertex_index(at_vertices.ids)
            assert np.array_equal(at_vertices.counts, local.counts[order])
            assert cluster.estimate(made, pattern).value == rows.total()
            drawn = Counter(map(tuple, cluster.sample(made, pattern, 40, seed=1).to_numpy().tolist()))
            assert drawn.total() == 40
            assert drawn.keys() <= rows.keys()
        told = cluster.explain(made, patterns[1], analyze=True)
        assert told.report.actual is not None
        assert told.report.actual.count == mf.count(graph, patterns[1])
        assert "choices of copies" in str(cluster.explain(made, plain, copies=True))


@pytest.mark.parametrize(
    ("late", "where"), [("first_values", "x.amount < y.amount"), ("merge_strings", "x.tag < a.name")]
)
def test_a_timeout_covers_what_servers_tell_of_edges(
    ray: InlineRay, tmp_path: Path, late: str, where: str
) -> None:
    paths, vertices, graph = write_files(tmp_path, 3, directed=False)
    pattern = f"(a)-[x]-(b)-[y]-(c) WHERE {where}"
    with mf.Cluster() as cluster:
        made = cluster.shard(paths, tmp_path / "g", attributes=None, vertices=vertices, **NAMES)
        ray.late = {late}
        count = cluster.count(made, pattern, timeout=0.05)
        assert (int(count), count.complete) == (0, False)
        ray.late = set()
        assert cluster.count(made, pattern) == mf.count(graph, pattern), "nothing half done is left"


OF_FILES = [
    "{x}.amount < {y}.amount",
    "{x}.amount <= {y}.amount + 1",
    "{x}.tag = {y}.tag",
    "{x}.day < {y}.day",
    "{x}.share < {y}.share",
    "{x}.amount > {v}.age",
    "{x}.tag <> {v}.name",
    "{v}.age < {w}.age",
]
OF_ONE = ["{x}.amount > 1", "NOT {x}.tag = 'x'", "{v}.age > 0", "{x}.share < 0.8"]
BESIDE = [
    "(a)-[x]->(b), (a)-[y]-(b)",
    "(a)-[x]-(b), (b)-[y]->(a)",
    "(a)-[x:1]-(b)-[y]->(c), (a)-[z:0]->(b)",
    "(a)-[x]->(b), (a)-->(c), (a)-[y]-(b)",
]


def pattern_of_files(seed: int, *, directed: bool) -> str:
    """Return a random pattern that compares edges of `write_files`."""
    draws = random.Random(seed)
    shape = draws.choice([*SHAPES[1:], *(DIRECTED + BESIDE if directed else [])])
    edges = [name for name in "xyzw" if f"[{name}" in shape]
    vertices = [name for name in "abcd" if f"({name}" in shape]
    asked = []
    for one in [
        *draws.choices(OF_FILES, k=draws.choice([0, 1, 1, 2])),
        *draws.choices(OF_ONE, k=draws.choice([0, 0, 1])),
    ]:
        (x, y), (v, w) = draws.sample(edges, 2), draws.sample(vertices, 2)
        asked.append(f"({one.format(x=x, y=y, v=v, w=w)})")
    where = f" WHERE {' AND '.join(asked)}" if asked else ""
    span = draws.choice([" WITHIN 2 OF amount", " WITHIN 0.4 OF share"])
    return f"{shape}{where}{span if not asked or draws.random() < 0.2 else ''}"


def assert_counts_at_edges(
    cluster: mf.Cluster, made: Any, graph: mf.Graph, pattern: str, output: Path | None = None, **options: Any
) -> int:
    """Compare counts at edges with those of the whole graph; return the number of edges that have some."""
    expected = mf.count_per_edge(graph, pattern, **options)
    wanted = at_edges(expected.to_arrow(), graph.directed)
    found = cluster.count_per_edge(made, pattern, **options)
    assert at_edges(found.to_arrow(), graph.directed) == wanted, (pattern, options)
    assert (found.complete, found.columns, len(found)) == (True, expected.columns, len(wanted))
    if output is not None:
        written = cluster.count_per_edge(made, pattern, output=output, **options)
        assert at_edges(pq.read_table(output), graph.directed) == wanted
        assert (written.rows, written.complete) == (len(wanted), True)
    return len(wanted)


@pytest.mark.turns(4)
@settings(max_examples=6)
@given(
    seed=st.integers(0, 10**6),
    directed=st.booleans(),
    labels=st.booleans(),
    semantics=st.sampled_from(["isomorphism", "induced", "homomorphism"]),
    symmetry=st.sampled_from(["embeddings", "subgraphs"]),
    memory=st.sampled_from([300_000, 4_000_000]),
)
def test_counts_at_compared_edges_are_those_of_the_whole_graph(
    seed: int, directed: bool, labels: bool, semantics: Any, symmetry: Any, memory: int
) -> None:
    if semantics == "homomorphism":
        symmetry = "embeddings"
    names = NAMES if labels else {name: one for name, one in NAMES.items() if name != "label"}
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as name:
        patch.setattr(os, "fsync", lambda file: None)
        patch.setattr(search, "_FIRST", 16)
        patch.setattr(search, "_LEAST", 1 << 9)
        replace_ray(patch, nodes=2)
        paths, vertices, graph = write_files(Path(name), seed, directed=directed)
        if not labels:
            whole = Path(name, "whole.parquet")
            pq.write_table(pa.concat_tables(map(pq.read_table, paths)), whole)
            graph = mf.read_graph(whole, directed=directed, vertices=vertices, attributes=None, **names)
        with mf.Cluster() as cluster:
            made = cluster.shard(
                *(paths, f"{name}/g"),
                directed=directed,
                attributes=None,
                vertices=vertices,
                shards=3,
                memory=memory,
                **names,
            )
            for number in range(3):
                pattern = pattern_of_files(seed + number, directed=directed)
                if not labels and (":0]" in pattern or ":1]" in pattern):
                    continue
                output = Path(name, f"counts-{number}") if number == 0 else None
                options = {"semantics": semantics, "symmetry": symmetry}
                assert_counts_at_edges(cluster, made, graph, pattern, output, **options)


@pytest.mark.parametrize("directed", [False, True])
def test_counts_at_compared_edges_take_the_options_of_others(
    ray: InlineRay, tmp_path: Path, directed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths, vertices, graph = write_files(tmp_path, 1, directed=directed)
    pattern = "(a)-[x]-(b)-[y]-(c) WHERE x.amount < y.amount"
    with mf.Cluster() as cluster:
        made = cluster.shard(
            paths, tmp_path / "g", directed=directed, attributes=None, vertices=vertices, shards=3, **NAMES
        )
        ray.loses = 0.05
        for by in ("x", 1, ["y", "x"]):
            output = tmp_path / f"counts-{by}"
            assert assert_counts_at_edges(cluster, made, graph, pattern, output, by=by) > 0
        ray.loses = 0.0
        none = cluster.count_per_edge(made, "(a)-[x:7]-(b)-[y]-(c) WHERE x.amount < y.amount", by="x")
        assert (len(none), none.complete, none.reason) == (0, True, "the graph is sharded")
        told: list[mf.ProgressReport] = []
        cluster.count_per_edge(made, pattern, progress=told.append)
        done, found = [one.done / one.total for one in told], [one.found for one in told]
        assert (done, done[-1]) == (sorted(done), 1.0)
        assert found == sorted(found), "a search of another label finds some of the same"
        assert 0 < found[-1] <= mf.count(graph, pattern)
        late = cluster.count_per_edge(made, pattern, timeout=0.0)
        whole = at_edges(mf.count_per_edge(graph, pattern).to_arrow(), directed)
        for edge, counts in at_edges(late.to_arrow(), directed).items():
            assert all(one <= most for one, most in zip(counts, whole[edge], strict=True))
        assert not late.complete
        monkeypatch.setattr(edges, "_MOST_OPEN", 1)
        with pytest.raises(mf.ArgumentError, match="by: expected query edges of at most 1 labels") as refused:
            cluster.count_per_edge(made, pattern, by="x")
        assert "of a sharded graph are compared" in str(refused.value)


def test_a_timeout_between_labels_leaves_lower_bounds(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths, vertices, graph = write_files(tmp_path, 1, directed=False)
    pattern = "(a)-[x]-(b)-[y]-(c) WHERE x.amount < y.amount"
    passed = Deadline.passed.fget
    assert passed is not None
    plans = 0
    plan_of = edges.image_plan_of

    def image_plan_of(*given: Any, **options: Any) -> Any:
        nonlocal plans
        plans += 1
        if plans > 1:
            raise TimeoutError
        return plan_of(*given, **options)

    with mf.Cluster() as cluster:
        made = cluster.shard(paths, tmp_path / "g", attributes=None, vertices=vertices, shards=2, **NAMES)
        whole = at_edges(mf.count_per_edge(graph, pattern, by="x").to_arrow(), False)
        monkeypatch.setattr(edges, "image_plan_of", image_plan_of)
        found = cluster.count_per_edge(made, pattern, by="x", timeout=1e6)
        some = at_edges(found.to_arrow(), False)
        assert (found.complete, plans) == (False, 2)
        assert 0 < len(some) < len(whole)
        assert some.items() <= whole.items(), "edges of one label have all of their counts"


def test_what_copies_do_not_tell_is_refused_by_name(ray: InlineRay, tmp_path: Path) -> None:
    paths, _, graph = write_files(tmp_path, 2, directed=True)
    pattern = "(a)-[x]->(b)-[y]->(c) WHERE x.amount < y.amount"
    with mf.Cluster() as cluster:
        without = cluster.shard(paths, tmp_path / "g", directed=True, **NAMES)
        for call in (cluster.count, cluster.explain):
            with pytest.raises(mf.ArgumentError, match="sharded without attributes="):
                call(without, "(a)-->(b)", copies=True)
        made = cluster.shard(paths, tmp_path / "h", directed=True, attributes=["amount"], **NAMES)
        assert cluster.count(made, pattern) == mf.count(graph, pattern)
        amounts = AttributeTable("edge", {"amount": graph.edge_attributes["amount"]})
        known = replace(graph, edge_attributes=amounts, vertex_attributes=AttributeTable("vertex"))
        for where in ("x.amount < y.size", "x.tag < y.tag", "y.amount - x.amount < 2d", "x.amount < a.age"):
            wrong = f"(a)-[x]->(b)-[y]->(c) WHERE {where}"
            with pytest.raises(mf.PatternError) as local:
                mf.count(known, wrong)
            with pytest.raises(mf.PatternError) as there:
                cluster.count(made, wrong)
            assert str(there.value) == str(local.value)


@pytest.mark.parametrize("directed", [False, True])
def test_copies_of_files_without_attributes_are_counted(
    ray: InlineRay, tmp_path: Path, directed: bool
) -> None:
    draws = random.Random(3)
    lines = [f"{draws.randrange(7)},{draws.randrange(7, 12)},{draws.choice('xy')}\n" for _ in range(60)]
    for name, some in (("a", lines[::2]), ("b", lines[1::2]), ("c", lines)):
        (tmp_path / f"{name}.csv").write_text("src,dst,label\n" + "".join(some))
    graph = mf.read_graph(tmp_path / "c.csv", directed=directed, label="label")
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    with mf.Cluster() as cluster:
        made = cluster.shard(
            paths, tmp_path / "g", directed=directed, label="label", attributes=None, shards=2
        )
        assert (made.edge_attributes, made.duplicate_edges > 0) == ({}, True)
        again = cluster.open_sharded(tmp_path / "g", memory=made.memory)
        for pattern in ("(a)--(b)--(c)", "(a)-[:x]-(b)--(c)", "(a)--(b)--(c)--(d)--(a)"):
            expected = mf.count(graph, pattern, copies=True)
            assert cluster.count(made, pattern, copies=True) == expected > mf.count(graph, pattern)
            assert cluster.count(again, pattern, copies=True) == expected


def test_copies_of_edges_that_were_there_once_are_counted_without_attributes(
    ray: InlineRay, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text("src,dst,label\n1,2,x\n1,2,y\n2,3,x\n3,1,x\n3,1,y\n3,4,y\n")
    graph = mf.read_graph(tmp_path / "a.csv", directed=True, label="label")
    with mf.Cluster() as cluster:
        made = cluster.shard(tmp_path / "a.csv", tmp_path / "g", directed=True, label="label")
        for pattern in ("(a)-->(b)-->(c)", "(a)--(b)--(c)", "(a)-[:x]->(b)-->(c)-->(a)"):
            expected = mf.count(graph, pattern, copies=True)
            assert cluster.count(made, pattern, copies=True) == expected > mf.count(graph, pattern)


@pytest.mark.parametrize("directed", [False, True])
def test_self_loops_are_dropped_with_their_copies(ray: InlineRay, tmp_path: Path, directed: bool) -> None:
    draws = random.Random(2)
    lines = [f"{draws.randrange(6)},{draws.randrange(6)},{draws.randrange(20)}\n" for _ in range(80)]
    for name, some in (("a", lines[::2]), ("b", lines[1::2]), ("c", lines)):
        (tmp_path / f"{name}.csv").write_text("src,dst,time\n" + "".join(some))
    with pytest.warns(mf.MotifluxWarning, match="self-loops"):
        graph = mf.read_graph(tmp_path / "c.csv", directed=directed, attributes=None)
    with mf.Cluster() as cluster, warnings.catch_warnings():
        warnings.simplefilter("ignore", mf.MotifluxWarning)
        paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
        made = cluster.shard(paths, tmp_path / "g", directed=directed, attributes=None, shards=2)
        assert made.self_loops_dropped == graph.self_loops_dropped > 0
        for pattern in ("(a)-[x]-(b)-[y]-(c) WHERE x.time < y.time", "(a)-[x]-(b) WITHIN 3 OF time"):
            for copies in (False, True):
                expected = mf.count(graph, pattern, copies=copies)
                assert cluster.count(made, pattern, copies=copies) == expected > 0


def test_integers_beyond_63_bits_are_refused_as_locally(ray: InlineRay, tmp_path: Path) -> None:
    sizes = pa.array([2**63, 4, 2], pa.uint64())
    tables = {"e": {"src": [1, 2, 3], "dst": [2, 3, 1]}, "v": {"id": [1, 2, 3]}}
    for name, table in tables.items():
        pq.write_table(pa.table({**table, "size": sizes}), tmp_path / f"{name}.parquet")
    edges, vertices = tmp_path / "e.parquet", tmp_path / "v.parquet"
    graph = mf.read_graph(edges, vertices=vertices, attributes=None)
    with mf.Cluster() as cluster:
        made = cluster.shard(edges, tmp_path / "g", vertices=vertices, attributes=None)
        for where in ("x.size < y.size", "a.size < b.size"):
            pattern = f"(a)-[x]-(b)-[y]-(c) WHERE {where}"
            with pytest.raises(mf.PatternError, match=r"below 2\*\*63") as local:
                mf.count(graph, pattern)
            with pytest.raises(mf.PatternError) as there:
                cluster.count(made, pattern)
            assert str(there.value) == str(local.value)


def test_an_edge_with_more_copies_than_memory_is_refused_with_a_memory_that_does(tmp_path: Path) -> None:
    pairs = [(0, 1)] * 20_000 + [(1, 2), (2, 3)]
    graph = mf.Graph.from_edges(
        pairs, directed=True, vertex_labels=[7, 8, 8, 8], edge_attributes={"time": list(range(len(pairs)))}
    )
    pattern = "(a:7)-[x]->(b)-[y]->(c) WHERE x.time < y.time"
    made = planned(write_shards(graph, 2, str(tmp_path), 1 << 20), pattern)
    for threads in (1, 4):
        with pytest.raises(mf.ClusterError, match=r"20,000 copies of edges between a vertex") as refused:
            searched(made, 600_000, threads)
        assert "a vertex labelled 7" in str(refused.value)
        named = re.search(r"at least about ([\d,]+) bytes .* found 600,000: ", str(refused.value))
        assert named is not None
        memory = int(named[1].replace(",", ""))
        assert searched(made, memory, threads) == mf.count(graph, pattern) == 1
        with pytest.raises(mf.ClusterError, match="copies of edges between"):
            searched(made, memory // 2, threads)


def searched(made: Planned, memory: int, threads: int = 1) -> int:
    search = made.search(memory, threads=threads)
    return search.each(0, made.graph.layout.entries, None, None, search.counted).total


def test_counts_at_edges_name_the_memory_that_copies_of_an_edge_take(ray: InlineRay, tmp_path: Path) -> None:
    lines = "".join(f"0,1,{at}\n" for at in range(20_000))
    (tmp_path / "e.csv").write_text(f"src,dst,time\n{lines}1,2,20000\n2,3,20001\n")
    graph = mf.read_graph(tmp_path / "e.csv", directed=True, attributes=None)
    pattern = "(a)-[x]->(b)-[y]->(c) WHERE x.time < y.time"
    with mf.Cluster() as cluster:
        options: dict[str, Any] = {"directed": True, "attributes": None, "memory": 2_000_000}
        made = cluster.shard(tmp_path / "e.csv", tmp_path / "g", **options)
        with pytest.raises(mf.ClusterError, match=r"20,000 copies of edges between a vertex") as refused:
            cluster.count_per_edge(made, pattern)
        named = re.search(r"at least about ([\d,]+) bytes .* found 2,000,000: ", str(refused.value))
        assert named is not None
        again = cluster.open_sharded(tmp_path / "g", memory=int(named[1].replace(",", "")))
        assert assert_counts_at_edges(cluster, again, graph, pattern) == 3


def test_a_part_that_does_not_fit_for_another_reason_than_its_copies_is_no_error_of_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = random_graph(1, directed=True)
    pattern = "(a)-[x]->(b)-[y]->(c) WHERE x.time < y.time"
    made = planned(write_shards(graph, 2, str(tmp_path), 1 << 20), pattern)
    monkeypatch.setattr(PartCopies, "of", lambda *given: TooLarge())
    with pytest.raises(InternalError, match="expected the copies of edges between single vertices to fit"):
        searched(made, 1 << 20)
    monkeypatch.undo()
    monkeypatch.setattr(Gathering, "part", lambda *given: TooLarge())
    with pytest.raises(InternalError, match="expected a part of one candidate each to fit"):
        searched(made, 1 << 20)


def test_each_thread_of_a_search_has_room_for_the_copies_that_it_compares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [(0, 1)] * 500 + [(1, 2)] * 500
    graph = mf.Graph.from_edges(pairs, directed=True, edge_attributes={"time": list(range(1000))})
    made = planned(
        write_shards(graph, 1, str(tmp_path), 1 << 20), "(a)-[x]->(b)-[y]->(c) WHERE x.time < y.time"
    )
    asked = []

    def kept(copies: PartCopies, *given: Any) -> Any:
        found = of(copies, *given)
        *others, room, _ = given
        if not asked:
            total = sum({id(one): one.nbytes for one in found.values()}.values())
            room = total + 3 * 64 * 1000  # of three threads
            asked.extend(isinstance(of(copies, *others, room, more), TooLarge) for more in (1, 2, 4, 16))
        return found

    of = PartCopies.of
    monkeypatch.setattr(PartCopies, "of", kept)
    assert searched(made, 1 << 22) == 1
    assert asked == [False, False, True, True]


def test_edges_from_the_same_rows_share_what_shards_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = random_graph(1, directed=True)
    pattern = "(a)-[x]->(b), (a)-[y]->(c), (a)-[z]->(d) WHERE x.tag < y.tag AND y.tag < z.tag"
    made = planned(write_shards(graph, 2, str(tmp_path), 1 << 20), pattern)
    asked, opened = [], []

    def split_arcs(*given: Any) -> Any:
        asked.append(given)
        return split(*given)

    def open_file(path: Path) -> Any:
        opened.append(path)
        return open_ranks(path)

    split, open_ranks = part_copies.split, ranks.SectionFile
    monkeypatch.setattr(part_copies, "split", split_arcs)
    monkeypatch.setattr(ranks, "SectionFile", open_file)
    for _ in range(2):
        assert searched(made, 1 << 20) * made.ranged.plan.multiplier == mf.count(graph, pattern) > 0
    assert len(asked) == 2, "once for each search"
    assert len(opened) == 2, "once for each shard"


def test_copies_of_a_part_do_not_outlive_its_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(1, directed=True)
    made = planned(
        write_shards(graph, 2, str(tmp_path), 1 << 20), "(a)-[x]->(b)-[y]->(c) WHERE x.time < y.time"
    )
    known: list[weakref.ref[Any]] = []

    def kept(*given: Any) -> Any:
        found = of(*given)
        known.extend(weakref.ref(one.starts) for one in found.values())
        return found

    def fails(*given: Any) -> int:
        raise KeyError

    of = PartCopies.of
    monkeypatch.setattr(PartCopies, "of", kept)
    search = made.search(1 << 20)
    with suppress(KeyError):
        search.whole(0, made.graph.layout.entries, fails)
    gc.collect()
    assert known
    assert not [one for one in known if one() is not None]


@pytest.mark.parametrize("where", ["", " WHERE x1.time < x2.time"])
def test_counts_of_more_choices_than_numbers_hold_end_at_a_limit(
    ray: InlineRay, tmp_path: Path, where: str
) -> None:
    copies, edges = 20_000, 10
    lines = "".join(f"1,2,{at % 9}\n" for at in range(copies))
    (tmp_path / "e.csv").write_text("src,dst,time\n" + lines + "1,3,0\n")
    graph = mf.read_graph(tmp_path / "e.csv", attributes=None)
    pattern = "(v0)" + "".join(f"-[x{at}]-(v{at})" for at in range(1, edges + 1)) + where
    options: Any = {"semantics": "homomorphism", "copies": True}
    with mf.Cluster() as cluster:
        made = cluster.shard(tmp_path / "e.csv", tmp_path / "g", attributes=None, shards=2)
        for count in (mf.count, cluster.count):
            subject: Any = graph if count is mf.count else made
            with pytest.raises(mf.CountOverflowError, match="limit= ends a count"):
                count(subject, pattern, **options)
            for limit in (7, 2**64 - 1):
                found = count(subject, pattern, limit=limit, **options)
                assert (int(found), found.complete) == (limit, False)


def test_parts_of_a_count_end_once_its_limit_is_passed(tmp_path: Path) -> None:
    draws = np.random.default_rng(1)
    ends = draws.integers(0, 400, (4_000, 2))
    times = draws.integers(0, 99, len(ends))
    graph = mf.Graph.from_edges(ends, directed=True, edge_attributes={"time": times}, self_loops="drop")
    pattern = "(a)-[x]->(b)-[y]->(c) WHERE x.time < y.time"
    made = planned(write_shards(graph, 2, str(tmp_path), 1 << 20), pattern, copies=True)
    last = made.graph.layout.entries
    expected, parts = searched(made, 1 << 24), []
    for limit in (0, expected // 2, expected - 1, expected, expected + 1):
        of_parts = made.search(400_000)
        found = of_parts.each(0, last, None, limit, of_parts.counted)
        parts.append(found.parts)
        if limit < expected:
            assert limit < found.total <= expected
        else:
            assert (found.total, found.left) == (expected, 0)
    assert parts[0] < parts[-1]


@pytest.mark.turns(8)
def test_a_process_that_searches_parts_with_copies_takes_little_more_than_the_memory() -> None:
    memory = 2_000_000
    found = subprocess.run(
        [sys.executable, "-m", "tests.sharded_copies", str(memory)],
        capture_output=True,
        text=True,
        check=True,
    )
    measured = json.loads(found.stdout)
    assert measured["parts"] > 10
    assert measured["total"] == measured["expected"] > 0
    # The interpreter and the allocators take some 1 MB, whatever the memory is.
    assert measured["peak"] < 1.5 * memory
