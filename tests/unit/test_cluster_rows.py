"""Rows of queries, and distinct rows, on a cluster: those of one machine (`tests.inline_ray`)."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.api.projecting import plan_rows
from motiflux.cluster import driver_rows, jobs
from motiflux.cluster import rows as cluster_rows
from motiflux.cluster.data_set import DataSet
from motiflux.cluster.folder import Folder
from motiflux.cluster.shares import roots
from motiflux.cluster.tasks import Bounds, list_search
from motiflux.cpu.projection import native_projection, prepare_rows
from motiflux.pattern.asked import projection_of, vertex_names_of
from motiflux.pattern.convert import as_query
from motiflux.pattern.projection import Projection
from motiflux.request.deadline import Deadline
from motiflux.request.request import make_request
from tests.inline_ray import InlineRay, replace_ray
from tests.query_cases import query_cases
from tests.unit.test_cluster import graph_of
from tests.unit.test_sharded_queries import COMPARING, DIRECTED, QUERIES, random_data, rows_of

BESIDE = "(a)--(b), (c:1)--(d)"
OPTIONAL = "(a)--(b)--(c) OPTIONAL (c)--(d)"
DISTINCT: list[tuple[str, list[str], str | None]] = [
    ("(a)--(b)--(c)", ["a"], None),
    ("(a)--(b)--(c)--(d)", ["d", "a"], None),
    ("(a)--(b)--(c)", ["c", "a"], "count(b) >= 2"),
    ("(a)--(b)--(c)", ["b"], "count(a, c) < 9"),
    ("(a)--(b)--(c)--(d)--(e)", ["a", "c", "e"], None),
    ("(a)-[*1..3]-(b)", ["b"], None),
    ("(a)--(b) OPTIONAL (b)--(c)", ["c", "a"], None),
    ("(a)--(b) OPTIONAL (b)--(c)", ["a"], "count(c) < 3"),
    (BESIDE, ["a", "c"], None),
    ("(a)--(b)--(c) WHERE degree(a) > 3 OR degree(c) < 5", ["b"], None),
]
SEMANTICS = ["isomorphism", "induced", "homomorphism"]


def with_ray(patch: pytest.MonkeyPatch) -> InlineRay:
    """Have many small tasks and files, in this process."""
    patch.setattr(os, "fsync", lambda file: None)
    patch.setattr(jobs, "_MANIFEST_SECONDS", 0.0)
    patch.setattr(driver_rows, "ROWS_OF_TASK", 50)
    for module in (jobs, cluster_rows):
        patch.setattr(module, "ROWS_OF_TASK", 50)
        patch.setattr(module, "FIRST_WORK", 1_000)
        patch.setattr(module, "MOST_WORK", 1_000)
    return replace_ray(patch, nodes=2)


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> InlineRay:
    return with_ray(monkeypatch)


@contextmanager
def clustered(loses: float) -> Iterator[tuple[mf.Cluster, Path]]:
    """Yield a cluster that loses tasks, and a folder."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        with_ray(patch).loses = loses
        with mf.Cluster() as cluster:
            yield cluster, Path(folder)


def listed(call: Any) -> Any:
    """Return the rows of a call, or what its error says."""
    try:
        return rows_of(call().to_arrow())
    except (mf.ArgumentError, mf.PatternError) as error:
        return str(error)


def check_rows(
    cluster: mf.Cluster, folder: Path, graph: mf.Graph, query: str, options: dict[str, Any]
) -> None:
    """Compare rows as they arrive, of a list, and in files with those of one machine."""
    expected = listed(lambda: mf.match(graph, query, **options))
    found = [
        listed(lambda: cluster.match(graph, query, **options)),
        listed(lambda: cluster.match(graph, [query], **options)[0]),
    ]
    if isinstance(expected, str):
        assert all(expected in one for one in found)
        with pytest.raises(mf.MotifluxError) as refused:
            cluster.match(graph, query, output=folder / "rows", **options)
        assert str(refused.value) == expected
        assert not (folder / "rows").exists()
        return
    written = cluster.match(graph, query, output=folder / "rows", **options)
    found.append(rows_of(pq.read_table(folder / "rows")))
    assert (written.rows, written.complete) == (expected.total(), True)
    assert written.files == len(list((folder / "rows").glob("*.parquet")))
    every = expected
    if options.get("symmetry") == "subgraphs":  # each may be told by any of its embeddings
        every = listed(lambda: mf.match(graph, query, **options | {"symmetry": "embeddings"}))
        assert all((one.total(), one <= every) == (expected.total(), True) for one in found)
    else:
        assert found == [expected] * 3


OPTIONS: dict[str, Any] = {
    "seed": st.integers(0, 10**6),
    "directed": st.booleans(),
    "semantics": st.sampled_from(SEMANTICS),
    "symmetry": st.sampled_from(["embeddings", "subgraphs"]),
    "loses": st.sampled_from([0.0, 0.05]),
}


@pytest.mark.turns(2)
@settings(max_examples=15)
@given(
    query=st.sampled_from(QUERIES + DIRECTED + COMPARING),
    edges=st.sampled_from([False, True, "all"]),
    **OPTIONS,
)
def test_rows_of_queries_are_those_of_one_machine(
    query: str, edges: Any, seed: int, directed: bool, semantics: Any, symmetry: Any, loses: float
) -> None:
    graph = random_data(seed, directed=directed).graph()
    options: dict[str, Any] = {"semantics": semantics, "symmetry": symmetry, "edges": edges, "names": True}
    if edges:
        options["attributes"] = ["x", "t"]
    with clustered(loses) as (cluster, folder):
        check_rows(cluster, folder, graph, query, options)


@pytest.mark.turns(2)
@settings(max_examples=15)
@given(asked=st.sampled_from(DISTINCT), **OPTIONS)
def test_distinct_rows_are_those_of_one_machine(
    asked: Any, seed: int, directed: bool, semantics: Any, symmetry: Any, loses: float
) -> None:
    graph = random_data(seed, directed=directed, most=20).graph()
    query, distinct, having = asked
    options: dict[str, Any] = {"semantics": semantics, "names": True, "distinct": distinct, "having": having}
    with clustered(loses) as (cluster, folder):
        check_rows(cluster, folder, graph, query, options)
        if symmetry == "subgraphs":
            options["symmetry"] = symmetry
            expected = listed(lambda: mf.match(graph, query, **options))
            found = listed(lambda: cluster.match(graph, query, **options))
            assert found == expected if isinstance(expected, str) else found.total() == expected.total()


FEATURES = ["path", "ring", "walk", "increasing", "or", "optional", "optpath", "parts", "labels", "negated"]


@pytest.mark.turns(2)
@settings(max_examples=25)
@given(
    drawn=st.data(),
    features=st.frozensets(st.sampled_from(FEATURES), min_size=1, max_size=4),
    directed=st.booleans(),
    semantics=st.sampled_from(SEMANTICS),
    loses=st.sampled_from([0.0, 0.05]),
    projected=st.booleans(),
)
def test_random_queries_have_the_rows_of_one_machine(
    drawn: Any, features: frozenset[str], directed: bool, semantics: Any, loses: float, projected: bool
) -> None:
    case = drawn.draw(query_cases(features=features, directed=directed))
    text = case.text()
    note(text)
    options: dict[str, Any] = {"semantics": semantics, "names": True}
    if projected:
        vertices = vertex_names_of(as_query(text))
        options["distinct"] = drawn.draw(
            st.lists(st.sampled_from(vertices), min_size=1, max_size=3, unique=True)
        )
    with clustered(loses) as (cluster, folder):
        check_rows(cluster, folder, case.graph(), text, options)


@pytest.mark.parametrize("semantics", ["isomorphism", "homomorphism"])
@pytest.mark.parametrize(("query", "distinct", "having"), DISTINCT[:5])
def test_shares_of_distinct_rows_are_divided_at_all_levels(
    semantics: Any, query: str, distinct: list[str], having: str | None
) -> None:
    graph = mf.generate.rmat(scale=6, edges=250 if len(distinct) > 2 else 600, seed=1)
    expected = mf.match(graph, query, distinct=distinct, having=having, semantics=semantics)
    rows = Counter(map(tuple, expected.to_numpy().tolist()))
    pattern = mf.Pattern.parse(query)
    names = vertex_names_of(pattern)
    request = make_request(semantics=semantics, symmetry="embeddings", threads=1)
    projection = projection_of(pattern, distinct, having)
    assert projection is not None
    assert projection.returned == tuple(names.index(name) for name in distinct)
    plan = plan_rows(graph, pattern, projection, replace(request, elsewhere=object()), Deadline.after(None))
    assert plan is not None
    search = prepare_rows(graph, plan, request)
    waiting, found, levels = [[roots(0, search.units)]], [], set()
    while waiting:
        bounds = Bounds(work=2_000, rows=300)
        blocks, left, _ = list_search(search, (), waiting.pop(), bounds, native_projection(plan, request))
        levels |= {item[0] for item in left}
        waiting += [[item] for item in left]
        found += [tuple(row) for block in blocks for row in graph.vertex_ids[block].tolist()]
    assert Counter(found) == rows
    if len(names) > 3:
        assert levels >= set(range(min(2, plan.group_levels)))


def test_shares_of_queries_are_divided_below_given_vertices(
    ray: InlineRay, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "(a)-[*3..4]-(b)"
    graph, ends = mf.generate.rmat(scale=6, edges=160, seed=1), []
    note = cluster_rows.RowSearch.note

    def noted(self: Any, order: Any, done: Any, rows: int) -> None:
        ends.append((done.rows, {(item[0], item[6][-1]) for item in done.left if item[0] > 0}))
        note(self, order, done, rows)

    monkeypatch.setattr(cluster_rows.RowSearch, "note", noted)
    monkeypatch.setattr(cluster_rows, "ROWS_OF_TASK", 1 << 30)  # tasks end by their steps
    with mf.Cluster() as cluster:
        found = cluster.match(graph, query, names=True).to_arrow()
    assert rows_of(found) == rows_of(mf.match(graph, query, names=True).to_arrow())
    deep = set().union(*(left for _, left in ends))
    assert any(case > 0 for _, case in deep)
    assert max(rows for rows, _ in ends) < found.num_rows / 4


def test_a_task_of_distinct_rows_ends_after_its_rows() -> None:
    graph = mf.generate.rmat(scale=9, edges=8_000, seed=1)
    pattern, request = (
        mf.Pattern.parse("(a)--(b)--(c)"),
        make_request(semantics="isomorphism", symmetry="embeddings", threads=1),
    )
    plan = plan_rows(graph, pattern, Projection((0, 1)), request, Deadline.after(None))
    assert plan is not None
    search, bounds = prepare_rows(graph, plan, request), Bounds(work=1 << 40, rows=500)
    share = [roots(0, search.units)]
    blocks, left, _ = list_search(search, (), share, bounds, native_projection(plan, request))
    assert 500 <= sum(map(len, blocks)) < 8_000
    assert left


def test_rows_that_wait_for_the_reader_are_bounded(ray: InlineRay) -> None:
    graph = graph_of(5, 40)
    for query in ("(a)-[*1..3]-(b)", "(a)--(b)--(c)--(d) RETURN DISTINCT a, d, c"):
        with mf.Cluster() as cluster, cluster.match(graph, query, batch_rows=10) as matches:
            assert 0 < len(next(iter(matches))) <= 10
            assert matches.engine == "cluster"
            assert len(cluster.tasks) < ray.submitted < mf.count(graph, query)
        assert ray.largest <= 6  # two nodes of two CPUs, and two tasks that wait


QUERIES_OF_JOBS = {
    "cases": OPTIONAL,
    "groups": "(a)--(b)--(c)--(d) RETURN DISTINCT a, b, d",
    "driver": f"{OPTIONAL} RETURN DISTINCT a, d",
    "beside": BESIDE,
}


@pytest.mark.parametrize("query", QUERIES_OF_JOBS.values(), ids=QUERIES_OF_JOBS)
@pytest.mark.parametrize("after", [1, 4, 9])
def test_a_job_whose_driver_was_lost_continues(
    ray: InlineRay, tmp_path: Path, query: str, after: int
) -> None:
    graph, ran = random_data(5, directed=False, most=30).graph(), 0

    def lose_driver() -> None:
        nonlocal ran
        ran += 1
        if ran == after:
            raise SystemExit

    ray.before = lose_driver
    options: dict[str, Any] = {"output": tmp_path / "rows", "job": "mine", "names": True}
    with pytest.MonkeyPatch.context() as patch, mf.Cluster() as cluster:
        patch.setattr(DataSet, "delete_others", lambda self: None)  # a lost driver deletes nothing
        with pytest.raises(SystemExit):
            cluster.match(graph, query, **options)
    ray.before, ray.loses = None, 0.05
    with mf.Cluster() as cluster:
        written = cluster.match(graph, query, **options)
        expected = rows_of(mf.match(graph, query, names=True).to_arrow())
        assert rows_of(pq.read_table(tmp_path / "rows")) == expected
        assert (written.rows, written.complete) == (expected.total(), True)
        if query not in (BESIDE, QUERIES_OF_JOBS["driver"]):
            assert written.resumed == after - 1
        tasks = len(ray.names)
        again = cluster.match(graph, query, **options)
        assert (again.rows, again.complete, again.resumed > 0) == (written.rows, True, True)
        assert len(ray.names) == tasks
        with pytest.raises(mf.OutputError, match="expected an empty folder"):
            cluster.match(graph, f"{query} ".replace("(a)", "(a:0)", 1), **options)
        with pytest.raises(mf.OutputError, match="expected an empty folder"):
            cluster.match(graph, query, limit=3, **options)


@pytest.mark.parametrize("query", list(QUERIES_OF_JOBS.values())[:2], ids=list(QUERIES_OF_JOBS)[:2])
def test_an_interrupt_after_a_task_was_written_down_deletes_no_file(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    graph, note = random_data(5, directed=False, most=30).graph(), DataSet.note

    def interrupt(self: DataSet, name: str, content: Any) -> None:
        note(self, name, content)
        if name.startswith("done") and content["rows"]:
            raise KeyboardInterrupt

    options: dict[str, Any] = {"output": tmp_path, "job": "mine", "names": True}
    with mf.Cluster() as cluster:
        with monkeypatch.context() as patch:
            patch.setattr(DataSet, "note", interrupt)
            with pytest.raises(KeyboardInterrupt):
                cluster.match(graph, query, **options)
        assert cluster.match(graph, query, **options).resumed > 0
    assert rows_of(pq.read_table(tmp_path)) == rows_of(mf.match(graph, query, names=True).to_arrow())


@pytest.mark.parametrize("query", list(QUERIES_OF_JOBS.values())[2:], ids=list(QUERIES_OF_JOBS)[2:])
def test_a_driver_that_lost_its_job_while_it_wrote_down_the_end_spoils_nothing(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    graph, write = random_data(5, directed=False).graph(), Folder.write_json
    options: dict[str, Any] = {"output": tmp_path, "job": "mine", "names": True}
    begun = 0

    def go_on_elsewhere(self: Folder, name: str, content: object) -> None:
        nonlocal begun
        if "done" in name:
            begun += 1
            if begun == 1:
                with mf.Cluster() as other:
                    other.match(graph, query, **options)
        write(self, name, content)

    monkeypatch.setattr(Folder, "write_json", go_on_elsewhere)
    expected = rows_of(mf.match(graph, query, names=True).to_arrow())
    with mf.Cluster() as cluster:
        with pytest.raises(mf.OutputError, match="another call has continued this job"):
            cluster.match(graph, query, **options)
        again = cluster.match(graph, query, **options)
        assert (again.rows, again.resumed) == (expected.total(), 1)
        assert rows_of(pq.read_table(tmp_path)) == expected
        next(tmp_path.glob("*.parquet")).unlink()
        again = cluster.match(graph, query, **options)
        assert (again.rows, again.resumed) == (expected.total(), 0)
        assert rows_of(pq.read_table(tmp_path)) == expected


@pytest.mark.parametrize("query", list(QUERIES_OF_JOBS.values())[:2], ids=list(QUERIES_OF_JOBS)[:2])
@pytest.mark.parametrize("after", [1, 8])
def test_a_driver_that_loses_its_job_while_it_gives_a_task_begins_none(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str, after: int
) -> None:
    graph, write = random_data(5, directed=False, most=30).graph(), Folder.write_json
    options: dict[str, Any] = {"output": tmp_path, "job": "mine", "names": True}
    begun = submitted = 0

    def go_on_elsewhere(self: Folder, name: str, content: object) -> None:
        nonlocal begun, submitted
        if "given" in name:
            begun += 1
            if begun == after:
                with mf.Cluster() as other:
                    other.match(graph, query, **options)
                submitted = ray.submitted
        write(self, name, content)

    monkeypatch.setattr(Folder, "write_json", go_on_elsewhere)
    with mf.Cluster() as cluster, pytest.raises(mf.OutputError, match="another call has continued this job"):
        cluster.match(graph, query, **options)
    assert ray.submitted == submitted > 0
    assert rows_of(pq.read_table(tmp_path)) == rows_of(mf.match(graph, query, names=True).to_arrow())


def begun(folder: Path) -> DataSet:
    """Return the data set of the next call of a job."""
    made = DataSet(Folder(str(folder)), "mine", {})
    made.begin()
    return made


def test_notes_that_an_earlier_call_writes_late_count_for_nothing(tmp_path: Path) -> None:
    first = begun(tmp_path)
    first.note("given-000000", "first")
    second = begun(tmp_path)
    with pytest.raises(mf.OutputError, match="another call has continued this job"):
        first.note("given-000001", "late")
    second.note("given-000001", "second")
    third = begun(tmp_path)
    with pytest.raises(mf.OutputError):
        second.note("done-000001", "late, too")
    for last in (third, begun(tmp_path)):
        assert [last.read_note(name) for name in last.notes] == ["first", "second"]
        assert [name[:12] for name in last.notes] == ["given-000000", "given-000001"]


def test_a_call_that_was_made_before_another_began_goes_on_with_its_job(tmp_path: Path) -> None:
    made = DataSet(Folder(str(tmp_path)), "mine", {})
    other = DataSet(Folder(str(tmp_path)), "other", {})
    begun(tmp_path).note("given-000000", "first")
    made.begin()
    assert [made.read_note(name) for name in made.notes] == ["first"]
    with pytest.raises(mf.OutputError, match="found job 'mine', others: job"):
        other.begin()
    assert made.owned


def test_jobs_that_begin_at_the_same_time_do_not_mix_their_notes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, others = Folder.write_json, list[DataSet]()

    def begin_other(self: Folder, name: str, content: object) -> None:
        if name.endswith("job.json") and not others:
            others.append(DataSet(self, "other", {}))
            others[0].begin()
            others[0].note("given-000000", "of the other job")
        write(self, name, content)

    monkeypatch.setattr(Folder, "write_json", begin_other)
    assert not begun(tmp_path).notes
    assert not begun(tmp_path).notes
    with pytest.raises(mf.OutputError, match="another call has continued this job"):
        others[0].note("given-000001", "late")


@pytest.mark.parametrize("query", list(QUERIES_OF_JOBS.values())[:2], ids=list(QUERIES_OF_JOBS)[:2])
@pytest.mark.parametrize("limit", [None, 20])
def test_calls_that_begin_a_job_at_the_same_time_leave_all_rows_once(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str, limit: int | None
) -> None:
    graph, write, begins = random_data(5, directed=False, most=30).graph(), Folder.write_json, 0
    options: dict[str, Any] = {"output": tmp_path, "job": "mine", "names": True, "limit": limit}

    def begin_other(self: Folder, name: str, content: object) -> None:
        nonlocal begins
        begins += name.endswith("job.json")
        if begins == 1:
            begins += 1
            with mf.Cluster() as other:
                assert other.match(graph, query, **options).resumed == 0
        write(self, name, content)

    monkeypatch.setattr(Folder, "write_json", begin_other)
    expected = rows_of(mf.match(graph, query, names=True).to_arrow())
    with mf.Cluster() as cluster:
        for _ in range(2):
            written = cluster.match(graph, query, **options)
            assert (written.rows, written.resumed > 0) == (limit or expected.total(), True)
            rows = rows_of(pq.read_table(tmp_path))
            assert rows == expected if limit is None else rows <= expected and rows.total() == limit


def test_a_call_that_was_lost_before_it_knew_the_notes_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, write = begun(tmp_path), Folder.write_json
    first.note("given-000000", "first")

    def lost(self: Folder, name: str, content: object) -> None:
        if "known" in name:
            raise SystemExit
        write(self, name, content)

    with monkeypatch.context() as patch:
        patch.setattr(Folder, "write_json", lost)
        for _ in range(2):
            with pytest.raises(SystemExit):
                begun(tmp_path)
    with pytest.raises(mf.OutputError):
        first.note("given-000001", "late")
    last = begun(tmp_path)  # what is late is true all the same: nothing was done after it
    assert [last.read_note(name) for name in last.notes] == ["first", "late"]


def test_a_call_that_loses_its_job_while_it_looks_for_files_deletes_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, look, looked = Folder(str(tmp_path)), Folder.files, 0
    old = DataSet(folder, "mine", {})
    old.begin()

    def go_on_elsewhere(self: Folder, below: str = "") -> dict[str, int]:
        nonlocal looked
        looked += 1
        if looked == 1:
            DataSet(folder, "mine", {}).begin()
            folder.write("part-000000.parquet", b"rows")
        return look(self, below)

    monkeypatch.setattr(Folder, "files", go_on_elsewhere)
    old.delete_others()
    assert looked > 1
    assert (tmp_path / "part-000000.parquet").exists()


def test_files_of_a_driver_that_only_seemed_lost_are_deleted(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, query = random_data(5, directed=False, most=30).graph(), QUERIES_OF_JOBS["driver"]
    options: dict[str, Any] = {"output": tmp_path, "job": "mine", "names": True}
    write = driver_rows.DriverRows._write_file
    begun = 0

    def go_on_elsewhere(self: Any, *given: Any) -> None:
        nonlocal begun
        begun += 1
        if begun == 3:
            with mf.Cluster() as other:
                other.match(graph, query, **options)
        write(self, *given)

    monkeypatch.setattr(driver_rows.DriverRows, "_write_file", go_on_elsewhere)
    with mf.Cluster() as cluster, pytest.raises(mf.OutputError, match="another call has continued this job"):
        cluster.match(graph, query, **options)
    assert rows_of(pq.read_table(tmp_path)) == rows_of(mf.match(graph, query, names=True).to_arrow())


def test_a_driver_that_loses_its_job_while_it_writes_deletes_the_file(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, query = random_data(5, directed=False, most=30).graph(), QUERIES_OF_JOBS["driver"]
    asked = 0

    def owned(self: DataSet) -> bool:
        nonlocal asked
        asked += 1
        return asked < 2

    with mf.Cluster() as cluster:
        monkeypatch.setattr(DataSet, "owned", property(owned))
        with pytest.raises(mf.OutputError, match="another call has continued this job"):
            cluster.match(graph, query, output=tmp_path, job="mine")
    assert not list(tmp_path.glob("*.parquet"))


@pytest.mark.parametrize("query", QUERIES_OF_JOBS.values(), ids=QUERIES_OF_JOBS)
def test_limits_timeouts_and_progress(ray: InlineRay, tmp_path: Path, query: str) -> None:
    graph = random_data(5, directed=False).graph()
    whole = rows_of(mf.match(graph, query).to_arrow())
    total = whole.total()
    with mf.Cluster() as cluster:
        for limit in (0, 5, total, total + 1):
            rows = cluster.match(graph, query, limit=limit)
            assert (len(rows.to_numpy()), rows.complete) == (min(limit, total), total <= limit)
            assert not ray._tasks
            output = tmp_path / str(limit)
            written = cluster.match(graph, query, limit=limit, output=output, job="few")
            assert (written.rows, written.complete) == (min(limit, total), total <= limit)
            assert rows_of(pq.read_table(output)) <= whole if limit else not list(output.glob("*.parquet"))
            again = cluster.match(graph, query, limit=limit, output=output, job="few")
            assert (again.rows, again.complete) == (written.rows, written.complete)
        late = cluster.match(graph, query, timeout=0.0)
        assert len(late.to_numpy()) <= total
        assert not late.complete
        output = tmp_path / "late"
        written = cluster.match(graph, query, timeout=0.0, output=output, job="mine")
        assert not written.complete
        written = cluster.match(graph, query, output=output, job="mine")
        assert (written.rows, written.complete) == (total, True)
        assert rows_of(pq.read_table(output)) == whole
        reports: list[mf.ProgressReport] = []
        cluster.match(graph, query, output=tmp_path / "told", progress=reports.append)
        assert (reports[-1].done, reports[-1].found) == (reports[-1].total, total)


@pytest.mark.parametrize("query", QUERIES_OF_JOBS.values(), ids=QUERIES_OF_JOBS)
@pytest.mark.parametrize("files", [False, True])
def test_an_interrupt_cancels_tasks(ray: InlineRay, tmp_path: Path, query: str, files: bool) -> None:
    graph, ran = random_data(5, directed=False, most=30).graph(), 0

    def interrupt() -> None:
        nonlocal ran
        ran += 1
        if ran == 2:
            raise KeyboardInterrupt

    ray.before = interrupt
    with mf.Cluster() as cluster:
        call: Any = partial(cluster.match, graph, query, output=tmp_path / "rows" if files else None)
        with pytest.raises(KeyboardInterrupt):
            call() if files else call().to_numpy()
    assert ray.cancelled > 0
    assert not ray._tasks


def test_a_list_has_a_data_set_of_each_kind(ray: InlineRay, tmp_path: Path) -> None:
    graph = random_data(3, directed=False, most=20).graph()
    patterns = [
        "(a)--(b)--(c)",
        *QUERIES_OF_JOBS.values(),
        "(a:7)-[*1..2]-(b)",
        f"{BESIDE} RETURN DISTINCT d",
    ]
    reports: list[mf.ProgressReport] = []
    with mf.Cluster() as cluster:
        ray.loses = 0.03
        written = cluster.match(graph, patterns, output=tmp_path, names=True, progress=reports.append)
        for at, (pattern, one) in enumerate(zip(patterns, written, strict=True)):
            expected = rows_of(mf.match(graph, pattern, names=True).to_arrow())
            assert one.path == str(tmp_path / f"pattern-{at:03}")
            assert (one.rows, one.complete, one.files > 0) == (expected.total(), True, True)
            assert rows_of(pq.read_table(one.path)) == expected
        found = cluster.match(graph, patterns, names=True)
        assert [rows_of(one.to_arrow()).total() for one in found] == [one.rows for one in written]
    assert reports[-1].done == reports[-1].total
    assert reports[-1].found == sum(one.rows for one in written)
    assert [one.found for one in reports] == sorted(one.found for one in reports)


@pytest.mark.parametrize("text_ids", [False, True])
def test_columns_are_those_of_one_machine(ray: InlineRay, tmp_path: Path, text_ids: bool) -> None:
    data = random_data(3, directed=True)
    graph = data.graph()
    if text_ids:
        graph = graph_of(3, directed=True)
    options: list[dict[str, Any]] = [{}, {"names": True}]
    asked = [
        "(a)-[p*1..2]->(b)",
        "(a)-->(b) OPTIONAL (b)-->(c)",
        "(a)-->(b), (c)-->(d)",
        "(a)-->(b)-->(c) RETURN DISTINCT c, a",
        "(a)-->(b) OPTIONAL (b)-->(c) RETURN DISTINCT c, a",
        "(a:none)-[p*1..2]->(b)",
        "(a:none)-->(b) RETURN DISTINCT b",
        "(a:none)-[*1..2]->(b) RETURN DISTINCT b",
    ]
    with mf.Cluster() as cluster:
        for at, (query, given) in enumerate(itertools.product(asked, options)):
            expected, found = mf.match(graph, query, **given), cluster.match(graph, query, **given)
            assert found.columns == expected.columns
            array, whole = found.to_numpy(), expected.to_numpy()
            assert (array.dtype, array.shape) == (whole.dtype, whole.shape)
            assert Counter(map(str, array.tolist())) == Counter(map(str, whole.tolist()))
            schema = mf.match(graph, query, **given).to_arrow().schema
            assert cluster.match(graph, query, **given).to_arrow().schema.equals(schema, check_metadata=True)
            output = tmp_path / str(at)
            cluster.match(graph, query, output=output, **given)
            assert pq.read_table(output).schema.remove_metadata() == schema.remove_metadata()


def test_text_asks_for_distinct_rows_as_arguments_do(ray: InlineRay) -> None:
    graph = graph_of(4)
    text = "(a)--(b)--(c) RETURN DISTINCT c HAVING count(a) >= 4"
    with mf.Cluster() as cluster:
        found = cluster.match(graph, text).to_numpy()
        other = cluster.match(graph, "(a)--(b)--(c)", distinct=["c"], having="count(a) >= 4").to_numpy()
        assert np.array_equal(np.sort(found, axis=0), np.sort(other, axis=0))
        assert len(found) == cluster.count(graph, text) > 0


def test_what_rows_do_not_have_is_refused(ray: InlineRay, tmp_path: Path) -> None:
    graph = graph_of(1)
    with mf.Cluster() as cluster:
        for given in ({}, {"output": tmp_path / "rows"}):
            options: Any = given
            with pytest.raises(mf.ArgumentError, match="edges: expected False beside distinct rows"):
                cluster.match(graph, "(a)--(b)", distinct=["a"], edges=True, **options)
            with pytest.raises(mf.ArgumentError, match="attributes"):
                cluster.match(graph, "(a)--(b)", distinct=["a"], attributes=["age"], **options)
            with pytest.raises(mf.ArgumentError, match="distinct"):
                cluster.match(graph, "(a)--(b)", distinct=["z"], **options)
            with pytest.raises(mf.ArgumentError, match="having: expected None, or distinct="):
                cluster.match(graph, "(a)--(b)", having="count(a) > 1", **options)
            with pytest.raises(mf.ArgumentError, match=r"pattern\[1\]: distinct"):
                cluster.match(graph, ["(a)--(z)", "(a)--(b)"], distinct=["z"], **options)
        assert not (tmp_path / "rows").exists()
        for text in ("(a)--(b)", "(a)-[*1..2]-(b)"):
            unknown: Any = {"copies": True}
            with pytest.raises(mf.ArgumentError, match="copies: expected no such option of match"):
                cluster.match(graph, text, **unknown)
    with mf.Cluster() as cluster:
        for text in ("(a)-[*1..2]-(b)", "(a)--(b) RETURN DISTINCT a"):
            with pytest.raises(mf.MotifluxError, match="GPU"):
                cluster.match(graph, text, device="cuda")
