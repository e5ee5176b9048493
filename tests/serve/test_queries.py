"""Queries in a service: optional edges, paths of several lengths, OR, and negated edges."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import motiflux as mf
from motiflux.serve.service import Service
from tests.serve.requests import ask
from tests.serve.test_durability import RING, edges, fed, killed, service_in
from tests.serve.test_web import listening
from tests.serve.transfers import lines, transfers

QUERIES = {
    "optional": "(a)-->(b)-->(c) OPTIONAL (c)-->(a)",
    "longer": "(a)-->(b) OPTIONAL (b)-->(c)",
    "paths": "(a)-[*2..3]->(a)",
    "either": "(a)-[x]->(b)-[y]->(c) WHERE x.amount > 5 OR y.amount > 5",
    "negated": "(a)-->(b)-->(c), NOT (c)-->(a)",
}


def with_queries(folder: Path, **more: Any) -> dict[str, Any]:
    given = service_in(folder, stream={"attributes": {"amount": "float"}}, **more)
    given["monitors"] = [{"name": "main", "attributes": True}]
    given["patterns"] = [
        {"name": name, "pattern": text, "on": "both", "backfill": True} for name, text in QUERIES.items()
    ]
    return given


def counted(service: Service) -> dict[str, int]:
    """Return how many matches of each query are in the graph, by a count."""
    monitor = service.engine.monitors["main"]
    graph = service.intake.call(monitor.snapshot).result()
    return {name: int(mf.count(graph, text, symmetry="subgraphs")) for name, text in QUERIES.items()}


def alerts_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]


SEEDS = [pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 30)]


@pytest.mark.parametrize("seed", [pytest.param(0, marks=pytest.mark.turns(4)), *SEEDS])
def test_matches_of_queries_come_and_go_as_they_are_counted(tmp_path: Path, seed: int) -> None:
    given = with_queries(tmp_path)
    made = transfers(240, accounts=9, seed=seed)
    for at, one in enumerate(made):
        if one["op"] == "+":
            one["amount"] = float(at * 7 % 11)
    for at in range(0, len(made), 60):
        with Service(given) as service:
            fed(service, lines(made[at : at + 60]))
            assert service.wait_until_idle(60.0)
            rows = {row.settings.name: row for row in service.patterns()}
            assert {name: row.present for name, row in rows.items()} == counted(service)
            if at == 60:
                killed(service)
    signs = {name: Counter[int]() for name in QUERIES}
    found = alerts_of(tmp_path)
    for one in found:
        signs[one["pattern"]][one["sign"]] += 1
        assert ("part" in one) == isinstance(mf.pattern.as_query(QUERIES[one["pattern"]]), mf.Query)
    assert {name: (row.positive, row.negative) for name, row in rows.items()} == {
        name: (one[1], one[-1]) for name, one in signs.items()
    }
    assert len({one["id"] for one in found}) == len(found)


def test_a_query_is_added_by_a_request_and_its_alerts_have_pictures(tmp_path: Path) -> None:
    given = listening(tmp_path, stream={"attributes": {"amount": "float"}})
    given["patterns"] = []
    with Service(given) as service:
        fed(service, edges(RING[:1]))
        for name, text in QUERIES.items():
            body = json.dumps({"name": name, "pattern": text, "backfill": True}).encode()
            code, answer, _ = ask(service, "POST", "/patterns", body, Content_Type="application/json")
            assert code == 201, answer
        fed(service, edges(RING[1:], amount=6.0))
        assert service.wait_until_idle(60.0)
        assert {row.settings.name: row.present for row in service.patterns()} == counted(service)
        _, answer, _ = ask(service, "GET", "/alerts")
        assert {one["pattern"] for one in answer["alerts"]} == set(QUERIES)
        for one in answer["alerts"]:
            for query in ("", "?around=1"):
                code, picture, _ = ask(service, "GET", f"/alerts/{one['alert']}/picture{query}")
                assert (code, b"<svg" in picture) in ((200, True), (409, False)), picture
        for name in QUERIES:
            code, picture, _ = ask(service, "GET", f"/patterns/{name}/picture")
            assert (code, b"<svg" in picture) == (200, True)
        code, answer, _ = ask(
            service,
            "POST",
            "/patterns",
            json.dumps({"name": "busy", "pattern": "(a)-[*1..2]->(b) WHERE degree(a) > 3"}).encode(),
            Content_Type="application/json",
        )
        assert code == 400
        assert "no conditions on degrees" in answer["error"]
        assert service.drop_pattern("paths").state == "dropped"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(a)-[*1..9]->(b)", "at most 8 vertices, found 10"),
        ("(a)-[*1..5]->(b)-[*1..5]->(c)-[*1..3]->(d)", "a query that stands for at most 64 patterns"),
        ("(a)-[*1..2", "expected"),
    ],
)
def test_queries_that_are_too_large_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with Service(service_in(tmp_path)) as service, pytest.raises(mf.FormatError, match=message):
        service.add_pattern({"name": "query", "pattern": text})


CASES = (
    "(a)-[x]->(b)-[y]->(c)-[z]->(d) WHERE x.amount > 5 AND y.amount > 5 AND z.amount > 5 "
    "OR x.amount > 6 AND y.amount > 4 AND z.amount > 3"
)
"""A query of 3 patterns by its text, which is matched as 4: no two of these have the same match."""


def test_limits_hold_for_the_searches_of_all_queries_together(tmp_path: Path) -> None:
    given = with_queries(tmp_path, limits={"patterns": 8})
    given["patterns"] = [{"name": "cases", "pattern": CASES}]
    with Service(given) as service:
        service.add_pattern({"name": "paths", "pattern": "(a)-[*1..3]->(b)"})
        message = r"searches .*at most 1, which are left of 8 \(limits.patterns\), found 2"
        with pytest.raises(mf.ArgumentError, match=message):
            service.add_pattern({"name": "more", "pattern": "(x)-[*1..2]->(y)", "backfill": True})
        service.add_pattern({"name": "one", "pattern": "(x)-->(y)-->(z)"})
        service.pause_pattern("paths")
        service.add_pattern({"name": "more", "pattern": "(x)-[*1..2]->(y)"})
        with pytest.raises(mf.ArgumentError, match=r"at most 1, .* found 3"):
            service.resume_pattern("paths")
        service.drop_pattern("more")
        assert service.resume_pattern("paths").state == "active"
    given["limits"] = {"patterns": 5}
    with Service(given) as service:
        rows = {row.settings.name: (row.state, row.reason) for row in service.patterns()}
    assert rows["cases"] == rows["one"] == ("active", "")
    assert rows["paths"][0] == "paused"
    assert "expected at most 1, " in rows["paths"][1]


def test_a_lower_limit_pauses_patterns_of_the_network_first(tmp_path: Path) -> None:
    given = with_queries(tmp_path, limits={"patterns": 8})
    given["patterns"] = []
    with Service(given) as service:
        service.add_pattern({"name": "paths", "pattern": "(a)-[*1..3]->(b)"})
    given["patterns"] = [{"name": "cases", "pattern": CASES}]
    with Service(given):
        pass
    given["limits"] = {"patterns": 4}
    with Service(given) as service:
        states = {row.settings.name: row.state for row in service.patterns()}
    assert states == {"paths": "paused", "cases": "active"}


def test_a_configuration_that_needs_too_many_searches_is_refused(tmp_path: Path) -> None:
    given = with_queries(tmp_path, limits={"patterns": 6})
    given["patterns"] = [
        {"name": "cases", "pattern": CASES},
        {"name": "paths", "pattern": "(a)-[*1..3]->(b)"},
    ]
    with pytest.raises(mf.ArgumentError, match=r"patterns, paths: .*searches.* at most 2, .* found 3"):
        Service(given).__enter__()


def test_a_limit_holds_for_all_patterns_of_a_query_together(tmp_path: Path) -> None:
    given = service_in(tmp_path)
    given["patterns"] = [{"name": "paths", "pattern": "(a)-[*1..2]->(b)", "limit": 2}]
    with Service(given) as service:
        fed(service, edges([("h", f"x{at}") for at in range(5)] + [("a", "h")]))
        assert service.wait_until_idle(60.0)
        (row,) = service.patterns()
        assert (row.positive, row.alerts, row.suppressed) == (11, 7, 4)
