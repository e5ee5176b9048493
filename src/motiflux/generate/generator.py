"""The base classes of all generators."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.arguments import check_integer, resolve_threads
from motiflux.generate.base import (
    BLOCK_ROWS,
    Codes,
    EdgeColumns,
    EdgeSource,
    Progress,
    Values,
    empty_ends,
    reporting,
)


@dataclass(frozen=True, kw_only=True)
class Generator(EdgeSource):
    """A graph that can be drawn, whole or in parts. Every draw gives the same.

    Parameters
    ----------
    seed
        An integer from 0 to 2**64 - 1.
    """

    def write(
        self, path: str | os.PathLike[str], *, threads: int | None = None, progress: Progress = False
    ) -> int:
        """Draw into a file, block by block: memory does not grow with the graph.

        Where duplicates are dropped, and for ``.mfg``, all edges are in memory once.

        Parameters
        ----------
        path
            ``.npz``, ``.csv`` (a line of column names first), ``.txt``, ``.edges``, ``.el`` (edge lists of
            integers: labels by their codes, no attributes), or ``.mfg``. A `MotifluxWarning` names data that
            the file does not hold.
        threads, progress
            As for `columns`.

        Returns
        -------
        int
            Edges written.

        Raises
        ------
        OutputError
            If the file cannot be written. Then nothing appears under its name.
        """
        from motiflux.generate.write import write

        return write(self, path, threads=threads, progress=progress)


@dataclass(frozen=True, kw_only=True)
class CountedGenerator(Generator):
    """A generator with a known number of edges, which can draw any range of them."""

    @property
    @abstractmethod
    def num_rows(self) -> int:
        """Number of edges drawn."""

    @property
    def drops_duplicates(self) -> bool:
        """Whether of equal edges the first only is kept."""
        return False

    @property
    def most_edges(self) -> int | None:
        """Most edges of a vertex: those that are drawn later are left out; None: any number."""
        return None

    @property
    def draws_whole(self) -> bool:
        """Whether all edges are drawn before the first one is known to be kept."""
        return self.drops_duplicates or self.most_edges is not None

    @abstractmethod
    def draw_ends(
        self, first: int, sources: NDArray[np.uint32], targets: NDArray[np.uint32], threads: int
    ) -> None:
        """Fill the arrays with the ends of the edges number `first`, ..."""

    def draw_values(self, first: int, size: int, threads: int) -> Values:
        """Return the label codes and attributes of `size` edges from number `first` on."""
        return None, {}

    def columns(self, *, threads: int | None = None, progress: Progress = False) -> EdgeColumns:
        """Draw all edges into arrays; see `Generator.columns`."""
        count = resolve_threads(threads)
        sources, targets = empty_ends(self.num_rows)
        with reporting(progress, "drawing edges", self.num_rows) as update:
            for first in range(0, self.num_rows, BLOCK_ROWS):
                block = slice(first, first + BLOCK_ROWS)
                self.draw_ends(first, sources[block], targets[block], count)
                update(min(first + BLOCK_ROWS, self.num_rows))
        if self.most_edges is not None:
            kept = _native.keep_first_at_each(sources, targets, self.num_vertices, self.most_edges, count)
            sources, targets = sources[:kept], targets[:kept]
        if self.drops_duplicates:
            kept = _native.keep_distinct(sources, targets, count)
            sources, targets = sources[:kept], targets[:kept]
        labels, attributes = self.draw_values(0, len(sources), count)
        return self._made(sources, targets, labels, attributes, self.vertex_labels(threads=threads))

    def blocks(self, *, rows: int = BLOCK_ROWS, threads: int | None = None) -> Iterator[EdgeColumns]:
        """Draw the edges part by part; see `Generator.blocks`."""
        check_integer("rows", rows, 1)
        count = resolve_threads(threads)
        whole = self.columns(threads=threads) if self.draws_whole else None
        size = self.num_rows if whole is None else len(whole)
        for first in range(0, size, rows):
            here = min(rows, size - first)
            if whole is not None:
                sources, targets = whole.sources[first : first + here], whole.targets[first : first + here]
            else:
                sources, targets = empty_ends(here)
                self.draw_ends(first, sources, targets, count)
            yield self._made(sources, targets, *self.draw_values(first, here, count), None)

    def _made(
        self,
        sources: NDArray[np.uint32],
        targets: NDArray[np.uint32],
        edge_labels: Codes | None,
        edge_attributes: dict[str, NDArray[Any]],
        vertex_labels: Codes | None,
    ) -> EdgeColumns:
        return EdgeColumns(
            sources=sources,
            targets=targets,
            num_vertices=self.num_vertices,
            directed=self.is_directed,
            edge_labels=edge_labels,
            vertex_labels=vertex_labels,
            edge_label_names=self.edge_label_names,
            vertex_label_names=self.vertex_label_names,
            edge_attributes=edge_attributes,
        )
