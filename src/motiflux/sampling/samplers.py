"""The sampling plan and the sampler of a request."""

from __future__ import annotations

from motiflux.cpu.sampling import kinds_apart
from motiflux.errors import ArgumentError
from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.plan import Plan
from motiflux.plan.sampling import sampling_plan
from motiflux.request.request import Request
from motiflux.request.sampler import Sampler
from motiflux.request.stand_in import StandIn
from motiflux.sampling.cpu_sampler import CpuSampler


def plan_samples(graph: Graph, pattern: Pattern, request: Request, deadline: float | None) -> Plan:
    """Return the sampling plan of a request; it raises the errors of `sampling_plan`.

    Raises
    ------
    ArgumentError
        Negated edges are of several kinds.
    """
    plan = sampling_plan(
        graph,
        pattern,
        semantics=request.semantics,
        symmetry=request.symmetry,
        threads=request.threads,
        deadline=deadline,
        switches=request.tuning,
    )
    if len(kinds_apart(plan)) > 1:
        expected = "negated edges between vertices of one choice of labels and one condition"
        raise ArgumentError("pattern", expected, str(pattern))
    return plan


def open_sampler(graph: Graph, plan: Plan, request: Request, deadline: float | None = None) -> Sampler:
    """Return the sampler of a request, for a plan that is not impossible.

    Raises
    ------
    DeviceError
        The device is not available.
    TimeoutError
        `deadline`, a moment of `time.perf_counter`, passed while rows were filtered.
    """
    if request.elsewhere is not None:
        who: StandIn = request.elsewhere
        return who.sampler(graph, plan, request, deadline)
    if request.device == "cpu":
        return CpuSampler(graph, plan, request, deadline=deadline)
    if kinds_apart(plan):
        why = "the CPU looks for negated edges with labels or conditions"
        return CpuSampler(graph, plan, request, why, deadline)
    # Imported here: sampling on the CPU does not need these modules.
    if request.device == "auto":
        from motiflux.dispatch.choose import GPU
        from motiflux.sampling.auto_sampler import AutoSampler

        why_not = GPU.why_not()
        return (
            AutoSampler(graph, plan, request, GPU, deadline=deadline)
            if why_not is None
            else CpuSampler(graph, plan, request, why_not, deadline)
        )
    from motiflux.gpu.kernels.sampler import DeviceSampler

    return DeviceSampler(graph, plan, request, deadline=deadline)
