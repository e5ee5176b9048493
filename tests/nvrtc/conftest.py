"""What the tests of compiled kernels share: a compiler per architecture, and the recorded budgets."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator

import pytest

from motiflux.jit import Compiler, KernelCache, NvrtcToolchain
from tests.nvrtc.budgets import HOW_TO_RECORD, Budgets

_BUDGETS = pytest.StashKey[Budgets]()


def pytest_addoption(parser: pytest.Parser) -> None:
    # pytest reads this only if it is started on this folder: whoever records has to say so.
    parser.addoption(
        "--record-budgets", action="store_true", help="record the resources of kernels instead of comparing"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Leave out no architecture of a kernel that is recorded."""
    if config.getoption("--record-budgets", default=False):
        config.option.long = True


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say which budgets were held against more than was recorded, as another NVRTC compiled the kernels."""
    budgets = config.stash.get(_BUDGETS, None)
    if budgets is None or budgets.recording:
        return
    for version, number in budgets.of_other_versions().items():
        terminalreporter.write_line(
            f"{number} budgets are of NVRTC {version}, this is {budgets.version}: more was let pass; "
            f"{HOW_TO_RECORD}"
        )


@pytest.fixture(scope="session")
def compiler_for() -> Callable[[str], Compiler]:
    """Return a function from an architecture to a compiler that compiles everything anew."""
    if importlib.util.find_spec("cuda") is None or importlib.util.find_spec("cuda.core") is None:
        pytest.skip("cuda.core is not installed")
    compilers: dict[str, Compiler] = {}

    def find(arch: str) -> Compiler:
        return compilers.setdefault(arch, Compiler(NvrtcToolchain(arch), KernelCache(None)))

    return find


@pytest.fixture(scope="session")
def budgets(pytestconfig: pytest.Config, compiler_for: object) -> Iterator[Budgets]:
    """Return the budgets, which are written when all tests are done if that was asked for."""
    version = NvrtcToolchain("sm_90").identity()["version"]
    recorded = Budgets(version, recording=bool(pytestconfig.getoption("--record-budgets", default=False)))
    pytestconfig.stash[_BUDGETS] = recorded
    yield recorded
    recorded.save()
