"""Query graphs."""

from motiflux.pattern.builder import PatternBuilder
from motiflux.pattern.convert import as_pattern
from motiflux.pattern.elements import IdChoice, LabelChoice, QueryEdge, QueryVertex
from motiflux.pattern.pattern import Pattern

__all__ = [
    "IdChoice",
    "LabelChoice",
    "Pattern",
    "PatternBuilder",
    "QueryEdge",
    "QueryVertex",
    "as_pattern",
]
