"""A scenario printed as a Python program that shows the difference: data, calls, and what is right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.fuzz.compare import Difference, truths_of
from tests.fuzz.scenario import Call, Scenario, Step

WIDTH = 100

EMULATOR = "tests.simt.register:register"
"""What ``MOTIFLUX_DEVICES`` names for the device ``emulated``."""


def program_of(scenario: Scenario, difference: Difference) -> str:
    """Return a program that makes the calls up to the one that differs, and asserts what is right."""
    calls = scenario.calls[: difference.position + 1]
    body = [*_graph(scenario)]
    for position, query in enumerate(scenario.queries):
        body += _pattern(f"pattern_{position}", query.steps(scenario.graph.ids))
    for call in calls[:-1]:
        body += [_run(call, scenario.device)]
    if calls:
        body += _judged(calls[-1], scenario, difference)
    return "\n".join([*_imports(scenario, "\n".join(body)), "", *body]) + "\n"


def _imports(scenario: Scenario, body: str) -> list[str]:
    lines = ["import motiflux as mf"]
    if scenario.device == "emulated":
        variables = f"PYTHONPATH=. MOTIFLUX_DEVICES={EMULATOR} MOTIFLUX_SIMT_CHANCES={scenario.chances}"
        lines.insert(0, f"# in the folder of a clone, with {variables}")
    names = ("AllOf", "AnyOf", "Comparison", "IsMissing", "Not", "OneOf")
    if used := [name for name in names if f"{name}(" in body]:
        lines.append(f"from motiflux.conditions import {', '.join(used)}")
    if "private_tuning(" in body:
        lines.append("from motiflux.config import private_tuning")
    if scenario.as_large:
        lines += [
            "from dataclasses import replace",
            "from motiflux.gpu.engine import DfsEngine",
            "",
            "# plan as for large graphs",
            "DfsEngine.capabilities = replace(DfsEngine.capabilities, searchers=1)",
        ]
    return lines


def _graph(scenario: Scenario) -> list[str]:
    return [f"graph = {_call('mf.Graph.from_edges', scenario.graph.arguments(), positional='edges')}"]


def _pattern(name: str, steps: list[Step]) -> list[str]:
    lines = [
        f"    .{step.method}({', '.join([*map(repr, step.positional), *_named(step.named)])})"
        for step in steps
    ]
    return [f"{name} = (", "    mf.PatternBuilder()", *lines, "    .build()", ")"]


def _run(call: Call, device: str) -> str:
    """Return the call as an expression; matches are read to their end."""
    patterns = [f"pattern_{query}" for query in call.queries]
    what = f"[{', '.join(patterns)}]" if call.kind == "several" else patterns[0]
    function = "count" if call.kind == "several" else call.kind
    made = _call(f"mf.{function}", call.arguments(device), before=f"graph, {what}")
    return f"{made}.to_numpy()" if call.kind == "match" else made


def _judged(call: Call, scenario: Scenario, difference: Difference) -> list[str]:
    """Return the last call, and an assertion that it gives what its case expects."""
    error = difference.case.error
    if error is not None:
        return [f"{_run(call, scenario.device)}  # raises {type(error).__name__}"]
    expected = difference.case.expected
    match call.kind:
        case "count":
            lines = [f"found = {_run(call, scenario.device)}", "found = int(found), found.complete"]
        case "several":
            lines = [
                f"found = {_run(call, scenario.device)}",
                "found = [(int(one), one.complete) for one in found]",
            ]
        case "estimate" if len(expected) > 2:
            lines = [
                f"found = {_run(call, scenario.device)}",
                "found = found.low, found.value, found.high, found.complete",
            ]
        case "estimate":
            lines = [
                f"found = {_run(call, scenario.device)}",
                'ordered = 0 <= found.low <= found.value <= found.high < float("inf")',
                f"found = {'None' if expected[0] is None else 'found.value'}, ordered",
            ]
        case _:
            return _judged_rows(call, scenario, expected)
    return [*lines, f"assert found == {expected!r}, found"]


def _judged_rows(call: Call, scenario: Scenario, expected: Any) -> list[str]:
    truth = truths_of(scenario)[call.queries[0]]
    group = truth.group(call.symmetry)
    row = "tuple(row)"
    lines = []
    if len(group) > 1:
        lines = [f"same = {group!r}  # orders of a row that are one occurrence"]
        row = "min(tuple(row[u] for u in one) for one in same)"
    lines += [
        f"matches = {_run(call, scenario.device).removesuffix('.to_numpy()')}",
        f"rows = sorted({row} for batch in matches for row in batch.tolist())",
    ]
    if "limit" in call.options:
        known = truth.rows(call.semantics, call.symmetry)
        return [
            *lines,
            f"known = {set(known) or '{*()}'}",
            "assert len(set(rows)) == len(rows) and known.issuperset(rows), rows",
            f"assert (len(rows), matches.complete) == {expected!r}, (len(rows), matches.complete)",
        ]
    return [*lines, f"assert (rows, matches.complete) == {expected!r}, (rows, matches.complete)"]


def _call(
    function: str, given: Mapping[str, Any], *, positional: str | None = None, before: str | None = None
) -> str:
    """Return a call, over several lines where it is long; `before` is text that stands first."""
    first = [] if before is None else [before]
    first += [] if positional is None else [repr(given[positional])]
    parts = first + _named({name: value for name, value in given.items() if name != positional})
    line = f"{function}({', '.join(parts)})"
    if len(line) <= WIDTH:
        return line
    return "\n".join([f"{function}(", *(f"    {part}," for part in parts), ")"])


def _named(given: Mapping[str, Any]) -> list[str]:
    return [f"{name}={value!r}" for name, value in given.items()]
