"""Files that do not hold what they should: the error says where, what was found, what was expected."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

import motiflux as mf
from tests.fault.files import complaint, refusal

ID = "an integer from 0 to 9223372036854775807"
NAMES = "; ids='names' takes all ids as names"
DROP = "; missing='drop' leaves out rows without an id"
KNOWN = (
    ".npz, .graph, .mtx, .txt, .edges, .el, .csv, .tsv (or with .gz or .zst after it), "
    ".mfg, .parquet, .arrow, .feather"
)


# Files that cannot be read at all


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    for name in ("none.txt", "none.graph", "none.npz", "none.npz.gz", "none.txt.gz"):
        assert refusal(tmp_path / name) == "cannot be opened: No such file or directory"


def test_a_directory_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "folder.npz"
    folder.mkdir()
    assert refusal(folder) == "found a directory, expected a file"


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "locked.txt"
    path.touch(mode=0o000)
    assert refusal(path) == "cannot be opened: Permission denied"


def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path / "a\0b.txt") == "cannot be opened: embedded null byte"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("graph.ods", "suffix '.ods'"),
        ("graph", "no suffix"),
        ("graph.gz", "suffix '.gz'"),
        ("graph.doc.gz", "suffix '.doc.gz'"),
        (".graph", "no suffix"),
    ],
)
def test_an_unknown_suffix_lists_the_known_ones(tmp_path: Path, name: str, found: str) -> None:
    assert refusal(tmp_path / name) == f"found {found}, expected a graph in {KNOWN}"


def test_a_pattern_of_an_unknown_suffix_lists_the_known_ones(tmp_path: Path) -> None:
    expected = (
        "found suffix '.npz', expected a pattern in .graph, .pattern, .cypher (or with .gz or .zst after it)"
    )
    assert refusal(tmp_path / "query.npz", pattern=True) == expected


# Compression


def test_gzip_cut_short_says_how_far_it_got(tmp_path: Path) -> None:
    packed = gzip.compress(b"1 2\n" * 1000)
    expected = "the gzip data is cut short after 4000 bytes of content"
    assert complaint(tmp_path / "graph.txt.gz", packed[:-1]) == expected
    assert complaint(tmp_path / "graph.txt.gz", packed[:5]) == expected.replace("4000", "0")
    assert complaint(tmp_path / "graph.txt.gz", b"") == expected.replace("4000", "0")


def test_gzip_that_is_not_gzip_is_refused(tmp_path: Path) -> None:
    expected = "the gzip data is corrupt after 0 bytes of content: Error -3 while decompressing data: "
    for name in ("graph.txt.gz", "graph.graph.gz", "graph.npz.gz"):
        assert complaint(tmp_path / name, b"1 2\n") == expected + "incorrect header check"


def test_gzip_with_a_wrong_checksum_is_refused(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(b"1 2\n"))
    packed[-8] ^= 1
    text = complaint(tmp_path / "graph.txt.gz", bytes(packed))
    assert text.startswith("the gzip data is corrupt after")
    assert text.endswith("incorrect data check")


def test_rubbish_after_gzip_is_refused(tmp_path: Path) -> None:
    text = complaint(tmp_path / "graph.txt.gz", gzip.compress(b"1 2\n") + b"rubbish")
    assert text.startswith("the gzip data is corrupt after 4 bytes of content: ")


# Edge lists


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"1 -2\n", f"line 1: target id: found '-2', expected {ID}{NAMES}"),
        (b"1 2\n\n# c\n1.5 2\n", f"line 4: source id: found '1.5', expected {ID}{NAMES}"),
        (b"a 2\n", f"line 1: source id: found 'a', expected {ID}{NAMES}"),
        (b"1 2\r\n1 +2\r\n", f"line 2: target id: found '+2', expected {ID}{NAMES}"),
        (b"1 9223372036854775808\n", f"line 1: target id: found '9223372036854775808', expected {ID}{NAMES}"),
        (b"1 1e3\n", f"line 1: target id: found '1e3', expected {ID}{NAMES}"),
        (b"1 nan\n", f"line 1: target id: found 'nan', expected {ID}{DROP}"),
        (b"1\n1\n", "line 1: found 1 field, expected 'source target' or 'source target label'"),
        (b"1,2\n1,x\n", f"line 2: target id: found 'x', expected {ID}{NAMES}"),
        (b"1,2\n1 3\n", f"line 2: source id: found '1 3', expected {ID}{NAMES}"),
        (b"ann 2\n", f"line 1: source id: found 'ann', expected {ID}{NAMES}"),
        (b"1 2 3 4\n", "line 1: found 4 fields, expected 'source target' or 'source target label'"),
        (b"1 2\n3 4 5\n", "line 2: found 3 fields, expected 2 as on line 1"),
        (b"#\n1 2 3\n3 4\n", "line 3: found 2 fields, expected 3 as on line 2"),
        (b"1 2 0.5\n", f"line 1: edge label: found '0.5', expected {ID}"),
        (b"1 2 -1\n", f"line 1: edge label: found '-1', expected {ID}"),
        (b"1 2\n3", "line 2: found 1 field, expected 2 as on line 1"),
        (b"1 2 # why\n", "line 1: found 4 fields, expected 'source target' or 'source target label'"),
        (b"1 \xff\x00\n", rf"line 1: target id: found '\xff\x00', expected {ID}{NAMES}"),
        (b"1 " + b"9" * 99, f"line 1: target id: found '{'9' * 40}...', expected {ID}{NAMES}"),
        (
            b"\x7fELF" * 300_000,
            "line 1: found a line of more than 1048576 bytes, expected text with short lines",
        ),
    ],
)
def test_a_bad_edge_list_is_refused(tmp_path: Path, content: bytes, expected: str) -> None:
    assert complaint(tmp_path / "graph.txt", content) == expected
    assert complaint(tmp_path / "graph.el.gz", gzip.compress(content)) == expected


def test_the_line_is_right_in_a_later_chunk(tmp_path: Path) -> None:
    content = b"10 20\n" * 1_000_000 + b"10 x\n"
    assert complaint(tmp_path / "graph.txt", content).startswith("line 1000001: target id: found 'x'")


# .graph files

TWO = b"v 0 0\nv 1 0\n"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"x 1 2\n", "line 1: record type: found 'x', expected 't', 'v' or 'e'"),
        (b"vertex 0 1\n", "line 1: record type: found 'vertex', expected 't', 'v' or 'e'"),
        (b"v 0\n", "line 1: record: found 'v 0', expected 'v id label [degree]'"),
        (b"v 0 1 2 3\n", "line 1: record: found 'v 0 1 2 3', expected 'v id label [degree]'"),
        (b"v x 1\n", f"line 1: vertex id: found 'x', expected {ID}"),
        (b"v -1 1\n", f"line 1: vertex id: found '-1', expected {ID}"),
        (b"v 0 -1\n", f"line 1: vertex label: found '-1', expected {ID}"),
        (b"v 0 *\n", f"line 1: vertex label: found '*', expected {ID}"),
        (b"v 0 0.5\n", f"line 1: vertex label: found '0.5', expected {ID}"),
        (b"v 0 1 x\n", f"line 1: degree: found 'x', expected {ID}"),
        (TWO + b"v 1 0\n", "line 3: found vertex 1 a second time, expected each vertex once"),
        (b"v 9 0\nv 5 0\nv 5 0\n", "line 3: found vertex 5 a second time, expected each vertex once"),
        (TWO + b"e 0\n", "line 3: record: found 'e 0', expected 'e source target [label]'"),
        (TWO + b"e 0 1 2 3\n", "line 3: record: found 'e 0 1 2 3', expected 'e source target [label]'"),
        (
            TWO + b"e 0 2\nv 2 0\n",
            "line 3: target id: found '2', expected a vertex that a 'v' line before it declares",
        ),
        (TWO + b"e -1 1\n", f"line 3: source id: found '-1', expected {ID}"),
        (TWO + b"e 0 1 1x\n", f"line 3: edge label: found '1x', expected {ID}"),
        (TWO + b"e 0 1 7\ne 1 0 x\n", f"line 4: edge label: found 'x', expected {ID}"),
        (
            TWO + b"e 0 1\ne 1 0 x\n",
            "line 3: found an edge without a label, expected a name as on line 4",
        ),
        (
            TWO + b"e 0 1 x\ne 1 0\n",
            "line 4: found an edge without a label, expected a name as on line 3",
        ),
        (b"v 0 a\xff\n", r"line 1: vertex label: found 'a\xff', expected text in UTF-8"),
        (b"v 0 a\x00\n", r"line 1: vertex label: found 'a\x00', expected a name without NUL bytes"),
        (TWO + b"e 0 1 -1\n", f"line 3: edge label: found '-1', expected {ID}"),
        (
            b"t # 0\n" + TWO,
            "line 1: header: found 't # 0', expected 't N M' (number of vertices, number of edges)",
        ),
        (
            b"t 2\n" + TWO,
            "line 1: header: found 't 2', expected 't N M' (number of vertices, number of edges)",
        ),
        (
            b"t 2 0 1\n" + TWO,
            "line 1: header: found 't 2 0 1', expected 't N M' (number of vertices, number of edges)",
        ),
        (b"t 2 0\nt 2 0\n", "line 2: found a second 't' line, expected one (the first is line 1)"),
        (TWO + b"t 2 0\n", "line 3: found a 't' line after other records, expected it to be first"),
        (
            b"t 2 1\n" + TWO,
            "line 3: the file ends here: found 2 vertices and 0 edges, expected 2 and 1 as line 1 announces",
        ),
        (
            b"t 2 0\nv 0 0\n",
            "line 2: the file ends here: found 1 vertex and 0 edges, expected 2 and 0 as line 1 announces",
        ),
        (b"t 1 0\n" + TWO, "line 3: found more than 1 'v' lines, the number that line 1 announces"),
        (
            b"t 2 0\n" + TWO + b"e 0 1",
            "line 4: found more than 0 'e' lines, the number that line 1 announces",
        ),
    ],
)
def test_a_bad_graph_file_is_refused(tmp_path: Path, content: bytes, expected: str) -> None:
    assert complaint(tmp_path / "data.graph", content) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"v 0 -2\n", f"line 1: vertex label: found '-2', expected {ID}, or -1 or * for any label"),
        (b"v 0 1\nv 1 any\n", f"line 2: vertex label: found 'any', expected {ID}, or -1 or * for any label"),
        (TWO + b"e 0 1 **\n", f"line 3: edge label: found '**', expected {ID}, or -1 or * for any label"),
        (
            TWO + b"e 0 5\n",
            "line 3: target id: found '5', expected a vertex that a 'v' line before it declares",
        ),
    ],
)
def test_a_bad_pattern_file_is_refused(tmp_path: Path, content: bytes, expected: str) -> None:
    assert complaint(tmp_path / "query.graph", content, pattern=True) == expected


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"v 0 0\n",
        b"v 0 0\nv 1 0\nv 2 0\ne 0 1\n",
        b"v 0 0\nv 1 0\ne 0 1\ne 1 1\n",
        b"".join(b"v %d 0\n" % i for i in range(33)) + b"".join(b"e %d %d\n" % (i, i + 1) for i in range(32)),
    ],
    ids=["empty", "one-vertex", "disconnected", "self-loop", "too-large"],
)
def test_a_graph_that_is_no_pattern_is_refused_by_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "query.graph"
    path.write_bytes(content)
    with pytest.raises(mf.PatternError) as caught:
        mf.read_pattern(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_a_data_graph_given_as_a_pattern_is_refused_by_its_size(tmp_path: Path) -> None:
    path = tmp_path / "query.graph"
    path.write_bytes(b"".join(b"v %d 0\n" % i for i in range(1000)))
    with pytest.raises(mf.PatternError, match="found 1000 vertices, expected a pattern of at most 32"):
        mf.read_pattern(path)
