"""Data graphs and how they are stored."""

from motiflux.arguments import resolve_threads
from motiflux.graph.adjacency import Adjacency, AdjacencyKey, Direction, VertexFilter
from motiflux.graph.arrays import EdgeList
from motiflux.graph.attributes.columns import Column, Kind
from motiflux.graph.attributes.table import AttributeTable
from motiflux.graph.graph import Graph
from motiflux.graph.labels import LabelTable
from motiflux.graph.narrow import filter_mask
from motiflux.graph.shape import ShapeStats
from motiflux.graph.stats import GraphStats

__all__ = [
    "Adjacency",
    "AdjacencyKey",
    "AttributeTable",
    "Column",
    "Direction",
    "EdgeList",
    "Graph",
    "GraphStats",
    "Kind",
    "LabelTable",
    "ShapeStats",
    "VertexFilter",
    "filter_mask",
    "resolve_threads",
]
