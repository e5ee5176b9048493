"""Sampling on a GPU."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from motiflux import _native
from motiflux.codegen.layout import Control
from motiflux.codegen.sampling import (
    DRAW_THREADS,
    ESTIMATORS,
    GROUP,
    MOST_GROUPS,
    POOL_BYTES,
    DrawArgs,
    DrawKernel,
    Estimator,
    custom_estimator,
    draw_source,
    scratch_bytes,
)
from motiflux.cpu.sampling import INHERITANCE, sample_graph
from motiflux.device import Buffer, Device, HostBuffer, Kernel
from motiflux.gpu.runtime.accelerator import open_accelerator
from motiflux.gpu.runtime.job import KernelJob, setting_up
from motiflux.gpu.runtime.kernel_times import LaunchTimer
from motiflux.gpu.runtime.launches import LaunchSequence
from motiflux.gpu.storage.sample_candidates import Loader
from motiflux.gpu.storage.upload import UploadContext
from motiflux.graph import Graph
from motiflux.plan import Plan
from motiflux.request.deadline import Deadline, OutOfTimeError, moments
from motiflux.request.policy import SamplingPolicy
from motiflux.request.request import Request
from motiflux.request.sampler import inheritance_of, reason_asked
from motiflux.result.sample_groups import Groups, joined

_WARPS = DRAW_THREADS // GROUP
_BATCH = 1 << 16
"""Groups of one launch: two million samples, some milliseconds, a megabyte of results."""
_IN_FLIGHT = 2
"""Number of launches in flight."""
_GROUP_BYTES = 16
_SAMPLE_BYTES = 12
_LEAST_GROUPS = 1 << 10


@dataclass
class SampleResults:
    """Memory of the device for results of groups, and of the host to fetch them; launches reuse it."""

    groups: int
    results: Buffer
    fetched: HostBuffer
    samples: Buffer | None


class SampleReader:
    """Reads the groups of a launch."""

    def __init__(self, results: SampleResults, count: int) -> None:
        self.results = results
        self.units = count

    def progress(self, seen: Control) -> tuple[int, int, int]:
        """Return 0 done and 0 found: samplers report no progress."""
        return 0, self.units, 0

    def result(self) -> Groups:
        """Return the groups drawn before the first gap, once the kernels have ended."""
        count = self.units
        words = self.results.fetched.array[: _GROUP_BYTES * count]
        valid = words[8 * count : 12 * count].view(np.uint32)
        missing = valid == 0
        drawn = int(missing.argmax()) if missing.any() else count
        return Groups(
            words[: 8 * drawn].view(np.float64).copy(),
            valid[:drawn] - np.uint32(1),
            words[12 * count : 12 * count + 4 * drawn].view(np.uint32).copy(),
        )


DrawingJob = KernelJob[LaunchSequence, SampleReader]
"""A launch that draws groups."""


def _set_up(
    job: DrawingJob, entries: Mapping[str, Kernel], args: DrawArgs, results: SampleResults, count: int
) -> None:
    """Have a job draw groups, and fetch their results."""
    launches, kernel, samples = LaunchSequence(), entries[DrawKernel.DRAW], results.samples
    job.memory.hold(results.results)
    address = results.results.address
    args.control = job.control.address
    args.weights, args.valid, args.work = address, address + 8 * count, address + 12 * count
    args.pool = _WARPS
    shared = POOL_BYTES + _WARPS * args.scratch_bytes
    grid = _blocks(job.accelerator.device, kernel, shared, count)
    launches.add(lambda stream: stream.clearing(results.results, 8 * count, 4 * count))
    if samples is not None:
        job.memory.hold(samples)
        args.sample_weights, args.sample_work = samples.address, samples.address + 8 * GROUP * count
        args.pool = _WARPS * GROUP
        launches.add(lambda stream: stream.clearing(samples, 8 * GROUP * count, 4 * GROUP * count))
    launches.add(lambda stream: stream.launching(kernel, grid, DRAW_THREADS, shared, args))
    if samples is not None:
        add = entries[DrawKernel.ADD_GROUPS]
        launches.add(lambda stream: stream.launching(add, grid, DRAW_THREADS, 0, args))
    fetched = results.fetched.array[: _GROUP_BYTES * count]
    launches.add(lambda stream: stream.downloading(results.results, fetched))
    job.set_up(launches, SampleReader(results, count))


def _blocks(device: Device, kernel: Kernel, shared: int, count: int) -> int:
    """Return the number of blocks: as many as run at once, but at most one warp per group."""
    at_once = kernel.blocks_per_multiprocessor(DRAW_THREADS, shared)
    return min(device.multiprocessors * max(1, at_once), -(-count // _WARPS))


class DeviceSampler:
    """Draws samples on a device; see `motiflux.request.sampler.Sampler`.

    Pass `candidates` if the host has the candidate graph already.

    A sampler keeps some memory between draws. The candidate graph is kept with the data graph, and may be
    dropped between draws if memory is short.

    Attributes
    ----------
    timed
        Whether kernels are timed.
    kernel_seconds
        Time of the kernels so far by the device's clock.
    """

    timed = False
    kernel_seconds = 0.0
    least_piece = 1 << 13

    def __init__(
        self,
        graph: Graph,
        plan: Plan,
        request: Request,
        candidates: _native.SampleGraph | None = None,
        deadline: float | None = None,
    ) -> None:
        self.device = request.device
        self.reason = reason_asked(request.device)
        self._accelerator = open_accelerator(request.device)
        self._request = request
        self._iterates = request.tuning["sync"] == "iteration"
        if candidates is None:
            candidates = sample_graph(graph, plan, request.threads, deadline)
        self.candidates = candidates
        bits = request.tuning["edge_bits"] == "on"
        self._loader = Loader(self._accelerator, graph, plan, self.candidates, bits=bits)
        self._kept_results: list[SampleResults] = []

    def expect(self, groups: int) -> None:
        """Do nothing: the sampler draws on one device only."""

    def draw(
        self,
        estimator: str | SamplingPolicy,
        seed: int,
        first: int,
        count: int,
        timeout: float | None = None,
    ) -> Groups:
        """Return groups ``first .. first + count - 1``; only the first of them if time runs out.

        The time includes compilation of the kernel on first use.

        Parameters
        ----------
        estimator
            ``wanderjoin``, ``alley``, ``tree``, or the user's policy.

        Raises
        ------
        CompileError
            The text of the policy does not compile.
        DeviceMemoryError
            The candidate graph does not fit.
        """
        deadline = Deadline.after(timeout)
        running: deque[DrawingJob] = deque()
        parts: list[Groups] = []
        begun = 0
        try:
            while begun < count or running:
                while begun < count and len(running) < _IN_FLIGHT:
                    deadline.check()  # `finish` checks it only while kernels run
                    size = min(_BATCH, count - begun)
                    running.append(self.start(estimator, seed, first + begun, size, deadline))
                    begun += size
                parts.append(self.finish(running[0], deadline))
                if len(parts[-1].valid) < running.popleft().reader.units:
                    break
        except OutOfTimeError:
            if running:
                parts.append(self.finish(running[0], deadline))
        finally:
            for job in running:
                self._give_back(job)
        return joined(parts)

    def start(
        self,
        estimator: str | SamplingPolicy,
        seed: int,
        first: int,
        count: int,
        deadline: Deadline,
    ) -> DrawingJob:
        """Begin to draw groups; `finish` returns them. A job that is not finished must be closed.

        Raises
        ------
        OutOfTimeError
            Time was up before the launch.
        """
        assert 0 < count <= MOST_GROUPS
        device = self._accelerator.device
        device.use()
        chosen = _estimator_of(estimator)
        tuning = self._request.tuning
        source = draw_source(chosen, tuning["streaming"], tuning["sync"])
        entries = self._accelerator.kernels(source, DrawKernel, deadline)
        with setting_up(DrawingJob(self._accelerator)) as job:
            context = UploadContext.of(job.stream, self._request, deadline)
            args = DrawArgs()
            own = not isinstance(estimator, str)  # it may read the graph's arcs
            args.graph = self._loader.load(job, context, tree=estimator == "tree", arcs=own)
            args.seed, args.first, args.count = seed, first, count
            args.inheritance = INHERITANCE[inheritance_of(self._request)]
            args.scratch_bytes = scratch_bytes(chosen, args.graph.levels)
            _set_up(job, entries, args, self._results(count), count)
            job.timer = LaunchTimer() if self.timed else None
            job.launch()
        return job

    def finish(self, job: DrawingJob, deadline: Deadline) -> Groups:
        """Return the groups of a job that ended, or was stopped because time is up; close the job."""
        try:
            for now in moments():
                if job.done():
                    break
                if deadline.at is not None and now >= deadline.at:
                    job.stop_and_wait()
            if job.timer is not None:
                self.kernel_seconds += job.timer.seconds()
            return job.reader.result()
        finally:
            self._give_back(job)

    def close(self) -> None:
        """Release its memory, but for the candidate graph, which is kept with the data graph."""
        self._kept_results.clear()

    def _results(self, count: int) -> SampleResults:
        for number, results in enumerate(self._kept_results):
            if results.groups >= count:
                return self._kept_results.pop(number)
        device, budget = self._accelerator.device, self._request.gpu_memory
        groups = max(_LEAST_GROUPS, 1 << (count - 1).bit_length())
        what = "results of samples"
        samples = None
        if self._iterates:
            samples = device.allocate(_SAMPLE_BYTES * GROUP * groups, what, budget=budget)
        return SampleResults(
            groups,
            device.allocate(_GROUP_BYTES * groups, what, budget=budget),
            device.allocate_host(_GROUP_BYTES * groups, what),
            samples,
        )

    def _give_back(self, job: DrawingJob) -> None:
        """Close a job and keep its memory for the next one."""
        if job.is_open:
            job.close()
            self._kept_results.append(job.reader.results)


def _estimator_of(asked: str | SamplingPolicy) -> Estimator:
    return ESTIMATORS[asked] if isinstance(asked, str) else custom_estimator(asked.text)
