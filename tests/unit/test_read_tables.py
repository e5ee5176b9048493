"""Parquet and Arrow files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.io.files.progress import reading_meter
from motiflux.io.files.source import watched
from tests.unit.graph_cases import edge_counts

pa = pytest.importorskip("pyarrow")
SUFFIXES = (".parquet", ".feather", ".arrow")


def write(table: Any, path: Path, rows: int = 1 << 20) -> Path:
    if path.suffix == ".parquet":
        import pyarrow.parquet

        pyarrow.parquet.write_table(table, path, row_group_size=rows)
    elif path.suffix == ".feather":
        import pyarrow.feather

        pyarrow.feather.write_feather(table, str(path), chunksize=rows)
    else:
        with pa.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=rows)
    return path


PAYMENTS = {
    "payer": ["a", "b", "c"],
    "amount": [1, None, 3],
    "payee": ["b", "c", "a"],
    "label": ["x", "y", "x"],
}


@pytest.fixture(params=SUFFIXES)
def payments(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return write(pa.table(PAYMENTS), tmp_path / f"payments{request.param}", rows=2)


def test_columns_are_chosen_by_name_or_position(payments):
    expected = {("a", "b", "x"): 1, ("b", "c", "y"): 1, ("c", "a", "x"): 1}
    by_name = mf.read_graph(payments, src="payer", dst="payee", directed=True)
    by_position = mf.read_graph(payments, src=0, dst=2, label=3, attributes=[], directed=True)
    assert edge_counts(by_name) == edge_counts(by_position) == expected
    assert by_name.edge_attributes["amount"].to_numpy().tolist() == [1, None, 3]
    assert not by_position.edge_attributes


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_columns_of_one_name_are_told_apart_by_position(tmp_path, suffix):
    columns = [pa.array([1, 2]), pa.array([2, 3]), pa.array([7, 8])]
    path = write(pa.Table.from_arrays(columns, names=["id", "id", "id.x"]), tmp_path / f"g{suffix}")
    made = mf.read_graph(path, src=1, dst=0, attributes=["id.x"], directed=True)
    listed = made.to_edges()
    assert set(zip(listed.src.tolist(), listed.dst.tolist(), strict=True)) == {(2, 1), (3, 2)}


def test_a_column_that_is_not_there_is_refused_with_the_file_and_its_columns(payments):
    with pytest.raises(
        mf.ArgumentError, match=rf"dst: expected one of the columns of {payments} \('payer', "
    ):
        mf.read_graph(payments, src="payer", dst="to")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_missing_id_is_refused_with_the_file_and_the_row(tmp_path, suffix):
    table = pa.table({"src": pa.array([*range(9), None]), "dst": range(10)})
    path = write(table, tmp_path / f"t{suffix}", rows=4)
    with pytest.raises(mf.FormatError, match=rf"{path}: column 'src', row 9: expected an id, .* found none"):
        mf.read_graph(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_damaged_file_is_refused_with_its_name(tmp_path, suffix):
    path = write(pa.table({"src": range(1000), "dst": range(1, 1001)}), tmp_path / f"t{suffix}")
    whole = path.read_bytes()
    for damaged in (b"", b"no table", whole[: len(whole) // 2], whole[:-9]):
        path.write_bytes(damaged)
        with pytest.raises(mf.FormatError, match=str(path)):
            mf.read_graph(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_no_file_is_refused_with_its_name(tmp_path, suffix):
    with pytest.raises(mf.FormatError, match="cannot be opened: No such file"):
        mf.read_graph(tmp_path / f"absent{suffix}")
    (tmp_path / f"folder{suffix}").mkdir()
    with pytest.raises(mf.FormatError, match="found a directory"):
        mf.read_graph(tmp_path / f"folder{suffix}")
    with pytest.raises(mf.FormatError, match="found a compressed file"):
        mf.read_graph(tmp_path / f"t{suffix}.gz")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_table_without_rows_is_a_graph_without_edges(tmp_path, suffix):
    table = pa.table(
        {"src": pa.array([], pa.int64()), "dst": pa.array([], pa.int64()), "w": pa.array([], pa.int8())}
    )
    graph = mf.read_graph(write(table, tmp_path / f"t{suffix}"))
    assert (graph.num_vertices, graph.num_edges) == (0, 0)


def test_self_loops_are_left_out_and_counted_where_the_call_is(tmp_path):
    path = write(pa.table({"src": [1, 2], "dst": [1, 3]}), tmp_path / "t.parquet")
    with pytest.warns(mf.MotifluxWarning, match="1 self-loop was left out") as notes:
        graph = mf.read_graph(path)
    assert graph.num_edges == 1
    assert notes[0].filename == __file__


def test_vertices_come_from_a_table_of_any_format(payments, tmp_path):
    vertices = write(pa.table({"id": ["c", "b", "a", "d"], "label": [1, 2, 3, 4]}), tmp_path / "v.parquet")
    graph = mf.read_graph(payments, src="payer", dst="payee", vertices=vertices)
    assert graph.vertex_labels_by_id() == {"a": 3, "b": 2, "c": 1, "d": 4}
    listed = {"id": ["a", "b", "c"], "label": [3, 2, 1]}
    beside = mf.read_graph(payments, src="payer", dst="payee", vertices=listed)
    assert beside.vertex_labels_by_id() == {"a": 3, "b": 2, "c": 1}
    with pytest.raises(mf.FormatError, match=r"expected a table of vertices in .*\.parquet"):
        mf.read_graph(payments, vertices="v.npz")
    few = write(pa.table({"id": ["a", "b"]}), tmp_path / "few.parquet")
    with pytest.raises(mf.FormatError, match=r"payments\..*: row 1: .* found 'c'"):
        mf.read_graph(payments, src="payer", dst="payee", vertices=few)


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_reading_is_told_to_those_who_watch(tmp_path, suffix):
    count = 600_000
    table = pa.table({"src": np.arange(count), "dst": np.arange(1, count + 1)})
    path = write(table, tmp_path / f"t{suffix}", rows=200_000)
    told: list[int] = []
    with watched(told.append):
        mf.read_graph(path)
    assert len(told) >= 3
    assert told == sorted(told)
    assert told[-1] == path.stat().st_size
    with reading_meter(path):
        assert mf.read_graph(path, threads=1).num_edges == count


def test_without_the_package_the_file_says_what_it_takes(payments, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(mf.FormatError, match=r"this takes the package pyarrow; .* the extra 'arrow'"):
        mf.read_graph(payments)
