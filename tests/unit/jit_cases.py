"""Toolchains, sources and processes that the tests of run-time compilation share."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from motiflux.jit import BuildError, Built, Source

REPOSITORY = Path(__file__).resolve().parents[2]


class CopyingToolchain:
    """Takes a unit's text for its image; refuses text with ``error`` in it."""

    def __init__(self, seconds: float = 0.0, version: str = "1") -> None:
        self.seconds = seconds
        self.version = version
        self.built: list[str] = []
        self.threads: list[int] = []
        self.began = threading.Event()

    def identity(self) -> Mapping[str, str]:
        return {"name": "copying", "version": self.version}

    def build(self, source: Source, include: tuple[Path, ...]) -> Built:
        self.built.append(source.name)
        self.threads.append(threading.get_ident())
        self.began.set()
        time.sleep(self.seconds)
        if "error" in source.text:
            raise BuildError("line 1: first complaint\nline 2: last complaint")
        return Built(source.text.encode(), "all is well")


class Gate(CopyingToolchain):
    """Compiles units, or the one named, once it is opened; others at once."""

    def __init__(self, held: str | None = None) -> None:
        super().__init__()
        self.held = held
        self.opened = threading.Event()

    def build(self, source: Source, include: tuple[Path, ...]) -> Built:
        if self.held in (None, source.name):
            self.began.set()
            # In short waits: a signal that comes just before a wait is noticed only after it.
            assert any(self.opened.wait(0.1) for _ in range(1200))
        return super().build(source, include)


def start_python(script: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    """Start a Python process that can import what tests can; warnings are errors there too."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", script, *arguments],
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_python(script: str, *arguments: str, timeout: float = 60, **environment: str) -> tuple[int, str, str]:
    """Run a Python process to its end; return its exit status, output and errors."""
    with start_python(script, *arguments, **environment) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        finally:
            process.kill()
    return process.returncode, out, err
