"""Disks that are full while matches are written."""

from __future__ import annotations

from io import RawIOBase
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.io.files import growing_file
from motiflux.stream import FileSink, Position

STAR = mf.Updates.edges(inserts=np.array([(0, at) for at in range(1, 400)]))
NAMES = ["o.csv", "o.csv.gz", "o.tsv.zst", "o.arrow"]


class FullDisk(RawIOBase):
    """A file on a disk that has room for some bytes, and then for a part of what is written."""

    def __init__(self, path: Path, room: int) -> None:
        self._file = path.open("wb", buffering=0)
        self._room = room

    def write(self, data: Any) -> int:
        size = min(len(data), 1000)
        if self._room < size:
            self._file.write(data[: self._room])
            self._room = 0
            raise OSError(28, "No space left on device")
        self._room -= size
        return self._file.write(data[:size])

    def truncate(self, size: int | None = None) -> int:
        return self._file.truncate(size)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def fileno(self) -> int:
        return self._file.fileno()

    def close(self) -> None:
        self._file.close()


def table_of(path: Path) -> Any:
    """Read a file of matches as a table of Arrow."""
    pa = pytest.importorskip("pyarrow")
    if path.suffix == ".arrow":
        with pa.ipc.open_stream(path.read_bytes()) as reader:
            return reader.read_all()
    if path.suffix == ".parquet":
        return pytest.importorskip("pyarrow.parquet").read_table(path)
    csv = pytest.importorskip("pyarrow.csv")
    separator = "\t" if ".tsv" in path.suffixes else ","
    return csv.read_csv(path, parse_options=csv.ParseOptions(delimiter=separator))


def rows_of(path: Path) -> list[tuple[Any, ...]]:
    """Read a file of matches."""
    table = table_of(path)
    return list(zip(*(table[name].to_pylist() for name in table.column_names), strict=True))


@pytest.mark.turns(8)
@pytest.mark.parametrize("name", NAMES)
def test_a_full_disk_refuses_the_batch_and_leaves_those_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    pytest.importorskip("pyarrow")
    graph = mf.Graph.from_edges([])
    path = tmp_path / name
    with mf.Monitor(graph, "(a)--(b)--(c)", matches=True) as monitor:
        monitor.run(STAR, path, batch_size=100)
        room = path.stat().st_size * 2 // 3
    expected = rows_of(path)
    with mf.Monitor(graph, "(a)--(b)--(c)", matches=True) as monitor:
        sink = FileSink(path)
        with monkeypatch.context() as patch:
            patch.setattr(growing_file, "_open_growing", lambda path, fresh: FullDisk(path, room))
            with pytest.raises(mf.OutputError, match=f"{name}: cannot be written: No space left"):
                monitor.run(STAR, sink, batch_size=100)
        edges = monitor.num_edges
        assert edges in (100, 200, 300)
        assert monitor.source_position == Position(edges)
        assert [file.name for file in tmp_path.iterdir()] == [name]
        assert rows_of(path) == expected[: edges * (edges - 1)]
        # The monitor goes on, and so does the file.
        rest = mf.Updates.edges(inserts=np.array([(0, at) for at in range(1 + edges, 400)]))
        totals = monitor.run(rest, FileSink(path, kept=sink.mark()), batch_size=100)
        assert totals[0].positive == 399 * 398 - edges * (edges - 1)
        assert rows_of(path) == expected


def test_parquet_on_a_full_disk_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.setattr("motiflux.stream.sinks.parquet_rows.group_rows", lambda fields: 20_000)
    with mf.Monitor(mf.Graph.from_edges([]), "(a)--(b)--(c)", matches=True) as monitor:
        with monkeypatch.context() as patch:
            patch.setattr(growing_file, "_BUFFER_BYTES", 1)
            patch.setattr(growing_file, "_open_growing", lambda path, fresh: FullDisk(path, 10_000))
            with pytest.raises(mf.OutputError, match=r"o.parquet.partial: cannot be written: No space left"):
                monitor.run(STAR, tmp_path / "o.parquet", batch_size=100)
        assert list(tmp_path.iterdir()) == []


def test_what_is_left_at_the_end_may_fail_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    with mf.Monitor(mf.Graph.from_edges([]), "(a)--(b)--(c)", matches=True) as monitor:
        with monkeypatch.context() as patch:
            patch.setattr(growing_file, "_open_growing", lambda path, fresh: FullDisk(path, 10))
            with pytest.raises(mf.OutputError, match="No space left"):
                monitor.run(mf.Updates.of([("+", 1, 2), ("+", 2, 3)]), tmp_path / "o.parquet")
        assert list(tmp_path.iterdir()) == []
        # The updates were applied before the file was found to fail.
        assert monitor.num_edges == 2
