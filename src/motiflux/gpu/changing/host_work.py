"""What the host does while a device searches, and its wait for a device that may have failed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from motiflux import _native
from motiflux.device import Stream
from motiflux.errors import DeviceError


class HostWork:
    """Has the rows of the host written, and then calls a function, the first time that it is called.

    Parameters
    ----------
    before
        Called before rows are written.
    function
        Called when they are.
    """

    def __init__(
        self,
        run: _native.Run,
        before: Callable[[_native.Run], None],
        function: Callable[[], None] | None,
    ) -> None:
        self._run, self._before, self._function = run, before, function
        self._was_called = False

    def __call__(self) -> None:
        """Do it."""
        if not self._was_called:
            self._was_called = True
            self._before(self._run)
        self._run.write_rows()
        function, self._function = self._function, None
        if function is not None:
            function()


def wait_until_idle(stream: Stream) -> None:
    """Wait for kernels that take milliseconds; a second Ctrl-C does not end the wait."""
    while True:
        with suppress(KeyboardInterrupt):
            with suppress(DeviceError):  # the device failed: nothing runs any more
                stream.wait()
            return
