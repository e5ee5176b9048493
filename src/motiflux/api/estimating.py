"""The public call `estimate`: the number of embeddings by sampling, with a confidence interval."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import overload

from motiflux import log
from motiflux.api.counting import count
from motiflux.api.pattern_list import as_queries, naming_pattern
from motiflux.api.queries.estimates import Estimating, by_kinds, estimate_query, estimate_sum
from motiflux.api.subject import GraphLike, data_graph
from motiflux.arguments import check_integer
from motiflux.cpu.sampling import ESTIMATORS
from motiflux.cpu.trawling import LEAST_DEPTH
from motiflux.errors import ArgumentError
from motiflux.io.files.progress import is_shown, meter
from motiflux.pattern import Pattern, Query, QueryLike
from motiflux.request.policy import SamplingPolicy
from motiflux.request.progress import found_text
from motiflux.request.reports import ProgressReport
from motiflux.request.request import make_request
from motiflux.result.estimate import Estimate, EstimateCallback, EstimateCounting, EstimateProgress
from motiflux.result.partial import partial_result, replace_partial
from motiflux.sampling.call import EstimateCall
from motiflux.sampling.estimation import run_estimate
from motiflux.sampling.results import exact_estimate
from motiflux.sampling.stopping import Rules, make_rules
from motiflux.units import quantity
from motiflux.words import DeviceName, SemanticsName, SymmetryName

EstimateShown = bool | Callable[[EstimateProgress], None]
"""Type of the `progress` argument."""

MAX_SEED = 2**64 - 1


@overload
def estimate(  # type: ignore[overload-overlap]  # text is a sequence of texts too, but one pattern
    graph: GraphLike,
    pattern: QueryLike,
    *,
    rel_error: float | None = ...,
    confidence: float = ...,
    samples: int | None = ...,
    estimator: str | SamplingPolicy = ...,
    semantics: SemanticsName = ...,
    symmetry: SymmetryName = ...,
    device: DeviceName = ...,
    threads: int | None = ...,
    timeout: float | None = ...,
    gpu_memory: int | str | None = ...,
    seed: int = ...,
    progress: EstimateShown = ...,
    tuning: Mapping[str, str] | None = ...,
) -> Estimate: ...
@overload
def estimate(
    graph: GraphLike,
    pattern: Sequence[QueryLike],
    *,
    rel_error: float | None = ...,
    confidence: float = ...,
    samples: int | None = ...,
    estimator: str | SamplingPolicy = ...,
    semantics: SemanticsName = ...,
    symmetry: SymmetryName = ...,
    device: DeviceName = ...,
    threads: int | None = ...,
    timeout: float | None = ...,
    gpu_memory: int | str | None = ...,
    seed: int = ...,
    progress: EstimateShown = ...,
    tuning: Mapping[str, str] | None = ...,
) -> list[Estimate]: ...
def estimate(
    graph: GraphLike,
    pattern: QueryLike | Sequence[QueryLike],
    *,
    rel_error: float | None = None,
    confidence: float = 0.95,
    samples: int | None = None,
    estimator: str | SamplingPolicy = "auto",
    semantics: SemanticsName = "isomorphism",
    symmetry: SymmetryName = "embeddings",
    device: DeviceName = "auto",
    threads: int | None = None,
    timeout: float | None = None,
    gpu_memory: int | str | None = None,
    seed: int = 0,
    progress: EstimateShown = False,
    tuning: Mapping[str, str] | None = None,
) -> Estimate | list[Estimate]:
    """Estimate the number of embeddings of `pattern` in `graph` by sampling, with a confidence interval.

    Without a named estimator, a short exact count of patterns of four vertices or more runs first
    (``count_first`` in `motiflux.config.TUNING`), and a longer one if sampling is expected to take long; if
    one finishes, the result is exact. If few samples are embeddings, searches support them (``trawling``).

    Parameters
    ----------
    graph, pattern
        The data graph; a pattern or its text, a `Query` or its text, or a sequence of these. The estimate of
        a query is the sum of independent estimates of its patterns, each with the options of the call;
        `samples` are divided among them.
    rel_error
        Stop at this relative error (`Estimate.relative_error`). Without `rel_error` and `samples`: at 0.05,
        or after about a million samples.
    confidence
        Confidence level of the interval.
    samples
        Number of samples; with `rel_error`, the maximum. Rounded up to groups of 32.
    estimator
        ``"wanderjoin"``, ``"alley"`` (gSWORD, section 2.2), ``"tree"`` (candidate trees, after FaSTest), or
        ``"auto"``: a short exact count, then the estimator that is best on a few samples. On a GPU, also a
        `SamplingPolicy`.
    semantics
        ``"isomorphism"``, ``"induced"`` or ``"homomorphism"``, as for `motiflux.count`.
    symmetry
        ``"embeddings"``, or ``"subgraphs"``: divided by the number of automorphisms.
    device
        ``"cpu"``, ``"cuda"``, or ``"auto"``: start on the CPU, and switch to a GPU if the remaining samples
        are expected to finish earlier there. The samples are the same.
    threads
        Threads of this machine; default: as many as this process may run on.
    timeout
        Seconds of wall clock for the whole call. The estimate of the samples so far is still unbiased.
    gpu_memory
        Bytes of device memory that motiflux may hold, such as ``"8GiB"``.
    seed
        Random seed: the same seed gives the same estimate on any device and number of threads, except with a
        timeout.
    progress
        True for a bar (on a terminal and in notebooks), or a function called with `EstimateProgress`.
    tuning
        Ablation switches, see `motiflux.config.TUNING`: ``sample_order``, ``inheritance``, ``candidates``...

    Returns
    -------
    Estimate, or list of Estimate
        With ``.value``, ``.low``, ``.high``; for a sequence, a list in its order. If no sample is an
        embedding, the value is 0 and ``.high`` is an upper bound. If there certainly is no embedding, the
        value is an exact 0.

    Raises
    ------
    ArgumentError, PatternError, DeviceError
        An argument is invalid, or the device is not available.
    KeyboardInterrupt
        Within 100 ms of Ctrl-C; the graph stays usable.

    Examples
    --------
    >>> import motiflux as mf
    >>> g = mf.Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
    >>> found = mf.estimate(g, "(a)--(b)--(c)--(a)", samples=10_000)
    >>> found.low <= 12 <= found.high
    True
    """
    queries, several = as_queries(pattern)
    graph = data_graph(graph)
    rules = make_rules(rel_error, confidence, samples)
    _check_estimator(estimator, device)
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
    found: list[Estimate] = []
    for position, query in enumerate(queries):
        with naming_pattern(position if several else None), shown_progress(progress, rules) as callback:
            estimating = Estimating(graph, request, rules, estimator, seed, callback, started)
            try:
                if isinstance(query, Query):
                    found.append(estimate_query(query, estimating, _estimate))
                else:
                    found.append(_estimate(query, estimating))
            except KeyboardInterrupt as stop:
                if several:
                    last = partial_result(stop)
                    replace_partial(stop, [*found, *([] if last is None else [last])] or None)
                raise
    return found if several else found[0]


def _estimate(pattern: Pattern, call: Estimating) -> Estimate:
    """Return the estimate of one pattern, whose negated edges may be of several kinds."""
    if len(pattern.negated) > 1 and len(parts := by_kinds(pattern, call)) > 1:
        return estimate_sum(parts, call, _sampled)
    return _sampled(pattern, call)


def _sampled(pattern: Pattern, call: Estimating) -> Estimate:
    """Return the estimate of one pattern, whose negated edges are of one kind."""
    whole = EstimateCall(
        call.graph, pattern, call.request, call.rules, call.estimator, call.seed, time.perf_counter()
    )
    too_small = call.request.tuning["trawling"] == "on" and pattern.num_vertices <= LEAST_DEPTH
    if too_small and (found := _count(whole)) is not None:
        return found
    return _logged(pattern, run_estimate(replace(whole, callback=call.callback)))


def _logged(pattern: Pattern, found: Estimate) -> Estimate:
    """Return an estimate, logged."""
    log.ENGINE.info(
        "estimate of %s: %g in [%g, %g], estimator %s, device %s (%s), %d samples, %.3g s",
        *(pattern, found.value, found.low, found.high, found.estimator, found.device, found.reason),
        *(found.samples, found.seconds),
    )
    return found


def _check_estimator(estimator: str | SamplingPolicy, device: str) -> None:
    names = f"one of auto, {', '.join(ESTIMATORS)}"
    if not isinstance(estimator, SamplingPolicy):
        if estimator not in ("auto", *ESTIMATORS):
            raise ArgumentError("estimator", names, estimator)
    elif device in ("auto", "cpu"):
        expected = f"{names} on the CPU (a policy of your own is compiled for a GPU: device='cuda')"
        raise ArgumentError("estimator", expected, estimator.name)


def _count(call: EstimateCall) -> Estimate | None:
    """Return the exact count of a pattern that is too small to be trawled; None after a timeout."""
    request = call.request
    found = count(
        call.graph,
        call.pattern,
        semantics=request.semantics,
        symmetry=request.symmetry,
        device="cpu",
        threads=request.threads,
        timeout=call.seconds_left(),
    )
    return exact_estimate(int(found), found.plan_seconds, found.seconds) if found.complete else None


@contextlib.contextmanager
def shown_progress(progress: EstimateShown, rules: Rules) -> Iterator[EstimateCallback | None]:
    """Yield the callback that reports are for, if there is one."""
    if callable(progress):
        yield progress
    elif progress and is_shown():
        with estimate_meter(rules) as callback:
            yield callback
    else:
        yield None


@contextlib.contextmanager
def estimate_meter(rules: Rules) -> Iterator[EstimateCallback]:
    """Yield a callback that shows the interval on stderr, also if that is no terminal."""
    with meter("estimating") as update:

        def show(point: EstimateProgress) -> None:
            if isinstance(point, EstimateCounting):
                update(
                    0, 0, found_text(ProgressReport(point.done, point.total, int(point.low), point.seconds))
                )
                return
            note = f"{point.value:.4g} in [{point.low:.4g}, {point.high:.4g}]"
            update(*rules.share(point), f"{quantity(point.samples, 'sample')}, {note}")

        yield show
