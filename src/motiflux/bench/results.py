"""The results of a suite, and their files: one JSON object per suite, device and day."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import geometric_mean
from typing import TYPE_CHECKING, Any, Literal

from motiflux.atomic import AtomicFile, output_error
from motiflux.bench.machine import slug

if TYPE_CHECKING:
    from motiflux.bench.measure import Timing


SCHEMA = 1
"""Version of the objects that are written."""


@dataclass(frozen=True)
class BaselineTime:
    """The baseline of a ratio. After a timeout the seconds, and so the ratio, are a lower bound."""

    name: str
    seconds: float
    timeout: bool = False


@dataclass(frozen=True)
class CaseResult:
    """One count by one engine.

    Parameters
    ----------
    case
        The name of the case; scaling cases say ``wall, N threads``.
    engine
        The engine that counted it.
    count
        None if it was not finished in the time it had.
    checked_against
        The source of the known count, with this count if the result differs; None without a known count, or
        if the run did not finish.
    seconds
        Process CPU time, or for a scaling case wall clock time; None if nothing could be timed.
    baseline, ratio
        The compared system, and how many times faster the result is.
    figures
        Other numbers that were measured, by name.
    disagrees
        Whether the count is wrong. Not in the file: `checked_against` says so there.
    """

    case: str
    engine: str
    count: int | None
    checked_against: str | None
    seconds: Timing | None
    baseline: BaselineTime | None = None
    ratio: float | None = None
    disagrees: bool = False
    figures: Mapping[str, float] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Give the fields that are kept; of `figures` only where there are any."""
        fields = asdict(self)
        del fields["disagrees"]
        if not self.figures:
            del fields["figures"]
        return fields


@dataclass(frozen=True)
class Bar:
    """A target we set ourselves, and where we stand."""

    bar: str
    value: float | None
    target: float
    better: Literal["lower", "higher"]

    @property
    def holds(self) -> bool:
        """Whether the target is reached; a bar without a value is not."""
        if self.value is None:
            return False
        return self.value <= self.target if self.better == "lower" else self.value >= self.target

    def as_json(self) -> dict[str, Any]:
        """Give the fields that are kept."""
        return {**asdict(self), "holds": self.holds}


def bars_beside(results: Sequence[CaseResult], peer: str, mean: float, least: float) -> list[Bar]:
    """Hold cases beside a peer, which its name in lower case begins, against ratios: the mean and the least.

    A case without a ratio leaves both bars without a value; without cases there are no bars.
    """
    prefix = f"{peer.lower()} "
    beside = [one for one in results if one.case.startswith(prefix) and one.baseline is not None]
    if not beside:
        return []
    ratios = [one.ratio for one in beside if one.ratio is not None]
    whole = len(ratios) == len(beside)
    found = (geometric_mean(ratios), min(ratios)) if whole else (None, None)
    return [
        Bar(f"times as fast as {peer}: geometric mean", found[0], mean, "higher"),
        Bar(f"times as fast as {peer}: least", found[1], least, "higher"),
    ]


@dataclass(frozen=True)
class Report:
    """The result of one run of a suite."""

    suite: str
    commit: str
    date: str
    device: str
    versions: dict[str, str]
    cases: Sequence[CaseResult] = field(default=())
    bars: Sequence[Bar] = field(default=())

    def as_json(self) -> dict[str, Any]:
        """Give the object that is written."""
        return {
            "schema": SCHEMA,
            "suite": self.suite,
            "commit": self.commit,
            "date": self.date,
            "device": self.device,
            "versions": self.versions,
            "cases": [case.as_json() for case in self.cases],
            "bars": [bar.as_json() for bar in self.bars],
        }


def write_report(report: Report, folder: Path, *, whole: bool = True) -> Path:
    """Write ``<suite>-<device>-<date>.json``, replacing one of the same name in one step.

    The results of an incomplete run are in ``....part.json``, and are moved when the run is complete.

    Raises
    ------
    OutputError
        If it cannot be written; nothing is left behind.
    """
    name = f"{report.suite}-{slug(report.device)}-{report.date}"
    path, part = folder / f"{name}.json", folder / f"{name}.part.json"
    path = path if whole else part
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise output_error(path, error) from error
    with AtomicFile(path) as file:
        file.write(json.dumps(report.as_json(), indent=1).encode() + b"\n")
    if whole:
        part.unlink(missing_ok=True)
    return path
