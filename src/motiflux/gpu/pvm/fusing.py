"""Phases that one kernel runs together, so that the embeddings between them need no memory.

The paper has a kernel for each phase (section 5). An elimination phase that follows an extension only
reads what that wrote, so its query edges are tested before anything is written. Where the number of
extensions of the last phase follows from the numbers of candidates, the phase before it counts them.
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
)
from motiflux.gpu.pvm.row_tables import TableKey


def fused(programs: Programs, *, counts_last: bool) -> Programs:
    """Return programs with eliminations in the extensions before them, as far as kernels have tables.

    Parameters
    ----------
    counts_last
        Whether the last phase counts by the numbers of candidates if it can.
    """
    phases: list[Program] = []
    for phase in programs.phases:
        both = _with_tests(phases[-1], phase) if phases else None
        if both is None:
            phases.append(phase)
        else:
            phases[-1] = both
    if counts_last and len(phases) > 1 and (both := _with_last(*phases[-2:])) is not None:
        phases[-2:] = [both]
    return replace(programs, phases=tuple(phases))


def _with_tests(extension: Program, elimination: Program) -> ExtensionProgram | None:
    """Return an extension that tests the edges of an elimination behind it; None if there are no such two."""
    if not isinstance(extension, ExtensionProgram) or not isinstance(elimination, EliminationProgram):
        return None
    tables = _together(extension.tables, elimination.tables)
    if tables is None or len(extension.tests) + len(elimination.tests) > MOST_TESTS:
        return None
    tests = tuple(
        replace(
            test,
            table=tables.index(elimination.tables[test.table]),
            source=extension.out[test.source],
            target=extension.out[test.target],
        )
        for test in elimination.tests
    )
    out = tuple(extension.out[column] for column in elimination.kept)
    of = (*extension.of, *elimination.of)
    return replace(extension, tables=tables, tests=(*extension.tests, *tests), out=out, of=of)


def _with_last(extension: Program, last: Program) -> ExtensionProgram | None:
    """Return an extension that counts those of the last phase; None if that is impossible."""
    if not isinstance(extension, ExtensionProgram) or not isinstance(last, ExtensionProgram):
        return None
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
