"""A run of the phases of a search whose tables are all on the device, chunk by chunk of the frontiers.

All phases are launched in a chain first. If a frontier is full before its phase is over, the phase waits
while the chunk goes through all later phases, and goes on afterwards. So memory is bounded, for any number of
embeddings. If embeddings are listed, a phase also waits after some time, so that those found wait little.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence

from motiflux.gpu.pvm.launches import Room
from motiflux.gpu.pvm.phase_steps import Chunk, Filling, PhaseJob, PhaseSteps, Watch, rows_of
from motiflux.gpu.pvm.resident_tile import TableRows
from motiflux.gpu.pvm.work import PhaseWork


class FullFrontier(Exception):  # noqa: N818 - no error: the search begins again
    """A frontier was full while the chain ran, and larger ones are to be tried."""


class PhaseRun(PhaseSteps):
    """One run.

    Parameters
    ----------
    rows
        The rows of each phase.
    """

    def __init__(self, job: PhaseJob, room: Room, rows: Sequence[Sequence[TableRows]], watch: Watch) -> None:
        super().__init__(job, room, watch)
        self._rows = rows
        self._size: int | None = None  # roots of a chain that runs
        self._begins = True

    def chunks(self, vertices: int, *, may_grow: bool = False) -> Generator[Chunk, None, None]:
        """Run all phases; yield the embeddings of each chunk of the last frontier, if they are listed.

        Parameters
        ----------
        vertices
            Number of vertices of the graph: roots of the search.
        may_grow
            Whether `FullFrontier` is raised if a frontier but the last one is full before anything is
            yielded.
        """
        chained = self._run_chain(vertices, may_grow=may_grow)
        if chained is not None:
            yield from self._go_on(*chained)

    def _run_chain(self, vertices: int, *, may_grow: bool) -> tuple[int, PhaseWork, Filling] | None:
        """Run all phases in a chain; return the first one with work left, or the last one, and that work.

        None: the search is to end.
        """
        launches = self._job.launches
        launches.all_phases(self._watch.limit)
        self._clear_positions()
        self._check()
        self._size, self._begins = vertices, True
        if not self.complete or not self._run():
            return None
        self._size, size = None, vertices
        units: list[int] = []
        for at in range(self._last + 1):
            seen = launches.controls.seen(at)
            if seen.overflow:
                self.complete, self.overflow = False, True
                return None
            if seen.refused and may_grow and at < self._last:
                raise FullFrontier
            work = PhaseWork(size)
            units.append(work.batches + int(seen.long_parts))
            self._note(work, seen)
            self.made[at] = int(seen.made)
            counts = self._counts and at == self._last
            size = self.found if counts else rows_of(seen, 0)
            self.rows[at] = size
            if counts:
                self.stayed = int(seen.reserved)
            if not work.over or at == self._last:
                if work.over and self.complete and self._room.positions is None and launches.fit(units):
                    self._job.bind_again()
                return at, work, self._output(at, 0 if counts else size)
        raise AssertionError("there is a last phase")

    def _output(self, at: int, rows: int = 0) -> Filling:
        counts = self._counts and at == self._last
        return Filling(None if counts else self._room.frontiers[at], rows)

    def _go_on(self, at: int, work: PhaseWork, output: Filling) -> Iterator[Chunk]:
        """Go on behind the chain, whose first phases are over: `at` is the first that is not, or the last."""
        yield from self._beyond(at, output)
        yield from self._rest(at, work, output)

    def _through(self, at: int, size: int) -> Iterator[Chunk]:
        """Run the phases from one on with the embeddings of the frontier before it."""
        self._clear_positions(at)
        yield from self._rest(at, PhaseWork(size), self._output(at))

    def _rest(self, at: int, work: PhaseWork, output: Filling) -> Iterator[Chunk]:
        """Do the work that is left of a phase, and what follows from it."""
        while not work.over and self.complete:
            self._fill(at, work, self._rows[at], output)
            yield from self._beyond(at, output)

    def _beyond(self, at: int, output: Filling) -> Iterator[Chunk]:
        """Run the phases behind one, with the rows that it wrote."""
        if output.rows and at < self._last:
            yield from self._through(at + 1, output.rows)
        elif output.rows and output.frontier is not None:
            yield Chunk(output.frontier, output.rows)
        output.rows, output.full = 0, False

    def _after_launch(self, at: int, work: PhaseWork) -> None:
        """Note the share of roots that are done: later phases follow them."""
        if at == 0 and work.batches:
            self._tell(work.first_batch / work.batches)

    def _look(self) -> None:
        """Note the share of the chain that is over: all phases count as much."""
        if self._size is None:
            return
        seen = self._job.launches.controls.look(self._job.session.side, begins=self._begins)
        self._begins = False
        if seen is None:
            return
        phases = self._last + 1
        share, size = 0.0, self._size
        for block in seen[:phases]:
            batches = PhaseWork(size).batches
            done = min(int(block.batches_taken), batches)
            share += (done / batches if batches else 1.0) / phases
            if done < batches or block.refused:
                break
            size = rows_of(block, 0)
        self._tell(share)
