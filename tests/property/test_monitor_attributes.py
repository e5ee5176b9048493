"""Monitors with conditions on attributes of edges, beside recounting: each copy of an edge is a witness.

The oracle gets one edge for every copy that there is at the moment, and its label is the label together with
its attributes. What a query edge accepts is then a set of such labels.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.conditions import AllOf, AnyOf, Comparison, Condition, IsMissing, Not, OneOf, Operator
from motiflux.config import private_tuning
from motiflux.cpu import reference
from motiflux.pattern.elements import label_set
from tests.strategies import pattern_edges

XS = (0.0, 1.0, 2.0, None)
YS = ("a", "b", None)
KINDS = (0, 1)
Attributes = tuple[float | None, str | None]
Key = tuple[int, int, int]


def truth(condition: Condition | None, values: dict[str, Any]) -> bool | None:
    """Tell whether attributes satisfy a condition; None if that is unknown."""
    match condition:
        case None:
            return True
        case IsMissing(name):
            return values[name] is None
        case Comparison(name, operator, other):
            value = values[name]
            if value is None:
                return None
            return {
                Operator.EQUAL: value == other,
                Operator.UNEQUAL: value != other,
                Operator.LESS: isinstance(value, float) and value < other,
                Operator.AT_LEAST: isinstance(value, float) and value >= other,
            }[operator]
        case OneOf(name, others):
            return None if values[name] is None else values[name] in others
        case Not(inner):
            known = truth(inner, values)
            return None if known is None else not known
        case AllOf(parts):
            found = [truth(part, values) for part in parts]
            return False if False in found else None if None in found else True
        case AnyOf(parts):
            found = [truth(part, values) for part in parts]
            return True if True in found else None if None in found else False
    raise AssertionError(condition)


def conditions() -> st.SearchStrategy[Condition | None]:
    operators = st.sampled_from((Operator.EQUAL, Operator.UNEQUAL, Operator.LESS, Operator.AT_LEAST))
    simple = (
        st.builds(Comparison, st.just("x"), operators, st.sampled_from((0, 1, 0.5)))
        | st.builds(OneOf, st.just("x"), st.just((0, 2)))
        | st.builds(IsMissing, st.sampled_from(("x", "y")))
        | st.builds(Comparison, st.just("y"), st.just(Operator.EQUAL), st.sampled_from(("a", "b")))
    )
    some = (
        simple
        | st.builds(Not, simple)
        | st.builds(lambda a, b: AllOf((a, b)), simple, simple)
        | st.builds(lambda a, b: AnyOf((a, b)), simple, simple)
    )
    return st.none() | some | some


@dataclass(eq=False)
class Copy:
    """A copy of an edge; `since` is None if no window ends it."""

    key: Key
    values: Attributes
    since: float | None


@dataclass
class World:
    """Copies of edges that come and go, in plain Python."""

    directed: bool
    size: int
    window: float | int | None
    symmetry: str
    copies: list[Copy] = field(default_factory=list)
    came: int = 0

    def key(self, u: int, v: int, label: int) -> Key:
        return (u, v, label) if self.directed or u < v else (v, u, label)

    def steps(self, update: Any) -> Any:
        """Apply an update; yield after each change, with the copy that it deleted, None for others."""
        inserts, key, values, time = update
        if isinstance(self.window, float):
            yield from self._expire(time)
        if inserts:
            since = None
            if self.window is not None:
                self.came += 1
                since = time
            if isinstance(self.window, int):
                yield from self._expire(self.came)
                since = self.came
            self.copies.append(Copy(key, values, since))
            yield None
            return
        for copy in sorted(self.copies, key=lambda one: one.since is None):
            fits = all(wanted in (None, own) for wanted, own in zip(values, copy.values, strict=True))
            if copy.key == key and fits:
                self.copies.remove(copy)
                yield copy
                return

    def _expire(self, now: float) -> Any:
        while True:
            old = [one for one in self.copies if one.since is not None and one.since + self.window <= now]
            if not old:
                return
            self.copies.remove(old[0])
            yield None


@dataclass
class Watched:
    """A pattern, and the matches that it has by the oracle."""

    pattern: mf.Pattern
    labels: Any
    edges: Any
    where: tuple[Condition | None, ...]
    now: set[Any] = field(default_factory=set)

    def automorphisms(self, directed: bool) -> list[tuple[int, ...]]:
        """The permutations of vertices that keep edges with what they accept."""

        def edges_under(moved: tuple[int, ...]) -> set[Any]:
            found = set()
            for (u, v, choice, kind), where in zip(self.edges, self.where, strict=True):
                ends: Any = (moved[u], moved[v])
                if kind == "either" or not directed:
                    ends = frozenset(ends)
                found.add((ends, choice, where))
            return found

        size = len(self.labels)
        own = edges_under(tuple(range(size)))
        return [moved for moved in permutations(range(size)) if edges_under(moved) == own]

    def least(self, image: Any, world: World, symmetry: str) -> Any:
        """The match itself, or of an occurrence the least one."""
        if symmetry == "embeddings":
            return tuple(image)
        return min(tuple(image[at] for at in moved) for moved in self.automorphisms(world.directed))

    def matches(self, world: World, semantics: str) -> set[Any]:
        every = [(label, x, y) for label in KINDS for x in XS for y in YS]
        query = []
        for (u, v, choice, kind), where in zip(self.edges, self.where, strict=True):
            accepted = frozenset(
                (label, x, y)
                for label, x, y in every
                if (choice is None or label == choice or (isinstance(choice, frozenset) and label in choice))
                and truth(where, {"x": x, "y": y})
            )
            query.append((u, v, accepted, kind))
        found = reference.embeddings(
            world.size,
            [copy.key[:2] for copy in world.copies],
            self.labels,
            query,
            directed=world.directed,
            edge_labels=[(copy.key[2], *copy.values) for copy in world.copies],  # type: ignore[misc]
            semantics=semantics,
        )
        return {self.least(image, world, world.symmetry) for image in found}

    def changes(self, world: World, semantics: str) -> Counter[Any]:
        before, self.now = self.now, self.matches(world, semantics)
        return Counter([(1, row) for row in self.now - before] + [(-1, row) for row in before - self.now])


@st.composite
def patterns(draw: st.DrawFn, directed: bool) -> Watched:
    size = draw(st.sampled_from((2, 2, 3, 3, 4)))
    edges = draw(pattern_edges(size, directed, None))
    choices = st.sampled_from((None, None, 0, 1, frozenset((0, 1))))
    edges = tuple((u, v, draw(choices), kind) for u, v, _, kind in edges)
    where = tuple(draw(conditions()) for _ in edges)
    direction: dict[Any, bool | None] = {"follow": None, "either": False, "arc": True}
    query = tuple(
        mf.QueryEdge(u, v, label_set(choice), direction[kind], where=condition)
        for (u, v, choice, kind), condition in zip(edges, where, strict=True)
    )
    vertices = tuple(mf.QueryVertex(f"v{at}") for at in range(size))
    return Watched(mf.Pattern(vertices, query), (None,) * size, edges, where)


@st.composite
def calls(draw: st.DrawFn, size: int) -> list[Any]:
    pair = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1))
    hot = draw(st.lists(pair, min_size=1, max_size=3))
    row = st.tuples(
        st.sampled_from((True, True, False)),
        st.sampled_from(hot),
        st.sampled_from(KINDS),
        st.tuples(st.sampled_from(XS), st.sampled_from(YS)),
        st.integers(0, 2),
    )
    return draw(st.lists(row, min_size=1, max_size=8))


class _Refused(Exception):  # noqa: N818
    """The sink does not want it."""


def _updates(rows: list[Any], time: float) -> tuple[mf.Updates, list[Any], float]:
    given, times = [], []
    for inserts, (u, v), label, values, later in rows:
        if u == v:  # left out, and its time with it
            times.append(time)
            given.append(None)
            continue
        time += later
        times.append(time)
        given.append((inserts, (u, v, label), values, time))
    updates = mf.Updates(
        np.array([inserts for inserts, *_ in rows]),
        np.array([ends[0] for _, ends, *_ in rows]),
        np.array([ends[1] for _, ends, *_ in rows]),
        np.array([label for *_, label, _, _ in rows]),
        np.array(times),
        attributes={  # type: ignore[arg-type]
            "x": [values[0] for *_, values, _ in rows],
            "y": [values[1] for *_, values, _ in rows],
        },
    )
    return updates, given, time


@pytest.mark.turns(4)
@settings(deadline=None)
@given(data=st.data())
def test_matches_come_and_go_with_copies_that_satisfy_conditions(data: Any) -> None:
    directed, size = data.draw(st.booleans()), data.draw(st.integers(2, 4))
    mode = data.draw(st.sampled_from(("sequence", "batch")))
    semantics = data.draw(st.sampled_from(("isomorphism", "isomorphism", "homomorphism")))
    window = data.draw(st.sampled_from((None, None, 1, 3, 2.0, 5.0)))
    symmetries = ("embeddings", "subgraphs") if semantics == "isomorphism" else ("embeddings",)
    world = World(directed, size, window, data.draw(st.sampled_from(symmetries)))
    first = [(True, *row[1:]) for row in data.draw(calls(size)) if row[1][0] != row[1][1]]
    watched = [data.draw(patterns(directed)) for _ in range(data.draw(st.integers(1, 2)))]
    options = {
        "mode": mode,
        "semantics": semantics,
        "symmetry": world.symmetry,
        "window": window,
        "attributes": True,
        "threads": data.draw(st.sampled_from((1, 3))),
        "tuning": private_tuning(
            {name: data.draw(st.sampled_from(("on", "off"))) for name in SWITCHES}
            | {"filter": data.draw(st.sampled_from(("mask", "nlf", "none")))}
        ),
    }
    base = [(world.key(u, v, label), values) for _, (u, v), label, values, _ in first]
    base.sort(key=lambda row: row[0])
    world.copies = [Copy(key, values, None) for key, values in base]
    graph = mf.Graph.from_edges(
        tuple(np.array([key[end] for key, _ in base], dtype=np.int64) for end in (0, 1)),
        num_vertices=size,
        directed=directed,
        edge_labels=[key[2] for key, _ in base],
        edge_attributes={"x": [values[0] for _, values in base], "y": [values[1] for _, values in base]},
    )
    unique = {one.pattern: one for one in watched}
    watched = list(unique.values())
    monitors = [
        mf.Monitor(graph, [one.pattern for one in watched], matches=matches, **options)
        for matches in (True, False)
    ]
    for one in watched:
        one.now = one.matches(world, semantics)
    time = 0.0
    for _ in range(data.draw(st.integers(1, 4))):
        action = data.draw(st.sampled_from(("apply", "apply", "apply", "refuse", "save", "add")))
        if action == "add" and len(watched) < 3:
            one = data.draw(patterns(directed))
            if one.pattern not in monitors[0].patterns:
                one.now = one.matches(world, semantics)
                watched.append(one)
                for monitor in monitors:
                    monitor.add(one.pattern)
        if action == "save":
            monitors = [_saved_and_loaded(monitor) for monitor in monitors]
        updates, given_updates, later = _updates(data.draw(calls(size)), time)
        if action == "refuse":
            _refuse(monitors, updates)
            continue
        time = later
        deltas = [monitor.apply(updates) for monitor in monitors]
        _compare(world, watched, given_updates, deltas, mode=mode, semantics=semantics)
        found = monitors[0].snapshot()
        assert _copies_of(found) == Counter((copy.key, copy.values) for copy in world.copies)
        assert monitors[0].num_edges == len({copy.key for copy in world.copies})
    for monitor in monitors:
        monitor.close()


SWITCHES = ("orbits", "tail", "reuse", "at_once", "put_off", "coalesce", "quotients")


def _compare(
    world: World,
    watched: list[Watched],
    updates: list[Any],
    deltas: list[mf.Delta],
    *,
    mode: str,
    semantics: str,
) -> None:
    sequence = mode == "sequence"
    states = [list(world.copies)]
    expected: list[Counter[Any]] = [Counter() for _ in watched]
    deleted, noops, expired = [], 0, 0
    for number, update in enumerate(updates):
        if update is None:
            states.append(list(world.copies))
            continue
        inserts, ends, values, time = update
        key = world.key(*ends)
        if isinstance(world.window, float):  # before it is known whether the edge is there
            for _ in world._expire(time):
                expired += 1
                if sequence:
                    _add(expected, world, watched, number, semantics)
        if isinstance(world.window, int) and inserts:
            old = [one for one in world.copies if one.since is not None]
            leaving = sum(1 for one in old if one.since + world.window <= world.came + 1)  # type: ignore[operator]
            expired += leaving
            gone = old[:leaving]
            noops += any(one.key == key for one in world.copies if one not in gone)
        elif inserts:
            noops += any(one.key == key for one in world.copies)
        before = len(world.copies)
        for copy in world.steps((inserts, key, values, time)):
            if copy is not None:
                deleted.append((number, *copy.values))
            if sequence:
                _add(expected, world, watched, number, semantics)
        if not inserts and len(world.copies) == before:
            noops += 1
        states.append(list(world.copies))
    if not sequence:
        _add(expected, world, watched, 0, semantics)
    listed, counted = deltas
    for at, one in enumerate(watched):
        found = Counter(
            (update, 1 if positive else -1, one.least(row, world, world.symmetry))
            for names, piece in listed[one.pattern].batches()
            for row, update, positive in zip(
                names.tolist(), piece.updates.tolist(), piece.positive.tolist(), strict=True
            )
        )
        assert found == expected[at]
        _compare_edges(world, one, listed[one.pattern], states, sequence=sequence)
        positive = sum(count for (_, sign, _), count in expected[at].items() if sign > 0)
        for delta in (listed[one.pattern], counted[one.pattern]):
            assert (delta.positive, delta.negative) == (positive, expected[at].total() - positive)
    for delta in deltas:
        assert (delta.noops, delta.expired) == (noops, expired)
        assert delta.self_loops == updates.count(None)
        assert delta.deleted is not None
        taken = delta.deleted.attributes
        columns = [taken[name].to_list() if name in taken else [None] * len(deleted) for name in ("x", "y")]
        assert list(zip(delta.deleted.updates.tolist(), *columns, strict=True)) == deleted


def _compare_edges(
    world: World, watched: Watched, found: mf.PatternDelta, states: list[list[Copy]], *, sequence: bool
) -> None:
    """The attributes of the edges are those of the oldest copies that serve them."""
    assert found.rows is not None
    size = len(found.rows)
    edges = []
    for table in found.edges().values():
        columns = [table[name].to_list() if name in table else [None] * size for name in "xy"]
        edges.append(list(zip(*columns, strict=True)))
    rows = [
        row
        for names, piece in found.batches()
        for row in zip(names.tolist(), piece.updates.tolist(), piece.positive.tolist(), strict=True)
    ]
    for number, (image, update, positive) in enumerate(rows):
        state = states[update + positive] if sequence else states[-1 if positive else 0]
        for at, edge in enumerate(watched.pattern.edges):
            ways = [(image[edge.source], image[edge.target])]
            if edge.directed is False and world.directed:
                ways.append(ways[0][::-1])
            served = [
                copy
                for copy in state
                if copy.key in [world.key(*ends, copy.key[2]) for ends in ways]
                and (edge.labels is None or copy.key[2] in edge.labels)
                and truth(edge.where, dict(zip("xy", copy.values, strict=True)))
            ]
            assert edges[at][number] == served[0].values


def _add(
    expected: list[Counter[Any]], world: World, watched: list[Watched], number: int, semantics: str
) -> None:
    for at, one in enumerate(watched):
        for (sign, row), count in one.changes(world, semantics).items():
            expected[at][number, sign, row] += count


def _refuse(monitors: list[mf.Monitor], updates: mf.Updates) -> None:
    """A call that is undone changes nothing."""
    before = [_copies_of(monitor.snapshot()) for monitor in monitors]

    def refuse(found: object) -> None:
        raise _Refused

    class Refusing(mf.stream.Sink):
        def flush(self) -> None:
            raise _Refused

        def write(self, found: object) -> None:
            pass

    for monitor, copies in zip(monitors, before, strict=True):
        try:
            if monitor.lists_matches:
                monitor.run([updates], Refusing())
        except (_Refused, mf.OutputError):
            pass
        wrong = updates.with_more(None, None, {"y": np.arange(len(updates))})
        # Self-loops are left out, whatever they bring; where no values were put, integers may come.
        loops_only = bool(np.all(updates.sources == updates.targets))
        if monitor.attribute_kinds().get("y") == "strings" and not loops_only:
            with pytest.raises(mf.StreamError, match="expected strings as before"):
                monitor.apply(wrong)
        assert _copies_of(monitor.snapshot()) == copies


def _saved_and_loaded(monitor: mf.Monitor) -> mf.Monitor:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "monitor")
        monitor.save(path)
        monitor.close()
        return mf.Monitor.load(path)


def _copies_of(graph: mf.Graph) -> Counter[Any]:
    edges = graph.to_edges()
    labels = [0] * len(edges.src) if edges.labels is None else edges.labels.tolist()
    keys = [
        key
        for *key, copies in zip(
            edges.src.tolist(), edges.dst.tolist(), labels, edges.multiplicity.tolist(), strict=True
        )
        for _ in range(copies)
    ]
    columns = [
        graph.edge_attributes[name].to_list() if name in graph.edge_attributes else [None] * len(keys)
        for name in ("x", "y")
    ]
    return Counter(
        ((*((u, v) if graph.directed or u < v else (v, u)), label), values)
        for (u, v, label), values in zip(keys, zip(*columns, strict=True), strict=True)
    )
