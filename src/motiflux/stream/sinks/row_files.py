"""Files that rows of matches are appended to, batch by batch.

Text and Arrow streams are read while they grow; a batch is written whole before any of it counts. Parquet
has an index at its end, and is written under another name until then.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Protocol

from motiflux.atomic import output_error
from motiflux.errors import OutputError
from motiflux.packages import require

PARTIAL = ".partial"
"""The suffix of a file that cannot be read before it is finished."""


class RowFile(Protocol):
    """Takes the rows that wait in a table."""

    @property
    def kept(self) -> int | None:
        """The size of the kept data, for a later run that continues; None if none can."""

    def append(self) -> None:
        """Write the waiting rows, or buffer them; readers need not see them yet."""

    def hand_on(self) -> None:
        """Write all that was appended, so that keeping it cannot fail."""

    def keep(self) -> None:
        """Let all that was handed on stay."""

    def sync(self) -> None:
        """Return when the kept data is on disk."""

    def close(self) -> None:
        """Finish the file: all that is kept can be read."""

    def abandon(self) -> None:
        """Finish the file after an error, without data that is not kept."""


def renamed(old: Path, new: Path) -> None:
    """Rename a file; an existing one is replaced."""
    try:
        old.replace(Path(os.path.realpath(new)))
    except OSError as error:
        raise output_error(new, error) from error


def package(name: str, path: Path) -> Any:
    """Return an optional package; without it, the error names the file."""
    return require(name, lambda message: OutputError(f"{path}: {message}"))
