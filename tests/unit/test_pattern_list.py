"""Counting several patterns in one call."""

from __future__ import annotations

import math
import pickle
from itertools import combinations, pairwise
from typing import Any

import pytest

import motiflux as mf
from motiflux import _native
from motiflux.api import pattern_list
from motiflux.config import private_tuning
from motiflux.cpu.engine import CpuEngine
from motiflux.plan import make_plan
from motiflux.plan.native_plan import native_problem
from motiflux.plan.shared_prefix import group_by_prefix, shared_levels
from motiflux.result.partial import partial_result

TRIANGLE = "(a)--(b)--(c)--(a)"
PATH = "(a)--(b)--(c)"
SQUARE = "(a)--(b)--(c)--(d)--(a)"


def complete(size: int) -> mf.Graph:
    return mf.Graph.from_edges(list(combinations(range(size), 2)))


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the plans that are searched one by one from now on."""
    plans = []
    count = CpuEngine.count

    def counted(self: CpuEngine, graph: Any, plan: Any, *rest: Any) -> Any:
        plans.append(plan)
        return count(self, graph, plan, *rest)

    monkeypatch.setattr(CpuEngine, "count", counted)
    return plans


def test_counts_come_in_the_order_of_the_patterns() -> None:
    counts = mf.count(complete(5), [PATH, mf.Pattern.parse(TRIANGLE), SQUARE])
    assert [type(count) for count in counts] == [mf.Count] * 3
    assert counts == [60, 60, 120]
    assert all(count.complete and count.engine == "cpu" for count in counts)


@pytest.mark.parametrize("patterns", [(PATH, TRIANGLE), [PATH, TRIANGLE]])
def test_any_sequence_gives_a_list(patterns: Any) -> None:
    assert mf.count(complete(4), patterns) == [24, 24]


def test_a_sequence_of_one_gives_a_list_of_one_and_of_none_an_empty_one() -> None:
    assert mf.count(complete(4), [PATH]) == [24]
    assert mf.count(complete(4), []) == []


def test_options_are_checked_without_a_pattern_to_use_them() -> None:
    with pytest.raises(mf.ArgumentError, match=r"^limit: "):
        mf.count(complete(4), [], limit=-1)
    with pytest.raises(mf.ArgumentError, match=r"^symmetry: "):
        mf.count(complete(4), [], semantics="homomorphism", symmetry="subgraphs")


def test_what_is_no_sequence_of_patterns_is_refused() -> None:
    for subject in ({PATH, TRIANGLE}, (text for text in [PATH]), b"(a)--(b)", None):
        with pytest.raises(mf.ArgumentError, match=r"^pattern: expected .* a sequence of these"):
            mf.count(complete(4), subject)  # type: ignore[call-overload]


def test_match_takes_several_patterns() -> None:
    found = mf.match(complete(4), [PATH, TRIANGLE], symmetry="subgraphs")
    assert [len(one.to_numpy()) for one in found] == [12, 4]
    assert [one.complete for one in found] == [True, True]


@pytest.mark.parametrize(
    ("wrong", "kind", "message"),
    [
        ("(a)--", mf.PatternSyntaxError, r"^pattern\[2\]: line 1, column 6: "),
        (3, mf.ArgumentError, r"^pattern\[2\]: expected a motiflux.Pattern"),
        ([PATH], mf.ArgumentError, r"^pattern\[2\]: expected a motiflux.Pattern"),
        ("(a)-->(b)", mf.PatternError, r"^pattern\[2\]: query edge 'a' -> 'b': expected an undirected"),
        ("(a) WHERE a.age > 3", mf.PatternError, r"^pattern\[2\]: "),
    ],
)
def test_an_error_names_the_pattern_before_any_is_searched(
    wrong: Any, kind: type[Exception], message: str, searches: list[Any]
) -> None:
    with pytest.raises(kind, match=message):
        mf.count(complete(4), [PATH, TRIANGLE, wrong])
    assert searches == []


def test_what_is_wrong_with_all_of_them_names_none() -> None:
    with pytest.raises(mf.ArgumentError, match=r"^symmetry: "):
        mf.count(complete(4), [PATH], semantics="homomorphism", symmetry="subgraphs")


def test_patterns_of_equal_plans_share_a_search(searches: list[Any]) -> None:
    again = "(x)--(y),(z)--(y),(x)--(z)"
    assert mf.count(complete(5), [TRIANGLE, again, TRIANGLE], tuning={"order": "given"}) == [60, 60, 60]
    assert len(searches) == 1


def test_labels_tell_searches_apart(searches: list[Any]) -> None:
    graph = mf.Graph.from_edges([(0, 1), (1, 2)], vertex_labels=["x", "y", "x"])
    assert mf.count(graph, ["(a:x)--(b:y)", "(a:x)--(b:x)", "(a:y)--(b:x)", "(a:z)--(b:x)"]) == [2, 0, 2, 0]
    assert len(searches) <= 3


class TestPasses:
    GRAPH = mf.Graph.from_edges(
        [*combinations(range(6), 2), *((vertex, 6 + vertex) for vertex in range(6)), (6, 7), (6, 1)]
    )
    CLIQUES = tuple(mf.Pattern.from_edges(list(combinations(range(size), 2))) for size in (3, 4, 5, 6))

    @pytest.fixture
    def passes(self, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        """Return the numbers of plans that are searched in one pass from now on."""
        sizes = []
        count_together = CpuEngine.count_together

        def counted(self: CpuEngine, graph: Any, plans: Any, *rest: Any) -> Any:
            sizes.append(len(plans))
            return count_together(self, graph, plans, *rest)

        monkeypatch.setattr(CpuEngine, "count_together", counted)
        return sizes

    @pytest.mark.parametrize("threads", [1, 2])
    def test_cliques_are_counted_in_one_pass(self, passes: list[int], threads: int) -> None:
        counts = mf.count(self.GRAPH, self.CLIQUES, threads=threads)
        assert counts == [mf.count(self.GRAPH, clique) for clique in self.CLIQUES]
        assert all(count.complete for count in counts)
        assert passes == [4]
        assert len({count.seconds for count in counts}) == 1

    def test_a_switch_takes_a_pass_for_each(self, passes: list[int], searches: list[Any]) -> None:
        assert mf.count(self.GRAPH, self.CLIQUES, tuning=private_tuning({"share": "off"}))[3] == 720
        assert (passes, len(searches)) == ([], 4)

    def test_each_has_its_own_limit(self, passes: list[int]) -> None:
        counts = mf.count(self.GRAPH, self.CLIQUES, limit=400)
        single = [mf.count(self.GRAPH, clique, limit=400) for clique in self.CLIQUES]
        assert [(int(c), c.complete) for c in counts] == [(int(c), c.complete) for c in single]
        assert {count.complete for count in counts} == {True, False}
        assert passes == [4]

    def test_a_timeout_stops_the_pass(self, passes: list[int]) -> None:
        large = mf.Graph.from_edges(list(combinations(range(300), 2)))
        cliques = [mf.Pattern.from_edges(list(combinations(range(size), 2))) for size in (9, 10)]
        counts = mf.count(large, cliques, timeout=0.2)
        assert [count.complete for count in counts] == [False, False]
        assert passes == [2]

    def test_an_error_of_the_callers_progress_stops_the_pass(self, passes: list[int]) -> None:
        def refuse(report: mf.ProgressReport) -> None:
            raise KeyError(report.total)

        large = mf.Graph.from_edges(list(combinations(range(300), 2)))
        cliques = [mf.Pattern.from_edges(list(combinations(range(size), 2))) for size in (9, 10)]
        with pytest.raises(KeyError):
            mf.count(large, cliques, progress=refuse)
        assert passes == [2]

    def test_patterns_that_begin_differently_share_none(self, passes: list[int]) -> None:
        assert mf.count(complete(5), [TRIANGLE, PATH, "(a)--(b)"]) == [60, 60, 20]
        assert passes == []

    def test_an_order_about_as_cheap_that_shares_levels_is_taken(self) -> None:
        clique, beside = (
            make_plan(self.GRAPH, self.CLIQUES[size], tail=True, beside=beside)
            for size, beside in ((1, ()), (2, (make_plan(self.GRAPH, self.CLIQUES[1], tail=True),)))
        )
        assert shared_levels(clique, beside) == 3
        assert group_by_prefix([clique, beside]) == [[clique, beside]]

    def test_the_native_search_refuses_what_shares_too_little(self) -> None:
        graph = complete(5)
        problems = [
            native_problem(graph, make_plan(graph, mf.Pattern.parse(text)), intersect="auto", threads=1)
            for text in (TRIANGLE, "(a)--(b)")
        ]
        with pytest.raises(ValueError, match="do not share two levels"):
            _native.count_together(problems, 1, [None, None], None, None)


def test_a_limit_is_for_each_pattern() -> None:
    counts = mf.count(complete(5), [PATH, "(a)--(b)"], limit=30)
    assert [(int(count), count.complete) for count in counts] == [(30, False), (20, True)]


def test_the_timeout_is_over_the_whole_call() -> None:
    clique = mf.Pattern.from_edges(list(combinations(range(12), 2)))
    patterns = [clique, mf.Pattern.from_edges(list(combinations(range(11), 2))), "(a:absent)--(b)"]
    counts = mf.count(complete(250), patterns, timeout=0.2)
    assert [count.complete for count in counts] == [False, False, True]


@pytest.mark.parametrize("share", ["on", "off"])
def test_an_interrupt_has_what_each_pattern_counted_so_far(share: str) -> None:
    def clique(size: int) -> mf.Pattern:
        return mf.Pattern.from_edges(list(combinations(range(size), 2)))

    patterns = ["(a)--(b)--(c)--(d)", *(clique(size) for size in (9, 10))]

    def interrupt(report: mf.ProgressReport) -> None:
        if report.done > 1000 and report.found > 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as stopped:
        mf.count(
            complete(150), patterns, progress=interrupt, device="cpu", tuning=private_tuning({"share": share})
        )
    counts = partial_result(stopped.value)
    assert [type(one) for one in counts] == [mf.Count] * 3
    assert (counts[0], counts[0].complete) == (150 * 149 * 148 * 147, True)
    assert [one.complete for one in counts[1:]] == [False, False]
    assert sum(counts[1:]) > 0
    assert all(one < math.perm(150, size) for one, size in zip(counts[1:], (9, 10), strict=True))


@pytest.mark.turns(8)
def test_progress_goes_up_over_the_whole_call() -> None:
    reports: list[mf.ProgressReport] = []
    patterns = [mf.Pattern.from_edges(list(combinations(range(size), 2))) for size in (7, 6, 5)]
    counts = mf.count(
        complete(60), patterns, progress=reports.append, timeout=2, tuning=private_tuning({"multiply": "off"})
    )
    assert len({report.total for report in reports}) == 1
    assert all(a.done <= b.done and a.found <= b.found for a, b in pairwise(reports))
    assert all(report.done <= report.total and report.found <= sum(counts) for report in reports)


def test_searches_one_after_another_report_equal_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    count = CpuEngine.count

    def reporting(self: CpuEngine, graph: Any, plan: Any, request: Any, deadline: Any) -> Any:
        outcome = count(self, graph, plan, request, deadline)
        for done in (0, 4):
            request.progress(mf.ProgressReport(done, 4, outcome.value * done // 4, 0.0))
        return outcome

    monkeypatch.setattr(CpuEngine, "count", reporting)
    reports: list[mf.ProgressReport] = []
    triangles, paths, squares = mf.count(
        complete(6),
        [TRIANGLE, PATH, SQUARE],
        device="cpu",
        progress=reports.append,
        tuning=private_tuning({"share": "off"}),
    )
    assert [3 * report.done / report.total for report in reports] == [0, 1, 1, 2, 2, 3]
    before, then = triangles, triangles + paths
    assert [report.found for report in reports] == [0, before, before, then, then, then + squares]


def test_a_named_error_survives_pickling() -> None:
    with pytest.raises(mf.PatternError) as raised:
        mf.count(complete(4), ["(a)-->(b)"])
    assert str(pickle.loads(pickle.dumps(raised.value))).startswith("pattern[0]: query edge")


def test_work_is_told_apart_by_all_that_changes_the_count() -> None:
    star = "(a)--(b), (a)--(c), (a)--(d)"
    works = [
        pattern_list.work_of(make_plan(complete(4), mf.Pattern.parse(text), tail=tail))
        for text in (TRIANGLE, star)
        for tail in (False, True)
    ]
    assert works[0] == works[1]
    assert len(set(works)) == 3
