"""Counts by tasks that have one GPU each give what the CPU counts; tasks run in this process."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.cluster import gpu_engine, gpu_tasks
from motiflux.device import devices_like
from motiflux.gpu.runtime.launches import Result
from motiflux.gpu.storage.device_csr import DeviceCsr
from motiflux.request.deadline import OutOfTimeError
from tests.inline_ray import InlineRay, replace_ray
from tests.unit.cli_run import complete_graph, motiflux, only_json

pytestmark = pytest.mark.devices("emulated", "cuda", reason="Ray assigns GPUs to the tasks")

TRIANGLE = "(a)--(b)--(c)--(a)"
HOUSE = "(a)--(b)--(c)--(d)--(a), (a)--(e)--(b)"
CLIQUE = "(a)--(b)--(c)--(d)--(a)--(c), (b)--(d)"
PATTERNS = [
    TRIANGLE,
    "(a:1)--(b:0)--(c)--(a)",
    "(a)--(b)--(c)--(d)--(a)",
    HOUSE,
    CLIQUE,
    "(a)--(b), (a)--(c)",
]
SWITCHES: dict[str, dict[str, str]] = {
    "default": {},
    "search": {"tables": "off"},
    "level by level": {"tables": "off", "bitmaps": "off", "tail": "off"},
    "bitmaps": {"tables": "off", "bitmaps": "on"},
    "parts": {"tables": "off", "parts": "on"},
    "candidates": {"tables": "off", "candidates": "on"},
}
SEARCH = SWITCHES["search"]


def graph_of(seed: int, vertices: int = 25, *, directed: bool = False) -> mf.Graph:
    draws = random.Random(seed)
    pairs = [(u, v) for u in range(vertices) for v in range(vertices) if u != v and draws.random() < 0.2]
    labels = [draws.randrange(2) for _ in range(vertices)]
    return mf.Graph.from_edges(pairs, directed=directed, vertex_labels=labels)


@pytest.fixture
def ray(device: str, monkeypatch: pytest.MonkeyPatch) -> InlineRay:
    number = len(devices_like(device))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)  # GPUs have the names that it gives them
    monkeypatch.setattr(gpu_engine, "_LEAST_SECONDS", 0.0)  # several shares of short counts, too
    return replace_ray(monkeypatch, gpus=number)


@pytest.mark.turns(8, "emulated")
@pytest.mark.parametrize("switches", SWITCHES)
@pytest.mark.parametrize("directed", [False, True])
def test_counts_are_those_of_the_cpu(ray: InlineRay, device: str, switches: str, directed: bool) -> None:
    graph, tuning = graph_of(1, directed=directed), SWITCHES[switches]
    with mf.Cluster() as cluster:
        for semantics in ("isomorphism", "induced", "homomorphism"):
            for symmetry in ("embeddings", "subgraphs"):
                if (semantics, symmetry) == ("homomorphism", "subgraphs"):
                    continue
                options: dict[str, Any] = {"semantics": semantics, "symmetry": symmetry}
                found = cluster.count(graph, PATTERNS, device=device, tuning=tuning, **options)
                assert found == mf.count(graph, PATTERNS, **options)
                assert isinstance(found, list)
                assert all(one.complete and one.engine == "cluster" for one in found)
                assert found[0].device == f"{device}, {cluster._workers.gpus_told}"
    assert set(ray.gpus_asked) == {1}


@pytest.mark.turns(8, "emulated")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1000), loses=st.sampled_from([0.0, 0.02, 0.05]))
def test_lost_tasks_change_no_count(ray: InlineRay, device: str, seed: int, loses: float) -> None:
    graph, draws = graph_of(seed), random.Random(seed)
    chosen = draws.sample(PATTERNS, 2)
    ray.loses = loses
    with mf.Cluster() as cluster:
        found = cluster.count(graph, chosen, device=device, tuning=draws.choice(list(SWITCHES.values())))
    assert found == mf.count(graph, chosen)


def test_shares_are_searched_once_each_on_all_gpus(
    ray: InlineRay, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[tuple[str, tuple[int, int]]] = []
    take = gpu_tasks.take_share

    def note(job: Any, family: Any, share: tuple[int, int]) -> Any:
        ran.append((job.accelerator.device.name, share))
        return take(job, family, share)

    monkeypatch.setattr(gpu_tasks, "take_share", note)
    with mf.Cluster() as cluster:
        cluster.count(graph_of(1), HOUSE, device=device, tuning=SEARCH)
        number = 4 * cluster._workers.gpus
    assert {name for name, _ in ran} == set(devices_like(device))
    assert sorted(share for _, share in ran) == [(at, number) for at in range(number)]


def test_a_short_count_has_one_share_for_each_gpu(
    ray: InlineRay, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu_engine, "_LEAST_SECONDS", 0.1)
    graph = graph_of(1)
    with mf.Cluster() as cluster:
        found = cluster.count(graph, HOUSE, device=device, tuning=SEARCH)
        assert found == mf.count(graph, HOUSE)
        assert len(cluster.tasks) == 1 + cluster._workers.gpus  # the first one looks at a GPU


def test_a_graph_whose_object_was_lost_is_shared_again(ray: InlineRay, device: str) -> None:
    graph = graph_of(2)
    with mf.Cluster() as cluster:
        cluster.count(graph, TRIANGLE, device=device)
        ray.loses_object = 2
        assert cluster.count(graph, HOUSE, device=device, tuning=SEARCH) == mf.count(graph, HOUSE)


def test_work_that_is_lost_again_and_again_is_an_error(ray: InlineRay, device: str) -> None:
    ray.loses = 1.0
    with mf.Cluster() as cluster, pytest.raises(mf.ClusterError, match="lost 5 times"):
        cluster.count(graph_of(1), TRIANGLE, device=device)


def test_rows_are_uploaded_once_to_each_gpu(
    ray: InlineRay, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    uploads: list[object] = []
    send = DeviceCsr._send

    def note(self: DeviceCsr, name: Any, *given: Any) -> Any:
        uploads.append((id(self), name[-1]))
        return send(self, name, *given)

    monkeypatch.setattr(DeviceCsr, "_send", note)
    graph = graph_of(3)
    with mf.Cluster() as cluster:
        first = cluster.count(graph, HOUSE, device=device, tuning=SEARCH)
        before = len(uploads)
        assert before == len(set(uploads)) >= len(devices_like(device))
        assert cluster.count(graph, HOUSE, device=device, tuning=SEARCH) == first
    assert len(uploads) == before


def test_a_filter_whose_time_is_up_is_no_error(
    ray: InlineRay, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(*given: Any) -> Any:
        raise OutOfTimeError

    monkeypatch.setattr(gpu_tasks, "device_space", late)
    graph = graph_of(3)
    with mf.Cluster() as cluster:
        found = cluster.count(graph, HOUSE, device=device, tuning=SWITCHES["candidates"])
    assert found <= mf.count(graph, HOUSE)


def test_one_gpu_filters_candidates_for_all(ray: InlineRay, device: str) -> None:
    graph, tuning = graph_of(3), SWITCHES["candidates"]
    patterns = ["(a:1)--(b:0)--(c)--(a)", "(a:1)--(b:0)--(c:1)--(d:0)--(a)"]
    with mf.Cluster() as cluster:
        for _ in range(2):
            assert cluster.count(graph, patterns, device=device, tuning=tuning) == mf.count(graph, patterns)
    assert sum(name.startswith("filter ") for name in ray.names) == len(patterns)


def test_a_candidate_space_whose_object_was_lost_is_shared_again(
    ray: InlineRay, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu_tasks, "known_space", lambda *given: None)  # as new processes do
    graph, tuning = graph_of(3), SWITCHES["candidates"]
    with mf.Cluster() as cluster:
        cluster.count(graph, HOUSE, device=device, tuning=tuning)
        ray.lose_objects()
        assert cluster.count(graph, HOUSE, device=device, tuning=tuning) == mf.count(graph, HOUSE)


def test_gpus_read_the_rows_of_one_space(
    ray: InlineRay, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: set[object] = set()
    space_of = gpu_tasks.space_of

    def note(job: Any) -> Any:
        space = space_of(job)
        read.add(None if space is None else space.filtered)
        return space

    monkeypatch.setattr(gpu_tasks, "space_of", note)
    with mf.Cluster() as cluster:
        cluster.count(graph_of(3), HOUSE, device=device, tuning=SWITCHES["candidates"])
    assert len(read) == 1
    assert isinstance(read.pop(), str)


@pytest.mark.parametrize("where", ["filter_on_gpu", "_has_space"])
def test_a_space_without_room_gives_way_to_rows_of_the_graph(
    ray: InlineRay, device: str, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    if where == "_has_space":
        answers = iter([True, False])
        has_space = gpu_tasks._has_space

        def has(*given: Any) -> bool:
            return has_space(*given) and next(answers, True)

        monkeypatch.setattr(gpu_tasks, "_has_space", has)
    else:
        monkeypatch.setattr(gpu_tasks, "device_space", lambda *given: None)
    graph = graph_of(3)
    with mf.Cluster() as cluster:
        found = cluster.count(graph, HOUSE, device=device, tuning=SWITCHES["candidates"])
    assert (found, found.complete) == (mf.count(graph, HOUSE), True)


@pytest.mark.parametrize("switches", ["default", "search", "candidates"])
def test_a_limit_ends_the_count(ray: InlineRay, device: str, switches: str) -> None:
    graph = graph_of(3)
    total = int(mf.count(graph, HOUSE))
    with mf.Cluster() as cluster:
        for limit in (0, 5, total - 1, total, total + 1):
            found = cluster.count(graph, HOUSE, device=device, limit=limit, tuning=SWITCHES[switches])
            assert (found, found.complete) == (min(limit, total), total <= limit)


@pytest.mark.parametrize("switches", ["search", "candidates"])
@pytest.mark.parametrize("known", [False, True])
def test_a_timeout_gives_what_was_found(ray: InlineRay, device: str, switches: str, known: bool) -> None:
    graph, tuning = graph_of(3), SWITCHES[switches]
    with mf.Cluster() as cluster:
        if known:
            cluster.count(graph, HOUSE, device=device, tuning=tuning)
        found = cluster.count(graph, HOUSE, device=device, timeout=0.0, tuning=tuning)
    assert not found.complete
    assert found <= mf.count(graph, HOUSE)


def test_a_task_whose_time_is_up_makes_the_count_incomplete(
    ray: InlineRay, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = gpu_tasks.run_job
    monkeypatch.setattr(gpu_tasks, "run_job", lambda *given: (False, run(*given)[1]))
    with mf.Cluster() as cluster:
        found = cluster.count(graph_of(3), HOUSE, device=device, tuning=SEARCH)
    assert not found.complete


def test_an_interrupt_cancels_tasks(ray: InlineRay, device: str) -> None:
    graph, calls = graph_of(3), 0

    def interrupt() -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt

    ray.before = interrupt
    with mf.Cluster() as cluster, pytest.raises(KeyboardInterrupt):
        cluster.count(graph, HOUSE, device=device, tuning=SEARCH)
    assert ray.cancelled > 0


def test_progress_ends_with_all_work_done(ray: InlineRay, device: str) -> None:
    reports: list[mf.ProgressReport] = []
    with mf.Cluster() as cluster:
        found = cluster.count(graph_of(3), HOUSE, device=device, progress=reports.append, tuning=SEARCH)
    assert reports[-1].done == reports[-1].total
    assert reports[-1].found == found


def test_cpus_count_what_kernels_cannot(ray: InlineRay, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, run = graph_of(3), gpu_tasks.run_job

    def overflow(*given: Any) -> tuple[bool, Result]:
        run(*given)
        return True, Result(3, overflow=True)

    monkeypatch.setattr(gpu_tasks, "run_job", overflow)
    with mf.Cluster() as cluster:
        found = cluster.count(graph, HOUSE, device=device, tuning=SEARCH)
    assert found == mf.count(graph, HOUSE)
    assert (found.device, found.reason) == ("2 CPUs of 1 node", "a number passed the range of its kernels")


def test_negated_edges_are_counted_by_cpus(ray: InlineRay, device: str) -> None:
    graph, pattern = graph_of(3), "(a)--(b)--(c), NOT (a)--(c)"
    with mf.Cluster() as cluster:
        found = cluster.count(graph, pattern, device=device)
    assert found == mf.count(graph, pattern)
    assert found.device == "2 CPUs of 1 node"
    assert "the CPU engine looks for negated edges" in found.reason


def test_gpus_that_cut_the_work_differently_are_an_error(
    ray: InlineRay, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    take: Callable[..., Any] = gpu_tasks.take_share
    monkeypatch.setattr(gpu_tasks, "take_share", lambda *given: (take(*given), given[2][0] == 1))
    with mf.Cluster() as cluster, pytest.raises(mf.ClusterError, match="expected GPUs of one kind"):
        cluster.count(graph_of(3), HOUSE, device=device, tuning=SEARCH)


def test_a_closed_cluster_is_an_error(ray: InlineRay, device: str) -> None:
    with mf.Cluster() as cluster:
        cluster.count(graph_of(3), TRIANGLE, device=device)
    with pytest.raises(mf.ClusterError, match="closed"):
        cluster.count(graph_of(3), TRIANGLE, device=device)


def test_too_little_memory_is_an_error(ray: InlineRay, device: str) -> None:
    with mf.Cluster() as cluster, pytest.raises(mf.DeviceMemoryError, match="bytes of device memory"):
        cluster.count(graph_of(3), HOUSE, device=device, tuning=SEARCH, gpu_memory=100)


def test_a_cluster_without_gpus_says_so(ray: InlineRay, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_ray(monkeypatch)
    with (
        mf.Cluster() as cluster,
        pytest.raises(mf.DeviceError, match="found 2 CPUs of 1 node, none with a GPU"),
    ):
        cluster.count(graph_of(3), HOUSE, device=device)


def test_the_command_line_counts_on_gpus_of_a_cluster(ray: InlineRay, device: str, tmp_path: Path) -> None:
    graph = complete_graph(tmp_path / "k8.txt", 8)
    fields = only_json(motiflux("count", graph, TRIANGLE, "--cluster", "auto", "--device", device, "--json"))
    assert (fields["count"], fields["engine"]) == (336, "cluster")
    assert fields["device"].startswith(f"{device}, ")


@pytest.mark.parametrize("visible", [None, "0", "1", "2", "2,0", "GPU-a,GPU-b", "0, 1"])
def test_a_task_takes_the_gpu_that_ray_assigned(
    ray: InlineRay, device: str, monkeypatch: pytest.MonkeyPatch, visible: str | None
) -> None:
    monkeypatch.setattr(gpu_tasks, "devices_like", lambda kind: ("cuda", "cuda:1"))
    listed = [one.strip() for one in (visible or "0,1").split(",")]
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    for name, assigned in zip(("cuda", "cuda:1"), listed, strict=False):
        ray._assigned = [assigned]
        assert gpu_tasks.assigned_gpu("cuda") == name
    ray._assigned = ["7"]
    with pytest.raises(mf.DeviceError, match="found 7 assigned by Ray"):
        gpu_tasks.assigned_gpu("cuda")


ON_RAY = f"""
import os
import signal
import ray
ray.init(num_cpus=2, num_gpus=2, object_store_memory=256 << 20, include_dashboard=False)
import motiflux as mf
graph = mf.generate.rmat(scale=7, edges=600, seed=1)
killed = []
with mf.Cluster() as cluster:
    def kill(report):
        if report.done and not killed:
            killed.append(cluster.tasks[-1].process)
            os.kill(killed[0], signal.SIGKILL)
    options = dict(device="emulated", tuning={SEARCH!r})
    counts = [cluster.count(graph, {HOUSE!r}, progress=kill, **options) for _ in range(2)]
    assert [int(count) for count in counts] == 2 * [int(mf.count(graph, {HOUSE!r}))], counts
    assert killed and len({{task.process for task in cluster.tasks}}) <= 3, cluster.tasks
print("exact")
"""


@pytest.mark.long
@pytest.mark.devices("emulated", reason="Ray is told of GPUs that are not there")
def test_a_killed_worker_of_ray_changes_no_count(device: str) -> None:
    """Workers are reused, as each new one would open a GPU and upload the graph."""
    pytest.importorskip("ray", reason="Ray is not installed: make test-all installs it")
    done = subprocess.run([sys.executable, "-c", ON_RAY], capture_output=True, text=True, timeout=300)
    assert done.stdout.splitlines()[-1:] == ["exact"], done.stderr
