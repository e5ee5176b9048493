"""What all sources do: run in a thread, begin at a position, wait where the queue is full, and try again."""

from __future__ import annotations

import logging
import threading
from typing import Any

from motiflux.serve.figures import Figures
from motiflux.serve.intake import Chunk, Intake, Lost
from motiflux.serve.records import RecordReader, Taken
from motiflux.serve.settings.ends import SourceSettings

LOG = logging.getLogger("motiflux.serve.sources")

_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 15.0


class Source:
    """A source; a subclass reads records in `read`.

    Parameters
    ----------
    settings
        Its settings.
    reader
        Reads its records.
    intake, figures
        Of the service.
    position
        Where it begins; None: at the beginning.
    """

    position_is_kept = True
    """Whether records that were taken are not given again after a restart."""

    def __init__(
        self, settings: SourceSettings, reader: RecordReader, intake: Intake, figures: Figures, position: Any
    ) -> None:
        self.settings, self.name = settings, settings.name
        self.reader, self.intake, self.figures = reader, intake, figures
        self.position = position
        self.ends = threading.Event()
        self.is_idle = False
        """Whether all that is there was read."""
        self.has_ended = False
        """Whether nothing more will come."""
        self._thread = threading.Thread(target=self._run, name=f"motiflux-{self.name}", daemon=True)

    def read(self) -> None:
        """Read until `ends` is set or the source has ended.

        Raises
        ------
        Exception
            It cannot be read now: it is called again later, and begins at `position`.
        """
        raise NotImplementedError

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def stop(self) -> None:
        """Read no more."""
        self.ends.set()
        self.wake()
        if self._thread.ident is not None:  # it was started
            self._thread.join()

    def wake(self) -> None:
        """Have `read` see at once that it is to end."""

    def put(self, taken: Taken, position: Any, lost: Lost | None = None) -> bool:
        """Hand on records, with the position behind them, and what was missing before them.

        Returns False if the source is to end.
        """
        chunk = Chunk(self.name, taken.records, taken.refused, position, lost=lost, size=taken.size)
        if not self.intake.put(chunk, self.ends.is_set):
            return False
        self.position = position
        return True

    def works(self) -> None:
        """Note that the source can be read."""
        if self.figures.trouble.pop(f"source {self.name}", None) is not None:
            LOG.warning("source %s is read again", self.name)

    def _run(self) -> None:
        pause = _FIRST_PAUSE
        while not self.ends.is_set():
            before = self.position
            try:
                self.read()
                break
            except Exception as error:  # noqa: BLE001 - a client's error of any kind; tried again, and told
                key, said = f"source {self.name}", f"{type(error).__name__}: {error}"
                if key not in self.figures.trouble:
                    LOG.warning("source %s cannot be read; trying again: %s", self.name, said)
                self.figures.trouble[key] = said
            pause = _FIRST_PAUSE if self.position != before else min(_LONGEST_PAUSE, pause * 2)
            self.ends.wait(pause)
        self.is_idle = self.has_ended = True
