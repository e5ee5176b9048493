"""Damaged files of every format: a `FormatError` naming the file, or the graph that a slow reader sees."""

from __future__ import annotations

import gzip
import random
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.io import readers
from tests.fault.files import savez
from tests.slow_readers import (
    Plain,
    RefusedError,
    plain,
    read_delimited,
    read_edge_list,
    read_graph_file,
    read_matrix,
)

TABLE = (
    'src,dst,label,amount,time,note\n1,2,wire,2.5,17,"a, ""b"""\n2,3,cash,,18,\r\n'
    '3,1,wire,1e3,-19,ü\n3,3,x,0,0,y\n\n2,1,cash,7.25,20,"two\nlines"\n'
).encode()
NAMES = b"payer,payee,flag,count\nann,bob,true,1\nbob,cy,False,20\ncy,ann,,9223372036854775807\n"
GRAPH = b"t 4 4\nv 0 5 2\nv 1 6 2\nv 2 5 3\nv 7 1\ne 0 1 8\ne 1 2 9\ne 0 2 8\ne 2 7\n"
MATRIX = b"%%MatrixMarket matrix coordinate real general\n% c\n4 4 4\n1 2 0.5\n2 3 -1\n3 1 1e2\n4 4 7\n"
SYMMETRIC = b"%%MatrixMarket matrix coordinate integer symmetric\n3 3 2\n2 1 5\n3 1 -6\n"
SKEW = b"%%MatrixMarket matrix coordinate integer skew-symmetric\n3 3 2\n2 1 5\n3 1 -6\n"
PATTERN = b"%%MatrixMarket matrix coordinate pattern general\n3 3 3\n2 1\n3 1\n1 1\n"
ARRAYS = savez(
    edges=np.array([[0, 1], [1, 2]]),
    vertex_labels=np.array(["a", "b", "a"]),
    edge_labels=np.array([4, 5]),
    timestamps=np.array([1.5, 2.5]),
    directed=np.array(True),
)

Slow = Callable[[bytes], Plain]


def separated(separator: str) -> Slow:
    return lambda content: read_delimited(content, separator)


SEEDS: list[tuple[str, bytes, Slow | None]] = [
    ("g.csv", TABLE, separated(",")),
    ("g.csv", NAMES, separated(",")),
    ("g.csv", b"1,2\n2,3\n3,1\n", separated(",")),
    ("g.tsv", TABLE.replace(b",", b"\t"), separated("\t")),
    ("g.txt", b"# three\n10 20 1\n20 30 2\n30 10 1\n10 10 5\n", read_edge_list),
    ("g.edges", b"ann bob\nbob cy\ncy ann\n", read_edge_list),
    ("g.el", b"1,2\n2,3\n", None),
    ("g.graph", GRAPH, read_graph_file),
    ("g.mtx", MATRIX, read_matrix),
    ("g.mtx", SYMMETRIC, read_matrix),
    ("g.mtx", SKEW, read_matrix),
    ("g.mtx", PATTERN, read_matrix),
    ("g.npz", ARRAYS, None),
]
ALONE = ("g.mfg", "g.parquet", "g.arrow")
"""Formats that are never compressed as a whole."""
TOKENS = [
    b" ",
    b"\n",
    b"\r\n",
    b",",
    b"\t",
    b'"',
    b'""',
    b"-1",
    b"*",
    b"0",
    b"007",
    b"1.5",
    b"nan",
    b"true",
    b"#",
    b"%",
]
TOKENS += [
    b"9223372036854775808",
    b"9007199254740993",
    b"1e400",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"x",
]
TOKENS += [b"e 0 1\n", b"v 9 9\n", b"t 1 1\n", b"1,2\n", b"1 2\n", b"real", b"general", b"99999999999"]


def mutated(content: bytes, draw: random.Random) -> bytes:
    """Change, put in, cut out or repeat a few bytes."""
    changed = bytearray(content)
    for _ in range(draw.choice((1, 1, 2, 3, 6))):
        start = draw.randint(0, len(changed))
        length = draw.choice((0, 0, 1, 1, 2, 5, 20))
        match draw.randrange(5):
            case 0:
                put = bytes([draw.randrange(256)])
            case 1:
                put = b""
            case 2:
                put = bytes(changed[start : start + 30])
            case _:
                put = draw.choice(TOKENS)
        changed[start : start + length] = put
    return bytes(changed[: draw.randint(0, len(changed))] if draw.random() < 0.05 else changed)


def read(path: Path) -> mf.Graph | None:
    """Read a file; None where it is refused as it should be."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mf.MotifluxWarning)
        text = path.suffixes[0] in readers.TEXT_READERS or path.suffixes[0] == ".graph"
        try:
            return mf.read_graph(path, directed=True if text else None, threads=1)
        except mf.FormatError as error:
            message = str(error)
    assert message.startswith(str(path))
    return None


def check(path: Path, content: bytes, slow: Slow | None) -> None:
    path.write_bytes(content)
    graph = read(path)
    if graph is None:
        return
    try:
        found = plain(graph)
    except mf.FormatError:
        assert path.suffix == ".mfg"  # which is checked when it is looked at
        return
    text = undone(path, content)
    if slow is None or text is None:
        return
    try:
        expected = slow(text)
    except RefusedError:
        return
    assert found == expected


def undone(path: Path, content: bytes) -> bytes | None:
    """Undo the compression; None where Python refuses to."""
    if path.suffix == ".gz":
        try:
            return gzip.decompress(content)
        except (OSError, EOFError, zlib.error):
            return None
    if path.suffix == ".zst":
        pyarrow = pytest.importorskip("pyarrow")
        return bytes(pyarrow.CompressedInputStream(pyarrow.py_buffer(content), "zstd").read())
    return content


def compressed(content: bytes, suffix: str) -> bytes:
    if suffix == ".gz":
        return gzip.compress(content, mtime=0)
    if suffix == ".zst":
        return bytes(pytest.importorskip("pyarrow").compress(content, codec="zstd", asbytes=True))
    return content


def fuzz(folder: Path, seed: tuple[str, bytes, Slow | None], suffix: str, count: int) -> None:
    name, content, slow = seed
    path = folder / (name + suffix)
    packed = compressed(content, suffix)
    check(path, packed, slow)
    draw = random.Random(f"{name}{suffix}{content!r}")
    for _ in range(count):
        inside = suffix != "" and draw.random() < 0.3
        damaged = compressed(mutated(content, draw), suffix) if inside else mutated(packed, draw)
        try:
            check(path, damaged, slow)
        except BaseException:
            print(f"{path.name}: {damaged!r}")
            raise


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: f"{seed[0]}-{seed[1][:12]!r}")
def test_a_damaged_file_is_refused_or_read_rightly(tmp_path: Path, seed: Any, suffix: str) -> None:
    fuzz(tmp_path, seed, suffix, 15)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("suffix", "count"), [("", 6000), (".gz", 1000), (".zst", 1000)])
@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: f"{seed[0]}-{seed[1][:12]!r}")
def test_many_damaged_files_are_refused_or_read_rightly(
    tmp_path: Path, seed: Any, suffix: str, count: int
) -> None:
    fuzz(tmp_path, seed, suffix, count)


def alone(folder: Path, name: str) -> bytes:
    """Return a file of a format that is written by a library, or by motiflux."""
    path = folder / name
    if path.suffix == ".mfg":
        graph = mf.Graph.from_edges([("ann", "bob"), ("bob", "cy")], edge_attributes={"x": ["a", None]})
        mf.write_graph(graph, path)
        return path.read_bytes()
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"src": ["ann", "bob"], "dst": ["bob", "cy"], "label": [1, 2], "x": [0.5, None]})
    if path.suffix == ".parquet":
        pytest.importorskip("pyarrow.parquet").write_table(table, path)
    else:
        with pyarrow.OSFile(str(path), "wb") as sink, pyarrow.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    return path.read_bytes()


@pytest.mark.parametrize("name", ALONE)
def test_a_damaged_binary_file_is_refused_or_read(tmp_path: Path, name: str) -> None:
    fuzz(tmp_path, (name, alone(tmp_path, name), None), "", 40)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", ALONE)
def test_many_damaged_binary_files_are_refused_or_read(tmp_path: Path, name: str) -> None:
    fuzz(tmp_path, (name, alone(tmp_path, name), None), "", 4000)


@pytest.mark.parametrize("seed", [one for one in SEEDS if one[2] is not None], ids=lambda seed: seed[0])
def test_the_slow_readers_accept_what_is_sound(tmp_path: Path, seed: Any) -> None:
    name, content, slow = seed
    path = tmp_path / name
    path.write_bytes(content)
    graph = read(path)
    assert graph is not None
    assert plain(graph) == slow(content)
    assert graph.num_edges >= 2


def test_offsets_that_lead_out_of_an_arrow_file_are_refused(tmp_path: Path) -> None:
    content = alone(tmp_path, "g.arrow")
    offsets = np.array([0, 3, 6], dtype="<i4").tobytes()
    assert offsets in content
    (tmp_path / "g.arrow").write_bytes(
        content.replace(offsets, np.array([0, 3, 2**30], dtype="<i4").tobytes())
    )
    with pytest.raises(mf.FormatError, match=r"g\.arrow: the file is damaged"):
        mf.read_graph(tmp_path / "g.arrow")
