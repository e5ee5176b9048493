"""Memory that is full while batches overlap: each batch counts as a whole, or not at all."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROGRAM = """
import ctypes, sys
from pathlib import Path

import motiflux as mf
from motiflux import _native
from tests.overlap_worlds import BATCHES, SIZE, WORLDS, rows_of
from tests.overlaps import all_read_before, overlapping, state
from tests.stream_engines import PlainEngine, registered

library, folder, world, listed = sys.argv[1], Path(sys.argv[2]), WORLDS[sys.argv[3]], sys.argv[4] == "listed"
fail_after = ctypes.PyDLL(library).fail_after
fail_after.restype = ctypes.c_long
METHODS = {
    _native.Monitor: (
        "begin", "begin_next", "apply", "apply_prepared", "settle", "finish_call", "add_vertices",
        "may_write_put_off",
    ),
    _native.VertexIds: ("apply_integers", "apply_strings", "number_integers", "number_strings"),
}
left = 0


def failing(method):
    def call(*arguments, **options):
        global left
        if left == 0:
            return method(*arguments, **options)
        fail_after(left)
        left = 0
        try:
            return method(*arguments, **options)
        finally:
            left = max(0, fail_after(0))

    return call


def healthy(callback):
    '''Have no allocation fail in Python, which is called in the middle of a native call.'''

    def call(*arguments, **options):
        global left
        left = max(0, fail_after(0))
        try:
            return callback(*arguments, **options)
        finally:
            fail_after(left)
            left = 0

    return call


def run(count):
    global left
    output = folder / "o.csv"
    output.unlink(missing_ok=True)
    with world.watching(matches=listed, threads=1) as monitor:
        sink = output if listed else mf.stream.Nowhere()
        failed = None
        left = count
        try:
            with all_read_before():
                totals = monitor.run(source, sink, batch_size=SIZE)
        except MemoryError as error:
            failed = error
        hit = left == 0
        left = 0
        done = (monitor.source_position.line if monitor.source_position else 0) // SIZE
        assert failed or done == BATCHES, (count, done)
        assert state(monitor) == expected[done][0], (count, done)
        assert rows_of(output) == (expected[done][2] if listed else []), (count, done)
        if not failed:
            pairs = [(one.positive, one.negative) for one in totals.patterns]
            assert pairs == sums, (count, pairs)
        rest = mf.open_source(source, start=monitor.source_position or mf.stream.Position())
        monitor.run(rest, folder / "more.csv" if listed else mf.stream.Nowhere(), batch_size=SIZE)
        assert state(monitor) == expected[BATCHES][0], count
        return hit, failed is not None


# nanobind ends the process if the table of its objects finds no memory to grow: it is large from here on.
grown = [_native.AccessEstimator() for _ in range(1 << 14)]
del grown
source = folder / "updates.stream"
source.write_text("".join(world.lines))
with registered(), overlapping():
    expected = [world.after(batches, folder) for batches in range(BATCHES + 1)]
    with world.watching("off") as monitor:
        totals = monitor.run(source, folder / "all.csv", batch_size=SIZE)
        sums = [(one.positive, one.negative) for one in totals.patterns]
    for of, names in METHODS.items():
        for name in names:
            setattr(of, name, failing(getattr(of, name)))
    PlainEngine.match = healthy(PlainEngine.match)
    failures = count = 0
    while True:
        count += 1
        hit, failed = run(count)
        failures += failed
        if not hit:
            break
print(count, failures)
assert failures > 20
"""


@pytest.mark.turns(8)
@pytest.mark.parametrize(
    ("world", "kind"),
    [
        ("of vertices", "listed"),
        *(
            pytest.param(world, kind, marks=pytest.mark.long)
            for world, kind in product(("plain", "of vertices", "of edges"), ("listed", "counted"))
            if (world, kind) != ("of vertices", "listed")
        ),
    ],
)
def test_a_batch_whose_memory_fails_while_others_overlap_counts_as_a_whole_or_not_at_all(
    tmp_path: Path, world: str, kind: str
) -> None:
    compiler = shutil.which(os.environ.get("CC", "gcc"))
    if compiler is None:
        pytest.skip("no C compiler")
    library = tmp_path / "failing_malloc.so"
    subprocess.run(
        [compiler, "-O1", "-shared", "-fPIC", "-o", str(library), str(HERE / "failing_malloc.c")], check=True
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, str(library), str(tmp_path), world, kind],
        env={**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": str(HERE.parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
