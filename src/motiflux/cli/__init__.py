"""The command line: one thin command per module of `motiflux.cli.commands`, each with one function `run`.

A command parses its options, calls the library and prints. Modules here import the library inside `run`, so
that ``motiflux --help`` starts quickly and ``motiflux doctor`` works if the extension does not load.
"""

from __future__ import annotations

import atexit
import os
import sys

from motiflux.cli.signals import Terminated, ignore_signals, raise_on_signals

__all__ = ["main"]

_NOTHING = "nothing was done"


def main() -> None:
    """Run the command line on `sys.argv` and exit with its exit code (`motiflux.cli.exits`)."""
    # NumPy's threads for linear algebra are not used here, and take longer to start than a short command.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    as_json = "--json" in sys.argv
    try:
        raise_on_signals()
        atexit.register(ignore_signals)  # what is left to do is to free memory
        from motiflux.cli.app import app_for
        from motiflux.cli.exits import report_error, report_stop
    except KeyboardInterrupt as stop:
        sys.exit(_stopped_early(stop, as_json=as_json))
    try:
        try:
            app_for(sys.argv[1:])(prog_name="motiflux")
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt as stop:
        sys.exit(report_stop(stop, _NOTHING, as_json=as_json))
    except OSError as error:  # when help is printed: commands report their own errors
        sys.exit(report_error(error, as_json=as_json))


def _stopped_early(stop: KeyboardInterrupt, *, as_json: bool) -> int:
    """Report a signal as `exits.report_stop` does, which is not loaded yet; return the exit code."""
    kind, code = ("Terminated", 143) if isinstance(stop, Terminated) else ("Interrupted", 1)
    print(f"{kind.lower()}: {_NOTHING}", file=sys.stderr)
    if as_json:
        fault = f'{{"type": "{kind}", "message": "{_NOTHING}", "exit_code": {code}}}'
        print(f'{{"schema": 1, "error": {fault}}}', flush=True)
    return code
