"""Conditions on attributes of vertices in monitors, beside searches of the graph after each call."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.config import private_tuning

TEXTS = (
    "(a {x: 1})-->(b)-->(c)",
    "(a)-->(b)-->(c) WHERE NOT a.x = 1 AND c.x IS NULL",
    "(a)-->(b), (a)-->(c), (a)-->(d) WHERE b.x = 1 AND c.x = 1",
    "(a)--(b)--(c)--(d)--(a) WHERE a.x = 1 AND c.x = 1",
    "(a:1 {x: 1})-->(b)-->(c:0)",
    "(a)-->(b) WHERE id(a) IN [1, 5] AND (a.x IS NULL OR a.x = 1)",
    "(a)-->(b)-->(c)-->(a) WHERE a.x = 1 OR b.x = 1 OR c.x IS NULL",
    "(a)-->(b), NOT (b)-->(:1 {x: 1}), NOT ({x: 2})-->(a)",
    "(a)-->(b), NOT (b)-->({x: 1}), NOT (b)-->({x: 2})",
    "(a)--(b)--(c), NOT (a)--({x: 1}), NOT (c)--({x: 1})",
    "(a {x: 2})-->(b) OPTIONAL (b)-->(c) WHERE c.x IS NULL",
    "(a)--(b)--(c) WHERE a.x = 1 OR c.x = 1 OPTIONAL (b)--(d {x: 1})",
    "(a)-[e]->(b)-[f]->(c) WHERE e.w < f.w AND b.x IS NULL",
    "(a)-[e]->(b)-[f]->(c) WHERE (e.w > 1 OR f.w > 1) AND b.x = 1",
    "(a)-[e]->(b)<-[f]-(c) WHERE (e.w > 1 OR f.w > 1) AND (a.x = 1 OR c.x = 1)",
)
DEPTHS = ["default", pytest.param("long", marks=pytest.mark.long)]
SWITCHES = ("orbits", "tail", "reuse", "at_once", "put_off", "coalesce", "quotients")


def rows_of(graph: mf.Graph, text: str, semantics: str) -> Counter[Any]:
    """Return the rows of a search; without the vertices that are missing in them."""
    found = mf.match(graph, text, semantics=semantics, names=True).to_arrow().to_pylist()
    return Counter(
        frozenset((k, v) for k, v in row.items() if k in "abcd" and v is not None) for row in found
    )


def changes_of(parts: Any) -> Counter[Any]:
    """Return the rows that came, less those that went."""
    found: Counter[Any] = Counter()
    for part in parts:
        names = [vertex.name for vertex in part.pattern.vertices]
        for sign, rows in ((1, part.appeared()), (-1, part.vanished())):
            for row in rows.tolist():
                found[frozenset(zip(names, row, strict=True))] += sign
    return found


@pytest.mark.turns(3)
@pytest.mark.parametrize("depth", DEPTHS)
def test_matches_have_vertices_that_satisfy_conditions(depth: str) -> None:
    most = 60 if depth == "default" else 1000

    @settings(max_examples=most, suppress_health_check=list(HealthCheck), deadline=None)
    @given(st.data())
    def holds(data: st.DataObject) -> None:
        text = data.draw(st.sampled_from(TEXTS))
        directed = "->" in text or data.draw(st.booleans())
        first, size = data.draw(st.integers(2, 4)), data.draw(st.integers(4, 6))
        pair = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)).filter(lambda p: p[0] != p[1])
        hot = data.draw(st.lists(pair, min_size=3, max_size=10))
        graph = mf.Graph.from_edges(
            [],
            num_vertices=first,
            directed=directed,
            vertex_labels=data.draw(st.lists(st.sampled_from((0, 1)), min_size=first, max_size=first)),
            vertex_attributes={
                "x": [
                    1,
                    *data.draw(
                        st.lists(st.sampled_from((1, 2, None)), min_size=first - 1, max_size=first - 1)
                    ),
                ]
            },
        )
        semantics = data.draw(st.sampled_from(("isomorphism", "isomorphism", "homomorphism")))
        if semantics == "homomorphism" and "OR f.w" in text:
            return  # refused by name
        symmetry = (
            "embeddings"
            if semantics == "homomorphism"
            else data.draw(st.sampled_from(("embeddings", "subgraphs")))
        )
        tuning = {name: data.draw(st.sampled_from(("on", "off"))) for name in SWITCHES}
        monitor = mf.Monitor(
            graph,
            text,
            matches=True,
            semantics=semantics,
            symmetry=symmetry,
            mode=data.draw(st.sampled_from(("sequence", "batch"))),
            window=data.draw(st.sampled_from((None, None, 4))),
            attributes=True if ".w" in text else None,
            threads=data.draw(st.sampled_from((1, 3))),
            tuning=private_tuning(tuning),
            device="cpu",
        )
        counts = {"semantics": semantics, "symmetry": symmetry}
        before, number = rows_of(monitor.snapshot(), text, semantics), 0
        for _ in range(data.draw(st.integers(1, 5))):
            if data.draw(st.integers(0, 4)) == 0:
                monitor = reopened(monitor)
            update = st.tuples(st.sampled_from("++-"), st.sampled_from(hot), st.sampled_from((1, 2, None)))
            updates = data.draw(st.lists(update, min_size=1, max_size=5))
            weights = {"w": [w if sign == "+" else None for sign, _, w in updates]} if ".w" in text else None
            delta = monitor.apply([(sign, *ends) for sign, ends, _ in updates], attributes=weights)
            change: Any = delta[text]
            now, total = (
                rows_of(monitor.snapshot(), text, semantics),
                mf.count(monitor.snapshot(), text, **counts),
            )
            assert change.net == int(total) - number, text
            if symmetry == "embeddings":
                found = changes_of(getattr(change, "patterns", [change]))
                assert {row: n for row, n in found.items() if n} == {
                    row: now[row] - before[row] for row in {*now, *before} if now[row] != before[row]
                }, text
            before, number = now, int(total)
        monitor.close()

    holds()


def reopened(monitor: mf.Monitor) -> mf.Monitor:
    """Return a monitor from its checkpoint."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "monitor"
        monitor.save(path)
        monitor.close()
        return mf.Monitor.load(path, device="cpu")


def test_vertices_that_come_later_have_no_attributes() -> None:
    graph = mf.Graph.from_edges([(0, 1)], vertex_attributes={"x": [1, 2]}, directed=True)
    texts = ("(a {x: 1})-->(b)", "(a)-->(b) WHERE b.x IS NULL", "(a)-->(b) WHERE NOT b.x = 1")
    with mf.Monitor(graph, list(map(mf.Pattern.parse, texts)), matches=True) as monitor:
        delta = monitor.apply([("+", 0, 7), ("+", 7, 8), ("-", 0, 1)])
        assert [(one.positive, one.negative) for one in delta] == [(1, 1), (2, 0), (0, 1)]
        found = monitor.snapshot()
        values = found.vertex_attributes["x"].to_list()
        assert dict(zip(found.vertex_ids.tolist(), values, strict=True)) == {0: 1, 1: 2, 7: None, 8: None}


def test_an_attribute_that_the_first_graph_lacks_is_an_error() -> None:
    graph = mf.Graph.from_edges([(0, 1)], vertex_attributes={"age": [1, 2]}, directed=True)
    with mf.Monitor(graph) as monitor:
        with pytest.raises(mf.PatternError, match=r"vertex attribute 'ages'.*perhaps 'age'"):
            monitor.add("(a)-->(b), NOT (b)-->({ages: 1})")
        with pytest.raises(mf.PatternError, match="expected a number"):
            monitor.add("(a {age: 'old'})-->(b)")
        assert monitor.patterns == ()
