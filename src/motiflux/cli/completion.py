"""The options ``--show-completion`` and ``--install-completion``."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
import os
from enum import StrEnum
from typing import Annotated

import typer

VARIABLE = "_MOTIFLUX_COMPLETE"
"""Environment variable by which the script of a shell asks for completions."""


class Shell(StrEnum):
    """Shells whose completion is supported."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def prepare() -> None:
    """Register the shells with typer if a shell asks for completions."""
    if os.environ.get(VARIABLE):
        from typer._completion_classes import completion_init

        completion_init()


def _show(shell: Shell | None) -> None:
    if shell is not None:
        from typer._completion_shared import get_completion_script

        script = get_completion_script(prog_name="motiflux", complete_var=VARIABLE, shell=shell.value)
        typer.echo(script)
        raise typer.Exit


def _install(shell: Shell | None) -> None:
    if shell is not None:
        from typer._completion_shared import install

        _, path = install(shell=shell.value, prog_name="motiflux", complete_var=VARIABLE)
        typer.echo(f"completion for {shell.value} is in {path}; it takes effect in new shells")
        raise typer.Exit


ShowOption = Annotated[
    Shell | None,
    typer.Option(
        "--show-completion",
        callback=_show,
        is_eager=True,
        expose_value=False,
        help="Print the script that completes commands, options and their values in this shell.",
    ),
]
InstallOption = Annotated[
    Shell | None,
    typer.Option(
        "--install-completion",
        callback=_install,
        is_eager=True,
        expose_value=False,
        help="Install that script for the current user.",
    ),
]
