"""A run of the phases of a search whose tables do not fit on the device together.

    for each phase:                                   breadth first
        for each tile of its table:                   the next tile is copied meanwhile
            for each chunk of its embeddings there:   frontiers are sorted by tiles
                extend or test, and append to the output

A frontier that is full goes to the host and makes room for the rest, so each tile is read once in a phase,
for all embeddings. When the host has no room for more, what there is goes through all later phases, which
read their tables for that group.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product

import numpy as np
from numpy.typing import NDArray

from motiflux.gpu.pvm.frontiers import Frontier
from motiflux.gpu.pvm.host_frontiers import FrontierCopies, HostFrontier
from motiflux.gpu.pvm.launches import Room, View
from motiflux.gpu.pvm.phase_steps import Chunk, Filling, PhaseJob, PhaseSteps, Watch, nothing_beside
from motiflux.gpu.pvm.programs import ExtensionProgram
from motiflux.gpu.pvm.resident_tile import TableRows
from motiflux.gpu.pvm.row_tables import TableKey
from motiflux.gpu.pvm.set_up import TiledMemory
from motiflux.gpu.pvm.work import PhaseWork
from motiflux.request.deadline import OutOfTimeError

Tiles = tuple[int, ...]
"""The number of a tile of each table of a phase."""


@dataclass
class Output(Filling):
    """The output of a phase, of which a part may be on the host."""

    kept: HostFrontier = field(default_factory=HostFrontier)

    @property
    def is_empty(self) -> bool:
        """Whether there are no embeddings."""
        return self.rows == 0 and not self.kept.segments

    def clear(self) -> None:
        """Have all embeddings be dropped."""
        self.rows, self.full, self.kept = 0, False, HostFrontier()


@dataclass(frozen=True)
class Source:
    """The embeddings that a phase extends or tests.

    Parameters
    ----------
    frontier
        Memory on the device; None: all vertices.
    rows
        Embeddings in it.
    firsts
        The first of them of each tile, and the number of all; None: they are not sorted.
    kept
        Embeddings that are on the host instead, and are copied to this memory; None: all are there.
    """

    frontier: Frontier | None
    rows: int
    firsts: NDArray[np.int64] | None = None
    kept: HostFrontier | None = None

    def rows_of(self, tile: int) -> int:
        """Return the number of embeddings of a tile."""
        if self.kept is not None:
            return self.kept.rows(tile)
        return self.rows if self.firsts is None else int(self.firsts[tile + 1] - self.firsts[tile])


class _Ahead:
    """Embeddings of one tile after another; the next ones are asked for once those of a tile are done."""

    def __init__(self, views: Iterator[tuple[int, View]]) -> None:
        self._views = views
        self._next = next(views, None)

    def of(self, tile: int) -> Iterator[View]:
        """Yield those of a tile, whose kernels are over when the next ones are asked for."""
        while self._next is not None and self._next[0] == tile:
            yield self._next[1]
            self._next = next(self._views, None)


class TiledRun(PhaseSteps):
    """One run.

    Parameters
    ----------
    tiled
        The tables, and memory to sort frontiers.
    host_room
        Most bytes of embeddings on the host.
    hurries
        Whether the first embeddings are wanted soon, as there is a limit: groups are small at first.

    Attributes
    ----------
    kept_bytes
        Bytes of embeddings that were copied to the host and back.
    """

    def __init__(
        self,
        job: PhaseJob,
        room: Room,
        tiled: TiledMemory,
        watch: Watch,
        host_room: int,
        *,
        hurries: bool,
    ) -> None:
        super().__init__(job, room, watch)
        self._tables, self._scratch, self._buckets = tiled.tables, tiled.scratch, tiled.buckets
        phases = self._programs.phases
        self._tiled = [self._tiled_table(phase.tables) for phase in phases]
        behind = sum(at is not None for at in self._tiled[1:])
        self._most_kept = host_room // max(1, behind)
        self._may_keep = 0 if hurries else self._most_kept
        self._copies: FrontierCopies | None = None
        self._outputs = [
            Output(None if self._counts and at == self._last else room.frontiers[at])
            for at in range(self._last + 1)
        ]
        self._least_ids = {key: tiled.tables.least_ids(key) for key in self._tiled if key is not None}
        self._acquired: tuple[object, Sequence[TableRows]] | None = None
        self._shares = [0.0] * len(phases)

    @property
    def kept_bytes(self) -> int:
        """Bytes of embeddings that were copied to the host and back."""
        return 0 if self._copies is None else self._copies.copied_bytes

    def chunks(self, vertices: int, *, may_grow: bool = False) -> Generator[Chunk, None, None]:
        """Run all phases; yield the embeddings of each chunk of the last frontier, if they are listed.

        Parameters
        ----------
        vertices
            Number of vertices of the graph: roots of the search.
        may_grow
            Not used: frontiers are as large as they can be.
        """
        try:
            yield from self._through(0, Source(None, vertices))
        except OutOfTimeError:
            self.complete = False
        finally:
            self._end_copies()

    def _end_copies(self) -> None:
        """Wait for copies of embeddings that were begun: their pinned memory goes with this object."""
        job = self._job
        if self._copies is not None and job.is_open and not job.inherited:
            job.stop_and_wait()
            job.stream.wait()
            for output in self._outputs:
                self._copies.release(output.kept)
            self._copies.close()

    # Phases

    def _through(self, at: int, source: Source) -> Iterator[Chunk]:
        """Run the phases from one on with the embeddings before it."""
        output, order = self._outputs[at], self._order(at, source)
        self._shares[at] = 0.0
        views = _Ahead(self._views(source, [max(tiles) for tiles in order]))
        for place, tiles in enumerate(order):
            if not self.complete:
                break
            following = (at, order[place + 1]) if place + 1 < len(order) else self._first_behind(at)
            beside = nothing_beside if following is None else partial(self._prefetch, *following)
            for view in views.of(max(tiles)):
                yield from self._extend(at, view, tiles, output, beside)
                beside = nothing_beside
            self._shares[at] = (place + 1) / len(order)
            self._tell_share()
        yield from self._beyond(at, output)

    def _extend(
        self, at: int, view: View, tiles: Tiles, output: Output, beside: Callable[[], None]
    ) -> Iterator[Chunk]:
        """Extend or test embeddings with the rows of a tile."""
        work = PhaseWork(view.rows)
        self._clear_positions(at)
        while not work.over and self.complete:
            if output.full:
                yield from self._make_room(at, output)
            source = None if at == 0 else view
            if self._copies is not None and output.frontier is not None:
                self._copies.before_writing(output.frontier.buffer)
            self._fill(at, work, self._acquire(at, tiles), output, source, beside)
            beside = nothing_beside

    def _make_room(self, at: int, output: Output) -> Iterator[Chunk]:
        """Empty a frontier: to the host, if it has room, or through all later phases."""
        assert output.frontier is not None
        nbytes = 4 * output.frontier.width * output.rows
        reads_tiles = any(table is not None for table in self._tiled[at + 1 :])
        if reads_tiles and output.kept.nbytes + nbytes <= self._may_keep:
            self._keep(at, output)
        else:
            yield from self._beyond(at, output)
            self._may_keep = min(self._most_kept, 2 * self._may_keep + nbytes)

    def _beyond(self, at: int, output: Output) -> Iterator[Chunk]:
        """Run the phases behind one with the embeddings that it wrote, and drop these."""
        if output.is_empty or output.frontier is None:
            return
        if at == self._last:
            yield Chunk(output.frontier, output.rows)
        elif self.complete:
            yield from self._through(at + 1, self._source_of(at, output))
        if self._copies is not None:
            self._copies.release(output.kept)
        output.clear()

    def _may_pause(self, at: int) -> bool:
        """Whether rows are handed out after some time: of the last phase, as others would read all tiles."""
        return at == self._last

    # Embeddings

    def _source_of(self, at: int, output: Output) -> Source:
        """Return the embeddings behind a phase for the next one."""
        assert output.frontier is not None
        if output.kept.segments:
            if output.rows:
                self._keep(at, output)
            return Source(output.frontier, 0, kept=output.kept)
        return Source(output.frontier, output.rows, self._sort(at, output))

    def _sort(self, at: int, output: Output) -> NDArray[np.int64] | None:
        """Sort a frontier by the tiles that the next phase reads; None: it reads no tiles."""
        key, column = self._tiled[at + 1], self._source_column(at + 1)
        frontier = output.frontier
        assert frontier is not None
        if key is None:
            return None
        into = self._scratch
        assert into is not None
        into.width, into.capacity = frontier.width, frontier.capacity
        if self._copies is not None:
            self._copies.before_writing(into.buffer)
        firsts = self._buckets.sort(frontier, output.rows, column, self._least_ids[key], into)
        frontier.buffer, into.buffer = into.buffer, frontier.buffer
        return firsts

    def _keep(self, at: int, output: Output) -> None:
        """Move the embeddings of a frontier to the host, and have it be filled in other memory meanwhile."""
        frontier, other = output.frontier, self._scratch
        assert frontier is not None
        assert other is not None
        if self._copies is None:
            job = self._job
            self._copies = FrontierCopies(
                job.accelerator.device, job.stream, self._tables.blocks, self._watch.deadline
            )
        firsts = self._sort(at, output)
        if firsts is None:
            firsts = np.array([0, output.rows], np.int64)
        output.kept.segments.append(self._copies.download(frontier, output.rows, firsts))
        frontier.buffer, other.buffer = other.buffer, frontier.buffer
        output.rows, output.full = 0, False

    def _views(self, source: Source, tiles: Sequence[int]) -> Iterator[tuple[int, View]]:
        """Yield the embeddings of tiles, in their order, as they are on the device."""
        frontier = source.frontier
        if frontier is None:
            yield from ((tile, View(0, 0, source.rows)) for tile in tiles)
        elif source.kept is not None:
            assert self._copies is not None
            for chunk in self._copies.chunks(source.kept, frontier, tiles):
                yield chunk.tile, View(frontier.address + 4 * chunk.first, frontier.capacity, chunk.rows)
        else:
            for tile in tiles:
                first = 0 if source.firsts is None else int(source.firsts[tile])
                yield tile, View(frontier.address + 4 * first, frontier.capacity, source.rows_of(tile))

    # Tiles

    def _tiled_table(self, keys: Sequence[TableKey]) -> TableKey | None:
        """Return the table of a phase that is in tiles; None: none is."""
        tiled = [key for key in keys if self._tables.tiles(key) > 1]
        assert len(tiled) <= 1, "phases read one row of tables in tiles"
        return tiled[0] if tiled else None

    def _source_column(self, at: int) -> int:
        """Return the column of the vertex whose row a phase reads in its table in tiles; 0 if none is."""
        phase, key = self._programs.phases[at], self._tiled[at]
        reads = phase.sets if isinstance(phase, ExtensionProgram) else phase.tests
        columns = {one.source for one in reads if phase.tables[one.table] == key}
        assert len(columns) <= 1, "phases read one row of tables in tiles"
        return columns.pop() if columns else 0

    def _order(self, at: int, source: Source) -> list[Tiles]:
        """Return the tiles of a phase that have rows of embeddings, those on the device first."""
        keys = self._programs.phases[at].tables
        order = list(product(*(range(self._tables.tiles(key)) for key in keys)))
        key = self._tiled[at]
        if key is None:
            return order
        last = self._tables.tiles(key) - 1
        if self._tables.has(key, last) and not self._tables.has(key, 0):
            order.reverse()
        return [tiles for tiles in order if source.rows_of(max(tiles))]

    def _first_behind(self, at: int) -> tuple[int, Tiles] | None:
        """Return the tiles that the next phase probably begins with."""
        if at == self._last:
            return None
        keys, tiled = self._programs.phases[at + 1].tables, self._tiled[at + 1]
        last = 0 if tiled is None else self._tables.tiles(tiled) - 1
        begins_last = tiled is not None and self._tables.has(tiled, last) and not self._tables.has(tiled, 0)
        return at + 1, tuple(last if key == tiled and begins_last else 0 for key in keys)

    def _prefetch(self, at: int, tiles: Tiles) -> None:
        self._tables.prefetch(list(zip(self._programs.phases[at].tables, tiles, strict=True)))

    def _acquire(self, at: int, tiles: Tiles) -> Sequence[TableRows]:
        """Have tiles on the device, if they are not those of the launch before."""
        names = list(zip(self._programs.phases[at].tables, tiles, strict=True))
        if self._acquired is None or self._acquired[0] != names:
            self._acquired = None
            self._acquired = names, self._tables.acquire(self._job.stream, names)
        return self._acquired[1]

    def _tell_share(self) -> None:
        """Tell the share of the first phase that is not over; embeddings go through phases together."""
        at = next((at for at, share in enumerate(self._shares) if share < 1), self._last)
        self._tell((at + self._shares[at]) / len(self._shares))
