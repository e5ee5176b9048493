"""When ``engine="auto"`` searches in phases."""

from __future__ import annotations

from dataclasses import dataclass

_SHARE_OF_TABLES = 0.5
"""Largest share of the memory that partitions may take: the rest is for embeddings."""


@dataclass(frozen=True, slots=True)
class PhaseFacts:
    """What the choice of a search in phases depends on.

    Parameters
    ----------
    edge_labels
        Number of edge labels of the graph, each of which is a partition.
    tables
        Bytes of the partitions that a device has at a time, and of ids and labels of vertices.
    room
        Bytes that the search may take on the device.
    devices
        Number of devices that would share a search over rows of the host.
    """

    edge_labels: int
    tables: int
    room: int
    devices: int = 1


def prefers_phases(facts: PhaseFacts) -> bool:
    """Return whether a query whose rows do not fit into a device is searched in phases there.

    If the graph has one edge label, a phase reads all edges, which do not fit either. Phases run on one
    device only.
    """
    fits = facts.tables <= _SHARE_OF_TABLES * facts.room
    return facts.edge_labels > 1 and fits and facts.devices == 1
