"""motiflux finds every place where a small pattern occurs in a large graph, exactly.

The calls are `read_graph` and `Graph.from_edges` for the data, `read_pattern`, `Pattern.from_edges` and
`PatternBuilder` for what is looked for, and `count`, `match` and `explain`.
"""

from importlib.metadata import version as _version

from motiflux.engine import Count, Explanation, Matches, ProgressReport, count, explain, match
from motiflux.errors import (
    ArgumentError,
    DeviceError,
    FormatError,
    GraphError,
    InternalError,
    MotifluxError,
    MotifluxWarning,
    OutputError,
    PatternError,
)
from motiflux.graph import Graph, GraphStats
from motiflux.io import read_graph, read_pattern
from motiflux.pattern import Pattern, PatternBuilder, QueryEdge, QueryVertex

__version__ = _version("motiflux")

__all__ = [
    "ArgumentError",
    "Count",
    "DeviceError",
    "Explanation",
    "FormatError",
    "Graph",
    "GraphError",
    "GraphStats",
    "InternalError",
    "Matches",
    "MotifluxError",
    "MotifluxWarning",
    "OutputError",
    "Pattern",
    "PatternBuilder",
    "PatternError",
    "ProgressReport",
    "QueryEdge",
    "QueryVertex",
    "__version__",
    "count",
    "explain",
    "match",
    "read_graph",
    "read_pattern",
]
