"""Uses every public name, for `mypy --strict` (tests/unit/test_typing.py), and runs."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import motiflux as mf

TEXT = "(a)-->(b)-->(c)"


def graphs(folder: Path) -> mf.Graph:
    """Make, write and read graphs."""
    graph = mf.Graph.from_edges([("ann", "bob"), ("bob", "cy"), ("cy", "ann")], directed=True)
    assert_type(graph, mf.Graph)
    assert_type(graph.num_vertices, int)
    assert_type(graph.stats(), mf.GraphStats)
    assert_type(graph.shape_stats(), mf.ShapeStats)
    assert_type(mf.write_graph(graph, folder / "graph.mfg"), int)
    mf.verify_graph(folder / "graph.mfg")
    assert_type(mf.as_graph(np.array([[0, 1], [1, 2]])), mf.Graph)
    assert callable(mf.datasets.wordnet)
    drawn = mf.generate.erdos_renyi(vertices=10, edges=20, seed=1)
    assert_type(drawn, mf.Graph)
    return mf.read_graph(folder / "graph.mfg")


def patterns(folder: Path) -> mf.Pattern:
    """Make patterns."""
    (folder / "path.pattern").write_text(TEXT)
    assert_type(mf.read_pattern(folder / "path.pattern"), mf.Pattern)
    assert_type(mf.read_query(folder / "path.pattern"), mf.Pattern | mf.Query)
    built = mf.PatternBuilder().vertex("x").vertex("y").edge("x", "y", directed=True).build()
    assert_type(built, mf.Pattern)
    assert_type(built.vertices, tuple[mf.QueryVertex, ...])
    assert_type(built.edges, tuple[mf.QueryEdge, ...])
    lone = mf.Pattern.parse("(a)--(b), NOT (a)--()")
    assert_type(lone.negated, tuple[mf.NegatedEdge, ...])
    assert isinstance(lone.negated[0].target, mf.AnyVertex)
    return mf.Pattern.parse(TEXT)


def searches(graph: mf.Graph, pattern: mf.Pattern) -> None:
    """Count, list, estimate, sample, explain and draw."""
    seen: list[int] = []

    def progress(report: mf.ProgressReport) -> None:
        seen.append(report.found)

    one = mf.count(
        graph, pattern, semantics="induced", symmetry="embeddings", device="cpu", progress=progress
    )
    assert_type(one, mf.Count)
    assert_type(one.complete, bool)
    assert_type(mf.count(graph, TEXT), mf.Count)
    assert_type(mf.count(graph, [pattern, TEXT]), list[mf.Count])
    assert_type(mf.exists(graph, pattern), mf.Existence)
    assert_type(mf.count_per_vertex(graph, TEXT, timeout=9.0), mf.VertexCounts)
    assert_type(mf.count_per_edge(graph, pattern, by=0, symmetry="subgraphs"), mf.EdgeCounts)
    assert_type(mf.orbits(graph, size=4), mf.OrbitCounts)
    assert_type(mf.edge_orbits(graph, size=4, device="cpu"), mf.EdgeOrbitCounts)
    counted = mf.census(graph, 4)
    assert_type(counted, mf.Census)
    assert_type(counted["id204"], int)
    tested = mf.significance(graph, 3, nulls=2)
    assert_type(tested, mf.Significance)
    assert_type(tested["300"], mf.SignificanceRow)
    assert_type(tested["300"].z, float)
    assert_type(mf.null_graph(graph, "labels"), mf.Graph)
    assert_type(mf.estimate_per_vertex(graph, pattern, "a"), mf.VertexEstimates)
    best = mf.estimate_top(graph, pattern, 0, k=1, samples=32)
    assert_type(best, mf.EstimatedTop)
    assert_type(best[0], mf.EstimateAt)
    assert_type(best[0].certain, bool)
    assert_type(mf.top(graph, pattern, by=0, k=2), mf.Top)
    with mf.match(graph, pattern, limit=2) as matches:
        assert_type(matches, mf.Matches)
        for batch in matches:
            assert_type(batch, NDArray[np.int64] | NDArray[np.str_])
    assert_type(mf.match(graph, pattern, distinct=["a"], having="count(b) > 1"), mf.Matches)
    assert_type(mf.match(graph, [pattern], distinct=[0]), list[mf.Matches])
    found = mf.estimate(graph, pattern, samples=320, device="cpu")
    assert_type(found, mf.Estimate)
    assert_type(found.trawled, mf.Trawled | None)
    assert_type(found.trace, tuple[mf.EstimateProgress, ...])
    assert_type(mf.EstimateCounting(0, 0, 0.1, 7.0, 7.0, 9.0, 5, 100).total, int)
    assert_type(mf.sample(graph, pattern, 2), mf.Matches)
    assert_type(mf.explain(graph, pattern, copies=True), mf.Explanation)
    told = mf.explain(graph, mf.Query.parse("(a)-[*1..2]->(b)"))
    assert isinstance(told, mf.QueryExplanation)
    assert_type(told.parts, tuple[mf.Explanation, ...])
    policy = mf.SamplingPolicy("struct Custom : Alley {};", name="like Alley")
    assert_type(policy.name, str)
    drawn = mf.draw_match(graph, pattern, mf.match(graph, pattern).to_numpy()[0])
    same = mf.draw_graph(graph)
    assert type(drawn) is type(same)


def streams(graph: mf.Graph, pattern: mf.Pattern, folder: Path) -> None:
    """Watch a graph."""
    (folder / "updates.stream").write_text("e 1 2\ne 2 3\n")
    updates = mf.Updates.of([("-", "ann", "bob")])
    monitor = mf.Monitor(graph, [pattern], mode="batch", matches=True)
    with monitor:
        assert_type(monitor.directed, bool)
        assert_type((monitor.engine, monitor.device), tuple[str, str])
        assert_type(monitor.options, dict[str, Any])
        delta = monitor.apply(updates)
        assert_type(delta, mf.Delta)
        assert_type(delta[pattern], mf.PatternDelta)
        assert_type((delta.reached, delta.searched), tuple[int | None, Mapping[mf.Pattern, float]])
    near = mf.Query.parse("(a)-[*1..2]->(b)")
    with mf.Monitor(graph, near) as monitor:
        assert_type(monitor.apply(inserts=[("ann", "dan")])[near], mf.QueryDelta)
    numbered = mf.Monitor(
        mf.Graph.from_edges([(1, 2)]),
        "(a)--(b)--(c)",
        matches=True,
        device="cpu",
        engine="cpu",
        gpu_memory="1GiB",
    )
    source = mf.open_source(folder / "updates.stream")
    with numbered:
        totals = numbered.run(source, sink)
        assert_type(totals, mf.Totals)
        assert_type((totals.engine, totals.device), tuple[str, str])


def sink(found: mf.FoundMatches) -> None:
    """Take matches."""
    assert_type(found.pattern, mf.Pattern)


def service(folder: Path) -> None:
    """Serve a stream."""
    configuration: dict[str, Any] = {
        "service": {"state": str(folder / "state"), "listen": "off"},
        "patterns": [{"name": "path", "pattern": TEXT}],
    }
    with mf.Service(configuration) as made:
        assert_type(made.wait_until_idle(60.0), bool)
        assert_type(made.url, str | None)
        assert_type(made.add_pattern({"name": "edge", "pattern": "(a)-->(b)"}).positive, int)
        assert_type([row.present for row in made.patterns()], list[int | None])


def clusters(graph: mf.Graph, pattern: mf.Pattern) -> None:
    """Search on a cluster; this is not run, as Ray need not be installed."""
    with mf.Cluster("auto", threads=2) as cluster:
        assert_type(cluster.count(graph, TEXT, semantics="induced", limit=9), mf.Count)
        assert_type(cluster.count(graph, [pattern, TEXT]), list[mf.Count])
        assert_type(cluster.count(graph, TEXT, device="cuda", gpu_memory="8GiB"), mf.Count)
        assert_type(cluster.match(graph, pattern, edges=True), mf.Matches)
        assert_type(cluster.match(graph, TEXT, distinct=["a"], having="count(b) > 1"), mf.Matches)
        assert_type(cluster.estimate(graph, TEXT, seed=2), mf.Estimate)
        assert_type(cluster.sample(graph, TEXT, 5, seed=2), mf.Matches)
        assert_type(cluster.count_per_vertex(graph, TEXT, by="a"), mf.VertexCounts)
        assert_type(cluster.census(graph, 4, connected=True), mf.Census)
        assert_type(cluster.match(graph, pattern, output="rows", job="triangles"), mf.WrittenRows)
        assert_type(cluster.tasks, list[mf.TaskRecord])
        sharded = cluster.shard(["a.parquet", "b.parquet"], "shards", memory="4GiB")
        assert_type(sharded, mf.ShardedGraph)
        assert_type(cluster.open_sharded("shards"), mf.ShardedGraph)
        assert_type(cluster.count(sharded, TEXT), mf.Count)
        assert_type(cluster.count(sharded, [pattern]), list[mf.Count])
        assert_type(cluster.match(sharded, [pattern]), list[mf.Matches])
        assert_type(cluster.match(sharded, TEXT), mf.Matches)
        assert_type(cluster.estimate(sharded, TEXT), mf.Estimate)
        assert_type(cluster.count_per_vertex(sharded, TEXT), mf.VertexCounts)
        assert_type(cluster.count_per_edge(sharded, TEXT), mf.EdgeCounts)
        assert_type(cluster.count_per_edge(sharded, TEXT, by=0, output="rows"), mf.WrittenRows)
        assert_type(cluster.edge_orbits(sharded), mf.EdgeOrbitCounts)
        assert_type(cluster.edge_orbits(sharded, 5, output="rows"), mf.WrittenRows)
        assert_type(cluster.sample(sharded, TEXT, 5, seed=2), mf.Matches)
        assert_type(cluster.census(sharded), mf.Census)
        assert_type(cluster.census(sharded, device="cuda", gpu_memory="8GiB"), mf.Census)
        assert_type(cluster.orbits(sharded, 4, device="cuda"), mf.OrbitCounts)
        assert_type(cluster.edge_orbits(sharded, 4, device="cuda", progress=True), mf.EdgeOrbitCounts)
        assert_type(cluster.sample(sharded, TEXT, 9, progress=True), mf.Matches)


def errors() -> None:
    """Name every error."""
    kinds: list[type[Exception]] = [
        *(
            mf.ArgumentError,
            mf.ClusterError,
            mf.CompileError,
            mf.CountOverflowError,
            mf.DeviceError,
            mf.DeviceMemoryError,
        ),
        *(mf.FormatError, mf.GraphError, mf.InternalError, mf.OutOfMemoryError, mf.OutputError),
        *(mf.PatternError, mf.PatternSyntaxError, mf.StreamError),
    ]
    assert all(issubclass(kind, mf.MotifluxError) for kind in kinds)
    assert issubclass(mf.MotifluxWarning, UserWarning)
    assert_type(mf.__version__, str)


def main(folder: Path) -> None:
    """Run all."""
    graph, pattern = graphs(folder), patterns(folder)
    searches(graph, pattern)
    streams(graph, pattern, folder)
    service(folder)
    errors()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
