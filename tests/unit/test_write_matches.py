"""Files of matches that are written whole."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import motiflux as mf
from motiflux._native import format_csv
from motiflux.io.binary.npy_writer import _header
from motiflux.io.writers import write_matches

if TYPE_CHECKING:
    from motiflux.types import IdArray


class Batches:
    """Matches that are already there."""

    def __init__(self, columns: int, batches: Sequence[IdArray]) -> None:
        self.columns = [f"v{column}" for column in range(columns)]
        self._batches = batches

    def __iter__(self) -> Iterator[IdArray]:
        return iter(self._batches)


FIRST = np.array([[1, 2, 3], [4, 5, 6]])
SECOND = np.array([[2**63 - 1, 0, -(2**63)]])


def test_an_npy_file_holds_all_batches_as_one_array(tmp_path: Path) -> None:
    path = tmp_path / "rows.npy"
    assert write_matches(Batches(3, [FIRST, SECOND, FIRST[:0]]), path) == 3
    array = np.load(path)
    assert array.dtype == np.int64
    assert array.tolist() == [*FIRST.tolist(), *SECOND.tolist()]
    assert np.load(path, mmap_mode="r").shape == (3, 3)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64])
def test_batches_may_have_any_integer_type_and_layout(tmp_path: Path, order: str, dtype: type) -> None:
    batch = np.asarray(FIRST, dtype=dtype, order=order)  # type: ignore[call-overload]
    write_matches(Batches(3, [batch]), tmp_path / "rows.npy")
    write_matches(Batches(3, [batch]), tmp_path / "rows.csv")
    assert np.load(tmp_path / "rows.npy").tolist() == FIRST.tolist()
    assert (tmp_path / "rows.csv").read_bytes() == b"v0,v1,v2\n1,2,3\n4,5,6\n"


def test_a_csv_file_has_column_names_and_a_line_per_match(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    assert write_matches(Batches(3, [FIRST, SECOND]), path) == 3
    assert path.read_bytes() == (b"v0,v1,v2\n1,2,3\n4,5,6\n9223372036854775807,0,-9223372036854775808\n")


def test_string_ids_are_quoted_in_csv_where_they_must_be(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    rows = np.array([["plain", "a,b"], ['say "x"', "Zürich"]])
    assert write_matches(Batches(2, [rows]), path) == 2
    assert path.read_text(encoding="utf-8") == 'v0,v1\nplain,"a,b"\n"say ""x""",Zürich\n'


def test_no_matches_give_a_file_without_rows(tmp_path: Path) -> None:
    assert write_matches(Batches(5, []), tmp_path / "rows.npy") == 0
    assert write_matches(Batches(2, []), tmp_path / "rows.csv") == 0
    assert np.load(tmp_path / "rows.npy").shape == (0, 5)
    assert (tmp_path / "rows.csv").read_bytes() == b"v0,v1\n"


def test_batches_larger_than_a_slice_are_written_whole(tmp_path: Path) -> None:
    rows = np.arange(300_000).reshape(-1, 2)
    write_matches(Batches(2, [rows]), tmp_path / "rows.csv")
    assert np.array_equal(np.loadtxt(tmp_path / "rows.csv", delimiter=",", skiprows=1, dtype=int), rows)


@pytest.mark.parametrize("rows", [0, 9, 10**9, 2**63 - 1])
def test_the_npy_header_has_one_size_whatever_it_says(rows: int) -> None:
    header = _header(rows, 32)
    assert len(header) == 128
    assert header.endswith(b"\n")
    assert f"({rows}, 32)".encode() in header


def test_an_older_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("old")
    write_matches(Batches(3, [FIRST]), path)
    assert path.read_bytes().startswith(b"v0,")
    assert [entry.name for entry in tmp_path.iterdir()] == ["rows.csv"]


def test_a_symbolic_link_stays_and_its_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    target = tmp_path / "elsewhere" / "real.csv"
    link = tmp_path / "rows.csv"
    link.symlink_to(target)
    write_matches(Batches(3, [FIRST]), link)
    assert link.is_symlink()
    assert target.read_bytes().startswith(b"v0,")


def test_files_get_the_permissions_of_the_process(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_matches(Batches(3, [FIRST]), tmp_path / "rows.npy")
    finally:
        os.umask(before)
    assert (tmp_path / "rows.npy").stat().st_mode & 0o777 == 0o640


def test_a_name_as_long_as_names_can_be_is_written(tmp_path: Path) -> None:
    path = tmp_path / f"{'x' * 251}.npy"
    assert write_matches(Batches(3, [FIRST]), path) == 2
    assert path.exists()


def test_format_csv_takes_no_rows_and_single_columns() -> None:
    assert format_csv(np.empty((0, 3), dtype=np.int64)) == b""
    assert format_csv(np.array([[1], [-2]])) == b"1\n-2\n"


def test_matches_of_a_search_are_written(tmp_path: Path) -> None:
    graph = mf.Graph.from_edges(np.array([[10, 20], [20, 30], [30, 10]]))
    triangle = mf.Pattern.from_edges([(0, 1), (1, 2), (2, 0)])
    with mf.match(graph, triangle) as matches:
        assert write_matches(matches, tmp_path / "rows.npy") == 6
        assert matches.complete
    rows = np.load(tmp_path / "rows.npy")
    assert sorted(map(sorted, rows.tolist())) == [[10, 20, 30]] * 6


def test_string_ids_of_a_search_are_written(tmp_path: Path) -> None:
    graph = mf.Graph.from_edges((np.array(["ann"]), np.array(["bob"])), directed=True)
    with mf.match(graph, mf.Pattern.from_edges([(0, 1)])) as matches:
        assert write_matches(matches, tmp_path / "rows.csv") == 1
    assert (tmp_path / "rows.csv").read_text() == "v0,v1\nann,bob\n"


def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path: Path) -> None:
    output = tmp_path / "rows.csv"
    output.write_text("old")
    output.chmod(0o600)
    graph = mf.Graph.from_edges([(0, 1), (1, 2), (2, 0)])
    write_matches(mf.match(graph, mf.Pattern.from_edges([(0, 1)])), output)
    assert output.stat().st_mode & 0o777 == 0o600
    assert output.read_text().startswith("v0,v1\n")
