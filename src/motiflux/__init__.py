"""motiflux finds the occurrences of a small pattern in a large graph.

`read_graph` and `Graph.from_edges` make data graphs. `Pattern.parse`, `read_pattern`, `Pattern.from_edges`
and `PatternBuilder` make patterns. `count`, `match`, `estimate`, `sample` and `explain` search; `Monitor`
watches a graph that changes.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    __version__: str
    from motiflux import datasets, generate
    from motiflux.api import (
        Count,
        Estimate,
        EstimateProgress,
        Explanation,
        Matches,
        ProgressReport,
        SamplingPolicy,
        Trawled,
        count,
        draw_graph,
        draw_match,
        estimate,
        explain,
        match,
        sample,
    )
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
        OutputError,
        PatternError,
        PatternSyntaxError,
        StreamError,
    )
    from motiflux.graph import Graph, GraphStats, ShapeStats
    from motiflux.io import as_graph, read_graph, read_pattern, verify_graph, write_graph
    from motiflux.pattern import Pattern, PatternBuilder, QueryEdge, QueryVertex
    from motiflux.stream import Delta, FoundMatches, Monitor, PatternDelta, Totals, Updates, open_source

__all__ = [
    "ArgumentError",
    "CompileError",
    "Count",
    "CountOverflowError",
    "Delta",
    "DeviceError",
    "DeviceMemoryError",
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
    "Totals",
    "Trawled",
    "Updates",
    "__version__",
    "as_graph",
    "count",
    "datasets",
    "draw_graph",
    "draw_match",
    "estimate",
    "explain",
    "generate",
    "match",
    "open_source",
    "read_graph",
    "read_pattern",
    "sample",
    "verify_graph",
    "write_graph",
]

# Looked up on first use: `motiflux --help` starts at once, and `motiflux doctor` runs where the extension
# does not load.
_HOMES = {
    "motiflux.api": (
        "Count",
        "Estimate",
        "EstimateProgress",
        "Explanation",
        "Matches",
        "ProgressReport",
        "SamplingPolicy",
        "Trawled",
        "count",
        "draw_graph",
        "draw_match",
        "estimate",
        "explain",
        "match",
        "sample",
    ),
    "motiflux.errors": tuple(name for name in __all__ if name.endswith(("Error", "Warning"))),
    "motiflux.graph": ("Graph", "GraphStats", "ShapeStats"),
    "motiflux.io": ("as_graph", "read_graph", "read_pattern", "verify_graph", "write_graph"),
    "motiflux.pattern": ("Pattern", "PatternBuilder", "QueryEdge", "QueryVertex"),
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
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}


_MODULES = ("datasets", "generate")


def __getattr__(name: str) -> object:
    if name == "__version__":
        # The standard library's reader of metadata takes longer to import than all of this.
        version: str = _import_module("importlib.metadata").version("motiflux")
        globals()[name] = version
        return version
    if name in _MODULES:
        return _import_module(f"motiflux.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'motiflux' has no attribute {name!r}")
    value = getattr(_import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
