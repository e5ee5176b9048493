"""Drawn edges as arrays, in blocks, and as a graph; checks of arguments that generators share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from motiflux.arguments import check_integer
from motiflux.errors import ArgumentError
from motiflux.graph import Graph, LabelTable
from motiflux.io.files.progress import is_shown, meter
from motiflux.types import MAX_VERTICES, Label
from motiflux.units import quantity

Duplicates = Literal["keep", "drop"]
"""The treatment of an edge that is drawn again."""

Progress = bool | Callable[[int], None]
"""True for a bar on stderr (if it is a terminal), or a function called with the number of edges drawn."""

Codes = NDArray[np.uint32]

Values = tuple[Codes | None, dict[str, NDArray[Any]]]
"""Label codes of some edges, None where all have one label, and their attributes by name."""

BLOCK_ROWS = 1 << 22
"""Edges drawn at once: between two blocks progress is shown."""

MAX_SEED = 2**64 - 1
MAX_ROWS = 2**62


@dataclass(frozen=True, eq=False)
class EdgeColumns:
    """Edges as arrays, with one entry per edge: of a whole graph, or of one block of it.

    Parameters
    ----------
    sources, targets
        uint32 [m], ids from 0 to `num_vertices` - 1.
    num_vertices
        Vertices of the graph.
    directed
        Whether an edge leads from its source to its target only.
    edge_labels
        uint32 [m], positions in `edge_label_names`; None where all have one label.
    vertex_labels
        uint32 [n], positions in `vertex_label_names`; None where all have one label, and in blocks.
    edge_label_names, vertex_label_names
        The labels, ascending.
    edge_attributes
        Columns [m] by name.
    """

    sources: NDArray[np.uint32]
    targets: NDArray[np.uint32]
    num_vertices: int
    directed: bool
    edge_labels: Codes | None = None
    vertex_labels: Codes | None = None
    edge_label_names: tuple[Label, ...] = ()
    vertex_label_names: tuple[Label, ...] = ()
    edge_attributes: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.sources)

    def to_graph(self, *, threads: int | None = None) -> Graph:
        """Return the graph of these edges; equal ones are one edge with a multiplicity."""
        graph = Graph.from_edges(
            (self.sources, self.targets),
            directed=self.directed,
            num_vertices=self.num_vertices,
            vertex_labels=self.vertex_labels,
            edge_labels=self.edge_labels,
            edge_attributes=self.edge_attributes,
            threads=threads,
        )
        # Codes are sorted and counted faster than names; only now each gets its name.
        return replace(
            graph,
            vertex_label_table=_named(graph.vertex_label_table, self.vertex_label_names),
            edge_label_table=_named(graph.edge_label_table, self.edge_label_names),
        )


def _named(table: LabelTable, names: tuple[Label, ...]) -> LabelTable:
    return LabelTable(tuple(names[int(code)] for code in table.values)) if names else table


@dataclass(frozen=True, kw_only=True)
class EdgeSource(ABC):
    """Draws the edges of a graph, whole or block by block; every draw gives the same.

    Parameters
    ----------
    seed
        An integer from 0 to 2**64 - 1.
    """

    seed: int = 0

    def __post_init__(self) -> None:
        for one in fields(self):
            # NumPy's numbers are allowed, but the structures of the drawing functions need Python's.
            if one.init and isinstance(value := getattr(self, one.name), np.generic):
                object.__setattr__(self, one.name, value.item())
        check_integer("seed", self.seed, 0, MAX_SEED)

    @property
    @abstractmethod
    def num_vertices(self) -> int:
        """Number of vertices."""

    @property
    @abstractmethod
    def is_directed(self) -> bool:
        """Whether edges have a direction."""

    @abstractmethod
    def blocks(self, *, rows: int = BLOCK_ROWS, threads: int | None = None) -> Iterator[EdgeColumns]:
        """Draw the edges part by part, in their order.

        Parameters
        ----------
        rows
            Edges of a block, at most; how many there are in all does not depend on it.
        threads
            Threads to draw with; default: as many as this process may use.

        Yields
        ------
        EdgeColumns
            The next edges, without vertex labels.
        """

    @abstractmethod
    def columns(self, *, threads: int | None = None, progress: Progress = False) -> EdgeColumns:
        """Draw all edges into arrays.

        Parameters
        ----------
        threads
            Threads to draw with; default: as many as this process may use.
        progress
            True for a bar on stderr (if it is a terminal), or a function that is called repeatedly with the
            number of edges drawn.
        """

    @property
    def edge_label_names(self) -> tuple[Label, ...]:
        """The labels of edges, ascending; none where all have the label 0."""
        return ()

    @property
    def vertex_label_names(self) -> tuple[Label, ...]:
        """The labels of vertices, ascending; none where all have the label 0."""
        return ()

    @property
    def edge_attribute_names(self) -> tuple[str, ...]:
        """The names of the attributes of edges."""
        return ()

    def vertex_labels(self, *, threads: int | None = None) -> Codes | None:
        """Draw the label codes of all vertices; None where all have one label."""
        return None

    def graph(self, *, threads: int | None = None, progress: Progress = False) -> Graph:
        """Draw the graph; parameters as for `columns`."""
        return self.columns(threads=threads, progress=progress).to_graph(threads=threads)


@contextmanager
def reporting(progress: Progress, what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the number of edges drawn, of `total` if it is known."""
    if callable(progress):
        yield progress
    elif progress and is_shown():
        with meter(what) as update:
            yield lambda done: update(done if total else 0, total or 0, quantity(done, "edge"))
    else:
        yield lambda done: None


def empty_ends(rows: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return arrays for the ends of `rows` edges."""
    try:
        return np.empty(rows, dtype=np.uint32), np.empty(rows, dtype=np.uint32)
    except (MemoryError, ValueError):
        expected = "as many as fit into memory; draw them in blocks, or into a file"
        raise ArgumentError("edges", expected, rows) from None


def check_vertices(argument: str, value: object) -> int:
    """Return a number of vertices between which there can be an edge."""
    return check_integer(argument, value, 2, MAX_VERTICES)


def check_rows(argument: str, value: object) -> int:
    """Return a number of edges."""
    return check_integer(argument, value, 0, MAX_ROWS)


def check_flag(argument: str, value: object) -> None:
    """Refuse a value other than True and False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ArgumentError(argument, "True or False", value)


def check_duplicates(value: object) -> None:
    """Refuse another word than ``keep`` and ``drop``."""
    if value not in get_args(Duplicates):
        raise ArgumentError("duplicates", "'keep' or 'drop'", value)


def check_number(argument: str, value: object, least: float, most: float) -> float:
    """Return a number between two limits, both allowed."""
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        number = float(value)
        if least <= number <= most:
            return number
    raise ArgumentError(argument, f"a number from {least:g} to {most:g}", value)
