"""Reports on plans: frozen data, which all output formats read.

Names are the names in the pattern and the graph. Reports can be pickled, compared and turned into JSON
(`motiflux.plan.report.explain.document`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from motiflux.plan.estimate.prediction import Prediction
from motiflux.types import Label

Ways = Literal["product", "falling factorial", "inclusion-exclusion", "sum", "lists"]
"""The method that counts a component of the tail.

* ``product``: by the size of its set.
* ``falling factorial``: by the number of ways to choose different vertices from one set.
* ``inclusion-exclusion``: by inclusion and exclusion over several sets.
* ``sum``: as a sum over the candidates; each term is the product of the parts under the vertex.
* ``lists``: as a sum over one or two lists of choices, each with the number of ways to choose the rest.
"""

Basis = Literal["samples", "frequencies"]
"""The source of estimates: random partial embeddings, or numbers of vertices and arcs by label."""


@dataclass(frozen=True, slots=True)
class PatternReport:
    """The pattern: its name (empty without one), and its text for `Pattern.parse`."""

    name: str
    text: str
    vertices: int
    edges: int


@dataclass(frozen=True, slots=True)
class GraphReport:
    """The data graph."""

    vertices: int
    edges: int
    directed: bool


@dataclass(frozen=True, slots=True)
class EngineReport:
    """The engine, its device, and the reason for the choice.

    Parameters
    ----------
    expected
        Expected seconds of the call by device (None: not known), if there was a choice.
    """

    name: str
    device: str
    reason: str
    expected: tuple[tuple[str, float | None], ...] = ()


@dataclass(frozen=True, slots=True)
class SpaceReport:
    """The candidate space.

    Parameters
    ----------
    candidates
        The name of each query vertex and its number of candidates, in the pattern's order.
    nbytes
        Bytes of sets and rows.
    rounds
        Rounds of filtering by neighbours.
    """

    candidates: tuple[tuple[str, int], ...]
    nbytes: int
    rounds: int


@dataclass(frozen=True, slots=True)
class SourceReport:
    """Rows that contain candidates.

    Parameters
    ----------
    level, vertex
        The level and the query vertex whose image has the rows.
    arcs
        How an arc leads to the candidates: ``neighbours`` in an undirected graph, else ``out``, ``in`` or
        ``either``.
    edge_labels
        Labels that the arcs may have; None: any.
    where
        The condition on the arcs' attributes; None: none.
    """

    level: int
    vertex: str
    arcs: str
    edge_labels: tuple[Label, ...] | None = None
    where: str | None = None


@dataclass(frozen=True, slots=True)
class StepReport:
    """One level of the search.

    Parameters
    ----------
    level
        Position in the matching order, from 0.
    vertex
        The query vertex that is matched.
    sources
        The rows whose intersection is the candidates; none at level 0.
    reuse
        The level whose intersection is reused, or None.
    labels
        Labels that the candidates may have; None: any.
    conditions
        Further conditions on a candidate, as text.
    tail
        Whether the level is counted in closed form rather than enumerated.
    estimated
        Expected partial embeddings up to this level; None without an estimate.
    scanned
        Expected set elements read to find its candidates; None without sampling.
    actual
        Partial embeddings up to this level in a run; None without a run, for levels counted in closed form,
        and for engines that do not report them.
    """

    level: int
    vertex: str
    sources: tuple[SourceReport, ...]
    reuse: int | None
    labels: tuple[Label, ...] | None
    conditions: tuple[str, ...]
    tail: bool
    estimated: float | None
    scanned: float | None
    actual: int | None = None


@dataclass(frozen=True, slots=True)
class PhaseReport:
    """One phase of a search in phases.

    Parameters
    ----------
    number
        Position among the phases, from 1.
    vertices
        The query vertices that it matches, in matching order; none for a phase that removes embeddings.
    matching_pattern
        The number of its matching pattern (GENEVA, figure 1); None for a phase that removes embeddings.
    partitions
        Labels of the partitions of edges that it reads; None: all edges.
    text
        What it does, as text.
    estimated
        Expected embeddings after it.
    actual
        Embeddings after it in a run; None without a run, and if the phase counted them by a formula.
    """

    number: int
    vertices: tuple[str, ...]
    matching_pattern: int | None
    partitions: tuple[Label, ...] | None
    text: str
    estimated: float | None
    actual: int | None = None


@dataclass(frozen=True, slots=True)
class TailReport:
    """A component of the tail: levels whose vertices might coincide. The numbers of components multiply.

    Parameters
    ----------
    levels, vertices
        The levels, and their query vertices.
    ways
        The method that counts it.
    sets
        A number for each level, the same for levels with the same set.
    divisor
        Divisor of the number of choices: the number of orders of levels that symmetry breaking orders.
    under
        The query vertices under which the component is counted, once for each of their images, the outermost
        first; empty for components of the tail itself.
    remembered
        Whether the numbers of the components under one vertex are cached.
    lists
        For each list: the query vertices whose images may coincide with vertices of other pieces.
    """

    levels: tuple[int, ...]
    vertices: tuple[str, ...]
    ways: Ways
    sets: tuple[int, ...]
    divisor: int
    under: tuple[str, ...] = ()
    remembered: bool = False
    lists: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Actual:
    """The result and the times of a run.

    Parameters
    ----------
    count
        The result.
    complete
        Whether the run was not stopped early; if it was, the sizes of steps are those until then.
    seconds, plan_seconds
        Seconds of the search, and of planning (almost none for a cached plan).
    note
        The reason if there are no actual sizes of steps, else None.
    copied
        Bytes of rows that the run copied to its devices; None if the engine does not count them.
    """

    count: int
    complete: bool
    seconds: float
    plan_seconds: float
    note: str | None = None
    copied: int | None = None


@dataclass(frozen=True, slots=True)
class GroupReport:
    """Query vertices that an engine may match together, and whether all have one set of candidates."""

    vertices: tuple[str, ...]
    one_set: bool


@dataclass(frozen=True, slots=True)
class TermReport:
    """A count that is added (sign 1) or subtracted (-1) some times, its pattern and the expected seconds."""

    sign: int
    pattern: str
    seconds: float | None
    times: int = 1

    @classmethod
    def of(cls, factor: int, pattern: str, seconds: float | None) -> TermReport:
        """Return the report of a count that is multiplied by a factor."""
        return cls(-1 if factor < 0 else 1, pattern, seconds, abs(factor))


@dataclass(frozen=True, slots=True)
class RowsReport:
    """Distinct rows that the search finds instead of embeddings.

    Parameters
    ----------
    returned
        The query vertices of the columns.
    thresholds
        Conditions on the number of images of other query vertices, as text.
    existential
        The query vertices of which one witness is enough.
    group
        The query vertices at the start of the order that rows have: rows are compared with rows of the same
        images of these.
    kept
        Whether the rows of such a group are kept, to tell which were found.
    nbytes
        If all rows are listed, and the different ones kept where the call is made: the most bytes of memory
        that a row takes there, with the images that decide its thresholds. None: the search finds each once.
    """

    returned: tuple[str, ...]
    thresholds: tuple[str, ...]
    existential: tuple[str, ...]
    group: tuple[str, ...]
    kept: bool
    nbytes: int | None = None


@dataclass(frozen=True, slots=True)
class PlanReport:
    """A plan with predictions and, after a run, its results.

    Parameters
    ----------
    pattern, graph
        The pattern and the data graph.
    semantics, symmetry
        Options of the call.
    engine
        The engine.
    automorphisms
        Order of the pattern's automorphism group.
    restrictions
        Pairs of query vertices (u, v) whose images satisfy u < v.
    multiplier
        Factor by which the number of embeddings found is multiplied.
    images
        Number of rows that each embedding found yields when embeddings are listed.
    space
        The candidate space, or None.
    no_space
        The reason if there is none, else None.
    basis
        The source of the estimates; None without estimates.
    steps
        The levels of the search; none for an empty plan, and for a search in phases.
    phases
        The phases of a search in phases; empty for another search.
    groups
        Query vertices that an engine may match together.
    tail
        How the last levels are counted; empty if all are enumerated.
    impossible
        The reason if it is known without a search that nothing matches, else None.
    tables
        The tables of local counts from which the count is computed, a line each, the last one the result;
        empty for a search.
    free_order
        ``"always"`` if the matching order is adaptive, ``"later"`` if it becomes adaptive once the search
        finds little, ``"copies"`` if the search goes from copy to copy of edges, ``"pairs"`` if it goes from
        pair to pair of vertices in an order of edges, ``"wedges"`` if it gathers the paths over the last
        vertex first; None if it is fixed.
    terms
        Counts whose signed sum is the count, instead of the search; empty for none.
    rows
        The distinct rows that are searched; None where embeddings are.
    idle
        Why some negated edges exclude nothing, such as a label that the graph does not have.
    copies
        Whether choices of copies are counted, and not embeddings.
    predicted
        Predictions of a run; None for an empty plan.
    actual
        Results of a run; None without one.
    """

    pattern: PatternReport
    graph: GraphReport
    semantics: str
    symmetry: str
    engine: EngineReport
    automorphisms: int
    restrictions: tuple[tuple[str, str], ...]
    multiplier: int
    space: SpaceReport | None
    no_space: str | None
    basis: Basis | None
    steps: tuple[StepReport, ...]
    groups: tuple[GroupReport, ...]
    tail: tuple[TailReport, ...]
    impossible: str | None
    free_order: Literal["always", "later", "copies", "pairs", "wedges"] | None
    tables: tuple[str, ...] = ()
    phases: tuple[PhaseReport, ...] = ()
    images: int = 1
    terms: tuple[TermReport, ...] = ()
    rows: RowsReport | None = None
    idle: tuple[str, ...] = ()
    copies: bool = False
    predicted: Prediction | None = None
    actual: Actual | None = None
