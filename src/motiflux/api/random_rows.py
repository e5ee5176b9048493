"""The public call `sample`: embeddings drawn uniformly at random.

Rows of several patterns are mixed as their trees are drawn: each sample is a tree of one of them, chosen in
proportion to their numbers of trees, so all embeddings are equally likely.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from motiflux.api.counting import count
from motiflux.api.queries.induced import without_induced
from motiflux.api.queries.random_parts import Part, parts_of_pattern, parts_of_query
from motiflux.api.subject import GraphLike, data_graph
from motiflux.arguments import check_integer
from motiflux.cpu.sampling import sample_graph
from motiflux.errors import MotifluxError
from motiflux.graph import Graph
from motiflux.pattern import Pattern, Query, QueryLike, as_query
from motiflux.plan.candidates.space import max_space_bytes
from motiflux.request.elsewhere import doing_elsewhere
from motiflux.request.request import Request, make_request
from motiflux.result.columns import RowColumns
from motiflux.result.matches import Matches
from motiflux.result.queries.columns import QueryColumns
from motiflux.result.rows import NoRows, RowSource
from motiflux.sampling.random_trees import Trees
from motiflux.sampling.samplers import plan_samples
from motiflux.statistics import GROUP
from motiflux.types import VertexArray
from motiflux.words import DeviceName, SemanticsName, SymmetryName

MAX_ROWS = 2**40
MAX_SEED = 2**64 - 1

_PIECE = (1 << 12, 1 << 22)
_MARGIN = 1.2
_STEP = 0x9E3779B97F4A7C15
"""Between the seeds of the patterns of a query: odd, so that no two are equal."""
_DOUBTFUL = 1 << 20
"""Samples without an embedding after which a search tests whether there is one."""


def sample(
    graph: GraphLike,
    pattern: QueryLike,
    k: int,
    *,
    semantics: SemanticsName = "isomorphism",
    symmetry: SymmetryName = "embeddings",
    device: DeviceName = "auto",
    threads: int | None = None,
    timeout: float | None = None,
    gpu_memory: int | str | None = None,
    seed: int = 0,
    tuning: Mapping[str, str] | None = None,
) -> Matches:
    """Draw `k` embeddings of `pattern` in `graph` uniformly at random, with replacement.

    Homomorphisms of a spanning tree of the pattern are drawn uniformly; embeddings of the whole pattern are
    kept. If few of them are embeddings, this takes long; a `timeout` then returns the rows found so far.

    Parameters
    ----------
    graph, pattern
        The data graph; a pattern, a connected query, or its text. Rows of a query are as `motiflux.match`
        returns them, each with the same probability, whichever of its patterns it is of.
    k
        Number of rows.
    semantics
        As for `motiflux.match`.
    symmetry
        ``"subgraphs"`` draws occurrences uniformly and returns one embedding of each.
    device
        Device that draws trees. A GPU only finds the trees that are embeddings, if there are few; the rows
        are the same. If a very large number of trees contains no embedding, this device also searches for
        one.
    threads
        Threads of this machine; default: as many as this process may run on.
    timeout
        Seconds of wall clock, including the time of the caller between batches.
    gpu_memory
        Bytes of device memory that motiflux may hold, such as ``"8GiB"``.
    seed
        The same seed gives the same rows, on any device and number of threads.
    tuning
        Ablation switches, see `motiflux.config.TUNING`.

    Returns
    -------
    Matches
        Rows in the order in which they were drawn; none if nothing matches. ``.complete`` is true if there
        are `k` rows, or if nothing matches.

    Raises
    ------
    ArgumentError, PatternError
        An argument is invalid.
    MotifluxError
        The numbers of trees do not fit into memory.

    Examples
    --------
    >>> import motiflux as mf
    >>> g = mf.Graph.from_edges([(0, 1), (1, 2), (2, 0), (2, 3)])
    >>> rows = mf.sample(g, "(a)--(b)--(c)--(a)", 1000).to_numpy()
    >>> rows.shape, len(set(map(tuple, rows.tolist())))
    ((1000, 3), 6)
    """
    query, graph = as_query(pattern), data_graph(graph)
    wanted = check_integer("k", k, 0, MAX_ROWS)
    seed = check_integer("seed", seed, 0, MAX_SEED)
    request = make_request(
        semantics=semantics,
        symmetry=symmetry,
        device=device,
        timeout=timeout,
        threads=threads,
        gpu_memory=gpu_memory,
        tuning=tuning,
    )
    started = time.perf_counter()
    layout: RowColumns | QueryColumns
    if isinstance(query, Query):
        query, request = without_induced(query, request, directed=graph.directed)
        parts, layout = parts_of_query(graph, query, request)
    else:
        parts = parts_of_pattern(graph, query, request)
        layout = RowColumns(graph, query, edges=False, attributes=(), names=False, threads=request.threads)
    source: RowSource = NoRows(complete=False)
    where, why = "cpu", "nothing was sampled"
    deadline = None if request.timeout is None else started + request.timeout
    with suppress(TimeoutError):
        draws = [Draws(graph, part, request, at, seed, deadline) for at, part in enumerate(parts)]
        if all(one.impossible for one in draws) or wanted == 0:
            source = NoRows(complete=True)
        else:
            source = rows = _RandomRows(graph, query, draws, request, wanted, seed, deadline)
            where, why = rows.device, rows.reason
    planned = time.perf_counter()
    return Matches(
        source,
        layout,
        started=planned,
        plan_seconds=planned - started,
        engine="sampling",
        device=where,
        reason=why,
    )


class Draws:
    """Rows of trees of one pattern that are embeddings.

    Parameters
    ----------
    number
        Its place among the patterns of a query.

    Attributes
    ----------
    impossible
        Whether nothing can match.
    late
        Whether there was no time to count its trees.
    trees
        Their number, as a fraction and the power of two that it is multiplied by.
    """

    def __init__(
        self, graph: Graph, part: Part, request: Request, number: int, seed: int, deadline: float | None
    ) -> None:
        plan = plan_samples(graph, part.pattern, request, deadline)
        self.part = part
        self.impossible = plan.impossible is not None
        self.late = False
        self.trees = 0.0, 0
        self.drawn = 0
        if self.impossible:
            return
        candidates = sample_graph(graph, plan, request.threads, deadline)
        if candidates.tree_bytes > max_space_bytes(graph):
            raise MotifluxError("the numbers of trees to sample from do not fit into memory")
        self.source = Trees(graph, plan, request, candidates, (seed + number * _STEP) % (MAX_SEED + 1))
        self._columns = np.argsort(np.array(plan.order))
        try:
            self.trees = candidates.grow_tree(left_until(deadline))
        except TimeoutError:
            self.late = True

    def draw(self, samples: int, rows: int, deadline: float | None) -> tuple[VertexArray, int]:
        """Return the rows of the next `samples` trees, whole groups, and the number of trees.

        There may be fewer trees if the time is over, or if they have `rows` rows.
        """
        kept = self.part.kept
        wanted = rows if kept is None else samples  # of those found, some are dropped
        found, drawn = self.source.draw(self.drawn, samples, wanted, left_until(deadline))
        self.drawn += drawn
        found = np.ascontiguousarray(found[:, self._columns])
        return found if kept is None else kept(found), drawn


def left_until(deadline: float | None) -> float | None:
    """Return the seconds until a moment of `time.perf_counter`."""
    return None if deadline is None else max(0.0, deadline - time.perf_counter())


class _RandomRows:
    """Rows of the trees of one pattern or several."""

    def __init__(
        self,
        graph: Graph,
        query: Pattern | Query,
        draws: Sequence[Draws],
        request: Request,
        wanted: int,
        seed: int,
        deadline: float | None,
    ) -> None:
        self._graph, self._query, self._request = graph, query, request
        self._draws = [one for one in draws if one.trees[0] > 0]
        self._deadline = deadline
        self._random = np.random.default_rng(seed)
        late = any(one.late for one in draws)
        self._none = not self._draws or late
        self._left = wanted
        self._samples = 0
        self._rows = 0
        self.complete = self._none and not late
        self.device, self.reason = "cpu", "nothing was sampled"
        if not self._none:
            self._shares = _shares(self._draws)
            for one in self._draws:
                one.source.choose(wanted, left_until(deadline))
            first = self._draws[0].source
            self.device, self.reason = first.device, first.reason

    def next(self) -> VertexArray | None:
        """Return rows in internal ids, or None at the end."""
        while self._left > 0 and not self._none:
            asked = self._piece()
            if len(self._draws) == 1:
                rows, samples = self._draws[0].draw(asked, self._left, self._deadline)
            else:
                rows, samples = self._mixed(asked)
            self._samples += samples
            self._rows += len(rows)
            given = rows[: self._left]
            self._left -= len(given)
            self.complete = self._left == 0
            if samples < asked and self._left > 0:
                self._none = True  # the time is over: these rows are the last
            elif self._rows == 0 and self._samples >= _DOUBTFUL:
                self._look_for_one()
            if len(given):
                return np.ascontiguousarray(given)
        return None

    def _mixed(self, samples: int) -> tuple[VertexArray, int]:
        """Return the rows of some samples, each of a tree of any pattern, in random order.

        Trees are drawn in whole groups. Of those of a group that are too many, rows are left out at random:
        as many as the trees left out would have. If the time is over, there are no rows.
        """
        rows: list[VertexArray] = []
        for one, number in zip(self._draws, self._random.multinomial(samples, self._shares), strict=True):
            if number == 0:
                continue
            trees = GROUP * -(-int(number) // GROUP)
            found, drawn = one.draw(trees, trees, self._deadline)
            if drawn < trees:
                return found[:0], 0
            chosen = int(self._random.hypergeometric(len(found), drawn - len(found), number))
            rows.append(found[self._random.permutation(len(found))[:chosen]])
        together = np.concatenate(rows)
        return together[self._random.permutation(len(together))], samples

    def _piece(self) -> int:
        """Return the number of samples to draw for the missing rows: whole groups."""
        least, most = _PIECE
        if len(self._draws) == 1:  # else rows would depend on the device
            least = max(least, GROUP * self._draws[0].source.least_piece)
        wanted: float = self._samples
        if self._rows > 0:
            wanted = _MARGIN * self._left * self._samples / self._rows
        return GROUP * math.ceil(max(least, min(most, wanted)) / GROUP)

    def _look_for_one(self) -> None:
        """Search for an embedding: if there is none, end the rows."""
        request = self._request
        with doing_elsewhere(request.elsewhere):
            found = count(
                self._graph,
                self._query,
                semantics=request.semantics.value,
                device=request.device,
                gpu_memory=request.gpu_memory,
                limit=1,
                timeout=left_until(self._deadline),
                threads=request.threads,
            )
        if found == 0 and found.complete:
            self._none = self.complete = True
        self._rows = max(self._rows, 1)  # not again

    def close(self) -> None:
        """Stop drawing."""
        self._left = 0
        for one in self._draws:
            one.source.close()


def _shares(draws: Sequence[Draws]) -> NDArray[np.float64]:
    """Return the probability of each pattern: its number of trees, over that of embeddings of a row."""
    greatest = max(exponent for one in draws for exponent in one.trees[1:])
    trees = [math.ldexp(one.trees[0], one.trees[1] - greatest) / one.part.each for one in draws]
    return np.array(trees) / math.fsum(trees)
