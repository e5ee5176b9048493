"""Which rows batches open, and where: what copies of rows save, by long estimates (GCSM, section VI-D)."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import motiflux as mf
from motiflux import _native
from motiflux.config import private_tuning

TRUTH_SECONDS, MOST_WALKS = 2.0, 1 << 22
"""Of an estimate that stands for the truth; it is exact if all that is opened is looked at until then."""
BEFORE, JUDGED = 3, 2
"""Batches that fill the cache, and batches after these that are judged."""
SHARES = (1, 2, 5)
"""Percent of the rows, those that are opened most."""
LINE = 32
"""Bytes of the least read from the host."""


def accessed(
    graph: mf.Graph,
    batches: Sequence[mf.Updates],
    pattern: str,
    device: str,
    switches: Mapping[str, str],
    room: int,
) -> dict[str, float]:
    """Apply batches, and return the mean figures of those that are judged.

    Returns
    -------
    dict
        ``rows``, the rows that are opened, and ``opens`` of these; ``exact``, the part of the estimates that
        are; ``covered_1``, ... the part of this percent of the rows, those that are opened most, that is on
        the device when the search begins, as a copy or since the batch changes it. Of all opens of other rows
        than the latter, each taken to read a whole row: ``bytes_zero_copy``, ``bytes`` on the host, and
        ``bytes_cut``, the former over the latter.
    """
    found: list[dict[str, float]] = []
    with mf.Monitor(
        graph,
        pattern,
        mode="batch",
        device=device,  # type: ignore[arg-type]
        engine="outofcore",
        tuning=private_tuning(switches),
    ) as monitor:
        judge = Judge(monitor._engine, room)
        for number, batch in enumerate(batches[: BEFORE + JUDGED]):
            judge.judges = number >= min(BEFORE, len(batches) - 1)
            monitor.apply(batch)
        found = judge.found
    return {name: statistics.fmean(one[name] for one in found) for name in found[0]}


class Judge:
    """Estimates what a search is about to open, and looks where these rows are once it begins.

    Attributes
    ----------
    judges
        Whether it does so for the next batch.
    found
        The figures of each batch that was judged.
    """

    def __init__(self, engine: Any, room: int) -> None:
        self._engine, self._estimator = engine, _native.AccessEstimator()
        self.judges, self.found = False, list[dict[str, float]]()
        self._choose, self._bring = engine._choose_rows, engine._bring_rows
        engine.cache.most_bytes = room
        engine._choose_rows, engine._bring_rows = self._choosing, self._bringing

    def _choosing(self, stream: Any, run: Any) -> None:
        """Estimate before places of rows change."""
        engine = self._engine
        if self.judges:
            self._opened = engine._native.estimate_accesses(
                self._estimator,
                run,
                engine._table.names,
                seconds=TRUTH_SECONDS,
                threads=engine._threads,
                most_walks=MOST_WALKS,
            )
            self._sizes = _bytes_of(engine, self._opened.names, self._opened.vertices)
        self._choose(stream, run)

    def _bringing(self, stream: Any, run: Any, roots: Any) -> None:
        self._bring(stream, run, roots)
        if self.judges:
            self.found.append(self._figures())

    def _figures(self) -> dict[str, float]:
        opened, engine = self._opened, self._engine
        touched = np.isin(opened.vertices, engine._touched)
        copied = np.zeros(len(touched), bool)
        for number, rows in enumerate(engine._kinds()):
            copies, own = engine.cache.copies_of(rows), opened.names == number
            if copies is not None:
                copied[own] = copies.has(opened.vertices[own])
        there = copied | touched
        reads = opened.times * self._sizes
        zero_copy, left = float(reads[~touched].sum()), float(reads[~there].sum())
        tops = {percent: max(1, len(there) * percent // 100) for percent in SHARES}
        return {
            "rows": float(len(there)),
            "opens": float(opened.times.sum()),
            "exact": float(opened.is_exact),
            **{f"covered_{percent}": float(there[:most].mean()) for percent, most in tops.items()},
            "bytes_zero_copy": zero_copy,
            "bytes": left,
            "bytes_cut": max(zero_copy, float(LINE)) / max(left, float(LINE)),
        }


def _bytes_of(engine: Any, names: NDArray[np.uint32], vertices: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Return the bytes of the lines of each row."""
    found = np.zeros(len(names))
    for number, rows in enumerate(engine._kinds()):
        own = np.flatnonzero(names == number)
        _, sizes = rows.places_of(np.minimum(vertices[own], rows.num_rows - 1), engine._threads)
        found[own] = np.maximum(-(-4 * sizes // LINE), 1) * LINE
    return found
