"""The log: what is refused is told, what is damaged is gone around, and what cannot be written waits."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import motiflux as mf
from motiflux.serve.batch import Batch
from motiflux.serve.intake import Chunk
from motiflux.serve.log.group import Group, LogRow
from motiflux.serve.log.schema import VERSION, connect
from motiflux.serve.log.store import Store
from motiflux.serve.ordering import MOMENT
from motiflux.serve.service import Service
from motiflux.stream.checkpoint import Checkpoint
from tests.serve.transfers import alerts_in, configuration, expected, lines, transfers
from tests.waiting import wait_until

RING = [("a", "b"), ("b", "c"), ("c", "a")]


def fed(service: Service, given: bytes, *, key: str | None = None, position: Any = None) -> dict[str, Any]:
    """Hand lines to a service as from its source `bank`; return the answer once they are on disk."""
    answers: list[dict[str, Any]] = []
    taken = service.readers["bank"].lines(given, lambda number: f"line {number + 1}")
    chunk = Chunk("bank", taken.records, taken.refused, position, key, answers.append)
    assert service.intake.try_put(chunk)
    wait_until(lambda: bool(answers), "the records are on disk")
    return answers[0]


def edges(given: Sequence[Sequence[Any]], **more: Any) -> bytes:
    return b"".join(json.dumps({"src": src, "dst": dst, **more}).encode() + b"\n" for src, dst in given)


def service_in(folder: Path, **more: Any) -> dict[str, Any]:
    """Return a service whose only source is what tests feed."""
    given = configuration(folder, **more)
    given["sources"] = [{"name": "bank", "type": "http"}]
    return given


def killed(service: Service) -> None:
    """End a service without its last checkpoint, as a kill would."""
    service.engine._take_checkpoint = lambda: None  # type: ignore[method-assign]
    service.stop()


def dead(service: Service) -> list[tuple[str, str, str]]:
    assert service.store is not None
    with service.store.reader() as reader:
        return reader.execute("SELECT place, record, reason FROM dead ORDER BY number").fetchall()


def test_records_that_are_refused_are_dead_letters_with_the_reason(tmp_path: Path) -> None:
    given = service_in(tmp_path, stream={"attributes": {"amount": "float"}, "vertex_labels": "text"})
    with Service(given) as service:
        bad = [
            b"{",
            b"[1]",
            b'{"src": "a"}',
            b'{"src": 1, "dst": "b"}',
            b'{"src": "a", "dst": "b", "op": "x"}',
            b'{"src": "a", "dst": "b", "time": "May"}',
            b'{"src": "a", "dst": "b", "amount": "1"}',
            b'{"src": "a", "dst": "b", "amount": NaN}',
            b'{"src": "a\\ud800", "dst": "b"}',
            b"\xff",
            b"[" * 50_000,
        ]
        answer = fed(service, b"\n".join(bad) + b"\n" + edges(RING))
        assert (answer["accepted"], answer["refused"]) == (3, len(bad))
        found = dead(service)
        assert [place for place, *_ in found] == [f"line {number + 1}" for number in range(len(bad))]
        reasons = [reason for *_, reason in found]
        assert reasons[2] == "dst: expected text of at most 1024 characters, found none"
        assert reasons[3] == "src: expected text of at most 1024 characters, found 1"
        assert reasons[4] == "op: expected '+' or '-', found 'x'"
        assert reasons[5].startswith("time: expected a number or a datetime")
        assert reasons[6] == "amount: expected a finite number, found '1'"
        assert service.patterns()[0].alerts == 1


def test_a_record_that_a_monitor_refuses_does_not_take_others_with_it(tmp_path: Path) -> None:
    given = service_in(tmp_path, stream={"vertex_labels": "text"})
    with Service(given) as service:
        assert fed(service, edges(RING[:2], src_label="bank", dst_label="bank"))["accepted"] == 2
        changed = edges([("a", "x")], src_label="shop", dst_label="shop")
        fed(service, edges([("a", "p")], dst_label="shop") + changed + edges(RING[2:]))
        ((place, record, reason),) = dead(service)
        assert place == "record 3"
        assert '"shop"' in record
        assert reason.startswith("monitor main: ")
        assert service.patterns()[0].alerts == 1


def test_a_request_with_the_same_key_changes_nothing(tmp_path: Path) -> None:
    given = service_in(tmp_path)
    with Service(given) as service:
        first = fed(service, edges(RING), key="k")
        assert fed(service, edges(RING), key="k") == first
    with Service(given) as service:
        assert fed(service, edges(RING), key="k") == first
        assert fed(service, edges(RING), key="l")["first"] == 3


def test_late_records_are_clamped_or_refused(tmp_path: Path) -> None:
    for late, refused in (("clamp", 0), ("refuse", 1)):
        folder = tmp_path / late
        folder.mkdir()
        with Service(service_in(folder, stream={"late": late})) as service:
            fed(service, edges(RING[:2], time=100) + edges([("x", "y")], time=99) + edges(RING[2:], time=101))
            assert len(dead(service)) == refused
            assert service.engine.ordering.late == 1
            assert service.patterns()[0].alerts == 1


@pytest.mark.parametrize(
    ("ahead", "hours", "refused"), [("1h", 2, 1), (None, 23, 0), (None, 25, 1), ("off", 25, 0)]
)
def test_times_far_ahead_are_refused(tmp_path: Path, ahead: str | None, hours: int, refused: int) -> None:
    with Service(service_in(tmp_path, stream={} if ahead is None else {"ahead": ahead})) as service:
        fed(service, edges(RING[:1], time=time.time() + hours * 3600) + edges(RING))
        assert [reason[:22] for *_, reason in dead(service)] == ["expected a time until "] * refused
        assert service.engine.ordering.late == (0 if refused else 3)
        assert service.patterns()[0].alerts == 1


@pytest.mark.parametrize("lateness", ["0s", "10s"])
def test_another_default_waits_until_no_records_are_to_be_applied_again(
    tmp_path: Path, lateness: str
) -> None:
    """A kill before an upgrade leaves records that were ordered by the default of before."""
    given = service_in(tmp_path, stream={"ahead": "off", "lateness": lateness, "idle": "1s"})
    future = edges(RING[:1], time=time.time() + 48 * 3600)
    with Service(given) as service:
        fed(service, future)
        killed(service)
    del given["stream"]["ahead"]
    with Service(given) as service:
        assert dead(service) == []
        fed(service, future)
        assert service.wait_until_idle(60.0)
        assert service.engine.monitors["main"].monitor.num_edges == 1
    with Service(given) as service:
        fed(service, future)
        assert len(dead(service)) == 1
    with Service({**given, "stream": {**given["stream"], "ahead": "2d"}}) as service:
        fed(service, edges(RING))
        killed(service)
    with pytest.raises(mf.FormatError, match="expected the settings"):
        Service({**given, "stream": {**given["stream"], "ahead": "1d"}})


def alert_ids(folder: Path) -> list[str]:
    return [json.loads(line)["id"] for line in (folder / "out.jsonl").read_text().splitlines()]


def test_ids_of_alerts_have_the_identity_of_the_log(tmp_path: Path) -> None:
    """So a table of alerts takes those of a log that was begun anew."""
    given = service_in(tmp_path)
    found = []
    for state in ("one", "two"):
        given["service"]["state"] = str(tmp_path / state)
        (tmp_path / "out.jsonl").unlink(missing_ok=True)
        with Service(given) as service:
            fed(service, edges(RING))
        found += alert_ids(tmp_path)
    assert len(set(found)) == 2
    for identity in found:
        assert identity[12:] == "-1-2-1b558bac8e2a1bb8"
    with sqlite3.connect(tmp_path / "out.sqlite") as table:
        assert {one for (one,) in table.execute("SELECT id FROM alerts")} == set(found)
    table.close()


def test_a_log_of_the_first_version_keeps_the_ids_of_its_alerts(tmp_path: Path) -> None:
    given = service_in(tmp_path)
    with Service(given):
        pass
    with sqlite3.connect(tmp_path / "state/log.sqlite") as log:
        log.execute("DELETE FROM meta WHERE key = 'alert_ids'")
        log.execute("UPDATE meta SET value = '1' WHERE key = 'schema'")
    log.close()
    for _ in range(2):
        with Service(given) as service:
            fed(service, edges(RING))
            assert service.store is not None
            assert service.store.meta("schema") == str(VERSION)
    assert alert_ids(tmp_path)[0] == "1-2-1b558bac8e2a1bb8"


def test_a_damaged_checkpoint_is_replaced_by_the_one_before_it(tmp_path: Path) -> None:
    made = transfers(900, accounts=30, seed=5)
    given = service_in(tmp_path)
    for part in range(3):
        with Service(given) as service:
            fed(service, lines(made[300 * part : 300 * (part + 1)]))
    newest, older = sorted((tmp_path / "state").glob("*.mfg"), key=lambda file: -file.stat().st_mtime_ns)
    newest.write_bytes(newest.read_bytes()[:-200])
    with Service(given) as service:
        assert service.engine.replayed == 300
        assert {row.settings.name: (row.positive, row.negative) for row in service.patterns()} == expected(
            made
        )[0]
    newest, older = sorted((tmp_path / "state").glob("*.mfg"), key=lambda file: -file.stat().st_mtime_ns)
    for file in (newest, older):
        file.write_bytes(b"")
    with pytest.raises(mf.FormatError, match=r"\.mfg"):
        Service(given)


def checkpoints(service: Service) -> list[int]:
    """Return the records behind which the log has checkpoints, the latest first."""
    assert service.store is not None
    with service.store.reader() as reader:
        return [number for (number,) in reader.execute("SELECT number FROM checkpoints ORDER BY row DESC")]


@pytest.mark.turns(4)
@pytest.mark.parametrize("attributes", [False, True])
def test_records_are_applied_while_a_checkpoint_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attributes: bool
) -> None:
    made = transfers(900, accounts=30, seed=5)
    given = service_in(tmp_path, log={"checkpoint_updates": 300})
    given["monitors"][0]["attributes"] = attributes
    begun, goes_on = threading.Event(), threading.Event()
    real = Checkpoint.write

    def write(self: Checkpoint, path: Path) -> int:
        begun.set()
        assert goes_on.wait(60)
        return real(self, path)

    monkeypatch.setattr(Checkpoint, "write", write)
    with Service(given) as service:
        fed(service, lines(made[:300]))
        assert begun.wait(60)
        fed(service, lines(made[300:700]))
        assert checkpoints(service) == []
        goes_on.set()
        wait_until(lambda: checkpoints(service)[-1:] == [300], "the checkpoint is named")
        killed(service)
    with Service(given) as service:
        assert service.engine.replayed in (400, 0)  # the second one may have been taken, too
        fed(service, lines(made[700:]))
        counts, matches = expected(made)
        assert {row.settings.name: (row.positive, row.negative) for row in service.patterns()} == counts
    assert set(alerts_in(tmp_path / "out.jsonl")) == matches
    files = list((tmp_path / "state").glob("*.mfg"))
    assert 1 <= len(files) <= 2


@pytest.mark.parametrize("problem", [mf.OutputError, ValueError])
def test_a_checkpoint_that_cannot_be_written_is_told_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: type[Exception]
) -> None:
    given = service_in(tmp_path, log={"checkpoint_updates": 3})
    tried: list[Path] = []

    def write(self: Checkpoint, path: Path) -> int:
        tried.append(path)
        raise problem("no room")

    with Service(given) as service:
        with monkeypatch.context() as patched:
            patched.setattr(Checkpoint, "write", write)
            fed(service, edges(RING))
            wait_until(lambda: service.figures.trouble.get("checkpoint") == "no room", "the fault is told")
            fed(service, edges(RING))
            assert len(tried) == 1  # the next try is later
        monkeypatch.setattr(service.engine._checkpoints, "_not_before", 0)
        wait_until(lambda: checkpoints(service) == [6], "the next one is taken")
        assert "checkpoint" not in service.figures.trouble


def test_graphs_go_on_after_a_restart(tmp_path: Path) -> None:
    made = transfers(600, accounts=30, seed=6)
    given = service_in(tmp_path)
    for begin in range(0, 600, 150):
        with Service(given) as service:
            fed(service, lines(made[begin : begin + 150]))
    counts, matches = expected(made)
    with Service(given) as service:
        assert {row.settings.name: (row.positive, row.negative) for row in service.patterns()} == counts
    assert set(alerts_in(tmp_path / "out.jsonl")) == matches


def test_a_log_of_a_later_version_or_another_file_is_refused(tmp_path: Path) -> None:
    given = service_in(tmp_path)
    with Service(given):
        pass
    path = tmp_path / "state/log.sqlite"
    with sqlite3.connect(path) as log:
        log.execute("UPDATE meta SET value = ? WHERE key = 'schema'", (str(VERSION + 1),))
    with pytest.raises(mf.FormatError, match=f"found version {VERSION + 1} of the log, expected {VERSION}"):
        Service(given)
    for file in (tmp_path / "state").glob("log.sqlite*"):
        file.unlink()
    path.write_bytes(b"no database" * 1000)
    with pytest.raises(mf.FormatError, match="expected a log of motiflux"):
        Service(given)


def test_settings_that_the_state_depends_on_cannot_change(tmp_path: Path) -> None:
    with Service(service_in(tmp_path)):
        pass
    with pytest.raises(mf.FormatError, match=r"expected stream\.ids = 'text', .* found 'integer'"):
        Service(service_in(tmp_path, stream={"ids": "integer"}))
    changed = service_in(tmp_path)
    changed["monitors"] = [{"name": "main", "window": "5s"}]
    with pytest.raises(mf.FormatError, match="expected window = '200s' of the monitor 'main'"):
        Service(changed)


def test_one_process_has_a_folder(tmp_path: Path) -> None:
    with Service(service_in(tmp_path)), pytest.raises(mf.ArgumentError, match="no other process uses"):
        Service(service_in(tmp_path))


def test_a_full_disk_stops_acknowledgements_until_there_is_room(tmp_path: Path) -> None:
    with Service(service_in(tmp_path)) as service:
        fed(service, edges(RING[:1]))
        assert service.store is not None
        log = service.store._connection
        (pages,) = log.execute("PRAGMA page_count").fetchone()
        log.execute(f"PRAGMA max_page_count={pages}")
        answers: list[Any] = []
        taken = service.readers["bank"].lines(edges([(f"v{at}", "w") for at in range(3000)]), str)
        assert service.intake.try_put(Chunk("bank", taken.records, done=answers.append))
        wait_until(lambda: service.committer.trouble is not None, "the log cannot be written")
        assert not service.is_ready
        assert "full" in str(service.committer.trouble)
        assert not answers
        log.execute("PRAGMA max_page_count=1000000")
        wait_until(lambda: bool(answers), "the records are on disk")
        assert service.is_ready
        assert fed(service, edges(RING[1:]))["first"] == 3001
        assert service.patterns()[0].alerts == 1


def test_a_service_stops_while_the_disk_is_full(tmp_path: Path) -> None:
    service = Service(service_in(tmp_path))
    service.start()
    assert service.store is not None
    log = service.store._connection
    log.execute(f"PRAGMA max_page_count={log.execute('PRAGMA page_count').fetchone()[0]}")
    taken = service.readers["bank"].lines(edges([(f"v{at}", "w") for at in range(3000)]), str)
    assert service.intake.try_put(Chunk("bank", taken.records))
    wait_until(lambda: service.committer.trouble is not None, "the log cannot be written")
    with pytest.raises(mf.InternalError, match="the log cannot be written"):
        service.stop()
    with Service(service_in(tmp_path)) as service:
        assert service.engine.number == 0


def test_alerts_do_not_depend_on_how_records_are_divided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = transfers(120, accounts=8, seed=5)
    counts, matches = expected(made)
    monkeypatch.setattr("motiflux.serve.batch._MOST_CHARACTERS", 40)
    given = service_in(tmp_path)
    with Service(given) as service:
        fed(service, lines(made[:60]))
        assert service.wait_until_idle(60.0)
        killed(service)
    with Service(given) as service:
        assert service.engine.replayed == 60
        fed(service, lines(made[60:]))
        assert service.wait_until_idle(60.0)
        rows = service.patterns()
    assert {row.settings.name: (row.positive, row.negative) for row in rows} == counts
    assert set(alerts_in(tmp_path / "out.jsonl")) == matches


@pytest.mark.parametrize("lateness", ["0s", "10s"])
def test_rows_that_release_no_records_are_looked_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lateness: str
) -> None:
    """Moments release none, nor do records that wait for others."""
    given = service_in(tmp_path, stream={"lateness": lateness})
    with Service(given) as service:
        folder = service.settings.state
    store = Store(folder)
    count, record = (1, b'[[1,"a","b",null,0,null,null]]') if lateness == "10s" else (0, b"[]")
    source = "bank" if count else MOMENT
    rows = [LogRow(at * count, count, 0, source, record) for at in range(300)]
    store.write([Group(arrival=0, began=0.0, rows=rows)], {})
    store.close()
    calls = 0

    def counted(batch: Batch) -> int:
        nonlocal calls
        calls += 1
        return len(batch.numbers)

    monkeypatch.setattr(Batch, "__len__", counted)
    with Service(given) as service:
        assert service.engine.replayed == 300 * count
        assert len(service.engine.ordering) == 300 * count
        assert calls < 10 * len(rows)


def test_a_disk_that_is_full_at_the_start_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def on_full_disk(path: Path, **more: Any) -> sqlite3.Connection:
        connection = connect(path, **more)
        connection.execute("PRAGMA max_page_count=1")
        return connection

    said = "expected a folder with room for the log, found an error: database or disk is full"
    with monkeypatch.context() as patched:
        patched.setattr("motiflux.serve.log.store.connect", on_full_disk)
        with pytest.raises(mf.OutputError, match=f"{tmp_path}/state: {said}"):
            Service(service_in(tmp_path))
    with Service(service_in(tmp_path)) as service:
        fed(service, edges(RING))


@pytest.mark.parametrize("what", ["set_meta", "set_sinks", "set_monitors", "write"])
def test_a_disk_that_becomes_full_during_the_start_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    def full(*given: Any) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(Store, what, full)
        with pytest.raises(mf.OutputError, match="expected a folder with room for the log"):
            Service(service_in(tmp_path)).__enter__()
    with Service(service_in(tmp_path)) as service:
        assert fed(service, edges(RING))["first"] == 0


def test_old_records_leave_the_log(tmp_path: Path) -> None:
    given = service_in(tmp_path, log={"checkpoint_updates": 100, "keep_alerts": 3, "keep_dead": 2})
    with Service(given) as service:
        for part in range(5):
            fed(service, lines(transfers(100, accounts=9, seed=part)) + b"{\n")
            wait_until(
                lambda at=part: checkpoints(service)[:1] == [100 * (at + 1)], "the checkpoint is named"
            )  # type: ignore[misc]
        assert service.store is not None

        def rows(table: str) -> int:
            assert service.store is not None
            with service.store.reader() as reader:
                return int(reader.execute(f"SELECT count(*) FROM {table}").fetchone()[0])

        wait_until(lambda: rows("log") == 1 and rows("outbox") == 3 and rows("dead") == 2, "rows are dropped")
        assert rows("checkpoints") == 2
        assert len(list((tmp_path / "state").glob("*.mfg"))) == 2


def test_a_jump_of_the_systems_clock_does_not_move_the_time_of_arrival(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Service(service_in(tmp_path)) as service:
        fed(service, edges(RING[:1]))
        real = time.time_ns
        monkeypatch.setattr(time, "time_ns", lambda: real() - 3600 * 10**9)
        fed(service, edges(RING[1:]))
        assert service.store is not None
        with service.store.reader() as reader:
            first, last = (row for (row,) in reader.execute("SELECT arrival FROM log ORDER BY row"))
        assert first < last < first + 60 * 10**9
        assert -3700 < service.engine.clock.behind < -3500


def test_attributes_in_another_order_are_another_stream(tmp_path: Path) -> None:
    given = service_in(tmp_path, stream={"attributes": {"fee": "float", "amount": "float"}})
    service = Service(given)
    service.start()
    fed(service, edges(RING[:1], fee=1, amount=9))
    killed(service)
    given["stream"]["attributes"] = {"amount": "float", "fee": "float"}
    with pytest.raises(mf.FormatError, match=r"expected stream\.attributes = \{'fee'"):
        Service(given)


def test_a_monitor_that_comes_again_begins_empty(tmp_path: Path) -> None:
    given = service_in(tmp_path)
    both = {**given, "monitors": [*given["monitors"], {"name": "second"}]}
    with Service(both) as service:
        fed(service, edges(RING[:1]))
    service = Service(given)
    service.start()
    fed(service, edges(RING[1:2]))
    killed(service)
    with Service(both) as service:
        edges_of = {name: one.monitor.num_edges for name, one in service.engine.monitors.items()}
        assert edges_of == {"main": 2, "second": 0}


def test_waiting_records_are_released_although_what_comes_is_refused(tmp_path: Path) -> None:
    given = service_in(tmp_path, stream={"lateness": "1h", "idle": "50ms"})
    with Service(given) as service:
        fed(service, edges(RING[:1], time=1))
        time.sleep(0.06)
        fed(service, b"{\n")
        assert len(service.engine.ordering) == 0


def test_a_pattern_that_cannot_be_written_is_told_when_the_service_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = Service(service_in(tmp_path))
    service.start()

    def full(*given: Any) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(service.store, "write", full)
    faults: list[mf.ArgumentError] = []

    def add() -> None:
        with pytest.raises(mf.ArgumentError) as caught:
            service.add_pattern({"name": "pair", "pattern": "(a)-->(b)"})
        faults.append(caught.value)

    adding = threading.Thread(target=add)
    adding.start()
    wait_until(lambda: bool(service.engine._answers), "the pattern waits for the log")
    with pytest.raises(mf.MotifluxError, match="cannot be written"):
        service.stop()
    adding.join(60)
    assert "cannot be written" in str(faults[0])


@pytest.mark.parametrize("late", ["clamp", "refuse"])
def test_late_records_are_counted_whatever_happens_to_them(tmp_path: Path, late: str) -> None:
    with Service(service_in(tmp_path, stream={"late": late})) as service:
        fed(service, edges(RING[:1], time=2) + edges(RING[1:], time=1))
        assert service.figures.late == 2
        assert service.patterns()[0].positive == int(late == "clamp")
