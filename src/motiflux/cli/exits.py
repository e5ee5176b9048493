"""Exit codes, and the one place that turns exceptions and warnings into them and into lines on stderr."""

from __future__ import annotations

import errno
import functools
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum
from pathlib import Path
from types import FrameType
from typing import ParamSpec, TextIO

import typer

from motiflux.errors import (
    ArgumentError,
    CountOverflowError,
    DeviceError,
    FormatError,
    GraphError,
    InternalError,
    MotifluxError,
    MotifluxWarning,
    OutputError,
    PatternError,
    StreamError,
)

P = ParamSpec("P")

DEBUG_VARIABLE = "MOTIFLUX_DEBUG"
"""Set to anything but 0 or nothing, errors are raised with their traceback instead of reported."""

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""What a stream that cannot be written fails with, and nothing else does that has no file name."""


class UsageError(MotifluxError):
    """Arguments of a command that do not go together."""


_BAD_INPUT = (ArgumentError, GraphError, PatternError, FormatError, OutputError, StreamError, UsageError)


class ExitCode(IntEnum):
    """What the shell sees."""

    DONE = 0
    """Everything asked for was done; a limit asked for and reached is that."""
    INCOMPLETE = 1
    """Stopped by a timeout, an interrupt, or a reader that closed the pipe."""
    BAD_INPUT = 2
    """Wrong usage, or an input or output file that cannot be used."""
    NO_DEVICE = 3
    """The device or engine asked for is not available here."""
    INTERNAL = 4
    """A defect: an unexpected exception, or a benchmark count that disagrees with its oracle."""
    TERMINATED = 128 + signal.SIGTERM
    """Stopped by SIGTERM; nothing is left behind."""


class Terminated(KeyboardInterrupt):
    """SIGTERM, which stops whatever Ctrl-C stops, in the same orderly way."""


def stop_on_sigterm() -> None:
    """Turn the first SIGTERM into `Terminated` and ignore later ones, which would cut cleaning up short."""

    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise Terminated

    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, stop)


def guarded(command: Callable[P, ExitCode]) -> Callable[P, None]:
    """Wrap a command so that it leaves with the exit code it returns, or with that of its exception."""

    @functools.wraps(command)
    def guarded_command(*args: P.args, **kwargs: P.kwargs) -> None:
        with _notes_on_stderr():
            code = _exit_code(functools.partial(command, *args, **kwargs))
        raise typer.Exit(int(code))

    return guarded_command


def _exit_code(call: Callable[[], ExitCode]) -> ExitCode:
    try:
        code = call()
        sys.stdout.flush()
    except typer.Exit:
        raise
    except KeyboardInterrupt as interrupt:
        return report_stop(interrupt, "stopped before the end, no result")
    except BrokenPipeError:
        _silence_stdout()
        return ExitCode.INCOMPLETE
    except Exception as error:
        if os.environ.get(DEBUG_VARIABLE, "0") not in ("", "0"):
            raise
        return report_error(error)
    return code


def report_stop(stop: KeyboardInterrupt, state: str) -> ExitCode:
    """Say that a signal stopped the command, and how things stand: as `stop` says, else `state`."""
    if isinstance(stop, Terminated):
        return _report(f"terminated: {str(stop) or state}", ExitCode.TERMINATED)
    return _report(f"interrupted: {str(stop) or state}", ExitCode.INCOMPLETE)


def report_error(error: Exception) -> ExitCode:
    """Say in one line what went wrong."""
    if isinstance(error, _BAD_INPUT):
        return _report(f"error: {error}", ExitCode.BAD_INPUT)
    if isinstance(error, CountOverflowError):
        return _report(f"error: {error}", ExitCode.INCOMPLETE)
    if isinstance(error, DeviceError):
        return _report(f"error: {error}", ExitCode.NO_DEVICE)
    if isinstance(error, OSError):
        _silence_stdout()  # if it is stdout that failed (a full disk), it would fail again at exit
        where = f"{error.filename}: " if error.filename else ""
        if not where and error.errno in _FULL:
            where = "standard output: cannot be written: "
        return _report(f"error: {where}{error.strerror or error}", ExitCode.BAD_INPUT)
    kind = "" if type(error) in (InternalError, MotifluxError) else f"{type(error).__name__}: "
    text = " ".join(str(error).split())
    return _report(
        f"internal error: {kind}{text} (set {DEBUG_VARIABLE}=1 to see the traceback)", ExitCode.INTERNAL
    )


def _report(line: str, code: ExitCode) -> ExitCode:
    print(line, file=sys.stderr)
    return code


def _silence_stdout() -> None:
    """Point stdout at nothing, so that flushing it at exit does not complain about the closed pipe."""
    with suppress(OSError), Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


@contextmanager
def _notes_on_stderr() -> Iterator[None]:
    """Show a `MotifluxWarning` as one line ``note: ...``; other warnings as usual."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", MotifluxWarning)
        show_other = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, MotifluxWarning):
                print(f"note: {message}", file=sys.stderr)
            else:
                show_other(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        yield
