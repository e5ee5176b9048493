"""What formats of graphs have no place or no form for, and outputs that cannot be written."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.io import check_graph_output, write_matches
from motiflux.io.tables import graph_tables
from motiflux.io.writers import COMPRESSED, GRAPH_WRITERS
from tests.unit.cli_run import motiflux, only_json

NAMES = [f"graph{suffix}" for suffix in GRAPH_WRITERS]


@pytest.fixture
def graph() -> mf.Graph:
    """A graph that every format can hold some of, but for .mfg none all."""
    return mf.Graph.from_edges(
        [(0, 1), (1, 2)],
        num_vertices=4,
        vertex_labels=[1, 2, 3, 4],
        edge_labels=[7, 8],
        vertex_attributes={"age": [1, 2, 3, 4]},
        edge_attributes={"amount": [1.5, 2.5], "weight": [1, 2]},
    )


@pytest.mark.parametrize(
    ("name", "lost"),
    [
        ("graph.mfg", None),
        ("graph.npz", None),
        ("graph.graph", "vertex attributes (age); edge attributes (amount, weight)"),
        (
            "graph.txt",
            (
                "vertex labels; vertex attributes (age); edge attributes (amount, weight); "
                "1 vertex without an edge"
            ),
        ),
        ("graph.mtx", "vertex labels; edge labels; vertex attributes (age); edge attributes (amount)"),
        (
            "graph.csv",
            (
                "vertex labels; vertex attributes (age); 1 vertex without an edge; "
                "a table of vertices (vertices=) holds them"
            ),
        ),
    ],
)
def test_what_a_file_has_no_place_for_is_said(
    tmp_path: Path, graph: mf.Graph, name: str, lost: str | None
) -> None:
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        mf.write_graph(graph, tmp_path / name)
    expected = [f"{tmp_path / name}: left out, the file has no place for: {lost}"] if lost else []
    shifted = "the vertices 0 to 3 are written as 1 to 4"
    assert [str(note.message) for note in notes if shifted not in str(note.message)] == expected
    assert all(note.category is mf.MotifluxWarning and note.filename == __file__ for note in notes)


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("g.txt", {}, ".txt holds ids that are integers, found strings, such as 'a'"),
        ("g.graph", {}, ".graph holds ids that are integers, found strings, such as 'a'"),
        ("g.mtx", {}, ".mtx holds ids that are integers, found strings, such as 'a'"),
        ("g.graph", {"edges": [(-3, 1)]}, ".graph holds ids of at least 0, found -3"),
        ("g.mtx", {"edges": [(5, 9)]}, ".mtx holds ids from 1 to 2 for 2 vertices, found 5 to 9"),
        (
            "g.txt",
            {"edges": [(0, 1)], "edge_labels": ["wire"]},
            ".txt holds edge labels that are integers of at least 0, found 'wire'",
        ),
        (
            "g.graph",
            {"edges": [(0, 1)], "vertex_labels": [-1, 1]},
            ".graph holds vertex labels that are integers of at least 0, found -1",
        ),
        (
            "g.npz",
            {"edges": [(0, 1)], "vertex_attributes": {"age": [1, None]}},
            (
                ".npz holds missing values of floats and datetimes only, "
                "found some among the integers of the vertex attribute 'age'"
            ),
        ),
        (
            "g.csv",
            {"edge_attributes": {"src": [1]}},
            (
                "expected another name for the edge attribute 'src': "
                "as a column it would be read as something else"
            ),
        ),
        (
            "g.parquet",
            {"edge_attributes": {"Label": ["x"]}},
            (
                "expected another name for the edge attribute 'Label': "
                "as a column it would be read as something else"
            ),
        ),
    ],
)
def test_what_a_format_has_no_form_for_is_refused(
    tmp_path: Path, name: str, given: dict[str, Any], message: str
) -> None:
    given = {"edges": [("a", "b")], **given}
    graph = mf.Graph.from_edges(**given)
    with pytest.raises(mf.OutputError) as caught:
        mf.write_graph(graph, tmp_path / name)
    assert str(caught.value) == f"{tmp_path / name}: {message}"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "vertices", "message"),
    [
        ("g.xlsx", None, r"found suffix '\.xlsx', expected \.mfg, \.npz, \.graph, \.txt, \.mtx, \.csv"),
        ("g.parquet.gz", None, r"found suffix '\.gz', expected"),
        ("g.npz.gz", None, r"found suffix '\.gz', expected"),
        ("g.mfg.gz", None, "used from where it lies, not compressed"),
        (
            "g.npz",
            "v.csv",
            r"expected a table of edges beside a table of vertices \(\.csv, .*\), found \.npz",
        ),
        ("g.csv", "v.npz", r"v\.npz: found suffix '\.npz', expected \.csv, \.tsv, \.parquet, \.arrow$"),
        ("g.csv", "g.csv", r"expected another file than that of the edges"),
        ("none/g.csv", None, "there is no folder"),
    ],
)
def test_names_that_cannot_be_written_are_refused(
    tmp_path: Path, name: str, vertices: str | None, message: str
) -> None:
    second = None if vertices is None else tmp_path / vertices
    with pytest.raises(mf.OutputError, match=message):
        check_graph_output(tmp_path / name, second)


@pytest.mark.parametrize("error", [RuntimeError(), KeyboardInterrupt(), OSError("x")])
@pytest.mark.parametrize("name", [name for name in NAMES if name != "graph.mfg"])
@pytest.mark.filterwarnings("ignore::motiflux.MotifluxWarning")
def test_a_write_that_fails_leaves_the_file_that_was_there(
    tmp_path: Path, graph: mf.Graph, monkeypatch: pytest.MonkeyPatch, name: str, error: BaseException
) -> None:
    if name in ("graph.parquet", "graph.arrow"):
        pytest.importorskip("pyarrow")

    def parts(length: int, rows: int) -> Iterator[Any]:
        raise error

    (tmp_path / name).write_text("older")
    monkeypatch.setattr(graph_tables, "_parts", parts)
    with pytest.raises(type(error)):
        mf.write_graph(graph, tmp_path / name)
    assert [file.name for file in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "older"


@pytest.mark.parametrize("suffix", COMPRESSED)
@pytest.mark.filterwarnings("ignore::motiflux.MotifluxWarning")
def test_compressed_text_is_the_text(tmp_path: Path, graph: mf.Graph, suffix: str) -> None:
    import gzip

    mf.write_graph(graph, tmp_path / f"a{suffix}")
    mf.write_graph(graph, tmp_path / f"a{suffix}.gz")
    mf.write_graph(graph, tmp_path / f"b{suffix}.gz")
    text = (tmp_path / f"a{suffix}").read_bytes()
    assert gzip.decompress((tmp_path / f"a{suffix}.gz").read_bytes()) == text
    assert (tmp_path / f"a{suffix}.gz").read_bytes() == (tmp_path / f"b{suffix}.gz").read_bytes()


def test_the_same_graph_gives_the_same_archive(tmp_path: Path, graph: mf.Graph) -> None:
    for name in ("a.npz", "b.npz"):
        mf.write_graph(graph, tmp_path / name)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_ctrl_c_while_text_is_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = mf.Graph.from_edges([(u, v) for v in range(300) for u in range(v)])
    original = graph_tables._parts

    def parts(length: int, rows: int) -> Iterator[Any]:
        for part in original(length, 1000):
            yield part
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(graph_tables, "_parts", parts)
    with pytest.raises(KeyboardInterrupt):
        mf.write_graph(graph, tmp_path / "graph.txt")
    assert list(tmp_path.iterdir()) == []


class TestCommand:
    def test_convert_goes_by_the_suffix(self, tmp_path: Path) -> None:
        (tmp_path / "ring.txt").write_text("1 2 7\n2 3 7\n3 1 8\n")
        result = motiflux("convert", tmp_path / "ring.txt", tmp_path / "ring.csv", "--json", "--directed")
        assert result.exit_code == 0
        fields = only_json(result)
        assert (fields["edges"], fields["bytes"]) == (3, (tmp_path / "ring.csv").stat().st_size)
        assert sorted((tmp_path / "ring.csv").read_text().splitlines()) == [
            "1,2,7", "2,3,7", "3,1,8", "src,dst,label",
        ]  # fmt: skip

    def test_vertices_go_to_a_file_of_their_own(self, tmp_path: Path) -> None:
        (tmp_path / "a.graph").write_text("t 3 1\nv 0 5\nv 1 6\nv 2 5\ne 0 1\n")
        result = motiflux(
            "convert", tmp_path / "a.graph", tmp_path / "e.csv", "--vertices-output", tmp_path / "v.csv"
        )
        assert result.exit_code == 0
        assert (tmp_path / "v.csv").read_text() == "id,label\n0,5\n1,6\n2,5\n"
        assert "note:" not in result.stderr

    def test_what_is_left_out_is_a_note(self, tmp_path: Path) -> None:
        (tmp_path / "a.graph").write_text("t 3 1\nv 0 5\nv 1 6\nv 2 5\ne 0 1\n")
        result = motiflux("convert", tmp_path / "a.graph", tmp_path / "e.txt")
        assert result.exit_code == 0
        assert "the file has no place for: vertex labels; 1 vertex without an edge" in result.stderr

    def test_an_output_that_cannot_be_is_refused_before_the_graph_is_read(self, tmp_path: Path) -> None:
        result = motiflux("convert", tmp_path / "absent.txt", tmp_path / "e.xlsx")
        assert result.exit_code == 2
        assert "found suffix '.xlsx'" in result.stderr


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_names_with_blanks_around_them_come_back_from_text(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"graph{suffix}"
    edges = [(" a", "b "), ("b ", "\tc"), ("\tc", "d e")]
    mf.write_graph(mf.Graph.from_edges(edges, directed=True), path)
    listed = mf.read_graph(path, directed=True).to_edges()
    assert sorted(zip(listed.src.tolist(), listed.dst.tolist(), strict=True)) == sorted(edges)


def test_names_that_text_has_no_form_for_are_refused(tmp_path: Path) -> None:
    nameless = mf.Graph.from_edges([("", "b")])
    unlabelled = mf.Graph.from_edges([("a", "b")], vertex_labels=["", "x"], vertex_ids=["a", "b"])
    edges, vertices = tmp_path / "edges.parquet", tmp_path / "vertices.csv"
    with pytest.raises(mf.OutputError, match=r"edges.csv: expected ids that are not empty"):
        mf.write_graph(nameless, edges.with_suffix(".csv"))
    with pytest.raises(mf.OutputError, match=r"vertices.csv: expected labels that are not empty"):
        mf.write_graph(unlabelled, edges, vertices=vertices)
    assert not list(tmp_path.iterdir())


def test_weights_beyond_the_integers_of_a_matrix_are_left_out_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "graph.mtx"
    weights = {"weight": np.array([2**63 + 5, 1], np.uint64)}
    with pytest.warns(mf.MotifluxWarning, match=r"no place for: edge attributes \(weight\)"):
        mf.write_graph(mf.Graph.from_edges([(1, 2), (2, 3)], edge_attributes=weights), path)
    assert mf.read_graph(path).num_edges == 2


def test_what_is_no_name_is_refused(graph: mf.Graph) -> None:
    wrong: Any = 5
    with pytest.raises(mf.ArgumentError, match="path: expected the name of a file, found 5"):
        mf.write_graph(graph, wrong)
    with pytest.raises(mf.ArgumentError, match="vertices: expected the name of a file, found 5"):
        mf.write_graph(graph, "x.csv", vertices=wrong)
    with pytest.raises(mf.ArgumentError, match="path: expected the name of a file, found 5"):
        write_matches(mf.match(graph, "(a)--(b)"), wrong)
