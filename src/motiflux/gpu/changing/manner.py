"""How updates are searched: the engines by name, the switches of GAMMA, and how busy a launch was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen.changing import UTILISATION, changing_source
from motiflux.codegen.kernels import Goal
from motiflux.codegen.row_access import BY_HEADERS, RowAccess
from motiflux.jit import Source
from motiflux.units import grouped

_FEW_ROOTS = 8
"""Roots for each multiprocessor below which most groups have none: those of a block then share work."""
_LEAST_LEVELS = 4
"""Levels of a plan from which on a search has walks that can be shared: the last one is not worth it."""


@dataclass(frozen=True)
class Preset:
    """An engine: its name, and what its ``auto`` stands for.

    Parameters
    ----------
    name
        As in ``engine=``.
    stealing
        How groups get work of others in their block if there are few roots; None: they do not.
    reads_host
        Whether rows are in memory of the host, so that switches choose how kernels open them.
    """

    name: str
    stealing: str | None
    reads_host: bool = False


CHANGING = Preset("changing", None)
BATCH = Preset("batch", "active")


@dataclass(frozen=True)
class Manner:
    """How updates are searched.

    Parameters
    ----------
    stealing
        How groups get work of others in their block; None: they do not.
    most_roots
        With fewer roots they do so; None: with any number.
    queue
        Whether groups get work of other blocks.
    whole_updates
        Whether a group takes an update with all its query edges (GAMMA, algorithm 1), or one of them.
    measures
        Whether kernels measure how long groups have work.
    coalesces
        Whether plans that list matches share levels. Not with active stealing: a group that offers work of
        shared levels is at the roots of one plan after the other meanwhile. Not with `filters`.
    filters
        Whether candidates are tested by a table.
    bitmaps
        The switch of `LongRowBitmaps`; ``off`` where no kernel looks candidates up in bitmaps.
    pooling
        The switch of `Pools`; ``off`` where no kernel pools partial matches.
    access
        How kernels open rows.
    """

    stealing: str | None
    most_roots: int | None
    queue: bool
    whole_updates: bool
    measures: bool
    coalesces: bool
    filters: bool = False
    bitmaps: str = "off"
    pooling: str = "off"
    access: RowAccess = BY_HEADERS

    @classmethod
    def of(cls, tuning: Mapping[str, str], preset: Preset, multiprocessors: int) -> Manner:
        """Return what the value of every switch says, on a device with so many multiprocessors."""
        asked, most_roots = tuning["stealing"], None
        stealing = None if asked == "none" else asked
        whole_updates, measures = tuning["roots"] == "update", tuning["measure"] == "utilisation"
        filters = tuning["filter"] == "nlf"
        coalesces = tuning["coalesce"] == "on" and asked != "active" and not (whole_updates or filters)
        if asked == "auto":
            stealing, most_roots = preset.stealing, _FEW_ROOTS * multiprocessors
            if coalesces and stealing == "active":
                stealing = "passive"
        bitmaps, pooling = (
            ("off", "off") if filters or whole_updates else (tuning["bitmaps"], tuning["pooling"])
        )
        return cls(
            stealing,
            most_roots,
            tuning["handover"] == "on",
            whole_updates,
            measures,
            coalesces,
            filters,
            bitmaps,
            pooling,
            RowAccess.of(tuning) if preset.reads_host else BY_HEADERS,
        )

    def has_few(self, roots: int) -> bool:
        """Whether a search from so many roots has groups get work of others in their block."""
        return self.most_roots is None or roots < self.most_roots

    def source(
        self,
        goal: Goal,
        lanes: int,
        levels: int,
        roots: int,
        *,
        coalesced: bool = False,
        in_bits: bool = False,
        pooled: bool = False,
    ) -> Source:
        """Return the unit that searches from so many roots, by plans of at most so many levels.

        Parameters
        ----------
        coalesced
            Whether plans may share levels.
        in_bits
            Whether candidates are looked up in bitmaps of rows.
        pooled
            Whether partial matches are pooled; `roots` are those of the stage.
        """
        within = self.stealing if levels >= _LEAST_LEVELS and self.has_few(roots) else None
        unit = changing_source(
            goal,
            lanes,
            within,
            whole_updates=self.whole_updates,
            measures=self.measures,
            coalesced=coalesced,
            filtered=self.filters,
            in_bits=in_bits,
            pooled=pooled,
        )
        return self.access.unit(unit)

    def describe(self) -> str:
        """Return it in words."""
        unit = "each update" if self.whole_updates else "each update and query edge"
        limit = "" if self.most_roots is None else f", for fewer than {grouped(self.most_roots)} searches"
        ways = [f"{self.stealing} stealing within blocks{limit}"] if self.stealing is not None else []
        ways += ["a work queue of all blocks"] if self.queue else []
        return f"a group of lanes for {unit}; {' and '.join(ways) or 'no work is shared'}"


@dataclass
class Busy:
    """How long the groups of launches had work, added up.

    Parameters
    ----------
    busy_cycles, cycles
        Cycles in which groups had work, and cycles of all groups from the begin of the launch to its end.
    """

    busy_cycles: int = 0
    cycles: int = 0

    def add(self, other: Busy) -> None:
        """Add other launches."""
        self.busy_cycles += other.busy_cycles
        self.cycles += other.cycles

    @property
    def share(self) -> float:
        """Share of the time in which groups had work; 0 if nothing was searched."""
        return self.busy_cycles / self.cycles if self.cycles else 0.0


@dataclass
class Measured:
    """How busy the groups of launches were, added up.

    Parameters
    ----------
    stages
        Of the launches of each stage; searches that pool nothing have one stage.
    groups
        Most groups of a launch.
    stolen, given
        Walks that groups got from others of their block, and from groups of other blocks.
    """

    stages: list[Busy] = field(default_factory=list)
    groups: int = 0
    stolen: int = 0
    given: int = 0

    def add_launch(self, clocks: NDArray[np.uint8], stolen: int, given: int, stage: int = 0) -> None:
        """Add a launch of a stage: its `UTILISATION`, and the walks that changed hands."""
        (one,) = clocks.view(UTILISATION)
        groups = int(one["groups"])
        self._of(stage).add(Busy(int(one["busy"]), groups * int(one["longest"])))
        self.groups = max(self.groups, groups)
        self.stolen += stolen
        self.given += given

    def _of(self, stage: int) -> Busy:
        self.stages += [Busy() for _ in range(len(self.stages), stage + 1)]
        return self.stages[stage]

    def add(self, other: Measured) -> None:
        """Add the launches of another device."""
        for stage, busy in enumerate(other.stages):
            self._of(stage).add(busy)
        self.groups += other.groups
        self.stolen += other.stolen
        self.given += other.given

    @property
    def all(self) -> Busy:
        """How long the groups of all launches had work."""
        total = Busy()
        for busy in self.stages:
            total.add(busy)
        return total

    def figures(self) -> dict[str, float]:
        """Return the numbers by name; those of each stage, from 1 on, if there are several."""
        total = self.all
        found = {
            "utilisation": total.share,
            "busy_cycles": float(total.busy_cycles),
            "cycles": float(total.cycles),
            "groups": float(self.groups),
            "stolen": float(self.stolen),
            "given": float(self.given),
        }
        for number, busy in enumerate(self.stages, 1) if len(self.stages) > 1 else ():
            found[f"utilisation_{number}"] = busy.share
            found[f"cycles_{number}"] = float(busy.cycles)
        return found

    def describe(self) -> str:
        """Return it in words."""
        shares = ", ".join(f"{busy.share:.1%}" for busy in self.stages)
        stages = f" (by stage: {shares})" if len(self.stages) > 1 else ""
        return (
            f"last call: {grouped(self.groups)} groups had work in {self.all.share:.1%} of the time{stages};"
            f" walks shared: {grouped(self.stolen)} within blocks, {grouped(self.given)} through the queue"
        )
