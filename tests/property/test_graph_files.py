"""Graphs that are written and read again are the same, in every format, as far as it goes."""

from __future__ import annotations

import math
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf

DEPTHS = ["default", pytest.param("long", marks=pytest.mark.long)]
WORDS = st.text("ab\u00e9\U0001f600,\"' \t\n;#%", min_size=1, max_size=4).map(lambda text: f"x{text}x")
INTEGERS = st.integers(0, 5) | st.integers(0, 2**62)
ATTRIBUTES: dict[str, st.SearchStrategy[Any]] = {
    "whole": st.integers(-3, 3) | st.integers(-(2**62), 2**62),
    "real": st.floats(allow_nan=False, allow_infinity=False, width=64),
    "flag": st.booleans(),
    "word": WORDS,
}


@dataclass(frozen=True)
class Form:
    """What a format can hold."""

    suffix: str
    ids: tuple[str, ...] = ("numbered", "integers", "words")
    labels: tuple[str, ...] = ("none", "integers", "words")
    attributes: bool = True
    missing: bool = True
    vertices: bool = False
    """Whether vertices take a second file."""

    def __str__(self) -> str:
        return self.suffix


PLAIN = ("none", "integers")
FORMS = [
    Form(".mfg"),
    Form(".npz", missing=False),
    Form(".graph", ids=("numbered", "integers"), labels=PLAIN, attributes=False),
    Form(".graph.gz", ids=("numbered", "integers"), labels=PLAIN, attributes=False),
    Form(".mtx", ids=("from one",), labels=("none",), attributes=False),
    Form(".mtx.gz", ids=("from one",), labels=("none",), attributes=False),
    Form(".parquet", vertices=True),
    Form(".arrow", vertices=True),
    Form(".csv", vertices=True),
    Form(".csv.gz", vertices=True),
    Form(".csv.zst", vertices=True),
    Form(".tsv", vertices=True),
]


@st.composite
def graphs(draw: st.DrawFn, form: Form) -> mf.Graph:
    size = draw(st.integers(2, 6))
    ids_of: dict[str, Callable[[], list[Any]]] = {
        "numbered": lambda: list(range(size)),
        "from one": lambda: list(range(1, size + 1)),
        "integers": lambda: draw(st.lists(INTEGERS, min_size=size, max_size=size, unique=True)),
        "words": lambda: draw(st.lists(WORDS, min_size=size, max_size=size, unique=True)),
    }
    ids = ids_of[draw(st.sampled_from(form.ids))]()
    pairs = [(u, v) for u in ids for v in ids if u != v]
    edges = draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=12))
    labels: dict[str, st.SearchStrategy[Any]] = {"integers": INTEGERS, "words": WORDS}

    def column(values: st.SearchStrategy[Any], length: int) -> list[Any]:
        return draw(st.lists(values, min_size=length, max_size=length))

    def labels_for(length: int) -> list[Any] | None:
        kind = draw(st.sampled_from(form.labels))
        return None if kind == "none" else column(labels[kind], length)

    def attributes_for(length: int) -> dict[str, list[Any]]:
        names = draw(st.lists(st.sampled_from(sorted(ATTRIBUTES)), unique=True)) if form.attributes else []
        found = {}
        for name in names:
            values = column(ATTRIBUTES[name], length)
            if form.missing and length > 1 and draw(st.booleans()):
                values[draw(st.integers(1, length - 1))] = None
            found[name] = values
        return found

    return mf.Graph.from_edges(
        (np.array([u for u, _ in edges]), np.array([v for _, v in edges])),
        directed=draw(st.booleans()),
        vertex_ids=ids,
        vertex_labels=labels_for(size),
        edge_labels=labels_for(len(edges)),
        vertex_attributes=attributes_for(size),
        edge_attributes=attributes_for(len(edges)),
    )


def content(graph: mf.Graph) -> tuple[Any, ...]:
    """All that a graph holds, in plain objects and without an order of edges."""
    listed = graph.to_edges()
    labels = [0] * graph.num_edges if listed.labels is None else listed.labels.tolist()
    edges = []
    for u, v, label, copies in zip(
        listed.src.tolist(), listed.dst.tolist(), labels, listed.multiplicity.tolist(), strict=True
    ):
        ends = (u, v) if graph.directed else tuple(sorted((u, v)))
        edges += [(*ends, label)] * copies
    edge_values = values_of(graph.edge_attributes, len(edges))
    vertex_values = values_of(graph.vertex_attributes, graph.num_vertices)
    labels_of = graph.vertex_labels_by_id()
    vertices = {
        vertex: (labels_of[vertex], values)
        for vertex, values in zip(graph.vertex_ids.tolist(), vertex_values, strict=True)
    }
    rows = sorted(((*edge, values) for edge, values in zip(edges, edge_values, strict=True)), key=repr)
    return graph.directed, vertices, rows


def values_of(table: Any, length: int) -> list[tuple[Any, ...]]:
    columns = []
    for name in sorted(table):
        values = table[name].to_numpy().tolist()
        missing = table[name].missing()
        columns.append([(name, None if gone else one) for one, gone in zip(values, missing, strict=True)])
    return list(zip(*columns, strict=True)) if columns else [()] * length


def known(suffix: str) -> bool:
    """Tell whether there is a reader of that suffix."""
    try:
        mf.read_graph(f"absent{suffix}")
    except mf.FormatError as error:
        return "found suffix" not in str(error)
    return True


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_a_graph_is_read_as_it_was_written(form: Form, depth: str) -> None:
    if not known(form.suffix):
        pytest.skip(f"no reader of {form.suffix}")
    if form.suffix in (".parquet", ".arrow"):
        pytest.importorskip("pyarrow")

    @settings(settings.get_profile(depth))
    @given(graphs(form))
    def holds(graph: mf.Graph) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"graph{form.suffix}")
            second = Path(folder, f"vertices{form.suffix}") if form.vertices else None
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                size = mf.write_graph(graph, path, vertices=second)
            assert size == sum(file.stat().st_size for file in Path(folder).iterdir())
            found = mf.read_graph(path, directed=graph.directed, **({"vertices": second} if second else {}))
            assert content(found) == content(graph)

    holds()


@pytest.mark.parametrize("directed", [False, True])
def test_an_edge_list_keeps_edges_and_labels(tmp_path: Path, directed: bool) -> None:
    graph = mf.Graph.from_edges(
        [(7, 3), (3, 9), (7, 3)], directed=directed, edge_labels=[4, 5, 4], edge_attributes={"x": [1, 2, 3]}
    )
    path = tmp_path / "graph.txt.gz"
    with pytest.warns(
        mf.MotifluxWarning, match=r"left out, the file has no place for: edge attributes \(x\)$"
    ):
        mf.write_graph(graph, path)
    found = mf.read_graph(path, directed=directed)
    assert (content(found)[2], found.num_edge_copies) == (
        [(*row[:3], ()) for row in content(graph)[2]],
        3,
    )


@pytest.mark.parametrize(
    ("directed", "weights", "expected"),
    [
        (False, None, ["%%MatrixMarket matrix coordinate pattern symmetric", "4 4 2", "2 1", "3 2"]),
        (True, [3, 5], ["%%MatrixMarket matrix coordinate integer general", "4 4 2", "1 2 3", "3 2 5"]),
        (
            False,
            [0.5, 5.0],
            ["%%MatrixMarket matrix coordinate real symmetric", "4 4 2", "2 1 0.5", "3 2 5.0"],
        ),
        (True, [1, None], ["%%MatrixMarket matrix coordinate pattern general", "4 4 2", "1 2", "3 2"]),
    ],
)
@pytest.mark.filterwarnings("ignore:.*left out, the file has no place for. edge attributes .weight.")
def test_a_matrix_has_an_entry_for_each_edge(
    tmp_path: Path, directed: bool, weights: list[Any] | None, expected: list[str]
) -> None:
    given: dict[str, Any] = {} if weights is None else {"edge_attributes": {"weight": weights}}
    graph = mf.Graph.from_edges([(0, 1), (2, 1)], directed=directed, num_vertices=4, **given)
    path = tmp_path / "graph.mtx"
    with pytest.warns(
        mf.MotifluxWarning, match="the vertices 0 to 3 are written as 1 to 4, as .mtx numbers them"
    ):
        assert mf.write_graph(graph, path) == path.stat().st_size
    head, size, *entries = path.read_text().splitlines()
    assert [head, size, *sorted(entries)] == expected


def test_tables_have_types_and_nulls(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    graph = mf.Graph.from_edges(
        [("ann", "bob"), ("bob", "cy")],
        directed=True,
        edge_labels=["wire", "cash"],
        edge_attributes={"amount": [1.5, None], "note": [None, "x"], "ok": [True, False]},
        vertex_attributes={"age": [1, None, 3]},
        vertex_ids=["ann", "bob", "cy"],
    )
    mf.write_graph(graph, tmp_path / "edges.parquet", vertices=tmp_path / "vertices.parquet")
    edges = parquet.read_table(tmp_path / "edges.parquet")
    assert edges.schema.metadata[b"motiflux.directed"] == b"true"
    assert edges.to_pylist() == [
        {"src": "ann", "dst": "bob", "label": "wire", "amount": 1.5, "note": None, "ok": True},
        {"src": "bob", "dst": "cy", "label": "cash", "amount": None, "note": "x", "ok": False},
    ]
    vertices = parquet.read_table(tmp_path / "vertices.parquet").to_pylist()
    assert vertices == [{"id": "ann", "age": 1}, {"id": "bob", "age": None}, {"id": "cy", "age": 3}]


def test_text_tables_quote_what_needs_it(tmp_path: Path) -> None:
    graph = mf.Graph.from_edges(
        [("a,b", "c"), ("c", 'd"e')],
        directed=True,
        edge_attributes={"x": [1.0, math.inf], "y": ["", None], "z": ["two\nlines", "t\tt"]},
    )
    mf.write_graph(graph, tmp_path / "edges.csv")
    lines = (tmp_path / "edges.csv").read_text().split("\n", 1)
    assert lines[0] == "src,dst,x,y,z"
    assert sorted(lines[1].splitlines()) == sorted(['"a,b",c,1.0,"","two', 'lines"', 'c,"d""e",inf,,t\tt'])
    mf.write_graph(graph, tmp_path / "edges.tsv")
    assert 'c\t"d""e"\tinf\t\t"t\tt"\n' in (tmp_path / "edges.tsv").read_text()
