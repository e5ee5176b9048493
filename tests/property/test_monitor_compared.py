"""Monitors with comparisons between attributes, beside recounting by the reference after each change."""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.conditions import Comparison, Operator
from motiflux.cpu import reference
from motiflux.pattern.elements import label_set
from motiflux.stream.matching.compared import compared_names
from tests.compared_cases import DIRECTIONS, KINDS, ComparedCase, as_comparison, compared_cases
from tests.property.test_monitor_attributes import Copy, World

NAMES = ("time", "amount", "kind")
WHERE = Comparison("amount", Operator.AT_LEAST, 1)
DEPTHS = ["default", pytest.param("long", marks=pytest.mark.long)]


@dataclass
class Watched:
    """A pattern of a case, some of whose query edges have a condition, and the matches that it has."""

    case: ComparedCase
    where: tuple[bool, ...]
    vertices: int  # of the first graph: others have no attributes, and the label 0
    matches: dict[Any, Any] = field(default_factory=dict)

    @property
    def pattern(self) -> mf.Pattern:
        """The pattern."""
        return mf.Pattern(
            tuple(
                mf.QueryVertex(f"q{v}", label_set(labels))
                for v, labels in enumerate(self.case.pattern_vertex_labels)
            ),
            tuple(
                mf.QueryEdge(
                    u, v, label_set(labels), DIRECTIONS[str(kind)], f"x{at}", WHERE if conditional else None
                )
                for at, ((u, v, labels, kind), conditional) in enumerate(
                    zip(self.case.pattern_edges, self.where, strict=True)
                )
            ),
            comparisons=tuple(map(as_comparison, self.case.comparisons)),
            negated=tuple(
                mf.NegatedEdge(*map(_end, ends), label_set(labels), DIRECTIONS[str(kind)])
                for *ends, labels, kind in self.case.negated
            ),
        )

    def judged(self, copies: list[Copy]) -> ComparedCase:
        """The case with these copies; labels of edges also say whether they satisfy the condition."""
        amounts = [copy.values[1] for copy in copies]
        labels = [
            2 * copy.key[2] + int(isinstance(amount, float) and amount >= 1)
            for copy, amount in zip(copies, amounts, strict=True)
        ]
        case, first = self.case, self.vertices
        more = case.num_vertices - first
        edges = []
        for (u, v, choice, kind), conditional in zip(case.pattern_edges, self.where, strict=True):
            bits = (1,) if conditional else (0, 1)
            allowed = frozenset(2 * label + bit for label in _allowed(choice) for bit in bits)
            edges.append((u, v, allowed, kind))
        return replace(
            case,
            edges=tuple(copy.key[:2] for copy in copies),
            edge_labels=tuple(labels),
            edge_attributes={
                name: [copy.values[at] for copy in copies]  # type: ignore[misc]
                for at, name in enumerate(NAMES)
            },
            vertex_labels=None if case.vertex_labels is None else (*case.vertex_labels[:first], *(0,) * more),
            vertex_attributes={
                name: [*values[:first], *(None,) * more] for name, values in case.vertex_attributes.items()
            },
            pattern_edges=tuple(edges),
            negated=tuple(
                (u, v, frozenset(2 * label + bit for label in _allowed(choice) for bit in (0, 1)), kind)
                for u, v, choice, kind in case.negated
            ),
        )

    def found(self, copies: list[Copy], semantics: str, symmetry: str) -> dict[Any, Any]:
        """The embeddings, or occurrences, each with its name."""
        case = self.judged(copies)
        if symmetry == "subgraphs":
            return {image: one for one in case.occurrences(semantics) for image in one}
        return {image: image for image in case.embeddings(semantics)}


def _allowed(choice: int | None) -> tuple[int, ...]:
    return (0, 1) if choice is None else (choice,)


def _end(end: Any) -> int | mf.AnyVertex:
    return mf.AnyVertex(label_set(end.labels)) if isinstance(end, reference.AnyVertex) else end


@st.composite
def negated_edges(draw: st.DrawFn, case: ComparedCase) -> ComparedCase:
    """Draw edges that must not be there: none, or one or two, between query vertices or to any vertex."""
    vertices = range(len(case.pattern_vertex_labels))
    labels = st.none() if case.edge_labels is None else st.sampled_from((None, 0, 1))
    ends = st.none() if case.vertex_labels is None else st.sampled_from((None, 0, 1))
    negated = []
    for _ in range(draw(st.sampled_from((0, 0, 1, 1, 2)))):
        pair: list[Any] = list(draw(st.permutations(vertices))[:2])
        if draw(st.integers(0, 2)) == 0:
            pair[draw(st.integers(0, 1))] = reference.AnyVertex(draw(ends))
        negated.append((*pair, draw(labels), draw(st.sampled_from(KINDS[case.directed]))))
    return replace(case, negated=tuple(negated))


@st.composite
def calls(draw: st.DrawFn, case: ComparedCase) -> list[Any]:
    """Draw updates on the pairs of a case, with attributes of its edges."""
    pairs = st.sampled_from(sorted(set(case.edges)))
    label = st.just(0) if case.edge_labels is None else st.integers(0, 1)
    values = st.sampled_from(
        sorted(zip(*(case.edge_attributes[name] for name in NAMES), strict=True), key=str)
    )
    row = st.tuples(st.sampled_from((True, True, True, False)), pairs, label, values, st.integers(0, 2))
    rows = []
    for inserts, (u, v), kind, given_values, later in draw(st.lists(row, min_size=1, max_size=7)):
        named = given_values
        if not inserts:  # it names some of the attributes
            named = tuple(draw(st.sampled_from((None, value))) for value in given_values)
        rows.append((inserts, (u, v, kind), named, later))
    return rows


@st.composite
def watched_patterns(draw: st.DrawFn, case: ComparedCase) -> Watched:
    """Draw which query edges have a condition."""
    edges = len(case.pattern_edges)
    where = draw(st.lists(st.sampled_from((False, False, True)), min_size=edges, max_size=edges))
    return Watched(case, tuple(where), draw(st.sampled_from((case.num_vertices, 2))))


def other_patterns(case: ComparedCase, other: ComparedCase) -> ComparedCase:
    """Return the pattern of another case for the graph of this one."""
    if other.directed != case.directed:
        kinds = tuple((u, v, labels, "follow") for u, v, labels, _ in other.pattern_edges)
        other = replace(other, pattern_edges=kinds)
    if case.vertex_labels is None or case.edge_labels is None:
        other = replace(
            other,
            pattern_vertex_labels=(None,) * len(other.pattern_vertex_labels),
            pattern_edges=tuple((u, v, None, kind) for u, v, _, kind in other.pattern_edges),
        )
    return replace(
        case,
        pattern_vertex_labels=other.pattern_vertex_labels,
        pattern_edges=other.pattern_edges,
        comparisons=other.comparisons,
    )


@pytest.mark.parametrize("depth", DEPTHS)
def test_matches_come_and_go_with_choices_of_copies(depth: str) -> None:
    @settings(settings.get_profile(depth), deadline=None)
    @given(st.data())
    def holds(data: Any) -> None:
        _follow(data)

    holds()


def _follow(data: Any) -> None:
    case = data.draw(compared_cases(most_copies=8))
    mode = data.draw(st.sampled_from(("sequence", "batch")))
    semantics = data.draw(st.sampled_from(("isomorphism", "isomorphism", "homomorphism", "induced")))
    symmetries = ("embeddings",) if semantics == "homomorphism" else ("embeddings", "subgraphs")
    case = data.draw(negated_edges(case))
    window = data.draw(st.sampled_from((None, None, 2, 4, 3.0)))
    world = World(case.directed, case.num_vertices, window, data.draw(st.sampled_from(symmetries)))
    watched = [data.draw(watched_patterns(case))]
    first = watched[0].vertices
    # The graph begins with some of the copies of the case, between its first vertices.
    rows = zip(case.edges, case.edge_labels or (0,) * len(case.edges), strict=True)
    values = list(zip(*(case.edge_attributes[name] for name in NAMES), strict=True))
    base = [
        (world.key(u, v, label), values[at])
        for at, ((u, v), label) in enumerate(rows)
        if at % 2 == 0 and max(u, v) < first
    ]
    base.sort(key=lambda row: row[0])
    world.copies = [Copy(key, one, None) for key, one in base]  # type: ignore[arg-type]
    graph = mf.Graph.from_edges(
        tuple(np.array([key[end] for key, _ in base], dtype=np.int64) for end in (0, 1)),
        num_vertices=first,
        directed=case.directed,
        vertex_labels=None if case.vertex_labels is None else case.vertex_labels[:first],
        edge_labels=[key[2] for key, _ in base],
        edge_attributes={name: [one[at] for _, one in base] for at, name in enumerate(NAMES)},
        vertex_attributes={name: column[:first] for name, column in case.vertex_attributes.items()},
    )
    options = {
        "mode": mode,
        "semantics": semantics,
        "symmetry": world.symmetry,
        "window": window,
        "threads": data.draw(st.sampled_from((1, 3))),
    }
    monitors = [
        mf.Monitor(graph, [watched[0].pattern], matches=matches, **options) for matches in (True, False)
    ]
    for one in watched:
        one.matches = one.found(world.copies, semantics, world.symmetry)
    known: dict[Any, Any] = {}
    time = 0.0
    for _ in range(data.draw(st.integers(1, 4))):
        action = data.draw(st.sampled_from(("apply", "apply", "apply", "refuse", "save", "add", "drop")))
        if action == "add" and len(watched) < 3:
            other = other_patterns(case, data.draw(compared_cases(most_copies=2)))
            one = replace(data.draw(watched_patterns(data.draw(negated_edges(other)))), vertices=first)
            if one.pattern not in monitors[0].patterns:
                one.matches = one.found(world.copies, semantics, world.symmetry)
                watched.append(one)
                for monitor in monitors:
                    monitor.add(one.pattern)
        if action == "drop" and len(watched) > 1:
            dropped = watched.pop(0).pattern
            for monitor in monitors:
                monitor.drop(dropped)
        if action == "save":
            monitors = [_saved_and_loaded(monitor) for monitor in monitors]
        rows_given = data.draw(calls(case))
        updates, timed, later = _updates(rows_given, time)
        if action == "refuse":
            _refuse(monitors, updates)
            continue
        time = later
        deltas = [monitor.apply(updates) for monitor in monitors]
        _compare(world, watched, timed, deltas, known, mode=mode, semantics=semantics)
    for one in watched:
        expected = len(set(one.found(world.copies, semantics, world.symmetry).values()))
        assert monitors[0].count(one.pattern) == expected
    for monitor in monitors:
        monitor.close()


def _updates(rows: list[Any], time: float) -> tuple[mf.Updates, list[Any], float]:
    times = np.array([later for *_, later in rows]).cumsum() + time
    updates = mf.Updates(
        np.array([inserts for inserts, *_ in rows]),
        np.array([key[0] for _, key, *_ in rows]),
        np.array([key[1] for _, key, *_ in rows]),
        np.array([key[2] for _, key, *_ in rows]),
        times,
        attributes={name: [values[at] for _, _, values, _ in rows] for at, name in enumerate(NAMES)},
    )
    given_rows = [
        (inserts, key, values, float(at)) for (inserts, key, values, _), at in zip(rows, times, strict=True)
    ]
    return updates, given_rows, float(times[-1])


def _compare(
    world: World,
    watched: list[Watched],
    updates: list[Any],
    deltas: list[mf.Delta],
    known: dict[Any, Any],
    *,
    mode: str,
    semantics: str,
) -> None:
    sequence = mode == "sequence"
    expected: list[Counter[Any]] = [Counter() for _ in watched]
    states = [list(world.copies)]

    def note(number: int) -> None:
        for at, one in enumerate(watched):
            before, one.matches = one.matches, one.found(world.copies, semantics, world.symmetry)
            was, now = set(before.values()), set(one.matches.values())
            for sign, names in ((1, now - was), (-1, was - now)):
                expected[at].update((number, sign, name) for name in names)

    for number, (inserts, key, values, time) in enumerate(updates):
        for _ in world.steps((inserts, world.key(*key), values, time)):
            if sequence:
                note(number)
        states.append(list(world.copies))
    if not sequence:
        note(0)
    listed, counted = deltas
    for at, one in enumerate(watched):
        change = listed[one.pattern]
        rows = [
            (tuple(image), int(update), bool(positive))
            for ids, piece in change.batches()
            for image, update, positive in zip(
                ids.tolist(), piece.updates.tolist(), piece.positive.tolist(), strict=True
            )
        ]
        found = Counter()
        for image, update, positive in rows:
            state = states[update + positive] if sequence else states[-1 if positive else 0]
            names = one.found(state, semantics, world.symmetry)
            assert image in names, (
                update,
                positive,
                expected[at],
                [[c.values for c in s] for s in states],
                updates,
            )
            name = names[image]
            found[update, 1 if positive else -1, name] += 1
            assert known.setdefault((one.pattern, name), image) == image, "another row of one occurrence"
        assert found == expected[at]
        positive_count = sum(count for (_, sign, _), count in expected[at].items() if sign > 0)
        for delta in (change, counted[one.pattern]):
            assert (delta.positive, delta.negative) == (positive_count, expected[at].total() - positive_count)
        if sequence:
            by_update = Counter()
            for update, matches, sign in zip(change.updates, change.matches, change.signs, strict=True):
                by_update[int(update), int(sign)] += int(matches)
            whole = Counter()
            for (update, sign, _), count in expected[at].items():
                whole[update, sign] += count
            assert by_update == whole
        _compare_edges(one, change, rows, states, semantics, sequence=sequence)


def _compare_edges(
    watched: Watched,
    change: mf.PatternDelta,
    rows: list[Any],
    states: list[list[Copy]],
    semantics: str,
    *,
    sequence: bool,
) -> None:
    """The attributes of the edges are those of the first choice, by the arrival of copies."""
    tables = list(change.edges().values())
    for number, (image, update, positive) in enumerate(rows):
        state = states[update + positive] if sequence else states[-1 if positive else 0]
        first = min(watched.judged(state).choices(semantics)[image])
        for table, copy in zip(tables, first, strict=True):
            shown = [table[name].to_list()[number] if name in table else None for name in NAMES]
            assert shown == list(state[copy].values)


class _Refused(Exception):  # noqa: N818
    """The sink does not want it."""


def _refuse(monitors: list[mf.Monitor], updates: mf.Updates) -> None:
    """A call that is undone changes nothing."""

    class Refusing(mf.stream.Sink):
        def flush(self) -> None:
            raise _Refused

        def write(self, found: object) -> None:
            pass

    for monitor in monitors:
        try:
            if monitor.lists_matches:
                monitor.run([updates], Refusing())
        except (_Refused, mf.OutputError):
            pass
        wrong = updates.with_more(None, None, {"kind": np.arange(len(updates))})
        compares = any("kind" in compared_names(pattern) for pattern in monitor.patterns)
        if compares and monitor.attribute_kinds().get("kind") == "strings":
            with pytest.raises(mf.StreamError, match="expected strings as before"):
                monitor.apply(wrong)


def _saved_and_loaded(monitor: mf.Monitor) -> mf.Monitor:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "monitor")
        monitor.save(path)
        monitor.close()
        return mf.Monitor.load(path)
