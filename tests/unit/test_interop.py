"""What importers take, refuse and say of it."""

from __future__ import annotations

import datetime as dt
import importlib
import warnings
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from tests.unit.graph_cases import edge_counts

pa = pytest.importorskip("pyarrow")
NAN = float("nan")


@pytest.mark.parametrize("width", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_ids_of_every_width_are_taken(width):
    table = pa.table({"src": pa.array([1, 2], type=width), "dst": pa.array([2, 3], type=width)})
    graph = mf.Graph.from_table(table)
    assert edge_counts(graph) == {(1, 2, 0): 1, (2, 3, 0): 1}
    assert graph.vertex_ids.dtype == np.int64


def test_ids_may_be_wide_in_one_batch_only():
    batches = [
        pa.record_batch({"src": [values], "dst": [7]}) for values in (5, -5, 2**40, 2**63 - 1, -(2**63))
    ]
    graph = mf.Graph.from_table(pa.Table.from_batches(batches))
    assert sorted(graph.vertex_ids.tolist()) == [-(2**63), -5, 5, 7, 2**40, 2**63 - 1]


def test_names_that_a_dictionary_holds_and_no_row_has_are_no_vertices():
    source = pa.DictionaryArray.from_arrays([2, 0], ["b", "never", "a"])
    graph = mf.Graph.from_table({"src": source, "dst": pa.array(["b", "c"]), "label": source})
    assert edge_counts(graph) == {("a", "b", "a"): 1, ("b", "c", "b"): 1}
    assert sorted(graph.vertex_ids.tolist()) == ["a", "b", "c"]


def test_dictionaries_of_views_are_names():
    polars = pytest.importorskip("polars")
    coded = polars.Series(["a", "b"], dtype=polars.Categorical)
    frame = polars.DataFrame({"src": coded, "dst": ["b", "c"]})
    graph = mf.Graph.from_table(frame, directed=True)
    assert sorted(graph.vertex_ids.tolist()) == ["a", "b", "c"]
    assert graph.num_edges == 2


@pytest.mark.parametrize("column", ["src", "label"])
def test_one_name_too_long_for_all_to_be_as_wide_is_refused(column):
    table = {"src": range(70_000), "dst": range(1, 70_001), "label": ["x"] * 70_000}
    table[column] = pa.array([f"n{row}" for row in range(69_999)] + ["x" * 4_000])
    if column == "src":
        table["dst"] = pa.array(["z"] * 70_000)
    with pytest.raises(mf.GraphError, match="one has 4000 characters, 'xxx"):
        mf.Graph.from_table(table)


def test_strings_that_are_no_characters_are_refused_beside_those_of_arrow():
    with pytest.raises(mf.GraphError, match="column 'src': expected strings of characters"):
        mf.Graph.from_table({"src": np.array(["\ud800"]), "dst": pa.array(["a"])})


@pytest.mark.parametrize("column", ["src", "label"])
def test_bytes_that_are_no_text_are_refused_in_strings_of_arrow(column):
    buffers = [None, pa.py_buffer(np.array([0, 1, 3], dtype=np.int32)), pa.py_buffer(b"a\xff\xfe")]
    damaged = pa.Array.from_buffers(pa.string(), 2, buffers)
    table = {"src": pa.array(["x", "y"]), "dst": pa.array(["u", "v"]), column: damaged}
    with pytest.raises(mf.GraphError, match=r"found the name b'\\xff\\xfe', expected text in UTF-8"):
        mf.Graph.from_table(table)


def test_strings_of_several_libraries_are_the_same_names():
    sliced = pa.array(["x", "a", "ä", "b"])[1:]
    for target in (np.array(["b", "a", "ä"]), ["b", "a", "ä"], pa.array(["b", "a", "ä"]).dictionary_encode()):
        graph = mf.Graph.from_table({"src": sliced, "dst": target}, directed=True, self_loops="drop")
        assert edge_counts(graph) == {("a", "b", 0): 1, ("ä", "a", 0): 1, ("b", "ä", 0): 1}


@pytest.mark.parametrize(
    ("values", "expected", "kind"),
    [
        (pa.array([1, None], pa.time32("s")), [1, None], "times of day were read as integers, in seconds"),
        (pa.array([1, None], pa.time64("ns")), [1, None], "times .*, in nanoseconds"),
        (pa.array([-1, None], pa.duration("us")), [-1, None], "durations .*, in microseconds"),
        (np.array([5, -5], dtype="timedelta64[s]"), [5, -5], "durations .*, in seconds"),
        (np.array([5, "NaT"], dtype="timedelta64[D]"), [5, None], "durations .*, in days"),
        ([dt.timedelta(seconds=1), None], [10**6, None], "durations .*, in microseconds"),
        ([np.timedelta64(5000, "ns"), np.timedelta64(1, "s")], [5, 10**6], "durations .*, in microseconds"),
        ([dt.time(0, 1, 0, 5), None], [60 * 10**6 + 5, None], "times of day .*, in microseconds"),
    ],
)
def test_durations_and_times_of_day_become_integers_of_a_unit_that_a_note_names(values, expected, kind):
    table = {"src": [0, 1], "dst": [1, 2], "when": values}
    edges = [(0, 1), (1, 2)]
    with pytest.warns(mf.MotifluxWarning, match=rf"^edge_attributes\['time'\]: {kind}$"):
        graph = mf.Graph.from_table(table, directed=True, time="when")
    assert graph.edge_attributes["time"].to_list() == expected
    with pytest.warns(mf.MotifluxWarning, match=rf"^edge_attributes\['when'\]: {kind}$"):
        graph = mf.Graph.from_edges(edges, directed=True, edge_attributes={"when": values})
    assert graph.edge_attributes["when"].to_list() == expected


def test_durations_of_pandas_become_integers():
    values = pytest.importorskip("pandas").to_timedelta(["1s", None]).as_unit("ms")
    with pytest.warns(mf.MotifluxWarning, match="durations were read as integers, in milliseconds"):
        graph = mf.Graph.from_edges([(0, 1), (1, 2)], directed=True, edge_attributes={"took": values})
    assert graph.edge_attributes["took"].to_list() == [1000, None]


def test_values_that_cannot_be_attributes_are_named_once():
    values = pytest.importorskip("pandas").period_range("2024-01", periods=1, freq="M")
    with pytest.raises(mf.GraphError, match=r"all of one kind, found Period\('2024-01', 'M'\)$") as caught:
        mf.Graph.from_edges([(0, 1)], edge_attributes={"when": values})
    assert str(caught.value).count("expected") == 1


def test_durations_of_networkx_become_integers():
    given = pytest.importorskip("networkx").Graph()
    given.add_edge(0, 1, took=dt.timedelta(seconds=1))
    given.add_edge(1, 2, took=np.timedelta64(2, "s"))
    with pytest.warns(mf.MotifluxWarning, match="'took'.*: durations were read as integers, in microseconds"):
        graph = mf.Graph.from_networkx(given)
    assert graph.edge_attributes["took"].to_list() == [10**6, 2 * 10**6]


with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # NumPy 2.5 and later warn
    _WITHOUT_UNIT = np.array([1], "m8")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([np.timedelta64(1, "ns")], "row 0: expected durations, in whole microseconds of 64 bits, found"),
        ([dt.timedelta.max], "row 0: expected durations, in whole microseconds of 64 bits, found"),
        ([dt.time(1, tzinfo=dt.UTC)], "row 0: expected times of day without a time zone, in whole"),
        (_WITHOUT_UNIT, r"expected durations in a unit such as timedelta64\[s\], found timedelta64"),
        (np.array([1], "m8[10s]"), r"expected durations in a unit .* found timedelta64\[10s\]"),
    ],
)
def test_durations_that_are_no_integers_of_a_unit_are_refused(values, said):
    with pytest.raises(mf.GraphError, match=rf"^edge_attributes\['took'\](, |: ){said}"):
        mf.Graph.from_edges([(0, 1)], edge_attributes={"took": values})


def test_durations_are_no_labels():
    table = {"src": [0], "dst": [1], "label": np.array([1], "m8[s]")}
    with pytest.raises(mf.GraphError, match="column 'label', row 0: expected a label"):
        mf.Graph.from_table(table)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (pa.array([1, None, 3]), "column 'src', row 1: expected an id, an integer or a string, found none"),
        (pa.array([1, 2, None], pa.int8()), "row 2: .* found none"),
        (pa.array(["a", None, "c"]), "row 1: .* found none"),
        (pa.array(["a", None, "c"]).dictionary_encode(), "row 1: .* found none"),
        (pa.DictionaryArray.from_arrays([0, 1, 0], pa.array(["a", None])), "row 1: .* found none"),
        (pa.array([1.0, NAN, 3.0]), "row 1: .* found nan"),
        (pa.array([1.5, 2.5, 3.5]), r"row 0: .* found 1\.5$"),
        (pa.array([1.0, 2.5, 3.0]), r"row 1: .* found 2\.5$"),
        (
            pa.array([1.0, 2.0, 3.0]),
            r"row 0: .* found 1\.0; missing='drop' .* floats without a fraction",
        ),
        (
            np.array([1.0, 2.0, 3.0]),
            r"row 0: .* found 1\.0; missing='drop' .* floats without a fraction",
        ),
        ([1, 2.0, 3], r"row 1: .* found 2\.0; missing='drop' takes floats without a fraction as integers"),
        ([1, 2.0, 3.5], r"row 2: .* found 3\.5$"),
        (pa.array([True, False, True]), "row 0: .* found True"),
        (pa.nulls(3), "row 0: .* found none"),
        (np.array([1.0, 2.0, NAN]), "row 2: .* found nan"),
        (np.array([1.5, 2.0, 3.0]), "row 0: .* found 1.5"),
        (np.array([True, False, True]), "row 0: .* found True"),
        (np.ma.MaskedArray([1, 2, 3], [0, 0, 1]), "row 2: .* found none"),
        (["a", "b", None], "row 2: .* found none"),
        (["a", NAN, "c"], "row 1: .* found nan"),
        ([1, "b", 3], "row 1: expected integers as before, found 'b'"),
        (["a", 2, "c"], "row 1: expected strings as before, found 2"),
        ([1, True, 3], "row 1: .* found True"),
        ([1, 2**63, 3], "row 1: expected integers of 64 bits, found 9223372036854775808"),
        (np.array([1, 2**63, 3], dtype=np.uint64), r"below 2\*\*63, found 9223372036854775808"),
        (["a", "b", "c"], "expected ids of one kind, found integers and strings"),
        ([1, 2], "expected columns of one length"),
        (np.zeros((3, 2), dtype=int), r"expected an array of shape \[m\], found \[3, 2\]"),
        ("abc", "expected an array, found 'abc'"),
    ],
)
def test_what_is_no_id_is_refused_with_its_column_and_row(source, message):
    with pytest.raises(mf.GraphError, match=message):
        mf.Graph.from_table({"src": source, "dst": [5, 6, 7]})


@pytest.mark.parametrize(
    "source",
    [
        pa.array(["a", "nan", "b", None]),
        pa.array(["a", "NULL", "b", None]).dictionary_encode(),
        ["a", None, "b", "N/A"],
        np.array(["a", "nan", "b", "NaN"]),
        np.array(["a", None, "b", NAN], dtype=object),
    ],
)
def test_rows_without_an_id_are_refused_or_left_out_and_counted(source):
    table = {"src": source, "dst": ["x", "y", "z", "w"], "label": [1, None, 2, None], "cost": [1, 2, 3, 4]}
    with pytest.raises(mf.GraphError, match=r"column 'src', row [13]: .*; missing='drop'"):
        mf.Graph.from_table(table)
    with pytest.warns(
        mf.MotifluxWarning, match="^graph: 2 rows were left out, as an id is missing$"
    ) as notes:
        graph = mf.Graph.from_table(table, missing="drop", directed=True)
    assert notes[0].filename == __file__
    assert edge_counts(graph) == {("a", "x", 1): 1, ("b", "z", 2): 1}
    assert graph.edge_attributes["cost"].to_numpy().tolist() == [1, 3]


@pytest.mark.parametrize(
    "source",
    [
        pa.array([1, None, 3]),
        pa.array([1.0, None, 3.0]),
        np.array([1.0, NAN, 3.0]),
        [1.0, None, 3],
        np.ma.MaskedArray([1, 2, 3], [0, 1, 0]),
    ],
)
def test_floats_beside_missing_ids_are_integers_again(source):
    with pytest.warns(mf.MotifluxWarning, match="1 row was left out"):
        graph = mf.Graph.from_table({"src": source, "dst": [5, 6, 7]}, missing="drop")
    assert sorted(graph.vertex_ids.tolist()) == [1, 3, 5, 7]


def test_errors_name_the_row_of_the_table_though_rows_were_left_out():
    batches = [pa.record_batch({"src": [1, None, value], "dst": [7, 8, 9]}) for value in (4, 5)]
    table = pa.Table.from_batches(batches)
    with pytest.warns(mf.MotifluxWarning, match="2 rows were left out"):
        assert mf.Graph.from_table(table, missing="drop").num_edge_copies == 4
    with pytest.raises(mf.GraphError, match=r"row 2: .* found 'x'"):
        mf.Graph.from_table({"src": [1, None, "x"], "dst": [1, 2, 3]}, missing="drop")
    with pytest.raises(mf.GraphError, match=r"column 'label', row 2: expected a label"):
        mf.Graph.from_table(
            {"src": [1, None, 3], "dst": [1, 2, 4], "label": ["x", "y", None]}, missing="drop"
        )


def test_words_for_missing_values_are_names_where_they_are_kept():
    table = {"src": ["NA", "ZA"], "dst": ["ZA", "nan"]}
    assert mf.Graph.from_table(table, missing="keep").num_edges == 2
    with pytest.raises(
        mf.GraphError, match=r"row 0: expected an id, .* found 'NA'; .* missing='keep' takes the word"
    ):
        mf.Graph.from_table(table)
    with pytest.raises(mf.ArgumentError, match="missing: expected one of"):
        mf.Graph.from_table(table, missing="skip")  # type: ignore[arg-type]


def test_columns_that_are_guessed_are_named_with_how_to_say_others():
    table = {"txn": ["t1"], "when": ["monday"], "amount": [3]}
    with pytest.warns(mf.MotifluxWarning, match="edges taken from columns 'txn' and 'when'; src= and dst="):
        graph = mf.Graph.from_table(table)
    assert repr(graph) == "Graph(2 vertices, 1 edge, undirected, edges taken from columns 'txn' and 'when')"
    assert mf.Graph.from_table({**table, "sender": ["a"], "receiver": ["b"]}).vertex_ids.tolist() == [
        "a",
        "b",
    ]
    with pytest.raises(mf.GraphError, match=r"column 'txn', row 0: .* found 0.5; src= and dst= name other"):
        mf.Graph.from_table({"txn": [0.5], "when": ["monday"], "amount": [3]})


def test_rows_are_counted_over_batches():
    batches = [pa.record_batch({"src": pa.array([1, last]), "dst": [2, 3]}) for last in (5, 6, None)]
    with pytest.raises(mf.GraphError, match=r"column 'src', row 5: .* found none"):
        mf.Graph.from_table(pa.Table.from_batches(batches))


@pytest.mark.parametrize(
    ("label", "message"),
    [
        (
            pa.array(["x", None]),
            "column 'label', row 1: expected a label, an integer or a string, found none",
        ),
        (pa.array([1, None]), "row 1: .* found none"),
        (pa.array([1.5, 2.5]), "row 0: .* found 1.5"),
        (["x", None], "row 1: .* found none"),
        (np.array([1.0, NAN]), "row 1: .* found nan"),
        (["x", 2], "all integers or all strings, found 2"),
    ],
)
def test_what_is_no_label_is_refused_with_its_row(label, message):
    with pytest.raises(mf.GraphError, match=message):
        mf.Graph.from_table({"src": [1, 2], "dst": [2, 3], "label": label})


def test_a_vertex_that_is_not_listed_is_refused():
    vertices = {"id": ["a", "b"], "label": [1, 2]}
    with pytest.raises(
        mf.GraphError, match="edges, row 1: expected an id that the table of vertices lists, "
    ):
        mf.Graph.from_table(pa.table({"src": ["a", "b"], "dst": ["b", "zz"]}), vertices=vertices)
    with pytest.raises(mf.GraphError, match="one kind"):
        mf.Graph.from_table(pa.table({"src": ["a"], "dst": ["b"]}), vertices={"id": [1, 2]})


def test_columns_of_vertices_need_a_table_of_vertices():
    with pytest.raises(mf.ArgumentError, match="vertex_label: expected a table of vertices beside it"):
        mf.Graph.from_table({"src": [1], "dst": [2]}, vertex_label="kind")


@pytest.mark.parametrize("table", [7, "edges.csv", np.zeros((2, 2)), [1, 2]])
def test_what_is_no_table_is_refused(table):
    with pytest.raises(mf.GraphError, match="table: expected a table"):
        mf.Graph.from_table(table)


def test_an_arrow_array_alone_is_no_table():
    with pytest.raises(mf.GraphError, match="expected a table"):
        mf.Graph.from_table(pa.array([1, 2]))


@pytest.mark.parametrize("kind", ["Graph", "DiGraph", "MultiGraph", "MultiDiGraph"])
def test_networkx_gives_its_direction_and_its_copies(kind):
    nx = pytest.importorskip("networkx")
    graph = getattr(nx, kind)([(1, 2), (2, 1), (2, 3)])
    made = mf.Graph.from_networkx(graph)
    assert made.directed == ("Di" in kind)
    assert made.num_edge_copies == graph.number_of_edges()


def test_labels_that_some_nodes_lack_are_refused_or_given():
    nx = pytest.importorskip("networkx")
    graph = nx.Graph()
    graph.add_node("a", label="x")
    graph.add_edge("a", "b")
    with pytest.raises(mf.GraphError, match=r"node 'b': expected a label in 'label', as node 'a' has one"):
        mf.Graph.from_networkx(graph)
    given = mf.Graph.from_networkx(graph, default_vertex_label="y").vertex_labels_by_id()
    assert given == {"a": "x", "b": "y"}
    assert mf.Graph.from_networkx(graph, vertex_label=None).vertex_attributes["label"].to_numpy().tolist()


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["x", 2], "node 1: expected as label a string as of node 0, found 2"),
        ([1, "y"], "node 1: expected as label an integer as of node 0, found 'y'"),
        ([1, 2.5], "node 1: expected as label an integer or a string, found 2.5"),
        ([1, True], "node 1: expected as label an integer or a string, found True"),
        ([("x",), "y"], "node 0: expected as label an integer or a string, found .'x',."),
    ],
)
def test_labels_of_several_kinds_are_refused_with_the_node(labels, message):
    nx = pytest.importorskip("networkx")
    graph = nx.Graph([(0, 1)])
    nx.set_node_attributes(graph, dict(enumerate(labels)), "label")
    with pytest.raises(mf.GraphError, match=message):
        mf.Graph.from_networkx(graph)


@pytest.mark.parametrize(
    ("nodes", "ids"),
    [
        ([(0, 0), (0, 1)], ["(0, 0)", "(0, 1)"]),
        ([1, "a"], ["1", "a"]),
        ([1.5, 2.5], ["1.5", "2.5"]),
        ([True, 2], ["True", "2"]),
        ([1, 2**63], ["1", "9223372036854775808"]),
    ],
)
def test_nodes_of_other_types_are_known_by_their_text(nodes, ids):
    nx = pytest.importorskip("networkx")
    graph = mf.Graph.from_networkx(nx.DiGraph([tuple(nodes)]))
    assert edge_counts(graph) == {(ids[0], ids[1], 0): 1}
    igraph = pytest.importorskip("igraph")
    other = igraph.Graph(edges=[(0, 1)], directed=True)
    other.vs["name"] = nodes
    assert edge_counts(mf.Graph.from_igraph(other)) == edge_counts(graph)


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([1, "1"], "node '1': expected names whose texts differ, .* found 1 too; networkx.relabel_nodes"),
        ([1, float("nan")], "node 1: expected a name, found nan"),
    ],
)
def test_nodes_that_have_one_text_or_none_are_refused(nodes, message):
    nx = pytest.importorskip("networkx")
    with pytest.raises(mf.GraphError, match=message):
        mf.Graph.from_networkx(nx.Graph([tuple(nodes)]))


def test_keys_of_parallel_edges_are_an_attribute_unless_they_are_numbers():
    nx = pytest.importorskip("networkx")
    numbered = nx.MultiDiGraph([(1, 2), (1, 2)])
    assert not mf.Graph.from_networkx(numbered).edge_attributes
    keyed = nx.MultiDiGraph()
    keyed.add_edge(1, 2, key="wire")
    keyed.add_edge(1, 2, key="cash")
    graph = mf.Graph.from_networkx(keyed)
    assert graph.edge_attributes["key"].to_numpy().tolist() == ["wire", "cash"]
    query = nx.MultiDiGraph()
    query.add_edge("a", "b", key="wire")
    assert mf.count(graph, mf.Pattern.from_networkx(query)) == 1
    keyed.edges[1, 2, "wire"]["key"] = 7
    with pytest.raises(mf.GraphError, match="edge 1 -> 2: expected no attribute 'key' beside the key 'wire'"):
        mf.Graph.from_networkx(keyed)


def test_attributes_that_cannot_be_columns_are_refused_or_left_out():
    nx = pytest.importorskip("networkx")
    graph = nx.Graph()
    graph.add_node(1, pos=(0, 1), age=np.float64(2.5))
    graph.add_node(2)
    graph.add_edge(1, 2, tags=[])
    with pytest.raises(mf.GraphError, match=r"node 1, attribute 'pos': .*vertex_attributes=\[...\]"):
        mf.Graph.from_networkx(graph)
    made = mf.Graph.from_networkx(graph, vertex_attributes=["age"], edge_attributes=[])
    assert made.vertex_attributes["age"].to_numpy().tolist() == [2.5, None]
    with pytest.raises(mf.ArgumentError, match=r"vertex_attributes: expected names .*'pos', 'age'"):
        mf.Graph.from_networkx(graph, vertex_attributes=["agee"])


def test_igraph_gives_names_or_indexes():
    igraph = pytest.importorskip("igraph")
    graph = igraph.Graph(edges=[(0, 1)], directed=True)
    assert mf.Graph.from_igraph(graph).vertex_ids.tolist() == [0, 1]
    graph.vs["name"] = ["a", "b"]
    assert edge_counts(mf.Graph.from_igraph(graph)) == {("a", "b", 0): 1}
    graph.vs["name"] = ["a", "a"]
    with pytest.raises(mf.GraphError, match="each id once, found 'a' twice"):
        mf.Graph.from_igraph(graph)
    graph.vs["name"] = ["a", None]
    with pytest.raises(mf.GraphError, match="vertex 1: expected a name, found None"):
        mf.Graph.from_igraph(graph)


def test_a_symmetric_matrix_has_each_undirected_edge_once():
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.coo_array(([5, 5, 6, 6], ([0, 1, 1, 2], [1, 0, 2, 1])), shape=(4, 4))
    made = mf.Graph.from_scipy(matrix, directed=False)
    assert (made.num_vertices, made.num_edge_copies) == (4, 2)
    assert made.edge_attributes["weight"].to_numpy().tolist() == [5, 6]
    other = sparse.coo_array(([5, 7, 6], ([0, 1, 1], [1, 0, 2])), shape=(4, 4))
    assert mf.Graph.from_scipy(other, directed=False).num_edge_copies == 3
    assert mf.Graph.from_scipy(matrix).num_edges == 4


def test_matrices_that_are_no_graph_are_refused():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(mf.GraphError, match=r"square one, found shape \[2, 3\]"):
        mf.Graph.from_scipy(sparse.csr_array((2, 3)))
    with pytest.raises(mf.GraphError, match="sparse matrix of scipy, found ndarray"):
        mf.Graph.from_scipy(np.zeros((2, 2)))
    with pytest.raises(mf.GraphError, match="weight"):
        mf.Graph.from_scipy(sparse.coo_array(([1j], ([0], [1])), shape=(2, 2)))


class Data(SimpleNamespace):
    """Stands in for a Data of PyTorch Geometric."""

    def is_undirected(self) -> bool:
        pairs = set(zip(*self.edge_index.tolist(), strict=True))
        return all((v, u) in pairs for u, v in pairs)

    def is_edge_attr(self, name: str) -> bool:
        return name in ("edge_weight", "amount")


def test_undirected_data_has_each_edge_once():
    ends = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])
    data = Data(edge_index=ends, num_nodes=3, amount=np.array([5, 5, 6, 6]), y=np.array([[7], [8], [9]]))
    made = mf.Graph.from_pyg(data, vertex_label="y")
    assert (made.directed, made.num_edge_copies) == (False, 2)
    assert made.edge_attributes["amount"].to_numpy().tolist() == [5, 6]
    assert made.vertex_labels_by_id() == {0: 7, 1: 8, 2: 9}
    assert mf.Graph.from_pyg(data, directed=True).num_edges == 4


def test_data_whose_two_ways_differ_is_directed():
    ends = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])
    data = Data(edge_index=ends, num_nodes=3, edge_weight=np.array([0, 1, 0, 1]))
    made = mf.Graph.from_pyg(data, edge_label="edge_weight")
    assert edge_counts(made) == edge_counts(
        mf.Graph.from_edges(ends.T, edge_labels=[0, 1, 0, 1], directed=True)
    )
    assert mf.Graph.from_pyg(data).directed


def test_features_that_no_array_can_hold_are_left_out():
    class Feature(SimpleNamespace):
        def __array__(self, *_: object) -> None:
            raise TypeError("unsupported ScalarType BFloat16")

    ends = np.array([[0], [1]])
    data = Data(edge_index=ends, num_nodes=2, x=Feature(shape=(2, 8)))
    with pytest.warns(mf.MotifluxWarning, match="data: left out x: ") as notes:
        assert mf.Graph.from_pyg(data).num_edges == 1
    assert notes[0].filename == __file__
    with pytest.raises(mf.GraphError, match="y: the array cannot be taken: unsupported ScalarType"):
        mf.Graph.from_pyg(Data(edge_index=ends, num_nodes=2, y=Feature(shape=(2,))))


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (Data(edge_index=None, num_nodes=3), mf.GraphError, "expected an edge_index, found none"),
        (Data(edge_index=np.zeros((3, 2)), num_nodes=3), mf.GraphError, r"integers \[2, m\], found float64"),
        (Data(edge_index=np.array([[0], [9]]), num_nodes=3), mf.GraphError, "from 0 to 2, found 9"),
        (Data(edge_index=np.eye(2, dtype=int), num_nodes=None), mf.GraphError, "a number, found None"),
        (7, mf.GraphError, "a Data or HeteroData of PyTorch Geometric, found int"),
    ],
)
def test_data_that_is_no_graph_is_refused(data, error, message):
    with pytest.raises(error, match=message):
        mf.Graph.from_pyg(data, directed=True)


def test_attributes_of_data_are_chosen_without_a_note():
    data = Data(
        edge_index=np.array([[0], [1]]),
        num_nodes=2,
        x=np.zeros((2, 3)),
        y=np.array([1, 2]),
        z=np.array([3, 4]),
    )
    graph = mf.Graph.from_pyg(data, vertex_attributes=["z"])
    assert list(graph.vertex_attributes) == ["z"]
    with pytest.raises(mf.ArgumentError, match=r"vertex_attributes: expected a one-dimensional .*'y', 'z'"):
        mf.Graph.from_pyg(data, vertex_attributes=["x"])


def test_a_label_that_data_lack_is_refused():
    data = Data(edge_index=np.array([[0], [1]]), num_nodes=2, x=np.zeros((2, 3)), y=np.array([1, 2]))
    with pytest.raises(mf.ArgumentError, match="vertex_label: expected a one-dimensional attribute"):
        mf.Graph.from_pyg(data, vertex_label="x", vertex_attributes=[])


def test_an_edge_to_another_type_of_hetero_data_is_refused():
    class Hetero(dict[Any, Any]):
        node_types = ["a", "b"]
        edge_types = [("a", "to", "a")]

    data = Hetero(
        {
            "a": SimpleNamespace(num_nodes=2),
            "b": SimpleNamespace(num_nodes=2),
            ("a", "to", "a"): SimpleNamespace(edge_index=np.array([[0], [2]])),
        }
    )
    with pytest.raises(mf.GraphError, match=r"edge_index\[1, 0\]: expected a node from 0 to 1, found 2"):
        mf.Graph.from_pyg(data)


class OnlyDlpack:
    """An array of another library, in host memory."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()


class OnCuda:
    """An array that says it is on a GPU."""

    __cuda_array_interface__ = {"shape": (1, 2), "typestr": "<i8", "data": (4096, True), "version": 3}


def test_arrays_come_through_dlpack():
    array = np.array([[0, 1], [1, 2], [2, 3]])
    assert mf.Graph.from_edges(OnlyDlpack(array)).num_edges == 3
    ends = OnlyDlpack(np.array([0, 1])), OnlyDlpack(np.array([1, 2]))
    assert mf.Graph.from_edges(ends).num_edges == 2


def test_an_array_on_a_gpu_is_refused_where_there_is_none(monkeypatch):
    from motiflux import device

    def absent(name: str) -> None:
        raise mf.DeviceError(f"{name}: no driver")

    monkeypatch.setattr(device, "open_device", absent)
    with pytest.raises(mf.DeviceError, match="cuda"):
        mf.Graph.from_edges(OnCuda())


def test_two_rows_are_sources_and_targets_where_they_cannot_be_edges():
    assert edge_counts(mf.Graph.from_edges(np.array([[0, 1, 2], [1, 2, 3]]))) == {
        (0, 1, 0): 1,
        (1, 2, 0): 1,
        (2, 3, 0): 1,
    }
    assert edge_counts(mf.Graph.from_edges(np.array([[0, 1], [2, 3]]))) == {(0, 1, 0): 1, (2, 3, 0): 1}


def test_as_graph_takes_whatever_is_a_graph(tmp_path):
    path = tmp_path / "g.txt"
    path.write_text("0 1\n1 2\n")
    graph = mf.read_graph(path)
    assert mf.as_graph(graph) is graph
    edges = np.array([[0, 1], [1, 2]])
    for one in (
        str(path),
        path,
        edges,
        edges.tolist(),
        (edges[:, 0], edges[:, 1]),
        {"src": [0, 1], "dst": [1, 2]},
    ):
        assert edge_counts(mf.as_graph(one)) == edge_counts(graph)
    assert edge_counts(mf.as_graph(pa.table({"src": [0, 1], "dst": [1, 2]}))) == edge_counts(graph)
    with pytest.raises(mf.ArgumentError, match="graph: expected a graph, a path"):
        mf.as_graph(7)
    with pytest.raises(mf.ArgumentError, match="options: expected those of"):
        mf.as_graph(edges, colour="red")


def test_a_package_that_is_missing_is_named(monkeypatch):
    graph = mf.Graph.from_edges([(0, 1)])
    missing = {"pyarrow", "networkx", "scipy.sparse"}

    def without(name: str, package: str | None = None) -> Any:
        if name in missing:
            raise ImportError(name)
        return imported(name, package)

    imported = importlib.import_module
    monkeypatch.setattr(importlib, "import_module", without)
    for call, package in (
        (graph.to_arrow, "pyarrow"),
        (graph.to_networkx, "networkx"),
        (graph.to_scipy, "scipy"),
    ):
        with pytest.raises(mf.MotifluxError, match=f"takes the package {package}; install it"):
            call()
    with pytest.raises(mf.MotifluxError, match="takes the package pyarrow"):
        mf.Graph.from_table(pa.table({"a": [1], "b": [2]}))


def test_to_scipy_gives_copies_or_weights():
    pytest.importorskip("scipy.sparse")
    edges = [(0, 2), (0, 2), (2, 1)]
    graph = mf.Graph.from_edges(edges, directed=True, edge_attributes={"w": [0.5, 0.25, 1.0], "s": ["a"] * 3})
    assert graph.to_scipy().toarray().tolist() == [[0, 0, 2], [0, 0, 0], [0, 1, 0]]
    assert graph.to_scipy("w").toarray().tolist() == [[0, 0, 0.75], [0, 0, 0], [0, 1, 0]]
    for weight in ("v", "s"):
        with pytest.raises(mf.GraphError, match="weight: expected"):
            graph.to_scipy(weight)


def test_an_attribute_named_as_a_column_is_not_written_over_it():
    graph = mf.Graph.from_edges([(0, 1)], edge_attributes={"src": [1]})
    with pytest.raises(mf.GraphError, match=r"edge_attributes\['src'\]: expected another name"):
        graph.to_arrow()


def test_what_tables_would_tell_otherwise_is_refused() -> None:
    pytest.importorskip("pyarrow")
    ends = [("a", "b")]
    with pytest.raises(mf.GraphError, match="another name, as labels are read from this"):
        mf.Graph.from_edges(ends, edge_attributes={"label": ["x"]}).to_arrow()
    for graph in (
        mf.Graph.from_edges([("a\ud800", "b")]),
        mf.Graph.from_edges(ends, edge_attributes={"note": ["a\ud800"]}),
    ):
        with pytest.raises(mf.GraphError, match=r"'a\\ud800' has no form in UTF-8"):
            graph.to_arrow()


# Strings and decimals of Arrow


def _kinds_of_strings() -> list[Any]:
    kinds = [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())]
    return [*kinds, pa.string_view()] if hasattr(pa, "string_view") else kinds


@pytest.mark.parametrize("kind", _kinds_of_strings(), ids=str)
def test_strings_of_every_type_and_batch_are_attributes(kind):
    values = [["b", None, "a"], [], [None, None], ["", "b", "\u00e9"]]
    batches = [
        pa.record_batch(
            {
                "src": np.arange(len(one)),
                "dst": np.arange(9, 9 + len(one)),
                "note": pa.array(one, pa.string()).cast(kind),
            }
        )
        for one in values
    ]
    flat = [value for one in values for value in one]
    column = mf.Graph.from_table(pa.Table.from_batches(batches)).edge_attributes["note"]
    assert list(column.strings) == ["", "a", "b", "\u00e9"]
    assert sorted(map(str, column.to_numpy().tolist())) == sorted(map(str, flat))
    given = mf.Graph.from_edges(
        [(0, 1)], vertex_attributes={"x": pa.array(["b", None], pa.string()).cast(kind)}
    )
    assert given.vertex_attributes["x"].to_numpy().tolist() in (["b", None], [None, "b"])


def test_a_dictionary_may_hold_nulls_and_strings_that_do_not_occur():
    coded = pa.DictionaryArray.from_arrays(pa.array([2, 0, None, 1]), pa.array(["y", None, "x", "never"]))
    table = pa.table({"src": [0, 2, 4, 6], "dst": [1, 3, 5, 7], "note": coded})
    column = mf.Graph.from_table(table).edge_attributes["note"]
    assert (list(column.strings), column.to_numpy().tolist()) == (["x", "y"], ["x", "y", None, None])
    with pytest.raises(mf.GraphError, match=r"column 'note', row 2: expected a label, .* found none"):
        mf.Graph.from_table(table, label="note")


def test_decimals_are_integers_or_floats():
    def decimals(values: list[str | None], digits: int, scale: int) -> Any:
        kept = [None if value is None else Decimal(value) for value in values]
        return pa.array(kept, pa.decimal128(digits, scale))

    table = pa.table(
        {
            "src": decimals(["0", "1"], 38, 0),
            "dst": decimals(["1", "2"], 9, 0),
            "whole": decimals(["9223372036854775807", None], 38, 0),
            "amount": decimals(["1.5", "-123456789012.345"], 20, 3),
        }
    )
    graph = mf.Graph.from_table(table)
    found = {name: column.to_numpy().tolist() for name, column in graph.edge_attributes.items()}
    assert found == {"whole": [2**63 - 1, None], "amount": [1.5, -123456789012.345]}
    given = mf.Graph.from_edges([(0, 1)], edge_attributes={"x": decimals(["0.1"], 4, 2)})
    assert given.edge_attributes["x"].to_numpy().tolist() == [0.1]
    large = pa.table({"src": [0, 1], "dst": [1, 2], "x": decimals([None, str(2**63)], 38, 0)})
    with pytest.raises(
        mf.GraphError, match=r"column 'x': .* found 9223372036854775808 in .*; cast the column to floats \(D"
    ):
        mf.Graph.from_table(large)


@pytest.mark.parametrize(
    ("adjacency", "edges"),
    [
        ({"a": ["b", "c"]}, {("a", "b", 0): 1, ("a", "c", 0): 1}),
        ({"a": ["b"], "b": ["c"]}, {("a", "b", 0): 1, ("b", "c", 0): 1}),
        ({"a": {"b"}, "c": {"d"}}, {("a", "b", 0): 1, ("c", "d", 0): 1}),
        ({1: (2, 3), 2: []}, {(1, 2, 0): 1, (1, 3, 0): 1}),
        ({0: np.array([1]), 1: np.array([0, 2])}, {(0, 1, 0): 1, (1, 0, 0): 1, (1, 2, 0): 1}),
        ({"a": {"b": {"label": "x"}}, "b": {}}, {("a", "b", "x"): 1}),
        ({(0, 0): [(0, 1)]}, {("(0, 0)", "(0, 1)", 0): 1}),
    ],
)
def test_a_dict_of_neighbors_is_a_graph(adjacency, edges):
    assert edge_counts(mf.as_graph(adjacency, directed=True)) == edges
    assert edge_counts(mf.Graph.from_adjacency(adjacency, directed=True)) == edges


def test_entries_that_mirror_each_other_are_one_undirected_edge():
    both = {"a": {"b": {"w": 5}, "c": {"w": 1}}, "b": {"a": {"w": 5}}, "c": {"a": {"w": 1}}, "d": {}}
    made = mf.as_graph(both)
    assert (made.num_vertices, made.num_edge_copies) == (4, 2)
    assert sorted(made.edge_attributes["w"].to_numpy().tolist()) == [1, 5]
    both["b"]["a"]["w"] = 6
    assert mf.as_graph(both).num_edge_copies == 4


@pytest.mark.parametrize(
    ("table", "options"),
    [
        ({"payer": ["a", "b"], "payee": ["b", "c"], "amount": [1, 2]}, {}),
        ({"x": ["a", "b"], "y": ["b", "c"]}, {"src": "x", "dst": "y"}),
        ({"x": ["a", "b"], "y": ["b", "c"]}, {"src": 0, "dst": 1}),
    ],
)
def test_a_dict_of_columns_is_a_table(table, options):
    assert edge_counts(mf.as_graph(table, directed=True, **options)) == {("a", "b", 0): 1, ("b", "c", 0): 1}


@pytest.mark.parametrize(
    "thing", [{"x": ["a", "b"], "y": ["b", "c"]}, {"u": ["v"], "v": ["u"]}, {"from": ["to"], "to": ["me"]}]
)
def test_a_dict_that_might_be_a_table_or_hold_neighbors_is_refused(thing):
    with pytest.raises(mf.ArgumentError, match=r"Graph.from_table\(.*src=, dst=\) .* Graph.from_adj"):
        mf.as_graph(thing)
    assert mf.Graph.from_adjacency(thing).num_edges > 0


@pytest.mark.parametrize(
    ("adjacency", "message"),
    [
        ({"a": "bc"}, "adjacency\\['a'\\]: expected a list, a set or an array of neighbours, .* found 'bc'"),
        ({"a": 7}, "adjacency\\['a'\\]: .* found 7"),
        ({"a": [["b"]]}, "found the neighbour \\['b'\\]"),
        ({"a": {"b": 5}}, "adjacency\\['a'\\]\\['b'\\]: expected a dict of attributes, found 5"),
        ([1], "adjacency: expected a dict of neighbours, found list"),
        ({"1": [1]}, "vertex 1: expected names whose texts differ, .* found '1' too"),
    ],
)
def test_what_holds_no_neighbors_is_refused(adjacency, message):
    with pytest.raises(mf.GraphError, match=message):
        mf.Graph.from_adjacency(adjacency)


def test_a_saved_monitor_is_no_graph_and_says_what_to_do(tmp_path):
    with mf.Monitor(mf.Graph.from_edges([(0, 1)]), "(a)--(b)") as monitor:
        for name in ("state.mfg", "state", "state.monitor"):
            monitor.save(tmp_path / name)
            with pytest.raises(mf.FormatError, match=r"found a saved monitor, expected a graph: Monitor"):
                mf.as_graph(str(tmp_path / name))
        with pytest.raises(mf.ArgumentError, match=r"graph: expected .*Monitor.snapshot returns its graph"):
            mf.as_graph(monitor)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (
            {"src": [1, "a"], "dst": [2, 3]},
            "column 'src', row 1: expected .* as the values before, found 'a'",
        ),
        ({"src": [1, 2], "dst": [2, 3], "w": [2, "x"]}, "column 'w', row 1: expected .* found 'x'"),
        (
            {"src": [1, 2, 3, 4], "dst": [2, 3, 4, 5], "w": [None, 2, 2.5, "x"]},
            "column 'w', row 3: .* found 'x'",
        ),
    ],
)
def test_a_column_of_pandas_of_several_types_is_named_with_its_row(columns, said):
    objects = {name: np.array(values, dtype=object) for name, values in columns.items()}
    frame = pytest.importorskip("pandas").DataFrame(objects)
    with pytest.raises(mf.GraphError, match=f"^{said}$"):
        mf.Graph.from_table(frame)


def test_a_value_that_is_no_id_is_shown():
    with pytest.raises(mf.GraphError, match="edges: expected integers or strings, found float64 such as nan"):
        mf.Graph.from_edges([(1, 2), (2, NAN)])
    with pytest.raises(mf.ArgumentError, match=r"graph: expected a dict that has .* found \{\}"):
        mf.as_graph({})


@pytest.mark.parametrize("kind", [float, bool, int, np.uint8, np.float32])
@pytest.mark.parametrize("take", [mf.Graph.from_edges, mf.as_graph])
def test_an_adjacency_matrix_is_no_array_of_edges(kind, take):
    with pytest.raises(
        mf.GraphError, match=r"edges: expected .* \[4, 4\].*; Graph.from_scipy\(.* reads an adj"
    ):
        take(np.eye(4, dtype=kind))


@pytest.mark.parametrize("kind", [float, bool, int])
@pytest.mark.parametrize("columns", [None, list("abc")])
def test_an_adjacency_matrix_is_no_table_of_edges(kind, columns):
    frame = pytest.importorskip("pandas").DataFrame(np.eye(3, dtype=kind), columns=columns)
    for take in (mf.Graph.from_table, mf.as_graph):
        with pytest.raises(mf.GraphError, match=r"3 x 3 zeros and ones; Graph.from_scipy\(.* reads an adj"):
            take(frame)


def test_the_matrix_of_two_vertices_in_a_frame_of_floats_is_refused():
    frame = pytest.importorskip("pandas").DataFrame([[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(mf.GraphError, match="found 2 x 2 zeros and ones"):
        mf.Graph.from_table(frame)


def test_a_square_table_whose_columns_are_known_holds_edges():
    frame = pytest.importorskip("pandas").DataFrame({"src": [0, 1, 0], "dst": [1, 0, 1], "w": [0, 1, 1]})
    assert mf.Graph.from_table(frame, directed=True).num_edges == 2
    frame.columns = ["a", "b", "c"]
    assert mf.Graph.from_table(frame, src="a", dst="b", directed=True).num_edges == 2


def test_what_may_be_a_matrix_and_is_read_as_edges_is_named_in_a_note():
    pairs = np.array([[0, 1], [1, 0]])
    with pytest.warns(
        mf.MotifluxWarning, match="edges: 2 x 2 zeros and ones were read as two edges, one a row"
    ):
        assert mf.Graph.from_edges(pairs, directed=True).num_edges == 2
    with pytest.warns(mf.MotifluxWarning, match="graph: 2 x 2 zeros and ones were read as two edges"):
        assert (
            mf.Graph.from_table(pytest.importorskip("pandas").DataFrame(pairs), directed=True).num_edges == 2
        )
    assert mf.Graph.from_edges([(0, 1), (1, 0)], directed=True).num_edges == 2
    assert mf.Graph.from_edges(np.array([[0, 1], [1, 2]])).num_edges == 2
