"""The commands, put together."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer

from motiflux.cli import bench, count, doctor, explain, info, match
from motiflux.cli.exits import guarded

app = typer.Typer(
    name="motiflux",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done, 1 incomplete (timeout, interrupt), 2 bad usage or input, "
    "3 device not available, 4 internal error.",
)

app.command("count", help=count.HELP)(guarded(count.run))
app.command("match", help=match.HELP)(guarded(match.run))
app.command("explain", help=explain.HELP)(guarded(explain.run))
app.command("info", help=info.HELP)(guarded(info.run))
app.command("doctor", help=doctor.HELP)(guarded(doctor.run))
app.command("bench", help=bench.HELP)(guarded(bench.run))


def _print_version(wanted: bool) -> None:
    if wanted:
        try:
            typer.echo(f"motiflux {version('motiflux')}")
        except PackageNotFoundError:
            typer.echo("motiflux (not installed)")
        raise typer.Exit


@app.callback(help="Find every place where a small pattern occurs in a large graph, exactly.")
def _motiflux(
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Options that belong to no command."""
