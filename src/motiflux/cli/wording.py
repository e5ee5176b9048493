"""Messages of the library in the words of the shell: options, not keywords of Python."""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_args

from typer.models import OptionInfo

from motiflux.errors import ArgumentError

_VALUE = r"""True\b|False\b|'[^']*'|"[^"]*"|\d+\b|\[[\d, ]*\]|\([\d, ]*\)"""
# No part of a path, of an attribute or of quoted text; without a value, the name of the argument.
_KEYWORD = re.compile(rf"""(?<![\w./'"-])([a-z][a-z_]*)=(?:({_VALUE})(?![\w/]|\.\w)|(?=[\s,;)]|$))""")
_CALLS = {
    "Monitor.load reads it, and Monitor.snapshot returns its graph": "motiflux watch --resume continues it",
}
"""Advice that names calls of Python, and the command that does the same."""
_COLUMNS = re.compile(r"\bcolumns=\{([^{}]*)\}")
_COLUMN = re.compile(r"'(\w+)': ('[^']*'|\"[^\"]*\")")

Options = Mapping[str, tuple[str, str | None]]
"""For a keyword of Python, its option, and the option that turns it off."""


def options_of(command: Callable[..., Any]) -> Options:
    """Return the options of a command."""
    return {keyword: pair for name, pair in _pairs(command) for keyword in (name, _keyword(pair[0]))}


def _pairs(command: Callable[..., Any]) -> Iterator[tuple[str, tuple[str, str | None]]]:
    for name, parameter in inspect.signature(command).parameters.items():
        for info in get_args(parameter.annotation)[1:]:
            if isinstance(info, OptionInfo):
                # In an annotation, the first name stands where the default would.
                names = [one for one in (info.default, *(info.param_decls or ())) if isinstance(one, str)]
                long = [one for one in names if one.startswith("--")]
                on, _, off = (long[0] if long else f"--{name.replace('_', '-')}").partition("/")
                yield name, (on, off or None)


def _keyword(option: str) -> str:
    return option.removeprefix("--").replace("-", "_")


def in_options(error: Exception, options: Options) -> str:
    """Return the message of an error or a warning, with options in place of arguments that the command has.

    Only the first line is changed: the others show text of the user.
    """
    text, newline, rest = str(error).partition("\n")
    argument: str = getattr(error, "argument", "") if isinstance(error, ArgumentError) else ""
    if argument in options:
        if text.startswith(f"{argument}:"):
            text = options[argument][0] + text.removeprefix(argument)
        text = text.replace(", or None, found", ", found")
    if isinstance(error, ArgumentError):
        text = re.sub(", found None$", ", found none", text)

    def shown(match: re.Match[str]) -> str:
        name, value = match.groups()
        on, off = options.get(name, (None, None))
        if on is None or (value == "False" and off is None):
            return match[0]
        if value is None or value == "True":
            return on
        if value == "False":
            return str(off)
        return f"{on} {shlex.quote(_bare(value))}"

    for call, command in _CALLS.items():
        text = text.replace(call, command)
    if "stream_columns" in options:
        option = options["stream_columns"][0]
        text = _COLUMNS.sub(lambda said: _of_columns(option, said[1]), text)
        if argument == "columns":
            text = option + text.removeprefix(argument)
        elif argument.startswith("columns, "):
            text = f"{option} {text.removeprefix('columns, ')}"
    return _KEYWORD.sub(shown, text) + newline + rest


def _of_columns(option: str, columns: str) -> str:
    """Return an option for each column of the text of a mapping from parts to columns."""
    pairs = _COLUMN.findall(columns)
    return " ".join(f"{option} {shlex.quote(f'{part}={name[1:-1]}')}" for part, name in pairs)


def _bare(value: str) -> str:
    """Return a value of Python as the shell gives it: text without quotes, numbers separated by commas."""
    if value[0] in "[(":
        return value.strip("[]()").replace(" ", "").strip(",")
    return value.strip("'\"")
