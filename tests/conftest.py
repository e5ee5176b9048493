"""Options and fixtures that every test may use."""

from __future__ import annotations

import math
import os
import shlex
import signal
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Test modules share helpers: `from tests.data_paths import ...`, from whatever folder pytest is started.
REPOSITORY = Path(__file__).resolve().parents[1]
if str(REPOSITORY) not in sys.path:
    sys.path.insert(0, str(REPOSITORY))

# Where the environment has Python write no bytecode, each of the hundreds of processes that tests start would
# compile all that it imports, which takes longer than most of these tests.
if sys.dont_write_bytecode:
    sys.dont_write_bytecode = False
    sys.pycache_prefix = str(REPOSITORY / "build" / "bytecode")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix

DEVICES = ("cpu", "emulated", "cuda")
"""Devices that the same tests can run on (``--device``): ``emulated`` runs the GPU's kernels on the CPU."""

EMULATOR = "tests.simt.register:register"

_SLOW_DRAWS = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile(
    "default", max_examples=20, deadline=None, print_blob=True, suppress_health_check=_SLOW_DRAWS
)
settings.register_profile("long", settings.get_profile("default"), max_examples=400)
settings.register_profile("many", settings.get_profile("default"), max_examples=60)
settings.load_profile("default")

QUICK_EXAMPLES = {"cpu": {"default": 8, "many": 24}, "emulated": {"default": 4, "many": 6}}
"""Examples that property tests draw without ``--long``, by device and profile: each commit draws others."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="also run the tests marked long")
    parser.addoption(
        "--share", metavar="NUMBER/SHARES", help="of the tests marked long, run one share and no others"
    )
    parser.addoption(
        "--device",
        choices=DEVICES,
        default="cpu",
        help="device that engines are tested on; but for cpu, only tests that have one are run",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the emulator, or a cache of their own, known here and in the processes that tests start.

    The emulator's kernels stay in the user's cache: they take minutes to compile. Ctrl-C, which tests press,
    is made to work: shells start what runs in the background without it.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if share := config.getoption("--share"):
        config.pluginmanager.register(Share(*map(int, share.split("/"))))
    if not config.getoption("--long"):
        for name, examples in QUICK_EXAMPLES.get(config.getoption("--device"), {}).items():
            settings.register_profile(name, settings.get_profile(name), max_examples=examples)
        settings.load_profile("default")
    if config.getoption("--device") != "emulated":
        cache = config.stash[_CACHE] = tempfile.TemporaryDirectory(
            prefix="motiflux-tests-", ignore_cleanup_errors=True
        )
        os.environ["MOTIFLUX_CACHE"] = cache.name
    else:
        known = os.environ.get("MOTIFLUX_DEVICES")
        os.environ["MOTIFLUX_DEVICES"] = f"{known},{EMULATOR}" if known else EMULATOR
        paths = [str(REPOSITORY), os.environ.get("PYTHONPATH", "")]
        os.environ["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)


def pytest_unconfigure(config: pytest.Config) -> None:
    if (cache := config.stash.get(_CACHE, None)) is not None:
        cache.cleanup()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out long tests and those not in turn, unless asked for, and those the device would not change."""
    device = config.getoption("--device")
    if device != "cpu":
        _keep(config, items, [item for item in items if "device" in getattr(item, "fixturenames", ())])
    if device == "emulated":
        _keep(config, items, [item for item in items if not _is_too_long_for_the_emulator(item)])
    for item in items:
        for mark in item.iter_markers("devices"):
            if device not in mark.args:
                reason = f"not on device {device}: {mark.kwargs['reason']}"
                item.add_marker(pytest.mark.skip(reason=reason))
    if not (config.getoption("--long") or "long" in config.getoption("markexpr")):
        short = [item for item in items if not _is_left_out(item, device)]
        config.stash[_LEFT_OUT] = len(items) - len(short)
        _keep(config, items, short)


class Share:
    """Runs one share of the long tests, and no others.

    Parameters
    ----------
    number, shares
        Which one, and of how many.
    """

    def __init__(self, number: int, shares: int) -> None:
        self._number, self._shares = number, shares

    @pytest.hookimpl(trylast=True)  # after ``-k``, so that what it leaves is divided
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Keep every test of the share; neighbours by name may need the same objects compiled."""
        device = config.getoption("--device")
        long = sorted((item for item in items if _is_long(item, device)), key=lambda item: item.nodeid)
        first, end = (len(long) * at // self._shares for at in (self._number, self._number + 1))
        _keep(config, items, long[first:end])


def _is_left_out(item: pytest.Item, device: str) -> bool:
    """Return whether a test is left out of `make test`: it is long, or its turn comes with another commit."""
    from tests.rotating import is_turn_of

    turn = next((mark for mark in item.iter_markers("turns") if device in (mark.args[1:] or DEVICES)), None)
    return _is_long(item, device) or (turn is not None and not is_turn_of(item.nodeid, turn.args[0]))


def _is_long(item: pytest.Item, device: str) -> bool:
    """Return whether a test is marked long: for all devices, or for this one."""
    return any(not mark.args or device in mark.args for mark in item.iter_markers("long"))


def _is_too_long_for_the_emulator(item: pytest.Item) -> bool:
    """Return whether a test draws hundreds of examples, of which the emulator runs one a second."""
    return (
        isinstance(item, pytest.Function)
        and getattr(item, "callspec", None) is not None
        and (item.callspec.params.get("depth") == "long")
    )


def _keep(config: pytest.Config, items: list[pytest.Item], kept: list[pytest.Item]) -> None:
    chosen = set(kept)
    if left_out := [item for item in items if item not in chosen]:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


@pytest.fixture(autouse=True)
def handler_of_ctrl_c() -> Generator[None]:
    """Fail a test that leaves another handler of Ctrl-C behind, not one after it."""
    before = signal.getsignal(signal.SIGINT)
    yield
    left = signal.signal(signal.SIGINT, before)
    assert left is before, f"the test leaves {left} as the handler of Ctrl-C, where {before} was"


@pytest.fixture(autouse=True)
def engines_are_not_compared(request: pytest.FixtureRequest) -> Generator[None]:
    """Have no engine take over because it was faster: which one is depends on the load of the machine."""
    with pytest.MonkeyPatch.context() as patched:  # a test may undo its own patches
        if "device" in request.fixturenames:
            patched.setattr("motiflux.gpu.pvm.comparison.LEAST_SECONDS", math.inf)
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Tell how to repeat a test that failed: which are run may change with the commit."""
    report = yield
    if report.failed:
        report.sections.append(("To repeat this test", repeat_command(item)))
    return report


def repeat_command(item: pytest.Item) -> str:
    """Return the command that runs a test alone."""
    device = item.config.getoption("--device")
    sanitized = device == "emulated" and os.environ.get("MOTIFLUX_SIMT_SANITIZE") == "1"
    python = ".venv/bin/python"
    words = ["scripts/test-emulated.sh", python] if sanitized else [python, "-m", "pytest"]
    words += [] if sanitized or device == "cpu" else ["--device", device]
    return shlex.join([*words, "--long", item.nodeid])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if left_out := config.stash.get(_LEFT_OUT, 0):
        terminalreporter.write_line(f"{left_out} long tests left out; --long runs them too")


_LEFT_OUT = pytest.StashKey[int]()
_CACHE = pytest.StashKey[tempfile.TemporaryDirectory[str]]()


@pytest.fixture(scope="session")
def device(pytestconfig: pytest.Config) -> str:
    """Return the device under test, as ``device=`` takes it."""
    return str(pytestconfig.getoption("--device"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of shared data; skip the test if there is none."""
    from tests.data_paths import shared_dir

    folder = shared_dir()
    if not folder.is_dir():
        pytest.skip(f"no shared data at {folder}")
    return folder
