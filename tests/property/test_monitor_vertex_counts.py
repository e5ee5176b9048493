"""Counts at each vertex of a monitor beside the reference: after every call, with alerts of every update."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.cpu import reference
from tests.compared_cases import ComparedCase, compared_cases
from tests.property.test_monitor import MonitorMachine
from tests.property.test_monitor_compared import NAMES
from tests.property.test_monitor_negation import World, as_updates, worlds

DEPTHS = ["default", pytest.param("long", marks=pytest.mark.long)]


class TallyingMachine(MonitorMachine):
    """Monitors one of which counts at vertices."""

    tallies = True


TestTallyingMachine = TallyingMachine.TestCase
TestTallyingMachine.settings = settings(stateful_step_count=16, deadline=None)

GRAPHS = [
    "(a)--(b)--(c)--(d)--(a)",
    "(a)--(b)--(c)--(d)--(e)--(a)",
    "(a)--(b)--(c)--(d)--(a), (a)--(e)--(b)",
    "(a)--(b), (a)--(c), (a)--(d), (a)--(e)",
    "(a)--(b)--(c)--(d)--(e)",
    "(a)--(b)--(c)--(d)--(a), (a)--(c)",
    "(a)--(b)--(c)--(a), (c)--(d), (d)--(e)",
    "(a)--(b)--(c)--(a), (c)--(d), (c)--(e)",
    "(a)--(b)--(c)--(d)--(a), (a)--(c), (b)--(d)",
    "(a)--(b)--(c), (a)--(d)--(c), (a)--(e)--(c)",
    "(a)--(b)--(c)--(d)--(e)--(f)--(a)",
]
MOST = 8


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("symmetry", ["embeddings", "subgraphs"])
def test_those_of_every_query_vertex_of_larger_patterns_are_recounted(symmetry: Any, depth: str) -> None:
    ends = st.integers(0, MOST)
    row = st.tuples(st.sampled_from("+++-"), ends, ends)

    @settings(settings.get_profile(depth), deadline=None)
    @given(
        st.lists(st.tuples(ends, ends), max_size=24),
        st.lists(st.lists(row, min_size=1, max_size=12), max_size=3),
        st.sampled_from(GRAPHS),
        st.data(),
    )
    def holds(edges: Any, calls: Any, text: str, data: Any) -> None:
        pattern = mf.Pattern.parse(text)
        graph = mf.Graph.from_edges([(u, v) for u, v in edges if u != v], num_vertices=MOST + 1)
        by = data.draw(st.integers(0, pattern.num_vertices - 1))
        switches = {
            name: data.draw(st.sampled_from(("on", "off"))) for name in ("orbits", "tail", "reuse", "at_once")
        }
        monitor = mf.Monitor(
            graph,
            pattern,
            per_vertex=by,
            symmetry=symmetry,
            mode=data.draw(st.sampled_from(("sequence", "batch"))),
            alert=data.draw(st.sampled_from((None, 3))),
            threads=data.draw(st.sampled_from((1, 3))),
            tuning=private_tuning(switches),
            device="cpu",
        )
        before = monitor.count(pattern)
        for call in calls:
            delta = monitor.apply(call)
            now = monitor.snapshot()
            assert int(before) + delta[0].net == int(before := mf.count(now, pattern, symmetry=symmetry))
            found = mf.count_per_vertex(now, pattern, by, symmetry=symmetry, device="cpu")
            expected = dict(zip(found.ids.tolist(), found.counts.tolist(), strict=True))
            assert kept_of(monitor) == [expected[vertex] for vertex in range(MOST + 1)], (text, by)

    holds()


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("mode", ["sequence", "batch"])
def test_negated_edges_are_counted_as_the_reference_does(mode: Any, depth: str) -> None:
    @settings(settings.get_profile(depth))
    @given(worlds(), st.integers(1, 3), st.data())
    def holds(drawn: tuple[World, list[Any], dict[str, Any]], parts: int, data: Any) -> None:
        world, steps, options = drawn
        place = data.draw(st.integers(0, len(world.case.pattern_vertex_labels) - 1))
        options = options | {"per_vertex": place, "alert": data.draw(st.sampled_from((None, 2)))}
        options["matches"] = data.draw(st.sampled_from((False, False, True)))
        with world.monitor(mode=mode, **options) as monitor:
            size = -(-len(steps) // parts) or 1
            for first in range(0, len(steps), size):
                some = steps[first : first + size]
                for step in some:
                    world.step(*step)
                monitor.apply(as_updates(world, some))
                assert kept_of(monitor) == at_vertices(world, place)

    holds()


def at_vertices(world: World, place: int) -> list[int]:
    """The matches at each vertex, by the reference."""
    size = len(world.case.ids)
    rows = world.matches()
    if world.symmetry == "embeddings":
        return reference.counts_of_images(rows, place, size)
    images = {moved[place] for moved in world.group}
    counts = Counter(row[image] for row in rows for image in images)
    return [counts[vertex] for vertex in range(size)]


def kept_of(monitor: mf.Monitor) -> list[int]:
    """The counts that a monitor keeps, by the ids of its graph, which are numbers."""
    kept = monitor.per_vertex()
    counts = dict(zip(kept.ids.tolist(), kept.counts.tolist(), strict=True))
    return [counts[vertex] for vertex in sorted(counts)]


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize(
    ("semantics", "symmetry"),
    [("isomorphism", "embeddings"), ("isomorphism", "subgraphs"), ("homomorphism", "embeddings")],
)
def test_comparisons_are_counted_as_the_reference_does(semantics: Any, symmetry: Any, depth: str) -> None:
    @settings(settings.get_profile(depth), deadline=None)
    @given(compared_cases(most_copies=8), st.data())
    def holds(case: ComparedCase, data: Any) -> None:
        follow_compared(case, data, semantics, symmetry)

    holds()


def follow_compared(case: ComparedCase, data: Any, semantics: str, symmetry: str) -> None:
    """Insert the copies of a case in parts, and delete some; count after each part."""
    copies = len(case.edges)
    place = data.draw(st.integers(0, len(case.pattern_vertex_labels) - 1))
    empty = of_copies(case, []).graph()
    monitor = mf.Monitor(
        empty,
        case.pattern(),
        mode=data.draw(st.sampled_from(("sequence", "batch"))),
        semantics=semantics,  # type: ignore[arg-type]
        symmetry=symmetry,  # type: ignore[arg-type]
        per_vertex=place,
        alert=data.draw(st.sampled_from((None, 2))),
        matches=data.draw(st.sampled_from((False, False, True))),
        threads=data.draw(st.sampled_from((1, 3))),
    )
    there: list[int] = []
    for part in np.array_split(np.arange(copies), data.draw(st.integers(1, 3))):
        rows = [(True, int(at)) for at in part]
        if there and data.draw(st.booleans()):
            rows.append((False, there[0]))
        for inserts, at in rows:
            there = [*there, at] if inserts else [one for one in there if one != at]
        monitor.apply(updates_of(case, rows))
        now = of_copies(case, there)
        results: Any = now.occurrences(semantics) if symmetry == "subgraphs" else now.embeddings(semantics)
        assert kept_of(monitor) == reference.counts_of_images(results, place, case.num_vertices)
    monitor.close()


def of_copies(case: ComparedCase, numbers: list[int]) -> ComparedCase:
    """A case with some of its copies."""
    labels = case.edge_labels
    return replace(
        case,
        edges=tuple(case.edges[at] for at in numbers),
        edge_labels=None if labels is None else tuple(labels[at] for at in numbers),
        edge_attributes={name: [case.edge_attributes[name][at] for at in numbers] for name in NAMES},
    )


def updates_of(case: ComparedCase, rows: list[tuple[bool, int]]) -> mf.Updates:
    """Insertions and deletions of copies of a case, by their number."""
    at = [number for _, number in rows]
    labels = None if case.edge_labels is None else np.array([case.edge_labels[one] for one in at])
    return mf.Updates(
        np.array([inserts for inserts, _ in rows]),
        np.array([case.edges[one][0] for one in at]),
        np.array([case.edges[one][1] for one in at]),
        labels,
        None,
        attributes={name: [case.edge_attributes[name][one] for one in at] for name in NAMES},
    )
