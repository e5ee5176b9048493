"""The tests' own way to wait fails at once where nothing is left to wait for."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from tests.unit.jit_cases import start_python
from tests.waiting import wait_for_line, wait_until


def test_a_process_that_has_ended_is_not_waited_for() -> None:
    with (
        start_python("import sys; sys.exit('no room')") as process,
        pytest.raises(AssertionError, match=r"a file: its process has ended with 1, and said 'no room\\n'"),
    ):
        wait_until(lambda: False, "a file", of=process)


def test_what_a_process_did_last_counts() -> None:
    with start_python("print('done')") as process:
        process.wait()
        wait_until(lambda: True, "a file", of=process)


def test_a_process_that_does_nothing_is_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as process:
        with pytest.raises(AssertionError, match=r"a file: not within 0\.1 seconds"):
            wait_until(lambda: False, "a file", of=process, seconds=0.1)
        assert process.wait(60) < 0


def test_a_thread_that_has_ended_is_not_waited_for() -> None:
    thread = threading.Thread(target=lambda: None)
    thread.start()
    with pytest.raises(AssertionError, match="a flag: its thread has ended"):
        wait_until(lambda: False, "a flag", of=thread)


def test_a_line_is_found_or_what_came_instead_is_told() -> None:
    with start_python("print('one'); print('two')") as process:
        assert wait_for_line(process, "two") == "two\n"
        with pytest.raises(AssertionError, match="no line that starts with 'three' in ''"):
            wait_for_line(process, "three")
