"""A native monitor whose edges stand for copies with attributes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.conditions import Condition
from motiflux.stream.copies.facets import Facets
from motiflux.stream.copies.store import CopyStore


def native_of_copies(
    store: CopyStore,
    conditions: Sequence[Condition],
    vertex_labels: NDArray[np.uint32],
    *,
    directed: bool,
    threads: int,
) -> tuple[_native.Monitor, Facets]:
    """Return a native monitor of the edges that stand for copies, and their facets, which `store` notes.

    Parameters
    ----------
    conditions
        Those that patterns may have.
    vertex_labels
        Codes, uint32 [n].
    """
    native = _native.Monitor(directed, True)
    facets = Facets(conditions, native)
    store.place(facets)
    rows = rows_of_edges(store.edges(), len(vertex_labels), directed=directed)
    offsets, neighbors, labels, copies = rows
    native.load(np.ascontiguousarray(vertex_labels), (offsets, neighbors, labels), None, copies, threads)
    return native, facets


def rows_of_edges(
    edges: tuple[NDArray[np.uint32], ...], vertices: int, *, directed: bool
) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]:
    """Return edges as rows by source, which the native monitor loads: offsets, neighbours, labels, copies.

    `edges` are columns: sources, targets, labels, and copies of each.
    """
    sources, targets, *_ = columns = list(edges)
    if not directed:
        ends = [np.concatenate([sources, targets]), np.concatenate([targets, sources])]
        columns = ends + [np.concatenate([one, one]) for one in columns[2:]]
    order = np.lexsort((columns[2], columns[1], columns[0]))
    degrees = np.bincount(columns[0], minlength=vertices)
    offsets = np.concatenate([[0], np.cumsum(degrees)]).astype(np.uint64)
    neighbors, names, multiplicities = (
        np.ascontiguousarray(one[order], dtype=np.uint32) for one in columns[1:]
    )
    return offsets, neighbors, names, multiplicities
