"""Every shared graph can be read, and its short paths and triangles counted, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import motiflux as mf
from tests.data_paths import or_skip, shared_dir, shared_names, shared_path
from tests.oracle.graphs import data_graph

NAMES = [name.removesuffix(".npz") for name in shared_names("data", ".npz")]
TOO_LARGE = {
    "ldbc_snb_sample",
    "molecules_moses_20k",
    "soc_slashdot0902",
    "web_uk2007_100k",
    "wordnet30_relations",
}
"""Graphs whose triangles take too long to count with Python sets."""
SLOW = {"email_enron", "enron_label20", "facebook_mit8"}
"""Graphs whose triangles take a few seconds to count so."""
TWO_PATH = [(0, 1), (1, 2)]
TRIANGLE = [(0, 1), (1, 2), (0, 2)]

Arrays = dict[str, Any]


def names_with(key: str) -> list[str]:
    """Names of the graphs whose files have an array of this name."""
    found = []
    for name in NAMES:
        with np.load(shared_dir() / "data" / f"{name}.npz") as file:
            found += [name] if key in file.files else []
    return found


def triangle_names() -> list[Any]:
    return [
        pytest.param(name, marks=pytest.mark.long if name in SLOW else [])
        for name in NAMES
        if name not in TOO_LARGE
    ]


@pytest.fixture
def arrays(name: str) -> Arrays:
    with np.load(shared_path("data", f"{name}.npz")) as file:
        return {key: file[key] for key in file.files}


@pytest.mark.turns(8)
@pytest.mark.parametrize("name", or_skip(NAMES, "data"))
def test_graph_has_the_vertices_edges_and_labels_of_the_file(name: str, arrays: Arrays) -> None:
    graph = data_graph(name)
    assert graph.directed == bool(arrays["directed"])
    assert graph.num_vertices == int(arrays["num_vertices"])
    assert graph.num_edges == num_distinct_edges(arrays, directed=graph.directed)
    assert graph.num_edge_copies == len(arrays["edges"])
    assert len(graph.vertex_label_table) == len(np.unique(arrays.get("vertex_labels", [0])))
    assert len(graph.edge_label_table) == len(np.unique(arrays.get("edge_labels", [0])))


@pytest.mark.turns(8, "cpu", "emulated")
@pytest.mark.parametrize("name", or_skip(NAMES, "data"))
def test_two_paths_are_sums_over_degrees(name: str, arrays: Arrays, device: str) -> None:
    graph = data_graph(name)
    pattern = mf.Pattern.from_edges(TWO_PATH)
    for semantics, expected in two_paths(arrays, directed=graph.directed).items():
        assert mf.count(graph, pattern, semantics=semantics, device=device) == expected, semantics


@pytest.mark.turns(8, "cpu", "emulated")
@pytest.mark.parametrize("name", or_skip(NAMES, "data"))
def test_two_paths_when_read_as_undirected(name: str, arrays: Arrays, device: str) -> None:
    graph = data_graph(name, directed=False)
    pattern = mf.Pattern.from_edges(TWO_PATH)
    for semantics, expected in two_paths(arrays, directed=False).items():
        assert mf.count(graph, pattern, semantics=semantics, device=device) == expected, semantics


@pytest.mark.parametrize("name", or_skip(names_with("edge_labels"), "data"))
def test_labelled_two_paths_are_sums_over_degrees(name: str, arrays: Arrays, device: str) -> None:
    first, second = common_labels(arrays["edge_labels"])
    graph = data_graph(name)
    pattern = mf.Pattern.from_edges(TWO_PATH, edge_labels=[first, second])
    one, two = (adjacency(arrays, directed=graph.directed, label=label) for label in (first, second))
    size = int(arrays["num_vertices"])
    walks = np.dot(np.bincount(one[:, 1], minlength=size), np.bincount(two[:, 0], minlength=size))
    returns = num_common(keys(one, size), keys(two[:, ::-1], size))
    assert mf.count(graph, pattern, semantics="homomorphism", device=device) == walks
    assert mf.count(graph, pattern, device=device) == walks - returns


@pytest.mark.turns(8)
@pytest.mark.parametrize("name", or_skip(triangle_names(), "data"))
def test_triangles_are_common_neighbours_of_edges(name: str, arrays: Arrays, device: str) -> None:
    graph = data_graph(name)
    counted = mf.count(graph, mf.Pattern.from_edges(TRIANGLE), device=device)
    assert counted == transitive_triples(adjacency(arrays, directed=graph.directed))


def num_distinct_edges(arrays: Arrays, *, directed: bool) -> int:
    """Count different (source, target, label) rows; an undirected edge is the same either way round."""
    edges = arrays["edges"].astype(np.int64)
    ends = edges if directed else np.sort(edges, axis=1)
    _, label_codes = np.unique(arrays.get("edge_labels", np.zeros(len(edges))), return_inverse=True)
    size = int(arrays["num_vertices"])
    return len(distinct(keys(ends, size) + size * size * label_codes.ravel()))


def adjacency(arrays: Arrays, *, directed: bool, label: Any = None) -> Any:
    """All different ordered pairs joined by an edge (with the label, if one is given)."""
    edges = arrays["edges"].astype(np.int64)
    if label is not None:
        edges = edges[arrays["edge_labels"] == label]
    both = edges if directed else np.concatenate([edges, edges[:, ::-1]])
    size = int(arrays["num_vertices"])
    return np.column_stack(np.divmod(distinct(keys(both, size)), size))


def keys(pairs: Any, size: int) -> Any:
    """One number per ordered pair."""
    return pairs[:, 0] * size + pairs[:, 1]


def distinct(values: Any) -> Any:
    """All different values, sorted (far faster here than `numpy.unique`)."""
    in_order = np.sort(values)
    return in_order[np.diff(in_order, prepend=in_order[:1] - 1) != 0]


def num_common(first: Any, second: Any) -> int:
    """Count values that two arrays of different values share."""
    return len(first) + len(second) - len(distinct(np.concatenate([first, second])))


def common_labels(labels: Any) -> tuple[int, int]:
    """Return the most frequent label and the next (the same one where there is no other)."""
    values, counts = np.unique(labels, return_counts=True)
    order = values[np.argsort(-counts, kind="stable")]
    return int(order[0]), int(order[min(1, len(order) - 1)])


def two_paths(arrays: Arrays, *, directed: bool) -> dict[str, int]:
    """Count maps of u -> v -> w: all of them, and those with u and w different."""
    size = int(arrays["num_vertices"])
    pairs = adjacency(arrays, directed=directed)
    walks = int(np.dot(np.bincount(pairs[:, 1], minlength=size), np.bincount(pairs[:, 0], minlength=size)))
    mutual = num_common(keys(pairs, size), keys(pairs[:, ::-1], size))
    return {"homomorphism": walks, "isomorphism": walks - mutual}


def transitive_triples(pairs: Any) -> int:
    """Count u -> v -> w with u -> w: the common out-neighbours of u and in-neighbours of w."""
    out: dict[int, set[int]] = {}
    into: dict[int, set[int]] = {}
    rows = pairs.tolist()
    for u, v in rows:
        out.setdefault(u, set()).add(v)
        into.setdefault(v, set()).add(u)
    return sum(len(out[u] & into[w]) for u, w in rows)
