"""Cases of suites with two versions of motiflux in turns on one core: process CPU time, the least of each.

    two_versions.py SECONDS OUTPUT.json OLD_TREE OLD_SITE NEW_TREE NEW_SITE SUITE[:TEXT]...

A tree is a clone at a version, its site the folder that it was installed to (``pip install --target``). Each
version runs its own suites (``MOTIFLUX_SHARED``), of which cases with equal names are compared, or those
whose names have TEXT. Each core but one runs a pair of processes. No GPU is used.
"""

from __future__ import annotations

import json
import math
import os
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

TURNS, AT_ONCE = 3, 6
LEAST_SECONDS = 1e-3
"""Seconds from which on cases are also told apart from all."""
SHOWN = 12
TIMEOUT = 3.0


class Worker:
    """A process that runs cases of a suite of one version."""

    def __init__(self, tree: str, site: str, suite: str, core: int) -> None:
        env = dict(os.environ, CUDA_VISIBLE_DEVICES="", MOTIFLUX_SITE=site)
        call = ["taskset", "-c", str(core), sys.executable, __file__, "--worker", tree, suite]
        self._process = subprocess.Popen(
            call,
            cwd=tree,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.names: list[str] = self._read()

    def run(self, name: str) -> Any:
        """Return the case's rows: name, engine, count, seconds; or the text of an error."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(name) + "\n")
        self._process.stdin.flush()
        return self._read()

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()

    def _read(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        return json.loads(line) if line else "the process ended"


def work(tree: str, suite_name: str) -> None:
    """Run the cases whose names are read, a line each."""
    site = os.environ["MOTIFLUX_SITE"]
    sys.path.insert(0, site)
    import motiflux

    if not Path(motiflux.__file__).is_relative_to(site):
        raise SystemExit(f"expected motiflux from {site}, found {motiflux.__file__}")
    from motiflux.bench.run import run_case
    from motiflux.bench.suite import Case, Probe, Settings, load_suite

    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # suites may print
    suite = load_suite(suite_name, Path(tree) / "benchmarks/suite")
    items: dict[str, Case | Probe] = {item.name: item for item in suite.cases}
    items.update({item.name: item for item in suite.probes})
    print(json.dumps(list(items)), file=out, flush=True)
    settings = Settings(timeout=TIMEOUT)
    for line in sys.stdin:
        item = items[json.loads(line)]
        try:
            results = (
                run_case(item, item.graph.read(), settings) if isinstance(item, Case) else item.run(settings)
            )
            rows: Any = [
                [one.case, one.engine, one.count, one.seconds.min if one.seconds else None] for one in results
            ]
        except (OSError, motiflux.MotifluxError) as error:  # a suite may lack its data
            rows = repr(error)
        print(json.dumps(rows), file=out, flush=True)


class Comparison:
    """Seconds and counts of all cases, of both versions."""

    def __init__(self, versions: list[tuple[str, str]], seconds: float) -> None:
        self._versions, self._end = versions, time.monotonic() + seconds
        self._cores = sorted(os.sched_getaffinity(0))
        self._jobs: queue.Queue[tuple[str, list[str]]] = queue.Queue()
        self._lock = threading.Lock()
        self._found: dict[tuple[str, str, str], tuple[list[Any], list[Any]]] = {}

    def add(self, suite: str) -> None:
        """Add the cases of ``NAME`` or ``NAME:TEXT``."""
        name, _, only = suite.partition(":")
        workers = [Worker(*version, name, self._cores[0]) for version in self._versions]
        names = [one for one in workers[0].names if one in set(workers[1].names) and only in one]
        for worker in workers:
            worker.close()
        print(f"{suite}: {len(names)} cases", flush=True)
        for at in range(0, len(names), AT_ONCE):
            self._jobs.put((name, names[at : at + AT_ONCE]))

    def run(self) -> list[tuple[Any, ...]]:
        """Return ratio, seconds before and now, suite, case, engine, and whether counts are equal."""
        threads = [
            threading.Thread(target=self._run, args=(core,), daemon=True)
            for core in self._cores[1:] or self._cores
        ]
        for thread in threads:
            thread.start()
        while time.monotonic() < self._end and any(thread.is_alive() for thread in threads):
            time.sleep(0.5)
        with self._lock:
            found = dict(self._found)
        table = []
        for key, (before, now) in found.items():
            seconds = [
                [taken for taken, count in side if taken and count is not None] for side in (before, now)
            ]
            if all(seconds):
                least = [min(side) for side in seconds]
                counts = {count for side in (before, now) for _, count in side}
                table.append((least[1] / least[0], *least, *key, len(counts) == 1))
        return sorted(table)

    def _run(self, core: int) -> None:
        while time.monotonic() < self._end:
            try:
                suite, names = self._jobs.get_nowait()
            except queue.Empty:
                return
            workers = [Worker(*version, suite, core) for version in self._versions]
            for name in names:
                for turn in range(TURNS):
                    for side in (0, 1) if turn % 2 == 0 else (1, 0):
                        if time.monotonic() < self._end:
                            self._note(suite, side, workers[side].run(name))
            for worker in workers:
                worker.close()

    def _note(self, suite: str, side: int, rows: Any) -> None:
        if isinstance(rows, str):
            print(f"{suite}: {rows}", flush=True)
            return
        with self._lock:
            for case, engine, count, seconds in rows:
                self._found.setdefault((suite, case, engine), ([], []))[side].append((seconds, count))


def mean(ratios: list[float]) -> str:
    return f"{math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}" if ratios else "none"


def main() -> None:
    seconds, output, old_tree, old_site, new_tree, new_site, *suites = sys.argv[1:]
    comparison = Comparison([(old_tree, old_site), (new_tree, new_site)], float(seconds))
    for suite in suites:
        comparison.add(suite)
    table = comparison.run()
    Path(output).write_text(json.dumps(table, indent=1))
    for name in dict.fromkeys(suite.partition(":")[0] for suite in suites):
        rows = [row for row in table if row[3] == name and "wall" not in row[4] and "threads" not in row[4]]
        long = [row for row in rows if row[1] >= LEAST_SECONDS]
        print(f"{name}: times the time before {mean([row[0] for row in rows])} ({len(rows)} cases),", end=" ")
        print(f"from {LEAST_SECONDS:g} s on {mean([row[0] for row in long])} ({len(long)})", end=", ")
        print(f"{sum(not row[-1] for row in rows)} differ")
        for row in long[-SHOWN:]:
            print(f"  {row[0]:.3f}  {row[2]:.3g} s  {row[4]}")
    os._exit(0)  # processes of threads that still run end with this one


if __name__ == "__main__":
    work(*sys.argv[2:]) if sys.argv[1] == "--worker" else main()
