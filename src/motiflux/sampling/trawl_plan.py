"""The number of slots of a trawl and their budget."""

from __future__ import annotations

import math
from dataclasses import dataclass

from motiflux.cpu.trawling import CHUNK
from motiflux.request.request import Request
from motiflux.sampling.stopping import DEFAULT_SAMPLES, Rules
from motiflux.statistics import GROUP

_SAMPLES_PER_SLOT = 1024


@dataclass(frozen=True, slots=True)
class TrawlPlan:
    """The size of a trawl, fixed before the first sample.

    Parameters
    ----------
    groups
        Groups of samples per batch.
    slots
        Slots per batch; a multiple of `motiflux.cpu.trawling.CHUNK`.
    nodes
        Maximum work of searches per slot of a chunk.
    """

    groups: int
    slots: int
    nodes: int

    @classmethod
    def of(cls, rules: Rules, request: Request) -> TrawlPlan:
        """Return the size that follows from the switches and the number of samples."""
        tuning = request.tuning
        groups = -(-min(rules.groups, DEFAULT_SAMPLES // GROUP) // int(tuning["trawl_batches"]))
        if tuning["trawl_samples"] == "auto":
            slots = _whole_chunks(groups * GROUP / _SAMPLES_PER_SLOT)
        else:
            slots = int(tuning["trawl_samples"])
        return cls(groups, slots, int(tuning["trawl_nodes"]))

    def slots_of(self, groups: int) -> int:
        """Return the number of slots of a batch of `groups` groups."""
        return _whole_chunks(self.slots * groups / self.groups)


def _whole_chunks(slots: float) -> int:
    """Return `slots` rounded up to whole chunks, at least one."""
    return CHUNK * max(1, math.ceil(slots / CHUNK))
