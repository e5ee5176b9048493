"""Runs a service in processes that are killed at random moments, until one comes to the end."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import sqlite3
import struct
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from motiflux.serve.service import Service

_FRAME = 24


def begin(given: dict[str, Any], finish: Callable[[Service], object]) -> int:
    """Begin a process with the service, which ends when `finish` returns; return its id."""
    if child := os.fork():
        return child
    code = 1
    try:
        service = Service(given)
        service.start()
        finish(service)
        service.stop()
        code = 0
    finally:
        os._exit(code)


def outlived(child: int, seconds: float) -> bool:
    """Kill a process after some seconds; return whether it had ended by then, as it should."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0
            return True
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == 0


def tear(state: Path, draw: random.Random) -> bool:
    """Damage the last transaction of a log, as a loss of power may; return whether that was done.

    Transactions that were on disk before a sink was opened are left alone: the sink relied on them.
    """
    with tempfile.TemporaryDirectory() as folder:
        copied = Path(folder)
        for name in ("log.sqlite", "log.sqlite-wal"):
            if (state / name).exists():
                shutil.copy(state / name, copied / name)
        if not tear_file(copied / "log.sqlite-wal", draw):
            return False
        torn = (copied / "log.sqlite-wal").read_bytes()
        with contextlib.closing(sqlite3.connect(copied / "log.sqlite")) as log:
            (tables,) = log.execute("SELECT count(*) FROM sqlite_master WHERE name = 'sinks'").fetchone()
            if not tables:  # it was the transaction that made them
                return False
            (states,) = log.execute("SELECT count(state) FROM sinks WHERE name = 'lines'").fetchone()
    if states:
        (state / "log.sqlite-wal").write_bytes(torn)
    return bool(states)


def tear_file(wal: Path, draw: random.Random) -> bool:
    """Change bytes behind the last but one commit of a write-ahead log, or end the file within them."""
    if not wal.exists() or wal.stat().st_size < 32:
        return False
    data = wal.read_bytes()
    size = struct.unpack(">I", data[8:12])[0]
    salt = data[16:24]
    ends = []
    for at in range(32, len(data) - _FRAME - size + 1, _FRAME + size):
        if data[at + 8 : at + 16] != salt:
            break
        if struct.unpack(">I", data[at + 4 : at + 8])[0]:
            ends.append(at + _FRAME + size)
    if len(ends) < 2:
        return False
    place = draw.randrange(ends[-2], ends[-1])
    if draw.random() < 0.5:
        os.truncate(wal, place)
    else:
        with wal.open("r+b") as file:
            file.seek(place)
            file.write(bytes(byte ^ 0xFF for byte in data[place : place + draw.randrange(1, 200)]))
    return True


def until_the_end(
    given: dict[str, Any],
    finish: Callable[[Service], object],
    *,
    kills: int,
    longest: float,
    seed: int,
    between: Callable[[int], None] = lambda kill: None,
) -> tuple[int, int]:
    """Kill the process so many times, and tear the log after some kills; then let it come to its end.

    Returns the number of kills and of torn logs: both may be smaller if the service is at its end before.
    """
    draw, torn, killed = random.Random(seed), 0, 0
    state = Path(given["service"]["state"])
    for kill in range(kills):
        between(kill)
        if not outlived(begin(given, finish), draw.uniform(0, longest)):
            killed += 1
            torn += draw.random() < 0.3 and tear(state, draw)
    between(kills)
    assert outlived(begin(given, finish), 60.0)
    return killed, torn
