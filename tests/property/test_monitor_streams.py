"""Streams on graphs of some size: the Monitor, in every mode, beside counts of the graph after each update.

`test_monitor` draws everything a monitor may be given, on graphs of a few vertices; here rows are long enough
for every way to write and intersect them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import motiflux as mf
from motiflux.config import private_tuning
from tests.update_streams import Stream

WAYS = ("whole", "pieces", "single updates")
MOST_LISTED = 3_000
"""Patterns with more matches are only counted."""


@st.composite
def streams(draw: st.DrawFn) -> Stream:
    semantics = draw(st.sampled_from(("isomorphism", "isomorphism", "homomorphism")))
    symmetry = draw(st.sampled_from(("embeddings", "subgraphs")))
    sizes = st.sampled_from((3, 3, 4, 4, 5) if semantics == "isomorphism" else (3, 3, 4))
    return Stream(
        seed=draw(st.integers(0, 2**32)),
        vertices=draw(st.sampled_from((8, 15, 40))),
        directed=draw(st.booleans()),
        vertex_kinds=draw(st.sampled_from((1, 2, 4))),
        edge_kinds=draw(st.sampled_from((1, 1, 3))),
        sizes=tuple(draw(st.lists(sizes, min_size=1, max_size=3))),
        updates=draw(st.integers(5, 40)),
        symmetry="embeddings" if semantics == "homomorphism" else symmetry,
        semantics=semantics,
        duplicates=draw(st.sampled_from(("count", "ignore"))),
    )


@st.composite
def ways(draw: st.DrawFn) -> dict[str, Any]:
    """Draw how a monitor works."""
    switches = {
        name: draw(st.sampled_from(("on", "off")))
        for name in ("put_off", "orbits", "tail", "reuse", "coalesce")
    }
    switches |= {name: draw(st.sampled_from(("auto", "on", "off"))) for name in ("at_once", "quotients")}
    switches["filter"] = draw(st.sampled_from(("mask", "nlf", "nlf", "none")))
    switches["filter_bits"] = draw(st.sampled_from(("1", "2", "3")))
    return {"threads": draw(st.sampled_from((1, 2))), "tuning": private_tuning(switches)}


def pieces(stream: Stream, way: str) -> Iterator[tuple[int, mf.Updates]]:
    """Give updates in pieces, each with its place."""
    ends: Any = {"whole": [], "single updates": range(1, stream.updates)}.get(way)
    if ends is None:
        ends = sorted(set(stream.random.integers(1, stream.updates, 4).tolist()))
    updates = stream.columns()
    for first, end in zip([0, *ends], [*ends, stream.updates], strict=True):
        yield first, updates.rows(np.arange(first, end))


@pytest.mark.turns(8)
@given(streams(), ways(), st.sampled_from(WAYS))
def test_a_sequence_counts_what_each_update_changes(
    stream: Stream, options: dict[str, Any], way: str
) -> None:
    given: dict[str, Any] = {**options, **stream.options(), "duplicates": stream.duplicates}
    with mf.Monitor(stream.graphs[0], stream.patterns, **given) as monitor:
        found: list[Counter[int]] = [Counter() for _ in stream.patterns]
        for first, updates in pieces(stream, way):
            delta = monitor.apply(updates)
            for sums, pattern in zip(found, stream.patterns, strict=True):
                one = delta[pattern]
                signed = one.matches.astype(np.int64) * one.signs
                sums.update(
                    dict(zip((first + one.updates.astype(np.int64)).tolist(), signed.tolist(), strict=True))
                )
                assert one.positive - one.negative == int(signed.sum())
    for sums, counts in zip(found, stream.counts, strict=True):
        assert [sums[at] for at in range(stream.updates)] == np.diff(counts).tolist()


@pytest.mark.turns(8)
@given(streams(), ways(), st.sampled_from(("whole", "pieces")), st.sampled_from(("sequence", "batch")))
def test_rows_that_come_and_go_lead_to_the_matches_of_the_graph(
    stream: Stream, options: dict[str, Any], way: str, mode: str
) -> None:
    stream = replace(stream, symmetry="embeddings")
    patterns = [
        pattern
        for pattern, counts in zip(stream.patterns, stream.counts, strict=True)
        if max(counts) <= MOST_LISTED
    ]
    given: dict[str, Any] = {**options, **stream.options(), "duplicates": stream.duplicates, "mode": mode}
    with mf.Monitor(stream.graphs[0], patterns, matches=True, **given) as monitor:
        for first, updates in pieces(stream, way):
            delta = monitor.apply(updates)
            for pattern in patterns:
                old, new = (rows(stream.graphs[at], pattern, stream) for at in (first, first + len(updates)))
                changed = signed_rows(delta[pattern])
                assert changed == Counter(dict.fromkeys(new - old, 1) | dict.fromkeys(old - new, -1))
                if mode == "batch":
                    assert (delta[pattern].positive, delta[pattern].negative) == (
                        len(new - old),
                        len(old - new),
                    )


def rows(graph: mf.Graph, pattern: mf.Pattern, stream: Stream) -> set[tuple[int, ...]]:
    return set(map(tuple, mf.match(graph, pattern, **stream.options()).to_numpy().tolist()))


def signed_rows(found: mf.PatternDelta) -> Counter[tuple[int, ...]]:
    """Count each row by how often it came more than it went."""
    changed: Counter[tuple[int, ...]] = Counter()
    for names, piece in found.batches():
        for row, came in zip(names.tolist(), piece.positive.tolist(), strict=True):
            changed[tuple(row)] += 1 if came else -1
    return Counter({row: often for row, often in changed.items() if often})
