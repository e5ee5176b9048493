"""The kernels that run a phase: which entry point of which unit, and where they are compiled."""

from __future__ import annotations

from motiflux.codegen.pvm import (
    DEFAULT_FORM,
    KernelForm,
    PhaseKernel,
    closing_source,
    elimination_source,
    extension_source,
    filter_source,
    offset_source,
)
from motiflux.device import Kernel
from motiflux.gpu.pvm.programs import ExtensionProgram, Program
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.jit import Source
from motiflux.request.deadline import Deadline


def kernels_of(
    accelerator: Accelerator,
    phase: Program,
    form: KernelForm,
    deadline: Deadline,
    *,
    counts: bool,
    by_size: bool,
) -> dict[PhaseKernel, Kernel]:
    """Return the kernel of a phase, or those of both passes; the parameters are those of `entry_of`."""
    entry = entry_of(phase, counts=counts, by_size=by_size)
    kernels = accelerator.kernels
    if entry is PhaseKernel.WRITE and form.two_passes:
        both = kernels(*unit_of(phase, entry, form), deadline)
        offsets = kernels(offset_source(), [PhaseKernel.OFFSETS], deadline)
        return {PhaseKernel(name): kernel for name, kernel in (*both.items(), *offsets.items())}
    found = kernels(*unit_of(phase, entry, form._replace(two_passes=False)), deadline)
    return {entry: found[entry]}


def filter_kernel(accelerator: Accelerator, deadline: Deadline) -> Kernel:
    """Return the kernel that finds candidates by signatures."""
    return accelerator.kernels(filter_source(), [PhaseKernel.FILTER], deadline)[PhaseKernel.FILTER]


def entry_of(program: Program, *, counts: bool, by_size: bool) -> PhaseKernel:
    """Return the kernel of a phase.

    Parameters
    ----------
    by_size
        Whether several query vertices may be counted by the numbers of candidates.
    """
    if not counts:
        return PhaseKernel.WRITE
    if isinstance(program, ExtensionProgram):
        if program.following is not None:
            return PhaseKernel.NEXT
        if not program.tests and program.follows_from_sizes and (by_size or program.shape.members == 1):
            return PhaseKernel.SIZE
    return PhaseKernel.COUNT


def unit_of(
    program: Program, entry: PhaseKernel, form: KernelForm = DEFAULT_FORM
) -> tuple[Source, list[PhaseKernel]]:
    """Return the unit of a kernel, and all its entry points."""
    if not isinstance(program, ExtensionProgram):
        return elimination_source(form), [*form.entries]
    if entry is PhaseKernel.SIZE:
        return closing_source(form), [PhaseKernel.SIZE]
    more = [] if form.two_passes else [PhaseKernel.NEXT]
    return extension_source(program.shape, form), [*form.entries, *more]
