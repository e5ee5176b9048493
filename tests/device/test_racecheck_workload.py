"""What racecheck watches gives the CPU's answers, and runs the units that each case is for."""

from __future__ import annotations

import pytest

from scripts.racecheck_workload import CASES, run_case

pytestmark = [
    pytest.mark.devices("emulated", "cuda", reason="there are no kernels on the CPU"),
    pytest.mark.long("emulated"),
]


@pytest.mark.parametrize("case", CASES)
def test_a_case_is_right_and_runs_what_it_is_for(device: str, case: str) -> None:
    run = run_case(case, device)
    assert run.units
