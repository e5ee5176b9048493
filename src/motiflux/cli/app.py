"""The command-line application with all commands."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
import re
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from motiflux.cli import options as opt
from motiflux.cli.columns import with_columns
from motiflux.cli.commands import (
    bench,
    convert,
    count,
    doctor,
    estimate,
    explain,
    generate,
    info,
    match,
    watch,
)
from motiflux.cli.exits import guarded
from motiflux.cli.search import with_search

# Versions of typer differ in the characters around the name of a required argument.
_BRACES = re.compile(r"^\{(.*)\}(?:\.\.\.)?$")


class _PlainHelp:
    """A command whose help shows ``--help`` as the flag it is, without the type of a value."""

    def get_help_option(self, ctx: Any) -> Any:
        option = super().get_help_option(ctx)  # type: ignore[misc]
        if option is not None:
            option.metavar = opt.FLAG
        return option


class _Command(_PlainHelp, TyperCommand):
    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return arguments as they are named here: ``PATTERN...``, not ``{PATTERN...}...``."""
        return [_BRACES.sub(r"\1", piece) for piece in super().collect_usage_pieces(ctx)]


class _Group(_PlainHelp, TyperGroup):
    pass


app = typer.Typer(
    name="motiflux",
    cls=_Group,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 success, 1 incomplete (timeout or interrupt), 2 usage error or bad input, "
    "3 device not available, 4 internal error, 143 terminated (SIGTERM).",
)

app.command("count", help=count.HELP, cls=_Command)(guarded(with_columns(with_search(count.run))))
app.command("match", help=match.HELP, cls=_Command)(guarded(with_columns(with_search(match.run))))
app.command("estimate", help=estimate.HELP, cls=_Command)(guarded(with_columns(estimate.run)))
app.command("watch", help=watch.HELP, cls=_Command)(guarded(with_columns(watch.run)))
app.command("explain", help=explain.HELP, cls=_Command)(guarded(with_columns(with_search(explain.run))))
app.command("info", help=info.HELP, cls=_Command)(guarded(with_columns(info.run)))
app.command("convert", help=convert.HELP, cls=_Command)(guarded(with_columns(convert.run)))
drawing = typer.Typer(cls=_Group, no_args_is_help=True, help=generate.HELP)
for _kind, _command in generate.COMMANDS.items():
    drawing.command(_kind, help=_command.__doc__, cls=_Command)(guarded(_command))
app.add_typer(drawing, name="generate")
app.command("doctor", help=doctor.HELP, cls=_Command)(guarded(doctor.run))
app.command("bench", help=bench.HELP, cls=_Command)(guarded(bench.run))


def _print_version(wanted: bool) -> None:
    if wanted:
        try:
            typer.echo(f"motiflux {version('motiflux')}")
        except PackageNotFoundError:
            typer.echo("motiflux (not installed)")
        raise typer.Exit


@app.callback(help="Find the occurrences of a small pattern in a large graph.")
def _motiflux(
    show_version: Annotated[
        bool,
        typer.Option(
            "--version",
            metavar=opt.FLAG,
            callback=_print_version,
            is_eager=True,
            help="Print the version.",
        ),
    ] = False,
) -> None:
    """Options of the program itself."""
