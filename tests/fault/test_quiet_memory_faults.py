"""Memory that is full while batches are applied natively: each batch counts as a whole, or not at all."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROGRAM = """
import ctypes, sys
import numpy as np
import motiflux as mf
from motiflux.stream.run import quiet

library, path, kind = sys.argv[1:]
fail_after = ctypes.PyDLL(library).fail_after
fail_after.restype = ctypes.c_long
PATTERN = "(a)--(b)--(c)--(a)"
left = 0


class Feed(quiet._native.QuietFeed):
    def run(self, *arguments):
        return failing(super().run, *arguments)

    def go_on(self):
        return failing(super().go_on)


def failing(call, *arguments):
    global left
    if left == 0:
        return call(*arguments)
    fail_after(left)
    try:
        return call(*arguments)
    finally:
        left = max(0, fail_after(0))


def edges_of(path):
    with open(path) as lines:
        return [tuple(map(int, line.split()[1:3])) for line in lines]


def run(count):
    global left
    rows = []
    with mf.Monitor(mf.Graph.from_edges([(0, 1)], num_vertices=2), PATTERN, matches=True) as monitor:
        left = count
        sink = (lambda found: rows.append(len(found))) if kind == "function" else path + ".csv"
        failed = False
        try:
            monitor.run(path, sink, batch_size=16)
        except MemoryError:
            failed = True
        hit = left == 0
        left = 0
        applied = monitor.updates_applied
        there = {(0, 1), *map(lambda edge: tuple(sorted(edge)), edges[:applied])}
        snapshot = monitor.snapshot()
        assert snapshot.num_edges == len(there), (count, failed, applied, snapshot.num_edges, len(there))
        matches = int(mf.count(snapshot, PATTERN))
        if kind == "function":
            assert sum(rows) == matches, (count, failed, sum(rows), matches)
        else:
            with open(sink) as lines:
                assert sum(1 for _ in lines) - 1 == matches, (count, failed)
        assert failed or applied == len(edges), count
        return hit, failed


edges = edges_of(path)
quiet._native = type("", (), {**vars(quiet._native), "QuietFeed": Feed})
failures = 0
count = 0
while True:
    count += 1
    hit, failed = run(count)
    failures += failed
    if not hit:
        break
print(count, failures)
assert count > 20
"""


@pytest.mark.turns(8)
@pytest.mark.parametrize("kind", ["function", "file"])
def test_a_batch_whose_memory_fails_counts_as_a_whole_or_not_at_all(tmp_path: Path, kind: str) -> None:
    compiler = shutil.which(os.environ.get("CC", "gcc"))
    if compiler is None:
        pytest.skip("no C compiler")
    library = tmp_path / "failing_malloc.so"
    source = HERE / "failing_malloc.c"
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    stream = tmp_path / "updates.stream"
    pairs = [(u, v) for v in range(2, 14) for u in range(v)]
    stream.write_text("".join(f"e {u} {v}\n" for u, v in pairs))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(library), str(stream), kind],
        env={**os.environ, "LD_PRELOAD": str(library)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
