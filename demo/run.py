"""Find the rings planted in a network of transfers and check every answer another way.

With a graph and a pattern file: count its matches, show the first ones and the plan.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from patterns import collector_pattern, ring_pattern
from rich.console import Console
from rich.table import Table
from transfers import Transfers, generate
from witness import WireBook, rotation

import motiflux as mf
from motiflux.errors import MotifluxError

if TYPE_CHECKING:
    import numpy as np

SHOWN = 10
EXIT_FAILED = 1
EXIT_USAGE = 2
LEAST_TRANSFERS = 10
RING_SIZE = 4


@dataclass
class Checks:
    """What was checked and how it came out."""

    console: Console
    failed: list[str] = field(default_factory=list)

    def expect(self, holds: bool, claim: str) -> None:
        """Print the claim with its outcome, and remember a failure."""
        self.console.print(f"  [green]ok[/]      {claim}" if holds else f"  [red]FAILED[/]  {claim}")
        if not holds:
            self.failed.append(claim)


@contextmanager
def timed(console: Console, what: str) -> Iterator[None]:
    """Print how long the block took."""
    start = time.perf_counter()
    yield
    console.print(f"{what}  [dim]{time.perf_counter() - start:.2f} s[/]")


def say(console: Console, words: str) -> None:
    """Print words as they are: no markup in them, no line broken."""
    console.print(words, markup=False, highlight=False, soft_wrap=True)


def run_planted(console: Console, transfers: int, rings: int) -> bool:
    """Generate, search, show and check; True if every check held."""
    with timed(console, f"drew {transfers:,} transfers and hid {rings} rings among them"):
        network = generate(transfers, accounts=max(8 * rings, transfers * 3 // 10), rings=rings)
    with timed(console, "built the graph"):
        graph = mf.Graph.from_edges((network.payer, network.payee), directed=True, edge_labels=network.kind)
    console.print(
        f"{graph.num_vertices:,} accounts, {graph.num_edges:,} different (payer, payee, kind) "
        f"of {graph.num_edge_copies:,} transfers\n"
    )

    ring, collector = ring_pattern(), collector_pattern()
    ring_count = mf.count(graph, ring, symmetry="subgraphs")
    ring_rows = mf.match(graph, ring, symmetry="subgraphs").to_numpy()
    collector_count = mf.count(graph, collector, symmetry="subgraphs")

    console.print("[bold]Occurrences, each counted once[/]")
    console.print(_counts_table([(ring, ring_count), (collector, collector_count)]))
    console.print(f"[bold]The first {min(SHOWN, len(ring_rows))} of {len(ring_rows)} rings[/]")
    console.print(_rings_table(ring_rows, network))
    console.print("[bold]The plan for the ring[/]")
    say(console, str(mf.explain(graph, ring, symmetry="subgraphs")))

    console.print("\n[bold]Checked by plain Python sets[/]")
    return _check(console, network, ring_rows, int(ring_count), int(collector_count))


def _counts_table(counts: list[tuple[mf.Pattern, mf.Count]]) -> Table:
    table = Table("pattern")
    for column in ("occurrences", "seconds", "engine"):
        table.add_column(column, justify="right")
    for pattern, count in counts:
        table.add_row(pattern.name, f"{int(count):,}", f"{count.seconds:.4f}", count.engine)
    return table


def _rings_table(rows: np.ndarray, network: Transfers) -> Table:
    planted = {rotation(ring) for ring in network.rings}
    table = Table("a", "b", "c", "d", "")
    for row in rows[:SHOWN].tolist():
        table.add_row(*row, "planted" if rotation(row) in planted else "by chance")
    return table


def _check(
    console: Console, network: Transfers, rows: np.ndarray, ring_count: int, collector_count: int
) -> bool:
    is_wire = network.kind == "wire"
    book = WireBook(zip(network.payer[is_wire].tolist(), network.payee[is_wire].tolist(), strict=True))
    found = [tuple(row) for row in rows.tolist()]
    spelled = {rotation(row) for row in found}
    rings, collectors = book.count_rings(), book.count_collectors()

    checks = Checks(console)
    checks.expect(all(map(book.is_ring, found)), f"all {len(found)} rows are rings of wires in the transfers")
    checks.expect(len(spelled) == len(found), "no ring is listed twice")
    checks.expect(
        spelled >= {rotation(ring) for ring in network.rings},
        f"all {len(network.rings)} planted rings are listed",
    )
    checks.expect(ring_count == len(found), f"count() and match() agree: {ring_count}")
    checks.expect(ring_count == rings, f"counting the rings from their diagonals gives {rings}")
    checks.expect(collector_count == collectors, f"the collectors in closed form are {collectors:,}")
    say(console, f"{len(checks.failed)} checks failed" if checks.failed else "every check holds")
    return not checks.failed


def run_files(console: Console, graph_path: str, pattern_path: str, directed: bool | None) -> None:
    """Count the pattern's matches in the user's graph, show the first ones and the plan."""
    graph = mf.read_graph(graph_path, directed=directed)
    pattern = mf.read_pattern(pattern_path)
    say(console, f"{graph_path}: {graph.num_vertices:,} vertices, {graph.num_edges:,} edges")
    count = mf.count(graph, pattern)
    say(console, f"{pattern_path}: {int(count):,} embeddings in {count.seconds:.4f} s ({count.engine})\n")

    matches = mf.match(graph, pattern, limit=SHOWN)
    rows = matches.to_numpy()
    table = Table(*matches.columns)
    for row in rows.tolist():
        table.add_row(*map(str, row))
    console.print(f"[bold]The first {len(rows)} embeddings[/]")
    console.print(table)
    say(console, str(mf.explain(graph, pattern)))


def main() -> int:
    """Run the demo; 0 if all went well."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--graph", help="a graph file of your own; needs --pattern")
    parser.add_argument("--pattern", help="a pattern file (.graph)")
    direction = parser.add_mutually_exclusive_group()
    direction.add_argument("--directed", dest="directed", action="store_true", default=None)
    direction.add_argument("--undirected", dest="directed", action="store_false")
    parser.add_argument("--transfers", type=int, default=200_000, help="size of the made-up network")
    parser.add_argument("--rings", type=int, default=25, help="rings to hide in it")
    options = parser.parse_args()
    if (options.graph is None) != (options.pattern is None):
        parser.error("--graph and --pattern go together (make demo GRAPH=file PATTERN=file)")

    if options.transfers < LEAST_TRANSFERS:
        parser.error(f"--transfers: expected at least {LEAST_TRANSFERS}, found {options.transfers}")
    if not 0 <= options.rings * RING_SIZE <= options.transfers:
        most = options.transfers // RING_SIZE
        parser.error(f"--rings: expected 0 to {most} in {options.transfers} transfers, found {options.rings}")

    console = Console()
    try:
        if options.graph is None:
            return 0 if run_planted(console, options.transfers, options.rings) else EXIT_FAILED
        run_files(console, options.graph, options.pattern, options.directed)
    except MotifluxError as error:
        say(Console(stderr=True), f"error: {error}")
        return EXIT_USAGE
    except KeyboardInterrupt:
        say(Console(stderr=True), "interrupted")
        return EXIT_FAILED
    return 0


if __name__ == "__main__":
    sys.exit(main())
