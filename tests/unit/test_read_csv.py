"""Tables of edges and of vertices as text (``.csv``, ``.tsv``)."""

from __future__ import annotations

from contextlib import nullcontext
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux import _native
from motiflux._native import TableParser
from motiflux.interop import ColumnMapping
from motiflux.io.files import source
from motiflux.io.text import delimited
from motiflux.io.text.table import TextOptions
from tests.interrupts import ctrl_c_in_native_code
from tests.rotating import in_turn
from tests.slow_readers import Plain, plain, read_delimited

DROP = "; missing='drop' leaves out rows without an id"


def read(tmp_path: Path, content: str | bytes, name: str = "g.csv", **options: Any) -> mf.Graph:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return mf.read_graph(path, **{"directed": True, **options})


def edges_of(graph: mf.Graph) -> list[tuple[object, ...]]:
    """Give the edges, ordered, with their labels if they have any."""
    listed = graph.to_edges()
    columns = [listed.src.tolist(), listed.dst.tolist()]
    if listed.labels is not None:
        columns.append(listed.labels.tolist())
    return sorted(zip(*columns, strict=True))


def attribute(tmp_path: Path, *values: str) -> list[object]:
    """Read a column of values, and give them in order."""
    lines = "".join(f"{row},{row + 1},{value}\n" for row, value in enumerate(values))
    graph = read(tmp_path, f"src,dst,x\n{lines}")
    by_source = dict(
        zip(graph.to_edges().src.tolist(), graph.edge_attributes["x"].to_numpy().tolist(), strict=True)
    )
    return [by_source[row] for row in range(len(values))]


def refusal(tmp_path: Path, content: str | bytes, name: str = "g.csv", **options: Any) -> str:
    with pytest.raises(mf.FormatError) as caught:
        read(tmp_path, content, name, **options)
    return str(caught.value).removeprefix(str(tmp_path / name)).removeprefix(", ").removeprefix(": ")


def test_columns_are_found_by_name(tmp_path: Path) -> None:
    graph = read(tmp_path, "id,To,amount,From,label\n1,20,2.5,10,wire\n2,30,,20,cash\n")
    assert edges_of(graph) == [(10, 20, "wire"), (20, 30, "cash")]
    assert graph.edge_attributes["amount"].to_numpy().tolist() == pytest.approx([2.5, None])
    assert graph.edge_attributes["id"].to_numpy().tolist() == [1, 2]


def test_columns_are_chosen(tmp_path: Path) -> None:
    text = "payer,payee,kind,when,note\nann,bob,wire,17,x\nbob,cy,cash,18,y\n"
    graph = read(tmp_path, text, src="payer", dst="payee", label="kind", time="when", attributes=[])
    assert edges_of(graph) == [("ann", "bob", "wire"), ("bob", "cy", "cash")]
    assert list(graph.edge_attributes) == ["time"]
    assert graph.edge_attributes["time"].to_numpy().dtype == np.int64
    graph = read(tmp_path, text, src=1, dst=0, attributes=["note"])
    assert edges_of(graph) == [("bob", "ann"), ("cy", "bob")]
    assert list(graph.edge_attributes) == ["note"]


@pytest.mark.parametrize(
    ("said", "labels", "attributes"),
    [
        ({"attributes": ["label", "src"]}, [7, 8], {"label": [7, 8], "src": [1, 2]}),
        ({"label": "src", "attributes": []}, [1, 2], {}),
        ({"time": "dst", "attributes": ["dst"]}, [7, 8], {"time": [2, 3], "dst": [2, 3]}),
    ],
)
def test_a_column_may_mean_several_things(
    tmp_path: Path, said: dict[str, Any], labels: list[int], attributes: dict[str, list[int]]
) -> None:
    graph = read(tmp_path, "src,dst,label\n1,2,7\n2,3,8\n", **said)
    assert edges_of(graph) == [(1, 2, labels[0]), (2, 3, labels[1])]
    assert {name: column.data.tolist() for name, column in graph.edge_attributes.items()} == attributes


def test_the_id_of_a_vertex_may_be_its_label(tmp_path: Path) -> None:
    vertices = tmp_path / "people.csv"
    vertices.write_text("id\nann\nbob\n")
    graph = read(tmp_path, "src,dst\nann,bob\n", vertices=vertices, vertex_label="id")
    assert graph.vertex_labels_by_id() == {"ann": "ann", "bob": "bob"}


def test_a_direction_is_true_or_false(tmp_path: Path) -> None:
    with pytest.raises(mf.ArgumentError, match="directed: expected True or False, found 'no'"):
        read(tmp_path, "1,2\n", directed="no")


def test_what_is_not_chosen_is_not_looked_at(tmp_path: Path) -> None:
    content = b'src,dst,remark\n1,2,\xff\n2,3,"a ""b""\n"\n'
    assert edges_of(read(tmp_path, content, attributes=[])) == [(1, 2), (2, 3)]


@pytest.mark.parametrize(
    ("text", "options", "edges"),
    [
        ("1,2\n2,3\n", {}, [(1, 2), (2, 3)]),
        ("src,dst\n1,2\n", {}, [(1, 2)]),
        ("1,2\n2,3\n", {"header": True}, [(2, 3)]),
        ("ann,bob\nbob,cy\n", {"header": True}, [("bob", "cy")]),
        ("ann,bob\nbob,cy\n", {"header": False}, [("ann", "bob"), ("bob", "cy")]),
        ("1,x\n2,y\n", {}, [("1", "x"), ("2", "y")]),
        ("5,src,dst\n7,1,2\n", {}, [(1, 2)]),
        ("7,1,2\n7,2,3\n", {"src": 1, "dst": 2}, [(1, 2), (2, 3)]),
        ("x,1,2\nx,2,3\n", {"src": 1, "dst": 2}, [(1, 2), (2, 3)]),
        ("", {}, []),
        ("\n\n", {}, []),
        ("src,dst\n", {}, []),
        ("\n1,2\n\n\n2,3\n\n", {}, [(1, 2), (2, 3)]),
    ],
)
def test_a_first_line_of_integer_ids_is_data(
    tmp_path: Path, text: str, options: dict[str, Any], edges: list[tuple[object, ...]]
) -> None:
    assert edges_of(read(tmp_path, text, **options)) == edges


@pytest.mark.parametrize(
    "content",
    [
        b"src,dst,x\n1,2,a\n2,3,b\n",
        b"src,dst,x\r\n1,2,a\r\n2,3,b",
        b"\xef\xbb\xbfsrc,dst,x\n1,2,a\n2,3,b\r",
        b'"src","dst","x"\n"1","2","a"\r\n"2","3","b"',
        b" src , dst, x\n 1, 2 ,a\n2,3\t,b\n",
    ],
    ids=["plain", "crlf", "byte-order-mark", "quoted", "blanks"],
)
def test_the_same_table_however_it_is_laid_out(tmp_path: Path, content: bytes) -> None:
    graph = read(tmp_path, content)
    assert edges_of(graph) == [(1, 2), (2, 3)]
    assert sorted(graph.edge_attributes["x"].to_numpy().tolist()) == ["a", "b"]


def test_separators_are_said_or_come_with_the_suffix(tmp_path: Path) -> None:
    assert edges_of(read(tmp_path, "src\tdst\n1,5\t2\n", "g.tsv")) == [("1,5", "2")]
    assert edges_of(read(tmp_path, "a;b\n1;2\n", sep=";")) == [(1, 2)]
    assert edges_of(read(tmp_path, "a  b\n1\t 2\n", sep=" ")) == [(1, 2)]
    for wrong in ("", ";;", "é", '"', "\n", 3):
        with pytest.raises(mf.ArgumentError, match="sep: expected one ASCII character"):
            read(tmp_path, "1,2\n", sep=wrong)
    with pytest.raises(mf.ArgumentError, match="header: expected True, False or None"):
        read(tmp_path, "1,2\n", header="yes")


def test_quotes_hold_separators_line_ends_and_doubled_quotes(tmp_path: Path) -> None:
    graph = read(tmp_path, 'src,dst,x\n"a,b","c""d","1\n2\r\n3"\n"""","a,b",""\n')
    assert edges_of(graph) == [('"', "a,b"), ("a,b", 'c"d')]
    assert sorted(graph.edge_attributes["x"].to_numpy().tolist()) == ["", "1\n2\r\n3"]


# Types


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (["1", "-2", "0"], [1, -2, 0]),
        (["1", "", "9223372036854775807"], [1, None, 2**63 - 1]),
        (["1", "2.5", ""], [1.0, 2.5, None]),
        (["-0", "1e3"], [-0.0, 1000.0]),
        (["true", "", "False"], [True, None, False]),
        (["a", "", '""'], ["a", None, ""]),
        (["1", "", '""', "2"], [1, None, None, 2]),
        (["", '""', "a"], [None, "", "a"]),
        (["", '""'], [None, None]),
        (["1", "x"], ["1", "x"]),
        (["1.50", "x", ""], ["1.50", "x", None]),
        (["True", "x"], ["True", "x"]),
        (["true", "1"], ["true", "1"]),
        (["1", "9223372036854775808"], ["1", "9223372036854775808"]),
        (["9007199254740993", "0.5"], ["9007199254740993", "0.5"]),
        (["0.50", "9007199254740993"], ["0.50", "9007199254740993"]),
        (["0.5", "9007199254740992"], [0.5, 2.0**53]),
        (["1", "007"], ["1", "007"]),
        (["1", "+7"], ["1", "+7"]),
        (["1", "01.5"], ["1", "01.5"]),
        ([" 1", " 2.5 "], [1.0, 2.5]),
        ([" 1", "x "], [" 1", "x "]),
        (["1e999"], ["1e999"]),
        (["inf", "-inf", "1"], [float("inf"), -float("inf"), 1.0]),
        (["2024-05-01", "1"], ["2024-05-01", "1"]),
        (["人", "ü"], ["人", "ü"]),
    ],
)
@pytest.mark.parametrize("filler", [0, 1])
def test_types_are_inferred_and_nothing_is_lost(
    tmp_path: Path, given: list[str], found: list[object], filler: int
) -> None:
    values = attribute(tmp_path, *([""] * filler), *given)
    assert values == [None] * filler + found
    assert [type(value) for value in values] == [type(None)] * filler + [type(value) for value in found]


def test_nan_is_a_missing_float(tmp_path: Path) -> None:
    values = attribute(tmp_path, "1.5", "nan", "NaN", "")
    assert values[0] == 1.5
    assert np.isnan(values[1])  # type: ignore[call-overload]
    assert np.isnan(values[2])  # type: ignore[call-overload]
    assert values[3] is None


def test_ids_are_integers_or_else_strings_as_they_are_written(tmp_path: Path) -> None:
    assert edges_of(read(tmp_path, "src,dst\n1,-2\n")) == [(1, -2)]
    assert edges_of(read(tmp_path, "src,dst\nx,2\n2,1\n")) == [("2", "1"), ("x", "2")]
    assert edges_of(read(tmp_path, "src,dst\n007,1\n1,007\n", ids="names")) == [("007", "1"), ("1", "007")]
    assert edges_of(read(tmp_path, "src,dst\n1,2\n", ids="names")) == [("1", "2")]
    assert edges_of(read(tmp_path, f"src,dst\nx,{2**63}\n")) == [("x", str(2**63))]
    assert edges_of(read(tmp_path, "src,dst\nx,0.5\ny,1.0\n")) == [("x", "0.5"), ("y", "1.0")]


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (
            "src,dst\n1,2\n2,x\n",
            {},
            "line 3: column 'dst': found 'x', expected an integer as on line 2; ids=",
        ),
        ("src,dst\n1,2\n2,007\n", {}, "line 3: column 'dst': found '007', expected an integer as on line 2"),
        ("src,dst\n1,2\n1.0,2\n", {}, "line 3: column 'src': found '1.0', expected an integer as on line 2"),
        (
            f"1,2\n1,{2**63}\n",
            {},
            "line 2: column 'column1': found '9223372036854775808', expected an integer",
        ),
        (
            "src,dst\n1.0,5\n2.0,nan\n",
            {},
            "line 3: column 'dst': found 'nan', expected an integer or a name; ",
        ),
        ("src,dst\nx,5.0\ny,6\n", {}, "line 2: column 'dst': found '5.0', expected an integer, as other ids"),
        (
            "src,dst\nann,bob\nNULL,cy\n",
            {},
            "line 3: column 'src': found 'NULL', expected an integer or a name",
        ),
        ('src,dst,x\nann,bob,"1\n2"\nN/A,cy,\n', {}, "row 1: column 'src': found 'N/A', expected an integer"),
        ("src,dst\nx,2\n", {"ids": "integers"}, "line 2: column 'src': found 'x', expected an integer; ids="),
        (
            "src,dst\n1,2\n2,x\n",
            {"missing": "drop"},
            "line 3: column 'dst': found 'x', expected an integer as",
        ),
        ("src,dst\nnan,2\nx, y\n", {"missing": "drop"}, "line 3: column 'dst': found ' y', expected a name"),
        ("a,b,c\nx,y,z\nnan,y,z\n", {"header": True}, "line 3: column 'a': found 'nan'"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*edges taken from columns:motiflux.MotifluxWarning")
def test_an_id_that_is_none_among_others_is_refused_with_its_row_and_column(
    tmp_path: Path, text: str, options: dict[str, Any], said: str
) -> None:
    found = refusal(tmp_path, text, **options)
    assert found.startswith(said)
    assert ("src= and dst=" in found) == text.startswith("a,b,c")


@pytest.mark.parametrize(
    ("text", "options", "edges"),
    [
        ("src,dst\n1,2\n2,nan\n,3\n3,4\nNULL,1\n", {}, [(1, 2), (3, 4)]),
        ('src,dst\nann,bob\nnan,bob\nbob,cy\n"",x\n', {}, [("ann", "bob"), ("bob", "cy")]),
        ("src,dst,label\n1, 2,x\n2,nan,y\n3,1,z\n", {}, [(1, 2, "x"), (3, 1, "z")]),
        ("src,dst\n1,2\nNA,3\n", {"ids": "names"}, [("1", "2")]),
        ("src,dst\nnan,2\n", {}, []),
    ],
)
@pytest.mark.parametrize("name", ["g.csv", "g.txt"])
def test_rows_without_an_id_are_left_out_and_counted(
    tmp_path: Path, text: str, options: dict[str, Any], edges: list[tuple[object, ...]], name: str
) -> None:
    rows = text.count("\n") - 1
    if name == "g.txt":
        options = {**options, "header": True, "sep": ",", **({"label": "label"} if "label" in text else {})}
    with pytest.warns(
        mf.MotifluxWarning, match=f"{rows - len(edges)} rows? w.* left out, as an id is missing"
    ):
        assert edges_of(read(tmp_path, text, name, missing="drop", **options)) == edges


@pytest.mark.parametrize(
    ("text", "options", "ids"),
    [
        ("payer,payee\nann,bob\nnan,cy\nbob,NULL\n,dan\n", {}, ["ann", "bob"]),
        ("src,dst\n1,2\n3,\n", {"ids": "names"}, ["1", "2"]),
        ("src,dst\n,10\n007,007\n007,0\n", {}, ["0", "007"]),
        ("src,dst\n,x\n1,2\n", {}, [1, 2]),
        ("src,dst\n1.0,2.0\n,3.0\n", {}, [1, 2]),
        ("src,dst\n1,2.0\n3,\n", {}, [1, 2]),
        ("src,dst\n1.0,2.0\n,3.0\n", {"ids": "names"}, ["1.0", "2.0"]),
        ("src,dst\nx,2.0\n,3.0\n", {}, ["2.0", "x"]),
        ("src,dst\nnan,cy\nann,bob\n", {}, ["ann", "bob"]),
        ("src,dst\nnan,cy\n1,2\n", {}, [1, 2]),
        ("src,dst\nNULL,cy\n1,2\n", {}, [1, 2]),
    ],
)
@pytest.mark.filterwarnings("ignore:.*self-loop:motiflux.MotifluxWarning")
def test_the_vertices_are_those_of_the_rows_that_are_kept(
    tmp_path: Path, text: str, options: dict[str, Any], ids: list[object]
) -> None:
    with pytest.warns(mf.MotifluxWarning, match="left out, as an id is missing"):
        graph = read(tmp_path, text, missing="drop", **options)
    assert sorted(graph.vertex_ids.tolist()) == ids


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("ann bob\nnan cy\nbob NULL\n", ["ann", "bob"]),
        ("nan cy\nann bob\n", ["ann", "bob"]),
        ("NULL cy\n1 2\n", [1, 2]),
    ],
)
def test_the_vertices_of_an_edge_list_are_those_of_the_lines_that_are_kept(
    tmp_path: Path, text: str, ids: list[object]
) -> None:
    with pytest.warns(mf.MotifluxWarning, match="left out, as an id is missing"):
        graph = read(tmp_path, text, "g.txt", missing="drop")
    assert sorted(graph.vertex_ids.tolist()) == ids


def test_the_first_row_that_is_kept_decides_whether_ids_are_integers(tmp_path: Path) -> None:
    text = "src,dst\n,x\n1,2\n1,y\n"
    said = "line 4: column 'dst': found 'y', expected an integer as on line 3"
    assert refusal(tmp_path, text, missing="drop").startswith(said)


def test_attributes_of_rows_that_are_left_out_go_with_them(tmp_path: Path) -> None:
    vertices = tmp_path / "v.csv"
    vertices.write_text("id,age\n1,10\nnan,20\n2,30\n")
    with pytest.warns(mf.MotifluxWarning, match=r"left out") as notes:
        graph = read(tmp_path, "src,dst,x\n1,2,5\n,2,6\n2,1,7\n", missing="drop", vertices=vertices)
    assert sorted(graph.edge_attributes["x"].to_numpy().tolist()) == [5, 7]
    assert sorted(graph.vertex_attributes["age"].to_numpy().tolist()) == [10, 30]
    assert [str(one.message).partition(": ")[2] for one in notes] == [
        "1 row was left out, as an id is missing",
        f"vertices: {vertices}: 1 row was left out, as an id is missing",
    ]


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (("5", "7", "in all"), [5, 7]),
        (("1.5", "NULL", "in all"), [None, 1.5]),
        (("2024-03-01", "2024-03-02", "last"), ["2024-03-01", "2024-03-02"]),
        (("2024-03-01", "2024-03-02", "9999-12-31"), ["2024-03-01", "2024-03-02"]),
        (("a", "b", "5"), ["a", "b"]),
        (("", "", "5"), [None, None]),
        (("", "", "in all"), [None, None]),
    ],
)
@pytest.mark.filterwarnings("ignore:.*left out, as an id is missing:motiflux.MotifluxWarning")
def test_a_row_that_is_left_out_does_not_decide_the_type_of_an_attribute(
    tmp_path: Path, cells: tuple[str, str, str], values: list[object]
) -> None:
    first, second, total = cells
    graph = read(tmp_path, f"src,dst,x\n1,2,{first}\n2,3,{second}\n,,{total}\n", missing="drop")
    column = graph.edge_attributes["x"]
    found = column.to_list()
    if column.times is not None:
        found = [str(one.date()) for one in found]
    assert sorted(found, key=str) == sorted(values, key=str)


def test_words_for_missing_values_are_names_where_they_are_kept(tmp_path: Path) -> None:
    text = "src,dst\nNA,ZA\nZA,nan\n"
    assert edges_of(read(tmp_path, text, missing="keep")) == [("NA", "ZA"), ("ZA", "nan")]
    with pytest.raises(
        mf.ArgumentError, match="missing: expected one of 'error', 'drop', 'keep', found 'skip'"
    ):
        read(tmp_path, text, missing="skip")
    with pytest.raises(mf.ArgumentError, match="ids: expected 'integers', 'names' or None, found 'text'"):
        read(tmp_path, text, ids="text")


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (("5", "NULL", "7"), [5, None, 7]),
        (("5.5", "N/A", "7"), [5.5, None, 7.0]),
        (("true", "NA", "false"), [True, None, False]),
        (("9007199254740993", "nan", ""), [2**53 + 1, None, None]),
        (("007", "NULL", "7"), ["007", "NULL", "7"]),
        (("ann", "NULL", "7"), ["ann", "NULL", "7"]),
        (("5.5", "NULL", "7", "much"), ["5.5", "NULL", "7", "much"]),
        (("NULL", "NULL", "null"), ["NULL", "NULL", "null"]),
        (('"1\n2"', "NULL", '"1,2"'), ["1\n2", "NULL", "1,2"]),
    ],
)
def test_words_for_missing_values_are_missing_among_numbers_and_booleans(
    tmp_path: Path, cells: tuple[str, ...], values: list[object]
) -> None:
    assert attribute(tmp_path, *cells) == values


# Columns that nobody named


def test_columns_that_are_guessed_are_named(tmp_path: Path) -> None:
    text = "txn,when,amount\nt1,monday,5\nt2,tuesday,6\n"
    with pytest.warns(mf.MotifluxWarning) as notes:
        graph = read(tmp_path, text)
    (note,) = (str(one.message).removeprefix(f"{tmp_path / 'g.csv'}: ") for one in notes)
    assert note == (
        "edges taken from columns 'txn' and 'when'; src= and dst= say which; "
        "line 1 was taken as the names, header=False reads it as an edge"
    )
    assert {one.filename for one in notes} == {__file__}
    assert repr(graph) == ("Graph(4 vertices, 2 edges, directed, edges taken from columns 'txn' and 'when')")
    assert edges_of(graph) == [("t1", "monday"), ("t2", "tuesday")]
    with pytest.warns(mf.MotifluxWarning, match="edges taken from columns 0 and 1"):
        read(tmp_path, "1,2,3\n2,3,4\n")


def test_columns_whose_names_mean_ends_come_before_the_first_two(tmp_path: Path) -> None:
    graph = read(tmp_path, "txn,when,payer,payee\nt1,monday,ann,bob\n")
    assert edges_of(graph) == [("ann", "bob")]
    assert graph.end_columns == ("payer", "payee", False)
    assert "columns" not in repr(graph)


def test_a_first_line_that_may_be_an_edge_is_spoken_of(tmp_path: Path) -> None:
    with pytest.warns(
        mf.MotifluxWarning, match=r"line 1 with 'ann' and 'bob' was taken as the names of the col"
    ):
        assert edges_of(read(tmp_path, "ann,bob\nbob,cy\n")) == [("bob", "cy")]
    assert edges_of(read(tmp_path, "ann,bob\n1,2\n")) == [(1, 2)]
    with pytest.warns(mf.MotifluxWarning, match=r"line 1 with 'ann' and 'bob' was taken as the names"):
        assert edges_of(read(tmp_path, "ann,bob\n")) == []
    assert edges_of(read(tmp_path, "src,dst\n")) == []
    with pytest.warns(
        mf.MotifluxWarning, match=r"line 1 was read as an edge between 'from' and 'to'; header=True"
    ):
        assert edges_of(read(tmp_path, "from to\nann bob\n", "g.txt")) == [("ann", "bob"), ("from", "to")]


@pytest.mark.parametrize(
    ("name", "text", "separator"),
    [("g.csv", "src;dst\n1;2\n", ";"), ("g.tsv", "src,dst\n1,2\n", ","), ("g.txt", "1|2\n", "|")],
)
def test_another_separator_is_proposed(tmp_path: Path, name: str, text: str, separator: str) -> None:
    assert f"; sep='{separator}' if '{separator}' separates" in refusal(tmp_path, text, name)
    assert read(tmp_path, text, name, sep=separator).num_edges == 1


def test_another_separator_in_ids_is_spoken_of(tmp_path: Path) -> None:
    with pytest.warns(mf.MotifluxWarning, match="ids such as '1;2;0' and '5'; sep=';'") as notes:
        assert read(tmp_path, "1;2;0,5\n2;3;0,7\n").num_edges == 2
    assert len(notes) == 1
    assert read(tmp_path, "1;2;0,5\n2;3;0,7\n", sep=";", attributes=[], src=0, dst=1).num_edges == 2
    assert edges_of(read(tmp_path, "src,dst\na;b,c\n")) == [("a;b", "c")]


def test_a_table_that_is_no_text_has_no_header(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pytest.importorskip("pyarrow").table({"src": [1], "dst": [2]})
    parquet.write_table(table, tmp_path / "g.parquet")
    for argument, value in {"header": True, "sep": ";", "ids": "names"}.items():
        with pytest.raises(
            mf.ArgumentError, match=f"{argument}: expected nothing: columns of .parquet files"
        ):
            mf.read_graph(tmp_path / "g.parquet", **{argument: value})  # type: ignore[arg-type]


# Tables of vertices


def test_a_table_of_vertices_says_which_there_are(tmp_path: Path) -> None:
    vertices = tmp_path / "v.tsv"
    vertices.write_text("id\tlabel\tage\tname\nbob\tman\t30\tBob\nann\twoman\t\tAnn\ndan\tman\t7\t\n")
    graph = read(tmp_path, "src,dst\nann,bob\n", vertices=vertices)
    assert graph.vertex_labels_by_id() == {"ann": "woman", "bob": "man", "dan": "man"}
    place = graph.vertex_index(["ann", "bob", "dan"])
    assert graph.vertex_attributes["age"].to_numpy()[place].tolist() == [None, 30, 7]
    assert graph.vertex_attributes["name"].to_numpy()[place].tolist() == ["Ann", "Bob", None]


def test_vertices_have_integer_ids_too(tmp_path: Path) -> None:
    vertices = tmp_path / "v.csv"
    vertices.write_text("5,7\n6,8\n9,7\n")
    graph = read(tmp_path, "5,6\n", vertices=vertices, vertex_label=1)
    assert graph.vertex_labels_by_id() == {5: 7, 6: 8, 9: 7}


@pytest.mark.parametrize(
    ("vertices", "said"),
    [
        ("id,label\nann,\n", "v.csv, line 2: column 'label': found an empty field"),
        ("id\nann\nann\nbob\n", "v.csv, line 3: expected each id once, found 'ann' twice"),
        ("id\n\nann\nann\nbob\n", "v.csv: row 1: expected each id once, found 'ann' twice"),
        ("id\nann\n", "g.csv, line 2: expected an id that the table of vertices lists, found 'bob'"),
        ("", "g.csv, line 2: expected an id that the table of vertices lists, found 'ann'"),
        ("id,x,x\nann,1,2\n", "v.csv, line 1: "),
        ("id,x\nann\n", "v.csv, line 2: found 1 field, expected 2 as on line 1"),
    ],
)
def test_a_bad_table_of_vertices_is_refused(tmp_path: Path, vertices: str, said: str) -> None:
    path = tmp_path / "v.csv"
    path.write_text(vertices)
    with pytest.raises(mf.FormatError) as caught:
        read(tmp_path, "src,dst\nann,bob\n", vertices=path)
    assert said in str(caught.value)


def test_integer_ids_that_are_not_listed_are_found_in_their_file(tmp_path: Path) -> None:
    vertices = tmp_path / "v.csv"
    vertices.write_text("id\n1\n2\n3\n3\n")
    with pytest.raises(mf.FormatError, match=r"v\.csv, line 5: expected each id once, found 3 twice"):
        read(tmp_path, "1,2\n2,3\n", vertices=vertices)
    vertices.write_text("2\n1\n")
    with pytest.raises(
        mf.FormatError, match=r"g\.csv, line 2: expected an id that the table of vertices lists, found 3"
    ):
        read(tmp_path, "1,2\n2,3\n3,4\n", vertices=vertices)


def test_what_is_wrong_in_vertices_in_memory_is_not_said_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(mf.GraphError, match=r"^the table of vertices, row 1: expected each id once, found 1"):
        read(tmp_path, "1,2\n", vertices={"id": [1, 1, 2]})


def test_the_header_of_vertices_is_their_own(tmp_path: Path) -> None:
    vertices = tmp_path / "v.csv"
    vertices.write_text("id,label\nann,7\nbob,8\n")
    graph = read(tmp_path, "ann,bob\n", vertices=vertices, header=False)
    assert graph.vertex_labels_by_id() == {"ann": 7, "bob": 8}
    vertices.write_text("ann,7\nbob,8\n")
    graph = read(tmp_path, "src,dst\nann,bob\n", vertices=vertices, vertices_header=False, vertex_label=1)
    assert graph.vertex_labels_by_id() == {"ann": 7, "bob": 8}
    with pytest.raises(mf.ArgumentError, match="vertices_header: expected a table of vertices beside it"):
        read(tmp_path, "1,2\n", vertices_header=True)


def test_the_separator_is_that_of_vertices_in_a_file_of_the_same_kind(tmp_path: Path) -> None:
    for name, text in (("v.csv", "id;label\n1;7\n2;8\n"), ("v.tsv", "id\tlabel\n1\t7\n2\t8\n")):
        vertices = tmp_path / name
        vertices.write_text(text)
        graph = read(tmp_path, "1;2\n", vertices=vertices, sep=";")
        assert graph.vertex_labels_by_id() == {1: 7, 2: 8}


# What is refused


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("src,dst\n1,\n", "line 2: column 'dst': found an empty field, expected an integer or a name" + DROP),
        (
            'src,dst\n"",2\n',
            "line 2: column 'src': found an empty field, expected an integer or a name" + DROP,
        ),
        ("src,dst\n1,2\n1\n", "line 3: found 1 field, expected 2 as on line 1"),
        ("\n\nsrc,dst\n1,2,3\n", "line 4: found 3 fields, expected 2 as on line 3"),
        (
            "src,dst,label\n1,2,\n",
            "line 2: column 'label': found an empty field, expected an integer or a name",
        ),
        ('a,b\n1,2\n"3\n4,5\n', "line 3: found a quote that is not closed, expected its end"),
        (
            'a,b,c\n1,2,x"y\n',
            "line 2: field 3: found 'x\"', expected a field in quotes, with each quote in it doubled",
        ),
        ('a,b\n1,"2"3\n', "line 2: field 2: found '3', expected the end of the field after a closing quote"),
        (
            "a,b\nann, bob\n",
            "line 2: column 'b': found ' bob', expected a name without blanks around it, or in quotes",
        ),
        ("a,b\nann,b\0\n", "line 2: column 'b': found 'b\\x00', expected a name without NUL bytes"),
        ("src\n1\n", "line 1: found 1 field separated by ',', expected at least 2"),
        (f"a,b\nx,{'y' * 5000}\n", f"line 2: column 'b': found '{'y' * 40}...', expected at most 4096 bytes"),
        (
            'a,b\n1,"x\n\ny"\nz,\n',
            "line 5: column 'b': found an empty field, expected an integer or a name" + DROP,
        ),
    ],
)
def test_a_bad_table_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    assert refusal(tmp_path, text) == expected


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    said = refusal(tmp_path, b"src,dst,x\n1,2,a\xff\n")
    assert said == r"line 2: column 'x': found 'a\xff', expected text in UTF-8"
    assert refusal(tmp_path, b"src,d\xffst\n1,2\n") == r"line 1: found b'd\xffst', expected text in UTF-8"
    assert refusal(tmp_path, b"src,dst\n\xed\xa0\x80,2\n").endswith("expected text in UTF-8")


def test_an_endless_quote_is_refused_early(tmp_path: Path) -> None:
    content = b'src,dst\n1,"' + b"x,y\n" * 3_000_000
    assert refusal(tmp_path, content) == "line 2: found a quote that is not closed, expected its end"
    content = b'src,dst\n1,a"' + b"x,y\n" * 3_000_000
    assert refusal(tmp_path, content).startswith("line 2: field 2: found 'a\"', expected a field in quotes")


def test_columns_that_are_not_there_are_an_error_of_the_caller(tmp_path: Path) -> None:
    with pytest.raises(mf.ArgumentError, match=r"src: expected one of the columns of .*g\.csv \('a', 'b'\)"):
        read(tmp_path, "a,b\n1,2\n", src="c")
    assert refusal(tmp_path, "a,b,c,c\n1,2,3,4\n").startswith("line 1: ")


# Sizes, threads and interrupts


@cache
def large_table(ends: str) -> tuple[bytes, Plain]:
    """Give a table that is parsed in pieces, whose columns change kinds in later ones, and what is in it."""
    rows = ["src,dst,label,amount,note,flag"]
    for row in range(40_000):
        amount = "" if row % 7 == 0 else f"{row}" if row < 30_000 else f"{row}.5"
        note = '"two\nlines, ""x"""' if row % 11 == 0 else f"note {row % 1000}"
        flag = "" if row < 25_000 else "true" if row % 2 else "FALSE"
        rows.append(f"user{row % 500},{row % 499},kind{row % 5},{amount},{note},{flag}")
    content = (ends.join(rows) + ends).encode()
    return content, read_delimited(content, ",")


@pytest.mark.turns(8)
@pytest.mark.parametrize(("ends", "threads"), in_turn(2, list(product(("\n", "\r\n"), (1, 2, 3)))))
def test_a_large_table_is_the_same_on_any_number_of_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int, ends: str
) -> None:
    monkeypatch.setattr(source, "CHUNK_BYTES", 790_000)
    content, expected = large_table(ends)
    assert len(content) > 1_400_000
    assert plain(read(tmp_path, content, threads=threads)) == expected


def test_an_error_in_a_later_piece_names_its_line(tmp_path: Path) -> None:
    lines = [f"{row},{row + 1},x" for row in range(1, 200_001)]
    lines[150_000 - 1] = "1,,x"
    text = "src,dst,y\n" + "\n".join(lines)
    for threads in (1, 2):
        said = refusal(tmp_path, text, threads=threads)
        assert said == "line 150001: column 'dst': found an empty field, expected an integer or a name" + DROP


@pytest.mark.turns(8)
def test_a_type_that_changes_late_changes_all_of_the_column(tmp_path: Path) -> None:
    lines = [f"{row},{row + 1},{row}.0" for row in range(100_000)]
    for last, first in (("x", "0.0"), ("9007199254740993", "0.0")):
        for threads in (1, 2):
            graph = read(
                tmp_path, "src,dst,y\n" + "\n".join([*lines, f"100000,100001,{last}"]), threads=threads
            )
            values = set(graph.edge_attributes["y"].to_numpy().tolist())
            assert {first, "123.0", last} <= values


@pytest.mark.turns(8)
@pytest.mark.parametrize("call", ["feed", "finish"])
def test_an_interrupt_ends_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    """It is looked for after every mebibyte, and where names are sorted."""
    path = tmp_path / "g.csv"
    rows = ((row * 7919 % 1_000_003, row * 104729 % 1_000_003) for row in range(400_000))
    path.write_text("src,dst\n" + "".join(f"name{u:07},other{v:07}\n" for u, v in rows))
    fed: list[int] = []

    class Parser:
        def __init__(self, *arguments: Any) -> None:
            self._parser = TableParser(*arguments)

        def feed(self, chunk: bytes, start: int, end: int) -> None:
            fed.append(min(end, len(chunk)) - start)
            with ctrl_c_in_native_code() if call == "feed" and len(fed) == 3 else nullcontext():
                self._parser.feed(chunk, start, end)

        def finish(self) -> Any:
            with ctrl_c_in_native_code():
                return self._parser.finish()

    monkeypatch.setattr(_native, "TableParser", Parser)
    with pytest.raises(KeyboardInterrupt):
        delimited.read(path, ColumnMapping(), TextOptions(), threads=1)
    assert max(fed) <= 2**20
    assert len(fed) == 3 if call == "feed" else sum(fed) > 9_000_000
