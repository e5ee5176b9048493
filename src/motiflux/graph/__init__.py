"""Data graphs and how they are stored."""

from motiflux.graph.adjacency import AdjacencyKey, Direction
from motiflux.graph.graph import EdgeList, Graph, resolve_threads
from motiflux.graph.labels import LabelTable
from motiflux.graph.stats import GraphStats

__all__ = ["AdjacencyKey", "Direction", "EdgeList", "Graph", "GraphStats", "LabelTable", "resolve_threads"]
