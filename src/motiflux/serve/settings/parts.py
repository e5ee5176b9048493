"""The parts of a configuration: what is in the log, in the stream, and the limits."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from motiflux.errors import ArgumentError
from motiflux.serve.settings.table import Table
from motiflux.stream.window import TIME_UNITS, parse_window

ATTRIBUTE_KINDS = ("integer", "float", "text", "boolean")
COLUMNS = ("op", "src", "dst", "label", "time", "src_label", "dst_label")
"""The parts of an update."""
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}", re.ASCII)
"""Names of sources, monitors, patterns and sinks, which are in addresses and names of metrics."""


def read_name(table: Table, taken: set[str]) -> str:
    """Return the name of a part, which no other part of its kind has."""
    name: str = table.text("name")
    if not NAME.fullmatch(name):
        raise table.fault("name", "a letter, then letters, digits, '_', '.' or '-', at most 64", name)
    if name in taken:
        raise table.fault("name", "a name that no other has", name)
    taken.add(name)
    return name


@dataclass(frozen=True)
class LogSettings:
    """When groups of records are committed, checkpoints taken, and old records dropped.

    Parameters
    ----------
    commit_every, checkpoint_every, keep
        Nanoseconds: the longest that a record waits for others; between two checkpoints; the age that records
        of the log may have.
    commit_size, checkpoint_updates, keep_alerts
        Numbers of records of a group, of updates between two checkpoints, of last alerts for the page.
    keep_bytes, keep_dead
        Bytes of records beyond the older checkpoint that may stay; number of dead letters that stay.
    """

    commit_every: int = 5_000_000
    commit_size: int = 4096
    checkpoint_every: int = 300_000_000_000
    checkpoint_updates: int = 1_000_000
    keep: int = 0
    keep_bytes: int = 2**30
    keep_alerts: int = 1000
    keep_dead: int = 100_000

    @classmethod
    def of(cls, table: Table) -> LogSettings:
        """Read them."""
        made = cls(
            table.duration("commit_every", "5ms"),
            table.integer("commit_size", cls.commit_size, least=1, most=10**6),
            table.duration("checkpoint_every", "5m", least=10**6),
            table.integer("checkpoint_updates", cls.checkpoint_updates, least=1),
            table.duration("keep", "0s"),
            table.size("keep_bytes", "1GiB"),
            table.integer("keep_alerts", cls.keep_alerts, least=0, most=10**6),
            table.integer("keep_dead", cls.keep_dead, least=0),
        )
        table.end()
        return made


@dataclass(frozen=True)
class StreamSettings:
    """What records are.

    Parameters
    ----------
    directed
        Whether edges have a direction.
    ids, labels, vertex_labels
        ``"text"`` or ``"integer"``: what ids, and labels of edges and vertices, are. No labels: None.
    columns
        The name of the column of each part of an update.
    attributes
        Kinds of the attributes of edges by name.
    unit
        Nanoseconds of one unit of times that are numbers.
    lateness, idle
        Nanoseconds: how long records wait for earlier ones, and after which silence of a source the others do
        not wait for it.
    late
        ``"clamp"`` or ``"refuse"``: what happens to records that are late.
    missing_time
        ``"arrival"`` or ``"refuse"``: what happens to records without a time.
    ahead
        Nanoseconds that a time may be after that of arrival; records beyond are refused. None: all are taken.
    sets_ahead
        Whether the configuration says so.
    """

    directed: bool = True
    ids: str = "text"
    labels: str | None = None
    vertex_labels: str | None = None
    columns: dict[str, str] = field(default_factory=lambda: {name: name for name in COLUMNS})
    attributes: dict[str, str] = field(default_factory=dict)
    unit: int = 10**9
    lateness: int = 0
    idle: int = 10_000_000_000
    late: str = "clamp"
    missing_time: str = "arrival"
    ahead: int | None = 86_400 * 10**9
    sets_ahead: bool = False

    @classmethod
    def of(cls, table: Table) -> StreamSettings:
        """Read them."""
        made = cls(
            table.flag("directed", True),
            table.word("ids", ("text", "integer"), "text"),
            table.word("labels", ("text", "integer"), None),
            table.word("vertex_labels", ("text", "integer"), None),
            read_columns(table, {name: name for name in COLUMNS}),
            _attributes(table),
            TIME_UNITS[table.word("time_unit", tuple(TIME_UNITS), "s")],
            table.duration("lateness", "0s"),
            table.duration("idle", "10s"),
            table.word("late", ("clamp", "refuse"), "clamp"),
            table.word("missing_time", ("arrival", "refuse"), "arrival"),
            table.duration("ahead", "1d", without="off"),
            "ahead" in table,
        )
        table.end()
        return made


def read_columns(table: Table, usual: dict[str, str]) -> dict[str, str]:
    """Return the column of each part of an update."""
    named = table.table("columns")
    found = {part: named.text(part, usual[part]) for part in COLUMNS}
    named.end()
    if found["src"] == found["dst"]:
        raise named.fault("dst", "another column than that of src", found["dst"])
    return found


def _attributes(table: Table) -> dict[str, str]:
    inner = table.table("attributes")
    found = {name: inner.word(name, ATTRIBUTE_KINDS) for name in table.mapping("attributes")}
    inner.end()
    return found


@dataclass(frozen=True)
class Limits:
    """Bounds of what comes from the network.

    Parameters
    ----------
    request_bytes, requests_bytes, record_bytes
        Of a request, of all requests that are not answered yet, and of one record.
    queue, queue_bytes
        Records that wait for the engine, and bytes of what they were read from; sources wait where there are
        more.
    patterns, pattern_vertices, pattern_bytes
        Number of patterns, and of searches for those that are matched: one for a pattern, several for a
        query; vertices of one and bytes of its text.
    update_seconds
        What one update may take before a pattern is paused.
    backfill_seconds
        What the count of a new pattern may take, during which records are applied.
    alerts_per_update, alerts_per_second
        Largest `limit` and `rate` of a pattern of the network, and what it has without.
    streams, requests_per_second
        Pages that listen at a time, and changes of patterns per second.
    """

    request_bytes: int = 16 * 2**20
    requests_bytes: int = 64 * 2**20
    record_bytes: int = 65_536
    queue: int = 65_536
    queue_bytes: int = 64 * 2**20
    patterns: int = 64
    pattern_vertices: int = 8
    pattern_bytes: int = 4096
    update_seconds: float = 1.0
    backfill_seconds: float = 10.0
    alerts_per_update: int = 1000
    alerts_per_second: float = 10_000.0
    streams: int = 32
    requests_per_second: float = 5.0

    @classmethod
    def of(cls, table: Table) -> Limits:
        """Read them."""
        made = cls(
            table.size("request_bytes", "16MiB"),
            table.size("requests_bytes", "64MiB"),
            table.size("record_bytes", "64KiB"),
            table.integer("queue", cls.queue, least=1, most=10**7),
            table.size("queue_bytes", "64MiB"),
            table.integer("patterns", cls.patterns, least=1, most=10_000),
            table.integer("pattern_vertices", cls.pattern_vertices, least=2, most=32),
            table.integer("pattern_bytes", cls.pattern_bytes, least=1, most=2**20),
            float(table.number("update_seconds", cls.update_seconds, least=0.001)),
            float(table.number("backfill_seconds", cls.backfill_seconds, least=0.001)),
            table.integer("alerts_per_update", cls.alerts_per_update, least=1, most=10**6),
            float(table.number("alerts_per_second", cls.alerts_per_second, least=0.001)),
            table.integer("streams", cls.streams, least=1, most=10_000),
            float(table.number("requests_per_second", cls.requests_per_second, least=0.001)),
        )
        table.end()
        if made.requests_bytes < made.request_bytes:
            expected = f"at least request_bytes, {made.request_bytes}"
            raise table.fault("requests_bytes", expected, made.requests_bytes)
        return made


@dataclass(frozen=True)
class MonitorSettings:
    """A graph and how patterns are matched in it.

    Parameters
    ----------
    attributes
        Whether edges keep their attributes and times, for conditions and comparisons.
    device
        Where it matches, as for `Monitor`.
    sources
        Names of the sources whose records it takes; None: all.
    graph, graph_times
        The file of the graph that it begins with, and the attribute with the times of its edges. None: it
        begins empty, or its edges have no times and stay in a window.
    """

    name: str = "main"
    window: str | int | None = None
    semantics: str = "isomorphism"
    symmetry: str = "subgraphs"
    duplicates: str = "count"
    attributes: bool = False
    device: str = "cpu"
    sources: tuple[str, ...] | None = None
    graph: Path | None = None
    graph_times: str | None = None

    @classmethod
    def of(cls, table: Table, taken: set[str], sources: set[str], *, attributes: bool) -> MonitorSettings:
        """Read them; `attributes`: whether edges have some."""
        made = cls(
            read_name(table, taken),
            read_window(table),
            table.word("semantics", ("isomorphism", "homomorphism", "induced"), "isomorphism"),
            table.word("symmetry", ("subgraphs", "embeddings"), "subgraphs"),
            table.word("duplicates", ("count", "ignore"), "count"),
            table.flag("attributes", attributes),
            table.text("device", "cpu"),
            table.texts("sources", None),
            table.path("graph", None),
            table.text("graph_times", None),
        )
        if made.graph is None and made.graph_times is not None:
            raise table.fault("graph_times", "graph, whose edges have these times", made.graph_times)
        check_known(table, "sources", made.sources, sources)
        if made.semantics == "homomorphism" and made.symmetry == "subgraphs":
            raise table.fault("symmetry", "'embeddings' beside semantics = 'homomorphism'", made.symmetry)
        if made.attributes and made.duplicates == "ignore":
            raise table.fault("duplicates", "'count' beside attributes = true", made.duplicates)
        table.end()
        return made


def read_window(table: Table) -> str | int | None:
    """Return a window as `Monitor` takes it; None without one."""
    if "window" not in table:
        return None
    found = table.value("window")
    try:
        parse_window(found)
    except ArgumentError:
        raise table.fault("window", 'a duration such as "7d", or a number of edges', found) from None
    return found if isinstance(found, int) else str(found)


def check_known(table: Table, key: str, names: tuple[str, ...] | None, known: set[str]) -> None:
    """Refuse names of parts that the configuration does not have."""
    for name in names or ():
        if name not in known:
            raise table.fault(key, "names out of " + (", ".join(sorted(known)) or "none"), name)


@dataclass(frozen=True)
class PatternSettings:
    """A pattern that is watched.

    Parameters
    ----------
    monitor
        The name of the monitor that matches it.
    on
        ``"appear"``, ``"vanish"`` or ``"both"``: which changes are alerts.
    limit, rate
        Most alerts of one update, and in a second.
    sinks
        Names of the sinks of its alerts; None: all.
    backfill
        Whether the matches that are there are counted when it is added.
    """

    name: str
    pattern: str
    monitor: str
    on: str = "appear"
    limit: int = 1000
    rate: float = 10_000.0
    sinks: tuple[str, ...] | None = None
    backfill: bool = False


@dataclass(frozen=True)
class Listening:
    """Where the service listens.

    Parameters
    ----------
    host, port
        None: it does not listen. Port 0: any that is free.
    token
        What requests have to bring; None: nothing, on this machine only.
    certificate, key
        Files for TLS.
    hosts
        Names in the ``Host`` header that are answered; empty: the usual names of this machine.
    """

    host: str | None = "127.0.0.1"
    port: int = 8765
    token: str | None = field(default=None, repr=False)
    certificate: Path | None = None
    key: Path | None = None
    hosts: tuple[str, ...] = ()
