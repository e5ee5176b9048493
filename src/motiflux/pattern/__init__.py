"""Query graphs."""

from motiflux.pattern.builder import PatternBuilder
from motiflux.pattern.convert import (
    NetworkxGraph,
    PatternLike,
    QueryLike,
    as_pattern,
    as_query,
    is_one_pattern,
)
from motiflux.pattern.elements import IdChoice, LabelChoice, QueryEdge, QueryVertex
from motiflux.pattern.negated import AnyVertex, NegatedEdge
from motiflux.pattern.pattern import Pattern
from motiflux.pattern.queries.query import Query

__all__ = [
    "AnyVertex",
    "IdChoice",
    "LabelChoice",
    "NegatedEdge",
    "NetworkxGraph",
    "Pattern",
    "PatternBuilder",
    "PatternLike",
    "Query",
    "QueryEdge",
    "QueryLike",
    "QueryVertex",
    "as_pattern",
    "as_query",
    "is_one_pattern",
]
