"""Roots of a search in a sharded graph: of ranges of entries, and in pieces of so many entries."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from motiflux.cluster.shards.layout import Layout
from motiflux.cluster.shards.part import Span, Spans
from motiflux.cluster.shards.reach import Reach
from motiflux.cluster.shards.rows import Rows


def first_entry(layout: Layout, vertex: int) -> int:
    """Return the place of the first entry of a vertex; of the one behind all vertices, their number."""
    if vertex >= layout.num_vertices:
        return layout.entries
    return int(layout.first_entries_of(np.array([vertex]))[0])


def in_halves(layout: Layout, roots: Span) -> tuple[Span, Span] | None:
    """Return roots in two spans of about as many entries, the lower degrees first; None if one is empty."""
    first, last = roots
    middle = layout.vertex_of_entry((first_entry(layout, first) + first_entry(layout, last)) // 2)
    return ((first, middle), (middle, last)) if first < middle < last else None


def in_pieces(layout: Layout, roots: Span, entries: int) -> list[Span]:
    """Return roots in spans of about so many entries."""
    first, last = roots
    begin, end = first_entry(layout, first), first_entry(layout, last)
    cuts = [layout.vertex_of_entry(entry) for entry in range(begin, end, max(1, entries))]
    return list(pairwise(sorted({first, *(cut for cut in cuts if first < cut < last), last})))


def roots_between(rows: Rows, reach: Reach, first: int, last: int) -> Iterator[Spans]:
    """Yield the roots for a range of entries: at most two parts of rows, and whole rows between them.

    A part of a row stands for the neighbours from its first one up to that of the entry behind it, so that
    ranges that follow one another have each neighbour once, whatever number of entries it has.
    """
    layout = rows.layout
    vertices = layout.num_vertices
    at = first
    while at < last:
        vertex = layout.vertex_of_entry(at)
        begin, end = first_entry(layout, vertex), first_entry(layout, vertex + 1)
        if at > begin or last < end:
            until = min(last, end)
            least = rows.entry(vertex, at - begin) if at > begin else 0
            most = rows.entry(vertex, until - begin) if until < end else vertices
            if least < most:
                yield {reach.root: (vertex, vertex + 1), reach.second: (least, most)}
            at = until
        else:
            behind = vertices if last >= layout.entries else layout.vertex_of_entry(last)
            yield {reach.root: (vertex, behind)}
            at = first_entry(layout, behind)
