"""Which plans of a monitor find the same matches in the graph as it was before an update."""

from __future__ import annotations

import pytest

import motiflux as mf
from motiflux.gpu.changing.plans import ReadsBefore, table_of

TRIANGLE = "(a)--(b)--(c)--(a)"
CYCLE = "(a)--(b)--(c)--(d)--(a)"


@pytest.mark.parametrize(
    ("text", "semantics", "expected"),
    [
        (TRIANGLE, "isomorphism", ReadsBefore.ROWS_OF_PAIR),
        (CYCLE, "isomorphism", ReadsBefore.YES),
        ("(a)--(b)--(c)", "isomorphism", ReadsBefore.ROWS_OF_PAIR),
        ("(a)--(b)", "isomorphism", ReadsBefore.ROWS_OF_PAIR),
        # Both neighbours of the changed edge's ends are adjacent to both, and nobody to itself.
        (TRIANGLE, "homomorphism", ReadsBefore.ROWS_OF_PAIR),
        # The third vertex may be an end of the changed edge.
        ("(a)--(b)--(c)", "homomorphism", ReadsBefore.NO),
        (CYCLE, "homomorphism", ReadsBefore.NO),
    ],
)
def test_plans_without_the_ends_of_their_update_read_the_graph_before_it(
    text: str, semantics: str, expected: ReadsBefore
) -> None:
    graph = mf.Graph.from_edges([(0, 1), (1, 2), (2, 0)])
    monitor = mf.Monitor(graph, text, semantics=semantics)  # type: ignore[arg-type]
    monitor.apply([("+", 0, 3)])
    table = table_of(monitor._native)
    assert len(table.reads_before) == len(table.levels) > 0
    assert table.reads_before.tolist() == [expected] * len(table.levels)


def test_plans_that_list_do_not() -> None:
    graph = mf.Graph.from_edges([(0, 1), (1, 2), (2, 0)])
    monitor = mf.Monitor(graph, TRIANGLE, matches=True)
    monitor.apply([("+", 0, 3)])
    table = table_of(monitor._native)
    assert table.listed.all()
    assert not table.reads_before.any()
