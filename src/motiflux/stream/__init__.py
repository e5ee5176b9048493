"""Patterns watched on graphs that change."""

from motiflux.stream.delta import Delta, MatchRows, PatternDelta
from motiflux.stream.monitor import Monitor
from motiflux.stream.updates import Updates, VertexLabels

__all__ = ["Delta", "MatchRows", "Monitor", "PatternDelta", "Updates", "VertexLabels"]
