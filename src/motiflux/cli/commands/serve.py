"""``motiflux serve``: patterns in streams, as a service."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
import json
import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from motiflux.cli import options as opt
from motiflux.cli.exits import ExitCode

if TYPE_CHECKING:
    import motiflux as mf

HELP = (
    "Watch patterns in the updates of several sources, durably, and deliver alerts to sinks; with a page. "
    "CONFIG is a TOML file. A stop by Ctrl-C or SIGTERM is success."
)

_LOOK_SECONDS = 0.2
_LOGGER = "motiflux"


class LogFormat(StrEnum):
    """How lines of the log look."""

    TEXT = "text"
    JSON = "json"


def run(
    config: Annotated[
        Path, typer.Argument(metavar="CONFIG", show_default=False, help="File of the configuration.")
    ],
    check: Annotated[
        bool, typer.Option("--check", metavar=opt.FLAG, help="Check CONFIG, and begin nothing.")
    ] = False,
    once: Annotated[
        bool,
        typer.Option(
            "--once",
            metavar=opt.FLAG,
            help="End when all that the sources have was applied, and its alerts were delivered.",
        ),
    ] = False,
    log: Annotated[LogFormat, typer.Option(help="Form of the lines on standard error.")] = LogFormat.TEXT,
) -> ExitCode:
    """Run the service until it is stopped."""
    from motiflux.serve.service import Service
    from motiflux.serve.settings.read import read_settings

    if check:
        read_settings(config)
        print(f"{config}: as expected")
        return ExitCode.DONE
    with _printed_log(log), suppress(KeyboardInterrupt), Service(config) as service:
        if service.url is not None:
            logging.getLogger("motiflux.serve").info("the page is at %s", service.url)
        _wait(service, once=once)
    return ExitCode.DONE


def _wait(service: "mf.Service", *, once: bool) -> None:
    """Wait until the service fails, is interrupted, or has done all that there is."""
    while True:
        service.raise_if_failed()
        if once and service.wait_until_idle(_LOOK_SECONDS):
            return
        time.sleep(_LOOK_SECONDS)


class _JsonLines(logging.Formatter):
    """Lines of JSON for programs that gather logs."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a line."""
        facts = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            facts["error"] = self.formatException(record.exc_info)
        return json.dumps(facts, ensure_ascii=False)


@contextmanager
def _printed_log(form: LogFormat) -> Iterator[None]:
    """Print what the service logs, from information on."""
    handler = logging.StreamHandler(sys.stderr)
    plain = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handler.setFormatter(_JsonLines() if form is LogFormat.JSON else plain)
    logger = logging.getLogger(_LOGGER)
    served = logging.getLogger("motiflux.serve")
    level = served.level
    logger.addHandler(handler)
    served.setLevel(logging.INFO)
    try:
        yield
    finally:
        served.setLevel(level)
        logger.removeHandler(handler)
