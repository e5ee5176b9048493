"""From a public call to an engine and back."""

from motiflux.engine.explanation import Explanation, explain
from motiflux.engine.picture import draw_graph, draw_match
from motiflux.engine.results import Count, Matches, ProgressReport
from motiflux.engine.static import count, match

__all__ = [
    "Count",
    "Explanation",
    "Matches",
    "ProgressReport",
    "count",
    "draw_graph",
    "draw_match",
    "explain",
    "match",
]
