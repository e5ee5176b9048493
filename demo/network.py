"""A generated network of transfers: the search finds the planted structures, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from show import heading, say, table, timed
from witness import WireBook

import motiflux as mf
from motiflux.generate import BANDS, Planted, Transfers
from motiflux.generate.planting import Kind

SHOWN = 5
RING_SIZE, FAN_SIZE = 4, 5
MILLISECONDS_OF_DAY = 86_400_000


@dataclass
class Checks:
    """The checks and their results."""

    console: Console
    failed: list[str] = field(default_factory=list)

    def expect(self, holds: bool, claim: str) -> None:
        """Print the claim with its outcome, and remember a failure."""
        self.console.print(f"  [green]ok[/]      {claim}" if holds else f"  [red]FAILED[/]  {claim}")
        if not holds:
            self.failed.append(claim)


@dataclass(frozen=True)
class Found:
    """The matches of the pattern of one kind of structure."""

    kind: Kind
    pattern: mf.Pattern
    count: mf.Count
    rows: NDArray[Any]
    planted: list[Planted]

    @property
    def accounts(self) -> set[frozenset[int]]:
        """The accounts of each occurrence."""
        return {frozenset(row) for row in self.rows.tolist()}

    @property
    def truth(self) -> set[frozenset[int]]:
        """The accounts of each planted structure."""
        return {frozenset(one.vertices.tolist()) for one in self.planted}


def plan(transfers: int, each: int, seed: int) -> Transfers:
    """Return a network that is yet to be drawn, with `each` structures of each kind planted in it."""
    return Transfers(
        transfers=transfers,
        rings=each,
        fan_ins=each,
        fan_outs=each,
        gather_scatters=each,
        ring_size=RING_SIZE,
        fan_size=FAN_SIZE,
        seed=seed,
    )


def run(console: Console, drawn: Transfers, picture: Path) -> bool:
    """Draw, search, show and check; True if every check held."""
    heading(console, f"{drawn.transfers:,} transfers with {drawn.rings} planted structures of each kind")
    with timed(console, "generated the transfers and built the graph"):
        graph = drawn.graph()
    say(console, f"{graph.num_vertices:,} accounts, {graph.num_edges:,} distinct edges (payer, payee, kind)")
    kinds = {one.kind: mf.Pattern.parse(one.pattern(), name=one.kind) for one in drawn.planted}
    found = []
    for kind, pattern in kinds.items():
        with timed(console, f"searched for {kind.replace('_', '-')}s"):
            count = mf.count(graph, pattern, symmetry="subgraphs", progress=True)
            rows = mf.match(graph, pattern, symmetry="subgraphs").to_numpy()
        planted = [one for one in drawn.planted if one.kind == kind]
        found.append(Found(kind, pattern, count, rows, planted))

    heading(console, "Occurrences, each counted once")
    summary = [
        (one.kind, one.pattern.num_edges, len(one.planted), int(one.count), _milliseconds(one))
        for one in found
    ]
    columns = ("structure", "edges", "planted", "found", "search time")
    console.print(table(columns, summary, right=columns[1:]))
    if found and len(found[0].rows):
        _show_rings(console, graph, drawn, found[0], picture)
    heading(console, "Checks against the planted structures and against plain Python sets")
    return _check(console, drawn, found)


def _milliseconds(found: Found) -> str:
    return f"{1000 * found.count.seconds:.1f} ms"


def _show_rings(console: Console, graph: mf.Graph, drawn: Transfers, rings: Found, picture: Path) -> None:
    """List the first rings with amounts and days, and draw one."""
    heading(console, f"The first {min(SHOWN, len(rings.rows))} rings, with their transfers in order")
    columns = drawn.columns()
    amounts, times = (np.asarray(columns.edge_attributes[name]) for name in ("amount", "time"))
    of_accounts = {frozenset(one.vertices.tolist()): one for one in rings.planted}
    rows = []
    for row in rings.rows[:SHOWN].tolist():
        ring = of_accounts.get(frozenset(row))
        if ring is not None:
            paid = ", ".join(f"{amount:,.0f}" for amount in amounts[ring.rows])
            day = times[ring.rows[0]] // MILLISECONDS_OF_DAY
            rows.append((" > ".join(map(str, ring.vertices.tolist())), paid, day + 1))
    console.print(table(("accounts", "amounts", "day"), rows, right=("day",)))
    picture.parent.mkdir(parents=True, exist_ok=True)
    mf.draw_match(graph, rings.pattern, rings.rows[0].tolist(), attributes=["amount"]).save(picture)
    say(console, f"picture of the first ring: {picture}")


def _check(console: Console, drawn: Transfers, found: list[Found]) -> bool:
    checks = Checks(console)
    columns = drawn.columns()
    amounts = np.asarray(columns.edge_attributes["amount"])
    wires = np.array(drawn.edge_label_names)[columns.edge_labels] == "wire"
    for one in found:
        name, truth = one.kind.replace("_", "-"), one.truth
        checks.expect(one.accounts == truth, f"all {len(truth)} planted {name}s are found, and nothing else")
        once = len(one.rows) == int(one.count) == len(truth)
        checks.expect(once, "each is listed once, and counted once")
        low, high = BANDS[one.kind]
        inside = wires & (amounts >= low) & (amounts < high)
        book = WireBook(zip(columns.sources[inside].tolist(), columns.targets[inside].tolist(), strict=True))
        number = book.count(one.kind, RING_SIZE if one.kind == "ring" else FAN_SIZE)
        among = f"{int(inside.sum()):,} wires of {low:,} to {high:,}"
        checks.expect(number == len(truth), f"plain Python sets find {number} among {among}")
    return not checks.failed
