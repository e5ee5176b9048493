"""``engine="outofcore"``: updates matched on a GPU over rows that stay in memory of the host (GCSM)."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.codegen.access_walks import walks_source
from motiflux.codegen.changing import ChangingPlans, cache_source
from motiflux.codegen.row_access import MARK, ROWS_WITH_COPIES, hash_source
from motiflux.device import Mark, Stream
from motiflux.device.base import NotPinnedError
from motiflux.errors import ArgumentError, DeviceMemoryError
from motiflux.gpu.changing.answer import Found
from motiflux.gpu.changing.engine import ChangingEngine
from motiflux.gpu.changing.manner import Preset
from motiflux.gpu.changing.plans import RowsName
from motiflux.gpu.changing.rows import EITHER, IN, Rows
from motiflux.gpu.changing.searches.searched import RootsThere
from motiflux.gpu.changing.several import SeveralDevices, open_with
from motiflux.gpu.outofcore.cache import NOTHING, Brought, RowCache, Wanted
from motiflux.gpu.outofcore.device_walks import DeviceWalks
from motiflux.gpu.outofcore.headers import HeaderWriter
from motiflux.gpu.outofcore.host_rows import HostRows
from motiflux.gpu.outofcore.own_rows import HostOrOwnRows, OwnRows
from motiflux.gpu.outofcore.pinned import NotLentError, PinnedArenas
from motiflux.gpu.outofcore.policies import Coming, policy_of
from motiflux.gpu.outofcore.row_index import RowIndex
from motiflux.gpu.outofcore.spending import FIRST_CHOOSING, LEAST_CHOOSING, Spending
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.jit import Source
from motiflux.notes import note
from motiflux.units import bytes_text, grouped

SHARE = 0.5
"""Share of the memory that is free at first which the cache takes at most: searches need some, too."""

LEAST_ON_DEVICE = 1.5e-3
"""Seconds for choosing rows from which walks are on the device, where few take as long as thousands."""
_MOST_WANTED, _LEAST_WANTED = 8, 1 << 12
"""Times the rows that may be copied, and rows, of which the best are looked at."""
_LEAST_SHARE = 1 / 64
"""After a search that lacked memory with this share, the cache has none."""
_NO_EFFECT = {"container": "slack", "bitmaps": "off"}
"""Switches of rows in memory of the device: bitmaps would read all long rows of the host."""

_SECONDS_BETWEEN_LOOKS = 5e-5
_INCOMING = 1 << 31
"""``dynamic::End::kBack``: in the class of an end in a row of incoming edges."""

OUT_OF_CORE = Preset("outofcore", "active", reads_host=True)


class OutOfCoreEngine(ChangingEngine):
    """Matches the runs of a native monitor on one device, with the rows in memory of the host.

    Before each run the rows that it will open most often are copied to the device; others are read from the
    host while it is searched. Touched rows are merged on the device, so they are there, too.

    Parameters
    ----------
    accelerator, gpu_memory, tuning, preset
        As `ChangingEngine` has them; ``cache`` chooses the rows that are copied.

    Attributes
    ----------
    reads_host_rows
        Its kernels read rows of the monitor.
    index
        Tells kernels where copies are; None: headers do.
    spent
        As `ChangingEngine` has it. Of ``write_seconds``, choosing rows took ``choose_seconds`` and copying
        them ``copy_seconds``.
    """

    reads_host_rows = True

    def __init__(
        self,
        accelerator: Accelerator,
        gpu_memory: int | None,
        tuning: Mapping[str, str],
        preset: Preset = OUT_OF_CORE,
    ) -> None:
        self._switches, self._policy_name = dict(tuning), tuning["cache"]
        super().__init__(accelerator, gpu_memory, {**tuning, **_NO_EFFECT}, preset)
        access = self.manner.access
        self._policy = policy_of(tuning)
        self._unified = tuning["host_memory"] == "unified"
        self.headers = HeaderWriter(accelerator, gpu_memory)
        self.pinned = PinnedArenas(accelerator.device)
        self._reader: _native.GraphReader | None = None
        self._refusal: NotPinnedError | None = (
            None  # why the monitor's rows are copied, until they are forgotten
        )
        self._is_told = False
        self._merged: Mark | None = None
        self.cache = RowCache(
            accelerator,
            gpu_memory,
            self.headers,
            SHARE,
            carries=tuning["carry"] == "on",
            copies_there=tuning["cache_copies"] == "device",
            names_copies=not access.looks_up,
            notes_left=self._policy_name == "degree",
        )
        self.index = RowIndex(accelerator, gpu_memory, access) if access.knows_copies else None
        self._walks = None
        if self._policy_name == "frequency" and tuning["access_walks"] in ("auto", "device"):
            self._walks = DeviceWalks(accelerator, gpu_memory, access.unit(walks_source()))
        self._walking: float | None = None  # seconds for walks on the device, if there are to be some
        self._wanted: Wanted = NOTHING
        self._touched: NDArray[np.uint32] = NOTHING.vertices
        self._threads = 1
        spends = tuning["cache"] == "frequency" and tuning["cache_time"] == "share" and self.cache.carries
        self._spends = Spending() if spends else None
        self._spent = {"choose_seconds": 0.0, "copy_seconds": 0.0}

    def begin(self, native: _native.Monitor, threads: int) -> None:
        """Bring rows and plans up to date, as `ChangingEngine` does."""
        self._threads = threads
        self._check_marks(native)
        if self._native is not native:
            self._reader = None
        try:
            with self._naming_refusal():
                super().begin(native, threads)
        except NotPinnedError:
            if self._own_rows() or not self.pinned.nbytes:
                raise
            self._leave_arenas()  # what is pinned for other patterns
            with self._naming_refusal():
                super().begin(native, threads)
        self._warn()

    def _check_marks(self, native: _native.Monitor) -> None:
        """Refuse ids that have the bit that marks entries of touched rows in two parts."""
        if self.manner.access.two_parts and native.num_vertices > MARK:
            raise ArgumentError(
                "tuning['touched_rows']", f"merged for more than {grouped(MARK)} vertices", "two_parts"
            )

    def copied(self) -> Mapping[str, float]:
        """Return how many rows the last run wanted, kept, copied and left out, and the bytes copied."""
        found = {f"cache_{name}": float(number) for name, number in asdict(self.cache.brought).items()}
        if self._walks is not None:
            last = self._walks.last
            found |= {"walks": float(last.walks), "walks_left_out": float(last.left_out)}
        return found

    def describe(self, positions: Mapping[int, int]) -> str:
        """Return how updates are searched, where rows are, and what the last run copied."""
        last = self.cache.brought
        rows = (
            f"rows in pinned memory of the host; cache={self._policy_name}: the last run wanted"
            f" {grouped(last.wanted)} rows, kept {grouped(last.kept)} and copied {grouped(last.copied)}"
            f" ({bytes_text(last.nbytes)})"
        )
        access = self.manner.access.describe()
        walks = []
        if self._walks is not None and (self._walks_there or self._walks.last.rounds):
            walks.append(self._walks.last.describe())
        return "\n".join([super().describe(positions), rows, *walks, *([access] if access else [])])

    @property
    def _walks_there(self) -> bool:
        """Whether walks on the device choose rows for each run."""
        return self._walks is not None and self._switches["access_walks"] == "device"

    def _can_walk_there(self) -> bool:
        """Return whether walks on the device can choose rows for a run; if not yet, kernels are compiled."""
        if self._walks is None or self._walks_there:
            return self._walks_there
        fits = self._foreseen is None and not self._walks.lacks_memory
        return fits and self._accelerator.begin(self._walks.source)

    def _writers(self) -> list[Source]:
        access = self.manner.access
        hashes = [hash_source()] if access.lookup == "hash" else []
        walks = [access.unit(walks_source())] if self._switches["access_walks"] == "device" else []
        return [*super()._writers(), cache_source(), *hashes, *walks]

    def _new_rows(self, native: _native.Monitor, target: int, way: int) -> Rows:
        directed = native.directed
        if self._reads_own_rows(native, target, way):
            if self._reader is None:
                self._reader = native.reader()
            self._pin(native, self._reader)
        rows: HostOrOwnRows
        if self._reads_own_rows(native, target, way):
            rows = OwnRows(self._accelerator, self._budget, self.headers, way=way, directed=directed)
            rows.writer = self.manner.access.write_source
        else:
            rows = self._new_host_rows(way, directed=directed)
        return rows

    def _reads_own_rows(self, native: _native.Monitor, target: int, way: int) -> bool:
        """Return whether kernels read these rows where the monitor has them."""
        return not self._unified and self._refusal is None and native.has_own_rows(target, way)

    def _new_host_rows(self, way: int, *, directed: bool) -> HostRows:
        rows = HostRows(self._accelerator, self._budget, way=way, directed=directed, unified=self._unified)
        rows.writer = self.manner.access.write_source
        return rows

    def _pin(self, native: _native.Monitor, reader: _native.GraphReader) -> None:
        """Pin the memory of the monitor's rows; if that cannot be, note why and leave all of it."""
        try:
            try:
                self.pinned.follow(reader.arenas(), native.lenders)
            except NotLentError as error:
                self._take_over(native, error)
                self.pinned.follow(reader.arenas())
        except NotPinnedError as error:
            self._refusal, self._is_told = error.with_traceback(None), False
            self._leave_arenas()

    def _take_over(self, native: _native.Monitor, why: NotLentError) -> None:
        """Have the monitor copy the rows that are in a file, which the driver does not pin."""
        before = native.nbytes
        native.take_over_lent_rows(self._threads)
        note(
            f"engine={self.name!r}: the pages of the graph file cannot be read where they are mapped ({why});"
            f" the rows were copied to {bytes_text(max(0, native.nbytes - before))} of memory"
        )

    def _leave_arenas(self) -> None:
        """Pin the memory of the monitor's rows no more: copies of rows need the budget."""
        self._reader = None
        self.pinned.give_up()

    def _own_rows(self) -> list[RowsName]:
        """Return the names of rows that are the monitor's."""
        return [name for name, rows in self._rows.items() if isinstance(rows, OwnRows)]

    @contextmanager
    def _naming_refusal(self) -> Iterator[None]:
        """Have the error of copies that cannot be pinned say why rows are copied at all."""
        try:
            yield
        except NotPinnedError as error:
            if self._refusal is None:
                raise
            raise NotPinnedError(f"{self._refusal}; nor can copies be pinned: {error}") from None

    def _warn(self) -> None:
        """Warn once that rows are copied that could not be pinned."""
        if self._refusal is None or self._is_told:
            return
        self._is_told = True
        held = sum(rows.host_nbytes for rows in self._rows.values() if isinstance(rows, HostRows))
        note(
            f"engine={self.name!r}: the rows of the monitor are not pinned ({self._refusal}); those that"
            f" patterns read were copied to {bytes_text(held)} of pinned memory instead, and each call writes"
            " them once more"
        )

    def _cover(self, stream: Stream, native: _native.Monitor, run: _native.Run) -> bool:
        """Have rows for all vertices and classes, and headers that are true.

        From now on the host leaves the rows as they are that did not change since, until `match` ends.
        """
        self._check_marks(native)
        if self._reader is not None:
            self._pin(native, self._reader)
        with self._naming_refusal():
            copied = self._copy_outgrown(stream, native, run)
        self._warn()
        changed = NOTHING.vertices
        if self._reader is not None:
            changed = self._reader.hold()
        others = super()._cover(stream, native, run)
        if len(changed):
            self.cache.leave(stream, changed)
            own = [rows for rows in self._rows.values() if isinstance(rows, OwnRows)]
            self.headers.write(stream, (rows.placed(changed) for rows in own))
        return others or copied

    def _outgrown(self) -> list[RowsName]:
        """Return the names of rows that are no longer runs of the monitor's, or cannot be pinned any more."""
        return [
            name
            for name, rows in self._rows.items()
            if isinstance(rows, OwnRows)
            and (self._refusal is not None or not rows.monitor.has_own_rows(*name))
        ]

    def _copy_outgrown(self, stream: Stream, native: _native.Monitor, run: _native.Run) -> bool:
        """Copy these rows: there are new labels, or more rows than can be pinned."""
        names = self._outgrown()
        if names and len(names) == len(self._own_rows()):
            self._leave_arenas()
        if names:  # while headers of other rows may name copies
            self.cache.empty(stream, [cast("HostOrOwnRows", self._rows[name]) for name in names])
        for target, way in names:
            rows = self._new_host_rows(way, directed=native.directed)
            rows.load(stream, native, target, self._threads)
            if run.is_written:
                rows.take_over(run, _accepts(native, target, way))
            self._rows.pop((target, way)).release()
            self._rows[target, way] = rows
        if names:
            self.cache.release()
            self._covered, self._classes = None, -1
        return bool(names)

    def foresee(self, run: _native.Run) -> Wanted:
        """Return the rows that a whole run is expected to open; none if rows are to be copied before."""
        if self._walks_there or self._outgrown():
            return NOTHING
        return self._wanted_of(run, self._kinds(), _touched_by(run))

    def _kinds(self) -> list[HostOrOwnRows]:
        """Return the rows of the names of plans, in their order."""
        assert self._table is not None, "begin() comes first"
        return [cast("HostOrOwnRows", self._rows[name]) for name in self._table.names]

    def _wanted_of(
        self, run: _native.Run, kinds: Sequence[HostOrOwnRows], touched: NDArray[np.uint32]
    ) -> Wanted:
        assert self._native is not None, "begin() comes first"
        assert self._table is not None
        room = self.cache.room if self.cache.is_open else sys.maxsize
        seconds, begun = self._seconds_for_choosing(), time.perf_counter()
        coming = Coming(
            self._native, run, self._table, kinds, touched, room, self._threads, seconds, self.cache.left
        )
        found = self._policy.wanted(coming)
        if self._spends is not None and seconds:
            self._spends.chose(time.perf_counter() - begun)
        return found

    def _seconds_for_choosing(self) -> float:
        return FIRST_CHOOSING if self._spends is None else self._spends.choosing()

    def _choose_rows(self, stream: Stream, run: _native.Run) -> None:
        """Choose the rows to copy, and drop the copies of rows that the run touches."""
        begun = time.perf_counter()
        kinds, self._touched = self._kinds(), _touched_by(run)
        self.cache.brought = Brought()
        self._spent["choose_seconds"], self._walking = 0.0, None
        if self._walks is not None:
            self._walks.forget()
        if self._policy_name == "none":
            return
        if self._spends is not None and not self._spends.is_of_use(run.num_roots, held=self.cache.holds_rows):
            if self.cache.is_open:
                self.cache.open(stream, kinds)  # other rows may have the same numbers now
                self.cache.empty(stream)
            return
        if self._spends is not None:
            self._spends.expect(run.num_roots)
        self.cache.open(stream, kinds)
        can_walk_there = self._can_walk_there()
        if self._spends is not None:
            self._spends.least = LEAST_ON_DEVICE if can_walk_there else LEAST_CHOOSING
        foreseen, seconds = self._foreseen, self._seconds_for_choosing()
        if can_walk_there and (self._walks_there or seconds >= LEAST_ON_DEVICE):
            self._walking = seconds  # once touched rows are merged
        elif isinstance(foreseen, Wanted):
            self._wanted = foreseen
        else:
            self._wanted = self._wanted_of(run, kinds, self._touched)
        self.cache.leave(stream, self._touched)
        self._spent["choose_seconds"] = time.perf_counter() - begun

    def _before_writing(self, run: _native.Run) -> None:
        """Wait until touched rows are merged: then the host may write them where they are."""
        if self._reader is None or self._merged is None or run.is_written:
            return
        self._wait_for_merging()
        self._reader.leave(run)

    def _wait_for_merging(self) -> None:
        """Wait until the touched rows of the run are merged."""
        while self._merged is not None and not self._merged.done():
            time.sleep(_SECONDS_BETWEEN_LOOKS)

    def _rows_table(self, stream: Stream, number: int) -> NDArray[Any]:
        if self.index is None:
            return super()._rows_table(stream, number)
        rows = np.zeros(number, ROWS_WITH_COPIES)
        rows["copies"] = self.index.addresses(stream, number)
        return rows

    def _bring_rows(self, stream: Stream, run: _native.Run, roots: RootsThere | None) -> None:
        """Copy the rows that were chosen, and tell kernels of all copies."""
        self._merged = stream.mark()
        if self._walks is not None and self._walking:
            self._walk(stream, run, roots, self._walking)
        self._copy_rows(stream, run)
        if self.index is not None:
            self.index.write(stream, self._kinds(), self.cache)

    def _walk(self, stream: Stream, run: _native.Run, roots: RootsThere | None, seconds: float) -> None:
        """Choose the rows to copy by walks on the device, from the roots that it is going to search."""
        assert self._walks is not None
        assert self._native is not None, "begin() comes first"
        assert self._table is not None
        if not self.cache.room:
            return
        self._wait_for_merging()  # as the search would
        begun = time.perf_counter()
        if self.index is not None:  # copies of touched rows were dropped
            self.index.write(stream, self._kinds(), self.cache)
        if roots is None:
            roots = self._walks.upload_roots(stream, run, self._table)
        if roots is None:
            return
        candidates = self._candidates
        places = self._plans.places
        plans = ChangingPlans(plans=places[0], rows=places[1], most_levels=self._table.most_levels)
        if candidates is not None:
            plans.candidates, plans.candidate_bytes = candidates.address, candidates.row_bytes
        found = self._walks.estimate(
            stream,
            plans,
            self._table,
            roots,
            self._native.num_vertices,
            seconds=seconds,
            threads=self._threads,
            goes_on=run.keep_going,
        )
        self._wanted = found.rows
        took = time.perf_counter() - begun
        self._spent["choose_seconds"] += took
        if self._spends is not None:
            self._spends.chose(took)

    def _copy_rows(self, stream: Stream, run: _native.Run) -> None:
        begun = time.perf_counter()
        wanted, spends = self._wanted, self._spends
        self._wanted, self._spent["copy_seconds"] = NOTHING, 0.0
        if self._policy_name == "none":
            return
        most_rows = None if spends is None else spends.most_rows()
        if spends is not None and (not len(wanted) or most_rows == 0):
            return
        if most_rows is not None:
            wanted = wanted[: max(_LEAST_WANTED, _MOST_WANTED * most_rows)]
        self.cache.bring(stream, wanted, self._touched, self._threads, run.keep_going, most_rows)
        seconds = self._spent["copy_seconds"] = time.perf_counter() - begun
        if spends is not None:
            spends.copied(seconds, self.cache.brought.copied)

    def match(
        self, run: _native.Run, meanwhile: Callable[[], None] | None = None, foreseen: object = None
    ) -> Found | None:
        """Return the matches of a run, as `ChangingEngine` does.

        Raises
        ------
        DeviceMemoryError
            There is too little memory for the search: the next run has a cache of half the size.
        """
        try:
            found = super().match(run, meanwhile, foreseen)
            if self._spends is not None and found is not None:
                self._spends.searched(self.spent.get("search_seconds", 0.0), run.num_roots)
            return found
        except DeviceMemoryError:
            self.cache.share = self.cache.share / 2 if self.cache.share > _LEAST_SHARE else 0.0
            raise
        finally:
            self._merged = None
            if self._reader is not None:
                self._reader.note(run)
                self._reader.release()

    def _forget(self) -> None:
        super()._forget()
        self.cache.release()
        if self.index is not None:
            self.index.release()
        if self._walks is not None:
            self._walks.release()
        if self._reader is not None:
            self._reader.release()
        self._policy, self._wanted = policy_of(self._switches), NOTHING  # they may hold rows and the monitor
        self._refusal = None  # it is tried again

    def abandon(self) -> None:
        """Forget the rows, as `ChangingEngine` does, and memory that other devices have given up."""
        super().abandon()
        if self.pinned.is_given_up:
            self.pinned.release()

    def close(self) -> None:
        """Free all memory."""
        super().close()
        self._reader = None
        self.pinned.release()
        self.headers.release()

    def _sent(self) -> None:
        super()._sent()
        self.cache.sent()
        self.headers.sent()
        if self.index is not None:
            self.index.sent()
        self.spent.update(self._spent)


def _touched_by(run: _native.Run) -> NDArray[np.uint32]:
    """Return the vertices whose rows a run changes, ascending; its ends are in their order.

    `numpy.unique` takes longer, as it hashes them.
    """
    vertices = np.ascontiguousarray(run.ends[:, 0])
    is_first = np.ones(len(vertices), bool)
    np.not_equal(vertices[1:], vertices[:-1], out=is_first[1:])
    found: NDArray[np.uint32] = vertices[is_first]
    return found


def _accepts(native: _native.Monitor, target: int, way: int) -> Callable[[int], bool]:
    """Return whether the rows of a target have edges as an end says them."""
    classes = native.target_classes(target)
    accepted = None if classes is None else set(classes.tolist())

    def accepts(of: int) -> bool:
        if native.directed and way != EITHER and (of >= _INCOMING) != (way == IN):
            return False
        return accepted is None or of % _INCOMING in accepted

    return accepts


def open_update_engine(
    devices: Sequence[str], *, gpu_memory: int | None = None, tuning: Mapping[str, str] | None = None
) -> ChangingEngine | SeveralDevices:
    """Return the engine on devices of these names, as `motiflux.gpu.changing.open_update_engine` does."""
    return open_with(OUT_OF_CORE, devices, gpu_memory, tuning, OutOfCoreEngine)
