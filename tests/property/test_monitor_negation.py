"""Negated edges and induced patterns on graphs that change: beside counting anew by the reference."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.cpu import reference
from tests.negation import negated_edges, with_negated
from tests.strategies import Case, cases, rows_of

DEPTHS = ["default", pytest.param("long", marks=pytest.mark.long)]
Row = tuple[Any, ...]
Edge = tuple[int, int, Any]
Step = tuple[bool, int, int, Any]


@dataclass
class World:
    """A case whose edges come and go, and a pattern on it."""

    case: Case
    negated: tuple[reference.NegatedEdge, ...]
    semantics: str
    symmetry: str
    copies: Counter[Edge]

    @classmethod
    def of(cls, case: Case, negated: tuple[Any, ...], semantics: str, symmetry: str) -> World:
        world = cls(case, negated, semantics, symmetry, Counter())
        labels = case.edge_labels or [0] * len(case.edges)
        for (u, v), label in zip(case.edges, labels, strict=True):
            world.copies[world.key(u, v, label)] += 1
        return world

    def key(self, u: int, v: int, label: Any) -> Edge:
        return (u, v, label) if self.case.directed or u < v else (v, u, label)

    def step(self, inserts: bool, u: int, v: int, label: Any) -> None:
        """Apply an update."""
        key = self.key(u, v, label)
        if inserts:
            self.copies[key] += 1
        elif self.copies[key]:
            self.copies[key] -= 1

    def matches(self) -> set[Row]:
        """All matches; of each occurrence, the least embedding."""
        case = self.case
        edges = [key for key, copies in self.copies.items() if copies]
        found = reference.embeddings(
            len(case.ids),
            [(u, v) for u, v, _ in edges],
            case.pattern_vertex_labels,
            case.pattern_edges,
            directed=case.directed,
            vertex_labels=case.vertex_labels,
            edge_labels=[label for *_, label in edges],
            semantics=self.semantics,
            negated=self.negated,
        )
        return set(map(self.least, found))

    def least(self, image: Row) -> Row:
        """Return the least embedding of an occurrence; a monitor gives another one, by its own numbers."""
        if self.symmetry == "embeddings":
            return image
        return min(tuple(image[at] for at in moved) for moved in self.group)

    @cached_property
    def group(self) -> set[tuple[int, ...]]:
        """All automorphisms of the pattern."""
        case = self.case
        return reference.automorphisms(
            case.pattern_vertex_labels, case.pattern_edges, directed=case.directed, negated=self.negated
        )

    def pattern(self) -> mf.Pattern:
        return with_negated(self.case.pattern(), self.negated)

    def monitor(self, **options: Any) -> mf.Monitor:
        return mf.Monitor(
            self.case.graph(vertex_ids=np.array(self.case.ids, dtype=np.int64)),
            self.pattern(),
            semantics=self.semantics,
            symmetry=self.symmetry,
            device="cpu",
            **options,
        )


def is_small(case: Case) -> bool:
    """Whether the reference takes little time: it tries all maps after each update."""
    return 3 <= len(case.ids) <= 6 and len(case.pattern_vertex_labels) <= 4


def apart(case: Case, negated: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the negated edges between vertices that no edge joins, and to any vertex."""
    joined = {frozenset((u, v)) for u, v, *_ in case.pattern_edges}
    return tuple(one for one in negated if frozenset(one[:2]) not in joined)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[World, list[Step], dict[str, Any]]:
    """Draw a world, updates of it, and options of a monitor."""
    directed, labels = draw(st.booleans()), draw(st.sampled_from(["none", "vertex", "edge", "both"]))
    case = draw(cases(directed, labels).filter(is_small))
    case = Case(
        case.directed, tuple(range(len(case.ids))), "numbered", case.edges, case.vertex_labels,
        case.edge_labels, case.pattern_vertex_labels, case.pattern_edges,
    )  # fmt: skip
    semantics = draw(st.sampled_from(["isomorphism", "isomorphism", "induced", "homomorphism"]))
    least = 0 if semantics == "induced" else 1
    negated = draw(negated_edges(case, pairs_only=draw(st.booleans()))) if draw(st.integers(least, 3)) else ()
    symmetry = draw(st.sampled_from(["embeddings", "subgraphs"]))
    if semantics == "homomorphism":
        symmetry = "embeddings"
        negated = apart(case, negated)
    choices = sorted(set(case.edge_labels or [0]), key=str)
    vertices = st.integers(0, len(case.ids) - 1)
    there = [(u, v) for u, v in case.edges] or [(0, 1)]
    pair = st.sampled_from(there) | st.tuples(vertices, vertices).filter(lambda ends: ends[0] != ends[1])
    update = st.tuples(st.booleans(), pair, st.sampled_from(choices))
    steps = [(inserts, u, v, label) for inserts, (u, v), label in draw(st.lists(update, max_size=14))]
    options = {
        "threads": draw(st.sampled_from([1, 1, 3])),
        "tuning": private_tuning(
            {
                "at_once": draw(st.sampled_from(["auto", "on", "off"])),
                "orbits": draw(st.sampled_from(["on", "on", "off"])),
                "put_off": draw(st.sampled_from(["on", "off"])),
                "filter": draw(st.sampled_from(["mask", "nlf", "none"])),
            }
        ),
    }
    return World.of(case, negated, semantics, symmetry), steps, options


def as_updates(world: World, steps: list[Step]) -> list[tuple[Any, ...]]:
    labelled = world.case.edge_labels is not None
    return [("+" if inserts else "-", u, v, *([label] if labelled else [])) for inserts, u, v, label in steps]


def changes_of(delta: Any, least: Callable[[Row], Row] = tuple) -> Counter[tuple[bool, Row]]:
    """The rows that a monitor gives, by sign."""
    found = delta[0]
    assert len(found.appeared()) == found.positive
    assert len(found.vanished()) == found.negative
    return Counter((True, least(tuple(row))) for row in found.appeared().tolist()) + Counter(
        (False, least(tuple(row))) for row in found.vanished().tolist()
    )


def difference(before: set[Row], after: set[Row]) -> Counter[tuple[bool, Row]]:
    return Counter({(True, row): 1 for row in after - before} | {(False, row): 1 for row in before - after})


@pytest.mark.parametrize("depth", DEPTHS)
def test_each_update_brings_and_takes_the_matches_of_the_reference(depth: str) -> None:
    @settings(settings.get_profile(depth))
    @given(worlds())
    def holds(drawn: tuple[World, list[Step], dict[str, Any]]) -> None:
        world, steps, options = drawn
        counts: list[tuple[int, int]] = []
        before = world.matches()
        with world.monitor(matches=True, **options) as monitor:
            for step, update in zip(steps, as_updates(world, steps), strict=True):
                world.step(*step)
                after = world.matches()
                delta = monitor.apply([update])
                assert changes_of(delta, world.least) == difference(before, after)
                counts.append((delta[0].positive, delta[0].negative))
                before = after

    holds()


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("matches", [True, False])
def test_a_sequence_tells_the_changes_of_each_update(matches: bool, depth: str) -> None:
    @settings(settings.get_profile(depth))
    @given(worlds())
    def holds(drawn: tuple[World, list[Step], dict[str, Any]]) -> None:
        world, steps, options = drawn
        with world.monitor(matches=matches, **options) as monitor:
            expected: Counter[tuple[int, int]] = Counter()
            rows: Counter[tuple[bool, Row]] = Counter()
            before = world.matches()
            for number, step in enumerate(steps):
                world.step(*step)
                after = world.matches()
                changed = difference(before, after)
                for (appears, _), count in changed.items():
                    expected[number, 1 if appears else -1] += count
                rows += changed
                before = after
            delta = monitor.apply(as_updates(world, steps))
            found = delta[0]
            told = zip(found.updates.tolist(), found.signs.tolist(), list(found.matches), strict=True)
            assert Counter({(update, sign): int(count) for update, sign, count in told}) == expected
            assert found.positive - found.negative == sum(sign * n for (_, sign), n in expected.items())
            if matches:
                assert changes_of(delta, world.least) == rows
            assert monitor.count(found.pattern) == len(before)

    holds()


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("matches", [True, False])
def test_a_batch_tells_what_is_there_only_after_it_or_only_before(matches: bool, depth: str) -> None:
    @settings(settings.get_profile(depth))
    @given(worlds(), st.integers(1, 3))
    def holds(drawn: tuple[World, list[Step], dict[str, Any]], parts: int) -> None:
        world, steps, options = drawn
        with world.monitor(matches=matches, mode="batch", **options) as monitor:
            size = -(-len(steps) // parts) or 1
            for first in range(0, len(steps), size):
                some = steps[first : first + size]
                before = world.matches()
                for step in some:
                    world.step(*step)
                expected = difference(before, world.matches())
                delta = monitor.apply(as_updates(world, some))
                assert delta[0].positive == sum(n for (appears, _), n in expected.items() if appears)
                assert delta[0].negative == sum(n for (appears, _), n in expected.items() if not appears)
                if matches:
                    assert changes_of(delta, world.least) == expected

    holds()


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("mode", ["sequence", "batch"])
def test_a_window_takes_edges_and_brings_what_they_kept_away(mode: str, depth: str) -> None:
    @settings(settings.get_profile(depth))
    @given(worlds(), st.integers(1, 4))
    def holds(drawn: tuple[World, list[Step], dict[str, Any]], window: int) -> None:
        world, steps, options = drawn
        steps = [(True, u, v, label) for _, u, v, label in steps]
        with world.monitor(mode=mode, window=window, matches=True, **options) as monitor:
            standing = Counter(world.copies)
            for number in range(len(steps)):
                before = world.matches()
                last = steps[max(0, number + 1 - window) : number + 1]
                world.copies = standing + Counter(world.key(u, v, label) for _, u, v, label in last)
                delta = monitor.apply(as_updates(world, steps[number : number + 1]))
                found = changes_of(delta, world.least)
                if mode == "batch":
                    assert found == difference(before, world.matches())
                else:  # an edge that leaves and the one that comes are two updates
                    net: Counter[Row] = Counter()
                    for (appears, row), count in found.items():
                        net[row] += count if appears else -count
                    after = world.matches()
                    assert {row: n for row, n in net.items() if n} == {
                        row: (1 if row in after else -1) for row in before ^ after
                    }

    holds()


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_saved_monitor_goes_on(depth: str) -> None:
    @settings(settings.get_profile(depth))
    @given(worlds(), st.integers(0, 14))
    def holds(drawn: tuple[World, list[Step], dict[str, Any]], cut: int) -> None:
        world, steps, options = drawn
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "saved.monitor"
            with world.monitor(matches=True, **options) as monitor:
                monitor.apply(as_updates(world, steps[:cut]))
                monitor.save(path)
                wanted = monitor.apply(as_updates(world, steps[cut:]))
                with mf.Monitor.load(path) as loaded:
                    assert loaded.patterns == monitor.patterns
                    assert changes_of(loaded.apply(as_updates(world, steps[cut:]))) == changes_of(wanted)

    holds()


@pytest.mark.parametrize("depth", DEPTHS)
def test_several_patterns_do_not_disturb_each_other(depth: str) -> None:
    @settings(settings.get_profile(depth))
    @given(worlds(), st.data(), st.sampled_from(["sequence", "batch"]))
    def holds(drawn: tuple[World, list[Step], dict[str, Any]], data: st.DataObject, mode: str) -> None:
        world, steps, options = drawn
        plain = world.case.pattern()
        others = data.draw(negated_edges(world.case))
        more = with_negated(plain, apart(world.case, others) if world.semantics == "homomorphism" else others)
        patterns = list(dict.fromkeys([world.pattern(), plain, more]))
        graph, updates = (
            world.case.graph(vertex_ids=np.array(world.case.ids, dtype=np.int64)),
            as_updates(world, steps),
        )
        common: dict[str, Any] = {
            "mode": mode,
            "semantics": world.semantics,
            "symmetry": world.symmetry,
            "device": "cpu",
            **options,
        }
        with mf.Monitor(graph, patterns, **common) as together:
            delta = together.apply(updates)
        for pattern in patterns:
            with mf.Monitor(graph, pattern, **common) as alone:
                found = alone.apply(updates)[0]
            assert (delta[pattern].positive, delta[pattern].negative) == (found.positive, found.negative)

    holds()


AMOUNTS = [1, 5, 20, None]


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("mode", ["sequence", "batch"])
def test_conditions_on_negated_edges_are_about_each_copy(mode: str, depth: str) -> None:
    vertices = st.integers(0, 4)
    pair = st.tuples(vertices, vertices).filter(lambda ends: ends[0] != ends[1])
    update = st.tuples(st.booleans(), pair, st.sampled_from(AMOUNTS))

    @settings(settings.get_profile(depth))
    @given(
        st.lists(update, max_size=12),
        st.sampled_from(
            [
                "(a)-->(b)-->(c), NOT (c)-[WHERE amount > 3]->(a)",
                "(a)-[x WHERE x.amount < 10]->(b), NOT (b)-[WHERE amount > 3]->(a)",
                "(a)-->(b)-->(c), NOT (a)-[WHERE amount IS NULL]-(c), NOT (b)-->(a)",
            ]
        ),
    )
    def holds(updates: list[tuple[bool, tuple[int, int], int | None]], text: str) -> None:
        empty = mf.Graph.from_edges([], num_vertices=5, directed=True)
        copies: list[tuple[int, int, int | None]] = []

        def now() -> set[Row]:
            graph = mf.Graph.from_edges(
                [(u, v) for u, v, _ in copies],
                num_vertices=5,
                directed=True,
                edge_attributes={"amount": [amount for *_, amount in copies] or []},
            )
            return set(rows_of(mf.match(graph, text))) if copies else set()

        with mf.Monitor(empty, text, matches=True, mode=mode, attributes=["amount"]) as monitor:
            before: set[Row] = set()
            for inserts, (u, v), amount in updates:
                if inserts:
                    copies.append((u, v, amount))
                    delta = monitor.apply([("+", u, v)], attributes={"amount": [amount]})
                else:
                    oldest = next((one for one in copies if one[:2] == (u, v)), None)
                    if oldest is not None:
                        copies.remove(oldest)
                    delta = monitor.apply([("-", u, v)])
                after = now()
                assert changes_of(delta) == difference(before, after)
                before = after

    holds()


def test_what_a_monitor_cannot_negate_is_refused_by_name() -> None:
    graph = mf.Graph.from_edges([(0, 1)], directed=True)
    with pytest.raises(mf.ArgumentError, match="between vertices that no edge joins"):
        mf.Monitor(graph, "(a)-->(b)-->(c), NOT (c)-->(b)", semantics="homomorphism")
    with pytest.raises(mf.ArgumentError, match="no conditions on degrees"):
        mf.Monitor(graph, "(a)-->(b) WHERE degree(a) > 1 AND NOT (b)-->()")
    long = "(v0)" + "".join(f"-->(v{at})" for at in range(1, 32))
    with pytest.raises(
        mf.ArgumentError, match="at most 31 query vertices beside negated edges to any vertex"
    ):
        mf.Monitor(graph, f"{long}, NOT (v31)-->()")
    with mf.Monitor(graph, f"{long.removesuffix('-->(v31)')}, NOT (v30)-->()") as monitor:
        assert monitor.apply([("+", at, at + 1) for at in range(1, 30)])[0].positive == 1


@pytest.mark.parametrize(
    ("pattern", "directed", "embeddings", "occurrences"),
    [
        ("(a)-[:p]-(b)-[:p]-(c), NOT (a)-[:q]-(), NOT (c)-[:q]-()", False, 2, 1),
        (
            "(a)-[:p]-(b)-[:p]-(c), NOT (a)-[:q]-(), NOT (b)-[:q]-(), NOT (c)-[:q]-(), NOT (a)-[:q]-(c)",
            False,
            2,
            1,
        ),
        ("(a)-[:p]-(b)-[:p]-(c), NOT (a)-[:q]->(), NOT ()-[:q]->(c)", True, 2, 2),
        ("(a)-[:p]-(b)-[:p]-(c), NOT (a)-[:q]-(), NOT (c)-[:q]->(:0)", True, 2, 2),
        ("(a)-[:p]-(b)-[:p]-(c), NOT (a)-[:q]->(), NOT (a)<-[:q]-(), NOT (a)-[:q]-(c)", True, 2, 2),
    ],
)
@pytest.mark.parametrize("mode", ["sequence", "batch"])
def test_an_edge_that_both_of_its_ends_must_not_have_takes_each_match_once(
    mode: str, pattern: str, directed: bool, embeddings: int, occurrences: int
) -> None:
    graph = mf.Graph.from_edges([(0, 1), (1, 2)], edge_labels=["p", "p"], directed=directed)
    for symmetry, number in (("embeddings", embeddings), ("subgraphs", occurrences)):
        for orbits in ("on", "off"):
            tuning = private_tuning({"orbits": orbits})
            options: dict[str, Any] = {"mode": mode, "symmetry": symmetry, "tuning": tuning}
            with mf.Monitor(graph, pattern, matches=True, **options) as monitor:
                watched = monitor.patterns[0]
                assert monitor.count(watched) == number
                came = monitor.apply([("+", 0, 2, "q")])[0]
                lost = number - int(monitor.count(watched))
                assert lost >= 1
                assert (came.positive, came.negative, len(came.vanished())) == (0, lost, lost)
                went = monitor.apply([("-", 0, 2, "q")])[0]
                assert (went.positive, went.negative, len(went.appeared())) == (lost, 0, lost)
    with mf.Monitor(graph, pattern, semantics="homomorphism", matches=True, mode=mode) as monitor:
        for change in "+-":
            before = int(monitor.count(monitor.patterns[0]))
            found = monitor.apply([(change, 0, 2, "q")])[0]
            rows = [*found.appeared().tolist(), *found.vanished().tolist()]
            assert len({tuple(row) for row in rows}) == len(rows) == abs(found.net)
            assert found.net == int(monitor.count(found.pattern)) - before


def test_the_last_edge_of_a_vertex_brings_matches_as_it_goes() -> None:
    graph = mf.Graph.from_edges([(0, 1), (1, 2), (1, 3)], directed=True)
    with mf.Monitor(graph, "(a)-->(b), NOT (b)-->()", matches=True) as monitor:
        assert "NOT (b, any vertex); then a" in monitor.explain()
        first, second = (monitor.apply([("-", 1, end)])[0] for end in (2, 3))
        assert (first.positive, first.vanished().tolist()) == (0, [[1, 2]])
        assert (second.appeared().tolist(), second.vanished().tolist()) == ([[0, 1]], [[1, 3]])
        back = monitor.apply([("+", 1, 0)])[0]
        assert (back.appeared().tolist(), back.vanished().tolist()) == ([], [[0, 1]])


def test_an_engine_of_a_gpu_hands_over_by_name() -> None:
    graph = mf.Graph.from_edges([(0, 1)], directed=True)
    with pytest.warns(mf.MotifluxWarning, match="negated edges"):
        monitor = mf.Monitor(graph, "(a)-->(b), NOT (b)-->(a)", device="cuda")
    with monitor:
        delta = monitor.apply([("+", 1, 2), ("+", 2, 1)])
    assert (delta.engine, delta[0].positive, delta[0].negative) == ("cpu", 1, 1)
    assert "negated edges" in delta.reason


def test_an_insertion_may_take_matches_and_bring_others() -> None:
    graph = mf.Graph.from_edges([(0, 1), (1, 2), (3, 2)], directed=True)
    with mf.Monitor(graph, "(a)-->(b)-->(c), NOT (c)-->(a)", matches=True) as monitor:
        delta = monitor.apply([("+", 2, 0)])
        assert delta[0].appeared().tolist() == [[3, 2, 0]]
        assert delta[0].vanished().tolist() == [[0, 1, 2]]
        assert delta[0].signs.tolist() in ([1, -1], [-1, 1])
        assert "NOT (" in monitor.explain()
