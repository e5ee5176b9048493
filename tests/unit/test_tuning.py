"""Tuning switches: the public ones are few, and the others are for tests and benchmarks."""

from __future__ import annotations

from typing import Any

import pytest

import motiflux as mf
from motiflux.config import PRIVATE, REMOVED, TUNING, Tuning, private_tuning, resolve_tuning
from motiflux.errors import ArgumentError
from motiflux.request.request import make_request
from tests.unit.cli_run import motiflux

EDGES = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]
SQUARE = "(a)--(b)--(c)--(d)--(a)"
MOST_PUBLIC = 34


@pytest.fixture
def graph() -> mf.Graph:
    return mf.Graph.from_edges(EDGES)


def test_users_have_few_switches() -> None:
    assert len(TUNING) <= MOST_PUBLIC
    assert not TUNING.keys() & PRIVATE.keys()


def test_every_switch_has_its_default_among_its_values() -> None:
    for name, option in {**TUNING, **PRIVATE}.items():
        assert option.name == name
        assert option.default in option.values


def test_it_is_known_what_there_is_instead_of_each_other_switch() -> None:
    assert PRIVATE.keys() <= REMOVED.keys()
    assert not TUNING.keys() & REMOVED.keys()


@pytest.mark.parametrize("name", REMOVED)
def test_a_switch_that_users_cannot_set_is_refused_with_what_there_is_instead(
    graph: mf.Graph, name: str
) -> None:
    tuning = {name: "off"}
    calls: list[Any] = [
        lambda: mf.count(graph, SQUARE, tuning=tuning),
        lambda: mf.match(graph, SQUARE, tuning=tuning),
        lambda: mf.estimate(graph, SQUARE, tuning=tuning),
        lambda: mf.explain(graph, SQUARE, tuning=tuning),
        lambda: mf.Monitor(graph, SQUARE, tuning=tuning),
    ]
    for call in calls:
        with pytest.raises(ArgumentError) as caught:
            call()
        assert (
            str(caught.value) == f"tuning['{name}']: expected no such switch ({REMOVED[name]}), found 'off'"
        )


@pytest.mark.parametrize("name", ["dispatch", "rows"])
def test_the_command_line_refuses_it_too(name: str) -> None:
    found = motiflux("count", "graph.txt", SQUARE, "--set", f"{name}=off")
    assert found.exit_code == 2
    reason = REMOVED[name].replace("device='cpu'", "--device cpu").replace("device='cuda'", "--device cuda")
    assert found.stderr == f"error: --set {name}=off: expected no such switch ({reason}), found '{name}'\n"


@pytest.mark.parametrize("name", PRIVATE)
def test_tests_can_set_every_switch(graph: mf.Graph, name: str) -> None:
    for value in PRIVATE[name].values:
        tuning = private_tuning({name: value})
        assert tuning[name] == value
        assert mf.count(graph, SQUARE, tuning=tuning) == 8
        assert len(mf.match(graph, SQUARE, tuning=tuning).to_numpy()) == 8
        assert mf.estimate(graph, SQUARE, samples=320, tuning=tuning).complete
        monitor = mf.Monitor(graph, SQUARE, tuning=tuning)
        assert monitor.apply(deletes=[(0, 1)])[0].negative == 8


def test_what_was_resolved_is_taken_as_it_is() -> None:
    tuning = private_tuning({"room": "off"})
    assert resolve_tuning(tuning) is tuning
    again = resolve_tuning({**tuning, "tail": "off"})
    assert (again["room"], again["tail"]) == ("off", "off")
    with pytest.raises(ArgumentError, match="tuning\\['room'\\]: expected one of on, off, found 'some'"):
        resolve_tuning({**tuning, "room": "some"})


def test_a_checked_mapping_is_printed_as_what_makes_it() -> None:
    assert repr(private_tuning({"room": "off", "tail": "on"})) == "private_tuning({'room': 'off'})"
    assert isinstance(resolve_tuning(None), Tuning)


def test_requests_of_private_switches_are_remembered_too() -> None:
    first, second = (
        make_request(semantics="isomorphism", symmetry="embeddings", tuning=private_tuning({"rest": "off"}))
        for _ in range(2)
    )
    assert first is second
    assert first.switches == tuple(first.tuning.values())


def test_a_monitor_that_was_saved_keeps_private_switches(graph: mf.Graph, tmp_path: Any) -> None:
    mf.Monitor(graph, SQUARE, tuning=private_tuning({"put_off": "off"})).save(tmp_path / "saved.mfc")
    monitor = mf.Monitor.load(tmp_path / "saved.mfc")
    assert monitor._options.switches["put_off"] == "off"
