"""Other Python-installable systems, doing one count each in a process of its own.

    python benchmarks/run_peer.py METHOD GRAPH.npz QUERY.graph [--directed] --limit SECONDS --runs N

The graph is read as undirected unless told. Prints one JSON object per line: first what the method counts, as
``{"counts": "subgraphs"|"embeddings"}``, then ``{"count": int, "seconds": float}`` per run, in process CPU
seconds, without building the peer's graph. A first run over the limit is killed, whatever the code is doing,
and ``{"stopped": seconds}`` is printed; a peer that needs more than `MEMORY` fails. Linux only.

The peer works in a process of its own, and the limit is kept by a second one that reads the first one's CPU
clock from outside: a CPU timer inside would make that clock advance in scheduler ticks, 4 ms at a time.

The methods are in `peer/`, one system per file.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import resource
import select
import signal
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
if str(HERE) not in sys.path:
    sys.path.insert(0, str(HERE))

from peer import by_duckdb, by_igraph, by_networkx, by_rustworkx  # noqa: E402, F401
from peer.methods import METHODS  # noqa: E402
from peer.network import Network, comparable, order_conditions, read_data, read_query  # noqa: E402, F401

MEMORY = 12 << 30
"""Bytes of address space a peer may have."""
LONG_RUN_SECONDS = 5.0
"""A run this long is not repeated, as in the harness."""
PR_SET_PDEATHSIG = 1
CPUCLOCK_SCHED = 2
"""Kind of clock, in the id of another process' CPU clock."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("method", choices=METHODS)
    parser.add_argument("graph", type=Path)
    parser.add_argument("query", type=Path)
    parser.add_argument("--directed", action="store_true", help="read both as directed")
    parser.add_argument("--limit", type=float, default=60.0, help="process CPU seconds of one run")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()

    reading, writing = os.pipe()
    worker = os.fork()
    if worker == 0:
        work(options, writing)
        return
    os.close(writing)
    stopped = watch(worker, reading, options.limit)
    status = os.waitpid(worker, 0)[1]
    if stopped:
        print(json.dumps({"stopped": options.limit}))
    elif status:
        sys.exit(1)


def work(options: argparse.Namespace, progress: int) -> None:
    """Count, and write a byte to `progress` before and after the first run."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    query = read_query(options.query, directed=options.directed)
    data = read_data(options.graph, query)
    counts, prepare = METHODS[options.method]
    call = prepare(data, comparable(query, data))
    print(json.dumps({"counts": counts}), flush=True)
    for run in range(options.runs):
        if run == 0:
            os.write(progress, b".")
        start = time.process_time()
        count = call()
        seconds = time.process_time() - start
        if run == 0:
            os.write(progress, b".")
        print(json.dumps({"count": count, "seconds": seconds}), flush=True)
        if seconds > LONG_RUN_SECONDS:
            break


def watch(worker: int, progress: int, limit: float) -> bool:
    """Kill the worker if its first run takes more CPU seconds than `limit`; say whether it was."""
    if not os.read(progress, 1):
        return False  # it failed before
    clock = (~worker << 3) | CPUCLOCK_SCHED
    start = time.clock_gettime(clock)
    while not select.select([progress], [], [], 0.02)[0]:
        if time.clock_gettime(clock) - start > limit:
            os.kill(worker, signal.SIGKILL)
            return True
    return False


if __name__ == "__main__":
    main()
