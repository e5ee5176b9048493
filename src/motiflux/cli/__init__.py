"""The command line: one thin command per module of `motiflux.cli.commands`, each with one function `run`.

A command parses its options, calls the library and prints. Modules here import the library inside `run`, so
that ``motiflux --help`` starts quickly and ``motiflux doctor`` works if the extension does not load.
"""

from __future__ import annotations

import sys

__all__ = ["main"]

_SILENT_INTERRUPT = 130
"""Exit code of typer after Ctrl-C outside commands, which see to their own; it prints nothing."""


def main() -> None:
    """Run the command line on `sys.argv` and exit with its exit code (`motiflux.cli.exits`)."""
    try:
        from motiflux.cli.app import app
        from motiflux.cli.exits import report_error, report_stop, stop_on_sigterm
    except KeyboardInterrupt:
        print("interrupted: nothing was done", file=sys.stderr)
        sys.exit(1)
    try:
        stop_on_sigterm()
        try:
            app(prog_name="motiflux")
        except SystemExit as end:
            if end.code == _SILENT_INTERRUPT:
                stop = getattr(end.__context__, "__cause__", None)
                raise stop if isinstance(stop, KeyboardInterrupt) else KeyboardInterrupt from None
            raise
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt as stop:
        sys.exit(report_stop(stop, "nothing was done"))
    except OSError as error:  # of printing help: commands see to their own
        sys.exit(report_error(error))
