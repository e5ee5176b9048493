"""Counts at each vertex of a monitor: arguments, alerts, calls that fail, feeds and the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.stream import Nowhere, VertexAlert
from motiflux.stream.matching.vertex_counts import words_of
from tests.unit.cli_run import motiflux

PATH = "(a)-->(c)-->(b)"


@pytest.fixture
def bank() -> mf.Graph:
    return mf.Graph.from_edges([("ann", "hub"), ("bob", "hub")], directed=True)


def test_arguments_are_checked(bank: mf.Graph) -> None:
    for options, message in (
        ({"per_vertex": "z"}, "per_vertex: .*a, c, b"),
        ({"per_vertex": 1.5}, "per_vertex"),
        ({"alert": 5}, "alert: expected None, or per_vertex="),
        ({"per_vertex": "c", "alert": 0}, "alert"),
        ({"per_vertex": "c", "alert_down": True}, "alert_down"),
    ):
        with pytest.raises(mf.ArgumentError, match=message):
            mf.Monitor(bank, PATH, **options)  # type: ignore[arg-type]
    with pytest.raises(mf.ArgumentError, match="per_vertex"):
        mf.Monitor(bank, PATH).per_vertex()
    with pytest.raises(mf.ArgumentError, match="per_vertex: expected None beside a query"):
        mf.Monitor(bank, "(a)-[*1..2]->(b)", per_vertex="b")


def test_alerts_tell_each_passing_and_the_callback_gets_them(bank: mf.Graph) -> None:
    told: list[VertexAlert] = []
    monitor = mf.Monitor(bank, PATH, per_vertex="c", alert=3, alert_down=True)
    monitor.on_alert = told.append
    delta = monitor.apply(
        [("+", "hub", "dee"), ("+", "hub", "eve"), ("-", "hub", "eve"), ("+", "ann", "new")]
    )
    passed = [(one.vertex, one.update, one.before, one.count, one.up) for one in delta.alerts]
    assert passed == [("hub", 1, 2, 4, True), ("hub", 2, 4, 2, False)]
    assert tuple(told) == delta.alerts
    assert monitor.per_vertex()["new"] == 0


def test_without_alert_down_only_growth_is_told(bank: mf.Graph) -> None:
    monitor = mf.Monitor(bank, PATH, per_vertex=1, alert=3, mode="batch")
    assert [one.count for one in monitor.apply(inserts=[("hub", "dee"), ("hub", "eve")]).alerts] == [4]
    assert monitor.apply(deletes=[("hub", "dee")]).alerts == ()


def test_a_call_that_fails_changes_no_count(bank: mf.Graph) -> None:
    monitor = mf.Monitor(bank, PATH, per_vertex="c", matches=True)

    def fail(found: Any) -> None:
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        monitor.run([("+", "hub", "dee")], fail)
    assert monitor.per_vertex()["hub"] == 0
    with pytest.raises(mf.StreamError):
        monitor.apply([("+", "hub", "dee"), ("+", "hub", None)])
    assert monitor.per_vertex()["hub"] == 0
    monitor.apply([("+", "hub", "dee")])
    assert monitor.per_vertex()["hub"] == 2


def test_runs_and_feeds_keep_counts_in_step(bank: mf.Graph) -> None:
    monitor = mf.Monitor(bank, PATH, per_vertex="c")
    rows = [("+", "hub", str(at)) for at in range(50)]
    assert monitor.run(rows[:20], Nowhere(), batch_size=7)[0].positive == 40
    assert sum(delta[0].positive for delta in monitor.run(rows[20:], batch_size=7)) == 60
    with monitor.feed() as feed:
        feed.write([("-", "hub", "0"), ("+", "hub", "ann")])
    found = mf.count_per_vertex(monitor.snapshot(), PATH, "c")
    kept = monitor.per_vertex()
    assert kept["hub"] == found["hub"] == 99
    assert kept.to_arrow().column_names == ["id", "count"]


def test_counts_beyond_64_bits_are_python_integers(bank: mf.Graph) -> None:
    monitor = mf.Monitor(bank, PATH, per_vertex="c", alert=2**63 - 1)
    set_counts(monitor, 2**63 - 2)
    alerts = monitor.apply([("+", "hub", "dee"), ("+", "hub", "eve")]).alerts
    assert monitor.per_vertex()["hub"] == 2**63 + 2
    assert [(one.update, one.before, one.count) for one in alerts] == [(0, 2**63 - 2, 2**63)]


def test_counts_beyond_127_bits_are_an_error_and_change_nothing(bank: mf.Graph) -> None:
    monitor = mf.Monitor(bank, PATH, per_vertex="c")
    set_counts(monitor, 2**127 - 2)
    with pytest.raises(mf.CountOverflowError, match=r"at a vertex exceeds 2\^127 - 1"):
        monitor.apply([("+", "hub", "dee"), ("+", "ann", "eve")])
    assert monitor.per_vertex()["hub"] == 2**127 - 2
    assert monitor.num_edges == 2
    monitor.apply([("+", "ann", "eve")])
    assert monitor.per_vertex()["ann"] == 2**127 - 2


def set_counts(monitor: mf.Monitor, count: int) -> None:
    """Have the counts of all vertices of a monitor with one pattern begin with a number."""
    assert monitor._counting is not None
    words = words_of(np.full(monitor.num_vertices, count, object))
    monitor._counting.watch(monitor._open(), monitor.patterns[0], 0, words)


def test_the_command_line_tells_alerts_and_the_greatest_counts(tmp_path: Path) -> None:
    graph, stream = tmp_path / "bank.txt", tmp_path / "updates.stream"
    graph.write_text("1 2\n3 2\n")
    stream.write_text("e 2 4\ne 2 5\n")
    options = ["--directed", "--pattern", PATH, "--per-vertex", "c", "--alert", "4"]
    found = motiflux("watch", graph, stream, *options, "--json")
    told = json.loads(found.stdout)
    assert (told["greatest"], told["alerts"]) == ([[[2, 4]]], 1)
    assert "alert: 2 reached 4 (was 2)" in found.stderr
    found = motiflux("watch", graph, stream, *options, "-o", tmp_path / "matches.csv")
    assert "greatest counts at vertices:\n  2  4\n" in found.stdout
