"""R-MAT graphs: few parameters, heavy-tailed degrees, communities within communities."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.arguments import check_bytes, check_integer
from motiflux.codegen import layout
from motiflux.errors import ArgumentError
from motiflux.generate.base import (
    Duplicates,
    Progress,
    check_duplicates,
    check_flag,
    check_number,
    check_rows,
)
from motiflux.generate.draws import Stream, draw_units
from motiflux.generate.generator import CountedGenerator
from motiflux.graph import Graph

if TYPE_CHECKING:
    from motiflux.device.arrays import DeviceArray

_MOST_LOOPS = 0.99
_PARTS = 2**31


@dataclass(frozen=True, kw_only=True)
class Rmat(CountedGenerator):
    """An R-MAT graph: each edge falls into a quadrant of the adjacency matrix, into one of that, and so on.

    Parameters
    ----------
    scale
        There are ``2**scale`` vertices; 1 to 31.
    edges
        Edges to draw.
    a, b, c
        Probability of the quadrants top left, top right, bottom left; the rest is for the last.
    noise
        How far the probabilities may differ from level to level, 0 to 1: smooths the degree distribution.
    directed
        Whether edges have a direction. If not, the smaller id comes first.
    permute
        Whether ids are put in random order; otherwise low ids have many edges.
    duplicates
        ``"keep"``: `edges` edges, some more than once. ``"drop"``: each edge once, ascending.
    max_degree
        Most edges of a vertex, in both directions together: an edge is left out if one of its ends has as
        many that were drawn before. All edges are in memory then. None: any number.

    Notes
    -----
    Chakrabarti, Zhan and Faloutsos, "R-MAT: a recursive model for graph mining" (SDM 2004); the noise is that
    of Seshadhri, Pinar and Kolda (ICDM 2011). There are no self-loops: an edge that would be one is drawn
    again.

    Examples
    --------
    >>> import motiflux as mf
    >>> generator = mf.generate.Rmat(scale=20, edges=1_000_000, seed=1)
    >>> next(generator.blocks(rows=5)).sources.shape
    (5,)
    """

    scale: int
    edges: int
    a: float = 0.57
    b: float = 0.19
    c: float = 0.19
    noise: float = 0.0
    directed: bool = True
    permute: bool = True
    duplicates: Duplicates = "keep"
    max_degree: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("scale", self.scale, 1, layout.MAX_RMAT_LEVELS)
        check_rows("edges", self.edges)
        for name in ("a", "b", "c", "noise"):
            check_number(name, getattr(self, name), 0, 1)
        if self.a + self.b + self.c > 1 + 1e-12:
            raise ArgumentError("a, b, c", "at most 1 together", self.a + self.b + self.c)
        check_flag("directed", self.directed)
        check_flag("permute", self.permute)
        check_duplicates(self.duplicates)
        if self.max_degree is not None:
            check_integer("max_degree", self.max_degree, 1, 2**32 - 1)
        steps = np.diff(self._quadrant_ends(), axis=1, prepend=0, append=1)
        if (loops := float(np.prod(steps[:, 0] + steps[:, 3]))) > _MOST_LOOPS:
            raise ArgumentError(
                "a, b, c", f"quadrants in which at most {_MOST_LOOPS:.0%} of all edges are self-loops", loops
            )

    @property
    def num_vertices(self) -> int:
        """Number of vertices."""
        return int(2**self.scale)

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
        """Whether each edge is kept once."""
        return self.duplicates == "drop"

    @property
    def most_edges(self) -> int | None:
        """Most edges of a vertex; None: any number."""
        return self.max_degree

    def draw_ends(
        self, first: int, sources: NDArray[np.uint32], targets: NDArray[np.uint32], threads: int
    ) -> None:
        """Fill the arrays with the ends of the edges number `first`, ..."""
        _native.draw_rmat(bytes(self.parameters()), first, sources, targets, threads)

    def device_blocks(
        self, device: str = "cuda", *, rows: int = 1 << 26, gpu_memory: int | str | None = None
    ) -> Iterator[tuple[DeviceArray, DeviceArray]]:
        """Draw the edges on a GPU, part by part: the same that `blocks` draws, duplicates kept.

        Parameters
        ----------
        device
            Name of the device.
        rows
            Most edges of a block; `gpu_memory` may allow fewer.
        gpu_memory
            Most memory to hold on the device, in bytes or as ``"8GiB"``; None: the free memory.

        Yields
        ------
        tuple
            Sources and targets, uint32 arrays in device memory with ``__dlpack__`` and
            ``__cuda_array_interface__``. Memory holds two blocks: release all but the last one.

        Raises
        ------
        ArgumentError
            `duplicates` is ``"drop"``, or there is a `max_degree`.
        DeviceError
            There is no such device here.
        DeviceMemoryError
            `gpu_memory` is too small for a block, or blocks that are still referenced fill it.
        """
        from motiflux.generate.on_device import rmat_blocks

        check_integer("rows", rows, 1)
        budget = None if gpu_memory is None else check_bytes("gpu_memory", gpu_memory)
        if self.drops_duplicates:
            raise ArgumentError("duplicates", "'keep' on a device", self.duplicates)
        if self.max_degree is not None:
            raise ArgumentError("max_degree", "None on a device", self.max_degree)
        return rmat_blocks(self.parameters(), self.num_rows, device, rows, budget)

    def parameters(self) -> layout.Rmat:
        """Return the parameters of the drawing functions (``motiflux/generate/rmat.hpp``)."""
        packed = layout.Rmat(seed=self.seed, levels=self.scale)
        ids = _native.make_permutation(self.seed, Stream.RMAT_IDS, self.num_vertices)
        packed.ids = layout.Permutation.from_buffer_copy(ids)
        packed.permutes = bool(self.permute)
        packed.undirected = not self.directed
        for level, ends in enumerate(self._quadrant_ends()):
            limits = (min(round(end * _PARTS), _PARTS) for end in ends)
            packed.quadrants[level].end = (ctypes.c_uint32 * 3)(*limits)
        return packed

    def _quadrant_ends(self) -> NDArray[np.float64]:
        """Return where the first three quadrants end, at each level: float64 [levels, 3]."""
        d = max(0.0, 1 - self.a - self.b - self.c)
        # At most as far as no probability gets negative.
        room = min(self.b, self.c, (self.a + d) / 2) * self.noise
        drift = room * (2 * draw_units(self.seed, Stream.QUADRANT_NOISE, 0, self.scale, 1) - 1)
        share = 2 * drift / (self.a + d) if self.a + d else drift
        ends = np.cumsum([self.a * (1 - share), self.b + drift, self.c + drift], axis=0).T
        return np.asarray(np.minimum(ends, 1.0), dtype=np.float64)


def rmat(
    scale: int,
    edges: int,
    *,
    a: float = 0.57,
    b: float = 0.19,
    c: float = 0.19,
    noise: float = 0.0,
    directed: bool = True,
    permute: bool = True,
    duplicates: Duplicates = "keep",
    max_degree: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress = False,
) -> Graph:
    """Return an R-MAT graph; parameters as for `Rmat` and `Generator.columns`.

    Returns
    -------
    Graph
        With ``2**scale`` vertices. Edges drawn more than once are one edge with a multiplicity.

    Examples
    --------
    >>> import motiflux as mf
    >>> graph = mf.generate.rmat(10, 5000, seed=1)
    >>> graph.num_vertices, graph.num_edge_copies
    (1024, 5000)
    """
    generator = Rmat(
        scale=scale,
        edges=edges,
        a=a,
        b=b,
        c=c,
        noise=noise,
        directed=directed,
        permute=permute,
        duplicates=duplicates,
        max_degree=max_degree,
        seed=seed,
    )
    return generator.graph(threads=threads, progress=progress)
