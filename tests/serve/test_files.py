"""Files and standard input as sources; files, parts and databases as sinks."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

import motiflux as mf
from motiflux.serve.service import Service
from tests.serve.test_durability import RING, edges, fed, service_in
from tests.serve.transfers import alerts_in, configuration
from tests.waiting import wait_until

MORE = [("c", "x"), ("x", "b")]


def took(service: Service, records: int) -> None:
    wait_until(lambda: service.engine.number == records, f"{records} records are taken")
    assert service.wait_until_idle(60.0)


def test_a_file_that_grows_is_read_line_by_line_whatever_its_name(tmp_path: Path) -> None:
    given, file = configuration(tmp_path), tmp_path / "in.jsonl"
    with Service(given) as service:
        file.write_bytes(edges(RING[:2]) + b'{"src": "c", "dst"')
        took(service, 2)
        with file.open("ab") as more:
            more.write(b': "a"}\n')
        took(service, 3)
        file.rename(tmp_path / "old.jsonl")
        with (tmp_path / "old.jsonl").open("ab") as more:
            more.write(edges(MORE[:1]))
        file.write_bytes(edges(MORE[1:]))
        took(service, 5)
    with Service(given) as service:
        took(service, 5)
        assert [row.positive for row in service.patterns()] == [2, 0]
    file.write_bytes(edges([("n", "m")]))
    with Service(given) as service:
        took(service, 6)


def test_an_unfinished_line_of_a_file_that_was_replaced_is_taken(tmp_path: Path) -> None:
    given, file = configuration(tmp_path), tmp_path / "in.jsonl"
    with Service(given) as service:
        file.write_bytes(edges(RING)[:-1])
        took(service, 2)
        file.rename(tmp_path / "old.jsonl")
        file.write_bytes(edges(MORE))
        took(service, 5)
        assert service.patterns()[0].positive == 2


def test_standard_input_is_read_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = configuration(tmp_path)
    given["sources"] = [{"name": "bank", "type": "stdin"}]
    reading, writing = os.pipe()
    with os.fdopen(reading) as pipe, monkeypatch.context() as patched:
        patched.setattr(sys, "stdin", pipe)
        with Service(given) as service:
            os.write(writing, edges(RING)[:-9])
            took(service, 2)
            os.write(writing, edges(RING)[-9:-1])  # the last line has no end
            os.close(writing)
            wait_until(lambda: service.sources[0].has_ended, "standard input has ended")
            took(service, 3)
            assert service.patterns()[0].positive == 1


def test_a_file_of_alerts_that_is_moved_away_is_begun_anew(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    with Service(service_in(tmp_path)) as service:
        fed(service, edges(RING))
        assert service.wait_until_idle(60.0)
        out.rename(tmp_path / "old.jsonl")
        fed(service, edges(MORE))
        assert service.wait_until_idle(60.0)
    assert [len(alerts_in(file)) for file in (tmp_path / "old.jsonl", out)] == [1, 1]


def test_a_file_of_alerts_that_is_emptied_is_begun_anew(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    with Service(service_in(tmp_path)) as service:
        fed(service, edges(RING))
        assert service.wait_until_idle(60.0)
        out.write_bytes(b"")
        fed(service, edges(MORE))
        assert service.wait_until_idle(60.0)
    assert len(alerts_in(out)) == 1


def test_alerts_behind_the_position_are_cut_off_the_file(tmp_path: Path) -> None:
    given, out = service_in(tmp_path), tmp_path / "out.jsonl"
    with Service(given) as service:
        fed(service, edges(RING))
    with out.open("a") as file:
        file.write('{"half": ')
    with Service(given) as service:
        fed(service, edges(MORE))
    assert [number for _, _, number, _ in alerts_in(out)] == [2, 4]


def parts_in(folder: Path) -> dict[str, list[str]]:
    """Return the matches of each part."""
    return {
        file.name: [json.loads(one)["a"] for one in pyarrow.parquet.read_table(file)["match"].to_pylist()]
        for file in sorted(folder.iterdir())
    }


def test_parts_are_written_when_they_are_full_and_at_the_end(tmp_path: Path) -> None:
    given = service_in(tmp_path)
    given["patterns"] = [{"name": "edge", "pattern": "(a)-->(b)"}]
    given["sinks"] = [{"name": "parts", "type": "parquet", "folder": str(tmp_path / "parts"), "rows": 4}]
    with Service(given) as service:
        fed(service, edges([(f"v{at}", "w") for at in range(6)]))
    known = {
        "part-0000000000000001.parquet": ["v0", "v1", "v2", "v3"],
        "part-0000000000000005.parquet": ["v4", "v5"],
    }
    assert parts_in(tmp_path / "parts") == known
    (tmp_path / "parts/part-0000000000000007.parquet").write_bytes(b"not counted as delivered")
    with Service(given) as service:
        fed(service, edges([("v6", "w")]))
    assert parts_in(tmp_path / "parts") == known | {"part-0000000000000007.parquet": ["v6"]}
    table = pyarrow.parquet.read_table(tmp_path / "parts/part-0000000000000007.parquet")
    assert (str(table.schema.field("time").type), table["number"][0].as_py()) == ("timestamp[ns, tz=UTC]", 6)


def test_parts_of_another_log_are_neither_removed_nor_replaced(tmp_path: Path) -> None:
    given = service_in(tmp_path)
    given["sinks"] = [{"name": "parts", "type": "parquet", "folder": str(tmp_path / "parts"), "wait": "2ms"}]
    with Service(given) as service:
        fed(service, edges(RING))
    known = parts_in(tmp_path / "parts")
    assert len(known) == 1
    given["service"]["state"] = str(tmp_path / "new")
    with Service(given) as service:
        fed(service, edges(RING))
        wait_until(lambda: "sink parts" in service.figures.trouble, "the folder is refused")
        assert "expected no parts of another log" in service.figures.trouble["sink parts"]
    assert parts_in(tmp_path / "parts") == known


def test_a_sink_that_is_down_keeps_no_other_and_gets_all_alerts(tmp_path: Path) -> None:
    given = service_in(tmp_path)
    blocked = tmp_path / "blocked"
    blocked.write_text("no folder")
    given["sinks"][1]["path"] = str(blocked / "out.sqlite")
    with Service(given) as service:
        fed(service, edges(RING))
        wait_until(lambda: alerts_in(tmp_path / "out.jsonl"), "the other sink has the alert")
        assert service.figures.trouble["sink table"].startswith("FileExistsError")
        assert service.sinks[1].lag == 1
        blocked.unlink()
        assert service.wait_until_idle(60.0)
        assert service.figures.trouble == {}


def test_a_pattern_has_sinks_of_its_own(tmp_path: Path) -> None:
    given = service_in(tmp_path)
    given["patterns"] = [
        {"name": "edge", "pattern": "(a)-->(b)", "sinks": ["table"]},
        {"name": "ring", "pattern": "(a)-->(b)-->(c)-->(a)", "sinks": ["lines"]},
    ]
    with Service(given) as service:
        fed(service, edges(RING))
    assert [one[0] for one in alerts_in(tmp_path / "out.jsonl")] == ["ring"]


@pytest.mark.parametrize(("kind", "package"), [("kafka", "confluent_kafka"), ("nats", "nats")])
def test_a_missing_package_is_named_before_anything_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, package: str
) -> None:
    given: dict[str, Any] = service_in(tmp_path)
    given["sinks"] = [{"name": "out", "type": kind, "topic" if kind == "kafka" else "subject": "a"}]
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(mf.MotifluxError, match=rf"sink out: this takes the package {package}; .*'serve'"):
        Service(given)


def names(rows: Sequence[Any]) -> list[str]:
    return [row.settings.name for row in rows]
