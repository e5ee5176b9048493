"""Negated edges of directed patterns: dotmotif finds the same embeddings."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

import motiflux as mf

dotmotif = pytest.importorskip("dotmotif")
nx = pytest.importorskip("networkx")

QUERIES = [
    "(a)-->(b), NOT (b)-->(a)",
    "(a)-->(b)-->(c), NOT (c)-->(a)",
    "(a)-->(b)-->(c), NOT (a)-->(c)",
    "(a)-->(b)-->(c), NOT (a)-->(c), NOT (c)-->(a)",
    "(a)-->(b)<--(c), NOT (a)-->(c)",
    "(a)<--(b)-->(c), NOT (c)-->(b), NOT (a)-->(b)",
    "(a)-->(b)-->(c)-->(a), NOT (b)-->(a)",
    "(a)-->(b)-->(c)-->(a), NOT (b)-->(a), NOT (c)-->(b), NOT (a)-->(c)",
    "(a)-->(b)-->(c), (a)-->(c), NOT (c)-->(a)",
    "(a)-->(b)-->(c)-->(d), NOT (d)-->(a)",
    "(a)-->(b)-->(c)-->(d), NOT (a)-->(c), NOT (b)-->(d)",
    "(a)-->(b)-->(c)-->(d)-->(a), NOT (a)-->(c)",
    "(a)-->(b), (a)-->(c), (a)-->(d), NOT (b)-->(c)",
    "(a)-->(b), (c)-->(b), (c)-->(d), NOT (a)-->(d)",
    "(a)-->(b), (a)-->(c), (b)-->(d), (c)-->(d), NOT (a)-->(d), NOT (b)-->(c)",
]
"""Negated edges that this judge writes ``a !> b``."""


@cache
def graphs() -> tuple[mf.Graph, Any]:
    random = np.random.default_rng(5)
    arcs = random.integers(0, 18, (70, 2))
    arcs = np.unique(arcs[arcs[:, 0] != arcs[:, 1]], axis=0)
    return mf.Graph.from_edges(arcs, directed=True), nx.DiGraph(arcs.tolist())


def motif_of(text: str) -> Any:
    """Return a motif with the edges of a pattern, one a line."""
    pattern = mf.Pattern.parse(text)
    names = [vertex.name for vertex in pattern.vertices]
    lines = [f"{names[edge.source]} -> {names[edge.target]}" for edge in pattern.edges]
    lines += [f"{names[one.source]} !> {names[one.target]}" for one in pattern.negated]  # type: ignore[index]
    return dotmotif.Motif("\n".join(lines))


@pytest.mark.parametrize("text", QUERIES)
def test_dotmotif_finds_the_same_embeddings(text: str) -> None:
    graph, judged = graphs()
    names = sorted(set(re.findall("[a-d]", text)))
    expected = {
        tuple(int(found[name]) for name in names)
        for found in dotmotif.GrandIsoExecutor(graph=judged).find(motif_of(text))
    }
    assert expected, "a judge without an embedding says little"
    rows = mf.match(graph, text, names=True).to_arrow().select(names).to_pydict()
    assert set(zip(*rows.values(), strict=True)) == expected
    assert mf.count(graph, text) == len(expected)
    everything = mf.count(graph, re.sub(r", NOT \(.\)-->\(.\)", "", text))
    assert len(expected) < everything, "the negated edges exclude something"
