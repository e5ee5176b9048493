"""Who searches the parts of a sharded graph, in words."""

from __future__ import annotations

from motiflux.cluster.shards.layout import Layout
from motiflux.cluster.shards.planning import RangedImages
from motiflux.cluster.shards.search import Ranged


def why_no_kernel(planned: Ranged | RangedImages, layout: Layout, kind: str | None) -> str | None:
    """Return why CPUs search parts where tasks have GPUs of a kind; None if kernels do, or there are none."""
    if kind is None:
        return None
    from motiflux.cluster.shards.gpu_parts import why_cpu

    if isinstance(planned, Ranged):
        return why_cpu(planned, layout)
    if not planned.listing:
        return "it counts the last levels of this pattern in closed form"
    return why_cpu(planned.ranged, layout)


def reason_of(planned: Ranged | RangedImages | None, layout: Layout, kind: str | None) -> str:
    """Return the reason for the engine of a call, and who searches if that is not what it seems."""
    why = None if planned is None else why_no_kernel(planned, layout, kind)
    return "the graph is sharded" if why is None else f"the graph is sharded; CPUs search its parts: {why}"
