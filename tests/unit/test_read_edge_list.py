"""Text edge lists that are well formed."""

from __future__ import annotations

from pathlib import Path

import pytest

import motiflux as mf

SUFFIXES = (".txt", ".edges", ".el")


def read(tmp_path: Path, content: bytes, *, directed: bool | None = None) -> mf.Graph:
    path = tmp_path / "graph.txt"
    path.write_bytes(content)
    return mf.read_graph(path, directed=directed)


def edges_of(graph: mf.Graph) -> set[tuple[int, int]]:
    """Give external edges, undirected ones with the smaller id first."""
    sources, targets, _, _ = graph.to_edges()
    pairs = zip(sources.tolist(), targets.tolist(), strict=True)
    return set(pairs) if graph.directed else {(min(pair), max(pair)) for pair in pairs}


def labelled_edges_of(graph: mf.Graph) -> set[tuple[int, int, int]]:
    sources, targets, labels, _ = graph.to_edges()
    assert labels is not None
    rows = zip(sources.tolist(), targets.tolist(), list(labels), strict=True)
    return {(min(u, v), max(u, v), int(label)) for u, v, label in rows}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_suffix_of_an_edge_list_is_read(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"graph{suffix}"
    path.write_text("1 2\n2 3\n")
    assert edges_of(mf.read_graph(path)) == {(1, 2), (2, 3)}


def test_vertices_are_those_that_occur(tmp_path: Path) -> None:
    graph = read(tmp_path, b"7 9223372036854775807\n0 7\n")
    assert graph.num_vertices == 3
    assert sorted(graph.vertex_ids.tolist()) == [0, 7, 2**63 - 1]


@pytest.mark.parametrize(
    "content",
    [
        b"# c\n% c\n\n1 2\n  # indented\n2 3\n",
        b"1\t2\n2\t3\n",
        b"  1 \t 2  \n\t2 3\t\n",
        b"1 2\r\n\r\n2 3\r\n",
        b"1 2\n2 3",
        b"1 2\r\n2 3\r",
        b"\xef\xbb\xbf1 2\n2 3\n",
        b"001 0000000000000000000000000002\n2 3\n",
    ],
    ids=["comments", "tabs", "blanks", "crlf", "no-last-end", "no-last-lf", "byte-order-mark", "zeros"],
)
def test_the_same_edges_however_they_are_laid_out(tmp_path: Path, content: bytes) -> None:
    assert edges_of(read(tmp_path, content)) == {(1, 2), (2, 3)}


@pytest.mark.parametrize("content", [b"", b"\n\n", b"# nothing\n", b"# nothing", b"\xef\xbb\xbf"])
def test_a_file_without_edges_is_an_empty_graph(tmp_path: Path, content: bytes) -> None:
    graph = read(tmp_path, content)
    assert (graph.num_vertices, graph.num_edges) == (0, 0)


def test_a_third_field_is_the_edge_label(tmp_path: Path) -> None:
    graph = read(tmp_path, b"1 2 5\n2 3 0\n1 2 6\n")
    assert labelled_edges_of(graph) == {(1, 2, 5), (2, 3, 0), (1, 2, 6)}


def test_edges_have_a_direction_only_when_asked(tmp_path: Path) -> None:
    content = b"2 1\n1 2\n"
    assert edges_of(read(tmp_path, content, directed=True)) == {(2, 1), (1, 2)}
    assert edges_of(read(tmp_path, content, directed=False)) == {(1, 2)}
    assert not read(tmp_path, content).directed


@pytest.mark.parametrize(
    ("content", "count"), [(b"1 1\n1 2\n", "1 self-loop was"), (b"1 1\n2 2\n1 2\n", "2 self-loops were")]
)
def test_self_loops_are_left_out_with_a_warning(tmp_path: Path, content: bytes, count: str) -> None:
    with pytest.warns(mf.MotifluxWarning) as caught:
        graph = read(tmp_path, content)
    assert [str(warning.message) for warning in caught] == [f"{tmp_path / 'graph.txt'}: {count} left out"]
    assert caught[0].filename == __file__
    assert edges_of(graph) == {(1, 2)}
