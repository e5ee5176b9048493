"""Counts per vertex and per edge: results, options and refusals."""

from __future__ import annotations

from itertools import combinations
from math import perm
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.config import private_tuning
from tests.interrupts import ctrl_c_in_native_code
from tests.unit.cli_run import motiflux, only_json

WAYS: dict[str, dict[str, str]] = {
    "tables": {"tables": "on"},
    "rooted": {"tables": "off", "images_by": "rooted"},
    "listing": {"tables": "off", "images_by": "listing"},
}
TRIANGLE = "(a)--(b)--(c)--(a)"


def kite() -> mf.Graph:
    return mf.Graph.from_edges([("ann", "bob"), ("bob", "cy"), ("cy", "ann"), ("cy", "eve")])


def star(leaves: int) -> mf.Pattern:
    return mf.Pattern.from_edges([(0, leaf) for leaf in range(1, leaves + 1)])


@pytest.mark.parametrize("way", ["tables", "rooted"])
@pytest.mark.parametrize("threads", [1, 3])
def test_counts_beyond_64_bits_are_python_integers(way: str, threads: int) -> None:
    degree, leaves = 2000, 7
    hub = mf.Graph.from_edges([(0, leaf) for leaf in range(1, degree + 1)])
    counts = mf.count_per_vertex(hub, star(leaves), tuning=private_tuning(WAYS[way]), threads=threads)
    total = perm(degree, leaves)
    assert total > 2**64
    assert counts.counts.dtype == object
    assert counts[0][0] == total
    assert counts[1] == (0, *[total // degree] * leaves)
    per_edge = mf.count_per_edge(hub, star(leaves), by=0, tuning=private_tuning(WAYS[way]), threads=threads)
    assert per_edge.counts.tolist() == [total // degree] * degree


def test_the_sum_of_both_directions_may_pass_63_bits() -> None:
    # Each direction stays below 2^63, their sum does not.
    middle = [(0, 1)]
    ends = [(end, 10 + 5000 * end + leaf) for end in (0, 1) for leaf in range(1400)]
    pattern = mf.Pattern.from_edges([(0, 1), *((0, leaf) for leaf in range(2, 8))])
    found = mf.count_per_edge(mf.Graph.from_edges(middle + ends), pattern, by=0)
    one_way = perm(1400, 6)
    assert one_way < 2**63 < 2 * one_way
    assert found.top(1) == [((0, 1), 2 * one_way)]


def test_counts_of_subgraphs_fit_where_those_of_embeddings_do_not() -> None:
    degree, leaves = 1700, 7
    hub = mf.Graph.from_edges([(0, leaf) for leaf in range(1, degree + 1)])
    found = mf.count_per_vertex(hub, star(leaves), by=0, symmetry="subgraphs")
    assert found[0] == perm(degree, leaves) // 5040
    assert found.counts.dtype == np.int64


def test_counts_beyond_63_bits_are_text_in_tables(tmp_path: Path) -> None:
    hub = mf.Graph.from_edges([(0, leaf) for leaf in range(1, 2001)])
    counts = mf.count_per_vertex(hub, star(7), by=0)
    assert counts.to_arrow().to_pylist()[-1] == {"id": 0, "count": str(perm(2000, 7))}
    assert counts.save(tmp_path / "counts.csv") == 2001
    assert (tmp_path / "counts.csv").read_text().splitlines()[-1] == f"0,{perm(2000, 7)}"


def test_a_timeout_gives_lower_bounds() -> None:
    graph = mf.generate.erdos_renyi(vertices=3000, edges=60_000, seed=1)
    for way in WAYS.values():
        tuning = private_tuning({**way, "parts": "off"})
        found = mf.count_per_vertex(graph, "(a)--(b)--(c)--(d)--(e)--(a)", timeout=0, tuning=tuning)
        assert not found.complete
        assert found.counts.shape == (graph.num_vertices, 5)
        assert (found.counts >= 0).all()
        assert "incomplete" in repr(found)
        assert not found.top(3, "a").complete


@pytest.mark.parametrize("way", WAYS)
def test_ctrl_c_stops_and_leaves_the_graph_usable(way: str) -> None:
    graph = mf.generate.erdos_renyi(vertices=2000, edges=200_000, seed=1)
    pattern = "(a)--(b)--(c)--(d)--(e)--(f)--(a), (a)--(c), (b)--(e)"
    tuning = private_tuning(WAYS[way])
    with pytest.raises(KeyboardInterrupt), ctrl_c_in_native_code():
        mf.count_per_vertex(graph, pattern, tuning=tuning)
    assert mf.count_per_vertex(graph, "(a)--(b)", by="a").counts.sum() == 2 * graph.num_edges


@pytest.mark.turns(8)
def test_progress_is_reported() -> None:
    reports: list[Any] = []
    graph = mf.generate.erdos_renyi(vertices=3000, edges=800_000, seed=1)
    for way in WAYS.values():
        reports.clear()
        tuning = private_tuning(way)
        mf.count_per_vertex(
            graph, "(a)--(b)--(c)--(d)--(a), (a)--(c)", by="a", progress=reports.append, tuning=tuning
        )
        assert reports
        assert all(0 <= report.done <= report.total for report in reports)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limit": 5}, "limit: expected None"),
        ({"by": "x"}, "by: expected the name or position of a query vertex"),
        ({"by": 3}, "by: expected the name or position of a query vertex"),
        ({"by": True}, "by: expected the name or position of a query vertex"),
        ({"by": []}, "by: expected different query vertices, at least one"),
        ({"by": ["a", 0]}, "by: expected different query vertices, at least one"),
        ({"symmetry": "subgraphs", "semantics": "homomorphism"}, "symmetry: expected 'embeddings'"),
    ],
)
def test_wrong_arguments_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(mf.ArgumentError, match=message):
        mf.count_per_vertex(kite(), TRIANGLE, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "pvm"}, "made by engine='cpu' or engine='dfs', found engine='pvm'"),
        ({"engine": "outofcore"}, "made by engine='cpu' or engine='dfs', found engine='outofcore'"),
        ({"engine": "dfs", "device": "cpu"}, "engine='dfs' runs on a GPU, found device='cpu'"),
        ({"engine": "cpu", "device": "cuda"}, "engine='cpu' runs on the CPU, found device='cuda'"),
    ],
)
def test_engines_that_do_not_count_so_are_refused_by_name(options: dict[str, Any], message: str) -> None:
    for call in (mf.count_per_vertex, mf.count_per_edge):
        with pytest.raises(mf.DeviceError, match=message):
            call(kite(), TRIANGLE, **options)
    with pytest.raises(mf.DeviceError, match=message):
        mf.orbits(kite(), **options)


def test_the_reason_says_who_counted() -> None:
    assert mf.count_per_vertex(kite(), TRIANGLE).reason.startswith("counts per vertex and edge are made on")
    assert mf.count_per_vertex(kite(), TRIANGLE, device="cpu").reason.startswith("the CPU was asked for; by")


def test_subgraphs_of_vertices_that_may_coincide_are_refused() -> None:
    pattern = mf.Pattern.from_edges([(0, 1), (1, 2)], may_coincide=[(0, 2)])
    with pytest.raises(mf.ArgumentError, match="symmetry"):
        mf.count_per_vertex(kite(), pattern, symmetry="subgraphs")
    assert mf.count_per_vertex(kite(), pattern)["eve"] == (3, 1, 3)


def test_an_edge_with_the_name_of_a_place_does_not_hide_another() -> None:
    path = mf.Graph.from_edges([(0, 1), (1, 2)], directed=True)
    found = mf.count_per_edge(path, "(a)-[e1]->(b)-->(c)")
    assert found.columns == ("e1", "e1_")
    assert found.counts.tolist() == [[1, 0], [0, 1]]


def test_an_edge_counts_where_one_of_its_copies_satisfies_comparisons() -> None:
    ends = np.array([(0, 1), (0, 1), (0, 1), (1, 2)])
    graph = mf.Graph.from_edges(
        (ends[:, 0], ends[:, 1]),
        directed=True,
        edge_labels=["cash", "cash", "wire", "wire"],
        edge_attributes={"time": [9, 1, 7, 5]},
    )
    pattern = mf.Pattern.parse("(a)-[x]->(b)-[y]->(c) WHERE x.time < y.time")
    found = mf.count_per_edge(graph, pattern)
    assert [tuple(row.values()) for row in found.to_arrow().to_pylist()] == [
        (0, 1, "cash", 1, 0),
        (0, 1, "wire", 0, 0),
        (1, 2, "wire", 0, 1),
    ]
    assert mf.count_per_edge(graph, pattern, "y", symmetry="subgraphs").counts.tolist() == [0, 0, 1]
    assert not mf.count_per_edge(graph, pattern, timeout=1e-9).complete
    assert mf.count_per_vertex(graph, pattern, "b").top(3) == [(1, 1)]


def test_both_arcs_between_two_vertices_count_for_an_edge_of_either_direction() -> None:
    graph = mf.Graph.from_edges([(0, 1), (1, 0), (1, 2)], directed=True, edge_attributes={"time": [1, 9, 5]})
    found = mf.count_per_edge(graph, "(a)-[x]-(b)-[y]->(c) WHERE x.time < y.time", "x")
    served = {
        (u, v): count
        for u, v, count in zip(
            found.sources.tolist(), found.targets.tolist(), found.counts.tolist(), strict=True
        )
    }
    assert served == {(0, 1): 1, (1, 0): 0, (1, 2): 1}


def test_the_top_has_ties_by_ids_and_no_zeros() -> None:
    found = mf.top(kite(), TRIANGLE, by="a", k=2)
    assert (found, found.complete) == ([("ann", 2), ("bob", 2)], True)
    assert mf.top(kite(), TRIANGLE, by=np.int64(0), k=2) == found  # type: ignore[arg-type]
    assert mf.top(kite(), TRIANGLE, by="a", k=9) == [("ann", 2), ("bob", 2), ("cy", 2)]
    with pytest.raises(mf.ArgumentError, match="by: expected the name or position of one query vertex"):
        mf.top(kite(), TRIANGLE, by=["a"])  # type: ignore[arg-type]
    with pytest.raises(mf.ArgumentError, match="k: expected"):
        mf.top(kite(), TRIANGLE, by="a", k=0)


def test_a_vertex_that_is_not_there_is_a_key_error() -> None:
    found = mf.count_per_vertex(kite(), TRIANGLE, by="a")
    with pytest.raises(KeyError):
        found["nobody"]


def test_nothing_can_match_a_label_that_does_not_occur() -> None:
    found = mf.count_per_vertex(kite(), "(a:person)--(b)")
    assert (found.complete, int(found.counts.sum())) == (True, 0)
    assert mf.count_per_edge(kite(), "(a)-[:wire]-(b)").counts.tolist() == [[0]] * 4


def test_an_empty_graph_has_no_counts() -> None:
    graph = mf.Graph.from_edges(np.empty((0, 2), np.int64))
    for way in WAYS.values():
        assert mf.count_per_vertex(graph, TRIANGLE, tuning=private_tuning(way)).counts.shape == (0, 3)
        assert mf.count_per_edge(graph, TRIANGLE, tuning=private_tuning(way)).counts.shape == (0, 3)


def test_conditions_and_parallel_edges_are_those_of_the_search() -> None:
    graph = mf.Graph.from_edges(
        [(1, 2), (1, 2), (2, 3), (3, 1)],
        directed=True,
        edge_labels=["wire", "cash", "wire", "wire"],
        edge_attributes={"amount": [5, 50, 500, 5]},
    )
    found = mf.count_per_edge(graph, "(a)-[x]->(b)-[y]->(c) WHERE x.amount > 10", by="x")
    assert sorted(found.to_arrow().to_pylist(), key=lambda row: (row["src"], row["label"])) == [
        {"src": 1, "dst": 2, "label": "cash", "count": 1},
        {"src": 1, "dst": 2, "label": "wire", "count": 0},
        {"src": 2, "dst": 3, "label": "wire", "count": 1},
        {"src": 3, "dst": 1, "label": "wire", "count": 0},
    ]


def test_a_deep_labelled_tree_is_counted_in_parts() -> None:
    # 12 vertices: beyond formulas of tables; each level multiplies the number of embeddings.
    graph = mf.Graph.from_edges(
        list(combinations(range(40), 2)), num_vertices=40, vertex_labels=[v % 12 for v in range(40)]
    )
    pattern = mf.Pattern.from_edges(
        [(0, 1), (1, 2), (2, 3), (3, 4), (0, 5), (5, 6), (6, 7), (0, 8), (8, 9), (9, 10), (10, 11)],
        vertex_labels=list(range(12)),
    )
    found = mf.count_per_vertex(graph, pattern, by=[0, 4, 11])
    total = int(mf.count(graph, pattern))
    assert found.counts.sum(axis=0).tolist() == [total] * 3
    of_label = 4
    assert found[0] == (total // of_label, 0, 0)


class TestTheCommand:
    @pytest.fixture
    def graph(self, tmp_path: Path) -> Path:
        path = tmp_path / "kite.txt"
        path.write_text("1 2\n2 3\n1 3\n3 4\n")
        return path

    def test_prints_the_greatest_counts(self, graph: Path) -> None:
        result = motiflux("count", graph, "(a)--(b)--(c)", "--per-vertex", "b", "--top", "2")
        assert result.exit_code == 0
        assert result.stdout.splitlines()[:3] == ["greatest counts of b:", "  3  6", "  1  2"]

    def test_writes_all_counts_and_one_json_object(self, graph: Path, tmp_path: Path) -> None:
        output = tmp_path / "counts.csv"
        result = motiflux("count", graph, "(a)-[x]-(b)--(c)", "--per-edge", "x", "--json", "-o", output)
        fields = only_json(result)
        assert fields["top"] == [[[1, 3], 3], [[2, 3], 3], [[1, 2], 2], [[4, 3], 2]]
        assert (fields["by"], fields["rows"], fields["complete"]) == (["x"], 4, True)
        assert output.read_text().splitlines()[0] == "src,dst,count"

    def test_a_star_is_all_query_vertices(self, graph: Path) -> None:
        fields = only_json(motiflux("count", graph, TRIANGLE, "--per-vertex", "*", "--json"))
        assert fields["by"] == ["a", "b", "c"]

    def test_a_timeout_is_incomplete(self, graph: Path) -> None:
        result = motiflux("count", graph, TRIANGLE, "--per-vertex", "a", "--timeout", "0")
        assert result.exit_code == 1
        assert result.stdout.splitlines()[0] == "no counts above 0 so far (stopped by the timeout)"

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--per-vertex", "x"], "--per-vertex: expected the name or position of a query vertex"),
            (["--per-edge", "x"], "--per-edge: expected the name or position of a query edge"),
            (["--per-vertex", "a", "--per-edge", "e0"], "--per-vertex: expected no --per-edge beside it"),
            (["--per-vertex", "a", "--limit", "3"], "--limit: expected None"),
            (["--per-edge", "x", "--copies"], "--copies: expected no --per-vertex or --per-edge beside it"),
            (["-o", "counts.csv"], "-o: expected --per-vertex or --per-edge beside it"),
            (["--top", "3"], "--top: expected --per-vertex or --per-edge beside it"),
            (["(a)--(b)", "--per-vertex", "a"], "--per-vertex and --per-edge: expected one PATTERN, found 2"),
        ],
    )
    def test_mistakes_are_named(self, graph: Path, options: list[str], message: str) -> None:
        result = motiflux("count", graph, TRIANGLE, *options)
        assert result.exit_code == 2
        assert message in result.stderr


class TestTheCommandOfOrbits:
    @pytest.fixture
    def graph(self, tmp_path: Path) -> Path:
        path = tmp_path / "kite.txt"
        path.write_text("1 2\n2 3\n1 3\n3 4\n")
        return path

    def test_prints_the_sums_and_writes_the_counts(self, graph: Path, tmp_path: Path) -> None:
        output = tmp_path / "orbits.csv"
        result = motiflux("orbits", graph, "-o", output)
        assert result.exit_code == 0
        assert result.stdout.splitlines()[:4] == ["o0   8", "o1   4", "o2   2", "o3   3"]
        assert output.read_text().splitlines()[-1] == "3,3,0,2,1,0,0,0,0,0,0,0,1,0,0,0"

    def test_engines_that_count_none_are_named(self, graph: Path) -> None:
        done = motiflux("orbits", graph, "--engine", "pvm")
        assert done.exit_code == 3
        assert "orbits are made by --engine cpu or --engine dfs, found --engine pvm" in done.stderr

    def test_five_vertices_have_73_orbits(self, graph: Path) -> None:
        fields = only_json(motiflux("orbits", graph, "--size", "5", "--json"))
        assert (len(fields["sums"]), fields["sums"][0], fields["rows"], fields["output"]) == (73, 8, 4, None)

    def test_edges_and_triads_have_orbits(self, graph: Path) -> None:
        edges = only_json(motiflux("orbits", graph, "--edges", "--json"))
        assert (len(edges["sums"]), edges["sums"][:2], edges["rows"]) == (12, [4, 3], 4)
        triads = only_json(motiflux("orbits", graph, "--triads", "--directed", "--json"))
        assert (len(triads["sums"]), triads["sums"][:3], triads["rows"]) == (33, [4, 4, 0], 4)
        assert motiflux("orbits", graph, "--triads", "--edges", "--directed").exit_code == 2
        assert motiflux("orbits", graph, "--triads").exit_code == 2

    def test_a_timeout_is_incomplete_and_writes_nothing(self, graph: Path, tmp_path: Path) -> None:
        result = motiflux("orbits", graph, "--size", "5", "--timeout", "0", "-o", tmp_path / "orbits.csv")
        assert result.exit_code == 1
        assert result.stdout.splitlines() == ["no counts (stopped by the timeout)"]
        assert not (tmp_path / "orbits.csv").exists()

    def test_other_sizes_are_refused(self, graph: Path) -> None:
        assert motiflux("orbits", graph, "--size", "6").exit_code == 2
