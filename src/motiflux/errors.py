"""Exceptions and warnings.

Every error names the file, line or argument it is about, what was found and what was expected.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any


class MotifluxError(Exception):
    """Base class of every error that motiflux raises deliberately."""

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[object, ...]]:
        return _again, (type(self), self.args, self.__dict__)


def _again(kind: type[MotifluxError], args: tuple[object, ...], fields: dict[str, object]) -> MotifluxError:
    """Return a copy of an error: constructors take other arguments than the message that they make."""
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(fields)
    return error


class ArgumentError(MotifluxError, ValueError):
    """An argument of a public call is invalid."""

    def __init__(self, argument: str, expected: str, found: object) -> None:
        self.argument = argument
        super().__init__(f"{argument}: expected {expected}, found {found!r}")


class GraphError(MotifluxError, ValueError):
    """The input data do not describe a graph."""


class PatternError(MotifluxError, ValueError):
    """The pattern is invalid, or does not fit this data graph."""


class PatternSyntaxError(PatternError):
    """The text of a pattern is invalid, or uses unsupported syntax.

    The message shows the line of the text with a caret under the error.

    Parameters
    ----------
    message
        What was found and what was expected.
    text
        The whole text.
    position
        Where in `text`, from 0 to its length.
    path
        The file that the text is from, if any.

    Attributes
    ----------
    line, column
        The position of the error, counted from 1; columns are characters.
    """

    def __init__(self, message: str, text: str, position: int, path: str | Path | None = None) -> None:
        self.message = message
        self.text = text
        self.position = position
        self.path = None if path is None else str(path)
        start = text.rfind("\n", 0, position) + 1
        end = text.find("\n", start)
        self.line = text.count("\n", 0, start) + 1
        self.column = position - start + 1
        where = f"line {self.line}, column {self.column}"
        if self.path is not None:
            where = f"{self.path}, {where}"
        line = text[start:] if end < 0 else text[start:end]
        super().__init__(f"{where}: {message}\n{_pointed_at(line, position - start)}")


_SHOWN_BEFORE, _SHOWN_AFTER = 60, 40
"""Most characters of a line that are shown before the place and after it."""


def _pointed_at(line: str, position: int) -> str:
    """Return the part of `line` around `position`, and a caret under that place."""
    first, last = max(0, position - _SHOWN_BEFORE), position + _SHOWN_AFTER
    before, after = _shown(line[first:position]), _shown(line[position:last].rstrip("\r"))
    if first > 0:
        before = "..." + before
    if last < len(line):
        after += "..."
    below = "".join("\t" if character == "\t" else " " * _width(character) for character in before)
    return f"  {before}{after}\n  {below}^"


def _shown(text: str) -> str:
    """Return `text` with whatever would move the cursor elsewhere replaced."""
    return "".join(
        c if c.isprintable() or c == "\t" or _width(c) != 1 else "\N{REPLACEMENT CHARACTER}" for c in text
    )


def _width(character: str) -> int:
    """Return the columns that a terminal gives to `character`."""
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


class FormatError(MotifluxError, ValueError):
    """A file violates its format.

    Parameters
    ----------
    path
        The file.
    message
        What was found and what was expected.
    line
        1-based line number, for formats with lines.
    """

    def __init__(self, path: str | Path, message: str, line: int | None = None) -> None:
        self.path = str(path)
        self.line = line
        where = self.path if line is None else f"{self.path}, line {line}"
        super().__init__(f"{where}: {message}")


class StreamError(MotifluxError, ValueError):
    """Updates cannot be applied; no update of the call was applied.

    Parameters
    ----------
    message
        What was found and what was expected.
    row
        The update among those given, counted from 0, where it is one of them.
    label
        The label of a vertex among those given, where it is one of them.
    """

    def __init__(self, message: str, row: int | None = None, label: int | None = None) -> None:
        self.message = message
        self.row = row
        self.label = label
        super().__init__(message)


class OutputError(MotifluxError, OSError):
    """Results could not be written; no file was left under the output's name."""


class OutOfMemoryError(MemoryError, MotifluxError):  # MemoryError first: it makes the objects
    """A result does not fit into the memory of the host.

    Parameters
    ----------
    message
        What was found and what was expected.
    needed
        Bytes that the result needs at least.
    """

    def __init__(self, message: str, needed: int) -> None:
        self.message = message
        self.needed = needed
        super().__init__(message)


class DeviceError(MotifluxError, RuntimeError):
    """The requested device or engine is not available."""


class DeviceMemoryError(DeviceError):
    """The device, or the budget given by ``gpu_memory``, has not enough memory.

    Parameters
    ----------
    what
        The use of the memory.
    needed
        Requested bytes.
    available
        Available bytes.
    advice
        A remedy.
    """

    def __init__(self, what: str, needed: int, available: int, advice: str) -> None:
        self.needed = needed
        self.available = available
        super().__init__(f"{what}: expected {needed:,} bytes of device memory, found {available:,}; {advice}")

    def advise(self, more: str) -> None:
        """Add one more remedy."""
        self.args = (f"{self}; {more}",)


class CompileError(MotifluxError, RuntimeError):
    """A kernel did not compile: a bug in motiflux, or a broken compiler installation.

    Parameters
    ----------
    name
        The unit that was compiled.
    log
        The whole output of the compiler.
    path
        Where the source was saved, if it could be.
    description
        What the unit was for: the plan of a search.
    """

    def __init__(self, name: str, log: str, path: str | Path | None, description: str) -> None:
        self.name = name
        self.log = log
        self.path = None if path is None else str(path)
        self.description = description
        saved = "its source could not be saved" if path is None else f"its source is in {path}"
        parts = [f"kernel {name} does not compile; {saved}", log.strip(), description.strip()]
        super().__init__("\n\n".join(part for part in parts if part))


class CountOverflowError(MotifluxError, OverflowError):
    """A number is too large: 2**128 or more in a search, 2**1024 or more in an estimate.

    A count in closed form may be larger.
    """


class ClusterError(MotifluxError):
    """A Ray cluster cannot be reached, has no room, or lost the same work again and again."""


class InternalError(MotifluxError, RuntimeError):
    """An internal check of motiflux failed: a bug."""


class MotifluxWarning(UserWarning):
    """A call continued with a restriction; the message names the restriction and a remedy.

    Examples: part of the input was dropped, compiled kernels could not be stored, a plan runs without its own
    kernel.
    """
