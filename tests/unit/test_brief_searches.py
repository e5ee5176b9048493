"""Searches that are tried on the calling thread before others are started."""

from __future__ import annotations

import gc

import pytest

import motiflux as mf
from motiflux._native import NativePlan
from motiflux.config import private_tuning
from motiflux.cpu import native
from motiflux.plan import make_plan
from motiflux.plan.estimate.predict import is_brief
from motiflux.plan.native_plan import native_problem
from tests.backend.cases import clique


def search(graph: mf.Graph, pattern: mf.Pattern) -> NativePlan:
    plan = make_plan(graph, pattern, tuning=private_tuning({"multiply": "off"}))
    return native_problem(graph, plan, intersect="auto", threads=1, adaptive=True, again=True)


def count(one: NativePlan, *, limit: int | None = None, brief: bool) -> tuple[int, native.Stop, list[int]]:
    return native.count(one, threads=2, limit=limit, timeout=None, progress=None, brief=brief)


@pytest.mark.parametrize("size", [5, 60])
def test_what_takes_longer_than_expected_is_counted_all_the_same(size: int) -> None:
    one = search(mf.Graph.from_edges(clique(size)), mf.Pattern.from_edges(clique(5)))
    expected = size * (size - 1) * (size - 2) * (size - 3) * (size - 4)
    found = count(one, brief=True)
    assert found == count(one, brief=False)
    assert found[:2] == (expected, native.Stop.NONE)


def test_a_limit_ends_a_brief_search() -> None:
    one = search(mf.Graph.from_edges(clique(5)), mf.Pattern.from_edges(clique(3)))
    total, stop, _ = count(one, limit=10, brief=True)
    assert total > 10
    assert stop is native.Stop.LIMIT


def test_small_searches_are_brief_and_large_ones_are_not() -> None:
    triangle = mf.Pattern.from_edges(clique(3))
    for size, brief in ((5, True), (100, False)):
        assert is_brief(make_plan(mf.Graph.from_edges(clique(size)), triangle, tail=True)) is brief


@pytest.mark.turns(8)
def test_plans_that_come_and_go_are_not_taken_for_each_other() -> None:
    graph = mf.Graph.from_edges(clique(6))
    for leaves in (*range(1, 6), *range(1, 6)):
        for known in list(graph.memo._results):
            graph.memo.drop(known)  # as older plans are
        pattern = mf.Pattern.from_edges([(0, leaf) for leaf in range(1, leaves + 1)])
        expected = 1
        for factor in range(6 - leaves, 7):
            expected *= factor
        one = search(graph, pattern)
        assert count(one, brief=True)[0] == expected
        del one
        gc.collect()
