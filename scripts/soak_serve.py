"""Run a service at full speed for some minutes, and watch its memory and the size of its log.

    python scripts/soak_serve.py --minutes 45

Transfers among a fixed number of accounts come through the queue, as fast as they are taken; edges live for
a window, records leave the log, alerts go to a file that is removed from time to time. A line is printed
every ten seconds. It fails if memory grows by more than a tenth after the first third, if the log has more
records than retention keeps, or if its files are larger than these records and the pages that SQLite keeps
free need. What retention keeps follows from the rate: the records behind the older one of two checkpoints,
and those that came while a checkpoint was written or since records were dropped last.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import motiflux as mf
from motiflux.serve.batch import as_records
from motiflux.serve.intake import Chunk
from motiflux.serve.status import memory_bytes

ACCOUNTS = 100_000
WINDOW = 500_000
CHUNK = 500
LOOK_SECONDS = 10.0
GROWTH = 1.1
FILE_BYTES = 50_000_000
CHECKPOINT = 250_000
"""Updates between two checkpoints; the time between them does not matter, which the rate would change."""
PAGES = 1.5
"""Bytes of a full database for each of its records: pages are not full, and some are free."""
AHEAD_BYTES = 100 * 2**20
"""The write-ahead log, which is written back after 10,000 pages: some more come meanwhile."""


def configuration(folder: Path) -> dict[str, Any]:
    """Return a service whose log keeps the records behind the older checkpoint, and no others."""
    return {
        "service": {"state": str(folder / "state"), "listen": "off"},
        "log": {"checkpoint_updates": CHECKPOINT, "checkpoint_every": "1d"},
        "sources": [{"name": "bank", "type": "http"}],
        "monitors": [{"name": "main", "window": WINDOW}],
        "patterns": [
            {"name": "ring3", "pattern": "(a)-->(b)-->(c)-->(a)"},
            {"name": "ring4", "pattern": "(a)-->(b)-->(c)-->(d)-->(a)"},
        ],
        "sinks": [{"name": "lines", "type": "jsonl", "path": str(folder / "alerts.jsonl")}],
    }


class Look(NamedTuple):
    """What there was at one moment: bytes of memory, bytes of the log's files, and its records."""

    sent: int
    memory: int
    size: int
    records: int
    record_bytes: int


def look(service: mf.Service, state: Path, sent: int) -> Look:
    """Look at a service to which so many records were sent."""
    assert service.store is not None
    with service.store.reader() as reader:
        records, size = reader.execute(
            "SELECT coalesce(sum(count), 0), coalesce(sum(length(records)), 0) FROM log"
        ).fetchone()
    files = (state / "log.sqlite", state / "log.sqlite-wal")
    return Look(sent, memory_bytes(), sum(file.stat().st_size for file in files), records, size)


def is_bounded(seen: Sequence[Look]) -> bool:
    """Whether the log had at most what retention keeps, each time that it was looked at."""
    most = size = 0
    for at, one in enumerate(seen):
        recent = one.sent - seen[max(0, at - 2)].sent  # of the last two looks
        kept = 2 * CHECKPOINT + recent
        most = max(most, kept)  # files do not shrink at once
        allowed = PAGES * most * one.record_bytes / max(1, one.records) + AHEAD_BYTES
        size = max(size, one.size)
        if one.records > kept or size > allowed:
            print(f"log: {one.records:,} records, {kept:,} allowed; {size:,} bytes, {allowed:,.0f} allowed")
            return False
    records = max(one.records for one in seen)
    print(f"log: at most {records:,} records and {size / 2**20:.1f} MiB, as retention has it")
    return True


def main() -> int:
    """Run it; 0 if memory and log stayed as they were."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=45.0, help="how long")
    options = parser.parse_args()
    draw = random.Random(1)
    seen: list[Look] = []
    with tempfile.TemporaryDirectory() as name, mf.Service(configuration(Path(name))) as service:
        begin = last = time.monotonic()
        sent = before = 0
        while last - begin < options.minutes * 60:
            ends = [(f"a{draw.randrange(ACCOUNTS)}", f"a{draw.randrange(ACCOUNTS)}") for _ in range(CHUNK)]
            rows: list[list[Any]] = [[1, src, dst, None, None, None, None] for src, dst in ends]
            records = as_records(rows, service.settings.stream)
            service.intake.put(Chunk("bank", records), lambda: False)
            sent += CHUNK
            if (now := time.monotonic()) - last < LOOK_SECONDS:
                continue
            seen.append(look(service, Path(name, "state"), sent))
            rate = (sent - before) / (now - last)
            print(
                f"{now - begin:6.0f} s, {rate:9,.0f} updates/s, {seen[-1].memory / 2**20:7.1f} MiB, log "
                f"{seen[-1].size / 2**20:7.1f} MiB, {seen[-1].records:,} records",
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
    first, rest = (max(one.memory for one in part) for part in (seen[: third + 1], seen[third:]))
    print(f"memory: at most {first / 2**20:.1f} MiB in the first third, {rest / 2**20:.1f} MiB later")
    held = is_bounded(seen) and len(seen) >= 3 and rest <= GROWTH * first
    print(f"{sent:,} updates, {counted:,} matches: {'as before' if held else 'GREW'}")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
