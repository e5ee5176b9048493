"""The script that kills workers of a Ray cluster."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from scripts import soak_cluster
from tests.conftest import REPOSITORY


@pytest.mark.long
@pytest.mark.devices("emulated", reason="Ray is told of GPUs that are not there")
def test_killed_workers_change_no_answer(device: str) -> None:
    pytest.importorskip("ray", reason="Ray is not installed: make test-all installs it")
    script = REPOSITORY / "scripts" / "soak_cluster.py"
    command = [sys.executable, str(script), "--device", device, "--kills", "6", "--minutes", "3"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert done.returncode == 0, done.stdout + done.stderr
    assert lines[-1]["wrong"] == 0
    assert sum(line["kills"] for line in lines[:-1]) > 0


@pytest.mark.parametrize(
    ("title", "busy"),
    [
        ("ray::count (a)--(b)", True),
        ("ray::match 2 patterns, 2", True),
        ("ray::count_per_vertex (a)--(b)", True),
        ("ray::IDLE", False),
        ("ray::ShardServer.rows", False),
        ("ray::start", False),
        ("python count.py", False),
    ],
)
def test_busy_processes_are_told_from_others(title: str, busy: bool) -> None:
    assert soak_cluster.is_busy(title) == busy


def test_processes_of_other_clusters_are_left_alone() -> None:
    killer = soak_cluster.Killer(f"session of nobody {os.getpid()}", soak_cluster.random.Random(1))
    assert killer.workers() == []
