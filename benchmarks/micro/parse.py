"""How fast text is parsed and written on one thread, and the most memory that reading it takes.

``python benchmarks/micro/parse.py``. Speed is by process CPU time, with two threads by the wall clock. Memory
is what a process that reads one file held at most, beyond what it held before, over the bytes of the graph
that came of it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

import motiflux as mf
from motiflux import _native
from motiflux.bench.measure import Clock, cpu_clock, repeat, wall_clock
from motiflux.io.text import delimited, edge_list
from motiflux.io.text.table import TextOptions

EDGES = 2_000_000
VERTICES = 200_000
CHUNK = 4 << 20
"""Bytes fed at once, as the readers do."""

MEMORY = """
import sys, motiflux as mf
from motiflux.io import registry
def status(key):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key))
before = status("VmRSS")
graph = mf.read_graph(sys.argv[1], directed=True, threads=int(sys.argv[2]))
print(status("VmHWM") - before, graph.nbytes)
"""


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="motiflux-parse-"))
    edges = np.random.default_rng(1).integers(0, VERTICES, (EDGES, 2))
    files = write_files(folder, edges)
    options = TextOptions()
    mapping = mf.interop.ColumnMapping()
    for threads, clock in ((1, cpu_clock), (2, wall_clock)):
        print(f"threads={threads}")
        for name in ("g.txt", "names.txt"):
            report(
                name, files[name], lambda p, t=threads: edge_list.read(p, mapping, options, threads=t), clock
            )
        for name in ("g.csv", "names.csv", "quoted.csv"):
            report(
                name, files[name], lambda p, t=threads: delimited.read(p, mapping, options, threads=t), clock
            )
    report("g.graph", files["g.graph"], feed_graph_file)
    _, seconds = repeat(lambda: _native.format_csv(edges))
    print(f"{'rows out':<12} {len(_native.format_csv(edges)) / seconds.min / 1e6:5.0f} MB/s")
    for name, path in files.items():
        for threads in (1, 2):
            command = [sys.executable, "-c", MEMORY, str(path), str(threads)]
            said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            peak, final = map(int, said.split())
            sizes = f"peak {peak / 1e6:5.0f} MB, graph {final / 1e6:5.0f} MB: {peak / final:.1f}"
            print(f"{name:<12} threads={threads} {sizes}")
    for path in files.values():
        path.unlink()
    folder.rmdir()


def write_files(folder: Path, edges: np.ndarray) -> dict[str, Path]:
    pairs = edges.tolist()
    labels = ["wire", "cash", "card", "cheque", "standing order"]
    stamp = 1_700_000_000
    content = {
        "g.txt": (f"{u} {v}\n" for u, v in pairs),
        "names.txt": (f"user{u} user{v}\n" for u, v in pairs),
        "g.csv": ["src,dst,label,time\n", *(f"{u},{v},{labels[u % 5]},{stamp + v}\n" for u, v in pairs)],
        "names.csv": [
            "src,dst,label,time\n",
            *(f"user{u},user{v},{labels[u % 5]},{stamp + v}\n" for u, v in pairs),
        ],
        "quoted.csv": [
            '"src","dst","label","time"\n',
            *(f'"user{u}","user{v}","{labels[u % 5]}",{stamp + v}\n' for u, v in pairs),
        ],
        "g.graph": [*(f"v {v} 0\n" for v in range(VERTICES)), *(f"e {u} {v}\n" for u, v in pairs)],
    }
    paths = {}
    for name, lines in content.items():
        paths[name] = folder / name
        paths[name].write_text("".join(lines))
    return paths


def feed_graph_file(path: Path) -> None:
    parser, text = _native.GraphFileParser(False), path.read_bytes()
    for start in range(0, len(text), CHUNK):
        parser.feed(text[start : start + CHUNK])
    parser.finish()


def report(what: str, path: Path, read: Callable[[Path], object], clock: Clock = cpu_clock) -> None:
    _, seconds = repeat(lambda: read(path), clock)
    print(f"{what:<12} {path.stat().st_size / seconds.min / 1e6:5.0f} MB/s")


if __name__ == "__main__":
    main()
