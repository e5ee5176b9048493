"""Calls that come again are neither checked nor planned anew, and never taken for others."""

from __future__ import annotations

from typing import Any

import pytest
from motiflux.dispatch.runtime_history import RuntimeHistory

import motiflux as mf
from motiflux.api import pattern_list
from motiflux.config import private_tuning
from motiflux.dispatch import prepared_query
from motiflux.dispatch.auto import AutoEngine, KnownFaster
from motiflux.dispatch.prepared_query import known_call
from motiflux.errors import ArgumentError
from motiflux.gpu.engine import DfsEngine
from motiflux.gpu.runtime import accelerator as accelerator_module
from motiflux.gpu.runtime.accelerator import Accelerator, open_accelerator
from motiflux.request.request import Request
from tests.device.test_job_pool import DIAMOND, HOUSE, WAYS, random_graph
from tests.unit.dispatch_cases import NO_MEMORY, FakeEngine, FakeGpu

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
        monkeypatch.setattr(f"motiflux.api.pattern_list.{name}", refuse)
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
    assert [call.settled.engine._accelerator for call in kept(graph).values()] == made
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
    for _ in range(prepared_query._MOST + 5):
        triangle = mf.Pattern.parse("(a)--(b)--(c)--(a)", name="one of many")
        triangle = mf.Pattern(triangle.vertices, triangle.edges)
        assert mf.count(graph, triangle, device=device) == expected
    assert len(kept(graph)) == prepared_query._MOST
    assert len(graph.memo._results) < plans + 10


def test_calls_that_somebody_watches_are_not_kept(graph: mf.Graph, device: str) -> None:
    mf.count(graph, DIAMOND, device=device, progress=lambda _: None)
    mf.count(graph, DIAMOND, device="cpu")
    assert not kept(graph)


LEARNED = 6
"""Counts after which it is known who is faster, and one more."""


def learn(graph: mf.Graph) -> None:
    for _ in range(LEARNED):
        mf.count(graph, DIAMOND)


class TestOpenChoices:
    """``device="auto"``: kept once the GPU is known to be the faster one, and as long as it is."""

    @pytest.fixture
    def gpu_engine(self, device: str) -> DfsEngine:
        return DfsEngine(open_accelerator(device))

    @pytest.fixture
    def host(self) -> FakeEngine:
        """Return a CPU that never is done before the device is, however slow that is emulated."""
        return FakeEngine(300.0)

    @pytest.fixture
    def took(self, monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
        """Have what engines took be these seconds, whatever the clock says."""
        took, remember = {"CPU": 0.2, "GPU": 0.001}, RuntimeHistory.took
        monkeypatch.setattr(
            RuntimeHistory, "took", lambda self, engine, _: remember(self, engine, took[engine])
        )
        return took

    @pytest.fixture
    def settlings(
        self, host: FakeEngine, gpu_engine: DfsEngine, took: object, monkeypatch: pytest.MonkeyPatch
    ) -> list[Request]:
        """Have ``"auto"`` choose between a slow CPU and the device; return each request that it looks at."""
        auto = AutoEngine(host, FakeGpu(gpu_engine, 1e-9))
        looked: list[Request] = []
        monkeypatch.setattr(
            pattern_list, "choose_engine", lambda request: (looked.append(request), (auto, ""))[1]
        )
        return looked

    def test_are_settled_until_the_gpu_is_known(self, graph: mf.Graph, settlings: list[Request]) -> None:
        expected = mf.count(graph, DIAMOND, device="cpu")
        settlings.clear()
        for _ in range(LEARNED):
            found = mf.count(graph, DIAMOND)
            assert (found, found.complete) == (expected, True)
        assert 2 < len(settlings) < LEARNED
        assert (found.engine, found.reason) == ("dfs", "the GPU was faster before")
        assert [type(call.settled) for call in kept(graph).values()] == [KnownFaster]

    def test_are_settled_anew_where_the_cpu_turns_out_faster(
        self, graph: mf.Graph, settlings: list[Request], host: FakeEngine, took: dict[str, float]
    ) -> None:
        expected = mf.count(graph, DIAMOND, device="cpu")
        learn(graph)
        (call,) = kept(graph).values()
        took["CPU"] = host.seconds = 0.0
        for _ in range(2):
            call.settled.met.took("CPU", 0.0)
        settlings.clear()
        assert mf.count(graph, DIAMOND) == expected
        assert len(settlings) == 1

    def test_are_counted_by_the_cpu_where_the_gpu_refuses(
        self,
        graph: mf.Graph,
        settlings: list[Request],
        host: FakeEngine,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        expected = mf.count(graph, DIAMOND, device="cpu")
        learn(graph)
        host.seconds = 0.0

        def refused(*_: object) -> None:
            raise NO_MEMORY

        settlings.clear()
        monkeypatch.setattr(DfsEngine, "count_in", refused)
        found = mf.count(graph, DIAMOND)
        assert (found, settlings, found.engine) == (expected, [], "fake")
        assert found.reason.startswith("the GPU cannot do it")
        (call,) = kept(graph).values()
        assert known_call(graph, call.pattern, call.request) is None

    @pytest.mark.parametrize("options", [{"limit": 10**6}, {"tuning": private_tuning({"dispatch": "race"})}])
    def test_are_not_kept_where_nothing_is_learned(
        self, options: dict[str, Any], graph: mf.Graph, settlings: list[Request]
    ) -> None:
        for _ in range(LEARNED):
            mf.count(graph, DIAMOND, **options)
        assert len(settlings) == LEARNED
        assert not kept(graph)
