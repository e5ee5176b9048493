"""Makes phases for kernels of the phases of a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from math import factorial

from motiflux.codegen.pvm import MEMBER, MOST_MEMBERS, MOST_TABLES, MOST_TESTS
from motiflux.gpu.pvm.arc_tests import ArcTests, TestedArc, of_single_rows
from motiflux.gpu.pvm.programs import (
    Compared,
    ExtensionProgram,
    Layout,
    Program,
    Programs,
    SetProgram,
    TestProgram,
)
from motiflux.gpu.pvm.row_tables import TableKey
from motiflux.gpu.pvm.signatures import Signature
from motiflux.gpu.pvm.single_rows import with_single_rows
from motiflux.graph import Direction
from motiflux.plan.bind import Codes
from motiflux.plan.phases.data import (
    CandidateSet,
    Checks,
    EdgeTest,
    Elimination,
    Extension,
    Pair,
    PhasePlan,
    Relation,
)


def programs_of(
    plan: PhasePlan,
    layout: Layout,
    *,
    lists: bool,
    most_tables: int = MOST_TABLES,
    is_tiled: Callable[[TableKey], bool] = lambda key: False,
    signatures: Mapping[int, Signature] | None = None,
    nested: Callable[[ExtensionProgram], bool] = lambda program: False,
) -> Programs:
    """Return the phases of a plan for kernels.

    Parameters
    ----------
    lists
        Whether embeddings are listed: all columns are kept then.
    most_tables
        Most tables of an elimination phase.
    is_tiled
        Whether a table is read in tiles. Phases that read it then read one row of each embedding: a set of
        candidates, or tests of arcs with one end in common.
    signatures
        Of each query vertex, if candidates are filtered by them.
    nested
        Whether loops over the candidates of a phase are nested as in algorithm 6.
    """

    def has_rows_in_tiles(phase: Extension) -> bool:
        keys = [layout.table(one.direction, phase.partitions, one.where, one.labels) for one in phase.sets]
        rows = {(one.source, key) for one, key in zip(phase.sets, keys, strict=True)}
        return len(rows) > 1 and any(map(is_tiled, keys))

    making = _Making(layout, signatures or {}, most_tables, is_tiled)
    phases = with_single_rows(plan.phases, has_rows_in_tiles)
    needed = [frozenset(_needed(phase)) for _, phase in phases]
    end = frozenset(plan.order) if lists else frozenset[int]()
    columns: tuple[int, ...] = ()
    labels: dict[int, Codes] = {}
    found: list[Program] = []
    for place, (at, phase) in enumerate(phases):
        later = end.union(*needed[place + 1 :])
        if isinstance(phase, Extension):
            if phase.root is not None:
                columns = (phase.root.vertex,)
                labels[phase.root.vertex] = phase.root.labels
            labels.update((member, one.labels) for one in phase.sets for member in one.members)
            own, rest = making.own_tests(phase, labels)
            read = later.union(*((test.source, test.target) for test in rest))
            program, columns_after = making.extension(at, phase, columns, read, own)
            if nested(program):
                program, _ = making.extension(at, phase, columns, read, own, nested=True)
            columns = columns_after
            found.append(program)
        else:
            rest = making.tests(phase, labels)
        for part in making.parts(rest):
            kept = tuple(vertex for vertex in columns if vertex in later or part.is_read_later(vertex))
            found.append(part.program(at, columns, kept, grouped=layout.grouped))
            columns = kept
    return Programs(
        tuple(found), tuple(columns.index(vertex) for vertex in range(len(columns))) if lists else ()
    )


def _needed(phase: Extension | Elimination) -> Iterator[int]:
    """Yield the query vertices whose columns a phase reads."""
    if isinstance(phase, Elimination):
        for edge in phase.required:
            yield from (edge.source, edge.target)
        for pair in phase.forbidden:
            yield from pair
        return
    for one in phase.sets:
        yield one.source
        for checks in (one.common, *one.own):
            yield from (*checks.distinct, *checks.after, *checks.not_out, *checks.not_in)


def _extension(
    at: int,
    phase: Extension,
    columns: tuple[int, ...],
    later: frozenset[int],
    layout: Layout,
    signatures: Mapping[int, Signature],
    own: Sequence[TestedArc],
    *,
    nested: bool,
) -> tuple[ExtensionProgram, tuple[int, ...]]:
    """Return an extension phase for kernels, and the query vertices of its output's columns."""
    position = {vertex: at for at, vertex in enumerate(columns)}
    keys = [layout.table(one.direction, phase.partitions, one.where, one.labels) for one in phase.sets]
    tables = tuple(dict.fromkeys((*keys, *(test.key for test in own))))
    members = [member for one in phase.sets for member in one.members]
    related = {(pair.first, pair.second): pair.relation for pair in phase.pairs}
    tuples = not all(_are_distinct(one, related) for one in phase.sets)
    # Of algorithm 6, only the last two members of the first set have combinations.
    combined = [() if tuples else one.members for one in phase.sets]
    if nested:
        combined = [one[-2:] if number == 0 else () for number, one in enumerate(combined)]
    sets = tuple(
        _set(one, tables.index(key), position, related, layout, signatures, combined=some)
        for one, key, some in zip(phase.sets, keys, combined, strict=True)
    )
    implied = {
        pair
        for some, made in zip(combined, sets, strict=True)
        for pair in _implied(some, related, made.ascends)
    }
    kept = tuple(vertex for vertex in columns if vertex in later)
    out = (*kept, *(member for member in members if member in later))

    def source_of(vertex: int) -> int:
        return position[vertex] if vertex in position else MEMBER + members.index(vertex)

    tests = tuple(
        TestProgram(
            tables.index(one.key), source_of(one.source), source_of(one.target), layout.grouped, one.absent
        )
        for one in own
    )
    program = ExtensionProgram(
        tables,
        None
        if phase.root is None
        else (
            phase.root.labels if layout.labelled else None,
            phase.root.narrowing,
            signatures.get(phase.root.vertex),
        ),
        sets,
        tuples,
        _before(members, phase.pairs, Relation.LESS, implied),
        _before(members, phase.pairs, Relation.DIFFERENT, implied),
        tuple(map(source_of, out)),
        (at,),
        tests,
        len(tests),
        nested,
    )
    return program, out


def _set(
    one: CandidateSet,
    table: int,
    position: Mapping[int, int],
    related: Mapping[tuple[int, int], Relation],
    layout: Layout,
    signatures: Mapping[int, Signature],
    *,
    combined: tuple[int, ...],
) -> SetProgram:
    """Return a set of candidates, some of whose members, the last ones, have combinations."""
    label, labels, ascends = None, one.labels, True
    if not layout.labelled or (layout.by_target and labels is not None and len(labels) == 1):
        labels = None
    elif layout.grouped:
        ascends = labels is not None and len(labels) == 1
        if ascends:
            assert labels is not None
            label, labels = labels[0], None

    def compared(checks: Checks) -> Compared:
        return Compared(tuple(position[u] for u in checks.distinct), tuple(position[u] for u in checks.after))

    alone = len(one.members) - len(combined)
    orders = tuple(
        (*range(alone), *(alone + position for position in order))
        for order in _orders(combined, related, ascends=ascends)
    )
    wanted = [signatures.get(member) for member in one.members]
    return SetProgram(
        table,
        position[one.source],
        label,
        labels,
        ascends,
        one.narrowing,
        len(one.members),
        compared(one.common),
        tuple(map(compared, one.own)),
        len(orders) or factorial(len(one.members)),
        orders,
        Signature.common(wanted),
    )


def _are_distinct(one: CandidateSet, related: Mapping[tuple[int, int], Relation]) -> bool:
    """Whether the phase requires that all members of a set have different candidates."""
    return all(
        related.get((first, second), Relation.ANY) is not Relation.ANY
        for at, second in enumerate(one.members)
        for first in one.members[:at]
    )


def _implied(
    members: Sequence[int], related: Mapping[tuple[int, int], Relation], ascends: bool
) -> Iterator[tuple[int, int]]:
    """Yield pairs of members whose comparison combinations, in their orders, always satisfy."""
    for at, second in enumerate(members):
        for first in members[:at]:
            if ascends or related[first, second] is Relation.DIFFERENT:
                yield first, second


def _orders(
    members: Sequence[int], related: Mapping[tuple[int, int], Relation], *, ascends: bool
) -> tuple[tuple[int, ...], ...]:
    """Return the orders of combinations: those that satisfy restrictions, if the candidates ascend.

    None are returned if the members are many, and all of their orders are meant.
    """
    count = len(members)
    less = [
        (first, second)
        for second in range(count)
        for first in range(second)
        if ascends and related[members[first], members[second]] is Relation.LESS
    ]
    if len(less) == count * (count - 1) // 2:
        return (tuple(range(count)),)
    if count > MOST_MEMBERS:
        return ()
    return tuple(order for order in permutations(range(count)) if all(order[a] < order[b] for a, b in less))


def _before(
    members: Sequence[int], pairs: Iterable[Pair], relation: Relation, implied: set[tuple[int, int]]
) -> tuple[tuple[int, ...], ...]:
    """Return, for each member, the numbers of those before it that have a relation to it."""
    number = {member: at for at, member in enumerate(members)}
    found: list[list[int]] = [[] for _ in members]
    for pair in pairs:
        if pair.relation is relation and (pair.first, pair.second) not in implied:
            assert number[pair.first] < number[pair.second], "pairs are in matching order"
            found[number[pair.second]].append(number[pair.first])
    return tuple(map(tuple, found))


@dataclass(frozen=True, slots=True)
class _Making:
    """How the phases of one search are made; the arguments of `programs_of`."""

    layout: Layout
    signatures: Mapping[int, Signature]
    most_tables: int
    is_tiled: Callable[[TableKey], bool]

    def extension(
        self,
        at: int,
        phase: Extension,
        columns: tuple[int, ...],
        later: frozenset[int],
        own: Sequence[TestedArc],
        *,
        nested: bool = False,
    ) -> tuple[ExtensionProgram, tuple[int, ...]]:
        """Return an extension phase, and the query vertices of its output's columns."""
        return _extension(at, phase, columns, later, self.layout, self.signatures, own, nested=nested)

    def own_tests(
        self, phase: Extension, labels: Mapping[int, Codes]
    ) -> tuple[tuple[TestedArc, ...], tuple[TestedArc, ...]]:
        """Return tests for absent arcs: those of the kernel of an extension, and those that follow it."""
        pairs: list[tuple[int, int]] = []
        for one in phase.sets:
            for member, own in zip(one.members, one.own, strict=True):
                pairs += ((u, member) for u in (*one.common.not_out, *own.not_out))
                pairs += ((member, u) for u in (*one.common.not_in, *own.not_in))
        for pair in phase.pairs:
            pairs += [(pair.first, pair.second)] if pair.not_out else []
            pairs += [(pair.second, pair.first)] if pair.not_in else []
        tests = [self._absent(pair, phase.partitions, labels) for pair in pairs]
        tables = {
            self.layout.table(one.direction, phase.partitions, one.where, one.labels) for one in phase.sets
        }
        now: list[TestedArc] = []
        rest: list[TestedArc] = []
        for test in tests:
            fits = len(tables | {test.key}) <= self.most_tables and len(now) < MOST_TESTS
            fits &= not self.is_tiled(test.key)
            if fits:
                tables.add(test.key)
            (now if fits else rest).append(test)
        return tuple(now), tuple(rest)

    def tests(self, phase: Elimination, labels: Mapping[int, Codes]) -> tuple[TestedArc, ...]:
        """Return the tests of an elimination phase."""
        required = (self._test(edge, phase.partitions, labels) for edge in phase.required)
        return *required, *(self._absent(pair, phase.partitions, labels) for pair in phase.forbidden)

    def parts(self, tests: Sequence[TestedArc]) -> Iterator[ArcTests]:
        """Yield tests in parts: those of few tables, and those of single rows in tiles."""
        tables = [key for key in dict.fromkeys(test.key for test in tests) if not self.is_tiled(key)]
        parts = [
            [test for test in tests if test.key in tables[first : first + self.most_tables]]
            for first in range(0, len(tables), self.most_tables)
        ]
        parts = [
            part[first : first + MOST_TESTS] for part in parts for first in range(0, len(part), MOST_TESTS)
        ]
        parts += of_single_rows([test for test in tests if self.is_tiled(test.key)], self.is_tiled)
        for at, part in enumerate(parts):
            yield ArcTests(tuple(part), tuple(test for later in parts[at + 1 :] for test in later))

    def _absent(self, pair: tuple[int, int], partitions: Codes, labels: Mapping[int, Codes]) -> TestedArc:
        edge = EdgeTest(*pair, either=False, where=None)
        return self._test(edge, partitions, labels, absent=True)

    def _test(
        self, edge: EdgeTest, partitions: Codes, labels: Mapping[int, Codes], *, absent: bool = False
    ) -> TestedArc:
        reverse = None
        if edge.either or not self.layout.directed:
            reverse = self._key(replace(edge, source=edge.target, target=edge.source), partitions, labels)
        return TestedArc(edge.source, edge.target, self._key(edge, partitions, labels), absent, reverse)

    def _key(self, edge: EdgeTest, partitions: Codes, labels: Mapping[int, Codes]) -> TableKey:
        either = edge.either or not self.layout.directed
        direction = Direction.EITHER if either else Direction.OUT
        return self.layout.table(direction, partitions, edge.where, labels[edge.target])
