"""Matrix Market files (``.mtx``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motiflux as mf

BANNER = "%%MatrixMarket matrix coordinate "


def read(tmp_path: Path, kind: str, body: str, **options: Any) -> mf.Graph:
    path = tmp_path / "g.mtx"
    path.write_text(f"{BANNER}{kind}\n{body}")
    return mf.read_graph(path, **options)


def weighted(graph: mf.Graph) -> list[tuple[object, ...]]:
    edges = graph.to_edges()
    columns = [edges.src.tolist(), edges.dst.tolist()]
    if graph.edge_attributes:
        columns.append(graph.edge_attributes["weight"].to_numpy().tolist())
    return sorted(zip(*columns, strict=True))


def test_entries_of_a_general_matrix_are_directed_edges(tmp_path: Path) -> None:
    graph = read(tmp_path, "real general", "% c\n\n3 3 3\n1 2 0.5\n2 1 -1\n3 1 1e2\n")
    assert graph.directed
    assert weighted(graph) == [(1, 2, 0.5), (2, 1, -1.0), (3, 1, 100.0)]


def test_ids_are_those_of_the_file_and_all_rows_are_vertices(tmp_path: Path) -> None:
    graph = read(tmp_path, "pattern symmetric", "5 5 2\n2 1\n4 1\n")
    assert sorted(graph.vertex_ids.tolist()) == [1, 2, 3, 4, 5]
    assert not graph.directed
    assert graph.num_edges == 2
    assert not graph.edge_attributes


def test_integers_stay_integers(tmp_path: Path) -> None:
    graph = read(tmp_path, "integer symmetric", f"3 3 2\n2 1 {2**53 + 1}\n3 1 -6\n")
    weights = graph.edge_attributes["weight"].to_numpy()
    assert weights.dtype == np.int64
    assert sorted(weights.tolist()) == [-6, 2**53 + 1]


def test_the_other_half_of_a_symmetric_matrix_is_there_when_read_as_directed(tmp_path: Path) -> None:
    graph = read(tmp_path, "integer symmetric", "3 3 2\n2 1 5\n3 1 6\n", directed=True)
    assert weighted(graph) == [(1, 2, 5), (1, 3, 6), (2, 1, 5), (3, 1, 6)]


def test_a_skew_symmetric_matrix_is_directed_with_the_sign_turned(tmp_path: Path) -> None:
    graph = read(tmp_path, "real skew-symmetric", "3 3 2\n2 1 5\n3 1 -6\n")
    assert graph.directed
    assert weighted(graph) == [(1, 2, -5.0), (1, 3, 6.0), (2, 1, 5.0), (3, 1, -6.0)]


def test_the_banner_may_be_in_any_case_and_lines_end_anyhow(tmp_path: Path) -> None:
    path = tmp_path / "g.mtx"
    path.write_bytes(b"%%MATRIXMARKET Matrix Coordinate Pattern General\r\n2 2 1\r\n1\t2")
    assert weighted(mf.read_graph(path)) == [(1, 2)]


def test_loops_on_the_diagonal_are_left_out_with_a_warning(tmp_path: Path) -> None:
    with pytest.warns(mf.MotifluxWarning, match="1 self-loop was left out"):
        graph = read(tmp_path, "pattern symmetric", "2 2 2\n1 1\n2 1\n")
    assert graph.num_edges == 1


def test_an_empty_matrix_is_an_empty_graph(tmp_path: Path) -> None:
    assert read(tmp_path, "real general", "0 0 0\n").num_vertices == 0
    assert read(tmp_path, "real general", "3 3 0\n").num_vertices == 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", f"line 1: found '', expected '{BANNER}FIELD SYMMETRY'"),
        ("1 2\n", f"line 1: found '1 2', expected '{BANNER}FIELD SYMMETRY'"),
        (
            "%%MatrixMarket matrix array real general\n",
            "line 1: format: found 'array', expected 'coordinate'",
        ),
        (
            f"{BANNER}complex general\n",
            "line 1: field: found 'complex', expected 'pattern' or 'integer' or 'real'",
        ),
        (
            f"{BANNER}real hermitian\n",
            "line 1: symmetry: found 'hermitian', expected 'general' or 'symmetric' or 'skew-symmetric'",
        ),
        (
            f"{BANNER}pattern skew-symmetric\n",
            "line 1: found a skew-symmetric pattern, expected values with the symmetry",
        ),
        (f"{BANNER}real general\n", "line 1: size: found '', expected 'rows columns entries'"),
        (f"{BANNER}real general\n2 2\n", "line 2: size: found '2 2', expected 'rows columns entries'"),
        (f"{BANNER}real general\n%\n2 2 x\n", "line 3: size: found '2 2 x', expected 'rows columns entries'"),
        (
            f"{BANNER}real general\n2 3 0\n",
            "line 2: size: found 2 rows and 3 columns, expected a square matrix",
        ),
        (
            f"{BANNER}real general\n9999999999 9999999999 0\n",
            "line 2: size: found 9999999999 9999999999 0, expected 0 to 4294967294 rows",
        ),
        (
            f"{BANNER}real general\n4294967294 4294967294 1\n1 2 3\n",
            "line 2: found 4294967294 rows for 1 entry, expected at most 256 for each",
        ),
        (
            f"{BANNER}pattern general\n2 2 1\n1 3\n",
            "line 3: column: found '3', expected an integer from 1 to 2",
        ),
        (f"{BANNER}pattern general\n2 2 1\n0 1\n", "line 3: row: found '0', expected an integer from 1 to 2"),
        (
            f"{BANNER}pattern general\n2 2 1\n1 2 3\n",
            "line 3: found 3 fields, expected 2, as the field is 'pattern'",
        ),
        (f"{BANNER}real general\n2 2 1\n1 2\n", "line 3: found 2 fields, expected 3, as the field is 'real'"),
        (f"{BANNER}real general\n2 2 1\n1 2 x\n", "line 3: value: found 'x', expected a number"),
        (
            f"{BANNER}integer general\n2 2 1\n1 2 0.5\n",
            f"line 3: value: found '0.5', expected an integer from {-(2**63)} to {2**63 - 1}",
        ),
        (
            f"{BANNER}integer skew-symmetric\n2 2 1\n2 1 {-(2**63)}\n",
            f"line 3: value: found '{-(2**63)}', expected an integer from {-(2**63) + 1} to {2**63 - 1}",
        ),
        (
            f"{BANNER}pattern general\n2 2 2\n1 2\n",
            "line 3: the file ends here: found 1 entry, expected 2 as line 2 announces",
        ),
        (
            f"{BANNER}pattern general\n2 2 1\n1 2\n2 1\n",
            "line 4: the file ends here: found 2 entries, expected 1 as line 2 announces",
        ),
    ],
)
def test_a_bad_matrix_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "g.mtx"
    path.write_text(text)
    with pytest.raises(mf.FormatError) as caught:
        mf.read_graph(path)
    assert str(caught.value) == f"{path}, {expected}"
