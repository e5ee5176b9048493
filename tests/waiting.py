"""Waiting for what another process or thread does: it ends if the other one is gone, and says why."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable
from typing import Any

SECONDS = 120.0
"""That a machine may be held up."""
LOOK_SECONDS = 0.01


def wait_until(
    holds: Callable[[], object],
    what: str,
    *,
    of: subprocess.Popen[Any] | threading.Thread | None = None,
    seconds: float = SECONDS,
) -> None:
    """Wait until something holds.

    Parameters
    ----------
    holds
        Called again and again; what it returns is true once the wait is over.
    what
        What is waited for, for the message.
    of
        The process or thread that has to bring it about: once it has ended, it is looked at a last time.
    seconds
        At most.

    Raises
    ------
    AssertionError
        The process or thread has ended without it, or time is up.
    """
    until = time.monotonic() + seconds
    while True:
        ended = _has_ended(of)  # before the look: what it did last counts
        if holds():
            return
        if ended:
            raise AssertionError(f"{what}: {_end_of(of)}")
        if time.monotonic() >= until:
            if isinstance(of, subprocess.Popen):
                of.kill()  # nobody would wait for it to end
            raise AssertionError(f"{what}: not within {seconds:g} seconds")
        time.sleep(LOOK_SECONDS)


def wait_for_line(process: subprocess.Popen[str], starts: str, *, error: bool = False) -> str:
    """Return the first line that starts so; an end of the output before it is an `AssertionError`."""
    stream = process.stderr if error else process.stdout
    assert stream is not None
    seen = []
    while line := stream.readline():
        if line.startswith(starts):
            return line
        seen.append(line)
    raise AssertionError(f"no line that starts with {starts!r} in {''.join(seen)!r}: {_end_of(process)}")


def _has_ended(of: subprocess.Popen[Any] | threading.Thread | None) -> bool:
    if isinstance(of, threading.Thread):
        return not of.is_alive()
    return of is not None and of.poll() is not None


def _end_of(of: subprocess.Popen[Any] | threading.Thread | None) -> str:
    if not isinstance(of, subprocess.Popen):
        return "its thread has ended"
    try:
        _, errors = of.communicate(timeout=10)
    except (subprocess.TimeoutExpired, ValueError):  # it runs on; its output was closed
        errors = None
    return f"its process has ended with {of.returncode}, and said {errors!r}"
