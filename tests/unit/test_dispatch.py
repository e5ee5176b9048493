"""Which engine ``device="auto"`` takes, and what it does where that was wrong: with a GPU that is made up."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import motiflux as mf
from motiflux.cpu.engine import CpuEngine
from motiflux.device.presence import look
from motiflux.dispatch.auto import AutoEngine
from motiflux.dispatch.choose import choose_engine
from motiflux.dispatch.prepared_query import PreparedQuery
from motiflux.errors import CountOverflowError, DeviceError
from motiflux.plan.physical import PhysicalPlan
from motiflux.request.costs import H100, GpuCosts, GpuState, HostWork
from motiflux.request.deadline import Deadline
from motiflux.request.engine import Outcome, Ran
from motiflux.request.reports import ProgressReport
from motiflux.request.request import Request
from tests.backend.cases import clique, cycle, path
from tests.strategies import Case, cases
from tests.unit.dispatch_cases import ENDLESS, NO_MEMORY, FakeEngine, FakeGpu, asking, counted, plans_of


@pytest.fixture(autouse=True)
def budgets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Budgets that an engine keeps on a busy machine too, if it is the faster one."""
    monkeypatch.setattr("motiflux.dispatch.auto.LEAST_BUDGET", 0.1)


@pytest.fixture
def small() -> mf.Graph:
    """A graph that nothing was counted in before."""
    return mf.Graph.from_edges(clique(30))


@pytest.fixture(scope="module")
def dense() -> mf.Graph:
    """A graph with some 10**19 paths of eight vertices: counting them one by one does not end."""
    return mf.Graph.from_edges(clique(300))


TRIANGLE = mf.Pattern.from_edges(cycle(3))
LONG_PATH = mf.Pattern.from_edges(path(8))
LONG = {"tuning": {"tail": "off", "parts": "off", "tables": "off"}}
"""Makes a count of paths of eight vertices endless."""


class TestChoice:
    @pytest.mark.parametrize("opened", [True, False])
    def test_the_one_that_is_expected_to_be_faster(self, small: mf.Graph, opened: bool) -> None:
        fake = FakeEngine()
        outcome, engine, why = counted(FakeGpu(fake, 1e-9, opened), small, TRIANGLE)
        assert (outcome.value, outcome.complete, engine) == (24360, True, "fake")
        assert "expected" in why
        outcome, engine, why = counted(FakeGpu(fake, ENDLESS, opened), small, TRIANGLE)
        assert (outcome.value, engine, fake.calls) == (24360, "cpu", 1)
        assert why.endswith("expected, about 3,600 s on the GPU")

    def test_a_gpu_over_whose_bus_edges_are_read_is_expected_to_be_slower(self, small: mf.Graph) -> None:
        there, over_bus = (FakeGpu(FakeEngine(), 1e-9, on_host=on_host) for on_host in (False, True))
        for gpu in (there, over_bus):
            counted(gpu, small, TRIANGLE)
        assert over_bus.asked[0].seconds == pytest.approx(H100.over_bus * there.asked[0].seconds)

    def test_an_engine_that_the_gpu_calls_is_named_with_both_reasons(self, small: mf.Graph) -> None:
        class Calling(FakeEngine):
            def count(self, *args: Any) -> Outcome:
                return replace(super().count(*args), ran=Ran("outofcore", "fake", "too little memory"))

        outcome, engine, why = counted(FakeGpu(Calling(), 1e-9), small, TRIANGLE)
        assert (outcome.value, engine) == (24360, "outofcore")
        assert why.endswith("expected to be faster than the CPU; too little memory")

    def test_a_small_count_opens_no_gpu(self, small: mf.Graph) -> None:
        gpu = FakeGpu(FakeEngine(), 0.5, opened=False)
        _, engine, _ = counted(gpu, small, TRIANGLE)
        assert (engine, gpu.openings) == ("cpu", 0)

    def test_what_is_not_sampled_starts_on_the_cpu(self, small: mf.Graph) -> None:
        labelled = mf.Graph.from_edges(clique(8), vertex_labels=[0, 1] * 4)
        pattern = mf.Pattern.parse("(a:0)~>(b:1)")
        gpu = FakeGpu(FakeEngine(60.0), ENDLESS, ready=60.0)
        _, engine, why = counted(gpu, labelled, pattern, tuning={"candidates": "off"})
        assert engine == "cpu"
        assert "sampled" in why

    def test_the_cpu_counts_while_a_kernel_is_compiled(self, small: mf.Graph) -> None:
        fake = FakeEngine()
        fake.compiled = False
        gpu = FakeGpu(fake, 1e-9, compile_seconds=60.0)
        outcome, engine, why = counted(gpu, small, TRIANGLE)
        assert (outcome.value, engine, fake.calls, fake.begun) == (24360, "cpu", 0, 1)
        assert "compiled" in why
        assert mf.count(small, TRIANGLE, device="cpu") == 24360
        fake.compiled = True
        _, engine, _ = counted(gpu, small, TRIANGLE, again=True)
        assert (engine, fake.calls) == ("fake", 1)

    def test_without_a_compiler_the_cpu_counts(self, small: mf.Graph) -> None:
        fake = FakeEngine()
        fake.compiler_error = DeviceError("NVRTC cannot be loaded")
        outcome, engine, why = counted(FakeGpu(fake, 1e-9, compile_seconds=60.0), small, TRIANGLE)
        assert (outcome.value, engine, fake.calls) == (24360, "cpu", 0)
        assert why == "the GPU cannot do it: NVRTC cannot be loaded"

    def test_a_kernel_is_waited_for_where_the_cpu_takes_longer(self, small: mf.Graph) -> None:
        fake = FakeEngine()
        fake.compiled = False
        _, engine, _ = counted(FakeGpu(fake, 1e-12, compile_seconds=1e-9), small, TRIANGLE)
        assert (engine, fake.calls, fake.begun) == ("fake", 1, 0)

    def test_the_public_calls_say_who_counted_and_why(self, small: mf.Graph) -> None:
        found = mf.count(small, TRIANGLE, device="cpu")
        assert found.reason == "asked for by device='cpu'"
        assert mf.match(small, TRIANGLE, device="cpu").reason == "asked for by device='cpu'"

    def test_without_a_gpu_it_is_the_cpu_engine_itself(self) -> None:
        engine, why = choose_engine(asking(), FakeGpu(FakeEngine(), 0.0, absent="no GPU was found"))
        assert (type(engine), why) == (CpuEngine, "no GPU was found")

    def test_what_was_asked_for_is_taken(self) -> None:
        engine, why = choose_engine(asking(device="cpu"), FakeGpu(FakeEngine(), 0.0))
        assert (type(engine), why) == (CpuEngine, "asked for by device='cpu'")


class TestBudget:
    """The engine that is expected to be faster has a budget, then the other one a longer one, and so on."""

    def test_the_gpu_takes_over_from_a_cpu_that_takes_longer_than_expected(self) -> None:
        host, tiny = named("cpu", ENDLESS), mf.Graph.from_edges(clique(5))
        outcome, engine, why = counted(FakeGpu(FakeEngine(), 0.01), tiny, TRIANGLE, host)
        assert (outcome.value, engine) == (60, "fake")
        assert why == "the CPU took longer than expected"
        assert host.ended.is_set()

    @pytest.mark.parametrize("again", [False, True])
    def test_the_cpu_takes_over_from_a_gpu_that_takes_longer_than_expected(
        self, small: mf.Graph, again: bool
    ) -> None:
        fake = FakeEngine(ENDLESS)
        outcome, engine, why = counted(FakeGpu(fake, 1e-9), small, TRIANGLE, again=again)
        assert (outcome.value, engine) == (24360, "cpu")
        assert why == "the GPU took longer than expected"
        assert fake.ended.is_set()

    def test_budgets_grow_until_one_of_both_is_done(self, small: mf.Graph) -> None:
        host, fake = named("cpu", ENDLESS), FakeEngine(0.15)
        outcome, engine, _ = counted(FakeGpu(fake, 1e-9), small, TRIANGLE, host)
        assert (outcome.value, engine) == (24360, "fake")
        assert fake.calls >= 2
        assert 1 <= host.calls <= fake.calls

    def test_a_native_search_that_is_given_up_ends(self, dense: mf.Graph) -> None:
        before = threading.active_count()
        gpu = FakeGpu(FakeEngine(0.01, answer=12345), 0.01)
        outcome, engine, _ = counted(gpu, dense, LONG_PATH, threads=2, **LONG)
        assert (outcome.value, engine) == (12345, "fake")
        assert threading.active_count() <= before

    @pytest.mark.parametrize("error", [NO_MEMORY, DeviceError("no room for the plan; use device='cpu'")])
    @pytest.mark.parametrize("again", [False, True])
    @pytest.mark.parametrize("seconds", [0.0, 0.002])
    def test_the_cpu_counts_where_the_gpu_cannot(
        self, small: mf.Graph, error: Exception, again: bool, seconds: float
    ) -> None:
        gpu = FakeGpu(FakeEngine(seconds, error), 1e-9)
        outcome, engine, why = counted(gpu, small, TRIANGLE, named("cpu", 0.1), again=again)
        assert (outcome.value, outcome.complete, engine) == (24360, True, "cpu")
        assert why == f"the GPU cannot do it: {error}"

    @pytest.mark.parametrize("opened", [True, False])
    @pytest.mark.parametrize("expected", [1e-9, 0.01])
    @pytest.mark.parametrize("seconds", [0.0, 0.2])
    def test_a_gpu_that_cannot_be_opened_is_left(
        self, small: mf.Graph, opened: bool, expected: float, seconds: float
    ) -> None:
        gpu = FakeGpu(FakeEngine(), expected, opened, error=DeviceError("no driver"))
        outcome, engine, why = counted(gpu, small, TRIANGLE, named("cpu", seconds))
        assert (outcome.value, outcome.complete, engine) == (24360, True, "cpu")
        if expected < 0.01 or seconds:
            assert why == "the GPU cannot do it: no driver"

    def test_a_cpu_of_which_nothing_is_expected_has_a_budget_too(self) -> None:
        labelled = mf.Graph.from_edges(clique(8), vertex_labels=[0, 1] * 4)
        pattern = mf.Pattern.parse("(a:0)~>(b:1)")
        fake, host = FakeEngine(), named("cpu", ENDLESS)
        outcome, engine, _ = counted(
            FakeGpu(fake, 0.01), labelled, pattern, host, tuning={"candidates": "off"}
        )
        assert (outcome.complete, engine) == (True, "fake")

    def test_a_limit_that_the_other_engine_reached_counts_as_overrun(self, small: mf.Graph) -> None:
        request = asking(limit=100)
        fake = FakeEngine(ENDLESS)
        engine = AutoEngine(CpuEngine(), FakeGpu(fake, 1e-9))
        (physical,) = plans_of(engine, small, [TRIANGLE], request)
        query = PreparedQuery(engine, physical, Ran("fake", "fake", ""))
        outcome = engine.count(small, physical, request, Deadline.after(None))
        query.note(outcome, 0.1, request.limit)
        assert (outcome.value, query.overran, query.overruns) == (100, True, 1)

    @pytest.mark.parametrize("again", [False, True])
    def test_other_errors_are_raised(self, small: mf.Graph, again: bool) -> None:
        wrong = FakeEngine(error=CountOverflowError("too many"))
        with pytest.raises(CountOverflowError, match="too many"):
            counted(FakeGpu(wrong, 1e-9), small, TRIANGLE, again=again)
        wrong = named("cpu", 0.0)
        wrong.error = CountOverflowError("too many")
        with pytest.raises(CountOverflowError, match="too many"):
            counted(FakeGpu(FakeEngine(ENDLESS), 1e-9), small, TRIANGLE, wrong, again=again)


class TestQueriesThatComeAgain:
    """A choice is made again for the second call, and kept from then on while nothing speaks against it."""

    @pytest.fixture
    def calls(self, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
        """Return a function that counts several times by made-up engines and returns their names."""

        def call(graph: mf.Graph, gpu: FakeGpu, host: FakeEngine, times: int, **options: Any) -> list[str]:
            chosen: list[AutoEngine] = []

            def choose(request: Request, **_: object) -> tuple[AutoEngine, str]:
                chosen.append(AutoEngine(host, gpu))
                return chosen[-1], ""

            monkeypatch.setattr("motiflux.api.pattern_list.choose_engine", choose)
            found = [mf.count(graph, TRIANGLE, threads=1, **options) for _ in range(times)]
            assert {(int(one), one.complete) for one in found} == {(24360, True)}
            self.choices = len(chosen)
            return [one.engine for one in found]

        return call

    def test_a_gpu_that_is_faster_is_chosen_once(
        self, small: mf.Graph, calls: Callable[..., list[str]]
    ) -> None:
        assert calls(small, FakeGpu(FakeEngine(), 1e-9), named("cpu", 0.0), 5) == ["fake"] * 5
        assert self.choices == 1

    def test_what_a_gpu_takes_longer_at_first_counts_once(
        self, small: mf.Graph, calls: Callable[..., list[str]]
    ) -> None:
        gpu = FakeGpu(FakeEngine(), 1e-9, more_at_first=ENDLESS)
        assert calls(small, gpu, named("cpu", 0.0), 5) == ["cpu", *["fake"] * 4]
        assert self.choices == 2

    def test_a_gpu_that_takes_long_to_be_ready_is_taken_once_the_cpu_took_as_long(
        self, small: mf.Graph, calls: Callable[..., list[str]]
    ) -> None:
        gpu = FakeGpu(FakeEngine(), 1e-9, opened=False, ready=0.2)
        engines = calls(small, gpu, named("cpu", 0.05), 12)
        assert engines[:3] == ["cpu"] * 3
        assert engines[-3:] == ["fake"] * 3
        assert self.choices == 4  # once more when the GPU is open

    def test_a_cpu_that_is_faster_is_kept(self, small: mf.Graph, calls: Callable[..., list[str]]) -> None:
        fake = FakeEngine()
        assert calls(small, FakeGpu(fake, ENDLESS), named("cpu", 0.0), 6) == ["cpu"] * 6
        assert (self.choices, fake.calls) == (2, 0)

    def test_an_engine_that_overran_its_budget_is_not_tried_first_again(
        self, small: mf.Graph, calls: Callable[..., list[str]]
    ) -> None:
        fake = FakeEngine(0.2)
        assert calls(small, FakeGpu(fake, 1e-9), named("cpu", 0.0), 6) == ["cpu"] * 6
        assert (self.choices, fake.calls) == (3, 2)  # tried again once: its kernel may have been compiled


def named(name: str, seconds: float) -> FakeEngine:
    """Return an engine of another name that takes so many seconds."""
    engine = FakeEngine(seconds)
    engine.name = name
    return engine


class TestCutShort:
    @pytest.mark.parametrize("expected", [1e-9, 0.01, ENDLESS])
    @pytest.mark.parametrize("again", [False, True])
    def test_a_timeout_ends_both(self, dense: mf.Graph, expected: float, again: bool) -> None:
        fake = FakeEngine(ENDLESS)
        started = time.perf_counter()
        outcome, _, _ = counted(FakeGpu(fake, expected), dense, LONG_PATH, again=again, timeout=0.3, **LONG)
        assert not outcome.complete
        assert 0.3 <= time.perf_counter() - started < 5
        assert fake.calls == 0 or fake.ended.wait(5)

    def test_of_two_counts_that_were_cut_the_larger_is_known(
        self, dense: mf.Graph, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("motiflux.dispatch.auto.LONGEST_BUDGET", 0.05)
        fake = FakeEngine(ENDLESS)
        outcome, engine, _ = counted(FakeGpu(fake, 1e-9), dense, LONG_PATH, timeout=0.5, **LONG)
        assert not outcome.complete
        assert fake.calls > 0
        assert outcome.value > 0
        assert engine == "cpu"

    def test_progress_never_goes_back(self, dense: mf.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("motiflux.dispatch.auto.LONGEST_BUDGET", 0.02)
        told: list[float] = []

        def progress(report: ProgressReport) -> None:
            told.append(report.done / report.total)

        host, fake = named("cpu", ENDLESS), FakeEngine(ENDLESS)
        counted(FakeGpu(fake, 1e-9), dense, LONG_PATH, host, timeout=0.5, progress=progress, **LONG)
        assert (host.calls > 0, fake.calls > 1) == (True, True)
        assert told == sorted(told)

    @pytest.mark.parametrize("expected", [1e-9, ENDLESS])
    @pytest.mark.parametrize("again", [False, True])
    def test_a_limit_is_reached_and_no_more(self, dense: mf.Graph, expected: float, again: bool) -> None:
        gpu = FakeGpu(FakeEngine(0.01), expected)
        outcome, _, _ = counted(gpu, dense, LONG_PATH, again=again, limit=1000, **LONG)
        assert (outcome.value, outcome.complete) == (1000, False)

    def test_progress_is_told_by_the_calling_thread(self, dense: mf.Graph) -> None:
        told: list[threading.Thread] = []

        def progress(report: ProgressReport) -> None:
            told.append(threading.current_thread())

        counted(FakeGpu(FakeEngine(ENDLESS), 0.01), dense, LONG_PATH, timeout=0.5, progress=progress, **LONG)
        assert set(told) == {threading.current_thread()}

    def test_what_a_progress_function_raises_ends_it(self, dense: mf.Graph) -> None:
        class EnoughError(Exception):
            pass

        def progress(report: ProgressReport) -> None:
            raise EnoughError

        fake = FakeEngine(ENDLESS)
        with pytest.raises(EnoughError):
            counted(FakeGpu(fake, 1e-9), dense, LONG_PATH, progress=progress, **LONG)
        assert fake.ended.wait(5)

    @pytest.mark.turns(8)
    def test_ctrl_c_ends_both_soon(self) -> None:
        seconds = float(run(INTERRUPTED))
        assert seconds < 5


class TestListing:
    def rows(self, gpu: FakeGpu, graph: mf.Graph) -> tuple[int, str, str]:
        request = asking()
        engine = AutoEngine(CpuEngine(), gpu)
        deadline = Deadline.after(None)
        physical = engine.plan(graph, TRIANGLE, request, deadline, counting=False)
        assert physical is not None
        source, ran = engine.rows(graph, physical, request, 1000, deadline)
        rows = 0
        while (block := source.next()) is not None:
            rows += len(block)
        return rows, ran.engine, ran.why

    def test_the_one_that_is_expected_to_be_faster_lists(self, small: mf.Graph) -> None:
        assert self.rows(FakeGpu(FakeEngine(), 1e-9), small)[:2] == (24360, "fake")
        assert self.rows(FakeGpu(FakeEngine(), ENDLESS), small)[:2] == (24360, "cpu")

    def test_what_the_gpu_cannot_list_the_cpu_does(self, small: mf.Graph) -> None:
        rows, engine, why = self.rows(FakeGpu(FakeEngine(error=NO_MEMORY), 1e-9), small)
        assert (rows, engine, why) == (24360, "cpu", f"the GPU cannot do it: {NO_MEMORY}")


class TestPlans:
    """What `explain` tells."""

    def planned(self, gpu: FakeGpu, graph: mf.Graph) -> PhysicalPlan:
        (physical,) = plans_of(AutoEngine(CpuEngine(), gpu), graph, [TRIANGLE], asking())
        assert physical.plan.asked == TRIANGLE
        return physical

    @pytest.mark.parametrize("opened", [True, False])
    def test_both_times_are_told(self, small: mf.Graph, opened: bool) -> None:
        physical = self.planned(FakeGpu(FakeEngine(), 2.0, opened), small)
        (_, here), (_, there) = physical.expected
        assert (physical.engine, there) == ("cpu", 2.0)
        assert here is not None
        assert 0 < here < 1
        assert physical.why.endswith("expected, about 2.00 s on the GPU")
        physical = self.planned(FakeGpu(FakeEngine(), 1e-9, opened), small)
        assert physical.engine == "fake"
        if not opened:
            assert physical.why.startswith("about 0 us expected, about ")
            assert physical.why.endswith(" on the CPU")

    def test_a_gpu_that_cannot_be_opened_is_left(self, small: mf.Graph) -> None:
        error = DeviceError("no driver\nand a long story")
        physical = self.planned(FakeGpu(FakeEngine(), 1e-9, opened=False, error=error), small)
        assert (physical.engine, physical.why) == ("cpu", "the GPU cannot do it: no driver")


class TestSeveral:
    @pytest.mark.parametrize(("expected", "engine"), [(1e-9, "fake"), (ENDLESS, "cpu")])
    def test_plans_of_one_pass_are_counted_where_it_is_faster(
        self, small: mf.Graph, expected: float, engine: str
    ) -> None:
        request = asking()
        auto = AutoEngine(CpuEngine(), FakeGpu(FakeEngine(), expected, opened=False))
        plans = plans_of(auto, small, [TRIANGLE, mf.Pattern.from_edges(clique(4))], request)
        found = auto.count_together(small, plans, request, Deadline.after(None))
        assert [one.value for one in found] == [24360, 30 * 29 * 28 * 27]
        assert {one.ran.engine for one in found if one.ran is not None} == {engine}

    def test_passes_are_shared_only_while_the_gpu_is_closed(self) -> None:
        closed = AutoEngine(CpuEngine(), FakeGpu(FakeEngine(), 1.0, opened=False))
        assert closed.capabilities.shares_passes
        assert not AutoEngine(CpuEngine(), FakeGpu(FakeEngine(), 1.0)).capabilities.shares_passes


class TestCosts:
    COSTS = GpuCosts(
        open=1.0, compile=10.0, call=0.001, level=0.0, arc=1e-6, first=0.1, look=0.2, look_growth=2.0,
        longest_look=0.5, worth_a_look=1.0,
        shares=((4, 0.01), (float("inf"), 2.0)), parts=3.0, row=1e-9, speed=100,
    )  # fmt: skip

    def test_what_is_not_there_yet_is_counted(self) -> None:
        ready = [self.COSTS.ready(GpuState(*state), 1000) for state in STATES]
        assert ready == [0.0, pytest.approx(0.001), 10.0, pytest.approx(11.001)]

    def test_a_smaller_gpu_takes_longer(self) -> None:
        work = HostWork("search", 10.0, 4)
        assert self.COSTS.search(work) == pytest.approx(0.101)
        assert self.COSTS.search(work, speed=50) == pytest.approx(0.201)

    def test_deep_searches_take_longer_and_those_in_parts(self) -> None:
        assert self.COSTS.search(HostWork("search", 10.0, 5)) == pytest.approx(20.001)
        assert self.COSTS.search(HostWork("parts", 10.0, 4)) == pytest.approx(0.301)

    def test_rows_take_time_too(self) -> None:
        assert self.COSTS.search(HostWork("search", 0.0, 4, rows=1e9)) == pytest.approx(1.001)

    def test_a_first_meeting_takes_longer_where_a_formula_is_worth_a_look(self) -> None:
        assert self.COSTS.first_look(HostWork("search", 0.5, 4)) == pytest.approx(0.1)
        assert self.COSTS.first_look(HostWork("search", 2.0, 4)) == pytest.approx(0.3)
        assert self.COSTS.first_look(HostWork("search", 2.0, 5)) == pytest.approx(0.5)
        assert self.COSTS.first_look(HostWork("search", 2.0, 9)) == pytest.approx(0.6)

    @given(st.floats(0, 1e6), st.integers(1, 256), st.sampled_from(["search", "tail", "parts", "tables"]))
    def test_much_more_work_takes_longer(self, seconds: float, threads: int, kind: str) -> None:
        less, more = HostWork(kind, seconds, 4), HostWork(kind, 100 * seconds + 1.0, 4)
        assert less.shared(threads) < more.shared(threads)
        assert self.COSTS.search(less) < self.COSTS.search(more)


STATES = [(True, True, True), (True, True, False), (True, False, True), (False, False, False)]


class TestPresence:
    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        (tmp_path / "dev").mkdir()
        return tmp_path

    @pytest.mark.skipif(sys.platform == "win32", reason="the driver is looked for by its files of Linux")
    def test_a_gpu_takes_driver_and_packages(self, root: Path) -> None:
        assert look({}, root, lambda: True) == "no GPU was found"
        (root / "dev/nvidiactl").touch()
        assert look({}, root, lambda: True) is None
        assert look({}, root, lambda: False) == "the GPU packages are not installed (motiflux[gpu])"
        assert (
            look({"CUDA_VISIBLE_DEVICES": "-1"}, root, lambda: True) == "CUDA_VISIBLE_DEVICES hides every GPU"
        )
        assert look({"CUDA_VISIBLE_DEVICES": "0"}, root, lambda: True) is None

    @pytest.mark.turns(8)
    def test_without_a_gpu_nothing_of_cuda_is_imported(self) -> None:
        assert run(NOTHING_IMPORTED) == "[]"

    @pytest.mark.turns(8)
    def test_a_count_on_the_cpu_beside_a_gpu_imports_no_compiler(self) -> None:
        assert run(NO_COMPILER_IMPORTED) == "[]"


def run(script: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


NOTHING_IMPORTED = """
    import os, sys
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    import motiflux as mf
    graph = mf.Graph.from_edges([(0, 1), (1, 2), (2, 0)])
    found = mf.count(graph, "(a)--(b)--(c)--(a)")
    assert found == 6 and found.engine == "cpu" and "hides" in found.reason, found.reason
    assert mf.match(graph, "(a)--(b)").to_numpy().shape == (6, 2)
    told = mf.explain(graph, "(a)--(b)--(c)--(a)").report.engine
    assert told.name == "cpu" and told.expected == ()
    heavy = ("cuda", "cupy", "motiflux.gpu.", "motiflux.device.cuda")
    print([name for name in sys.modules if name.startswith(heavy)])
"""

NO_COMPILER_IMPORTED = """
    import sys
    import motiflux as mf
    from motiflux.dispatch import gpu_probe
    gpu_probe.why_no_gpu = lambda: None  # there may be a GPU
    graph = mf.Graph.from_edges([(0, 1), (1, 2), (2, 0)])
    found = mf.count(graph, "(a)--(b)--(c)--(a)")
    assert found == 6 and found.engine == "cpu" and "on the GPU" in found.reason, found.reason
    compilers = ("motiflux.jit.compiler", "motiflux.jit.nvrtc")
    heavy = ("cuda", "cupy", "motiflux.gpu.", "motiflux.device.cuda", *compilers)
    print([name for name in sys.modules if name.startswith(heavy)])
"""

INTERRUPTED = """
    import _thread, threading, time
    from tests.unit.dispatch_cases import ENDLESS, FakeEngine, FakeGpu, counted
    from tests.unit.test_dispatch import LONG, LONG_PATH, clique
    import motiflux as mf
    graph = mf.Graph.from_edges(clique(300))
    moments = []
    def interrupt():
        moments.append(time.perf_counter())
        _thread.interrupt_main()
    threading.Timer(0.5, interrupt).start()
    try:
        counted(FakeGpu(FakeEngine(ENDLESS), 0.01), graph, LONG_PATH, **LONG)
    except KeyboardInterrupt:
        print(time.perf_counter() - moments[0])
"""


@pytest.mark.parametrize("directed", [False, True])
@given(
    st.data(),
    st.sampled_from([0.0, 1e-9, 1e-3, ENDLESS]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([1, 2]),
)
def test_auto_counts_what_the_cpu_counts(
    directed: bool, data: st.DataObject, expected: float, opened: bool, fails: bool, threads: int
) -> None:
    case: Case = data.draw(cases(directed, "both"))
    graph, pattern = case.graph(), case.pattern()
    gpu = FakeGpu(FakeEngine(error=NO_MEMORY if fails else None), expected, opened)
    request = asking(threads=threads)
    engine, deadline = AutoEngine(CpuEngine(), gpu), Deadline.after(None)
    physical = engine.plan(graph, pattern, request, deadline)
    assert physical is not None
    outcome = engine.count(graph, physical, request, deadline)
    assert (outcome.value, outcome.complete) == (len(case.embeddings("isomorphism")), True)
