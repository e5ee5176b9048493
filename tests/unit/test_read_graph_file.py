"""``.graph`` files that are well formed, as data graphs and as patterns."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import motiflux as mf

TRIANGLE = b"t 3 3\nv 0 5 2\nv 1 6 2\nv 2 5 2\ne 0 1 8\ne 1 2 9\ne 0 2 8\n"


def read(tmp_path: Path, content: bytes, *, directed: bool | None = None) -> mf.Graph:
    path = tmp_path / "data.graph"
    path.write_bytes(content)
    return mf.read_graph(path, directed=directed)


def read_pattern(tmp_path: Path, content: bytes, name: str = "query.graph") -> mf.Pattern:
    path = tmp_path / name
    path.write_bytes(content)
    return mf.read_pattern(path)


def labelled_edges_of(graph: mf.Graph) -> set[tuple[int, int, int]]:
    sources, targets, labels, _ = graph.to_edges()
    column = [0] * len(sources) if labels is None else list(labels)
    rows = zip(sources.tolist(), targets.tolist(), column, strict=True)
    return {(min(u, v), max(u, v), int(label)) for u, v, label in rows}


def test_labels_of_vertices_and_edges_are_read(tmp_path: Path) -> None:
    graph = read(tmp_path, TRIANGLE)
    assert not graph.directed
    assert graph.vertex_labels_by_id() == {0: 5, 1: 6, 2: 5}
    assert labelled_edges_of(graph) == {(0, 1, 8), (1, 2, 9), (0, 2, 8)}


@pytest.mark.parametrize(
    "content",
    [
        TRIANGLE.split(b"\n", 1)[1],
        TRIANGLE.rstrip(b"\n"),
        TRIANGLE.replace(b"\n", b"\r\n"),
        TRIANGLE.replace(b" ", b"\t"),
        b"# a comment\n\n% another\n" + TRIANGLE,
        TRIANGLE.replace(b"5 2\n", b"5\n"),
        b"v 2 5\nv 0 5\nv 1 6\ne 0 1 8\ne 1 2 9\ne 0 2 8\n",
        b"v 0 5\nv 1 6\ne 0 1 8\nv 2 5\ne 1 2 9\ne 0 2 8\n",
    ],
    ids=["no-header", "no-last-end", "crlf", "tabs", "comments", "no-degrees", "any-order", "mixed"],
)
def test_the_same_graph_however_it_is_laid_out(tmp_path: Path, content: bytes) -> None:
    graph = read(tmp_path, content)
    assert graph.vertex_labels_by_id() == {0: 5, 1: 6, 2: 5}
    assert labelled_edges_of(graph) == {(0, 1, 8), (1, 2, 9), (0, 2, 8)}


def test_an_edge_label_left_out_is_zero(tmp_path: Path) -> None:
    graph = read(tmp_path, b"v 0 1\nv 1 1\nv 2 1\ne 0 1\ne 1 2 4\ne 0 2\n")
    assert labelled_edges_of(graph) == {(0, 1, 0), (1, 2, 4), (0, 2, 0)}


def test_vertices_without_edges_count_and_ids_may_be_sparse(tmp_path: Path) -> None:
    ids = [2**63 - 1, 3, 10**12, 4, 5, *range(1000, 3000, 7)]
    records = "".join(f"v {vertex} {vertex % 3}\n" for vertex in ids)
    graph = read(tmp_path, f"{records}e {2**63 - 1} {10**12}\n".encode())
    assert graph.vertex_labels_by_id() == {vertex: vertex % 3 for vertex in ids}
    assert labelled_edges_of(graph) == {(10**12, 2**63 - 1, 0)}


@pytest.mark.parametrize(("content", "vertices"), [(b"", 0), (b"t 0 0\n", 0), (b"t 2 0\nv 0 0\nv 1 0\n", 2)])
def test_a_file_without_edges_is_an_empty_graph(tmp_path: Path, content: bytes, vertices: int) -> None:
    graph = read(tmp_path, content)
    assert (graph.num_vertices, graph.num_edges) == (vertices, 0)


def test_direction_is_taken_when_asked(tmp_path: Path) -> None:
    content = b"v 0 0\nv 1 0\ne 1 0\ne 0 1\n"
    assert read(tmp_path, content, directed=True).num_edges == 2
    assert read(tmp_path, content).num_edges == 1


def test_self_loops_count_as_announced_and_are_left_out_with_a_warning(tmp_path: Path) -> None:
    with pytest.warns(mf.MotifluxWarning, match=r"data\.graph: 1 self-loop was left out"):
        graph = read(tmp_path, b"t 2 2\nv 0 0\nv 1 0\ne 1 1\ne 0 1\n")
    assert graph.num_edges == 1


def test_a_pattern_keeps_order_names_and_labels(tmp_path: Path) -> None:
    pattern = read_pattern(tmp_path, b"t 3 2\nv 7 1\nv 30 2\nv 4 1\ne 30 7 3\ne 30 4 0\n")
    assert pattern.name == "query"
    assert [(vertex.name, vertex.labels) for vertex in pattern.vertices] == [
        ("7", frozenset({1})),
        ("30", frozenset({2})),
        ("4", frozenset({1})),
    ]
    assert sorted((edge.source, edge.target, edge.labels, edge.directed) for edge in pattern.edges) == [
        (1, 0, frozenset({3}), None),
        (1, 2, frozenset({0}), None),
    ]


def test_wildcards_of_a_pattern_are_any_label(tmp_path: Path) -> None:
    pattern = read_pattern(tmp_path, b"v 0 -1\nv 1 *\nv 2 0\ne 0 1\ne 1 2 *\ne 0 2 -1\n")
    assert [vertex.labels for vertex in pattern.vertices] == [None, None, frozenset({0})]
    assert [edge.labels for edge in pattern.edges] == [None, None, None]


def test_a_compressed_pattern_is_named_without_its_suffixes(tmp_path: Path) -> None:
    pattern = read_pattern(tmp_path, gzip.compress(TRIANGLE), "triangle.v2.graph.gz")
    assert (pattern.name, pattern.num_vertices, pattern.num_edges) == ("triangle.v2", 3, 3)


def test_labels_may_be_names(tmp_path: Path) -> None:
    path = tmp_path / "g.graph"
    path.write_text("t 3 2\nv 0 person\nv 1 7\nv 2 person 1\ne 0 1 5\ne 1 2 6\n")
    graph = mf.read_graph(path)
    assert graph.vertex_labels_by_id() == {0: "person", 1: "7", 2: "person"}
    labels = graph.to_edges().labels
    assert labels is not None
    assert sorted(labels.tolist()) == [5, 6]
    path.write_text("v 0 1\nv 1 2\ne 0 1 knows\ne 1 0 ü\n")
    labels = mf.read_graph(path, directed=True).to_edges().labels
    assert labels is not None
    assert sorted(labels.tolist()) == ["knows", "ü"]


def test_labels_of_patterns_may_be_names(tmp_path: Path) -> None:
    data, query = tmp_path / "data.graph", tmp_path / "query.graph"
    data.write_text("v 0 person\nv 1 city\nv 2 person\ne 0 1 lives\ne 2 1 works\n")
    query.write_text("v 0 *\nv 1 city\nv 2 person\ne 0 1\ne 1 2 works\n")
    pattern = mf.read_pattern(query)
    assert str(pattern) == "(0)~>(1:city), (1)~[:works]~>(2:person)"
    assert mf.count(mf.read_graph(data), pattern) == 1
