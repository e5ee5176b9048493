"""A unit is compiled once, wherever it is asked for, and nobody is kept waiting for longer than need be."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from motiflux.errors import CompileError, DeviceError
from motiflux.jit import Compiler, KernelCache, Source
from tests.unit.jit_cases import CopyingToolchain, Gate, run_python
from tests.waiting import wait_until

UNIT = Source("unit", "text", description="a search for triangles")
BAD = Source("bad", "an error\n", ("-DA=1",), description="plan: a triangle\n  step 1")


@pytest.fixture
def include(tmp_path: Path) -> tuple[Path, ...]:
    folder = tmp_path / "include"
    folder.mkdir()
    (folder / "header.hpp").write_text("int header;")
    return (folder,)


@pytest.fixture
def cache(tmp_path: Path) -> KernelCache:
    return KernelCache(tmp_path / "cache")


def test_a_unit_is_compiled_once_then_remembered(cache: KernelCache, include: tuple[Path, ...]) -> None:
    toolchain = CopyingToolchain(seconds=0.02)
    compiler = Compiler(toolchain, cache, include)
    assert not compiler.known(UNIT)
    first = compiler.compile(UNIT)
    assert (first.name, first.image, first.log, first.cached) == ("unit", b"text", "all is well", False)
    assert first.seconds >= 0.02
    assert toolchain.threads == [threading.get_ident()]
    again = compiler.compile(Source("unit", "text", description="another search"))
    assert (again.image, again.key, again.log, again.cached) == (b"text", first.key, "", True)
    assert compiler.known(UNIT)
    assert compiler.wait(UNIT) is again
    assert compiler.submit(UNIT).result(0) is again
    assert toolchain.built == ["unit"]


def test_another_compiler_finds_it_on_disk(cache: KernelCache, include: tuple[Path, ...]) -> None:
    first = Compiler(CopyingToolchain(), cache, include).compile(UNIT)
    toolchain = CopyingToolchain()
    compiler = Compiler(toolchain, cache, include)
    assert compiler.known(UNIT)
    code = Compiler(toolchain, cache, include).wait(UNIT)
    assert (code.image, code.key, code.cached) == (first.image, first.key, True)
    assert toolchain.built == []


def test_another_toolchain_or_header_does_not_find_it(cache: KernelCache, include: tuple[Path, ...]) -> None:
    Compiler(CopyingToolchain(), cache, include).compile(UNIT)
    assert not Compiler(CopyingToolchain(version="2"), cache, include).known(UNIT)
    (include[0] / "header.hpp").write_text("int other;")
    assert not Compiler(CopyingToolchain(), cache, include).known(UNIT)


def test_nothing_is_kept_of_a_unit_whose_headers_change_meanwhile(
    cache: KernelCache, include: tuple[Path, ...]
) -> None:
    header = include[0] / "header.hpp"
    compiler = Compiler(CopyingToolchain(), cache, include)
    compiler.compile(UNIT)
    header.write_text("int upgraded;")
    late = Source("late", "text")
    assert compiler.compile(late).image == b"text"
    header.write_text("int header;")
    assert not Compiler(CopyingToolchain(), cache, include).known(late)


def test_many_threads_share_one_compilation(include: tuple[Path, ...]) -> None:
    toolchain = CopyingToolchain(seconds=0.1)
    compiler = Compiler(toolchain, KernelCache(None), include)
    calls = [compiler.compile, compiler.wait, lambda source: compiler.submit(source).result()] * 4
    with ThreadPoolExecutor(len(calls)) as pool:
        codes = [future.result() for future in [pool.submit(call, UNIT) for call in calls]]
    assert toolchain.built == ["unit"]
    assert {code.image for code in codes} == {b"text"}


def test_submitted_units_are_compiled_off_the_calling_thread_one_by_one(include: tuple[Path, ...]) -> None:
    toolchain = Gate()
    compiler = Compiler(toolchain, KernelCache(None), include)
    futures = [compiler.submit(Source(f"unit-{number}", str(number))) for number in range(4)]
    assert not any(future.done() for future in futures)
    toolchain.opened.set()
    assert [future.result().image for future in futures] == [b"0", b"1", b"2", b"3"]
    assert toolchain.built == ["unit-0", "unit-1", "unit-2", "unit-3"]
    assert threading.get_ident() not in toolchain.threads


def test_the_end_of_all_that_is_compiled_can_be_awaited(include: tuple[Path, ...]) -> None:
    toolchain = Gate()
    compiler = Compiler(toolchain, KernelCache(None), include)
    assert compiler.settle(0)
    futures = [compiler.submit(Source(f"unit-{number}", str(number))) for number in range(3)]
    assert not compiler.settle(0.01)
    toolchain.opened.set()
    assert compiler.settle()
    assert all(future.done() for future in futures)


def test_the_same_unit_submitted_twice_is_compiled_once(include: tuple[Path, ...]) -> None:
    toolchain = Gate()
    compiler = Compiler(toolchain, KernelCache(None), include)
    first, second = compiler.submit(UNIT), compiler.submit(UNIT)
    assert first is second
    assert not first.cancel()
    toolchain.opened.set()
    first.result()
    assert toolchain.built == ["unit"]


def test_a_unit_that_waits_its_turn_is_compiled_by_whoever_needs_it_now(include: tuple[Path, ...]) -> None:
    toolchain = Gate("ahead")
    compiler = Compiler(toolchain, KernelCache(None), include)
    ahead, queued = compiler.submit(Source("ahead", "x")), compiler.submit(UNIT)
    toolchain.began.wait()
    compiler.compile(UNIT)
    assert toolchain.threads == [threading.get_ident()]
    assert queued.done()
    toolchain.opened.set()
    ahead.result()
    assert toolchain.built == ["unit", "ahead"]


def test_units_that_are_waited_for_stand_behind_no_others(include: tuple[Path, ...]) -> None:
    gate = Gate(held="first")
    compiler = Compiler(gate, KernelCache(None), include)
    first = compiler.submit(Source("first", "1"))
    assert gate.began.wait(60)
    queued = compiler.submit(Source("queued", "2"))
    assert compiler.wait(Source("new", "3"), 60).image == b"3"
    assert not queued.done()
    assert compiler.wait(Source("queued", "2"), 60).image == b"2"
    assert queued.done()
    assert not first.done()
    gate.opened.set()
    assert first.result(60).image == b"1"
    assert gate.built == ["new", "queued", "first"]
    assert compiler.settle(60)


def test_a_refused_unit_says_all(cache: KernelCache, include: tuple[Path, ...]) -> None:
    compiler = Compiler(CopyingToolchain(), cache, include)
    for call in (compiler.compile, compiler.wait, lambda source: compiler.submit(source).result()):
        with pytest.raises(CompileError) as caught:
            call(BAD)
        error = caught.value
        assert error.name == "bad"
        assert error.log == "line 1: first complaint\nline 2: last complaint"
        assert error.description == BAD.description
        assert error.log in str(error)
        assert BAD.description in str(error)
        assert error.path is not None
        saved = Path(error.path)
        assert str(saved) in str(error)
        assert saved.parent == cache.folder / "failed"
        assert saved.read_text().startswith(BAD.text)
        assert "-DA=1" in saved.read_text()
        assert "copying" in saved.read_text()
    assert not compiler.known(BAD)


def test_whatever_else_goes_wrong_reaches_everyone_who_waits(include: tuple[Path, ...]) -> None:
    class Missing(CopyingToolchain):
        def identity(self) -> dict[str, str]:
            raise DeviceError("install it")

    compiler = Compiler(Missing(), KernelCache(None), include)
    for call in (compiler.compile, compiler.wait, compiler.known):
        with pytest.raises(DeviceError, match="install it"):
            call(UNIT)


def test_a_timeout_leaves_the_compilation_going_on(include: tuple[Path, ...]) -> None:
    toolchain = Gate()
    compiler = Compiler(toolchain, KernelCache(None), include)
    with pytest.raises(TimeoutError, match="unit"):
        compiler.wait(UNIT, timeout=0.1)
    toolchain.opened.set()
    assert compiler.wait(UNIT).image == b"text"
    assert toolchain.built == ["unit"]


def test_memory_lets_go_of_what_was_not_used_for_longest(
    include: tuple[Path, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("motiflux.jit.compiler._MEMORY_BYTES", 250)
    compiler = Compiler(CopyingToolchain(), KernelCache(None), include)
    first, second, third = (Source(name, name[0] * 100) for name in ("a", "b", "c"))
    compiler.compile(first)
    compiler.compile(second)
    compiler.compile(first)
    compiler.compile(third)
    assert [compiler.known(source) for source in (first, second, third)] == [True, False, True]


def test_an_idle_compiler_keeps_no_thread(include: tuple[Path, ...]) -> None:
    compiler = Compiler(CopyingToolchain(), KernelCache(None), include)
    compiler.wait(UNIT)
    wait_until(
        lambda: all(thread.name != "motiflux-compiler" for thread in threading.enumerate()), "no thread"
    )


PREPARE = """
import os, signal, sys, threading, time
from motiflux.jit import Compiler, KernelCache, Source
from pathlib import Path
from tests.unit.jit_cases import CopyingToolchain, Gate
toolchain = CopyingToolchain(seconds=float(sys.argv[1])) if sys.argv[1] != "gate" else Gate()
cache = KernelCache(Path(sys.argv[2]))
compiler = Compiler(toolchain, cache)
unit = Source("unit", "text")
"""


@pytest.mark.turns(8)
def test_an_interrupt_gets_through_and_loses_nothing(tmp_path: Path) -> None:
    script = PREPARE + (
        "for attempt in range(3):\n"
        "    try:\n"
        "        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "        compiler.wait(unit)\n"
        "    except KeyboardInterrupt:\n"
        "        print('interrupted')\n"
        "toolchain.opened.set()\n"
        "code = compiler.wait(unit)\n"
        "print(code.image.decode(), len(toolchain.built), compiler._cache.get(code.key) is not None)\n"
    )
    status, out, err = run_python(script, "gate", str(tmp_path))
    assert (status, out.split(), err) == (0, ["interrupted"] * 3 + ["text", "1", "True"], "")


def test_an_interrupt_of_the_compiling_thread_hands_the_unit_to_the_background(tmp_path: Path) -> None:
    script = PREPARE + (
        "def press():\n"
        "    toolchain.began.wait()\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "threading.Thread(target=press).start()\n"
        "try:\n"
        "    compiler.compile(unit)\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
        "toolchain.opened.set()\n"
        "print(compiler.submit(unit).result().image.decode())\n"
    )
    status, out, err = run_python(script, "gate", str(tmp_path))
    assert (status, out.split(), err) == (0, ["interrupted", "text"], "")


def test_exit_waits_for_no_compilation(tmp_path: Path) -> None:
    script = PREPARE + (
        "for number in range(5):\n"
        "    compiler.submit(Source(f'unit-{number}', str(number)))\n"
        "toolchain.began.wait()\n"
        "sys.exit(3)\n"
    )
    assert run_python(script, "1000", str(tmp_path)) == (3, "", "")


@pytest.mark.turns(8)
def test_the_child_of_a_fork_compiles_for_itself(tmp_path: Path) -> None:
    script = PREPARE + (
        "known = Source('known', 'known')\n"
        "compiler.compile(known)\n"
        "compiler.submit(unit)\n"
        "compiler.submit(Source('queued', 'queued'))\n"
        "while len(toolchain.built) < 2: time.sleep(0.01)\n"
        "if (child := os.fork()) == 0:\n"
        "    queued = compiler.compile(Source('queued', 'queued'))\n"
        "    codes = [compiler.wait(known), compiler.wait(unit), queued]\n"
        "    print([code.image.decode() for code in codes], codes[0].cached, flush=True)\n"
        "    os._exit(0)\n"
        "print(os.waitpid(child, 0)[1], compiler.wait(unit).image.decode(), flush=True)\n"
    )
    status, out, err = run_python(script, "0.5", str(tmp_path))
    assert (status, out.splitlines(), err) == (0, ["['known', 'text', 'queued'] True", "0 text"], "")
