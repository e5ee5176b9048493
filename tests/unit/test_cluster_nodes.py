"""Clusters of several nodes on this machine, which are killed while they work, as are drivers."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import motiflux as mf

ray_cluster = pytest.importorskip(
    "ray.cluster_utils", reason="Ray is not installed: make test-all installs it"
)
pytestmark = [pytest.mark.long("cpu"), pytest.mark.filterwarnings("ignore")]

TRIANGLE = "(a)--(b)--(c)--(a)"
HOUSE = "(a)--(b)--(c)--(d)--(a), (a)--(e)--(b)"
SEARCH = {"tables": "off"}
STORE = 100 << 20


@pytest.fixture
def nodes() -> Iterator[Any]:
    """A cluster of a head and two nodes, of one CPU each."""
    started = ray_cluster.Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": STORE}
    )
    for _ in range(2):
        started.add_node(num_cpus=1, object_store_memory=STORE)
    started.wait_for_nodes()
    yield started
    started.shutdown()


@pytest.fixture(scope="module")
def graph() -> mf.Graph:
    return mf.generate.rmat(scale=10, edges=12_000, seed=1)


def test_a_node_that_is_lost_changes_no_count(nodes: Any, graph: mf.Graph) -> None:
    expected, lost = mf.count(graph, HOUSE), False

    def lose_one(report: mf.ProgressReport) -> None:
        nonlocal lost
        if not lost and report.done > 0:
            lost = True
            nodes.remove_node(nodes.worker_nodes.copy().pop(), allow_graceful=False)

    with mf.Cluster(nodes.address) as cluster:
        assert "3 nodes" in repr(cluster)
        assert cluster.count(graph, HOUSE, tuning=SEARCH, progress=lose_one) == expected
        assert lost
        assert cluster.count(graph, HOUSE, tuning=SEARCH) == expected


def test_a_graph_file_is_mapped_by_all_nodes(nodes: Any, graph: mf.Graph, tmp_path: Path) -> None:
    path = tmp_path / "graph.mfg"
    mf.write_graph(graph, path)
    with mf.Cluster(nodes.address) as cluster:
        assert cluster.count(path, TRIANGLE, tuning=SEARCH) == mf.count(graph, TRIANGLE)
        assert len({task.process for task in cluster.tasks}) > 1


DRIVER = """
import sys
import motiflux as mf
graph = mf.generate.rmat(scale=10, edges=12_000, seed=1)
with mf.Cluster(sys.argv[1]) as cluster:
    cluster.match(graph, sys.argv[2], output=sys.argv[3], job="mine")
"""


def test_a_driver_that_is_killed_again_and_again_leaves_each_row_once(
    nodes: Any, graph: mf.Graph, tmp_path: Path
) -> None:
    draws = random.Random(int(os.environ.get("MOTIFLUX_TEST_SEED", "1")))
    folder = tmp_path / "rows"
    pattern = "(a)--(b)--(c)"
    for _ in range(3):
        driver = subprocess.Popen([sys.executable, "-c", DRIVER, nodes.address, pattern, str(folder)])
        wanted = len(list(folder.glob("_motiflux/done-*"))) + draws.randint(1, 3)
        while driver.poll() is None and len(list(folder.glob("_motiflux/done-*"))) < wanted:
            time.sleep(0.01)
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    with mf.Cluster(nodes.address) as cluster:
        written = cluster.match(graph, pattern, output=folder, job="mine")
    assert written.resumed > 0
    table = pq.read_table(folder)
    found = Counter(zip(*(table.column(name).to_pylist() for name in table.column_names), strict=True))
    assert found == Counter(map(tuple, mf.match(graph, pattern).to_numpy().tolist()))
