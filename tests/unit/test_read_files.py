"""What all formats share: suffixes, compression, chunks; and the real files."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

import motiflux as mf
from motiflux._native import GraphFileParser
from motiflux.io.files import source
from tests.data_paths import shared_names, shared_path

TEXT = b"10 20\n20 30\n30 10\n"


def test_a_suffix_is_known_in_upper_case_too(tmp_path: Path) -> None:
    path = tmp_path / "GRAPH.TXT"
    path.write_bytes(TEXT)
    assert mf.read_graph(path).num_edges == 3
    assert mf.read_graph(str(path)).num_edges == 3


@pytest.mark.parametrize(
    "content",
    [
        gzip.compress(TEXT),
        gzip.compress(TEXT[:7]) + gzip.compress(TEXT[7:]),
        gzip.compress(TEXT) + bytes(512),
        gzip.compress(b"") + gzip.compress(TEXT),
    ],
    ids=["one-member", "two-members", "padded", "empty-member"],
)
def test_gzip_is_undone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "graph.txt.gz"
    path.write_bytes(content)
    assert mf.read_graph(path).num_edges == 3


@pytest.mark.parametrize("name", ["graph.txt", "graph.txt.gz", "graph.npz"])
def test_a_watcher_is_told_how_much_of_the_file_has_been_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name.endswith(".npz"):
        np.savez(path, edges=[[0, 1], [1, 2]])
    else:
        path.write_bytes(gzip.compress(TEXT) if name.endswith(".gz") else TEXT)
    told: list[int] = []
    with source.watched(told.append):
        mf.read_graph(path)
    assert told == sorted(told)
    assert told[-1] >= path.stat().st_size
    assert mf.read_graph(path).num_edges  # and nobody is told any more
    assert told[-1] < 2 * path.stat().st_size + source._WATCHED_BYTES


def test_reading_shows_progress_on_a_terminal_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "graph.txt"
    path.write_bytes(TEXT)
    mf.read_graph(path, progress=True)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    mf.read_graph(path)
    assert capsys.readouterr().err == ""
    mf.read_graph(path, progress=True)
    assert "reading graph.txt" in capsys.readouterr().err


def test_content_larger_than_a_chunk_is_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "CHUNK_BYTES", 1000)
    edges = np.stack([np.arange(5000), np.arange(5000) + 1], axis=1)
    text = b"".join(b"%d %d\n" % (u, v) for u, v in edges.tolist())
    plain, packed = tmp_path / "graph.txt", tmp_path / "graph.txt.gz"
    plain.write_bytes(text)
    packed.write_bytes(gzip.compress(text))
    assert max(map(len, source.read_chunks(packed))) <= 1000
    assert b"".join(source.read_chunks(packed)) == b"".join(source.read_chunks(plain)) == text
    assert mf.read_graph(plain).num_edges == mf.read_graph(packed).num_edges == 5000


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("graph.txt", b"\xef\xbb\xbf# c\r\n1 2 3\r\n\r\n40 50 60\n% c\n7 8 9"),
        ("graph.csv", b'\xef\xbb\xbfsrc,dst,label\r\n1,2,3\r\n\r\n"40",50,"60"\n7,8,9'),
        ("graph.tsv", b"1\t2\t3\n40\t50\t60\n7\t8\t9"),
    ],
)
def test_lines_may_be_cut_anywhere_between_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: bytes, size: int
) -> None:
    monkeypatch.setattr(source, "CHUNK_BYTES", size)
    path = tmp_path / name
    path.write_bytes(text)
    edges = mf.read_graph(path, directed=True, label=2).to_edges()
    assert edges.labels is not None
    rows = zip(edges.src.tolist(), edges.dst.tolist(), edges.labels.tolist(), strict=True)
    assert sorted(rows) == [(1, 2, 3), (7, 8, 9), (40, 50, 60)]


def test_columns_of_a_graph_file_keep_its_order() -> None:
    parser = GraphFileParser(wildcards=True)
    parser.feed(b"t 3 2\nv 5 -1\nv 3 2 1\nv 9 *\ne 9 5\ne 5 3 4\n")
    vertices, vertex_labels, sources, targets, edge_labels, *names = parser.finish()
    assert names == [None, None]
    assert vertices.dtype == np.int64
    assert vertices.tolist() == [5, 3, 9]
    assert vertex_labels.tolist() == [-1, 2, -1]
    assert (sources.tolist(), targets.tolist()) == ([9, 5], [5, 3])
    assert edge_labels is not None
    assert edge_labels.tolist() == [-1, 4]


@pytest.mark.parametrize("name", shared_names("data", ".npz"))
def test_real_archives_are_read_as_they_say(name: str) -> None:
    path = shared_path("data", name)
    graph = mf.read_graph(path)
    with np.load(path) as arrays:
        assert graph.num_vertices == int(arrays["num_vertices"])
        assert graph.directed == bool(arrays["directed"])
        assert graph.num_edge_copies == len(arrays["edges"])


def test_a_real_compressed_graph_file_is_read() -> None:
    path = shared_path("oracle", "csm", "c01", "data.graph.gz")
    lines = gzip.decompress(path.read_bytes()).splitlines()
    graph = mf.read_graph(path)
    assert graph.num_vertices == sum(line.startswith(b"v") for line in lines)
    assert graph.num_edge_copies == sum(line.startswith(b"e") for line in lines)


def test_real_patterns_hold_what_their_header_announces() -> None:
    folder = shared_path("oracle", "yeast", "queries")
    for path in sorted(folder.glob("*.graph")):
        pattern = mf.read_pattern(path)
        header = path.read_text().split("\n", 1)[0]
        assert header == f"t {pattern.num_vertices} {pattern.num_edges}"


@pytest.mark.parametrize("said", [{"src": "a"}, {"attributes": []}, {"vertices": "v.csv"}, {"vertex_id": 0}])
def test_columns_chosen_of_a_format_without_any_are_refused_by_name(tmp_path, said):
    path = tmp_path / "g.graph"
    path.write_text("v 0 0\n")
    argument = next(iter(said))
    with pytest.raises(
        mf.ArgumentError, match=rf"{argument}: expected nothing: \.graph files have no columns"
    ):
        mf.read_graph(path, **said)
