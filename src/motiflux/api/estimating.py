"""The public call `estimate`: how many, about, and how sure that is."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Mapping

from motiflux.api.counting import count
from motiflux.api.subject import check_subject
from motiflux.arguments import check_integer
from motiflux.cpu.sampling import ESTIMATORS
from motiflux.errors import ArgumentError, CountOverflowError
from motiflux.graph import Graph
from motiflux.io.progress import is_shown, meter
from motiflux.pattern import Pattern
from motiflux.plan import Plan
from motiflux.plan.candidates.space import max_space_bytes
from motiflux.request.policy import SamplingPolicy
from motiflux.request.request import Request, make_request
from motiflux.request.sampler import Sampler
from motiflux.result.estimate import Estimate, EstimateCallback, EstimateProgress
from motiflux.sampling.clock_trawler import ClockTrawler
from motiflux.sampling.count_beside import CountBeside
from motiflux.sampling.pilot import Pilot, choose_estimator, try_estimator
from motiflux.sampling.run import Run
from motiflux.sampling.samplers import open_sampler, plan_samples
from motiflux.sampling.stopping import Rules, make_rules
from motiflux.sampling.trawl_plan import TrawlPlan
from motiflux.sampling.trawler import Trawler, can_trawl
from motiflux.types import Symmetry

EstimateShown = bool | Callable[[EstimateProgress], None]
"""What the `progress` argument takes."""

MAX_SEED = 2**64 - 1


def estimate(
    graph: Graph,
    pattern: Pattern | str,
    *,
    rel_error: float | None = None,
    confidence: float = 0.95,
    samples: int | None = None,
    estimator: str | SamplingPolicy = "auto",
    semantics: str = "isomorphism",
    symmetry: str = "embeddings",
    device: str = "auto",
    threads: int | None = None,
    timeout: float | None = None,
    gpu_memory: int | str | None = None,
    seed: int = 0,
    progress: EstimateShown = False,
    tuning: Mapping[str, str] | None = None,
) -> Estimate:
    """Estimate the number of embeddings of `pattern` in `graph` by sampling, with a confidence interval.

    For patterns of four vertices or more, a short exact count runs first (``count_first`` in
    `motiflux.config.TUNING`); if it finishes, the result is exact. If few samples are embeddings, a longer
    exact count is tried, then trawling (``trawling``).

    Parameters
    ----------
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
    timeout
        Seconds of wall clock for the whole call. The estimate of the samples so far is still unbiased.
    gpu_memory
        Bytes of device memory that motiflux may hold, such as ``"8GiB"``.
    seed
        Random seed: the same seed gives the same estimate on any device and number of threads. Exceptions: a
        timeout, an exact count that finishes while a GPU samples, and trawling with a time budget
        (``trawl_budget=clock``, the default if a GPU is named).
    progress
        True for a bar on stderr (if that is a terminal), or a function called with `EstimateProgress`.
    tuning
        Ablation switches, see `motiflux.config.TUNING`: ``sample_order``, ``inheritance``, ``candidates``...

    Returns
    -------
    Estimate
        With ``.value``, ``.low``, ``.high``. If no sample is an embedding, the value is 0 and ``.high`` is an
        upper bound. If there certainly is no embedding, the value is an exact 0.

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
    pattern = check_subject(graph, pattern)
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
    with _shown(progress, rules) as callback:
        return _estimate(graph, pattern, request, rules, estimator, seed, callback, started)


def _check_estimator(estimator: str | SamplingPolicy, device: str) -> None:
    names = f"one of auto, {', '.join(ESTIMATORS)}"
    if not isinstance(estimator, SamplingPolicy):
        if estimator not in ("auto", *ESTIMATORS):
            raise ArgumentError("estimator", names, estimator)
    elif device in ("auto", "cpu"):
        expected = f"{names} on the CPU (a policy of your own is compiled for a GPU: device='cuda')"
        raise ArgumentError("estimator", expected, estimator.name)


def _estimate(
    graph: Graph,
    pattern: Pattern,
    request: Request,
    rules: Rules,
    estimator: str | SamplingPolicy,
    seed: int,
    callback: EstimateCallback | None,
    started: float,
) -> Estimate:
    deadline = None if request.timeout is None else started + request.timeout
    try:
        plan = plan_samples(graph, pattern, request, deadline)
    except TimeoutError:
        device = "cpu" if request.device == "auto" else request.device
        return _unknown(rules, device, time.perf_counter() - started)
    if plan.impossible is not None:
        return _exact(0, time.perf_counter() - started)
    if request.tuning["trawling"] == "on" and not can_trawl(plan):
        found = _counted(graph, pattern, request, started)
        if found is not None:
            return found
    try:
        sampler = open_sampler(graph, plan, request, deadline)
    except TimeoutError:
        device = "cpu" if request.device == "auto" else request.device
        return _unknown(rules, device, time.perf_counter() - started)
    try:
        return _sampled(sampler, graph, plan, request, rules, estimator, seed, callback, started, deadline)
    finally:
        sampler.close()


def _sampled(
    sampler: Sampler,
    graph: Graph,
    plan: Plan,
    request: Request,
    rules: Rules,
    estimator: str | SamplingPolicy,
    seed: int,
    callback: EstimateCallback | None,
    started: float,
    deadline: float | None,
) -> Estimate:
    planned = time.perf_counter()
    count = None
    if estimator == "auto" and request.tuning["count_first"] == "on" and can_trawl(plan):
        count = CountBeside(sampler, graph, plan, request, rules)
    try:
        whole = None if count is None else count.begin(_left(deadline))
        if whole is not None:
            return _counted_all(whole, plan, planned - started, time.perf_counter() - planned)
        return _drawn(
            sampler, graph, plan, request, rules, estimator, seed, callback, started, deadline, count
        )
    finally:
        if count is not None:
            count.close()


def _drawn(
    sampler: Sampler,
    graph: Graph,
    plan: Plan,
    request: Request,
    rules: Rules,
    estimator: str | SamplingPolicy,
    seed: int,
    callback: EstimateCallback | None,
    started: float,
    deadline: float | None,
    count: CountBeside | None,
) -> Estimate:
    tree = fits_tree(sampler, graph)
    if estimator == "tree" and not tree:
        raise ArgumentError(
            "estimator", "'alley' or 'wanderjoin', as the weights of trees would not fit", estimator
        )
    if tree:
        try:
            if sampler.candidates.grow_tree(_left(deadline))[0] == 0:
                return _exact(0, time.perf_counter() - started)
        except TimeoutError:
            return _unknown(rules, sampler.device, time.perf_counter() - started)
    planned = time.perf_counter()
    own = isinstance(estimator, SamplingPolicy)  # drawn on a GPU only; the trawl draws on the CPU
    trawling = request.tuning["trawling"] if can_trawl(plan) and not own else "off"
    pilot = Pilot(estimator)
    left = _left(deadline)
    if estimator == "auto":
        pilot = choose_estimator(sampler, seed, tree=tree, timeout=left)
    elif trawling == "auto":
        pilot = try_estimator(sampler, estimator, seed, left)
    trawler: Trawler | ClockTrawler | None = None
    if trawling == "on" or (trawling == "auto" and pilot.finds_little):
        trawl = TrawlPlan.of(rules, request)
        beside = ClockTrawler if trawl.by_clock else Trawler
        trawler = beside(sampler, graph, plan, request, trawl, seed)
    try:
        whole = None if trawler is None else trawler.count_all(_left(deadline))
        if whole is None:
            run = Run(
                sampler,
                plan,
                pilot.estimator,
                seed,
                rules,
                tree=tree,
                deadline=deadline,
                trawler=trawler,
                count=count,
            )
            run.go(callback, planned)
            whole = run.counted
    finally:
        if trawler is not None:
            trawler.close()
    if whole is not None:
        return _counted_all(whole, plan, planned - started, time.perf_counter() - planned)
    return run.result(planned - started, time.perf_counter() - planned)


def _left(deadline: float | None) -> float | None:
    return None if deadline is None else max(0.0, deadline - time.perf_counter())


def _counted(graph: Graph, pattern: Pattern, request: Request, started: float) -> Estimate | None:
    """Return the count of a pattern that is too small to be trawled; None if time was up."""
    timeout = None if request.timeout is None else max(0.0, started + request.timeout - time.perf_counter())
    found = count(
        graph,
        pattern,
        semantics=request.semantics,
        symmetry=request.symmetry,
        device="cpu",
        threads=request.threads,
        timeout=timeout,
    )
    return _exact(int(found), found.plan_seconds, found.seconds) if found.complete else None


def fits_tree(sampler: Sampler, graph: Graph) -> bool:
    """Return whether the weights of trees fit into the memory that a candidate space may take."""
    return sampler.candidates.tree_bytes <= max_space_bytes(graph)


def _counted_all(embeddings: int, plan: Plan, plan_seconds: float, seconds: float) -> Estimate:
    images = plan.automorphisms if plan.symmetry is Symmetry.SUBGRAPHS else 1
    return _exact(embeddings // images, plan_seconds, seconds)


def _exact(count: int, plan_seconds: float, seconds: float = 0.0) -> Estimate:
    try:
        value = float(count)
    except OverflowError as error:
        raise CountOverflowError("the count exceeds 2^1024") from error
    return Estimate(
        value=value,
        low=value,
        high=value,
        confidence=1.0,
        samples=0,
        valid_samples=0,
        effective_samples=0.0,
        complete=True,
        seconds=seconds,
        plan_seconds=plan_seconds,
        estimator="exact",
        device="cpu",
        sampled=value,
    )


def _unknown(rules: Rules, device: str, plan_seconds: float) -> Estimate:
    """Return what is known if time was up before there was anything to sample."""
    return Estimate(
        value=0.0,
        low=0.0,
        high=math.inf,
        confidence=rules.confidence,
        samples=0,
        valid_samples=0,
        effective_samples=0.0,
        complete=False,
        seconds=0.0,
        plan_seconds=plan_seconds,
        estimator="none",
        device=device,
        sampled=0.0,
        warning="time was up before the first sample",
    )


@contextlib.contextmanager
def _shown(progress: EstimateShown, rules: Rules) -> Iterator[EstimateCallback | None]:
    if callable(progress):
        yield progress
    elif progress and is_shown():
        with estimate_meter(rules) as callback:
            yield callback
    else:
        yield None


@contextlib.contextmanager
def estimate_meter(rules: Rules) -> Iterator[EstimateCallback]:
    """Yield a callback that shows on stderr how the interval shrinks, be that a terminal or not."""
    with meter("estimating") as update:

        def show(point: EstimateProgress) -> None:
            note = f"{point.value:.4g} in [{point.low:.4g}, {point.high:.4g}]"
            update(*rules.share(point), f"{point.samples:,} samples, {note}")

        yield show
