"""The plans of a monitor in device memory, with the lists that they name and the places of their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.device import Device, Stream
from motiflux.gpu.changing.candidates import CandidateTable
from motiflux.gpu.changing.memory import Parcel, Room, Staging
from motiflux.gpu.changing.plans import PlanTable
from motiflux.gpu.changing.rows import RowsByName, RunOfRows
from motiflux.gpu.changing.searches.searched import Searched, SearchedRows


@dataclass(frozen=True)
class _Last:
    """What the last search needed, and all that it depended on."""

    of: tuple[Any, ...]
    searched: Searched


class UploadedPlans:
    """Plans and what they name, in memory that is kept between runs.

    Parameters
    ----------
    budget
        Maximum number of bytes that motiflux holds on the device.
    staging
        Memory of the host that uploads go through.
    """

    def __init__(self, device: Device, budget: int | None, staging: Staging) -> None:
        self._memory, self._staging = Room(device, "plans of a monitor", budget), staging
        self._places = (0, 0)
        self._last: _Last | None = None
        self.has_chains = False
        """Whether the plans that go on from pools are there, too."""

    @property
    def nbytes(self) -> int:
        """Bytes held on the device."""
        return self._memory.nbytes

    @property
    def places(self) -> tuple[int, int]:
        """Addresses of the plans and of the table of rows."""
        return self._places

    def upload(
        self,
        stream: Stream,
        native: _native.Monitor,
        table: PlanTable,
        rows: RowsByName,
        named: NDArray[Any],
        *,
        chains: bool,
    ) -> None:
        """Upload plans, the lists of ids that they name, and where their rows are; the copy is done then.

        Parameters
        ----------
        named
            A row for each kind of rows of the plans, as kernels read it; its places are set here.
        chains
            Whether the plans are uploaded, too, that go on from pools of partial matches.
        """
        self.forget()
        parcel = Parcel()
        ids = {number: np.array(native.list(number), np.uint32) for number in sorted(table.lists)}
        places = {number: (parcel.add(array), array.nbytes) for number, array in ids.items()}
        packed = table.packed(dict.fromkeys(ids, (0, 0)), chains=chains)  # for its size
        at_plans = parcel.add(packed)
        at_rows = parcel.add(named)
        buffer = self._memory.of(parcel.nbytes, stream)
        begin = buffer.address
        # An empty list is not null: it allows nothing.
        packed[:] = table.packed(
            {number: (begin + place, begin + place + size) for number, (place, size) in places.items()},
            chains=chains,
        )
        for number, name in enumerate(table.names):
            named["rows"][number] = rows[name].headers
            named["repeats"][number] = rows[name].repeats_in_kernels
        parcel.send(stream, buffer, self._staging)
        stream.wait()
        self._places, self.has_chains = (begin + at_plans, begin + at_rows), chains

    def searched(
        self,
        table: PlanTable,
        rows: RowsByName,
        changes: Sequence[RunOfRows],
        candidates: CandidateTable | None,
        vertices: int,
        lanes: int,
        *,
        pools: bool,
    ) -> Searched:
        """Return what the search of a run needs, the same object as before if nothing differs.

        `pools`: whether partial matches are pooled; then chains were uploaded.
        """
        assert self.has_chains or not pools, "chains are uploaded before"
        longest = [one.longest for one in rows.values()] + [change.longest for change in changes]
        room, of_candidates = _room_for(max(longest, default=1)), (0, 0)
        if candidates is not None:
            of_candidates = candidates.address, candidates.row_bytes
        of = (room, lanes, vertices, of_candidates, pools, [one.typical for one in rows.values()])
        if self._last is not None and self._last.of == of:
            return self._last.searched
        searched = Searched(
            plans=self._places[0],
            rows=self._places[1],
            most_levels=table.most_levels,
            most_spans=table.most_spans,
            longest=room,
            lanes=lanes,
            vertices=vertices,
            most_walked=table.most_walked,
            stages=table.stages if pools else 1,
            row_sets=tuple(
                SearchedRows(rows[name].headers, rows[name].typical, looked_up=name in table.looked_up)
                for name in table.names
            ),
            candidates=of_candidates[0],
            candidate_bytes=of_candidates[1],
        )
        self._last = _Last(of, searched)
        return searched

    def forget(self) -> None:
        """Forget what the last search needed: rows or plans are others."""
        self._last = None

    def release(self) -> None:
        """Free the memory."""
        self._memory.release()
        self.forget()


def _room_for(longest: int) -> int:
    """Return a size that stays the same for most runs, at most an eighth more."""
    step = max(1, 1 << longest.bit_length() >> 4)
    return -(-longest // step) * step
