"""Monitors that begin with a graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.serve.service import Service
from tests.serve.test_durability import RING, edges, fed, killed, service_in
from tests.serve.transfers import PATTERNS, lines, transfers


def begun_with(folder: Path, graph: mf.Graph, **more: Any) -> dict[str, Any]:
    mf.write_graph(graph, folder / "bank.mfg")
    given = service_in(folder)
    given["monitors"] = [{"name": "main", "graph": str(folder / "bank.mfg"), **more}]
    return given


def counts(service: Service) -> dict[str, tuple[int, int]]:
    return {row.settings.name: (row.positive, row.negative) for row in service.patterns()}


@pytest.mark.turns(4)
@pytest.mark.parametrize("attributes", [False, True])
def test_updates_are_matched_in_the_graph_that_a_monitor_began_with(tmp_path: Path, attributes: bool) -> None:
    made = transfers(400, accounts=12, seed=3)
    there = [(one["src"], one["dst"]) for one in made[:200] if one["op"] == "+" and one["src"] != one["dst"]]
    graph = mf.Graph.from_edges(there, directed=True)
    given = begun_with(tmp_path, graph, attributes=attributes)
    given["patterns"][0]["backfill"] = True
    rows = [(one["op"], one["src"], one["dst"]) for one in made[200:]]
    with mf.Monitor(graph, list(PATTERNS.values()), symmetry="subgraphs") as monitor:
        delta = monitor.apply(rows)
        known = {name: (one.positive, one.negative) for name, one in zip(PATTERNS, delta, strict=True)}
        present = int(monitor.count(PATTERNS["ring3"]))
    with Service(given) as service:  # it has no checkpoint, and the file is gone afterwards
        fed(service, lines(made[200:300]))
        killed(service)
    (tmp_path / "bank.mfg").unlink()
    with Service(given) as service:
        assert service.engine.replayed == 100
        fed(service, lines(made[300:]))
        assert counts(service) == known
    for _ in range(3):
        with Service(given) as service:
            fed(service, edges([("x", "y")]))
            assert counts(service) == known
            assert service.patterns()[0].present == present
            assert service.engine.monitors["main"].monitor.num_edges > graph.num_edges / 2
    assert not (tmp_path / "state/main.initial").exists()


@pytest.mark.parametrize("times", [[0, 100], [0.0, 100.0], np.array([0, 100], dtype="datetime64[s]")])
def test_edges_of_the_graph_leave_the_window_by_their_times(tmp_path: Path, times: Any) -> None:
    graph = mf.Graph.from_edges(RING[:2], directed=True, edge_attributes={"at": times})
    given = begun_with(tmp_path, graph, window="1h", graph_times="at")
    with Service(given) as service:
        fed(service, edges(RING[2:], time=3500))
        assert counts(service)["ring3"] == (1, 0)
        fed(service, edges([("x", "y")], time=3599))
        assert counts(service)["ring3"] == (1, 0)
        fed(service, edges([("x", "y")], time=3600))
        assert counts(service)["ring3"] == (1, 1)
    given["monitors"][0]["name"] = "forever"
    del given["monitors"][0]["graph_times"]
    with Service(given) as service:
        fed(service, edges(RING[2:], time=10**7))
        assert counts(service)["ring3"] == (1, 0)


@pytest.mark.parametrize(
    ("graph", "more", "said"),
    [
        (mf.Graph.from_edges([(0, 1)], directed=True), {}, "stream.ids = 'text', found integer"),
        (mf.Graph.from_edges([("a", "b")]), {}, "directed"),
        (
            mf.Graph.from_edges([("a", "b")], directed=True, vertex_ids=["a", "b"], vertex_labels=["x", "y"]),
            {},
            "stream.vertex_labels = None, found text",
        ),
        (
            mf.Graph.from_edges([("a", "b")], directed=True, edge_labels=[4]),
            {},
            "stream.labels = None, found integer",
        ),
        (
            mf.Graph.from_edges([("a", "b")], directed=True),
            {"window": "1h", "graph_times": "at"},
            "times, at, found none",
        ),
    ],
)
def test_a_graph_that_does_not_fit_the_stream_is_refused(
    tmp_path: Path, graph: mf.Graph, more: dict[str, Any], said: str
) -> None:
    given = begun_with(tmp_path, graph, **more)
    with pytest.raises(mf.FormatError, match=r"bank\.mfg: the graph of the monitor 'main'") as caught:
        Service(given)
    assert said in str(caught.value)
    with Service(service_in(tmp_path)) as service:  # nothing of it is kept
        fed(service, edges(RING))
        assert counts(service)["ring3"] == (1, 0)


def test_a_missing_graph_is_named_and_its_times_need_it(tmp_path: Path) -> None:
    given = service_in(tmp_path)
    given["monitors"] = [{"name": "main", "graph": str(tmp_path / "no.mfg")}]
    with pytest.raises(mf.FormatError, match=r"no\.mfg"):
        Service(given)
    given["monitors"] = [{"name": "main", "graph_times": "at"}]
    with pytest.raises(mf.FormatError, match=r"monitors\[0\]\.graph_times: expected graph"):
        Service(given)


def test_a_new_monitor_of_an_earlier_name_begins_empty(tmp_path: Path) -> None:
    given = begun_with(tmp_path, mf.Graph.from_edges(RING[:2], directed=True))
    with Service(given) as service:
        fed(service, edges(RING[2:]))
        assert counts(service)["ring3"] == (1, 0)
    with Service({**given, "monitors": [{"name": "other"}]}):
        pass
    with Service({**given, "monitors": [{"name": "main"}]}) as service:
        assert service.engine.monitors["main"].monitor.num_edges == 0
