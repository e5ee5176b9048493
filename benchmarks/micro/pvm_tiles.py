"""Where the host's time of a search in tiles goes: ``python benchmarks/micro/pvm_tiles.py [QUERY] [SHARE]``.

A query of the cases ``memory`` of the suite ``pvm`` (``path`` or ``cycle``), with tables of SHARE times the
memory, 8, of an R-MAT graph of scale ``MOTIFLUX_RMAT``: milliseconds of a call that copies its tables, the
least of some, what of them the host waits for kernels, how often it launches, copies, sorts frontiers and
moves them to the host, and the functions that take most of one call under a profiler, which slows them down.
``MOTIFLUX_DEVICE=emulated`` tries it out without a GPU.
"""

from __future__ import annotations

import cProfile
import io
import pstats
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from motiflux.bench.measure import wall_clock
from motiflux.bench.suite import load_part
from motiflux.gpu.pvm import buckets, phase_steps, table_copies, tile_memory, tiled_run

PARTS = Path(__file__).resolve().parents[1] / "suite/pvm_parts"
LONGEST, RUNS, WARM, LINES = 60.0, 5, 5, 22
WATCHED = (
    (phase_steps.PhaseSteps, "_wait"),
    (phase_steps.PhaseSteps, "_launch"),
    (tiled_run.TiledRun, "_prefetch"),
    (tiled_run.TiledRun, "_acquire"),
    (tiled_run.TiledRun, "_keep"),
    (buckets.Buckets, "sort"),
    (table_copies.TableCopies, "copy"),
    (tile_memory.TileMemory, "allocate"),
)
"""Methods whose calls are counted and timed."""


def main() -> None:
    """Count, and print."""
    query = sys.argv[1] if len(sys.argv) > 1 else "cycle"
    share = float(sys.argv[2]) if len(sys.argv) > 2 else 8.0
    memory = load_part(PARTS / "memory.py")
    trials = memory.trials
    data, pattern = memory.graph(), memory.pattern(query)
    whole = trials.Way("pvm", trials.ENUMERATE)
    trials.ask(data, pattern, whole, LONGEST)
    most = int(trials.breakdown(data, pattern, whole)["copied_bytes"] / share)
    way = trials.Way("pvm", trials.ENUMERATE, gpu_memory=most)

    def count() -> float:
        trials.forget_tables(data)
        began = wall_clock()
        trials.ask(data, pattern, way, LONGEST)
        return 1e3 * (wall_clock() - began)

    for _ in range(WARM):
        count()
    print(f"{query}, tables of {share:g} times the memory: {min(count() for _ in range(RUNS)):.1f} ms")
    profiler = cProfile.Profile()
    trials.forget_tables(data)
    profiler.runcall(trials.ask, data, pattern, way, LONGEST)
    calls, taken = Counter[str](), Counter[str]()
    for of, name in WATCHED:
        watch(of, name, calls, taken)
    found = count()
    print(f"watched: {found:.1f} ms")
    for name, seconds in taken.most_common():
        print(f"    {name:24} {calls[name]:6} calls {1e3 * seconds:9.2f} ms")
    text = io.StringIO()
    pstats.Stats(profiler, stream=text).sort_stats("tottime").print_stats(LINES)
    print("\n".join(line[:120] for line in text.getvalue().splitlines() if line.strip()))


def watch(of: Any, name: str, calls: Counter[str], taken: Counter[str]) -> None:
    """Count and time the calls of a method."""
    original: Callable[..., Any] = getattr(of, name)
    label = f"{of.__name__}.{name}"

    def watched(*args: Any, **options: Any) -> Any:
        began = wall_clock()
        try:
            return original(*args, **options)
        finally:
            calls[label] += 1
            taken[label] += wall_clock() - began

    setattr(of, name, watched)


if __name__ == "__main__":
    main()
