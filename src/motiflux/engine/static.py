"""The public calls that search a graph that does not change: count, match."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import NDArray

from motiflux.arguments import check_integer
from motiflux.engine.base import Ran, make_request
from motiflux.engine.dispatch import choose_engine, start_rows
from motiflux.engine.images import Block
from motiflux.engine.planning import plan_for
from motiflux.engine.progress import NO_PROGRESS, Progress, progress_callback
from motiflux.engine.results import Count, Matches, NoRows, RowSource, StoresRows
from motiflux.engine.row_columns import RowColumns
from motiflux.engine.several import as_patterns, count_each
from motiflux.errors import ArgumentError
from motiflux.graph import Graph
from motiflux.pattern import Pattern, as_pattern

if TYPE_CHECKING:
    from motiflux.device.arrays import DeviceArray

DEFAULT_BATCH_ROWS = 65_536
MAX_BATCH_ROWS = 1 << 30


@overload
def count(  # type: ignore[overload-overlap]  # text is a sequence of texts too, but one pattern
    graph: Graph,
    pattern: Pattern | str,
    *,
    semantics: str = ...,
    symmetry: str = ...,
    device: str = ...,
    devices: str | int | Sequence[int] | None = ...,
    engine: str = ...,
    limit: int | None = ...,
    timeout: float | None = ...,
    progress: Progress = ...,
    threads: int | None = ...,
    gpu_memory: int | str | None = ...,
    tuning: Mapping[str, str] | None = ...,
) -> Count: ...
@overload
def count(
    graph: Graph,
    pattern: Sequence[Pattern | str],
    *,
    semantics: str = ...,
    symmetry: str = ...,
    device: str = ...,
    devices: str | int | Sequence[int] | None = ...,
    engine: str = ...,
    limit: int | None = ...,
    timeout: float | None = ...,
    progress: Progress = ...,
    threads: int | None = ...,
    gpu_memory: int | str | None = ...,
    tuning: Mapping[str, str] | None = ...,
) -> list[Count]: ...
def count(
    graph: Graph,
    pattern: Pattern | str | Sequence[Pattern | str],
    *,
    semantics: str = "isomorphism",
    symmetry: str = "embeddings",
    device: str = "auto",
    devices: str | int | Sequence[int] | None = None,
    engine: str = "auto",
    limit: int | None = None,
    timeout: float | None = None,
    progress: Progress = False,
    threads: int | None = None,
    gpu_memory: int | str | None = None,
    tuning: Mapping[str, str] | None = None,
) -> Count | list[Count]:
    """Count the embeddings of `pattern` in `graph`, exactly, without listing them.

    Parameters
    ----------
    pattern
        A pattern or its text; or a sequence of these, counted in one call that does common work once.
    semantics
        ``"isomorphism"`` (injective, extra data edges allowed), ``"induced"`` or ``"homomorphism"``.
    symmetry
        ``"embeddings"`` counts every map, ``"subgraphs"`` each occurrence once.
    device, engine
        Device and engine of the search; ``"auto"`` selects the one that is expected to be faster.
        ``"cuda:1"`` is the second GPU of this machine.
    devices
        Several GPUs of this machine that search together, each with a copy of the graph: ``"all"``, a number,
        or their ordinals such as ``[0, 1]``. Default: one device.
    limit
        Stop at this count: the result is min(true count, limit). With several patterns, the limit of each.
    timeout
        Seconds of wall clock for the whole call; afterwards the result so far is returned.
    progress
        True for a bar on stderr (if that is a terminal), or a function called with `ProgressReport` objects,
        which must not fork the process.
    threads
        Threads of this machine; default: as many as this process may run on.
    gpu_memory
        Maximum number of bytes that motiflux uses on each GPU, including copies of graphs: a number, or text
        such as ``"8GiB"``. Default: all free memory.
    tuning
        Ablation switches, see `motiflux.config.TUNING`.

    Returns
    -------
    Count, or list of Count
        An int with ``.complete``, ``.seconds``, ``.plan_seconds``, ``.engine``, ``.device`` and ``.reason``;
        for a sequence, a list in its order. Patterns that were searched together all have the ``.seconds`` of
        the common search.

    Raises
    ------
    ArgumentError, PatternError, DeviceError
        An argument is invalid, or a device is not available. An error in one of several patterns is raised
        before any search and starts with its position: ``pattern[2]: ...``.
    DeviceMemoryError
        The search does not fit into the memory of the GPU, or into `gpu_memory`.
    KeyboardInterrupt
        Within 100 ms of Ctrl-C; the graph stays usable.

    Examples
    --------
    >>> import motiflux as mf
    >>> square = mf.Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
    >>> triangle = mf.Pattern.from_edges([(0, 1), (1, 2), (2, 0)])
    >>> int(mf.count(square, triangle)), int(mf.count(square, triangle, symmetry="subgraphs"))
    (12, 2)
    >>> [int(number) for number in mf.count(square, [triangle, "(a)--(b)--(c)"])]
    [12, 16]
    """
    check_graph(graph)
    patterns, several = as_patterns(pattern)
    with NO_PROGRESS if progress is False else progress_callback(progress, "counting") as callback:
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
            progress=callback,
        )
        counts = count_each(graph, patterns, request, named=several)
    return counts if several else counts[0]


def match(
    graph: Graph,
    pattern: Pattern | str,
    *,
    semantics: str = "isomorphism",
    symmetry: str = "embeddings",
    device: str = "auto",
    devices: str | int | Sequence[int] | None = None,
    engine: str = "auto",
    limit: int | None = None,
    timeout: float | None = None,
    progress: Progress = False,
    threads: int | None = None,
    gpu_memory: int | str | None = None,
    tuning: Mapping[str, str] | None = None,
    batch_rows: int = DEFAULT_BATCH_ROWS,
    edges: bool = False,
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
        Maximum number of rows per batch. Memory is bounded by a few batches per thread.
    edges
        Whether to return the witness of each query edge: columns ``e0``, ``e1``, ... in the order of the
        pattern's edges, with the number of the edge in `Graph.to_edges`. If there are several witnesses, it
        is the first: an arc in the direction of the query edge before a reverse arc, then the smallest label,
        then the first copy that satisfies the condition.
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
    pattern = check_subject(graph, pattern)
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
            progress=callback,
        )
        chosen, why = choose_engine(request)
        started = time.perf_counter()
        plan = plan_for(graph, pattern, request, chosen, started, counting=False)
        layout = RowColumns(
            graph, pattern, edges=edges, attributes=attributes, names=names, threads=request.threads
        )
        planned = time.perf_counter()
        source: RowSource = NoRows(complete=plan is not None)
        ran = Ran(chosen.name, chosen.device, why)
        if plan is not None and plan.impossible is None:
            source, ran = start_rows(chosen, why, graph, plan, request, block_rows, started)
        closed = bar.pop_all()
        return Matches(
            _WithBarOnDevice(source, closed) if isinstance(source, StoresRows) else _WithBar(source, closed),
            layout,
            started=planned,
            plan_seconds=planned - started,
            engine=ran.engine,
            device=ran.device,
            reason=ran.why,
            batch_rows=block_rows,
        )


def check_subject(graph: object, pattern: object) -> Pattern:
    """Return the pattern, parsed if it is text; refuse what is no graph or no pattern."""
    check_graph(graph)
    return as_pattern(pattern)


def check_graph(graph: object) -> None:
    """Refuse what is no graph."""
    if not isinstance(graph, Graph):
        reading = ", which motiflux.read_graph reads from a file" if isinstance(graph, str) else ""
        raise ArgumentError("graph", f"a motiflux.Graph{reading}", graph)


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


class _WithBarOnDevice(_WithBar):
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
