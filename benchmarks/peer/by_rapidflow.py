"""RapidFlow, a program in C++ that counts the matches of a stream (https://github.com/shixuansun/RapidFlow).

Not a package: build it (``cmake -B build && make -C build``) and name the program,
``build/streaming/RapidFlow.out``, in the environment variable `MOTIFLUX_RAPIDFLOW`. It takes undirected
graphs with labels on vertices and edges, one query and one stream, all as text, and runs on one thread.

Its query time covers the updates of its index and the search, not the making of the index ("preprocessing");
it stores no matches. It reads the clock of the day; `cpu_clock.c`, loaded before it, gives it process CPU
time instead (without a C compiler it keeps the clock of the day). Some inputs end it by a read beyond an
array in a vectorised loop.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

VARIABLE = "MOTIFLUX_RAPIDFLOW"
GRACE_SECONDS = 60.0
"""For reading its inputs and making its index, beyond the limit that it keeps itself."""


@dataclass(frozen=True)
class Answer:
    """What one run printed: matches gained and lost together, seconds of the stream and of making the index.

    `failed` says how a run ended that gave no count.
    """

    count: int | None = None
    seconds: float = 0.0
    preparing: float = 0.0
    timeout: bool = False
    failed: str = ""


def program() -> Path | None:
    """Return the program that the environment names, or None."""
    path = os.environ.get(VARIABLE)
    return Path(path) if path else None


@cache
def cpu_clock() -> Path | None:
    """Compile `cpu_clock.c`; return the library, or None where there is no C compiler."""
    compiler = os.environ.get("CC") or shutil.which("cc")
    if compiler is None:
        return None
    folder = tempfile.mkdtemp(prefix="motiflux-clock-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    library = Path(folder) / "cpu_clock.so"
    source = Path(__file__).resolve().with_name("cpu_clock.c")
    command = [compiler, "-shared", "-fPIC", "-O2", "-o", str(library), str(source)]
    done = subprocess.run(command, capture_output=True, check=False)
    return library if done.returncode == 0 else None


def write_inputs(
    folder: Path,
    vertex_labels: Iterable[int],
    edges: Iterable[Sequence[int]],
    query: tuple[Iterable[int], Iterable[Sequence[int]]],
    updates: Iterable[tuple[bool, Sequence[int]]],
) -> None:
    """Write graph, query and updates to `folder`; edges are source, target and label."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, labels, rows in (("data.graph", vertex_labels, edges), ("query.graph", *query)):
        with (folder / name).open("w") as file:
            file.writelines(f"v {vertex} {label}\n" for vertex, label in enumerate(labels))
            file.writelines(f"e {source} {target} {label}\n" for source, target, label in rows)
    with (folder / "updates").open("w") as file:
        for inserts, (source, target, label) in updates:
            file.write(f"{'e' if inserts else '-e'} {source} {target} {label}\n")


def run(program: Path, folder: Path, limit: float) -> Answer:
    """Run the program once on what `write_inputs` wrote, for at most `limit` seconds of query time."""
    command = [str(program)]
    for option, name in (("-d", "data.graph"), ("-q", "query.graph"), ("-u", "updates")):
        command += [option, str(folder / name)]
    command += ["-num", "MAX", "-time_limit", str(max(1, round(limit)))]
    clock = cpu_clock()
    environment = os.environ if clock is None else {**os.environ, "LD_PRELOAD": str(clock)}
    try:
        done = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=limit + GRACE_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return Answer(seconds=limit, timeout=True)
    if done.returncode < 0:
        return Answer(failed=f"ended by {signal.Signals(-done.returncode).name}")
    return read_answer(done.stdout, done.returncode, limit)


def read_answer(printed: str, status: int, limit: float) -> Answer:
    """Read the times and the count from what the program printed."""
    if status:
        return Answer(failed=f"ended with status {status}")
    found = {}
    for name in ("Preprocessing time (seconds)", "Query time (seconds)", "Result count"):
        line = re.search(rf"^{re.escape(name)}: ([\d.]+)$", printed, re.MULTILINE)
        if line is None:
            return Answer(failed=f"printed no line '{name}: NUMBER'")
        found[name] = line[1]
    preparing, seconds = (float(found[f"{name} time (seconds)"]) for name in ("Preprocessing", "Query"))
    if "Time out..." in printed:
        return Answer(seconds=limit, preparing=preparing, timeout=True)
    return Answer(int(found["Result count"]), seconds, preparing)
