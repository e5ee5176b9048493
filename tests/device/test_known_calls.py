"""Calls that come again are neither chosen for nor planned anew, and never taken for others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

import motiflux as mf
from motiflux.dispatch import prepared_query as prepared_query_module
from motiflux.dispatch.auto import AutoEngine
from motiflux.dispatch.prepared_query import PreparedQuery
from motiflux.errors import ArgumentError, DeviceError
from motiflux.gpu.engine import DfsEngine
from motiflux.gpu.runtime import accelerator as accelerator_module
from motiflux.gpu.runtime.accelerator import Accelerator, open_accelerator
from motiflux.jit import Compiler, KernelCache
from motiflux.request.progress import FoundSoFar
from motiflux.request.request import Request
from tests.device.test_device_engine import Gate
from tests.device.test_job_pool import DIAMOND, HOUSE, WAYS, random_graph
from tests.executing import engine_on
from tests.unit.dispatch_cases import ENDLESS, NO_MEMORY, FakeEngine, FakeGpu

if TYPE_CHECKING:
    from motiflux.device.base import Device

pytestmark = pytest.mark.devices("emulated", "cuda", reason="it has no kernels")


@pytest.fixture
def graph() -> mf.Graph:
    return random_graph(7)


def kept(graph: mf.Graph) -> list[PreparedQuery]:
    return [*graph.memo._pools.get("prepared queries", {}).values()]


def refuse(*_: object, **__: object) -> None:
    raise AssertionError("it was settled again")


def settle_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have whatever chooses an engine or plans fail."""
    monkeypatch.setattr("motiflux.api.pattern_list.choose_engine", refuse)
    plan_no_more(monkeypatch)


def plan_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("motiflux.gpu.engine.DfsEngine", "motiflux.cpu.engine.CpuEngine"):
        monkeypatch.setattr(f"{name}.plan", refuse)


@pytest.mark.turns(8, "emulated")
@pytest.mark.parametrize("way", WAYS)
def test_what_comes_again_is_not_settled_again(
    way: str, graph: mf.Graph, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pattern, tuning = WAYS[way]
    first = mf.count(graph, pattern, device=device, tuning=tuning)
    assert first == mf.count(graph, pattern, device="cpu")
    settle_no_more(monkeypatch)
    again = mf.count(graph, pattern, device=device, tuning=tuning)
    assert (again, again.complete) == (first, first.complete)
    assert (again.engine, again.device, again.reason) == (first.engine, first.device, first.reason)
    with pytest.raises(AssertionError):
        mf.count(graph, pattern, device=device, tuning=tuning, limit=10**6)


def test_what_comes_again_on_the_cpu_is_not_settled_again(
    graph: mf.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = mf.count(graph, DIAMOND, device="cpu")
    settle_no_more(monkeypatch)
    again = mf.count(graph, DIAMOND, device="cpu")
    assert (again, again.engine, again.reason) == (first, "cpu", "asked for by device='cpu'")


def test_what_comes_again_is_known_whoever_watches(
    graph: mf.Graph, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def first(_: mf.ProgressReport) -> None: ...
    def second(_: mf.ProgressReport) -> None: ...

    expected = mf.count(graph, DIAMOND, device=device, progress=first)
    settle_no_more(monkeypatch)
    told: list[object] = []
    plainly = DfsEngine.count

    def count(engine: DfsEngine, searched: mf.Graph, physical: Any, request: Request, *more: Any) -> Any:
        progress = request.progress
        told.append(progress._report if isinstance(progress, FoundSoFar) else progress)
        return plainly(engine, searched, physical, request, *more)

    monkeypatch.setattr(DfsEngine, "count", count)
    for progress in (second, False):
        assert mf.count(graph, DIAMOND, device=device, progress=progress) == expected
    assert told == [second, None]
    assert len(kept(graph)) == 1


@pytest.mark.turns(8, "emulated")
def test_lists_of_patterns_know_what_came_alone_and_the_other_way_round(
    graph: mf.Graph, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [DIAMOND, HOUSE]
    expected = [int(mf.count(graph, text, device="cpu")) for text in texts]
    assert mf.count(graph, DIAMOND, device=device) == expected[0]
    assert mf.count(graph, texts, device=device) == expected
    plan_no_more(monkeypatch)
    assert mf.count(graph, texts, device=device) == expected
    settle_no_more(monkeypatch)
    assert mf.count(graph, HOUSE, device=device) == expected[1]


@pytest.mark.turns(8, "emulated")
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
    assert [query.engine.group.first for query in kept(graph)] == made  # type: ignore[attr-defined]
    assert len(made) == 1


def test_a_graph_that_forgets_knows_no_call(graph: mf.Graph, device: str) -> None:
    mf.count(graph, DIAMOND, device=device)
    assert len(kept(graph)) == 1
    graph.forget()
    assert not kept(graph)
    assert mf.count(graph, DIAMOND, device=device) == mf.count(graph, DIAMOND, device="cpu")


def test_equal_patterns_made_for_one_call_each_are_one_query(
    graph: mf.Graph, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "(a)--(b)--(c)--(a)"
    expected = mf.count(graph, text, device="cpu")
    graph.forget()
    mf.count(graph, text, device=device)
    results = len(graph.memo._results)
    settle_no_more(monkeypatch)
    for _ in range(5):
        triangle = mf.Pattern.parse(text)
        triangle = mf.Pattern(triangle.vertices, triangle.edges)
        assert mf.count(graph, triangle, device=device) == expected
    assert (len(kept(graph)), len(graph.memo._results)) == (1, results)


@pytest.mark.turns(8, "emulated")
def test_queries_that_are_new_each_time_push_out_queries_but_no_plans(graph: mf.Graph, device: str) -> None:
    text = "(a)--(b)--(c)--(a)"
    expected = mf.count(graph, text, device="cpu")
    mf.count(graph, text, device=device)
    results = len(graph.memo._results)
    for more in range(prepared_query_module._MOST + 5):
        assert mf.count(graph, text, device=device, limit=10**6 + more) == expected
    assert len(kept(graph)) == prepared_query_module._MOST
    assert len(graph.memo._results) < results + 10


class TestOpenChoices:
    """``device="auto"``: chosen for again at the second call, and kept while nothing speaks against it."""

    @pytest.fixture
    def expected(self, graph: mf.Graph) -> int:
        found = int(mf.count(graph, DIAMOND, device="cpu"))
        graph.forget()
        return found

    @pytest.fixture
    def gpu_behind(self, device: str) -> FakeGpu:
        """Return the device under test, which is expected to take no time."""
        return FakeGpu(engine_on(open_accelerator(device)), 1e-9)

    @pytest.fixture
    def choices(self, expected: int, gpu_behind: FakeGpu, monkeypatch: pytest.MonkeyPatch) -> list[Request]:
        """Have ``"auto"`` choose between a CPU and the device; return each request that it looks at.

        Neither takes longer than it may, however slow it is emulated.
        """
        auto = AutoEngine(FakeEngine(), gpu_behind)
        looked: list[Request] = []
        monkeypatch.setattr(
            "motiflux.api.pattern_list.choose_engine",
            lambda request, **_: (looked.append(request), (auto, ""))[1],
        )
        monkeypatch.setattr("motiflux.dispatch.auto.LEAST_BUDGET", ENDLESS)
        return looked

    @pytest.fixture
    def gate(self, device: str, gpu: Device, gpu_behind: FakeGpu) -> Iterator[Gate]:
        """Have kernels of the device be compiled once the gate is opened."""
        gate = Gate(open_accelerator(device).compiler._toolchain)
        gpu_behind.made = engine_on(
            Accelerator(gpu, Compiler(gate, KernelCache(None)), compiles_eagerly=False)
        )
        yield gate
        gate.opened.set()

    @pytest.mark.parametrize("options", [{}, {"limit": 10**6}, {"timeout": ENDLESS}], ids=str)
    def test_a_gpu_that_is_expected_to_be_faster_is_chosen_once(
        self, options: dict[str, Any], graph: mf.Graph, expected: int, choices: list[Request]
    ) -> None:
        for _ in range(3):
            found = mf.count(graph, DIAMOND, **options)
            assert (found, found.complete, found.engine) == (expected, True, "dfs")
            assert found.reason == "the GPU is open, and expected to be faster than the CPU"
        assert len(choices) == len(kept(graph)) == 1

    def test_a_query_that_is_new_is_chosen_for_again_at_its_second_call(
        self, graph: mf.Graph, expected: int, choices: list[Request], gpu_behind: FakeGpu
    ) -> None:
        gpu_behind.more_at_first = ENDLESS
        found = [mf.count(graph, DIAMOND) for _ in range(4)]
        assert found == [expected] * 4
        assert [one.engine for one in found] == ["fake", "dfs", "dfs", "dfs"]
        assert len(choices) == 2

    def test_a_cpu_that_is_expected_to_be_faster_is_kept_from_the_second_call_on(
        self, graph: mf.Graph, expected: int, choices: list[Request], gpu_behind: FakeGpu
    ) -> None:
        gpu_behind.expected = ENDLESS
        found = [mf.count(graph, DIAMOND) for _ in range(4)]
        assert found == [expected] * 4
        assert [one.engine for one in found] == ["fake"] * 4
        assert len(choices) == 2

    @pytest.mark.turns(8, "emulated")
    def test_are_made_anew_where_the_cpu_had_to_take_over(
        self,
        graph: mf.Graph,
        expected: int,
        choices: list[Request],
        gate: Gate,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr("motiflux.dispatch.auto.LEAST_BUDGET", 0.05)
        found = mf.count(graph, DIAMOND)
        assert (found, found.complete, found.engine) == (expected, True, "fake")
        assert found.reason == "the GPU took longer than expected"
        assert len(choices) == 1
        monkeypatch.setattr("motiflux.dispatch.auto.LEAST_BUDGET", ENDLESS)
        gate.opened.set()
        for _ in range(2):
            found = mf.count(graph, DIAMOND)
            assert (found, found.complete, found.engine) == (expected, True, "dfs")
        assert len(choices) == 2

    def test_a_gpu_that_takes_too_long_twice_is_not_tried_first_again(
        self,
        graph: mf.Graph,
        expected: int,
        choices: list[Request],
        gate: Gate,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr("motiflux.dispatch.auto.LEAST_BUDGET", 0.05)
        for _ in range(2):
            found = mf.count(graph, DIAMOND)
            assert (found, found.engine) == (expected, "fake")
            assert found.reason == "the GPU took longer than expected"
        monkeypatch.setattr(DfsEngine, "count", refuse)
        for _ in range(2):
            found = mf.count(graph, DIAMOND)
            assert (found, found.engine) == (expected, "fake")
            assert found.reason == "the GPU did not give the count before"
        assert len(choices) == 3

    def test_are_counted_by_the_cpu_where_the_gpu_refuses(
        self, graph: mf.Graph, expected: int, choices: list[Request], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert mf.count(graph, DIAMOND).engine == "dfs"
        choices.clear()

        def refused(*_: object) -> None:
            raise NO_MEMORY

        with monkeypatch.context() as patched:
            patched.setattr(DfsEngine, "count", refused)
            found = mf.count(graph, DIAMOND)
        assert (found, found.complete, choices, found.engine) == (expected, True, [], "fake")
        assert found.reason.startswith("the GPU cannot do it")
        found = mf.count(graph, DIAMOND)
        assert (found, found.engine, len(choices)) == (expected, "dfs", 1)

    def test_are_counted_by_the_cpu_where_the_gpu_cannot_be_opened(
        self, graph: mf.Graph, expected: int, choices: list[Request], gpu_behind: FakeGpu
    ) -> None:
        gpu_behind.error = DeviceError("it is gone")
        for _ in range(3):
            found = mf.count(graph, DIAMOND)
            assert (found, found.engine) == (expected, "fake")
            assert found.reason == "the GPU cannot do it: it is gone"
        assert len(choices) == 1
