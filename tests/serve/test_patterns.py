"""Patterns come, go and are bounded while a service runs."""

from __future__ import annotations

import json
import sqlite3
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import motiflux as mf
from motiflux.serve.core import CountingError
from motiflux.serve.log.group import CONFIG, NETWORK, PatternRow
from motiflux.serve.matching import LiveMonitor
from motiflux.serve.service import Service
from motiflux.serve.settings.parts import PatternSettings
from motiflux.serve.slow import LeftOut
from motiflux.serve.watched import Bucket, Watched
from motiflux.stream.matching.delta import Delta
from motiflux.stream.monitor import Monitor
from tests.serve.test_durability import RING, edges, fed, service_in
from tests.serve.transfers import alerts_in

TIMES = ["2026-11-29T09:00:00.000000000Z", "2026-11-29T09:59:59.000000000Z"]
TWO = {"name": "two", "pattern": "(a)-->(b)-->(c)"}


def row(service: Service, name: str) -> Any:
    return service.engine.patterns.get(name)


def test_a_pattern_that_is_added_reports_from_then_on(tmp_path: Path) -> None:
    given = service_in(tmp_path)
    with Service(given) as service:
        fed(service, edges(RING))
        added = service.add_pattern(TWO)
        assert (added.since, added.present) == (3, None)
        fed(service, edges([("c", "d")]))
        assert row(service, "two").positive == 1
        backfilled = service.add_pattern(
            {**TWO, "name": "all", "pattern": "(x)-->(y)-->(z)", "backfill": True}
        )
        assert backfilled.present == 4
    with Service(given) as service:
        fed(service, edges([("d", "e")]))
        assert (row(service, "two").positive, row(service, "all").present) == (2, 5)
        service.drop_pattern("all")
        with pytest.raises(mf.ArgumentError, match="the name of a pattern, found 'all'"):
            row(service, "all")
    with Service(given) as service:
        assert [one.settings.name for one in service.patterns()] == ["ring3", "ring4", "two"]
        assert service.add_pattern({**TWO, "name": "all", "pattern": "(x)-->(y)-->(z)"}).id == 5


def test_a_count_that_would_hold_up_records_is_refused(tmp_path: Path) -> None:
    given = service_in(tmp_path)
    given["limits"] = {**given.get("limits", {}), "backfill_seconds": 0.001}
    every = [(f"v{source}", f"v{to}") for source in range(25) for to in range(25) if source != to]
    with Service(given) as service:
        fed(service, edges(every))
        ring = "(a)-->(b)-->(c)-->(d)-->(e)-->(a), (a)-->(c)-->(e)"
        many = {"name": "many", "pattern": ring, "backfill": True}
        before = [one.settings.name for one in service.patterns()]
        with pytest.raises(mf.ArgumentError, match=r"backfill: expected a count within 0\.001 seconds"):
            service.add_pattern(many)
        assert [one.settings.name for one in service.patterns()] == before


def test_a_paused_pattern_counts_anew_when_it_is_resumed(tmp_path: Path) -> None:
    given = service_in(tmp_path)
    with Service(given) as service:
        service.pause_pattern("ring3")
        fed(service, edges(RING))
    with Service(given) as service:
        assert (row(service, "ring3").state, row(service, "ring3").reason) == ("paused", "paused by request")
        service.resume_pattern("ring3")
        fed(service, edges([("a", "x"), ("c", "x"), ("x", "b"), ("b", "a")]))
        assert row(service, "ring3").positive == 3 - 1
        with pytest.raises(mf.ArgumentError, match="one that is paused"):
            service.resume_pattern("ring3")


def test_a_pattern_dropped_by_request_stays_so_until_the_configuration_changes(tmp_path: Path) -> None:
    given = service_in(tmp_path)
    with Service(given) as service:
        service.drop_pattern("ring4")
    with Service(given) as service:
        assert [one.settings.name for one in service.patterns()] == ["ring3"]
    given["patterns"][1]["limit"] = 7
    with Service(given) as service:
        assert [one.id for one in service.patterns()] == [1, 3]


def test_a_pattern_that_was_left_out_of_the_configuration_comes_again(tmp_path: Path) -> None:
    given = service_in(tmp_path)
    with Service(given):
        pass
    with Service({**given, "patterns": given["patterns"][:1]}) as service:
        assert [one.settings.name for one in service.patterns()] == ["ring3"]
    with Service(given) as service:
        assert [(one.id, one.settings.name) for one in service.patterns()] == [(1, "ring3"), (3, "ring4")]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": "ring3", "pattern": "(a)-->(b)"}, "name: expected a name that no other has"),
        ({"name": "x", "pattern": "(a)-->(b)-->(c)-->(a)"}, "pattern: expected one that is not watched yet"),
        ({"name": "x", "pattern": "(a)-->(b) WHERE degree(a) > 3"}, "no conditions on degrees"),
        ({"name": "x", "pattern": "-->".join(f"(v{at})" for at in range(9))}, "at most 8 vertices, found 9"),
        ({"name": "x", "pattern": "(a)-->(b)", "path": "/etc/passwd"}, "as the key, found 'path'"),
        ({"name": "x", "pattern": "(`\ud800`)-->(b)"}, "pattern: expected text that UTF-8 has"),
        ({"name": "x", "pattern": "(a)-->(b)-[`\ud800`]->(c)"}, "pattern: expected text that UTF-8 has"),
        ({"name": "x"}, "pattern: expected text, found nothing"),
    ],
)
def test_patterns_that_are_refused_change_nothing(
    tmp_path: Path, given: dict[str, Any], message: str
) -> None:
    with Service(service_in(tmp_path)) as service:
        with pytest.raises(mf.MotifluxError, match=message):
            service.add_pattern(given)
        assert [one.settings.name for one in service.patterns()] == ["ring3", "ring4"]
        fed(service, edges(RING))
        assert row(service, "ring3").positive == 1


ALL = {"name": "all", "pattern": "(x)-->(y)-->(z)", "backfill": True}


def held_count(monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, threading.Event]:
    """Hold up counts of new patterns: return what is set when one begins, and what lets it go on."""
    begun, goes_on = threading.Event(), threading.Event()
    real = LiveMonitor.count

    def count(self: LiveMonitor, *given: Any) -> int:
        begun.set()
        assert goes_on.wait(60)
        return real(self, *given)

    monkeypatch.setattr(LiveMonitor, "count", count)
    return begun, goes_on


def added(service: Service, given: dict[str, Any]) -> tuple[threading.Thread, list[Any]]:
    """Add a pattern in a thread; return this, and a list that gets the pattern or the error."""
    answers: list[Any] = []

    def add() -> None:
        try:
            answers.append(service.add_pattern(given))
        except Exception as error:  # noqa: BLE001 - the test looks at it
            answers.append(error)

    thread = threading.Thread(target=add)
    thread.start()
    return thread, answers


def test_records_are_applied_while_a_new_pattern_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, goes_on = held_count(monkeypatch)
    with Service(service_in(tmp_path)) as service:
        fed(service, edges(RING))
        thread, answers = added(service, ALL)
        assert begun.wait(60)
        fed(service, edges([("c", "d"), ("d", "e")]))
        assert (row(service, "all").present, row(service, "all").positive) == (None, 2)
        with pytest.raises(CountingError, match="no other pattern that is being counted"):
            service.add_pattern({**ALL, "name": "more"})
        goes_on.set()
        thread.join()
        assert (answers[0].base, answers[0].present) == (3, 5)
        fed(service, edges([("e", "f")]))
        assert row(service, "all").present == 6
        assert service.add_pattern({**ALL, "name": "more", "pattern": "(u)-->(v)-->(w)"}).present == 6


def test_a_pattern_that_is_dropped_while_it_is_counted_stays_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, goes_on = held_count(monkeypatch)
    with Service(service_in(tmp_path)) as service:
        thread, answers = added(service, ALL)
        assert begun.wait(60)
        service.drop_pattern("all")
        goes_on.set()
        thread.join()
        assert "a pattern that stays until it is counted" in str(answers[0])
        assert "all" not in service.engine.patterns.names()


def test_a_count_that_a_kill_ended_is_made_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = service_in(tmp_path)
    with monkeypatch.context() as patched:
        begun, goes_on = held_count(patched)
        with Service(given) as service:
            fed(service, edges(RING))
            thread, _ = added(service, ALL)
            assert begun.wait(60)
            fed(service, edges([("c", "d")]))
            log = (tmp_path / "state/log.sqlite", tmp_path / "state/log.sqlite-wal")
            kept = {file: file.read_bytes() for file in log}
            goes_on.set()
            thread.join()
    for file in (tmp_path / "state").iterdir():
        file.unlink()
    for file, data in kept.items():  # as a kill would have left them
        file.write_bytes(data)
    with Service(given) as service:
        assert (row(service, "all").since, row(service, "all").present) == (4, 4)
        fed(service, edges([("d", "e")]))
        assert row(service, "all").present == 5


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"pattern": "(a)-->(b"}, "it cannot be watched: "),
        ({"pattern": "(a)-[x WHERE x.amount > 5]->(b)"}, "it cannot be watched: attributes: expected true"),
        ({"monitor": "gone"}, "there is no monitor 'gone' any more"),
        ({"monitor": "gone", "backfill": True}, "there is no monitor 'gone' any more"),
    ],
)
def test_a_pattern_of_the_network_that_fails_at_the_next_start_is_paused(
    tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    given = service_in(tmp_path)
    with Service(given) as service:
        service.add_pattern(TWO)
    with sqlite3.connect(tmp_path / "state/log.sqlite") as log:
        (text,) = log.execute("SELECT settings FROM patterns WHERE name = 'two'").fetchone()
        settings = json.dumps({**json.loads(text), **change})
        log.execute("UPDATE patterns SET settings = ? WHERE name = 'two'", (settings,))
    log.close()
    with Service(given) as service:
        assert row(service, "two").state == "paused"
        assert row(service, "two").reason.startswith(reason)
        fed(service, edges(RING))
        assert row(service, "ring3").alerts == 1
        with pytest.raises(mf.MotifluxError):
            service.resume_pattern("two")
        service.drop_pattern("two")


def test_matches_beyond_a_limit_are_counted_and_not_reported(tmp_path: Path) -> None:
    with Service(service_in(tmp_path)) as service:
        service.add_pattern({"name": "fan", "pattern": "(a)-->(b), (a)-->(c)", "limit": 2})
        fed(service, edges([("hub", f"v{at}") for at in range(6)]))
        fan = row(service, "fan")
        assert (fan.positive, fan.alerts, fan.suppressed) == (15, 0 + 1 + 2 + 2 + 2 + 2, 1 + 2 + 3)


def test_a_rate_is_filled_by_the_time_of_arrival() -> None:
    bucket = Bucket(2.0)
    assert [bucket.take(2, 0), bucket.take(2, 0), bucket.take(9, 10**9), bucket.take(1, 10**9)] == [
        2,
        0,
        2,
        0,
    ]
    assert Bucket(0.0).take(1, 10**12) == 0
    slow = Bucket(0.5)
    assert [slow.take(1, 0), slow.take(1, 10**9), slow.take(1, 2 * 10**9)] == [1, 0, 1]


def test_vanishing_matches_are_reported_where_that_is_asked_for(tmp_path: Path) -> None:
    given = service_in(tmp_path)
    given["patterns"] = [{"name": "edge", "pattern": "(a)-->(b)", "on": "both"}]
    with Service(given) as service:
        fed(service, edges(RING[:1], time=0) + edges(RING[1:2], time=500))
    assert [one[1:3] for one in alerts_in(tmp_path / "out.jsonl")] == [(1, 0), (-1, 1), (1, 1)]


def test_a_pattern_that_takes_too_long_is_found_by_trial_where_no_times_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = mf.Pattern.parse("(s)-->(t)-->(u)-->(v)")
    real = Monitor.apply

    def apply(self: Monitor, updates: Any, **more: Any) -> Any:
        """Apply updates, unless they concern a hub and the slow pattern is watched."""
        if slow in self.patterns and "hub" in updates.sources and more.get("timeout") is not None:
            return replace(real(self, []), complete=False)
        return real(self, updates, **more)

    monkeypatch.setattr(Monitor, "apply", apply)
    given = service_in(tmp_path)
    with Service(given) as service:
        service.add_pattern({"name": "slow", "pattern": str(slow)})
        service.add_pattern(TWO)
        fed(service, edges([("p", "q"), ("q", "r"), ("hub", "p"), *RING]))
        paused = row(service, "slow")
        assert (paused.state, paused.positive) == ("paused", 0)
        assert paused.reason.startswith("record 2 takes longer than 1 s")
        assert row(service, "two").positive == 2 + 3
        assert row(service, "ring3").positive == 1
    with Service(given) as service:
        assert row(service, "slow").state == "paused"


LONG = "(a)-->(b)-->(c)-->(d)-->(e)-->(f)<--(g)"
LONGER = "(a)-->(b)-->(c)-->(d)-->(e)-->(f)-->(g)"


def tries(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets the number of updates of each call of a monitor that takes too long."""
    real, made = Monitor.apply, []

    def apply(self: Monitor, updates: Any, **more: Any) -> Any:
        delta = real(self, updates, **more)
        if not delta.complete:
            made.append(len(updates))
        return delta

    monkeypatch.setattr(Monitor, "apply", apply)
    return made


def with_clique(folder: Path, size: int = 40) -> tuple[dict[str, Any], bytes]:
    given = service_in(folder)
    given["limits"] = {"update_seconds": 0.25}
    return given, edges([(f"k{a}", f"k{b}") for a in range(size) for b in range(size) if a != b])


@pytest.mark.turns(4)
def test_slow_patterns_are_told_by_the_engine_and_all_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, clique = with_clique(tmp_path)
    given["patterns"] = [TWO]
    with Service(given) as service:
        fed(service, clique)
        before = row(service, "two").positive
        for number in range(6):
            quick = {"name": f"quick{number}", "pattern": f"(x{number})-->(y)-->(x{number})"}
            service.add_pattern(quick)
        service.add_pattern({"name": "long", "pattern": LONG})
        service.add_pattern({"name": "longer", "pattern": LONGER})
        made = tries(monkeypatch)
        first = service.engine.number
        fed(service, edges([("p", "q"), ("r", "k0"), ("k0", "s"), ("t", "u")]))
        states = {one.settings.name: one.state for one in service.patterns()}
        paused = {name for name, state in states.items() if state == "paused"}
        assert paused == {"long", "longer"}
        assert row(service, "longer").reason == f"record {first + 1} takes longer than 0.25 s"
        assert row(service, "two").positive == before + 39 + 39 + 1
        # All together, the slow record alone, and once more without the first of the two.
        assert made in ([4, 1, 1], [4, 1])


@pytest.mark.turns(4)
def test_a_slow_pattern_of_the_network_pauses_none_of_the_configuration(tmp_path: Path) -> None:
    given, clique = with_clique(tmp_path)
    given["patterns"] = [TWO, {"name": "ring3", "pattern": "(a)-->(b)-->(c)-->(a)"}]
    with Service(given) as service:
        fed(service, clique)
        service.add_pattern({"name": "longer", "pattern": LONGER})
        fed(service, edges([("r", "k0")]))
        assert [one.state for one in service.patterns()] == ["active", "active", "paused"]


@pytest.mark.turns(4)
def test_a_slow_pattern_of_the_configuration_pauses_none_of_the_network(tmp_path: Path) -> None:
    given, clique = with_clique(tmp_path)
    with Service(given) as service:
        fed(service, clique)
    given["patterns"].append({"name": "longer", "pattern": LONGER})
    with Service(given) as service:
        service.add_pattern(TWO)
        fed(service, edges([("r", "k0")]))
        states = {one.settings.name: one.state for one in service.patterns()}
        assert states == {"ring3": "active", "ring4": "active", "longer": "paused", "two": "active"}


@pytest.mark.parametrize("guest_share", [0.2, 0.7])
@pytest.mark.parametrize("guest_is_slow", [False, True])
def test_patterns_of_the_network_are_left_out_for_certain_only_if_they_took_half_of_the_time(
    guest_share: float, guest_is_slow: bool
) -> None:
    watched = []
    for at, (name, text, origin) in enumerate(
        [("own", "(a)-->(b)", CONFIG), ("guest", "(a)-->(b)-->(c)", NETWORK)]
    ):
        pattern, row = mf.Pattern.parse(text), PatternRow(at, PatternSettings(name, text, "main"), origin)
        watched.append(Watched(row, pattern, (pattern,), Bucket(1)))
    own, guest = watched
    there, made = list(watched), 0

    def tried() -> Any:
        nonlocal made
        made += 1
        slow = guest if guest_is_slow else own
        return Delta({}, 0, complete=slow not in there, searched={one.parts[0]: 0.5 for one in there})

    searched = {own.parts[0]: 1 - guest_share, guest.parts[0]: guest_share}
    left_out = LeftOut(watched, there.remove, there.append, tried)
    assert left_out.search(Delta({}, 0, complete=False, searched=searched)).complete  # type: ignore[union-attr]
    if guest_is_slow:
        assert left_out.patterns == [guest]
    elif guest_share < 0.5:
        assert left_out.patterns == [own]
    else:
        assert left_out.patterns == [guest, own]
    assert made <= 2
    assert [one for one in watched if one not in left_out.patterns] == there


def test_patterns_compare_times_with_each_other_and_with_durations(tmp_path: Path) -> None:
    given = service_in(tmp_path)
    given["monitors"][0] |= {"attributes": True, "window": "7d"}
    text = "(a)-[x]->(b)-[y]->(c) WHERE x.time < y.time AND y.time - x.time < 1h"
    given["patterns"] = [{"name": "soon", "pattern": text}]
    with Service(given) as service:
        times = ["2026-11-29T10:00:00+01:00", "2026-11-29T09:59:59Z", "2026-11-29T10:00:00Z"]
        ends = [("a", "b"), ("b", "soon"), ("b", "later")]
        for (src, dst), time in zip(ends, times, strict=True):
            fed(service, edges([(src, dst)], time=time))
        assert service.wait_until_idle(60.0)
    (line,) = (tmp_path / "out.jsonl").read_text().splitlines()
    alert = json.loads(line)
    assert alert["match"] == {"a": "a", "b": "b", "c": "soon"}
    assert [alert["edges"][edge]["time"] for edge in "xy"] == TIMES


def test_a_pattern_of_the_configuration_that_cannot_be_matched_is_named(tmp_path: Path) -> None:
    given = service_in(tmp_path)
    given["patterns"].append({"name": "rich", "pattern": "(a)-[x WHERE x.amount > 5]->(b)"})
    with pytest.raises(
        mf.ArgumentError, match=r"patterns, rich: expected one that the monitor 'main' can match"
    ):
        Service(given).__enter__()
