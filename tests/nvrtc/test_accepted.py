"""What NVRTC has accepted is known by all that it depends on."""

from __future__ import annotations

from pathlib import Path

import pytest

from motiflux.codegen.all_kernels import all_sources
from motiflux.jit import Source
from tests.nvrtc import accepted as module
from tests.nvrtc.accepted import FILE, HOW_TO_RECORD, Accepted, as_json
from tests.nvrtc.results import Depth, Results
from tests.nvrtc.test_headers import ALL
from tests.nvrtc.test_own_policies import SOURCES

UNIT = Source("unit", 'extern "C" __global__ void k(int* out) { *out = 1; }\n')
ARGUMENTS = ("unit unit", UNIT, "sm_90", Depth.CUBIN, "of 8 bytes")


def labels() -> set[str]:
    """Return the name of every unit, header and policy."""
    units = {f"unit {source.name}" for source in all_sources()}
    return units | {f"header {name}" for name in ALL} | {f"policy {name}" for name in SOURCES}


@pytest.fixture
def file(tmp_path: Path, results: Results, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file that has the unit, with a commit that compiles none anew."""
    monkeypatch.setattr(module, "is_turn_of", lambda key, commits: False)
    recording = Accepted(results, recording=True, file=tmp_path / "accepted.json")
    assert not recording.has(*ARGUMENTS)
    recording.add(*ARGUMENTS)
    recording.add("unit gone", *ARGUMENTS[1:])
    recording.save({"unit unit"})
    return tmp_path / "accepted.json"


def test_a_unit_is_known_while_all_that_it_depends_on_is_as_it_was(file: Path, results: Results) -> None:
    known = Accepted(results, file=file)
    label, source, arch, depth, budgets = ARGUMENTS
    assert known.has(*ARGUMENTS)
    others = [
        ("unit gone", source, arch, depth, budgets),
        (label, Source("unit", source.text + "\n"), arch, depth, budgets),
        (label, source, "sm_80", depth, budgets),
        (label, source, arch, Depth.FRONT_END, budgets),
        (label, source, arch, depth, "of 4 bytes"),
    ]
    assert not any(known.has(*other) for other in others)
    assert known.known == 1


def test_units_are_compiled_in_turn_and_when_all_are(
    file: Path, results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not Accepted(results, file=file, anew=True).has(*ARGUMENTS)
    monkeypatch.setattr(module, "is_turn_of", lambda key, commits: True)
    assert not Accepted(results, file=file).has(*ARGUMENTS)


def test_only_what_there_is_is_recorded_and_in_one_order(results: Results) -> None:
    recorded = Accepted(results).table
    assert set(recorded) <= labels(), HOW_TO_RECORD
    assert FILE.read_text() == as_json(recorded)
