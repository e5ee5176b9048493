"""From a public call to an engine and back."""

from motiflux.engine.estimate_result import Estimate, EstimateProgress, Trawled
from motiflux.engine.estimating import estimate
from motiflux.engine.explanation import Explanation, explain
from motiflux.engine.picture import draw_graph, draw_match
from motiflux.engine.random_rows import sample
from motiflux.engine.results import Count, Matches, ProgressReport
from motiflux.engine.sampling_policy import SamplingPolicy
from motiflux.engine.static import count, match

__all__ = [
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
]
