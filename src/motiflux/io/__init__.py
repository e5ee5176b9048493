"""Reading graphs and patterns, writing graphs and matches."""

from typing import TYPE_CHECKING

from motiflux.lazy import lazy_names

if TYPE_CHECKING:
    from motiflux.io.anything import as_graph
    from motiflux.io.binary.mfg import verify_graph
    from motiflux.io.registry import read_graph, read_pattern, read_query
    from motiflux.io.writers import check_graph_output, check_output, write_graph, write_matches

__all__ = [
    "as_graph",
    "check_graph_output",
    "check_output",
    "read_graph",
    "read_pattern",
    "read_query",
    "verify_graph",
    "write_graph",
    "write_matches",
]

# A search that shows its progress needs a module of this package, and not the formats.
__getattr__ = lazy_names(
    __name__,
    {
        "motiflux.io.anything": ("as_graph",),
        "motiflux.io.binary.mfg": ("verify_graph",),
        "motiflux.io.registry": ("read_graph", "read_pattern", "read_query"),
        "motiflux.io.writers": ("check_graph_output", "check_output", "write_graph", "write_matches"),
    },
)
