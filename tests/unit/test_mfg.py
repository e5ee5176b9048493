"""Graph files that are mapped into memory."""

from __future__ import annotations

import gzip
import os
import pickle
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

import motiflux as mf
from motiflux import _native
from motiflux.conditions import Comparison, Operator
from motiflux.dispatch import choose
from motiflux.graph import AdjacencyKey, Direction
from motiflux.graph.csr import LazyCsr
from motiflux.io.binary import mfg
from tests.unit.cli_run import motiflux, only_json
from tests.unit.graph_cases import TRIANGLE, edge_counts
from tests.unit.mfg_cases import full_graph, graphs, identical, written

TRIANGLES = mf.Pattern.from_edges([(0, 1), (1, 2), (2, 0)])


def is_fetched(graph: mf.Graph) -> bool:
    """Whether the rows of an opened graph have been looked at."""
    assert isinstance(graph.forward, LazyCsr)
    try:
        object.__getattribute__(graph.forward, "neighbors")
    except AttributeError:
        return False
    return True


class TestRoundTrips:
    @given(graphs())
    def test_a_graph_comes_back_as_it_was(
        self, tmp_path_factory: pytest.TempPathFactory, graph: mf.Graph
    ) -> None:
        path = written(graph, tmp_path_factory.getbasetemp() / "drawn.mfg")
        again = mf.read_graph(path)
        assert identical(graph, again)
        mf.verify_graph(path)
        first = path.read_bytes()
        assert written(again, path).read_bytes() == first

    @pytest.mark.parametrize("directed", [False, True])
    def test_a_search_finds_the_same(self, tmp_path: Path, directed: bool) -> None:
        graph = full_graph(directed)
        again = mf.read_graph(written(graph, tmp_path / "g.mfg"))
        assert (again.forward is again.reverse) is not directed
        for pattern in (
            TRIANGLES,
            mf.Pattern.from_edges([(0, 1), (1, 2)], edge_labels=["wire", "cash"]),
            mf.Pattern.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)]),
        ):
            for semantics in ("isomorphism", "induced", "homomorphism"):
                found = mf.count(again, pattern, semantics=semantics)
                assert found == mf.count(graph, pattern, semantics=semantics)
        rows = [mf.match(one, TRIANGLES).to_numpy().tolist() for one in (graph, again)]
        assert sorted(rows[0]) == sorted(rows[1])
        rich = Comparison("amount", Operator.GREATER, 0.5)
        key = AdjacencyKey(Direction.EITHER, None, None, None, edge_where=rich)
        for one, two in zip(graph.adjacency(key), again.adjacency(key), strict=True):
            assert np.array_equal(one, two)

    def test_the_file_is_refused_or_read_by_its_suffix(self, tmp_path: Path) -> None:
        graph = mf.Graph.from_edges(TRIANGLE)
        assert mf.read_graph(written(graph, tmp_path / "G.MFG")).num_edges == 3
        path = tmp_path / "g.mfg.gz"
        path.write_bytes(gzip.compress((tmp_path / "G.MFG").read_bytes()))
        with pytest.raises(mf.FormatError) as caught:
            mf.read_graph(path)
        expected = (
            "found a compressed .mfg file, expected it unpacked: it is used from where it lies, not read"
        )
        assert str(caught.value) == f"{path}: {expected}"

    def test_labels_only_self_loops_had_are_kept(self, tmp_path: Path) -> None:
        graph = mf.Graph.from_edges([(0, 0), (1, 1)], edge_labels=[4, 5], self_loops="drop")
        again = mf.read_graph(written(graph, tmp_path / "g.mfg"))
        assert again.edge_label_table.values == (4, 5)
        assert again.self_loops_dropped == 2

    def test_what_planning_needs_is_not_computed_again(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        graph = full_graph()
        path = written(graph, tmp_path / "g.mfg")
        monkeypatch.setattr(mf.Graph, "_count_labels", lambda _: pytest.fail("counted"))
        monkeypatch.setattr("motiflux.graph.graph.describe", lambda *_: pytest.fail("described"))
        again = mf.read_graph(path)
        assert again.shape_stats() == graph.shape_stats()
        codes = (0,), (1,), (0,)
        assert again.label_frequencies().arcs(*codes) == graph.label_frequencies().arcs(*codes) > 0
        assert again.label_frequencies().vertices(None) == graph.num_vertices

    def test_very_many_label_triples_are_counted_when_they_are_needed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("motiflux.io.binary.mfg._MOST_TRIPLES", 1)
        graph = full_graph()
        again = mf.read_graph(written(graph, tmp_path / "g.mfg"))
        assert again.label_frequencies().arcs(None, (0,), None) == graph.label_frequencies().arcs(
            None, (0,), None
        )


class TestOpening:
    def test_nothing_is_looked_at_before_it_is_needed(self, tmp_path: Path) -> None:
        graph = mf.read_graph(written(full_graph(), tmp_path / "g.mfg"))
        assert graph.num_vertices == 30
        assert graph.num_edges > 0
        repr(graph), graph.nbytes, graph.shape_stats(), graph.label_frequencies(), graph.num_edge_copies
        assert graph.edge_attributes.kinds().keys() == {"amount", "kind", "many"}
        assert not is_fetched(graph)
        assert graph.forward.offsets[0] == 0
        assert is_fetched(graph)

    def test_the_check_begins_while_a_device_is_opened(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = written(mf.Graph.from_edges(TRIANGLE), tmp_path / "g.mfg")
        begun, checks, describe = threading.Event(), [], _native.describe_fault

        def slowly(*rows: object) -> str:
            checks.append(threading.current_thread())
            begun.set()
            return describe(*rows)

        def opened(*_: object) -> None:
            assert begun.wait(60), "no check while the device is opened"
            raise mf.DeviceError("no such device")

        monkeypatch.setattr(mfg, "_LONG_CHECK", 0)
        monkeypatch.setattr(mfg._native, "describe_fault", slowly)
        monkeypatch.setattr(choose, "open_engine", opened)
        for call in (mf.count, mf.match):
            graph = mf.read_graph(path)
            with pytest.raises(mf.DeviceError, match="no such device"):
                call(graph, TRIANGLES, device="cuda")
            assert graph.forward.neighbors.tolist() == [1, 2, 0, 2, 0, 1]
            assert (len(checks), checks[0] is threading.main_thread()) == (1, False)
            checks.clear()
            begun.clear()

    def test_an_access_waits_for_the_check_that_was_begun_and_raises_its_error(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = written(mf.Graph.from_edges(TRIANGLE), tmp_path / "g.mfg")
        begun, go_on = threading.Event(), threading.Event()

        def wrong(*_: object) -> str:
            begun.set()
            assert go_on.wait(60)
            return "neighbors: found damage"

        monkeypatch.setattr(mfg, "_LONG_CHECK", 0)
        monkeypatch.setattr(mfg._native, "describe_fault", wrong)
        graph = mf.read_graph(path)
        graph.forward.begin()
        assert begun.wait(60)
        later = threading.Timer(0.05, go_on.set)
        later.start()
        for _ in range(2):
            with pytest.raises(mf.FormatError, match="found damage"):
                _ = graph.forward.neighbors
        later.join()

    def test_arrays_are_read_only(self, tmp_path: Path) -> None:
        graph = mf.read_graph(written(full_graph(), tmp_path / "g.mfg"))
        for array in (*graph.forward.arrays(), *graph.reverse.arrays(), graph.vertex_ids):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = array[1]

    def test_a_graph_outlives_its_file(self, tmp_path: Path) -> None:
        graph = full_graph()
        again = mf.read_graph(written(graph, tmp_path / "g.mfg"))
        written(mf.Graph.from_edges(TRIANGLE), tmp_path / "g.mfg")
        assert mf.read_graph(tmp_path / "g.mfg").num_edges == 3
        (tmp_path / "g.mfg").unlink()
        assert identical(graph, again)

    def test_it_is_pickled_whole(self, tmp_path: Path) -> None:
        graph = full_graph()
        opened = mf.read_graph(written(graph, tmp_path / "g.mfg"))
        again = pickle.loads(pickle.dumps(opened))
        (tmp_path / "g.mfg").unlink()
        assert identical(graph, again)
        assert mf.count(again, TRIANGLES) == mf.count(graph, TRIANGLES)

    def test_threads_may_share_it_from_the_first_look_on(self, tmp_path: Path) -> None:
        graph = full_graph()
        expected = mf.count(graph, TRIANGLES)
        opened = mf.read_graph(written(graph, tmp_path / "g.mfg"))
        found: list[int] = []
        threads = [
            threading.Thread(target=lambda: found.append(mf.count(opened, TRIANGLES, threads=1)))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [expected] * 8

    @pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
    def test_a_forked_process_may_look_first(self, tmp_path: Path) -> None:
        graph = full_graph()
        opened = mf.read_graph(written(graph, tmp_path / "g.mfg"))
        child = os.fork()
        if child == 0:
            os._exit(0 if mf.count(opened, TRIANGLES) == mf.count(graph, TRIANGLES) else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert mf.count(opened, TRIANGLES) == mf.count(graph, TRIANGLES)

    def test_after_forgetting_all_is_found_again(self, tmp_path: Path) -> None:
        graph = full_graph()
        opened = mf.read_graph(written(graph, tmp_path / "g.mfg"))
        opened.forget()
        assert opened.shape_stats() == graph.shape_stats()


class TestDirection:
    def test_a_directed_file_read_as_undirected_merges_arcs(self, tmp_path: Path) -> None:
        graph = mf.Graph.from_edges(
            [("a", "b"), ("b", "a"), ("b", "c"), ("a", "b")],
            directed=True,
            vertex_labels=None,
            edge_labels=["x", "x", "y", "x"],
            edge_attributes={"amount": [1, 2, 3, 4]},
            vertex_ids=["a", "b", "c", "d"],
            vertex_attributes={"age": [1, None, 3, 4]},
        )
        merged = mf.read_graph(written(graph, tmp_path / "g.mfg"), directed=False)
        assert not merged.directed
        assert edge_counts(merged) == {("a", "b", "x"): 3, ("b", "c", "y"): 1}
        assert sorted(merged.edge_attributes["amount"].to_numpy().tolist()) == [1, 2, 3, 4]
        ages = merged.vertex_attributes["age"].to_numpy().tolist()
        assert dict(zip(merged.vertex_ids.tolist(), ages, strict=True)) == {"a": 1, "b": None, "c": 3, "d": 4}

    @given(graphs())
    def test_it_is_what_the_same_edges_make(
        self, tmp_path_factory: pytest.TempPathFactory, graph: mf.Graph
    ) -> None:
        path = written(graph, tmp_path_factory.getbasetemp() / "merged.mfg")
        merged = mf.read_graph(path, directed=False)
        folded: dict[object, int] = {}
        for (u, v, label), many in edge_counts(graph).items():
            ends = (*sorted((u, v)), label)
            folded[ends] = folded.get(ends, 0) + many
        assert edge_counts(merged) == folded
        assert merged.vertex_labels_by_id() == graph.vertex_labels_by_id()
        assert merged.self_loops_dropped == graph.self_loops_dropped

    def test_an_undirected_file_does_not_say_which_way_edges_go(self, tmp_path: Path) -> None:
        path = written(mf.Graph.from_edges(TRIANGLE), tmp_path / "g.mfg")
        assert mf.read_graph(path, directed=False).num_edges == 3
        with pytest.raises(mf.FormatError, match="which does not say which way its edges go"):
            mf.read_graph(path, directed=True)


class TestCommands:
    def test_convert_writes_what_info_reads(self, tmp_path: Path) -> None:
        source, output = tmp_path / "g.npz", tmp_path / "g.mfg"
        np.savez(source, edges=TRIANGLE, directed=True, timestamps=[1, 2, 3])
        fields = only_json(motiflux("convert", source, output, "--json"))
        assert (fields["vertices"], fields["edges"], fields["directed"]) == (3, 3, True)
        assert fields["bytes"] == output.stat().st_size
        info = only_json(motiflux("info", output, "--verify", "--json"))
        assert (info["edges"], info["verified"], info["edge_attributes"]) == (3, True, {"time": "integers"})
        text = motiflux("convert", output, tmp_path / "u.mfg", "--undirected")
        assert text.exit_code == 0
        assert "Graph(3 vertices, 3 edges, undirected)" in text.stdout

    def test_convert_refuses_an_output_before_it_reads(self, tmp_path: Path) -> None:
        refused = motiflux("convert", tmp_path / "absent.npz", tmp_path / "g.xyz")
        assert refused.exit_code == 2
        expected = f"error: {tmp_path / 'g.xyz'}: found suffix '.xyz', expected .mfg, "
        assert refused.stderr.startswith(expected)

    def test_verify_names_what_is_damaged(self, tmp_path: Path) -> None:
        path = written(mf.Graph.from_edges(TRIANGLE), tmp_path / "g.mfg")
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        damaged = motiflux("info", path, "--verify")
        assert damaged.exit_code == 2
        assert "section forward.neighbors: found another checksum" in damaged.stderr
        assert motiflux("info", "--verify").stderr == "error: --verify needs a GRAPH\n"

    def test_only_mfg_files_have_checksums(self, tmp_path: Path) -> None:
        (tmp_path / "g.txt").write_text("1 2\n")
        refused = motiflux("info", tmp_path / "g.txt", "--verify")
        assert refused.exit_code == 2
        assert "found suffix '.txt', expected .mfg: others hold no checksums" in refused.stderr
