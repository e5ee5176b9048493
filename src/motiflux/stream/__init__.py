"""Patterns watched on graphs that change."""

from motiflux.stream.copies.changes import DeletedCopies
from motiflux.stream.feed.feed import Answer, Feed
from motiflux.stream.matching.delta import Delta, PatternDelta, QueryDelta
from motiflux.stream.matching.match_rows import MatchRows
from motiflux.stream.matching.vertex_counts import VertexAlert
from motiflux.stream.monitor import Monitor
from motiflux.stream.run.totals import Latency, PatternTotal, Totals
from motiflux.stream.sinks.file_sink import FileSink, as_sink
from motiflux.stream.sinks.several import SeveralSinks
from motiflux.stream.sinks.sink import FoundMatches, Nowhere, Sink
from motiflux.stream.sinks.standard_output import StandardOutput
from motiflux.stream.sources.convert import as_source, open_source
from motiflux.stream.sources.source import Batch, Position, Request, Source
from motiflux.stream.updates import Updates, VertexLabels

__all__ = [
    "Answer",
    "Batch",
    "DeletedCopies",
    "Delta",
    "Feed",
    "FileSink",
    "FoundMatches",
    "Latency",
    "MatchRows",
    "Monitor",
    "Nowhere",
    "PatternDelta",
    "PatternTotal",
    "Position",
    "QueryDelta",
    "Request",
    "SeveralSinks",
    "Sink",
    "Source",
    "StandardOutput",
    "Totals",
    "Updates",
    "VertexAlert",
    "VertexLabels",
    "as_sink",
    "as_source",
    "open_source",
]
