"""A graph file and a pattern file of the user."""

from __future__ import annotations

from rich.console import Console
from show import heading, say, table

import motiflux as mf

SHOWN = 10


def run(console: Console, graph_path: str, pattern_path: str, directed: bool | None) -> None:
    """Count the pattern's matches in the graph, show the first ones and the plan."""
    graph = mf.read_graph(graph_path, directed=directed, progress=True)
    pattern = mf.read_pattern(pattern_path)
    say(console, f"{graph_path}: {graph.num_vertices:,} vertices, {graph.num_edges:,} edges")
    count = mf.count(graph, pattern, progress=True)
    say(console, f"{pattern_path}: {int(count):,} embeddings in {count.seconds:.4f} s ({count.engine})")
    matches = mf.match(graph, pattern, limit=SHOWN)
    rows = matches.to_numpy().tolist()
    heading(console, f"The first {len(rows)} embeddings")
    console.print(table(matches.columns, rows))
    say(console, str(mf.explain(graph, pattern)))
