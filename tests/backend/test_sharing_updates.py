"""Searches from updates, whose groups of lanes share work: the same matches however they share it."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from typing import Any

import pytest

import motiflux as mf
from motiflux.codegen.changing import changing_source
from motiflux.codegen.kernels import WITHIN_BLOCK
from motiflux.config import PRIVATE, private_tuning
from motiflux.device import devices_like
from tests.property.test_monitor_engines import told

pytestmark = pytest.mark.devices("emulated", "cuda", reason="the CPU has no groups of lanes")

HUB = 0
MIDDLE, LEAVES, MORE_LEAVES = range(1, 7), range(7, 31), range(31, 51)
PATTERNS = ["(a:0)--(b:1)--(c:2)--(d:1)--(e:2)", "(a:0)--(b:1)--(c:2), (b)--(d:2), (b)--(e:2)"]
MEASURED = private_tuning({"measure": "utilisation"})
LONG = "(a:0)--(b:1)--(c:2)--(d:1)--(e:2)--(f:1)--(g:2)"
"""Long enough for checks of the queue, which groups make every 64 turns."""
STEALING = [None, *WITHIN_BLOCK]


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have groups look after every turn whether somebody waits: what is searched here is small."""
    monkeypatch.setattr("motiflux.codegen.changing.CHECK_TURNS", (1, 2))
    changing_source.cache_clear()
    yield
    changing_source.cache_clear()


def skewed() -> tuple[mf.Graph, list[tuple[str, int, int]]]:
    """Return a graph, and updates of which one leads to nearly all work.

    All leaves hang from all middle vertices. One update joins the hub to a middle vertex; the others give
    other middle vertices a leaf, and find no hub.
    """
    labels = [0, *(1 for _ in MIDDLE), *(2 for _ in LEAVES), *(2 for _ in MORE_LEAVES)]
    graph = mf.Graph.from_edges(
        list(itertools.product(MIDDLE, LEAVES)), num_vertices=len(labels), vertex_labels=labels
    )
    others = [("+", MIDDLE[2 + leaf % 4], leaf) for leaf in MORE_LEAVES]
    return graph, [*others[:8], ("+", HUB, MIDDLE[0]), *others[8:]]


def switches(stealing: str | None, outside: str, **more: str) -> dict[str, str]:
    asked = {"stealing": stealing or "none", "handover": outside, "measure": "utilisation", **more}
    return private_tuning(asked)


def changes(device: str, tuning: dict[str, str] | None = None, **options: Any) -> tuple[list[Any], mf.Delta]:
    """Apply the updates, then delete some edges; return all changes, and the first delta."""
    graph, updates = skewed()
    with mf.Monitor(graph, PATTERNS, device=device, tuning=tuning, **options) as monitor:
        first = monitor.apply(updates)
        second = monitor.apply([("-", HUB, MIDDLE[0]), ("-", MIDDLE[0], 7), ("-", MIDDLE[1], 8)])
        assert any(one.positive for one in first)
        assert any(one.negative for one in second)
        return [told(one) for one in (*first, *second)], first


@pytest.mark.parametrize("stealing", STEALING)
@pytest.mark.parametrize("outside", ["on", "off"])
@pytest.mark.parametrize("listed", [False, True], ids=["counted", "listed"])
def test_changes_are_those_of_the_cpu(
    device: str, stealing: str | None, outside: str, *, listed: bool
) -> None:
    for mode in ("batch", "sequence"):
        options: dict[str, Any] = {"mode": mode, "matches": listed}
        found, _ = changes(device, switches(stealing, outside), **options)
        assert found == changes("cpu", **options)[0]


@pytest.mark.parametrize("roots", PRIVATE["roots"].values)
@pytest.mark.parametrize("stealing", STEALING)
def test_a_group_may_take_whole_updates(device: str, roots: str, stealing: str | None) -> None:
    for mode in ("batch", "sequence"):
        found, _ = changes(device, switches(stealing, "on", roots=roots), mode=mode)
        assert found == changes("cpu", mode=mode)[0]


# With other policies the emulator lets one group do all before another begins.
takes_turns = pytest.mark.skipif(
    os.environ.get("MOTIFLUX_SIMT_POLICY", "random") != "random", reason="groups run one after the other"
)


@takes_turns
@pytest.mark.parametrize("stealing", WITHIN_BLOCK)
@pytest.mark.parametrize("listed", [False, True], ids=["counted", "listed"])
def test_the_work_of_one_update_is_stolen_within_a_block(device: str, stealing: str, *, listed: bool) -> None:
    measured = changes(device, switches(stealing, "off"), matches=listed)[1].measured
    assert measured["stolen"] > 0
    assert measured["given"] == 0


@takes_turns
def test_the_work_of_one_update_is_given_through_the_queue(device: str) -> None:
    graph, updates = skewed()
    deltas = []
    for options in ({"device": "cpu"}, {"device": device, "tuning": switches(None, "on")}):
        with mf.Monitor(graph, LONG, mode="batch", **options) as monitor:
            deltas.append(monitor.apply(updates))
    assert deltas[0][0].positive == deltas[1][0].positive > 0
    assert deltas[1].measured["stolen"] == 0
    assert deltas[1].measured["given"] > 0


def test_nothing_is_shared_unless_asked(device: str) -> None:
    measured = changes(device, switches(None, "off"))[1].measured
    assert (measured["stolen"], measured["given"]) == (0, 0)


@takes_turns
def test_the_engine_of_batches_steals_within_blocks_if_there_are_few_searches(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuning = private_tuning({"handover": "off", "measure": "utilisation"})
    monkeypatch.setattr("motiflux.gpu.changing.manner._FEW_ROOTS", 1000)
    assert changes(device, tuning, engine="batch")[1].measured["stolen"] > 0
    assert changes(device, tuning, engine="changing")[1].measured["stolen"] == 0
    monkeypatch.setattr("motiflux.gpu.changing.manner._FEW_ROOTS", 0)
    assert changes(device, tuning, engine="batch")[1].measured["stolen"] == 0


def test_utilisation_is_the_share_of_busy_cycles(device: str) -> None:
    delta = changes(device, switches("active", "on"))[1]
    measured = delta.measured
    assert 0 < measured["busy_cycles"] <= measured["cycles"]
    assert measured["utilisation"] == measured["busy_cycles"] / measured["cycles"]
    assert measured["groups"] >= 1


def test_several_devices_are_measured_together(device: str) -> None:
    if len(devices_like(device)) < 2:
        pytest.skip(f"needs two devices of kind {device!r}, found one")
    found, delta = changes(device, MEASURED, devices=2)
    assert found == changes("cpu")[0]
    assert 0 < delta.measured["busy_cycles"] <= delta.measured["cycles"]
    assert delta.measured["groups"] > changes(device, MEASURED)[1].measured["groups"]


def test_nothing_is_measured_unless_asked(device: str) -> None:
    assert changes(device)[1].measured == {}
    assert changes("cpu", private_tuning({"measure": "utilisation"}))[1].measured == {}


def test_a_call_is_measured_anew(device: str) -> None:
    graph, updates = skewed()
    with mf.Monitor(graph, PATTERNS, device=device, tuning=MEASURED) as monitor:
        assert monitor.apply(updates).measured["busy_cycles"] > 0
        assert monitor.apply([]).measured["busy_cycles"] == 0


@pytest.mark.parametrize("engine", ["changing", "batch"])
def test_engines_tell_their_names_and_how_they_share_work(device: str, engine: str) -> None:
    graph, updates = skewed()
    with mf.Monitor(graph, PATTERNS, device=device, engine=engine) as monitor:
        delta = monitor.apply(updates)
        assert (delta.engine, delta.device) == (engine, device)
        told, pools = monitor.explain(0).splitlines()[-2:]
        assert told.startswith(
            f"engine {engine} on {device}: a group of lanes for each update and query edge"
        )
        assert "partial matches are pooled" in pools
    expected, _ = changes("cpu")
    assert changes(device, engine=engine)[0] == expected
