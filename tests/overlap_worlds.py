"""Streams of a few small batches, and what a monitor has after some of them."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import motiflux as mf
import motiflux.stream
from motiflux.stream import Position
from tests.overlaps import state, with_pipeline
from tests.stream_engines import PLACEMENT

SIZE = 8
BATCHES = 6
STREAM = Path(motiflux.stream.__file__).parent


@dataclass(frozen=True)
class World:
    """A graph, patterns, and updates: copies, new vertices, self-loops, and edges that no pattern concerns.

    Parameters
    ----------
    vertex_labels
        Of the first vertices.
    edge_labels
        Whether edges have labels; there is a new one in each batch.
    prepares
        Whether batches can be prepared.
    """

    patterns: tuple[str, ...]
    vertex_labels: tuple[int, ...] = ()
    edge_labels: bool = False
    prepares: bool = True

    @cached_property
    def lines(self) -> list[str]:
        draw = np.random.default_rng(11)
        found = []
        for number in range(SIZE * BATCHES):
            batch = number // SIZE
            u, v = draw.integers(0, 7 + batch, 2).tolist()
            label = f" {draw.choice([1, 2, 3 + batch])}" if self.edge_labels else ""
            ends = f"{u} {v}" if self.vertex_labels else f"n{u} n{v}"
            found.append(f"{'-e' if draw.random() < 0.25 else 'e'} {ends}{label}\n")
        return found

    def graph(self) -> mf.Graph:
        if not self.vertex_labels:
            return mf.Graph.from_edges([])
        return mf.Graph.from_edges([], num_vertices=len(self.vertex_labels), vertex_labels=self.vertex_labels)

    def watching(self, pipeline: str = "on", **options: Any) -> mf.Monitor:
        options = {
            "mode": "batch",
            "matches": True,
            "tuning": with_pipeline(pipeline),
            **PLACEMENT,
            **options,
        }
        return mf.Monitor(self.graph(), self.patterns, **options)

    def after(self, batches: int, folder: Path) -> tuple[Any, ...]:
        """Return the state, the position and the rows after so many batches, applied one after another."""
        path, output = folder / "first.stream", folder / "expected.csv"
        path.write_text("".join(self.lines[: SIZE * batches]))
        output.unlink(missing_ok=True)
        with self.watching("off") as monitor:
            monitor.run(path, output, batch_size=SIZE)
            position = monitor.source_position if batches else None
            return state(monitor), position, rows_of(output)

    def check_and_go_on(self, monitor: mf.Monitor, source: Path, output: Path) -> None:
        """Check that all agrees on how many batches are applied; apply the others, and check again."""
        folder = source.parent
        done = applied(monitor.source_position)
        assert (state(monitor), monitor.source_position, rows_of(output)) == self.after(done, folder)
        more = folder / "more.csv"
        more.unlink(missing_ok=True)
        rest = mf.open_source(source, start=monitor.source_position or Position())
        monitor.run(rest, more, batch_size=SIZE)
        assert (state(monitor), rows_of(output) + rows_of(more)) == self.after(BATCHES, folder)[::2]


WORLDS = {
    "plain": World(("(a)--(b)--(c)--(a)", "(a)--(b)--(c)")),
    "of vertices": World(("(a:1)--(b:2)",), vertex_labels=(1, 2, 2, 1, 0, 1, 2, 2, 1)),
    "of edges": World(
        ("(a)-[:1]-(b)-[:1]-(c)-[:1]-(a)", "(a)-[:1]-(b)-[:2]-(c)"), edge_labels=True, prepares=False
    ),
}


def rows_of(path: Path) -> list[str]:
    return path.read_text().splitlines()[1:] if path.exists() else []


def applied(position: Position | None) -> int:
    """Return how many batches there are before a position."""
    done = 0 if position is None else position.line
    assert done % SIZE == 0
    return done // SIZE


def interrupted_at(point: int, work: Callable[[], Any]) -> int:
    """Press Ctrl-C at a point of those that `work` goes through in motiflux.stream; return their number.

    Points are lines; where calls are taken back only calls, as nothing is heard between other steps there.
    """
    passed = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal passed
        path = Path(frame.f_code.co_filename)
        if not path.is_relative_to(STREAM):
            return None
        if event == ("call" if path.name == "changing.py" else "line"):
            passed += 1
            if passed == point:
                signal.raise_signal(signal.SIGINT)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    return passed
