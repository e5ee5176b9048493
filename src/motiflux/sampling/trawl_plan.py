"""How much is trawled beside samples, and by what it is bounded."""

from __future__ import annotations

import math
from dataclasses import dataclass

from motiflux.cpu.trawling import CHUNK
from motiflux.request.request import Request
from motiflux.sampling.stopping import DEFAULT_SAMPLES, Rules
from motiflux.statistics import GROUP

_SAMPLES_OF_SLOT = 1024
_NODES_OF_SAMPLE = 4


def is_by_clock(request: Request) -> bool:
    """Return whether searches end with the samples: if asked for, or where a GPU was named to draw them.

    A GPU draws a million samples in a millisecond, which no budget of work would keep to. Where the device is
    chosen by time, the estimate must not depend on the choice.
    """
    budget = request.tuning["trawl_budget"]
    return budget == "clock" or (budget == "auto" and request.device not in ("auto", "cpu"))


@dataclass(frozen=True, slots=True)
class TrawlPlan:
    """How much is trawled, fixed before the first sample.

    Parameters
    ----------
    groups
        Groups of samples that make a batch.
    slots
        Slots that are trawled meanwhile, whole chunks; by the clock, at most.
    nodes
        Work that searches may take for each slot of a chunk.
    by_clock
        Whether the end of the samples ends searches.
    whole
        Work that counting all may take, a small part of what the samples will; 0 where it is not tried.
    """

    groups: int
    slots: int
    nodes: int
    by_clock: bool
    whole: int

    @classmethod
    def of(cls, rules: Rules, request: Request) -> TrawlPlan:
        """Return what the switches say, for the samples that are to be drawn."""
        tuning = request.tuning
        by_clock = is_by_clock(request)
        most = min(rules.groups, DEFAULT_SAMPLES // GROUP)
        groups = -(-most // int(tuning["trawl_batches"]))
        if tuning["trawl_samples"] == "auto":
            slots = _chunks(groups * GROUP / _SAMPLES_OF_SLOT)
        else:
            slots = int(tuning["trawl_samples"])
        nodes = int(tuning["trawl_nodes"])
        whole = 0 if tuning["trawl_whole"] == "off" else _NODES_OF_SAMPLE * GROUP * most
        return cls(groups, slots, nodes, by_clock, whole)

    def slots_of(self, groups: int) -> int:
        """Return the slots of a batch of so many groups."""
        return _chunks(self.slots * groups / self.groups)


def _chunks(slots: float) -> int:
    """Return the least number of slots that is no fewer and makes whole chunks."""
    return CHUNK * max(1, math.ceil(slots / CHUNK))
