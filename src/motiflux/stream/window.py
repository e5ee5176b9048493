"""Windows over streams: how long edges stay, and the order of time.

A window removes edges that have been in the graph for its length. The copies in it are kept in the native
code (`csrc/dynamic/window.hpp`); this module has the options of users, and moments in nanoseconds.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.errors import ArgumentError, StreamError
from motiflux.graph import Graph, Kind
from motiflux.stream.time_kinds import TimeKind, Zoned, has_zone, settled_kind
from motiflux.times import (
    DURATION_UNITS,
    RANGE,
    MomentError,
    duration_of,
    is_moment,
    moments_of_array,
    moments_of_objects,
    parse_duration,
)
from motiflux.units import quantity

WindowLength: TypeAlias = str | int | float | dt.timedelta | np.timedelta64

TIME_UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
"""Nanoseconds of the units that moments may have."""
DISORDERS = ("error", "clamp", "drop")

MOST = 1 << 62
"""Greatest moments and lengths in nanoseconds, 146 years: their sums fit into 64 bits."""

_DAY = 86_400 * 10**9
_MOST_DAYS = MOST // _DAY

_COUNT = re.compile(r"\s*([0-9]{1,18})\s*")
_EXPECTED = (
    "a time such as '90s', '15min', '1h30m' or '7d', a timedelta, seconds as a float, "
    "or a number of edges as an int"
)


@dataclass(frozen=True)
class Span:
    """How long edges stay.

    Parameters
    ----------
    length
        Nanoseconds, or a number of edges.
    timed
        Which of the two.
    """

    length: int
    timed: bool

    def __str__(self) -> str:
        if not self.timed:
            return quantity(self.length, "edge")
        fits = [unit for unit in DURATION_UNITS if self.length % DURATION_UNITS[unit] == 0]
        unit = max(fits, key=DURATION_UNITS.__getitem__)
        return f"{self.length // DURATION_UNITS[unit]}{unit}"


def parse_window(window: object) -> Span:
    """Return how long edges stay.

    Raises
    ------
    ArgumentError
        It has neither a time nor a number of edges, neither is above 0, or the time exceeds 146 years.
    """
    length, timed = _read_length(window)
    if length is None or not 1 <= length <= MOST:
        raise ArgumentError("window", _EXPECTED, window)
    return Span(length, timed)


def _read_length(window: object) -> tuple[int | None, bool]:
    if isinstance(window, str):
        count = _COUNT.fullmatch(window)
        return (parse_duration(window), True) if count is None else (int(count[1]), False)
    if isinstance(window, (dt.timedelta, np.timedelta64)):
        return duration_of(window), True
    if isinstance(window, bool):
        return None, True
    if isinstance(window, (int, np.integer)):
        return int(window), False
    if isinstance(window, (float, np.floating)):
        return int(window * 10**9) if 0 < window < MOST / 10**9 else None, True
    return None, True


class Clock:
    """Reads moments, and treats updates out of time order.

    Parameters
    ----------
    unit
        Of moments that are numbers: a key of `TIME_UNITS`.
    disorder
        ``"error"``, ``"clamp"`` or ``"drop"``; None where time order does not matter.
    needed
        The time window that needs moments, if there is one.
    """

    def __init__(self, unit: str, disorder: str | None, needed: Span | None) -> None:
        self._unit = unit
        self._needed = needed
        self._disorder = disorder or ("error" if needed else None)
        self.latest = -MOST
        """The latest moment so far, in nanoseconds."""
        self.kind: TimeKind | None = None
        """The kind of the times so far."""

    @property
    def needs_times(self) -> bool:
        """Whether updates without times are refused."""
        return self._needed is not None

    def order(
        self, times: NDArray[Any] | None, zoned: Zoned | None, kept: NDArray[np.bool_]
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64] | None, int]:
        """Return which of the `kept` updates are still kept, their moments, and the number of late ones.

        Raises
        ------
        StreamError
            There are no moments, or some are out of range, of another kind than those before, or out of order
            where that is an error.
        """
        if times is not None:
            self.kind = settled_kind(times, bool(zoned) if zoned is None else zoned, self.kind)
        if self._disorder is None:
            return kept, None, 0
        if times is None:
            if self._needed is None or not kept.any():
                return kept, np.empty(0, dtype=np.int64) if self._needed else None, 0
            raise StreamError(
                f"updates: expected times, which a window of {self._needed} asks for, found none"
            )
        rows = np.flatnonzero(kept)
        moments = nanoseconds(times, self._unit)[rows]
        latest = np.maximum.accumulate(np.concatenate([[self.latest], moments]))
        late = moments < latest[1:]
        count = int(np.count_nonzero(late))
        if count and self._disorder == "error":
            at = int(late.argmax())
            raise StreamError(
                f"updates, times, row {rows[at]}: expected {self._text(int(latest[at]), times)} or later, "
                f"found {times[rows[at]]}; disorder='clamp' or disorder='drop' lets such updates pass",
                int(rows[at]),
            )
        self.latest = int(latest[-1])
        if count and self._disorder == "drop":
            kept = kept.copy()
            kept[rows[late]] = False
            return kept, moments[~late], count
        return kept, latest[1:], count

    def reach(self, moment: object) -> tuple[int, int]:
        """Go on to a moment; return it, and 1 if the clock was there before, which then stays as it is.

        Raises
        ------
        StreamError
            It is no moment, or out of order where that is an error.
        """
        try:
            times = as_moments([moment])
            _, _, late = self.order(times, has_zone([moment]), np.ones(1, dtype=bool))
        except StreamError as error:
            message = error.message.removeprefix("updates, times, row 0: ").removeprefix("updates, times: ")
            raise StreamError(f"time: {message}") from None
        return self.latest, late

    def _text(self, moment: int, times: NDArray[Any]) -> str:
        """Return a moment in the notation of the given moments."""
        if times.dtype.kind == "M":
            return str(np.datetime64(moment, "ns"))
        whole, part = divmod(moment, TIME_UNITS[self._unit])
        return f"{whole if part == 0 else moment / TIME_UNITS[self._unit]} {self._unit}"


def as_moments(values: object) -> NDArray[Any]:
    """Return moments as a column of numbers or datetimes.

    Raises
    ------
    StreamError
        They are neither, or some are missing.
    """
    try:
        times = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise StreamError(f"updates, times: expected a column of moments, found none: {error}") from None
    if times.dtype.kind == "M" and times.ndim == 1:
        return _datetimes(times)
    if times.dtype.kind == "O" and times.ndim == 1 and any(map(is_moment, times)):
        return _datetimes_of_objects(times)
    if times.ndim != 1 or times.dtype.kind not in "iuf":
        raise StreamError(f"updates, times: expected numbers or datetimes, found {times.dtype}")
    if times.dtype.kind == "f" and not np.isfinite(times).all():
        row = int(np.flatnonzero(~np.isfinite(times))[0])
        raise StreamError(f"updates, times, row {row}: expected a moment, found {times[row]}")
    return times


def _datetimes(times: NDArray[Any]) -> NDArray[Any]:
    """Return datetimes in nanoseconds; refuse datetimes outside their range, which would wrap around."""
    if (missing := np.isnat(times)).any():
        raise StreamError(f"updates, times, row {int(missing.argmax())}: expected a moment, found none")
    try:
        numbers = moments_of_array(times)[0]
    except MomentError as error:
        if "whole" in error.message:
            raise StreamError(f"updates, times, row {error.row}: {error.message}", error.row) from None
        raise _beyond(error.row, times) from None
    return _near(numbers, times)


def _datetimes_of_objects(times: NDArray[Any]) -> NDArray[Any]:
    """Return datetimes and dates of Python and pandas in nanoseconds; without a zone they are in UTC."""
    for row, time in enumerate(times):
        if not is_moment(time):
            raise StreamError(f"updates, times, row {row}: expected a datetime, found {time!r}", row)
    try:
        numbers, _ = moments_of_objects(list(times), np.zeros(len(times), dtype=bool))
    except MomentError as error:
        if RANGE in error.message:
            raise _beyond(error.row, times) from None
        raise StreamError(f"updates, times, row {error.row}: {error.message}", error.row) from None
    return _near(numbers, times)


def _near(numbers: NDArray[np.int64], times: NDArray[Any]) -> NDArray[Any]:
    """Return nanoseconds as datetimes; refuse times out of their range."""
    if (beyond := np.abs(numbers) >= _MOST_DAYS * _DAY).any():
        raise _beyond(int(beyond.argmax()), times)
    return numbers.view("datetime64[ns]")


def _beyond(row: int, times: NDArray[Any]) -> StreamError:
    return StreamError(
        f"updates, times, row {row}: expected a moment within 146 years of 1970, found {times[row]}", row
    )


def nanoseconds(times: NDArray[Any], unit: str) -> NDArray[np.int64]:
    """Return moments in nanoseconds; `unit` is that of numbers.

    Raises
    ------
    StreamError
        Names the first that is more than 146 years away from 0.
    """
    if times.dtype.kind == "M":
        return times.astype(np.int64)
    scale = TIME_UNITS[unit]
    if times.dtype.kind == "f":
        times = times.astype(np.float64)  # bounds would be infinite in a narrower type
    most = MOST // scale
    beyond = (times < -most) | (times > most) if times.dtype.kind != "u" else times > most
    if beyond.any():
        row = int(beyond.argmax())
        raise StreamError(
            f"updates, times, row {row}: expected from {-most} to {most} {unit}, found {times[row]}; "
            "the time unit says what unit times have",
            row,
        )
    if times.dtype.kind == "f":
        rounded: NDArray[np.int64] = np.rint(times * scale).astype(np.int64)
        return rounded
    return times.astype(np.int64) * scale


def open_window(native: _native.Monitor, span: Span) -> None:
    """Give a native monitor a window, with nothing in it."""
    native.open_window(span.length, span.timed)


def fill_window(
    native: _native.Monitor,
    graph: Graph,
    edge_times: str,
    span: Span,
    clock: Clock,
    unit: str,
    *,
    copies: bool,
) -> None:
    """Put the edges of the first graph into the window, as far as they have moments.

    Parameters
    ----------
    edge_times
        The attribute of its edges with their moments; copies without a value stay out.
    copies
        Whether every copy counts; if not, the first of each edge.

    Raises
    ------
    ArgumentError
        There is no such attribute, or it holds neither numbers nor datetimes.
    StreamError
        A moment is out of range.
    """
    timed, moments = edge_moments(graph, edge_times, unit)
    rows = graph.forward
    sources = rows.sources()
    kept = np.ones(len(sources), dtype=bool) if graph.directed else sources < rows.neighbors
    counts = np.ones(len(sources), dtype=np.int64) if rows.copies is None else rows.copies.astype(np.int64)
    of_rows = np.repeat(np.flatnonzero(kept), counts[kept])
    if not copies:
        first = np.concatenate([[True], of_rows[1:] != of_rows[:-1]]) if len(of_rows) else timed
        timed, moments = timed & first, moments[first[timed]]
    order = np.argsort(moments, kind="stable")
    arcs, moments = of_rows[timed][order], moments[order]
    start_clock(clock, graph, edge_times, moments)
    labels = np.zeros(len(arcs), dtype=np.uint32) if rows.labels is None else rows.labels[arcs]
    native.fill_window(
        sources[arcs].astype(np.uint32),
        np.ascontiguousarray(rows.neighbors[arcs], dtype=np.uint32),
        np.ascontiguousarray(labels, dtype=np.uint32),
        moments if span.timed else np.arange(1, len(arcs) + 1),
        len(arcs),
    )


def start_clock(clock: Clock, graph: Graph, edge_times: str, moments: NDArray[np.int64]) -> None:
    """Have a clock be at the last of the moments of edges, which ascend."""
    if len(moments):
        clock.latest = int(moments[-1])
        of_times = {None: TimeKind.NUMBERS, Kind.DATETIME_UTC: TimeKind.ZONED}
        clock.kind = of_times.get(graph.edge_attributes[edge_times].times, TimeKind.NAIVE)


def edge_moments(graph: Graph, edge_times: str, unit: str) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return which copies of the edges of a graph have a moment, bool [copies], and these moments.

    Raises
    ------
    ArgumentError
        There is no such attribute, or it holds neither numbers nor datetimes.
    StreamError
        A moment is out of range.
    """
    column = graph.edge_attributes.get(edge_times) if isinstance(edge_times, str) else None
    if column is None or (column.times is None and column.kind not in (Kind.INTEGER, Kind.FLOAT)):
        expected = "an attribute of the graph's edges that holds numbers or datetimes"
        found = edge_times if column is None else f"{edge_times}, {column.kind.value}"
        raise ArgumentError("edge_times", expected, found)
    timed = ~column.missing()
    known = column.data[timed]
    if column.times is None:
        return timed, nanoseconds(known, unit)
    return timed, nanoseconds(_near(known, known.view("datetime64[ns]")), unit)
