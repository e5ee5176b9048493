"""Sampling on a GPU."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from motiflux import _native
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
from motiflux.device import Buffer, HostBuffer, Kernel
from motiflux.gpu.runtime.accelerator import Accelerator, open_accelerator
from motiflux.gpu.runtime.search import DeviceSearch
from motiflux.gpu.storage.device_csr import UploadContext
from motiflux.gpu.storage.sample_candidates import Loader
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
"""Launches that are under way at once."""
_GROUP_BYTES = 16
_SAMPLE_BYTES = 12
_LEAST_GROUPS = 1 << 10


@dataclass
class SampleResults:
    """Memory of the device for what groups come to, and of the host to fetch it; used again and again."""

    groups: int
    results: Buffer
    fetched: HostBuffer
    samples: Buffer | None


class Drawing(DeviceSearch):
    """A launch that draws groups. Close it, or use it as a context."""

    def __init__(self, accelerator: Accelerator, count: int) -> None:
        super().__init__(accelerator)
        self.count = count
        self._results: SampleResults | None = None

    def start(self, entries: Mapping[str, Kernel], args: DrawArgs, results: SampleResults) -> None:
        """Launch the kernels, and fetch their results after them."""
        self._results = results
        count, address = self.count, results.results.address
        args.weights, args.valid, args.work = address, address + 8 * count, address + 12 * count
        self.hold(results.results)
        if results.samples is not None:
            self.hold(results.samples)
            args.sample_weights = results.samples.address
            args.sample_work = results.samples.address + 8 * GROUP * count
        session = self._on()
        args.control = session.control.address
        session.begin()
        session.start(timed=self.timed)
        try:
            self._launch(entries, args, results)
            self.stream.download(results.results, results.fetched.array[: _GROUP_BYTES * count])
        finally:
            session.finish(timed=self.timed)

    def _launch(self, entries: Mapping[str, Kernel], args: DrawArgs, results: SampleResults) -> None:
        count, kernel = self.count, entries[DrawKernel.DRAW]
        shared = POOL_BYTES + _WARPS * args.scratch_bytes
        grid = self._blocks(kernel, shared)
        self.stream.clear(results.results, 8 * count, 4 * count)
        args.pool = _WARPS
        if results.samples is not None:
            self.stream.clear(results.samples, 8 * GROUP * count, 4 * GROUP * count)
            args.pool = _WARPS * GROUP
        self.stream.launch(kernel, grid, DRAW_THREADS, shared, args)
        if results.samples is not None:
            self.stream.launch(entries[DrawKernel.ADD_GROUPS], grid, DRAW_THREADS, 0, args)

    def _blocks(self, kernel: Kernel, shared: int) -> int:
        """Return how many blocks to launch: as many as run at once, or as have a group for each warp."""
        at_once = kernel.blocks_per_multiprocessor(DRAW_THREADS, shared)
        most = self.accelerator.device.multiprocessors * max(1, at_once)
        return min(most, -(-self.count // _WARPS))

    def groups_drawn(self) -> Groups:
        """Return the groups that were drawn, from the first on without a gap, once the kernels are done."""
        assert self._results is not None
        count = self.count
        words = self._results.fetched.array[: _GROUP_BYTES * count]
        valid = words[8 * count : 12 * count].view(np.uint32)
        missing = valid == 0
        drawn = int(missing.argmax()) if missing.any() else count
        return Groups(
            words[: 8 * drawn].view(np.float64).copy(),
            valid[:drawn] - np.uint32(1),
            words[12 * count : 12 * count + 4 * drawn].view(np.uint32).copy(),
        )


class DeviceSampler:
    """Draws on a device; see `motiflux.request.sampler.Sampler`.

    What is sampled may be there already, as this machine has it (`candidates`).

    It keeps some memory between draws. The candidate graph is kept with the data graph, and may be given up
    between draws where memory is short.

    Attributes
    ----------
    timed
        Whether kernels are timed.
    kernel_seconds
        Their time so far by the device's own clock.
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
        """Do nothing: there is no choice."""

    def draw(
        self,
        estimator: str | SamplingPolicy,
        seed: int,
        first: int,
        count: int,
        timeout: float | None = None,
    ) -> Groups:
        """Return groups ``first .. first + count - 1``; fewer, from the first on, if time was up before.

        A kernel is compiled the first time, which counts as time too.

        Parameters
        ----------
        estimator
            ``wanderjoin``, ``alley``, ``tree``, or a policy of the user's.

        Raises
        ------
        CompileError
            The text does not compile.
        DeviceMemoryError
            The candidate graph does not fit.
        """
        deadline = Deadline.after(timeout)
        running: deque[Drawing] = deque()
        parts: list[Groups] = []
        begun = 0
        try:
            while begun < count or running:
                while begun < count and len(running) < _IN_FLIGHT:
                    deadline.check()  # kernels may be done whenever they are looked at
                    size = min(_BATCH, count - begun)
                    running.append(self.start(estimator, seed, first + begun, size, deadline))
                    begun += size
                parts.append(self.finish(running[0], deadline))
                if len(parts[-1].valid) < running.popleft().count:
                    break
        except OutOfTimeError:
            if running:
                parts.append(self.finish(running[0], deadline))
        finally:
            for drawing in running:
                self._give_back(drawing)
        return joined(parts)

    def start(
        self,
        estimator: str | SamplingPolicy,
        seed: int,
        first: int,
        count: int,
        deadline: Deadline,
    ) -> Drawing:
        """Begin to draw groups; `finish` returns them. What is not finished has to be closed.

        Raises
        ------
        OutOfTimeError
            Time was up before it began.
        """
        assert 0 < count <= MOST_GROUPS
        device = self._accelerator.device
        device.use()
        chosen = _estimator_of(estimator)
        tuning = self._request.tuning
        source = draw_source(chosen, tuning["streaming"], tuning["sync"])
        entries = self._accelerator.kernels(source, DrawKernel, deadline)
        drawing = Drawing(self._accelerator, count)
        drawing.timed = self.timed
        try:
            context = UploadContext(drawing.stream, self._request.threads, self._request.gpu_memory, deadline)
            args = DrawArgs()
            own = not isinstance(estimator, str)  # it may read the graph's arcs
            args.graph = self._loader.load(drawing, context, tree=estimator == "tree", arcs=own)
            args.seed, args.first, args.count = seed, first, count
            args.inheritance = INHERITANCE[inheritance_of(self._request)]
            args.scratch_bytes = scratch_bytes(chosen, args.graph.levels)
            drawing.start(entries, args, self._results(count))
        except BaseException:
            drawing.close()
            raise
        return drawing

    def finish(self, drawing: Drawing, deadline: Deadline) -> Groups:
        """Return what was drawn once it is done, or stopped because time is up; it is closed then."""
        try:
            for now in moments():
                if drawing.done():
                    break
                if deadline.at is not None and now >= deadline.at:
                    drawing.stop_and_wait()
            self.kernel_seconds += drawing.kernel_seconds()
            return drawing.groups_drawn()
        finally:
            self._give_back(drawing)

    def close(self) -> None:
        """Give back what it holds, the candidate graph excepted, which is kept with the data graph."""
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

    def _give_back(self, drawing: Drawing) -> None:
        """Close a drawing; its memory serves the next."""
        drawing.close()
        if drawing._results is not None:
            self._kept_results.append(drawing._results)
            drawing._results = None


def _estimator_of(asked: str | SamplingPolicy) -> Estimator:
    return ESTIMATORS[asked] if isinstance(asked, str) else custom_estimator(asked.text)
