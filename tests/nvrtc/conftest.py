"""What tests of compiled kernels share: results of compilations, what was accepted before, budgets."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest

from motiflux.jit import NvrtcToolchain
from tests.nvrtc.accepted import HOW_TO_RECORD as HOW_TO_RECORD_ACCEPTED
from tests.nvrtc.accepted import Accepted
from tests.nvrtc.budgets import HOW_TO_RECORD, Budgets
from tests.nvrtc.results import Results, prune

_ACCEPTED = pytest.StashKey[Accepted]()
_BUDGETS = pytest.StashKey[Budgets]()
_RESULTS = pytest.StashKey[Results]()
_MANY = 100
"""New results after which the run says that they can be recorded."""


def pytest_addoption(parser: pytest.Parser) -> None:
    # pytest reads this only if it is started on this folder: whoever records has to say so.
    parser.addoption(
        "--record-budgets", action="store_true", help="record the resources of kernels instead of comparing"
    )
    parser.addoption(
        "--record-accepted",
        action="store_true",
        help="record which units NVRTC accepts",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Leave out no architecture of a kernel that is recorded."""
    if config.getoption("--record-budgets", default=False):
        config.option.long = True


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say what was compiled, and which budgets were held against more than was recorded.

    The latter are those of kernels that another NVRTC compiled when they were recorded.
    """
    if (results := config.stash.get(_RESULTS, None)) is not None:
        terminalreporter.write_line(f"{results.compiled} results of NVRTC are new, the others were known")
    accepted = config.stash.get(_ACCEPTED, None)
    if accepted is not None and not accepted.recording and accepted.known:
        terminalreporter.write_line(f"{accepted.known} units are as they were when they were accepted")
    if results is not None and results.compiled > _MANY and not (accepted is None or accepted.recording):
        terminalreporter.write_line(HOW_TO_RECORD_ACCEPTED)
    budgets = config.stash.get(_BUDGETS, None)
    if budgets is None or budgets.recording:
        return
    for version, number in budgets.of_other_versions().items():
        terminalreporter.write_line(
            f"{number} budgets are of NVRTC {version}, this is {budgets.version}: more was let pass; "
            f"{HOW_TO_RECORD}"
        )


@pytest.fixture(scope="session")
def results(pytestconfig: pytest.Config) -> Iterator[Results]:
    """Return what compiles units whose results are not known; with ``--long``, all of them."""
    if importlib.util.find_spec("cuda") is None or importlib.util.find_spec("cuda.core") is None:
        pytest.skip("cuda.core is not installed")
    found = pytestconfig.stash[_RESULTS] = Results(anew=pytestconfig.getoption("--long"))
    yield found
    prune()


@pytest.fixture(scope="session")
def accepted(pytestconfig: pytest.Config, results: Results) -> Iterator[Accepted]:
    """Return what is known to be accepted, which is written when all tests are done if that was asked for."""
    from tests.nvrtc.test_accepted import labels

    option = pytestconfig.getoption
    recording = any(option(f"--record-{name}", default=False) for name in ("accepted", "budgets"))
    found = pytestconfig.stash[_ACCEPTED] = Accepted(results, recording=recording, anew=option("--long"))
    yield found
    found.save(labels())


@pytest.fixture(scope="session")
def budgets(pytestconfig: pytest.Config, results: Results) -> Iterator[Budgets]:
    """Return the budgets, which are written when all tests are done if that was asked for."""
    version = NvrtcToolchain("sm_90").identity()["version"]
    recorded = Budgets(version, recording=bool(pytestconfig.getoption("--record-budgets", default=False)))
    pytestconfig.stash[_BUDGETS] = recorded
    yield recorded
    recorded.save()
