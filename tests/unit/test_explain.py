"""What `explain` tells, and each way to show it."""

from __future__ import annotations

import json
import pickle
import random
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import combinations
from typing import Any

import pytest

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.cpu import local
from motiflux.gpu.launch.memory import device_bytes
from motiflux.gpu.strategy import DeviceFacts, Statistics, strategy
from motiflux.plan import make_plan
from motiflux.plan.estimate.predict import distinct_keys, expected_count, expected_seconds, host_memory
from motiflux.plan.ir import Table
from motiflux.plan.report.explain import to_text
from motiflux.request.request import make_request

HOSTILE = "a\"]; L9[<script>alert('&')</script>`|#\n"

CLIQUE = list(combinations(range(4), 2))
STAR = [(0, 1), (0, 2), (0, 3)]
WHEEL = [(0, leaf) for leaf in range(1, 500)] + [(leaf, leaf + 1) for leaf in range(1, 499)]


def labelled_graph() -> mf.Graph:
    """Return a complete graph on five a's, one of which has a b beside it."""
    edges = [*combinations(range(5), 2), (0, 5)]
    return mf.Graph.from_edges(edges, vertex_labels=["a"] * 5 + ["b"])


def labelled_pattern() -> mf.Pattern:
    return mf.Pattern.from_edges([(0, 1), (1, 2), (2, 0), (0, 3)], vertex_labels=["a", "a", "a", "b"])


class TestReport:
    def test_it_says_what_was_asked_for_and_by_whom_it_is_searched(self) -> None:
        pattern = mf.Pattern.parse("(x)~>(y)~>(z)~>(x)")
        report = mf.explain(mf.Graph.from_edges(CLIQUE), pattern, symmetry="subgraphs", engine="cpu").report
        assert (report.pattern.text, report.pattern.vertices) == (str(pattern), 3)
        assert (report.graph.vertices, report.graph.edges, report.graph.directed) == (4, 6, False)
        assert (report.semantics, report.symmetry) == ("isomorphism", "subgraphs")
        assert (report.engine.name, report.engine.device) == ("cpu", "cpu")
        assert (report.automorphisms, report.multiplier) == (6, 1)
        assert report.restrictions == (("x", "y"), ("y", "z"))
        assert report.actual is None

    def test_a_step_names_its_sources_and_what_is_asked_of_a_candidate(self) -> None:
        graph = mf.Graph.from_edges(CLIQUE, directed=True, edge_labels=["wire"] * 5 + ["cash"])
        pattern = mf.Pattern.from_edges([(0, 1), (1, 2), (0, 2)], edge_labels=["wire", "cash", None])
        step = mf.explain(graph, pattern, tuning={"order": "given", "tail": "off"}).report.steps[2]
        told = [(source.level, source.vertex, source.arcs, source.edge_labels) for source in step.sources]
        assert told == [(0, "0", "out", None), (1, "1", "out", ("cash",))]
        assert (step.level, step.vertex, step.tail, step.reuse) == (2, "2", False, None)

    def test_it_shows_the_plan_by_which_count_searches(self) -> None:
        graph, pattern = mf.Graph.from_edges(WHEEL), mf.Pattern.from_edges(STAR)
        report = mf.explain(graph, pattern, tuning=private_tuning({"multiply": "off"})).report
        assert [step.tail for step in report.steps] == [False, True, True, True]
        assert [(part.levels, part.ways, part.divisor) for part in report.tail] == [
            ((1, 2, 3), "falling factorial", 1)
        ]

    def test_the_tail_divides_by_the_orders_that_symmetry_breaking_would_forbid(self) -> None:
        pattern = mf.Pattern.from_edges([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
        (part,) = mf.explain(mf.Graph.from_edges(CLIQUE), pattern).report.tail
        assert (part.ways, part.divisor, len(part.vertices)) == ("falling factorial", 2, 2)

    def test_sets_that_differ_take_inclusion_and_exclusion_and_those_that_cannot_meet_multiply(self) -> None:
        path = mf.Pattern.from_edges([(0, 1), (1, 2), (2, 3)])
        (part,) = mf.explain(mf.Graph.from_edges(CLIQUE), path).report.tail
        assert (part.ways, part.sets) == ("inclusion-exclusion", (0, 1))
        told = mf.explain(labelled_graph(), labelled_pattern()).report.tail
        assert all(part.ways == "product" for part in told)

    def test_the_candidate_space_has_a_size_for_each_vertex(self) -> None:
        report = mf.explain(labelled_graph(), labelled_pattern()).report
        assert report.no_space is None
        assert report.space is not None
        assert report.space.candidates == (("0", 1), ("1", 4), ("2", 4), ("3", 1))
        assert report.space.nbytes > 0

    @pytest.mark.parametrize(
        ("labels", "tuning", "reason"),
        [
            (["a", "a"], {"candidates": "off"}, "switched off by candidates=off"),
            (None, {}, "the pattern has no labels or conditions that could filter candidates"),
            (["z", "a"], {}, "the plan has no search"),
        ],
    )
    def test_it_says_why_there_is_no_candidate_space(
        self, labels: list[str] | None, tuning: dict[str, str], reason: str
    ) -> None:
        pattern = mf.Pattern.from_edges([(0, 1)], vertex_labels=labels)
        report = mf.explain(labelled_graph(), pattern, tuning=tuning).report
        assert (report.space, report.no_space) == (None, reason)

    def test_a_vertex_without_candidates_is_told_with_the_space(self) -> None:
        pattern = mf.Pattern.from_edges([(0, 1), (1, 2)], vertex_labels=["b", "b", "a"])
        report = mf.explain(labelled_graph(), pattern).report
        assert report.impossible == "some query vertex has no candidate"
        assert report.space is not None
        assert min(number for _, number in report.space.candidates) == 0
        assert (report.steps, report.tail, report.predicted, report.basis) == ((), (), None, None)

    @pytest.mark.parametrize(
        ("options", "reason"),
        [
            ({}, "no GPU was found"),
            ({"device": "cpu"}, "asked for by device='cpu'"),
            ({"engine": "cpu"}, "asked for by engine='cpu'"),
            ({"device": "cpu", "engine": "cpu"}, "asked for by device='cpu' and engine='cpu'"),
        ],
    )
    def test_it_says_why_this_engine(self, options: dict[str, Any], reason: str) -> None:
        report = mf.explain(mf.Graph.from_edges(CLIQUE), mf.Pattern.from_edges(STAR), **options).report
        assert report.engine.reason == reason


class TestPrediction:
    def test_counts_without_variance_are_predicted_as_they_are(self) -> None:
        complete = mf.Graph.from_edges(list(combinations(range(9), 2)))
        pattern = mf.Pattern.from_edges(STAR)
        predicted = mf.explain(
            complete, pattern, threads=3, tuning=private_tuning({"multiply": "off"})
        ).report.predicted
        assert predicted is not None
        assert predicted.count == pytest.approx(mf.count(complete, pattern), rel=0.3)
        assert (predicted.threads, predicted.note, predicted.memory.device) == (3, None, None)

    def test_a_limit_bounds_what_is_predicted(self) -> None:
        graph, pattern = mf.Graph.from_edges(WHEEL), mf.Pattern.from_edges(STAR)
        plan = make_plan(graph, pattern, tail=True)
        whole, cut = expected_seconds(plan, 1, None), expected_seconds(plan, 1, 10)
        assert whole is not None
        assert cut is not None
        assert cut < whole
        assert expected_count(plan, 10) == 10

    def test_more_threads_take_less_time(self) -> None:
        plan = make_plan(mf.Graph.from_edges(WHEEL), mf.Pattern.from_edges(STAR), tail=True)
        one, four = expected_seconds(plan, 1, None), expected_seconds(plan, 4, None)
        assert one is not None
        assert four is not None
        assert four < one

    def test_where_nothing_is_sampled_no_time_is_predicted(self) -> None:
        report = mf.explain(
            labelled_graph(), labelled_pattern(), tuning={"order": "cost", "candidates": "off"}
        ).report
        assert report.predicted is not None
        assert (report.basis, report.predicted.seconds) == ("frequencies", None)
        assert report.predicted.note == "nothing was sampled"
        assert all(step.scanned is None and step.estimated is not None for step in report.steps)
        assert "from label frequencies only" in to_text(report)

    @pytest.mark.parametrize("directed", [False, True])
    @pytest.mark.parametrize("edge_labels", [None, ["x", "y", "x"]])
    def test_rows_take_no_more_than_is_predicted(self, directed: bool, edge_labels: Any) -> None:
        graph = mf.Graph.from_edges(
            CLIQUE,
            directed=directed,
            vertex_labels=["a", "a", "b", "b"],
            edge_labels=["x", "y", "x", "y", "x", "y"],
        )
        pattern = mf.Pattern.from_edges(
            [(0, 1), (1, 2), (0, 2)], vertex_labels=["a", "b", None], edge_labels=edge_labels, directed=False
        )
        plan = make_plan(graph, pattern)
        held = sum(part.nbytes for key in distinct_keys(plan) for part in graph.adjacency(key))
        assert held <= host_memory(graph, plan, 1).rows <= 3 * held

    def test_rows_of_the_graph_itself_take_nothing(self) -> None:
        graph = mf.Graph.from_edges(CLIQUE)
        assert host_memory(graph, make_plan(graph, mf.Pattern.from_edges(STAR)), 1).rows == 0


class TestMemoryOfTables:
    """Counted from tables, what is held is the tables: not the lists of the search that is not made."""

    @pytest.mark.parametrize("labels", [None, ["a", "b", "a"] * 40])
    @pytest.mark.parametrize("directed", [False, True])
    @pytest.mark.parametrize(
        "edges",
        [
            [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)],
            [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4)],
            [(0, 1), (1, 2), (2, 0), (0, 3), (1, 4)],
            [(0, 1), (1, 2), (2, 3), (3, 4)],
        ],
        ids=["diamond", "house", "bull", "path"],
    )
    def test_those_that_are_there_at_once_take_no_more_than_is_predicted(
        self,
        edges: list[tuple[int, int]],
        directed: bool,
        labels: list[str] | None,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        most = 0
        make = local._Evaluation.make

        def watched(evaluation: local._Evaluation, table: Table) -> None:
            nonlocal most
            make(evaluation, table)
            held = [one[0].nbytes for one in evaluation._known.values() if not isinstance(one, int)]
            most = max(most, sum(held))

        monkeypatch.setattr(local._Evaluation, "make", watched)
        drawn = random.Random(7)
        arcs = {tuple(drawn.sample(range(120), 2)) for _ in range(900)}
        graph = mf.Graph.from_edges(sorted(arcs), directed=directed, vertex_labels=labels)
        wanted = None if labels is None else ["a"] + [None] * max(max(edge) for edge in edges)
        pattern = mf.Pattern.from_edges(edges, vertex_labels=wanted)
        tables = {"tables": "on", "candidates": "off"}
        told = mf.explain(graph, pattern, threads=1, tuning=tables).report
        assert told.tables, "it is not counted from tables"
        assert told.predicted is not None
        memory = told.predicted.memory
        assert memory.tables is not None
        mf.count(graph, pattern, threads=1, tuning=tables)
        assert most <= memory.tables
        assert memory.tables <= 8 * most + 64 * graph.num_vertices
        assert (memory.rows > 0) == (labels is not None)

    def test_more_threads_take_more(self) -> None:
        graph, pattern = mf.Graph.from_edges(WHEEL), mf.Pattern.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)])
        told = [
            mf.explain(
                graph, pattern, device="cpu", threads=threads, tuning={"tables": "on"}
            ).report.predicted
            for threads in (1, 2)
        ]
        held = [one.memory.tables for one in told if one is not None and one.memory.tables is not None]
        assert held[1] - held[0] == 4 * graph.num_vertices

    def test_the_text_says_so(self) -> None:
        graph, pattern = mf.Graph.from_edges(WHEEL), mf.Pattern.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)])
        asked: dict[str, Any] = {"device": "cpu", "threads": 1}
        tables = mf.explain(graph, pattern, tuning={"tables": "on"}, **asked)
        searched = mf.explain(graph, pattern, tuning={"tables": "off"}, **asked)
        (line,) = (line for line in tables.splitlines() if line.startswith("memory"))
        assert line == "memory    narrowed rows 0 B, tables about 1.95 KiB"
        assert tables.to_dict()["predicted"]["memory"]["tables"] == 2000
        assert "tables" not in searched
        assert searched.to_dict()["predicted"]["memory"]["tables"] is None


class _Device:
    """A device as far as predictions look at it."""

    multiprocessors = 100

    def free_memory(self) -> int:
        return 1 << 30


class TestDeviceMemory:
    GRAPH = mf.Graph.from_edges(WHEEL)

    def bytes_of(self, edges: list[tuple[int, int]], gpu_memory: int | None = None) -> int:
        request = make_request(semantics="isomorphism", symmetry="embeddings", gpu_memory=gpu_memory)
        plan = make_plan(self.GRAPH, mf.Pattern.from_edges(edges))
        stage = strategy(plan, Statistics(self.GRAPH.num_vertices), DeviceFacts(4), request).stages[0]
        return device_bytes(_Device(), self.GRAPH, stage, request)  # type: ignore[arg-type]

    def test_rows_are_the_least_it_takes(self) -> None:
        assert self.bytes_of([(0, 1)]) >= 8 * (self.GRAPH.num_vertices + 1) + 4 * self.GRAPH.num_edges

    def test_lists_of_candidates_stay_within_the_budget(self) -> None:
        whole, tight = self.bytes_of(CLIQUE), self.bytes_of(CLIQUE, gpu_memory=1 << 17)
        assert tight < whole
        assert tight <= 1 << 17


class TestAnalyze:
    @pytest.mark.parametrize("threads", [1, 2, 7])
    def test_a_root_counts_once_however_many_threads_share_it(self, threads: int) -> None:
        triangle = mf.Pattern.from_edges([(0, 1), (1, 2), (2, 0)])
        told = mf.explain(mf.Graph.from_edges(WHEEL), triangle, analyze=True, threads=threads).report
        assert [step.actual for step in told.steps] == [500, 997, 498]
        assert told.actual is not None
        assert (told.actual.count, told.actual.complete, told.actual.note) == (2988, True, None)

    def test_a_tail_has_the_size_of_its_last_level_only(self) -> None:
        told = mf.explain(mf.Graph.from_edges(CLIQUE), mf.Pattern.from_edges(STAR), analyze=True).report
        assert [step.actual for step in told.steps] == [4, None, None, 4]
        assert [step.tail for step in told.steps] == [False, True, True, True]
        assert told.actual is not None
        assert told.actual.count == 24

    def test_what_a_limit_cut_is_said_to_be_cut(self) -> None:
        told = mf.explain(
            mf.Graph.from_edges(WHEEL), mf.Pattern.from_edges(STAR), analyze=True, limit=3, threads=1
        )
        assert told.report.actual is not None
        assert (told.report.actual.count, told.report.actual.complete) == (3, False)
        assert told.report.steps[0].actual is not None
        assert told.report.steps[-1].actual is None
        assert "at least 3 embeddings, stopped early" in told

    def test_nothing_is_run_where_nothing_can_match(self) -> None:
        pattern = mf.Pattern.from_edges([(0, 1)], vertex_labels=["z", None])
        actual = mf.explain(labelled_graph(), pattern, analyze=True, timeout=0).report.actual
        assert actual is not None
        assert (actual.count, actual.complete, actual.note) == (0, True, None)

    def test_an_engine_that_tells_no_sizes_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from motiflux.cpu.engine import CpuEngine
        from motiflux.request.engine import Outcome

        class Silent(CpuEngine):
            name = "silent"
            capabilities = replace(CpuEngine.capabilities, reports_sizes=False)

            def count(self, *args: Any) -> Outcome:
                whole = super().count(*args)
                return Outcome(whole.value, whole.complete)

        monkeypatch.setattr(
            "motiflux.api.explaining.choose_engine", lambda request, **_: (Silent(), "a test")
        )
        told = mf.explain(mf.Graph.from_edges(CLIQUE), mf.Pattern.from_edges(STAR), analyze=True)
        assert told.report.actual is not None
        assert told.report.actual.note == "engine silent does not tell the sizes of steps"
        assert all(step.actual is None for step in told.report.steps)
        assert "engine silent does not tell the sizes of steps" in told

    @pytest.mark.parametrize(
        "option", [{"limit": -1}, {"timeout": "soon"}, {"threads": 0}, {"gpu_memory": 0}]
    )
    def test_it_takes_the_options_of_count(self, option: dict[str, Any]) -> None:
        (name,) = option
        with pytest.raises(mf.ArgumentError, match=f"^{name}: expected"):
            mf.explain(mf.Graph.from_edges(CLIQUE), mf.Pattern.from_edges(STAR), **option)


def hostile() -> mf.Explanation:
    """Explain a pattern whose every name is meant to break out of where it is shown."""
    graph = mf.Graph.from_edges(
        CLIQUE, vertex_labels=[HOSTILE] * 4, edge_labels=[HOSTILE] * 3 + ["plain"] * 3
    )
    pattern = (
        mf.PatternBuilder()
        .vertex(HOSTILE, HOSTILE)
        .vertex("end", {HOSTILE, "none"})
        .vertex("graph")
        .vertex("4")
        .edge(HOSTILE, "end", HOSTILE)
        .edge("end", "graph")
        .edge("end", "4")
        .build(HOSTILE)
    )
    return mf.explain(graph, pattern, analyze=True)


class TestText:
    def test_after_a_run_the_actual_sizes_stand_beside_the_estimated(self) -> None:
        pattern = mf.Pattern.from_edges([(0, 1), (1, 2), (2, 0)])
        before = mf.explain(mf.Graph.from_edges(WHEEL), pattern)
        after = mf.explain(mf.Graph.from_edges(WHEEL), pattern, analyze=True)
        head = next(line for line in before.splitlines() if line.startswith("level"))
        assert head.split() == ["level", "vertex", "candidates", "conditions", "estimated"]
        assert "level  vertex  candidates" in after
        assert after.splitlines()[-1].split()[-1] == "498"
        assert "actual    2,988 embeddings; " in after

    def test_the_tail_is_told_below_the_table(self) -> None:
        told = mf.explain(
            mf.Graph.from_edges(CLIQUE), mf.Pattern.from_edges([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
        )
        assert told.splitlines()[-2] == "The tail is counted in closed form, as the product of"
        assert re.fullmatch(
            r"  \d, \d: falling factorial, 2 from one set, divided by 2", told.splitlines()[-1]
        )

    def test_names_break_no_lines(self) -> None:
        told = hostile()
        lines = 10 + 2 + len(told.report.steps) + (2 + len(told.report.tail) if told.report.tail else 0)
        assert len(told.splitlines()) == lines

    def test_it_is_a_string_that_survives_pickling(self) -> None:
        told = mf.explain(mf.Graph.from_edges(CLIQUE), mf.Pattern.from_edges(STAR))
        again = pickle.loads(pickle.dumps(told))
        assert isinstance(told, str)
        assert (again, again.report) == (told, told.report)
        assert hash(told.report) == hash(again.report)


class TestJson:
    def test_it_holds_every_field_of_the_report(self) -> None:
        told = mf.explain(labelled_graph(), labelled_pattern(), analyze=True)
        fields = json.loads(told.to_json())
        assert fields == told.to_dict()
        assert next(iter(fields)) == "schema"
        assert (fields["schema"], fields["engine"]["name"]) == (1, "cpu")
        assert fields["space"]["candidates"][0] == ["0", 1]
        assert [step["actual"] for step in fields["steps"]] == [step.actual for step in told.report.steps]
        assert fields["actual"]["count"] == int(mf.count(labelled_graph(), labelled_pattern()))

    def test_hostile_names_come_back(self) -> None:
        fields = json.loads(hostile().to_json())
        assert fields["pattern"]["name"] == HOSTILE
        assert HOSTILE in {step["vertex"] for step in fields["steps"]}


BOX = r'L\d+\["[\w .,:()+/=\-#;]*(<br/>[\w .,:()+/=\-#;]*)*"\]'
ARROW = r'L\d+ (-- "[\w .,:()+/=\-#;]*" -->|-\. "its set" \.->) L\d+'
LINE = re.compile(rf'flowchart TD|  subgraph tail\["tail, counted in closed form"\]|  end| +{BOX}|  {ARROW}')


class TestMermaid:
    def test_levels_are_boxes_and_sources_are_arrows(self) -> None:
        told = mf.explain(
            mf.Graph.from_edges(CLIQUE), mf.Pattern.from_edges(CLIQUE, name="k4"), tuning={"order": "given"}
        )
        chart = told.to_mermaid().splitlines()
        assert chart[0] == "flowchart TD"
        assert sum(line.lstrip().startswith("L") and "[" in line for line in chart) == 4
        assert '  L0 -- "neighbours" --> L1' in chart
        assert '  L2 -. "its set" .-> L3' in chart

    def test_the_tail_is_framed(self) -> None:
        chart = mf.explain(mf.Graph.from_edges(CLIQUE), mf.Pattern.from_edges(STAR)).to_mermaid().splitlines()
        frame = chart[
            chart.index('  subgraph tail["tail, counted in closed form"]') + 1 : chart.index("  end")
        ]
        assert [line.split("[")[0].strip() for line in frame] == ["L1", "L2", "L3"]

    def test_names_cannot_break_out(self) -> None:
        chart = hostile().to_mermaid()
        assert all(LINE.fullmatch(line) for line in chart.splitlines()), chart
        assert "#34;#93;#59; L9#91;#60;script#62;" in chart

    def test_no_match_is_one_box(self) -> None:
        pattern = mf.Pattern.from_edges([(0, 1)], vertex_labels=[HOSTILE, None])
        chart = mf.explain(labelled_graph(), pattern).to_mermaid().splitlines()
        assert len(chart) == 2
        assert re.fullmatch(r'  none\["no match: [\w .,:()+/=\-#;]*"\]', chart[1])


class _Page(HTMLParser):
    """The elements and the text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text.append(data)


class TestHtml:
    def test_names_are_text_and_nothing_else(self) -> None:
        told = hostile()
        for html in (told._repr_html_(), told.to_html()):
            page = _Page()
            page.feed(html)
            assert "script" not in page.tags
            assert HOSTILE in page.text

    def test_a_page_of_its_own_has_all_that_a_notebook_shows(self) -> None:
        told = mf.explain(labelled_graph(), labelled_pattern(), analyze=True)
        assert told.to_html().startswith("<!DOCTYPE html>")
        assert told._repr_html_() in told.to_html()
        page = _Page()
        page.feed(told._repr_html_())
        assert page.tags.count("table") == 2
        assert {step.vertex for step in told.report.steps} <= set(page.text)
        assert {"estimated", "actual", str(labelled_pattern())} <= set(page.text)

    def test_showing_runs_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        told = mf.explain(mf.Graph.from_edges(CLIQUE), mf.Pattern.from_edges(STAR))
        monkeypatch.setattr("motiflux.cpu.engine.CpuEngine.count", None)
        monkeypatch.setattr("motiflux.api.explaining.choose_engine", None)
        assert told._repr_html_()
        assert told.to_mermaid()
        assert told.to_json()


@pytest.mark.parametrize(
    ("tuning", "limit", "order", "sentence"),
    [
        (
            {"order": "adaptive"},
            None,
            "always",
            "adaptive: at each step, the vertex with the fewest candidates is next",
        ),
        ({}, 10, "later", "fixed; once the search finds little, adaptive"),
        ({"backjump": "off"}, 10, None, None),
    ],
    ids=["always", "later", "never"],
)
def test_it_says_where_the_order_of_levels_changes(
    tuning: dict[str, str], limit: int | None, order: str | None, sentence: str | None
) -> None:
    edges = [(u, v) for u in range(30) for v in range(u) if (u * v) % 3]
    graph = mf.Graph.from_edges(edges, num_vertices=30, vertex_labels=[v % 2 for v in range(30)])
    pattern = mf.Pattern.from_edges([(0, 1), (1, 2), (2, 3)], vertex_labels=[0, 1, 0, 1])
    told = mf.explain(graph, pattern, tuning={"candidates": "on", **tuning}, limit=limit, analyze=True)
    assert told.report.free_order == order
    assert (sentence in str(told)) if sentence else "\norder " not in str(told)
