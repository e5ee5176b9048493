"""``engine="pvm"`` around the kernels of phases: plans, limits, images, hand-overs, reports."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.device import Device
from motiflux.dispatch import choose
from motiflux.gpu.group import DeviceGroup
from motiflux.gpu.pvm import engine as pvm
from motiflux.gpu.pvm import search, shares
from motiflux.gpu.pvm.engine import PvmEngine
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.plan.phases.data import HandOver, PhasePlan
from motiflux.plan.physical import Family, PhysicalPlan
from motiflux.request.deadline import Deadline, OutOfTimeError
from motiflux.request.request import Request, make_request
from tests.phases_search import Standing
from tests.unit.svg_page import assert_all_in_view, page_of

PATH = "(a)--(b)--(c)"
TRIANGLE = "(a)--(b)--(c)--(a)"
LABELLED = "(a)-[:x]-(b)-[:y]-(c)-[:x]-(a)"


def accelerator(name: str) -> Accelerator:
    """Return a device of which only its size is known."""
    device = SimpleNamespace(
        name=name,
        multiprocessors=4,
        free_memory=lambda: 1 << 30,
        used_memory=lambda: 0,
        settle=lambda: None,
        use=lambda: None,
    )
    made = SimpleNamespace(device=cast("Device", device), kept_bytes=lambda: 0)
    return cast("Accelerator", made)


@pytest.fixture
def standing(monkeypatch: pytest.MonkeyPatch) -> Standing:
    """Have ``device="cuda"`` be a device whose phases are searched in Python."""
    made = Standing()
    made.install(monkeypatch)
    open_engine = choose.open_engine

    def opened(name: str, devices: Any) -> Any:
        if name != "pvm":
            return open_engine(name, devices)
        return PvmEngine(DeviceGroup(tuple(map(accelerator, devices))))

    monkeypatch.setattr(choose, "open_engine", opened)
    return made


def clique(size: int, labels: str = "x") -> mf.Graph:
    pairs = list(combinations(range(size), 2))
    return mf.Graph.from_edges(pairs, edge_labels=[labels[(u + v) % len(labels)] for u, v in pairs])


def on_gpu(**options: Any) -> dict[str, Any]:
    return {"engine": "pvm", "device": "cuda", **options}


def planned(
    graph: mf.Graph, pattern: str, devices: int = 1, *, counting: bool = True, **options: Any
) -> tuple[PvmEngine, PhysicalPlan, Request]:
    """Return the engine on some devices, and its plan of a request."""
    engine = PvmEngine(DeviceGroup(tuple(accelerator(f"cuda:{number}") for number in range(devices))))
    request = make_request(
        **{"semantics": "isomorphism", "symmetry": "embeddings", "engine": "pvm", "device": "cuda", **options}
    )
    asked = mf.Pattern.parse(pattern)
    physical = engine.plan(graph, asked, request, Deadline.after(None), counting=counting)
    assert physical is not None
    return engine, physical, request


class TestPlans:
    def test_have_one_stage_of_phases(self) -> None:
        _, physical, _ = planned(clique(5), TRIANGLE)
        (stage,) = physical.stages
        assert (physical.engine, stage.family) == ("pvm", Family.PHASES)
        assert physical.phases is stage.phases is not None
        assert str(physical) == "pvm: 2 phases"

    @pytest.mark.parametrize(
        ("options", "restricted", "multiplier"),
        [
            ({}, True, 6),
            ({"symmetry": "subgraphs"}, True, 1),
            ({"semantics": "homomorphism"}, False, 1),
            ({"tuning": private_tuning({"multiply": "off"})}, False, 1),
        ],
        ids=["embeddings", "subgraphs", "homomorphism", "not multiplied"],
    )
    def test_restrict_phases_exactly_if_the_count_is_multiplied_or_of_subgraphs(
        self, options: dict[str, Any], restricted: bool, multiplier: int
    ) -> None:
        _, physical, _ = planned(clique(5), TRIANGLE, **options)
        assert physical.phases is not None
        assert bool(physical.phases.restrictions) is restricted
        assert physical.plan.multiplier == multiplier
        if multiplier > 1:
            assert physical.phases.automorphisms == multiplier

    def test_of_listings_restrict_phases_if_images_are_listed(self) -> None:
        _, with_images, _ = planned(clique(5), TRIANGLE, counting=False)
        assert with_images.phases is not None
        assert with_images.phases.restrictions
        assert len(with_images.plan.images) == with_images.phases.automorphisms
        tuning = private_tuning({"images": "off"})
        _, without, _ = planned(clique(5), TRIANGLE, counting=False, tuning=tuning)
        assert without.phases is not None
        assert not without.phases.restrictions
        assert not without.plan.images

    def test_have_a_vertex_in_each_phase_if_the_switch_says_so(self) -> None:
        for switch, extensions in (("pv", 1), ("sv", 2)):
            _, physical, _ = planned(clique(5), TRIANGLE, tuning={"pvm": switch})
            assert physical.phases is not None
            assert len(physical.phases.extensions) == extensions

    def test_of_absent_labels_are_impossible(self) -> None:
        _, physical, _ = planned(clique(5), "(a)-[:absent]-(b)")
        assert physical.stages == ()
        assert physical.plan.impossible is not None
        assert "'absent', which does not occur in the graph" in physical.plan.impossible

    def test_are_not_made_if_time_is_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def late(*_: Any, **_options: Any) -> None:
            raise TimeoutError

        monkeypatch.setattr(pvm, "phases_of", late)
        engine = PvmEngine(DeviceGroup((accelerator("cuda"),)))
        request = make_request(semantics="isomorphism", symmetry="embeddings", engine="pvm", device="cuda")
        assert engine.plan(clique(4), mf.Pattern.parse(TRIANGLE), request, Deadline.after(1.0)) is None


class TestCounts:
    def test_are_those_of_the_cpu(self, standing: Standing) -> None:
        graph = clique(7, "xy")
        for symmetry in ("embeddings", "subgraphs"):
            for pattern in (TRIANGLE, LABELLED, "(a)-[:x]-(b), (a)-[:y]-(c), (a)--(d)"):
                found = mf.count(graph, pattern, **on_gpu(symmetry=symmetry))
                expected = mf.count(graph, pattern, device="cpu", symmetry=symmetry)
                assert (found, found.complete, found.engine) == (expected, True, "pvm")
        assert len(standing.phases) == 6

    @pytest.mark.parametrize("limit", [0, 1, 5, 6, 7, 59, 60, 61, 2**63, 10**30])
    def test_stop_at_limits(self, standing: Standing, limit: int) -> None:
        found = mf.count(clique(5), TRIANGLE, **on_gpu(limit=limit))
        assert (found, found.complete) == (min(60, limit), limit >= 60)
        (request,) = standing.requests
        assert request.limit == (limit // 6 + 1 if limit < 2**63 else request.limit)
        assert request.limit is None or request.limit < 2**63

    def test_of_a_search_cut_short_are_lower_bounds(
        self, standing: Standing, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        counted = search.Counted(3, complete=False, sizes=(7,), overflow=False)
        monkeypatch.setattr(search, "count_phases", lambda *_: counted)
        found = mf.count(clique(5), TRIANGLE, **on_gpu())
        assert (found, found.complete) == (18, False)

    def test_are_nothing_if_time_is_up(self, standing: Standing, monkeypatch: pytest.MonkeyPatch) -> None:
        found = mf.count(clique(5), TRIANGLE, **on_gpu(timeout=0))
        assert (found, found.complete, standing.requests) == (0, False, [])

        def late(*_: Any) -> None:
            raise OutOfTimeError

        monkeypatch.setattr(search, "count_phases", late)
        found = mf.count(clique(5), TRIANGLE, **on_gpu(timeout=100))
        assert (found, found.complete) == (0, False)

    def test_report_progress_of_all_images(self, standing: Standing) -> None:
        told: list[int] = []
        mf.count(clique(5), TRIANGLE, **on_gpu(progress=lambda report: told.append(report.found)))
        assert told == [6 * number for number in range(1, 11)]

    def test_of_several_patterns_are_separate_searches(self, standing: Standing) -> None:
        found = mf.count(clique(6), [TRIANGLE, "(a)--(b)", "(x)--(y)--(z)--(x)"], **on_gpu())
        assert [*map(int, found)] == [120, 30, 120]
        assert len(standing.phases) == 2

    def test_too_large_for_kernels_are_handed_over(self, monkeypatch: pytest.MonkeyPatch) -> None:
        graph = clique(5)
        engine, physical, request = planned(graph, TRIANGLE)
        monkeypatch.setattr(search, "count_phases", lambda *_: search.Counted(0, True, (), True))
        others: list[PhysicalPlan] = []

        def count(graph: object, physical: PhysicalPlan, *_: Any) -> pvm.Outcome:
            others.append(physical)
            return pvm.Outcome(60, True)

        monkeypatch.setattr(engine._dfs, "count", count)
        outcome = engine.count(graph, physical, request, Deadline.after(None))
        assert (outcome.value, outcome.complete) == (60, True)
        assert others[0].engine == "dfs"
        assert outcome.ran is not None
        assert outcome.ran.engine == "dfs"
        assert outcome.ran.why == (
            "engine='pvm' hands over to 'dfs': the number of embeddings passed the range of its kernels"
        )


class TestListings:
    def test_are_those_of_the_cpu(self, standing: Standing) -> None:
        graph = clique(6, "xy")
        for options in ({}, {"symmetry": "subgraphs"}, {"semantics": "homomorphism"}):
            for pattern in (TRIANGLE, LABELLED, "(a)-[:x]-(b), (a)-[:y]-(c), (a)--(d)"):
                matches = mf.match(graph, pattern, **on_gpu(**options))
                rows = matches.to_numpy()
                expected = mf.match(graph, pattern, device="cpu", **options).to_numpy()
                assert (matches.engine, matches.complete, len(rows)) == ("pvm", True, len(expected))
                if not options.get("symmetry"):
                    assert set(map(tuple, rows.tolist())) == set(map(tuple, expected.tolist()))

    @pytest.mark.parametrize("limit", [0, 1, 5, 6, 7, 59, 60, 61, 10**30])
    def test_stop_at_limits(self, standing: Standing, limit: int) -> None:
        matches = mf.match(clique(5), TRIANGLE, **on_gpu(limit=limit))
        rows = matches.to_numpy()
        assert len(np.unique(rows, axis=0)) == len(rows) == min(60, limit)
        assert matches.complete is (limit >= 60)

    @pytest.mark.parametrize("batch_rows", [1, 7, 12, 1000])
    def test_have_batches_of_the_size_asked_for(self, standing: Standing, batch_rows: int) -> None:
        batches = list(mf.match(clique(5), TRIANGLE, **on_gpu(batch_rows=batch_rows)))
        assert all(1 <= len(batch) <= batch_rows for batch in batches)
        assert sum(map(len, batches)) == 60
        assert standing.batch_rows == [max(1, batch_rows // 6)]

    def test_end_when_time_is_up(self, standing: Standing) -> None:
        matches = mf.match(clique(5), TRIANGLE, **on_gpu(timeout=0))
        assert (len(matches.to_numpy()), matches.complete, standing.requests) == (0, False, [])

    def test_of_absent_labels_are_empty(self, standing: Standing) -> None:
        matches = mf.match(clique(5), "(a)-[:absent]-(b)", **on_gpu())
        assert (len(matches.to_numpy()), matches.complete, standing.requests) == (0, True, [])


@pytest.fixture
def without_phases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no pattern have phases."""
    monkeypatch.setattr(pvm, "phases_of", lambda *_, **_options: HandOver("it has none"))


@pytest.mark.usefixtures("without_phases")
class TestHandOvers:
    @pytest.mark.parametrize("counting", [True, False])
    def test_name_the_reason(self, counting: bool) -> None:
        engine, physical, _ = planned(clique(5), PATH, counting=counting)
        assert physical.engine == "dfs"
        assert physical.phases is None
        assert physical.why == "engine='pvm' hands over to 'dfs': it has none"
        assert engine.executor(physical).name == "dfs"

    def test_have_the_plan_of_the_other_engine(self) -> None:
        """Its tails in closed form, its tables and its candidate spaces are used."""
        engine, physical, request = planned(clique(5), PATH)
        alone = engine._dfs.plan(clique(5), mf.Pattern.parse(PATH), request, Deadline.after(None))
        assert alone is not None
        assert [stage.family for stage in physical.stages] == [stage.family for stage in alone.stages]


class TestInduced:
    @pytest.mark.parametrize("directed", [False, True])
    def test_counts_are_those_of_the_cpu(self, standing: Standing, directed: bool) -> None:
        edges = [(u, v) for u in range(6) for v in range(6) if u != v and (u < v or (u * v) % 3 == 2)]
        graph = mf.Graph.from_edges(edges if directed else list(combinations(range(6), 2)), directed=directed)
        for pattern in ("(a)-->(b), (b)-->(a)", "(a)-->(b)-->(c)") if directed else (TRIANGLE, PATH):
            found = mf.count(graph, pattern, **on_gpu(semantics="induced"))
            expected = mf.count(graph, pattern, device="cpu", semantics="induced")
            assert (found, found.complete, found.engine) == (expected, True, "pvm")


class TestSeveralDevices:
    def test_share_phases(self, monkeypatch: pytest.MonkeyPatch) -> None:
        engine, physical, request = planned(clique(5), TRIANGLE, devices=2)
        assert physical.whole
        assert engine.notes(clique(5), physical, request) == ""
        asked: list[DeviceGroup] = []

        def count(group: DeviceGroup, *_: Any) -> search.Counted:
            asked.append(group)
            return search.Counted(10, True, (10, 10))

        monkeypatch.setattr(shares, "count_shared", count)
        outcome = engine.count(clique(5), physical, request, Deadline.after(None))
        assert (outcome.value, outcome.complete, outcome.sizes, outcome.ran) == (60, True, (10, 10), None)
        assert [len(group.accelerators) for group in asked] == [2]

    def test_count_what_each_finds_and_are_complete_if_each_is(self) -> None:
        one, other = search.Counted(3, True, (2, 3)), search.Counted(4, True, (1, 4))
        assert shares._sum([one, other]) == search.Counted(7, True, (3, 7))
        cut = search.Counted(4, False, ())
        assert shares._sum([one, cut]) == search.Counted(7, False, (2, 3))
        assert shares._sum([one, search.Counted(0, False, (), True)]).overflow


class TestExplain:
    def test_has_a_line_for_each_phase(self, standing: Standing) -> None:
        graph = clique(6, "xy")
        told = mf.explain(graph, LABELLED, **on_gpu())
        lines = told.splitlines()
        at = next(number for number, line in enumerate(lines) if line.startswith("phase"))
        assert lines[at].split("  ")[0] == "phase"
        assert len(lines) == at + 1 + len(told.report.phases)
        for phase, line in zip(told.report.phases, lines[at + 1 :], strict=True):
            assert line.startswith(str(phase.number))
            assert line.endswith(phase.text)
        assert "level" not in told
        assert standing.phases == []

    def test_tells_the_partitions_that_each_phase_reads(self, standing: Standing) -> None:
        report = mf.explain(clique(6, "xy"), LABELLED, **on_gpu()).report
        assert [phase.partitions for phase in report.phases] == [("x",), ("y",)]
        assert [phase.matching_pattern for phase in report.phases] == [1, None]
        assert [len(phase.vertices) for phase in report.phases] == [3, 0]
        assert report.phases[0].text.startswith("match a, then")
        assert "in partition 'x'" in report.phases[0].text
        assert report.steps == ()

    def test_has_the_sizes_of_a_run(self, standing: Standing) -> None:
        graph = clique(6, "xy")
        told = mf.explain(graph, LABELLED, analyze=True, **on_gpu())
        report = told.report
        assert report.actual is not None
        assert report.actual.count == mf.count(graph, LABELLED, device="cpu")
        assert report.actual.note is None
        last = report.phases[-1].actual
        assert last is not None
        assert last * report.multiplier == report.actual.count
        assert all(phase.actual is not None for phase in report.phases)
        assert "actual" in told.splitlines()[-1 - len(report.phases)]

    def test_says_why_there_are_no_sizes(self, standing: Standing, monkeypatch: pytest.MonkeyPatch) -> None:
        def count(self: PvmEngine, *_: Any) -> pvm.Outcome:
            return pvm.Outcome(60, True, ran=pvm.Ran("dfs", "cuda", "a reason"))

        monkeypatch.setattr(PvmEngine, "count", count)
        told = mf.explain(clique(5), TRIANGLE, analyze=True, **on_gpu())
        assert told.report.actual is not None
        assert told.report.actual.note == "there are no sizes of phases: a reason"
        assert [phase.actual for phase in told.report.phases] == [None, None]

    def test_is_json(self, standing: Standing) -> None:
        told = mf.explain(clique(6, "xy"), LABELLED, analyze=True, **on_gpu())
        found = json.loads(told.to_json())
        assert [phase["partitions"] for phase in found["phases"]] == [["x"], ["y"]]
        assert found["phases"][0]["actual"] == told.report.phases[0].actual
        assert found["engine"]["name"] == "pvm"

    def test_is_a_flowchart_of_phases(self, standing: Standing) -> None:
        lines = mf.explain(clique(6, "xy"), LABELLED, **on_gpu()).to_mermaid().splitlines()
        assert lines[0] == "flowchart TD"
        assert [line.strip()[:2] for line in lines[1:3]] == ["P1", "P2"]
        assert lines[3:] == ["  P1 --> P2"]

    def test_is_a_page_and_a_picture(self, standing: Standing) -> None:
        told = mf.explain(clique(6, "xy"), "(a)-[:x]-(b), (b)-[:y]-(c)", analyze=True, **on_gpu())
        page = told.to_html()
        assert "<th>phase</th>" in page
        assert page.count("data-phase=") == len(told.report.phases)
        assert "data-phase" in told.to_svg()

    def test_draws_any_names_within_view(self, standing: Standing) -> None:
        names = [
            "a<b>&\"'",
            "a name that is very long, so that no row of a picture has room for it " * 2,
            "c\nd",
        ]
        builder = mf.PatternBuilder()
        for name in names:
            builder = builder.vertex(name)
        pattern = builder.edge(names[0], names[1], "x").edge(names[1], names[2], "y").build()
        told = mf.explain(clique(6, "xy"), pattern, analyze=True, **on_gpu())
        assert_all_in_view(page_of(told.to_svg()))
        assert len(told.splitlines()) == len(told.report.phases) + told.splitlines().index("") + 2
        assert all(mark not in told.to_mermaid() for mark in ("<b>", "&", "'"))

    def test_expects_memory_of_a_partition_and_of_embeddings(self, standing: Standing) -> None:
        few, many = clique(12, "xxxy"), clique(12, "x")
        memory = [
            mf.explain(graph, pattern, **on_gpu()).report.predicted.memory  # type: ignore[union-attr]
            for graph, pattern in ((few, "(a)-[:x]-(b)"), (few, "(a)-[:y]-(b)"), (many, "(a)-[:x]-(b)"))
        ]
        assert all(one.device is not None for one in memory)
        of_x, of_y, of_all = (cast("int", one.device) for one in memory)
        assert of_y < of_x < of_all

    def test_expects_no_more_memory_than_there_is(self, standing: Standing) -> None:
        graph = clique(40)
        pattern = "(a)--(b), (a)--(c), (a)--(d), (a)--(e), (a)--(f), (a)--(g)"
        report = mf.explain(graph, pattern, **on_gpu(gpu_memory=1 << 20)).report
        assert report.predicted is not None
        assert report.predicted.memory.device == 1 << 20

    @pytest.mark.usefixtures("without_phases")
    def test_says_before_a_run_that_a_request_is_handed_over(self, standing: Standing) -> None:
        told = mf.explain(clique(5), PATH, **on_gpu())
        assert told.report.engine.name == "dfs"
        assert "engine='pvm' hands over to 'dfs': it has none" in told
        assert told.report.phases == ()
        assert told.report.steps != ()


class TestLabels:
    def test_may_be_more_than_vertices(self, standing: Standing) -> None:
        pairs = list(combinations(range(7), 2))
        graph = mf.Graph.from_edges(pairs, edge_labels=[f"l{number}" for number in range(len(pairs))])
        text = "(a)-[:l0]-(b)-[:l6]-(c)-[:l1]-(a)"
        for pattern in (text, TRIANGLE, "(a)-[:l0|l1|l2]-(b)--(c)"):
            assert mf.count(graph, pattern, **on_gpu()) == mf.count(graph, pattern, device="cpu")

    def test_may_have_one_edge(self, standing: Standing) -> None:
        graph = mf.Graph.from_edges([(0, 1), (1, 2), (2, 0), (2, 3)], edge_labels=["x", "x", "x", "once"])
        for pattern in ("(a)-[:once]-(b)", "(a)-[:once]-(b)-[:x]-(c)", "(a)-[:x]-(b)-[:once]-(c)-[:x]-(d)"):
            assert mf.count(graph, pattern, **on_gpu()) == mf.count(graph, pattern, device="cpu")

    def test_of_partitions_without_edges_match_nothing(self, standing: Standing) -> None:
        graph = mf.Graph.from_edges(
            np.empty((0, 2), np.int64), num_vertices=3, edge_labels=np.empty(0, np.int64)
        )
        found = mf.count(graph, TRIANGLE, **on_gpu())
        assert (found, found.complete) == (0, True)

    def test_that_do_not_occur_are_not_searched(self, standing: Standing) -> None:
        found = mf.count(clique(5), "(a)-[:x]-(b)-[:absent]-(c)", **on_gpu())
        assert (found, found.complete, standing.requests) == (0, True, [])
        some = mf.count(clique(5), "(a)-[:x|absent]-(b)", **on_gpu())
        assert (some, some.complete) == (20, True)


def test_the_engine_runs_on_gpus() -> None:
    with pytest.raises(mf.DeviceError, match="engine='pvm' runs on a GPU"):
        mf.count(clique(3), TRIANGLE, engine="pvm", device="cpu")


def test_phases_of_a_plan_do_not_make_plans_different() -> None:
    _, physical, _ = planned(clique(5), TRIANGLE)
    phases = physical.phases
    assert isinstance(phases, PhasePlan)
    stage = physical.stages[0]
    assert replace(stage, phases=None) == stage
