"""Patterns that look at attributes: copies of edges are kept, and told apart by conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from motiflux import _native
from motiflux.conditions import Condition
from motiflux.errors import ArgumentError
from motiflux.pattern import Pattern
from motiflux.request.engine import Ran
from motiflux.stream.copies.facets import edge_conditions
from motiflux.stream.copies.store import CopyStore
from motiflux.stream.matching.compared import compared_names
from motiflux.stream.matching.core import ATTRIBUTES_ON_CPU, Core
from motiflux.stream.matching.engine import HOST
from motiflux.stream.matching.interrupts import in_spite_of_interrupts
from motiflux.stream.matching.replanning import Replanning
from motiflux.stream.options import Options
from motiflux.stream.time_kinds import TimeKind
from motiflux.stream.window import Clock

_REBUILT = (
    "_native", "_facets", "_copies", "_compared", "_watched", "_slots", "_probing", "_options", "_engine",
    "_auto", "_ran", "_replanning", "takes_plain_updates", "_takes_columns",
)  # fmt: skip
"""The state that `Conditioned._rebuild` replaces."""


class Conditioned(Core):
    """A monitor's inside that admits conditions on attributes of edges."""

    def _add(self, added: Pattern, matches: bool | None) -> Pattern:
        raise NotImplementedError

    def _admit_conditions(self, added: Pattern) -> None:
        """Keep the copies that a pattern asks for, and tell them apart by its conditions.

        Raises
        ------
        ArgumentError
            Attributes of earlier updates were not kept.
        PatternError
            The conditions or comparisons do not fit the attributes.
        """
        conditions = edge_conditions(added)
        if not (conditions or added.comparisons):
            return
        if self._copies is None:
            began = self.updates_applied or self.batches_applied or self._clock_now()[1] != self._first_moment
            if began or self._vertices_before() is not None:
                asked = "no condition on attributes of edges" if conditions else "no comparison of attributes"
                expected = f"{asked}, as attributes of earlier updates were not kept"
                raise ArgumentError("pattern", f"{expected}: Monitor(attributes=True)", str(added))
            options = replace(self._options, attributes=True)
            options.check_copies()
            self._rebuild(conditions, added, options)
            return
        self._check_attributes(self._copies, added)
        facets = self._facets
        assert facets is not None
        if not all(map(facets.knows, conditions)):
            needed = [one for pattern in self._watched for one in edge_conditions(pattern)]
            self._rebuild(list(dict.fromkeys([*needed, *conditions])), added, self._options)

    def _rebuild(self, conditions: Sequence[Condition], added: Pattern, options: Options) -> None:
        """Have another native monitor of copies, which tells them apart by other conditions.

        All patterns are planned anew; it takes time for each copy. After an error all is as it was.
        """
        before = {name: getattr(self, name) for name in _REBUILT}
        store = self._copies
        awaited, (clock, latest, kind) = self._numbering.awaited, self._clock_now()
        watched = [(pattern, one.told) for pattern, one in self._watched.items()]
        counts = {}
        if self._counting is not None:
            counts = {pattern: self._native.tallied(one.slot) for pattern, one in self._watched.items()}

        def rebuild() -> None:
            self._options = options
            if store is None:
                clock.latest, clock.kind = latest, kind
                self._copies = None
                self._check_attributes(self._keep_copies(conditions), added)
                self._engine, self._auto = None, None
                self._ran = Ran(HOST, HOST, ATTRIBUTES_ON_CPU)
                self.takes_plain_updates = self._takes_columns = False
            else:
                codes = _native.vertex_codes(before["_native"])
                self._use_copies(store, conditions, codes)
            self._probing = self._new_probing()
            self._replanning = Replanning(self._base, is_on=self._options.switches["replan"] == "on")
            self._watched, self._slots, self._numbering.awaited = {}, None, {}
            if self._counting is not None:
                self._counting.known = counts
            for pattern, listed in watched:
                self._add(pattern, listed)

        def restore() -> None:
            for name, value in before.items():
                setattr(self, name, value)
            self._numbering.awaited = awaited
            clock.latest, clock.kind = latest, kind
            if self._copies is not None:
                assert self._facets is not None
                self._copies.place(self._facets)
                assert self._compared is not None
                self._copies.compared = self._compared.names

        try:
            in_spite_of_interrupts(rebuild)
        except KeyboardInterrupt:
            raise  # all is done
        except BaseException:
            in_spite_of_interrupts(restore)
            raise
        if store is None:
            for unused in (before["_auto"], before["_engine"]):
                if unused is not None:
                    unused.close()

    def _check_attributes(self, store: CopyStore, added: Pattern) -> None:
        """Refuse conditions and comparisons that the attributes so far do not admit, or that are not kept."""
        store.check(added)
        if added.comparisons:
            store.check_kept(compared_names(added), "a comparison")
            assert self._compared is not None
            self._compared.check(added)

    def _clock_now(self) -> tuple[Clock, int, TimeKind | None]:
        clock = self._numbering.clock
        return clock, clock.latest, clock.kind
