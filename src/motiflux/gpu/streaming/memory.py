"""All memory of a resident kernel, and its argument."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.codegen import layout
from motiflux.codegen.changing import SPANS_OF_TIMED, ChangingPlans, bytes_of_plan
from motiflux.codegen.streaming import (
    CONTROL,
    COPIED_ROWS,
    LINE_WORDS,
    LOAD_ENTRY,
    MOST_UPDATES,
    MOVE_ENTRY,
    PENDING,
    SHORTCUTS,
    STAMPS,
    STATUS,
    STEPS,
    STREAM_ENTRY,
    STREAM_LANES,
    TARGET_VERSIONS,
    UPDATE_LINE_WORDS,
    VERSIONED_ROOT,
    WORK_COUNTS,
    End,
    Stream,
    Work,
    WorkList,
    load_source,
    move_source,
    stream_source,
)
from motiflux.device import Buffer, HostBuffer, Kernel
from motiflux.errors import DeviceError, DeviceMemoryError
from motiflux.gpu.changing.plans import PlanTable
from motiflux.gpu.rows.ring import MappedRing
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.streaming.graph_memory import GraphMemory, units_for, units_of
from motiflux.gpu.streaming.kinds import KindRoom, KindTables
from motiflux.gpu.streaming.named_rows import NamedRows
from motiflux.gpu.streaming.records import words_of_record
from motiflux.gpu.streaming.settings import StreamSettings

_LEAST_LIST = 1024
_LINE_WORDS = 32
_FIRST_LEVEL = 2
_LISTS_SHARE = 0.25
"""Share of the free memory that candidate lists may take."""
_PAPER_NANOSECONDS = 125_000
_STAMPED = 1 << 16
"""Updates whose times are kept, a power of two."""
_LOOKS = 1e-3
"""Seconds between looks whether the kernel has ended."""
_LEAST_BLOCKS = 2
_LEAST_WARPS = 4
"""Warps of a block at least; the updater is the first warps of one."""
_PACKET_UPDATES, _MOST_HELPERS, _SORTED_SHARE = 32, 512, 8
"""``Stream::most_helpers`` and ``Stream::sorted_share``, beside the updates of a packet."""


class Before(NamedTuple):
    """The memory of a parked stream whose rows are kept, and these rows."""

    memory: StreamMemory
    rows: NamedRows


class StreamMemory:
    """Memory of the device and of the host that a resident kernel uses, allocated before it starts.

    Parameters
    ----------
    rows
        The rows of the plans; those that the host has are loaded.
    before
        What is kept of a stream with other plans; its other memory is freed.

    Attributes
    ----------
    main
        The stream that the kernel runs on; copies use another one.
    argument
        The kernel's argument.
    threads
        Threads of a block.
    control, status
        What the host tells the kernel, and the kernel the host.
    """

    def __init__(
        self,
        accelerator: Accelerator,
        budget: int | None,
        settings: StreamSettings,
        rows: NamedRows,
        native: _native.Monitor,
        table: PlanTable,
        before: Before | None = None,
    ) -> None:
        self._accelerator, self._budget, self._settings = accelerator, budget, settings
        device = accelerator.device
        if before is None:
            self.main, self._side = device.stream(), device.stream()
        else:
            self.main, self._side = before.memory.main, before.memory._side
            before.memory._buffers.clear()
        self._buffers: dict[str, Buffer] = {}
        self._looked = 0.0
        self.lists, self.levels = table.lists_any, table.most_levels
        self._plans = max(1, len(table.steps))
        self._spans = SPANS_OF_TIMED * table.most_spans
        # Kernels are compiled and loaded before a resident one runs: loading may wait for that one.
        accelerator.kernel(load_source(), entry=LOAD_ENTRY)
        accelerator.kernel(move_source(), entry=MOVE_ENTRY)
        self._source = stream_source(
            lists=self.lists,
            checks=settings.checks,
            measures=settings.measures,
            without=tuple(name for name in SHORTCUTS if name in settings.without),
        )
        self.kernel = self._best_kernel()
        self.threads = self._threads_of_block()
        self.shared_bytes = (self.threads // STREAM_LANES) * self._shared_of_group
        self.blocks = self._most_blocks()
        self._make_rings()
        self._allocate_for_updates()
        self._upload_plans(native, table)
        self.kinds = KindTables(device, self._side, budget, KindRoom(), rows.vertices)
        longest = max(settings.longest_row or max(_LEAST_LIST, 2 * rows.longest), 1)
        if before is not None:  # rows that are there may be longer than those that the host read now
            longest = max(longest, before.memory.list_words)
        self._allocate_lists(longest)
        if before is None:
            self.graph = self._graph_for(rows)
        else:
            self.graph = before.memory.graph
            self.graph.move(rows.number, rows.moves_from(before.rows))
        self._load(rows)
        self._fill()
        moment = int(self.graph.progress().published)
        self.status["read"] = moment
        self.writer = _native.UpdateWriter(
            lines=int(self._updates.array.ctypes.data),
            count=self._update_count,
            read=int(self.status["read"].ctypes.data),
            moment=moment,
            memory=(self._updates, self._host),
        )

    def _best_kernel(self) -> Kernel:
        """Return the kernel at full speed; one that takes less time to compile until it is compiled."""
        quick = self._settings.quick_first
        return self._accelerator.kernel(self._source, entry=STREAM_ENTRY, asks_again=quick, takes_long=True)

    @property
    def has_best_kernel(self) -> bool:
        """Whether no faster kernel takes the place of this one at the next launch, or is being compiled."""
        return not self._accelerator.serves_quickly_compiled(self._source)

    # Layout

    @property
    def _shared_of_group(self) -> int:
        bytes_of = layout.shared_bytes_of_group(self.levels, self._spans, listing=self.lists)
        return -(-bytes_of // 16) * 16

    @property
    def _groups(self) -> int:
        return self.blocks * (self.threads // STREAM_LANES)

    def _threads_of_block(self) -> int:
        """Return the threads of a block: the updater's, or fewer if too few such blocks run at once."""
        warps = max(_LEAST_WARPS, self._settings.updater_warps)
        while warps > _LEAST_WARPS and self._blocks_at_once(warps) < _LEAST_BLOCKS:
            warps = max(_LEAST_WARPS, warps // 2)
        return STREAM_LANES * warps

    def _blocks_at_once(self, warps: int) -> int:
        device, settings = self._accelerator.device, self._settings
        of_one = self.kernel.blocks_per_multiprocessor(STREAM_LANES * warps, warps * self._shared_of_group)
        there = device.multiprocessors - settings.spared
        if settings.multiprocessors is not None:
            there = min(there, settings.multiprocessors)
        return of_one * max(0, there)

    def _most_blocks(self) -> int:
        """Return the blocks of the kernel: all of them must run at once."""
        blocks = self._blocks_at_once(self.threads // STREAM_LANES)
        if blocks < _LEAST_BLOCKS:
            raise DeviceError(
                f"device={self._accelerator.device.name!r}: expected room for {_LEAST_BLOCKS} blocks of a"
                f" resident kernel, found {blocks}"
            )
        return blocks

    @property
    def _updater_warps(self) -> int:
        return min(self._settings.updater_warps, self.threads // STREAM_LANES)

    @property
    def _helpers(self) -> int:
        return 0 if {"helpers", "long_strips"} & self._settings.without else min(_MOST_HELPERS, self._groups)

    def _make_rings(self) -> None:
        device, settings = self._accelerator.device, self._settings
        self._record_words = words_of_record(self.levels, lists=self.lists)
        self._output = MappedRing(device, settings.output_packets, self._record_words)
        self.reader = self._output.reader()
        self._host: HostBuffer = device.allocate_host(512, "words of a resident kernel and the host")
        self.control: NDArray[Any] = self._host.array[: CONTROL.itemsize].view(CONTROL)
        self.status: NDArray[Any] = self._host.array[256 : 256 + STATUS.itemsize].view(STATUS)
        self._room = np.zeros((0, self._record_words), np.uint32)
        self._update_count = _PACKET_UPDATES * settings.input_packets
        self._updates = device.allocate_host(8 * UPDATE_LINE_WORDS * self._update_count, "updates")
        # Matches that are listed are in the output ring, so lines would not say when all of them are there.
        under_way = settings.slot_count + self._update_count
        has_lines = not self.lists and "lines" not in settings.without
        count = 1 << (under_way - 1).bit_length() if has_lines else 0
        nbytes = 8 * LINE_WORDS * count
        self._lines = device.allocate_host(nbytes, "answers of updates") if count else None
        words = np.zeros(0, np.uint64) if self._lines is None else self._lines.array[:nbytes].view(np.uint64)
        self.lines: NDArray[np.uint64] = words.reshape(count, LINE_WORDS)

    @property
    def told(self) -> NDArray[np.uint64]:
        """The words ``packets`` and ``finished`` of the status."""
        return self._host.array[256 : 256 + 16].view(np.uint64)

    def room_for(self, most: int) -> NDArray[np.uint32]:
        """Return memory for so many records, the same each time."""
        if len(self._room) < most:
            self._room = np.zeros((most, self._record_words), np.uint32)
        return self._room[:most]

    def _add(self, name: str, nbytes: int, what: str, *, clear: bool = True) -> Buffer:
        self._buffers.pop(name, None)
        buffer = self._accelerator.device.allocate(max(16, nbytes), what, budget=self._budget)
        if clear:
            self._side.clear(buffer)
        self._buffers[name] = buffer
        return buffer

    def _put(self, name: str, array: NDArray[Any], what: str) -> int:
        buffer = self._add(name, array.nbytes, what)
        if array.nbytes:
            self._side.upload(buffer, array)
            self._side.wait()
        return buffer.address

    def address(self, name: str) -> int:
        """Return the address of a part."""
        return self._buffers[name].address

    def _allocate_for_updates(self) -> None:
        slots = self._settings.slot_count
        for name, nbytes, what in (
            ("work_counts", 128, "counts of the work list"),
            ("tickets", 128, "tickets of the output ring"),
            ("pending", PENDING.itemsize, "updates that were received"),
            ("parts", 4 * slots, "parts of updates"),
            ("totals", 16 * slots * self._plans, "totals of updates"),
            ("control", ctypes.sizeof(layout.Control), "control of searches"),
            ("copied", COPIED_ROWS.itemsize, "long rows that are copied"),
            ("stamps", _STAMPED * 8 * len(STAMPS) if self._settings.measures else 0, "times of updates"),
        ):
            self._add(name, nbytes, what)
        self._allocate_for_groups()
        self._side.wait()

    def _allocate_for_groups(self) -> None:
        groups = self._groups
        works = self._settings.slot_count + 2 * groups + self._helpers
        self._work_size = 1 << (works - 1).bit_length()
        self._add("works", self._work_size * ctypes.sizeof(Work), "the work list")
        self._add("roots", groups * self._plans * VERSIONED_ROOT.itemsize, "roots of searches")

    def _upload_plans(self, native: _native.Monitor, table: PlanTable) -> None:
        ids = {number: np.array(native.list(number), np.uint32) for number in sorted(table.lists)}
        joined = np.concatenate([*ids.values(), np.zeros(1, np.uint32)])
        begin, places = self._put("lists", joined, "lists of ids that plans name"), {}
        for number, array in ids.items():
            places[number] = (begin, begin + array.nbytes)
            begin += array.nbytes
        self._put("plans", table.packed(places), "plans of a monitor")
        listed = np.zeros(self._plans, np.uint32)
        listed[: len(table.listed)] = table.listed
        self._put("listed", listed, "plans of a monitor")
        early = np.zeros(self._plans, np.uint32)
        early[: len(table.listed)] = table.reads_before.astype(np.uint32)
        self._put("early", early, "plans of a monitor")
        self._names = len(table.names)
        self._sources = max((sum(len(step[0]) for step in steps) for steps in table.steps), default=0)

    def _allocate_lists(self, longest: int) -> None:
        """Have candidate lists with room for so many entries, of fewer groups if memory is short."""
        words = -(-longest // _LINE_WORDS) * _LINE_WORDS
        self.list_words = words
        bytes_of_block = (self.threads // STREAM_LANES) * 4 * words * max(1, self.levels - _FIRST_LEVEL)
        room = int(_LISTS_SHARE * self._free())
        if "lists_of_groups" in self._buffers:
            room += self._buffers.pop("lists_of_groups").nbytes
        blocks = min(self.blocks, room // bytes_of_block)
        if blocks < _LEAST_BLOCKS:
            raise DeviceMemoryError(
                "candidate lists", _LEAST_BLOCKS * bytes_of_block, room, "give a larger gpu_memory"
            )
        self.blocks = blocks
        self._add("lists_of_groups", blocks * bytes_of_block, "candidate lists", clear=False)

    def _free(self) -> int:
        device = self._accelerator.device
        free = device.free_memory()
        return free if self._budget is None else min(free, self._budget - device.used_memory())

    def _graph_for(self, rows: NamedRows) -> GraphMemory:
        settings = self._settings
        least = sum(units_of(some[0]) for some in rows.entries if some is not None)
        units = units_for(settings.versions, settings.memory_share, least, self._free())
        return GraphMemory(
            self._accelerator, self._budget, rows.number, units, settings.slot_count, self._side
        )

    def _load(self, rows: NamedRows) -> None:
        """Load rows that the host has, as of the last update, and note where all rows are."""
        moment = int(self.graph.progress().published)
        for name, some in enumerate(rows.entries):
            if some is not None:
                self.graph.load(rows.first_row(name), *some, moment)
        named = np.zeros(max(1, len(rows.names)), TARGET_VERSIONS)
        versions = named["versions"]
        versions["heads"], versions["memory"] = self.graph.address("heads"), self.graph.address("memory")
        named["first_row"] = rows.vertices * np.arange(len(named))
        self._put("rows", named, "places of rows")
        self._vertices = rows.vertices

    def renumber(self, rows: NamedRows, before: NamedRows) -> None:
        """Give rows other numbers while no kernel runs: there are rows for more vertices."""
        self.graph.move(rows.number, rows.moves_from(before))
        self._load(rows)
        self._make_kinds(self.kinds.room)

    def _fill(self) -> None:
        """Fill the argument."""
        settings, given = self._settings, Stream()
        strip = 0 if "long_strips" in settings.without else settings.strip
        given.graph = self.graph.graph(self.kinds, self.list_words, self.address("copied"), strip)
        given.plan = ChangingPlans(
            plans=self.address("plans"),
            rows=self.address("rows"),
            roots=self.address("roots"),
            totals=self.address("totals"),
            most_levels=self.levels,
            columns=1 + self.levels,
        )
        task = given.task
        task.stride, task.chunk, task.vertices, task.limit = 1, 1, self._vertices, layout.NO_LIMIT
        task.control, task.buffers = self.address("control"), self.address("lists_of_groups")
        levels = self.levels - _FIRST_LEVEL
        task.group_words = self.list_words * max(1, levels)
        for level in range(levels):
            task.buffer_at[_FIRST_LEVEL + level] = self.list_words * level
        task.max_spans, task.shared_bytes = self._spans, self._shared_of_group
        given.work = WorkList(self.address("work_counts"), self.address("works"), self._work_size)
        given.updates, given.update_count = self._updates.address, self._update_count
        given.output = self._output.view(self.address("tickets"))
        given.control, given.status = self._host.address, self._host.address + 256
        for name in ("pending", "parts", "listed", "early", "stamps"):
            setattr(given, name, self.address(name))
        given.batch = self.graph.address("batch")
        given.plan_ends, given.plans = self.kinds.address("plans_at"), self.kinds.address("plans")
        given.roots_of_group = given.most_roots = self._plans
        given.stamp_count, given.line_count = _STAMPED, len(self.lines)
        given.lines = 0 if self._lines is None else self._lines.address
        given.name_count, given.plan_bytes = max(1, self._names), bytes_of_plan(self._sources)
        given.record_words, given.updater_warps = self._record_words, self._updater_warps
        given.most_helpers = self._helpers
        given.sorted_share = 0 if "sorts" in settings.without else _SORTED_SHARE
        if settings.preset == "paper":
            given.batch_updates, given.batch_nanoseconds = MOST_UPDATES, _PAPER_NANOSECONDS
        self.argument = given

    # Launches

    def prepare_launch(self) -> None:
        """Clear what a launch finds cleared; the state of updates stays."""
        if not self._accelerator.is_best(self._source, self.kernel):
            self._replace_kernel()
        for name in ("work_counts", "works", "control", "copied"):
            self._side.clear(self._buffers[name])
        progress = self.graph.progress()
        progress.stop = progress.parks = 0
        progress.committed, progress.early_ended = progress.published, 0
        pending = self._pending()
        pending["reason"] = 0
        pending["received"] = progress.published + int(pending["count"][0]) - int(pending["written"][0])
        self.graph.set_progress(progress)
        self._side.upload(self._buffers["pending"], pending)
        self._side.wait()
        self.control["stop"] = self.control["park"] = 0
        self.status["reason"] = 0
        for buffer in (*self._buffers.values(), *self.graph.buffers, *self.kinds.buffers):
            self.main.hold(buffer)

    def _replace_kernel(self) -> None:
        """Have the kernel that is compiled to full speed now, of which more blocks may run at once."""
        self.kernel = self._best_kernel()
        self.blocks = self._most_blocks()
        self._allocate_for_groups()
        self._allocate_lists(self.list_words)
        self._fill()

    def _pending(self) -> NDArray[Any]:
        found = np.zeros(PENDING.itemsize, np.uint8)
        self._side.download(self._buffers["pending"], found)
        self._side.wait()
        return found.view(PENDING)

    def see_end(self) -> End:
        """Return why the kernel ended, once it has."""
        return End(int(self._pending()["reason"][0]))

    def finished(self) -> int:
        """Return the moment up to which all updates are finished, once the kernel has ended."""
        return int(self.graph.progress().finished)

    def wants_to_look(self) -> bool:
        """Whether it is time to see whether the kernel has ended."""
        now = time.monotonic()
        if now - self._looked < _LOOKS:
            return False
        self._looked = now
        return True

    def enlarge_lists(self) -> None:
        """Have candidate lists with twice the room, while no kernel runs."""
        self._allocate_lists(2 * self.list_words)
        self._fill()

    def enlarge_kinds(self) -> None:
        """Have tables with twice the room for kinds, while no kernel runs; kinds keep their numbers."""
        self._make_kinds(self.kinds.room.doubled())

    def _make_kinds(self, room: KindRoom) -> None:
        known = self.kinds.known
        self.kinds = KindTables(self._accelerator.device, self._side, self._budget, room, self._vertices)
        for kind in known:
            self.kinds.add(kind)
        self._fill()

    def counters(self) -> Mapping[str, int]:
        """Return counters, while no kernel runs."""
        found = np.zeros(ctypes.sizeof(layout.Control), np.uint8)
        self._side.download(self._buffers["control"], found)
        counts = np.zeros(1, WORK_COUNTS)
        self._side.download(self._buffers["work_counts"], counts)
        copied = np.zeros(COPIED_ROWS.itemsize, np.uint8)
        self._side.download(self._buffers["copied"], copied)
        self._side.wait()
        control = layout.Control.from_buffer_copy(bytes(found))
        times = self._pending()[0]["times"]
        steps = {f"cycles_{step}": int(of) for step, of in zip(STEPS, times["cycles"], strict=True)}
        return {
            **self.graph.counters(),
            **({"batches": int(times["batches"]), **steps} if self._settings.measures else {}),
            "works_issued": int(counts["issued"][0]),
            **{f"strips_{name}": int(copied.view(COPIED_ROWS)[name][0]) for name in ("copied", "helped")},
            "parts_given": control.stolen,
            "blocks": self.blocks,
        }

    def stamps(self, moments: range) -> NDArray[np.uint64]:
        """Return when the last updates were at each of `STAMPS`, in nanoseconds, while no kernel runs."""
        found = np.zeros((_STAMPED, len(STAMPS)), np.uint64)
        self._side.download(self._buffers["stamps"], found)
        self._side.wait()
        return found[np.array(moments[-_STAMPED:], np.int64) % _STAMPED]

    def release(self) -> None:
        """Free all memory; no kernel runs, unless it was abandoned."""
        if self in _abandoned:
            return
        self._buffers.clear()
        self.graph.release()
        self.kinds.release()
        self.main.close()
        self._side.close()

    def abandon(self) -> None:
        """Leave the memory to a kernel that does not end."""
        _abandoned.append(self)


_abandoned: list[StreamMemory] = []
"""Memory of kernels that do not end, kept for as long as the process."""
