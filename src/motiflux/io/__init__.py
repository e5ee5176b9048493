"""Reading graphs and patterns, writing graphs and matches."""

from motiflux.io.anything import as_graph
from motiflux.io.binary.mfg import verify_graph
from motiflux.io.registry import read_graph, read_pattern
from motiflux.io.writers import check_graph_output, check_output, write_graph, write_matches

__all__ = [
    "as_graph",
    "check_graph_output",
    "check_output",
    "read_graph",
    "read_pattern",
    "verify_graph",
    "write_graph",
    "write_matches",
]
