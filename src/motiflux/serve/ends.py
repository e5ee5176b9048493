"""Makes sources and sinks of their settings; packages are imported by those that need them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from motiflux.packages import require
from motiflux.serve.figures import Figures
from motiflux.serve.intake import Intake
from motiflux.serve.log.store import Store
from motiflux.serve.records import RecordReader
from motiflux.serve.settings.ends import SinkSettings, SourceSettings
from motiflux.serve.sinks.sink import Sink
from motiflux.serve.sources.source import Source

_SOURCES = {
    "file": ("files", "FileSource"),
    "stdin": ("standard_input", "StandardInput"),
    "nats": ("nats", "NatsSource"),
    "kafka": ("kafka", "KafkaSource"),
}
"""Modules and classes by type; records of ``http`` come with requests."""
_SINKS = {
    "jsonl": ("json_lines", "JsonLines"),
    "parquet": ("parquet", "ParquetParts"),
    "sqlite": ("sqlite", "Database"),
    "webhook": ("webhook", "Webhook"),
    "nats": ("nats", "NatsSink"),
    "kafka": ("kafka", "KafkaSink"),
    "postgres": ("postgres", "Postgres"),
}


_PACKAGES = {
    "nats": "nats",
    "kafka": "confluent_kafka",
    "parquet": "pyarrow",
    "postgres": "adbc_driver_postgresql",
}
"""Packages that types need."""


def make_source(
    settings: SourceSettings, reader: RecordReader, intake: Intake, figures: Figures, position: Any
) -> Source | None:
    """Return a source; None for one whose records come with requests."""
    if settings.type not in _SOURCES:
        return None
    _check_package(settings.type, f"source {settings.name}")
    module, name = _SOURCES[settings.type]
    kind: type[Source] = getattr(import_module(f"motiflux.serve.sources.{module}"), name)
    return kind(settings, reader, intake, figures, position)


def make_sink(
    settings: SinkSettings,
    store: Store,
    figures: Figures,
    delivered: int,
    state: Any,
    mark: Callable[[str, int, Any, bool], None],
) -> Sink:
    """Return a sink."""
    _check_package(settings.type, f"sink {settings.name}")
    module, name = _SINKS[settings.type]
    kind: type[Sink] = getattr(import_module(f"motiflux.serve.sinks.{module}"), name)
    return kind(settings, store, figures, delivered, state, mark)


def _check_package(kind: str, who: str) -> None:
    """Refuse an end whose package is missing, before anything begins."""
    if kind in _PACKAGES:
        require(_PACKAGES[kind], who)
