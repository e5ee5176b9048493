"""A search by phases: the graph, the phases, and the switches of the request."""

from __future__ import annotations

from dataclasses import dataclass

from motiflux.codegen.pvm import KernelForm
from motiflux.gpu.pvm.programs import ExtensionProgram
from motiflux.gpu.pvm.row_tables import RowForm
from motiflux.gpu.pvm.signatures import Labels, Signature, signatures_of_query
from motiflux.graph import Graph
from motiflux.plan.phases.data import PhasePlan
from motiflux.request.request import Request

_SWITCHES = (
    "pvm_distribution",
    "pvm_fused",
    "pvm_rows",
    "pvm_filter",
    "pvm_writes",
    "pvm_generation",
    "tail",
)
_MANY = 3
"""Least number of query vertices of the matching patterns 5 to 7."""


@dataclass(frozen=True)
class PhaseQuery:
    """A search by phases of a graph.

    Parameters
    ----------
    counts
        Whether embeddings are counted, or listed.
    share
        The number of the device among those that share the roots, and how many these are.
    """

    graph: Graph
    phases: PhasePlan
    request: Request
    counts: bool
    share: tuple[int, int] = (0, 1)

    @property
    def name(self) -> tuple[object, ...]:
        """Name of its kept jobs."""
        tuning = self.request.tuning
        switches = tuple(tuning[name] for name in _SWITCHES)
        listed = None if self.counts else self.request.limit
        return "phases", self.phases, self.counts, listed, self.request.gpu_memory, switches, self.share

    def is_on(self, switch: str, value: str) -> bool:
        """Whether a switch has a value."""
        found: bool = self.request.tuning[switch] == value
        return found

    @property
    def row_form(self) -> RowForm:
        """How rows are found."""
        return RowForm(self.request.tuning["pvm_rows"])

    @property
    def kernel_form(self) -> KernelForm:
        """How kernels are compiled."""
        return KernelForm(self.row_form is RowForm.HASH, self.is_on("pvm_writes", "two_pass"))

    @property
    def signatures(self) -> dict[int, Signature]:
        """Signatures of query vertices, if candidates are filtered by them."""
        if self.is_on("pvm_filter", "off"):
            return {}
        return signatures_of_query(self.phases, Labels.of(self.graph))

    def nests(self, program: ExtensionProgram) -> bool:
        """Whether loops over the candidates of a phase are nested: not where it counts by their numbers."""
        is_last = program.of[-1] == len(self.phases.phases) - 1
        closes = self.counts and is_last and not self.is_on("tail", "off")
        return (
            self.is_on("pvm_generation", "nested")
            and program.shape.members >= _MANY
            and not program.tuples
            and not (closes and program.follows_from_sizes)
        )
