"""Random damage to files of every format: a graph or a `MotifluxError`, never anything else."""

from __future__ import annotations

import gzip
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from tests.fault.files import EDGES, archive, npy, savez

TEXT = b"# three\n10 20 1\n20 30 2\n30 10 1\n10 10 5\n"
GRAPH = b"t 4 4\nv 0 5 2\nv 1 6 2\nv 2 5 3\nv 7 1\ne 0 1 8\ne 1 2 9\ne 0 2 8\ne 2 7\n"
PATTERN = "(a:人)-[x:A|B]->(b),\n(b)--(c) // two\nWHERE x.w > 3 AND id(a) IN [1, 'x']".encode()
NPZ = savez(edges=EDGES, vertex_labels=np.array([1, 2, 3]), directed=np.array(True), num_vertices=np.array(3))
SEEDS = {
    "fuzz.txt": TEXT,
    "fuzz.el.gz": gzip.compress(TEXT),
    "fuzz.graph": GRAPH,
    "fuzz.graph.gz": gzip.compress(GRAPH),
    "fuzz.pattern": PATTERN,
    "fuzz.cypher.gz": gzip.compress(PATTERN),
    "fuzz.npz": NPZ,
    "fuzz.npz.gz": gzip.compress(NPZ),
}
TOKENS = (
    b" ",
    b"\n",
    b"\r\n",
    b"-1",
    b"*",
    b"e 0 1\n",
    b"v 9 9\n",
    b"t 1 1\n",
    b"9223372036854775808",
    b"\0",
)


@st.composite
def damaged(draw: st.DrawFn, seed: bytes) -> bytes:
    """Draw random bytes, or the seed with a few bytes changed, put in or cut out."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.binary(max_size=200))
    content = bytearray(seed)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        length = draw(st.integers(0, 6)) if draw(st.integers(0, 4)) else len(content)
        content[start : start + length] = draw(st.sampled_from(TOKENS) | st.binary(max_size=8))
    return bytes(content)


def read_or_refuse(path: Path, read: Callable[[Path], mf.Graph | mf.Pattern]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mf.MotifluxWarning)
        try:
            graph = read(path)
        except mf.MotifluxError as error:
            message = str(error)
        else:
            message = f"{path}: {graph.num_edges} edges"
    assert message.startswith(str(path))


@pytest.mark.parametrize("name", SEEDS)
@settings(max_examples=4 * settings.default.max_examples)
@given(data=st.data())
def test_a_damaged_file_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(data.draw(damaged(SEEDS[name])))
    read_or_refuse(path, mf.read_graph)
    if name.split(".")[1] in ("graph", "pattern", "cypher"):
        read_or_refuse(path, mf.read_pattern)


@st.composite
def arrays(draw: st.DrawFn) -> Any:
    dtype = draw(st.sampled_from(["i1", "i8", ">i2", "u8", "f8", "?", "U3", "S2", "c16", "M8[s]", "V3"]))
    shape = tuple(draw(st.lists(st.integers(0, 3), max_size=3)))
    array = np.zeros(shape, dtype=dtype)
    if array.dtype.kind in "iuf" and array.size:
        array.flat[0] = draw(st.integers(0, 100))
    return array


KEYS = ["edges", "vertex_labels", "edge_labels", "timestamps", "directed", "num_vertices", "other"]
KEYS += ["vertex.a", "edge.a"]


@settings(max_examples=4 * settings.default.max_examples)
@given(members=st.dictionaries(st.sampled_from(KEYS), arrays()), sound=st.booleans())
def test_an_archive_of_any_arrays_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, members: dict[str, Any], sound: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "arrays.npz"
    path.write_bytes(savez(**(members | ({"edges": EDGES} if sound else {}))))
    read_or_refuse(path, mf.read_graph)


HEADER = npy(EDGES)[:128]


@settings(max_examples=4 * settings.default.max_examples)
@given(header=damaged(HEADER))
def test_an_array_header_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, header: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "header.npz"
    path.write_bytes(archive(edges=header + npy(EDGES)[128:]))
    read_or_refuse(path, mf.read_graph)
