"""The command-line application, with all commands or with one."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
import os
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

from motiflux.cli import options as opt
from motiflux.cli.columns import with_columns
from motiflux.cli.command import Command, Group, with_help_all
from motiflux.cli.completion import VARIABLE, InstallOption, ShowOption, prepare
from motiflux.cli.exits import guarded
from motiflux.cli.search import with_search

_SEARCHES = ("count", "match", "explain")
_READ_GRAPHS = (*_SEARCHES, "exists", "estimate", "watch", "orbits", "census", "info", "convert")
_GENERATE = "generate"
COMMANDS = (
    *("count", "match", "exists", "estimate", "watch", "orbits", "census", "explain", "info", "convert"),
    *("shard", "serve", "doctor", "bench"),
    _GENERATE,
)
"""Each is a module of `motiflux.cli.commands`."""


def app_for(arguments: Sequence[str]) -> typer.Typer:
    """Return the application for the arguments of a process.

    It has one command if the first argument is its name: to import all takes longer than a short command.
    """
    first = arguments[0] if arguments else ""
    return make_app([first] if first in COMMANDS and VARIABLE not in os.environ else COMMANDS)


def make_app(names: Sequence[str]) -> typer.Typer:
    """Return the application with commands of these names."""
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
    app.callback(help="Find the occurrences of a small pattern in a large graph.")(_motiflux)
    for name in names:
        module = import_module(f"motiflux.cli.commands.{name}")
        if name == _GENERATE:
            app.add_typer(_group(module.COMMANDS, module.HELP), name=name)
        else:
            app.command(name, help=module.HELP, cls=Command)(_command(name, module.run))
    return app


def _command(name: str, run: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of a command with the options that it shares with others."""
    if name in _SEARCHES:
        run = with_search(run)
    if name in _READ_GRAPHS:
        run = with_columns(run)
    return with_help_all(guarded(run))


def _group(commands: dict[str, Callable[..., Any]], about: str) -> typer.Typer:
    """Return commands with a common first word."""
    group = typer.Typer(cls=Group, no_args_is_help=True, rich_markup_mode=None, help=about)
    for name, run in commands.items():
        group.command(name, help=run.__doc__, cls=Command)(with_help_all(guarded(run)))
    return group


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            typer.echo(f"motiflux {version('motiflux')}")
        except PackageNotFoundError:
            typer.echo("motiflux (not installed)")
        raise typer.Exit


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


def __getattr__(name: str) -> typer.Typer:
    if name == "app":  # with all commands
        globals()[name] = made = make_app(COMMANDS)
        return made
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
