"""Files that a later run continues, perhaps under other names: their content is compared."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

STDOUT = "-"
"""The name of standard output, and of standard input."""

NO_GRAPH = "none"
"""The name of a graph without vertices."""

_CHECKED_BYTES = 1 << 16

Content = dict[str, Any]
"""The saved content of a file in a checkpoint: the kind of the check, the amount, a digest."""


def absolute(name: str) -> str:
    """Return the absolute name of a file; ``-``, ``-.jsonl`` and ``none`` stay as they are."""
    return name if is_standard(name) or name == NO_GRAPH else str(Path(name).absolute())


def is_standard(name: str) -> bool:
    """Return whether this is a name of standard output."""
    return name == STDOUT or name.startswith(f"{STDOUT}.")


def beside(saved: Path, relative: str) -> Path:
    """Return where a file is if it was moved together with a checkpoint.

    Parameters
    ----------
    saved
        The checkpoint.
    relative
        The file's name relative to the folder of the checkpoint.
    """
    return Path(os.path.normpath(saved.absolute().parent / relative))


def relative_to(saved: Path, name: str) -> str | None:
    """Return the name of a file relative to the folder of a checkpoint; None of standard output."""
    return None if is_standard(name) else os.path.relpath(name, saved.absolute().parent)


def bytes_content(path: Path, size: int) -> Content | None:
    """Return the check of the first bytes of a file: of their beginning and end; None if it has fewer."""
    import hashlib  # takes milliseconds, which --help need not wait for

    with suppress(OSError, ValueError), path.open("rb") as file:
        found = hashlib.sha256(file.read(min(size, _CHECKED_BYTES)))
        file.seek(max(0, size - _CHECKED_BYTES))
        last = file.read(min(size, _CHECKED_BYTES))
        if len(last) == min(size, _CHECKED_BYTES):
            found.update(last)
            return {"of": "bytes", "amount": size, "sha256": found.hexdigest()}
    return None
