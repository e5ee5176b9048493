"""NumPy archives that are well formed."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.conditions import IsMissing

EDGES = np.array([[0, 1], [1, 2], [2, 1]], dtype=np.int32)


def read(tmp_path: Path, *, as_directed: bool | None = None, **arrays: Any) -> mf.Graph:
    path = tmp_path / "graph.npz"
    np.savez_compressed(path, **arrays)
    return mf.read_graph(path, directed=as_directed)


def arcs_of(graph: mf.Graph) -> set[tuple[int, int]]:
    sources, targets, _, _ = graph.to_edges()
    return set(zip(sources.tolist(), targets.tolist(), strict=True))


@pytest.mark.parametrize("dtype", ["i1", "<i2", "i4", "i8", "u1", "u4", "u8", ">i4", ">u8"])
def test_edges_may_be_integers_of_any_width_and_byte_order(tmp_path: Path, dtype: str) -> None:
    graph = read(tmp_path, edges=EDGES.astype(dtype), directed=True)
    assert arcs_of(graph) == {(0, 1), (1, 2), (2, 1)}


def test_edges_may_be_stored_column_by_column(tmp_path: Path) -> None:
    graph = read(tmp_path, edges=np.asfortranarray(EDGES), directed=True)
    assert arcs_of(graph) == {(0, 1), (1, 2), (2, 1)}


def test_an_uncompressed_archive_is_read(tmp_path: Path) -> None:
    np.savez(tmp_path / "graph.npz", edges=EDGES, directed=True)
    assert mf.read_graph(tmp_path / "graph.npz").num_edges == 3


def test_a_gzipped_archive_is_read(tmp_path: Path) -> None:
    np.savez(tmp_path / "graph.npz", edges=EDGES, directed=True)
    path = tmp_path / "again.npz.gz"
    path.write_bytes(gzip.compress((tmp_path / "graph.npz").read_bytes()))
    assert mf.read_graph(path).num_edges == 3


def test_the_number_of_vertices_is_given_or_follows_from_labels_or_ids(tmp_path: Path) -> None:
    labels = np.zeros(9, dtype=np.int16)
    assert read(tmp_path, edges=EDGES, num_vertices=7).num_vertices == 7
    assert read(tmp_path, edges=EDGES, vertex_labels=labels).num_vertices == 9
    assert read(tmp_path, edges=EDGES).num_vertices == 3


def test_there_may_be_as_many_vertices_as_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("motiflux.io.binary.npz.MAX_VERTICES", 9)
    assert read(tmp_path, edges=EDGES, num_vertices=9).num_vertices == 9
    with pytest.raises(mf.FormatError, match="found 10, expected an integer from 0 to 9"):
        read(tmp_path, edges=EDGES, num_vertices=10)


def test_labels_may_be_negative(tmp_path: Path) -> None:
    graph = read(
        tmp_path,
        edges=EDGES,
        directed=True,
        vertex_labels=np.array([-1, 0, -5], dtype=np.int16),
        edge_labels=np.array([-10, 10, -10], dtype=np.int8),
    )
    assert graph.vertex_labels_by_id() == {0: -1, 1: 0, 2: -5}
    sources, targets, labels, _ = graph.to_edges()
    assert labels is not None
    rows = zip(sources.tolist(), targets.tolist(), list(labels), strict=True)
    assert set(rows) == {(0, 1, -10), (1, 2, 10), (2, 1, -10)}


def test_labels_may_be_strings(tmp_path: Path) -> None:
    graph = read(tmp_path, edges=EDGES, vertex_labels=np.array(["person", "bank", "person"]))
    assert graph.vertex_labels_by_id() == {0: "person", 1: "bank", 2: "person"}


def test_the_file_says_whether_it_is_directed_and_the_option_overrides_it(tmp_path: Path) -> None:
    assert not read(tmp_path, edges=EDGES).directed
    assert read(tmp_path, edges=EDGES, directed=np.array(1)).directed
    assert read(tmp_path, edges=EDGES, directed=True).directed
    merged = read(tmp_path, edges=EDGES, directed=True, as_directed=False)
    assert not merged.directed
    assert merged.num_edges == 2
    assert read(tmp_path, edges=EDGES, directed=False, as_directed=True).num_edges == 3


def test_unknown_keys_change_nothing(tmp_path: Path) -> None:
    extra = {"note": np.array("hello"), "graph_ptr": np.arange(3), "vertex.": np.arange(9), "edges.a": [1]}
    graph = read(tmp_path, edges=EDGES, **extra)
    assert graph.num_edges == read(tmp_path, edges=EDGES).num_edges
    assert len(graph.vertex_attributes) == len(graph.edge_attributes) == 0


def test_attributes_are_named_after_whose_they_are(tmp_path: Path) -> None:
    extra: dict[str, Any] = {
        "vertex.country": np.array(["de", "fr", "", "de"]),
        "edge.amount": np.array([1.5, np.nan, 3]),
        "edge.a.b": np.array([True, False, True]),
    }
    graph = read(tmp_path, edges=EDGES, directed=True, **extra)
    assert graph.num_vertices == 4
    countries = dict(
        zip(graph.vertex_ids.tolist(), graph.vertex_attributes["country"].to_numpy(), strict=True)
    )
    assert countries == {0: "de", 1: "fr", 2: "", 3: "de"}
    assert graph.edge_attributes["a.b"].to_numpy().tolist().count(True) == 2
    assert graph.arc_mask(IsMissing("amount")).sum() == 1


def test_timestamps_are_the_edge_attribute_time(tmp_path: Path) -> None:
    graph = read(tmp_path, edges=EDGES, directed=True, timestamps=np.array([3, 1, 2], dtype=np.int32))
    sources, targets, _, _ = graph.to_edges()
    times = graph.edge_attributes["time"].to_numpy().tolist()
    found = dict(zip(zip(sources.tolist(), targets.tolist(), strict=True), times, strict=True))
    assert found == {(0, 1): 3, (1, 2): 1, (2, 1): 2}


def test_a_self_loop_takes_its_attributes_with_it(tmp_path: Path) -> None:
    with pytest.warns(mf.MotifluxWarning, match="left out"):
        graph = read(tmp_path, edges=np.array([[0, 1], [1, 1], [1, 2]]), timestamps=np.array([1, 2, 3]))
    assert sorted(graph.edge_attributes["time"].to_numpy().tolist()) == [1, 3]


@pytest.mark.parametrize("vertices", [None, 0, 4])
def test_a_file_without_edges_is_an_empty_graph(tmp_path: Path, vertices: int | None) -> None:
    given = {} if vertices is None else {"num_vertices": vertices}
    graph = read(tmp_path, edges=np.empty((0, 2), dtype=np.int64), **given)
    assert (graph.num_vertices, graph.num_edges) == (vertices or 0, 0)


def test_self_loops_are_left_out_with_a_warning(tmp_path: Path) -> None:
    with pytest.warns(mf.MotifluxWarning, match=r"graph\.npz: 1 self-loop was left out"):
        graph = read(tmp_path, edges=np.array([[0, 1], [2, 2]]))
    assert (graph.num_vertices, graph.num_edges) == (3, 1)
