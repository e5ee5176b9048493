"""One formula on a group of devices: each takes its share of the roots of sums, and the totals add up."""

from __future__ import annotations

from collections.abc import Callable

from motiflux.gpu.group import DeviceGroup, close_all, working_on
from motiflux.gpu.kernels.tables import DeviceTables, start_tables
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.runtime.search import DeviceSearch
from motiflux.graph import Graph
from motiflux.plan.ir import Searched
from motiflux.plan.physical import Stage
from motiflux.request.deadline import Deadline
from motiflux.request.request import Request


class SharedTables:
    """The evaluation of a formula on all devices; raises what `start_tables` does.

    Roots are sorted by their work and assigned to the devices in turn
    (`motiflux.gpu.runtime.work_partition`).
    """

    def __init__(
        self,
        group: DeviceGroup,
        graph: Graph,
        stage: Stage,
        request: Request,
        deadline: Deadline,
        search: Callable[[Searched], int],
    ) -> None:
        self._made: list[DeviceSearch] = []
        self._parts: list[tuple[Accelerator, DeviceTables]] = []
        try:
            for number, accelerator in enumerate(group.accelerators):
                share = (number, len(group.accelerators))
                with working_on(accelerator):
                    part = start_tables(accelerator, graph, stage, request, deadline, search, share=share)
                    self._made.append(part.run)
                    self._parts.append((accelerator, part))
        except BaseException:
            self.close()
            raise

    @property
    def run(self) -> SharedTables:
        """The work of all devices."""
        return self

    def done(self) -> bool:
        """Whether all devices are done; raises what failed on one."""
        return all(self._is_done(*part) for part in self._parts)

    def _is_done(self, accelerator: Accelerator, part: DeviceTables) -> bool:
        with working_on(accelerator):
            return part.run.done()

    def stop_and_wait(self) -> None:
        """Stop all devices."""
        for accelerator, part in self._parts:
            with working_on(accelerator):
                part.run.stop_and_wait()

    def look(self) -> tuple[int, int, int] | None:
        """Return roots done, roots in all, and 0; None if not known of all devices."""
        done, roots = 0, 0
        for accelerator, part in self._parts:
            with working_on(accelerator):
                seen = part.run.look()
            if seen is None:
                return None
            done, roots = done + seen[0], roots + seen[1]
        return done, roots, 0

    def tell_time(self) -> None:
        """Add the kernels' time on all devices to what is being taken."""
        for accelerator, part in self._parts:
            with working_on(accelerator):
                part.run.tell_time()

    def total(self) -> int:
        """Return the value of the formula, once all are done; raises what `DeviceTables.total` does."""
        total = 0
        for accelerator, part in self._parts:
            with working_on(accelerator):
                total += part.total()
        return total

    def close(self) -> None:
        """Stop what runs, and give everything back."""
        close_all(self._made)
