"""Feeds beside calls of a monitor: what is taken is what calls return, however updates were written."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.stream import Answer, Feed
from tests.property.test_monitor_engines import streams
from tests.update_streams import Stream

Told = list[list[tuple[Any, ...]]]
"""By pattern: of each update with matches its position, their number and sign; and the matches."""


def told(first: int, delta: mf.Delta) -> Told:
    found: Told = []
    for one in delta:
        updates = (one.updates + np.uint64(first)).tolist()
        rows = [] if one.rows is None else [
            (first + int(update), bool(positive), *vertices)
            for update, positive, vertices in zip(
                one.rows.updates.tolist(), one.rows.positive.tolist(), one.rows.vertices.tolist(), strict=True
            )
        ]  # fmt: skip
        found.append([*zip(updates, one.matches.tolist(), one.signs.tolist(), strict=True), *sorted(rows)])
    return found


def joined(parts: list[Told], patterns: int) -> Told:
    return [sorted(item for part in parts for item in part[number]) for number in range(patterns)]


def taken(feed: Feed, updates: int) -> list[Answer]:
    answers: list[Answer] = []
    while sum(answer.updates for answer in answers) < updates:
        answer = feed.take(200)  # a kernel may have to be compiled before
        assert answer is not None
        answers.append(answer)
    return answers


def others(random: np.random.Generator, vertices: int, label: int) -> mf.Updates:
    """Return updates that need Python: labels that are new, and new vertices with labels; or a self-loop."""
    new = 100 + int(random.integers(20))
    if random.random() < 0.3:
        return mf.Updates.of([("+", 1, 1, label), ("+", 0, new, label)])
    updates = mf.Updates.of([("+", 0, new, label), ("-", 0, 1, label), ("+", 1, 2, 50 + label)])
    return updates.with_more({new: 0}, None) if random.random() < 0.5 else updates


def written(stream: Stream, size: int, seed: int) -> list[mf.Updates]:
    """Return the updates of a stream in parts of up to `size`, with others among them."""
    random = np.random.default_rng(seed)
    parts: list[mf.Updates] = []
    columns, at = stream.columns(), 0
    while at < len(columns):
        end = min(len(columns), at + 1 + int(random.integers(size)))
        parts.append(columns.rows(np.arange(at, end)))
        at = end
        if random.random() < 0.15:
            parts.append(others(random, stream.vertices, int(random.integers(stream.edge_kinds))))
    return parts


def check(
    stream: Stream,
    parts: list[mf.Updates],
    most: int,
    options: dict[str, Any],
    placement: dict[str, Any] | None = None,
) -> None:
    """Write parts to a feed, and compare what is taken with calls of the CPU for each part."""
    graph, patterns = stream.graph(stream.first), stream.patterns
    on_cpu: dict[str, Any] = {"device": "cpu"}
    plain, fed = (mf.Monitor(graph, patterns, **options, **one) for one in (on_cpu, placement or on_cpu))
    refused: mf.StreamError | None = None
    expected: list[Told] = []
    first = noops = loops = 0
    for part in parts:
        try:
            delta = plain.apply(part)
        except mf.StreamError as error:
            refused = error
            break
        expected.append(told(first, delta))
        first, noops, loops = first + len(part), noops + delta.noops, loops + delta.self_loops
    feed = fed.feed(most=most)
    for part in parts:
        try:
            feed.write(part)
        except mf.StreamError:
            assert refused is not None
            break
    answers = taken(feed, first)
    feed.close()
    ends = [answer.first + answer.updates for answer in answers]
    assert [answer.first for answer in answers] == [0, *ends][: len(answers)]
    found = [told(answer.first, answer.delta) for answer in answers]
    assert joined(found, len(patterns)) == joined(expected, len(patterns))
    assert sum(answer.delta.noops for answer in answers) == noops
    assert sum(answer.delta.self_loops for answer in answers) == loops
    assert (fed.num_edges, fed.num_vertices) == (plain.num_edges, plain.num_vertices)
    assert fed.updates_applied == plain.updates_applied == first
    if refused is not None:
        with pytest.raises(mf.StreamError):
            feed.finish()
    else:
        assert not feed.unapplied
    counted = [[int(one.count(pattern, device="cpu")) for pattern in patterns] for one in (fed, plain)]
    assert counted[0] == counted[1]
    fed.close()


@settings(deadline=None)
@given(
    stream=streams(),
    size=st.sampled_from((1, 7, 60)),
    most=st.sampled_from((1, 5, 4096)),
    seed=st.integers(0, 1 << 20),
    listed=st.booleans(),
)
def test_a_feed_gives_what_calls_give(
    stream: Stream, size: int, most: int, seed: int, *, listed: bool
) -> None:
    options: dict[str, Any] = {**stream.options(), "duplicates": stream.duplicates, "matches": listed}
    options["threads"] = 1 + seed % 2
    check(stream, written(stream, size, seed), most, options)


def test_several_producers_and_consumers_lose_nothing() -> None:
    graph = mf.Graph.from_edges([(0, 1)])
    producers, each = 4, 200
    with mf.Monitor(graph, "(a)--(b)", symmetry="subgraphs", device="cpu") as monitor:
        found: list[Answer] = []
        lock = threading.Lock()
        feed = monitor.feed(room=50)

        def produce(number: int) -> None:
            for other in range(each):
                feed.write([("+", 10_000 * (number + 1), other), ("-", 10_000 * (number + 1), other)])

        def consume() -> None:
            while (answer := feed.take()) is not None:
                with lock:
                    found.append(answer)

        def started(*works: Callable[[], None]) -> list[threading.Thread]:
            threads = [threading.Thread(target=work) for work in works]
            for thread in threads:
                thread.start()
            return threads

        consumers = started(consume, consume)
        for thread in started(*(lambda number=number: produce(number) for number in range(producers))):
            thread.join()
        assert feed.finish()
        feed.close()
        for thread in consumers:
            thread.join()
        assert sorted(answer.first for answer in found)[0] == 0
        assert sum(answer.updates for answer in found) == 2 * producers * each
        assert sum(answer.delta[0].positive for answer in found) == producers * each
        assert sum(answer.delta[0].negative for answer in found) == producers * each
        assert monitor.num_edges == 1
