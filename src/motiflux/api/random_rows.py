"""The public call `sample`: embeddings drawn uniformly at random."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from contextlib import suppress

import numpy as np

from motiflux.api.counting import count
from motiflux.api.subject import GraphLike, subject_of
from motiflux.arguments import check_integer
from motiflux.cpu.sampling import sample_graph
from motiflux.errors import MotifluxError
from motiflux.graph import Graph
from motiflux.pattern import Pattern, PatternLike
from motiflux.plan import Plan
from motiflux.plan.candidates.space import max_space_bytes
from motiflux.request.request import Request, make_request
from motiflux.result.columns import RowColumns
from motiflux.result.matches import Matches
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
_DOUBTFUL = 1 << 20
"""Samples without an embedding after which a search tests whether there is one."""


def sample(
    graph: GraphLike,
    pattern: PatternLike,
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
        The data graph; a pattern or its text.
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
    graph, pattern = subject_of(graph, pattern)
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
    layout = RowColumns(graph, pattern, edges=False, attributes=(), names=False, threads=request.threads)
    source: RowSource = NoRows(complete=False)
    where, why = "cpu", "nothing was sampled"
    deadline = None if request.timeout is None else started + request.timeout
    with suppress(TimeoutError):
        plan = plan_samples(graph, pattern, request, deadline)
        if plan.impossible is not None or wanted == 0:
            source = NoRows(complete=True)
        else:
            source = rows = _RandomRows(graph, pattern, plan, request, wanted, seed, deadline)
            where, why = rows.trees.device, rows.trees.reason
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


class _RandomRows:
    """Rows of trees that are embeddings; `TimeoutError` if the time is over before the first draw."""

    def __init__(
        self,
        graph: Graph,
        pattern: Pattern,
        plan: Plan,
        request: Request,
        wanted: int,
        seed: int,
        deadline: float | None,
    ) -> None:
        self._graph, self._pattern, self._request = graph, pattern, request
        self._candidates = sample_graph(graph, plan, request.threads, deadline)
        if self._candidates.tree_bytes > max_space_bytes(graph):
            raise MotifluxError("the numbers of trees to sample from do not fit into memory")
        self.trees = Trees(graph, plan, request, self._candidates, seed)
        self._deadline = deadline
        self._none = self._has_no_tree()
        self._columns = np.argsort(np.array(plan.order))
        self._left = wanted
        self._samples = 0
        self._rows = 0
        self.complete = self._none and not self._late
        if not self._none:
            self.trees.choose(wanted, self._time_left())

    def _has_no_tree(self) -> bool:
        """Return whether there is no tree, or no time to count trees."""
        self._late = False
        try:
            return self._candidates.grow_tree(self._time_left())[0] == 0
        except TimeoutError:
            self._late = True
            return True

    def next(self) -> VertexArray | None:
        """Return rows in internal ids, or None at the end."""
        while self._left > 0 and not self._none:
            asked = self._piece()
            rows, samples = self.trees.draw(self._samples, asked, self._left, self._time_left())
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
                return np.ascontiguousarray(given[:, self._columns])
        return None

    def _piece(self) -> int:
        """Return the number of samples to draw for the missing rows: whole groups."""
        least, most = max(_PIECE[0], GROUP * self.trees.least_piece), _PIECE[1]
        wanted: float = self._samples
        if self._rows > 0:
            wanted = _MARGIN * self._left * self._samples / self._rows
        return GROUP * math.ceil(max(least, min(most, wanted)) / GROUP)

    def _time_left(self) -> float | None:
        return None if self._deadline is None else max(0.0, self._deadline - time.perf_counter())

    def _look_for_one(self) -> None:
        """Search for an embedding: if there is none, end the rows."""
        request = self._request
        found = count(
            self._graph,
            self._pattern,
            semantics=request.semantics.value,
            device=request.device,
            gpu_memory=request.gpu_memory,
            limit=1,
            timeout=self._time_left(),
            threads=request.threads,
        )
        if found == 0 and found.complete:
            self._none = self.complete = True
        self._rows = max(self._rows, 1)  # not again

    def close(self) -> None:
        """Stop drawing."""
        self._left = 0
        self.trees.close()
