"""What a service says of itself: for the page, for metrics, and for whoever asks whether it works."""

from __future__ import annotations

import json
import os
import sqlite3
from dataclasses import asdict
from pathlib import Path
from typing import Any

from motiflux.serve.core import Core
from motiflux.serve.log.group import PatternRow

_PAGE = os.sysconf("SC_PAGE_SIZE")
_RECENT = 10.0
_CLOCK_SECONDS = 1.0


def memory_bytes() -> int:
    """Return the resident memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE


def troubles(service: Core) -> dict[str, str]:
    """Return what does not work at the moment, by part."""
    found = dict(service.figures.trouble)
    if service.committer.trouble is not None:
        found["log"] = service.committer.trouble
    for source, reason in list(service.figures.last_loss.items()):
        found[f"loss at {source}"] = reason
    failed = service.engine.failed or service.committer.failed
    if failed is not None:
        found["engine"] = f"it has ended: {failed}"
    behind = service.engine.clock.behind
    if abs(behind) > _CLOCK_SECONDS:
        found["clock"] = f"the system's clock has moved by {behind:.1f} s; times of arrival have not"
    return found


def pattern_facts(row: PatternRow) -> dict[str, Any]:
    """Return what is told of a pattern; counts are exact integers of any size."""
    facts = asdict(row.settings)
    facts |= {name: getattr(row, name) for name in ("id", "origin", "state", "reason", "since", "present")}
    return facts | {name: getattr(row, name) for name in ("positive", "negative", "alerts", "suppressed")}


def pulse(service: Core) -> dict[str, Any]:
    """Return the figures that change from second to second."""
    figures = service.figures
    p50, p99 = figures.latency.quantiles(_RECENT, 0.5, 0.99)
    return {
        "records": sum(figures.records.values()),
        "alerts": figures.alerts,
        "refused": sum(figures.refused.values()) + figures.refused_by_monitors,
        "late": figures.late,
        "latency": {"p50": p50, "p99": p99},
        "waiting": service.intake.waiting,
        "held": len(service.engine.ordering),
        "memory": memory_bytes(),
        "history": list(figures.history)[-5:],
        "sources": [
            {
                "name": one.name,
                "type": one.type,
                "records": figures.records.get(one.name, 0),
                "refused": figures.refused.get(one.name, 0),
                "lag": figures.lag.get(one.name),
                "gaps": figures.gaps.get(one.name, 0),
                "lost": figures.lost.get(one.name, 0),
                "unit": "bytes" if one.type == "file" else "messages",
            }
            for one in service.settings.sources
        ],
        "sinks": [
            {
                "name": sink.name,
                "type": sink.settings.type,
                "promise": sink.promise,
                "delivered": figures.delivered.get(sink.name, 0),
                "lag": sink.lag,
            }
            for sink in service.sinks
        ],
        "monitors": [
            {
                "name": name,
                "vertices": monitor.vertices,
                "edges": monitor.edges,
                "window": monitor.settings.window,
                "engine": monitor.engine,
                "reason": monitor.reason,
            }
            for name, monitor in service.engine.monitors.items()
        ],
        "patterns": [pattern_facts(row) for row in service.patterns()],
        "trouble": troubles(service),
    }


def status(service: Core) -> dict[str, Any]:
    """Return all that the page begins with."""
    settings = service.settings
    return {
        "name": settings.name,
        "began": service.figures.began,
        "record": service.engine.number,
        "replayed": service.engine.replayed,
        "whole_history": list(service.figures.history),
        "names": {
            "sinks": [one.name for one in settings.sinks],
            "monitors": [one.name for one in settings.monitors],
        },
        **pulse(service),
    }


def last_alerts(reader: sqlite3.Connection, most: int, behind: int = 0) -> list[dict[str, Any]]:
    """Return the last alerts behind a number, the latest first, each with its number in the outbox."""
    rows = reader.execute(
        "SELECT number, body FROM outbox WHERE number > ? ORDER BY number DESC LIMIT ?", (behind, most)
    )
    return [{"alert": number, **json.loads(body)} for number, body in rows]


def dead_letters(reader: sqlite3.Connection, most: int) -> list[dict[str, Any]]:
    """Return the last dead letters, the latest first."""
    rows = reader.execute(
        "SELECT number, arrival, source, place, record, reason FROM dead ORDER BY number DESC LIMIT ?",
        (most,),
    )
    names = ("number", "arrival", "source", "place", "record", "reason")
    return [dict(zip(names, row, strict=True)) for row in rows]
