"""``.pattern`` and ``.cypher`` files."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import motiflux as mf

TEXT = "MATCH (a:Person)-->(b), // two\n      (b)--(c:人)\n"


def written(tmp_path: Path, name: str, content: bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("name", ["ring.pattern", "ring.cypher", "ring.PATTERN"])
def test_a_file_holds_what_parse_takes(tmp_path: Path, name: str) -> None:
    pattern = mf.read_pattern(written(tmp_path, name, TEXT.encode()))
    assert pattern == mf.Pattern.parse(TEXT, name="ring")


def test_it_may_be_compressed_or_begin_with_a_mark_of_byte_order(tmp_path: Path) -> None:
    expected = mf.Pattern.parse(TEXT, name="ring")
    assert mf.read_pattern(written(tmp_path, "ring.pattern.gz", gzip.compress(TEXT.encode()))) == expected
    assert mf.read_pattern(written(tmp_path, "ring.cypher", TEXT.encode("utf-8-sig"))) == expected


def test_what_prints_is_a_file(tmp_path: Path) -> None:
    pattern = mf.Pattern.from_edges([(0, 1), (1, 2)], vertex_labels=["人", 3, "a b"], name="query")
    assert mf.read_pattern(written(tmp_path, "query.pattern", str(pattern).encode())) == pattern


def test_malformed_text_names_file_line_and_column(tmp_path: Path) -> None:
    path = written(tmp_path, "bad.pattern", b"(a)--(b),\n\t(b)==(c)\n")
    with pytest.raises(mf.PatternSyntaxError) as caught:
        mf.read_pattern(path)
    error = caught.value
    assert (error.path, error.line, error.column) == (str(path), 2, 5)
    assert str(error).startswith(f"{path}, line 2, column 5: expected ")
    assert str(error).endswith("\n  \t(b)==(c)\n  \t   ^")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"(a)--(b)\n\xff(c)", "line 2: expected text in UTF-8, found the byte 0xff"),
        (b"(a)--(b) // " + b"x" * 2**20, ": expected a pattern of at most 1,048,576 bytes, found more"),
    ],
)
def test_what_is_no_text_of_that_size_is_no_pattern(tmp_path: Path, content: bytes, message: str) -> None:
    path = written(tmp_path, "bad.pattern", content)
    with pytest.raises(mf.FormatError) as caught:
        mf.read_pattern(path)
    assert str(caught.value).startswith(str(path))
    assert str(caught.value).endswith(message)


def test_a_data_graph_is_not_read_from_it(tmp_path: Path) -> None:
    with pytest.raises(mf.FormatError, match=r"found suffix '\.pattern', expected a graph in "):
        mf.read_graph(written(tmp_path, "ring.pattern", TEXT.encode()))
