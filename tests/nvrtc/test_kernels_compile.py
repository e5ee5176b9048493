"""Every kernel compiles for every architecture and keeps within its budget of local memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from motiflux.codegen.all_kernels import all_sources, reachable_sources
from motiflux.jit import Source
from tests.nvrtc.accepted import Accepted
from tests.nvrtc.budgets import FILE, Budgets, as_json
from tests.nvrtc.resources import Resources, parse_resources
from tests.nvrtc.results import Depth, Results

ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")

BUDGETED = "sm_90"
"""The architecture that `make test` compiles kernels for; `make test-all` compiles for all."""

COMPILED_FOR_A_SHAPE = {"search-count-5v-32", "search-store-5v-32", "universal-vertex-5v"}
"""They stand for the units that default tuning compiles for the shape of a plan, once a plan is repeated."""

QUICK = {source.name for source in reachable_sources()} | COMPILED_FOR_A_SHAPE

# What the tests below have compiled, by unit and entry point.
compiled: set[str] = set()


def only_accepted() -> Iterator[Any]:
    """Give every source with every architecture, but for those that `make test` compiles to the end."""
    for source in all_sources():
        for arch in ARCHITECTURES:
            if not is_compiled(source, arch):
                yield pytest.param(arch, source, id=f"{source.name}-{arch}")


def is_compiled(source: Source, arch: str) -> bool:
    return source.name in QUICK and arch == BUDGETED


@pytest.mark.parametrize(("arch", "source"), list(only_accepted()))
def test_every_kernel_is_accepted_for_every_architecture(
    arch: str, source: Source, results: Results, accepted: Accepted
) -> None:
    what = (label(source), source, arch, Depth.FRONT_END)
    if accepted.has(*what):
        return
    found = results.of(source, arch, Depth.FRONT_END)
    assert found.is_image
    assert "warning" not in found.log
    accepted.add(*what)


def label(source: Source) -> str:
    return f"unit {source.name}"


def cases() -> Iterator[Any]:
    """Give every source with every architecture; `make test-all` compiles those for switches."""
    for source in all_sources():
        for arch in ARCHITECTURES:
            marks = [] if is_compiled(source, arch) else [pytest.mark.long]
            yield pytest.param(arch, source, marks=marks, id=f"{source.name}-{arch}")


@pytest.mark.parametrize(("arch", "source"), list(cases()))
def test_kernel_compiles_within_its_budget(
    arch: str, source: Source, results: Results, budgets: Budgets, accepted: Accepted
) -> None:
    what = (label(source), source, arch, Depth.CUBIN)
    if accepted.has(*what, budgets.of_unit(source.name, arch)):
        return
    code = results.of(source, arch)
    assert code.is_image
    assert "warning" not in code.log
    kernels = parse_resources(code.log)
    assert kernels, f"{source.name} has no entry point"
    compiled.update(f"{source.name}/{entry}" for entry in kernels)
    for entry, found in kernels.items():
        budgets.check(f"{source.name}/{entry}", arch, found)
    accepted.add(*what, budgets.of_unit(source.name, arch))


def test_units_have_names_of_their_own() -> None:
    names = [source.name for source in all_sources()]
    assert len(set(names)) == len(names)


def test_there_are_budgets_for_kernels_there_are_only(budgets: Budgets) -> None:
    units = {source.name for source in all_sources()}
    made = {kernel.split("/")[0] for kernel in compiled}
    if budgets.recording:
        if made == units:
            budgets.keep_only(compiled)
        return
    assert {kernel.split("/")[0] for kernel in budgets.table} == units
    assert {kernel for kernel in budgets.table if kernel.split("/")[0] in made} == compiled
    for archs in budgets.table.values():
        assert set(archs) == set(ARCHITECTURES)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return budgets that NVRTC 13.4 has recorded of one kernel."""
    file = tmp_path / "budgets.json"
    recording = Budgets("13.4", recording=True, file=file)
    for arch in ("sm_80", "sm_90"):
        recording.check("unit/kernel", arch, Resources(32, stack=16, spill_stores=8, spill_loads=8))
    recording.save()
    return file


def test_growth_beyond_a_budget_fails_and_says_how_to_record_it(file: Path) -> None:
    budgets = Budgets("13.4", recording=False, file=file)
    budgets.check("unit/kernel", "sm_90", Resources(64, stack=16, spill_stores=0, spill_loads=8))
    with pytest.raises(AssertionError, match=r"spill_stores: 12 bytes, budget 8.*--record-budgets"):
        budgets.check("unit/kernel", "sm_90", Resources(32, stack=16, spill_stores=12, spill_loads=8))
    with pytest.raises(AssertionError, match=r"no budget.*--record-budgets"):
        budgets.check("unit/kernel", "sm_120", Resources(32, 0, 0, 0))


def test_another_nvrtc_may_allot_registers_anew_but_not_spill_without_bound(file: Path) -> None:
    budgets = Budgets("14.0", recording=False, file=file)
    budgets.check("unit/kernel", "sm_90", Resources(48, stack=64, spill_stores=120, spill_loads=392))
    with pytest.raises(
        AssertionError, match=r"spill_loads: 393 bytes, budget 392.* NVRTC 13\.4, this is 14\.0"
    ):
        budgets.check("unit/kernel", "sm_90", Resources(48, stack=64, spill_stores=120, spill_loads=393))
    assert budgets.of_other_versions() == {"13.4": 2}


def test_a_kernel_is_recorded_by_any_nvrtc_and_the_others_keep_their_budgets(file: Path) -> None:
    recording = Budgets("14.0", recording=True, file=file)
    recording.check("unit/kernel", "sm_90", Resources(40, stack=0, spill_stores=0, spill_loads=0))
    recording.save()
    newer, older = (Budgets(version, recording=False, file=file) for version in ("14.0", "13.4"))
    with pytest.raises(AssertionError, match="spill_loads: 4 bytes, budget 0"):
        newer.check("unit/kernel", "sm_90", Resources(40, stack=0, spill_stores=0, spill_loads=4))
    with pytest.raises(AssertionError, match="spill_loads: 12 bytes, budget 8"):
        older.check("unit/kernel", "sm_80", Resources(32, stack=16, spill_stores=8, spill_loads=12))
    assert (newer.of_other_versions(), older.of_other_versions()) == ({"13.4": 1}, {"14.0": 1})


def test_budgets_that_are_recorded_as_they_were_leave_the_file_as_it_was() -> None:
    assert as_json(Budgets("none", recording=False).table) == FILE.read_text()
