"""What all sinks do: read the outbox behind their position, deliver, and have the position written."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from motiflux.serve.figures import Figures, Histogram
from motiflux.serve.log.store import Store
from motiflux.serve.settings.ends import SinkSettings

LOG = logging.getLogger("motiflux.serve.sinks")

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 15.0
_IDLE_SECONDS = 1.0
_LAST_SECONDS = 10.0
"""How long a sink that is to end goes on: the others are delivered after the next start."""


class Sent(NamedTuple):
    """An alert of the outbox."""

    number: int
    id: str
    body: str


class Sink:
    """A sink; a subclass delivers in `deliver`.

    Parameters
    ----------
    settings
        Its settings.
    store, figures
        Of the service.
    delivered
        The number of the last alert that it has.
    state
        What `deliver` returned with this alert.
    mark
        Has position and state written to the log: soon, or at once if the last argument says so.
    """

    promise = "at least once, each alert with the same id"
    """What is promised of each alert."""
    linger = 0.0
    """Seconds that alerts wait until a batch is full."""
    most: int
    """Alerts of a batch."""

    def __init__(
        self,
        settings: SinkSettings,
        store: Store,
        figures: Figures,
        delivered: int,
        state: Any,
        mark: Callable[[str, int, Any, bool], None],
    ) -> None:
        self.settings, self.name, self.figures = settings, settings.name, figures
        self.delivered, self.state = delivered, state
        self.most = settings.batch
        self._store, self._mark = store, mark
        self.ends = threading.Event()
        self._end = float("inf")
        self._changed = threading.Condition()
        self._last = 0
        self._told_at: float | None = None
        self.waiting_since: float | None = None
        self.figures.delivery[self.name] = self.times = Histogram()
        self._thread = threading.Thread(target=self._run, name=f"motiflux-{self.name}", daemon=True)

    def open(self) -> None:
        """Make ready to deliver what is behind `delivered`; called again after each error."""

    def keep_state(self) -> None:
        """Have the state on disk before anything is delivered by it."""
        self._mark(self.name, self.delivered, self.state, True)

    def deliver(self, alerts: Sequence[Sent]) -> Any:
        """Deliver alerts, of which there is at least one; return the state behind them.

        Raises
        ------
        Exception
            They could not be delivered: the same alerts are given again, after `open`.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Let go of files and connections."""

    def start(self, last: int) -> None:
        """Begin; `last`: the number of the last alert in the outbox."""
        self._last = max(self._last, last)
        self._thread.start()

    def tell(self, last: int) -> None:
        """Say that alerts up to a number are on disk."""
        with self._changed:
            self._last = last
            if self._told_at is None:
                self._told_at = time.perf_counter()
            self._changed.notify_all()

    def stop(self) -> None:
        """Deliver what can be delivered within some seconds, and end."""
        self._end = time.monotonic() + _LAST_SECONDS
        self.ends.set()
        with self._changed:
            self._changed.notify_all()
        if self._thread.ident is not None:  # it was started
            self._thread.join()

    @property
    def has_to_end(self) -> bool:
        """Whether there is no time left to deliver more."""
        return time.monotonic() >= self._end

    @property
    def lag(self) -> int:
        """Alerts of the outbox behind its position."""
        return max(0, self._last - self.delivered)

    def _run(self) -> None:
        pause = _FIRST_PAUSE
        with self._store.reader() as reader:
            while True:
                try:
                    self.open()
                    self._deliver_all(reader)
                    break
                except Exception as error:  # noqa: BLE001 - a client's error of any kind; tried again, and told
                    key, said = f"sink {self.name}", f"{type(error).__name__}: {error}"
                    if key not in self.figures.trouble:
                        LOG.warning("sink %s cannot be reached; trying again: %s", self.name, said)
                        pause = _FIRST_PAUSE
                    self.figures.trouble[key] = said
                self._close_quietly()
                if self.ends.wait(pause):
                    break
                pause = min(_LONGEST_PAUSE, pause * 2)
        self._close_quietly()

    def _close_quietly(self) -> None:
        try:
            self.close()
        except Exception as error:  # noqa: BLE001 - what matters was delivered, or will be again
            LOG.debug("sink %s: %s", self.name, error)

    def _deliver_all(self, reader: sqlite3.Connection) -> None:
        """Deliver until the sink is to end and has all."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self.lag or self.ends.is_set(), _IDLE_SECONDS)
                told_at, self._told_at = self._told_at, None
                if self.lag and self.linger and not self.ends.is_set():
                    self._changed.wait_for(lambda: self.lag >= self.most or self.ends.is_set(), self.linger)
            if self.lag and not self.has_to_end:
                self._deliver_some(reader, told_at)
            elif self.ends.is_set():
                return

    def _deliver_some(self, reader: sqlite3.Connection, told_at: float | None) -> None:
        began = time.perf_counter() if told_at is None else told_at
        found = self._store.alerts_behind(reader, self.delivered, self.most)
        mine = f" {self.name} "
        alerts = [
            Sent(number, identity, body)
            for number, identity, sinks, body in found
            if sinks is None or mine in sinks
        ]
        if alerts:
            self.state = self.deliver(alerts)
            self.times.add(time.perf_counter() - began, len(alerts))
            self.figures.sent(self.name, len(alerts))
            if self.figures.trouble.pop(f"sink {self.name}", None) is not None:
                LOG.warning("sink %s is reached again", self.name)
        # Alerts are numbered without gaps: fewer than asked for means that there are no more.
        self.delivered = found[-1][0] if found else self._last
        self._mark(self.name, self.delivered, self.state, False)
