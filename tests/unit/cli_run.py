"""Running the command line on small files, and taking its result apart."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from motiflux.cli.app import app


def motiflux(*arguments: str | Path) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def motiflux_process(*arguments: str | Path, **options: Any) -> subprocess.Popen[str]:
    """Start a command as a process of its own."""
    command = [sys.executable, "-m", "motiflux", *(str(argument) for argument in arguments)]
    environment = {**os.environ, "PYTHONWARNINGS": "default"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, text=True, env=environment, **{**pipes, **options})


def only_json(result: Result) -> dict[str, Any]:
    """Give the one JSON object on stdout, after checking that it is alone there."""
    assert result.stdout.count("\n") == 1, result.stdout
    found = json.loads(result.stdout)
    assert isinstance(found, dict)
    assert found["schema"] == 1
    return found


def write_edges(path: Path, edges: Iterable[tuple[int, int]]) -> Path:
    path.write_text("".join(f"{u} {v}\n" for u, v in edges))
    return path


def complete_graph(path: Path, size: int, first: int = 0) -> Path:
    return write_edges(path, combinations(range(first, first + size), 2))


def clique_pattern(path: Path, size: int) -> Path:
    edges = list(combinations(range(size), 2))
    lines = [f"t {size} {len(edges)}"]
    lines += [f"v {vertex} -1" for vertex in range(size)]
    lines += [f"e {u} {v}" for u, v in edges]
    path.write_text("\n".join(lines) + "\n")
    return path
