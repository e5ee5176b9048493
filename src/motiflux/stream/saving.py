"""Saves monitors to files and loads them: conversion of checkpoints and monitors."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.errors import ArgumentError
from motiflux.graph import AttributeTable
from motiflux.stream.checkpoint import Checkpoint
from motiflux.stream.copies.facets import edge_conditions
from motiflux.stream.copies.kept import Kept
from motiflux.stream.matching.names import GrowingIds
from motiflux.stream.matching.watching import Watching
from motiflux.stream.time_kinds import TimeKind
from motiflux.stream.window import open_window

_EDGE_ARRAYS = ("edges.sources", "edges.targets", "edges.labels", "edges.copies")
_WINDOW_ARRAYS = ("window.sources", "window.targets", "window.labels", "window.since")


def checked_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of a checkpoint.

    Raises
    ------
    ArgumentError
        It is none.
    """
    if not isinstance(path, (str, os.PathLike)) or not str(path) or "\0" in str(path):
        raise ArgumentError("path", "the name of a file", path)
    return Path(path)


class Keeping(Watching):
    """A monitor's inside that can be kept in a file."""

    def _save(self, path: str | os.PathLike[str], position: object) -> int:
        reached = self.source_position if position is None else position
        size = self._checkpoint(reached).write(checked_path(path))
        self.source_position = reached
        return size

    def _checkpoint(self, position: object) -> Checkpoint:
        native = self._open()
        nothing, came = np.empty(0, dtype=np.uint32), 0
        copies = None if self._copies is None else self._copies.kept()
        edges = native.edges() if copies is None else (nothing,) * len(_EDGE_ARRAYS)
        arrays: dict[str, NDArray[Any]] = dict(zip(_EDGE_ARRAYS, edges, strict=True))
        in_window: tuple[NDArray[Any], ...] = (nothing, nothing, nothing, nothing.astype(np.int64))
        if copies is not None:
            came = copies.came
        elif self._options.span is not None:
            sources, targets, labels, since, came = native.window_copies()
            in_window = (sources, targets, labels, since)
        arrays |= dict(zip(_WINDOW_ARRAYS, in_window, strict=True))
        arrays |= {"vertex_ids": self._numbering.ids.all(), "vertex_labels": _native.vertex_codes(native)}
        return Checkpoint(
            directed=self._base.directed,
            options=self._options.arguments(),
            patterns=[(pattern, watched.told) for pattern, watched in self._watched.items()],
            facts={
                "latest": self._numbering.clock.latest,
                "time_kind": int(self._numbering.clock.kind or 0),
                "updates_applied": self.updates_applied,
                "batches_applied": self.batches_applied,
                "came": came,
            },
            position=position,
            vertex_label_values=self._numbering.vertex_labels.array().tolist(),
            edge_label_values=self._numbering.edge_labels.array().tolist(),
            arrays=arrays,
            copies=copies,
            vertex_attributes=dict(self._vertex_attributes),
        )

    def _restore(self, saved: Checkpoint) -> None:
        """Continue from a checkpoint; the monitor has its graph, whose vertices have other numbers."""
        vertex_codes = self._numbering.vertex_labels.codes_of(np.array(saved.vertex_label_values))
        edge_codes = self._numbering.edge_labels.codes_of(np.array(saved.edge_label_values))
        codes = vertex_codes[saved.arrays["vertex_labels"]]
        self._numbering.ids = GrowingIds(saved.arrays["vertex_ids"])
        self._vertex_attributes = AttributeTable("vertex", saved.vertex_attributes)
        if saved.vertex_attributes:
            self._snapshot = None
        if saved.copies is not None:
            if len(saved.copies.labels):  # the graph has no edges, so it does not tell the kind
                label = saved.edge_label_values[int(saved.copies.labels[0])]
                self._numbering.edge_labels.admit("U" if isinstance(label, str) else "i", "edges")
            self._restore_copies(saved, saved.copies._replace(labels=edge_codes[saved.copies.labels]), codes)
        else:
            self._native = self._restored(saved, codes, edge_codes)
        self._connect()
        self._numbering.clock.latest = saved.facts["latest"]
        kind = saved.facts.get("time_kind", 0)  # checkpoints of earlier versions have none
        self._numbering.clock.kind = TimeKind(kind) if kind else None
        self.updates_applied = saved.facts["updates_applied"]
        self.batches_applied = saved.facts["batches_applied"]
        self.source_position = saved.position
        for pattern, listed in saved.patterns:
            self._add(pattern, listed)
        self._native.prepare()

    def _restore_copies(self, saved: Checkpoint, kept: Kept, codes: NDArray[np.uint32]) -> None:
        """Have the copies of a checkpoint."""
        store = self._copies
        if store is None:
            raise ArgumentError("attributes", "True or names in a file with copies", None)
        store.load(kept)
        conditions = [one for pattern, _ in saved.patterns for one in edge_conditions(pattern)]
        self._use_copies(store, list(dict.fromkeys(conditions)), codes)
        self._snapshot = None

    def _restored(
        self, saved: Checkpoint, codes: NDArray[np.uint32], edge_codes: NDArray[np.uint32]
    ) -> _native.Monitor:
        """Return a native monitor with the edges and the window of a checkpoint."""
        native = _native.Monitor(saved.directed, self._options.count_copies)
        offsets, neighbors, labels, copies = saved.rows(edge_codes)
        native.load(codes, (offsets, neighbors, labels), None, copies, self._threads)
        if self._options.span is not None:
            open_window(native, self._options.span)
            sources, targets, labels, since = (saved.arrays[name] for name in _WINDOW_ARRAYS)
            native.fill_window(sources, targets, edge_codes[labels], since, saved.facts["came"])
        return native
