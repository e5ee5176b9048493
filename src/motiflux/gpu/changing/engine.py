"""``engine="changing"``: the updates of a monitor, matched on a GPU over rows that change there."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.codegen.changing import ROOT
from motiflux.codegen.gpma import gpma_source
from motiflux.device import Buffer, Stream
from motiflux.gpu.changing.answer import Found, answer_of, slots_of
from motiflux.gpu.changing.coalesced import CoalescedRoots, coalesced_roots
from motiflux.gpu.changing.host_work import HostWork, wait_until_idle
from motiflux.gpu.changing.kernels import RunKernels
from motiflux.gpu.changing.manner import CHANGING, Manner, Preset
from motiflux.gpu.changing.memory import Parcel, Room
from motiflux.gpu.changing.monitor_copy import MonitorCopy
from motiflux.gpu.changing.plans import PlanTable
from motiflux.gpu.changing.rows import RunOfRows
from motiflux.gpu.changing.searches import RunSearch
from motiflux.gpu.changing.searches.searched import RootsThere, Searched
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.runtime.job import SearchJob
from motiflux.gpu.runtime.process import check_process
from motiflux.jit import Source


class ChangingEngine(MonitorCopy):
    """Matches the runs of a native monitor on one device.

    The device has the rows that plans read; the native monitor has the graph. A call that fails leaves the
    device's rows unused: the next call loads them anew (`abandon`).

    Parameters
    ----------
    accelerator
        The device and its kernels.
    gpu_memory
        Maximum number of bytes that motiflux holds on the device.
    tuning
        The value of every switch; ``container`` chooses what holds the rows, ``filter`` whether candidates
        are tested by a table.
    preset
        The engine's name, and what ``auto`` stands for.
    """

    counts_tails = True
    overlaps_calls = True
    takes_turns = False
    feed_updates = 4096
    reads_host_rows = False
    """Whether kernels read rows of the native monitor: it may write them once the search is launched."""
    spent: dict[str, float]
    """Seconds of the last run: until its rows are enqueued, until its matches are there, and afterwards."""

    def __init__(
        self,
        accelerator: Accelerator,
        gpu_memory: int | None,
        tuning: Mapping[str, str],
        preset: Preset = CHANGING,
    ) -> None:
        self.name, self.manner = preset.name, Manner.of(tuning, preset, accelerator.device.multiprocessors)
        super().__init__(
            accelerator,
            gpu_memory,
            tuning,
            coalesces=self.manner.coalesces,
            pools=self.manner.pooling != "off",
        )
        device = accelerator.device
        self.device = device.name
        self.search = RunSearch(accelerator, gpu_memory, self.manner)
        self._kernels = RunKernels(accelerator, self.manner, self.search, self._writers())
        self._memory = Room(device, "rows of a run of updates", gpu_memory)
        self._arrays = Room(device, "a run of updates", gpu_memory)
        self._has_matched = False
        self._job: SearchJob | None = None
        self._process = os.getpid()
        self._foreseen: object = None
        self.spent = {}

    def _writers(self) -> list[Source]:
        """Return the units that write rows and candidates."""
        rows = self.manner.access.write_source if self._packed is None else gpma_source()
        return [rows, *(() if self._candidates is None else self._candidates.sources)]

    def check(self, plans: list[Any]) -> None:
        """Accept all plans."""

    def measured(self) -> Mapping[str, float]:
        """Return the figures of the last call: what was copied, and with ``measure=utilisation`` more."""
        searched = {} if self.search.measured is None else self.search.measured.figures()
        return {**searched, **self.copied()}

    def copied(self) -> Mapping[str, float]:
        """Return figures of rows that were copied for the last run; none where all rows are on the device."""
        return {}

    def describe(self, positions: Mapping[int, int]) -> str:
        """Return how updates are searched, and how busy the device was in the last call, if measured.

        Parameters
        ----------
        positions
            The position of each pattern by its number in the native monitor.
        """
        rows = "rows with some room each" if self._packed is None else "a packed memory array"
        lines = [f"engine {self.name} on {self.device}: {self.manner.describe()}; {rows}"]
        lines.append(self._describe_pools(positions))
        if self.search.measured is not None:
            lines.append(self.search.measured.describe())
        return "\n".join(lines)

    def _describe_pools(self, positions: Mapping[int, int]) -> str:
        table, none = self._table, "no partial matches are pooled"
        if not self.pools:
            return none
        if table is None:
            return "whether partial matches are pooled is decided by the next call"
        if table.stages == 1:
            return f"{none}: no pattern has any that the same searches complete"
        if not self._pools(table):
            return f"{none}: few are expected to be completed by the same searches"
        pooled = sorted(positions[number] for number in table.pooled_patterns if number in positions)
        patterns = "pattern" if len(pooled) == 1 else "patterns"
        return (
            f"partial matches that the same searches complete are pooled, in up to {table.stages} launches:"
            f" {patterns} {', '.join(map(str, pooled))}"
        )

    def is_ready(self) -> bool:
        """Whether kernels that count are compiled, for any lanes; compiled in the background if not."""
        return self._kernels.are_ready()

    def begin(self, native: _native.Monitor, threads: int) -> None:
        """Bring the copy on the device up to date: plans, and rows that were not needed before.

        Parameters
        ----------
        threads
            Threads that read the rows of the host.

        Raises
        ------
        DeviceMemoryError
            The rows do not fit.
        """
        check_process(self.device, self._process)
        self._has_matched = False
        self.search.measure_anew()
        self.bring(native, threads)

    def _pools(self, table: PlanTable) -> bool:
        """Whether searches from updates pool partial matches, by the rows that there are now."""
        return self.search.pools.are_wanted(table.stages, table.pooled_walk, self._typical)

    def foresee(self, run: _native.Run) -> object:
        """Return what `match` is told of a whole run that several devices share.

        It is called while no rows of the host are written.
        """
        return None

    def match(
        self, run: _native.Run, meanwhile: Callable[[], None] | None = None, foreseen: object = None
    ) -> Found | None:
        """Return the matches of a run as `Monitor.match_elsewhere` wants them; None if it was stopped.

        Parameters
        ----------
        meanwhile
            Called once, if there is a search, while the device searches.
        foreseen
            What `foresee` of any of the devices returned; None: the engine is to look itself.
        """
        self._foreseen = foreseen
        native, table = self._native, self._table
        assert native is not None, "begin() comes first"
        assert table is not None
        self._accelerator.device.use()
        self._has_matched = True
        job = self._open_job(may_resume=table.lists_any)
        stream = job.stream
        try:
            with job:
                found = self._found(job, run, native, table, HostWork(run, self._before_writing, meanwhile))
        except BaseException:
            wait_until_idle(stream)  # kernels may still write rows, which are freed then
            raise
        self._sent()
        return found

    def _sent(self) -> None:
        """Give back memory that uploads of a run went through."""
        self._staging.sent()

    def _open_job(self, *, may_resume: bool) -> SearchJob:
        """Return the job of the run before, opened again, or a new one; one that may resume is not kept."""
        job, self._job = self._job, None
        if job is not None and not may_resume and job.begin_again(self._keep):
            return job
        job = SearchJob(self._accelerator, "searches", budget=self._budget)
        if not may_resume:
            job.keep_when_over(self._keep)
        return job

    def _keep(self, job: SearchJob) -> None:
        self._job = job

    def _found(
        self,
        job: SearchJob,
        run: _native.Run,
        native: _native.Monitor,
        table: PlanTable,
        of_host: Callable[[], None],
    ) -> Found | None:
        begun = time.perf_counter()
        roots = _native.DividedRoots(run, table.manners)
        together = None
        if table.shared is not None and len(roots.listed):
            together = coalesced_roots(table.shared, run.roots[roots.listed])
        lists_from = len(roots.listed) if together is None else together.searched
        lanes = self._kernels.wait(table, (roots.num_counted, lists_from), self._typical, run.keep_going)
        if lanes is None:
            return None
        pools = roots.num_counted > 0 and self._pools(table)
        addresses, runs, starts = self._write(job, run, table, roots, together, pools=pools)
        searched = self._plans.searched(
            table, self._rows, runs, self._candidates, native.num_vertices, lanes, pools=pools
        )
        written_at = time.perf_counter()

        settling = list(runs)

        def settle() -> None:
            if not settling:
                return
            settling.clear()
            type(runs[0]).settle(job.stream, runs, starts)
            if self._candidates is not None:
                self._candidates.settled(job.stream, runs, starts)

        slots = slots_of(run, table)
        totals = np.zeros((slots, 2), np.uint64)
        if roots.num_counted:
            some = addresses[0], roots.num_counted

            def behind() -> None:
                if not len(roots.listed) and self._packed is None:  # a packed array waits for its kernels
                    settle()

            counted = self.search.count(job, searched, some, slots, run.keep_going, behind, of_host)
            if counted is None:
                return None
            totals = counted
        rows = self._listed(job, run, searched, addresses[1:], roots.listed, together, of_host)
        if rows is None:
            return None
        found_at = time.perf_counter()
        has_waited = roots.num_counted or len(roots.listed)  # for a search behind all that was enqueued
        if settling or not has_waited:
            settle()
            job.stream.wait()
        self.search.end(job.stream)
        answer = answer_of(run, table, totals, rows, roots.matches)
        self.spent = {
            "write_seconds": written_at - begun,
            "search_seconds": found_at - written_at,
            "settle_seconds": time.perf_counter() - found_at,
        }
        return answer

    def _write(
        self,
        job: SearchJob,
        run: _native.Run,
        table: PlanTable,
        roots: _native.DividedRoots,
        together: CoalescedRoots | None,
        *,
        pools: bool,
    ) -> tuple[list[int], list[RunOfRows], list[int]]:
        """Upload a run and write its changes into rows; return places of roots, changes, and their places.

        The places are those of counted roots, of listed ones, and of the arrays of `together`.
        """
        stream, native = job.stream, self._native
        assert native is not None
        changed_rows = self._cover(stream, native, run)
        lists_version = native.lists_version  # new vertices may have ids that a pattern names
        is_new = changed_rows or lists_version != self._lists_version
        if is_new or (pools and not self._plans.has_chains):
            self._lists_version = lists_version
            self._upload_plans(stream, native, table, chains=pools)
        self._choose_rows(stream, run)
        changed = [changes for rows in self._rows.values() if (changes := rows.changes(run)) is not None]
        memory = self._memory.of(max(1, sum(changes.nbytes for changes in changed)), stream)
        parcel = Parcel()
        sizes = [ROOT.itemsize * number for number in (roots.num_counted, len(roots.listed))]

        def write_roots(to: NDArray[np.uint8], _: int) -> None:
            listed = to[sizes[0] :]
            roots.write(to[: sizes[0]], listed)
            if together is not None:
                together.rewrite(listed.view(ROOT))

        at_roots = parcel.reserve(sum(sizes), write_roots)
        arrays_of_roots = [] if together is None else [together.sharing, together.numbers]
        at_arrays = [parcel.add(array) for array in arrays_of_roots]
        places, at = [], memory.address
        for changes in changed:
            places.append(changes.pack(parcel, at))
            at += changes.nbytes
        write_candidates = None
        if self._candidates is not None:
            write_candidates = self._candidates.follow(stream, native, run, self._rows, parcel)
        arrays: Buffer = self._arrays.of(max(1, parcel.nbytes), stream)
        parcel.send(stream, arrays, self._staging)
        starts = [arrays.address + place for place in places]
        if changed:
            type(changed[0]).merge(stream, changed, starts)
        if write_candidates is not None:
            write_candidates(arrays.address, changed, starts)
        first = arrays.address + at_roots
        own = RootsThere(first, roots.num_counted, len(roots.listed)) if together is None else None
        self._bring_rows(stream, run, own)
        more = [arrays.address + at for at in at_arrays]
        return [first, first + sizes[0], *more], changed, starts

    def _choose_rows(self, stream: Stream, run: _native.Run) -> None:
        """Do what has to be done before places of rows change."""

    def _bring_rows(self, stream: Stream, run: _native.Run, roots: RootsThere | None) -> None:
        """Do what has to be done once the touched rows are written, before the search.

        `roots`: those of the run; None if they name plans of shared levels instead of their own.
        """

    def _before_writing(self, run: _native.Run) -> None:
        """Do what has to be done before the host writes its rows, once the search is launched."""

    def _listed(
        self,
        job: SearchJob,
        run: _native.Run,
        searched: Searched,
        addresses: Sequence[int],
        listed: NDArray[np.uint32],
        together: CoalescedRoots | None,
        meanwhile: Callable[[], None],
    ) -> NDArray[np.uint32] | None:
        """Return the rows of a run, with the numbers of their roots in the run; None if it was stopped."""
        if not len(listed):
            return np.empty((0, 1 + searched.most_levels), np.uint32)
        address, *sharing = addresses
        if together is None:
            found = self.search.list(job, searched, (address, len(listed)), run.keep_going, meanwhile)
        else:
            searched = replace(searched, sharing=(sharing[0], sharing[1]))
            listed = listed[together.order]
            found = self.search.list(job, searched, (address, together.searched), run.keep_going, meanwhile)
        if found is not None:
            found[:, 0] = listed[found[:, 0]]
            if together is not None:
                found = found[np.argsort(found[:, 0], kind="stable")]
        return found

    def abandon(self) -> None:
        """Forget the rows on the device if a run changed them since `begin`: the host's were undone."""
        if self._has_matched:
            self._forget()
            self.search.release()

    def begin_turn(self) -> None:
        """Do nothing: calls of a feed come one by one."""

    def end_turn(self) -> None:
        """Do nothing."""

    def hold(self, *, on: bool) -> None:
        """Do nothing: no kernel runs between calls."""

    def outdate(self) -> None:
        """Forget the rows on the device: the host applies updates alone from now on."""
        self._forget()

    def _forget(self) -> None:
        super()._forget()
        self.search.pools.forget()

    def close(self) -> None:
        """Free all memory."""
        self._forget()
        self.search.release()
        for memory in (self._memory, self._arrays, self._plans):
            memory.release()
        self._staging.release()
        self._native = self._job = None
