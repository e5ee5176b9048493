"""What the parts of the suite ``gpu`` share: graphs, the device, warming up, the R-MAT graph."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import motiflux as mf
from motiflux.bench.measure import Timing
from motiflux.bench.suite import GraphSource
from motiflux.gpu.runtime.accelerator import Accelerator, open_accelerator
from motiflux.gpu.storage.candidate_space import DeviceSpace
from motiflux.gpu.storage.device_csr import resident

DEVICE, ENGINE = "cuda", "dfs"
LEAST, LONG = 3, 1.0
"""Calls at least, and seconds after which one is enough."""
ENOUGH_SECONDS = 1.0
"""What is measured again and again is measured no more after this time."""
COMPILE_SECONDS = 60.0
AGAIN_SECONDS = 0.5
"""Time for a call that only has to ask for its kernels."""


def accelerator() -> Accelerator:
    return open_accelerator(DEVICE)


def tell(what: str) -> None:
    """Say on stderr what runs now."""
    print(f"... {what}", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Drawn:
    """The graph of ``oracle/rmat20``: a file that is drawn anew unless ``MOTIFLUX_RMAT20`` names it."""

    shared: Path
    labelled: bool = True

    def read(self) -> mf.Graph:
        return GraphSource(drawing(self.shared).path(), labelled=self.labelled).read()


class Drawing:
    """The drawing of the R-MAT graph into a temporary folder, by a process beside this one."""

    def __init__(self, shared: Path) -> None:
        known = os.environ.get("MOTIFLUX_RMAT20")
        self._process: subprocess.Popen[bytes] | None = None
        if known:
            self._file = Path(known)
            return
        self._folder = tempfile.TemporaryDirectory(prefix="motiflux-rmat20-")
        self._file = Path(self._folder.name) / "rmat20.npz"
        script = shared / "oracle/rmat20/generate.py"
        self._process = subprocess.Popen([sys.executable, str(script), str(self._file)])

    def path(self) -> Path:
        """Return the file, once it is there."""
        if self._process is not None and self._process.wait() != 0:
            raise RuntimeError("the R-MAT graph: oracle/rmat20/generate.py failed")
        return self._file


@lru_cache(maxsize=1)
def drawing(shared: Path) -> Drawing:
    """Return the drawing, begun by whoever asks first."""
    return Drawing(shared)


@cache
def read(source: GraphSource | Drawn) -> mf.Graph:
    """Return a graph. All stay, with their copies on the device."""
    return source.read()


def count(graph: mf.Graph, pattern: mf.Pattern, seconds: float) -> mf.Count:
    return mf.count(graph, pattern, device=DEVICE, timeout=seconds)


def warm(graph: mf.Graph, pattern: mf.Pattern, seconds: float) -> None:
    """Have rows lie on the device and kernels compiled: a kernel of its own at the second call."""
    for most in (seconds, AGAIN_SECONDS, AGAIN_SECONDS):
        count(graph, pattern, most)
        accelerator().compiler.settle(COMPILE_SECONDS)


def forget_spaces(graph: mf.Graph) -> None:
    """Have the next count make its candidate space anew."""
    resident(graph, accelerator().device).forget(DeviceSpace)


def several(
    call: Callable[[], bool],
    runs: int,
    enough: float = ENOUGH_SECONDS,
    before: Callable[[], None] = lambda: None,
) -> Timing:
    """Return wall times of up to `runs` calls, no more after `enough` seconds or once one returns False.

    A single call may be the one for which a kernel is loaded: it is three at least, if that takes no second.
    """
    taken: list[float] = []
    while True:
        before()
        start = time.perf_counter()
        finished = call()
        taken.append(time.perf_counter() - start)
        took = sum(taken)
        if not finished or len(taken) >= runs or (took > enough and (len(taken) >= LEAST or took > LONG)):
            return Timing.of(taken)
