"""Estimates look at the clock before there is anything to sample, too."""

from __future__ import annotations

import time

import numpy as np
import pytest

import motiflux as mf
from motiflux.cpu import sampling
from motiflux.graph import stats
from motiflux.request.request import make_request
from motiflux.sampling.samplers import open_sampler, plan_samples


def graph(vertex_labels: int, edge_labels: int = 1) -> mf.Graph:
    random = np.random.default_rng(2)
    edges = np.unique(random.integers(0, 50, (400, 2)), axis=0)
    return mf.Graph.from_edges(
        edges,
        vertex_labels=random.integers(0, vertex_labels, 50),
        edge_labels=random.integers(0, edge_labels, len(edges)),
        self_loops="drop",
    )


class Clock:
    """A clock that is past any deadline from the given look on."""

    def __init__(self, late_at: int) -> None:
        self.looks = 0
        self.late_at = late_at

    def perf_counter(self) -> float:
        self.looks += 1
        return float(self.looks >= self.late_at)


class TestCountingLabels:
    @pytest.mark.parametrize("labels", [(1, 1), (4, 1), (4, 3), (1, 3)])
    @pytest.mark.parametrize("largest", [1 << 22, 1])
    def test_in_pieces_is_as_at_once(
        self, labels: tuple[int, int], largest: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """By a table, and by sorting; pieces that cut rows."""
        one = graph(*labels)
        wanted = one.label_frequencies()
        monkeypatch.setattr(stats, "_PIECE", 7)
        monkeypatch.setattr(stats, "_LARGEST_TABLE", largest)
        found = graph(*labels).label_frequencies()
        assert np.array_equal(found.of_vertices, wanted.of_vertices)
        assert np.array_equal(np.array(found.triples), np.array(wanted.triples))
        assert np.array_equal(found.of_triples, wanted.of_triples)
        assert wanted.of_triples.sum() == 2 * one.num_edges

    def test_of_no_arcs_is_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(stats, "_LARGEST_TABLE", 0)
        empty = mf.Graph.from_edges(np.empty((0, 2), dtype=np.int64), num_vertices=3)
        assert len(empty.label_frequencies().of_triples) == 0

    def test_ends_at_the_deadline(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(stats, "_PIECE", 7)
        clock = Clock(3)
        monkeypatch.setattr(stats, "time", clock)
        one = graph(4)
        with pytest.raises(TimeoutError, match="labels were counted"):
            one.label_frequencies(0.5)
        assert clock.looks == 3
        monkeypatch.setattr(stats, "time", time)
        assert one.label_frequencies().of_triples.sum() == 2 * one.num_edges


class TestNarrowingRows:
    def test_ends_at_the_deadline(self, monkeypatch: pytest.MonkeyPatch) -> None:
        one = graph(4)
        monkeypatch.setattr(sampling, "_LARGE", 1)
        clock = Clock(2)
        monkeypatch.setattr(sampling, "time", clock)
        request = make_request(
            semantics="isomorphism",
            symmetry="embeddings",
            device="cpu",
            timeout=None,
            threads=1,
            gpu_memory=None,
            tuning={"candidates": "off"},
        )
        plan = plan_samples(one, mf.Pattern.parse("(a:0)--(b:1)--(c:2)--(d:3)--(a)"), request, None)
        with pytest.raises(TimeoutError, match="rows were filtered"):
            open_sampler(one, plan, request, 0.5)
        assert clock.looks == 2


@pytest.mark.parametrize("module", [stats, sampling])
def test_an_estimate_says_that_it_knows_nothing(module: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stats, "_PIECE", 7)
    monkeypatch.setattr(sampling, "_LARGE", 1)
    monkeypatch.setattr(module, "time", type("Late", (), {"perf_counter": staticmethod(lambda: 1e300)}))
    found = mf.estimate(
        graph(4), "(a:0)--(b:1)--(c:2)", timeout=100.0, device="cpu", tuning={"candidates": "off"}
    )
    assert (found.complete, found.samples, found.low) == (False, 0, 0.0)
    assert found.warning == "time was up before the first sample"
