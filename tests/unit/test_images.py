"""Images of rows, as the host writes them."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux import _native
from motiflux.plan import make_plan
from motiflux.result.images import ImageBlock, Images, written
from motiflux.types import VERTEX_DTYPE, VertexArray

PATTERNS = {
    "edge": [(0, 1)],
    "path": [(0, 1), (1, 2)],
    "square": [(0, 1), (1, 2), (2, 3), (3, 0)],
    "5-cycle": [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)],
    "6-clique": list(combinations(range(6), 2)),
    "path of 9": [(v, v + 1) for v in range(8)],
}


def images_of(edges: list[tuple[int, int]]) -> Images:
    graph = mf.Graph.from_edges([(0, 1), (1, 2), (2, 0)])
    return Images(make_plan(graph, mf.Pattern.from_edges(edges), counting=False, images=True))


def some_rows(rows: int, columns: int) -> VertexArray:
    return np.random.default_rng(1).integers(0, 500, (rows, columns)).astype(VERTEX_DTYPE)


def block_of(images: Images, found: VertexArray) -> ImageBlock:
    block = images.of(found)
    assert isinstance(block, ImageBlock)
    return block


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("rows", [0, 1, 3, 9, 40_000])
def test_each_row_is_followed_by_its_images(name: str, rows: int) -> None:
    images = images_of(PATTERNS[name])
    columns = images.sources.shape[1]
    found = some_rows(min(rows, 400_000 // images.of_each), columns)
    expected = found[:, images.sources].reshape(-1, columns)
    ids = np.random.default_rng(2).integers(-(10**12), 10**12, 500)
    block = block_of(images, found)
    assert len(block) == len(expected)
    for threads in (1, 2):
        assert np.array_equal(block.written(threads), expected)
        assert np.array_equal(block.numbered(ids, threads), ids[expected])
    assert np.array_equal(expected[:: images.of_each], found)


@pytest.mark.parametrize("name", PATTERNS)
def test_parts_of_a_block_are_parts_of_its_rows(name: str) -> None:
    images = images_of(PATTERNS[name])
    block = block_of(images, some_rows(7, images.sources.shape[1]))
    expected = block.written()
    ids = np.arange(500) * 7
    for first in (0, 1, images.of_each - 1, images.of_each, 3 * images.of_each + 1):
        for last in (None, 0, first, first + 1, first + images.of_each, len(block) - 1, len(block) + 5):
            part = block[first:last]
            assert np.array_equal(part.written(), expected[first:last])
            assert np.array_equal(part.numbered(ids, 1), ids[expected[first:last]])
            assert np.array_equal(part[1:3].written(), expected[first:last][1:3])


def test_rows_without_images_are_rows() -> None:
    images = images_of([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (0, 5)])
    found = some_rows(2, 6)
    assert images.of_each == 1
    assert images.of(found) is found
    assert written(found) is found


def test_a_vertex_that_is_not_there_is_refused() -> None:
    block = block_of(images_of(PATTERNS["square"]), some_rows(3, 4))
    with pytest.raises(IndexError, match="not there"):
        block.numbered(np.arange(10), 1)


@pytest.mark.parametrize(("first", "last"), [(0, 7), (2, 1), (7, 7)])
def test_images_that_rows_do_not_have_are_refused(first: int, last: int) -> None:
    found, sources = np.zeros((3, 2), VERTEX_DTYPE), np.array([[0, 1], [1, 0]], VERTEX_DTYPE)
    with pytest.raises(ValueError, match="no such images"):
        _native.gather_images(found, sources, np.arange(1), first, last, 1)


@pytest.mark.parametrize("sources", [[[0, 2]], [[0, 1, 1]], [[0]]])
def test_sources_that_rows_do_not_have_are_refused(sources: Any) -> None:
    with pytest.raises(ValueError, match="column"):
        _native.write_images(np.zeros((3, 2), VERTEX_DTYPE), np.array(sources, VERTEX_DTYPE), 1)
    with pytest.raises(ValueError, match="column"):
        _native.gather_images(
            np.zeros((3, 2), VERTEX_DTYPE), np.array(sources, VERTEX_DTYPE), np.arange(1), 0, 1, 1
        )
