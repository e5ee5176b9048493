"""The command line: one thin command per module of `motiflux.cli.commands`, each with one function `run`.

A command parses its options, calls the library and prints. Modules here import the library inside `run`, so
that ``motiflux --help`` starts quickly and ``motiflux doctor`` works if the extension does not load.
"""

from __future__ import annotations

import os
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line on `sys.argv` and exit with its exit code (`motiflux.cli.exits`)."""
    # NumPy's threads for linear algebra are not used here, and take longer to start than a short command.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from motiflux.cli.app import app_for
        from motiflux.cli.exits import report_error, report_stop, stop_on_sigterm
    except KeyboardInterrupt:
        print("interrupted: nothing was done", file=sys.stderr)
        sys.exit(1)
    try:
        stop_on_sigterm()
        try:
            app_for(sys.argv[1:])(prog_name="motiflux")
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt as stop:
        sys.exit(report_stop(stop, "nothing was done", as_json="--json" in sys.argv))
    except OSError as error:  # of printing help: commands see to their own
        sys.exit(report_error(error, as_json="--json" in sys.argv))
