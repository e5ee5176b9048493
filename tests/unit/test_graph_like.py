"""Calls take graphs and patterns as people have them, and never an answer of yesterday."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.io import anything

EDGES = [(0, 1), (1, 2), (2, 0), (2, 3)]
TRIANGLE = "(a)--(b)--(c)--(a)"


def _networkx(_: Path) -> Any:
    return pytest.importorskip("networkx").Graph(EDGES)


def _igraph(_: Path) -> Any:
    return pytest.importorskip("igraph").Graph(EDGES)


def _scipy(_: Path) -> Any:
    sources, targets = zip(*EDGES, *[(v, u) for u, v in EDGES], strict=True)
    return pytest.importorskip("scipy.sparse").csr_array((np.ones(8), (sources, targets)), shape=(4, 4))


def _pyg(_: Path) -> Any:
    ends = np.array([*EDGES, *[(v, u) for u, v in EDGES]]).T
    return SimpleNamespace(edge_index=ends, num_nodes=4, is_undirected=lambda: True)


def _arrow(_: Path) -> Any:
    sources, targets = zip(*EDGES, strict=True)
    return pytest.importorskip("pyarrow").table({"src": sources, "dst": targets})


def _pandas(_: Path) -> Any:
    pytest.importorskip("pyarrow")
    return pytest.importorskip("pandas").DataFrame(EDGES, columns=["from", "to"])


def _path(folder: Path) -> Any:
    path = folder / "g.txt"
    path.write_text("".join(f"{u} {v}\n" for u, v in EDGES))
    return path


def _text(folder: Path) -> Any:
    return str(_path(folder))


def _neighbors(_: Path) -> Any:
    return {0: [1, 2], 1: [2], 2: [3]}


def _pairs(_: Path) -> Any:
    return EDGES


KINDS = [_networkx, _igraph, _scipy, _pyg, _arrow, _pandas, _path, _text, _neighbors, _pairs]


@pytest.mark.filterwarnings("ignore:data. left out is_undirected:motiflux.MotifluxWarning")
@pytest.mark.parametrize("make", KINDS)
def test_count_takes_graphs_of_all_kinds(make: Callable[[Path], Any], tmp_path: Path) -> None:
    thing = make(tmp_path)
    directed = mf.as_graph(thing).directed  # a matrix is, and has each edge both ways
    pattern = "(a)-->(b)-->(c)-->(a)" if directed else TRIANGLE
    assert mf.count(thing, pattern, symmetry="subgraphs") == (2 if directed else 1)
    assert [int(one) for one in mf.count(thing, [pattern, "(a)--(b)"], limit=1)] == [1, 1]


def _marked(graph: Any, pattern: Any) -> str:
    return mf.draw_graph(graph, pattern=pattern, rows=[0, 1, 2]).name


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "count": lambda graph, pattern: int(mf.count(graph, pattern)),
    "match": lambda graph, pattern: len(mf.match(graph, pattern).to_numpy()),
    "estimate": lambda graph, pattern: round(mf.estimate(graph, pattern).value),
    "sample": lambda graph, pattern: len(mf.sample(graph, pattern, 6).to_numpy()),
    "explain": lambda graph, pattern: mf.explain(graph, pattern, analyze=True).report.actual.count,
    "Monitor": lambda graph, pattern: int(mf.Monitor(graph, pattern).count(pattern)),
    "draw_match": lambda graph, pattern: 6 * mf.draw_match(graph, pattern, [0, 1, 2]).name.count("0, 1, 2"),
    "draw_graph": lambda graph, pattern: 6 * _marked(graph, pattern).count(", 1 occurrence marked"),
}


@pytest.mark.parametrize("call", CALLS)
def test_every_call_takes_graphs_and_patterns_of_networkx(call: str) -> None:
    nx = pytest.importorskip("networkx")
    assert CALLS[call](nx.Graph(EDGES), nx.cycle_graph(3)) == 6


def test_several_patterns_may_be_of_networkx() -> None:
    nx = pytest.importorskip("networkx")
    graph = mf.Graph.from_edges(EDGES)
    counts = mf.count(graph, [nx.cycle_graph(3), TRIANGLE, mf.Pattern.parse(TRIANGLE)])
    assert [int(one) for one in counts] == [6, 6, 6]
    with pytest.raises(mf.PatternError, match=r"^pattern\[1\]: expected 2 to 32 query vertices, found 0"):
        mf.count(graph, [TRIANGLE, nx.Graph()])
    monitor = mf.Monitor(graph, [nx.cycle_graph(3), "(a)--(b)"])
    assert [pattern.num_vertices for pattern in monitor.patterns] == [3, 2]


def test_an_object_that_changed_gives_the_new_answer(tmp_path: Path) -> None:
    nx = pytest.importorskip("networkx")
    graph = nx.Graph(EDGES)
    nx.set_node_attributes(graph, "x", "label")
    query = "(a:x)--(b:x)--(c:x)--(a)"
    assert mf.count(graph, query) == 6
    graph.nodes[0]["label"] = "y"  # neither nodes nor edges are fewer
    assert mf.count(graph, query) == 0
    path = _path(tmp_path)
    assert mf.count(path, TRIANGLE) == 6
    path.write_text(path.read_text().replace("2 0", "3 0"))  # as long as before
    assert mf.count(path, TRIANGLE) == 0


def test_a_graph_is_not_converted(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("a Graph needs no conversion")

    monkeypatch.setattr(anything, "_maker", refuse)
    graph = mf.Graph.from_edges(EDGES)
    for call in CALLS.values():
        assert call(graph, mf.Pattern.parse(TRIANGLE)) == 6


def test_warnings_of_a_conversion_name_the_line_of_the_call() -> None:
    nx = pytest.importorskip("networkx")
    with pytest.warns(mf.MotifluxWarning, match="^graph: 1 self-loop was left out$") as notes:
        assert mf.count(nx.Graph([*EDGES, (3, 3)]), TRIANGLE) == 6
    assert notes[0].filename == __file__


@pytest.mark.parametrize(
    "build",
    [
        lambda loops: mf.as_graph([(0, 0), (0, 1)], self_loops=loops),
        lambda loops: mf.Graph.from_edges([(0, 0), (0, 1)], self_loops=loops),
        lambda loops: mf.Graph.from_adjacency({0: [0, 1]}, self_loops=loops),
        lambda loops: mf.Graph.from_table({"src": [0, 0], "dst": [0, 1]}, self_loops=loops),
        lambda loops: mf.Graph.from_networkx(_looped("networkx"), self_loops=loops),
        lambda loops: mf.Graph.from_igraph(_looped("igraph"), self_loops=loops),
        lambda loops: mf.Graph.from_scipy(_looped_matrix(), self_loops=loops),
        lambda loops: mf.Graph.from_pyg(
            SimpleNamespace(edge_index=np.array([[0, 0], [0, 1]]), num_nodes=2), self_loops=loops
        ),
    ],
    ids=["as_graph", "edges", "adjacency", "table", "networkx", "igraph", "scipy", "pyg"],
)
def test_self_loops_are_treated_alike_in_memory(build: Callable[[str], mf.Graph]) -> None:
    with pytest.warns(mf.MotifluxWarning, match="^graph: 1 self-loop was left out$"):
        assert build("warn").num_edges == 1
    assert build("drop").self_loops_dropped == 1
    with pytest.raises(mf.GraphError, match="row 0: expected two different vertices, found 0 twice"):
        build("error")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("g.txt", b"1 1\n1 2\n"),
        ("g.csv", b"src,dst\n1,1\n1,2\n"),
        ("g.graph", b"t 2 2\nv 0 0\nv 1 0\ne 1 1\ne 0 1\n"),
        ("g.mtx", b"%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 1\n1 2\n"),
    ],
)
def test_self_loops_are_treated_alike_in_files(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.warns(mf.MotifluxWarning, match=f"{name}: 1 self-loop was left out$"):
        assert mf.read_graph(path).num_edges == 1
    assert mf.read_graph(path, self_loops="drop").self_loops_dropped == 1
    with pytest.raises(mf.FormatError, match=f"{name}.*: expected two different vertices, found 1 twice"):
        mf.read_graph(path, self_loops="error")
    with pytest.raises(mf.ArgumentError, match="self_loops: expected one of"):
        mf.read_graph(path, self_loops="keep")  # type: ignore[arg-type]


def _looped(library: str) -> Any:
    return pytest.importorskip(library).Graph([(0, 0), (0, 1)])


def _looped_matrix() -> Any:
    return pytest.importorskip("scipy.sparse").coo_array(([1, 1], ([0, 0], [0, 1])), shape=(2, 2))
