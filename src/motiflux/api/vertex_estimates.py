"""The public calls `estimate_per_vertex` and `estimate_top`: counts at each vertex by sampling."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from math import ldexp

import numpy as np
from numpy.typing import NDArray

from motiflux import log
from motiflux.api.subject import GraphLike, subject_of
from motiflux.arguments import check_integer
from motiflux.cpu.sampling import sample_graph
from motiflux.errors import ArgumentError, MotifluxError
from motiflux.graph import Graph
from motiflux.pattern import Pattern, PatternLike
from motiflux.pattern.automorphism import automorphisms
from motiflux.plan.candidates.space import max_space_bytes
from motiflux.plan.image_counts import orbit_of
from motiflux.request.deadline import Deadline
from motiflux.request.request import Request, make_request
from motiflux.result.vertex_estimates import EstimatedTop, Floats, VertexEstimates
from motiflux.sampling.random_trees import Trees
from motiflux.sampling.samplers import plan_samples
from motiflux.statistics import GROUP
from motiflux.statistics.shares import certainly_among, share_intervals
from motiflux.types import Symmetry
from motiflux.words import SemanticsName, SymmetryName

MAX_SEED = 2**64 - 1
MAX_SAMPLES = 2**40
_PIECE = 1 << 18
_FIRST_LOOK = 1 << 16


def estimate_per_vertex(
    graph: GraphLike,
    pattern: PatternLike,
    by: str | int,
    *,
    samples: int = 1_000_000,
    confidence: float = 0.95,
    simultaneous: bool = False,
    semantics: SemanticsName = "isomorphism",
    symmetry: SymmetryName = "embeddings",
    threads: int | None = None,
    timeout: float | None = None,
    seed: int = 0,
    tuning: Mapping[str, str] | None = None,
) -> VertexEstimates:
    """Estimate, for each vertex, the number of embeddings that map a query vertex to it, with an interval.

    Homomorphisms of a spanning tree of the pattern are drawn uniformly, and their number is known. The share
    of samples that are embeddings and map the query vertex to a vertex, times this number, is an unbiased
    estimate of its count.

    Parameters
    ----------
    by
        The query vertex: its name, or its position in the pattern.
    samples
        Number of samples, rounded up to groups of 32.
    confidence
        Confidence level of the intervals.
    simultaneous
        All intervals hold together with this confidence (Bonferroni's correction for the number of vertices
        that may be images); else each interval does.
    semantics, symmetry
        As for `count_per_vertex`.
    threads
        Threads of this machine; default: as many as this process may run on.
    timeout
        Seconds of wall clock for the whole call; afterwards the samples so far are used.
    seed
        Equal seeds give equal estimates for any number of threads, except after a timeout.
    tuning
        Ablation switches, see `motiflux.config.TUNING`.

    Returns
    -------
    VertexEstimates
        ``.value``, ``.low`` and ``.high``, float64 [vertices], in the order of ``.ids``; ``.top(k)``.

    Raises
    ------
    ArgumentError, PatternError
        An argument is invalid.
    MotifluxError
        The numbers of trees do not fit into memory.
    KeyboardInterrupt
        Within 100 ms of Ctrl-C.

    Examples
    --------
    >>> import motiflux as mf
    >>> star = mf.Graph.from_edges([("hub", leaf) for leaf in "abcdefgh"] + [("a", "b")])
    >>> found = mf.estimate_per_vertex(star, "(x)--(y)--(z)", by="y", samples=100_000)
    >>> found["hub"].low <= 56 <= found["hub"].high
    True
    """
    wanted = check_integer("samples", samples, 1, MAX_SAMPLES)
    sampling = _Sampling.of(
        graph, pattern, by, confidence, semantics, symmetry, threads, timeout, seed, tuning
    )
    hits = sampling.draw(wanted)
    result = sampling.estimates(hits, wanted, 1 - confidence, simultaneous=simultaneous)
    log.ENGINE.info("estimates per vertex of %s: %r", sampling.pattern, result)
    return result


def estimate_top(
    graph: GraphLike,
    pattern: PatternLike,
    by: str | int,
    k: int = 20,
    *,
    samples: int = 100_000_000,
    confidence: float = 0.95,
    semantics: SemanticsName = "isomorphism",
    symmetry: SymmetryName = "embeddings",
    threads: int | None = None,
    timeout: float | None = None,
    seed: int = 0,
    tuning: Mapping[str, str] | None = None,
) -> EstimatedTop:
    """Return the `k` vertices to which about the most embeddings map a query vertex, with a guarantee.

    Samples are drawn until the `k` greatest counts are certain, or until there are `samples`. With
    probability `confidence`, all rows whose ``.certain`` is true are among the `k` greatest counts.

    Parameters
    ----------
    k
        Number of vertices, 1 or more.
    samples
        The largest number of samples.
    confidence
        Of the guarantee, over all rows and all looks at the samples: the j-th look, after 65,536 samples and
        each time as many again, spends ``1 / (j (j + 1))`` of the allowed error.
    by, semantics, symmetry, threads, timeout, seed, tuning
        As for `estimate_per_vertex`.

    Returns
    -------
    EstimatedTop
        A list of rows with ``.id``, ``.value``, ``.low``, ``.high`` and ``.certain``, greatest first.

    Raises
    ------
    ArgumentError, PatternError
        An argument is invalid.
    MotifluxError
        The numbers of trees do not fit into memory.
    KeyboardInterrupt
        Within 100 ms of Ctrl-C.

    Examples
    --------
    >>> import motiflux as mf
    >>> star = mf.Graph.from_edges([("hub", leaf) for leaf in "abcdefgh"] + [("a", "b")])
    >>> [(row.id, row.certain) for row in mf.estimate_top(star, "(x)--(y)--(z)", by="y", k=1)]
    [('hub', True)]
    """
    k = check_integer("k", k, 1)
    most = check_integer("samples", samples, 1, MAX_SAMPLES)
    sampling = _Sampling.of(
        graph, pattern, by, confidence, semantics, symmetry, threads, timeout, seed, tuning
    )
    look, wanted = 1, min(_FIRST_LOOK, most)
    while True:
        hits = sampling.draw(wanted)
        error = (1 - confidence) / (look * (look + 1))
        found = sampling.estimates(hits, wanted, error, simultaneous=True)
        settled = int(certainly_among(found.low, found.high, k).sum()) >= min(k, len(found))
        if settled or wanted >= most or not found.complete:
            break
        look, wanted = look + 1, min(2 * wanted, most)
    result = found.top(k)
    result.confidence = confidence
    log.ENGINE.info("estimated top of %s: %d samples", sampling.pattern, found.samples)
    return result


@dataclass
class _Sampling:
    """Samples of one query vertex, drawn in pieces."""

    graph: Graph
    pattern: Pattern
    place: int
    confidence: float
    request: Request
    deadline: Deadline
    seed: int
    divisor: int
    drawn: int = 0
    valid: int = 0
    trees: Trees | None = None
    number: float = 0.0
    level: int = 0
    allowed: NDArray[np.bool_] | None = None
    hits: NDArray[np.int64] | None = None
    late: bool = False

    @classmethod
    def of(
        cls,
        graph: GraphLike,
        pattern: PatternLike,
        by: str | int,
        confidence: float,
        semantics: SemanticsName,
        symmetry: SymmetryName,
        threads: int | None,
        timeout: float | None,
        seed: int,
        tuning: Mapping[str, str] | None,
    ) -> _Sampling:
        """Check the arguments of a call, and prepare the samples."""
        data, query = subject_of(graph, pattern)
        names = [vertex.name for vertex in query.vertices]
        place = _place(by, names)
        seed = check_integer("seed", seed, 0, MAX_SEED)
        if not isinstance(confidence, (int, float)) or not 0 < confidence < 1:
            raise ArgumentError("confidence", "a number between 0 and 1", confidence)
        request = make_request(
            semantics=semantics,
            symmetry=symmetry,
            device="cpu",
            timeout=timeout,
            threads=threads,
            tuning=tuning,
        )
        divisor = 1
        if request.symmetry is Symmetry.SUBGRAPHS:
            group = automorphisms(query, directed=data.directed)
            divisor = group.order // len(orbit_of((place,), group))
        request = make_request(
            semantics=semantics,
            symmetry="embeddings",
            device="cpu",
            timeout=timeout,
            threads=threads,
            tuning=tuning,
        )
        deadline = Deadline.after(request.timeout)
        made = cls(data, query, place, confidence, request, deadline, seed, divisor)
        made._prepare()
        return made

    def _prepare(self) -> None:
        self.hits = np.zeros(self.graph.num_vertices, np.int64)
        self.allowed = np.zeros(self.graph.num_vertices, np.bool_)
        try:
            plan = plan_samples(self.graph, self.pattern, self.request, self.deadline.at)
            if plan.impossible is not None:
                return
            candidates = sample_graph(self.graph, plan, self.request.threads, self.deadline.at)
            if candidates.tree_bytes > max_space_bytes(self.graph):
                raise MotifluxError("the numbers of trees to sample from do not fit into memory")
            mantissa, exponent = candidates.grow_tree(self.deadline.left())
        except TimeoutError:
            self.late = True
            self.allowed[:] = True
            return
        self.level = plan.order.index(self.place)
        members = candidates.members(self.level)
        if members is None and self.level == 0:
            members = candidates.roots
        self.allowed[slice(None) if members is None else members] = True
        self.number = ldexp(mantissa, exponent)
        if mantissa != 0:
            self.trees = Trees(self.graph, plan, self.request, candidates, self.seed)

    def draw(self, wanted: int) -> NDArray[np.int64]:
        """Draw until there are `wanted` samples; return the number of hits of each vertex."""
        assert self.hits is not None
        while self.trees is not None and self.drawn < wanted and not self.late:
            asked = GROUP * -(-min(_PIECE, wanted - self.drawn) // GROUP)
            rows, drawn = self.trees.draw(self.drawn, asked, asked + 1, self.deadline.left())
            self.drawn += drawn
            self.valid += len(rows)
            self.hits += np.bincount(rows[:, self.level], minlength=len(self.hits))
            self.late = drawn < asked
        return self.hits

    def estimates(
        self, hits: NDArray[np.int64], wanted: int, error: float, *, simultaneous: bool
    ) -> VertexEstimates:
        """Return the estimates of these hits; the intervals are allowed this error."""
        assert self.allowed is not None
        vertices = len(hits)
        possible = int(self.allowed.sum())
        value: Floats = np.zeros(vertices)
        low: Floats = np.zeros(vertices)
        high: Floats = np.zeros(vertices)
        if self.drawn:
            factor = self.number / self.divisor
            shares = share_intervals(hits, self.drawn, error / max(1, possible) if simultaneous else error)
            value = hits.astype(np.float64) * (factor / self.drawn)
            low, high = shares[0] * factor, shares[1] * factor
            high[hits == 0] = np.floor(high[hits == 0])  # counts are integers
            high[~self.allowed] = 0.0
        elif self.late:
            high[self.allowed] = np.inf
        return VertexEstimates(
            graph=self.graph,
            pattern=self.pattern,
            query_vertex=self.pattern.vertices[self.place].name,
            value=value,
            low=low,
            high=high,
            confidence=self.confidence,
            simultaneous=simultaneous,
            samples=self.drawn,
            valid=self.valid,
            complete=not self.late and (self.trees is None or self.drawn >= wanted),
            seconds=time.perf_counter() - self.deadline.started,
        )


def _place(by: str | int, names: list[str]) -> int:
    if isinstance(by, str) and by in names:
        return names.index(by)
    if isinstance(by, (int, np.integer)) and not isinstance(by, bool) and 0 <= by < len(names):
        return int(by)
    raise ArgumentError("by", f"the name or position of a query vertex ({', '.join(names)})", by)
