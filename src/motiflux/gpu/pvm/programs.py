"""Phases as kernels run them: columns of frontiers for query vertices, tables of rows for labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from math import factorial
from typing import TypeAlias

from motiflux.codegen.pvm import MEMBER, MOST_MEMBERS, MOST_TABLES, MOST_TESTS, ExtensionShape
from motiflux.gpu.pvm.row_tables import RowForm, TableKey
from motiflux.gpu.pvm.signatures import Signature
from motiflux.gpu.pvm.single_rows import with_single_rows
from motiflux.graph import Direction, VertexFilter
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


@dataclass(frozen=True, slots=True)
class Layout:
    """The rows of a graph in tables.

    Parameters
    ----------
    directed
        Whether its edges have directions.
    edge_labels
        Number of labels of edges.
    labelled
        Whether vertices have labels.
    by_target
        Whether tables are divided by the label of the target, as all edges have one label.
    grouped
        Whether neighbours in a row are in the order of their labels.
    form
        How rows are found.
    """

    directed: bool
    edge_labels: int
    labelled: bool
    by_target: bool
    grouped: bool
    form: RowForm = RowForm.INTERVAL

    def table(self, direction: Direction, labels: Codes, where: object, targets: Codes) -> TableKey:
        """Return the table of arcs with some labels to vertices with some labels."""
        every = labels is None or len(set(labels)) == self.edge_labels
        target = targets[0] if self.by_target and targets is not None and len(targets) == 1 else None
        return TableKey(direction, None if every else labels, where, target, self.form)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Compared:
    """Columns that a candidate is compared with: it must differ from some, and be greater than others."""

    distinct: tuple[int, ...] = ()
    after: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SetProgram:
    """Candidates that one row has for one or more query vertices (``pvm::CandidateSet``).

    Parameters
    ----------
    table
        Index of the table of rows.
    source
        Column of the vertex of the row.
    label
        Label of the candidates, if rows are grouped by labels; None: the whole row is read.
    labels
        Labels of which candidates have one, if the row has others; None if it has not.
    ascends
        Whether the candidates ascend.
    narrowing
        Filter of the candidates.
    members
        Number of query vertices.
    common, own
        Comparisons of all members, and of each.
    order_count
        Number of orders in which a combination is given to the members.
    orders
        These orders: for each, the position of each member; none if there are too many members to make them.
    signature
        The bits that candidates of all members have, if candidates are filtered by them.
    """

    table: int
    source: int
    label: int | None
    labels: Codes
    ascends: bool
    narrowing: VertexFilter | None
    members: int
    common: Compared
    own: tuple[Compared, ...]
    order_count: int
    orders: tuple[tuple[int, ...], ...]
    signature: Signature | None = None


@dataclass(frozen=True, slots=True)
class TestProgram:
    """A query edge between two columns, and the table with its arcs: its index, and whether it is grouped.

    Or two columns between which there must be no arc (`absent`).
    """

    table: int
    source: int
    target: int
    grouped: bool
    absent: bool = False


@dataclass(frozen=True, slots=True)
class ExtensionProgram:
    """An extension phase.

    Parameters
    ----------
    tables
        The tables that it reads.
    root
        Labels, filter and signature of the vertices that it begins with; None for all phases but the first.
    sets
        One or two sets of candidates.
    tuples
        Whether members of one set may have the same candidate.
    nested
        Whether loops over candidates are nested as in algorithm 6.
    less, different
        For each member, the members before it whose candidates must be less, and different.
    out
        Where each column of the output comes from: a column of the input, or `MEMBER` plus the number of a
        member.
    of
        Numbers of the phases of the plan: the extension, and elimination phases that follow.
    tests
        Absent arcs of this phase, then query edges of elimination phases that follow at once, between columns
        and members as in `out`.
    own_tests
        Number of tests of this phase.
    following
        The last phase, if this one counts its extensions; its columns are those of `out`.
    """

    tables: tuple[TableKey, ...]
    root: tuple[Codes, VertexFilter | None, Signature | None] | None
    sets: tuple[SetProgram, ...]
    tuples: bool
    less: tuple[tuple[int, ...], ...]
    different: tuple[tuple[int, ...], ...]
    out: tuple[int, ...]
    of: tuple[int, ...]
    tests: tuple[TestProgram, ...] = ()
    own_tests: int = 0
    nested: bool = False
    following: ExtensionProgram | None = None

    @property
    def shape(self) -> ExtensionShape:
        """Numbers of members of both sets."""
        second = self.sets[1].members if len(self.sets) > 1 else 0
        return ExtensionShape(self.sets[0].members, second, self.tuples, self.nested)

    @property
    def follows_from_sizes(self) -> bool:
        """Whether the number of extensions follows from the numbers of candidates not in the embedding."""
        return not any((*self.less, *self.different, self.own_tests)) and all(
            one.labels is None
            and one.narrowing is None
            and one.signature is None
            and not any(own.distinct or own.after for own in one.own)
            and (one.ascends or not one.common.after)
            for one in self.sets
        )

    @property
    def width(self) -> int:
        """Number of columns of the output."""
        return len(self.out)

    @property
    def most_rows(self) -> int:
        """Most rows of an item."""
        most = 1
        for one in self.sets:
            most *= one.order_count
        return most


@dataclass(frozen=True, slots=True)
class EliminationProgram:
    """An elimination phase.

    Parameters
    ----------
    tables, tests
        As `ExtensionProgram` has them; tests are between columns of the input.
    kept
        Columns of the input that become the columns of the output.
    of
        Number of the phase of the plan.
    """

    tables: tuple[TableKey, ...]
    kept: tuple[int, ...]
    tests: tuple[TestProgram, ...]
    of: tuple[int, ...]

    @property
    def width(self) -> int:
        """Number of columns of the output."""
        return len(self.kept)

    @property
    def most_rows(self) -> int:
        """Most rows of an embedding."""
        return 1


Program: TypeAlias = ExtensionProgram | EliminationProgram


@dataclass(frozen=True, slots=True)
class Programs:
    """The phases of a search.

    Parameters
    ----------
    phases
        They, in order.
    output
        Column of each query vertex in the last frontier, if embeddings are listed.
    """

    phases: tuple[Program, ...]
    output: tuple[int, ...]

    @property
    def tables(self) -> tuple[TableKey, ...]:
        """All tables, each once."""
        return tuple(dict.fromkeys(key for phase in self.phases for key in phase.tables))


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
    own: Sequence[_Test],
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
class _Test:
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

    def ways(self) -> Iterator[_Test]:
        """Yield the test, and its reverse if that is the same one."""
        yield self
        if self.reverse is not None:
            yield replace(self, source=self.target, target=self.source, key=self.reverse, reverse=self.key)


@dataclass(frozen=True, slots=True)
class _Tests:
    """Query edges that are tested by one kernel, and those that are tested later."""

    now: tuple[_Test, ...]
    rest: tuple[_Test, ...]

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
        own: Sequence[_Test],
        *,
        nested: bool = False,
    ) -> tuple[ExtensionProgram, tuple[int, ...]]:
        """Return an extension phase, and the query vertices of its output's columns."""
        return _extension(at, phase, columns, later, self.layout, self.signatures, own, nested=nested)

    def own_tests(
        self, phase: Extension, labels: Mapping[int, Codes]
    ) -> tuple[tuple[_Test, ...], tuple[_Test, ...]]:
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
        now: list[_Test] = []
        rest: list[_Test] = []
        for test in tests:
            fits = len(tables | {test.key}) <= self.most_tables and len(now) < MOST_TESTS
            fits &= not self.is_tiled(test.key)
            if fits:
                tables.add(test.key)
            (now if fits else rest).append(test)
        return tuple(now), tuple(rest)

    def tests(self, phase: Elimination, labels: Mapping[int, Codes]) -> tuple[_Test, ...]:
        """Return the tests of an elimination phase."""
        required = (self._test(edge, phase.partitions, labels) for edge in phase.required)
        return *required, *(self._absent(pair, phase.partitions, labels) for pair in phase.forbidden)

    def parts(self, tests: Sequence[_Test]) -> Iterator[_Tests]:
        """Yield tests in parts: those of few tables, and those of single rows in tiles."""
        tables = [key for key in dict.fromkeys(test.key for test in tests) if not self.is_tiled(key)]
        parts = [
            [test for test in tests if test.key in tables[first : first + self.most_tables]]
            for first in range(0, len(tables), self.most_tables)
        ]
        parts = [
            part[first : first + MOST_TESTS] for part in parts for first in range(0, len(part), MOST_TESTS)
        ]
        parts += _of_single_rows([test for test in tests if self.is_tiled(test.key)], self.is_tiled)
        for at, part in enumerate(parts):
            yield _Tests(tuple(part), tuple(test for later in parts[at + 1 :] for test in later))

    def _absent(self, pair: tuple[int, int], partitions: Codes, labels: Mapping[int, Codes]) -> _Test:
        edge = EdgeTest(*pair, either=False, where=None)
        return self._test(edge, partitions, labels, absent=True)

    def _test(
        self, edge: EdgeTest, partitions: Codes, labels: Mapping[int, Codes], *, absent: bool = False
    ) -> _Test:
        reverse = None
        if edge.either or not self.layout.directed:
            reverse = self._key(replace(edge, source=edge.target, target=edge.source), partitions, labels)
        return _Test(edge.source, edge.target, self._key(edge, partitions, labels), absent, reverse)

    def _key(self, edge: EdgeTest, partitions: Codes, labels: Mapping[int, Codes]) -> TableKey:
        either = edge.either or not self.layout.directed
        direction = Direction.EITHER if either else Direction.OUT
        return self.layout.table(direction, partitions, edge.where, labels[edge.target])


def _of_single_rows(tests: Sequence[_Test], is_tiled: Callable[[TableKey], bool]) -> list[list[_Test]]:
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
