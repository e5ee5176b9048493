"""Patterns of a service: of the configuration and of the network, with their states."""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping
from dataclasses import replace

from motiflux.errors import ArgumentError, MotifluxError
from motiflux.serve.log.group import ACTIVE, CONFIG, DROPPED, NETWORK, PAUSED, Group, PatternRow
from motiflux.serve.matching import LiveMonitor
from motiflux.serve.settings.parts import PatternSettings
from motiflux.serve.settings.read import Settings

LOG = logging.getLogger("motiflux.serve.patterns")

_LEFT_OUT = "it is not in the configuration any more"


class Patterns:
    """The patterns of a service. Only the engine's thread changes them.

    Parameters
    ----------
    settings
        Of the service.
    rows
        As the log has them.
    monitors
        By name.
    """

    def __init__(
        self, settings: Settings, rows: list[PatternRow], monitors: Mapping[str, LiveMonitor]
    ) -> None:
        self._settings, self._monitors = settings, monitors
        self._rows = {row.settings.name: row for row in rows}
        self._last = max((row.id for row in rows), default=0)

    def all(self) -> list[PatternRow]:
        """Return copies of all rows but those that were dropped; any thread may ask."""
        rows = [copy.copy(row) for row in list(self._rows.values())]
        return sorted((row for row in rows if row.state != DROPPED), key=lambda row: row.id)

    def names(self) -> set[str]:
        """Return the names that are taken."""
        return {row.settings.name for row in self.all()}

    def get(self, name: str) -> PatternRow:
        """Return a pattern.

        Raises
        ------
        ArgumentError
            There is none of this name.
        """
        row = self._rows.get(name)
        if row is None or row.state == DROPPED:
            raise ArgumentError("pattern", "the name of a pattern", name)
        return row

    def begin(self, number: int, group: Group) -> None:
        """Watch what the log has, and what the configuration has in its stead.

        A pattern of the configuration that was paused or dropped stays so until its settings change there, or
        it is left out there for a while.

        Raises
        ------
        ArgumentError
            A pattern of the configuration cannot be watched.
        """
        configured = {one.name: one for one in self._settings.patterns}
        for row in sorted(self._rows.values(), key=lambda row: row.origin != CONFIG):
            wanted = configured.get(row.settings.name)
            if wanted is not None and (
                row.settings != wanted
                or row.origin != CONFIG
                or (row.state, row.reason) == (DROPPED, _LEFT_OUT)
            ):
                self._forget(row, group)
                continue
            if wanted is None and row.origin == CONFIG and row.state != DROPPED:
                self._change(row, DROPPED, _LEFT_OUT, group)
            if row.state == ACTIVE:
                self._watch_again(row, number, group)
        for wanted in self._settings.patterns:
            if wanted.name not in self._rows:
                try:
                    self.add(wanted, CONFIG, number, group)
                except MotifluxError as error:
                    expected = f"one that the monitor {wanted.monitor!r} can match ({error})"
                    raise ArgumentError(f"patterns, {wanted.name}", expected, wanted.pattern) from None

    def _watch_again(self, row: PatternRow, number: int, group: Group) -> None:
        """Watch a pattern that was watched before the start, or pause it and say why not."""
        monitor = self._monitors.get(row.settings.monitor)
        if monitor is None:
            self._change(row, PAUSED, f"there is no monitor {row.settings.monitor!r} any more", group)
            return
        try:
            self._check_searches(row.settings)
            self._count_again(row, number, group)
            monitor.add(row)
        except Exception as error:  # noqa: BLE001 - whatever it is, the service begins without the pattern
            LOG.warning("pattern %s is paused: it cannot be watched: %s", row.settings.name, error)
            self._change(row, PAUSED, f"it cannot be watched: {error}", group)

    def _count_again(self, row: PatternRow, number: int, group: Group) -> None:
        """Count what is there for a pattern whose count ended with the process before."""
        if row.settings.backfill and row.base is None:
            monitor = self._monitors[row.settings.monitor]
            row.base = monitor.count(row.settings.pattern, self._settings.limits.backfill_seconds)
            row.since, row.positive, row.negative = number, 0, 0
            group.patterns[row.id] = replace(row)

    def add(
        self, settings: PatternSettings, origin: str, number: int, group: Group, *, counts: bool = True
    ) -> PatternRow:
        """Watch one more pattern from a record on.

        Parameters
        ----------
        counts
            Whether what is there is counted here, if that is wanted; otherwise `set_base` tells it later.

        Raises
        ------
        ArgumentError
            The name is taken, there are too many, or what is there cannot be counted in time.
        PatternError
            The monitor cannot match it.
        """
        others = self.all()
        if any(row.settings.name == settings.name for row in others):
            raise ArgumentError("name", "a name that no other pattern has", settings.name)
        if len(others) >= self._settings.limits.patterns:
            raise ArgumentError("patterns", f"at most {self._settings.limits.patterns}", len(others) + 1)
        self._check_searches(settings)
        row = PatternRow(self._last + 1, settings, origin, since=number)
        monitor = self._monitors[settings.monitor]
        if settings.backfill and counts:
            row.base = monitor.count(settings.pattern, self._settings.limits.backfill_seconds)
        monitor.add(row)
        self._last += 1
        dropped = self._rows.get(settings.name)
        if dropped is not None:
            self._forget(dropped, group)
        self._rows[settings.name] = row
        group.patterns[row.id] = copy.copy(row)
        return row

    def _check_searches(self, settings: PatternSettings) -> None:
        """Refuse a pattern or query for which there would be more searches than patterns that are allowed."""
        most = self._settings.limits.patterns
        left = most - sum(monitor.searches for monitor in self._monitors.values())
        needed = self._monitors[settings.monitor].searches_for(settings.pattern)
        if needed > left:
            expected = f"at most {left}, which are left of {most} (limits.patterns)"
            raise ArgumentError("searches for the pattern", expected, needed)

    def pause(self, row: PatternRow, reason: str, group: Group) -> None:
        """Do not match a pattern until it is resumed."""
        self._unwatch(row)
        self._change(row, PAUSED, reason, group)

    def resume(self, name: str, number: int, group: Group) -> PatternRow:
        """Match a pattern again; it counts anew from this record on, and `set_base` tells what is there.

        Raises
        ------
        ArgumentError
            It is not paused, or there are too many.
        PatternError
            The monitor cannot match it.
        """
        row = self.get(name)
        if row.state != PAUSED:
            raise ArgumentError("pattern", "one that is paused", f"{name}, which is {row.state}")
        monitor = self._monitors.get(row.settings.monitor)
        if monitor is None:
            raise ArgumentError("monitor", "one that is configured", row.settings.monitor)
        self._check_searches(row.settings)
        monitor.add(row)
        row.base, row.since, row.positive, row.negative = None, number, 0, 0
        self._change(row, ACTIVE, "", group)
        return row

    def set_base(self, number: int, since: int, base: int, group: Group) -> PatternRow:
        """Note how many matches of a pattern there were before a record.

        Parameters
        ----------
        number
            Of the pattern.

        Raises
        ------
        ArgumentError
            It was dropped or resumed meanwhile.
        """
        row = next((one for one in self._rows.values() if one.id == number), None)
        if row is None or row.state == DROPPED or row.since != since:
            expected = "a pattern that stays until it is counted"
            raise ArgumentError("backfill", expected, "one that was dropped or resumed")
        row.base = base
        group.patterns[row.id] = replace(row)
        return row

    def withdraw(self, number: int, since: int, state: str, reason: str, group: Group) -> None:
        """Drop or pause a pattern that could not be counted, unless it was dropped or resumed meanwhile."""
        row = next((one for one in self._rows.values() if one.id == number), None)
        if row is not None and row.state != DROPPED and row.since == since:
            self._unwatch(row)
            self._change(row, state, reason, group)

    def drop(self, name: str, group: Group) -> PatternRow:
        """Do not match a pattern any more.

        The row stays if it is of the configuration, which would bring it back, or the last, whose number no
        other pattern may get.
        """
        row = self.get(name)
        self._unwatch(row)
        self._change(row, DROPPED, "dropped by request", group)
        for other in list(self._rows.values()):
            if other.state == DROPPED and other.origin == NETWORK and other.id != self._last:
                self._forget(other, group)
        return row

    def _unwatch(self, row: PatternRow) -> None:
        if (monitor := self._monitors.get(row.settings.monitor)) is not None:
            monitor.drop(row)

    def _forget(self, row: PatternRow, group: Group) -> None:
        self._unwatch(row)
        del self._rows[row.settings.name]
        group.patterns.pop(row.id, None)
        group.forgotten.append(row.id)

    def _change(self, row: PatternRow, state: str, reason: str, group: Group) -> None:
        row.state, row.reason = state, reason
        group.patterns[row.id] = replace(row)
