"""One case: a call of motiflux, what it gave as plain values, and what is right."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import motiflux as mf
from tests.fuzz.scenario import Built, Call, Scenario, build, settings_of
from tests.fuzz.truth import Row, Truth


class Case(NamedTuple):
    """What a call gave and what is right, in plain values; `error` is what it raised instead."""

    found: Any
    expected: Any
    exact: bool = True
    """False for an estimate by samples of which only the order of interval and value was compared."""
    error: BaseException | None = None
    answered: tuple[str, ...] = ()
    """Which engine or estimator answered, and on which device."""

    @property
    def differs(self) -> bool:
        return self.error is not None or self.found != self.expected


class Difference(NamedTuple):
    """A case that differs: the position of its call in the scenario, -1 where building failed."""

    position: int
    case: Case

    @property
    def signature(self) -> str:
        """What has to stay the same while a scenario is made smaller."""
        return "values" if self.case.error is None else type(self.case.error).__name__


def truths_of(scenario: Scenario) -> list[Truth]:
    """Return what is right for each pattern."""
    return [Truth(scenario.graph, query) for query in scenario.queries]


def first_difference(
    scenario: Scenario, done: Callable[[Call, Case], object] = lambda call, case: None
) -> Difference | None:
    """Make the calls in their order until one differs; `done` is called after each."""
    with settings_of(scenario):
        return _first_difference(scenario, done)


def _first_difference(scenario: Scenario, done: Callable[[Call, Case], object]) -> Difference | None:
    truths = truths_of(scenario)
    try:
        built = build(scenario)
    except Exception as error:  # noqa: BLE001 - whatever is raised is a finding
        return Difference(-1, Case(None, None, error=error))
    for position, call in enumerate(scenario.calls):
        case = compare(call, built, truths, scenario.device)
        done(call, case)
        if case.differs:
            return Difference(position, case)
    return None


def compare(call: Call, built: Built, truths: Sequence[Truth], device: str) -> Case:
    """Make one call and hold what it gives against what is right."""
    wanted = [truths[query] for query in call.queries]
    patterns = [built.patterns[query] for query in call.queries]
    try:
        return _CASES[call.kind](call, built.graph, patterns, wanted, call.arguments(device))
    except Exception as error:  # noqa: BLE001 - nothing that is drawn should be refused
        return Case(None, right(call, wanted), error=error)


def right(call: Call, truths: Sequence[Truth]) -> Any:
    """Return what a call must give, as its case has it."""
    rows = [truth.rows(call.semantics, call.symmetry) for truth in truths]
    counts = [_cut(len(each), call.options.get("limit")) for each in rows]
    match call.kind:
        case "several":
            return counts
        case "match" if "limit" not in call.options:
            return rows[0], True
        case "estimate":
            return float(len(rows[0]))
    return counts[0]


def _cut(count: int, limit: int | None) -> tuple[int, bool]:
    """Return the count under a limit, and whether nothing was left out."""
    return (count, True) if limit is None else (min(count, limit), count <= limit)


Arguments = dict[str, Any]


def _count(
    call: Call, graph: mf.Graph, patterns: list[mf.Pattern], truths: list[Truth], given: Arguments
) -> Case:
    found = mf.count(graph, patterns[0], **given)
    return Case((int(found), found.complete), right(call, truths), answered=_answered(found))


def _several(
    call: Call, graph: mf.Graph, patterns: list[mf.Pattern], truths: list[Truth], given: Arguments
) -> Case:
    found = mf.count(graph, patterns, **given)
    return Case([(int(one), one.complete) for one in found], right(call, truths), answered=_answered(*found))


def _answered(*found: mf.Count | mf.Matches) -> tuple[str, ...]:
    return tuple(f"{one.engine} on {one.device}" for one in found)


def _match(
    call: Call, graph: mf.Graph, patterns: list[mf.Pattern], truths: list[Truth], given: Arguments
) -> Case:
    truth = truths[0]
    matches = mf.match(graph, patterns[0], **given)
    rows = [tuple(row) for batch in matches for row in batch.tolist()]
    found = sorted(truth.canonical(row, call.symmetry) for row in rows)
    outcome: Any = (found, matches.complete)
    if "limit" in call.options:
        outcome = _among(found, truth.rows(call.semantics, call.symmetry), matches)
    return Case(outcome, right(call, truths), answered=_answered(matches))


def _among(found: list[Row], rows: list[Row], matches: mf.Matches) -> tuple[int, bool | None] | list[Row]:
    """Return how many rows there are and whether these are all; the rows if one is wrong or comes twice."""
    distinct = set(found)
    if len(distinct) < len(found) or not distinct <= set(rows):
        return found
    return len(found), matches.complete


def _estimate(
    call: Call, graph: mf.Graph, patterns: list[mf.Pattern], truths: list[Truth], given: Arguments
) -> Case:
    """Compare an estimate that is exact by its words or its interval, and what is known of any other.

    The value of any other is in its interval. It is 0 where there is nothing to find, as no sample is an
    embedding then. On a device it is the value on the CPU. Otherwise it is right on average only.
    """
    found = mf.estimate(graph, patterns[0], **given)
    truth, answered = right(call, truths), (f"{found.estimator} on {found.device}",)
    if found.estimator == "exact" or found.low == found.high:
        values = found.low, found.value, found.high, found.complete
        return Case(values, (*[truth] * 3, True), answered=answered)
    ordered = 0 <= found.low <= found.value <= found.high < math.inf
    known = truth if truth == 0 else _value_on_cpu(call, graph, patterns[0], given)
    value = None if known is None else found.value
    return Case((value, ordered), (known, True), exact=known is not None, answered=answered)


def _value_on_cpu(call: Call, graph: mf.Graph, pattern: mf.Pattern, given: Arguments) -> float | None:
    """Return the value that a device must give too; None on the CPU, and where the time has a say in it."""
    if given["device"] == "cpu" or not is_repeatable(call):
        return None
    return mf.estimate(graph, pattern, **{**given, "device": "cpu"}).value


def is_repeatable(call: Call) -> bool:
    """Return whether an estimate is the same on every device: see `docs/guide/estimating.md`."""
    return "timeout" not in call.options


_CASES: dict[str, Callable[..., Case]] = {
    "count": _count,
    "several": _several,
    "match": _match,
    "estimate": _estimate,
}
