"""Reading graphs and patterns, writing matches."""

from motiflux.io.registry import read_graph, read_pattern
from motiflux.io.writers import check_output, write_matches

__all__ = ["check_output", "read_graph", "read_pattern", "write_matches"]
