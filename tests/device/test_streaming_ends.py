"""Processes with a resident kernel end, however they are ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.devices("emulated", "cuda", reason="it has no kernels")

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 60
BEGIN = """
import os, sys, threading, time
device = {device!r}
if device == "emulated":
    from tests.simt.register import register
    register()
import motiflux as mf
from tests.device.small_streams import small_streams
with small_streams():
    monitor = mf.Monitor(
        mf.Graph.from_edges([(0, 1), (1, 2)]), "(a)--(b)--(c)--(a)", device=device, engine="streaming"
    )
    feed = monitor.feed()
    feed.write([("+", 0, 2)])
    print(feed.take().delta[0].positive, flush=True)
"""


def started(device: str, rest: str) -> subprocess.Popen[str]:
    """Start a process that has a feed with a resident kernel, then does something else."""
    return subprocess.Popen(
        [sys.executable, "-c", BEGIN.format(device=device) + rest],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("rest", "code"),
    [
        ("", 0),  # neither feed nor monitor is closed
        ("raise SystemExit(3)", 3),
        ("del feed, monitor; import gc; gc.collect()", 0),
        ("feed.close(finish=False); monitor.close(); monitor.close()", 0),
        ("if os.fork() == 0: sys.exit(0)\nos.wait()", 0),
    ],
)
def test_a_process_ends_although_a_kernel_stays(device: str, rest: str, code: int) -> None:
    process = started(device, rest)
    out, err = process.communicate(timeout=SECONDS)
    assert (out.strip(), process.returncode) == ("6", code), err


@pytest.mark.turns(4)
def test_an_interrupt_ends_a_wait_for_answers(device: str) -> None:
    process = started(device, "print('waits', flush=True)\nfeed.take()\n")
    assert process.stdout is not None
    assert [process.stdout.readline().strip() for _ in range(2)] == ["6", "waits"]
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=SECONDS)
    assert "KeyboardInterrupt" in err
    assert process.returncode != 0
