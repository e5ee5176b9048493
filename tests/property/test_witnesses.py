"""Which edge each query edge fell on, against a look at all edges that were given, one by one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.conditions import Comparison, Condition, Operator
from motiflux.pattern.elements import label_set
from tests.rotating import rotating
from tests.strategies import EMBEDDINGS, Case, Combination, cases

DEPTHS = ["default", pytest.param("long", marks=pytest.mark.long)]
AT_LEAST_ONE = Comparison("amount", Operator.AT_LEAST, 1)
DIRECTION: dict[Any, bool | None] = {"follow": None, "either": False, "arc": True}


def graph_of(case: Case, amounts: tuple[int, ...]) -> mf.Graph:
    """The graph of a case, each row of edges with an amount and its place among those given."""
    ids = np.array(case.ids)
    ends = np.array(case.edges, dtype=np.int64).reshape(-1, 2)
    return mf.Graph.from_edges(
        (ids[ends[:, 0]], ids[ends[:, 1]]),
        directed=case.directed,
        vertex_ids=ids,
        vertex_labels=case.vertex_labels,
        edge_labels=case.edge_labels,
        edge_attributes={"amount": np.array(amounts, np.int64), "place": np.arange(len(ends))},
    )


def pattern_of(case: Case, wheres: tuple[Condition | None, ...]) -> mf.Pattern:
    edges = [
        mf.QueryEdge(u, v, label_set(labels), DIRECTION[how], where=where)
        for (u, v, labels, how), where in zip(case.pattern_edges, wheres, strict=True)
    ]
    return mf.Pattern(case.pattern().vertices, tuple(edges))


def first_witness(case: Case, amounts: tuple[int, ...], edge: mf.QueryEdge, source: Any, target: Any) -> int:
    """The place of the edge that the documentation says is the witness of a query edge."""
    found = []
    for place, (u, v) in enumerate(case.edges):
        label = case.edge_labels[place] if case.edge_labels is not None else 0
        ends = (case.ids[u], case.ids[v])
        along, against = ends == (source, target), ends == (target, source)
        either = not case.directed or edge.directed is False
        fits = along or (either and against)
        accepted = edge.labels is None or label in edge.labels
        satisfied = edge.where is None or amounts[place] >= 1
        if fits and accepted and satisfied:
            found.append((case.directed and not along, label, place))
    return min(found)[-1]


def rows_of_edge(graph: mf.Graph) -> list[tuple[Any, Any, Any]]:
    listed = graph.to_edges()
    labels = [0] * graph.num_edges if listed.labels is None else listed.labels.tolist()
    return list(zip(listed.src.tolist(), listed.dst.tolist(), labels, strict=True))


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("cell", rotating(EMBEDDINGS), ids=str)
def test_every_query_edge_falls_on_the_first_edge_that_serves_it(
    cell: Combination, depth: str, device: str
) -> None:
    @settings(settings.get_profile(depth))
    @given(cases(cell.directed, cell.labels), st.data())
    def holds(case: Case, data: st.DataObject) -> None:
        case = replace(case, universe="ids")
        number = len(case.edges)
        amounts = tuple(data.draw(st.lists(st.integers(0, 2), min_size=number, max_size=number)))
        choices = st.sampled_from([None, None, AT_LEAST_ONE])
        size = len(case.pattern_edges)
        wheres = tuple(data.draw(st.lists(choices, min_size=size, max_size=size)))
        graph, pattern = graph_of(case, amounts), pattern_of(case, wheres)
        matches = mf.match(
            graph,
            pattern,
            semantics=cell.semantics,
            device=device,
            edges=True,
            attributes=["place", "label", "row"],
        )
        edges = rows_of_edge(graph)
        places = graph.edge_attributes["place"].to_numpy()
        for row in table_rows(matches):
            for at, edge in enumerate(pattern.edges):
                ends = row[f"v{edge.source}"], row[f"v{edge.target}"]
                place = first_witness(case, amounts, edge, *ends)
                assert row[f"e{at}.place"] == place
                assert places[row[f"e{at}.row"]] == place
                u, v = (case.ids[end] for end in case.edges[place])
                label = case.edge_labels[place] if case.edge_labels is not None else 0
                assert row[f"e{at}.label"] == label
                source, target, found = edges[row[f"e{at}"]]
                assert found == label
                assert (source, target) == (u, v) or (not case.directed and (source, target) == (v, u))

    holds()


def table_rows(matches: mf.Matches) -> list[dict[str, Any]]:
    """The rows of tables, without a library."""
    names = [field.name for field in matches.fields]
    rows = []
    for columns in matches.tables():
        values = [
            column.data.tolist() if column.strings is None else [column.strings[code] for code in column.data]
            for column in columns
        ]
        rows += [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]
    return rows


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("directed", [False, True])
def test_a_large_batch_agrees_with_small_ones(directed: bool, threads: int) -> None:
    random = np.random.default_rng(5)
    ends = random.integers(0, 60, (900, 2))
    ends = ends[ends[:, 0] != ends[:, 1]]
    graph = mf.Graph.from_edges(ends, directed=directed, edge_labels=random.integers(0, 3, len(ends)))
    pattern = mf.Pattern.from_edges([(0, 1), (1, 2), (0, 2)], edge_labels=[[0, 2], None, 1], directed=False)
    small = mf.match(graph, pattern, edges=True, batch_rows=7).to_numpy()
    large = mf.match(graph, pattern, edges=True, batch_rows=1 << 20, threads=threads).to_numpy()
    assert len(large) > 1000
    assert sorted(large.tolist()) == sorted(small.tolist())
    listed = graph.to_edges()
    for query, (u, v) in enumerate([(0, 1), (1, 2), (0, 2)]):
        number = large[:, 3 + query]
        found = np.sort(np.stack([listed.src[number], listed.dst[number]]), axis=0)
        assert np.array_equal(found, np.sort(np.stack([large[:, u], large[:, v]]), axis=0))
