"""Reads the configuration of a service."""

from __future__ import annotations

import ipaddress
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from motiflux.errors import FormatError, PatternError
from motiflux.pattern import Pattern, as_query
from motiflux.serve.settings.ends import SinkSettings, SourceSettings, folder_of
from motiflux.serve.settings.parts import (
    Limits,
    Listening,
    LogSettings,
    MonitorSettings,
    PatternSettings,
    StreamSettings,
    check_known,
    read_name,
    read_window,
)
from motiflux.serve.settings.table import Table

_SHORTEST_TOKEN = 16


@dataclass(frozen=True)
class Settings:
    """The configuration of a service, checked.

    Parameters
    ----------
    name
        What the page calls it.
    state
        The folder of the log and of checkpoints.
    """

    name: str
    state: Path
    listening: Listening
    stream: StreamSettings
    log: LogSettings
    limits: Limits
    sources: tuple[SourceSettings, ...]
    monitors: tuple[MonitorSettings, ...]
    patterns: tuple[PatternSettings, ...]
    sinks: tuple[SinkSettings, ...]

    def monitor(self, name: str) -> MonitorSettings:
        """Return the settings of a monitor."""
        return next(one for one in self.monitors if one.name == name)


def read_settings(given: str | os.PathLike[str] | Mapping[str, Any]) -> Settings:
    """Return the configuration of a TOML file, or of a mapping with its content.

    Raises
    ------
    FormatError
        The file cannot be read, or a value is invalid: names the file, the key, what was found and expected.
    """
    if isinstance(given, Mapping):
        return _settings(Table(Path("configuration"), "", given, Path.cwd()))
    path = Path(given)
    try:
        values = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise FormatError(path, f"cannot be read: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FormatError(path, f"expected TOML, found an error: {error}") from None
    return _settings(Table(path, "", values, folder_of(path)))


def _settings(table: Table) -> Settings:
    service = table.table("service")
    name = service.text("name", "motiflux")
    state = service.path("state", table.folder / "state")
    listening = _listening(service)
    service.end()
    stream = StreamSettings.of(table.table("stream"))
    log, limits = LogSettings.of(table.table("log")), Limits.of(table.table("limits"))
    names: set[str] = set()
    sources = tuple(SourceSettings.of(one, names, stream.columns) for one in table.tables("sources"))
    inputs = [at for at, one in enumerate(sources) if one.type == "stdin"]
    if len(inputs) > 1:
        raise table.fault(f"sources[{inputs[1]}].type", "standard input once", "stdin")
    taken: set[str] = set()
    keeps = bool(stream.attributes)
    given = table.tables("monitors") or [Table(table.file, "monitors[0]", {"name": "main"}, table.folder)]
    monitors = tuple(MonitorSettings.of(one, taken, names, attributes=keeps) for one in given)
    receivers: set[str] = set()
    sinks = tuple(SinkSettings.of(one, receivers) for one in table.tables("sinks"))
    _check_places(table, sinks)
    known: set[str] = set()
    patterns = tuple(
        read_pattern(one, known, monitors, receivers, limits) for one in table.tables("patterns")
    )
    if len(patterns) > limits.patterns:
        raise table.fault("patterns", f"at most {limits.patterns}, limits.patterns", len(patterns))
    table.end()
    return Settings(name, state, listening, stream, log, limits, sources, monitors, patterns, sinks)


def _check_places(table: Table, sinks: Sequence[SinkSettings]) -> None:
    """Check that no two sinks write to one place."""
    places: dict[Path, str] = {}
    for at, one in enumerate(sinks):
        for key in ("path", "folder"):
            if key in one.options:
                place = one.options[key].resolve()
                if place in places:
                    expected = f"a place of its own; {places[place]!r} writes there"
                    raise table.fault(f"sinks[{at}].{key}", expected, str(place))
                places[place] = one.name


def read_pattern(
    table: Table,
    taken: set[str],
    monitors: tuple[MonitorSettings, ...],
    sinks: set[str],
    limits: Limits,
) -> PatternSettings:
    """Return a pattern of the configuration, or of a request.

    Parameters
    ----------
    taken
        Names of other patterns.
    monitors
        One of which matches it: that named by ``monitor``, or that with the window ``window``, or the first.
    """
    name = read_name(table, taken)
    text: str = table.text("pattern")
    if len(text.encode("utf-8", "surrogatepass")) > limits.pattern_bytes:
        raise table.fault("pattern", f"at most {limits.pattern_bytes} bytes", text)
    try:
        wanted = as_query(text)
    except PatternError as error:
        raise FormatError(table.file, f"{table.key or 'pattern'}: {error}") from None
    patterns = (wanted,) if isinstance(wanted, Pattern) else wanted.patterns
    if len(patterns) > limits.patterns:
        expected = f"a query that stands for at most {limits.patterns} patterns, limits.patterns"
        raise table.fault("pattern", expected, len(patterns))
    names = [vertex.name or "" for pattern in patterns for vertex in pattern.vertices]
    names += [edge.name or "" for pattern in patterns for edge in pattern.edges]
    if not _is_unicode("".join([text, *names])):
        raise table.fault("pattern", "text that UTF-8 has", text)
    most = max(len(pattern.vertices) for pattern in patterns)
    if most > limits.pattern_vertices:
        raise table.fault("pattern", f"at most {limits.pattern_vertices} vertices", most)
    made = PatternSettings(
        name,
        text,
        _monitor_of(table, monitors),
        table.word("on", ("appear", "vanish", "both"), "appear"),
        table.integer("limit", limits.alerts_per_update, least=0, most=limits.alerts_per_update),
        float(table.number("rate", limits.alerts_per_second, least=0)),
        table.texts("sinks", None),
        table.flag("backfill", False),
    )
    if made.rate > limits.alerts_per_second:
        raise table.fault("rate", f"at most {limits.alerts_per_second:g}", made.rate)
    check_known(table, "sinks", made.sinks, sinks)
    table.end()
    return made


def _is_unicode(text: str) -> bool:
    """Return whether neither the log nor an answer would fail to write a text: escapes can make halves."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _monitor_of(table: Table, monitors: tuple[MonitorSettings, ...]) -> str:
    window = read_window(table)
    named: str | None = table.word("monitor", tuple(one.name for one in monitors), None)
    candidates = [one for one in monitors if named in (None, one.name)]
    fitting = [one.name for one in candidates if "window" not in table or one.window == window]
    if not fitting:
        windows = ", ".join(str(one.window) for one in monitors if one.window) or "none"
        raise table.fault("window", f"that of the monitor, or of one of them ({windows})", window)
    return fitting[0]


def _listening(table: Table) -> Listening:
    address = table.text("listen", "127.0.0.1:8765")
    token = _token(table)
    certificate, key = table.path("certificate", None), table.path("key", None)
    hosts = table.texts("hosts", ())
    if (certificate is None) != (key is None):
        raise table.fault("key" if key is None else "certificate", "both certificate and key, or none")
    if address == "off":
        return Listening(None, 0, token, certificate, key, hosts)
    host, colon, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise table.fault("listen", '"HOST:PORT", or "off"', address)
    if token is None and not _is_local(host):
        raise table.fault("token_file", "a file with a token, as the service listens elsewhere than here")
    return Listening(host, int(port), token, certificate, key, hosts)


def _token(table: Table) -> str | None:
    token: str
    file, variable = table.path("token_file", None), table.text("token_env", None)
    if file is not None and variable is not None:
        raise table.fault("token_env", "none beside token_file", variable)
    if file is not None:
        try:
            token = file.read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise table.fault("token_file", f"a file that can be read ({error})", str(file)) from None
    elif variable is not None:
        token = os.environ.get(variable, "")
    else:
        return None
    key = "token_file" if variable is None else "token_env"
    if len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        expected = f"a token of at least {_SHORTEST_TOKEN} letters, digits and signs without blanks"
        raise table.fault(key, expected, f"one of {len(token)}")
    return token


def _is_local(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
