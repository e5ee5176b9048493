"""Work that Ctrl-C does not leave half done."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn


def in_spite_of_interrupts(work: Callable[[], None]) -> None:
    """Call `work`, again from its beginning if Ctrl-C interrupts it, which is raised afterwards."""
    interrupted_by: KeyboardInterrupt | None = None
    while True:
        try:
            work()
            break
        except KeyboardInterrupt as interrupt:
            interrupted_by = interrupt
    if interrupted_by is not None:
        raise interrupted_by


def raise_after(error: BaseException, work: Callable[[], None]) -> NoReturn:
    """Call `work` because of an error, and raise that: Ctrl-C meanwhile is only its context.

    `work` is called again from its beginning if it is interrupted.
    """
    try:
        in_spite_of_interrupts(work)
    except KeyboardInterrupt:
        raise error  # noqa: B904 - its context is the interrupt
    else:
        raise error
    finally:
        del error  # its traceback has this frame: what the callers hold would stay
