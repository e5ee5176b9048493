"""Graph files that cannot be written: an `OutputError`, nothing under the name, older files untouched."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

import motiflux as mf
from motiflux import atomic
from motiflux.io.binary import sections
from motiflux.io.binary.sections import write_sections
from tests.unit.mfg_cases import full_graph


@pytest.fixture
def output(tmp_path: Path) -> Iterator[Path]:
    """Name an output beside an older file of that name, which must be all there is afterwards."""
    path = tmp_path / "g.mfg"
    path.write_text("older")
    yield path
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    assert path.read_text() == "older"


@pytest.mark.parametrize("buffer", [2, 2**20], ids=["while-writing", "at-the-end"])
def test_a_full_disk_is_reported(output: Path, monkeypatch: pytest.MonkeyPatch, buffer: int) -> None:
    create = atomic._create

    def create_on_full_disk(path: Path) -> BinaryIO:
        create(path).close()
        return Path("/dev/full").open("wb", buffering=buffer)

    monkeypatch.setattr(atomic, "_create", create_on_full_disk)
    with pytest.raises(mf.OutputError) as caught:
        mf.write_graph(full_graph(), output)
    assert str(caught.value) == f"{output}: cannot be written: No space left on device"


@pytest.mark.turns(8)
def test_a_file_size_limit_is_reported(output: Path) -> None:
    program = """
        import sys
        import numpy as np
        import motiflux as mf

        graph = mf.Graph.from_edges([(v, v + 1) for v in range(100_000)])
        try:
            mf.write_graph(graph, sys.argv[1])
        except mf.OutputError as error:
            print(error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(output)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20)),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{output}: cannot be written: File too large\n"


@pytest.mark.parametrize("end", [signal.SIGINT, None], ids=["ctrl-c", "an error"])
def test_writing_that_stops_midway_leaves_nothing(
    output: Path, monkeypatch: pytest.MonkeyPatch, end: signal.Signals | None
) -> None:
    pieces = sections._chunks

    def stop_at_the_third(content: memoryview) -> Iterator[memoryview]:
        # Checksums go over the same pieces before: stop only once the file is there.
        for piece in pieces(content):
            if len(list(output.parent.iterdir())) > 1:
                if end is None:
                    raise RuntimeError("stop")
                signal.raise_signal(end)
            yield piece

    monkeypatch.setattr(sections, "_chunks", stop_at_the_third)
    with pytest.raises(KeyboardInterrupt if end else RuntimeError):
        mf.write_graph(full_graph(), output)


@pytest.mark.turns(8)
def test_a_killed_process_leaves_the_older_file(tmp_path: Path) -> None:
    path = tmp_path / "g.mfg"
    mf.write_graph(mf.Graph.from_edges([(0, 1)]), path)
    program = """
        import os, signal, sys
        import motiflux as mf
        os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
        mf.write_graph(mf.Graph.from_edges([(0, 1), (1, 2)]), sys.argv[1])
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program), str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert mf.read_graph(path).num_edges == 1
    mf.verify_graph(path)


SUFFIXES = ".mfg, .npz, .graph, .txt, .mtx, .csv, .tsv, .parquet, .arrow"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("g.xyz", f"found suffix '.xyz', expected {SUFFIXES}"),
        ("g", f"found no suffix, expected {SUFFIXES}"),
        (
            "g.mfg.gz",
            "found suffix '.mfg.gz', expected .mfg: it is used from where it lies, not compressed",
        ),
        ("folder.mfg", "found a directory, expected a regular file or a new name"),
        ("none/g.mfg", "cannot be written: there is no folder {folder}/none"),
    ],
)
def test_a_name_that_cannot_be_written_is_refused(tmp_path: Path, name: str, expected: str) -> None:
    (tmp_path / "folder.mfg").mkdir()
    output = tmp_path / name
    refusals: list[Callable[[], object]] = [
        lambda: mf.io.check_graph_output(output),
        lambda: mf.write_graph(full_graph(), output),
    ]
    for refuse in refusals:
        with pytest.raises(mf.OutputError) as caught:
            refuse()
        assert str(caught.value) == f"{output}: {expected.format(folder=tmp_path)}"
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder.mfg"]


def test_what_is_no_graph_is_refused(tmp_path: Path) -> None:
    with pytest.raises(mf.ArgumentError, match=r"^graph: expected a motiflux\.Graph, found 5$"):
        mf.write_graph(5, tmp_path / "g.mfg")  # type: ignore[arg-type]


def test_a_big_endian_machine_is_refused(output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "byteorder", "big")
    with pytest.raises(mf.OutputError, match="the format is little-endian, this machine is not"):
        write_sections(output, {}, {})
    with pytest.raises(mf.FormatError, match="the format is little-endian, this machine is not"):
        mf.read_graph(output)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
def test_a_pipe_is_not_mapped(tmp_path: Path) -> None:
    path = tmp_path / "g.mfg"
    os.mkfifo(path)
    keep = os.open(path, os.O_RDWR)  # so that opening it does not wait
    try:
        with pytest.raises(mf.FormatError, match="found no regular file"):
            mf.read_graph(path)
    finally:
        os.close(keep)
