"""From a public call to an engine and back."""

from motiflux.engine.results import Count, Matches, ProgressReport
from motiflux.engine.static import Explanation, count, explain, match

__all__ = ["Count", "Explanation", "Matches", "ProgressReport", "count", "explain", "match"]
