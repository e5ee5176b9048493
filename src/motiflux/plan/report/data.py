"""What there is to tell about a plan: plain frozen data, which every way of showing it reads.

Numbers stay numbers here, and names are the pattern's and the graph's own. All of it can be pickled, compared
and turned into JSON (`motiflux.plan.report.explain.document`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from motiflux.plan.estimate.prediction import Prediction
from motiflux.types import Label

Ways = Literal["product", "falling factorial", "inclusion-exclusion", "sum", "lists"]
"""How a component of the tail is counted: by the size of its set, by the number of ways to take one vertex
after another from one set, by inclusion and exclusion over several sets, as a sum over the candidates of
what hangs from each, or as a sum over one or two lists of choices, each with the ways to choose the rest."""

Basis = Literal["samples", "frequencies"]
"""What estimates come from: random partial embeddings, or numbers of vertices and arcs by label alone."""


@dataclass(frozen=True, slots=True)
class PatternReport:
    """The pattern: its name (empty: it has none), and itself as `Pattern.parse` takes it."""

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
    """What searches, where, and why it was chosen.

    Parameters
    ----------
    expected
        What a call is expected to take by device, in seconds (None: not known), where there was a choice.
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
        Bytes that sets and rows take.
    rounds
        Rounds of consistency that were made.
    """

    candidates: tuple[tuple[str, int], ...]
    nbytes: int
    rounds: int


@dataclass(frozen=True, slots=True)
class SourceReport:
    """Rows that candidates come from.

    Parameters
    ----------
    level, vertex
        Whose rows.
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
        Its place in the matching order, from 0.
    vertex
        The query vertex that is matched.
    sources
        The rows whose common vertices are the candidates; none at level 0.
    reuse
        The level whose set it starts from, or None.
    labels
        Labels that the candidates may have; None: any.
    conditions
        What is asked of a candidate beyond that, in words.
    tail
        Whether the level is counted in closed form rather than enumerated.
    estimated
        Expected partial embeddings up to this level; None where there is no estimate.
    scanned
        Expected elements of sets read to find its candidates; None where nothing was sampled.
    actual
        Partial embeddings up to this level that a run met; None where it was not run, the level was counted
        in closed form, or the engine does not tell.
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
class TailReport:
    """A component of the tail: levels whose vertices might coincide. The components' numbers multiply.

    Parameters
    ----------
    levels, vertices
        The levels, and their query vertices.
    ways
        How it is counted.
    sets
        A number for each level, the same for levels with the same set.
    divisor
        What the number of ways is divided by: the orders of levels that symmetry breaking orders.
    under
        The query vertices from which it hangs, the outermost first; empty for the parts of the tail itself.
        It is counted for each of their images.
    remembered
        Whether its numbers, with those of what else hangs there, are remembered.
    lists
        Of pairs of lists: the query vertices in which each piece meets others.
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
    """What a run gave and took.

    Parameters
    ----------
    count
        The result.
    complete
        Whether nothing was cut; if not, sizes of steps are what was met until then.
    seconds, plan_seconds
        Seconds of the search, and of planning (nearly none where the plan was known).
    note
        Why there are no actual sizes of steps; None where there are.
    """

    count: int
    complete: bool
    seconds: float
    plan_seconds: float
    note: str | None = None


@dataclass(frozen=True, slots=True)
class GroupReport:
    """Query vertices that an engine may match together, and whether all have one set of candidates."""

    vertices: tuple[str, ...]
    one_set: bool


@dataclass(frozen=True, slots=True)
class PlanReport:
    """A plan, what is expected of it and, after a run, what came of it.

    Parameters
    ----------
    pattern, graph
        What is looked for, and where.
    semantics, symmetry
        What was asked for.
    engine
        What searches.
    automorphisms
        Order of the pattern's automorphism group.
    restrictions
        Pairs of query vertices (u, v) whose images satisfy u < v.
    multiplier
        How many embeddings each one found stands for.
    images
        How many embeddings each one found is handed out as where they are listed.
    space
        The candidate space, or None.
    no_space
        Why there is none; None where there is one.
    basis
        What the estimates come from; None where there are none.
    steps
        The levels of the search; none where it is known that nothing matches.
    groups
        Query vertices that an engine may match together.
    tail
        How the last levels are counted; empty where all are enumerated.
    impossible
        Why nothing matches, where that is known without a search.
    tables
        How the count is put together from tables of local counts, a line each, the last one the result;
        empty where it is searched for.
    free_order
        ``"always"`` where the order of levels changes from one partial embedding to the next, ``"later"``
        where it does once the search finds little; None where it stays.
    predicted
        What is expected of a run; None where it is known that nothing matches.
    actual
        What a run gave; None where there was none.
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
    free_order: Literal["always", "later"] | None
    tables: tuple[str, ...] = ()
    images: int = 1
    predicted: Prediction | None = None
    actual: Actual | None = None
