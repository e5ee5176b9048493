"""The same transfers as a stream: each ring is reported when its last transfer arrives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from network import MILLISECONDS_OF_DAY, RING_SIZE, Checks
from numpy.typing import NDArray
from rich.console import Console
from show import heading, say, table

import motiflux as mf
from motiflux.generate import BANDS, Transfers

SHOWN = 5
AT_ONCE = 256
LOW, HIGH = BANDS["ring"]
BAND = f"wire of {LOW:,} to {HIGH:,}"


@dataclass(frozen=True)
class Report:
    """A ring that appeared: the row of its last transfer, and its accounts."""

    row: int
    accounts: frozenset[int]


def run(console: Console, drawn: Transfers) -> bool:
    """Insert all transfers in the order of their times into an empty graph; True if every check held."""
    heading(console, "The same transfers as a stream, in the order of their times")
    updates = stream(drawn)
    steps = [f"(a{at})-[:`{BAND}`]->(a{(at + 1) % RING_SIZE})" for at in range(RING_SIZE)]
    ring = mf.Pattern.parse(", ".join(steps), name="ring")
    reports: list[Report] = []

    def report(found: mf.FoundMatches) -> None:
        rows = zip(found.updates.tolist(), found.vertices.tolist(), strict=True)
        reports.extend(Report(row, frozenset(accounts)) for row, accounts in rows)

    graph = mf.Graph.from_edges([], directed=True)
    with mf.Monitor(graph, ring, symmetry="subgraphs", matches=True) as monitor:
        totals = monitor.run(updates, report, batch_size=AT_ONCE, progress=True)
    say(
        console, f"{totals.updates:,} transfers in {totals.seconds:.2f} s, {totals.updates_per_second:,.0f}/s"
    )
    assert updates.times is not None
    _show(console, reports, updates.times)
    if totals.latency is not None:
        p50, _, p99, most = (f"{value / 1000:.2f}" for value in totals.latency)
        say(
            console,
            f"latency from a transfer's arrival to its report: median {p50} ms, 99% within {p99} ms, "
            f"at most {most} ms "
            f"(batches of {AT_ONCE})",
        )
    return _check(console, drawn, reports)


def stream(drawn: Transfers) -> mf.Updates:
    """Return the transfers as insertions; wires in the amounts of rings get a separate label."""
    columns = drawn.columns()
    amounts, times = (np.asarray(columns.edge_attributes[name]) for name in ("amount", "time"))
    kinds: NDArray[Any] = np.array(drawn.edge_label_names)[columns.edge_labels]
    in_band = (kinds == "wire") & (amounts >= LOW) & (amounts < HIGH)
    return mf.Updates(
        np.ones(len(kinds), dtype=bool),
        columns.sources.astype(np.int64),
        columns.targets.astype(np.int64),
        np.where(in_band, BAND, kinds),
        times,
    )


def _show(console: Console, reports: list[Report], times: NDArray[Any]) -> None:
    rows = []
    for one in reports[:SHOWN]:
        day, rest = divmod(int(times[one.row]), MILLISECONDS_OF_DAY)
        minutes = rest // 60_000
        when = f"day {day + 1}, {minutes // 60:02}:{minutes % 60:02}"
        rows.append((f"{one.row:,}", when, ", ".join(map(str, sorted(one.accounts)))))
    console.print(table(("last transfer", "time", "accounts"), rows, right=("last transfer",)))


def _check(console: Console, drawn: Transfers, reports: list[Report]) -> bool:
    checks = Checks(console)
    planted = [one for one in drawn.planted if one.kind == "ring"]
    closing = {frozenset(one.vertices.tolist()): int(one.rows.max()) for one in planted}
    reported = {one.accounts: one.row for one in reports}
    checks.expect(
        set(reported) == set(closing), f"all {len(closing)} planted rings are reported, and nothing else"
    )
    checks.expect(len(reports) == len(closing), "each is reported once")
    checks.expect(reported == closing, "each at the very transfer that closes it")
    return not checks.failed
