"""motiflux finds the occurrences of a small pattern in a large graph.

`read_graph` and `Graph.from_edges` make data graphs. `Pattern.parse`, `read_pattern`, `Pattern.from_edges`
and `PatternBuilder` make patterns. `count`, `match`, `estimate`, `sample` and `explain` search; `Monitor`
watches a graph that changes, and `Service` streams of updates, for months.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from motiflux.lazy import lazy_names as _lazy_names

if TYPE_CHECKING:
    __version__: str
    from motiflux import datasets, generate
    from motiflux.api.census import census
    from motiflux.api.counting import count
    from motiflux.api.drawing import draw_graph, draw_match
    from motiflux.api.estimating import estimate
    from motiflux.api.exists import exists
    from motiflux.api.explaining import Explanation, QueryExplanation, explain
    from motiflux.api.matching import match
    from motiflux.api.null_graphs import null_graph
    from motiflux.api.orbits import edge_orbits, orbits
    from motiflux.api.per_vertex import count_per_edge, count_per_vertex, top
    from motiflux.api.random_rows import sample
    from motiflux.api.significance import significance
    from motiflux.api.vertex_estimates import estimate_per_vertex, estimate_top
    from motiflux.cluster.cluster import Cluster
    from motiflux.cluster.jobs import WrittenRows
    from motiflux.cluster.records import TaskRecord
    from motiflux.cluster.shards.sharded import ShardedGraph
    from motiflux.errors import (
        ArgumentError,
        ClusterError,
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
    from motiflux.io import as_graph, read_graph, read_pattern, read_query, verify_graph, write_graph
    from motiflux.pattern import (
        AnyVertex,
        NegatedEdge,
        Pattern,
        PatternBuilder,
        Query,
        QueryEdge,
        QueryVertex,
    )
    from motiflux.request.policy import SamplingPolicy
    from motiflux.request.reports import ProgressReport
    from motiflux.result.census import Census
    from motiflux.result.count import Count
    from motiflux.result.estimate import Estimate, EstimateCounting, EstimateProgress, Trawled
    from motiflux.result.existence import Existence
    from motiflux.result.image_counts import EdgeCounts, EdgeOrbitCounts, OrbitCounts, Top, VertexCounts
    from motiflux.result.matches import Matches
    from motiflux.result.significance import Significance, SignificanceRow
    from motiflux.result.vertex_estimates import EstimateAt, EstimatedTop, VertexEstimates
    from motiflux.serve.service import Service
    from motiflux.stream import (
        Delta,
        FoundMatches,
        Monitor,
        PatternDelta,
        QueryDelta,
        Totals,
        Updates,
        open_source,
    )

__all__ = [
    "AnyVertex",
    "ArgumentError",
    "Census",
    "Cluster",
    "ClusterError",
    "CompileError",
    "Count",
    "CountOverflowError",
    "Delta",
    "DeviceError",
    "DeviceMemoryError",
    "EdgeCounts",
    "EdgeOrbitCounts",
    "Estimate",
    "EstimateAt",
    "EstimateCounting",
    "EstimateProgress",
    "EstimatedTop",
    "Existence",
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
    "NegatedEdge",
    "OrbitCounts",
    "OutOfMemoryError",
    "OutputError",
    "Pattern",
    "PatternBuilder",
    "PatternDelta",
    "PatternError",
    "PatternSyntaxError",
    "ProgressReport",
    "Query",
    "QueryDelta",
    "QueryEdge",
    "QueryExplanation",
    "QueryVertex",
    "SamplingPolicy",
    "Service",
    "ShapeStats",
    "ShardedGraph",
    "Significance",
    "SignificanceRow",
    "StreamError",
    "TaskRecord",
    "Top",
    "Totals",
    "Trawled",
    "Updates",
    "VertexCounts",
    "VertexEstimates",
    "WrittenRows",
    "__version__",
    "as_graph",
    "census",
    "count",
    "count_per_edge",
    "count_per_vertex",
    "datasets",
    "draw_graph",
    "draw_match",
    "edge_orbits",
    "estimate",
    "estimate_per_vertex",
    "estimate_top",
    "exists",
    "explain",
    "generate",
    "match",
    "null_graph",
    "open_source",
    "orbits",
    "read_graph",
    "read_pattern",
    "read_query",
    "sample",
    "significance",
    "top",
    "verify_graph",
    "write_graph",
]

# Looked up on first use: `motiflux --help` starts at once, and `motiflux doctor` runs where the extension
# does not load.
_HOMES = {
    "motiflux.api.census": ("census",),
    "motiflux.api.counting": ("count",),
    "motiflux.api.drawing": ("draw_graph", "draw_match"),
    "motiflux.api.estimating": ("estimate",),
    "motiflux.api.exists": ("exists",),
    "motiflux.api.explaining": ("Explanation", "QueryExplanation", "explain"),
    "motiflux.api.matching": ("match",),
    "motiflux.api.null_graphs": ("null_graph",),
    "motiflux.api.orbits": ("edge_orbits", "orbits"),
    "motiflux.api.per_vertex": ("count_per_edge", "count_per_vertex", "top"),
    "motiflux.api.random_rows": ("sample",),
    "motiflux.api.significance": ("significance",),
    "motiflux.api.vertex_estimates": ("estimate_per_vertex", "estimate_top"),
    "motiflux.cluster.cluster": ("Cluster",),
    "motiflux.cluster.jobs": ("WrittenRows",),
    "motiflux.cluster.records": ("TaskRecord",),
    "motiflux.cluster.shards.sharded": ("ShardedGraph",),
    "motiflux.errors": tuple(name for name in __all__ if name.endswith(("Error", "Warning"))),
    "motiflux.graph": ("Graph", "GraphStats", "ShapeStats"),
    "motiflux.io": ("as_graph", "read_graph", "read_pattern", "read_query", "verify_graph", "write_graph"),
    "motiflux.pattern": (
        "AnyVertex",
        "NegatedEdge",
        "Pattern",
        "PatternBuilder",
        "Query",
        "QueryEdge",
        "QueryVertex",
    ),
    "motiflux.request.policy": ("SamplingPolicy",),
    "motiflux.request.reports": ("ProgressReport",),
    "motiflux.result.census": ("Census",),
    "motiflux.result.count": ("Count",),
    "motiflux.result.estimate": ("Estimate", "EstimateCounting", "EstimateProgress", "Trawled"),
    "motiflux.result.existence": ("Existence",),
    "motiflux.result.image_counts": ("EdgeCounts", "EdgeOrbitCounts", "OrbitCounts", "Top", "VertexCounts"),
    "motiflux.result.matches": ("Matches",),
    "motiflux.result.significance": ("Significance", "SignificanceRow"),
    "motiflux.result.vertex_estimates": ("EstimateAt", "EstimatedTop", "VertexEstimates"),
    "motiflux.serve.service": ("Service",),
    "motiflux.stream": (
        "Delta",
        "FoundMatches",
        "Monitor",
        "PatternDelta",
        "QueryDelta",
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
