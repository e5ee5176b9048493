"""Phases as kernels run them: columns of frontiers for query vertices, tables of rows for labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from motiflux.codegen.pvm import ExtensionShape
from motiflux.gpu.pvm.row_tables import RowForm, TableKey
from motiflux.gpu.pvm.signatures import Signature
from motiflux.graph import Direction, VertexFilter
from motiflux.plan.bind import Codes


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
