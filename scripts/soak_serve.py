"""Run a service at full speed for some minutes, and watch its memory and the size of its log.

    python scripts/soak_serve.py --minutes 45

Transfers among a fixed number of accounts come through the queue, as fast as they are taken; edges live for
a window, records leave the log, alerts go to a file that is removed from time to time. A line is printed
every ten seconds. It fails if memory grows by more than a tenth after the first third, or the state on disk.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import motiflux as mf
from motiflux.serve.intake import Chunk
from motiflux.serve.status import memory_bytes

ACCOUNTS = 100_000
WINDOW = 500_000
CHUNK = 500
LOOK_SECONDS = 10.0
GROWTH = 1.1
FILE_BYTES = 50_000_000


def configuration(folder: Path) -> dict[str, Any]:
    """Return a service whose log drops records after five seconds."""
    return {
        "service": {"state": str(folder / "state"), "listen": "off"},
        "log": {"checkpoint_updates": 1_000_000, "checkpoint_every": "30s", "keep": "5s"},
        "sources": [{"name": "bank", "type": "http"}],
        "monitors": [{"name": "main", "window": WINDOW}],
        "patterns": [
            {"name": "ring3", "pattern": "(a)-->(b)-->(c)-->(a)"},
            {"name": "ring4", "pattern": "(a)-->(b)-->(c)-->(d)-->(a)"},
        ],
        "sinks": [{"name": "lines", "type": "jsonl", "path": str(folder / "alerts.jsonl")}],
    }


def size_of(folder: Path) -> int:
    """Return the bytes of the files of a folder; some may go meanwhile."""
    sizes = []
    for file in folder.iterdir():
        try:
            sizes.append(file.stat().st_size)
        except FileNotFoundError:
            continue
    return sum(sizes)


def main() -> int:
    """Run it; 0 if memory and log stayed as they were."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=45.0, help="how long")
    options = parser.parse_args()
    draw, seen = random.Random(1), []
    with tempfile.TemporaryDirectory() as name, mf.Service(configuration(Path(name))) as service:
        begin = last = time.monotonic()
        sent = before = 0
        while last - begin < options.minutes * 60:
            ends = [(f"a{draw.randrange(ACCOUNTS)}", f"a{draw.randrange(ACCOUNTS)}") for _ in range(CHUNK)]
            records: list[list[Any]] = [[1, src, dst, None, None, None, None] for src, dst in ends]
            service.intake.put(Chunk("bank", records), lambda: False)
            sent += CHUNK
            if (now := time.monotonic()) - last < LOOK_SECONDS:
                continue
            seen.append((memory_bytes(), size_of(Path(name, "state"))))
            rate = (sent - before) / (now - last)
            memory, size = (value / 2**20 for value in seen[-1])
            print(
                f"{now - begin:6.0f} s, {rate:9,.0f} updates/s, {memory:7.1f} MiB, log {size:7.1f} MiB",
                flush=True,
            )
            alerts = Path(name, "alerts.jsonl")
            if alerts.exists() and alerts.stat().st_size > FILE_BYTES:
                alerts.unlink()
            last, before = now, sent
        service.raise_if_failed()
        assert service.wait_until_idle(120)
        counted = sum(row.positive for row in service.patterns())
    third = len(seen) // 3
    held = len(seen) >= 3
    for what, values in zip(("memory", "log"), zip(*seen, strict=True), strict=True):
        first, rest = max(values[: third + 1]), max(values[third:])
        held = held and rest <= GROWTH * first
        print(f"{what}: at most {first / 2**20:.1f} MiB in the first third, {rest / 2**20:.1f} MiB later")
    print(f"{sent:,} updates, {counted:,} matches: {'as before' if held else 'GREW'}")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
