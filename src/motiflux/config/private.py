"""The switches of tests and benchmarks, and the reasons why users cannot set them."""

from __future__ import annotations

from types import MappingProxyType

from motiflux.config.option import TuningOption, by_name

PRIVATE = by_name(
    TuningOption(
        "multiply",
        ("on", "off"),
        "on",
        "on: count embeddings as subgraphs times |Aut|; off: count them one by one",
    ),
    TuningOption(
        "intersect",
        ("auto", "merge", "gallop"),
        "auto",
        "intersection of sorted lists. auto: merge or gallop by their length ratio; merge, gallop: always",
    ),
    TuningOption(
        "degrees", ("on", "off"), "on", "skip candidates with fewer neighbours than the query vertex"
    ),
    TuningOption(
        "lists",
        ("on", "off"),
        "on",
        "parts that share several vertices with other parts. on: count them as lists of the choices for "
        "these vertices; off: match these vertices",
    ),
    TuningOption(
        "meetings",
        ("on", "off"),
        "on",
        "parts that share several vertices with other parts, or a vertex with further parts below it. on: "
        "count them as a whole; off: match their first vertices",
    ),
    TuningOption(
        "room",
        ("on", "off"),
        "on",
        "leave a level as soon as it has fewer candidates than later levels need from it",
    ),
    TuningOption(
        "images_by",
        ("auto", "rooted", "listing"),
        "auto",
        "counts per vertex and edge by search. rooted: match the counted vertices first; listing: list each "
        "subgraph once; auto: the one that is expected to be faster",
    ),
    TuningOption(
        "witness",
        ("first", "all"),
        "first",
        "distinct rows. first: leave a subtree at its first witness, and enter none that tells nothing new; "
        "all: search every embedding",
    ),
    TuningOption(
        "copy_walk",
        ("auto", "on", "off"),
        "auto",
        "patterns with comparisons. on: search from copy to copy of edges where all edges are compared; off: "
        "match vertices level by level; auto: the one that is expected to be faster",
    ),
    TuningOption(
        "copy_batch",
        ("64", "16", "1"),
        "64",
        "searches from copy to copy. The most partial matches that are continued together, so that they wait "
        "for memory at the same time; 1: each is continued as soon as it is found",
    ),
    TuningOption(
        "pair_walk",
        ("auto", "on", "matched", "off"),
        "auto",
        "counts of patterns with comparisons. on: search from pair to pair of vertices, with all choices of "
        "copies, where all edges are compared; matched: the same, but match all edges, none is counted in "
        "closed form; off: do not; auto: the search that is expected to be faster",
    ),
    TuningOption(
        "wedge_walk",
        ("auto", "on", "off"),
        "auto",
        "patterns with comparisons. on: gather the paths over a vertex of two edges, then match all other "
        "edges, where one comparison joins the two; off: do not; auto: the search that is expected to be "
        "faster",
    ),
    TuningOption(
        "copy_windows",
        ("on", "off"),
        "on",
        "GPU, patterns with comparisons. on: read only the copies of a vertex within the time that earlier "
        "copies allow, where these are fewer than its neighbours; off: read all neighbours",
    ),
    TuningOption(
        "share",
        ("on", "off"),
        "on",
        "several patterns in one call. on: search shared levels once; off: search them for each pattern",
    ),
    TuningOption(
        "edge_bits",
        ("on", "off"),
        "on",
        "GPU, estimate: also store rows of small candidate sets as bits, so that an edge test is one look-up",
    ),
    TuningOption(
        "trawl_depth",
        ("1", "2", "3"),
        "1",
        "estimate: minimum number of levels that a slot of the trawl samples before it searches the rest",
    ),
    TuningOption(
        "trawl_unfinished",
        ("deepen", "sample", "drop"),
        "deepen",
        "estimate: samples with an unfinished search. deepen: extend by one level and search again; sample: "
        "extend to the end; drop: drop, which makes estimates too low",
    ),
    TuningOption(
        "remember",
        ("on", "off"),
        "on",
        "GPU: store the counts of parts that repeat, or count them again",
    ),
    TuningOption(
        "handover",
        ("on", "off"),
        "on",
        "GPU: lanes without work. on: wait for half of the work of other lanes; off: end",
    ),
    TuningOption(
        "packing",
        ("on", "off"),
        "on",
        "GPU: count of the last two levels. on: one lane per pair; off: one candidate after the other",
    ),
    TuningOption(
        "wedge_ends",
        ("auto", "lesser", "greater"),
        "auto",
        "GPU, tables: which one of two vertices with common neighbours has a counter. lesser, greater: that "
        "of lesser or greater id, so of fewer or more neighbours; auto: greater where counters for all "
        "vertices take many times the shared memory of a block",
    ),
    TuningOption(
        "rest",
        ("on", "off"),
        "on",
        "GPU: keep the setup of a count for the next equal count, or repeat it",
    ),
    TuningOption(
        "images",
        ("on", "off"),
        "on",
        "list embeddings. on: search for one embedding of each subgraph and write its images under "
        "automorphisms; off: search for each embedding",
    ),
    TuningOption(
        "at_once",
        ("auto", "on", "off"),
        "auto",
        "Monitor, with several threads: match several updates at the same time. auto: if each takes long "
        "enough; on: always; off: never",
    ),
    TuningOption(
        "put_off",
        ("on", "off"),
        "on",
        "Monitor: updates that concern no pattern. on: write them together, row by row; off: write each one "
        "in its turn",
    ),
    TuningOption(
        "gpma_leaf",
        ("8", "16", "32"),
        "32",
        "GPU, Monitor: slots of a leaf of a packed memory array",
    ),
    TuningOption(
        "gpma_index",
        ("0", "4", "6", "8", "10", "12"),
        "8",
        "GPU, Monitor: top levels of the index of a packed memory array that are searched in shared memory",
    ),
    TuningOption(
        "gpma_groups",
        ("adaptive", "fixed", "warp"),
        "adaptive",
        "GPU, Monitor: lanes for a small window of a packed memory array. adaptive: as many as entries are "
        "left; fixed: as many as it has entries; warp: 32",
    ),
    TuningOption(
        "roots",
        ("place", "update"),
        "place",
        "GPU, Monitor: what lanes that search together take at a time. place: an update at one query edge; "
        "update: an update at all its query edges, one after the other (GAMMA)",
    ),
    TuningOption(
        "measure",
        ("off", "utilisation"),
        "off",
        "GPU, Monitor. utilisation: measure the share of time in which lanes have work, by kernels of their "
        "own; off: nothing",
    ),
    TuningOption(
        "auto_updates",
        ("expected", "1", "8", "64", "1024"),
        "expected",
        "Monitor, device='auto': the updates of a call from which on a GPU matches it. expected: by expected "
        "times",
    ),
    TuningOption(
        "filter_bits",
        ("1", "2", "3", "4"),
        "2",
        "Monitor, filter=nlf: number up to which neighbours by a label are counted",
    ),
    TuningOption(
        "access_walks",
        ("auto", "weighted", "paper", "device"),
        "auto",
        "GPU, Monitor, cache=frequency: random walks that estimate how often rows are opened. weighted: all "
        "that are found stand for equally many; paper: those of GCSM, as many as it sets; device: weighted "
        "ones on the device, over the rows that the search is going to read; auto: those if they may take "
        "1.5 milliseconds, else on the host",
    ),
    TuningOption(
        "carry",
        ("on", "off"),
        "on",
        "GPU, Monitor, engine=outofcore. on: rows that were copied to the device stay there for later runs, "
        "while there is room; off: each run copies its rows anew",
    ),
    TuningOption(
        "cache_time",
        ("share", "free"),
        "share",
        "GPU, Monitor, engine=outofcore, with cache=frequency and carry=on. share: choosing and copying rows "
        "takes a tenth of the time of searches in the mean, and first twice that of a search; free: any",
    ),
    TuningOption(
        "cache_copies",
        ("host", "device"),
        "host",
        "GPU, Monitor, engine=outofcore: what copies rows to the device. host: threads of the host put them "
        "together, for one copy; device: a kernel reads them where they are",
    ),
    TuningOption(
        "host_memory",
        ("pinned", "unified"),
        "pinned",
        "GPU, Monitor, engine=outofcore: memory of the host that kernels read rows in. pinned: lines of rows "
        "are read where they are; unified: the driver moves pages of copies of the rows to the device, which "
        "has room for all of them",
    ),
    TuningOption(
        "cache_lookup",
        ("header", "bisect", "hash"),
        "header",
        "GPU, Monitor, engine=outofcore: how a search finds the copy of a row. header: the row's header "
        "names it; bisect: in the ascending ids of all copied rows, before each row that is opened (GCSM); "
        "hash: in a hash table, likewise",
    ),
    TuningOption(
        "row_staging",
        ("off", "on", "always"),
        "off",
        "GPU, Monitor, engine=outofcore: rows without copies in which candidates are looked up. off: bisect "
        "them on the host; on: first bring them to the device in whole lines, if that takes fewer lines than "
        "bisecting; always: wherever there is room",
    ),
    TuningOption(
        "touched_rows",
        ("merged", "two_parts"),
        "merged",
        "GPU, Monitor, engine=outofcore: rows that a call changes, while it is matched. merged: all entries "
        "with lifetimes, ascending; two_parts: the entries of before, with marks, and behind them those that "
        "change (GCSM), for graphs of at most 2^31 vertices",
    ),
    TuningOption(
        "triangles",
        ("auto", "arcs", "vertices"),
        "auto",
        "GPU: kernel for triangles. arcs: a lane for each arc, which bisects rows; vertices: a group for "
        "each vertex, which reads rows whole; auto: arcs if rows are short",
    ),
    TuningOption(
        "cache_percent",
        ("auto", "1", "2", "5", "10", "20", "50"),
        "auto",
        "GPU, engine=outofcore, graphs that do not change: most bytes of copies, in percent of the bytes of "
        "the edges. auto: half of the free memory",
    ),
    TuningOption(
        "root_batches",
        ("auto", "on", "off"),
        "auto",
        "GPU, engine=outofcore, triangles by arcs in graphs that do not change. on: roots in batches, whose "
        "rows are copied in turns, if not all rows fit; off: rows without copies are read from the host; "
        "auto: by expected bytes",
    ),
    TuningOption(
        "encode",
        ("host", "device"),
        "host",
        "GPU, Monitor, filter=nlf: where vertices are encoded. host: from its rows, and what changed is "
        "uploaded; device: by a kernel, from rows there for both directions of each query edge",
    ),
    TuningOption(
        "coalesce_without",
        ("leaves", "any"),
        "leaves",
        "Monitor: vertices without which coalesce seeks equivalent query edges. leaves: those with one "
        "neighbour; any: any vertices",
    ),
    TuningOption(
        "quotients",
        ("auto", "on", "off"),
        "auto",
        "Monitor, counting: sum over the quotients of patterns of up to 5 vertices instead of searching. "
        "auto: if several patterns share what this needs; on: where possible; off: never",
    ),
    TuningOption(
        "replan",
        ("on", "off"),
        "on",
        "Monitor: plans when the numbers of edges by label have changed by a factor of two. on: make them "
        "anew; off: keep those of the first graph",
    ),
    TuningOption(
        "probe_eager",
        ("off", "on"),
        "off",
        "Monitor, with probe=on. off: try other orders on a few updates; on: on all of them, and keep even "
        "worse ones",
    ),
    TuningOption(
        "mapped_rows",
        ("auto", "on", "off"),
        "auto",
        "Monitor, engine=outofcore, of a graph file without labels. on: rows stay in the file until they are "
        "changed; off: all are copied; auto: copied if the memory suffices",
    ),
    TuningOption(
        "pipeline",
        ("auto", "on", "off"),
        "auto",
        "Monitor.run on a GPU. auto: the stages of different batches overlap where the source is a file, in "
        "batches of at least 4,096 updates; on: of Updates, too; off: each batch is read, matched and "
        "written before the next one",
    ),
    TuningOption(
        "pvm_distribution",
        ("dynamic", "round_robin"),
        "dynamic",
        "GPU, engine=pvm: the embeddings that a group of lanes extends. dynamic: it takes the next ones when "
        "it is done; round_robin: every embedding whose number has the same remainder",
    ),
    TuningOption(
        "pvm_rows",
        ("interval", "unrenamed", "hash"),
        "interval",
        "GPU, engine=pvm: how rows of a partition are found. interval: by intervals of new ids; unrenamed: "
        "by intervals of the graph's ids; hash: by a hash table with 30 empty words for each row (GSI)",
    ),
    TuningOption(
        "pvm_filter",
        ("off", "on"),
        "off",
        "GPU, engine=pvm. on: each search first finds the candidates of query vertices by label, degree and "
        "labels of neighbours, in signatures of 64 bytes for each vertex (GSI); off: it does not",
    ),
    TuningOption(
        "pvm_writes",
        ("single", "two_pass"),
        "single",
        "GPU, engine=pvm: where embeddings are written. single: behind a reservation of each group of lanes; "
        "two_pass: a first pass counts them, a prefix sum finds their places, a second pass writes them",
    ),
    TuningOption(
        "pvm_generation",
        ("shared", "nested"),
        "shared",
        "GPU, engine=pvm: three query vertices or more in a phase. shared: each unordered set of candidates "
        "is read once; nested: in nested loops, but for the last two query vertices (GENEVA, algorithm 6)",
    ),
    TuningOption(
        "pvm_fused",
        ("on", "off"),
        "on",
        "GPU, engine=pvm. on: the kernel of an extension phase also tests the query edges of elimination "
        "phases behind it, and counts a last phase by the numbers of candidates; off: each phase has a "
        "kernel of its own, as published",
    ),
)
"""The private switches by name."""

REMOVED = MappingProxyType(
    {
        "multiply": "embeddings are always counted as subgraphs times |Aut| where possible",
        "intersect": "the lengths of the lists choose the intersection, simd its instructions",
        "degrees": "vertices with too few neighbours are always skipped",
        "lists": "parts chooses whether parts are counted apart",
        "meetings": "parts chooses whether parts are counted apart",
        "room": "a level with too few candidates is always left at once",
        "share": "levels that several patterns share are always searched once",
        "images_by": "the search that is expected to be faster is always taken",
        "witness": "a subtree of a search for distinct rows is always left at its first witness",
        "dispatch": "device='cpu' or device='cuda' chooses the engine",
        "edge_bits": "rows of small candidate sets are always stored as bits too",
        "count_on": "count_first covers both exact counts",
        "trawl_whole": "count_first covers both exact counts",
        "trawl_depth": "a slot of the trawl always samples one level, or more if it has to",
        "trawl_budget": "searches of a trawl always have a fixed budget of work; trawl_nodes sets it",
        "trawl_unfinished": "an unfinished search of the trawl is always repeated one level deeper",
        "remember": "the counts of parts that repeat are always stored",
        "handover": "lanes without work always get work of others; stealing chooses how within a block",
        "packing": "the last two levels are always counted with one lane per pair",
        "wedge_ends": "the size of the graph chooses which vertices have counters of wedges",
        "rest": "the setup of a count is always kept for the next equal count",
        "rows": "listings always go through device memory",
        "images": "images under automorphisms are always written where a listing can do so",
        "at_once": "updates are always matched at the same time if each takes long enough",
        "gpma_leaf": "leaves of a packed memory array always have 32 slots",
        "gpma_index": "the top 8 levels of the index are always in shared memory",
        "gpma_groups": "lanes are always divided by the entries that are left",
        "filter_bits": "filter=nlf always counts neighbours up to two",
        "access_walks": "walks that estimate accesses are always weighted, and time chooses where they are",
        "carry": "rows that were copied to the device always stay there while there is room",
        "cache_time": "choosing and copying rows takes a tenth of the time of searches",
        "cache_copies": "the host always puts together the rows that are copied to the device",
        "host_memory": "rows are always in pinned memory",
        "cache_lookup": "headers of rows always name their copies",
        "row_staging": "rows without copies are always bisected on the host",
        "touched_rows": "rows that a call changes are always merged",
        "triangles": "the length of rows chooses the kernel for triangles",
        "cache_percent": "copies of rows always take half of the free memory; gpu_memory bounds it",
        "root_batches": "expected bytes choose whether roots are taken in batches",
        "encode": "vertices are always encoded on the host, where searches begin",
        "roots": "lanes that search together always take an update at one query edge at a time",
        "measure": "motiflux bench batch measures how long groups of lanes have work",
        "coalesce_without": "equivalent query edges are sought without vertices that have one neighbour",
        "put_off": "updates that concern no pattern are always written together",
        "auto_updates": "expected times choose between CPU and GPU; device='cpu' and device='cuda' name one",
        "quotients": "matches are always counted as sums if several patterns share what this needs",
        "replan": "plans are always made anew when the graph has changed enough",
        "mapped_rows": "rows of a large graph file stay there if the host lacks memory for copies",
        "pipeline": "stages of different batches overlap on a GPU where they come from a file",
        "pvm_distribution": "groups of lanes always take the next embeddings when they are done",
        "pvm_rows": "rows are always found by intervals of new ids",
        "pvm_filter": "phases never filter candidates before they search",
        "pvm_writes": "embeddings are always written in a single pass",
        "pvm_generation": "query vertices always share a set of candidates",
        "pvm_fused": "an extension phase always tests the query edges behind it",
        "pair_walk": "a short search chooses whether comparisons are searched from pair to pair",
        "copy_walk": "a short search chooses whether comparisons are searched from copy to copy",
        "wedge_walk": "a short search chooses whether comparisons are searched by wedges",
        "copy_batch": "searches from copy to copy always continue many partial matches together",
        "copy_windows": "the copies of a vertex that earlier copies allow are read alone if they are few",
        "probe_eager": "other orders are always tried on a few updates, and kept if they take less work",
    }
)
"""The fixed behaviour, or the public alternative, for each switch that users cannot set, by name."""
