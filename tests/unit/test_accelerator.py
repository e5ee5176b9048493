"""What an accelerator remembers, and for how long."""

from __future__ import annotations

import gc
import itertools
import os
import subprocess
import sys
import threading
import weakref
from typing import Any

import pytest

from motiflux.gpu.runtime import accelerator as accelerator_module
from motiflux.gpu.runtime.accelerator import SPECIAL_SECONDS, Accelerator
from motiflux.jit import Compiler, KernelCache, Source
from motiflux.request.deadline import Deadline, OutOfTimeError
from tests.unit.jit_cases import CopyingToolchain, Gate

GENERAL = Source("general", "general")


class Loaded:
    """A module and its kernel."""

    def __init__(self, text: bytes) -> None:
        self.text = text

    def kernel(self, name: str) -> Loaded:
        return self


class Loader:
    """What an accelerator asks of a device to have kernels."""

    def __init__(self) -> None:
        self.loaded: list[bytes] = []

    def add_reclaimer(self, reclaim: object) -> None:
        pass

    def load(self, image: bytes, name: str) -> Loaded:
        self.loaded.append(image)
        return Loaded(image)


def make(toolchain: CopyingToolchain | None = None) -> Accelerator:
    device: Any = Loader()
    return Accelerator(device, Compiler(toolchain or CopyingToolchain(), KernelCache(None), ()))


def unit(number: int) -> Source:
    return Source(f"unit{number}", f"text {number}")


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> int:
    """Have accelerators remember few units, and return how many."""
    monkeypatch.setattr(accelerator_module, "_MOST_UNITS", 4)
    return 4


class TestUnits:
    def test_many_shapes_leave_few_kernels_loaded(self, few: int) -> None:
        accelerator = make()
        kernels = [weakref.ref(accelerator.kernel(unit(number))) for number in range(50)]
        gc.collect()
        assert [kernel() is not None for kernel in kernels] == [False] * (50 - few) + [True] * few

    def test_a_kernel_that_is_used_again_and_again_is_loaded_once(self, few: int) -> None:
        accelerator = make()
        for number in range(50):
            accelerator.kernel(GENERAL)
            accelerator.kernel(unit(number))
        assert accelerator.device.loaded.count(b"general") == 1  # type: ignore[attr-defined]

    def test_a_kernel_that_is_held_outlives_being_forgotten(self, few: int) -> None:
        accelerator = make()
        held: Any = accelerator.kernel(unit(0))
        gone = weakref.ref(held)
        for number in range(1, 50):
            accelerator.kernel(unit(number))
        gc.collect()
        assert held.text == b"text 0"
        assert accelerator.kernel(unit(0)) is not held
        del held
        assert gone() is None

    def test_shapes_that_are_met_once_leave_little_behind(self, few: int) -> None:
        accelerator = make()
        for number in range(50):
            assert accelerator.choose(GENERAL, unit(number), "auto") == (GENERAL, False)
        assert len(accelerator._units) == few

    def test_threads_that_share_an_accelerator_keep_it_bounded(self, few: int) -> None:
        accelerator = make()
        errors: list[BaseException] = []

        def work(start: int) -> None:
            try:
                for number in itertools.islice(itertools.cycle(range(start, start + 8)), 300):
                    kernel: Any = accelerator.kernel(unit(number))
                    assert kernel.text == b"text %d" % number
            except BaseException as error:  # noqa: BLE001 - whatever it is, the test must say it
                errors.append(error)

        threads = [threading.Thread(target=work, args=(start,)) for start in (0, 3, 6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        accelerator.kernel(GENERAL)
        assert len(accelerator._units) <= few


class Rests:
    """Something that rests and holds one byte."""

    nbytes = 1

    def reclaim(self, needed: int) -> int:
        return 1


class TestResting:
    def test_it_is_asked_for_memory_until_enough_came_back(self) -> None:
        accelerator, some = make(), [Rests() for _ in range(5)]
        for one in some:
            accelerator.add_job_pool(one)
        assert (accelerator.reclaim(3), accelerator.reclaim(100), accelerator.kept_bytes()) == (3, 5, 5)
        del some[1:], one
        assert (accelerator.reclaim(100), accelerator.kept_bytes()) == (1, 1)

    def test_nothing_is_lost_where_threads_add_at_once(self) -> None:
        accelerator, some = make(), [Rests() for _ in range(4000)]
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            threads = [
                threading.Thread(target=lambda part: [*map(accelerator.add_job_pool, part)], args=(part,))
                for part in (some[::2], some[1::2])
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            sys.setswitchinterval(interval)
        assert accelerator.reclaim(len(some) + 1) == len(some)


class TestSpecialUnits:
    def test_a_shape_that_took_long_is_compiled_in_the_background(self) -> None:
        toolchain = Gate()
        accelerator = make(toolchain)
        accelerator.add_seconds(unit(1), SPECIAL_SECONDS)
        for _ in range(4):
            assert accelerator.choose(GENERAL, unit(1), "auto") == (GENERAL, False)
        toolchain.opened.set()
        accelerator.compiler.wait(unit(1), 60)
        assert accelerator.choose(GENERAL, unit(1), "auto") == (unit(1), True)
        accelerator.kernel(unit(1))
        assert accelerator.choose(GENERAL, unit(1), "auto") == (unit(1), True)
        assert toolchain.built == ["unit1"]

    def test_a_shape_that_does_not_compile_is_said_once(self) -> None:
        accelerator = make()
        wrong = Source("wrong", "error")
        accelerator.add_seconds(wrong, SPECIAL_SECONDS)
        accelerator.choose(GENERAL, wrong, "auto")
        pending = accelerator._unit(wrong).pending
        assert pending is not None
        assert pending.exception(60) is not None
        with pytest.warns(accelerator_module.MotifluxWarning, match="without its own kernel"):
            accelerator.choose(GENERAL, wrong, "auto")
        for _ in range(3):
            assert accelerator.choose(GENERAL, wrong, "auto") == (GENERAL, False)


class TestDeadlines:
    def test_a_compilation_is_not_waited_for_beyond_the_deadline_and_goes_on(self) -> None:
        toolchain = Gate()
        accelerator = make(toolchain)
        with pytest.raises(OutOfTimeError):
            accelerator.kernel(GENERAL, Deadline.after(0.2))
        assert toolchain.built == []
        toolchain.opened.set()
        loaded: Any = accelerator.kernel(GENERAL)
        assert loaded.text == b"general"
        assert toolchain.built == ["general"]


IN_CHILD = """
import os, signal, threading
from motiflux.gpu.runtime import accelerator
from motiflux.device import register

class Device:
    name = "example"
    def use(self): pass
    def add_reclaimer(self, reclaim): pass

held, done = threading.Event(), threading.Event()
def hold():
    with accelerator._lock:
        held.set()
        done.wait(60)

register("example", Device)
accelerator.register_accelerator("example", lambda: accelerator.Accelerator(Device(), None))
thread = threading.Thread(target=hold)
thread.start()
held.wait(60)
child = os.fork()
if child == 0:
    signal.alarm(20)  # ends it if it waits for a lock that nobody lets go
    accelerator.open_accelerator("example")
    os._exit(0)
print(os.waitpid(child, 0)[1])
done.set()
thread.join()
"""


@pytest.mark.turns(8)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_of_a_fork_does_not_wait_for_its_parents_threads() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", IN_CHILD],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "0"), done.stderr
