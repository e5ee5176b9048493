"""The public call `match`: the rows of all embeddings."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from motiflux import log
from motiflux.api.subject import GraphLike, subject_of
from motiflux.arguments import check_integer
from motiflux.dispatch.choose import begin_first_call, choose_engine
from motiflux.errors import ArgumentError
from motiflux.pattern import PatternLike
from motiflux.request.deadline import Deadline
from motiflux.request.engine import Ran
from motiflux.request.progress import FoundSoFar, Progress, expect, progress_callback
from motiflux.request.request import make_request
from motiflux.result.choices import ChoiceRows, Choices
from motiflux.result.columns import RowColumns
from motiflux.result.images import Block
from motiflux.result.matches import Matches
from motiflux.result.rows import NoRows, RowSource, StoresRows
from motiflux.words import DeviceName, SemanticsName, SymmetryName

if TYPE_CHECKING:
    from motiflux.device.arrays import DeviceArray

DEFAULT_BATCH_ROWS = 65_536
MAX_BATCH_ROWS = 1 << 30


def match(
    graph: GraphLike,
    pattern: PatternLike,
    *,
    semantics: SemanticsName = "isomorphism",
    symmetry: SymmetryName = "embeddings",
    device: DeviceName = "auto",
    devices: str | int | Sequence[int] | None = None,
    engine: str = "auto",
    limit: int | None = None,
    timeout: float | None = None,
    progress: Progress = False,
    threads: int | None = None,
    gpu_memory: int | str | None = None,
    tuning: Mapping[str, str] | None = None,
    batch_rows: int = DEFAULT_BATCH_ROWS,
    edges: bool | Literal["all"] = False,
    attributes: Sequence[str] = (),
    names: bool = False,
) -> Matches:
    """List the embeddings of `pattern` in `graph`, in batches, as they are found.

    Parameters
    ----------
    limit
        Maximum number of rows.
    timeout
        Seconds of wall clock, including the time of the caller between batches.
    batch_rows
        Maximum number of rows per batch. Memory is bounded by a few batches per thread, and with
        ``edges="all"`` and comparisons by the choices of one embedding.
    edges
        Whether to return the witness of each query edge: columns ``e0``, ``e1``, ... in the order of the
        pattern's edges, with the number of the edge in `Graph.to_edges`. If there are several witnesses, it
        is the first: an arc in the direction of the query edge before a reverse arc, then the smallest label,
        then the first copy that satisfies the condition. With comparisons between attributes, the witnesses
        are the first choice of copies that satisfies them all. ``"all"``: a row for each choice of a copy of
        every query edge that satisfies all conditions and comparisons; `limit` is the number of these rows.
    attributes
        Attributes to add to tables, in columns such as ``v0.country`` or ``e1.amount``. A name selects the
        attribute of all vertices and edges that have it, ``"v0.country"`` or ``"a.country"`` of one vertex.
        ``"label"`` is the label, and ``"row"`` the position of the edge's copy in `Graph.edge_attributes`.
        Edge attributes need ``edges=True``.
    names
        Whether columns have the names of the pattern's vertices and edges instead of ``v0`` and ``e0``.

    The other parameters and the errors are those of `count`.

    Returns
    -------
    Matches
        Iterate over it for arrays [rows, k] of external ids.

    Examples
    --------
    >>> import motiflux as mf
    >>> g = mf.Graph.from_edges([("ann", "bob"), ("bob", "cy")], directed=True)
    >>> mf.match(g, mf.Pattern.from_edges([(0, 1), (1, 2)])).to_numpy()
    array([['ann', 'bob', 'cy']], dtype='<U3')
    >>> paths = mf.Graph.from_edges([(1, 2), (2, 3)], directed=True)
    >>> mf.match(paths, "(a)-->(b)-->(c)", edges=True).to_numpy()
    array([[1, 2, 3, 0, 1]])
    """
    graph, pattern = subject_of(graph, pattern)
    block_rows = check_integer("batch_rows", batch_rows, 1, MAX_BATCH_ROWS)
    bar = contextlib.ExitStack()
    callback = bar.enter_context(progress_callback(progress, "matching"))
    with bar:
        request = make_request(
            semantics=semantics,
            symmetry=symmetry,
            device=device,
            devices=devices,
            engine=engine,
            limit=limit,
            timeout=timeout,
            threads=threads,
            gpu_memory=gpu_memory,
            tuning=tuning,
            progress=None if callback is None else FoundSoFar(callback),
        )
        # Its time begins when the device is open; nothing is planned before if that is limited.
        planning = Deadline.after(None) if request.timeout is None else None
        begin_first_call(graph, [pattern], request, planning, counting=False)
        if edges not in (True, False, "all"):
            raise ArgumentError("edges", "True, False or 'all'", edges)
        chosen, why = choose_engine(request, patterns=[pattern])
        deadline = Deadline.after(request.timeout)
        physical = chosen.plan(graph, pattern, request, deadline, counting=False)
        choosing = edges == "all" or bool(edges and pattern.comparisons)
        layout = RowColumns(
            graph,
            pattern,
            edges=bool(edges),
            attributes=attributes,
            names=names,
            choices=choosing,
            threads=request.threads,
        )
        planned = time.perf_counter()
        source: RowSource = NoRows(complete=False)
        ran = Ran(chosen.name, chosen.device, why)
        if physical is not None:
            expect(request.progress, [physical.plan], request.limit)
            source, other = chosen.rows(graph, physical, request, block_rows, deadline)
            ran = other or ran
            if choosing:
                choices = Choices(graph, pattern, every=edges == "all")
                source = ChoiceRows(source, choices, request.limit)
        log.PLAN.debug("%s: %s", pattern, physical)
        log.ENGINE.info(
            "rows of %s: engine %s, device %s (%s), planning %.3g s",
            *(pattern, ran.engine, ran.device, ran.why, planned - deadline.started),
        )
        closed = bar.pop_all()
        return Matches(
            _WithBarOnDevice(source, closed) if isinstance(source, StoresRows) else _WithBar(source, closed),
            layout,
            started=planned,
            plan_seconds=planned - deadline.started,
            engine=ran.engine,
            device=ran.device,
            reason=ran.why,
            batch_rows=block_rows,
            limit=request.limit,
        )


class _WithBar:
    """Rows whose end also ends the progress bar."""

    def __init__(self, source: RowSource, bar: contextlib.ExitStack) -> None:
        self._source = source
        self._bar = bar

    def next(self) -> Block | None:
        block = self._source.next()
        if block is None:
            self._bar.close()
        return block

    def close(self) -> None:
        self._source.close()
        self._bar.close()

    @property
    def complete(self) -> bool:
        return self._source.complete


class _WithBarOnDevice(_WithBar, StoresRows):
    """The same where rows may stay on the device."""

    def __init__(self, source: StoresRows, bar: contextlib.ExitStack) -> None:
        super().__init__(source, bar)
        self._stored = source

    def widen(self, rows: int) -> None:
        self._stored.widen(rows)

    def next_on_device(self, ids: NDArray[np.int64]) -> DeviceArray | None:
        array = self._stored.next_on_device(ids)
        if array is None:
            self._bar.close()
        return array
