"""How fast files become graphs, and in how much memory: ``python benchmarks/micro/read.py [EDGES] [RUNS]``.

Random edges, ten for each vertex, are written in several formats; then each file is read in processes of its
own.
``columns`` is reading and numbering alone, ``graph`` all there is; peak memory is what the process grew by at
most, beside the bytes of the graph.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import motiflux as mf
from motiflux.interop import ColumnMapping
from motiflux.io.arrow import parquet

SPREAD = 2**40 // 3
"""What ids are multiplied with to be far apart."""


def main(edges: int = 10_000_000, runs: int = 3) -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = write(edges, Path(folder))
        print(f"{'file':<18} {'size':>8} {'columns':>20} {'graph':>10} {'CPU':>9} {'peak':>8} {'/ graph':>8}")
        for name, path in files.items():
            print_row(name, path, [measure(path) for _ in range(runs)])


def write(edges: int, folder: Path) -> dict[str, Path]:
    """Write the same edges in each format."""
    ends = np.random.default_rng(1).integers(0, edges // 10, size=(edges, 2))
    ends = ends[ends[:, 0] != ends[:, 1]]
    files = {
        name: folder / f"{name.replace(' ', '-')}{suffix}"
        for name, suffix in (
            ("npz", ".npz"),
            ("parquet", ".parquet"),
            ("parquet far ids", ".parquet"),
            ("parquet strings", ".parquet"),
            ("mfg", ".mfg"),
        )
    }
    np.savez(files["npz"], edges=ends)
    table = {"src": ends[:, 0], "dst": ends[:, 1]}
    pq.write_table(pa.table(table), files["parquet"])
    far = {name: column * SPREAD for name, column in table.items()}
    pq.write_table(pa.table(far), files["parquet far ids"])
    strings = {name: pa.array(column).cast(pa.string()) for name, column in table.items()}
    pq.write_table(pa.table(strings), files["parquet strings"])
    mf.write_graph(mf.Graph.from_edges(ends), files["mfg"])
    return files


def measure(path: Path) -> dict[str, Any]:
    """Read a file in a process of its own."""
    command = [sys.executable, __file__, "--read", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def read(path: Path) -> None:
    """Read a file, and print what that took."""
    mf.Graph.from_edges([(0, 1)])
    warnings.simplefilter("ignore", mf.MotifluxWarning)
    peak = forget_peak()
    cpu = time.process_time()
    graph, seconds = timed(lambda: mf.read_graph(path))
    cpu = time.process_time() - cpu
    grown = peak_bytes() - peak
    columns: list[float] = []
    if path.suffix == ".parquet":
        start = time.process_time()
        _, wall = timed(lambda: parquet.read(path, ColumnMapping()))
        columns = [wall, time.process_time() - start]
    found = {"seconds": seconds, "cpu": cpu, "columns": columns, "peak": grown, "graph": graph.nbytes}
    print(json.dumps(found))


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    result = call()
    return result, time.perf_counter() - start


def forget_peak() -> int:
    """Begin to measure peak memory anew, and return what there is now."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak_bytes()


def peak_bytes() -> int:
    # Not ru_maxrss, which a process inherits.
    status = Path("/proc/self/status").read_text()
    return 1024 * next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))


def print_row(name: str, path: Path, found: list[dict[str, Any]]) -> None:
    best = {key: min(one[key] for one in found) for key in ("seconds", "cpu")}
    columns = [min(part) for part in zip(*(one["columns"] for one in found), strict=True)]
    peak, graph = max(one["peak"] for one in found), found[0]["graph"]
    shown = "" if not columns else f"{columns[0]:.2f} s, CPU {columns[1]:.2f} s"
    print(
        f"{name:<18} {path.stat().st_size / 1e6:5.0f} MB {shown:>20} {best['seconds']:8.4f} s "
        f"{best['cpu']:7.2f} s {peak / 1e6:5.0f} MB {peak / graph:8.2f}"
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--read"]:
        read(Path(sys.argv[2]))
    else:
        main(*map(int, sys.argv[1:3]))
