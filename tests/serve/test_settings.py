"""The configuration of a service: values are read, and errors name file, key, found and expected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import motiflux as mf
from motiflux.serve.settings.read import Settings, read_settings

TRANSFERS = """
[service]
name = "transfers"
state = "here/state"
listen = "[::1]:0"

[stream]
labels = "text"
lateness = "2s"
columns = { src = "payer", dst = "payee", label = "kind", time = "when" }
attributes = { amount = "float" }

[log]
commit_every = "2ms"
keep_bytes = "64MiB"

[[sources]]
name = "bank"
type = "file"
path = "transfers.jsonl"
columns = { src = "from" }

[[sources]]
name = "wires"
type = "nats"
stream = "WIRES"
subject = "wires.>"

[[monitors]]
name = "week"
window = "7d"

[[monitors]]
name = "day"
window = "1d"
sources = ["bank"]

[[patterns]]
name = "ring"
pattern = "(a)-->(b)-->(c)-->(a)"
window = "1d"
sinks = ["alerts"]
limit = 5

[[sinks]]
name = "alerts"
type = "jsonl"
path = "alerts.jsonl"
"""


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    file = tmp_path / "service.toml"
    file.write_text(TRANSFERS)
    settings = read_settings(file)
    assert (settings.name, settings.state) == ("transfers", tmp_path / "here/state")
    assert (settings.listening.host, settings.listening.port) == ("::1", 0)
    assert (settings.stream.lateness, settings.log.commit_every) == (2 * 10**9, 2 * 10**6)
    assert settings.log.keep_bytes == 64 * 2**20
    bank, wires = settings.sources
    assert (bank.columns["src"], bank.columns["dst"]) == ("from", "payee")
    assert (wires.columns["src"], wires.options["stream"]) == ("payer", "WIRES")
    assert bank.options["path"] == tmp_path / "transfers.jsonl"
    assert [(one.name, one.sources) for one in settings.monitors] == [("week", None), ("day", ("bank",))]
    (ring,) = settings.patterns
    assert (ring.monitor, ring.limit, ring.sinks) == ("day", 5, ("alerts",))


def test_a_configuration_without_anything_listens_here_only() -> None:
    settings = read_settings({})
    assert settings.listening.host == "127.0.0.1"
    assert [one.name for one in settings.monitors] == ["main"]


RING = {"name": "ring", "pattern": "(a)-->(b)-->(a)"}
HOOK = {"name": "hook", "type": "webhook", "url": "https://example.org/a"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"services": {}}, "services: expected 'service' as the key, found 'services'"),
        (
            {"log": {"commit_every": 5}},
            'log.commit_every: expected a duration such as "5ms" or',
        ),
        ({"log": {"commit_size": 0}}, "log.commit_size: expected an integer from 1 to 1000000, found 0"),
        ({"log": {"keep_bytes": "much"}}, "log.keep_bytes: expected bytes, or a size"),
        ({"stream": {"late": "drop"}}, "stream.late: expected one of clamp, refuse, found 'drop'"),
        ({"stream": {"attributes": {"a": "money"}}}, "stream.attributes.a: expected one of integer, float"),
        ({"stream": {"columns": {"src": "a", "dst": "a"}}}, "stream.columns.dst: expected another column"),
        ({"sources": [{"name": "a b", "type": "stdin"}]}, "sources[0].name: expected a letter, then"),
        ({"sources": [{"name": "a", "type": "tape"}]}, "sources[0].type: expected one of file, stdin, http"),
        (
            {"sources": [{"name": "a", "type": "file"}]},
            "sources[0].path: expected the name of a file",
        ),
        ({"sources": 3}, "sources: expected tables, each under [[sources]], found 3"),
        ({"monitors": [{"name": "a", "window": "7 apples"}]}, "monitors[0].window: expected a duration"),
        ({"monitors": [{"name": "a", "sources": ["b"]}]}, "monitors[0].sources: expected names out of none"),
        ({"patterns": [{**RING, "pattern": "(a)--"}]}, "patterns[0]: line 1, column"),
        ({"patterns": [RING, RING]}, "patterns[1].name: expected a name that no other has, found 'ring'"),
        ({"patterns": [{**RING, "window": "3d"}]}, "patterns[0].window: expected that of the monitor"),
        (
            {"patterns": [{**RING, "sinks": ["s"]}]},
            "patterns[0].sinks: expected names out of none",
        ),
        ({"patterns": [{**RING, "limit": 10**6}]}, "patterns[0].limit: expected an integer from 0 to 1000"),
        (
            {"sinks": [{**HOOK, "hosts": ["example.com"]}]},
            "sinks[0].hosts: expected a list with the host",
        ),
        (
            {"sinks": [{**HOOK, "hosts": [], "url": "file:///etc/passwd"}]},
            "sinks[0].url: expected an address that begins with http:// or https://",
        ),
        (
            {"sinks": [{"name": at, "type": "jsonl", "path": f"{at}/../alerts"} for at in "ab"]},
            "sinks[1].path: expected a place of its own; 'a' writes there, found",
        ),
        ({"service": {"listen": "0.0.0.0:80"}}, "service.token_file: expected a file with a token"),
        ({"service": {"listen": "here"}}, 'service.listen: expected "HOST:PORT", or "off", found \'here\''),
        ({"service": {"certificate": "a.pem"}}, "service.key: expected both certificate and key"),
    ],
)
def test_errors_name_the_key_and_what_was_expected(given: dict[str, Any], message: str) -> None:
    with pytest.raises(mf.FormatError) as raised:
        read_settings(given)
    assert str(raised.value).startswith(f"configuration: {message}")


def test_errors_name_the_file(tmp_path: Path) -> None:
    file = tmp_path / "service.toml"
    with pytest.raises(mf.FormatError, match=r"service\.toml: cannot be read: No such file"):
        read_settings(file)
    file.write_text("[log\n")
    with pytest.raises(mf.FormatError, match=r"service\.toml: expected TOML, found an error: .*line 1"):
        read_settings(file)


def listening(tmp_path: Path, token: str) -> Settings:
    (tmp_path / "token").write_text(token)
    return read_settings({"service": {"listen": "0.0.0.0:0", "token_file": str(tmp_path / "token")}})


def test_elsewhere_a_token_is_needed_that_is_long_enough(tmp_path: Path) -> None:
    settings = listening(tmp_path, "0123456789abcdef\n")
    assert settings.listening.token == "0123456789abcdef"
    assert "0123456789abcdef" not in repr(settings)
    with pytest.raises(mf.FormatError, match="token_file: expected a token of at least 16") as raised:
        listening(tmp_path, "secret")
    assert "secret" not in str(raised.value)
