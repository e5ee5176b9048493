"""Searches that list rows: planned when they are made, begun when rows are taken or at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from motiflux import log
from motiflux.dispatch.choose import begin_first_call, choose_engine
from motiflux.errors import ArgumentError
from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.plan.physical import PhysicalPlan
from motiflux.request.deadline import Deadline
from motiflux.request.engine import Engine, Ran
from motiflux.request.progress import expect
from motiflux.request.request import Request
from motiflux.result.choices import ChoiceRows, Choices
from motiflux.result.columns import RowColumns
from motiflux.result.images import Block
from motiflux.result.rows import NoRows, RowSource

Edges = bool | Literal["all"]


@dataclass(frozen=True, slots=True)
class Listing:
    """The options of a call that lists rows.

    Parameters
    ----------
    edges, attributes, names
        As for `motiflux.match`.
    block_rows
        Maximum number of rows of a block.
    """

    graph: Graph
    request: Request
    block_rows: int
    edges: Edges
    attributes: Sequence[str]
    names: bool

    def check(self) -> None:
        """Refuse what `edges` cannot be."""
        if self.edges not in (True, False, "all"):
            raise ArgumentError("edges", "True, False or 'all'", self.edges)

    def for_pattern(self, pattern: Pattern) -> Request:
        """Return the request for one of the patterns."""
        copies = self.edges == "all" and repeats_edges(pattern)
        return self.request if copies is self.request.copies else replace(self.request, copies=copies)

    def chooses(self, pattern: Pattern) -> bool:
        """Whether the rows of a pattern have copies of edges."""
        return self.edges == "all" or bool(self.edges and pattern.comparisons)

    def columns(self, pattern: Pattern) -> RowColumns:
        """Return the columns of the rows of a pattern."""
        return RowColumns(
            self.graph,
            pattern,
            edges=bool(self.edges),
            attributes=self.attributes,
            names=self.names,
            choices=self.chooses(pattern),
            threads=self.request.threads,
        )


class Search:
    """The search for the rows of a pattern, planned.

    Attributes
    ----------
    physical
        Its plan; None if there was no time for one.
    engine
        The engine that lists.
    ran
        Its name and device, and the reason for it.
    """

    def __init__(self, listing: Listing, pattern: Pattern, deadline: Deadline | None = None) -> None:
        self._listing = listing
        self._pattern = pattern
        self._request = request = listing.for_pattern(pattern)
        # Its time begins when the device is open; nothing is planned before if that is limited.
        planning = Deadline.after(None) if request.timeout is None else None
        begin_first_call(listing.graph, [pattern], request, planning, counting=False)
        listing.check()
        self.engine: Engine
        self.engine, why = choose_engine(request, patterns=[pattern])
        self.deadline = Deadline.after(request.timeout) if deadline is None else deadline
        self.physical: PhysicalPlan | None = self.engine.plan(
            listing.graph, pattern, request, self.deadline, counting=False
        )
        self.ran = Ran(self.engine.name, self.engine.device, why)

    def begin(self, *, limit: int | None) -> RowSource:
        """Begin the search for at most `limit` rows."""
        listing, pattern = self._listing, self._pattern
        request = self._request
        if limit != request.limit:
            request = replace(request, limit=limit)
        if self.physical is None:
            return NoRows(complete=False)
        expect(request.progress, [self.physical.plan], limit)
        choosing = listing.chooses(pattern)
        source, other = self.engine.rows(
            listing.graph, self.physical, request, listing.block_rows, self.deadline
        )
        self.ran = other or self.ran
        if choosing:
            choices = Choices(listing.graph, pattern, every=listing.edges == "all")
            return ChoiceRows(source, choices, limit, self.deadline.left)
        return source

    def tell(self, planned: float) -> None:
        """Log the plan and the engine."""
        log.PLAN.debug("%s: %s", self._pattern, self.physical)
        log.ENGINE.info(
            "rows of %s: engine %s, device %s (%s), planning %.3g s",
            *(self._pattern, self.ran.engine, self.ran.device, self.ran.why, planned - self.deadline.started),
        )


class LateRows:
    """Rows of a search that begins when the first are taken."""

    def __init__(self, begin: Callable[[], RowSource]) -> None:
        self._begin = begin
        self._source: RowSource | None = None
        self._closed = False

    def next(self) -> Block | None:
        """Return the next block, or None at the end."""
        if self._closed:
            return None
        if self._source is None:
            self._source = self._begin()
        return self._source.next()

    def close(self) -> None:
        """Stop the search, if it has begun."""
        self._closed = True
        if self._source is not None:
            self._source.close()

    @property
    def complete(self) -> bool:
        """Whether nothing was cut."""
        return self._source is not None and self._source.complete


def repeats_edges(pattern: Pattern) -> bool:
    """Return whether two query edges join the same vertices.

    The choices of embeddings that differ by an automorphism of the vertices differ then, unless it keeps the
    number of query edges: `Request.copies` asks for those that do.
    """
    return len({frozenset((edge.source, edge.target)) for edge in pattern.edges}) < pattern.num_edges
