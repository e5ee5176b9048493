"""Pictures of alerts: the match with the attributes of its edges, and what is around it."""

from __future__ import annotations

from typing import Any

from motiflux.api.drawing import draw_match
from motiflux.errors import ArgumentError, MotifluxError
from motiflux.graph import Graph
from motiflux.pattern import Pattern, Query, as_query
from motiflux.serve.settings.parts import MonitorSettings
from motiflux.serve.watched import parts_of

_NEIGHBORS = 12


def pattern_picture(text: str) -> str:
    """Return a picture of a pattern as SVG; of a query, of the pattern with most edges that it stands for."""
    wanted = as_query(text)
    if isinstance(wanted, Query):
        wanted = max(wanted.patterns, key=lambda one: len(one.edges))
    return str(wanted.to_svg())


def pattern_of(
    text: str, alert: dict[str, Any], monitor: MonitorSettings | None, *, directed: bool
) -> Pattern:
    """Return the pattern that an alert is about: of a query, one of those that it stands for.

    Parameters
    ----------
    monitor
        That matches it.

    Raises
    ------
    ArgumentError
        There is none any more, and the pattern depends on it.
    """
    wanted = as_query(text)
    if isinstance(wanted, Pattern):
        return wanted
    if monitor is None:
        raise ArgumentError("monitor", "one that is configured", "one that is not any more")
    part: int = alert["part"]
    return parts_of(wanted, monitor, directed=directed)[part]


def match_picture(pattern: Pattern, alert: dict[str, Any], *, directed: bool) -> str:
    """Return a picture of a match as SVG, with the attributes of its edges as far as the alert has them."""
    ids = list(alert["match"].values())
    places = [(edge.source, edge.target) for edge in pattern.edges]
    known = list(alert.get("edges", {}).values())
    names = sorted({name for one in known for name in one} - {"time"}) if len(known) == len(places) else []
    attributes = {name: [one.get(name) for one in known] for name in names}
    graph = Graph.from_edges(
        [(ids[source], ids[target]) for source, target in places],
        directed=directed,
        edge_attributes=attributes or None,
    )
    arrow, keys = "-->" if directed else "--", list(alert["match"])
    text = ", ".join(f"({keys[source]}){arrow}({keys[target]})" for source, target in places)
    plain = Pattern.parse(text, name=alert["pattern"])
    row = [alert["match"][vertex.name] for vertex in plain.vertices]
    return str(draw_match(graph, plain, row, attributes=names))


def neighborhood_picture(pattern: Pattern, alert: dict[str, Any], graph: Graph) -> str:
    """Return a picture of a match and of vertices around it as SVG.

    Raises
    ------
    ArgumentError
        The match is not there any more.
    """
    ids = list(alert["match"].values())
    try:
        return str(draw_match(graph, pattern, ids, neighbors=_NEIGHBORS))
    except MotifluxError:
        raise ArgumentError("alert", "a match that is still there", alert["id"]) from None
