"""When ``engine="auto"`` searches in phases."""

from __future__ import annotations

from dataclasses import dataclass

_SHARE_OF_TABLES = 0.5
"""Largest share of the memory that all partitions may take: the rest is for embeddings."""


@dataclass(frozen=True, slots=True)
class PhaseFacts:
    """What the choice of a search in phases depends on.

    Parameters
    ----------
    edge_labels
        Number of edge labels of the graph, each of which is a partition.
    tables
        Bytes of all partitions that the search reads, and of ids and labels of vertices.
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

    Partitions take a part of the memory of the rows of ``dfs``. If they do not fit together either, each
    phase copies those that it reads. Phases run on one device only.
    """
    fits = facts.tables <= _SHARE_OF_TABLES * facts.room
    return facts.edge_labels > 1 and fits and facts.devices == 1
