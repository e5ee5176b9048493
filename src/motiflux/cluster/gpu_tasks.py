"""The functions that run on workers with a GPU.

A share of a count is every n-th chunk of the work of its kernels, as devices of one machine share it
(`motiflux.gpu.runtime.work_partition`). The size of chunks and all else that decides which chunk has which
work must be the same for all shares: what may differ between GPUs comes back with the result, as `Found.cut`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.cluster.tasks import Bounds, Done, Job, Watch, content_of
from motiflux.codegen.space import Report
from motiflux.device.registry import devices_like
from motiflux.errors import DeviceError, DeviceMemoryError
from motiflux.gpu.engine import SET_UP, open_engine, run_job
from motiflux.gpu.group import DeviceGroup, space_of, working_on
from motiflux.gpu.launch.prepare import prepare, set_up_stage
from motiflux.gpu.runtime.accelerator import Accelerator, open_accelerator
from motiflux.gpu.runtime.job import SearchJob
from motiflux.gpu.runtime.work_partition import ArcPartition, CliquePartition
from motiflux.gpu.storage.candidate_space import GivenFilter, device_space, keep_space, known_space
from motiflux.gpu.storage.upload import UploadContext
from motiflux.gpu.strategy import DeviceFacts
from motiflux.graph import Graph
from motiflux.plan import Plan
from motiflux.plan.physical import Family, PhysicalPlan
from motiflux.request.deadline import Deadline, OutOfTimeError
from motiflux.request.request import Request

_PIECE = 32
"""Most root arcs of a chunk: the least that kernels take at a time in long searches."""
_PIECES = 8192
"""Chunks of a share, if there are root arcs enough."""


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a share.

    Parameters
    ----------
    value
        Embeddings found; multiplier not applied, unless the count was not cut.
    whole
        Whether neither a limit nor the time ended the search.
    overflow
        Whether a number passed the range of the kernels; `value` is then meaningless.
    refused
        The message of the error if memory was too short, the bytes needed and those available; else None.
    cut
        How the work was cut, for each stage that was begun: equal for all shares of a count.
    no_room
        Whether there was no room for the candidate space.
    """

    value: int
    whole: bool = True
    overflow: bool = False
    refused: tuple[str, int, int] | None = None
    cut: tuple[Hashable, ...] = ()
    no_room: bool = False


@dataclass(frozen=True, slots=True)
class Filtered:
    """A candidate space as a GPU filtered it: others make the same rows of it.

    Parameters
    ----------
    token
        Names it in worker processes.
    serves
        A word per data vertex: bit u is set if it is a candidate of query vertex u.
    report
        The report of the kernels.
    """

    token: str
    serves: NDArray[np.uint32]
    report: bytes

    @property
    def nbytes(self) -> int:
        """Bytes of the words."""
        return self.serves.nbytes


@dataclass(frozen=True, slots=True)
class Space:
    """A `Filtered` in the object store, as a list: Ray would replace a reference by its object."""

    token: str
    content: list[Any]

    def given(self) -> GivenFilter:
        """Return it as devices take it."""
        import ray

        found: Filtered = ray.get(self.content[0])
        return GivenFilter(found.serves, Report.from_buffer_copy(found.report), found.token)


@dataclass(frozen=True, slots=True)
class SeenGpu:
    """A GPU as a task saw it.

    Parameters
    ----------
    free
        Bytes that could be allocated.
    """

    facts: DeviceFacts
    free: int

    @property
    def multiprocessors(self) -> int:
        """Number of multiprocessors."""
        return self.facts.multiprocessors

    def free_memory(self) -> int:
        """Return the bytes that could be allocated."""
        return self.free


def look_at_gpu(kind: str) -> Done:
    """Return a `SeenGpu` of the task's GPU."""
    watch = Watch()
    group = DeviceGroup.open((assigned_gpu(kind),))
    with working_on(group.first):
        return watch.done(SeenGpu(group.facts, group.first.device.free_memory()))


def filter_on_gpu(job: Job, kind: str, token: str, threads: int, seconds: float) -> Done:
    """Return the candidate space of a plan, filtered on the task's GPU; None if it does not fit there.

    Raises
    ------
    OutOfTimeError
        Time was up.
    """
    watch = Watch()
    graph, plan, asked, _ = content_of(job)
    request = replace(asked, threads=threads)
    accelerator = open_accelerator(assigned_gpu(kind))
    with working_on(accelerator), SearchJob(accelerator) as carrier:
        context = UploadContext.of(carrier.stream, request, Deadline.after(finite(seconds)))
        space = device_space(carrier, graph, plan, context)
        if space is None:
            return watch.done(None)
        assert space.report is not None
        carrier.memory.read(space)
        words = carrier.session.fetch(space.serves, 4 * graph.num_vertices).view(np.uint32).copy()
        return watch.done(Filtered(token, words, bytes(space.report)))


def finite(seconds: float) -> float | None:
    """Return seconds; None if they are infinite."""
    return None if math.isinf(seconds) else seconds


def count_on_gpu(job: Job, kind: str, share: tuple[int, int], bounds: Bounds) -> Done:
    """Count the embeddings of share ``share[0]`` of ``share[1]`` on the task's GPU.

    Tables of local counts are not cut: the first share is the whole count.
    """
    watch = Watch()
    graph, (physical, space), request, _ = content_of(job)
    deadline = Deadline.after(bounds.seconds)
    name = assigned_gpu(kind)
    try:
        if physical.stages[0].family is Family.TABLES:
            return watch.done(
                _count_whole(graph, physical, replace(request, threads=bounds.threads), name, deadline)
            )
        accelerator = open_accelerator(name)
        with working_on(accelerator):
            return watch.done(
                _count_share(accelerator, graph, physical, space, request, share, bounds.limit, deadline)
            )
    except OutOfTimeError:
        return watch.done(Found(0, whole=False))
    except DeviceMemoryError as error:
        return watch.done(Found(0, refused=(str(error), error.needed, error.available)))


def assigned_gpu(kind: str) -> str:
    """Return the name of the GPU that Ray assigned to the task.

    Raises
    ------
    DeviceError
        This process does not see it.
    """
    import ray

    found = ray.get_runtime_context().get_accelerator_ids().get("GPU", [])
    names = devices_like(kind)
    visible = os.environ.get("CUDA_VISIBLE_DEVICES") if kind == "cuda" else None  # Ray uses the names in it
    listed = [one.strip() for one in visible.split(",")] if visible else list(map(str, range(len(names))))
    if len(found) != 1 or found[0] not in listed[: len(names)]:
        there, given = (", ".join(some) or "none" for some in (listed[: len(names)], found))
        raise DeviceError(
            f"device={kind!r}: expected one GPU of those on node {os.uname().nodename} ({there}), "
            f"found {given} assigned by Ray"
        )
    return names[listed.index(found[0])]


def _count_whole(
    graph: Graph, physical: PhysicalPlan, request: Request, name: str, deadline: Deadline
) -> Found:
    """Count as a call on the node does, planned anew: the engine keeps jobs by plans of this process."""
    engine, pattern = open_engine([name]), physical.plan.asked
    assert pattern is not None
    planned = engine.plan(graph, pattern, request, deadline)
    if planned is None:
        raise OutOfTimeError
    found = engine.count(graph, planned, request, deadline)
    return Found(found.value, found.complete)


def _count_share(
    accelerator: Accelerator,
    graph: Graph,
    physical: PhysicalPlan,
    space: Space | None,
    request: Request,
    share: tuple[int, int],
    limit: int | None,
    deadline: Deadline,
) -> Found:
    """Count a share of each stage; a job is set up for each, over rows that stay on the device."""
    found, cuts = 0, []
    for stage in physical.stages:
        in_bits = SET_UP.get(stage.family)
        set_up = set_up_stage if in_bits is None else partial(in_bits, devices=share[1])
        left = None if limit is None else max(0, limit - found)
        token = None if space is None or stage.plan.space is None else space.token
        if token is not None and not _has_space(accelerator, graph, stage.plan, space, request, deadline):
            return Found(0, no_room=True)
        job = prepare(accelerator, graph, stage, request, left, deadline, set_up)
        try:
            read = space_of(job)
            if token != (None if read is None else read.filtered):  # it was dropped: memory is short
                job.close()
                return Found(0, no_room=True)
            cuts.append(take_share(job, stage.family, share))
        except BaseException:
            job.close()
            raise
        in_time, result = run_job(job, deadline, None)
        if result.overflow:
            return Found(0, overflow=True, cut=tuple(cuts))
        found += result.found
        if not in_time or result.limited:
            return Found(found, whole=False, cut=tuple(cuts))
    return Found(found, cut=tuple(cuts))


def _has_space(
    accelerator: Accelerator,
    graph: Graph,
    plan: Plan,
    space: Space | None,
    request: Request,
    deadline: Deadline,
) -> bool:
    """Whether the device has the candidate space of a plan, as another GPU filtered it, or can make it."""
    assert space is not None
    with SearchJob(accelerator) as carrier:
        context = UploadContext.of(carrier.stream, request, deadline)
        known = known_space(graph, plan, accelerator.device)
        if known is not None and known.filtered == space.token:
            return True
        return keep_space(carrier, graph, plan, space.given(), context) is not None


def take_share(job: SearchJob, family: Family, share: tuple[int, int]) -> Hashable:
    """Restrict a job to a share; return how the work was cut."""
    partition, (number, shares) = job.launches.partition, share
    piece = partition.piece_for(shares)
    if isinstance(partition, ArcPartition):  # the size for a device would depend on its free memory
        fits = _PIECE if family is Family.CLIQUES else partition.extent // (shares * _PIECES)
        piece = max(1, min(_PIECE, fits))
    job.launches.take_share(number, shares, piece)
    known = type(partition).__name__, partition.extent, partition.cut, piece
    if isinstance(partition, CliquePartition):
        units = partition.spilled, partition.blocks, partition.arcs
        return *known, *units, job.accelerator.device.multiprocessors
    return known
