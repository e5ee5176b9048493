"""Sources and sinks of a configuration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from motiflux.serve.settings.parts import NAME, read_columns, read_name
from motiflux.serve.settings.table import Table

SOURCES = ("file", "stdin", "http", "nats", "kafka")
SINKS = ("jsonl", "parquet", "sqlite", "webhook", "nats", "kafka", "postgres")
FORMATS = ("json", "arrow")


@dataclass(frozen=True)
class SourceSettings:
    """A source.

    Parameters
    ----------
    type
        One of `SOURCES`.
    columns
        The name of the column of each part of an update.
    options
        By type: ``path`` and ``poll`` of a file; ``url``, ``stream``, ``subject`` and ``credentials`` of
        NATS; ``topic``, ``servers`` and ``settings`` of Kafka.
    """

    name: str
    type: str
    columns: dict[str, str]
    options: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, table: Table, taken: set[str], usual: dict[str, str]) -> SourceSettings:
        """Read them."""
        name = read_name(table, taken)
        kind = table.word("type", SOURCES)
        columns = read_columns(table, usual)
        options = _SOURCE_OPTIONS[kind](table)
        table.end()
        return cls(name, kind, columns, options)


@dataclass(frozen=True)
class SinkSettings:
    """A sink.

    Parameters
    ----------
    type
        One of `SINKS`.
    batch
        Most alerts that are delivered together.
    options
        By type, as for sources.
    """

    name: str
    type: str
    batch: int = 1000
    options: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, table: Table, taken: set[str]) -> SinkSettings:
        """Read them."""
        name = read_name(table, taken)
        kind = table.word("type", SINKS)
        batch = table.integer("batch", cls.batch, least=1, most=100_000)
        options = _SINK_OPTIONS[kind](table)
        table.end()
        return cls(name, kind, batch, options)


def _file(table: Table) -> dict[str, Any]:
    return {"path": table.path("path"), "poll": table.duration("poll", "100ms", least=10**6)}


def _nothing(table: Table) -> dict[str, Any]:
    return {}


def _nats(table: Table) -> dict[str, Any]:
    return {
        "url": _url(table, "nats://127.0.0.1:4222", ("nats", "tls")),
        "subject": table.text("subject"),
        "credentials": table.path("credentials", None),
    }


def _nats_source(table: Table) -> dict[str, Any]:
    found = _nats(table) | {"stream": table.text("stream"), "format": table.word("format", FORMATS, "json")}
    found["begin"] = table.word("begin", ("first", "new"), "first")
    return found


def _kafka(table: Table) -> dict[str, Any]:
    settings = table.mapping("settings")
    for key, value in settings.items():
        if not isinstance(value, (str, int, float, bool)):
            raise table.fault(f"settings.{key}", "text, a number, true or false", value)
    servers, topic = table.text("servers", "127.0.0.1:9092"), table.text("topic")
    return {"servers": servers, "topic": topic, "settings": settings}


def _kafka_source(table: Table) -> dict[str, Any]:
    found = _kafka(table) | {"format": table.word("format", FORMATS, "json")}
    found["begin"] = table.word("begin", ("first", "new"), "first")
    return found


def _kafka_sink(table: Table) -> dict[str, Any]:
    return _kafka(table) | {"transactions": table.flag("transactions", False)}


def _path(table: Table) -> dict[str, Any]:
    return {"path": table.path("path")}


def _parquet(table: Table) -> dict[str, Any]:
    return {
        "folder": table.path("folder"),
        "rows": table.integer("rows", 100_000, least=1, most=10**7),
        "wait": table.duration("wait", "60s"),
    }


def _webhook(table: Table) -> dict[str, Any]:
    url = _url(table, None, ("http", "https"))
    host = urlsplit(url).hostname
    hosts = table.texts("hosts")
    if host not in hosts:
        raise table.fault("hosts", f"a list with the host of url, {host!r}", list(hosts))
    private = table.flag("private", False)
    seconds = table.duration("timeout", "10s", least=10**6) / 1e9
    return {"url": url, "private": private, "timeout": seconds, "token_file": table.path("token_file", None)}


def _postgres(table: Table) -> dict[str, Any]:
    name: str = table.text("table", "alerts")
    if not NAME.fullmatch(name):
        raise table.fault("table", "a letter, then letters, digits, '_', '.' or '-', at most 64", name)
    return {"uri_file": table.path("uri_file"), "table": name}


def _url(table: Table, default: str | None, schemes: tuple[str, ...]) -> str:
    expected = "an address that begins with " + " or ".join(f"{one}://" for one in schemes)
    found: str = table.text("url", expected=expected) if default is None else table.text("url", default)
    try:
        parts = urlsplit(found)
        well_formed = parts.scheme in schemes and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        well_formed = False
    if not well_formed:
        raise table.fault("url", expected, found)
    if parts.password is not None:
        raise table.fault("url", "an address without a password, which belongs in a file", "a password")
    return found


_SOURCE_OPTIONS: dict[str, Callable[[Table], dict[str, Any]]] = {
    "file": _file,
    "stdin": _nothing,
    "http": _nothing,
    "nats": _nats_source,
    "kafka": _kafka_source,
}
_SINK_OPTIONS: dict[str, Callable[[Table], dict[str, Any]]] = {
    "jsonl": _path,
    "parquet": _parquet,
    "sqlite": _path,
    "webhook": _webhook,
    "nats": _nats,
    "kafka": _kafka_sink,
    "postgres": _postgres,
}


def folder_of(path: Path) -> Path:
    """Return the folder where relative names of a configuration begin."""
    return path.resolve().parent
