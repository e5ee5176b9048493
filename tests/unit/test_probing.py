"""What a search is expected to take, from a try of some of it."""

from __future__ import annotations

import motiflux as mf
from motiflux.plan import make_plan
from motiflux.plan.estimate.sampled import probe

CHEAP, DEAR, LEAVES = 50, 5_000, 20
FOREVER = 1e6
"""A budget in seconds that no probe here reaches."""


def lopsided_graph() -> mf.Graph:
    """Return a tree below whose one arc are 50 branches that lead nowhere, and one that nearly all is in."""
    dear = CHEAP + 2
    edges = [(0, 1), *((1, branch) for branch in range(2, dear + 1))]
    labels = [0, 1] + [2] * (CHEAP + 1)
    for _ in range(DEAR):
        middle = len(labels)
        edges.append((dear, middle))
        edges.extend((middle, middle + 1 + leaf) for leaf in range(LEAVES))
        labels += [3] + [4] * LEAVES
    return mf.Graph.from_edges(edges, vertex_labels=labels)


def test_a_probe_that_ends_in_a_large_subtree_sees_that_it_is_large() -> None:
    pattern = mf.Pattern.parse("(root:0)--(stem:1)--(branch:2)--(middle:3)--(leaf:4), (middle)--(other:4)")
    graph = lopsided_graph()
    plan = make_plan(graph, pattern, tuning={"order": "given", "candidates": "off"})
    whole = probe(graph, plan, FOREVER, 1)
    assert whole / 10 < probe(graph, plan, whole / 50, 1) < whole * 10
