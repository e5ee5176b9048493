"""Options that switch parts of the search on and off, for ablations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from motiflux.errors import ArgumentError


@dataclass(frozen=True, slots=True)
class TuningOption:
    """One switch: its name, the values it takes, the default and what it does."""

    name: str
    values: tuple[str, ...]
    default: str
    help: str


_OPTIONS = (
    TuningOption(
        "order",
        ("sampled", "cost", "given", "adaptive"),
        "sampled",
        "matching order: the cheapest by sampling, by frequencies alone, as the pattern lists its vertices "
        "where that stays connected, or (CPU, candidate space, not induced) at each step the query vertex "
        "with the fewest candidates left",
    ),
    TuningOption(
        "multiply",
        ("on", "off"),
        "on",
        "count embeddings as subgraphs times |Aut|, or one by one",
    ),
    TuningOption("reuse", ("on", "off"), "on", "start an intersection from an earlier level's where it can"),
    TuningOption(
        "intersect",
        ("auto", "merge", "gallop"),
        "auto",
        "how sorted lists are intersected: by their length ratio, always merged, always galloping",
    ),
    TuningOption(
        "simd",
        ("auto", "scalar", "avx2", "avx512"),
        "auto",
        "CPU: instructions that intersect lists: the widest this processor has, or the given; avx512 needs "
        "VP2INTERSECT",
    ),
    TuningOption(
        "degrees", ("on", "off"), "on", "skip candidates with fewer neighbours than the query vertex"
    ),
    TuningOption(
        "candidates",
        ("auto", "on", "off"),
        "auto",
        "search the candidate space: where labels filter, always, or never",
    ),
    TuningOption(
        "rounds",
        ("0", "1", "2", "3", "4", "8", "16"),
        "4",
        "most rounds of consistency along query edges while candidates are filtered",
    ),
    TuningOption("tail", ("on", "off"), "on", "count trailing levels in closed form where they allow it"),
    TuningOption(
        "parts",
        ("auto", "on", "off"),
        "auto",
        "count what falls into parts as a product, each part remembered: where probing says that it is "
        "cheaper, wherever the plan allows it, or never",
    ),
    TuningOption(
        "lists",
        ("on", "off"),
        "on",
        "count parts that meet others in several vertices as lists of the choices for those, or match them",
    ),
    TuningOption(
        "meetings",
        ("on", "off"),
        "on",
        "count parts that meet others in vertices from which something hangs, or in several, as a whole, or "
        "match their first vertices",
    ),
    TuningOption(
        "backjump",
        ("auto", "on", "off"),
        "auto",
        "CPU: leave levels that have no part in a failure: where a search finds little, which then takes the "
        "order `adaptive` too if it may; always, in the order as it was; or never",
    ),
    TuningOption(
        "room",
        ("on", "off"),
        "on",
        "leave a level as soon as its candidates are fewer than later levels must take from them",
    ),
    TuningOption(
        "tables",
        ("auto", "on", "off"),
        "auto",
        "count from tables of local counts: where that is expected to be faster than the search, wherever it "
        "is known how, or never",
    ),
    TuningOption(
        "share",
        ("on", "off"),
        "on",
        "several patterns in one call: walk levels that they share once, or each",
    ),
    TuningOption(
        "dispatch",
        ("learn", "race", "first"),
        "learn",
        "device='auto': the engine that is expected to take longer starts too where the other one is not "
        "done soon, and short counts that come again are done where they took less time before; the same, "
        "but nothing is learned; or it starts only where the other one cannot do it",
    ),
    TuningOption(
        "sample_order",
        ("cost", "quicksi", "plan"),
        "cost",
        "estimate: samples grow by the vertex that multiplies them least, by the rarest edge (QuickSI), or "
        "as the search would",
    ),
    TuningOption(
        "cycles",
        ("4", "3", "0"),
        "4",
        "estimate, sample: candidates stay joined only where the pattern's cycles of up to so many edges can "
        "close over them",
    ),
    TuningOption(
        "inheritance",
        ("spread", "one", "off"),
        "spread",
        "estimate: samples that died go on with those of others in their group of 32: dealt to all that "
        "live, all with the first, or not",
    ),
    TuningOption(
        "streaming",
        ("packed", "adaptive", "leader", "off"),
        "packed",
        "GPU, estimate: candidates are refined by all lanes of a warp, those of all samples as one list, "
        "always or but for short rows, or full blocks of one sample's at a time; or by each lane alone",
    ),
    TuningOption(
        "edge_bits",
        ("on", "off"),
        "on",
        "GPU, estimate: rows of small candidate sets are bits too, in which an edge is one look, or not",
    ),
    TuningOption(
        "sync",
        ("sample", "iteration"),
        "sample",
        "GPU, estimate: lanes of a warp begin new samples together when all are done, or each as soon as its "
        "own died, and nothing is inherited",
    ),
    TuningOption(
        "count_first",
        ("on", "off"),
        "on",
        "estimate, where no estimator is named: try to count all first of patterns of four vertices or more, "
        "meeting 8 candidates for each sample and 524,288 at most",
    ),
    TuningOption(
        "count_on",
        ("on", "off"),
        "on",
        "estimate to a relative error, after `count_first`: count on where samples do not do soon, with as "
        "much work as they take",
    ),
    TuningOption(
        "trawling",
        ("auto", "on", "off"),
        "auto",
        "estimate: beside the samples, search what extends a few short ones: where a pilot finds few that "
        "are embeddings, always, or never",
    ),
    TuningOption(
        "trawl_whole",
        ("on", "off"),
        "on",
        "estimate: where there is trawling, try to count all first, meeting 4 candidates for each sample at "
        "most",
    ),
    TuningOption(
        "trawl_batches",
        ("1", "2", "4", "6", "8", "12", "16"),
        "6",
        "estimate: samples are drawn in so many batches, and slots of the trawl searched beside each",
    ),
    TuningOption(
        "trawl_samples",
        ("auto", "64", "128", "256", "512", "1024", "4096"),
        "auto",
        "estimate: slots of the trawl beside a batch: one for 1,024 samples and 64 at least, or so many; by "
        "the clock, at most, and for 64 samples",
    ),
    TuningOption(
        "trawl_depth",
        ("1", "2", "3"),
        "1",
        "estimate: levels that slots of the trawl sample at least before what is left is searched",
    ),
    TuningOption(
        "trawl_budget",
        ("auto", "nodes", "clock"),
        "auto",
        "estimate: searches of the trawl end after so much work each, so that a seed gives one answer; or "
        "with the samples too, which is the default where a GPU was named to draw them",
    ),
    TuningOption(
        "trawl_nodes",
        ("0", "64", "512", "1024", "4096", "65536", "1048576"),
        "4096",
        "estimate: candidates that searches may meet for each slot, 64 of which share; by the clock up to 64 "
        "times as many, the more the longer it takes",
    ),
    TuningOption(
        "trawl_unfinished",
        ("deepen", "sample", "drop"),
        "deepen",
        "estimate: a sample whose search was given up goes one level on and is searched again, or to its "
        "end; or it is left out, and estimates are too low",
    ),
    TuningOption(
        "lanes",
        ("auto", "8", "16", "32"),
        "auto",
        "GPU: lanes that search together: a warp to count, by the length of rows to list, or given",
    ),
    TuningOption(
        "remember", ("on", "off"), "on", "GPU: keep the numbers of parts that come again, or count them again"
    ),
    TuningOption(
        "specialize",
        ("auto", "on", "off"),
        "auto",
        "GPU: compile the plan's shape into the kernel once it comes again, always, or never",
    ),
    TuningOption(
        "handover",
        ("on", "off"),
        "on",
        "GPU: lanes that have no work left wait for half of what others have, or end",
    ),
    TuningOption(
        "stealing",
        ("auto", "none", "passive", "active"),
        "auto",
        "GPU: before that, they get work of others in their block, through shared memory: where few root "
        "arcs lead deep (passively), never, as half of a walk that those give, or by taking half of what "
        "those offer",
    ),
    TuningOption(
        "packing",
        ("on", "off"),
        "on",
        "GPU: count the last two levels at once, a lane for each pair, or one candidate after the other",
    ),
    TuningOption(
        "bitmaps",
        ("auto", "on", "cliques", "off"),
        "auto",
        "GPU: bits that say which neighbours of a vertex are linked, for cliques and patterns with a vertex "
        "adjacent to all others: for the latter where that is expected to pay, wherever it can be, not, or "
        "not for cliques either",
    ),
    TuningOption(
        "rest",
        ("on", "off"),
        "on",
        "GPU: keep what a count was set up with for the next one like it, or set up each anew",
    ),
    TuningOption(
        "rows",
        ("memory", "ring"),
        "memory",
        "GPU: list into memory of the device, copied by the piece, or through a ring while the kernel runs",
    ),
    TuningOption(
        "images",
        ("on", "off"),
        "on",
        "to list embeddings, search for one of each subgraph and write its images under automorphisms, "
        "or search for each",
    ),
    TuningOption(
        "orbits",
        ("on", "off"),
        "on",
        "Monitor: one search serves all query edges that automorphisms exchange, or each has its own",
    ),
    TuningOption(
        "at_once",
        ("auto", "on", "off"),
        "auto",
        "Monitor: with several threads, match several updates at once: where each takes long enough, always, "
        "or never",
    ),
    TuningOption(
        "put_off",
        ("on", "off"),
        "on",
        "Monitor: write updates that concern no pattern together, row by row, or each in its turn",
    ),
)

TUNING: Mapping[str, TuningOption] = {option.name: option for option in _OPTIONS}
"""Every tuning switch by name."""
_DEFAULTS = {option.name: option.default for option in _OPTIONS}


class _Resolved(dict[str, str]):
    """The value of every switch, checked."""


def resolve_tuning(given: Mapping[str, str] | None) -> dict[str, str]:
    """Return the value of every switch: `given` where it names one, the default elsewhere.

    Raises
    ------
    ArgumentError
        An unknown switch, or a value it does not take.
    """
    if isinstance(given, _Resolved):
        return given
    settings = _Resolved(_DEFAULTS)
    if given is not None and not isinstance(given, Mapping):
        raise ArgumentError("tuning", "a mapping of switches to values", given)
    for name, value in (given or {}).items():
        option = TUNING.get(name)
        if option is None:
            raise ArgumentError("tuning", f"one of {', '.join(TUNING)}", name)
        if value not in option.values:
            raise ArgumentError(f"tuning[{name!r}]", f"one of {', '.join(option.values)}", value)
        settings[name] = value
    return settings
