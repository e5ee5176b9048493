"""Kill workers of a local Ray cluster at random moments of calls on its GPUs; compare what the calls return.

    python scripts/soak_cluster.py [--kills 200] [--minutes 60] [--seed 1] [--device cuda] [--gpus 2]

Counts, rows, data sets, estimates and counts at vertices of a graph and of the same graph sharded, drawn at
random, each compared with that of one CPU. A thread kills processes that run a task of the call, and now and
then one that serves shards. A line of JSON tells of each call, and one at the end of all. ``--device
emulated``, with ``MOTIFLUX_DEVICES=tests.simt.register:register PYTHONPATH=.``, needs no GPU: kernels run on
the CPU.

Exit codes: 0 all agree, 1 not, 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import motiflux as mf

TRIANGLE = "(a)--(b)--(c)--(a)"
CYCLE = "(a)--(b)--(c)--(d)--(a)"
HOUSE = f"{CYCLE}, (a)--(e)--(b)"
CLIQUE = f"{CYCLE}, (a)--(c), (b)--(d)"
COUNTED = (TRIANGLE, CYCLE, CLIQUE)
LISTED = (TRIANGLE, CLIQUE, CYCLE, HOUSE)
TUNING = {"tables": "off", "bitmaps": "off"}
"""Searches: tables and bitmaps of graphs this small take no time."""
SAMPLES = 300_000
SIZES = {"counted": (10, 8_000), "listed": (7, 500)}
"""Scale and edges, as they are drawn, of a graph for counts and of one for rows."""
MEAN_SECONDS = 0.08
"""Mean time from the moment at which a task is seen to run to the kill."""
LOOK_SECONDS = 0.02
MOST_KILLS = 3
"""Of a call: Ray runs a task again eight times, but a call must come to an end."""
FEW_BYTES = {"counted": 80_000, "listed": 40_000}
"""Memory of a worker with which the sharded graphs take many parts."""
SERVERS = 0.1
"""Share of kills that are of servers of shards, if there are some."""
INTERRUPTED = 130


class Killer:
    """Kills processes of the Ray cluster of this process.

    Attributes
    ----------
    busy, servers
        Processes killed that ran a task, and that served shards.
    """

    def __init__(self, session: str, draws: random.Random) -> None:
        self._session, self._draws = session, draws
        self.busy = self.servers = 0
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Killer:
        self._over.clear()
        self._thread = threading.Thread(target=self._kill_some)
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._over.set()
        assert self._thread is not None
        self._thread.join()

    def _kill_some(self) -> None:
        for _ in range(self._draws.randint(1, MOST_KILLS)):
            while not any(is_busy(title) for _, title in self.workers()):
                if self._over.wait(LOOK_SECONDS):
                    return
            if self._over.wait(self._draws.expovariate(1.0 / MEAN_SECONDS)):
                return
            self._kill()

    def _kill(self) -> None:
        workers = self.workers()
        servers = [process for process, title in workers if "ShardServer" in title]
        busy = [process for process, title in workers if is_busy(title)]
        if servers and self._draws.random() < SERVERS:
            self.servers += _killed(self._draws.choice(servers))
        elif busy:
            self.busy += _killed(self._draws.choice(busy))

    def workers(self) -> list[tuple[int, str]]:
        """Return the worker processes of the Ray that was started here, and their titles."""
        every = {int(one.name): one for one in Path("/proc").iterdir() if one.name.isdigit()}
        titles, parents = {}, {}
        for process, folder in every.items():
            try:
                titles[process] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                parents[process] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError):
                continue
        own = {one for one, title in titles.items() if "raylet" in title and self._session in title}
        return [(one, title) for one, title in titles.items() if parents.get(one) in own]


def is_busy(title: str) -> bool:
    """Return whether a worker's title tells of a task of a call."""
    name = title.partition("ray::")[2]
    return name.startswith(("count", "match", "estimate", "filter", "look"))


def _killed(process: int) -> bool:
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


Result = NDArray[Any]
Case = tuple[str, str, Callable[[], Result], Callable[[], Result]]
"""A name and a pattern, the call on the cluster, and the same on one CPU."""


class Calls:
    """The calls, on graphs and on the same graphs sharded, and what each should return."""

    def __init__(self, cluster: mf.Cluster, folder: Path, device: str) -> None:
        self._cluster, self._folder = cluster, folder
        self._on: dict[str, Any] = {"device": device}
        self._subjects: dict[str, dict[str, Any]] = {}
        for name, (scale, edges) in SIZES.items():
            graph, file, shards = (
                mf.generate.rmat(scale=scale, edges=edges, seed=1),
                f"{name}.npz",
                folder / name,
            )
            mf.write_graph(graph, folder / file)
            self._subjects[name] = {
                "whole": graph,
                "sharded": cluster.shard([folder / file], shards, shards=2, memory="1MB"),
                "sharded in many parts": cluster.open_sharded(shards, memory=FEW_BYTES[name]),
            }
        self._known: dict[tuple[str, str], Result] = {}
        self._number = 0

    def draw(self, draws: random.Random) -> Case:
        """Return a call."""
        kind = draws.choice(("count", "rows", "files", "estimate", "vertices"))
        subject = draws.choice(("whole", "sharded", "sharded in many parts"))
        pattern = draws.choice(LISTED if kind in ("rows", "files") else COUNTED)
        return (
            f"{kind}, {subject}",
            pattern,
            lambda: self._made(kind, subject, pattern),
            lambda: self._expected(kind, subject, pattern),
        )

    def _made(self, kind: str, subject: str, pattern: str) -> Result:
        make: Callable[..., Result] = getattr(self, f"_{kind}")
        return make(self._cluster, self._graph(kind, subject), pattern, self._on)

    def _graph(self, kind: str, subject: str) -> Any:
        return self._subjects["listed" if kind in ("rows", "files") else "counted"][subject]

    def _expected(self, kind: str, subject: str, pattern: str) -> Result:
        if kind == "files":
            kind = "rows"
        if kind == "estimate" and subject != "whole":
            kind = "count"  # all of the graph is counted
        if (kind, pattern) not in self._known:
            self._known[kind, pattern] = getattr(self, f"_{kind}")(
                mf, self._graph(kind, "whole"), pattern, {}
            )
        return self._known[kind, pattern]

    def _count(self, where: Any, graph: Any, pattern: str, on: dict[str, Any]) -> Result:
        found = where.count(graph, pattern, tuning=TUNING, **on)
        assert found.complete
        return np.array([int(found)])

    def _rows(self, where: Any, graph: Any, pattern: str, on: dict[str, Any]) -> Result:
        found = where.match(graph, pattern, **on)
        rows = found.to_numpy()
        assert found.complete
        return _in_order(rows)

    def _files(self, where: Any, graph: Any, pattern: str, on: dict[str, Any]) -> Result:
        pq = import_module("pyarrow.parquet")
        self._number += 1
        folder = self._folder / f"rows-{self._number}"
        found = where.match(graph, pattern, output=folder, job="a job", **on)
        assert found.complete
        tables = [pq.read_table(path) for path in folder.glob("*.parquet")]
        rows = [np.stack([column.to_numpy() for column in table.columns], axis=1) for table in tables]
        return _in_order(np.concatenate(rows))

    def _estimate(self, where: Any, graph: Any, pattern: str, on: dict[str, Any]) -> Result:
        found = where.estimate(graph, pattern, samples=SAMPLES, seed=3, estimator="auto", **on)
        return np.array([found.value])

    def _vertices(self, where: Any, graph: Any, pattern: str, on: dict[str, Any]) -> Result:
        found = where.count_per_vertex(graph, pattern, tuning=TUNING, **on)
        assert found.complete
        order: Result = found.counts[np.argsort(np.asarray(found.graph.vertex_ids))]
        return order


def _in_order(rows: Result) -> Result:
    ordered: Result = rows[np.lexsort(rows.T)]
    return ordered


def soak(arguments: argparse.Namespace) -> int:
    """Make calls until so many processes were killed, or time is up; return the number of wrong ones."""
    import ray

    emulated = arguments.device != "cuda"
    given = {"num_gpus": arguments.gpus} if emulated or arguments.gpus else {}
    ray.init(num_cpus=2, object_store_memory=512 << 20, include_dashboard=False, log_to_driver=False, **given)
    node: Any = ray._private.worker.global_worker.node
    draws, began, wrong, calls = random.Random(arguments.seed), time.monotonic(), 0, 0
    killer = Killer(node.session_name, draws)
    with tempfile.TemporaryDirectory() as folder, mf.Cluster() as cluster:
        made = Calls(cluster, Path(folder), arguments.device)
        of_kinds: dict[str, int] = {}
        while (
            killer.busy + killer.servers < arguments.kills
            and time.monotonic() - began < 60 * arguments.minutes
        ):
            name, pattern, call, expected = made.draw(draws)
            before, started = killer.busy + killer.servers, time.monotonic()
            wanted, error = expected(), None
            try:
                with killer:
                    same = np.array_equal(call(), wanted)
            except (mf.MotifluxError, AssertionError) as found:
                same, error = False, f"{type(found).__name__}: {found}"
            calls, wrong = calls + 1, wrong + (not same)
            kills = killer.busy + killer.servers - before
            of_kinds[name] = of_kinds.get(name, 0) + kills
            line = {
                "call": name,
                "pattern": pattern,
                "kills": kills,
                "seconds": round(time.monotonic() - started, 2),
            }
            print(json.dumps({**line, "same": same, **({"error": error} if error else {})}), flush=True)
        print(
            json.dumps(
                {
                    "calls": calls,
                    "wrong": wrong,
                    "killed while busy": killer.busy,
                    "killed servers": killer.servers,
                    "kills": of_kinds,
                    "seconds": round(time.monotonic() - began),
                }
            ),
            flush=True,
        )
    ray.shutdown()
    return wrong


def main(given: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200, help="processes to kill; default 200")
    parser.add_argument("--minutes", type=float, default=60.0, help="most minutes; default 60")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="cuda")
    parser.add_argument(
        "--gpus", type=int, default=2, help="GPUs that Ray is told of; 0: those that it finds"
    )
    try:
        return 1 if soak(parser.parse_args(given)) else 0
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    raise SystemExit(main())
