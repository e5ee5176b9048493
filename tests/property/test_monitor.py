"""Monitors beside recounting: whatever edges do, the matches that come and go are those of the reference."""

from __future__ import annotations

import dataclasses
import tempfile
from collections import Counter, deque
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.cpu import reference
from motiflux.stream import VertexLabels
from tests import strategies
from tests.strategies import ABSENT, LABELS

MOST_VERTICES = 7
EdgeKey = tuple[int, int, Any]


class Watched:
    """A pattern, and what the reference says of it."""

    def __init__(
        self, world: World, labels: tuple[Any, ...], edges: tuple[Any, ...], coinciding: Any
    ) -> None:
        self.world = world
        case = strategies.Case(world.directed, (), "ids", (), None, None, labels, edges)
        self.case = case
        self.pattern = dataclasses.replace(case.pattern(), may_coincide=coinciding)
        self.coinciding = coinciding
        self.automorphisms = case.automorphisms()
        self.given: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        self.now = self.matches()

    def matches(self) -> set[tuple[Any, ...]]:
        """What is in the graph now; for subgraphs, the least embedding of each occurrence."""
        world = self.world
        edges = [key for key, copies in world.copies.items() if copies]
        found = reference.embeddings(
            len(world.ids),
            [(u, v) for u, v, _ in edges],
            self.case.pattern_vertex_labels,
            self.case.pattern_edges,
            directed=world.directed,
            vertex_labels=world.vertex_labels,
            edge_labels=[label for *_, label in edges],
            semantics=world.semantics,
            may_coincide=self.coinciding,
        )
        return {self.least(image) for image in found}

    def least(self, image: tuple[Any, ...]) -> tuple[Any, ...]:
        if self.world.symmetry == "embeddings":
            return image
        return min(tuple(image[at] for at in moved) for moved in self.automorphisms)

    def at_vertices(self, place: int) -> Counter[int]:
        """The matches now at the images of a query vertex; of an occurrence, one at each image."""
        if self.world.symmetry == "embeddings":
            return Counter(row[place] for row in self.now)
        images = {moved[place] for moved in self.automorphisms}
        return Counter(row[image] for row in self.now for image in images)

    def changes(self) -> Counter[tuple[bool, tuple[Any, ...]]]:
        """What came (True) and went since the last call."""
        before, self.now = self.now, self.matches()
        return Counter(
            {(True, row): 1 for row in self.now - before} | {(False, row): 1 for row in before - self.now}
        )


class World:
    """A graph whose edges come and go, in plain Python."""

    def __init__(
        self, case: strategies.Case, options: dict[str, Any], edge_times: list[float | None] | None
    ) -> None:
        self.directed = case.directed
        self.ids = list(case.ids)
        self.vertex_labels = list(case.vertex_labels or [0] * len(case.ids))
        self.copies: Counter[EdgeKey] = Counter()
        self.semantics, self.symmetry = options["semantics"], options["symmetry"]
        self.ignores = options["duplicates"] == "ignore"
        self.window, self.timed = options["window"], isinstance(options["window"], float)
        self.queue: deque[tuple[EdgeKey, float]] = deque()
        self.came = 0
        labels = case.edge_labels or [0] * len(case.edges)
        in_window: list[tuple[float, EdgeKey]] = []
        times = edge_times or [None] * len(case.edges)
        for (u, v), label, time in zip(case.edges, labels, times, strict=True):
            key = self.key(u, v, label)
            if time is not None:
                in_window.append((time, key))
            else:
                self.copies[key] = 1 if self.ignores else self.copies[key] + 1
        for time, key in sorted(in_window):
            for _ in self.steps(True, key, time):
                pass

    def key(self, u: int, v: int, label: Any) -> EdgeKey:
        return (u, v, label) if self.directed or u < v else (v, u, label)

    def steps(self, inserts: bool | None, key: EdgeKey | None, time: float) -> Any:
        """Apply one update step by step: what leaves the window first."""
        if self.window is not None and self.timed:
            yield from self._expire(time)
        if key is None:  # only time has passed
            return
        if inserts and self.ignores and self.copies[key]:
            return
        if inserts and self.window is not None:
            self.came += 1
            if not self.timed:
                yield from self._expire(self.came)
            self.queue.append((key, time if self.timed else self.came))
        if inserts:
            self.copies[key] += 1
        elif self.copies[key]:
            self.copies[key] -= 1
            queued = next((entry for entry in self.queue if entry[0] == key), None)
            if queued is not None:
                self.queue.remove(queued)
        yield

    def _expire(self, now: float) -> Any:
        while self.queue and self.queue[0][1] + self.window <= now:
            key, _ = self.queue.popleft()
            self.copies[key] -= 1
            yield


@st.composite
def worlds(draw: st.DrawFn) -> tuple[strategies.Case, dict[str, Any]]:
    """Draw a graph and what a monitor is given with it."""
    directed = draw(st.booleans())
    vertex_kind = draw(st.sampled_from((None, None, "int", "str")))
    edge_kind = draw(st.sampled_from((None, None, "int", "str")))
    size = draw(st.integers(2, 5))
    edges = draw(strategies.data_edges(size))
    case = strategies.Case(
        directed=directed,
        ids=tuple(range(size)),
        universe="ids",
        edges=edges,
        vertex_labels=draw(strategies.label_columns(vertex_kind, size)),
        edge_labels=draw(strategies.label_columns(edge_kind, len(edges))),
        pattern_vertex_labels=(None, None),
        pattern_edges=((0, 1, None, "follow"),),
    )
    names = draw(st.sampled_from((range(100), [f"v{number}" for number in range(100)])))
    ids = draw(st.lists(st.sampled_from(names), min_size=MOST_VERTICES, max_size=MOST_VERTICES, unique=True))
    semantics = draw(st.sampled_from(("isomorphism", "isomorphism", "homomorphism")))
    options = {
        "mode": draw(st.sampled_from(("sequence", "batch"))),
        "semantics": semantics,
        "symmetry": "embeddings"
        if semantics == "homomorphism"
        else draw(st.sampled_from(("embeddings", "subgraphs"))),
        "duplicates": draw(st.sampled_from(("count", "count", "ignore"))),
        "window": draw(st.sampled_from((None, None, 1, 3, 8, 1.0, 3.0, 10.0))),
        "tuning": private_tuning(
            {
                name: draw(st.sampled_from(("on", "off")))
                for name in ("orbits", "tail", "reuse", "at_once", "put_off", "coalesce", "quotients")
            }
            | {"filter": draw(st.sampled_from(("mask", "nlf", "nlf", "none")))}
        ),
        "threads": draw(st.sampled_from((1, 3))),
    }
    edge_times = None
    if options["window"] is not None and options["duplicates"] == "count" and edges and draw(st.booleans()):
        at = st.sampled_from([None, *range(1, 3 * len(edges))])
        edge_times = draw(st.lists(at, min_size=len(edges), max_size=len(edges)))
        known = [time for time in edge_times if time is not None]
        if len(set(known)) < len(known):  # which of them leaves first would be open
            edge_times = list(range(1, len(edges) + 1))
    draws = {"ids": ids, "vertex_kind": vertex_kind, "edge_kind": edge_kind, "edge_times": edge_times}
    return dataclasses.replace(case, ids=tuple(ids[:size])), {"options": options, **draws}


class MonitorMachine(RuleBasedStateMachine):
    """Two monitors, one listing and one counting, beside a world and the reference."""

    placement: ClassVar[dict[str, Any]] = {}
    """Where updates are matched: arguments of both monitors."""
    switches: ClassVar[dict[str, str]] = {}
    """Tuning switches of both monitors, beside those that are drawn."""
    modes: ClassVar[tuple[str, ...]] = ("sequence", "batch")
    """The modes that are drawn."""
    tallies: ClassVar[bool] = False
    """Whether the counting monitor counts at vertices."""

    @initialize(world=worlds(), data=st.data())
    def start(self, world: Any, data: Any) -> None:
        case, drawn = world
        self.options, self.ids = drawn["options"], drawn["ids"]
        if self.options["mode"] not in self.modes:
            self.options["mode"] = self.modes[0]
        self.vertex_kind, self.edge_kind = drawn["vertex_kind"], drawn["edge_kind"]
        times = drawn["edge_times"]
        self.world = World(case, self.options, times)
        self.time = max((time for time in times or [] if time is not None), default=0.0)
        self.watched: list[Watched] = []
        given: dict[str, Any] = self.options | self.placement
        given["tuning"] = {**(given.get("tuning") or {}), **self.switches}
        attributes = {}
        if times is not None and self.time > 0:
            attributes["edge_attributes"] = {"time": times}
            given["edge_times"] = "time"
        graph = case.graph(**attributes)
        self.listing = mf.Monitor(graph, matches=True, **given)
        self.per_vertex = data.draw(st.integers(0, 1)) if self.tallies else None
        self.alert = data.draw(st.sampled_from((None, 1, 2, 4))) if self.tallies else None
        if self.tallies:
            given |= {"per_vertex": self.per_vertex, "alert": self.alert}
            given["alert_down"] = self.alert is not None and data.draw(st.booleans())
            given["matches"] = data.draw(st.sampled_from((False, False, True)))
        self.counting = mf.Monitor(graph, **given)
        self._watch(data)

    @precondition(lambda self: len(self.watched) < 3)
    @rule(data=st.data())
    def watch_one_more(self, data: Any) -> None:
        self._watch(data)

    def _watch(self, data: Any) -> None:
        size = data.draw(st.sampled_from((2, 3, 3, 3, 4)))
        labels = data.draw(strategies.pattern_vertices(size, self.vertex_kind))
        edges = data.draw(strategies.pattern_edges(size, self.world.directed, self.edge_kind))
        coinciding: tuple[tuple[int, int], ...] = ()
        if self.options["symmetry"] == "embeddings" and self.options["semantics"] == "isomorphism":
            joined = {frozenset(edge[:2]) for edge in edges}
            free = [(u, v) for v in range(size) for u in range(v) if frozenset((u, v)) not in joined]
            if free:
                coinciding = tuple(data.draw(st.lists(st.sampled_from(free), max_size=1)))
        watched = Watched(self.world, labels, edges, coinciding)
        if watched.pattern not in self.listing.patterns:
            self.watched.append(watched)
            self.listing.add(watched.pattern)
            self.counting.add(watched.pattern)

    @precondition(lambda self: self.watched)
    @rule(data=st.data())
    def watch_one_less(self, data: Any) -> None:
        gone = self.watched.pop(data.draw(st.integers(0, len(self.watched) - 1)))
        self.listing.drop(gone.pattern)
        self.counting.drop(gone.pattern)

    @rule(data=st.data())
    def update(self, data: Any) -> None:
        updates, applied = self._draw(data)
        self._compare(applied, self.listing.apply(updates), self.counting.apply(updates))

    @rule(data=st.data())
    def update_again(self, data: Any) -> None:  # so that this is drawn more often than others
        self.update(data)

    @precondition(lambda self: isinstance(self.options["window"], float))
    @rule(later=st.integers(0, 4))
    def time_passes(self, later: int) -> None:
        self.time += later
        leaving = [(None, None, self.time)]
        self._compare(leaving, *(one.advance(self.time) for one in (self.listing, self.counting)))

    @precondition(lambda self: not isinstance(self.options["window"], float))
    @rule(data=st.data())
    def update_without_order(self, data: Any) -> None:
        updates, applied = self._draw(data, new_vertices=False)
        order = sorted(range(len(updates)), key=lambda at: bool(updates.inserts[at]))
        applied = [applied[at] for at in order]
        parts = {}
        for name, chosen in (("inserts", updates.inserts), ("deletes", ~updates.inserts)):
            if chosen.any():
                columns = [updates.sources[chosen], updates.targets[chosen]]
                parts[name] = tuple(columns) if updates.labels is None else (*columns, updates.labels[chosen])
        self._compare(applied, self.listing.apply(**parts), self.counting.apply(**parts))

    @rule()
    def save_and_load(self) -> None:
        """Both go on from files: the rows that come must be those that would have come."""
        with tempfile.TemporaryDirectory() as folder:
            for name in ("listing", "counting"):
                path = Path(folder, name)
                getattr(self, name).save(path)
                setattr(self, name, mf.Monitor.load(path, **self.placement))

    @rule(data=st.data())
    def refused(self, data: Any) -> None:
        """A call with one bad update changes nothing, whatever came before it."""
        size = len(self.world.ids)
        vertex_labels = list(self.world.vertex_labels)
        updates, _ = self._draw(data, dry=True)
        wrong = 0 if self.vertex_kind == "str" else 12345
        named = VertexLabels(
            np.array([self.ids[0]]), np.array([wrong]), np.array([len(updates) - 1], dtype=np.int64)
        )
        if updates.vertex_labels is not None:
            return
        before = graph_edges(self.listing.snapshot())
        for monitor in (self.listing, self.counting):
            with pytest.raises(mf.StreamError, match="label"):
                monitor.apply(dataclasses.replace(updates, vertex_labels=named))
        assert graph_edges(self.listing.snapshot()) == before
        assert (self.listing.num_vertices, self.world.vertex_labels) == (size, vertex_labels)

    @invariant()
    def graphs_agree(self) -> None:
        if not hasattr(self, "world"):
            return
        index = {name: vertex for vertex, name in enumerate(self.world.ids)}
        expected = Counter({key: copies for key, copies in self.world.copies.items() if copies})
        for monitor in (self.listing, self.counting):
            found: Counter[EdgeKey] = Counter()
            for (source, target, label), copies in graph_edges(monitor.snapshot()).items():
                found[self.world.key(index[source], index[target], label)] += copies
            if self.world.ignores:  # the graph of the start may have copies
                found = Counter(dict.fromkeys(found, 1))
            assert found == expected
            assert monitor.snapshot().vertex_labels_by_id() == dict(
                zip(self.world.ids, self.world.vertex_labels, strict=True)
            )
        for watched in self.watched:
            if self.per_vertex is not None:
                kept = self.counting.per_vertex(watched.pattern)
                counts = watched.at_vertices(self.per_vertex)
                assert dict(zip(kept.ids.tolist(), kept.counts.tolist(), strict=True)) == {
                    name: counts[vertex] for vertex, name in enumerate(self.world.ids)
                }
            assert int(
                self.counting.count(watched.case.pattern() if not watched.coinciding else watched.pattern)
            ) == len(watched.now)

    def _draw(self, data: Any, *, new_vertices: bool = True, dry: bool = False) -> Any:
        """Draw updates, as `Updates` and as what the world takes."""
        ids, vertex_labels = list(self.world.ids), list(self.world.vertex_labels)
        unseen = [name for name in self.ids if name not in ids]
        names = ids + (unseen[:2] if new_vertices and not dry else [])
        hot = data.draw(
            st.lists(st.tuples(st.sampled_from(names), st.sampled_from(names)), min_size=1, max_size=4)
        )
        kind = self.edge_kind
        labels: Any = st.just(0) if kind is None else st.sampled_from((*LABELS[kind], ABSENT[kind]))
        row = st.tuples(st.booleans(), st.sampled_from(hot), labels, st.integers(0, 3))
        rows = data.draw(st.lists(row, min_size=1, max_size=8))
        met = dict.fromkeys(name for _, (u, v), *_ in rows if u != v for name in (u, v) if name in unseen)
        choice = st.sampled_from(LABELS[self.vertex_kind] if self.vertex_kind else (0,))
        named = {name: data.draw(choice) for name in met}
        ids += named
        vertex_labels += named.values()
        place = {name: at for at, name in enumerate(ids)}
        time, times = self.time, []
        applied: list[tuple[bool, EdgeKey, float] | None] = []
        for inserts, (u, v), label, later in rows:
            if u == v:  # left out, and its time with it
                applied.append(None)
            else:
                time += later
                applied.append((inserts, self.world.key(place[u], place[v], label), time))
            times.append(time)
        if not dry:
            self.time, self.world.ids, self.world.vertex_labels = time, ids, vertex_labels
        updates = mf.Updates(
            np.array([inserts for inserts, *_ in rows]),
            np.array([u for _, (u, _), *_ in rows]),
            np.array([v for _, (_, v), *_ in rows]),
            None if kind is None else np.array([label for *_, label, _ in rows]),
            np.array(times),
            VertexLabels.of(named) if named else None,
        )
        return updates, applied

    def _compare(self, applied: Any, listed: mf.Delta, counted: mf.Delta) -> None:
        sequence = self.options["mode"] == "sequence"
        passings = Passings(self.watched, self.per_vertex, self.alert)
        expected: list[list[Counter[Any]]] = [[] for _ in self.watched]
        by_step: list[list[tuple[int, int, int]]] = [[] for _ in self.watched]
        for number, update in enumerate(applied):
            sums: list[Counter[Any]] = [Counter() for _ in self.watched]
            for _ in () if update is None else self.world.steps(*update):
                if not sequence:
                    continue
                for at, watched in enumerate(self.watched):
                    changes = watched.changes()
                    sums[at] += changes
                    if changes:
                        by_step[at].append((number, 1 if next(iter(changes))[0] else -1, len(changes)))
            if sequence:
                for at, one in enumerate(sums):
                    expected[at].append(one)
                passings.note(number)
        if not sequence:
            expected = [[watched.changes()] for watched in self.watched]
            passings.note(0)
        told = [(one.pattern, one.update, one.vertex, one.before, one.count) for one in counted.alerts]
        assert Counter(told) == Counter(passings.told(self.world.ids, self.counting))
        assert [one.update for one in counted.alerts] == sorted(one.update for one in counted.alerts)
        for at, watched in enumerate(self.watched):
            found = listed[watched.pattern]
            assert by_update(self.world, watched, found, len(expected[at])) == expected[at]
            positive = sum(count for one in expected[at] for (sign, _), count in one.items() if sign)
            negative = sum(sum(one.values()) for one in expected[at]) - positive
            for delta in (found, counted[watched.pattern]):
                assert (delta.positive, delta.negative) == (positive, negative)
                steps = zip(delta.updates.tolist(), delta.signs.tolist(), delta.matches.tolist(), strict=True)
                assert list(steps) == by_step[at]


class Passings:
    """The counts at vertices that pass a threshold, update by update."""

    def __init__(self, watched: list[Watched], place: int | None, alert: int | None) -> None:
        self.watched, self.place, self.alert = watched, place, alert
        self.found: list[tuple[int, int, int, int, int]] = []  # update, pattern, vertex, before, after
        self.before = self._counts()

    def _counts(self) -> list[Counter[int]]:
        return [] if self.place is None else [one.at_vertices(self.place) for one in self.watched]

    def note(self, update: int) -> None:
        """Note what an update has changed."""
        if self.alert is None:
            return
        before, self.before = self.before, self._counts()
        for at, (old, new) in enumerate(zip(before, self.before, strict=True)):
            for vertex in sorted({*old, *new}):
                if (old[vertex] < self.alert) != (new[vertex] < self.alert):
                    self.found.append((update, at, vertex, old[vertex], new[vertex]))

    def told(self, ids: list[Any], monitor: mf.Monitor) -> list[tuple[Any, ...]]:
        """Return what alerts have to say."""
        down = bool(monitor.options.get("alert_down"))
        return [
            (self.watched[at].pattern, update, ids[vertex], before, after)
            for update, at, vertex, before, after in sorted(self.found)
            if after > before or down
        ]


def by_update(world: World, watched: Watched, found: mf.PatternDelta, updates: int) -> list[Counter[Any]]:
    """The rows of each update; those that vanish must be those that were given when they appeared."""
    place = {name: at for at, name in enumerate(world.ids)}
    rows: list[Counter[Any]] = [Counter() for _ in range(updates)]
    for row, update, positive in given_rows(found):
        image = tuple(place[name] for name in row)
        least = watched.least(image)
        if positive:
            watched.given[least] = image
        else:
            assert watched.given.pop(least, image) == image
        rows[update][positive, least] += 1
    return rows


def given_rows(found: mf.PatternDelta) -> list[tuple[Any, int, bool]]:
    """The matches of a delta: the row in external ids, the update and whether it appeared."""
    return [
        row
        for names, piece in found.batches()
        for row in zip(names.tolist(), piece.updates.tolist(), piece.positive.tolist(), strict=True)
    ]


def graph_edges(graph: mf.Graph) -> Counter[tuple[Any, Any, Any]]:
    """How many copies there are of each edge."""
    edges = graph.to_edges()
    labels = [0] * len(edges.src) if edges.labels is None else edges.labels.tolist()
    found: Counter[tuple[Any, Any, Any]] = Counter()
    for *key, copies in zip(
        edges.src.tolist(), edges.dst.tolist(), labels, edges.multiplicity.tolist(), strict=True
    ):
        found[tuple(key)] += copies
    return found


TestMonitorMachine = MonitorMachine.TestCase
TestMonitorMachine.settings = settings(stateful_step_count=16, deadline=None)
