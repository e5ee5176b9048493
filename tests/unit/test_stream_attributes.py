"""Attributes of edges on streams: sources that bring them, alerts that show them, what is refused."""

from __future__ import annotations

import datetime as dt
import json
import queue
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.graph.attributes.columns import make_column
from motiflux.stream import FoundMatches
from motiflux.stream.copies.columns import GrowingColumn

LARGE = "(a)-[x:wire WHERE x.amount >= 100]->(b)-[y:wire WHERE y.amount >= 100]->(c)"
TEXT = """op,src,dst,label,time,amount,channel,booked
+,ann,bob,wire,1,250,web,2026-03-01
+,bob,cy,wire,2,99.5,web,2026-03-02
+,bob,cy,wire,3,100,,2026-03-02
-,ann,bob,wire,4,250,,
-,bob,cy,wire,5,,web,
"""


def empty() -> mf.Graph:
    ids = np.array(["ann", "bob", "cy"])
    none = np.array([], dtype=str)
    return mf.Graph.from_edges((none, none), vertex_ids=ids, directed=True, edge_labels=none)


def alerts(source: Any, pattern: str = LARGE, **options: Any) -> list[FoundMatches]:
    found: list[FoundMatches] = []
    with mf.Monitor(empty(), pattern, matches=True, **options) as monitor:
        monitor.run(source, found.append)
    return found


def shown(found: list[FoundMatches]) -> list[tuple[int, int, Any]]:
    rows = []
    for one in found:
        assert one.edges is not None
        for at, (sign, update) in enumerate(zip(one.signs.tolist(), one.updates.tolist(), strict=True)):
            edges = {edge: columns["amount"][at] for edge, columns in one.edges.items()}
            rows.append((sign, update, edges))
    return sorted(rows, key=lambda row: row[1])


EXPECTED = [(1, 2, {"x": 250.0, "y": 100.0}), (-1, 3, {"x": 250.0, "y": 100.0})]


def columns() -> dict[str, list[Any]]:
    lines = [line.split(",") for line in TEXT.splitlines()]
    names = lines[0]
    table: dict[str, list[Any]] = {
        name: [line[at] or None for line in lines[1:]] for at, name in enumerate(names)
    }
    table["amount"] = [None if one is None else float(one) for one in table["amount"]]
    table["time"] = [int(one) for one in table["time"]]
    table["booked"] = [None if one is None else dt.datetime.fromisoformat(one) for one in table["booked"]]
    return table


def test_text_brings_attributes(tmp_path: Path) -> None:
    path = tmp_path / "transfers.csv"
    path.write_text(TEXT)
    assert shown(alerts(path)) == EXPECTED


@pytest.mark.parametrize("size", [1, 2, 1024])
def test_text_brings_the_same_attributes_in_batches_of_any_size(tmp_path: Path, size: int) -> None:
    path = tmp_path / "transfers.csv"
    path.write_text(TEXT)
    with mf.Monitor(empty(), LARGE, matches=True) as monitor:
        monitor.run(path, lambda found: None, batch_size=size)
        graph = monitor.snapshot()
    assert {name: column.kind.value for name, column in graph.edge_attributes.items()} == {
        "time": "integers",
        "amount": "floats",
        "channel": "strings",
        "booked": "datetimes",
    }
    assert graph.edge_attributes["amount"].to_list() == [100.0]


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_files_of_tables_bring_attributes(tmp_path: Path, suffix: str) -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table(columns())
    path = tmp_path / f"transfers{suffix}"
    if suffix == ".parquet":
        pytest.importorskip("pyarrow.parquet").write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    assert shown(alerts(path)) == EXPECTED


def test_tables_mappings_and_updates_bring_attributes() -> None:
    table = columns()
    rows = [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]
    inserts = np.array([op == "+" for op in table["op"]])
    ends = np.array(table["src"]), np.array(table["dst"])
    updates = mf.Updates(
        inserts,
        *ends,
        np.array(table["label"]),
        np.array(table["time"]),
        attributes={"amount": table["amount"], "channel": table["channel"]},  # type: ignore[dict-item]
    )
    items: queue.Queue[Any] = queue.Queue()
    for item in (*rows, None):
        items.put(item)
    for source in (rows, [updates], items, updates):
        assert shown(alerts(source)) == EXPECTED


def test_pieces_of_updates_have_no_strings_of_others() -> None:
    refs = [f"ref {number}" for number in range(100)]
    ends = np.zeros(100, dtype=np.int64), np.ones(100, dtype=np.int64)
    updates = mf.Updates(np.ones(100, dtype=bool), *ends, attributes={"ref": refs})  # type: ignore[dict-item]
    for first, piece in enumerate(updates.slices(10)):
        assert piece.attributes is not None
        column = piece.attributes["ref"]
        assert column.to_list() == refs[10 * first : 10 * first + 10]
        assert column.strings is not None
        assert len(column.strings) == 10


def test_skipped_lines_do_not_shift_attributes(tmp_path: Path) -> None:
    path = tmp_path / "transfers.csv"
    lines = TEXT.splitlines(keepends=True)
    path.write_text("".join([*lines[:2], "+,only,two\n", *lines[2:4], "?,a,b,wire,3,5,,\n", *lines[4:]]))
    found: list[FoundMatches] = []
    warned = pytest.warns(mf.MotifluxWarning, match="skipped")
    with mf.Monitor(empty(), LARGE, matches=True) as monitor, warned:
        totals = monitor.run(path, found.append, on_error="skip")
    assert totals.skipped == 2
    assert shown(found) == EXPECTED


BAD = """op,src,dst,label,amount
+,ann,bob,wire,250
+,bob,cy,wire,NULL
+,bob,cy,wire,much
+,bob,cy,wire,99.5
"""


@pytest.mark.parametrize("size", [1, 1024])
def test_text_in_a_column_that_a_condition_compares_with_numbers_is_malformed(
    tmp_path: Path, size: int
) -> None:
    path = tmp_path / "transfers.csv"
    path.write_text(BAD)
    with mf.Monitor(empty(), "(a)-[x WHERE x.amount > 90]->(b)") as monitor:
        with pytest.raises(mf.FormatError, match="line 4: column 'amount': found 'much', expected a number"):
            monitor.run(path, mf.stream.Nowhere(), batch_size=size)
        assert monitor.snapshot().edge_attributes["amount"].to_list() == [250, None]
    warned = pytest.warns(mf.MotifluxWarning, match="expected a number")
    with mf.Monitor(empty(), "(a)-[x WHERE x.amount > 90]->(b)") as monitor, warned:
        totals = monitor.run(path, mf.stream.Nowhere(), batch_size=size, on_error="skip")
    assert (totals.skipped, totals.updates, totals[0].positive) == (1, 3, 2)


def test_lines_of_json_show_the_attributes_of_all_edges(tmp_path: Path) -> None:
    path, out = tmp_path / "transfers.csv", tmp_path / "alerts.jsonl"
    path.write_text(TEXT)
    with mf.Monitor(empty(), LARGE, matches=True) as monitor:
        monitor.run(path, out)
    first, second = map(json.loads, out.read_text().splitlines())
    x = {"time": 1, "amount": 250.0, "channel": "web", "booked": "2026-03-01T00:00:00.000000000Z"}
    y = {"time": 3, "amount": 100.0, "channel": None, "booked": "2026-03-02T00:00:00.000000000Z"}
    assert first["edges"] == second["edges"]
    assert list(first["edges"]) == ["x", "y"]
    assert first["edges"]["x"] | {"booked": None} == x | {"booked": None}
    assert first["edges"]["y"] | {"booked": None} == y | {"booked": None}
    assert first["edges"]["x"]["booked"].startswith("2026-03-01")


def test_times_of_updates_are_an_attribute() -> None:
    with mf.Monitor(empty(), "(a)-[x WHERE x.time >= 2]->(b)", window="10s") as monitor:
        early = monitor.apply([("+", "ann", "bob", "wire")], times=1)
        late = monitor.apply([("+", "ann", "bob", "wire")], times=2)
        gone = monitor.apply([("-", "ann", "bob", "wire")], times=3)  # takes the oldest copy
        assert (early[0].positive, late[0].positive, gone[0].negative) == (0, 1, 0)
        assert gone.deleted is not None
        assert gone.deleted.attributes["time"].to_list() == [1]
        assert monitor.advance(12)[0].negative == 1


def test_a_deletion_names_its_copy_by_the_attributes_that_it_gives() -> None:
    with mf.Monitor(empty(), "(a)-[x WHERE x.amount > 0]->(b)") as monitor:
        rows = [("+", "ann", "bob", "wire")] * 3
        monitor.apply(rows, attributes={"amount": [5, 7, 7], "ref": ["p", "q", "r"]})
        deleted = [("-", "ann", "bob", "wire")] * 3
        delta = monitor.apply(deleted, attributes={"amount": [7, 8, None], "ref": ["r", None, None]})
        assert delta.deleted is not None
        assert delta.deleted.updates.tolist() == [0, 2]
        assert delta.deleted.attributes["ref"].to_list() == ["r", "p"]
        assert delta.noops == 1
        assert monitor.snapshot().edge_attributes["ref"].to_list() == ["q"]


def test_only_the_attributes_that_are_named_are_kept() -> None:
    with mf.Monitor(empty(), LARGE, attributes=["amount"]) as monitor:
        monitor.apply([("+", "ann", "bob", "wire")], attributes={"amount": [5], "ref": ["p"]}, times=1)
        assert list(monitor.snapshot().edge_attributes) == ["amount"]


def test_an_attribute_that_a_condition_asks_for_has_to_be_kept() -> None:
    with pytest.raises(mf.ArgumentError, match="attributes: expected 'amount' among them"):
        mf.Monitor(empty(), LARGE, attributes=["ref"])
    with mf.Monitor(empty(), attributes=["ref"]) as monitor:
        with pytest.raises(mf.ArgumentError, match="attributes: expected 'amount' among them"):
            monitor.add(LARGE)
        assert monitor.apply([("+", "ann", "bob", "wire")], attributes={"ref": ["p"]}).noops == 0


def test_edges_with_the_name_of_a_place_do_not_hide_others() -> None:
    graph = mf.Graph.from_edges([], num_vertices=3, directed=True)
    with mf.Monitor(graph, "(a)-[e1 WHERE e1.amount > 5]->(b)-->(c)", matches=True) as monitor:
        delta = monitor.apply([("+", 0, 1), ("+", 1, 2)], attributes={"amount": [9, 0]})
        found = {name: edges["amount"].to_list() for name, edges in delta[0].edges().items()}
    assert found == {"e1": [9], "e1_": [0]}


def test_without_conditions_attributes_are_left_alone() -> None:
    with mf.Monitor(empty(), "(a)-->(b)", matches=True) as monitor:
        delta = monitor.apply([("+", "ann", "bob", "wire")], attributes={"amount": [5]})
        assert not monitor.keeps_attributes
        assert delta.deleted is None
        with pytest.raises(mf.ArgumentError, match="attributes: expected Monitor"):
            delta[0].edges()


def test_conditions_may_come_later_if_attributes_are_kept() -> None:
    for options in ({"attributes": True}, {}):
        with mf.Monitor(empty(), "(a)-->(b)", **options) as monitor:
            if options:
                monitor.apply([("+", "ann", "bob", "wire")], attributes={"amount": [50]})
            pattern = monitor.add("(a)-[x WHERE x.amount > 10]->(b)")
            delta = monitor.apply([("+", "bob", "cy", "wire")], attributes={"amount": [20]})
            assert delta[pattern].positive == 1
            assert delta[0].positive == 1
            assert int(monitor.count(pattern)) == (2 if options else 1)


def test_conditions_cannot_come_after_updates_whose_attributes_were_not_kept() -> None:
    with mf.Monitor(empty(), "(a)-->(b)") as monitor:
        monitor.apply([("+", "ann", "bob", "wire")], attributes={"amount": [50]})
        with pytest.raises(mf.ArgumentError, match="attributes of earlier updates were not kept"):
            monitor.add("(a)-[x WHERE x.amount > 10]->(b)")
        assert monitor.apply([("+", "bob", "cy", "wire")])[0].positive == 1


def test_conditions_cannot_come_once_time_has_ended_edges_of_a_window() -> None:
    graph = mf.Graph.from_edges([(0, 1)], directed=True, edge_attributes={"when": [5], "amount": [7]})
    with mf.Monitor(graph, "(a)-->(b)", window="5s", edge_times="when") as monitor:
        assert monitor.advance(10)[0].negative == 1
        with pytest.raises(mf.ArgumentError, match="attributes of earlier updates were not kept"):
            monitor.add("(a)-[x WHERE x.amount > 1]->(b)")
        assert monitor.num_edges == 0


def test_a_pattern_that_does_not_fit_the_attributes_leaves_the_monitor_as_it_was() -> None:
    with mf.Monitor(empty(), LARGE) as monitor:
        monitor.apply([("+", "ann", "bob", "wire")], attributes={"amount": [500]})
        with pytest.raises(mf.PatternError, match="expected a number"):
            monitor.add("(a)-[x WHERE x.amount = 'much']->(b)")
        with pytest.raises(mf.PatternError, match="vertex attribute 'age': expected one of the graph's"):
            monitor.add("(a {age: 3})-[x WHERE x.amount = 5]->(b)")
        delta = monitor.apply([("+", "bob", "cy", "wire")], attributes={"amount": [500]})
        assert delta[0].positive == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"amount": ["many"]}, "attribute 'amount': expected integers as before, found strings"),
        ({"amount": [1, 2]}, "attribute 'amount': expected 1 value, found 2"),
        ({"": [1]}, "expected names that are not empty"),
        ([1], "expected columns by name"),
        ({"amount": [[1]]}, "attribute 'amount'"),
    ],
)
def test_attributes_that_do_not_fit_are_refused(given: Any, message: str) -> None:
    with mf.Monitor(empty(), LARGE) as monitor:
        monitor.apply([("+", "ann", "bob", "wire")], attributes={"amount": [500]})
        with pytest.raises(mf.StreamError, match=message):
            monitor.apply([("+", "bob", "cy", "wire")], attributes=given)
        assert monitor.num_edges == 1


def test_deletions_and_missing_values_determine_no_kind() -> None:
    with mf.Monitor(empty(), LARGE) as monitor:
        monitor.apply([("-", "ann", "bob", "wire")], attributes={"amount": ["n/a"], "memo": [7]})
        monitor.apply([("+", "ann", "cy", "wire")], attributes={"amount": [float("nan")], "memo": [None]})
        monitor.apply([("+", "ann", "bob", "wire")], attributes={"amount": [500], "memo": ["rent"]})
        edges = monitor.snapshot().edge_attributes
        assert (edges["amount"].to_list(), edges["memo"].to_list()) == ([500, None], ["rent", None])
        assert monitor.apply([("-", "ann", "bob", "wire")], attributes={"memo": ["due"]}).noops == 1
        monitor.apply([("-", "ann", "bob", "wire")], attributes={"amount": [500]})
        assert monitor.num_edges == 1


def test_attributes_that_no_condition_asks_for_become_strings() -> None:
    """What has the wrong kind does not stop a stream, and a call that fails leaves the kinds as they were."""
    with mf.Monitor(empty(), LARGE) as monitor:
        given = {"amount": [500], "ref": [7], "at": [np.datetime64("2026-01-02", "ns")], "paid": [True]}
        monitor.apply([("+", "ann", "bob", "wire")], attributes=given)
        texts = {"amount": ["much"], "ref": ["INV-3"], "at": ["later"], "paid": [0.5]}
        with pytest.raises(mf.StreamError, match="attribute 'amount': expected integers"):
            monitor.apply([("+", "bob", "cy", "wire")], attributes=texts)
        assert monitor.snapshot().edge_attributes["ref"].to_list() == [7]
        monitor.apply([("+", "bob", "cy", "wire")], attributes={**texts, "amount": [1]})
        edges = monitor.snapshot().edge_attributes
        assert edges["ref"].to_list() == ["7", "INV-3"]
        assert edges["at"].to_list() == ["2026-01-02T00:00:00.000000000", "later"]
        assert edges["paid"].to_list() == ["true", "0.5"]
        assert monitor.apply([("-", "ann", "bob", "wire")], attributes={"ref": [8]}).noops == 1
        monitor.apply([("-", "ann", "bob", "wire")], attributes={"ref": [7]})
        assert monitor.num_edges == 1


def test_integers_that_floats_cannot_hold_become_strings_where_nothing_compares_them() -> None:
    with mf.Monitor(empty(), LARGE) as monitor:
        monitor.apply([("+", "ann", "bob", "wire")], attributes={"ref": [2**53 + 1], "amount": [5]})
        monitor.apply([("+", "bob", "cy", "wire")], attributes={"ref": [0.5]})
        assert monitor.snapshot().edge_attributes["ref"].to_list() == [str(2**53 + 1), "0.5"]


@pytest.mark.parametrize("size", [1, 2, 1024])
def test_lines_with_references_of_several_kinds_are_read_in_batches_of_any_size(
    tmp_path: Path, size: int
) -> None:
    path = tmp_path / "transfers.csv"
    rows = ["ann,bob,wire,500,0", "bob,cy,wire,200,1", "cy,ann,wire,300,INV-3", "bob,ann,wire,400,007"]
    path.write_text("\n".join(["source,target,label,amount,ref", *rows]) + "\n")
    with mf.Monitor(empty(), LARGE) as monitor:
        totals = monitor.run(path, mf.stream.Nowhere(), batch_size=size, on_error="skip")
        refs = monitor.snapshot().edge_attributes["ref"].to_list()
    assert (totals.skipped, totals.updates) == (0, 4)
    assert sorted(refs) == ["0", "007", "1", "INV-3"]


MIXED = ["7", "007", "7.0", "0.50", "1e5", "2026-01-02", "2026-01-02T10:00:00Z", "true", "False", "INV-3"]
"""References of several kinds; the last one is in each stream."""


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1024])
@pytest.mark.parametrize("seed", range(8))
def test_deletions_find_copies_by_values_of_several_kinds_in_batches_of_any_size(
    tmp_path: Path, size: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    chosen = [MIXED[at] for at in random.permutation(len(MIXED) - 1)[:6]]
    chosen.insert(int(random.integers(7)), MIXED[-1])
    rows = [f"+,v{at},hub,wire,200,{ref}" for at, ref in enumerate(chosen)]
    rows += [f"-,v{at},hub,wire,,{ref}" for at, ref in enumerate(chosen)]
    path = tmp_path / "transfers.csv"
    path.write_text("\n".join(["op,src,dst,label,amount,ref", *rows]) + "\n")
    with mf.Monitor(empty(), LARGE) as monitor:
        totals = monitor.run(path, mf.stream.Nowhere(), batch_size=size)
        assert (monitor.num_edges, totals.updates) == (0, len(rows))


def test_a_column_whose_values_are_gone_takes_strings() -> None:
    column = GrowingColumn("ref")
    column.put(0, make_column([7, 8], "ref"))
    fewer = column.compacted(np.zeros(0, dtype=np.int64))
    fewer.put(0, make_column(["INV-3", "7"], "ref"), mixes=True)
    assert fewer.column(np.arange(2)).to_list() == ["INV-3", "7"]


def test_a_column_of_strings_that_numbers_join_is_put_back() -> None:
    column = GrowingColumn("ref")
    column.put(0, make_column(["007", "7", "x"], "ref"))
    state = column.state()
    column.put(3, make_column([7.0, 0.5], "ref"), mixes=True)
    assert column.column(np.arange(5)).to_list() == ["007", "007", "x", "007", "0.5"]
    assert len(set(column.words[[0, 1, 3]].tolist())) == 1
    column.back_to(state)
    assert column.column(np.arange(3)).to_list() == ["007", "7", "x"]
    column.put(3, make_column(["7", "y"], "ref"))
    assert column.words[3] == column.words[1] != column.words[0]


def test_patterns_are_counted_before_an_edge_has_the_attribute() -> None:
    with mf.Monitor(empty(), LARGE) as monitor:
        assert monitor.count(LARGE) == 0
        with pytest.warns(mf.MotifluxWarning, match="no attribute 'amount' so far"):
            monitor.apply([("+", "ann", "bob", "wire")])
        assert monitor.count(LARGE) == 0
        with pytest.raises(mf.PatternError, match="memo"):
            monitor.count("(a)-[x WHERE x.memo = 'rent']->(b)")


def test_values_of_another_kind_than_a_condition_asks_for_are_refused() -> None:
    with mf.Monitor(empty(), LARGE) as monitor, pytest.raises(mf.StreamError, match="expected a string"):
        monitor.apply([("+", "ann", "bob", "wire")], attributes={"amount": ["500"]})


def test_an_attribute_that_no_edge_has_is_told() -> None:
    with mf.Monitor(empty(), LARGE) as monitor:
        with pytest.warns(mf.MotifluxWarning, match="no attribute 'amount' so far"):
            monitor.apply([("+", "ann", "bob", "wire")], attributes={"amuont": [500]})
        monitor.apply([("+", "ann", "bob", "wire")])


def test_an_update_without_effect_is_an_error_in_a_strict_monitor() -> None:
    with mf.Monitor(empty(), LARGE, strict=True) as monitor:
        monitor.apply([("+", "ann", "bob", "wire")], attributes={"amount": [500]})
        rows = [("+", "bob", "cy", "wire"), ("-", "ann", "bob", "wire")]
        with pytest.raises(mf.StreamError, match="row 1: expected an edge that is there to delete"):
            monitor.apply(rows, attributes={"amount": [1, 7]})
        assert monitor.num_edges == 1


def test_edges_of_the_graph_keep_their_attributes_and_their_places_in_a_window() -> None:
    graph = mf.Graph.from_edges(
        (np.array(["ann", "ann"]), np.array(["bob", "bob"])),
        vertex_ids=np.array(["ann", "bob", "cy"]),
        directed=True,
        edge_labels=["wire", "wire"],
        edge_attributes={"amount": [500, 3], "when": [7, 4]},
    )
    with mf.Monitor(graph, "(a)-[x WHERE x.amount > 100]->(b)", window="5s", edge_times="when") as monitor:
        assert monitor.advance(9)[0].negative == 0  # the small copy has left
        assert monitor.num_edges == 1
        added = monitor.apply([("+", "bob", "cy", "wire")], times=11, attributes={"amount": [200]})
        assert (added[0].positive, added.expired) == (1, 0)
        assert monitor.advance(12)[0].negative == 1
        assert monitor.snapshot().edge_attributes["when"].to_list() == [11]


def test_a_saved_monitor_keeps_the_name_of_times(tmp_path: Path) -> None:
    path = tmp_path / "monitor"
    graph = mf.Graph.from_edges([(0, 1)], directed=True, edge_attributes={"when": [3], "amount": [7]})
    with mf.Monitor(graph, "(a)-[x WHERE x.when > 2]->(b)", window="5s", edge_times="when") as monitor:
        monitor.save(path)
    with mf.Monitor.load(path) as again:
        assert again.apply([("+", 1, 0)], times=4, attributes={"amount": [8]})[0].positive == 1
        assert again.snapshot().edge_attributes["when"].to_list() == [3, 4]
        assert list(again.snapshot().edge_attributes) == ["when", "amount"]


def test_a_monitor_that_keeps_attributes_says_that_the_cpu_matches() -> None:
    with mf.Monitor(empty(), LARGE) as monitor:
        monitor.apply([("+", "ann", "bob", "wire")], attributes={"amount": [500]})
        assert (monitor.engine, monitor.reason) == (
            "cpu",
            "copies of edges with attributes are matched on the CPU",
        )


def test_a_gpu_that_is_asked_for_is_not_used_with_a_warning() -> None:
    with pytest.warns(mf.MotifluxWarning, match="matched on the CPU"):
        monitor = mf.Monitor(empty(), LARGE, device="cuda")
    with monitor:
        assert (monitor.engine, monitor.device) == ("cpu", "cpu")


def test_rows_of_copies_that_are_gone_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("motiflux.stream.copies.store._LEAST_GONE", 8)
    with mf.Monitor(empty(), "(a)-[x WHERE x.amount > 0]->(b)", window=4) as monitor:
        for number in range(100):
            given = {"amount": [number % 7 - 3], "ref": [f"ref {number}"]}
            monitor.apply([("+", "ann", "bob", "wire")], attributes=given)
        assert monitor._copies is not None
        assert monitor._copies._held.copies.rows < 24
        assert monitor.snapshot().edge_attributes["ref"].to_list() == [f"ref {n}" for n in range(96, 100)]
        assert monitor.apply([("-", "ann", "bob", "wire")], attributes={"ref": ["ref 98"]}).noops == 0


def test_a_monitor_that_was_saved_twice_keeps_labels(tmp_path: Path) -> None:
    path = tmp_path / "monitor"
    with mf.Monitor(empty(), LARGE) as monitor:
        edges = [("+", "ann", "bob", "wire"), ("+", "bob", "cy", "wire")]
        monitor.apply(edges, attributes={"amount": [500, 600]})
        monitor.save(path)
    for _ in range(2):
        with mf.Monitor.load(path) as again:
            assert again.count(LARGE) == 1
            with pytest.raises(mf.StreamError, match="expected strings, as others have, found integers"):
                again.apply([("+", "bob", "cy", 3)], attributes={"amount": [500]})
            again.save(path)
    with mf.Monitor.load(path) as again:
        assert again.apply([("-", "ann", "bob", "wire")])[0].negative == 1


def test_checkpoints_keep_attributes(tmp_path: Path) -> None:
    path = tmp_path / "monitor"
    given = {"amount": [500.5, 3.0, None], "ref": ["p", None, "r"], "ok": [True, None, False]}
    moments = {"at": np.array(["2026-03-01", "NaT", "2026-03-02"], dtype="M8[s]")}
    with mf.Monitor(empty(), LARGE, window="1h") as monitor:
        monitor.apply([("+", "ann", "bob", "wire")] * 3, attributes={**given, **moments}, times=1)
        monitor.save(path)
    with mf.Monitor.load(path) as again:
        assert again.keeps_attributes
        found = {name: column.to_list() for name, column in again.snapshot().edge_attributes.items()}
        assert found == {
            **given,
            "at": [dt.datetime(2026, 3, 1), None, dt.datetime(2026, 3, 2)],
            "time": [1, 1, 1],
        }
        assert (
            again.apply([("+", "bob", "cy", "wire")], attributes={"amount": [100]}, times=2)[0].positive == 1
        )
        assert again.advance(3601)[0].negative == 1


@pytest.mark.turns(4)
@pytest.mark.parametrize("window", [None, "200s"])
@pytest.mark.parametrize("mode", ["sequence", "batch"])
def test_changes_add_up_to_recounts_at_hubs(mode: Any, window: str | None, tmp_path: Path) -> None:
    """Many copies, on two threads, with deletions that name some of them; and from a file in between."""
    draw = np.random.default_rng(3)
    patterns = [
        "(a)-[x WHERE x.amount > 5]->(b)-[y WHERE y.amount < 6 AND y.channel = 'web']->(c)-[:1]->(a)",
        "(a)-[x WHERE x.channel <> 'web']->(b)-[y]->(c), (b)-[w:0|2 WHERE w.amount IS NOT NULL]-(d)",
    ]
    graph = mf.Graph.from_edges(
        (np.array([0, 1]), np.array([1, 2])),
        num_vertices=30,
        directed=True,
        edge_labels=[0, 1],
        edge_attributes={"amount": [5.5, 1.0], "channel": ["web", "atm"]},
    )
    monitor = mf.Monitor(graph, patterns, mode=mode, window=window, threads=2)
    totals = [int(monitor.count(pattern)) for pattern in patterns]
    deleted = 0
    for step in range(4):
        size = 800
        ends = (30 * draw.random((size, 2)) ** 2).astype(np.int64)
        inserts = draw.random(size) < 0.6
        amounts = draw.integers(0, 10, size).tolist()
        channels = draw.choice(np.array(["web", "atm", "app"]), size).tolist()
        given: Any = {
            "amount": [one if draw.random() < 0.8 else None for one in amounts],
            "channel": [one if kept else None for one, kept in zip(channels, inserts, strict=True)],
        }
        times = 100 * step + np.arange(size) // 8
        labels = draw.integers(0, 3, size)
        sources, targets = ends.T.copy()
        updates = mf.Updates(inserts, sources, targets, labels, times, attributes=given)
        delta = monitor.apply(updates)
        assert delta.deleted is not None
        deleted += len(delta.deleted)
        for at, pattern in enumerate(patterns):
            totals[at] += delta[pattern].net
            assert totals[at] == int(monitor.count(pattern))
        if step == 1:
            monitor.save(tmp_path / "monitor")
            monitor.close()
            monitor = mf.Monitor.load(tmp_path / "monitor", threads=2)
    assert min(totals) > 0
    assert deleted > 50
    monitor.close()
