"""The call `sample`: embeddings at random."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.api import random_rows
from motiflux.dispatch import choose
from motiflux.errors import DeviceError
from motiflux.sampling import random_trees
from tests.interrupts import ctrl_c_in_native_code
from tests.strategies import rows_of
from tests.unit.auto_sampler_cases import FakeGpu
from tests.unit.sampling_cases import CASES, SamplingCase
from tests.unit.test_trawling import CUBIC, cubic, cycle

TRIANGLE = "(a)--(b)--(c)--(a)"


@pytest.mark.turns(8)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_embedding_comes_as_often_as_any_other(case: SamplingCase) -> None:
    expected = set(rows_of(mf.match(case.graph, case.pattern, semantics=case.semantics, device="cpu")))
    often = max(5, min(50, 50_000 // len(expected)))
    wanted = often * len(expected)
    found = mf.sample(case.graph, case.pattern, wanted, semantics=case.semantics, seed=2)
    rows = rows_of(found)
    assert (len(rows), found.complete) == (wanted, True)
    seen = Counter(rows)
    assert set(seen) <= expected
    squares = sum((seen[row] - often) ** 2 / often for row in expected)
    freedom = len(expected) - 1
    assert squares < freedom + 5 * (2 * freedom) ** 0.5 + 10


def test_a_seed_gives_one_list_of_rows_on_any_number_of_threads() -> None:
    case = CASES[0]
    found = [
        mf.sample(case.graph, case.pattern, 5000, seed=4, threads=threads).to_numpy() for threads in (1, 2, 5)
    ]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
    other = mf.sample(case.graph, case.pattern, 5000, seed=5).to_numpy()
    assert not np.array_equal(found[0], other)


def test_more_rows_begin_with_those_of_fewer() -> None:
    case = CASES[4]
    few = mf.sample(case.graph, case.pattern, 100).to_numpy()
    many = mf.sample(case.graph, case.pattern, 3000).to_numpy()
    np.testing.assert_array_equal(few, many[:100])


def test_ids_are_those_of_the_graph() -> None:
    graph = mf.Graph.from_edges([("ann", "bob"), ("bob", "cy")], directed=True)
    assert mf.sample(graph, "(a)-->(b)-->(c)", 2).to_numpy().tolist() == [["ann", "bob", "cy"]] * 2


@pytest.mark.parametrize("pattern", ["(a:9)--(b)", "(a)--(b)--(c)--(d)--(a)--(c), (b)--(d)"])
def test_where_nothing_matches_there_are_no_rows(pattern: str) -> None:
    graph = mf.Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
    found = mf.sample(graph, pattern, 10)
    assert len(found.to_numpy()) == 0
    assert found.complete


def test_a_timeout_gives_the_rows_there_are() -> None:
    edges = [(u, v) for u in range(300) for v in range(300, 600)] + [(0, 1)]
    graph = mf.Graph.from_edges(edges)
    found = mf.sample(graph, "(a)--(b)--(c)--(a), (a)--(d), (b)--(e), (c)--(f)", 10**12, timeout=0.3)
    rows = found.to_numpy()
    assert not found.complete
    assert len({len(set(row)) for row in rows.tolist()} - {6}) == 0


def test_no_rows_may_be_asked_for() -> None:
    assert mf.sample(CASES[0].graph, TRIANGLE, 0).complete is None
    assert mf.sample(CASES[0].graph, TRIANGLE, 0).to_numpy().shape == (0, 3)


@pytest.mark.parametrize(
    ("k", "options", "message"),
    [(-1, {}, "k: expected an integer from 0"), (1, {"seed": 1.5}, "seed: expected an integer")],
)
def test_what_makes_no_sense_is_refused(k: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(mf.ArgumentError, match=message):
        mf.sample(CASES[0].graph, TRIANGLE, k, **options)


def test_an_interrupt_ends_it() -> None:
    with pytest.raises(KeyboardInterrupt), ctrl_c_in_native_code():
        mf.sample(CASES[0].graph, TRIANGLE, 10**11).to_numpy()


def test_the_search_for_one_has_the_time_that_drawing_left(monkeypatch: pytest.MonkeyPatch) -> None:
    given = []

    def draw(graph: Any, seed: int, first: int, asked: int, threads: int, timeout: float) -> Any:
        time.sleep(0.2)
        return np.empty((0, 3), np.uint32), asked

    def count(graph: Any, pattern: Any, **options: Any) -> Any:
        given.append(options["timeout"])
        return mf.count(graph, pattern)

    monkeypatch.setattr(random_rows, "_DOUBTFUL", 1)
    monkeypatch.setattr(random_trees._native, "draw_embeddings", draw)
    monkeypatch.setattr(random_rows, "count", count)
    square = mf.Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)])
    found = mf.sample(square, TRIANGLE, 5, timeout=0.5, tuning={"candidates": "off"})
    assert (len(found.to_numpy()), found.complete) == (0, True)
    assert len(given) == 1
    assert given[0] <= 0.3


def test_the_search_for_one_is_where_trees_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    given = []

    def count(graph: Any, pattern: Any, **options: Any) -> Any:
        given.append((options["device"], options["gpu_memory"]))
        return mf.count(graph, pattern)

    monkeypatch.setattr(random_rows, "_DOUBTFUL", 1)
    monkeypatch.setattr(random_rows, "count", count)
    square = mf.Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)])
    options: dict[str, Any] = {"gpu_memory": 1 << 20, "tuning": {"candidates": "off"}}
    assert len(mf.sample(square, TRIANGLE, 5, device="cpu", **options).to_numpy()) == 0
    assert given == [("cpu", 1 << 20)]


def test_time_that_is_up_before_rows_are_narrowed_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(graph: Any, plan: Any, threads: int, deadline: float | None = None) -> Any:
        assert deadline is not None
        raise TimeoutError

    monkeypatch.setattr(random_rows, "sample_graph", late)
    found = mf.sample(CASES[0].graph, TRIANGLE, 5, timeout=60.0)
    assert (len(found.to_numpy()), found.complete) == (0, False)


class TestWhereTreesAreDrawn:
    RARE: tuple[Any, ...] = (cubic(600, 8), cycle(8), 50)

    def test_is_the_cpu_where_there_is_no_gpu(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(choose, "GPU", FakeGpu(absent="no GPU was found"))
        found = mf.sample(*self.RARE)
        assert (found.device, found.reason) == ("cpu", "no GPU was found")
        assert mf.sample(*self.RARE, device="cpu").reason == "asked for by device='cpu'"

    def test_is_the_gpu_where_hardly_any_is_an_embedding(self, monkeypatch: pytest.MonkeyPatch) -> None:
        gpu = FakeGpu()
        monkeypatch.setattr(random_trees, "_CALL", 0.0)
        monkeypatch.setattr(choose, "GPU", gpu)
        found = mf.sample(*self.RARE)
        assert (found.device, len(gpu.made)) == ("fake", 1)
        assert "on the CPU" in found.reason
        np.testing.assert_array_equal(found.to_numpy(), mf.sample(*self.RARE, device="cpu").to_numpy())

    def test_is_the_cpu_where_most_are(self, monkeypatch: pytest.MonkeyPatch) -> None:
        gpu = FakeGpu()
        monkeypatch.setattr(choose, "GPU", gpu)
        found = mf.sample(CUBIC, "(a)--(b)--(c)", 5000)
        assert (found.device, gpu.made) == ("cpu", [])
        assert "on the GPU" in found.reason

    @pytest.mark.parametrize("opens", [True, False])
    def test_is_the_cpu_again_where_the_gpu_refuses(
        self, opens: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        error = DeviceError("it is full")
        gpu = FakeGpu(fails=[error]) if opens else FakeGpu(error=error)
        monkeypatch.setattr(random_trees, "_CALL", 0.0)
        monkeypatch.setattr(choose, "GPU", gpu)
        found = mf.sample(*self.RARE)
        if opens:
            with pytest.warns(mf.MotifluxWarning, match="it is full; the CPU goes on"):
                rows = found.to_numpy()
        else:
            rows = found.to_numpy()
            assert found.reason == "the GPU cannot do it: it is full"
        np.testing.assert_array_equal(rows, mf.sample(*self.RARE, device="cpu").to_numpy())


def labelled() -> mf.Graph:
    rng = np.random.default_rng(5)
    pairs = [(u, v) for u, v in rng.integers(0, 14, (70, 2)).tolist() if u != v]
    return mf.Graph.from_edges(
        pairs,
        directed=True,
        num_vertices=14,
        edge_labels=rng.choice(["p", "q", "r"], len(pairs)).tolist(),
        edge_attributes={"t": rng.integers(0, 9, len(pairs)).tolist()},
    )


MIXED = [
    ("(a)-->(b)-->(c), NOT (c)-[:p]->(a), NOT (a)-[:q]->(c), NOT (b)-[:q]->(a)", "isomorphism"),
    ("(a)-[:p]->(b)-->(c), NOT (c)-[:p]->(a)", "induced"),
    ("(a)-[:p*1..3]->(b)", "isomorphism"),
    ("(a)-[:p]->(b)-[:q*1..2]->(c), NOT (c)-[:r]->(a), NOT (c)-[:q]->(a)", "isomorphism"),
    ("(a)-[:p]->(b) OPTIONAL (b)-[:r]->(c)", "isomorphism"),
    ("(a)-[x:p]->(b)-[y]->(c) WHERE x.t > 6 OR y.t > 6", "isomorphism"),
    ("(a)-[:p]->(b) OPTIONAL (b)-[:r]->(c)", "homomorphism"),
]


@pytest.mark.turns(4)
@pytest.mark.parametrize("symmetry", ["embeddings", "subgraphs"])
@pytest.mark.parametrize(("text", "semantics"), MIXED)
def test_rows_of_queries_and_beside_negated_edges_of_several_kinds_are_equally_likely(
    text: str, semantics: Any, symmetry: Any
) -> None:
    graph = labelled()
    if symmetry == "subgraphs" and semantics == "homomorphism":
        return
    listed = mf.match(graph, text, semantics=semantics, device="cpu").to_arrow().to_pylist()
    expected = {repr(row) for row in listed}
    occurrences = int(mf.count(graph, text, semantics=semantics, symmetry=symmetry))
    assert len(expected) > 10
    often = 60
    found = mf.sample(graph, text, often * occurrences, semantics=semantics, symmetry=symmetry, seed=3)
    seen = Counter(map(repr, found.to_arrow().to_pylist()))
    assert (seen.total(), found.complete) == (often * occurrences, True)
    assert set(seen) <= expected
    each = often * occurrences / len(expected)  # the embeddings of an occurrence are equally likely, too
    squares = sum((seen[row] - each) ** 2 / each for row in expected)
    freedom = len(expected) - 1
    assert squares < freedom + 5 * (2 * freedom) ** 0.5 + 10
    again = mf.sample(graph, text, 50, semantics=semantics, symmetry=symmetry, seed=3, threads=2)
    once = mf.sample(graph, text, 50, semantics=semantics, symmetry=symmetry, seed=3, threads=1)
    assert again.to_arrow().equals(once.to_arrow())


@pytest.mark.parametrize(
    "text",
    [
        "(a)-->(b), NOT (b)-[:p]->(a), NOT (a)-[:p]-(b)",
        "(a)-->(b)-->(c)-->(d), NOT (b)-[:p]-(d), NOT (d)-[:p]->(b)",
        "(a)-->(b)-->(c), NOT (a)-[:p]-(c), NOT (c)-[:p]->(a)",
        "(a)-->(b)-->(c), NOT (c)-[:p]-(b), NOT (b)-[:p]->(c), NOT (a)-[:p]-(b), NOT (a)-[:p]->(b)",
    ],
)
def test_negated_edges_with_and_without_a_direction_may_join_the_same_vertices(text: str) -> None:
    graph = labelled()
    expected = set(rows_of(mf.match(graph, text, device="cpu")))
    found = mf.sample(graph, text, 30 * len(expected), seed=1)
    assert set(rows_of(found)) == expected
    estimate = mf.estimate(graph, text, samples=20_000, seed=1)
    assert abs(estimate.value - len(expected)) < 0.1 * len(expected)


def test_occurrences_of_a_query_are_equally_likely_whatever_their_automorphisms() -> None:
    # A triangle has six embeddings, the path of two edges two: each occurrence comes as often.
    graph = mf.Graph.from_edges([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 6), (6, 3)])
    text = "(a)-[*3..4]-(a)"
    assert int(mf.count(graph, text, symmetry="subgraphs")) == 2
    found = mf.sample(graph, text, 4000, symmetry="subgraphs").to_arrow().to_pylist()
    triangles = sum(len(row["p0"]) == 4 for row in found)
    assert abs(triangles - 2000) < 200
    found = mf.sample(graph, text, 4000).to_arrow().to_pylist()
    triangles = sum(len(row["p0"]) == 4 for row in found)
    assert abs(triangles - 4000 * 6 / 14) < 200


def test_what_no_query_can_be_drawn_of_is_refused_by_name() -> None:
    graph = labelled()
    with pytest.raises(mf.ArgumentError, match="a connected pattern, to draw its rows at random"):
        mf.sample(graph, "(a)-->(b), (c)-->(d)", 10)
    with pytest.raises(mf.ArgumentError, match="'isomorphism' or 'homomorphism' beside OPTIONAL"):
        mf.sample(graph, "(a)-->(b) OPTIONAL (b)-[*1..2]->(a)", 10, semantics="induced")
    nothing = mf.sample(graph, "(a:shop)-[*1..2]->(b)", 10)
    assert (len(nothing.to_numpy()), nothing.complete) == (0, True)
    late = mf.sample(graph, "(a)-[*1..3]->(b)", 10**9, timeout=0.2)
    assert len(late.to_numpy()) < 10**9
    assert not late.complete
