"""motiflux finds the occurrences of a small pattern in a large graph.

`read_graph` and `Graph.from_edges` make data graphs. `Pattern.parse`, `read_pattern`, `Pattern.from_edges`
and `PatternBuilder` make patterns. `count`, `match`, `estimate`, `sample` and `explain` search; `Monitor`
watches a graph that changes.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from motiflux.lazy import lazy_names as _lazy_names

if TYPE_CHECKING:
    __version__: str
    from motiflux import datasets, generate
    from motiflux.api.counting import count
    from motiflux.api.drawing import draw_graph, draw_match
    from motiflux.api.estimating import estimate
    from motiflux.api.explaining import Explanation, explain
    from motiflux.api.matching import match
    from motiflux.api.orbits import orbits
    from motiflux.api.per_vertex import count_per_edge, count_per_vertex, top
    from motiflux.api.random_rows import sample
    from motiflux.errors import (
        ArgumentError,
        CompileError,
        CountOverflowError,
        DeviceError,
        DeviceMemoryError,
        FormatError,
        GraphError,
        InternalError,
        MotifluxError,
        MotifluxWarning,
        OutOfMemoryError,
        OutputError,
        PatternError,
        PatternSyntaxError,
        StreamError,
    )
    from motiflux.graph import Graph, GraphStats, ShapeStats
    from motiflux.io import as_graph, read_graph, read_pattern, verify_graph, write_graph
    from motiflux.pattern import Pattern, PatternBuilder, QueryEdge, QueryVertex
    from motiflux.request.policy import SamplingPolicy
    from motiflux.request.reports import ProgressReport
    from motiflux.result.count import Count
    from motiflux.result.estimate import Estimate, EstimateProgress, Trawled
    from motiflux.result.image_counts import EdgeCounts, OrbitCounts, Top, VertexCounts
    from motiflux.result.matches import Matches
    from motiflux.stream import Delta, FoundMatches, Monitor, PatternDelta, Totals, Updates, open_source

__all__ = [
    "ArgumentError",
    "CompileError",
    "Count",
    "CountOverflowError",
    "Delta",
    "DeviceError",
    "DeviceMemoryError",
    "EdgeCounts",
    "Estimate",
    "EstimateProgress",
    "Explanation",
    "FormatError",
    "FoundMatches",
    "Graph",
    "GraphError",
    "GraphStats",
    "InternalError",
    "Matches",
    "Monitor",
    "MotifluxError",
    "MotifluxWarning",
    "OrbitCounts",
    "OutOfMemoryError",
    "OutputError",
    "Pattern",
    "PatternBuilder",
    "PatternDelta",
    "PatternError",
    "PatternSyntaxError",
    "ProgressReport",
    "QueryEdge",
    "QueryVertex",
    "SamplingPolicy",
    "ShapeStats",
    "StreamError",
    "Top",
    "Totals",
    "Trawled",
    "Updates",
    "VertexCounts",
    "__version__",
    "as_graph",
    "count",
    "count_per_edge",
    "count_per_vertex",
    "datasets",
    "draw_graph",
    "draw_match",
    "estimate",
    "explain",
    "generate",
    "match",
    "open_source",
    "orbits",
    "read_graph",
    "read_pattern",
    "sample",
    "top",
    "verify_graph",
    "write_graph",
]

# Looked up on first use: `motiflux --help` starts at once, and `motiflux doctor` runs where the extension
# does not load.
_HOMES = {
    "motiflux.api.counting": ("count",),
    "motiflux.api.drawing": ("draw_graph", "draw_match"),
    "motiflux.api.estimating": ("estimate",),
    "motiflux.api.explaining": ("Explanation", "explain"),
    "motiflux.api.matching": ("match",),
    "motiflux.api.orbits": ("orbits",),
    "motiflux.api.per_vertex": ("count_per_edge", "count_per_vertex", "top"),
    "motiflux.api.random_rows": ("sample",),
    "motiflux.errors": tuple(name for name in __all__ if name.endswith(("Error", "Warning"))),
    "motiflux.graph": ("Graph", "GraphStats", "ShapeStats"),
    "motiflux.io": ("as_graph", "read_graph", "read_pattern", "verify_graph", "write_graph"),
    "motiflux.pattern": ("Pattern", "PatternBuilder", "QueryEdge", "QueryVertex"),
    "motiflux.request.policy": ("SamplingPolicy",),
    "motiflux.request.reports": ("ProgressReport",),
    "motiflux.result.count": ("Count",),
    "motiflux.result.estimate": ("Estimate", "EstimateProgress", "Trawled"),
    "motiflux.result.image_counts": ("EdgeCounts", "OrbitCounts", "Top", "VertexCounts"),
    "motiflux.result.matches": ("Matches",),
    "motiflux.stream": (
        "Delta",
        "FoundMatches",
        "Monitor",
        "PatternDelta",
        "Totals",
        "Updates",
        "open_source",
    ),
}
_find = _lazy_names(__name__, _HOMES)
_MODULES = ("datasets", "generate")


def __getattr__(name: str) -> object:
    if name == "__version__":
        # The standard library's reader of metadata takes longer to import than all of this.
        version: str = _import_module("importlib.metadata").version("motiflux")
        globals()[name] = version
        return version
    if name in _MODULES:
        return _import_module(f"motiflux.{name}")
    return _find(name)


def __dir__() -> list[str]:
    return sorted(__all__)
