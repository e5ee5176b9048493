"""Signatures of the vertices of a graph on a device."""

from __future__ import annotations

from motiflux.codegen.pvm import SIGNATURE_WORDS
from motiflux.gpu.pvm.signatures import signatures_of_graph
from motiflux.gpu.pvm.table_copies import TableCopies
from motiflux.gpu.runtime.job import AnyJob
from motiflux.gpu.storage.device_csr import CopiedArray, resident
from motiflux.gpu.storage.upload import wait_for_mark
from motiflux.graph import Graph
from motiflux.request.deadline import Deadline
from motiflux.request.request import Request


def signature_bytes(graph: Graph) -> int:
    """Return the bytes of the signatures of all vertices."""
    return 4 * SIGNATURE_WORDS * graph.num_vertices


def resident_signatures(job: AnyJob, graph: Graph, request: Request, deadline: Deadline) -> CopiedArray:
    """Return the signatures of all vertices on the device of a job: those that are there, or a copy.

    Raises
    ------
    DeviceMemoryError
        They do not fit.
    OutOfTimeError
        Time was up before they were copied.
    """
    device = job.accelerator.device
    cache = resident(graph, device)

    def make() -> CopiedArray:
        words = signatures_of_graph(graph)
        memory = device.allocate(max(8, words.nbytes), "signatures of vertices", budget=request.gpu_memory)
        copies = TableCopies(device, cache, deadline, request.threads)
        try:
            wait_for_mark(copies.copy(memory, [words.ravel()]), deadline)  # other searches may read it
        finally:
            copies.close()
        return CopiedArray(memory, words)

    return cache.keep("signatures", make)
