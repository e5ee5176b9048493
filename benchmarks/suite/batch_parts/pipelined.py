"""Runs of files on a device, with batches that overlap and without, and the stages of the latter."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.stream import Nowhere, as_source

Edges = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass
class Stages:
    """Seconds of the stages of batches, which follow one another.

    Parameters
    ----------
    read, prepared, matched, given
        Reading and parsing; numbering, netting, roots; the engine, with the update of its rows; the rest:
        order of matches, images, and the sink.
    """

    read: list[float] = field(default_factory=list)
    prepared: list[float] = field(default_factory=list)
    matched: list[float] = field(default_factory=list)
    given: list[float] = field(default_factory=list)

    def longest(self) -> float:
        """Return the sum of the longest stage of each batch: pre-processing, the device, post-processing."""
        before = np.add(self.read, self.prepared)
        return float(np.maximum(np.maximum(before, self.matched), self.given).sum())

    def figures(self) -> dict[str, float]:
        """Return the seconds of each stage, of all batches."""
        stages = vars(self)
        return {f"{name}_seconds": sum(stages[name]) for name in stages}


class TimedSource:
    """The batches of a source, with the moments at which each is asked for and there."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self.moments: list[list[float]] = []

    def batches(self, request: Any) -> Iterator[Any]:
        """Yield the batches of the source."""
        asked = time.perf_counter()
        for batch in self._source.batches(request):
            self.moments.append([asked, time.perf_counter()])
            yield batch
            asked = time.perf_counter()
            self.moments[-1].append(asked)

    def note(self) -> None:
        """Note a moment of the batch that was given last."""
        self.moments[-1].append(time.perf_counter())


@dataclass(frozen=True)
class Insertions:
    """Edges that are inserted in batches, from a ``.stream`` file or from memory.

    Parameters
    ----------
    size
        Edges of a batch.
    """

    path: Path
    edges: Edges
    size: int

    @classmethod
    def of(cls, path: Path, edges: Edges, batches: int) -> Insertions:
        """Return them, and write the file."""
        with path.open("w") as file:
            for first in range(0, len(edges[0]), 1 << 18):
                pairs = np.stack([ends[first : first + (1 << 18)] for ends in edges], axis=1)
                np.savetxt(file, pairs, fmt="e %d %d")
        return cls(path, edges, -(-len(edges[0]) // batches))

    def source(self, *, in_memory: bool) -> Any:
        """Return a source."""
        if not in_memory:
            return mf.open_source(self.path)
        return as_source(list(mf.Updates.edges(inserts=self.edges).slices(self.size)))


@dataclass(frozen=True)
class Outcome:
    """What a run came to: seconds, matches, and its stages if they followed one another."""

    seconds: float
    matches: tuple[int, int]
    updates: int
    stages: Stages | None = None


@dataclass(frozen=True)
class Case:
    """What is matched.

    Parameters
    ----------
    output
        Where matches are listed; None: they are counted.
    """

    name: str
    graph: mf.Graph
    pattern: mf.Pattern
    output: Path | None = None
    in_memory: bool = False


def run(case: Case, inserted: Insertions, device: str, pipeline: str) -> Outcome:
    """Run a case with batches that overlap, or not."""
    output = case.output
    tuning = private_tuning({"pipeline": pipeline})
    options: dict[str, Any] = {"mode": "batch", "matches": output is not None, "tuning": tuning}
    with mf.Monitor(case.graph, case.pattern, device=device, engine="batch", **options) as monitor:
        engine: Any = monitor._engine
        _warm(monitor, engine, inserted)
        source = inserted.source(in_memory=case.in_memory)
        if pipeline == "off":
            source = TimedSource(source)
            engine.match = _noted(engine.match, source)
        begun = time.perf_counter()
        totals = monitor.run(source, Nowhere() if output is None else output, batch_size=inserted.size)
        seconds = time.perf_counter() - begun
        if not totals.complete:
            raise KeyboardInterrupt
        matches = (totals[0].positive, totals[0].negative)
        stages = _stages_of(source.moments) if pipeline == "off" else None
        return Outcome(seconds, matches, totals.updates, stages)


def _warm(monitor: mf.Monitor, engine: Any, inserted: Insertions) -> None:
    """Load rows and compile kernels, with an update that is taken back."""
    engine.is_ready()
    source, target = (int(ends[0]) for ends in inserted.edges)
    for sign in "+-":
        monitor.apply([(sign, source, target)])
    engine._accelerator.compiler.settle()


def _noted(match: Any, source: TimedSource) -> Any:
    def noted(*given: Any) -> Any:
        source.note()
        found = match(*given)
        source.note()
        return found

    return noted


def _stages_of(moments: list[list[float]]) -> Stages:
    stages = Stages()
    for asked, there, *matched, end in moments:
        first, last = (matched[0], matched[-1]) if matched else (end, end)
        stages.read.append(there - asked)
        stages.prepared.append(first - there)
        stages.matched.append(last - first)
        stages.given.append(end - last)
    return stages
