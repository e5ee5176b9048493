"""The command-line application with all commands."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
from typing import Annotated

import typer

from motiflux.cli import options as opt
from motiflux.cli.columns import with_columns
from motiflux.cli.command import Command, Group, with_help_all
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
from motiflux.cli.completion import InstallOption, ShowOption, prepare
from motiflux.cli.exits import guarded
from motiflux.cli.search import with_search

prepare()
app = typer.Typer(
    name="motiflux",
    cls=Group,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 success, 1 incomplete (timeout or interrupt), 2 usage error or bad input, "
    "3 device not available, 4 internal error, 143 terminated (SIGTERM).",
)

app.command("count", help=count.HELP, cls=Command)(
    with_help_all(guarded(with_columns(with_search(count.run))))
)
app.command("match", help=match.HELP, cls=Command)(
    with_help_all(guarded(with_columns(with_search(match.run))))
)
app.command("estimate", help=estimate.HELP, cls=Command)(with_help_all(guarded(with_columns(estimate.run))))
app.command("watch", help=watch.HELP, cls=Command)(with_help_all(guarded(with_columns(watch.run))))
app.command("explain", help=explain.HELP, cls=Command)(
    with_help_all(guarded(with_columns(with_search(explain.run))))
)
app.command("info", help=info.HELP, cls=Command)(with_help_all(guarded(with_columns(info.run))))
app.command("convert", help=convert.HELP, cls=Command)(with_help_all(guarded(with_columns(convert.run))))
drawing = typer.Typer(cls=Group, no_args_is_help=True, rich_markup_mode=None, help=generate.HELP)
for _kind, _command in generate.COMMANDS.items():
    drawing.command(_kind, help=_command.__doc__, cls=Command)(guarded(_command))
app.add_typer(drawing, name="generate")
app.command("doctor", help=doctor.HELP, cls=Command)(guarded(doctor.run))
app.command("bench", help=bench.HELP, cls=Command)(guarded(bench.run))


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

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
    show_completion: ShowOption = None,
    install_completion: InstallOption = None,
) -> None:
    """Options of the program itself."""
