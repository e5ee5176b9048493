"""Windows: which edges leave, when, and what is said of it."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motiflux as mf

EDGE = "(a)-->(b)"


def monitor(window: Any, edges: Any = (), **options: Any) -> mf.Monitor:
    table = np.array(list(edges) or np.empty((0, 2)), dtype=np.int64)
    return mf.Monitor(
        mf.Graph.from_edges(table, num_vertices=9, directed=True), EDGE, window=window, **options
    )


def moves(delta: mf.Delta) -> list[tuple[int, int, int]]:
    """Update, sign and number of matches."""
    found = delta[0]
    return list(zip(found.updates.tolist(), found.signs.tolist(), found.matches.tolist(), strict=True))


def edges_now(watching: mf.Monitor) -> list[tuple[int, int, int]]:
    edges = watching.snapshot().to_edges()
    return sorted(zip(edges.src.tolist(), edges.dst.tolist(), edges.multiplicity.tolist(), strict=True))


@pytest.mark.parametrize(
    ("window", "shown"),
    [
        ("90s", "90s"),
        ("1h30m", "90min"),
        ("1d12h", "36h"),
        ("1s 500ms", "1500ms"),
        ("90m", "90min"),
        (np.timedelta64(90, "m"), "90min"),
        (np.timedelta64(2, "W"), "2w"),
        (np.timedelta64(3000, "ps"), "3ns"),
        ("1.5h", "90min"),
        (" 24 h ", "1d"),
        ("14d", "2w"),
        (90.0, "90s"),
        (dt.timedelta(minutes=90), "90min"),
        (np.timedelta64(250, "ms"), "250ms"),
        ("7us", "7us"),
        ("1000", "1,000 edges"),
        (1, "1 edge"),
    ],
)
def test_windows_are_times_or_numbers_of_edges(window: Any, shown: str) -> None:
    assert f"window of {shown})" in repr(monitor(window))


def test_an_edge_stays_for_less_than_the_window_and_leaves_with_the_update_that_is_so_much_later() -> None:
    watching = monitor("10s")
    assert moves(watching.apply(inserts=[(0, 1), (1, 2)], times=[0, 3])) == [(0, 1, 1), (1, 1, 1)]
    assert moves(watching.apply([("+", 2, 3), ("-", 7, 8), ("+", 3, 4)], times=[9, 10, 13])) == [
        (0, 1, 1),
        (1, -1, 1),
        (2, -1, 1),
        (2, 1, 1),
    ]
    assert edges_now(watching) == [(2, 3, 1), (3, 4, 1)]


def test_a_window_of_edges_keeps_the_newest() -> None:
    watching = monitor(2)
    delta = watching.apply([("+", 0, 1), ("+", 1, 2), ("-", 1, 2), ("+", 2, 3), ("+", 3, 4)])
    assert moves(delta) == [(0, 1, 1), (1, 1, 1), (2, -1, 1), (3, -1, 1), (3, 1, 1), (4, 1, 1)]
    assert (delta.expired, edges_now(watching)) == (1, [(2, 3, 1), (3, 4, 1)])


def test_the_repeated_transfer_leaves_the_window_with_its_last_copy() -> None:
    watching = monitor("10s")
    assert watching.apply(inserts=[(0, 1), (0, 1)], times=[0, 5])[0].net == 1
    later = watching.apply([("+", 2, 3)], times=10)
    assert (later.expired, later[0].negative, edges_now(watching)) == (1, 0, [(0, 1, 1), (2, 3, 1)])
    assert watching.apply([("+", 4, 5)], times=15)[0].negative == 1


def test_repetitions_that_are_ignored_do_not_prolong_the_stay() -> None:
    watching = monitor("10s", duplicates="ignore")
    watching.apply(inserts=[(0, 1), (0, 1)], times=[0, 5])
    delta = watching.apply([("+", 0, 1)], times=10)
    assert (moves(delta), delta.noops) == ([(0, -1, 1), (0, 1, 1)], 0)


def test_a_deletion_takes_the_oldest_copy_in_the_window() -> None:
    watching = monitor("10s")
    watching.apply([("+", 0, 1), ("+", 0, 1), ("-", 0, 1)], times=[0, 5, 6])
    assert watching.apply([("+", 2, 3)], times=12).expired == 0
    assert edges_now(watching) == [(0, 1, 1), (2, 3, 1)]
    assert watching.apply([("+", 3, 4)], times=15).expired == 1


@pytest.mark.parametrize("duplicates", ["count", "ignore"])
def test_edges_of_the_first_graph_stay(duplicates: str) -> None:
    watching = monitor("10s", edges=[(0, 1)], duplicates=duplicates)
    watching.apply([("+", 0, 1)], times=0)
    watching.apply([("+", 2, 3)], times=100)
    assert edges_now(watching) == [(0, 1, 1), (2, 3, 1)]
    assert watching.apply([("-", 0, 1)], times=100)[0].negative == 1


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("duplicates", ["count", "ignore"])
def test_edges_of_the_first_graph_that_have_times_leave(directed: bool, duplicates: str) -> None:
    graph = mf.Graph.from_edges(
        [(0, 1), (1, 2), (0, 1), (2, 3)],
        directed=directed,
        edge_attributes={"time": [5, 1, 2, None]},
    )
    watching = mf.Monitor(graph, "(a)--(b)", window="10s", edge_times="time", duplicates=duplicates)
    assert watching.apply([("+", 3, 1)], times=11)[0].negative == 2
    # Its copies came at 2 and 5; where copies do not count, it stays from the first that is listed.
    assert watching.apply([("-", 1, 3)], times=12).expired == (1 if duplicates == "count" else 0)
    assert watching.apply([("-", 1, 3)], times=15)[0].negative == 2
    assert watching.num_edges == (1 if directed is False else 2)


def test_in_a_batch_what_came_and_left_is_not_reported() -> None:
    watching = monitor("10s", mode="batch", matches=True)
    delta = watching.apply([("+", 0, 1), ("+", 1, 2)], times=[0, 20])
    assert (delta[0].appeared().tolist(), delta[0].negative, delta.expired) == ([[1, 2]], 0, 1)


@pytest.mark.parametrize(
    ("unit", "times"),
    [("ms", [0, 9999, 10_000]), ("us", [0, 9_999_999, 10_000_000]), ("s", [0.0, 9.75, 10.0])],
)
def test_times_are_in_the_unit_that_is_named(unit: str, times: list[float]) -> None:
    watching = monitor("10s", time_unit=unit)
    delta = watching.apply([("+", 0, 1), ("+", 1, 2), ("+", 2, 3)], times=times)
    assert [move for move in moves(delta) if move[1] < 0] == [(2, -1, 1)]


def test_datetimes_know_their_unit() -> None:
    watching = monitor("1h")
    times = np.array(["2024-05-01T00:00", "2024-05-01T00:59", "2024-05-01T01:00"], dtype="datetime64[m]")
    assert moves(watching.apply([("+", 0, 1), ("+", 1, 2), ("+", 2, 3)], times=times))[-2:] == [
        (2, -1, 1),
        (2, 1, 1),
    ]


def test_an_update_out_of_time_order_is_an_error_and_nothing_is_applied() -> None:
    watching = monitor("10s")
    watching.apply(inserts=[(0, 1)], times=5)
    message = "row 1: expected 19 s or later, found 7; disorder='clamp' or disorder='drop' lets"
    with pytest.raises(mf.StreamError, match=message):
        watching.apply(inserts=[(1, 2), (2, 3)], times=[19, 7])
    assert edges_now(watching) == [(0, 1, 1)]
    delta = watching.apply(inserts=[(1, 2)], times=6)  # not later than the refused 19
    assert delta.expired == 0


@pytest.mark.parametrize(("disorder", "applied"), [("drop", 2), ("clamp", 3)])
def test_updates_out_of_time_order_are_dropped_or_moved(disorder: str, applied: int) -> None:
    watching = monitor("10s", disorder=disorder)
    delta = watching.apply(inserts=[(0, 1), (1, 2), (2, 3)], times=[9, 4, 15])
    assert (delta.late, delta.updates, delta[0].positive) == (1, applied, applied)
    assert delta[0].updates.tolist() == ([0, 2] if disorder == "drop" else [0, 1, 2])
    assert watching.apply([("-", 7, 8)], times=18).expired == 0
    watching.apply([("-", 7, 8)], times=19)
    assert edges_now(watching) == [(2, 3, 1)]


def test_disorder_can_be_named_without_a_window() -> None:
    updates = mf.Updates(np.array([True, True]), np.array([0, 1]), np.array([1, 2]), times=np.array([2, 1]))
    assert monitor(None).apply(updates).late == 0
    assert monitor(None, disorder="drop").apply(updates).late == 1
    with pytest.raises(mf.StreamError, match="disorder"):
        monitor(None, disorder="error").apply(updates)


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (None, "expected times, which a window of 10s asks for"),
        ([0.0, float("nan")], "row 1: expected a moment"),
        ([0, 10**15], "row 1: expected from -4611686018 to 4611686018 s, found 10"),
        ([0], "expected 2 values, found 1"),
        (["a", "b"], "expected numbers"),
        (np.array(["2024-01-01", "NaT"], dtype="datetime64[s]"), "row 1: expected a moment"),
    ],
)
def test_times_that_a_window_cannot_use_are_refused(times: Any, message: str) -> None:
    watching = monitor("10s")
    with pytest.raises(mf.StreamError, match=message):
        watching.apply([("+", 0, 1), ("+", 1, 2)], times=times)
    assert watching.num_edges == 0


@pytest.mark.parametrize("window", ["10s", 2])
def test_a_refused_call_leaves_the_window_as_it_was(window: Any) -> None:
    watching = monitor(window, strict=True)
    watching.apply(inserts=[(0, 1), (1, 2)], times=[0, 1])
    before = edges_now(watching)
    with pytest.raises(mf.StreamError, match="row 2"):
        watching.apply([("+", 2, 3), ("+", 3, 4), ("-", 7, 8)], times=[30, 31, 31])
    assert edges_now(watching) == before
    delta = watching.apply([("+", 2, 3)], times=10)
    assert (delta.expired, delta[0].negative) == (1, 1)


def test_a_window_holds_no_more_than_it_says() -> None:
    watching = monitor(1000)
    sizes = []
    for number in range(60):
        first = np.arange(number * 500, (number + 1) * 500)
        watching.apply(inserts=np.column_stack([first % 7, 7 + first % 2]))
        sizes.append(watching.nbytes)
    assert max(sizes[40:]) == sizes[20]
    assert sum(copies for *_, copies in edges_now(watching)) == 1000


@pytest.mark.parametrize("mode", ["sequence", "batch"])
@pytest.mark.parametrize("matches", [False, True])
def test_time_can_pass_without_an_update(mode: str, matches: bool) -> None:
    watching = monitor("10s", mode=mode, matches=matches)
    watching.apply(inserts=[(0, 1), (1, 2), (1, 2), (2, 3)], times=[0, 3, 4, 5])
    delta = watching.advance(9.75)
    assert (delta.updates, delta.expired, delta.complete, delta[0].negative) == (0, 0, True, 0)
    delta = watching.advance(14)
    assert (delta.updates, delta.expired, delta.noops, delta[0].negative) == (0, 3, 0, 2)
    assert edges_now(watching) == [(2, 3, 1)]
    assert moves(delta) == ([(0, -1, 1), (0, -1, 1)] if mode == "sequence" else [])
    if matches:
        assert delta[0].vanished().tolist() == [[0, 1], [1, 2]]
    assert (watching.updates_applied, watching.batches_applied) == (4, 1)
    with pytest.raises(mf.StreamError, match="row 0: expected 14 s or later, found 13"):
        watching.apply([("+", 3, 4)], times=13)
    assert watching.apply([("+", 3, 4)], times=15)[0].negative == 1


def test_time_that_passes_reads_moments_as_updates_do() -> None:
    watching = monitor("1h")
    watching.apply([("+", 0, 1)], times=np.array(["2024-05-01T00:00"], dtype="datetime64[m]"))
    assert watching.advance(np.datetime64("2024-05-01T00:59"))[0].negative == 0
    assert watching.advance(np.datetime64("2024-05-01T01:00"))[0].negative == 1


@pytest.mark.parametrize("window", [None, 5])
def test_time_ends_only_windows_of_time(window: Any) -> None:
    with pytest.raises(mf.ArgumentError, match="window: expected one of time, which a moment can end"):
        monitor(window).advance(3)


def test_time_that_goes_back_is_as_an_update_that_does() -> None:
    watching = monitor("10s")
    watching.apply([("+", 0, 1)], times=5)
    with pytest.raises(mf.StreamError, match=r"^time: expected 5 s or later, found 4; disorder='clamp' or"):
        watching.advance(4)
    for disorder in ("clamp", "drop"):
        watching = monitor("10s", disorder=disorder)
        watching.apply([("+", 0, 1), ("+", 1, 2)], times=[5, 15])
        delta = watching.advance(4)
        assert (delta.late, delta.expired, edges_now(watching)) == (1, 0, [(1, 2, 1)])
        assert watching.advance(25)[0].negative == 1


@pytest.mark.parametrize("moment", ["soon", None, [1, 2], float("nan"), 10**12, np.datetime64("NaT", "s")])
def test_what_is_no_moment_lets_no_time_pass(moment: Any) -> None:
    watching = monitor("10s")
    watching.apply([("+", 0, 1)], times=5)
    with pytest.raises(mf.StreamError, match=r"^time: expected"):
        watching.advance(moment)
    assert watching.apply([("+", 1, 2)], times=6).expired == 0


def test_datetimes_that_nanoseconds_do_not_hold_are_refused() -> None:
    far = np.array(["2024-01-01", "9999-01-01"], dtype="datetime64[D]")
    with pytest.raises(mf.StreamError, match="row 1: expected a moment within 146 years of 1970, found 9999"):
        monitor("10s").apply([("+", 0, 1), ("+", 1, 2)], times=far)


@pytest.mark.parametrize(
    "window",
    [
        "30m1h",
        "1h30",
        "1.5",
        "0.5ns",
        np.timedelta64("NaT", "s"),
        np.datetime64("2024-03-01", "ns"),
        np.timedelta64(1, "M"),
        np.timedelta64(10**18, "s"),
        np.timedelta64(-5, "s"),
        dt.timedelta(0),
    ],
)
def test_what_is_no_length_is_no_window(window: Any) -> None:
    with pytest.raises(mf.ArgumentError, match=r"^window: expected a time such as '90s', '15min', '1h30m'"):
        monitor(window)


def test_windows_of_pandas_keep_nanoseconds() -> None:
    pd = pytest.importorskip("pandas")
    assert "window of 1000000001ns" in repr(monitor(pd.Timedelta(1_000_000_001, "ns")))


@pytest.mark.parametrize(
    "times",
    [
        [dt.datetime(2024, 5, 1), dt.datetime(2024, 5, 1, 0, 59, 59)],
        [dt.datetime(2024, 5, 1, tzinfo=dt.UTC), dt.datetime(2024, 5, 1, 0, 59, 59, tzinfo=dt.UTC)],
        np.array(["2024-05-01T00:00:00", "2024-05-01T00:59:59"], dtype="datetime64[s]"),
    ],
)
def test_datetimes_of_python_are_times_of_updates(times: Any) -> None:
    watching = monitor("1h")
    watching.apply([("+", 0, 1), ("+", 1, 2)], times=times)
    zone = getattr(times[0], "tzinfo", None)
    delta = watching.apply([("+", 2, 3)], times=dt.datetime(2024, 5, 1, 1, tzinfo=zone))
    assert (delta.expired, edges_now(watching)) == (1, [(1, 2, 1), (2, 3, 1)])


@pytest.mark.parametrize(
    "time",
    [
        dt.datetime(9000, 1, 1),
        dt.date(1700, 1, 1),
        dt.datetime(2140, 1, 1),
        np.datetime64("9000-01-01"),
        np.datetime64(2**63 - 1, "ns"),
    ],
)
def test_datetimes_of_python_that_are_far_away_are_refused(time: Any) -> None:
    with pytest.raises(mf.StreamError, match="row 1: expected a moment within 146 years of 1970, found"):
        monitor("10s").apply([("+", 0, 1), ("+", 1, 2)], times=[dt.datetime(2024, 5, 1), time])


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        (None, "a datetime, found None"),
        (5, "a datetime, found 5"),
        ("2024-05-01", "a datetime, found '2024-05-01'"),
        (float("nan"), "a datetime, found nan"),
        (
            dt.datetime(2024, 5, 1, tzinfo=dt.UTC),
            "datetimes without a time zone as before, found 2024-05-01 00:00:00+00:00",
        ),
    ],
)
def test_what_stands_beside_datetimes_of_python_is_one(time: Any, expected: str) -> None:
    watching = monitor("10s")
    with pytest.raises(mf.StreamError) as caught:
        watching.apply([("+", 0, 1), ("+", 1, 2)], times=[dt.datetime(2024, 5, 1), time])
    assert str(caught.value) == f"updates, times, row 1: expected {expected}"
    assert edges_now(watching) == []


ZONED = dt.datetime(2024, 5, 1, 2, tzinfo=dt.UTC)
NAIVE = np.datetime64("2024-05-01T02:00:00", "ns")


@pytest.mark.parametrize("window", ["1h", 5, None])
@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (1, NAIVE, "expected numbers as before, found 2024-05-01T02:00:00.0* without a time zone"),
        (NAIVE, ZONED, "expected datetimes without a time zone as before, found one with a time zone, 2024"),
        (ZONED, dt.datetime(2024, 5, 1, 3), "expected datetimes with a time zone as before, found 2024"),
        (ZONED, 1.5, "expected datetimes with a time zone as before, found the number 1.5"),
    ],
)
def test_times_are_of_one_kind(tmp_path: Path, first: Any, second: Any, message: str, window: Any) -> None:
    with monitor(window) as watching:
        with pytest.raises(mf.StreamError):  # what a refused call says counts for nothing
            watching.apply([("+", 7, 8), ("+", "a", 9)], times=second)
        watching.apply([("+", 0, 1)], times=first)
        for before in (watching, loaded(watching, tmp_path)):
            with pytest.raises(mf.StreamError, match=f"row 0: {message}"):
                before.apply([("+", 1, 2)], times=second)
            if window == "1h":
                with pytest.raises(mf.StreamError, match=f"time: {message}"):
                    before.advance(second)
            assert edges_now(before) == [(0, 1, 1)]
            before.apply([("+", 1, 2)], times=first)


def test_a_checkpoint_without_a_kind_of_times_takes_any(tmp_path: Path) -> None:
    with monitor("1h") as watching:
        watching.apply([("+", 0, 1)], times=1)
        saved = watching._checkpoint(None)
    facts = {name: number for name, number in saved.facts.items() if name != "time_kind"}
    replace(saved, facts=facts).write(tmp_path / "m.mfg")
    assert mf.Monitor.load(tmp_path / "m.mfg").apply([("+", 1, 2)], times=ZONED)[0].positive == 1


def loaded(watching: mf.Monitor, folder: Path) -> mf.Monitor:
    """Save a monitor, and load it."""
    watching.save(folder / "m.mfg")
    return mf.Monitor.load(folder / "m.mfg")


@pytest.mark.parametrize(
    ("since", "message"),
    [
        ([NAIVE], "expected datetimes without a time zone as before, found one with a time zone"),
        ([1], "expected numbers as before, found one with a time zone"),
        ([ZONED], None),
    ],
)
def test_times_of_updates_are_as_those_of_the_first_graph(since: Any, message: str | None) -> None:
    graph = mf.Graph.from_edges([(0, 1)], edge_attributes={"since": since})
    watching = mf.Monitor(graph, "(a)--(b)", window="1h", edge_times="since")
    if message is None:
        assert watching.apply([("+", 1, 2)], times=ZONED)[0].positive == 2
        return
    with pytest.raises(mf.StreamError, match=message):
        watching.apply([("+", 1, 2)], times=ZONED)


def test_times_that_are_text_are_refused() -> None:
    with pytest.raises(mf.StreamError, match="times: expected numbers or datetimes, found <U10"):
        monitor("10s").apply([("+", 0, 1)], times=["2024-05-01"])


def test_edges_of_the_first_graph_may_have_datetimes() -> None:
    when = np.array(["2024-05-01T00:00", "2024-05-01T00:30", "NaT"], dtype="datetime64[m]")
    graph = mf.Graph.from_edges([(0, 1), (1, 2), (2, 3)], directed=True, edge_attributes={"when": when})
    watching = mf.Monitor(graph, EDGE, window=dt.timedelta(hours=1), edge_times="when", time_unit="ms")
    delta = watching.apply([("+", 3, 4)], times=np.array(["2024-05-01T01:00"], dtype="datetime64[s]"))
    assert (delta.expired, edges_now(watching)) == (1, [(1, 2, 1), (2, 3, 1), (3, 4, 1)])


def test_datetimes_of_the_first_graph_that_a_window_does_not_hold_are_refused() -> None:
    when = np.array(["2200-01-01"], dtype="datetime64[D]")
    graph = mf.Graph.from_edges([(0, 1)], directed=True, edge_attributes={"when": when})
    with pytest.raises(mf.StreamError, match="expected a moment within 146 years of 1970, found 2200"):
        mf.Monitor(graph, EDGE, window="1h", edge_times="when")


@pytest.mark.parametrize("window", [2, "10s"])
@pytest.mark.parametrize("duplicates", ["count", "ignore"])
def test_a_window_does_not_start_with_more_than_it_holds(window: Any, duplicates: str) -> None:
    rows = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]
    graph = mf.Graph.from_edges(rows, directed=True, edge_attributes={"time": [25, 3, 30, None, 20]})
    watching = mf.Monitor(graph, EDGE, window=window, edge_times="time", duplicates=duplicates)
    # As after insertions in the order of time: 3, 20, 25, 30; and one that has none.
    assert edges_now(watching) == [(0, 1, 1), (2, 3, 1), (3, 4, 1)]
    assert (int(watching.count(EDGE)), watching.num_edges) == (3, 3)
    delta = watching.apply([("+", 5, 0)], times=35)
    assert (delta.expired, delta[0].negative) == (1, 1)
    assert edges_now(watching) == [(2, 3, 1), (3, 4, 1), (5, 0, 1)]


def test_copies_that_a_window_does_not_hold_at_the_start_are_not_there() -> None:
    graph = mf.Graph.from_edges(
        [(0, 1), (0, 1), (0, 1), (1, 2)], directed=True, edge_attributes={"time": [1, 2, 3, 4]}
    )
    watching = mf.Monitor(graph, EDGE, window=2, edge_times="time")
    assert edges_now(watching) == [(0, 1, 1), (1, 2, 1)]
    assert watching.apply([("+", 2, 3)])[0].negative == 1


@pytest.mark.parametrize("width", [np.float16, np.float32, np.float64])
def test_an_infinite_time_of_an_edge_is_refused_in_every_width(width: type) -> None:
    times = np.array([1.0, np.inf], dtype=width)
    graph = mf.Graph.from_edges([(0, 1), (1, 2)], edge_attributes={"time": times})
    with pytest.raises(mf.StreamError, match=r"row 1: expected from .* found inf"):
        mf.Monitor(graph, EDGE, window="10s", edge_times="time")
