"""What a monitor is told when it is made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from motiflux.config import resolve_tuning
from motiflux.errors import ArgumentError
from motiflux.plan.passes.symmetry import check_symmetry
from motiflux.stream.vertex_options import VertexOptions
from motiflux.stream.window import DISORDERS, TIME_UNITS, Clock, Span, WindowLength, parse_window
from motiflux.types import Semantics, Symmetry

MODES = ("sequence", "batch")
DUPLICATES = ("count", "ignore")


@dataclass(frozen=True)
class Options:
    """The checked arguments of `Monitor` that determine its results."""

    mode: str
    matches: bool
    semantics: Semantics
    symmetry: Symmetry
    duplicates: str
    strict: bool
    span: Span | None
    time_unit: str
    disorder: str | None
    switches: Mapping[str, str]
    attributes: bool | tuple[str, ...] = False
    per_vertex: VertexOptions | None = None

    @classmethod
    def of(
        cls,
        *,
        mode: str,
        matches: bool,
        semantics: str,
        symmetry: str,
        duplicates: str,
        strict: bool,
        window: WindowLength | None,
        time_unit: str,
        disorder: str | None,
        tuning: Mapping[str, str] | None,
        attributes: bool | Iterable[str] | None = None,
        per_vertex: str | int | None = None,
        alert: int | None = None,
        alert_down: bool = False,
    ) -> Options:
        """Return them.

        Raises
        ------
        ArgumentError
            Names one that is not usable.
        """
        checked = cls(
            mode=_one_of("mode", mode, MODES),
            matches=bool(matches),
            semantics=Semantics(_one_of("semantics", semantics, tuple(Semantics))),
            symmetry=Symmetry(_one_of("symmetry", symmetry, tuple(Symmetry))),
            duplicates=_one_of("duplicates", duplicates, DUPLICATES),
            strict=bool(strict),
            span=None if window is None else parse_window(window),
            time_unit=_one_of("time_unit", time_unit, tuple(TIME_UNITS)),
            disorder=None if disorder is None else _one_of("disorder", disorder, DISORDERS),
            switches=resolve_tuning(tuning),
            attributes=_names(attributes),
            per_vertex=VertexOptions.of(per_vertex, alert, alert_down),
        )
        if checked.attributes is not False:
            checked.check_copies()
        check_symmetry(checked.semantics, checked.symmetry)
        return checked

    @property
    def count_copies(self) -> bool:
        """Whether an edge that is inserted twice is there twice."""
        return self.duplicates == "count"

    @property
    def matching(self) -> Semantics:
        """Semantics of searches: induced matching negates edges instead (`bind_growing`)."""
        return Semantics.ISOMORPHISM if self.semantics is Semantics.INDUCED else self.semantics

    @property
    def keeps_attributes(self) -> bool:
        """Whether copies of edges keep their attributes."""
        return self.attributes is not False

    @property
    def attributes_are_all(self) -> bool:
        """Whether all attributes are kept, if any are."""
        return isinstance(self.attributes, bool)

    def check_copies(self) -> None:
        """Refuse attributes of copies where copies are ignored.

        Raises
        ------
        ArgumentError
            ``duplicates="ignore"``.
        """
        if not self.count_copies:
            expected = "'count' beside conditions on attributes of edges: each copy of an edge has its own"
            raise ArgumentError("duplicates", expected, self.duplicates)

    def clock(self) -> Clock:
        """Return what reads the moments of updates."""
        return Clock(self.time_unit, self.disorder, self.span if self.span and self.span.timed else None)

    def arguments(self) -> dict[str, Any]:
        """Return them as `Monitor` takes them, in plain types."""
        span, counted = self.span, self.per_vertex
        of_vertices: dict[str, Any] = {}
        if counted is not None:
            of_vertices = {"per_vertex": counted.by, "alert": counted.alert, "alert_down": counted.alert_down}
        return {
            "mode": self.mode,
            "matches": self.matches,
            "semantics": self.semantics.value,
            "symmetry": self.symmetry.value,
            "duplicates": self.duplicates,
            "strict": self.strict,
            "window": None if span is None else f"{span.length}ns" if span.timed else span.length,
            "time_unit": self.time_unit,
            "disorder": self.disorder,
            "tuning": dict(self.switches),
            "attributes": self.attributes if isinstance(self.attributes, bool) else list(self.attributes),
            **of_vertices,
        }


def _names(attributes: object) -> bool | tuple[str, ...]:
    """Return whether attributes are kept, or the names of those that are."""
    if attributes is None or isinstance(attributes, bool):
        return bool(attributes)
    if isinstance(attributes, str) or not isinstance(attributes, Iterable):
        raise ArgumentError("attributes", "whether attributes of edges are kept, or their names", attributes)
    names = tuple(attributes)
    for name in names:
        if not isinstance(name, str) or not name:
            raise ArgumentError("attributes", "names that are not empty", name)
    return names


def _one_of(argument: str, value: str, allowed: Sequence[str]) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise ArgumentError(argument, ", ".join(map(repr, map(str, allowed))), value)
    return value
