"""Generators: the same graph however it is drawn, and one that looks as it should."""

from __future__ import annotations

import sys
import zlib
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import motiflux as mf
from motiflux.generate import (
    EdgeColumns,
    Flows,
    Generator,
    PowerLaw,
    Rmat,
    Transfers,
    UniformEdges,
    UniformGraph,
)
from tests.unit.jit_cases import run_python

GENERATORS: list[Generator] = [
    Rmat(scale=11, edges=60_000, seed=1),
    Rmat(scale=11, edges=60_000, seed=1, noise=0.5, directed=False, permute=False),
    Rmat(scale=8, edges=60_000, seed=1, duplicates="drop"),
    Rmat(scale=8, edges=60_000, seed=1, max_degree=100),
    UniformEdges(vertices=1001, edges=60_000, seed=2),
    UniformEdges(vertices=1000, edges=60_000, seed=2, directed=True),
    UniformGraph(vertices=2000, probability=0.03, seed=3),
    UniformGraph(vertices=300, probability=1.0, seed=3, directed=True),
    PowerLaw(vertices=999, edges=60_000, seed=4, vertex_label_count=7, edge_label_count=3),
    PowerLaw(vertices=300, edges=60_000, seed=4, edge_label_count=3, duplicates="drop", directed=True),
    Flows(flows=60_000, seed=5),
    Transfers(transfers=60_000, seed=6),
    Transfers(
        transfers=60_000, seed=6, copies=9, hubs=7, ordered_rings=8, ordered_decoys=8, ordered_copies=3
    ),
]
EVERY = pytest.mark.parametrize("generator", GENERATORS, ids=lambda one: type(one).__name__)


PROBABILITIES = [0.0, 5e-324, 1e-300, 1e-9, 0.5, 1 - 1e-12, 1.0]


def parts(columns: EdgeColumns) -> dict[str, Any]:
    labels = {} if columns.edge_labels is None else {"labels": columns.edge_labels}
    return {"sources": columns.sources, "targets": columns.targets, **labels, **columns.edge_attributes}


def assert_same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert found.keys() == expected.keys()
    for name, column in expected.items():
        assert np.array_equal(found[name], column), name


def keys(columns: EdgeColumns) -> Any:
    return columns.sources.astype(np.uint64) << np.uint64(32) | columns.targets


def chi_square(counts: Any, expected: Any) -> float:
    return float(((counts - expected) ** 2 / expected).sum())


@EVERY
def test_any_number_of_threads_draws_the_same(generator: Generator) -> None:
    expected = generator.columns(threads=1)
    for threads in (2, 5):
        found = generator.columns(threads=threads)
        assert_same(parts(found), parts(expected))
        assert np.array_equal(found.vertex_labels, expected.vertex_labels)


@EVERY
@pytest.mark.parametrize("rows", [977, 16_384, 10**9])
def test_blocks_of_any_size_are_the_whole(generator: Generator, rows: int) -> None:
    blocks = list(generator.blocks(rows=rows))
    assert all(len(block) == rows for block in blocks[:-1])
    whole = parts(generator.columns())
    assert_same({name: np.concatenate([parts(block)[name] for block in blocks]) for name in whole}, whole)


@EVERY
def test_another_seed_draws_another_graph(generator: Generator) -> None:
    from dataclasses import replace

    if isinstance(generator, UniformGraph) and generator.probability == 1:
        pytest.skip("there is only one complete graph")
    first, second = generator.columns(), replace(generator, seed=generator.seed + 1).columns()
    assert np.mean(first.sources[:1000] == second.sources[:1000]) < 0.9


@EVERY
def test_edges_lead_from_one_vertex_to_another(generator: Generator) -> None:
    columns = generator.columns()
    assert (columns.sources != columns.targets).all()
    assert max(columns.sources.max(), columns.targets.max()) < columns.num_vertices
    assert columns.directed or (columns.sources < columns.targets).all()
    assert columns.edge_labels is None or columns.edge_labels.max() < len(columns.edge_label_names)


@EVERY
def test_the_graph_is_that_of_the_columns(generator: Generator) -> None:
    columns, graph = generator.columns(), generator.graph(threads=2)
    assert graph.num_vertices == generator.num_vertices
    assert graph.num_edge_copies == len(columns)
    assert graph.directed == generator.is_directed
    assert list(graph.edge_attributes) == list(generator.edge_attribute_names)
    edges = graph.to_edges()
    if columns.edge_labels is not None:
        assert edges.labels is not None
        names = np.array(columns.edge_label_names)[columns.edge_labels]
        expected = set(zip(columns.sources.tolist(), columns.targets.tolist(), names.tolist(), strict=True))
        found = zip(edges.src.tolist(), edges.dst.tolist(), edges.labels.tolist(), strict=True)
        ordered = {(*((u, v) if columns.directed else sorted((u, v))), label) for u, v, label in found}
        assert ordered == expected


class TestRmat:
    @pytest.mark.parametrize("noise", [0.0, 1.0])
    def test_each_quadrant_has_its_share(self, noise: float) -> None:
        columns = Rmat(scale=14, edges=200_000, a=0.5, b=0.1, c=0.25, noise=noise, permute=False).columns()
        half = 2**13
        quadrant = 2 * (columns.sources >= half) + (columns.targets >= half)
        shares = np.bincount(quadrant, minlength=4) / 200_000
        if noise == 0:
            assert shares == pytest.approx([0.5, 0.1, 0.25, 0.15], abs=0.005)
        else:
            # The first level differs from the others by a random part of the smaller one off the diagonal.
            assert shares[0] / (shares[0] + shares[3]) == pytest.approx(0.5 / 0.65, abs=0.005)
            assert shares[2] - shares[1] == pytest.approx(0.15, abs=0.005)
            assert 0.01 < abs(shares[1] - 0.1) <= 0.105

    def test_every_level_falls_into_quadrants_alike(self) -> None:
        columns = Rmat(scale=12, edges=100_000, a=0.4, b=0.3, c=0.2, permute=False).columns()
        for level in range(12):
            quadrant = 2 * (columns.sources >> level & 1) + (columns.targets >> level & 1)
            assert np.bincount(quadrant) / 1e5 == pytest.approx([0.4, 0.3, 0.2, 0.1], abs=0.01)

    def test_a_quadrant_of_no_probability_stays_empty(self) -> None:
        columns = Rmat(scale=10, edges=50_000, a=0.5, b=0.25, c=0.25, permute=False).columns()
        assert not ((columns.sources >= 512) & (columns.targets >= 512)).any()

    def test_permuted_ids_are_the_same_graph_renamed(self) -> None:
        plain, permuted = (
            Rmat(scale=9, edges=5000, seed=7, permute=flag).columns() for flag in (False, True)
        )
        new_ids: dict[int, int] = {}
        for old, new in zip(plain.sources.tolist(), permuted.sources.tolist(), strict=True):
            assert new_ids.setdefault(old, new) == new
        assert len(set(new_ids.values())) == len(new_ids)
        assert np.corrcoef(list(new_ids), list(new_ids.values()))[0, 1] < 0.3

    def test_degrees_are_heavy_tailed_and_those_of_equal_quadrants_are_not(self) -> None:
        skewed = np.bincount(Rmat(scale=12, edges=100_000).columns().sources)
        even = np.bincount(Rmat(scale=12, edges=100_000, a=0.25, b=0.25, c=0.25).columns().sources)
        assert skewed.max() > 1000
        assert even.max() < 60

    @pytest.mark.parametrize("duplicates", ["keep", "drop"])
    def test_a_most_degree_keeps_the_first_edges_that_are_drawn_at_both_ends(self, duplicates: str) -> None:
        options: dict[str, Any] = {"scale": 8, "edges": 60_000, "seed": 1}
        drawn, most = Rmat(**options).columns(), 100
        degrees, kept = Counter[int](), []
        for u, v in zip(drawn.sources.tolist(), drawn.targets.tolist(), strict=True):
            if degrees[u] < most and degrees[v] < most:
                degrees.update((u, v))
                kept.append((u, v))
        found = Rmat(**options, duplicates=duplicates, max_degree=most).columns()
        pairs = [*zip(found.sources.tolist(), found.targets.tolist(), strict=True)]
        assert pairs == (kept if duplicates == "keep" else sorted(set(kept)))
        assert max(degrees.values()) == most
        assert len(kept) < len(drawn)

    def test_dropped_duplicates_leave_each_edge_that_was_drawn_once(self) -> None:
        kept = Rmat(scale=8, edges=60_000, seed=1).columns()
        dropped = Rmat(scale=8, edges=60_000, seed=1, duplicates="drop").columns()
        assert np.array_equal(keys(dropped), np.unique(keys(kept)))

    @given(st.integers(1, 31), st.integers(0, 300), st.integers(0, 2**64 - 1), st.booleans(), st.booleans())
    def test_any_size_can_be_drawn(
        self, scale: int, edges: int, seed: int, directed: bool, permute: bool
    ) -> None:
        columns = Rmat(scale=scale, edges=edges, seed=seed, directed=directed, permute=permute).columns()
        assert len(columns) == edges
        assert (columns.sources != columns.targets).all()
        assert not edges or max(columns.sources.max(), columns.targets.max()) < 2**scale


class TestUniform:
    @given(st.integers(0, 40), st.booleans(), st.integers(0, 2**64 - 1), st.data())
    def test_there_are_exactly_as_many_distinct_edges_as_asked_for(
        self, vertices: int, directed: bool, seed: int, data: st.DataObject
    ) -> None:
        most = vertices * (vertices - 1) // (1 if directed else 2)
        edges = data.draw(st.integers(0, most))
        columns = UniformEdges(vertices=vertices, edges=edges, directed=directed, seed=seed).columns()
        assert len(np.unique(keys(columns))) == edges
        assert (columns.sources != columns.targets).all()
        assert directed or (columns.sources < columns.targets).all()

    def test_every_edge_comes_equally_often(self) -> None:
        counts: dict[int, int] = {}
        for seed in range(3000):
            for key in keys(UniformEdges(vertices=6, edges=5, seed=seed).columns()).tolist():
                counts[key] = counts.get(key, 0) + 1
        assert len(counts) == 15
        assert chi_square(np.array(list(counts.values())), 1000.0) < 45  # 14 degrees of freedom

    def test_degrees_are_binomial(self) -> None:
        columns = UniformEdges(vertices=1000, edges=50_000, seed=1).columns()
        degrees = np.bincount(np.concatenate([columns.sources, columns.targets]), minlength=1000)
        assert degrees.var() == pytest.approx(100 * (1 - 0.1), rel=0.2)

    @pytest.mark.parametrize("directed", [False, True])
    def test_the_number_of_edges_is_binomial(self, directed: bool) -> None:
        pairs = 1000 * 999 // (1 if directed else 2)
        sizes = [
            len(UniformGraph(vertices=1000, probability=0.01, directed=directed, seed=seed).columns())
            for seed in range(200)
        ]
        assert np.mean(sizes) == pytest.approx(0.01 * pairs, abs=4 * np.sqrt(0.0099 * pairs / 200))
        assert np.var(sizes) == pytest.approx(0.0099 * pairs, rel=0.5)

    @pytest.mark.turns(8)
    def test_each_pair_comes_with_the_probability(self) -> None:
        found = [keys(UniformGraph(vertices=6, probability=0.3, seed=seed).columns()) for seed in range(3000)]
        _, counts = np.unique(np.concatenate(found), return_counts=True)
        assert len(counts) == 15
        assert chi_square(counts, 900.0) < 45 * 0.7 + 15

    def test_edges_are_distinct_over_many_parts(self) -> None:
        columns = UniformGraph(vertices=3000, probability=0.05, seed=1).columns()
        assert len(np.unique(keys(columns))) == len(columns) > 10 * (1 << 14)

    @given(st.integers(0, 30), st.sampled_from(PROBABILITIES), st.booleans())
    def test_any_probability_can_be_drawn(self, vertices: int, probability: float, directed: bool) -> None:
        columns = UniformGraph(vertices=vertices, probability=probability, directed=directed).columns()
        pairs = vertices * (vertices - 1) // (1 if directed else 2)
        assert len(np.unique(keys(columns))) == len(columns) <= pairs
        if probability in (0, 1):
            assert len(columns) == pairs * probability


class TestPowerLaw:
    @pytest.mark.parametrize("exponent", [2.2, 2.5, 3.0])
    def test_degrees_fall_with_the_exponent(self, exponent: float) -> None:
        columns = PowerLaw(vertices=200_000, edges=2_000_000, exponent=exponent, seed=1).columns()
        degrees = np.bincount(np.concatenate([columns.sources, columns.targets]))
        tail = degrees[degrees >= 60]
        estimate = 1 + len(tail) / np.log(tail / 59.5).sum()  # the maximum likelihood, after Clauset et al.
        assert estimate == pytest.approx(exponent, abs=0.15)

    def test_labels_have_their_shares(self) -> None:
        uniform = PowerLaw(
            vertices=50_000, edges=50_000, vertex_label_count=5, edge_label_count=2, label_shares="uniform"
        ).columns()
        assert uniform.vertex_labels is not None
        assert uniform.edge_labels is not None
        assert chi_square(np.bincount(uniform.vertex_labels), 10_000.0) < 25
        assert chi_square(np.bincount(uniform.edge_labels), 25_000.0) < 17
        zipf = PowerLaw(vertices=50_000, edges=10, vertex_label_count=3).columns()
        assert zipf.vertex_labels is not None
        shares = np.array([6, 3, 2]) / 11
        assert np.bincount(zipf.vertex_labels) / 50_000 == pytest.approx(shares, abs=0.01)

    def test_without_permutation_low_ids_are_hubs(self) -> None:
        columns = PowerLaw(vertices=1000, edges=20_000, permute=False).columns()
        degrees = np.bincount(np.concatenate([columns.sources, columns.targets]), minlength=1000)
        assert degrees[:10].sum() > 5 * degrees[-500:].mean() * 10


class TestFlows:
    def test_the_average_degree_is_two_and_times_never_fall(self) -> None:
        flows = Flows(flows=50_000, seconds=100, seed=1)
        columns = flows.columns()
        assert 2 * len(columns) / flows.num_vertices == 2
        times = columns.edge_attributes["time"]
        assert (np.diff(times) >= 0).all()
        assert 0 <= times[0] <= times[-1] < 100_000

    def test_there_are_seven_protocols_and_few_hosts_with_many_flows(self) -> None:
        columns = Flows(flows=100_000, seed=1).columns()
        assert columns.edge_labels is not None
        assert len(np.unique(columns.edge_labels)) == len(columns.edge_label_names) == 7
        for ends in (columns.sources, columns.targets):
            assert np.sort(np.bincount(ends))[-100:].sum() > 10_000
        assert np.bincount(columns.sources).argmax() != np.bincount(columns.targets).argmax()


@pytest.mark.parametrize(
    ("generator", "checksum"),
    [
        (Rmat(scale=20, edges=1000, seed=1), 176478474),
        (Rmat(scale=7, edges=1000, seed=2**64 - 1, directed=False, permute=False), 727529938),
        (UniformEdges(vertices=1000, edges=1000, seed=1), 1837995307),
        (UniformEdges(vertices=10**9 + 1, edges=1000, seed=1, directed=True), 240073408),
    ],
)
def test_a_seed_gives_the_graph_that_it_gave_before(generator: Generator, checksum: int) -> None:
    columns = generator.columns()
    assert zlib.crc32(np.stack([columns.sources, columns.targets]).astype("<u4")) == checksum


def test_numbers_of_numpy_will_do() -> None:
    given = Rmat(scale=np.int64(7), edges=np.uint32(100), a=np.float32(0.5), seed=np.uint64(2**64 - 1))
    assert given == Rmat(scale=7, edges=100, a=0.5, seed=2**64 - 1)
    assert len(given.columns()) == 100


REFUSED: list[tuple[Any, dict[str, Any], str]] = [
    (Rmat, {"scale": 0, "edges": 1}, "scale: expected an integer from 1 to 31, found 0"),
    (Rmat, {"scale": 32, "edges": 1}, "scale: expected an integer from 1 to 31, found 32"),
    (Rmat, {"scale": 4, "edges": -1}, "edges: expected an integer from 0"),
    (Rmat, {"scale": 4, "edges": 1, "a": 1.5}, "a: expected a number from 0 to 1, found 1.5"),
    (Rmat, {"scale": 4, "edges": 1, "b": float("nan")}, "b: expected a number from 0 to 1, found nan"),
    (Rmat, {"scale": 4, "edges": 1, "a": 0.6, "b": 0.3, "c": 0.3}, "a, b, c: expected at most 1 together"),
    (Rmat, {"scale": 4, "edges": 1, "a": 1.0, "b": 0.0, "c": 0.0}, "self-loops"),
    (Rmat, {"scale": 4, "edges": 1, "noise": 2}, "noise: expected a number from 0 to 1, found 2"),
    (Rmat, {"scale": 4, "edges": 1, "max_degree": 0}, "max_degree: expected an integer from 1"),
    (Rmat, {"scale": 4, "edges": 1, "duplicates": "some"}, "duplicates: expected 'keep' or 'drop'"),
    (Rmat, {"scale": 4, "edges": 1, "directed": 1}, "directed: expected True or False, found 1"),
    (Rmat, {"scale": 4, "edges": 1, "seed": -1}, "seed: expected an integer from 0"),
    (UniformEdges, {"vertices": 4, "edges": 7}, "edges: expected at most 6, as many as 4 vertices can have"),
    (UniformEdges, {"vertices": 4, "edges": 13, "directed": True}, "edges: expected at most 12"),
    (UniformEdges, {"vertices": 2**32, "edges": 1}, "vertices: expected an integer from 0 to 4294967294"),
    (UniformGraph, {"vertices": 4, "probability": 1.1}, "probability: expected a number from 0 to 1"),
    (UniformGraph, {"vertices": 4, "probability": -0.1}, "probability: expected a number from 0 to 1"),
    (PowerLaw, {"vertices": 1, "edges": 1}, "vertices: expected an integer from 2"),
    (PowerLaw, {"vertices": 9, "edges": 1, "exponent": 2.0}, "exponent: expected a number from 2.001"),
    (PowerLaw, {"vertices": 9, "edges": 1, "edge_label_count": 0}, "edge_label_count: expected an integer"),
    (PowerLaw, {"vertices": 9, "edges": 1, "label_shares": "odd"}, "label_shares: expected 'uniform' or"),
    (Flows, {"flows": 10, "hosts": 1}, "hosts: expected an integer from 2"),
    (Flows, {"flows": 10, "seconds": 0}, "seconds: expected an integer from 1"),
]


@pytest.mark.parametrize(("kind", "arguments", "message"), REFUSED)
def test_what_cannot_be_drawn_is_refused_by_name(kind: Any, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(mf.ArgumentError) as refused:
        kind(**arguments)
    assert message in str(refused.value)


@pytest.mark.parametrize("given", [{}, {"edges": 1, "probability": 0.5}])
def test_a_uniform_graph_has_a_number_of_edges_or_a_probability(given: dict[str, Any]) -> None:
    with pytest.raises(mf.ArgumentError, match="edges, probability: expected one of them"):
        mf.generate.erdos_renyi(10, **given)


@pytest.mark.turns(8)
def test_progress_says_how_many_edges_are_drawn() -> None:
    seen: list[int] = []
    UniformGraph(vertices=5000, probability=0.8).columns(progress=seen.append)
    assert len(seen) > 1
    assert seen == sorted(seen)
    seen.clear()
    Rmat(scale=8, edges=3000).graph(progress=seen.append)
    assert seen == [3000]


def test_more_edges_than_fit_into_memory_are_refused_with_what_to_do_instead() -> None:
    with pytest.raises(mf.ArgumentError, match="draw them in blocks, or into a file"):
        Rmat(scale=31, edges=2**61).columns()


# All modules come first: reading them is native code as well, and no place for the Ctrl-C.
INTERRUPTED = """
import numpy as np, motiflux as mf, motiflux.generate
from motiflux import _native
from tests.interrupts import ctrl_c_in_native_code

def peak_mb():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024

{prepare}
before = peak_mb()
try:
    with ctrl_c_in_native_code():
        {call}
except KeyboardInterrupt:
    print(peak_mb() - before)
"""


ENDS = "ends = np.random.default_rng(1).integers(0, 2**24, (2, 30_000_000), dtype=np.uint32)"


@pytest.mark.turns(8)
@pytest.mark.parametrize(
    ("prepare", "call", "needed_mb"),
    [
        ("", "mf.generate.Rmat(scale=24, edges=200_000_000).columns()", 1600),
        ("", "mf.generate.UniformEdges(vertices=10**6, edges=200_000_000).columns()", 1600),
        ("", "mf.generate.UniformGraph(vertices=10**6, probability=4e-4).columns()", 1600),
        ("", "mf.generate.Flows(flows=200_000_000).columns()", 1600),
        (ENDS, "_native.keep_distinct(ends[0], ends[1], 2)", 300),
    ],
    ids=["R-MAT", "G(n, m)", "G(n, p)", "flows", "duplicates"],
)
@pytest.mark.skipif(sys.platform != "linux", reason="memory is not told so elsewhere")
def test_an_interrupt_comes_long_before_the_end(prepare: str, call: str, needed_mb: int) -> None:
    """As the memory tells that was written until then."""
    status, out, err = run_python(INTERRUPTED.format(prepare=prepare, call=call), timeout=120)
    assert (status, err) == (0, "")
    assert float(out) < needed_mb / 2
