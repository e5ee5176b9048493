"""Data sets of several patterns; tasks run in this process (`tests.inline_ray`)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import motiflux as mf
from motiflux.cluster import jobs
from motiflux.cluster import rows as cluster_rows
from motiflux.cluster.shards import search, sharded
from tests.inline_ray import InlineRay, replace_ray
from tests.unit.test_sharded_calls import PATTERNS, made_in, rows_in, rows_of


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> InlineRay:
    monkeypatch.setattr(search, "_FIRST", 16)
    monkeypatch.setattr(sharded, "_HOT", 200)
    monkeypatch.setattr(os, "fsync", lambda file: None)
    monkeypatch.setattr(jobs, "_MANIFEST_SECONDS", 0.0)
    for module in (jobs, cluster_rows):
        monkeypatch.setattr(module, "ROWS_OF_TASK", 200)
        monkeypatch.setattr(module, "FIRST_WORK", 1_000)
        monkeypatch.setattr(module, "MOST_WORK", 1_000)
    return replace_ray(monkeypatch, nodes=2)


def subject_of(cluster: mf.Cluster, folder: Path, seed: int, *, shards: bool) -> tuple[Any, mf.Graph]:
    made, graph = made_in(cluster, folder, seed)
    return made if shards else graph, graph


@pytest.mark.turns(2)
@pytest.mark.parametrize("shards", [False, True])
def test_each_pattern_has_a_data_set_of_its_own(ray: InlineRay, tmp_path: Path, shards: bool) -> None:
    patterns = [PATTERNS[0], "(a:z)--(b)", *PATTERNS[2:]]
    with mf.Cluster() as cluster:
        subject, graph = subject_of(cluster, tmp_path, 1, shards=shards)
        ray.loses = 0.05
        output = tmp_path / "rows"
        reports: list[mf.ProgressReport] = []
        written = cluster.match(subject, patterns, output=output, names=True, progress=reports.append)
        for at, (pattern, one) in enumerate(zip(patterns, written, strict=True)):
            expected = rows_of(graph, pattern)
            assert one.path == str(output / f"pattern-{at:03}")
            assert rows_in(Path(one.path)) == expected
            assert (one.rows, one.complete, one.files > 0) == (expected.total(), True, True)
        assert len(reports[-1].each) == len(patterns)
        assert reports[-1].found == sum(one.rows for one in written)
        few = cluster.match(subject, PATTERNS[:2], output=tmp_path / "few", limit=7)
        assert [(one.rows, one.complete) for one in few] == [(7, False)] * 2
        (alone,) = cluster.match(subject, PATTERNS[:1], output=tmp_path / "alone")
        assert rows_in(tmp_path / "alone" / "pattern-000").total() == alone.rows
        assert cluster.match(subject, [], output=tmp_path / "none") == []
        cluster.match(subject, PATTERNS[0], output=tmp_path / "one")
        with pytest.raises(mf.OutputError, match="expected a folder for data sets of several patterns"):
            cluster.match(subject, PATTERNS, output=tmp_path / "one")
        with pytest.raises(mf.OutputError, match="expected a folder for one data set"):
            cluster.match(subject, PATTERNS[0], output=output)
        with pytest.raises(mf.ArgumentError, match="batch_rows"):
            cluster.match(subject, PATTERNS, output=tmp_path / "other", batch_rows=7)
        options: Any = {"copies": True}
        with pytest.raises(mf.ArgumentError, match="copies: expected no such option"):
            cluster.match(subject, patterns, output=tmp_path / "other", **options)
        with pytest.raises(mf.OutputError, match="expected an empty folder"):
            cluster.match(subject, patterns, output=output, names=True)


@pytest.mark.parametrize("shards", [False, True])
def test_a_refused_folder_leaves_the_others_as_they_were(
    ray: InlineRay, tmp_path: Path, shards: bool
) -> None:
    output = tmp_path / "rows"
    (output / "pattern-001").mkdir(parents=True)
    other = output / "pattern-001" / "notes.txt"
    other.write_text("mine")
    with mf.Cluster() as cluster:
        subject, graph = subject_of(cluster, tmp_path, 1, shards=shards)
        with pytest.raises(mf.OutputError, match="pattern-001: expected an empty folder"):
            cluster.match(subject, PATTERNS[:2], output=output)
        assert [one for one in output.rglob("*") if one.is_file()] == [other]
        other.unlink()
        written = cluster.match(subject, PATTERNS[:2], output=output)
        assert [one.rows for one in written] == [rows_of(graph, one).total() for one in PATTERNS[:2]]


@pytest.mark.turns(2)
@pytest.mark.parametrize("shards", [False, True])
def test_a_job_of_several_patterns_continues_where_its_driver_was_lost(
    ray: InlineRay, tmp_path: Path, shards: bool
) -> None:
    patterns, output = [PATTERNS[1], PATTERNS[0], PATTERNS[4]], tmp_path / "rows"
    ran = 0

    def lose_driver() -> None:
        nonlocal ran
        ran += 1
        if ran % 6 == 0:
            raise SystemExit

    with mf.Cluster() as cluster:
        subject, graph = subject_of(cluster, tmp_path, 3, shards=shards)
        ray.before = lose_driver
        for lost in range(200):
            try:
                written = cluster.match(subject, patterns, output=output, job="mine")
                break
            except SystemExit:
                assert lost < 199
        ray.before = None
        assert lost > 0
        assert sum(one.resumed for one in written) > 0
        for pattern, one in zip(patterns, written, strict=True):
            assert rows_in(Path(one.path)) == rows_of(graph, pattern)
            assert one.complete
        with pytest.raises(mf.OutputError, match=r"others: .*pattern"):
            cluster.match(subject, patterns[1:], output=output, job="mine")
