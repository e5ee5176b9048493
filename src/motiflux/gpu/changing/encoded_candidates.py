"""The candidate table, encoded on the device from the rows there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.codegen.changing import (
    ENCODE_COLUMN,
    ENCODE_ENTRY,
    ENCODE_ITEM,
    TOUCHED,
    EncodeArgs,
    encode_source,
)
from motiflux.codegen.kernels import THREADS
from motiflux.device import Stream
from motiflux.gpu.changing.candidates import COLUMNS_OF_BYTE, CandidateTable, Written, blocks_of_threads
from motiflux.gpu.changing.memory import Parcel, Room
from motiflux.gpu.changing.plans import RowsName
from motiflux.gpu.changing.rows import EITHER, RowsByName, RunOfRows
from motiflux.gpu.runtime.accelerator import Accelerator

_VERTEX_AT, _STRIDE = TOUCHED.fields["vertex"][1], TOUCHED.itemsize // 4  # type: ignore[index]
"""Where a touched row names its vertex, in bytes, and the words from one to the next."""


class EncodedCandidates(CandidateTable):
    """A table that needs nothing but labels from the host.

    The vertices that a run touches are encoded when it is merged into the rows, and again when the rows are
    settled. An edge that goes and comes again in a run counts twice: a vertex may pass here that the host's
    table leaves out. All vertices are encoded if the columns are others, or if there are more vertices than
    the table has room for. It is then made a quarter larger than needed: of a stream of new vertices, each is
    encoded a constant number of times in the mean.

    Parameters
    ----------
    budget
        Maximum number of bytes that motiflux holds on the device.
    """

    sources = (encode_source(),)

    def __init__(self, accelerator: Accelerator, budget: int | None) -> None:
        super().__init__()
        device = accelerator.device
        self._accelerator = accelerator
        self._table = Room(device, "candidates of query vertices", budget)
        self._labelled = Room(device, "query vertices by label", budget)
        self._most_vertices = 0
        self._state: tuple[int, int] | None = None
        self._args: EncodeArgs | None = None

    def rows(self, native: _native.Monitor) -> list[RowsName]:
        """Return the rows of all kinds of neighbours that query vertices ask for."""
        asked = native.candidate_columns()
        return sorted({_name(native, way, target) for items in asked for way, target, _ in items})

    def follow(
        self, stream: Stream, native: _native.Monitor, run: _native.Run, rows: RowsByName, parcel: Parcel
    ) -> Written | None:
        """Bring the table to the state of a run."""
        if run.candidate_changes is None:
            return None
        state = run.candidate_changes[0], native.num_vertices
        asked = native.candidate_columns()
        known = self._known_vertices(state)
        if known < native.num_vertices:
            self._state = None
            if known == 0:
                self._make_room(stream, native.num_vertices, len(asked))
            self._upload_labels(stream, native, known)
        items = [
            (rows[_name(native, way, target)].headers, least, 0)
            for one in asked
            for way, target, least in one
        ]
        sizes = np.array([len(one) for one in asked], np.uint32)
        columns = np.zeros(len(asked), ENCODE_COLUMN)
        columns["items"], columns["first_item"] = sizes, np.cumsum(sizes) - sizes
        at_columns, at_items = parcel.add(columns), parcel.add(np.array(items, ENCODE_ITEM))

        def write(start: int, runs: Sequence[RunOfRows], starts: Sequence[int]) -> None:
            self._args = EncodeArgs(
                table=self.address,
                labelled=self._labelled.of(1, stream).address,
                columns=start + at_columns,
                items=start + at_items,
                column_count=len(asked),
                row_bytes=self.row_bytes,
            )
            if known == 0:
                self._encode(stream, 0, native.num_vertices)
            else:
                self.settled(stream, runs, starts)  # new vertices had no neighbours before
            self._state = state

        return write

    def settled(self, stream: Stream, runs: Sequence[RunOfRows], starts: Sequence[int]) -> None:
        """Encode the vertices whose rows a run touches."""
        if self._args is None:  # no query vertex is filtered
            return
        for run, start in zip(runs, starts, strict=True):
            self._encode(stream, start + run.touched_at + _VERTEX_AT, run.num_touched)

    def _encode(self, stream: Stream, vertices: int, count: int) -> None:
        assert self._args is not None
        self._args.vertices, self._args.stride, self._args.count = vertices, _STRIDE, count
        kernel = self._accelerator.kernels(encode_source(), (ENCODE_ENTRY,))[ENCODE_ENTRY]
        stream.launch(kernel, blocks_of_threads(count), THREADS, 0, self._args)

    def _known_vertices(self, state: tuple[int, int]) -> int:
        """Return the vertices whose rows of the table are kept: none if all have to be encoded."""
        version, vertices = state
        if (
            self._state is None
            or self._state[0] != version
            or not self._state[1] <= vertices <= self._most_vertices
        ):
            return 0
        return self._state[1]

    def _make_room(self, stream: Stream, vertices: int, columns: int) -> None:
        """Have an empty table of at least so many vertices."""
        self.row_bytes = -(-columns // COLUMNS_OF_BYTE)
        self._most_vertices = vertices + vertices // 4 + 64
        nbytes = self._most_vertices * self.row_bytes
        self._labelled.of(nbytes, stream)
        table = self._table.of(nbytes, stream)
        self.address = table.address
        stream.clear(table)

    def _upload_labels(self, stream: Stream, native: _native.Monitor, first: int) -> None:
        """Upload which columns accept the label of each vertex, from vertex `first` on."""
        vertices = native.num_vertices - first
        words = native.labelled_candidates(first).view(np.uint8).reshape(vertices, -1)
        packed: NDArray[np.uint8] = np.ascontiguousarray(words[:, : self.row_bytes]).reshape(-1)
        stream.upload(self._labelled.of(1, stream), packed, first * self.row_bytes)
        stream.wait()  # the array is not kept

    def release(self) -> None:
        """Free the memory."""
        self._table.release()
        self._labelled.release()
        self._state = self._args = None
        self._most_vertices = self.address = 0


def _name(native: _native.Monitor, way: int, target: int) -> RowsName:
    return target, way if native.directed else EITHER
