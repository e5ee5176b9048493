"""Exit codes, and the conversion of exceptions and warnings into exit codes and lines on stderr."""

from __future__ import annotations

import errno
import functools
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any, ParamSpec, TextIO

import typer

from motiflux.cli import output
from motiflux.cli.signals import Terminated
from motiflux.cli.wording import Options, in_options, options_of
from motiflux.errors import (
    ArgumentError,
    ClusterError,
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
    """Incomplete: a timeout, an interrupt, a reader that closed the pipe, or a `CountOverflowError`."""
    BAD_INPUT = 2
    """Usage error, or unusable input or output."""
    NO_DEVICE = 3
    """The requested device or engine is not available."""
    INTERNAL = 4
    """Internal error: an unexpected exception, or a wrong count of a benchmark."""
    TERMINATED = 128 + signal.SIGTERM
    """Stopped by SIGTERM, after printing the result so far."""


def guarded(command: Callable[P, ExitCode]) -> Callable[P, None]:
    """Wrap a command so that the process exits with its return value, or with the code of its exception."""

    @functools.wraps(command)
    def guarded_command(*args: P.args, **kwargs: P.kwargs) -> None:
        output.start()
        with _notes_on_stderr(command):
            code = _exit_code(
                functools.partial(command, *args, **kwargs), command, bool(kwargs.get("as_json"))
            )
        raise typer.Exit(int(code))

    return guarded_command


def _exit_code(call: Callable[[], ExitCode], command: Callable[..., Any], as_json: bool) -> ExitCode:
    try:
        code = call()
        sys.stdout.flush()
    except typer.Exit:
        raise
    except KeyboardInterrupt as interrupt:
        return report_stop(interrupt, "stopped before the end, no result", as_json=as_json)
    except BrokenPipeError:
        _silence_stdout()
        return ExitCode.INCOMPLETE
    except Exception as error:
        if os.environ.get(DEBUG_VARIABLE, "0") not in ("", "0"):
            raise
        return report_error(error, options_of(command), as_json=as_json)
    return code


def report_stop(stop: KeyboardInterrupt, state: str, *, as_json: bool = False) -> ExitCode:
    """Report that a signal stopped the command, with the message of `stop`, or `state` if it is empty."""
    text = str(stop) or state
    if isinstance(stop, Terminated):
        return _report(f"terminated: {text}", Fault("Terminated", text, ExitCode.TERMINATED), as_json=as_json)
    return _report(f"interrupted: {text}", Fault("Interrupted", text, ExitCode.INCOMPLETE), as_json=as_json)


def report_error(error: Exception, options: Options | None = None, *, as_json: bool = False) -> ExitCode:
    """Report an error on stderr; with `as_json`, also as an object on stdout.

    Its text names the options of a command instead of arguments.
    """
    kind, text, code = type(error).__name__, in_options(error, options or {}), _code_of(error)
    if isinstance(error, OSError) and not isinstance(error, MotifluxError):
        stdout_failed = not error.filename and error.errno in _FULL
        if not error.filename:
            _silence_stdout()  # if it is stdout that failed (a full disk), it would fail again at exit
        where = "standard output: cannot be written: " if stdout_failed else ""
        text = f"{f'{error.filename}: ' if error.filename else where}{error.strerror or error}"
    line = f"error: {text}"
    if code == ExitCode.INTERNAL:
        known = "" if type(error) in (InternalError, MotifluxError) else f"{kind}: "
        text = " ".join(text.split())
        line = f"internal error: {known}{text} (set {DEBUG_VARIABLE}=1 to see the traceback)"
    return _report(line, Fault(kind, text, code, _places(error)), as_json=as_json)


def report_usage(error: Any, *, as_json: bool) -> ExitCode:
    """Report a mistake in the arguments of the command line."""
    if type(error).__name__ == "NoArgsIsHelpError":
        print(error.format_message(), file=sys.stderr)
        return ExitCode.BAD_INPUT
    text = _usage_text(error)
    command = getattr(getattr(error, "ctx", None), "command_path", "motiflux")
    return _report(
        f"error: {text} (`{command} {_help_option(error)}` describes the arguments)",
        Fault("UsageError", text, ExitCode.BAD_INPUT),
        as_json=as_json,
    )


def is_usage_error(error: Exception) -> bool:
    """Return whether the command line has a mistake that typer found."""
    return isinstance(error, typer.BadParameter.__mro__[2])  # its base of all errors


def _usage_text(error: Any) -> str:
    """Return the message of an error of typer in the style of all others."""
    kind = type(error).__name__
    param = getattr(error, "param", None)
    if param is not None:
        names = [name for name in param.opts if name.startswith("-")]
        name = max(names, key=len) if names else param.metavar or param.name.upper()
        name = name.removesuffix("...")
        if kind == "MissingParameter":
            return f"{name}: expected a value, found none"
        return f"{name}: {error.message.removesuffix('.')}"
    if kind == "NoSuchOption":
        near = f"; did you mean {', '.join(error.possibilities)}?" if error.possibilities else ""
        return f"{error.option_name}: no such option{near}"
    text = str(error.format_message()).strip().removesuffix(".").replace(". Did you", "; did you")
    return text[:1].lower() + text[1:]


def _help_option(error: Any) -> str:
    """Return the option that describes the argument of an error: rarer ones are in ``--help-all`` only."""
    param, context = getattr(error, "param", None), getattr(error, "ctx", None)
    if param is not None:
        return "--help-all" if getattr(param, "rich_help_panel", None) else "--help"
    if context is None or type(error).__name__ != "NoSuchOption":
        return "--help"
    has_rarer = any(getattr(one, "rich_help_panel", None) for one in context.command.params)
    return "--help-all" if has_rarer else "--help"


def _code_of(error: Exception) -> ExitCode:
    if isinstance(error, _BAD_INPUT):
        return ExitCode.BAD_INPUT
    if isinstance(error, (CountOverflowError, OutOfMemoryError)):
        return ExitCode.INCOMPLETE
    if isinstance(error, (DeviceError, ClusterError)):
        return ExitCode.NO_DEVICE
    return ExitCode.BAD_INPUT if isinstance(error, OSError) else ExitCode.INTERNAL


@dataclass(frozen=True)
class Fault:
    """The reason why a command failed, with the JSON fields of ``error``."""

    type: str
    message: str
    exit_code: ExitCode
    places: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return the fields."""
        own = {"type": self.type, "message": self.message, "exit_code": int(self.exit_code)}
        return {**own, **self.places}


_PLACES = ("argument", "path", "line", "column", "row", "filename")
"""Attributes of errors that say where something is wrong."""


def _places(error: Exception) -> dict[str, Any]:
    """Return the attributes of an error that say where something is wrong; a file is the ``path``."""
    found = {name: getattr(error, name, None) for name in _PLACES}
    filename = found.pop("filename")
    if filename is not None and found["path"] is None:
        found["path"] = os.fsdecode(filename) if isinstance(filename, (str, bytes)) else str(filename)
    return {name: value for name, value in found.items() if value is not None}


def _report(line: str, fault: Fault, *, as_json: bool) -> ExitCode:
    print(line, file=sys.stderr)
    if as_json and not output.printed():
        with suppress(OSError):
            output.print_json({"error": fault.as_json()})
            sys.stdout.flush()
    return fault.exit_code


def _silence_stdout() -> None:
    """Redirect stdout to the null device, so that flushing it at exit raises no error."""
    with suppress(OSError), Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


@contextmanager
def _notes_on_stderr(command: Callable[..., Any]) -> Iterator[None]:
    """Show a `MotifluxWarning` as one line ``note: ...`` with the options of a command; others as usual."""
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
                note = message if isinstance(message, Warning) else category(message)
                print(f"note: {in_options(note, options_of(command))}", file=sys.stderr)
            else:
                show_other(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        yield
