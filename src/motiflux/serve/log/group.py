"""What one transaction of the log holds."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from motiflux.serve.settings.parts import PatternSettings

ACTIVE, PAUSED, DROPPED = "active", "paused", "dropped"
"""States of patterns."""
CONFIG, NETWORK = "config", "network"
"""Origins of patterns."""


@dataclass
class PatternRow:
    """A pattern as the log has it.

    Parameters
    ----------
    id
        Its number, which no other pattern ever has.
    origin
        `CONFIG` or `NETWORK`.
    state
        `ACTIVE`, `PAUSED` or `DROPPED`, and why.
    since
        The number of the first record it was matched with.
    base
        How many matches there were before it; None: they were not counted.
    positive, negative
        Matches that appeared and vanished since.
    alerts, suppressed
        Alerts, and matches beyond `limit` or `rate`, for which there were none.
    """

    id: int
    settings: PatternSettings
    origin: str
    state: str = ACTIVE
    reason: str = ""
    since: int = 0
    base: int | None = None
    positive: int = 0
    negative: int = 0
    alerts: int = 0
    suppressed: int = 0

    @property
    def present(self) -> int | None:
        """The number of matches now; None: it is not known."""
        return None if self.base is None else self.base + self.positive - self.negative


@dataclass(frozen=True)
class Alert:
    """A match that is reported.

    Parameters
    ----------
    id
        The same after a restart.
    sinks
        Names of its sinks; None: all.
    body
        A line of JSON.
    """

    id: str
    pattern: str
    sinks: tuple[str, ...] | None
    body: str


@dataclass(frozen=True)
class LogRow:
    """Records of one source: as `motiflux.serve.records.encode` writes them."""

    first: int
    count: int
    arrival: int
    source: str
    records: bytes


@dataclass(frozen=True)
class DeadLetter:
    """A record that was refused."""

    arrival: int
    source: str
    place: str
    record: str
    reason: str


@dataclass(frozen=True)
class CheckpointRow:
    """A checkpoint: state after all records below `number`, which are in the rows of the log up to `row`."""

    number: int
    row: int
    arrival: int
    files: dict[str, str]
    ordering: str


@dataclass
class Group:
    """What is written in one transaction, all or nothing.

    Parameters
    ----------
    positions
        By source: a JSON value.
    patterns
        Copies of rows that changed.
    forgotten
        Ids of patterns whose rows are removed.
    requests
        Keys of requests with their answers.
    done
        Called when the group is on disk, in the committer's thread.
    began
        When its first record came (`time.perf_counter`).
    """

    rows: list[LogRow] = field(default_factory=list)
    alerts: list[Alert] = field(default_factory=list)
    dead: list[DeadLetter] = field(default_factory=list)
    positions: dict[str, Any] = field(default_factory=dict)
    patterns: dict[int, PatternRow] = field(default_factory=dict)
    forgotten: list[int] = field(default_factory=list)
    requests: list[tuple[str, Any]] = field(default_factory=list)
    checkpoint: CheckpointRow | None = None
    arrival: int = 0
    done: list[Callable[[], None]] = field(default_factory=list)
    began: float = field(default_factory=time.perf_counter)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write."""
        content = (self.rows, self.alerts, self.dead, self.positions, self.patterns, self.forgotten)
        return not any(content) and not self.requests and self.checkpoint is None
