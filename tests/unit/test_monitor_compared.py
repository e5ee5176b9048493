"""Monitors whose patterns compare attributes: kinds that change, ids, what is refused, alerts and files."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.stream.copies.ranks import StringRanks
from motiflux.stream.matching.compared import compared_of_vertices

RING = "(a)-[x]->(b)-[y]->(c)-[z]->(a) WHERE x.time < y.time < z.time"
PAIR = "(a)-[x]->(b)-[y]->(c) WHERE x.amount < y.amount"


def empty(vertices: int = 3, **more: Any) -> mf.Graph:
    return mf.Graph.from_edges([], num_vertices=vertices, directed=True, **more)


def test_a_copy_brings_a_match_though_its_edge_was_there() -> None:
    with mf.Monitor(empty(), RING, matches=True) as monitor:
        rows = [("+", 0, 1), ("+", 1, 2), ("+", 2, 0)]
        assert monitor.apply(rows, attributes={"time": [5, 1, 7]})[0].positive == 0
        delta = monitor.apply([("+", 1, 2)], attributes={"time": [6]})
        assert delta[0].appeared().tolist() == [[0, 1, 2]]
        times = {name: table["time"].to_list() for name, table in delta[0].edges().items()}
        assert times == {"x": [5], "y": [6], "z": [7]}
        assert monitor.apply([("+", 1, 2)], attributes={"time": [6]})[0].positive == 0
        assert monitor.apply([("-", 1, 2)], attributes={"time": [6]})[0].negative == 0
        gone = monitor.apply([("-", 1, 2)], attributes={"time": [6]})
        assert gone[0].vanished().tolist() == [[0, 1, 2]]
        assert gone.deleted is not None
        assert gone.deleted.attributes["time"].to_list() == [6]
        assert monitor.num_edges == 3


@pytest.mark.parametrize("mode", ["sequence", "batch"])
def test_a_match_goes_with_the_first_copy_of_a_negated_edge_and_comes_with_the_last(mode: Any) -> None:
    with mf.Monitor(empty(4), f"{PAIR} AND NOT (c)-->(a)", mode=mode, matches=True) as monitor:
        rows = [("+", 0, 1), ("+", 1, 2)]
        assert monitor.apply(rows, attributes={"amount": [1, 2]})[0].positive == 1
        back = [("+", 2, 0), ("+", 2, 0)]
        assert monitor.apply(back, attributes={"amount": [5, 6]})[0].vanished().tolist() == [[0, 1, 2]]
        assert monitor.apply([("-", 2, 0)])[0].positive == 0
        delta = monitor.apply([("-", 2, 0)])
        assert delta[0].appeared().tolist() == [[0, 1, 2]]
        assert {name: one["amount"].to_list() for name, one in delta[0].edges().items()} == {
            "x": [1],
            "y": [2],
        }
        delta = monitor.apply([("+", 2, 0), ("-", 2, 0)], attributes={"amount": [7, None]})
        assert (delta[0].positive, delta[0].negative) == ((1, 1) if mode == "sequence" else (0, 0))


def test_a_match_that_a_window_brings_and_takes_at_once_shows_copies_that_it_had() -> None:
    pattern = "(a)-[x]->(b)-[y]->(c) WHERE x.time < y.time AND NOT (c)-->(a)"
    with mf.Monitor(empty(), pattern, matches=True, window="5s") as monitor:
        updates = [("+", 2, 0), ("+", 0, 1), ("+", 1, 2)]
        assert monitor.apply(updates, times=[1, 2, 3], attributes={"time": [9, 2, 3]})[0].positive == 0
        delta = monitor.advance(7.5)
        assert (delta[0].positive, delta[0].negative, delta.expired) == (1, 1, 2)
        assert {name: one["time"].to_list() for name, one in delta[0].edges().items()} == {
            "x": [2, 2],
            "y": [3, 3],
        }


def test_the_times_of_updates_are_compared() -> None:
    with mf.Monitor(empty(), f"{RING} WITHIN 1h", window="2h", matches=True) as monitor:
        moments = np.array(["2026-03-01T10:00", "2026-03-01T10:20", "2026-03-01T11:00"], dtype="M8[m]")
        assert monitor.apply([("+", 0, 1), ("+", 1, 2), ("+", 2, 0)], times=moments)[0].positive == 1
        later = np.datetime64("2026-03-01T11:01")
        assert monitor.apply([("+", 2, 0)], times=later)[0].positive == 0
        assert monitor.advance(np.datetime64("2026-03-01T12:00"))[0].negative == 1


def test_integers_become_floats_and_an_attribute_may_come_late() -> None:
    with mf.Monitor(empty(4), PAIR) as monitor:
        assert monitor.apply([("+", 0, 1), ("+", 1, 2)])[0].positive == 0
        assert monitor.count(PAIR) == 0
        delta = monitor.apply([("+", 0, 1), ("+", 1, 2)], attributes={"amount": [1, 2]})
        assert delta[0].positive == 1
        delta = monitor.apply([("+", 1, 3)], attributes={"amount": [1.5]})
        assert delta[0].positive == 1
        assert monitor.count(PAIR) == 2
        with pytest.raises(mf.StreamError, match="expected floats as before, found strings"):
            monitor.apply([("+", 1, 3)], attributes={"amount": ["much"]})
        assert monitor.apply([("-", 1, 3)], attributes={"amount": [1.5]})[0].negative == 1


def test_a_call_that_is_undone_leaves_the_kinds_as_they_were() -> None:
    class Refusing(mf.stream.Sink):
        def flush(self) -> None:
            raise mf.OutputError("no")

        def write(self, found: object) -> None:
            pass

    with mf.Monitor(empty(4), PAIR, matches=True) as monitor:
        monitor.apply([("+", 0, 1)], attributes={"amount": [1]})
        floats = mf.Updates.of([("+", 1, 2)]).with_more(None, None, {"amount": [1.5]})
        with pytest.raises(mf.OutputError):
            monitor.run([floats], Refusing())
        assert monitor.apply([("+", 1, 2)], attributes={"amount": [2]})[0].positive == 1
        assert monitor.snapshot().edge_attributes["amount"].to_list() == [1, 2]


def test_attributes_that_cannot_be_compared_are_refused_when_they_come() -> None:
    with mf.Monitor(empty(), "(a)-[x]->(b)-[y]->(c) WHERE x.sent < y.seen") as monitor:
        monitor.apply([("+", 0, 1)], attributes={"sent": [1]})
        with pytest.raises(mf.StreamError, match="values of one kind to compare, found integers"):
            monitor.apply([("+", 1, 2)], attributes={"seen": ["late"]})
        assert monitor.apply([("+", 1, 2)], attributes={"seen": [2]})[0].positive == 1
        with pytest.raises(mf.PatternError, match="expected a number, as 'sent' holds integers"):
            monitor.add("(a)-[x]->(b)-[y]->(c) WITHIN 3d OF sent")


def test_strings_and_ids_are_in_order_however_late_they_come() -> None:
    ids = np.array(["m"])
    none = np.array([], dtype=str)
    graph = mf.Graph.from_edges((none, none), vertex_ids=ids, directed=True)
    pattern = "(a)-[x]->(b) WHERE id(a) < id(b)"
    random = np.random.default_rng(3)
    names = [f"n{number}" for number in random.permutation(300)]
    total = 0
    with mf.Monitor(graph, pattern) as monitor:
        for first in range(0, 300, 50):
            chosen = names[first : first + 50]
            rows = [("+", a, b) for a, b in pairwise(chosen)]
            expected = sum(a < b for _, a, b in rows)
            assert monitor.apply(rows)[0].positive == expected
            total += expected
        assert monitor.count(pattern) == total


def test_ranks_ascend_with_strings_that_come_in_any_order() -> None:
    ranks = StringRanks(ordered=True)
    random = np.random.default_rng(5)
    # The last ones all come between the same two, so that gaps run out.
    names = [f"{number:05}" for number in random.permutation(5000)]
    names += [f"00001{'a' * n}" for n in range(1, 81)]
    for first in range(0, len(names), 500):
        ranks.numbers(names[first : first + 500])
    numbers = ranks.numbers(names)
    assert len(set(numbers.tolist())) == len(names)
    by_rank = [name for _, name in sorted(zip(ranks.ranks()[numbers].tolist(), names, strict=True))]
    assert by_rank == sorted(names)


def test_vertices_of_the_first_graph_have_attributes_and_others_none(tmp_path: Path) -> None:
    graph = empty(2, vertex_attributes={"country": ["AT", "FR"]})
    pattern = "(a)-[x]->(b) WHERE a.country <> b.country"
    assert compared_of_vertices(mf.Pattern.parse(pattern)) == {"country"}
    monitor = mf.Monitor(graph, pattern)
    assert monitor.apply([("+", 0, 1), ("+", 1, 2)])[0].positive == 1
    monitor.save(tmp_path / "saved")
    monitor.close()
    with mf.Monitor.load(tmp_path / "saved") as loaded:
        assert loaded.apply([("+", 1, 0), ("+", 0, 2)])[0].positive == 1
        assert loaded.count(pattern) == 2
    with pytest.raises(mf.PatternError, match="vertex attribute 'land': expected one of"):
        mf.Monitor(graph, "(a)-[x]->(b) WHERE a.land <> b.land")


def test_named_vertices_and_labels_restrict_compared_patterns() -> None:
    graph = empty(3, vertex_labels=["p", "q", "p"], edge_labels=np.array([], dtype=str))
    patterns = [
        "(a {id: 0})-[x]->(b)-[y]->(c) WHERE x.t < y.t",
        "(a:p)-[x:wire]->(b:q)-[y]->(c) WHERE x.t < y.t",
    ]
    patterns[0] = patterns[0].replace("{id: 0}", "").replace("WHERE", "WHERE id(a) = 0 AND")
    with mf.Monitor(graph, patterns) as monitor:
        rows = [("+", 0, 1, "wire"), ("+", 2, 1, "cash"), ("+", 1, 2, "cash"), ("+", 1, 0, "wire")]
        delta = monitor.apply(rows, attributes={"t": [1, 1, 2, 2]})
        assert [one.positive for one in delta] == [1, 1]


def test_patterns_come_and_go() -> None:
    with mf.Monitor(empty(), attributes=True) as monitor:
        monitor.apply([("+", 0, 1), ("+", 1, 2)], attributes={"time": [1, 2]})
        ring = monitor.add(RING)
        with pytest.raises(mf.ArgumentError, match="one that is not watched yet"):
            monitor.add(RING)
        assert monitor.apply([("+", 2, 0)], attributes={"time": [3]})[ring].positive == 1
        monitor.drop(ring)
        assert len(monitor.apply([("-", 2, 0)])) == 0
        monitor.add(RING)
        assert monitor.apply([("+", 2, 0)], attributes={"time": [3]})[0].positive == 1
    with mf.Monitor(empty()) as monitor:
        monitor.apply([("+", 0, 1)])
        with pytest.raises(mf.ArgumentError, match="no comparison of attributes, as attributes of earlier"):
            monitor.add(RING)
    with pytest.raises(mf.ArgumentError, match="for patterns with comparisons of attributes"):
        mf.Monitor(empty(), RING, attributes=False)
    with pytest.raises(mf.ArgumentError, match="'time' among them, as a comparison asks for it"):
        mf.Monitor(empty(), RING, attributes=["amount"])
    with pytest.raises(mf.ArgumentError, match="duplicates"):
        mf.Monitor(empty(), RING, duplicates="ignore")


def test_the_searches_of_compared_patterns_are_explained() -> None:
    with mf.Monitor(empty(), [RING, "(a)-->(b)"]) as monitor:
        assert (
            monitor.explain(0).splitlines()[0] == "x; then always the query edge with the fewest copies left"
        )
        assert monitor.explain(1) == "(a, b)"


def test_a_time_limit_applies_nothing() -> None:
    size = 400
    pattern = "(a)-[w]->(b)-[x]->(c)-[y]->(d)-[z]->(e) WHERE w.t <= z.t AND w.u <> z.u"
    random = np.random.default_rng(1)
    ends = random.integers(0, size, (40_000, 2))
    ends = ends[ends[:, 0] != ends[:, 1]]
    columns = {"t": np.arange(len(ends)), "u": np.arange(len(ends))}
    with mf.Monitor(empty(size), pattern) as monitor:
        delta = monitor.apply(inserts=ends, attributes=columns, timeout=0.3)
        assert not delta.complete
        assert delta.seconds < 5
        assert list(delta.searched) == [mf.Pattern.parse(pattern)]
        assert monitor.num_edges == 0
        assert monitor.apply([("+", 0, 1)], attributes={"t": [1], "u": [1]}).complete


def test_a_column_of_several_kinds_is_one_in_a_file_too(tmp_path: Path) -> None:
    monitor = mf.Monitor(empty(), attributes=True)
    monitor.apply([("+", 0, 1), ("+", 0, 1)], attributes={"code": ["A7", "B"]})
    monitor.apply([("+", 1, 2), ("+", 1, 2)], attributes={"code": [7.0, 8.0]})
    monitor.save(tmp_path / "saved")
    monitor.close()
    with mf.Monitor.load(tmp_path / "saved") as loaded:
        delta = loaded.apply([("-", 1, 2)], attributes={"code": ["007"]})
        assert delta.deleted is not None
        assert delta.deleted.attributes["code"].to_list() == ["7"]


def test_damaged_comparisons_in_a_file_are_refused(tmp_path: Path) -> None:
    with mf.Monitor(empty(), f"{RING} AND z.amount >= 0.9 * x.amount WITHIN 3d") as monitor:
        monitor.save(tmp_path / "saved")
        pattern = monitor.patterns[0]
    with mf.Monitor.load(tmp_path / "saved") as loaded:
        assert loaded.patterns == (pattern,)


def test_lines_of_json_show_a_choice_of_copies(tmp_path: Path) -> None:
    stream = tmp_path / "stream.csv"
    stream.write_text("op,src,dst,time,amount\n+,0,1,5,9\n+,1,2,1,9\n+,1,2,6,8\n+,2,0,7,7\n")
    with mf.Monitor(empty(), f"{RING} AND z.amount < x.amount", matches=True) as monitor:
        monitor.run(stream, tmp_path / "found.jsonl")
    found = [json.loads(line) for line in (tmp_path / "found.jsonl").read_text().splitlines()]
    assert len(found) == 1
    shown = found[0]["edges"]
    assert [shown[name]["time"] for name in "xyz"] == [5, 6, 7]


def test_a_string_is_compared_with_an_attribute_that_has_no_values_so_far() -> None:
    graph = empty(2, vertex_attributes={"name": ["b", "a"]})
    with mf.Monitor(graph, "(a)-[x]->(b) WHERE a.name <= x.kind") as monitor:
        assert monitor.apply([("+", 0, 1)])[0].positive == 0
        assert monitor.apply([("+", 0, 1)], attributes={"kind": ["b"]})[0].positive == 1


def test_a_pattern_that_is_refused_leaves_attributes_free_to_be_of_several_kinds() -> None:
    with mf.Monitor(empty(), PAIR) as monitor:
        first = {"amount": [1, 2], "code": [1, 2], "name": ["a", "b"]}
        assert monitor.apply([("+", 0, 1), ("+", 1, 2)], attributes=first)[0].positive == 1
        with pytest.raises(mf.PatternError, match="values of one kind to compare"):
            monitor.add("(a)-[x WHERE x.amount > 1]->(b)-[y]->(c) WHERE x.code < y.code AND x.code < y.name")
        delta = monitor.apply([("+", 1, 2), ("+", 0, 1)], attributes={"amount": [3, 0], "code": ["A", "B"]})
        assert delta[0].positive == 0
        monitor.add("(a)-[x]->(b)-[y]->(c) WHERE x.code < y.code")
        assert monitor.apply([("-", 1, 2)], attributes={"amount": [2]})[1].negative == 0
