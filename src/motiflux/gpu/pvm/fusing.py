"""Phases that one kernel runs together, so that the embeddings between them need no memory.

The paper has a kernel for each phase (section 5). An elimination phase that follows an extension only reads what that
wrote, so its query edges are tested before anything is written. Where the number of extensions of the last phase
follows from the numbers of candidates, the phase before it counts them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from motiflux.codegen.pvm import MOST_TABLES, MOST_TESTS
from motiflux.gpu.pvm.programs import (
    EliminationProgram,
    ExtensionProgram,
    Program,
    Programs,
    SetProgram,
    TestProgram,
)
from motiflux.gpu.pvm.row_tables import TableKey


def fused(programs: Programs, *, counts_last: bool) -> Programs:
    """Return programs with eliminations in the extensions before them, as far as the tables of a kernel suffice.

    Parameters
    ----------
    counts_last
        Whether the last phase counts by the numbers of candidates if it can.
    """
    phases: list[Program] = []
    for phase in programs.phases:
        before = phases[-1] if phases else None
        if isinstance(phase, EliminationProgram) and isinstance(before, ExtensionProgram):
            if (both := _with_tests(before, phase)) is not None:
                phases[-1] = both
                continue
        phases.append(phase)
    if counts_last and len(phases) > 1:
        before, last = phases[-2:]
        if isinstance(before, ExtensionProgram) and isinstance(last, ExtensionProgram):
            if (both := _with_last(before, last)) is not None:
                phases[-2:] = [both]
    return replace(programs, phases=tuple(phases))


def _with_tests(extension: ExtensionProgram, elimination: EliminationProgram) -> ExtensionProgram | None:
    tables = _together(extension.tables, elimination.tables)
    if tables is None or len(extension.tests) + len(elimination.tests) > MOST_TESTS:
        return None
    tests = tuple(
        TestProgram(
            tables.index(elimination.tables[test.table]),
            extension.out[test.source],
            extension.out[test.target],
            test.grouped,
        )
        for test in elimination.tests
    )
    out = tuple(extension.out[column] for column in elimination.kept)
    of = (*extension.of, *elimination.of)
    return replace(extension, tables=tables, tests=(*extension.tests, *tests), out=out, of=of)


def _with_last(extension: ExtensionProgram, last: ExtensionProgram) -> ExtensionProgram | None:
    tables = _together(extension.tables, last.tables)
    if tables is None or last.tests or not last.follows_from_sizes:
        return None
    sets = tuple(_with_table(one, tables.index(last.tables[one.table])) for one in last.sets)
    return replace(extension, tables=tables, following=replace(last, tables=tables, sets=sets))


def _with_table(one: SetProgram, table: int) -> SetProgram:
    return replace(one, table=table)


def _together(first: Sequence[TableKey], second: Sequence[TableKey]) -> tuple[TableKey, ...] | None:
    """Return all tables, the first ones first; None if a kernel cannot read so many."""
    tables = tuple(dict.fromkeys((*first, *second)))
    return tables if len(tables) <= MOST_TABLES else None
