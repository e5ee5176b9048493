"""Processes that watch patterns and are killed: what they go on with is what they would have found."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import motiflux as mf
from tests.rotating import in_turn

BATCHES, SIZE = 60, 40

WORKER = """
import json, pathlib, sys
import motiflux as mf
from tests.fault.test_killed_monitors import BATCHES, begin, batch, told

path = pathlib.Path(sys.argv[1])
if path.exists():
    monitor = mf.Monitor.load(path)
else:
    monitor = begin(sys.argv[2])
for number in range(monitor.source_position or 0, BATCHES):
    found = told(monitor.apply(batch(number)))
    print(json.dumps([number, found]), flush=True)
    monitor.save(path, position=number + 1)
"""


def begin(window: str) -> mf.Monitor:
    graph = mf.Graph.from_edges([(0, 1), (1, 2)], directed=True, num_vertices=3)
    return mf.Monitor(
        graph,
        ["(a)-->(b)-->(c)-->(a)", "(a)-->(b)-->(c)"],
        matches=True,
        symmetry="subgraphs",
        window=None if window == "none" else window,
    )


def batch(number: int) -> mf.Updates:
    draw = np.random.default_rng(number)
    sources = draw.integers(0, 10, SIZE)
    return mf.Updates(
        draw.random(SIZE) < 0.7,
        sources,
        (sources + draw.integers(1, 10, SIZE)) % 10,
        times=number * SIZE + np.arange(SIZE),
    )


def told(delta: mf.Delta) -> list[object]:
    """What a batch came to, as JSON says it."""
    return [
        [one.positive, one.negative, one.appeared().tolist(), one.vanished().tolist()] for one in delta
    ] + [delta.noops, delta.expired]


@pytest.mark.turns(8)
@pytest.mark.parametrize("window", in_turn(1, ["none", "50", "75s"]))
def test_a_killed_process_goes_on_as_if_it_had_not_been(window: str, tmp_path: Path) -> None:
    monitor = begin(window)
    expected = [json.loads(json.dumps(told(monitor.apply(batch(number))))) for number in range(BATCHES)]
    assert sum(found[0][0] for found in expected) > 100
    found: dict[int, object] = {}
    draw = random.Random(window)
    kills = 0
    for _ in range(BATCHES):
        process = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(tmp_path / "monitor.mfg"), window],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        assert process.stdout is not None
        lines = draw.randint(5, 25) if kills < 4 else BATCHES
        for at, line in enumerate(process.stdout, 1):
            if at == lines and kills < 4:
                process.kill()  # somewhere in a call, or while a checkpoint is written
            if line.endswith("\n"):  # what was told before the kill is read to its end
                number, changes = json.loads(line)
                assert found.setdefault(number, changes) == changes == expected[number]
        process.stdout.close()
        code = process.wait()
        assert code in (0, -signal.SIGKILL)
        if len(found) == BATCHES and code == 0:
            break
        kills += 1
    assert kills >= 2
    assert [found[number] for number in range(BATCHES)] == expected
