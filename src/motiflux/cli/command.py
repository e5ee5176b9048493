"""The classes of commands: short help, values that are quickly converted, and one style of errors."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
import functools
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from motiflux.cli import options as opt
from motiflux.cli import output
from motiflux.cli.exits import ExitCode, is_usage_error, report_usage
from motiflux.cli.values import take_values

# Versions of typer differ in the characters around the name of a required argument.
_BRACES = re.compile(r"^\{(.*)\}(?:\.\.\.)?$")
_HELP_ALL = "--help-all"
_MOST_NAME = 22
"""Columns of names in help; a longer name has a line of its own."""


class _PlainHelp:
    """A command whose help shows ``--help`` as the flag it is, without the type of a value."""

    def get_help_option(self, ctx: Any) -> Any:
        option = super().get_help_option(ctx)  # type: ignore[misc]
        if option is not None:
            option.metavar = opt.FLAG
            option.help = "Show this text."
            take_values([option])
        return option


class Command(_PlainHelp, TyperCommand):
    """One command."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        take_values(self.params)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return arguments as they are named here: ``PATTERN...``, not ``{PATTERN...}...``."""
        return [_BRACES.sub(r"\1", piece) for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options in their sections; without ``--help-all``, only name the rarer ones."""
        every = bool(ctx.meta.get(_HELP_ALL))
        sections: dict[str, list[tuple[str, str]]] = {}
        left_out: dict[str, list[str]] = {}
        for param in self.get_params(ctx):
            record = None if getattr(param, "hidden", False) else param.get_help_record(ctx)
            if record is None:
                continue
            section = _section_of(param)
            name, text = record
            if section == "Arguments":
                name = name.partition(" ")[0]
            record = name, text.replace(r"\[", "[")  # some versions of typer write for rich
            if every or section in ("Arguments", "Options"):
                sections.setdefault(section, []).append(record)
            else:
                left_out.setdefault(section, []).append(max(param.opts, key=len))
        for section, rows in sections.items():
            with formatter.section(section):
                formatter.write_dl(rows, col_max=_MOST_NAME)
        if left_out:
            with formatter.section(f"Described by {_HELP_ALL}"):
                formatter.write_dl([(name, ", ".join(names)) for name, names in left_out.items()], col_max=16)


class Group(_PlainHelp, TyperGroup):
    """The program, or commands with a common first word."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        take_values(self.params)

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> NoReturn:
        """Run a command and exit; report a mistake in the arguments like every other error."""
        given = list(sys.argv[1:] if args is None else args)
        extra["standalone_mode"] = False
        output.start()
        try:
            code = super().main(given, *rest, **extra)
        except _SignalError as error:
            raise error.by from None
        except Exception as error:
            if not is_usage_error(error):
                raise
            code = report_usage(error, as_json="--json" in given)
        sys.exit(int(code) if isinstance(code, int) else ExitCode.DONE)

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Parse the arguments."""
        with _carried_past_typer():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with _carried_past_typer():
            return super().invoke(ctx)


class _SignalError(Exception):
    """A signal outside the commands, which handle their own."""

    def __init__(self, by: KeyboardInterrupt) -> None:
        self.by = by


@contextmanager
def _carried_past_typer() -> Iterator[None]:
    """Raise `_SignalError` for a signal, which typer would turn into an exit code of its own."""
    try:
        yield
    except KeyboardInterrupt as stop:
        raise _SignalError(stop) from stop


def _section_of(param: Any) -> str:
    if param.param_type_name == "argument":
        return "Arguments"
    return getattr(param, "rich_help_panel", None) or "Options"


def _show_all(ctx: typer.Context, wanted: bool) -> None:
    if wanted:
        ctx.meta[_HELP_ALL] = True
        typer.echo(ctx.get_help())
        raise typer.Exit


_HelpAllOption = Annotated[
    bool,
    typer.Option(
        _HELP_ALL,
        metavar=opt.FLAG,
        callback=_show_all,
        is_eager=True,
        expose_value=False,
        help="Show the help of all options.",
    ),
]


def with_help_all(run: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--help-all`` to a command, which does not receive it."""

    @functools.wraps(run)
    def taking(**options: Any) -> Any:
        del options["help_all"]
        return run(**options)

    signature = inspect.signature(run)
    option = inspect.Parameter(
        "help_all", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=_HelpAllOption
    )
    taking.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), option]
    )
    return taking
