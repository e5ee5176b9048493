"""Files compressed with Zstandard (``.zst``); gzip is in ``test_read_files``."""

from __future__ import annotations

import gc
import io
import random
import sys
import types
from pathlib import Path

import pytest

import motiflux as mf
from motiflux.io.files import compression, source
from tests.fault.files import EDGES, complaint, savez

pyarrow = pytest.importorskip("pyarrow", reason="Zstandard takes pyarrow here")

TEXT = b"10 20\n20 30\n30 10\n"
SKIPPED = b"\x50\x2a\x4d\x18\x04\0\0\0abcd"


def packed(content: bytes) -> bytes:
    return bytes(pyarrow.compress(content, codec="zstd", asbytes=True))


@pytest.mark.parametrize(
    "content",
    [packed(TEXT), packed(TEXT[:7]) + packed(TEXT[7:]), SKIPPED + packed(TEXT), packed(b"") + packed(TEXT)],
    ids=["one-frame", "two-frames", "skippable", "empty-frame"],
)
def test_zstandard_is_undone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "graph.txt.zst"
    path.write_bytes(content)
    assert mf.read_graph(path).num_edges == 3


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("g.csv.zst", b"src,dst\n0,1\n1,2\n"),
        ("g.TSV.ZST", b"0\t1\n1\t2\n"),
        ("g.graph.zst", b"v 0 0\nv 1 0\nv 2 0\ne 0 1\ne 1 2\n"),
        ("g.mtx.zst", b"%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n"),
        ("g.npz.zst", savez(edges=EDGES)),
    ],
)
def test_every_format_is_read_compressed(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(packed(content))
    assert mf.read_graph(path).num_edges == 2


def test_nothing_is_said_of_what_is_read_well(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "graph.txt.zst"
    path.write_bytes(packed(TEXT))
    mf.read_graph(path)
    gc.collect()
    assert capfd.readouterr() == ("", "")


def test_patterns_are_read_compressed(tmp_path: Path) -> None:
    path = tmp_path / "ring.pattern.zst"
    path.write_bytes(packed(b"(a)--(b)--(c)--(a)"))
    assert mf.read_pattern(path).name == "ring"


def test_content_comes_in_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "CHUNK_BYTES", 100_000)
    content = random.Random(1).randbytes(1_000_000)
    path = tmp_path / "x.zst"
    path.write_bytes(packed(content))
    chunks = list(source.read_chunks(path))
    assert b"".join(chunks) == content
    assert [len(chunk) for chunk in chunks] == [100_000] * 10


def test_data_cut_short_says_how_far_it_got(tmp_path: Path) -> None:
    content = packed(b"".join(b"%d 2\n" % edge for edge in range(1_000_000)))
    said = complaint(tmp_path / "graph.txt.zst", content[: len(content) // 2])
    start, _, end = said.partition("after ")
    done, _, rest = end.partition(" ")
    assert (start, rest) == ("the zstd data is cut short ", "bytes of content")
    assert 2_000_000 < int(done) < 6_000_000
    expected = "the zstd data is cut short after 0 bytes of content"
    assert complaint(tmp_path / "graph.txt.zst", content[:5]) == expected
    assert complaint(tmp_path / "graph.txt.zst", b"") == expected


@pytest.mark.parametrize("content", [TEXT, packed(TEXT) + b"rubbish", packed(TEXT)[:12] + b"\xff" * 20])
def test_corrupt_data_is_refused(tmp_path: Path, content: bytes) -> None:
    said = complaint(tmp_path / "graph.txt.zst", content)
    assert said.startswith("the zstd data is corrupt after 0 bytes of content: ")


def test_without_what_undoes_it_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 13))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert complaint(tmp_path / "graph.txt.zst", packed(TEXT)) == (
        "found Zstandard data, which takes Python 3.14 or the package pyarrow; "
        "install motiflux[zstd], or compress the file with gzip"
    )


class _File(io.RawIOBase):
    """What ``compression.zstd.ZstdFile`` does, as far as it matters here."""

    def __init__(self, file: compression.Stream) -> None:
        self._content = io.BytesIO()
        data = b"".join(iter(lambda: file.read(1000), b""))
        if data == b"cut":
            raise EOFError("Compressed file ended before the end-of-stream marker was reached")
        if data == b"bad":
            raise _ZstdError("Unable to decompress")
        self._content.write(pyarrow.CompressedInputStream(pyarrow.py_buffer(data), "zstd").read())
        self._content.seek(0)

    def read(self, size: int = -1, /) -> bytes:
        return self._content.read(size)


class _ZstdError(Exception):
    pass


def test_the_standard_library_is_used_where_it_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in where Python is older than 3.14."""
    zstd = types.ModuleType("compression.zstd")
    zstd.ZstdFile, zstd.ZstdError = _File, _ZstdError  # type: ignore[attr-defined]
    monkeypatch.setattr(sys, "version_info", (3, 14))
    monkeypatch.setitem(sys.modules, "compression", types.ModuleType("compression"))
    monkeypatch.setitem(sys.modules, "compression.zstd", zstd)
    path = tmp_path / "graph.txt.zst"
    path.write_bytes(packed(TEXT))
    assert mf.read_graph(path).num_edges == 3
    assert complaint(path, b"cut") == "the zstd data is cut short after 0 bytes of content"
    assert complaint(path, b"bad").startswith("the zstd data is corrupt after 0 bytes of content: Unable")
