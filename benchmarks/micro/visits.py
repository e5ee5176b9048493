"""How many files and functions of motiflux a count visits, and how often it goes from one file to another.

    python benchmarks/micro/visits.py [--device cuda|emulated]

Counts houses of a small graph: for the first time on a device, again, and on the CPU. Functions are counted
by `sys.setprofile` in all threads, those of classes and comprehensions included; generated code is left out.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import numpy as np

import motiflux as mf

SOURCES = str(Path(mf.__file__).parent)
HOUSE = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4)]


class Visits:
    """What was called, and in which order of files."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.functions: set[tuple[str, int]] = set()
        self.changes = 0
        self.deepest = 0
        self._last: dict[int, str] = {}

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        """Note one call."""
        name = frame.f_code.co_filename
        if event != "call" or not name.startswith(SOURCES):
            return
        self.files.add(name)
        self.functions.add((name, frame.f_code.co_firstlineno))
        thread = threading.get_ident()
        self.changes += self._last.get(thread, name) != name
        self._last[thread] = name
        self.deepest = max(self.deepest, depth(frame))


def depth(frame: FrameType | None) -> int:
    """Return how many functions of motiflux are under way."""
    found = 0
    while frame is not None:
        found += frame.f_code.co_filename.startswith(SOURCES)
        frame = frame.f_back
    return found


def visited(call: Callable[[], object]) -> Visits:
    """Return what a call visits."""
    visits = Visits()
    threading.setprofile(visits)
    sys.setprofile(visits)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return visits


def main() -> None:
    """Print a line for each of the three calls."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    if device == "emulated":
        os.environ.setdefault("MOTIFLUX_DEVICES", "tests.simt.register:register")
    pairs = np.random.default_rng(1).integers(0, 300, (3000, 2))
    house = mf.Pattern.from_edges(HOUSE)

    def graph() -> mf.Graph:
        return mf.Graph.from_edges(pairs[pairs[:, 0] != pairs[:, 1]])

    mf.count(graph(), mf.Pattern.from_edges([(0, 1), (1, 2), (2, 0)]), device=device)  # modules, the device
    mf.count(graph(), mf.Pattern.from_edges([(0, 1), (1, 2), (2, 0)]), device="cpu")
    searched, on_cpu = graph(), graph()
    for name, call in (
        (f"{device}, first", lambda: mf.count(searched, house, device=device)),
        (f"{device}, again", lambda: mf.count(searched, house, device=device)),
        ("cpu, first", lambda: mf.count(on_cpu, house, device="cpu")),
    ):
        if name.endswith("again"):
            mf.count(searched, house, device=device)
        found = visited(call)
        print(
            f"{name:16} {len(found.files):3} files {len(found.functions):4} functions"
            f" {found.changes:4} changes of file, call depth {found.deepest}"
        )


if __name__ == "__main__":
    main()
