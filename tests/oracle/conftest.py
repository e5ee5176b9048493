"""What the summary of a test run says of the oracle's cases."""

from __future__ import annotations

import pytest

from tests.oracle.graphs import UNFINISHED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if UNFINISHED:
        terminalreporter.section("oracle cases not finished")
        for line in UNFINISHED:
            terminalreporter.write_line(line)
