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


# Names, commas, columns


def rows_of(graph: mf.Graph) -> list[tuple[object, ...]]:
    edges = graph.to_edges()
    columns = [edges.src.tolist(), edges.dst.tolist()]
    if edges.labels is not None:
        columns.append(edges.labels.tolist())
    return sorted(zip(*columns, strict=True))


def test_ids_are_names_where_the_first_edge_is_between_names(tmp_path: Path) -> None:
    graph = read(tmp_path, b"# friends\nann bob\nbob 7\n\xc3\xbc 14-3-3\n", directed=True)
    assert rows_of(graph) == [("ann", "bob"), ("bob", "7"), ("ü", "14-3-3")]


def test_labels_may_be_names_too(tmp_path: Path) -> None:
    assert rows_of(read(tmp_path, b"1 2 wire\n2 3 7\n", directed=True)) == [(1, 2, "wire"), (2, 3, "7")]
    assert rows_of(read(tmp_path, b"a b 1\nb c 2\n", directed=True)) == [("a", "b", 1), ("b", "c", 2)]


@pytest.mark.parametrize(
    "content",
    [b"1,2,5\n2,3,6\n", b"# c\n 1 , 2,5\r\n\r\n2 ,\t3,6", b'"1","2","5"\n2,3,6\n'],
    ids=["plain", "blanks", "quoted"],
)
def test_fields_may_be_apart_by_commas(tmp_path: Path, content: bytes) -> None:
    assert rows_of(read(tmp_path, content, directed=True)) == [(1, 2, 5), (2, 3, 6)]


def test_names_with_blanks_are_apart_by_commas(tmp_path: Path) -> None:
    assert rows_of(read(tmp_path, b"New York, Rome\n", directed=True)) == [("New York", "Rome")]


def test_other_columns_are_said_by_position(tmp_path: Path) -> None:
    path = tmp_path / "g.txt"
    path.write_text("1 2 wire 17 0.5\n2 3 cash 18 x\n")
    graph = mf.read_graph(path, directed=True, label=2, time=3, attributes=[])
    assert rows_of(graph) == [(1, 2, "wire"), (2, 3, "cash")]
    assert {name: column.to_numpy().tolist() for name, column in graph.edge_attributes.items()} == {
        "time": [17, 18]
    }
    graph = mf.read_graph(path, directed=True, src=1, dst=0)
    assert rows_of(graph) == [(2, 1), (3, 2)]
    assert sorted(graph.edge_attributes["column4"].to_numpy().tolist()) == ["0.5", "x"]
    with pytest.raises(mf.ArgumentError, match="label: expected one of the columns of"):
        mf.read_graph(path, label=7)


def test_a_header_and_a_separator_may_be_said(tmp_path: Path) -> None:
    path = tmp_path / "g.txt"
    path.write_text("from;to;kind\n1;2;wire\n")
    graph = mf.read_graph(path, directed=True, header=True, sep=";", label="kind")
    assert rows_of(graph) == [(1, 2, "wire")]


def test_a_header_that_nobody_spoke_of_is_no_edge(tmp_path: Path) -> None:
    path = tmp_path / "g.txt"
    path.write_text("from to\n1 2\n2 3\n")
    with pytest.raises(mf.FormatError) as caught:
        mf.read_graph(path)
    assert str(caught.value) == (
        f"{path}, line 2: found integers as ids, expected names as on line 1; header=True says that this "
        "line names the columns, header=False that both hold names"
    )
    assert rows_of(mf.read_graph(path, header=True, directed=True)) == [(1, 2), (2, 3)]
    assert rows_of(mf.read_graph(path, header=False, directed=True))[0] == ("1", "2")


def test_quotes_in_comments_are_no_quotes(tmp_path: Path) -> None:
    lines = "".join(f"{row},{row + 1}\n" for row in range(200_000))
    text = f'# 5" wide\n{lines} % and 6" high\n1,200000\n'
    graph = read(tmp_path, text.encode())
    assert len(text) > 2 * 2**20
    assert graph.num_edges == 200_001


@pytest.mark.parametrize("threads", [1, 3])
def test_quotes_in_comments_are_no_quotes_wherever_chunks_end(
    tmp_path: Path, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("motiflux.io.files.source.CHUNK_BYTES", 5)
    path = tmp_path / "graph.txt"
    path.write_bytes(b'a,"b\n# c"\n # "\n\n"b\n# c",d\n# "" "\nd,e\n%"')
    listed = mf.read_graph(path, threads=threads, directed=True).to_edges()
    assert sorted(zip(listed.src.tolist(), listed.dst.tolist(), strict=True)) == [
        ("a", "b\n# c"),
        ("b\n# c", "d"),
        ("d", "e"),
    ]
