"""Query graphs."""

from motiflux.pattern.pattern import LabelChoice, Pattern, PatternBuilder, QueryEdge, QueryVertex

__all__ = ["LabelChoice", "Pattern", "PatternBuilder", "QueryEdge", "QueryVertex"]
