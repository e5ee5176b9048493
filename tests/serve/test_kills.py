"""A service that is killed at any moment finds and delivers what one finds that is never killed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from motiflux.serve.service import Service
from tests.serve.brokers import nats_server, needs_nats
from tests.serve.killing import until_the_end
from tests.serve.test_brokers import matches_in, streams, with_nats
from tests.serve.transfers import Transfer, alerts_in, configuration, expected, lines, transfers
from tests.waiting import wait_until


def finish(service: Service) -> None:
    assert service.wait_until_idle(60.0)


def counts(given: dict[str, Any]) -> dict[str, tuple[int, int, int]]:
    """Return what the log says of each pattern."""
    with sqlite3.connect(Path(given["service"]["state"]) / "log.sqlite") as log:
        rows = log.execute("SELECT name, positive, negative, alerts FROM patterns").fetchall()
    return {name: (int(positive), int(negative), alerts) for name, positive, negative, alerts in rows}


def table_in(file: Path) -> list[str]:
    with sqlite3.connect(file) as table:
        return [
            json.loads(body)["id"] for (body,) in table.execute("SELECT body FROM alerts ORDER BY number")
        ]


def grown(folder: Path, made: list[Transfer], pieces: int) -> Callable[[int], None]:
    """Return what lets the input grow piece by piece; pieces end within lines."""
    data = lines(made)

    def grow(kill: int) -> None:
        (folder / "in.jsonl").touch()
        end = len(data) if kill >= pieces else len(data) * (kill + 1) // (pieces + 1)
        with (folder / "in.jsonl").open("r+b") as file:
            begin = file.seek(0, 2)
            file.write(data[begin:end])

    return grow


def check(folder: Path, given: dict[str, Any], made: list[Transfer]) -> None:
    """Compare counts and alerts with those of one call."""
    known, matches = expected(made)
    found = alerts_in(folder / "out.jsonl")
    assert len(found) == len(set(found))
    assert set(found) == matches
    appeared = {name: sum(match[0] == name for match in matches) for name in known}
    assert counts(given) == {name: (*known[name], appeared[name]) for name in known}
    ids = [json.loads(line)["id"] for line in (folder / "out.jsonl").read_text().splitlines()]
    assert table_in(folder / "out.sqlite") == ids


def often(folder: Path) -> dict[str, Any]:
    """Return a service with small groups and many checkpoints."""
    log = {"commit_size": 40, "checkpoint_updates": 300, "keep_alerts": 0}
    return configuration(folder, log=log)


@pytest.mark.parametrize("seed", [1, 2])
def test_kills_lose_and_repeat_nothing(tmp_path: Path, seed: int) -> None:
    made = transfers(3000, accounts=60, seed=seed)
    given = often(tmp_path)
    killed, _ = until_the_end(
        given, finish, kills=6, longest=0.3, seed=seed, between=grown(tmp_path, made, 4)
    )
    assert killed
    check(tmp_path, given, made)


def test_kills_change_nothing_where_records_wait_for_earlier_ones(tmp_path: Path) -> None:
    made = transfers(1500, accounts=40, seed=3, disorder=50)
    given = often(tmp_path)
    given["stream"] = {"lateness": "100s", "idle": "700ms"}
    (tmp_path / "in.jsonl").write_bytes(lines(made))
    killed, _ = until_the_end(given, finish, kills=4, longest=0.3, seed=3)
    assert killed
    place = {one["time"]: at for at, one in enumerate(made)}
    in_order = sorted(made, key=lambda one: one["time"])
    known, matches = expected(in_order)
    renumbered = {(name, sign, place[at], match) for name, sign, at, match in matches}
    assert set(alerts_in(tmp_path / "out.jsonl")) == renumbered
    assert {name: one[:2] for name, one in counts(given).items()} == known


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_a_thousand_kills_lose_and_repeat_nothing(tmp_path: Path) -> None:
    killed = torn = seed = 0
    while killed < 1000:
        folder = tmp_path / str(seed)
        folder.mkdir()
        made = transfers(12_000, accounts=150, seed=seed)
        given = often(folder)
        between = grown(folder, made, 50)
        more = until_the_end(given, finish, kills=52, longest=0.1, seed=seed, between=between)
        killed, torn, seed = killed + more[0], torn + more[1], seed + 1
        check(folder, given, made)
    print(f"{killed} kills, {torn} torn logs, {seed} services")


@needs_nats
@pytest.mark.long
def test_kills_between_two_streams_lose_and_repeat_nothing(tmp_path: Path) -> None:
    made = transfers(4000, accounts=90, seed=11)
    with nats_server(tmp_path) as server:
        streams(server)
        given = with_nats(tmp_path, server)
        given["log"] = {"commit_size": 40, "checkpoint_updates": 300}
        pieces = [made[at : at + 5] for at in range(0, 4000, 5)]
        published = iter(range(0, len(pieces), 20))

        def publish(kill: int) -> None:
            for at in [next(published, None)] if kill < 30 else list(published):
                if at is not None:
                    server.publish("in.bank", *(lines(piece) for piece in pieces[at : at + 20]))

        def finish_all(service: Service) -> None:
            finish(service)
            sent = server.run(lambda context: context.stream_info("IN")).state.last_seq
            wait_until(lambda: service.engine.number == sent * 5, "all messages are taken")
            finish(service)

        killed, _ = until_the_end(given, finish_all, kills=30, longest=0.6, seed=4, between=publish)
        assert killed
        known, matches = expected(made)
        assert matches_in(server) == matches
        assert {name: one[:2] for name, one in counts(given).items()} == known
