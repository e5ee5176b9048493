"""Columns, the common form of all that graphs are made of."""

from __future__ import annotations

import numpy as np
import pytest

import motiflux as mf
from motiflux.interop import Coded, ColumnMapping, GraphColumns, VertexMapping
from tests.unit.graph_cases import edge_counts


def numbers(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def test_columns_make_the_graph_that_from_edges_makes():
    given = {
        "vertex_labels": ["x", "y", "x"],
        "edge_labels": [5, 6],
        "vertex_attributes": {"age": [1, None, 3]},
        "edge_attributes": {"amount": [2.5, 3.5]},
        "directed": True,
    }
    ends = numbers(0, 1), numbers(1, 2)
    one, other = mf.Graph.from_columns(GraphColumns(*ends, **given)), mf.Graph.from_edges(ends, **given)
    assert edge_counts(one) == edge_counts(other)
    assert one.vertex_labels_by_id() == other.vertex_labels_by_id() == {0: "x", 1: "y", 2: "x"}
    assert one.edge_attributes["amount"].to_numpy().tolist() == [2.5, 3.5]


def test_ends_may_be_positions_in_ids_of_any_kind():
    columns = GraphColumns(
        np.array([0, 1], dtype=np.uint32),
        np.array([1, 2], dtype=np.uint32),
        vertex_ids=["cy", "ann", "bob"],
        vertex_labels=[7, 8, 9],
        positions=True,
    )
    graph = mf.Graph.from_columns(columns)
    assert edge_counts(graph) == {("ann", "cy", 0): 1, ("ann", "bob", 0): 1}
    assert graph.vertex_labels_by_id() == {"cy": 7, "ann": 8, "bob": 9}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (GraphColumns(numbers(0), numbers(3), vertex_ids=[5, 6, 7], positions=True), "from 0 to 2, found 3"),
        (GraphColumns(numbers(0), numbers(-1), vertex_ids=[5, 6], positions=True), "from 0 to 1, found -1"),
        (GraphColumns(numbers(0), numbers(1), vertex_ids=[5, 5], positions=True), "each id once, found 5"),
        (GraphColumns(numbers(0), numbers(1), positions=True), "found 0"),
        (GraphColumns(numbers(0), numbers(1, 2)), "as many targets as sources"),
        (GraphColumns(numbers(0), np.array(["a"])), "one kind"),
        (GraphColumns(np.array([0.5]), np.array([1.0])), "integers or strings"),
        (GraphColumns(numbers(1), numbers(0), vertex_ids=["b", "b0"], positions=True), None),
        (GraphColumns(numbers(1), numbers(1), vertex_ids=["b", "c"], positions=True), "found 'c' twice"),
    ],
)
def test_columns_are_checked(columns, message):
    if message is None:
        assert mf.Graph.from_columns(columns).num_edges == 1
        return
    with pytest.raises(mf.GraphError, match=message):
        mf.Graph.from_columns(columns, self_loops="error")


def test_coded_labels_are_those_that_occur_in_their_order():
    labels = Coded(np.array([2, 0, 2], dtype=np.uint32), np.array(["z", "never", "a"]))
    graph = mf.Graph.from_columns(GraphColumns(numbers(0, 1), numbers(1, 2), vertex_labels=labels))
    assert graph.vertex_label_table.values == ("a", "z")
    assert graph.vertex_labels_by_id() == {0: "a", 1: "z", 2: "a"}


def test_a_coded_label_that_is_missing_is_refused_with_its_row():
    missing = np.array([False, True])
    labels = Coded(np.zeros(2, dtype=np.uint32), np.array(["a"]), missing)
    with pytest.raises(mf.GraphError, match="edge_labels, row 1: expected a label, found none"):
        mf.Graph.from_columns(GraphColumns(numbers(0, 1), numbers(1, 2), edge_labels=labels))


@pytest.mark.parametrize(
    ("coded", "expected"),
    [
        (Coded(np.array([1, 0, 1], np.uint32), np.array(["b", "a"])), ["a", "b", "a"]),
        (Coded(np.array([1, 0, 9], np.uint32), np.array([7, 8]), np.array([0, 0, 1], bool)), [8, 7, None]),
        (Coded(np.zeros(3, np.uint32), np.array([], str), np.ones(3, bool)), [None] * 3),
    ],
)
def test_attributes_may_be_coded(coded, expected):
    graph = mf.Graph.from_columns(
        GraphColumns(numbers(0, 1, 2), numbers(1, 2, 3), edge_attributes={"x": coded}, directed=True)
    )
    assert graph.edge_attributes["x"].to_numpy().tolist() == expected


@pytest.mark.parametrize(
    ("said", "names", "ends", "label", "attributes"),
    [
        ({}, ["a", "b"], (0, 1), None, {}),
        ({}, ["w", "SRC", "x", "Dst"], (1, 3), None, {"w": 0, "x": 2}),
        ({}, ["source", "src", "target"], (0, 2), None, {"src": 1}),
        ({}, ["from", "to", "Label", "Timestamp"], (0, 1), 2, {"time": 3}),
        ({"time": "when"}, ["from", "to", "when", "timestamp"], (0, 1), None, {"time": 2, "timestamp": 3}),
        ({"src": "b", "dst": 0}, ["a", "b", "label"], (1, 0), 2, {}),
        ({"label": "a"}, ["a", "b", "label"], (0, 1), 0, {"label": 2}),
        ({"attributes": []}, ["a", "b", "c", "time"], (0, 1), None, {}),
        ({"attributes": ["c", 3]}, ["a", "b", "c", "time", "e"], (0, 1), None, {"c": 2, "time": 3}),
        ({"attributes": [], "time": 2}, ["a", "b", "c"], (0, 1), None, {"time": 2}),
        ({"src": "to"}, ["to", "target"], (0, 1), None, {}),
        ({}, ["txn", "when", "payer", "payee"], (2, 3), None, {"txn": 0, "when": 1}),
        ({}, ["from", "Sender ID", "receiver_id"], (1, 2), None, {"from": 0}),
        ({}, ["source", "payer", "payee", "dst"], (0, 3), None, {"payer": 1, "payee": 2}),
        ({}, ["ts", "id.orig_h", "id.resp_h"], (1, 2), None, {"ts": 0}),
    ],
)
def test_columns_are_found_by_what_is_said_or_by_their_names(said, names, ends, label, attributes):
    chosen = ColumnMapping(**said).choose(names)
    assert (chosen.ends, chosen.label, chosen.attributes) == (ends, label, attributes)


@pytest.mark.parametrize(
    ("said", "names", "guessed"),
    [
        ({}, ["txn", "when", "amount"], True),
        ({}, ["a", "b"], False),
        ({}, ["a", "b", "label", "time"], False),
        ({"attributes": ["c"]}, ["a", "b", "c"], False),
        ({"attributes": []}, ["a", "b", "c"], True),
        ({"src": 0, "dst": 1}, ["a", "b", "c"], False),
        ({}, ["payer", "payee", "c"], False),
        ({}, ["src", "dst", "c"], False),
    ],
)
def test_ends_are_guessed_where_other_columns_might_be_meant(said, names, guessed):
    chosen = ColumnMapping(**said).choose(names)
    assert chosen.end_columns(names).guessed == guessed
    assert chosen.end_columns(None)[:2] == chosen.ends


@pytest.mark.parametrize(
    ("said", "names", "message"),
    [
        (
            {"src": "payer"},
            ["a", "b"],
            r"src: expected one of the columns of x\.csv \('a', 'b'\), found 'pay",
        ),
        ({"dst": 2}, ["a", "b"], r"dst: expected .* found 2"),
        ({"dst": -1}, ["a", "b"], r"dst: expected .* found -1"),
        ({"label": True}, ["a", "b"], "label: expected"),
        ({"attributes": ["c"]}, ["a", "b"], "attributes: expected"),
        ({"attributes": "ab"}, ["a", "b"], "attributes: expected a list"),
        ({"src": "a", "dst": "a"}, ["a", "b"], "dst: expected another column than src"),
        ({"src": "a"}, ["a", "b"], "dst: expected"),
        ({}, ["from", "b"], "dst: expected"),
        ({}, ["a"], "src: expected"),
        ({}, [], r"src: expected .*it has none"),
        ({"src": "a", "dst": "b"}, ["a", "a", "b"], "src: expected a position, as several"),
        ({}, ["a", "b", "c", "c"], "attributes: expected names that differ"),
        ({}, ["a", "b", ""], "attributes: expected columns that have names"),
        ({"time": "t"}, ["a", "b", "t", "time"], "time: expected no other column named 'time'"),
    ],
)
def test_a_column_that_cannot_be_found_is_refused_with_those_there_are(said, names, message):
    with pytest.raises(mf.ArgumentError, match=message):
        ColumnMapping(**said).choose(names, "x.csv")


@pytest.mark.parametrize(
    ("said", "names", "ends", "label", "attributes"),
    [
        ({}, ["name", "kind"], (0,), None, {"kind": 1}),
        ({}, ["label", "Id"], (1,), 0, {}),
        ({"id": "name", "label": "kind"}, ["id", "name", "kind"], (1,), 2, {"id": 0}),
    ],
)
def test_a_table_of_vertices_has_an_id_a_label_and_attributes(said, names, ends, label, attributes):
    chosen = VertexMapping(**said).choose(names)
    assert (chosen.ends, chosen.label, chosen.attributes) == (ends, label, attributes)


def test_a_table_of_vertices_without_columns_is_refused():
    with pytest.raises(mf.ArgumentError, match="vertex_id: expected one of the columns"):
        VertexMapping().choose([])
