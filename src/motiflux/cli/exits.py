"""Exit codes, and the conversion of exceptions and warnings into exit codes and lines on stderr."""

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
    OutOfMemoryError,
    OutputError,
    PatternError,
    StreamError,
)

P = ParamSpec("P")

DEBUG_VARIABLE = "MOTIFLUX_DEBUG"
"""Environment variable: unless empty or 0, errors are raised with their traceback, not reported."""

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Error numbers of a failed write to a stream; only such errors have no file name."""


class UsageError(MotifluxError):
    """Invalid or contradictory arguments of a command."""


_BAD_INPUT = (ArgumentError, GraphError, PatternError, FormatError, OutputError, StreamError, UsageError)


class ExitCode(IntEnum):
    """Exit code of a command."""

    DONE = 0
    """Success; also if a requested limit was reached."""
    INCOMPLETE = 1
    """Incomplete: a timeout, an interrupt, a reader that closed the pipe, or a count above 2^128 - 1."""
    BAD_INPUT = 2
    """Usage error, or unusable input or output."""
    NO_DEVICE = 3
    """The requested device or engine is not available."""
    INTERNAL = 4
    """Internal error: an unexpected exception, or a wrong count of a benchmark."""
    TERMINATED = 128 + signal.SIGTERM
    """Stopped by SIGTERM; nothing is left behind."""


class Terminated(KeyboardInterrupt):
    """SIGTERM, handled like Ctrl-C."""


def stop_on_sigterm() -> None:
    """Raise `Terminated` on the first SIGTERM and ignore later ones, which would interrupt the cleanup."""

    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise Terminated

    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, stop)


def guarded(command: Callable[P, ExitCode]) -> Callable[P, None]:
    """Wrap a command so that the process exits with its return value, or with the code of its exception."""

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
    """Report that a signal stopped the command, with the message of `stop`, or `state` if it is empty."""
    if isinstance(stop, Terminated):
        return _report(f"terminated: {str(stop) or state}", ExitCode.TERMINATED)
    return _report(f"interrupted: {str(stop) or state}", ExitCode.INCOMPLETE)


def report_error(error: Exception) -> ExitCode:
    """Report an error in one line."""
    if isinstance(error, _BAD_INPUT):
        return _report(f"error: {error}", ExitCode.BAD_INPUT)
    if isinstance(error, (CountOverflowError, OutOfMemoryError)):
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
    """Redirect stdout to the null device, so that flushing it at exit raises no error."""
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
