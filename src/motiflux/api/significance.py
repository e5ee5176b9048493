"""The public call `significance`: counts beside those of random graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from motiflux import log
from motiflux.api.census import census, checked_directions, checked_size
from motiflux.api.counting import count
from motiflux.api.null_graphs import MAX_NULLS, MAX_SEED, Rewiring, check_model, check_swaps, relabelled
from motiflux.api.subject import GraphLike, data_graph
from motiflux.arguments import check_integer
from motiflux.cpu.null_models import Mixing, mixing, null_bins, simple_wiring
from motiflux.errors import ArgumentError
from motiflux.graph import Graph
from motiflux.pattern import Pattern, PatternLike, as_pattern
from motiflux.plan.census import classes, induced_counts
from motiflux.request.deadline import Deadline
from motiflux.request.progress import Progress, progress_callback
from motiflux.request.reports import ProgressCallback, ProgressReport
from motiflux.request.request import Request, make_request
from motiflux.result.significance import Significance, null_table
from motiflux.statistics.hypotheses import ALTERNATIVES, CORRECTIONS
from motiflux.words import SemanticsName, SymmetryName

Subject = int | PatternLike | Sequence[PatternLike] | Mapping[str, PatternLike]
"""The size of a census; or a pattern, several, or several by name."""


def significance(
    graph: GraphLike,
    subject: Subject = 3,
    *,
    nulls: int = 1000,
    model: str = "degrees",
    reciprocal: bool = False,
    keep_labels: bool = False,
    swaps: float | None = None,
    alternative: str = "two-sided",
    correction: str = "benjamini-hochberg",
    connected: bool = True,
    directed: bool | None = None,
    semantics: SemanticsName = "isomorphism",
    symmetry: SymmetryName = "subgraphs",
    seed: int = 0,
    timeout: float | None = None,
    progress: Progress = False,
    threads: int | None = None,
) -> Significance:
    """Compare the census of a graph, or its counts of patterns, with those of random graphs.

    Parameters
    ----------
    subject
        3 or 4: the census of sets of so many vertices, without regard to labels. Or a pattern, a sequence of
        patterns, or a mapping of names to patterns.
    nulls
        The number of random graphs. The least p-value is ``1 / (nulls + 1)``, two-sided twice that.
    model, reciprocal, keep_labels, swaps
        The random graphs, as for `null_graph`. A census takes ``model="degrees"`` only.
    alternative
        ``"more"``, ``"less"`` or ``"two-sided"``: which counts are extreme.
    correction
        Of the p-values, for the number of tests: ``"benjamini-hochberg"``, ``"holm"``, ``"bonferroni"`` or
        ``"none"``.
    connected, directed
        A census only: leave out subgraphs that are not connected; as for `census`.
    semantics, symmetry
        Patterns only: as for `count`.
    seed
        Equal seeds give equal random graphs, whatever the number of threads.
    timeout
        Seconds of wall clock; afterwards the random graphs so far are used, and ``.complete`` is False.
    progress, threads
        As for `count`. Random graphs are made and counted on all threads.

    Returns
    -------
    Significance
        With ``.observed``, ``.mean``, ``.deviation``, ``.z``, ``.p`` and ``.adjusted``.

    Raises
    ------
    ArgumentError, PatternError
        An argument is invalid.
    KeyboardInterrupt
        Within 100 ms of Ctrl-C; the graph stays usable.

    Examples
    --------
    >>> import motiflux as mf
    >>> ring = mf.Graph.from_edges([(v, (v + d) % 30) for v in range(30) for d in (1, 2)], directed=True)
    >>> found = mf.significance(ring, {"loop": "(a)-->(b)-->(c)-->(a)"}, nulls=50, seed=1)
    >>> found["loop"].observed, len(found.null_counts)
    (0, 50)
    """
    data = data_graph(graph)
    nulls = check_integer("nulls", nulls, 1, MAX_NULLS)
    seed = check_integer("seed", seed, 0, MAX_SEED)
    proposals = check_swaps(swaps)
    check_model(model)
    for name, value, known in (
        ("alternative", alternative, ALTERNATIVES),
        ("correction", correction, CORRECTIONS),
    ):
        if value not in known:
            raise ArgumentError(name, f"one of {', '.join(known)}", value)
    with progress_callback(progress, "counting random graphs") as callback:
        request = make_request(
            semantics=semantics, symmetry=symmetry, device="cpu", timeout=timeout, threads=threads
        )
        call = _Call(data, request, Deadline.after(request.timeout), nulls, seed, proposals, callback)
        if not isinstance(subject, (str, Pattern, Sequence, Mapping)):
            if model != "degrees":
                raise ArgumentError("model", "degrees: a census ignores labels", model)
            found = _of_census(
                call,
                checked_size(subject),
                checked_directions(data, directed),
                connected,
                reciprocal,
                keep_labels,
            )
        else:
            patterns = _patterns(subject)
            found = _of_patterns(call, patterns, model, reciprocal, keep_labels)
    rows, names, every, observed, complete, mixed = found
    result = Significance(
        names=names,
        classes=every,
        observed=observed,
        null_counts=null_table(rows, len(names)),
        model=model,
        directed=checked_directions(data, directed) if every else data.directed,
        alternative=alternative,
        correction=correction,
        complete=complete and len(rows) == nulls,
        proposals=0.0 if mixed is None else mixed.proposals,
        swaps=0.0 if mixed is None else mixed.swaps,
        mixed=None if mixed is None or proposals is not None else mixed.mixed,
        seconds=call.deadline.elapsed(),
    )
    log.ENGINE.info("significance in %r: %r", data, result)
    return result


class _Call:
    """What all kinds of calls share."""

    def __init__(
        self,
        graph: Graph,
        request: Request,
        deadline: Deadline,
        nulls: int,
        seed: int,
        proposals: float | None,
        report: ProgressCallback | None,
    ) -> None:
        self.graph, self.request, self.deadline = graph, request, deadline
        self.nulls, self.seed, self.proposals = nulls, seed, proposals
        self._report = report

    def tell(self, done: int, total: int) -> None:
        """Report the number of random graphs that are done."""
        if self._report is not None:
            self._report(ProgressReport(done, total, 0, self.deadline.elapsed()))

    @property
    def progress(self) -> Callable[[int, int], None] | None:
        """`tell`, if anyone listens."""
        return None if self._report is None else self.tell

    def mixing(self, wiring: Any) -> Mixing | None:
        """Return the number of swaps of each random graph; None if late."""
        if self.proposals is not None:
            return Mixing(self.proposals, 0.0, 0.0, mixed=False)
        return mixing(wiring, self.seed, self.deadline)


_Found = tuple[list[Any], tuple[str, ...], Any, tuple[int, ...], bool, Mixing | None]


def _of_census(
    call: _Call, size: int, directed: bool, connected: bool, reciprocal: bool, keep_labels: bool
) -> _Found:
    graph, threads = call.graph, call.request.threads
    own = census(
        graph, size, directed=directed, connected=connected, timeout=call.deadline.left(), threads=threads
    )
    every = classes(size, directed).all
    chosen = [at for at, one in enumerate(every) if one.connected or not connected]
    wiring = simple_wiring(
        graph, directed=directed, reciprocal=reciprocal, keep_labels=keep_labels, threads=threads
    )
    mixed = call.mixing(wiring) if own.complete else None
    rows: list[Any] = []
    if mixed is not None:
        bins, swaps = null_bins(
            wiring, mixed.proposals, call.seed, call.nulls, size, threads, call.deadline, call.progress
        )
        mixed = Mixing(mixed.proposals, swaps, mixed.kept, mixed.mixed)
        rows = list(induced_counts(bins, size, directed, graph.num_vertices)[:, chosen])
    return rows, own.names, own.classes, own.counts, own.complete, mixed


def _of_patterns(
    call: _Call, patterns: Mapping[str, Pattern], model: str, reciprocal: bool, keep_labels: bool
) -> _Found:
    observed, complete = _counts(call, call.graph, patterns)
    mixed: Mixing | None = None
    rewiring = Rewiring(call.graph, reciprocal=reciprocal, keep_labels=keep_labels)
    if model == "degrees" and complete:
        mixed = call.mixing(rewiring.wiring)
        complete = mixed is not None
    rows: list[Any] = []
    swaps = 0
    while complete and len(rows) < call.nulls:
        if mixed is None:
            graph = relabelled(call.graph, call.seed, len(rows))
        else:
            made = rewiring.graph(mixed.proposals, call.seed, len(rows), call.deadline)
            if made is None:
                break
            graph, done = made
            swaps += done
        counts, whole = _counts(call, graph, patterns)
        if not whole:
            break
        rows.append(counts)
        call.tell(len(rows), call.nulls)
    if mixed is not None:
        each = swaps / max(1, len(rows) * len(rewiring.wiring[3]))
        mixed = Mixing(mixed.proposals, each, mixed.kept, mixed.mixed)
    return rows, tuple(patterns), None, observed, complete, mixed


def _counts(call: _Call, graph: Graph, patterns: Mapping[str, Pattern]) -> tuple[tuple[int, ...], bool]:
    """Return the counts of all patterns, and whether all are complete."""
    request = call.request
    found = count(
        graph,
        list(patterns.values()),
        semantics=request.semantics.value,
        symmetry=request.symmetry.value,
        device="cpu",
        threads=request.threads,
        timeout=call.deadline.left(),
    )
    return tuple(int(one) for one in found), all(one.complete for one in found)


def _patterns(subject: Any) -> dict[str, Pattern]:
    if isinstance(subject, Mapping):
        named = {str(name): as_pattern(one) for name, one in subject.items()}
    else:
        several = [subject] if isinstance(subject, (str, Pattern)) else list(subject)
        made = [as_pattern(one) for one in several]
        named = {str(one): one for one in made}
        if len(named) < len(made):
            raise ArgumentError("subject", "different patterns", subject)
    if not named:
        raise ArgumentError("subject", "3, 4, or at least one pattern", subject)
    return named
