"""Errors of calls that take rows: rows that are gone, and rows that do not fit into memory."""

from __future__ import annotations

from motiflux.errors import MotifluxError, OutOfMemoryError
from motiflux.units import bytes_text, quantity

_KEEP = "keep the result of the first call, or call match again"


def gone(call: str, rows: int, *, dropped: bool) -> MotifluxError:
    """Return the error of a call that wants rows which were taken before, or dropped.

    >>> print(gone("to_numpy", 6, dropped=True))
    to_numpy: expected all rows, found a search that was closed or failed after 6 rows; call match again
    """
    if dropped:
        found = f"a search that was closed or failed after {quantity(rows, 'row')}"
        return MotifluxError(f"{call}: expected all rows, found {found}; call match again")
    return MotifluxError(f"{call}: expected all rows, found {quantity(rows, 'row')} taken before; {_KEEP}")


def out_of_memory(call: str, rows: int, row_bytes: int) -> OutOfMemoryError:
    """Return the error of a call that has room for no more rows.

    Parameters
    ----------
    call
        The name of the call.
    rows
        Rows that were taken until then.
    row_bytes
        Bytes of a row.
    """
    # The batches of rows are there until the result is whole.
    needed = 2 * rows * row_bytes
    room = f"expected at least {needed:,} bytes of memory ({bytes_text(needed)})"
    advice = "take the rows in batches (batches), write them to a file (save), or ask for fewer (limit)"
    return OutOfMemoryError(
        f"{call}: {room} for the {quantity(rows, 'row')} so far, found less; {advice}", needed
    )
