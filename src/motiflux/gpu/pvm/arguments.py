"""Arguments of the kernels of phases, and the constants on the device that they point to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen import pvm as layout
from motiflux.codegen.pcsr import IntervalRows
from motiflux.codegen.pvm import FilterArgs, KernelForm
from motiflux.device import Buffer, Device, Stream
from motiflux.gpu.pvm.programs import (
    EliminationProgram,
    ExtensionProgram,
    Program,
    SetProgram,
    TestProgram,
)
from motiflux.gpu.pvm.resident_tile import TableRows
from motiflux.gpu.pvm.signatures import Signature
from motiflux.graph import Graph, VertexFilter, filter_mask
from motiflux.plan.bind import Codes

INDEX_BYTES = 32 << 10
"""Most bytes of shared memory of a block for the interval indexes of a phase."""


class Constants:
    """Small arrays on a device: bits of labels and of vertices, orders of combinations.

    Attributes
    ----------
    vertex_labels
        Address of the labels of all vertices, or 0.
    filters
        Arguments of the launches that find candidates by signatures, which the masks of these have.
    """

    def __init__(
        self,
        device: Device,
        stream: Stream,
        graph: Graph,
        vertex_labels: int,
        budget: int | None,
        signatures: int = 0,
    ) -> None:
        self._device, self._stream, self._graph, self._budget = device, stream, graph, budget
        self.vertex_labels, self._signatures = vertex_labels, signatures
        self.filters: list[FilterArgs] = []
        self._buffers: dict[object, Buffer] = {}

    @property
    def buffers(self) -> Iterable[Buffer]:
        """Their memory."""
        return self._buffers.values()

    def labels(self, codes: Codes) -> int:
        """Return the address of bits by vertex label; 0 for all labels."""
        if codes is None:
            return 0
        bits = np.zeros(len(self._graph.vertex_label_table), bool)
        bits[list(codes)] = True
        return self._address(("labels", codes), _packed(bits))

    def mask(self, narrowing: VertexFilter | None, signature: Signature | None = None) -> int:
        """Return the address of bits by vertex; 0 for all vertices. Those of a signature are made later."""
        if signature is not None:
            return self._filtered(narrowing, signature)
        if narrowing is None:
            return 0
        bits = np.ones(self._graph.num_vertices, bool)
        if narrowing.has_mask:
            bits &= filter_mask(self._graph, narrowing) != 0
        if narrowing.ids is not None:
            among = np.zeros(self._graph.num_vertices, bool)
            among[list(narrowing.ids)] = True
            bits &= among
        return self._address(("mask", narrowing), _packed(bits))

    def _filtered(self, narrowing: VertexFilter | None, signature: Signature) -> int:
        name, words = ("filtered", narrowing, signature), -(-self._graph.num_vertices // 32)
        if name not in self._buffers:
            among = self.mask(narrowing)
            args = FilterArgs(self._signatures, among, 0, self._graph.num_vertices, signature.words)
            args.candidates = self._address(name, np.zeros(words, np.uint32))
            self.filters.append(args)
        return self._buffers[name].address

    def orders(self, orders: tuple[tuple[int, ...], ...]) -> int:
        """Return the address of orders of combinations; 0 for the ascending one, or none."""
        if len(orders) <= 1:
            return 0
        return self._address(("orders", orders), np.array(orders, np.uint8).ravel())

    def _address(self, name: object, array: NDArray[Any]) -> int:
        if name not in self._buffers:
            buffer = self._device.allocate(
                max(array.nbytes, 8), "conditions of a search", budget=self._budget
            )
            self._stream.hold(buffer)
            self._stream.upload(buffer, array.view(np.uint8))
            self._stream.wait()  # the array may be freed now
            self._buffers[name] = buffer
        return self._buffers[name].address


def arguments_of(program: Program, constants: Constants, form: KernelForm = layout.DEFAULT_FORM) -> Any:
    """Return the arguments of a phase, all but its work, frontiers and rows."""
    if isinstance(program, EliminationProgram):
        args: Any = layout.EliminateByHashArgs() if form.by_hash else layout.EliminateArgs()
        _fill_elimination(args, program)
    else:
        args = layout.ExtendByHashArgs() if form.by_hash else layout.ExtendArgs()
        _fill_extension(args, program, constants)
    args.vertex_labels = constants.vertex_labels
    return args


def set_rows(args: Any, rows: Sequence[TableRows]) -> int:
    """Set the rows of a phase; return the bytes of shared memory of their interval indexes."""
    for at, one in enumerate(rows):
        args.tables[at] = one
    args.table_count = len(rows)
    indexed = [one for one in rows if isinstance(one, IntervalRows)]
    if not indexed:
        return 0
    room = INDEX_BYTES // len(rows) // 4
    words = min(room, max(2 * one.intervals + 1 for one in indexed))
    args.index_words = -(-words // 4) * 4
    return int(4 * args.table_count * args.index_words)


def _fill_extension(args: Any, program: ExtensionProgram, constants: Constants) -> None:
    if program.root is not None:
        labels, narrowing, signature = program.root
        args.root_labels, args.root_mask = constants.labels(labels), constants.mask(narrowing, signature)
    args.set_count, args.tuples = len(program.sets), program.tuples
    for at, one in enumerate(program.sets):
        _fill_set(args.sets[at], one, constants)
    for at, (less, different) in enumerate(zip(program.less, program.different, strict=True)):
        if less or different:
            args.less[at], args.different[at] = _bits(less), _bits(different)
    args.out_count = len(program.out)
    for at, source in enumerate(program.out):
        args.out_sources[at] = source
    _fill_tests(args, program.tests)
    args.own_test_count = program.own_tests
    if (following := program.following) is not None:
        args.next_set_count, args.next_tuples = len(following.sets), following.tuples
        for at, one in enumerate(following.sets):
            _fill_set(args.next_sets[at], one, constants)


def _fill_set(packed: Any, one: SetProgram, constants: Constants) -> None:
    packed.table, packed.source = one.table, one.source
    packed.label = layout.ANY_LABEL if one.label is None else one.label
    packed.ascends = one.ascends
    packed.labels, packed.mask = constants.labels(one.labels), constants.mask(one.narrowing, one.signature)
    packed.distinct, packed.after = _bits(one.common.distinct), _bits(one.common.after)
    packed.members, packed.orders = one.members, one.order_count
    for at, own in enumerate(one.own if one.members <= layout.MOST_MEMBERS else ()):
        packed.own_distinct[at], packed.own_after[at] = _bits(own.distinct), _bits(own.after)
    packed.order_positions = constants.orders(one.orders)


def _fill_elimination(args: Any, program: EliminationProgram) -> None:
    _fill_tests(args, program.tests)
    args.kept_count = len(program.kept)
    for at, column in enumerate(program.kept):
        args.kept[at] = column


def _fill_tests(args: Any, tests: Sequence[TestProgram]) -> None:
    args.test_count = len(tests)
    for at, test in enumerate(tests):
        args.tests[at] = layout.ArcTest(test.table, test.source, test.target, test.grouped, test.absent)


def _bits(numbers: Iterable[int]) -> int:
    return sum(1 << number for number in numbers)


def _packed(bits: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Return bits in words of 32."""
    packed = np.packbits(bits, bitorder="little")
    return np.concatenate([packed, np.zeros(-len(packed) % 4, np.uint8)])
