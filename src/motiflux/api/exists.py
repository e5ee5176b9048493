"""The public call `exists`: whether there is a match."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from motiflux.api.projecting import count_projected
from motiflux.api.subject import GraphLike, data_graph
from motiflux.pattern import Query, QueryLike, as_query
from motiflux.pattern.projection import Projection
from motiflux.request.deadline import Deadline
from motiflux.request.progress import FoundSoFar, Progress, progress_callback
from motiflux.request.request import make_request
from motiflux.result.existence import Existence
from motiflux.words import DeviceName, SemanticsName


def exists(
    graph: GraphLike,
    pattern: QueryLike,
    *,
    semantics: SemanticsName = "isomorphism",
    device: DeviceName = "auto",
    devices: str | int | Sequence[int] | None = None,
    engine: str = "auto",
    timeout: float | None = None,
    progress: Progress = False,
    threads: int | None = None,
    gpu_memory: int | str | None = None,
    tuning: Mapping[str, str] | None = None,
) -> Existence:
    """Return whether `pattern` occurs in `graph`: the search ends at the first embedding, on the CPU.

    Parameters
    ----------
    pattern
        A pattern or a query, as for `count`.
    timeout
        Seconds of wall clock for the whole call. If none was found until then, ``.complete`` is False.
    semantics, device, devices, engine, progress, threads, gpu_memory, tuning
        As for `count`.

    Returns
    -------
    Existence
        True or false in conditions, with ``.complete``, ``.seconds``, ``.plan_seconds`` and ``.reason``.

    Raises
    ------
    ArgumentError, PatternError
        An argument is invalid.
    KeyboardInterrupt
        Within 100 ms of Ctrl-C; the graph stays usable.

    Examples
    --------
    >>> import motiflux as mf
    >>> ring = mf.Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)], directed=True)
    >>> bool(mf.exists(ring, "(a)-->(b)-->(c)-->(d)-->(a)")), bool(mf.exists(ring, "(a)-->(b)-->(a)"))
    (True, False)
    """
    query = as_query(pattern)
    data = data_graph(graph)
    with progress_callback(progress, "searching") as callback:
        request = make_request(
            semantics=semantics,
            symmetry="embeddings",
            device=device,
            devices=devices,
            engine=engine,
            timeout=timeout,
            threads=threads,
            gpu_memory=gpu_memory,
            tuning=tuning,
            progress=None if callback is None else FoundSoFar(callback),
        )
        deadline = Deadline.after(request.timeout)
        if isinstance(query, Query):
            from motiflux.api.queries.distinct import count_distinct  # only queries need it

            found = count_distinct(data, query, Projection(()), request, deadline)
        else:
            found = count_projected(data, query, Projection(()), request, deadline)
    return Existence(
        found=found > 0,
        complete=found.complete,
        seconds=found.seconds,
        plan_seconds=found.plan_seconds,
        engine=found.engine,
        device=found.device,
        reason=found.reason,
    )
