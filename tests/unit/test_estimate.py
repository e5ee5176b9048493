"""The call `estimate`."""

from __future__ import annotations

import pickle
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.plan.bind import bind
from motiflux.plan.sampling import quicksi_order
from motiflux.result.estimate import EstimateProgress
from motiflux.sampling import pilot
from motiflux.sampling.combined_estimate import _scaled
from tests.data_paths import shared_path
from tests.interrupts import ctrl_c_in_native_code
from tests.unit.sampling_cases import (
    CASES,
    DIAMOND,
    ESTIMATORS,
    INHERITANCE,
    SQUARE,
    TRIANGLE,
    random_graph,
)

GRAPH = random_graph(7, 60, 300, labels=3)


def estimate(pattern: Any = DIAMOND, graph: Any = GRAPH, **options: Any) -> mf.Estimate:
    """An estimate that is sampled: what is as small as this would be counted."""
    options["tuning"] = {"count_first": "off", **options.get("tuning", {})}
    return mf.estimate(graph, pattern, **options)


def numbers(found: mf.Estimate) -> tuple[float, ...]:
    return found.value, found.low, found.high, found.samples, found.valid_samples, found.effective_samples


class TestAnswers:
    @pytest.mark.parametrize("estimator", ["auto", *ESTIMATORS])
    def test_the_interval_is_around_the_value_and_holds_the_count(self, estimator: str) -> None:
        count = int(mf.count(GRAPH, DIAMOND))
        found = estimate(estimator=estimator, samples=40_000, seed=3, confidence=0.999)
        assert found.low <= found.value <= found.high
        assert found.low <= count <= found.high
        assert found.relative_error < 0.2
        assert found.value == pytest.approx(count, rel=0.2)
        assert (found.complete, found.confidence, found.samples) == (True, 0.999, 40_000)
        assert 0 < found.valid_samples <= found.samples
        assert 0 < found.effective_samples <= found.samples / 32
        assert found.estimator in ESTIMATORS
        assert (found.device, found.warning) == ("cpu", None)

    def test_subgraphs_are_embeddings_divided_by_the_automorphisms(self) -> None:
        all_of_them = estimate(samples=4096)
        once_each = estimate(samples=4096, symmetry="subgraphs")
        assert all_of_them.value == 4 * once_each.value
        assert all_of_them.low == 4 * once_each.low
        assert all_of_them.high == 4 * once_each.high

    def test_samples_come_in_groups_of_32(self) -> None:
        assert [estimate(samples=n).samples for n in (1, 32, 33, 1000)] == [32, 32, 64, 1024]

    def test_a_tree_of_distinct_labels_is_known_exactly(self) -> None:
        path = mf.Pattern.from_edges([(0, 1), (1, 2)], vertex_labels=[0, 1, 2])
        found = estimate(path, estimator="tree", samples=32)
        assert found.low == found.value == found.high == int(mf.count(GRAPH, path))
        assert found.relative_error == 0

    def test_samples_that_all_lived_do_not_say_that_all_do(self) -> None:
        # Of 20,000 walks from leaf to leaf one comes back to where it began.
        hub = mf.Graph.from_edges([(0, v) for v in range(1, 20_001)])
        count = 20_000 * 19_999
        for seed in range(20):
            found = estimate("(a)--(b)--(c)", hub, seed=seed, confidence=0.999)
            assert found.low <= count <= found.high
            assert found.low < found.high

    @pytest.mark.parametrize("confidence", [0.01, 1 - 1e-9])
    def test_any_confidence_that_is_taken_can_be_reckoned_with(self, confidence: float) -> None:
        found = estimate(confidence=confidence, rel_error=1e-3, samples=2**17)
        assert 0 < found.low < found.value < found.high

    def test_what_cannot_match_is_an_exact_0(self) -> None:
        for pattern in ("(a:9)--(b)", mf.Pattern.from_edges([(0, 1)], vertex_labels=[0, 9])):
            found = estimate(pattern, samples=10**9)
            assert (found.value, found.low, found.high) == (0, 0, 0)
            assert (found.confidence, found.samples, found.estimator) == (1.0, 0, "exact")
            assert (found.complete, found.warning) == (True, None)

    def test_no_valid_sample_gives_an_upper_bound(self) -> None:
        # One triangle hangs from a graph full of squares.
        edges = [(u, v + 100) for u, v in product(range(60), repeat=2)] + [(0, 1)]
        graph = mf.Graph.from_edges(edges)
        found = estimate(
            "(a)--(b)--(c)--(a), (a)--(d)--(e)--(f)--(a)",
            graph,
            samples=320,
            estimator="tree",
            tuning={"trawling": "off"},
        )
        assert (found.value, found.low, found.valid_samples) == (0, 0, 0)
        assert found.high > 1
        assert found.warning is not None
        assert "none of 320 samples is an embedding" in found.warning

    def test_where_not_even_one_can_be_it_ends_without_a_warning(self) -> None:
        square = mf.Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)])
        found = estimate(TRIANGLE, square, rel_error=0.01, samples=2**30)
        assert (found.value, found.complete, found.warning) == (0, True, None)
        assert found.high < 1
        assert found.samples < 10**6

    def test_few_samples_that_count_are_warned_of(self) -> None:
        found = estimate(mf.Pattern.from_edges(list(combinations(range(5), 2))), samples=64_000)
        if 0 < found.effective_samples < 30:
            assert found.warning is not None
        hub = mf.Graph.from_edges([(0, v) for v in range(1, 2000)] + [(1, 2), (2, 3), (3, 1)])
        rare = estimate("(a)--(b)--(c)--(a), (a)--(d)", hub, samples=3200, estimator="wanderjoin")
        assert rare.warning is not None
        assert "likely to be greater" in rare.warning

    def test_counts_beyond_2_to_the_53_are_no_trouble(self) -> None:
        clique = mf.Graph.from_edges(list(combinations(range(40), 2)))
        path = mf.Pattern.from_edges([(v, v + 1) for v in range(24)])
        count = 1.0
        for factor in range(40, 15, -1):
            count *= factor
        for estimator in ESTIMATORS:
            found = estimate(path, clique, samples=32_000, estimator=estimator, confidence=0.9999)
            assert found.low <= count * (1 + 1e-9)
            assert count <= found.high * (1 + 1e-9)

    def test_32_query_vertices_neither_overflow_nor_underflow(self) -> None:
        hub = mf.Graph.from_edges([(0, v) for v in range(1, 100_001)])
        star = mf.Pattern.from_edges([(0, v) for v in range(1, 32)])
        count = 1.0
        for factor in range(31):
            count *= 100_000 - factor
        for estimator in ("wanderjoin", "tree"):
            found = estimate(star, hub, samples=32_000, estimator=estimator, semantics="isomorphism")
            assert found.value == pytest.approx(count, rel=0.02)


class TestReproducibility:
    @pytest.mark.parametrize("estimator", ["auto", *ESTIMATORS])
    @pytest.mark.parametrize("inheritance", INHERITANCE)
    def test_a_seed_gives_one_estimate_on_any_number_of_threads(
        self, estimator: str, inheritance: str
    ) -> None:
        options = {"estimator": estimator, "samples": 20_000, "tuning": {"inheritance": inheritance}}
        found = [numbers(estimate(seed=5, threads=threads, **options)) for threads in (1, 2, 5)]
        assert found[0] == found[1] == found[2]

    def test_another_seed_gives_another(self) -> None:
        assert (
            estimate(samples=3200, estimator="alley", seed=6).value
            != estimate(samples=3200, estimator="alley", seed=7).value
        )

    def test_a_group_is_the_same_wherever_it_is_drawn(self) -> None:
        for case in CASES[::5]:
            for estimator in ESTIMATORS:
                whole = case.groups(estimator, "spread", 8, 100)
                for first, count, threads in ((0, 1, 1), (13, 40, 3), (99, 1, 2)):
                    part = case.groups(estimator, "spread", 8, count, first, threads=threads)
                    for one, same in zip(part, whole, strict=True):
                        np.testing.assert_array_equal(one, same[first : first + count])

    def test_sampling_rows_of_the_graph_or_candidates_picks_the_same(self) -> None:
        """Over candidates that leave nothing out, both count candidates off in the same order."""
        edges = list(combinations(range(30), 2))
        graph = mf.Graph.from_edges(edges)
        for estimator in ESTIMATORS:
            found = [
                numbers(estimate(SQUARE, graph, samples=3200, estimator=estimator, tuning={"candidates": on}))
                for on in ("on", "off")
            ]
            assert found[0] == found[1]

    def test_a_relative_error_is_reached_after_as_many_samples_each_time(self) -> None:
        first, again = (estimate(rel_error=0.05, seed=9, threads=threads) for threads in (1, 2))
        assert numbers(first) == numbers(again)
        assert first.relative_error <= 0.05
        assert first.complete

    def test_the_pilot_shares_no_random_number_with_the_estimate(self) -> None:
        seeds = [0, 1, 2, 2**63, 2**64 - 1]
        assert not {pilot.pilot_seed(seed) for seed in seeds} & set(seeds)


class TestNothingFound:
    # A square has no triangle; without candidates nothing says so beforehand.
    SQUARES = mf.Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)])

    def test_any_number_of_samples_ends_where_there_is_none_for_certain(self) -> None:
        found = estimate(TRIANGLE, self.SQUARES, samples=2**40, estimator="wanderjoin")
        assert (found.value, found.valid_samples, found.complete) == (0.0, 0, True)
        assert found.high < 1
        assert found.warning is None
        assert found.samples < 10_000

    def test_that_end_is_the_same_on_any_threads(self) -> None:
        given = {"samples": 10**9, "estimator": "alley"}
        one, two = (estimate(TRIANGLE, self.SQUARES, threads=threads, **given) for threads in (1, 3))
        assert numbers(one) == numbers(two)

    def test_what_might_be_there_is_looked_for(self) -> None:
        found = estimate(TRIANGLE, self.SQUARES, samples=32, estimator="wanderjoin")
        assert found.samples == 32
        assert found.high >= 0


class TestCountingFirst:
    def test_what_is_soon_counted_is_exact(self) -> None:
        found = mf.estimate(GRAPH, DIAMOND, samples=10_000)
        assert (found.estimator, found.samples, found.confidence) == ("exact", 0, 1.0)
        assert found.value == found.low == found.high == int(mf.count(GRAPH, DIAMOND))
        once_each = mf.estimate(GRAPH, DIAMOND, samples=10_000, symmetry="subgraphs")
        assert once_each.value == int(mf.count(GRAPH, DIAMOND, symmetry="subgraphs"))

    def test_few_samples_pay_for_little(self) -> None:
        clique = mf.Graph.from_edges(list(combinations(range(40), 2)))
        assert mf.estimate(clique, DIAMOND, samples=32).estimator != "exact"

    @pytest.mark.parametrize("estimator", ESTIMATORS)
    def test_who_names_an_estimator_gets_samples(self, estimator: str) -> None:
        assert mf.estimate(GRAPH, DIAMOND, samples=1000, estimator=estimator).samples > 0

    def test_what_takes_longer_is_sampled(self) -> None:
        clique = mf.Graph.from_edges(list(combinations(range(60), 2)))
        path = mf.Pattern.from_edges([(v, v + 1) for v in range(9)])
        found = mf.estimate(clique, path, samples=3200)
        assert found.samples == 3200


class TestStopping:
    def test_with_neither_rule_it_stops_at_5_per_cent(self) -> None:
        found = estimate()
        assert found.complete
        assert found.relative_error <= 0.05 or found.samples == 2**20

    @pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
    def test_shares_may_be_numbers_of_numpy(self, kind: Any) -> None:
        found = estimate(rel_error=kind(0.125), confidence=kind(0.75))
        assert found.complete
        assert found.confidence == 0.75
        assert estimate(rel_error=0.125, confidence=0.75).value == found.value

    def test_few_uneven_groups_are_warned_of(self) -> None:
        """Ten groups of walks that hardly ever go on may look even, and then miss what others find."""
        clique = mf.Graph.from_edges(list(combinations(range(24), 2)))
        path = mf.Pattern.from_edges([(v, v + 1) for v in range(19)])
        found = [estimate(path, clique, samples=320, estimator="alley", seed=seed) for seed in range(40)]
        assert all(one.warning is not None for one in found)

    def test_numbers_just_below_the_greatest_are_told(self) -> None:
        assert _scaled(0.75, 1024) == 0.75 * 2.0**1023 * 2
        assert _scaled(0.5, 1024.5) == pytest.approx(2.0**1023 * 2**0.5)
        assert _scaled(0.999, 1025) == float("inf")
        assert _scaled(0.5, -(2.0**60)) == 0.0

    def test_samples_bound_a_relative_error_that_is_not_reached(self) -> None:
        found = estimate(rel_error=0.0001, samples=3200)
        assert (found.samples, found.complete) == (3200, False)
        assert found.relative_error > 0.0001

    def test_a_timeout_leaves_what_is_known(self) -> None:
        found = estimate(rel_error=1e-9, timeout=0.2)
        count = int(mf.count(GRAPH, DIAMOND))
        assert not found.complete
        assert found.samples > 0
        assert found.value == pytest.approx(count, rel=0.2)

    def test_no_time_at_all_is_said_so(self) -> None:
        found = estimate(timeout=0)
        assert (found.value, found.samples, found.complete) == (0, 0, False)
        assert found.high >= int(mf.count(GRAPH, DIAMOND))
        assert found.warning == "time was up before the first samples"

    def test_an_interrupt_ends_it_soon(self) -> None:
        with pytest.raises(KeyboardInterrupt), ctrl_c_in_native_code():
            estimate(rel_error=1e-9)
        assert estimate(samples=32).samples == 32

    def test_progress_is_told_as_it_goes(self) -> None:
        told: list[EstimateProgress] = []
        found = estimate(samples=200_000, progress=told.append)
        assert tuple(told) == found.trace
        assert told[-1].samples == 200_000
        assert [point.samples for point in told] == sorted({point.samples for point in told})
        assert told[-1].high - told[-1].low < told[0].high - told[0].low
        assert (told[-1].value, told[-1].low, told[-1].high) == (found.value, found.low, found.high)


class TestRefusals:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"samples": 0}, "samples: expected an integer from 1 to 1099511627776, or None, found 0"),
            ({"samples": 2**50}, "samples: expected an integer from 1 to"),
            ({"samples": 1.5}, "samples: expected an integer"),
            ({"rel_error": 0}, "rel_error: expected a number above 0 and below 1, or None, found 0"),
            ({"rel_error": float("nan")}, "rel_error: expected a number above 0 and below 1"),
            ({"confidence": 1}, "confidence: expected a number above 0 and below 1, found 1"),
            ({"confidence": 1 - 1e-16}, "confidence: expected a number from 0.01 to 1 - 1e-9"),
            ({"confidence": "95%"}, "confidence: expected a number above 0 and below 1, found '95%'"),
            ({"estimator": "guess"}, "estimator: expected one of auto, wanderjoin, alley, tree, found"),
            ({"seed": -1}, "seed: expected an integer from 0 to"),
            ({"timeout": -1}, "timeout: expected seconds"),
            ({"semantics": "homomorphism", "symmetry": "subgraphs"}, "symmetry: expected 'embeddings'"),
            ({"tuning": {"inheritance": "some"}}, "tuning['inheritance']: expected one of spread, one, off"),
        ],
    )  # fmt: skip
    def test_what_makes_no_sense_is_refused_by_name(self, options: dict[str, Any], message: str) -> None:
        with pytest.raises(mf.ArgumentError) as refused:
            estimate(**options)
        assert str(refused.value).startswith(message)

    def test_what_is_no_graph_or_pattern_is_refused(self) -> None:
        with pytest.raises(mf.ArgumentError, match="graph: expected a graph, a path, a table"):
            mf.estimate(7, TRIANGLE)
        with pytest.raises(mf.ArgumentError, match="pattern: expected connected patterns"):
            estimate("(a)--(b), (c)--(d)")


class TestOrder:
    def test_quicksi_grows_by_the_rarest_edge(self) -> None:
        pattern = bind(mf.Pattern.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)]), GRAPH)
        arcs = {(0, 1): 50, (1, 2): 7, (2, 3): 30, (0, 3): 90}
        numbers = [arcs[edge.source, edge.target] for edge in pattern.edges]
        assert quicksi_order(pattern, [9, 8, 5, 9], numbers) == (2, 1, 3, 0)

    def test_of_equally_rare_edges_that_to_the_vertex_with_more_edges_back_is_taken(self) -> None:
        pattern = bind(mf.Pattern.from_edges([(0, 1), (1, 2), (0, 2), (1, 3)]), GRAPH)
        assert quicksi_order(pattern, [5] * 4, [1, 2, 2, 2])[2] == 2


class TestResult:
    def test_it_is_a_number_and_shows_itself(self) -> None:
        found = estimate(samples=3200)
        assert float(found) == found.value
        assert repr(found).startswith(f"Estimate({found.value:.6g}, 95 % in [")
        assert "interval" in found._repr_html_()
        assert pickle.loads(pickle.dumps(found)) == found

    def test_its_trace_is_a_table(self) -> None:
        pytest.importorskip("pyarrow")
        found = estimate(samples=1_000_000)  # reports are ten milliseconds apart
        table = found.to_arrow()
        assert table.column_names == ["samples", "valid_samples", "seconds", "value", "low", "high"]
        assert table.num_rows == len(found.trace) > 2


@pytest.mark.parametrize("name", ["query_dense_8_23", "query_sparse_16_36", "query_sparse_32_32"])
def test_large_queries_of_yeast_are_estimated_well(name: str) -> None:
    counts = {
        "query_dense_8_23": 1320,
        "query_sparse_16_36": 4_047_177,
        "query_sparse_32_32": 1_581_215_771_520,
    }
    graph = mf.read_graph(shared_path("data", "yeast.npz"))
    pattern = mf.read_pattern(shared_path("oracle", "yeast", "queries", f"{name}.graph"))
    found = estimate(pattern, graph, samples=65_536)
    assert found.value == pytest.approx(counts[name], rel=0.1)
