"""Estimates of the rows that searches of a run open: exact ones, and those from walks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux import _native
from tests.access_counts import EXACT, PAPER, PLACEMENT, WEIGHTED, CountingEngine, looking

VERTICES = 40
TRIANGLE = "(a)--(b)--(c)--(a)"
SQUARE = "(a)--(b)--(c)--(d)--(a)"
KITE = "(a:0)--(b)--(c)--(d),(c)--(e:1)"
FLAG = "(a)-->(b)-->(c)-->(a),(c)-->(d)"
BROOM = "(a)--(b),(a)--(c),(a)--(d)--(e)"
PENTAGON = "(a)--(b)--(c)--(d)--(e)--(a)"
HOUSE = "(a)--(b)--(c)--(d)--(a),(a)--(e)--(b)"
CASES: list[Any] = [
    pytest.param(TRIANGLE, {}, id="triangle"),
    pytest.param(SQUARE, {"matches": True}, id="square listed"),
    pytest.param(SQUARE, {"symmetry": "subgraphs", "mode": "sequence"}, id="square in sequence"),
    pytest.param(KITE, {"mode": "sequence"}, id="kite in sequence"),
    pytest.param(FLAG, {"matches": True}, id="flag listed"),
    pytest.param(BROOM, {"matches": True}, id="broom listed"),
    pytest.param(HOUSE, {"symmetry": "subgraphs"}, id="house"),
    pytest.param(SQUARE, {"semantics": "homomorphism"}, id="square of homomorphisms"),
    pytest.param(KITE, {"tuning": {"filter": "nlf"}}, id="kite by the candidate table"),
]
Look = Callable[[CountingEngine, _native.Run], None]


def skewed(rng: np.random.Generator, number: int) -> np.ndarray:
    """Draw pairs of different vertices; small numbers are hubs."""
    ends = (VERTICES * rng.random((2, number)) ** 2).astype(np.int64)
    return ends[:, ends[0] != ends[1]]


def watched(pattern: str, look: Look, *, updates: int = 60, calls: int = 1, **options: Any) -> None:
    """Apply insertions and deletions, in calls, to a graph; `look` sees their runs."""
    rng = np.random.default_rng(5)
    directed = "-->" in pattern
    ends = skewed(rng, 160)
    ends = np.unique(ends if directed else np.sort(ends, axis=0), axis=1)
    labels = rng.integers(0, 3 if ":" in pattern else 1, VERTICES)
    graph = mf.Graph.from_edges(
        (ends[0], ends[1]), num_vertices=VERTICES, directed=directed, vertex_labels=labels
    )
    changed = np.hstack(
        [skewed(rng, updates // 2 * calls), ends[:, rng.permutation(ends.shape[1])[: updates // 2]]]
    )
    changed = changed[:, rng.permutation(changed.shape[1])]
    options = {"mode": "batch", **options, **PLACEMENT}
    with looking(look), mf.Monitor(graph, [pattern], **options) as monitor:
        stream = mf.Updates(rng.random(changed.shape[1]) < 0.6, *changed)
        for part in np.array_split(np.arange(len(stream)), calls):
            monitor.apply(stream.rows(part))


@pytest.mark.parametrize(("pattern", "options"), CASES)
def test_exact_accesses_are_those_of_a_plain_count_before_and_after_writing(
    pattern: str, options: dict[str, Any]
) -> None:
    seen = []

    def look(engine: CountingEngine, run: _native.Run) -> None:
        expected = engine.counted(run)
        assert engine.estimated(run) == expected
        run.write_rows()
        assert engine.estimated(run, threads=3) == expected
        seen.append(len(expected))

    watched(pattern, look, updates=30, calls=2, **options)
    assert sum(seen) > 20


@pytest.mark.parametrize("method", [WEIGHTED, PAPER], ids=["weighted", "paper"])
@pytest.mark.parametrize(("pattern", "options"), CASES)
def test_the_mean_of_many_estimates_is_the_exact_number(
    pattern: str, options: dict[str, Any], method: int
) -> None:
    seeds, walks = 300, 15 if method == WEIGHTED else 20_000
    looked = []

    def look(engine: CountingEngine, run: _native.Run) -> None:
        exact = engine.estimated(run)
        if looked or len(exact) < 5:
            return
        keys, estimator = sorted(exact), _native.AccessEstimator()
        truth = np.array([exact[key] for key in keys])
        found = np.zeros((seeds, len(keys)))
        for seed in range(seeds):
            given = engine.estimated(
                run, method, seed=seed, walks=walks, most_walks=walks, seconds=None, estimator=estimator
            )
            assert set(given) <= set(exact)
            found[seed] = [given.get(key, 0.0) for key in keys]
        errors = found.std(axis=0, ddof=1) / np.sqrt(seeds)
        often = truth > truth.sum() / 100  # the means of rare ones are not normal
        assert (np.abs(found.mean(axis=0) - truth)[often] <= 4.5 * errors[often] + 1e-9).all()
        totals = found.sum(axis=1)
        assert abs(totals.mean() - truth.sum()) <= 4 * totals.std(ddof=1) / np.sqrt(seeds) + 1e-6
        assert totals.std() < truth.sum()
        looked.append(errors.max())

    watched(pattern, look, **options)
    assert looked
    assert looked[0] > 0


@pytest.mark.parametrize("method", [WEIGHTED, PAPER, EXACT], ids=["weighted", "paper", "exact"])
def test_a_seed_gives_the_same_on_any_number_of_threads(method: int) -> None:
    def look(engine: CountingEngine, run: _native.Run) -> None:
        def columns(threads: int, seed: int) -> list[Any]:
            given = engine.estimate(
                run, method, seed=seed, walks=100, most_walks=1000, seconds=None, threads=threads
            )
            return [given.names.tolist(), given.vertices.tolist(), given.times.tolist(), given.rounds]

        first = columns(1, 7)
        assert columns(4, 7) == first
        assert (columns(1, 8) == first) == (method == EXACT)
        run.write_rows()  # places of rows are others now
        assert columns(3, 7) == columns(1, 7)

    watched("(a:0)--(b)--(c)--(d)--(e:1)--(a)", look, updates=200)


def test_rows_are_in_the_order_of_their_estimates() -> None:
    def look(engine: CountingEngine, run: _native.Run) -> None:
        given = engine.estimate(run, WEIGHTED, walks=50, most_walks=50)
        order = np.lexsort([given.vertices, given.names, -given.times])
        assert (order == np.arange(len(order))).all()

    watched(HOUSE, look)


def test_a_weighted_estimate_that_looks_at_everything_is_exact() -> None:
    def look(engine: CountingEngine, run: _native.Run) -> None:
        given = engine.estimate(run, WEIGHTED, walks=10, seconds=None)
        assert given.is_exact
        assert given.rounds > 1
        exact = engine.estimate(run, EXACT)
        assert exact.vertices.tolist() == given.vertices.tolist()
        assert exact.times == pytest.approx(given.times, rel=1e-9)

    watched(SQUARE, look)


def test_walks_go_on_until_there_are_as_many_as_the_formula_wants() -> None:
    def look(engine: CountingEngine, run: _native.Run) -> None:
        alpha, delta = 0.5, 0.8
        given = engine.estimate(
            run, PAPER, walks=8, alpha=alpha, delta=delta, top=3, seconds=None, most_walks=10_000
        )
        depth = engine.native.plan(0)[2]
        wanted = (depth - 1) * (2 + alpha) * given.num_roots * float(given.largest_row) ** (depth - 2)
        wanted /= alpha**2 * (1 - delta) * given.times[2]
        assert given.wanted_walks == int(np.ceil(wanted))
        if given.largest_row > 1:
            assert given.walks == 10_000 < wanted
        else:
            assert given.wanted_walks <= given.walks < 10_000
            assert given.rounds > 1

    watched(TRIANGLE, look)
    watched(SQUARE, look)


def test_the_walks_of_the_paper_are_one_for_each_root_or_more() -> None:
    def look(engine: CountingEngine, run: _native.Run) -> None:
        given = engine.estimate(run, PAPER, walks=None, seconds=0.0)
        assert given.walks == given.num_roots  # the formula gives less than one walk
        assert given.rounds == 1

    watched(HOUSE, look)


def test_the_longest_row_is_known_again_after_runs_that_were_not_estimated() -> None:
    estimator, found = _native.AccessEstimator(), []

    def look(engine: CountingEngine, run: _native.Run) -> None:
        if run.num_ends > 50:
            return
        options: dict[str, Any] = {"walks": 2000, "most_walks": 2000, "seconds": None}
        given = engine.estimate(run, PAPER, estimator=estimator, **options)
        anew = engine.estimate(run, PAPER, **options)
        found.append((given.largest_row, given.times.tolist(), anew.largest_row, anew.times.tolist()))

    graph = mf.Graph.from_edges([(0, 1), (1, 2), (2, 3)], num_vertices=60)
    with looking(look), mf.Monitor(graph, [PENTAGON], mode="batch", **PLACEMENT) as monitor:
        monitor.apply([("+", 3, 4), ("+", 4, 5)])
        monitor.apply([("+", 10, other) for other in range(11, 60)])
        monitor.apply([("+", 20, 4)])  # whose ends have short rows; that of 10 is walked later
    (before, *_), (largest, times, expected, expected_times) = found
    assert before < 10
    assert largest == expected == 49
    assert times == expected_times


@pytest.mark.parametrize("method", [WEIGHTED, PAPER], ids=["weighted", "paper"])
def test_an_estimate_ends_when_its_time_is_over(method: int) -> None:
    def look(engine: CountingEngine, run: _native.Run) -> None:
        given = engine.estimate(run, method, walks=500, seconds=0.0)
        assert given.rounds == 1
        assert len(given.times)

    watched("(a)--(b)--(c)--(d)--(e)--(a),(c)--(e)", look)


def test_a_call_that_takes_too_long_ends_in_an_estimate() -> None:
    ended = []

    def look(engine: CountingEngine, run: _native.Run) -> None:
        for method in (PAPER, EXACT):
            try:
                engine.estimate(run, method, walks=1 << 40, seconds=None, threads=2)
            except RuntimeError as error:
                ended.append(f"{type(error).__name__}: {error}")

    longest = "(a)--(b)--(c)--(d)--(e)--(f)--(g)--(h)--(a)"
    rng = np.random.default_rng(1)
    ends = np.sort(rng.integers(0, 300, (9000, 2)), axis=1)
    graph = mf.Graph.from_edges(np.unique(ends[ends[:, 0] < ends[:, 1]], axis=0))
    with looking(look), mf.Monitor(graph, [longest], mode="batch", **PLACEMENT) as monitor:
        before = monitor.num_edges
        delta = monitor.apply([("+", 0, 1), ("+", 0, 299), ("-", 5, 6)], timeout=0.05)
        assert not delta.complete
        assert monitor.num_edges == before
    assert ended == ["RuntimeError: the run was stopped"] * 2


def test_wrong_arguments_are_refused() -> None:
    def look(engine: CountingEngine, run: _native.Run) -> None:
        native, estimator = engine.native, _native.AccessEstimator()
        names = engine.names
        wrong: list[tuple[Any, str]] = [
            ({"names": names[:-1]}, "not named"),
            ({"names": [*names, (99, 0)]}, "target"),
            ({"names": [*names, (0, 3)]}, "way"),
            ({"method": 3}, "method"),
            ({"threads": 0}, "threads"),
            ({"alpha": 0.0}, "alpha"),
            ({"delta": 1.0}, "delta"),
            ({"seconds": -1.0}, "seconds"),
        ]
        for arguments, message in wrong:
            with pytest.raises(ValueError, match=message):
                native.estimate_accesses(estimator, run, **{"names": names, **arguments})
        engine.estimated(run, estimator=estimator)

    watched(FLAG, look)
