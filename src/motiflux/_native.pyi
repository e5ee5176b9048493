from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

_Rows: TypeAlias = tuple[
    NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint32] | None, NDArray[np.uint32] | None
]
_Adjacency: TypeAlias = tuple[NDArray[np.uint64], NDArray[np.uint32]]
_Progress: TypeAlias = Callable[[int, int, int], None]
_WorkItem: TypeAlias = tuple[int, int, int, int, int, int, list[int]]
_Portion: TypeAlias = tuple[Sequence[_WorkItem], float | None, int | None, int | None]
_Projection: TypeAlias = tuple[
    Sequence[int], Sequence[tuple[Sequence[int], int, int | None, int | None]], bool
]
_SampleLevel: TypeAlias = tuple[Sequence[int], int, int, int]

def build_rows(
    sources: NDArray[np.uint32],
    targets: NDArray[np.uint32],
    labels: NDArray[np.uint32] | None,
    vertices: int,
    directed: bool,
    threads: int,
) -> tuple[NDArray[np.uint32], _Rows, _Rows | None, int]: ...
def sort_edges(
    sources: NDArray[np.uint32],
    targets: NDArray[np.uint32],
    labels: NDArray[np.uint32] | None,
    order: NDArray[np.uint32],
    directed: bool,
    threads: int,
) -> NDArray[np.uint32]: ...
def number_integers(
    columns: Sequence[NDArray[np.int64] | NDArray[np.int32] | NDArray[np.uint32]], threads: int
) -> tuple[NDArray[np.int64], list[NDArray[np.uint32]]]: ...
def number_rows(
    columns: Sequence[NDArray[np.uint8]], threads: int
) -> tuple[NDArray[np.uint8], list[NDArray[np.uint32]]]: ...
def filter_rows(
    directions: Sequence[
        tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint32] | None, NDArray[np.uint8] | None]
    ],
    edge_labels: NDArray[np.uint8] | None,
    source_labels: NDArray[np.uint8] | None,
    target_labels: NDArray[np.uint8] | None,
    vertex_labels: NDArray[np.uint32] | None,
    sources: NDArray[np.uint8] | None,
    targets: NDArray[np.uint8] | None,
    threads: int,
) -> _Adjacency: ...
def count_label_triples(
    offsets: NDArray[np.uint64],
    neighbors: NDArray[np.uint32],
    edge_labels: NDArray[np.uint32] | None,
    vertex_labels: NDArray[np.uint32] | None,
    first: int,
    last: int,
    num_edge_labels: int,
    num_vertex_labels: int,
) -> NDArray[np.int64]: ...
def describe_fault(
    offsets: NDArray[np.uint64],
    neighbors: NDArray[np.uint32],
    labels: NDArray[np.uint32] | None,
    copies: NDArray[np.uint32] | None,
    edge_labels: int,
    edge_rows: int,
    threads: int,
) -> str: ...
def longest_row(offsets: NDArray[np.uint64], threads: int) -> int: ...
def squares_of_rows(offsets: NDArray[np.uint64]) -> float: ...
def offsets_above(
    offsets: NDArray[np.uint64], neighbors: NDArray[np.uint32], threads: int
) -> NDArray[np.uint64]: ...
def row_work(offsets: NDArray[np.uint64], above: NDArray[np.uint64]) -> tuple[float, float]: ...
def lesser_of_lesser(
    offsets: NDArray[np.uint64], neighbors: NDArray[np.uint32], above: NDArray[np.uint64], threads: int
) -> float: ...
def lengths_of_neighbors(
    neighbors: NDArray[np.uint32], offsets: NDArray[np.uint64], threads: int
) -> float: ...
def pack_row_ends(
    offsets: NDArray[np.uint64],
    neighbors: NDArray[np.uint32],
    kept: NDArray[np.uint64],
    first: int,
    packed: NDArray[np.uint32],
    threads: int,
) -> None: ...
def partial_rows(
    rows: NDArray[np.uint32],
    offsets: NDArray[np.uint64],
    neighbors: NDArray[np.uint32],
    labels: NDArray[np.uint32] | None,
    sides: NDArray[np.uint8] | None,
    vertices: int,
) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint32] | None]: ...
def narrow_rows(
    neighbors: NDArray[np.uint32],
    begins: NDArray[np.int64],
    ends: NDArray[np.int64],
    least: NDArray[np.int64],
    most: NDArray[np.int64],
) -> None: ...
def slice_rows(
    offsets: NDArray[np.uint64],
    neighbors: NDArray[np.uint32],
    first: int,
    ids: NDArray[np.int64],
    least: NDArray[np.int64],
    most: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]: ...
def first_slices(
    offsets: NDArray[np.uint64],
    neighbors: NDArray[np.uint32],
    first: int,
    ids: NDArray[np.int64],
    least: NDArray[np.int64],
    most: NDArray[np.int64],
    entries: int,
    skip: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], bool]: ...
def take_entries(
    values: NDArray[Any], begins: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[Any]: ...

_Piece: TypeAlias = tuple[
    NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.uint32], NDArray[Any] | None
]

class PartWeights:
    def divide(
        self,
        *,
        arcs: Sequence[int],
        needed: Sequence[int],
        less: Sequence[tuple[int, int]],
        sources: Sequence[Sequence[int]],
        divisible: int,
        beside: float,
        room: float,
        most: int,
    ) -> tuple[NDArray[np.uint8], NDArray[np.float32]]: ...

class Part:
    def __init__(self, vertices: int, query_vertices: int) -> None: ...
    def clear(self) -> None: ...
    def add_range(self, query_vertex: int, first: int, last: int) -> None: ...
    def add(self, query_vertex: int, ids: NDArray[np.int64]) -> None: ...
    def lead(
        self, source: int, piece: _Piece, leads: Sequence[tuple[int, int, int, int, list[int]]]
    ) -> None: ...
    def take_marked(self, fresh: int, known: int) -> int: ...
    def keep_only(self, query_vertex: int, bits: NDArray[np.uint8]) -> bool: ...
    def candidates(self, mask: int, first: int, most: int) -> NDArray[np.int64]: ...
    def span(self, query_vertex: int) -> tuple[int, int]: ...
    def begin_rows(
        self,
        keys: Sequence[tuple[list[tuple[int, int, int]], list[int]]],
        spans: Sequence[tuple[int, int]],
        nbytes: int,
        most: int,
    ) -> None: ...
    def size(self) -> int: ...
    def vertices(self) -> NDArray[np.int64]: ...
    def slices(
        self, first: int, most: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]: ...
    def append(self, piece: _Piece) -> bool: ...
    def take_rows(self, beside: int) -> list[tuple[NDArray[np.uint64], NDArray[np.uint32]]] | None: ...
    def begin_weights(
        self,
        arcs: Sequence[tuple[list[tuple[int, int, int]], list[int]]],
        bounds: Sequence[Sequence[int]],
    ) -> None: ...
    def weigh(self, piece: _Piece) -> None: ...
    def take_weights(self) -> PartWeights: ...
    def position(self, vertex: int) -> int: ...
    def bytes_of_64(self) -> int: ...

def to_positions(ids: NDArray[np.uint32], values: NDArray[np.uint32]) -> None: ...

_Skew: TypeAlias = tuple[int, float, bytes]

def philox(counter: tuple[int, int, int, int], key: tuple[int, int]) -> tuple[int, int, int, int]: ...
def make_permutation(seed: int, stream: int, size: int) -> bytes: ...
def permute(permutation: bytes, values: NDArray[np.uint32], threads: int) -> None: ...
def draw_rmat(
    parameters: bytes, first: int, sources: NDArray[np.uint32], targets: NDArray[np.uint32], threads: int
) -> None: ...
def draw_pairs(
    seed: int,
    vertices: int,
    directed: bool,
    first: int,
    sources: NDArray[np.uint32],
    targets: NDArray[np.uint32],
    threads: int,
) -> None: ...
def skip_pairs(
    seed: int,
    vertices: int,
    directed: bool,
    probability: float,
    block: int,
    first: int,
    last: int,
    threads: int,
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]: ...
def draw_skewed(
    seed: int,
    stream: int,
    source: _Skew,
    target: _Skew,
    directed: bool,
    first: int,
    sources: NDArray[np.uint32],
    targets: NDArray[np.uint32],
    threads: int,
    numbers: NDArray[np.uint64] | None = None,
) -> None: ...
def draw_units(
    seed: int,
    stream: int,
    first: int,
    out: NDArray[np.float64],
    threads: int,
    numbers: NDArray[np.uint64] | None = None,
) -> None: ...
def draw_codes(
    seed: int,
    stream: int,
    ends: NDArray[np.uint32],
    first: int,
    out: NDArray[np.uint32],
    threads: int,
    numbers: NDArray[np.uint64] | None = None,
) -> None: ...
def keep_first_at_each(
    sources: NDArray[np.uint32], targets: NDArray[np.uint32], vertices: int, most: int, threads: int
) -> int: ...
def keep_distinct(sources: NDArray[np.uint32], targets: NDArray[np.uint32], threads: int) -> int: ...

_Mask: TypeAlias = NDArray[np.uint8] | None
_ArcRows: TypeAlias = tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint32] | None]

class Space:
    @overload
    def __init__(
        self,
        *,
        out: _ArcRows,
        in_: _ArcRows,
        label_groups: _Adjacency,
        edge_labels: int,
        vertices: Sequence[tuple[Sequence[int], _Mask, int, int]],
        edges: Sequence[tuple[int, int, int, int]],
        kinds: Sequence[tuple[bool, bool, _Mask, _Mask, _Mask]],
        injective: bool,
        rounds: int,
        cycles: int,
        max_bytes: int,
        threads: int,
        timeout: float | None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        sets: Sequence[NDArray[np.uint32]],
        edges: Sequence[tuple[int, int, _Adjacency | None, _Adjacency | None]],
        rounds: int,
    ) -> None: ...
    def lend(
        self,
    ) -> tuple[
        list[NDArray[np.uint32]], list[tuple[int, int, _Adjacency | None, _Adjacency | None]], int
    ]: ...
    @property
    def state(self) -> int: ...
    @property
    def rounds(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def sizes(self) -> list[int]: ...
    @property
    def arcs(self) -> list[int]: ...
    @property
    def classes(self) -> list[int]: ...
    def members(self, query_vertex: int) -> NDArray[np.uint32]: ...

class Step:
    def __init__(
        self,
        *,
        source_levels: Sequence[int],
        source_directions: Sequence[int],
        reuse: int,
        anchor: int,
        after: int,
        before: int,
        distinct: int,
        not_out: int,
        not_in: int,
        bounds_out: bool,
        bounds_in: bool,
    ) -> None: ...

_List: TypeAlias = tuple[Sequence[int], Sequence[int], int, Sequence[int], bool, int]
_Component: TypeAlias = tuple[Sequence[int], Sequence[int], Sequence[int], Sequence[int], Sequence[_List]]
_Block: TypeAlias = tuple[
    Sequence[_Component], Sequence[int], Sequence[tuple[Sequence[int], Sequence[int]]], bool
]

class TooManyChoicesError(RuntimeError): ...

class NativePlan:
    @overload
    def __init__(
        self,
        *,
        steps: Sequence[Step],
        bounds: Sequence[tuple[int, int]],
        source_adjacencies: Sequence[int],
        adjacencies: Sequence[_Adjacency],
        out: _Adjacency,
        in_: _Adjacency,
        sets: tuple[int, int],
        tail: tuple[int, Sequence[_Block]],
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        steps: Sequence[Step],
        bounds: Sequence[tuple[int, int]],
        space: Space,
        order: Sequence[int],
        source_edges: Sequence[tuple[int, bool]],
        out: _Adjacency,
        in_: _Adjacency,
        sets: tuple[int, int],
        tail: tuple[int, Sequence[_Block]],
    ) -> None: ...
    def set_adaptive_order(
        self,
        links: Sequence[tuple[int, int, int, bool]],
        compared: Sequence[tuple[int, int, int]],
        always: bool,
    ) -> None: ...
    def set_copy_walk(
        self,
        indexes: Sequence[tuple[_CopyIndex | None, _CopyIndex | None] | None],
        root: int,
        side: int,
        masks: Sequence[NDArray[np.uint8] | None],
        by_pairs: tuple[Sequence[int], int, Sequence[NDArray[np.int64]], bool] | None,
        together: int,
    ) -> None: ...
    def set_comparisons(
        self, comparisons: Comparisons, variables: Sequence[int], filtered: Sequence[bool]
    ) -> None: ...
    def set_apart(
        self, apart: Sequence[tuple[int, int, tuple[NDArray[np.uint64], NDArray[np.uint32]]]]
    ) -> None: ...
    def prune(self, backjump: int, all_different: Sequence[tuple[int, int]]) -> None: ...
    @property
    def units(self) -> int: ...

_CopyRows: TypeAlias = tuple[
    Sequence[NDArray[np.int64]],
    NDArray[np.uint32],
    NDArray[np.uint32],
    NDArray[np.uint64],
    NDArray[np.int64],
]
_CopyIndex: TypeAlias = tuple[
    NDArray[np.uint64],
    NDArray[np.uint32],
    NDArray[np.uint64],
    NDArray[np.int64] | None,
    _CopyRows | None,
]
_Variable: TypeAlias = tuple[
    bool, int, int, Sequence[NDArray[np.int64]], _CopyIndex | None, NDArray[np.uint8] | None
]
_Compared: TypeAlias = tuple[int, int, int, int, int, bool, int, int, int, int, float, float]

class Comparisons:
    def __init__(
        self,
        *,
        variables: Sequence[_Variable],
        comparisons: Sequence[_Compared],
        span: tuple[bool, int, int, float] | None,
        levels: int,
        count_choices: bool,
    ) -> None: ...
    def exists(self, ranges: Sequence[tuple[int, int]]) -> bool: ...
    def count(self, ranges: Sequence[tuple[int, int]]) -> int: ...
    def count_to_many(self, ranges: Sequence[tuple[int, int]]) -> int: ...
    def list(self, ranges: Sequence[tuple[int, int]]) -> list[tuple[int, ...]]: ...

class RowChoices:
    def __init__(self, comparisons: Comparisons, rows: NDArray[np.uint32], most: int) -> None: ...
    def next(self, most: int, timeout: float | None) -> tuple[NDArray[np.int64], NDArray[np.uint64]]: ...
    @property
    def finished(self) -> bool | None: ...

class RelatedRows:
    def __init__(
        self, comparison: _Compared, left: bool, rows: NDArray[np.uint32], values: NDArray[np.int64]
    ) -> None: ...
    def count(
        self, others: NDArray[np.uint32], values: NDArray[np.int64], same: Sequence[tuple[int, int]]
    ) -> int: ...

def build_copies(
    *,
    offsets: NDArray[np.uint64],
    neighbors: NDArray[np.uint32],
    edges: NDArray[np.uint32] | None,
    starts: NDArray[np.int64] | None,
    copies: int,
    arc_mask: NDArray[np.uint8] | None,
    row_mask: NDArray[np.uint8] | None,
    columns: Sequence[NDArray[np.int64]],
    floats: bool,
    by_value: bool,
) -> tuple[
    NDArray[np.uint64],
    NDArray[np.uint32],
    NDArray[np.uint64],
    NDArray[np.int64],
    list[NDArray[np.int64]],
    list[NDArray[np.int64]],
    tuple[NDArray[np.uint32], NDArray[np.uint32]] | None,
]: ...
def sort_copies(
    *,
    offsets: NDArray[np.uint64],
    neighbors: NDArray[np.uint32],
    starts: NDArray[np.uint64],
    columns: Sequence[NDArray[np.int64]],
    floats: bool,
) -> tuple[list[NDArray[np.int64]], tuple[NDArray[np.uint32], NDArray[np.uint32]]]: ...
def turn_copies(
    *,
    offsets: NDArray[np.uint64],
    neighbors: NDArray[np.uint32],
    starts: NDArray[np.uint64],
    rows: NDArray[np.int64],
    columns: Sequence[NDArray[np.int64]],
) -> tuple[
    NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint64], NDArray[np.int64], list[NDArray[np.int64]]
]: ...
def arcs_by_target(offsets: NDArray[np.uint64], neighbors: NDArray[np.uint32]) -> NDArray[np.uint32]: ...

class SampleGraph:
    @overload
    def __init__(
        self,
        *,
        levels: Sequence[_SampleLevel],
        space: Space,
        order: Sequence[int],
        source_edges: Sequence[tuple[int, bool]],
        out: _Adjacency,
        in_: _Adjacency,
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        levels: Sequence[_SampleLevel],
        rows: Sequence[_Adjacency],
        roots: NDArray[np.uint32],
        out: _Adjacency,
        in_: _Adjacency,
    ) -> None: ...
    def grow_tree(self, timeout: float | None = None) -> tuple[float, int]: ...
    @property
    def tree_bytes(self) -> int: ...
    @property
    def most_bits(self) -> float: ...
    @property
    def root_count(self) -> int: ...
    @property
    def roots(self) -> NDArray[np.uint32] | None: ...
    def members(self, level: int) -> NDArray[np.uint32] | None: ...
    def rows(self, source: int) -> _Adjacency: ...
    def sums(self, level: int) -> NDArray[np.float64] | None: ...
    @property
    def tree_sources(self) -> list[int]: ...

_Stream: TypeAlias = tuple[NDArray[np.float64], NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint64], int]

class Trawl:
    def __init__(self, graph: SampleGraph, native_plans: Sequence[NativePlan], check_every: int) -> None: ...
    def run(
        self,
        seed: int,
        first: int,
        count: int,
        least: int,
        nodes: int,
        unfinished: int,
        threads: int,
        timeout: float | None,
    ) -> tuple[NDArray[np.float64], NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint64]]: ...
    def count_all(self, nodes: int, threads: int, timeout: float | None) -> int | None: ...
    def begin(
        self,
        seed: int,
        first: int,
        most: int,
        least: int,
        nodes: int,
        unfinished: int,
        threads: int,
        whole: int,
    ) -> None: ...
    def turn(self) -> None: ...
    def finish(self) -> tuple[_Stream, _Stream]: ...
    @property
    def whole(self) -> int | None: ...
    def end(self) -> None: ...

def draw_groups(
    graph: SampleGraph,
    estimator: int,
    inheritance: int,
    seed: int,
    first: int,
    count: int,
    threads: int,
    timeout: float | None,
) -> tuple[NDArray[np.float64], NDArray[np.uint32], NDArray[np.uint32]]: ...
def sums_by_exponent(numbers: NDArray[np.float64]) -> NDArray[np.int64]: ...
def draw_embeddings(
    graph: SampleGraph, seed: int, first: int, count: int, threads: int, timeout: float | None
) -> tuple[NDArray[np.uint32], int]: ...
def count(
    native_plan: NativePlan,
    threads: int,
    limit: int | None,
    timeout: float | None,
    progress: _Progress | None,
    brief: bool,
) -> tuple[int, int, list[int]]: ...
def count_portion(
    native_plan: NativePlan,
    portion: _Portion,
    threads: int,
    limit: int | None,
    timeout: float | None,
) -> tuple[int, int, list[_WorkItem]]: ...
def count_together(
    native_plans: Sequence[NativePlan],
    threads: int,
    limits: Sequence[int | None],
    timeout: float | None,
    progress: Callable[[int, int, list[int]], None] | None,
) -> list[tuple[int, int]]: ...
def simd_here() -> list[int]: ...
def sample_sizes(
    native_plan: NativePlan, members: int, max_work: int, seed: int
) -> list[tuple[float, float, float]]: ...
def probe_sizes(native_plan: NativePlan, arcs: int, most: int, seed: int) -> tuple[float, list[float]]: ...
def probe(native_plan: NativePlan, arcs: int, most: int, seed: int) -> float: ...

class Rows:
    def __init__(
        self,
        native_plan: NativePlan,
        position: Sequence[int],
        threads: int,
        block_rows: int,
        limit: int | None,
        timeout: float | None,
        projection: _Projection | None = None,
        portion: _Portion | None = None,
    ) -> None: ...
    def left(self) -> list[_WorkItem]: ...
    def next(self, progress: _Progress | None) -> NDArray[np.uint32] | None: ...
    def close(self) -> None: ...
    @property
    def reason(self) -> int: ...

class ParseError(ValueError):
    args: tuple[int, str]

class Layout:
    def __init__(self, separator: str, quotes: bool, comments: bool, trims: bool) -> None: ...

ParsedTable: TypeAlias = tuple[
    int,
    int,
    list[tuple[NDArray[Any] | int, NDArray[np.bool_] | None, int | None]],
    list[tuple[NDArray[np.uint8], NDArray[np.int64]]],
    list[int],
]

class TableParser:
    def __init__(
        self,
        layout: Layout,
        width: int,
        width_reason: str,
        lines_before: int,
        columns: Sequence[tuple[int, str, int, int, bool, int, int]],
        threads: int,
    ) -> None: ...
    def feed(self, chunk: bytes, start: int, end: int) -> None: ...
    def finish(self) -> ParsedTable: ...

class UpdateParser:
    def __init__(
        self,
        layout: Layout | None,
        fields: Sequence[int],
        names: Sequence[str],
        width: int,
        width_reason: str,
        skips: bool,
        line: int,
        offset: int,
        forms: Sequence[int],
    ) -> None: ...
    def feed(self, chunk: bytes) -> None: ...
    def end(self) -> None: ...
    def fill(self, most: int) -> bool: ...
    @property
    def raw(self) -> bytes: ...
    @property
    def rest(self) -> bytes: ...
    def take(
        self,
    ) -> tuple[
        NDArray[np.uint8],
        NDArray[np.int64],
        NDArray[np.int64],
        NDArray[np.int64] | None,
        NDArray[np.int64] | NDArray[np.float64] | None,
        NDArray[np.int64],
        tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]] | None,
        tuple[_Names, _Names, _Names],
        list[tuple[int, str]],
        int,
        tuple[int, str] | None,
        bytes,
    ]: ...
    @property
    def has_dates(self) -> bool: ...
    @property
    def filled(self) -> int: ...
    @property
    def has_any(self) -> bool: ...
    @property
    def line(self) -> int: ...
    @property
    def offset(self) -> int: ...

_Names: TypeAlias = tuple[NDArray[np.uint8], NDArray[np.int64]] | None

def first_record(
    data: bytes, layout: Layout, at_end: bool
) -> tuple[int, int, int, int, list[bytes]] | None: ...
def characters(
    text: NDArray[np.uint8], offsets: NDArray[np.int64], most: int
) -> NDArray[np.uint32] | None: ...

class GraphFileParser:
    def __init__(self, wildcards: bool) -> None: ...
    def feed(self, chunk: bytes) -> None: ...
    def finish(
        self,
    ) -> tuple[
        NDArray[np.int64],
        NDArray[np.int64],
        NDArray[np.int64],
        NDArray[np.int64],
        NDArray[np.int64] | None,
        tuple[NDArray[np.uint8], NDArray[np.int64]] | None,
        tuple[NDArray[np.uint8], NDArray[np.int64]] | None,
    ]: ...

def format_csv(rows: NDArray[np.int64]) -> bytes: ...

class RingReader:
    def __init__(
        self,
        *,
        tail: int,
        published: int,
        payload: int,
        slots: int,
        slot_bytes: int,
        record_words: int,
        memory: object = None,
    ) -> None: ...
    def read(
        self, out: NDArray[np.uint32], wait_seconds: float = 0.0, spin_seconds: float = 20e-6
    ) -> int: ...
    @property
    def position(self) -> int: ...

class RingWriter:
    def __init__(
        self,
        *,
        tail: int,
        published: int,
        payload: int,
        slots: int,
        slot_bytes: int,
        record_words: int,
        memory: object = None,
    ) -> None: ...
    def try_write(self, records: NDArray[np.uint32]) -> bool: ...

class UpdateWriter:
    def __init__(self, *, lines: int, count: int, read: int, moment: int, memory: object = None) -> None: ...
    def try_write(self, records: NDArray[np.uint32]) -> bool: ...
    @property
    def position(self) -> int: ...

def echo(
    reader: RingReader, writer: RingWriter, rounds: int, round_seconds: float = 1.0
) -> NDArray[np.uint64]: ...
def take_answers(
    reader: RingReader,
    told: NDArray[np.uint64],
    lines: NDArray[np.uint64],
    out: NDArray[np.uint32],
    finished: int,
    wait_seconds: float = 0.0,
    last: int = 0,
) -> tuple[int, int]: ...
def pace(
    reader: RingReader,
    writer: UpdateWriter,
    told: NDArray[np.uint64],
    lines: NDArray[np.uint64],
    updates: NDArray[np.uint32],
    due: NDArray[np.uint64],
    first: int,
    limit_seconds: float = 10.0,
    keeps: bool = False,
) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]: ...

class StreamUpdates:
    def __init__(self, directed: bool) -> None: ...
    def set_rows(
        self,
        number: int,
        way: int,
        accepted: NDArray[np.uint8] | None,
        entries: NDArray[np.uint64] | None = None,
        edges: NDArray[np.uint32] | None = None,
    ) -> None: ...
    def counts(self, number: int) -> bool: ...
    def uncount(self, number: int, run: Run) -> None: ...
    def clear(self) -> None: ...
    def forget_kinds(self) -> None: ...
    def begin(self, run: Run) -> list[tuple[int, int, tuple[int, ...], tuple[int, ...]]]: ...
    def number_kinds(self, numbers: NDArray[np.uint32]) -> None: ...
    @property
    def updates(self) -> NDArray[np.uint32]: ...
    def __len__(self) -> int: ...
    @property
    def sent(self) -> int: ...
    def take(self, records: NDArray[np.uint32], base: int) -> None: ...
    def exchange(
        self,
        reader: RingReader,
        writer: UpdateWriter,
        told: NDArray[np.uint64],
        lines: NDArray[np.uint64],
        base: int,
        seconds: float,
    ) -> bool: ...
    def arm(
        self,
        reader: RingReader,
        writer: UpdateWriter,
        told: NDArray[np.uint64],
        lines: NDArray[np.uint64],
        moment: int,
        vertices: int,
        monitor: Monitor,
        width: int,
    ) -> None: ...
    def disarm(self) -> None: ...
    @property
    def is_armed(self) -> bool: ...
    @property
    def moment(self) -> int: ...
    def answers(self, width: int) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]: ...

def gather_rows(block: NDArray[np.uint32], ids: NDArray[np.int64], threads: int) -> NDArray[np.int64]: ...
def gather_columns(block: NDArray[np.uint32], ids: NDArray[np.int64], threads: int) -> NDArray[np.int64]: ...
def write_images(
    block: NDArray[np.uint32], sources: NDArray[np.uint32], threads: int
) -> NDArray[np.uint32]: ...
def gather_images(
    block: NDArray[np.uint32],
    sources: NDArray[np.uint32],
    ids: NDArray[np.int64],
    first: int,
    last: int,
    threads: int,
) -> NDArray[np.int64]: ...
def transpose(block: NDArray[np.uint32], threads: int) -> NDArray[np.uint32]: ...
def edge_shifts(
    offsets: NDArray[np.uint64], neighbors: NDArray[np.uint32], threads: int
) -> NDArray[np.uint64]: ...
def find_edges(
    block: NDArray[np.uint32],
    offsets: NDArray[np.uint64],
    neighbors: NDArray[np.uint32],
    labels: NDArray[np.uint32] | None,
    shifts: NDArray[np.uint64] | None,
    queries: Sequence[tuple[int, int, bool, _Mask, _Mask]],
    threads: int,
) -> NDArray[np.int64]: ...

_PathStep: TypeAlias = tuple[_Adjacency, _Mask, Sequence[tuple[bool, int, _Adjacency]]]

def mark_extended(
    block: NDArray[np.uint32],
    start: int,
    end: int | None,
    before: Sequence[int],
    distinct: bool,
    steps: Sequence[_PathStep],
    threads: int,
    timeout: float | None = ...,
) -> NDArray[np.uint8] | None: ...
def mark_listed(
    block: NDArray[np.uint32],
    start: int,
    end: int | None,
    before: Sequence[int],
    distinct: bool,
    offsets: NDArray[np.uint64],
    paths: NDArray[np.uint32],
    threads: int,
) -> NDArray[np.uint8]: ...

_Cells: TypeAlias = tuple[
    NDArray[np.int64]
    | NDArray[np.uint64]
    | NDArray[np.float32]
    | NDArray[np.float64]
    | NDArray[np.uint8]
    | NDArray[np.uint32],
    _Mask,
    NDArray[np.uint8] | None,
    NDArray[np.int64] | None,
]

def format_table(columns: Sequence[_Cells], rows: int, prefix: str, separator: str) -> bytes: ...
def quote_strings(
    text: NDArray[np.uint8], offsets: NDArray[np.int64], separator: str
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]: ...

class Names:
    def codes(self, text: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.uint32]: ...
    def finish(self) -> tuple[tuple[NDArray[np.uint8], NDArray[np.int64]], NDArray[np.uint32]]: ...

class Records:
    def __init__(self, kinds: Sequence[int]) -> None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, row: int) -> list[Any]: ...
    def __iter__(self) -> Iterator[list[Any]]: ...
    def append(self, record: list[Any]) -> None: ...
    def extend(self, other: Records, first: int, end: int) -> None: ...
    def part(self, first: int, end: int) -> Records: ...
    def take(self, rows: NDArray[np.int64]) -> Records: ...
    def inserts(self) -> NDArray[np.uint8]: ...
    def times(self) -> NDArray[np.int64]: ...
    def set_times(self, times: NDArray[np.int64]) -> None: ...
    def fill_times(self, time: int) -> None: ...
    def times_ascend(self, from_: int, to: int) -> bool: ...
    def present(self, place: int) -> NDArray[np.uint8]: ...
    def values(self, place: int) -> NDArray[Any]: ...
    def listed(self, place: int) -> list[Any]: ...
    def ends(self, most: int) -> list[int]: ...
    def encode(self) -> bytes: ...

class RecordLines:
    def __init__(
        self,
        kinds: Sequence[int],
        op: str,
        time: str,
        names: Sequence[str],
        inserting: Sequence[str],
        deleting: Sequence[str],
        unit: int,
        needs_time: bool,
        longest_line: int,
        longest_text: int,
    ) -> None: ...
    def read(self, records: Records, data: bytes, begin: int, lines: int) -> tuple[int, int]: ...

_Middles: TypeAlias = tuple[_Adjacency, _Adjacency, int]

def wedge_total(kinds: Sequence[_Middles], below: int, threads: int, timeout: float | None) -> int | None: ...

_Table: TypeAlias = tuple[NDArray[np.uint64], int]
_Step: TypeAlias = tuple[int, int, int, _Adjacency | None, NDArray[np.uint64] | None, int, bool]
_Walk: TypeAlias = tuple[list[_Step], bool, int, _Adjacency | None]

def wedges_of_ends(kinds: Sequence[_Middles], threads: int, timeout: float | None) -> _Table | None: ...
def four_cycles_of_arcs(rows: _Adjacency, threads: int, timeout: float | None) -> _Table | None: ...
def triangles_of_arcs(rows: _Adjacency, threads: int, timeout: float | None) -> _Table | None: ...
def weighted_cycles(
    rows: _Adjacency, weights: NDArray[np.uint64], threads: int, timeout: float | None
) -> _Table | None: ...
def orbits_of_vertices(
    rows: _Adjacency, threads: int, timeout: float | None
) -> tuple[NDArray[np.uint64], list[tuple[int, int]]] | None: ...
def orbits_of_edges(
    rows: _Adjacency, threads: int, timeout: float | None
) -> tuple[NDArray[np.uint64], list[tuple[int, int]]] | None: ...
def orbit_sums_of_vertices(
    rows: _Adjacency, threads: int, timeout: float | None
) -> NDArray[np.uint64] | None: ...
def all_orbits_of_vertices(
    rows: _Adjacency, coefficients: NDArray[np.uint64], threads: int, timeout: float | None
) -> tuple[NDArray[np.uint64], list[tuple[int, int]]] | None: ...
def orbit_sums_of_edges(
    rows: _Adjacency, threads: int, timeout: float | None
) -> NDArray[np.uint64] | None: ...
def all_orbits_of_edges(
    rows: _Adjacency, coefficients: NDArray[np.uint64], threads: int, timeout: float | None
) -> tuple[NDArray[np.uint64], list[tuple[int, int]]] | None: ...
def census_bins(
    forward: _Adjacency, reverse: _Adjacency, directed: bool, size: int, threads: int, timeout: float | None
) -> list[int] | None: ...
def triad_orbits(
    forward: _Adjacency,
    reverse: _Adjacency,
    number: int,
    pairs: NDArray[np.uint32],
    middles: NDArray[np.uint32],
    ends: NDArray[np.uint32],
    triangles: NDArray[np.uint32],
    contained: NDArray[np.uint32],
    threads: int,
    timeout: float | None,
) -> NDArray[np.uint64] | None: ...

_Wiring: TypeAlias = tuple[
    int,
    bool,
    bool,
    NDArray[np.uint32],
    NDArray[np.uint32],
    NDArray[np.uint64],
    NDArray[np.uint32] | None,
]

def rewired(
    wiring: _Wiring, proposals: float, seed: int, number: int, timeout: float | None
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], int] | None: ...
def overlaps(
    wiring: _Wiring, rounds: int, seed: int, timeout: float | None
) -> tuple[list[int], list[int]] | None: ...
def null_bins(
    wiring: _Wiring,
    proposals: float,
    seed: int,
    graphs: int,
    size: int,
    threads: int,
    timeout: float | None,
    progress: Callable[[int, int], None] | None,
) -> tuple[list[list[int]], int, int]: ...
def table_product(first: _Table, second: _Table, threads: int, timeout: float | None) -> _Table | None: ...
def table_minus(
    first: _Table, times: int, second: _Table, threads: int, timeout: float | None
) -> _Table | None: ...
def table_row_sums(rows: _Adjacency, table: _Table, threads: int, timeout: float | None) -> _Table | None: ...
def table_of_ends(
    rows: _Adjacency, table: _Table, end: int, threads: int, timeout: float | None
) -> _Table | None: ...
def table_sum(table: _Table, threads: int, timeout: float | None) -> int | None: ...
def walk_counts(walk: _Walk, vertices: int, threads: int, timeout: float | None) -> _Table | None: ...
def walk_work(walk: _Walk, vertices: int, roots: NDArray[np.uint32], most: float) -> NDArray[np.float64]: ...
def count_arcs(
    native_plan: NativePlan, threads: int, timeout: float | None
) -> tuple[NDArray[np.uint64], int]: ...
def count_rows(
    native_plan: NativePlan,
    projection: _Projection,
    threads: int,
    limit: int | None,
    timeout: float | None,
    progress: _Progress | None,
) -> tuple[int, int]: ...
def pick_rows(
    native_plan: NativePlan, position: Sequence[int], portion: _Portion, places: Sequence[int]
) -> tuple[NDArray[np.uint32], int]: ...
@overload
def count_images(
    native_plan: NativePlan,
    levels: Sequence[tuple[int, int, int]],
    arcs: Sequence[_Adjacency] | None,
    size: int,
    listing: bool,
    threads: int,
    timeout: float | None,
    progress: Callable[[int, int, int], None] | None,
) -> tuple[NDArray[np.uint64], list[tuple[int, int]], int]: ...
@overload
def count_images(
    native_plan: NativePlan,
    levels: Sequence[tuple[int, int, int]],
    arcs: Sequence[_Adjacency] | None,
    size: int,
    listing: bool,
    threads: int,
    timeout: float | None,
    progress: Callable[[int, int, int], None] | None,
    portion: _Portion,
) -> tuple[NDArray[np.uint64], list[tuple[int, int]], int, list[_WorkItem]]: ...

class PutOffNoops:
    @property
    def known(self) -> bool: ...
    @property
    def count(self) -> int: ...

class Terms:
    def __init__(self, batch: bool, threads: int, at_once: int, put_off: bool, most: int) -> None: ...

class Found:
    @property
    def noops(self) -> int: ...
    @property
    def put_off(self) -> PutOffNoops | None: ...
    @property
    def any(self) -> bool: ...
    @property
    def applied(self) -> int: ...
    @property
    def expired(self) -> int: ...
    @property
    def self_loops(self) -> int: ...
    def counts(self, pattern: int) -> tuple[int, int]: ...
    def changes(self, pattern: int) -> tuple[NDArray[np.uint64], Any, NDArray[np.int8]]: ...
    def rows(
        self, pattern: int
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint64], NDArray[np.uint8], NDArray[np.int64]] | None: ...
    def passings(self, pattern: int) -> list[tuple[int, int, int, int]]: ...

_NamedVertices: TypeAlias = tuple[NDArray[Any], NDArray[np.uint32], NDArray[np.int64]]
_Numbered: TypeAlias = tuple[
    NDArray[np.uint32],
    NDArray[np.uint32],
    NDArray[np.int64] | None,
    int,
    int,
    NDArray[np.uint32] | None,
    tuple[int, int] | None,
]

class VertexIds:
    def __init__(self, fewest: int, most: int) -> None: ...
    def load_integers(self, ids: NDArray[np.int64]) -> None: ...
    def load_strings(self, ids: NDArray[np.uint32]) -> None: ...
    def number_integers(
        self,
        monitor: Monitor,
        sources: NDArray[Any],
        targets: NDArray[Any],
        kept: NDArray[np.uint8] | None,
        named: _NamedVertices | None,
        unlabelled: int,
        threads: int,
    ) -> _Numbered | None: ...
    def number_strings(
        self,
        monitor: Monitor,
        sources: NDArray[Any],
        targets: NDArray[Any],
        kept: NDArray[np.uint8] | None,
        named: _NamedVertices | None,
        unlabelled: int,
        threads: int,
    ) -> _Numbered | None: ...
    def apply_integers(
        self,
        monitor: Monitor,
        inserts: NDArray[np.bool_],
        sources: NDArray[Any],
        targets: NDArray[Any],
        codes: NDArray[np.uint32] | None,
        integers: tuple[NDArray[np.int64], NDArray[np.int32]] | None,
        unlabelled: int,
        terms: Terms,
        full: Callable[[Found], None] | None,
        timeout: float | None,
        prepares: bool = False,
    ) -> Found | Literal[False] | None: ...
    def apply_strings(
        self,
        monitor: Monitor,
        inserts: NDArray[np.bool_],
        sources: NDArray[Any],
        targets: NDArray[Any],
        codes: NDArray[np.uint32] | None,
        integers: tuple[NDArray[np.int64], NDArray[np.int32]] | None,
        unlabelled: int,
        terms: Terms,
        full: Callable[[Found], None] | None,
        timeout: float | None,
        prepares: bool = False,
    ) -> Found | Literal[False] | None: ...
    def keep(self, count: int) -> None: ...
    def vertex_of(self, name: int | str) -> int | None: ...
    def names(self, vertices: NDArray[np.uint32]) -> NDArray[Any]: ...
    def columns(
        self, found: Found, pattern: int, first: int
    ) -> tuple[NDArray[Any], int, NDArray[np.int64], NDArray[np.int8]] | None: ...
    def all(self) -> NDArray[Any]: ...
    def __len__(self) -> int: ...
    @property
    def kind(self) -> str | None: ...

class Lines:
    def __init__(
        self,
        descriptor: int,
        grows: bool,
        around: tuple[str, str, str],
        separator: str,
        changes: bool,
        patterns: Sequence[tuple[int, Sequence[str]]],
    ) -> None: ...
    def take_written(self) -> int: ...
    def take_rest(self) -> bytes: ...

class QuietFeed:
    def __init__(self, words: Sequence[str]) -> None: ...
    def run(
        self,
        parser: UpdateParser,
        ids: VertexIds,
        monitor: Monitor,
        most: int,
        partial: bool,
        unlabelled: int,
        zero: bool,
        label_codes: NDArray[np.int32] | None,
        terms: Terms,
        opens: bool,
        lines: Lines | None,
        first: int,
        descriptor: int,
        spin: float,
        wait: float,
    ) -> None: ...
    def go_on(self) -> None: ...
    @property
    def turn_is_over(self) -> bool: ...
    @property
    def is_open(self) -> bool: ...
    @property
    def first(self) -> int: ...
    def found(self) -> Found: ...
    def commit(self) -> None: ...
    def take_back(self) -> None: ...
    def take(
        self,
    ) -> tuple[
        int,
        int,
        int,
        int,
        int,
        list[PutOffNoops],
        list[tuple[int, int]],
        float,
        list[tuple[int, int]],
    ]: ...
    @property
    def batches(self) -> int: ...

class FeedQueue:
    def __init__(self, room: int, spin: float) -> None: ...
    def write(self, parts: list[tuple[Any, ...]]) -> int: ...
    def wait_for_room(self, size: int, seconds: float) -> bool: ...
    def take(self, seconds: float, given: list[tuple[Any, ...]]) -> bool: ...
    def give_back(self, taken: tuple[Any, ...]) -> None: ...
    @property
    def has_no_more(self) -> bool: ...
    def wait_until_answered(self, seconds: float) -> bool: ...
    def pause(self, owner: int, seconds: float) -> bool: ...
    def resume(self, owner: int) -> None: ...
    def is_paused_by(self, owner: int) -> bool: ...
    def close(self, gives_up: bool) -> None: ...
    def stop(self) -> None: ...
    def wait_for_work(self, seconds: float) -> int: ...
    def turn(
        self,
        ids: VertexIds,
        monitor: Monitor,
        terms: Terms,
        unlabelled: int,
        zero: bool,
        label_codes: NDArray[np.int32] | None,
        first: StreamUpdates | None,
        most: int,
        slots: int,
        seconds: float,
        rest: float,
    ) -> tuple[int, int, int]: ...
    def take_parts(self, most: int) -> list[tuple[int, Any]]: ...
    def put_back(self, kept: int) -> None: ...
    def answer(self, first: int, updates: int, delta: Any) -> None: ...
    def end(self) -> list[tuple[int, Any]]: ...
    @property
    def written(self) -> int: ...
    @property
    def answered(self) -> int: ...
    @property
    def is_closed(self) -> bool: ...

def read_soon(descriptor: int, spin: float, timeout: float) -> bytes | None: ...
def plain_rows(
    rows: Sequence[Any],
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]] | None: ...
def vertex_codes(monitor: Monitor) -> NDArray[np.uint32]: ...

_PlanTail: TypeAlias = tuple[int, list[tuple[list[int], int, list[int]]]]
_PlanSteps: TypeAlias = list[tuple[list[tuple[int, int, int, bool]], int, int, int, int, int, int]]

# Totals, sums and rows (docs/design/gpu-changing.md).
RunMatches: TypeAlias = tuple[NDArray[np.uint64] | None, NDArray[np.uint64] | None, NDArray[np.uint32] | None]

class Run:
    @property
    def ends(self) -> NDArray[np.uint32]: ...
    @property
    def roots(self) -> NDArray[np.uint32]: ...
    @property
    def positive(self) -> NDArray[np.uint8]: ...
    @property
    def one_change(self) -> bool: ...
    @property
    def is_written(self) -> bool: ...
    @property
    def updates(self) -> int: ...
    @property
    def candidate_changes(self) -> tuple[int, int, NDArray[np.uint32], NDArray[np.uint64]] | None: ...
    @property
    def num_ends(self) -> int: ...
    @property
    def num_roots(self) -> int: ...
    def keep_going(self) -> bool: ...
    def write_rows(self) -> None: ...
    def share(self, number: int, shares: int) -> Run: ...
    def stop_shares(self) -> None: ...

def copy_rows(
    addresses: NDArray[np.uint64], starts: NDArray[np.uint64], to: NDArray[np.uint32], threads: int
) -> None: ...

class Accesses:
    @property
    def names(self) -> NDArray[np.uint32]: ...
    @property
    def vertices(self) -> NDArray[np.uint32]: ...
    @property
    def times(self) -> NDArray[np.float64]: ...
    @property
    def num_roots(self) -> int: ...
    @property
    def walks(self) -> int: ...
    @property
    def wanted_walks(self) -> int: ...
    @property
    def rounds(self) -> int: ...
    @property
    def largest_row(self) -> int: ...
    @property
    def is_exact(self) -> bool: ...
    @property
    def late(self) -> bool: ...

class AccessEstimator:
    def __init__(self) -> None: ...

def sort_opened_rows(rows: NDArray[np.uint64], threads: int) -> None: ...

class Arena:
    @property
    def address(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def number(self) -> int: ...
    @property
    def is_lent(self) -> bool: ...

class GraphReader:
    def arenas(self) -> list[Arena]: ...
    def hold(self) -> NDArray[np.uint32]: ...
    def release(self) -> None: ...
    def leave(self, run: Run) -> None: ...
    def note(self, run: Run) -> None: ...

class ChangedRows:
    def __init__(
        self,
        run: Run,
        accepts: NDArray[np.uint8] | None,
        way: int,
        directed: bool,
        mixes: bool,
        piece: int,
        address: NDArray[np.uint64],
        size: NDArray[np.int64],
        capacity: NDArray[np.int64],
        packed: bool = False,
    ) -> None: ...
    @property
    def num_changes(self) -> int: ...
    @property
    def num_rows(self) -> int: ...
    @property
    def growth(self) -> int: ...
    @property
    def room(self) -> int: ...
    @property
    def num_updates(self) -> int: ...
    @property
    def num_inserts(self) -> int: ...
    @property
    def merged_pieces(self) -> int: ...
    @property
    def settled_pieces(self) -> int: ...
    @property
    def touched_at(self) -> int: ...
    @property
    def merged_at(self) -> int: ...
    @property
    def settled_at(self) -> int: ...
    @property
    def updates_at(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def memory_nbytes(self) -> int: ...
    @property
    def longest(self) -> int: ...
    def write(self, block: NDArray[np.uint8], address: int, memory: int, room: int) -> None: ...

class DividedRoots:
    def __init__(self, run: Run, manners: NDArray[np.uint8]) -> None: ...
    @property
    def num_counted(self) -> int: ...
    @property
    def listed(self) -> NDArray[np.uint32]: ...
    @property
    def matches(self) -> NDArray[np.uint32]: ...
    def write(self, counted: NDArray[np.uint8], listed: NDArray[np.uint8]) -> None: ...

class Partitions:
    def __init__(
        self,
        directions: Sequence[tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint32] | None]],
        vertex_labels: NDArray[np.uint32] | None,
        codes: int,
        by_target: bool,
        threads: int,
    ) -> None: ...
    def membership(self) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint32]]: ...
    def rename(self, steps: int, threads: int) -> NDArray[np.uint32]: ...
    def interval_rows(
        self, renamed: NDArray[np.uint32], most_arcs: int, threads: int
    ) -> tuple[
        NDArray[np.uint64],
        NDArray[np.uint64],
        NDArray[np.uint64],
        NDArray[np.uint32],
        NDArray[np.uint32],
        NDArray[np.uint32] | NDArray[np.uint64],
        NDArray[np.uint32],
    ]: ...

COMPARED_STEPS: int

def rename_vertices(
    offsets: NDArray[np.uint64], partitions: NDArray[np.uint32], count: int, steps: int, threads: int
) -> NDArray[np.uint32]: ...
def hash_rows(
    ids: NDArray[np.uint32], offsets: NDArray[np.uint32], neighbors: NDArray[np.uint32], threads: int
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]: ...
def class_order(
    vertex_labels: NDArray[np.uint32],
    out: tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint32] | None],
    into: tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint32] | None] | None,
    threads: int,
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]: ...

class Copies:
    STAYS: int
    def __init__(self, directed: bool, span: int | None, timed: bool) -> None: ...
    def fill(
        self,
        sources: NDArray[np.uint32],
        targets: NDArray[np.uint32],
        labels: NDArray[np.uint32],
        facets: NDArray[np.uint32],
        since: NDArray[np.int64],
        came: int,
    ) -> None: ...
    def apply(
        self,
        inserts: NDArray[np.uint8],
        sources: NDArray[np.uint32],
        targets: NDArray[np.uint32],
        labels: NDArray[np.uint32],
        facets: NDArray[np.uint32],
        moments: NDArray[np.int64] | None,
        columns: Sequence[tuple[NDArray[np.int64], NDArray[np.uint8]]],
    ) -> _CopyChanges: ...
    def advance(self, moment: int) -> _CopyChanges: ...
    def begin(self) -> None: ...
    def undo(self) -> None: ...
    def alive(self) -> NDArray[np.uint32]: ...
    def columns(
        self, rows: NDArray[np.uint32]
    ) -> tuple[
        NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int64]
    ]: ...
    def set_facets(self, rows: NDArray[np.uint32], facets: NDArray[np.uint32]) -> None: ...
    def compacted(self) -> Copies: ...
    def witnesses(
        self,
        sources: NDArray[np.uint32],
        targets: NDArray[np.uint32],
        facets: NDArray[np.uint8],
        labels: NDArray[np.uint32],
        either: bool,
        positions: NDArray[np.int64],
        positive: NDArray[np.uint8],
        whole: bool,
    ) -> NDArray[np.uint32]: ...
    @property
    def rows(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def edges(self) -> int: ...
    @property
    def came(self) -> int: ...
    @property
    def nbytes(self) -> int: ...

_CopyChanges: TypeAlias = tuple[
    NDArray[np.uint8],
    NDArray[np.uint32],
    NDArray[np.uint32],
    NDArray[np.uint32],
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int64],
    int,
    int,
    int | None,
    NDArray[np.uint32],
]

class Compared:
    def __init__(self, copies: Copies, monitor: Monitor) -> None: ...
    def add_column(self, ranked: bool) -> int: ...
    def extend(self, column: int, values: NDArray[np.int64], missing: NDArray[np.uint8]) -> None: ...
    def shorten(self, column: int, size: int) -> None: ...
    def size(self, column: int) -> int: ...
    def set_ranks(self, column: int, ranks: NDArray[np.int64]) -> None: ...
    def add_index(self, column: int | None, floats: bool) -> int: ...
    def add_pattern(
        self,
        slot: int,
        listed: bool,
        vertices: Sequence[tuple[Sequence[int] | None, int, int, int, int]],
        edges: Sequence[tuple[int, int, bool, int, bool, bool]],
        negated: Sequence[tuple[int, int, bool, int, bool, Sequence[int] | None, int, int]],
        variables: Sequence[tuple[bool, int, Sequence[int]]],
        comparisons: Sequence[tuple[Any, ...]],
        span: tuple[Any, ...] | None,
    ) -> None: ...
    def drop_pattern(self, slot: int) -> None: ...
    def accept(self, slot: int, edge: int, facets: NDArray[np.uint8], labels: NDArray[np.uint32]) -> None: ...
    def load(self) -> None: ...
    def begin(self) -> None: ...
    def apply(self, rows: NDArray[np.uint32], inserts: NDArray[np.uint8]) -> None: ...
    def undo(self) -> None: ...
    def match(
        self, found: Found, terms: Terms, full: Callable[[Found], None] | None, timeout: float | None
    ) -> Found | None: ...
    def witnesses(
        self,
        slot: int,
        images: NDArray[np.uint32],
        came: NDArray[np.int64],
        gone: NDArray[np.int64],
        least: NDArray[np.int64],
    ) -> NDArray[np.uint32]: ...
    @property
    def nbytes(self) -> int: ...

class Monitor:
    def __init__(self, directed: bool, count_copies: bool) -> None: ...
    def load(
        self,
        vertex_labels: NDArray[np.uint32],
        out: tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint32] | None],
        into: tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint32] | None] | None,
        copies: NDArray[np.uint32] | None,
        threads: int,
    ) -> None: ...
    def load_lent(
        self,
        out: tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint32] | None],
        into: tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint32] | None] | None,
        copies: NDArray[np.uint32] | None,
        threads: int,
        lenders: object,
    ) -> None: ...
    def load_in_class_order(
        self,
        vertex_labels: NDArray[np.uint32],
        out: tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint32] | None],
        into: tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint32] | None] | None,
        copies: NDArray[np.uint32] | None,
        classes: NDArray[np.uint32],
        forward: NDArray[np.uint32],
        reverse: NDArray[np.uint32] | None,
        threads: int,
        lenders: object,
    ) -> str: ...
    @property
    def has_lent_rows(self) -> bool: ...
    @property
    def lenders(self) -> object: ...
    def take_over_lent_rows(self, threads: int) -> None: ...
    def add_vertices(self, labels: NDArray[np.uint32]) -> None: ...
    def keep_vertices(self, count: int) -> None: ...
    def relation(self, labels: Sequence[int] | None, either: bool, growing: int = 0) -> int: ...
    def accept(self, label: int, relations: Sequence[int]) -> None: ...
    def target(self, relation: int, labels: Sequence[int] | None) -> int: ...
    def add_list(self, ascending: Sequence[int]) -> int: ...
    def extend_list(self, number: int, vertex: int) -> None: ...
    def drop_list(self, number: int) -> None: ...
    def add_pattern(self, pattern: int, plans: Sequence[Any], listed: bool) -> None: ...
    def drop_pattern(self, pattern: int) -> None: ...
    def tally(
        self,
        pattern: int,
        places: Sequence[int],
        counts: NDArray[np.uint64],
        threshold: int,
        down: bool,
    ) -> None: ...
    def tallied(self, pattern: int) -> NDArray[np.uint64]: ...
    def replace_plans(self, pattern: int, plans: Sequence[Any], probed: bool = False) -> None: ...
    def enable_probes(self, on: bool, eager: bool = False) -> None: ...
    @property
    def has_probe_news(self) -> bool: ...
    def take_wanted(self) -> list[tuple[int, int]]: ...
    def take_better(self) -> list[tuple[int, int, int, float]]: ...
    def race(self, pattern: int, place: int, alternatives: Sequence[Sequence[Any]]) -> None: ...
    def take_label_changes(
        self,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]: ...
    @property
    def num_label_changes(self) -> int: ...
    def label_counts(
        self,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]: ...
    def vertex_counts(self) -> NDArray[np.int64]: ...
    def prepare(self) -> None: ...
    def filter_by(self, kind: int, bits: int) -> None: ...
    def candidates(self) -> tuple[int, int, int, NDArray[np.uint64]]: ...
    def candidate_columns(self) -> list[list[tuple[int, int, int]]]: ...
    def labelled_candidates(self, first: int) -> NDArray[np.uint64]: ...
    def plan_columns(self, number: int) -> list[int]: ...
    def apply(
        self,
        inserts: NDArray[np.uint8],
        sources: NDArray[np.uint32],
        targets: NDArray[np.uint32],
        labels: NDArray[np.uint32] | None,
        origins: NDArray[np.int64] | None,
        moments: NDArray[np.int64] | None,
        expanded: bool,
        terms: Terms,
        full: Callable[[Found], None] | None,
        timeout: float | None,
    ) -> Found | None: ...
    def write_put_off(self) -> None: ...
    @property
    def noops_awaited(self) -> bool: ...
    def progress(self) -> tuple[int | None, list[float]]: ...
    def first_noop(
        self,
        inserts: NDArray[np.uint8],
        sources: NDArray[np.uint32],
        targets: NDArray[np.uint32],
        labels: NDArray[np.uint32] | None,
    ) -> int: ...
    def edges(
        self,
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint64]]: ...
    def open_window(self, span: int, timed: bool) -> None: ...
    def fill_window(
        self,
        sources: NDArray[np.uint32],
        targets: NDArray[np.uint32],
        labels: NDArray[np.uint32],
        since: NDArray[np.int64],
        came: int,
    ) -> None: ...
    def expand(
        self,
        inserts: NDArray[np.uint8],
        sources: NDArray[np.uint32],
        targets: NDArray[np.uint32],
        labels: NDArray[np.uint32] | None,
        moments: NDArray[np.int64] | None,
    ) -> tuple[
        NDArray[np.uint8],
        NDArray[np.uint32],
        NDArray[np.uint32],
        NDArray[np.uint32],
        NDArray[np.int64],
        int,
    ]: ...
    def advance(
        self, moment: int
    ) -> tuple[
        NDArray[np.uint8],
        NDArray[np.uint32],
        NDArray[np.uint32],
        NDArray[np.uint32],
        NDArray[np.int64],
        int,
    ]: ...
    def window_copies(
        self,
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int64], int]: ...
    def match_elsewhere(self, callback: Callable[[Run], RunMatches | None] | None) -> None: ...
    def plan(self, number: int) -> tuple[int, bool, int, _PlanSteps, _PlanTail]: ...
    def shared_levels(self, number: int) -> tuple[int, list[tuple[int, int, int]]] | None: ...
    @property
    def num_plans(self) -> int: ...
    @property
    def plans_version(self) -> int: ...
    def list(self, number: int) -> NDArray[np.uint32]: ...
    @property
    def lists_version(self) -> int: ...
    def target_classes(self, target: int) -> NDArray[np.uint32] | None: ...
    @property
    def num_classes(self) -> int: ...
    def one_witness(self, target: int) -> bool: ...
    def target_rows(
        self, target: int, way: int, threads: int, with_room: bool = False
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint32]]: ...
    def has_own_rows(self, target: int, way: int) -> bool: ...
    def places_of_rows(
        self, target: int, way: int, vertices: NDArray[np.uint32], threads: int
    ) -> tuple[NDArray[np.uint64], NDArray[np.int64]]: ...
    def places_in_rows(
        self, target: int, way: int, first: int, last: int
    ) -> tuple[NDArray[np.uint64], NDArray[np.int64]]: ...
    def sums_of_rows(self, target: int, way: int, threads: int) -> tuple[int, int, float]: ...
    def changed_rows(self, run: Run, target: int, way: int, piece: int) -> ChangedRows: ...
    def reader(self) -> GraphReader: ...
    def estimate_accesses(
        self,
        estimator: AccessEstimator,
        run: Run,
        names: Sequence[tuple[int, int]],
        method: int = 0,
        seed: int = 0,
        walks: int | None = 0,
        most_walks: int = 0,
        alpha: float = 1.0,
        delta: float = 0.9,
        top: int = 0,
        seconds: float | None = 0.01,
        threads: int = 1,
    ) -> Accesses: ...
    def begin(self, after: bool = False) -> int: ...
    def begin_next(self) -> int: ...
    @property
    def last_call(self) -> int: ...
    @property
    def final_call(self) -> int: ...
    def settle(self, call: int) -> None: ...
    def finish_call(self, call: int) -> str: ...
    def take_back(self, call: int) -> None: ...
    def apply_prepared(
        self,
        prepared: Found,
        terms: Terms,
        full: Callable[[Found], None] | None,
        timeout: float | None,
    ) -> Found | None: ...
    def may_write_put_off(self, updates: int) -> bool: ...
    @property
    def directed(self) -> bool: ...
    @property
    def num_vertices(self) -> int: ...
    @property
    def num_edges(self) -> int: ...
    @property
    def final_edges(self) -> int: ...
    def limit_runs(self, updates: int) -> None: ...
    @property
    def written_edges(self) -> int: ...
    @property
    def typical_row(self) -> float: ...
    @property
    def nbytes(self) -> int: ...
