"""Calls that come again are neither checked nor planned anew, and never taken for others."""

from __future__ import annotations

from typing import Any

import pytest

import motiflux as mf
from motiflux.engine import accelerator as accelerator_module
from motiflux.engine import calls
from motiflux.engine.accelerator import Accelerator, open_accelerator
from motiflux.errors import ArgumentError
from tests.device.test_resting import DIAMOND, HOUSE, WAYS, random_graph

pytestmark = pytest.mark.devices("emulated", "cuda", reason="it has no kernels")


@pytest.fixture
def graph() -> mf.Graph:
    return random_graph(7)


def kept(graph: mf.Graph) -> dict[Any, Any]:
    return dict(graph.memo._pools.get("calls", {}))


def refuse(*_: object, **__: object) -> None:
    raise AssertionError("it was settled again")


@pytest.mark.parametrize("way", WAYS)
def test_what_comes_again_is_not_settled_again(
    way: str, graph: mf.Graph, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pattern, tuning = WAYS[way]
    first = mf.count(graph, pattern, device=device, tuning=tuning)
    assert first == mf.count(graph, pattern, device="cpu")
    for name in ("choose_engine", "plan_for"):
        monkeypatch.setattr(f"motiflux.engine.several.{name}", refuse)
    again = mf.count(graph, pattern, device=device, tuning=tuning)
    assert (again, again.complete) == (first, first.complete)
    assert (again.engine, again.device, again.reason) == (first.engine, first.device, first.reason)
    with pytest.raises(AssertionError):
        mf.count(graph, pattern, device=device, tuning=tuning, limit=10**6)


def test_calls_that_differ_in_anything_are_told_apart(graph: mf.Graph, device: str) -> None:
    asked: list[dict[str, Any]] = [
        {},
        {"symmetry": "subgraphs"},
        {"semantics": "induced"},
        {"semantics": "homomorphism"},
        {"limit": 3},
        {"tuning": {"tables": "on"}},
        {"tuning": {"tables": "off"}},
    ]
    texts = [DIAMOND, HOUSE]
    expected = [int(mf.count(graph, text, device="cpu", **one)) for text in texts for one in asked]
    for _ in range(3):
        found = [mf.count(graph, text, device=device, **one) for text in texts for one in asked]
        assert found == expected


def test_what_equals_an_argument_but_is_none_is_still_refused(graph: mf.Graph, device: str) -> None:
    assert mf.count(graph, DIAMOND, device=device, limit=1) == 1
    for wrong in (True, 1.0):
        with pytest.raises(ArgumentError, match="limit"):
            mf.count(graph, DIAMOND, device=device, limit=wrong)  # type: ignore[call-overload]
    with pytest.raises(ArgumentError, match="tuning"):
        mf.count(graph, DIAMOND, device=device, tuning={"tables": ["on"]})  # type: ignore[dict-item, call-overload]


def test_a_device_that_was_opened_anew_is_asked_itself(
    graph: mf.Graph, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = mf.count(graph, DIAMOND, device=device)
    first = open_accelerator(device)
    made: list[Accelerator] = []

    def make() -> Accelerator:
        made.append(Accelerator(first.device, first.compiler))
        return made[-1]

    monkeypatch.setitem(accelerator_module._makers, device, make)
    monkeypatch.setattr(accelerator_module, "_open", {})
    assert mf.count(graph, DIAMOND, device=device) == expected
    assert [call.engine._accelerator for call in kept(graph).values()] == made
    assert len(made) == 1


def test_a_graph_that_forgets_knows_no_call(graph: mf.Graph, device: str) -> None:
    mf.count(graph, DIAMOND, device=device)
    assert len(kept(graph)) == 1
    graph.forget()
    assert not kept(graph)
    assert mf.count(graph, DIAMOND, device=device) == mf.count(graph, DIAMOND, device="cpu")


def test_patterns_made_for_one_call_each_push_out_no_plans(graph: mf.Graph, device: str) -> None:
    expected = mf.count(graph, "(a)--(b)--(c)--(a)", device="cpu")
    mf.count(graph, "(a)--(b)--(c)--(a)", device=device)
    plans = len(graph.memo._results)
    for _ in range(calls._MOST + 5):
        triangle = mf.Pattern.parse("(a)--(b)--(c)--(a)", name="one of many")
        triangle = mf.Pattern(triangle.vertices, triangle.edges)
        assert mf.count(graph, triangle, device=device) == expected
    assert len(kept(graph)) == calls._MOST
    assert len(graph.memo._results) < plans + 10


def test_calls_that_somebody_watches_are_not_kept(graph: mf.Graph, device: str) -> None:
    mf.count(graph, DIAMOND, device=device, progress=lambda _: None)
    mf.count(graph, DIAMOND, device="cpu")
    assert not kept(graph)
