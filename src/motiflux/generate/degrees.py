"""Graphs with power-law degrees, and labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.arguments import check_integer, resolve_threads
from motiflux.errors import ArgumentError
from motiflux.generate.base import (
    Codes,
    Duplicates,
    Progress,
    Values,
    check_duplicates,
    check_flag,
    check_number,
    check_rows,
    check_vertices,
)
from motiflux.generate.draws import Stream, draw_codes, zipf_shares
from motiflux.generate.generator import CountedGenerator
from motiflux.graph import Graph
from motiflux.types import Label

LabelShares = Literal["uniform", "zipf"]
"""The distribution of labels: uniform, or the k-th in proportion to 1/k."""

MAX_LABELS = 2**20


@dataclass(frozen=True, kw_only=True)
class PowerLaw(CountedGenerator):
    """A Chung-Lu graph: vertices are drawn in proportion to their weights, which follow a power law.

    Parameters
    ----------
    vertices, edges
        Their numbers.
    exponent
        The number of vertices of degree d falls as ``d ** -exponent``; above 2, at most 100.
    vertex_label_count, edge_label_count
        Number of labels, ``0, 1, ...``; 1 for none.
    label_shares
        ``"zipf"``: label k is drawn in proportion to ``1 / (k + 1)``; ``"uniform"``: all equally often.
    directed
        Whether edges have a direction. If not, the smaller id comes first.
    permute
        Whether ids are put in random order; otherwise low ids have many edges.
    duplicates
        ``"keep"``: as many edges as asked for, some more than once. ``"drop"``: each pair once, in ascending
        order, with one label.

    Notes
    -----
    There are no self-loops: an edge that would be one is drawn again.

    Examples
    --------
    >>> import motiflux as mf
    >>> columns = mf.generate.PowerLaw(vertices=1000, edges=5000, edge_label_count=3, seed=1).columns()
    >>> columns.edge_labels.max()
    np.uint32(2)
    """

    vertices: int
    edges: int
    exponent: float = 2.5
    vertex_label_count: int = 1
    edge_label_count: int = 1
    label_shares: LabelShares = "zipf"
    directed: bool = False
    permute: bool = True
    duplicates: Duplicates = "keep"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_vertices("vertices", self.vertices)
        check_rows("edges", self.edges)
        check_number("exponent", self.exponent, 2.001, 100)
        check_integer("vertex_label_count", self.vertex_label_count, 1, MAX_LABELS)
        check_integer("edge_label_count", self.edge_label_count, 1, MAX_LABELS)
        if self.label_shares not in get_args(LabelShares):
            raise ArgumentError("label_shares", "'uniform' or 'zipf'", self.label_shares)
        check_flag("directed", self.directed)
        check_flag("permute", self.permute)
        check_duplicates(self.duplicates)

    @property
    def num_vertices(self) -> int:
        """Number of vertices."""
        return self.vertices

    @property
    def is_directed(self) -> bool:
        """Whether edges have a direction."""
        return self.directed

    @property
    def num_rows(self) -> int:
        """Number of edges drawn."""
        return self.edges

    @property
    def drops_duplicates(self) -> bool:
        """Whether each pair is kept once."""
        return self.duplicates == "drop"

    @property
    def edge_label_names(self) -> tuple[Label, ...]:
        """The labels of edges."""
        return tuple(range(self.edge_label_count)) if self.edge_label_count > 1 else ()

    @property
    def vertex_label_names(self) -> tuple[Label, ...]:
        """The labels of vertices."""
        return tuple(range(self.vertex_label_count)) if self.vertex_label_count > 1 else ()

    def draw_ends(
        self, first: int, sources: NDArray[np.uint32], targets: NDArray[np.uint32], threads: int
    ) -> None:
        """Fill the arrays with the ends of the edges number `first`, ..."""
        skew = skew_of(self.seed, self.vertices, self.exponent, Stream.SOURCE_IDS if self.permute else None)
        _native.draw_skewed(
            self.seed, Stream.ENDS, skew, skew, self.directed, first, sources, targets, threads
        )

    def draw_values(self, first: int, size: int, threads: int) -> Values:
        """Return the label codes of `size` edges from number `first` on."""
        if self.edge_label_count == 1:
            return None, {}
        shares = self._shares(self.edge_label_count)
        return draw_codes(self.seed, Stream.EDGE_LABELS, shares, first, size, threads), {}

    def vertex_labels(self, *, threads: int | None = None) -> Codes | None:
        """Draw the label codes of all vertices; None where all have one label."""
        if self.vertex_label_count == 1:
            return None
        shares = self._shares(self.vertex_label_count)
        return draw_codes(self.seed, Stream.VERTEX_LABELS, shares, 0, self.vertices, resolve_threads(threads))

    def _shares(self, count: int) -> NDArray[np.float64]:
        return zipf_shares(count, 1.0 if self.label_shares == "zipf" else 0.0)


def skew_of(seed: int, vertices: int, exponent: float, ids: int | None) -> tuple[int, float, bytes]:
    """Return the parameters of the drawing functions for power-law degrees.

    Parameters
    ----------
    seed
        Of the order of ids.
    vertices
        How many there are.
    exponent
        Of the degrees, above 2.
    ids
        The stream of the order of ids; None: low ids are drawn often.
    """
    power = (exponent - 1) / (exponent - 2)
    return vertices, power, _native.make_permutation(seed, ids, vertices) if ids is not None else b""


def power_law(
    vertices: int,
    edges: int,
    *,
    exponent: float = 2.5,
    vertex_labels: int = 1,
    edge_labels: int = 1,
    label_shares: LabelShares = "zipf",
    directed: bool = False,
    permute: bool = True,
    duplicates: Duplicates = "keep",
    seed: int = 0,
    threads: int | None = None,
    progress: Progress = False,
) -> Graph:
    """Return a graph with power-law degrees; parameters as for `PowerLaw` and `Generator.columns`.

    Parameters
    ----------
    vertex_labels, edge_labels
        Number of labels, ``0, 1, ...``; 1 for none.

    Examples
    --------
    >>> import motiflux as mf
    >>> graph = mf.generate.power_law(1000, 5000, vertex_labels=4, seed=1)
    >>> graph.num_vertices, graph.num_edge_copies, graph.vertex_label_table.values
    (1000, 5000, (0, 1, 2, 3))
    """
    generator = PowerLaw(
        vertices=vertices,
        edges=edges,
        exponent=exponent,
        vertex_label_count=vertex_labels,
        edge_label_count=edge_labels,
        label_shares=label_shares,
        directed=directed,
        permute=permute,
        duplicates=duplicates,
        seed=seed,
    )
    return generator.graph(threads=threads, progress=progress)
