"""Which version of a kernel serves when: compiled quickly, to full speed, or for the shape of one plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from motiflux.errors import CompileError
from motiflux.gpu.runtime.accelerator import SPECIAL_SECONDS, Accelerator
from motiflux.jit import BuildError, Built, Compiler, KernelCache, Source
from motiflux.jit.base import QUICK
from tests.unit.accelerator_cases import LoadingDevice
from tests.unit.jit_cases import CopyingToolchain, Gate
from tests.waiting import wait_until

UNIT = Source("unit", "text")
SPECIAL = Source("special", "special text")


class Versions(Gate):
    """Compiles the quick version to another image, at once; the full one when it is opened."""

    def __init__(self, *, knows_quick: bool = True) -> None:
        super().__init__(held="unit")
        self.knows_quick = knows_quick

    def build(self, source: Source, include: tuple[Path, ...]) -> Built:
        built = super().build(source, include)
        if QUICK not in source.options:
            return built
        if not self.knows_quick:
            raise BuildError(f"unrecognized option {QUICK}")
        return Built(b"quick " + built.image)


@pytest.fixture
def include(tmp_path: Path) -> tuple[Path, ...]:
    folder = tmp_path / "include"
    folder.mkdir()
    (folder / "header.hpp").write_text("int header;")
    return (folder,)


def accelerator_with(
    toolchain: CopyingToolchain, include: tuple[Path, ...], cache: Path | None = None, *, quick: bool = True
) -> Accelerator:
    compiler = Compiler(toolchain, KernelCache(cache), include)
    return Accelerator(LoadingDevice(), compiler, compiles_quickly=quick)


class TestQuickVersion:
    def test_it_serves_until_the_full_one_is_there(self, include: tuple[Path, ...]) -> None:
        toolchain = Versions()
        accelerator = accelerator_with(toolchain, include)
        first = accelerator.kernel(UNIT, asks_again=True)
        assert first.image == b"quick text"
        assert accelerator.kernel(UNIT, asks_again=True) is first
        assert accelerator.is_best(UNIT, first)
        toolchain.opened.set()
        assert accelerator.compiler.settle(60)
        assert not accelerator.is_best(UNIT, first)
        full = accelerator.kernel(UNIT, asks_again=True)
        assert full.image == b"text"
        # Of two jobs that hold the quick version, both are told.
        assert not accelerator.is_best(UNIT, first)
        assert accelerator.is_best(UNIT, full)
        assert sorted(toolchain.built) == ["unit", "unit-quick"]

    def test_it_is_not_made_where_the_full_one_is_known(
        self, include: tuple[Path, ...], tmp_path: Path
    ) -> None:
        Compiler(CopyingToolchain(), KernelCache(tmp_path / "cache"), include).compile(UNIT)
        toolchain = CopyingToolchain()
        accelerator = accelerator_with(toolchain, include, tmp_path / "cache")
        assert accelerator.kernel(UNIT, asks_again=True).image == b"text"
        assert toolchain.built == []

    @pytest.mark.parametrize(("quick", "asks_again"), [(False, True), (True, False)])
    def test_it_is_not_made_for_who_would_not_ask_again(
        self, include: tuple[Path, ...], quick: bool, asks_again: bool
    ) -> None:
        toolchain = CopyingToolchain()
        accelerator = accelerator_with(toolchain, include, quick=quick)
        assert accelerator.kernel(UNIT, asks_again=asks_again).image == b"text"
        assert toolchain.built == ["unit"]

    @pytest.mark.parametrize("takes_long", [False, True])
    def test_it_may_be_made_of_units_alone_that_take_long(
        self, include: tuple[Path, ...], takes_long: bool
    ) -> None:
        toolchain = Versions()
        accelerator = Accelerator(
            LoadingDevice(), Compiler(toolchain, KernelCache(None), include), compiles_long_quickly=True
        )
        if not takes_long:
            toolchain.opened.set()
        found = accelerator.kernel(UNIT, asks_again=True, takes_long=takes_long)
        assert found.image == (b"quick text" if takes_long else b"text")
        assert accelerator.serves_quickly_compiled(UNIT) == takes_long
        toolchain.opened.set()
        assert accelerator.compiler.settle(60)
        assert accelerator.kernel(UNIT, asks_again=True, takes_long=takes_long).image == b"text"
        assert not accelerator.serves_quickly_compiled(UNIT)

    def test_a_compiler_without_the_option_compiles_to_full_speed(self, include: tuple[Path, ...]) -> None:
        toolchain = Versions(knows_quick=False)
        toolchain.opened.set()
        accelerator = accelerator_with(toolchain, include)
        assert accelerator.kernel(UNIT, asks_again=True).image == b"text"
        other = Source("other", "other text")
        assert accelerator.kernel(other, asks_again=True).image == b"other text"
        assert toolchain.built == ["unit-quick", "unit", "other"]  # it was asked once

    def test_a_unit_that_does_not_compile_is_refused_as_before(self, include: tuple[Path, ...]) -> None:
        accelerator = accelerator_with(CopyingToolchain(), include)
        with pytest.raises(CompileError, match="bad"):
            accelerator.kernel(Source("bad", "an error"), asks_again=True)

    def test_it_goes_on_where_the_full_one_does_not_compile(self, include: tuple[Path, ...]) -> None:
        class OnlyQuick(CopyingToolchain):
            def build(self, source: Source, include: tuple[Path, ...]) -> Built:
                if QUICK not in source.options:
                    raise BuildError("out of memory")
                return super().build(source, include)

        accelerator = accelerator_with(OnlyQuick(), include)
        first = accelerator.kernel(UNIT, asks_again=True)
        assert accelerator.compiler.settle(60)
        assert accelerator.kernel(UNIT, asks_again=True) is first
        assert accelerator.is_best(UNIT, first)


class TestSpecialVersion:
    def test_it_is_compiled_once_its_shape_took_long_enough(self, include: tuple[Path, ...]) -> None:
        toolchain = CopyingToolchain()
        accelerator = accelerator_with(toolchain, include)
        for _ in range(100):
            assert accelerator.choose(UNIT, SPECIAL, "auto") == (UNIT, False)
            accelerator.add_seconds(SPECIAL, SPECIAL_SECONDS / 101)
        assert toolchain.built == []
        accelerator.add_seconds(SPECIAL, SPECIAL_SECONDS)
        accelerator.choose(UNIT, SPECIAL, "auto")
        assert accelerator.compiler.settle(60)
        assert toolchain.built == ["special"]
        assert accelerator.choose(UNIT, SPECIAL, "auto") == (SPECIAL, True)

    def test_it_serves_at_once_where_an_earlier_process_compiled_it(
        self, include: tuple[Path, ...], tmp_path: Path
    ) -> None:
        Compiler(CopyingToolchain(), KernelCache(tmp_path / "cache"), include).compile(SPECIAL)
        toolchain = CopyingToolchain()
        accelerator = accelerator_with(toolchain, include, tmp_path / "cache")
        assert accelerator.choose(UNIT, SPECIAL, "auto") == (UNIT, False)  # the compiler is not loaded yet
        accelerator.kernel(UNIT)
        for _ in range(3):  # whoever asks
            assert accelerator.choose(UNIT, SPECIAL, "auto") == (SPECIAL, True)
        assert toolchain.built == ["unit"]


def test_what_is_refused_is_begun_once(include: tuple[Path, ...]) -> None:
    toolchain = CopyingToolchain()
    accelerator, bad = accelerator_with(toolchain, include), Source("bad", "an error")
    accelerator.begin(bad)
    assert accelerator.compiler.settle(60)
    assert all(accelerator.begin(bad) for _ in range(3))  # a call finds out
    assert toolchain.built == ["bad"]


def test_what_is_begun_is_compiled_in_the_background(include: tuple[Path, ...]) -> None:
    toolchain = CopyingToolchain()
    accelerator = accelerator_with(toolchain, include)
    assert not accelerator.begin(UNIT)
    assert accelerator.compiler.settle(60)
    assert accelerator.begin(UNIT)
    assert accelerator.kernel(UNIT, asks_again=True).image == b"text"
    assert toolchain.built == ["unit"]


def test_what_a_call_waits_for_is_compiled_before_what_was_begun(include: tuple[Path, ...]) -> None:
    toolchain = Gate(held="unit")
    accelerator = accelerator_with(toolchain, include)
    other = Source("other", "other text")
    assert not accelerator.begin(UNIT)
    assert not accelerator.begin(other)
    assert not accelerator.is_compiled(other)
    wait_until(lambda: accelerator.begin(other, at_once=True), "the unit that is waited for")
    assert toolchain.built == ["other"]
    assert accelerator.is_compiled(other)
    assert not accelerator.begin(UNIT, at_once=True)  # another thread compiles it
    toolchain.opened.set()
    wait_until(lambda: accelerator.begin(UNIT, at_once=True), "the unit of another thread")
    assert toolchain.built == ["other", "unit"]
