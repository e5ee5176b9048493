"""Tests of arcs between matched query vertices, in parts that a kernel can run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from motiflux.codegen.pvm import MOST_TESTS
from motiflux.gpu.pvm.programs import (
    EliminationProgram,
    TestProgram,
)
from motiflux.gpu.pvm.row_tables import TableKey


@dataclass(frozen=True, slots=True)
class TestedArc:
    """A query edge that needs an arc, or two query vertices between which there must be none.

    Parameters
    ----------
    key
        The table with the row of the source.
    reverse
        The one with the row of the target, if that has the arc, too.
    """

    source: int
    target: int
    key: TableKey
    absent: bool = False
    reverse: TableKey | None = None

    def ways(self) -> Iterator[TestedArc]:
        """Yield the test, and its reverse if that is the same one."""
        yield self
        if self.reverse is not None:
            yield replace(self, source=self.target, target=self.source, key=self.reverse, reverse=self.key)


@dataclass(frozen=True, slots=True)
class ArcTests:
    """Query edges that are tested by one kernel, and those that are tested later."""

    now: tuple[TestedArc, ...]
    rest: tuple[TestedArc, ...]

    def is_read_later(self, vertex: int) -> bool:
        """Whether a later kernel of the phase reads a query vertex."""
        return any(vertex in (test.source, test.target) for test in self.rest)

    def program(
        self, at: int, columns: Sequence[int], kept: Sequence[int], *, grouped: bool
    ) -> EliminationProgram:
        """Return the kernel's phase."""
        tables = tuple(dict.fromkeys(test.key for test in self.now))
        position = {vertex: at for at, vertex in enumerate(columns)}
        tests = tuple(
            TestProgram(
                tables.index(test.key), position[test.source], position[test.target], grouped, test.absent
            )
            for test in self.now
        )
        return EliminationProgram(tables, tuple(position[vertex] for vertex in kept), tests, (at,))


def of_single_rows(tests: Sequence[TestedArc], is_tiled: Callable[[TableKey], bool]) -> list[list[TestedArc]]:
    """Return tests in parts that read one row of an embedding each, in few parts.

    An edge that may be followed both ways is tested in the row of either end. So edges that close cycles at
    one vertex are tested together.
    """
    parts, left = [], list(tests)
    while left:
        ways = {
            test: {(way.source, way.key): way for way in test.ways() if is_tiled(way.key)} for test in left
        }
        rows = Counter(row for test in left for row in ways[test])
        chosen = max(rows, key=lambda row: rows[row])
        together = [test for test in left if chosen in ways[test]][:MOST_TESTS]
        parts.append([ways[test][chosen] for test in together])
        left = [test for test in left if test not in together]
    return parts
