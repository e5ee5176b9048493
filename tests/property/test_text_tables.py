"""Tables that other programs write as text are read back as they were."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import motiflux as mf
from tests.slow_readers import Plain, plain, read_delimited

# What Python's csv module writes without quotes keeps its blanks, which ids may not have at their ends.
NAMES = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), min_size=1, max_size=8
).filter(lambda name: name.strip(" \t") == name)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=12)
INTEGERS = st.integers(-(2**63), 2**63 - 1)
FLOATS = st.floats(allow_nan=False, allow_subnormal=False)
VALUES = [INTEGERS, FLOATS, st.booleans(), TEXTS, st.one_of(INTEGERS, FLOATS, st.booleans(), TEXTS)]

Row = tuple[Any, ...]


@st.composite
def tables(draw: st.DrawFn, values: Sequence[st.SearchStrategy[Any]] = VALUES) -> list[Row]:
    """Draw rows (source, target, label, two attributes, None where there is no value)."""
    ids = draw(st.sampled_from([INTEGERS, NAMES]))
    labels = draw(st.sampled_from([st.integers(0, 3), st.sampled_from(["a", "b,c", 'd"', "ü\n"])]))
    columns = [draw(st.sampled_from(values)) for _ in range(2)]
    row = st.tuples(ids, ids, labels, *(st.none() | column for column in columns))
    return draw(st.lists(row.filter(lambda one: one[0] != one[1]), min_size=1, max_size=12))


HEADER = ["src", "dst", "label", "x", "y"]


def read(path: Path, content: bytes, rows: list[Row]) -> Plain:
    """Read a table; names that are integers, or words for missing values, are names here."""
    path.write_bytes(content)
    ids: Any = "integers" if isinstance(as_id(rows[0][0], rows), int) else "names"
    return plain(mf.read_graph(path, directed=True, header=True, ids=ids, missing="keep"))


@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])
@pytest.mark.parametrize(("suffix", "separator"), [(".csv", ","), (".tsv", "\t")])
@given(rows=tables(), ends=st.sampled_from(["\n", "\r\n"]))
def test_what_pythons_csv_module_writes_is_read_back(
    tmp_path_factory: pytest.TempPathFactory,
    quoting: Any,
    suffix: str,
    separator: str,
    rows: list[Row],
    ends: str,
) -> None:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, quoting=quoting, lineterminator=ends)
    writer.writerows([HEADER, *rows])
    content = text.getvalue().encode()
    found = read(tmp_path_factory.getbasetemp() / f"written{suffix}", content, rows)
    assert found == read_delimited(content, separator)
    assert {edge[0] for edge in found.edges} == {as_id(row[0], rows) for row in rows}


def as_id(value: Any, rows: list[Row]) -> Any:
    """Return an id as it is read: an integer where all ids read as one."""
    texts = [str(one) for row in rows for one in row[:2]]
    integers = all(
        text.lstrip("-").isdecimal() and text.isascii() and str(int(text)) == text for text in texts
    )
    fits = integers and all(-(2**63) <= int(text) < 2**63 for text in texts)
    return int(value) if fits else str(value)


PLAIN_VALUES: list[st.SearchStrategy[Any]] = [
    INTEGERS,
    FLOATS.filter(lambda value: not value.is_integer()),  # pyarrow writes 1.0 as 1
    st.booleans(),
    NAMES.map(lambda text: f"t{text}"),
]


def written_by_pyarrow(rows: list[Row]) -> bytes:
    pyarrow = pytest.importorskip("pyarrow")
    pyarrow_csv = pytest.importorskip("pyarrow.csv")
    table = pyarrow.table(
        {name: list(column) for name, column in zip(HEADER, zip(*rows, strict=True), strict=True)}
    )
    sink = io.BytesIO()
    pyarrow_csv.write_csv(table, sink)
    return sink.getvalue()


def written_by_pandas(rows: list[Row]) -> bytes:
    pandas = pytest.importorskip("pandas")
    columns = {name: list(column) for name, column in zip(HEADER, zip(*rows, strict=True), strict=True)}
    frame = pandas.DataFrame({name: pandas.Series(column, dtype=object) for name, column in columns.items()})
    return frame.to_csv(index=False).encode()


@pytest.mark.turns(8)
@pytest.mark.parametrize("write", [written_by_pyarrow, written_by_pandas])
@given(rows=tables(PLAIN_VALUES))
def test_what_other_libraries_write_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, write: Callable[[list[Row]], bytes], rows: list[Row]
) -> None:
    content = write(rows)
    found = read(tmp_path_factory.getbasetemp() / "others.csv", content, rows)
    assert found == read_delimited(content, ",")
    for place, name in ((3, "x"), (4, "y")):
        values = [row[place] for row in rows]
        read_back = [dict(edge[3])[name] for edge in found.edges.elements()]
        assert sorted(map(repr, read_back)) == sorted(map(repr, map(as_value, values)))


def as_value(value: Any) -> Any:
    return None if value is None else (type(value).__name__, value)
