"""Disks that are full while matches are written."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest

import motiflux as mf
from motiflux import atomic
from motiflux.stream import Position

STAR = mf.Updates.edges(inserts=np.array([(0, at) for at in range(1, 400)]))


@pytest.mark.parametrize("name", ["o.csv", "o.csv.gz", "o.parquet", "o.arrow"])
def test_a_full_disk_refuses_the_batch_and_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    if not name.startswith("o.csv"):
        pytest.importorskip("pyarrow")

    def create_on_full_disk(path: Path) -> BinaryIO:
        path.touch()
        return Path("/dev/full").open("wb", buffering=2)

    # A few rows are written at once.
    monkeypatch.setattr("motiflux.stream.file_sink._TEXT_ROWS", 50_000)
    monkeypatch.setattr("motiflux.stream.file_sink.group_rows", lambda fields: 50_000)
    graph = mf.Graph.from_edges([])
    with mf.Monitor(graph, "(a)--(b)--(c)", matches=True) as monitor:
        with monkeypatch.context() as patch:
            patch.setattr(atomic, "_create", create_on_full_disk)
            with pytest.raises(mf.OutputError, match=f"{name}: cannot be written: No space left"):
                monitor.run(STAR, tmp_path / name, batch_size=100)
        edges = monitor.num_edges
        assert monitor.source_position is None or monitor.source_position == Position(edges)
        assert edges in (0, 100, 200, 300)
        assert list(tmp_path.iterdir()) == []
        # The monitor goes on.
        rest = mf.Updates.edges(inserts=np.array([(0, at) for at in range(1 + edges, 400)]))
        totals = monitor.run(rest, tmp_path / name, batch_size=100)
        assert totals[0].positive == 399 * 398 - edges * (edges - 1)
        assert (tmp_path / name).stat().st_size > 0


def test_what_is_left_at_the_end_may_fail_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def create_on_full_disk(path: Path) -> BinaryIO:
        path.touch()
        return Path("/dev/full").open("wb")

    with mf.Monitor(mf.Graph.from_edges([]), "(a)--(b)--(c)", matches=True) as monitor:
        with monkeypatch.context() as patch:
            patch.setattr(atomic, "_create", create_on_full_disk)
            with pytest.raises(mf.OutputError, match="No space left"):
                monitor.run(mf.Updates.of([("+", 1, 2), ("+", 2, 3)]), tmp_path / "o.csv")
        assert list(tmp_path.iterdir()) == []
        # The updates were applied before the file was found to fail.
        assert monitor.num_edges == 2
