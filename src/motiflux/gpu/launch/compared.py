"""The comparisons of a plan as the argument of a kernel, over copies of edges on its device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from motiflux.codegen import compared as layout
from motiflux.codegen.compared import PackedNetwork, stored_ranges
from motiflux.conditions import Operator
from motiflux.gpu.runtime.job import SearchJob
from motiflux.gpu.storage.device_copies import DeviceCopies, device_copies, device_values
from motiflux.gpu.storage.upload import UploadContext
from motiflux.graph import Graph
from motiflux.graph.copies import CopyKey
from motiflux.plan import Plan
from motiflux.plan.comparisons.bound import BoundComparison, BoundComparisons, BoundVariable
from motiflux.plan.comparisons.native import Ends
from motiflux.plan.comparisons.ordered import OrderedVariables

_MOST_TRIALS = 1 << 16
"""Trials of copies for one embedding, after which the CPU counts."""
_LOW_BITS, _SIGN = (1 << 64) - 1, 1 << 63


def copy_keys(plan: Plan) -> list[CopyKey]:
    """Return the names of the copies that a search reads, each once."""
    ordered = OrderedVariables.of(plan)
    found = [_key(one, ends) for one, ends in zip(ordered.variables, ordered.ends, strict=True)]
    return list(dict.fromkeys(key for key in found if key is not None))


def pack_network(
    job: SearchJob, graph: Graph, plan: Plan, context: UploadContext, *, windows: bool, bounded: bool
) -> PackedNetwork:
    """Return the comparisons of a plan, with copies and values that stay on the device for the job.

    Parameters
    ----------
    windows
        Whether levels may walk copies by main value.
    bounded
        Whether the search gives up an embedding whose copies are tried too often.
    """
    assert plan.comparisons is not None
    ordered, network = OrderedVariables.of(plan), layout.Network()
    for at, (variable, ends) in enumerate(zip(ordered.variables, ordered.ends, strict=True)):
        packed = network.variables[at]
        packed.from_, packed.to, packed.source = ends.start, ends.end, layout.NO_SOURCE
        packed.main = ordered.columns[at] if variable.columns else 0
        key = _key(variable, ends)
        if key is None:
            values = device_values(job, graph, variable.columns, context)
            packed.is_vertex = True
            packed.missing = 0 if values.missing is None else values.missing.address
            columns = values.columns
        else:
            copies = device_copies(job, graph, key, context)
            _set_copies(packed, copies)
            _set_source(packed, plan, variable, ends)
            columns = copies.columns
        for column, buffer in enumerate(columns, ordered.columns[at]):
            network.columns[column] = buffer.address
    _set_comparisons(network, plan.comparisons, ordered)
    matched, stored = ordered.matched(len(plan.order)), 0
    for level, number in enumerate(matched):
        network.matched[level], network.stored_at[level] = number, stored
        stored += number
    network.windows = windows and bool(network.both_ends)
    network.most_trials = _MOST_TRIALS if bounded else 0
    return PackedNetwork(network, stored_ranges(matched))


def _key(variable: BoundVariable, ends: Ends) -> CopyKey | None:
    return None if ends.key is None else replace(ends.key, columns=variable.columns)


def _set_copies(packed: layout.Variable, copies: DeviceCopies) -> None:
    packed.offsets, packed.neighbors, packed.starts = (one.address for one in copies.pairs)
    if copies.rows:
        packed.row_values, packed.row_others, packed.row_pairs, packed.row_previous = (
            one.address for one in copies.rows
        )


def _set_source(packed: layout.Variable, plan: Plan, variable: BoundVariable, ends: Ends) -> None:
    """Name the source of the level that follows the edge of a variable in the direction of its copies."""
    if ends.start >= ends.end:
        return
    args = plan.args.steps[ends.end]
    source = next(at for at, (edge, _) in enumerate(args.edges) if edge == variable.edge)
    adjacency = args.adjacencies[source]
    packed.source = source
    packed.filtered = adjacency.target_labels is not None or adjacency.target_where is not None


def _set_comparisons(network: layout.Network, bound: BoundComparisons, ordered: OrderedVariables) -> None:
    """Pack comparisons by their later variable, and what holds of all of them."""
    later = [max(ordered.place[one.left], ordered.place[one.right]) for one in bound.comparisons]
    network.all_monotone, network.both_ends = True, bound.span is not None
    for at, number in enumerate(sorted(range(len(later)), key=later.__getitem__)):
        one = bound.comparisons[number]
        packed = network.comparisons[at]
        _set_comparison(packed, one, ordered)
        packed.monotone = _is_monotone(one, bound.variables, rises=bool(packed.rises))
        network.all_monotone &= packed.monotone
        scaled = (one.factor != 1 or one.offset != 0) if one.floats else packed.form != layout.PLAIN
        network.both_ends |= bool(packed.monotone) and (scaled or one.operator is Operator.EQUAL)
    for variable in range(len(ordered.variables) + 1):
        network.judged[variable] = sum(one < variable for one in later)
    if bound.span is not None:
        network.span.there, network.span.floats = True, bound.span.floats
        network.span.length = min(bound.span.span, _LOW_BITS)
        network.span.float_length = bound.span.float_span


def _set_comparison(packed: layout.Comparison, one: BoundComparison, ordered: OrderedVariables) -> None:
    packed.left, packed.right = ordered.place[one.left], ordered.place[one.right]
    packed.left_column = ordered.columns[packed.left] + one.left_column
    packed.right_column = ordered.columns[packed.right] + one.right_column
    packed.op = layout.OPERATORS[one.operator]
    if one.floats:
        packed.form, packed.rises = layout.FLOATS, one.factor > 0
        numbers = np.array([one.factor, one.offset]).view(np.int64).tolist()
    else:
        plain = one.m == one.n == 1 and one.c == 0
        packed.form, packed.rises = layout.PLAIN if plain else layout.INTEGERS, one.n > 0
        low = one.c & _LOW_BITS
        numbers = [one.m, one.n, low - ((low & _SIGN) << 1), one.c >> 64]
    for at, number in enumerate(numbers):
        packed.numbers[at] = number


def _is_monotone(one: BoundComparison, variables: Sequence[BoundVariable], *, rises: bool) -> bool:
    """Return whether a comparison restricts ranges of main columns by their ends (`copies/network.hpp`)."""
    left, right = variables[one.left], variables[one.right]
    if one.operator is Operator.UNEQUAL or one.left == one.right:
        return False
    if (left.vertex is None and one.left_column != 0) or (right.vertex is None and one.right_column != 0):
        return False
    return left.vertex is not None or right.vertex is not None or rises
