"""Counts at edges of sharded graphs are those of whole ones; tasks run in this process (`inline_ray`)."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.api.edge_witnesses import bound_query_edge
from motiflux.cluster.folder import Folder
from motiflux.cluster.shards import edge_images, edge_sums, edges, pairs, rows, search, sharded
from motiflux.cluster.shards.edge_images import RangedEdges, RangeEdges
from motiflux.cluster.shards.pairs import (
    PairSums,
    Runs,
    added,
    keys_of,
    merged,
    pairs_within,
    sums_by_ranges,
    whole_range,
)
from motiflux.cluster.shards.planning import image_plan_of, ranged_images
from motiflux.cluster.shards.rows import Rows
from motiflux.cluster.shards.search import RangeSearch
from motiflux.cpu.image_counts import times_of
from motiflux.plan.bind import bind
from motiflux.request.deadline import Deadline
from motiflux.request.request import make_request
from tests.inline_ray import InlineRay, WorkerCrashedError, replace_ray
from tests.sharded import ids_of
from tests.sharded import sharded as shards_of
from tests.unit.test_sharded_calls import PATTERNS, made_in
from tests.unit.test_sharded_search import DIRECTED as SEARCHED_DIRECTED
from tests.unit.test_sharded_search import PATTERNS as SEARCHED
from tests.unit.test_sharded_search import random_graph

if TYPE_CHECKING:
    from motiflux.cluster.shards.gpu_parts import PartsOnGpu

DIRECTED = ["(a)-->(b)-->(c)-->(a)", "(a)-->(b)--(c)", "(a)-[:0]->(b)<-[:1]-(c)", "(a)--(b)--(c)--(a)"]


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> InlineRay:
    monkeypatch.setattr(search, "_FIRST", 64)
    monkeypatch.setattr(sharded, "_HOT", 200)
    monkeypatch.setattr(search, "_LEAST", 1 << 9)
    monkeypatch.setattr(edge_images, "_ARCS_AT_ONCE", 16)
    return replace_ray(monkeypatch, nodes=2)


def at_edges(table: pa.Table, directed: bool) -> dict[tuple[Any, ...], tuple[int, ...]]:
    """Return the counts of each edge that has one, by its ends and label."""
    found = {}
    for row in table.to_pylist():
        ends = row.pop("src"), row.pop("dst")
        key = (*(ends if directed else sorted(ends)), row.pop("label", None))
        assert key not in found
        found[key] = tuple(row.values())
    return {key: counts for key, counts in found.items() if any(counts)}


@pytest.mark.turns(4)
@pytest.mark.parametrize(("directed", "loses"), [(False, 0.05), (True, 0.0)])
def test_counts_at_edges_are_those_of_a_graph_read_from_the_same_files(
    ray: InlineRay, tmp_path: Path, directed: bool, loses: float
) -> None:
    with mf.Cluster() as cluster:
        made, graph = made_in(cluster, tmp_path, 4, directed=directed)
        ray.loses = loses
        for number, pattern in enumerate([*PATTERNS, "(a)--(b)", *(DIRECTED if directed else [])]):
            symmetry: Any = ("embeddings", "subgraphs")[number % 2]
            semantics: Any = ("isomorphism", "induced")[number // 2 % 2]
            options: dict[str, Any] = {"symmetry": symmetry, "semantics": semantics}
            found = cluster.count_per_edge(made, pattern, **options)
            expected = mf.count_per_edge(graph, pattern, **options)
            wanted = at_edges(expected.to_arrow(), directed)
            assert at_edges(found.to_arrow(), directed) == wanted
            assert (found.complete, found.engine, len(found)) == (True, "cluster", len(wanted))
            assert found.to_arrow().schema == expected.to_arrow().schema
        one = cluster.count_per_edge(made, PATTERNS[0], by=0)
        local = mf.count_per_edge(graph, PATTERNS[0], by=0)
        assert sorted(count for _, count in one.top(5)) == sorted(count for _, count in local.top(5))
        none = cluster.count_per_edge(made, "(a:z)--(b)")
        assert (len(none), none.counts.shape, none.complete) == (0, (0, 1), True)
        late = cluster.count_per_edge(made, PATTERNS[0], timeout=0.0)
        counted = at_edges(mf.count_per_edge(graph, PATTERNS[0]).to_arrow(), directed)
        for edge, counts in at_edges(late.to_arrow(), directed).items():
            assert all(one <= whole for one, whole in zip(counts, counted[edge], strict=True))
        assert not late.complete


@pytest.mark.parametrize(
    "pattern",
    ["(a)-[x]-(b), (a)-[y]->(b)", "(a)-[x]->(b), (a)-[y]-(b)", "(a:x)-[x]-(b), (b)-[y]->(a), (a)-[z]->(b)"],
)
def test_query_edges_between_the_same_vertices_may_have_a_direction_or_none(
    ray: InlineRay, tmp_path: Path, pattern: str
) -> None:
    with mf.Cluster() as cluster:
        made, graph = made_in(cluster, tmp_path, 4, directed=True)
        found = at_edges(cluster.count_per_edge(made, pattern).to_arrow(), directed=True)
        assert found == at_edges(mf.count_per_edge(graph, pattern).to_arrow(), directed=True)
        assert any(len(set(counts)) > 1 for counts in found.values())


@pytest.mark.parametrize("directed", [False, True])
def test_a_graph_without_edges_has_no_counts_at_edges(ray: InlineRay, tmp_path: Path, directed: bool) -> None:
    (tmp_path / "e.csv").write_text("from,to\n")
    (tmp_path / "v.csv").write_text("id\n1\n2\n3\n")
    options: dict[str, Any] = {
        "directed": directed,
        "vertices": tmp_path / "v.csv",
        "src": "from",
        "dst": "to",
    }
    with mf.Cluster() as cluster:
        made = cluster.shard(tmp_path / "e.csv", tmp_path / "g", **options)
        found = cluster.count_per_edge(made, "(a)--(b)--(c)")
        assert (len(found), found.graph.num_vertices, found.complete) == (0, 3, True)
        written = cluster.count_per_edge(made, "(a)--(b)--(c)", output=tmp_path / "none")
        assert (written.rows, written.complete) == (0, True)


@pytest.mark.turns(3)
@pytest.mark.parametrize("directed", [False, True])
def test_counts_at_edges_are_written_into_a_data_set(
    ray: InlineRay, tmp_path: Path, directed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pairs, "_BYTES_OF_SUM", 4_000)  # several files of a task, and of a range
    with mf.Cluster() as cluster:
        made, graph = made_in(cluster, tmp_path, 7, directed=directed)
        for number, by in enumerate([None, 0]):
            folder = tmp_path / f"rows{number}"
            written = cluster.count_per_edge(made, PATTERNS[1], by=by, output=folder)
            expected = mf.count_per_edge(graph, PATTERNS[1], by=by).to_arrow()
            table = pq.read_table(folder)
            assert at_edges(table, directed) == at_edges(expected, directed)
            assert (written.rows, written.complete) == (len(table), True)
            assert written.files == len(list(folder.iterdir()))
            files = [pq.read_schema(path) for path in folder.iterdir()]
            assert all(one.equals(expected.schema, check_metadata=True) for one in files)
        with pytest.raises(mf.OutputError, match="without files"):
            cluster.count_per_edge(made, PATTERNS[1], output=tmp_path / "rows0")
        nothing = cluster.count_per_edge(made, "(a:z)--(b)", output=tmp_path / "none")
        assert (nothing.rows, nothing.files) == (0, 1)
        assert pq.read_table(tmp_path / "none").column_names[:2] == ["src", "dst"]
        assert not list((tmp_path / "g").glob("_counts-*")), "numbers of tasks are deleted"


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("size", "directed"), [(4, False), (4, True), pytest.param(5, False, marks=pytest.mark.long)]
)
def test_orbits_of_edges_are_those_of_the_whole_graph(
    ray: InlineRay, tmp_path: Path, size: int, directed: bool
) -> None:
    with mf.Cluster() as cluster:
        made, graph = made_in(cluster, tmp_path, 7, directed=directed)
        ray.loses = 0.02
        found, expected = cluster.edge_orbits(made, size), mf.edge_orbits(graph, size)
        assert at_edges(found.to_arrow(), directed) == at_edges(expected.to_arrow(), directed)
        assert (found.columns, found.complete, found.engine) == (expected.columns, True, "cluster")
        written = cluster.edge_orbits(made, size, output=tmp_path / "orbits")
        assert (written.rows, written.complete) == (len(found), True)
        late = cluster.edge_orbits(made, size, timeout=0.0)
        assert (late.complete, late.counts.shape) == (False, (0, len(expected.columns)))


def assert_numbers_are_those_of_the_whole_graph(
    graph: mf.Graph,
    query: mf.Pattern,
    memory: int,
    cut: float,
    semantics: Any = "isomorphism",
    by: str = "auto",
    on_gpu: Callable[[RangeSearch], PartsOnGpu] | None = None,
    **options: Any,
) -> int:
    """Compare the counts of parts at pairs with those of the whole graph; return the parts that CPUs counted.

    Parameters
    ----------
    on_gpu
        Makes what searches parts on a GPU; None: CPUs do.
    """
    directed, by_cpu = graph.directed, 0
    request = make_request(threads=1, semantics=semantics, symmetry="embeddings", **options)
    request = replace(request, tuning={**request.tuning, "images_by": by})
    queried = [bound_query_edge(query, one, graph) for one in query.edges]
    bound = bind(query, graph)
    asked: list[Any] = [((one.source, one.target), bound.rows_of(one)) for one in queried]
    expected = mf.count_per_edge(graph, query, semantics=semantics, device="cpu")
    layout, parts = shards_of(graph, 3)
    plan = image_plan_of(graph, query, asked, request, Deadline.after(None), on_gpu=on_gpu is not None)
    ways = [not directed or one.either for one in queried]
    columns = list(zip(plan.class_of, ways, strict=True))
    wanted = dict.fromkeys(columns)
    found: dict[tuple[tuple[int, bool], int, int], int] = {}
    middle = int(cut * layout.entries)
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(rows, "_LEAST_PIECE", 8)
        patch.setattr(search, "_LEAST", 0)
        patch.setattr(edge_images, "_ARCS_AT_ONCE", 5)
        patch.setattr(os, "fsync", lambda file: None)
        for images in ranged_images(graph, query, plan, request, Deadline.after(None)):
            own = [one for one in wanted if one[0] in images.classes]
            sums = tuple((images.classes.index(number), either) for number, either in own)
            ranged = RangedEdges(images, sums, directed)
            made = Rows(layout, parts, [True, False, False], None, memory // search.SHARE_OF_ROWS)
            searched = RangeSearch(made, images.ranged, memory, 1, share=ranged.share)
            counts = RangeEdges(searched, ranged, PairSums(len(sums), folder, 2_000))
            there = None if on_gpu is None else on_gpu(searched)
            counts.numbers_of = None if there is None else there.numbers_of_arcs
            total = 0
            for ends in ((middle, layout.entries), (0, middle)):
                total += searched.each(*ends, None, None, counts.add).total
            by_cpu += 0 if there is None else there.by_cpu
            times = times_of(plan, plan.searches[images.classes[0]], images.classes[0])
            assert times * total == mf.count(graph, query, semantics=semantics, device="cpu")
            paths, classes = [f"{folder}/{name}" for name, _ in counts.sums.take()], len(sums)
            while len(paths) > 100:
                groups = [paths[at : at + 100] for at in range(0, len(paths), 100)]
                paths = [merged(group, classes, 1 << 20)[0] for group in groups]
            runs = Runs(paths, range(classes))
            for one, (keys, words, _) in zip(own, runs.sums(whole_range(runs.keys)), strict=True):
                times = times_of(plan, plan.searches[one[0]], one[0])
                for key, word in zip(keys.tolist(), words.tolist(), strict=True):
                    found[one, key >> 32, key & 0xFFFFFFFF] = word * times
    ids = ids_of(graph, layout).all().tolist()
    place = {one: at for at, one in enumerate(ids)}
    ends = [[place[one] for one in some.tolist()] for some in (expected.sources, expected.targets)]
    labels = expected.to_arrow().to_pydict().get("label", [0] * len(expected))
    for column, (one, number) in enumerate(zip(query.edges, columns, strict=True)):
        for source, target, label, count in zip(*ends, labels, expected.counts[:, column], strict=True):
            pair = (source, target) if directed else (min(source, target), max(source, target))
            accepted = one.labels is None or label in one.labels
            assert count == (found.get((number, *pair), 0) if accepted else 0)
    return by_cpu


@pytest.mark.turns(4)
@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    directed=st.booleans(),
    semantics=st.sampled_from(["isomorphism", "induced", "homomorphism"]),
    by=st.sampled_from(["auto", "listing", "rooted"]),
    cut=st.floats(0, 1),
    memory=st.sampled_from([20_000, 60_000, 1 << 20]),
)
def test_numbers_of_pairs_are_those_of_the_whole_graph(
    seed: int, directed: bool, semantics: Any, by: str, cut: float, memory: int
) -> None:
    graph = random_graph(seed, directed=directed)
    every = SEARCHED + SEARCHED_DIRECTED if directed else SEARCHED
    query = mf.Pattern.parse(random.Random(seed).choice(every))
    assert_numbers_are_those_of_the_whole_graph(graph, query, memory, cut, semantics, by)


def test_numbers_of_a_lost_task_are_not_added_again(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add, calls = RangeEdges.add, 0

    def add_and_fail_once(self: RangeEdges, *given: Any) -> int:
        nonlocal calls
        calls += 1
        found = add(self, *given)
        if calls == 3:
            raise WorkerCrashedError("a server of rows starts again")
        return found

    with mf.Cluster() as cluster:
        made, graph = made_in(cluster, tmp_path, 4)
        monkeypatch.setattr(RangeEdges, "add", add_and_fail_once)
        found = cluster.count_per_edge(made, PATTERNS[1])
        expected = mf.count_per_edge(graph, PATTERNS[1])
        assert calls > 3, "a task fails on the way"
        assert at_edges(found.to_arrow(), False) == at_edges(expected.to_arrow(), False)


def test_options_that_counts_at_edges_do_not_have_are_refused(ray: InlineRay, tmp_path: Path) -> None:
    with mf.Cluster() as cluster:
        made, graph = made_in(cluster, tmp_path, 5)
        given: Any
        for given in ({"by": "x"}, {"limit": 3}, {"gpu_memory": 5}, {"some": 1}, {"device": "cuda:0"}):
            with pytest.raises(mf.ArgumentError, match=next(iter(given))):
                cluster.count_per_edge(made, PATTERNS[0], **given)
        whole: Any = graph
        with pytest.raises(mf.ArgumentError, match="output"):
            cluster.count_per_edge(whole, PATTERNS[0], output=tmp_path / "rows")
        with pytest.raises(mf.ArgumentError, match=r"motiflux\.edge_orbits takes others"):
            cluster.edge_orbits(whole)
        with pytest.raises(mf.ArgumentError, match="size"):
            cluster.edge_orbits(made, 3)
        few = cluster.open_sharded(tmp_path / "g", memory=10_000)
        with pytest.raises(mf.ClusterError, match=r"memory: expected at least|give output="):
            cluster.count_per_edge(few, "(a)--(b)--(c)--(d)")
        made.close()
        with pytest.raises(mf.ClusterError, match="open it again"):
            cluster.count_per_edge(made, PATTERNS[0])


def test_results_that_do_not_fit_are_refused(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mf.Cluster() as cluster:
        made, _ = made_in(cluster, tmp_path, 5)
        monkeypatch.setattr(made, "memory", 100)
        with pytest.raises(mf.ClusterError, match="give output="):
            cluster.count_per_edge(made, PATTERNS[0])
        assert cluster.count_per_edge(made, PATTERNS[0], output=tmp_path / "rows").rows > 10


@pytest.mark.turns(4)
def test_runs_are_merged_until_few_are_open(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edges, "_MOST_OPEN", 3)
    monkeypatch.setattr(pairs, "_BYTES_OF_SUM", 20_000)  # many runs
    opened, most, written = pairs.Runs, 0, 0

    def counted(paths: list[str], places: Any) -> Runs:
        nonlocal most
        most = max(most, len(paths))
        return opened(paths, places)

    write = PairSums._write

    def write_and_count(self: PairSums) -> None:
        nonlocal written
        written += 1
        write(self)

    for module in (pairs, edge_sums):
        monkeypatch.setattr(module, "Runs", counted)
    monkeypatch.setattr(PairSums, "_write", write_and_count)
    with mf.Cluster() as cluster:
        made, graph = made_in(cluster, tmp_path, 7)
        ray.loses = 0.05
        for pattern in PATTERNS[:2]:
            found, expected = cluster.count_per_edge(made, pattern), mf.count_per_edge(graph, pattern)
            assert at_edges(found.to_arrow(), False) == at_edges(expected.to_arrow(), False)
        cluster.count_per_edge(made, PATTERNS[1], output=tmp_path / "rows")
        assert at_edges(pq.read_table(tmp_path / "rows"), False) == at_edges(expected.to_arrow(), False)
        few, local = cluster.edge_orbits(made, 4), mf.edge_orbits(graph, 4)
        assert at_edges(few.to_arrow(), False) == at_edges(local.to_arrow(), False)
    assert written > 30, "there are many runs"
    assert most == 3


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    memory=st.sampled_from([1, 500, 5000, 1 << 20]),
    distinct=st.sampled_from([1, 3, 50, 2**64]),
)
def test_ranges_ascend_and_have_as_many_pairs_as_fit(seed: int, memory: int, distinct: int) -> None:
    draws = np.random.default_rng(seed)
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(os, "fsync", lambda file: None)
        sums = PairSums(2, folder, 20_000)
        for _ in range(12):
            keys = draws.integers(0, distinct, 30, np.uint64)
            if distinct == 2**64:
                keys[:20] >>= np.uint64(50)  # most are close together
            sums.add(int(draws.integers(2)), keys, np.ones(len(keys), np.uint64), {})
        runs = Runs([f"{folder}/{name}" for name, _ in sums.take()], [0, 1])
        whole = runs.sums(whole_range(runs.keys))
        pieces = [piece for (piece,) in sums_by_ranges([runs], 0, 1 << 64, memory)]
    every = [np.concatenate([keys for keys, _, _ in piece]).tolist() for piece in pieces]
    ends = [(min(keys), max(keys)) for keys in every]
    assert all(before[1] < behind[0] for before, behind in pairwise(ends))
    for piece, (low, high) in zip(pieces, ends, strict=True):
        assert low == high or sum(len(keys) for keys, _, _ in piece) <= pairs_within(memory)
    for place, (keys, words, _) in enumerate(whole):
        assert np.array_equal(np.concatenate([piece[place][0] for piece in pieces]), keys)
        assert np.array_equal(np.concatenate([piece[place][1] for piece in pieces]), words)


@pytest.mark.parametrize(("files", "each"), [(8, 800), (64, 100), (64, 1), (200, 30)])
def test_many_short_files_are_cut_into_few_ranges(tmp_path: Path, files: int, each: int) -> None:
    draws = np.random.default_rng(files)
    paths = []
    for _ in range(files):
        sums = PairSums(1, str(tmp_path), 1 << 20)
        sums.add(0, draws.integers(0, 2**64, each, np.uint64), np.ones(each, np.uint64), {})
        paths += [f"{tmp_path}/{name}" for name, _ in sums.take()]
    pairs = files * each
    for most in (pairs // 2, pairs // 5, pairs // 30):
        number = sum(1 for _ in sums_by_ranges([Runs(paths, [0])], 0, 1 << 64, 128 * most))
        assert pairs / most <= number <= 3 * pairs / most


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), classes=st.integers(1, 3), memory=st.sampled_from([1, 500, 1 << 20]))
def test_a_merged_run_has_the_sums_of_all(seed: int, classes: int, memory: int) -> None:
    draws = np.random.default_rng(seed)
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(os, "fsync", lambda file: None)
        sums = PairSums(classes, folder, 300)
        for _ in range(8):
            keys = keys_of(draws.integers(0, 2**32, 3), draws.integers(0, 4, 3))
            keys[0] = 2**64 - 1
            sums.add(int(draws.integers(classes)), keys, draws.integers(2**62, 2**64, 3, np.uint64), {})
        paths = [f"{folder}/{name}" for name, _ in sums.take()]
        path, fewer = merged(paths, classes, memory)
        one, several = Runs([path], range(classes)), Runs(paths, range(classes))
        assert fewer == whole_range(several.keys).pairs - whole_range(one.keys).pairs
        both = [runs.sums(whole_range(runs.keys)) for runs in (one, several)]
        for found, all_of in zip(*both, strict=True):
            assert np.array_equal(found[0], all_of[0])
            assert np.array_equal(found[1], all_of[1])
            assert found[2] == all_of[2]


@pytest.mark.turns(2)
@pytest.mark.parametrize("most", [1 << 20, 2])
def test_a_timeout_covers_adding(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(edges, "_LEAST_ADDING", 0.0)
    monkeypatch.setattr(edges, "_SHARE_OF_ADDING", 0.0)
    monkeypatch.setattr(edges, "_MOST_OPEN", most)
    monkeypatch.setattr(edges, "_MERGED_BYTES", 100_000)  # many tasks
    monkeypatch.setattr(pairs, "_BYTES_OF_SUM", 20_000)
    names = ("count_per_edge: add", "count_per_edge: write", "count_per_edge: merge")
    passed = Deadline.passed.fget
    assert passed is not None

    def is_late(self: Deadline) -> bool:
        tasks = sum(name in names for name in ray.names)
        return self.at is not None and (tasks >= (3 if most > 2 else 1) or passed(self))

    with mf.Cluster() as cluster:
        made, graph = made_in(cluster, tmp_path, 7)
        whole = at_edges(mf.count_per_edge(graph, PATTERNS[1]).to_arrow(), False)
        monkeypatch.setattr(Deadline, "passed", property(is_late))
        found = cluster.count_per_edge(made, PATTERNS[1], timeout=1e6)
        some = at_edges(found.to_arrow(), False)
        assert not found.complete
        assert some.items() <= whole.items(), "edges that were added have all of their counts"
        assert (0 < len(some) < len(whole)) == (most > 2)
        ray.names.clear()
        written = cluster.count_per_edge(made, PATTERNS[1], timeout=1e6, output=tmp_path / "rows")
        assert not written.complete
        table = pq.read_table(tmp_path / "rows")
        assert at_edges(table, False).items() <= whole.items()
        assert (len(table), len(list((tmp_path / "rows").iterdir()))) == (written.rows, written.files)
        ray.names.clear()
        orbits = cluster.edge_orbits(made, 4, timeout=1e6)
        assert (orbits.complete, len(orbits), len(orbits.columns)) == (False, 0, 12)


def test_an_error_deletes_files_of_its_own_call_alone(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pairs, "_BYTES_OF_SUM", 4_000)
    write, written, folder = Folder.write, 0, tmp_path / "rows"

    def write_and_fail(self: Folder, name: str, data: bytes) -> None:
        nonlocal written
        write(self, name, data)
        written += 1
        if written == 3:
            for other in ("part-000000-00000.parquet", "of another.parquet"):
                (folder / other).write_bytes(b"of another program")
            raise mf.OutputError("no space left on device")

    with mf.Cluster() as cluster:
        made, _ = made_in(cluster, tmp_path, 7)
        with monkeypatch.context() as patch:
            patch.setattr(Folder, "write", write_and_fail)
            with pytest.raises(mf.OutputError, match="no space left"):
                cluster.count_per_edge(made, PATTERNS[1], output=folder)
        left = {path.name for path in folder.iterdir()}
        assert left == {"part-000000-00000.parquet", "of another.parquet"}


def test_sums_of_pairs_have_any_size(tmp_path: Path) -> None:
    draws = np.random.default_rng(1)
    for memory in (1, 1_000, 1 << 20):
        folder = tmp_path / str(memory)
        folder.mkdir()
        expected: list[dict[int, int]] = [{}, {}]
        names: list[tuple[str, int]] = []
        for _ in range(3):
            sums = PairSums(2, str(folder), memory)
            for _ in range(5):
                first, second = draws.integers(0, 2**32, 3), draws.integers(0, 4, 3)
                first[0] = 2**32 - 1
                keys = keys_of(first, second)
                words = draws.integers(2**63, 2**64, 3, np.uint64)
                place = int(draws.integers(2))
                above = {int(keys[0]): 2**70}
                sums.add(place, keys, words, above)
                for key, word in zip(keys.tolist(), words.tolist(), strict=True):
                    expected[place][key] = expected[place].get(key, 0) + word
                expected[place][int(keys[0])] += 2**70
            names += sums.take()
            assert not sums.take()
        runs = Runs([str(folder / name) for name, _ in names], [1, 0])
        found: list[dict[int, int]] = [{}, {}]
        for (sums_of_range,) in sums_by_ranges([runs], 0, 1 << 64, 500):
            for place, (keys, words, above) in zip((1, 0), sums_of_range, strict=True):
                for key, word in zip(keys.tolist(), words.tolist(), strict=True):
                    assert key not in found[place]
                    found[place][key] = word + above.get(key, 0)
        assert found == expected
    assert added([], [])[0].shape == (0,)
