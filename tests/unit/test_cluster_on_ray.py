"""Calls on clusters that Ray starts on this machine, while workers and nodes are killed."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
import pytest

import motiflux as mf

pytest.importorskip("ray", reason="Ray is not installed: make test-all installs it")
pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own

TRIANGLE = "(a)--(b)--(c)--(a)"
HOUSE = "(a)--(b)--(c)--(d)--(a), (a)--(e)--(b)"
SEARCH = {"tables": "off"}


@pytest.fixture(scope="module")
def graph() -> mf.Graph:
    return mf.generate.rmat(scale=10, edges=12_000, seed=1)


@pytest.fixture(scope="module")
def cluster() -> Iterator[mf.Cluster]:
    with mf.Cluster(cpus=2, object_store="256MiB") as started:
        yield started


class Killer:
    """Kills the process of a task that just ended, at each of some reports."""

    def __init__(self, cluster: mf.Cluster, times: int) -> None:
        self._cluster, self._left = cluster, times

    def __call__(self, report: mf.ProgressReport) -> None:
        if self._left > 0 and report.done > 0:
            self._left -= 1
            os.kill(self._cluster.tasks[-1].process, signal.SIGKILL)


def test_calls_on_a_cluster_are_exact_though_a_worker_is_killed(cluster: mf.Cluster, graph: mf.Graph) -> None:
    killer = Killer(cluster, 1)
    found = cluster.count(graph, HOUSE, tuning=SEARCH, progress=killer)
    assert (found, killer._left) == (mf.count(graph, HOUSE), 0)
    rows = cluster.match(graph, TRIANGLE).to_numpy()
    expected = mf.match(graph, TRIANGLE).to_numpy()
    assert Counter(map(tuple, rows.tolist())) == Counter(map(tuple, expected.tolist()))
    options: dict[str, Any] = {"samples": 100_000, "seed": 2, "tuning": {"count_first": "off"}}
    here, there = mf.estimate(graph, HOUSE, **options), cluster.estimate(graph, HOUSE, **options)
    assert (here.value, here.low, here.high) == (there.value, there.low, there.high)


@pytest.mark.long("cpu")
def test_an_error_of_a_task_is_raised_here(cluster: mf.Cluster, graph: mf.Graph) -> None:
    with pytest.raises(mf.ArgumentError, match="distinct"):  # a task of its own checks it
        cluster.count(graph, TRIANGLE, distinct=["z"])
    assert cluster.count(graph, TRIANGLE) == mf.count(graph, TRIANGLE)


@pytest.mark.long("cpu")
def test_an_interrupt_ends_all_tasks(cluster: mf.Cluster) -> None:
    large = mf.generate.rmat(scale=15, edges=600_000, seed=1)
    main = threading.get_ident()
    timer = threading.Timer(3.0, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        cluster.count(large, HOUSE + ", (e)--(c)", tuning=SEARCH)
    before = time.process_time()
    started = time.perf_counter()
    cluster.count(large, "(a)--(b)", tuning=SEARCH)
    assert time.process_time() >= before
    assert time.perf_counter() - started < 60  # it does not wait for what was cancelled


@pytest.mark.long("cpu")
def test_workers_killed_at_random_change_nothing(cluster: mf.Cluster, graph: mf.Graph) -> None:
    draws = random.Random(int(os.environ.get("MOTIFLUX_TEST_SEED", "1")))
    expected = mf.count(graph, HOUSE)
    rows = Counter(map(tuple, mf.match(graph, TRIANGLE).to_numpy().tolist()))
    stop = threading.Event()
    kills = 0

    def kill() -> None:
        nonlocal kills
        while not stop.wait(draws.uniform(0.2, 1.0)):
            recent = {task.process for task in cluster.tasks[-4:]}
            for process in draws.sample(sorted(recent), min(1, len(recent))):
                try:
                    os.kill(process, signal.SIGKILL)
                    kills += 1
                except ProcessLookupError:
                    pass

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        for _ in range(4):
            assert cluster.count(graph, HOUSE, tuning=SEARCH) == expected
            found = cluster.match(graph, TRIANGLE).to_numpy()
            assert Counter(map(tuple, found.tolist())) == rows
    finally:
        stop.set()
        killer.join()
    assert kills > 0


@pytest.mark.long
def test_calls_of_a_sharded_graph_are_exact_though_its_servers_and_a_worker_are_killed(
    cluster: mf.Cluster, graph: mf.Graph, tmp_path: Path
) -> None:
    import ray

    edges = graph.to_edges()
    paths = [tmp_path / f"{part}.npz" for part in range(3)]
    for part, path in enumerate(paths):
        ends = edges.src[part::3], edges.dst[part::3]
        mf.write_graph(mf.Graph.from_edges(ends, directed=graph.directed), path)
    made = cluster.shard(paths, tmp_path / "shards", memory="1MB", shards=3)
    assert made.num_edges == graph.num_edges
    killer = Killer(cluster, 1)

    def kill(report: mf.ProgressReport) -> None:
        if killer._left:
            for actor in made.served().actors:
                ray.kill(actor, no_restart=False)
        killer(report)

    assert cluster.count(made, TRIANGLE, progress=kill) == mf.count(graph, TRIANGLE)
    assert killer._left == 0
    expected = Counter(map(tuple, mf.match(graph, TRIANGLE).to_numpy().tolist()))
    killer._left = 1
    written = cluster.match(made, TRIANGLE, output=tmp_path / "rows", job="mine", progress=kill)
    assert (written.rows, killer._left) == (expected.total(), 0)
    table = parquet.read_table(tmp_path / "rows")
    rows = zip(*(table.column(name).to_pylist() for name in table.column_names), strict=True)
    assert Counter(rows) == expected
    assert Counter(map(tuple, cluster.match(made, TRIANGLE).to_numpy().tolist())) == expected
    at_vertices = cluster.count_per_vertex(made, HOUSE, by="e")
    whole = mf.count_per_vertex(graph, HOUSE, by="e")
    assert (at_vertices.counts == whole.counts[graph.vertex_index(at_vertices.ids)]).all()
    assert cluster.estimate(made, TRIANGLE).value == expected.total()
    made.close()


@pytest.mark.long
def test_conditions_of_a_sharded_graph_are_exact_though_its_servers_and_a_worker_are_killed(
    cluster: mf.Cluster, graph: mf.Graph, tmp_path: Path
) -> None:
    import ray

    draws = random.Random(1)
    ids = graph.vertex_ids.tolist()
    ages, names = [draws.randrange(90) for _ in ids], [draws.choice(["ann", "bob", "cy"]) for _ in ids]
    edges = graph.to_edges()
    mf.write_graph(mf.Graph.from_edges((edges.src, edges.dst), directed=graph.directed), tmp_path / "g.npz")
    people = zip(ids, ages, names, strict=True)
    lines = [f"{one},{age},{name}\n" for one, age, name in people]
    tables = [tmp_path / "v.csv", tmp_path / "w.csv"]
    for part, path in enumerate(tables):
        path.write_text("id,age,name\n" + "".join(lines[part::2]))
    attributes = {"age": ages, "name": names}
    whole = mf.Graph.from_edges(
        (edges.src, edges.dst), directed=graph.directed, vertex_ids=ids, vertex_attributes=attributes
    )
    made = cluster.shard(tmp_path / "g.npz", tmp_path / "shards", vertices=tables, memory="1MB", shards=3)
    patterns = [f"{TRIANGLE} WHERE a.age > 30 AND b.name = 'ann'", f"{TRIANGLE} WHERE degree(c) < 20"]
    patterns.append(f"{TRIANGLE} WHERE a.age < b.age AND c.age = 5")
    killer = Killer(cluster, 1)

    def kill(report: mf.ProgressReport) -> None:
        if killer._left:
            for actor in made.served().actors:
                ray.kill(actor, no_restart=False)
        killer(report)

    assert cluster.count(made, patterns, progress=kill) == mf.count(whole, patterns)
    assert killer._left == 0
    killer._left = 1
    written = cluster.match(made, patterns, output=tmp_path / "rows", job="mine", progress=kill)
    for pattern, one in zip(patterns, written, strict=True):
        expected = Counter(map(tuple, mf.match(whole, pattern).to_numpy().tolist()))
        table = parquet.read_table(one.path)
        rows = zip(*(table.column(name).to_pylist() for name in table.column_names), strict=True)
        assert Counter(rows) == expected
    told = cluster.explain(made, patterns[0], analyze=True)
    assert told.report.actual is not None
    assert told.report.actual.count == mf.count(whole, patterns[0])
    assert "age > 30" in told
    made.close()


@pytest.mark.long
def test_compared_edges_of_a_sharded_graph_are_exact_though_its_servers_and_a_worker_are_killed(
    cluster: mf.Cluster, tmp_path: Path
) -> None:
    import ray

    draws = np.random.default_rng(4)
    ends = draws.integers(0, 3_000, (30_000, 2))
    ends = np.concatenate([ends, ends[:9_000]])
    columns = {
        "time": draws.integers(0, 30 * 86_400, len(ends)).astype("M8[s]"),
        "amount": draws.lognormal(5, 1, len(ends)),
        "tag": draws.choice(["cash", "card", "wire"], len(ends)),
    }

    def made_of(some: slice) -> mf.Graph:
        own = {name: column[some] for name, column in columns.items()}
        return mf.Graph.from_edges(ends[some], directed=True, edge_attributes=own, self_loops="drop")

    paths = [tmp_path / f"{part}.mfg" for part in range(3)]
    for part, path in enumerate(paths):
        mf.write_graph(made_of(slice(part, None, 3)), path)
    whole = made_of(slice(None))
    made = cluster.shard(paths, tmp_path / "shards", attributes=None, memory="8MB", shards=3)
    patterns = [
        "(a)-[x]->(b)-[y]->(c) WHERE x.time < y.time AND y.amount >= 0.9 * x.amount WITHIN 1d OF time",
        "(a)-[x]->(b)-[y]->(c)-[z]->(a) WHERE x.time < y.time AND y.time < z.time AND x.tag = 'cash'",
        "(a)-[x]->(b)<-[y]-(c) WHERE x.tag < y.tag WITHIN 6h OF time",
    ]
    killer = Killer(cluster, 1)

    def kill(report: mf.ProgressReport) -> None:
        if killer._left:
            for actor in made.served().actors:
                ray.kill(actor, no_restart=False)
        killer(report)

    assert cluster.count(made, patterns, progress=kill) == mf.count(whole, patterns)
    assert killer._left == 0
    assert cluster.count(made, patterns, copies=True) == mf.count(whole, patterns, copies=True)
    for pattern in patterns[:2]:
        expected = Counter(map(tuple, mf.match(whole, pattern).to_numpy().tolist()))
        assert Counter(map(tuple, cluster.match(made, pattern).to_numpy().tolist())) == expected
        at_vertices, local = cluster.count_per_vertex(made, pattern), mf.count_per_vertex(whole, pattern)
        assert (at_vertices.counts == local.counts[whole.vertex_index(at_vertices.ids)]).all()
        assert cluster.estimate(made, pattern).value == expected.total()
    made.close()


@pytest.mark.long
def test_queries_of_a_sharded_graph_are_exact_though_its_servers_and_a_worker_are_killed(
    cluster: mf.Cluster, graph: mf.Graph, tmp_path: Path
) -> None:
    import ray

    edges = graph.to_edges()
    ends = edges.src, edges.dst
    mf.write_graph(mf.Graph.from_edges(ends, directed=graph.directed), tmp_path / "g.npz")
    made = cluster.shard(tmp_path / "g.npz", tmp_path / "shards", memory="1MB", shards=3)
    killer = Killer(cluster, 1)

    def kill(report: mf.ProgressReport) -> None:
        if killer._left:
            for actor in made.served().actors:
                ray.kill(actor, no_restart=False)
        killer(report)

    rows = [
        f"{TRIANGLE} WHERE degree(a) > 60 OR degree(c) > 60",
        "(a)--(b) WHERE degree(a) < 6 OPTIONAL (a)--(c)",
    ]
    ends = "(a)--(b) OPTIONAL (b)--(c) WHERE degree(c) > 100"
    queries = [
        "(a)-[*3..4]-(a)",
        f"{TRIANGLE} OPTIONAL (a)--(d)",
        "(a)--(b)--(c)--(a), (d)--(e)",
        ends,
        *rows,
    ]
    assert cluster.count(made, queries, progress=kill) == mf.count(graph, queries)
    assert killer._left == 0
    killer._left = 1
    written = cluster.match(made, rows, output=tmp_path / "rows", job="mine", names=True, progress=kill)
    assert killer._left == 0
    for query, one in zip(rows, written, strict=True):
        expected, found = (
            Counter(map(repr, table.to_pylist()))
            for table in (mf.match(graph, query, names=True).to_arrow(), parquet.read_table(one.path))
        )
        assert (found, one.complete) == (expected, True)
        assert Counter(map(repr, cluster.match(made, query, names=True).to_arrow().to_pylist())) == expected
    made.close()
