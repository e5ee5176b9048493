"""Every importer makes the graph that `Graph.from_edges` makes of the same data."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from tests.unit.interop_cases import Plain, contents

pa = pytest.importorskip("pyarrow")

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "i": st.integers(-(2**53), 2**53),
    "f": st.floats(allow_nan=False, allow_infinity=True),
    "b": st.booleans(),
    "s": st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=3),
}
LABELS = {"int": st.sampled_from([-7, 0, 3]), "str": st.sampled_from(["", "a", "b b"])}


@st.composite
def attributes(draw: st.DrawFn, count: int, missing: bool) -> dict[str, list[Any]]:
    names = draw(st.lists(st.sampled_from(list(VALUES)), unique=True, max_size=3))
    return {
        name: draw(
            st.lists(st.none() | VALUES[name] if missing else VALUES[name], min_size=count, max_size=count)
        )
        for name in names
    }


@st.composite
def plain_graphs(draw: st.DrawFn, *, missing: bool = True, numbered: bool = False) -> Plain:
    count = draw(st.integers(1, 6))
    kinds = st.lists(st.integers(-(2**63), 2**63 - 1), unique=True, min_size=count, max_size=count)
    names = st.lists(st.sampled_from(["", "a", "B", "ä", "b b", "0", "zz"]), unique=True, min_size=count)
    ids = list(range(count)) if numbered else draw(kinds | names.map(lambda one: one[:count]))
    end = st.integers(0, count - 1)
    edges = draw(st.lists(st.tuples(end, end), max_size=10))

    def labels(length: int) -> list[Any] | None:
        kind = draw(st.sampled_from([None, "int", "str"]))
        return None if kind is None else draw(st.lists(LABELS[kind], min_size=length, max_size=length))

    return Plain(
        draw(st.booleans()),
        ids,
        edges,
        labels(count),
        labels(len(edges)),
        draw(attributes(count, missing)),
        draw(attributes(len(edges), missing)),
    )


def arrow_table(columns: dict[str, list[Any]], ids: list[Any]) -> Any:
    """Return a table whose columns have types even where they are empty."""
    kind = pa.string() if isinstance(ids[0], str) else pa.int64()
    arrays = {
        name: pa.array(values, type=kind if name in ("src", "dst", "id") else None)
        for name, values in columns.items()
    }
    return pa.table(arrays)


Tables = tuple[Any, Any]


def as_arrow(plain: Plain) -> Tables:
    return arrow_table(plain.edge_table(), plain.ids), arrow_table(plain.vertex_table(), plain.ids)


def as_readers(plain: Plain) -> Tables:
    """Batches of one row each."""
    return tuple(
        pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=1))
        for table in as_arrow(plain)
    )


def as_batches(plain: Plain) -> Tables:
    edges, vertices = as_arrow(plain)
    return (
        edges.combine_chunks().to_batches()[0] if edges.num_rows else edges,
        vertices.combine_chunks().to_batches()[0],
    )


def as_coded(plain: Plain) -> Tables:
    def coded(table: Any) -> Any:
        columns = {}
        for name in table.column_names:
            column = table[name]
            plain_type = pa.types.is_boolean(column.type) or pa.types.is_null(column.type)
            columns[name] = column if plain_type else column.dictionary_encode()
        return pa.table(columns)

    edges, vertices = as_arrow(plain)
    return coded(edges), coded(vertices)


def as_large_strings(plain: Plain) -> Tables:
    def large(table: Any) -> Any:
        fields = [
            field.with_type(pa.large_string()) if pa.types.is_string(field.type) else field
            for field in table.schema
        ]
        return table.cast(pa.schema(fields))

    edges, vertices = as_arrow(plain)
    return large(edges), large(vertices)


def as_string_views(plain: Plain) -> Tables:
    def views(table: Any) -> Any:
        return pa.table(
            {
                name: table[name].cast(pa.string_view())
                if pa.types.is_string(table[name].type)
                else table[name]
                for name in table.column_names
            }
        )

    edges, vertices = as_arrow(plain)
    return views(edges), views(vertices)


def as_lists(plain: Plain) -> Tables:
    return plain.edge_table(), plain.vertex_table()


def as_pandas(plain: Plain) -> Tables:
    pytest.importorskip("pandas")
    edges, vertices = as_arrow(plain)
    return edges.to_pandas(), vertices.to_pandas()


def as_polars(plain: Plain) -> Tables:
    polars = pytest.importorskip("polars")
    edges, vertices = as_arrow(plain)
    return polars.from_arrow(edges), polars.from_arrow(vertices)


@pytest.mark.turns(8)
@pytest.mark.parametrize(
    "convert",
    [
        as_arrow,
        as_readers,
        as_batches,
        as_coded,
        as_large_strings,
        as_string_views,
        as_lists,
        as_pandas,
        as_polars,
    ],
)
@settings(max_examples=40, deadline=None)
@given(plain=plain_graphs())
def test_a_table_makes_the_graph_of_its_rows(convert: Callable[[Plain], Tables], plain: Plain) -> None:
    edges, vertices = convert(plain)
    made = mf.Graph.from_table(edges, vertices=vertices, directed=plain.directed, self_loops="drop")
    assert contents(made) == contents(plain.graph())


@pytest.mark.turns(8)
@settings(max_examples=40, deadline=None)
@given(plain=plain_graphs(missing=False))
def test_structured_arrays_make_the_graph_of_their_rows(plain: Plain) -> None:
    def structured(columns: dict[str, list[Any]]) -> Any:
        arrays = {name: np.array(values) for name, values in columns.items()}
        rows = np.empty(
            len(next(iter(columns.values()))), dtype=[(name, array.dtype) for name, array in arrays.items()]
        )
        for name, array in arrays.items():
            rows[name] = array
        return rows

    if not plain.edges:
        return
    made = mf.Graph.from_table(
        structured(plain.edge_table()),
        vertices=structured(plain.vertex_table()),
        directed=plain.directed,
        self_loops="drop",
    )
    assert contents(made) == contents(plain.graph())


def write_parquet(table: Any, path: Path) -> None:
    import pyarrow.parquet

    pyarrow.parquet.write_table(table, path, row_group_size=3)


def write_feather(table: Any, path: Path) -> None:
    import pyarrow.feather

    pyarrow.feather.write_feather(table, str(path), chunksize=2)


def write_stream(table: Any, path: Path) -> None:
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)


@pytest.mark.turns(8)
@pytest.mark.filterwarnings("ignore:.*left out:motiflux.MotifluxWarning")
@pytest.mark.parametrize(
    ("suffix", "write"), [(".parquet", write_parquet), (".feather", write_feather), (".arrow", write_stream)]
)
@settings(max_examples=40, deadline=None)
@given(plain=plain_graphs())
def test_files_make_the_graph_of_their_rows(
    suffix: str, write: Callable[[Any, Path], None], plain: Plain
) -> None:
    edges, vertices = as_arrow(plain)
    with tempfile.TemporaryDirectory() as folder:
        paths = Path(folder, "edges" + suffix), Path(folder, "vertices" + suffix)
        write(edges, paths[0])
        write(vertices, paths[1])
        made = mf.read_graph(paths[0], vertices=paths[1], directed=plain.directed)
    assert contents(made) == contents(plain.graph())


def networkx_of(plain: Plain) -> Any:
    nx = pytest.importorskip("networkx")
    graph = nx.MultiDiGraph() if plain.directed else nx.MultiGraph()
    graph.add_nodes_from(zip(plain.ids, rows(plain.vertex_table(), "id"), strict=True))
    edges = rows(plain.edge_table(), "src", "dst")
    graph.add_edges_from(zip(plain.sources(), plain.targets(), edges, strict=True))
    return graph


def igraph_of(plain: Plain) -> Any:
    igraph = pytest.importorskip("igraph")
    graph = igraph.Graph(n=len(plain.ids), edges=plain.edges, directed=plain.directed)
    graph.vs["name"] = plain.ids
    for name, values in plain.vertex_table().items():
        if name != "id":
            graph.vs[name] = values
    for name, values in plain.edge_table().items():
        if name not in ("src", "dst"):
            graph.es[name] = values
    return graph


def rows(columns: dict[str, list[Any]], *skip: str) -> list[dict[str, Any]]:
    kept = {name: values for name, values in columns.items() if name not in skip}
    count = len(next(iter(columns.values())))
    return [
        {name: values[row] for name, values in kept.items() if values[row] is not None}
        for row in range(count)
    ]


@pytest.mark.turns(8)
@pytest.mark.parametrize("convert", [networkx_of, igraph_of])
@settings(max_examples=60, deadline=None)
@given(plain=plain_graphs())
def test_graphs_of_other_libraries_make_the_same_graph(convert: Callable[[Plain], Any], plain: Plain) -> None:
    made = mf.as_graph(convert(plain), self_loops="drop")
    assert contents(made) == contents(plain.graph())


@pytest.mark.turns(8)
@settings(max_examples=60, deadline=None)
@given(plain=plain_graphs())
def test_a_graph_comes_back_from_networkx_and_arrow(plain: Plain) -> None:
    pytest.importorskip("networkx")
    graph = plain.graph()
    assert contents(mf.Graph.from_networkx(graph.to_networkx())) == contents(graph)
    edges, vertices = graph.to_arrow()
    again = mf.Graph.from_table(edges, vertices=vertices, directed=graph.directed)
    assert contents(again) == contents(graph)


@pytest.mark.turns(8)
@pytest.mark.parametrize("form", ["coo", "csr", "csc", "lil", "dok", "bsr", "dia"])
@settings(max_examples=30, deadline=None)
@given(plain=plain_graphs(missing=False, numbered=True))
def test_sparse_matrices_make_the_graph_of_their_entries(form: str, plain: Plain) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    pairs = sorted({pair for pair in plain.edges if pair[0] != pair[1]})
    weights = [float(1 + place) for place in range(len(pairs))]
    row, column = [u for u, _ in pairs], [v for _, v in pairs]
    count = len(plain.ids)
    matrix = sparse.coo_array((weights, (row, column)), shape=(count, count)).asformat(form)
    made = mf.Graph.from_scipy(matrix, self_loops="drop")
    if form in ("bsr", "dia"):  # which keep zeros beside the entries
        made = mf.Graph.from_scipy(sparse.csr_array(matrix.toarray()))
    expected = mf.Graph.from_edges(
        pairs,
        directed=True,
        num_vertices=count,
        edge_attributes={} if len(pairs) < 2 else {"weight": weights},
    )
    assert contents(made) == contents(expected)
    assert (mf.Graph.from_scipy(made.to_scipy()).to_scipy() != made.to_scipy()).nnz == 0


class Storage:
    """What PyTorch Geometric keeps of one type of nodes or edges."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def to_dict(self) -> dict[str, Any]:
        return dict(self.__dict__)


class Hetero:
    """Stands in for a HeteroData."""

    def __init__(self, parts: dict[Any, Storage]) -> None:
        self._parts = parts
        self.node_types = [key for key in parts if isinstance(key, str)]
        self.edge_types = [key for key in parts if isinstance(key, tuple)]

    def __getitem__(self, key: Any) -> Storage:
        return self._parts[key]


@pytest.mark.turns(8)
@settings(max_examples=60, deadline=None)
@given(plain=plain_graphs(missing=False, numbered=True))
def test_data_of_pytorch_geometric_makes_the_same_graph(plain: Plain) -> None:
    numbers = {name: np.array(values) for name, values in plain.vertex_attributes.items() if name != "s"}
    of_edges = {
        f"edge_{name}": np.array(values) for name, values in plain.edge_attributes.items() if name != "s"
    }
    ends = np.array(plain.edges, dtype=np.int64).reshape(-1, 2).T
    data = Storage(edge_index=ends, num_nodes=len(plain.ids), x=np.zeros((len(plain.ids), 4)), **numbers)
    data.__dict__.update(of_edges)
    with pytest.warns(mf.MotifluxWarning, match="data: left out x"):
        made = mf.Graph.from_pyg(data, directed=plain.directed, self_loops="drop")
    expected = mf.Graph.from_edges(
        (ends[0], ends[1]),
        directed=plain.directed,
        num_vertices=len(plain.ids),
        vertex_attributes=numbers,
        edge_attributes=of_edges if plain.edges else {},
        self_loops="drop",
    )
    assert contents(made) == contents(expected)


@pytest.mark.turns(8)
@settings(max_examples=60, deadline=None)
@given(plain=plain_graphs(missing=False, numbered=True), people=st.integers(0, 6))
def test_types_of_hetero_data_become_labels(plain: Plain, people: int) -> None:
    people = min(people, len(plain.ids))
    counts = {"person": people, "place": len(plain.ids) - people}

    def local(vertex: int) -> tuple[str, int]:
        return ("person", vertex) if vertex < people else ("place", vertex - people)

    by_type: dict[Any, list[tuple[int, int]]] = {}
    kinds = []
    for number, (source, target) in enumerate(plain.edges):
        (first, u), (second, v) = local(source), local(target)
        relation = "knows" if number % 2 else "likes"
        kinds.append(relation)
        by_type.setdefault((first, relation, second), []).append((u, v))
    parts: dict[Any, Storage] = {kind: Storage(num_nodes=count) for kind, count in counts.items()}
    for kind, pairs in by_type.items():
        parts[kind] = Storage(edge_index=np.array(pairs, dtype=np.int64).T)
    made = mf.Graph.from_pyg(Hetero(parts), self_loops="drop")
    expected = mf.Graph.from_edges(
        plain.edges,
        directed=True,
        num_vertices=len(plain.ids),
        vertex_labels=[local(vertex)[0] for vertex in plain.ids],
        edge_labels=kinds,
        self_loops="drop",
    )
    assert contents(made) == contents(expected)
