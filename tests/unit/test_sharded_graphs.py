"""Sharded graphs are built from files, opened and counted; tasks run in this process (`tests.inline_ray`)."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import motiflux as mf
from motiflux.cluster.shards import build, search, sharded
from tests.inline_ray import InlineRay, replace_ray
from tests.unit.cli_run import motiflux, only_json
from tests.unit.test_sharded_search import DIRECTED, PATTERNS


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> InlineRay:
    monkeypatch.setattr(search, "_FIRST", 16)
    monkeypatch.setattr(sharded, "_HOT", 200)  # the rows of one or two vertices
    return replace_ray(monkeypatch, nodes=2)


def write_files(folder: Path, seed: int, *, directed: bool, suffix: str) -> tuple[list[Path], Path, mf.Graph]:
    """Write the edges of a graph into several files, some of them twice, and its vertices; return it too."""
    draws = random.Random(seed)
    ids = draws.sample(range(-50, 1000), 30)
    edges = [
        (u, v, draws.randrange(3)) for u in ids[:25] for v in ids[:25] if u != v and draws.random() < 0.2
    ]
    labels = [draws.choice(["x", "y"]) for _ in ids]
    twice = edges + draws.sample(edges, 5)
    paths = []
    for part in range(3):
        own = twice[part::3]
        path = folder / f"edges-{part}{suffix}"
        if suffix == ".csv":
            path.write_text("from,to,kind\n" + "".join(f"{u},{v},{kind}\n" for u, v, kind in own))
        else:
            import pyarrow as pa
            import pyarrow.parquet as pq

            columns = dict(zip(("from", "to", "kind"), zip(*own, strict=True), strict=True))
            pq.write_table(pa.table({name: list(values) for name, values in columns.items()}), path)
        paths.append(path)
    vertices = folder / "vertices.csv"
    vertices.write_text("id,label\n" + "".join(f"{v},{one}\n" for v, one in zip(ids, labels, strict=True)))
    graph = mf.Graph.from_edges(
        [(u, v) for u, v, _ in edges],
        directed=directed,
        vertex_ids=ids,
        vertex_labels=labels,
        edge_labels=[kind for _, _, kind in edges],
    )
    return paths, vertices, graph


NAMED = {"from": "src", "to": "dst", "kind": "label"}
COLUMNS = {"src": "from", "dst": "to", "label": "kind"}


@pytest.mark.turns(2)
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_counts_are_those_of_a_graph_read_from_the_same_files(
    ray: InlineRay, tmp_path: Path, directed: bool, suffix: str
) -> None:
    paths, vertices, graph = write_files(tmp_path, 1, directed=directed, suffix=suffix)
    patterns = [one.replace(":1", ":x").replace(":0", ":y") for one in PATTERNS[:7]]
    patterns += ["(a)-[:1]-(b)-[:0]-(c)--(a)", "(a:x)--(b)--(c:y)--(a)", "(a:z)--(b)"]
    if directed:
        patterns += DIRECTED[:3]
    with mf.Cluster() as cluster:
        made = cluster.shard(
            paths, tmp_path / "g", directed=directed, vertices=vertices, memory=30_000, shards=3, **COLUMNS
        )
        assert (made.num_vertices, made.num_edges, made.directed) == (30, graph.num_edges, directed)
        assert made.duplicate_edges >= 5
        again = cluster.open_sharded(tmp_path / "g", memory=100_000)
        for semantics in ("isomorphism", "induced", "homomorphism"):
            for sharded in (made, again, made):
                found = cluster.count(sharded, patterns, semantics=semantics)
                assert found == mf.count(graph, patterns, semantics=semantics)
                assert all(one.complete and one.engine == "cluster" for one in found)
        assert cluster.count(again, patterns[1], symmetry="subgraphs") == mf.count(
            graph, patterns[1], symmetry="subgraphs"
        )
    assert ray.actor_calls > 20  # six of them open shards
    assert not (tmp_path / "g" / "_building").exists()


def test_files_without_rows_have_no_labels(ray: InlineRay, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("from,to,kind\n1,2,pays\n2,3,owns\n")
    (tmp_path / "b.csv").write_text("from,to,kind\n")
    (tmp_path / "v.csv").write_text("id,label\n1,x\n2,y\n3,x\n")
    (tmp_path / "w.csv").write_text("id,label\n")
    edges, tables = ([tmp_path / f"{name}.csv" for name in names] for names in ("ab", "vw"))
    with mf.Cluster() as cluster:
        made = cluster.shard(edges, tmp_path / "g", directed=True, vertices=tables, **COLUMNS)
        assert (made.num_vertices, made.num_edges) == (3, 2)
        assert cluster.count(made, ["(a:x)-[:pays]->(b:y)-[:owns]->(c)", "(a:y)-[:pays]->(b)"]) == [1, 0]


def test_a_graph_that_cannot_be_built_leaves_no_files_behind(ray: InlineRay, tmp_path: Path) -> None:
    paths, _, graph = write_files(tmp_path, 1, directed=False, suffix=".csv")
    vertices = tmp_path / "few.csv"
    vertices.write_text("id,label\n1,x\n")
    with mf.Cluster() as cluster:
        with pytest.raises(mf.GraphError, match="expected a label of each vertex"):
            cluster.shard(paths, tmp_path / "g", vertices=vertices, **COLUMNS)
        assert not list((tmp_path / "g").iterdir())
        with pytest.raises(mf.GraphError, match=r"none\.csv"):
            cluster.shard([*paths, tmp_path / "none.csv"], tmp_path / "other", **COLUMNS)
        assert not (tmp_path / "other").exists()
        with pytest.raises(mf.OutputError, match=r"few\.csv"):
            cluster.shard(paths, vertices, **COLUMNS)
        assert cluster.shard(paths, tmp_path / "g", **COLUMNS).num_edges == graph.num_edges


def test_npz_files_are_sharded(ray: InlineRay, tmp_path: Path) -> None:
    graph = mf.generate.rmat(scale=6, edges=600, seed=3, directed=False)
    edges = graph.to_edges()
    paths = []
    for part in range(4):
        path = tmp_path / f"{part}.npz"
        some = mf.Graph.from_edges((edges.src[part::4], edges.dst[part::4]), num_vertices=graph.num_vertices)
        mf.write_graph(some, path)
        paths.append(path)
    with mf.Cluster() as cluster:
        made = cluster.shard(paths, tmp_path / "g", memory="1MB")
        assert made.num_shards == 2
        assert (made.num_vertices, made.num_edges) == (graph.num_vertices, graph.num_edges)
        assert cluster.count(made, PATTERNS[3]) == mf.count(graph, PATTERNS[3])


def test_lost_tasks_change_no_count(ray: InlineRay, tmp_path: Path) -> None:
    paths, _, graph = write_files(tmp_path, 2, directed=False, suffix=".csv")
    ray.loses = 0.05
    with mf.Cluster() as cluster:
        made = cluster.shard(paths, tmp_path / "g", memory=100_000, shards=2, **COLUMNS)
        for pattern in ("(a)--(b)--(c)--(a)", "(a)--(b)--(c)--(d)--(a)"):
            assert cluster.count(made, pattern) == mf.count(graph, pattern)


def test_limits_and_timeouts_end_a_count(ray: InlineRay, tmp_path: Path) -> None:
    paths, _, graph = write_files(tmp_path, 3, directed=False, suffix=".csv")
    with mf.Cluster() as cluster:
        made = cluster.shard(paths, tmp_path / "g", memory=100_000, **COLUMNS)
        found = cluster.count(made, "(a)--(b)--(c)", limit=7)
        assert (found, found.complete) == (7, False)
        late = cluster.count(made, "(a)--(b)--(c)", timeout=0.0)
        assert not late.complete
        assert late <= mf.count(graph, "(a)--(b)--(c)")
        reports: list[mf.ProgressReport] = []
        whole = cluster.count(made, "(a)--(b)--(c)", limit=10**6, progress=reports.append)
        assert whole.complete
        assert (reports[-1].done, reports[-1].found) == (reports[-1].total, whole)


def test_what_a_sharded_graph_has_not_is_refused_by_name(ray: InlineRay, tmp_path: Path) -> None:
    paths, _, _ = write_files(tmp_path, 4, directed=False, suffix=".csv")
    with mf.Cluster() as cluster:
        made: Any = cluster.shard(paths, tmp_path / "g", memory=100_000, **COLUMNS)
        with pytest.raises(mf.ArgumentError, match="copies: expected False beside distinct rows"):
            cluster.explain(made, "(a)--(b)", distinct=["a"], copies=True)
        with pytest.raises(mf.ArgumentError, match="pattern: expected one pattern"):
            cluster.explain(made, ["(a)--(b)", "(a)--(b)--(c)"])
        with pytest.raises(mf.PatternError, match=r"vertex attribute .x.: expected one of"):
            cluster.count(made, "(a {x: 1})--(b)")
        with pytest.raises(mf.ArgumentError, match="copies"):
            cluster.count(made, "(a)--(b)", copies=True)
        with pytest.raises(mf.OutputError, match="found one"):
            cluster.shard(paths, tmp_path / "g")
        made.close()
        with pytest.raises(mf.ClusterError, match="open it again"):
            cluster.count(made, "(a)--(b)")


def test_explain_tells_what_is_read_and_the_least_memory(ray: InlineRay, tmp_path: Path) -> None:
    paths, vertices, graph = write_files(tmp_path, 5, directed=False, suffix=".csv")
    with mf.Cluster() as cluster:
        made = cluster.shard(paths, tmp_path / "g", vertices=vertices, memory=9_000, shards=3, **COLUMNS)
        named = set(ray.names)
        told = cluster.explain(made, "(a:x)--(b)--(c)--(a)")
        assert set(ray.names) == named  # no task ran
        report = told.report
        assert (report.graph.vertices, report.graph.edges) == (30, graph.num_edges)
        assert report.predicted is not None
        assert report.predicted.tasks is not None
        shards = report.predicted.tasks.shards
        assert shards is not None
        assert (len(shards.read), shards.shards, shards.memory) == (2, 3, 9_000)
        assert shards.parts >= (report.predicted.tasks.expected or 0) > 0
        assert "at a time\nreads     rows of the images of" in told
        assert report.predicted.seconds is not None
        least = shards.least_memory
        again = cluster.open_sharded(tmp_path / "g", memory=least)
        assert cluster.count(again, "(a:x)--(b)--(c)--(a)") == mf.count(graph, "(a:x)--(b)--(c)--(a)")
        again = cluster.open_sharded(tmp_path / "g", memory=least - 1)
        with pytest.raises(mf.ClusterError, match=rf"at least {least:,} bytes"):
            cluster.count(again, "(a:x)--(b)--(c)--(a)")
        ran = cluster.explain(made, "(a)--(b)--(c)", analyze=True)
        assert ran.report.actual is not None
        assert ran.report.actual.count == mf.count(graph, "(a)--(b)--(c)")
        none = cluster.explain(made, "(a:z)--(b)")
        assert (none.report.impossible is None, none.report.predicted) == (False, None)
        assert told.to_dict()["predicted"]["tasks"]["shards"]["shards"] == 3


def test_sizes_of_a_sketch_are_scaled_to_the_graph(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "_SKETCH_ENTRIES", 4_000)
    graph = mf.generate.rmat(scale=9, edges=8_000, seed=4, directed=False)
    mf.write_graph(graph, tmp_path / "g.npz")
    with mf.Cluster() as cluster:
        made = cluster.shard(tmp_path / "g.npz", tmp_path / "g", memory="1MB")
        told = cluster.explain(made, "(a)--(b)--(c)")
    assert made.sketch.num_edges < graph.num_edges / 2
    predicted = told.report.predicted
    assert predicted is not None
    assert predicted.count is not None
    assert 0.6 < predicted.count / mf.count(graph, "(a)--(b)--(c)") < 1.6
    assert "edges of the graph" in told.report.engine.reason


def test_files_that_are_no_graph_together_are_refused_by_name(ray: InlineRay, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("src,dst\nann,bob\n")
    (tmp_path / "b.csv").write_text("src,dst\n1,2\n2,3\n")
    (tmp_path / "v.csv").write_text("id,label\n1,x\n2,y\n")
    (tmp_path / "w.csv").write_text("id,label\n1,y\n2,y\n3,x\n")
    with mf.Cluster() as cluster:
        with pytest.raises(mf.FormatError, match=r"a\.csv.*expected integer ids.*'ann'"):
            cluster.shard([tmp_path / "a.csv", tmp_path / "b.csv"], tmp_path / "g")
        with pytest.raises(mf.GraphError, match="a label of each vertex, found none of 3"):
            cluster.shard(tmp_path / "b.csv", tmp_path / "h", vertices=tmp_path / "v.csv")
        tables = [tmp_path / "v.csv", tmp_path / "w.csv"]
        with pytest.raises(mf.GraphError, match="one label of each vertex, found two of 1"):
            cluster.shard(tmp_path / "b.csv", tmp_path / "i", vertices=tables)
        with pytest.raises(mf.FormatError, match="layout of a sharded graph"):
            cluster.open_sharded(tmp_path / "g")
        with pytest.raises(mf.ArgumentError, match="a file or more"):
            cluster.shard([], tmp_path / "j")
        with pytest.raises(mf.ClusterError, match=r"memory: expected at least .* bytes for this graph"):
            cluster.count(cluster.shard(tmp_path / "b.csv", tmp_path / "k", memory=120), "(a)--(b)--(c)")


def test_a_damaged_shard_is_an_error_that_names_the_file(ray: InlineRay, tmp_path: Path) -> None:
    paths, _, _ = write_files(tmp_path, 5, directed=False, suffix=".csv")
    with mf.Cluster() as cluster:
        cluster.shard(paths, tmp_path / "g", memory=100_000, shards=2, **COLUMNS)
        first, second = sorted((tmp_path / "g").glob("shard-*.rows"))
        first.write_bytes(second.read_bytes())
        with pytest.raises(mf.FormatError, match=r"shard-00000.*found rows from vertex"):
            cluster.open_sharded(tmp_path / "g")


def test_the_command_line_shards_and_counts(ray: InlineRay, tmp_path: Path) -> None:
    paths, vertices, graph = write_files(tmp_path, 6, directed=True, suffix=".csv")
    columns = ["--src", "from", "--dst", "to", "--label", "kind", "--vertices", str(vertices)]
    made = only_json(
        motiflux(
            *("shard", *paths, "-o", tmp_path / "g", *columns),
            *("--directed", "--cluster", "local", "--memory", "100kB", "--json"),
        )
    )
    assert (made["vertices"], made["edges"], made["directed"]) == (30, graph.num_edges, True)
    patterns = ["(a:x)-->(b)-->(c)-->(a)", "(a)-[:1]->(b)<--(c)"]
    found = only_json(
        motiflux("count", tmp_path / "g", *patterns, "--cluster", "local", "--memory", "100kB", "--json")
    )
    assert [one["count"] for one in found["counts"]] == mf.count(graph, patterns)
    told = only_json(
        motiflux(
            *("explain", tmp_path / "g", patterns[0], "--cluster", "local", "--memory", "90kB"),
            *("--analyze", "--json"),
        )
    )
    assert told["predicted"]["tasks"]["shards"]["memory"] == 90_000
    assert told["actual"]["count"] == mf.count(graph, patterns[0])
    where = (tmp_path / "g", "--cluster", "local", "--memory", "100kB")
    rows, whole = f"{patterns[0]} RETURN DISTINCT a HAVING count(b) > 1", mf.count(graph, patterns[1])
    having = ("--distinct", "a", "--having", "count(b) > 1")
    for asked in ([rows], [patterns[0], *having]):
        said = motiflux("count", *where, *asked)
        assert said.stdout.startswith(f"{mf.count(graph, rows)} row")
        told = only_json(motiflux("explain", *where, *asked, "--json"))
        assert (told["rows"]["returned"], told["rows"]["thresholds"]) == (["a"], ["count(b) > 1"])
    said = motiflux("count", *where, patterns[1], rows)
    assert [line.split(": ")[1] for line in said.stdout.splitlines()[:2]] == [
        f"{whole} embeddings",
        f"{mf.count(graph, rows)} rows",
    ]
    for command in ("count", "explain"):
        said = motiflux(command, *where, patterns[0], "--distinct", "z")
        assert (said.exit_code, "error: --distinct: expected names" in said.stderr) == (2, True)
        said = motiflux(command, tmp_path / "g", patterns[0])
        assert (said.exit_code, "expected --cluster beside it" in said.stderr) == (2, True)
        said = motiflux(command, tmp_path / "g", patterns[0], "--cluster", "local", "--directed")
        assert (said.exit_code, "--directed: expected none" in said.stderr) == (2, True)
        said = motiflux(command, paths[0], patterns[0], "--memory", "1GiB")
        assert (said.exit_code, "--memory 1GiB: expected a sharded graph" in said.stderr) == (2, True)
