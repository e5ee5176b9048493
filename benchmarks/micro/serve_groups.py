"""Processor time of a service for a group of records, of all its threads, from lines of JSON to a sink.

    python benchmarks/micro/serve_groups.py [--sizes 10,50,500] [--groups 400] [--rate 10000]

Transfers of which one in fifty closes a ring. Each group is committed before the next one is given; with
``--rate``, chunks of the sizes are given at this rate of records per second instead, and the service makes
groups of them. Microseconds, the least of three runs.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import motiflux as mf
from motiflux.serve.intake import Chunk

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "suite" / "serve_parts"))
from probes import PATTERNS, transfers

RUNS = 3


def configuration(folder: Path) -> dict[str, Any]:
    return {
        "service": {"state": str(folder / "state"), "listen": "off"},
        "stream": {"attributes": {"sent": "float"}},
        "sources": [{"name": "bank", "type": "http"}],
        "monitors": [{"name": "main", "attributes": False}],
        "patterns": [{"name": name, "pattern": text} for name, text in PATTERNS.items()],
        "sinks": [{"name": "lines", "type": "jsonl", "path": str(folder / "alerts.jsonl")}],
    }


def run(size: int, groups: int, rate: float) -> dict[str, float]:
    """Return microseconds of a group, for reading lines and for all threads of the service."""
    made = transfers(size * groups, accounts=200_000, seed=1)
    lines = [json.dumps({"src": src, "dst": dst, "sent": 1700000000.25}).encode() for src, dst in made]
    pieces = [b"\n".join(lines[at : at + size]) for at in range(0, len(lines), size)]
    with tempfile.TemporaryDirectory() as name, mf.Service(configuration(Path(name))) as service:
        reader = service.readers["bank"]
        committed, start, given = threading.Event(), time.perf_counter(), 0
        begin, own, reading = time.process_time(), time.thread_time(), 0.0
        for piece in pieces:
            at = time.thread_time()
            taken = reader.lines(piece, str)
            reading += time.thread_time() - at
            committed.clear()
            done = None if rate else lambda _: committed.set()
            service.intake.put(Chunk("bank", taken.records, done=done), lambda: False)
            if rate:
                given += size
                time.sleep(max(0.0, start + given / rate - time.perf_counter()))
            else:
                committed.wait()
        if rate:
            assert service.wait_until_idle(60)
        others = time.process_time() - begin - (time.thread_time() - own)
        commits = service.figures.commits
        assert service.wait_until_idle(60)
    return {"reading": reading / groups * 1e6, "others": others / groups * 1e6, "commits": commits / groups}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", default="10,50,500")
    parser.add_argument("--groups", type=int, default=400)
    parser.add_argument("--rate", type=float, default=0.0)
    options = parser.parse_args()
    for size in map(int, options.sizes.split(",")):
        found = [run(size, options.groups, options.rate) for _ in range(RUNS)]
        least = {name: min(one[name] for one in found) for name in found[0]}
        total = least["reading"] + least["others"]
        print(
            f"{size:6} records: reading {least['reading']:7.0f} us, engine, log and sink "
            f"{least['others']:7.0f} us a group; {total / size:6.2f} us a record, "
            f"{least['commits']:.2f} commits",
            flush=True,
        )


if __name__ == "__main__":
    main()
