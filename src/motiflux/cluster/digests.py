"""Digests of graphs: a job that continues sees whether it has the same graph."""

from __future__ import annotations

import hashlib
import pickle

from motiflux.graph import Graph


def digest_of(graph: Graph) -> str:
    """Return a digest of a graph's arrays; equal for equal graphs, whatever process made them."""
    digest = hashlib.blake2b(digest_size=16)

    def add(buffer: pickle.PickleBuffer) -> None:
        digest.update(buffer.raw())

    pickle.dumps(graph, protocol=5, buffer_callback=add)
    digest.update(f"{graph.num_vertices} {graph.num_edges} {graph.directed}".encode())
    # Names are no arrays, and give them their meaning.
    for table in (graph.vertex_attributes, graph.edge_attributes):
        digest.update(repr([(name, str(kind)) for name, kind in table.kinds().items()]).encode())
    for labels in (graph.vertex_label_table, graph.edge_label_table):
        digest.update(repr([str(value) for value in labels.values]).encode())
    return digest.hexdigest()
