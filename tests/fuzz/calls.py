"""Random calls: which, of which patterns, and with which options and tuning switches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import Any

from motiflux.config import PRIVATE, TUNING
from motiflux.plan.native_plan import simd_here
from tests.fuzz.draws import Draws
from tests.fuzz.scenario import Call, Query

SEARCH = (
    "order", "multiply", "reuse", "intersect", "degrees", "candidates", "rounds", "tail", "parts", "lists",
    "meetings", "room", "tables", "images",
)  # fmt: skip
SEVERAL = ("share",)
ON_CPU = ("simd", "backjump")
ON_DEVICES = (
    "lanes", "remember", "handover", "stealing", "packing", "bitmaps", "rest", "triangles", "wedge_ends",
)  # fmt: skip
ESTIMATES = (
    "sample_order", "cycles", "inheritance", "count_first", "trawling", "trawl_batches",
    "trawl_samples", "trawl_depth", "trawl_nodes", "trawl_unfinished",
)  # fmt: skip
ESTIMATES_ON_DEVICES = ("streaming", "edge_bits", "sync")
NOT_DRAWN = {
    "negation": "is about negated edges, which are not drawn",
    "specialize": "compiles a kernel for every pattern, so it is off on devices",
    "witness": "is about distinct rows, which are not drawn",
    "images_by": "is about counts per vertex and edge, which are not drawn",
    "orbits": "is about monitors",
    "pooling": "is about monitors",
    "coalesce": "is about monitors",
    "coalesce_without": "is about monitors",
    "at_once": "is about monitors",
    "put_off": "is about monitors",
    "auto_updates": "is about monitors",
    "container": "is about monitors",
    "cache": "is about monitors",
    "access_walks": "is about monitors",
    "carry": "is about monitors",
    "cache_time": "is about monitors",
    "cache_copies": "is about monitors",
    "host_memory": "is about monitors",
    "cache_lookup": "is about monitors",
    "row_staging": "is about monitors",
    "touched_rows": "is about monitors",
    "cache_percent": "is about engine=outofcore, which is not drawn for calls",
    "root_batches": "is about engine=outofcore, which is not drawn for calls",
    "pvm": "is about engine=pvm, which is not drawn for calls",
    "pvm_distribution": "is about engine=pvm, which is not drawn for calls",
    "pvm_rows": "is about engine=pvm, which is not drawn for calls",
    "pvm_filter": "is about engine=pvm, which is not drawn for calls",
    "pvm_writes": "is about engine=pvm, which is not drawn for calls",
    "pvm_generation": "is about engine=pvm, which is not drawn for calls",
    "pvm_fused": "is about engine=pvm, which is not drawn for calls",
    "roots": "is about monitors",
    "measure": "is about monitors",
    "mapped_rows": "is about monitors",
    "gpma_leaf": "is about monitors",
    "gpma_index": "is about monitors",
    "gpma_groups": "is about monitors",
    "quotients": "is about monitors",
    "replan": "is about monitors",
    "filter": "is about monitors",
    "filter_bits": "is about monitors",
    "encode": "is about monitors",
    "probe": "is about monitors",
    "pipeline": "is about monitors",
    "stream_batches": "is about monitors",
    "stream_updaters": "is about monitors",
    "probe_eager": "is about monitors",
    "pair_walk": "is about comparisons between attributes, which are not drawn",
    "wedge_walk": "is about comparisons between attributes, which are not drawn",
    "copy_windows": "is about comparisons between attributes, which are not drawn",
    "copy_batch": "is about comparisons between attributes, which are not drawn",
    "copy_walk": "is about comparisons between attributes, which are not drawn",
}
"""Switches that are left as they are, and why."""

NO_SWITCHES: Mapping[str, str] = MappingProxyType({})
KINDS = {"count": 50, "match": 32, "several": 9, "estimate": 9}
"""How often each kind of call is drawn."""
LIMITS = (0, 1, 1, 2, 2, 3, 4, 5, 6, 8, 12, 24, 10**6)


def draw_calls(
    draws: Draws, patterns: Sequence[Query], device: str, fixed: Mapping[str, str]
) -> tuple[Call, ...]:
    """Draw calls, some of them twice.

    Parameters
    ----------
    patterns
        What calls are about.
    fixed
        Switches of every call. On devices no kernel is ever compiled for one pattern alone; in half of all
        cases some switches are drawn for all calls, so that each is met beside many others.
    """
    base = {} if device == "cpu" else {"specialize": "off"}
    if draws.happens(0.5):
        base |= draw_switches(draws, "count", device, 2)
    meanings = ["isomorphism", *(word for word in ("induced", "homomorphism") if draws.happens(0.55))]
    calls: list[Call] = []
    for _ in range(draws.randint(8, 14) * len(patterns)):
        if calls and draws.happens(0.1):
            calls.append(draws.choice(calls))
            continue
        call = _call(draws, patterns, draws.choice(meanings), device)
        more = draw_switches(draws, call.kind, device, draws.choice((0, 0, 1, 2, 4)))
        calls.append(replace(call, tuning={**base, **more, **call.tuning, **fixed}))
    return tuple(calls)


def _call(draws: Draws, patterns: Sequence[Query], semantics: str, device: str) -> Call:
    kind = draws.choices(list(KINDS), list(KINDS.values()))[0]
    number = draws.randint(1, 4) if kind == "several" else 1
    queries = tuple(draws.choices(range(len(patterns)), k=number))
    groups = semantics != "homomorphism" and not any(patterns[query].coinciding for query in queries)
    symmetry = "subgraphs" if groups and draws.happens(0.35) else "embeddings"
    call = Call(kind, queries, semantics, symmetry, options=_options(draws, kind))
    return _estimate(draws, patterns, call, device) if kind == "estimate" else call


def _estimate(draws: Draws, patterns: Sequence[Query], call: Call, device: str) -> Call:
    """Return the estimate with switches by which it often draws samples, and its value is often known."""
    trees = [number for number, pattern in enumerate(patterns) if pattern.is_tree]
    if trees and draws.happens(0.4):  # each sample is an embedding, so the value is the exact count
        return replace(
            call,
            queries=(draws.choice(trees),),
            semantics="homomorphism",
            symmetry="embeddings",
            tuning={"count_first": "off", "trawling": "off"},
            options={**call.options, "estimator": "tree"},
        )
    tuning = {"count_first": "off"} if draws.happens(0.5) else {}
    if device != "cpu" and draws.happens(0.4):
        tuning |= {"trawling": "off"}
    return replace(call, tuning=tuning)


def _options(draws: Draws, kind: str) -> dict[str, Any]:
    """Return options that do not change what is right, and limits."""
    given: dict[str, Any] = {"threads": draws.choice((1, 1, 1, 1, 2, 3))}
    if draws.happens(0.02):
        given["timeout"] = 600.0
    if kind == "estimate":
        return given | _of_estimates(draws)
    if draws.happens(0.17):
        given["limit"] = draws.choice(LIMITS)
    if kind == "match" and draws.happens(0.3):
        given["batch_rows"] = draws.choice((1, 2, 3, 5, 32))
    return given


def _of_estimates(draws: Draws) -> dict[str, Any]:
    given: dict[str, Any] = {"samples": draws.choice((32, 64, 256)), "seed": draws.randrange(1000)}
    if draws.happens(0.3):
        given["estimator"] = draws.choice(("wanderjoin", "alley", "tree"))
    if draws.happens(0.1):
        given["rel_error"] = 0.5
    return given


def draw_switches(draws: Draws, kind: str, device: str, number: int) -> dict[str, str]:
    """Draw about so many switches that a call of this kind on this device may depend on."""
    names = switches(kind, on_device=device != "cpu")
    return {name: draws.choice(values_of(name)) for name in names if draws.happens(number / len(names))}


def switches(kind: str, *, on_device: bool) -> tuple[str, ...]:
    """Return the switches that a call of this kind may depend on."""
    names = (*SEARCH, *(ON_DEVICES if on_device else ON_CPU))
    if kind == "several":
        names += SEVERAL
    if kind == "estimate":
        names += (*ESTIMATES, *(ESTIMATES_ON_DEVICES if on_device else ()))
    return names


@cache
def values_of(name: str) -> tuple[str, ...]:
    """Return the values of a switch but for its default; of instructions, those this processor has."""
    option = {**TUNING, **PRIVATE}[name]
    here = simd_here() if name == "simd" else option.values
    return tuple(value for value in option.values if value in here and value != option.default)
