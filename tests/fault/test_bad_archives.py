"""NumPy archives that do not hold what they should."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from motiflux.types import MAX_VERTICES
from tests.fault.files import EDGES, archive, complaint, npy, refusal


@pytest.mark.parametrize(
    ("arrays", "expected"),
    [
        ({"nodes": [1]}, "edges: found no such key (the file holds nodes), expected integers [m, 2]"),
        ({}, "edges: found no such key (the file holds nothing), expected integers [m, 2]"),
        ({"edges": [[0.0, 1.0]]}, "edges: found float64 [1, 2], expected integers [m, 2]"),
        ({"edges": [["a", "b"]]}, "edges: found <U1 [1, 2], expected integers [m, 2]"),
        ({"edges": [[True, False]]}, "edges: found bool [1, 2], expected integers [m, 2]"),
        ({"edges": [[0, 1, 2]]}, "edges: found int64 [1, 3], expected integers [m, 2]"),
        ({"edges": [0, 1]}, "edges: found int64 [2], expected integers [m, 2]"),
        ({"edges": 3}, "edges: found int64 [], expected integers [m, 2]"),
        ({"edges": [[0, 1], [0, -1]]}, "edges[1, 1]: found -1, expected an id from 0 to 1"),
        ({"edges": [[0, -1]]}, "edges[0, 1]: found -1, expected an id from 0 to 0"),
        ({"edges": [[-3, -1]]}, "edges[0, 0]: found -3, expected no edges, as there are no vertices"),
        ({"edges": EDGES, "num_vertices": 2}, "edges[1, 1]: found 2, expected an id from 0 to 1"),
        ({"edges": EDGES, "vertex_labels": [5]}, "edges[0, 1]: found 1, expected an id from 0 to 0"),
        (
            {"edges": [[0, 2**63 - 1]]},
            f"edges[0, 1]: found {2**63 - 1}, expected an id from 0 to {MAX_VERTICES - 1}",
        ),
        (
            {"edges": np.array([[0, 2**64 - 1]], dtype=np.uint64), "num_vertices": 4},
            f"edges[0, 1]: found {2**64 - 1}, expected an id from 0 to 3",
        ),
        (
            {"edges": EDGES, "num_vertices": 4, "vertex_labels": [1, 2, 3]},
            "vertex_labels: found 3 entries, expected 4, the number of vertices",
        ),
        ({"edges": EDGES, "num_vertices": 4.0}, "num_vertices: found float64 [], expected one integer"),
        ({"edges": EDGES, "num_vertices": [3, 3]}, "num_vertices: found int64 [2], expected one integer"),
        (
            {"edges": EDGES, "num_vertices": -1},
            f"num_vertices: found -1, expected an integer from 0 to {MAX_VERTICES}",
        ),
        (
            {"edges": EDGES, "num_vertices": 2**31},
            f"num_vertices: found {2**31} with 2 edges, expected at most 256 vertices for each",
        ),
        (
            {"edges": np.array([[0, 2**31]])},
            f"edges: found an id of {2**31} with 1 edge, expected at most 256 vertices for each",
        ),
        (
            {"edges": EDGES, "num_vertices": 2**32},
            f"num_vertices: found {2**32}, expected an integer from 0 to {MAX_VERTICES}",
        ),
        (
            {"edges": EDGES, "vertex_labels": [0.5, 1, 2]},
            "vertex_labels: found float64 [3], expected integers or strings, 1-d",
        ),
        (
            {"edges": EDGES, "vertex_labels": [[0], [1], [2]]},
            "vertex_labels: found int64 [3, 1], expected integers or strings, 1-d",
        ),
        (
            {"edges": EDGES, "vertex_labels": np.array([0, 2**63, 1], dtype=np.uint64)},
            f"vertex_labels[1]: found {2**63}, expected at most {2**63 - 1}",
        ),
        (
            {"edges": EDGES, "edge_labels": [1, 2, 3]},
            "edge_labels: found 3 entries, expected 2, the number of edges",
        ),
        (
            {"edges": EDGES, "edge_labels": [np.nan, 1]},
            "edge_labels: found float64 [2], expected integers or strings, 1-d",
        ),
        (
            {"edges": EDGES, "timestamps": [1]},
            "timestamps: found 1 entry, expected 2, the number of edges",
        ),
        (
            {"edges": EDGES, "timestamps": ["a", "b"]},
            "timestamps: found <U1 [2], expected numbers or datetimes, 1-d",
        ),
        (
            {"edges": EDGES, "timestamps": [1, 2], "edge.time": [1, 2]},
            "timestamps: found edge.time too, expected one of them",
        ),
        (
            {"edges": EDGES, "edge.amount": [1]},
            "edge.amount: found 1 entry, expected 2, the number of edges",
        ),
        (
            {"edges": EDGES, "num_vertices": 3, "vertex.age": [1]},
            "vertex.age: found 1 entry, expected 3, the number of vertices",
        ),
        (
            {"edges": EDGES, "edge.wait": np.array([1, 2], dtype="m8[s]")},
            "edge.wait: found timedelta64[s] [2], expected numbers, bools, strings or datetimes, 1-d",
        ),
        (
            {"edges": EDGES, "edge.when": np.array(["2024", "9999"], dtype="M8[s]")},
            (
                "edge_attributes['when'], row 1: expected datetimes from 1677-09-21 to 2262-04-11, "
                "found 9999-01-01T00:00:00"
            ),
        ),
        (
            {"edges": EDGES, "edge.when": np.array(["2024", "9999"], dtype="M8[s]"), "utc": ["edge.when"]},
            "edge.when, row 1: expected datetimes from 1677-09-21 to 2262-04-11, found 9999-01-01T00:00:00",
        ),
        (
            {"edges": EDGES, "edge.a": [1, 2], "utc": ["edge.a"]},
            "utc: found 'edge.a', expected the key of an attribute of datetimes",
        ),
        (
            {"edges": EDGES, "utc": ["when"]},
            "utc: found 'when', expected the key of an attribute of datetimes",
        ),
        ({"edges": EDGES, "utc": [1]}, "utc: found int64 [1], expected strings, 1-d"),
        (
            {"edges": EDGES, "edge.name": np.array([65, 2**30], dtype=np.uint32).view("U1")},
            "edge_attributes['name']: expected characters up to 0x10ffff, found 0x40000000",
        ),
        (
            {"edges": EDGES, "vertex_labels": np.array([65, 66, 2**30], dtype=np.uint32).view("U1")},
            "vertex_labels: expected characters up to 0x10ffff, found 0x40000000",
        ),
        ({"edges": EDGES, "directed": 2}, "directed: found 2, expected one bool"),
        ({"edges": EDGES, "directed": "yes"}, "directed: found <U3 [], expected one bool"),
        ({"edges": EDGES, "directed": [True, False]}, "directed: found bool [2], expected one bool"),
        (
            {"edges": np.array([[0, 1]], dtype=object)},
            "edges: found pickled Python objects, expected a plain array",
        ),
        (
            {"edges": EDGES, "vertex_labels": np.array([1, None, "x"], dtype=object)},
            "vertex_labels: found pickled Python objects, expected a plain array",
        ),
        (
            {"edges": np.zeros((3, 2), dtype=[("a", "i4")])},
            "edges: found [('a', '<i4')] [3, 2], expected integers [m, 2]",
        ),
    ],
)
def test_a_bad_archive_is_refused(tmp_path: Path, arrays: dict[str, Any], expected: str) -> None:
    path = tmp_path / "graph.npz"
    np.savez(path, **arrays)
    assert refusal(path) == expected


@pytest.mark.parametrize("content", [b"", b"hello", npy(EDGES), archive(edges=npy(EDGES))[:-30]])
def test_a_file_that_is_no_zip_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    expected = "found no readable zip archive, expected one: File is not a zip file"
    assert complaint(tmp_path / "graph.npz", content) == expected


@pytest.mark.parametrize(
    ("member", "expected"),
    [
        (b"", "edges: found no NumPy array, expected one: "),
        (b"not an array at all", "edges: found no NumPy array, expected one: "),
        (npy(EDGES)[:40], "edges: found no NumPy array, expected one: "),
        (npy(EDGES)[:-3], "edges: found 29 bytes of data, expected 32 as its header announces"),
        (npy(EDGES) + b"x", "edges: found more bytes of data, expected 32 as its header announces"),
        (
            npy(EDGES).replace(b"(2, 2)", b"(9, 2)"),
            "edges: found 32 bytes of data, expected 144 as its header announces",
        ),
        (
            npy(EDGES).replace(b"(2, 2), }".ljust(23), b"(999999999999999, 2), }"),
            "edges: found 32 bytes of data, expected 15999999999999984 as its header announces",
        ),
        (npy(EDGES).replace(b"(2, 2)", b"(-1,2)"), "edges: found dtype int64 and shape (-1, 2)"),
    ],
)
def test_a_damaged_array_is_refused(tmp_path: Path, member: bytes, expected: str) -> None:
    assert complaint(tmp_path / "graph.npz", archive(edges=member)).startswith(expected)


def test_a_damaged_member_is_found_by_its_checksum(tmp_path: Path) -> None:
    content = bytearray(archive(edges=npy(EDGES)))
    content[content.index(b"\x93NUMPY") + 128] ^= 1
    expected = "edges: the archive is damaged or cut short: Bad CRC-32 for file 'edges.npy'"
    assert complaint(tmp_path / "graph.npz", bytes(content)) == expected


def test_an_archive_compressed_in_another_way_is_refused(tmp_path: Path) -> None:
    content = archive(zipfile.ZIP_BZIP2, edges=npy(EDGES))
    assert (
        complaint(tmp_path / "graph.npz", content)
        == "edges: found zip method 12, expected stored or deflated"
    )
