"""Query graphs."""

from motiflux.pattern.builder import PatternBuilder
from motiflux.pattern.convert import NetworkxGraph, PatternLike, as_pattern, is_one_pattern
from motiflux.pattern.elements import IdChoice, LabelChoice, QueryEdge, QueryVertex
from motiflux.pattern.pattern import Pattern

__all__ = [
    "IdChoice",
    "LabelChoice",
    "NetworkxGraph",
    "Pattern",
    "PatternBuilder",
    "PatternLike",
    "QueryEdge",
    "QueryVertex",
    "as_pattern",
    "is_one_pattern",
]
