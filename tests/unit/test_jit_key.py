"""A key changes with all that decides what is compiled, and with nothing else."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from motiflux.errors import InternalError
from motiflux.jit import HEADERS, Source
from motiflux.jit.key import headers_digest, source_key

IDENTITY = {"name": "nvrtc", "version": "13.4", "arch": "sm_90", "options": "-lineinfo"}
SOURCE = Source("unit", "int value;\n", ("-DA=1", "-DB=2"), "a triangle")
HEADERS_DIGEST = "00" * 32


def key(source: Source = SOURCE, headers: str = HEADERS_DIGEST, **identity: str) -> str:
    return source_key(IDENTITY | identity, headers, source)


@pytest.fixture
def include(tmp_path: Path) -> Path:
    folder = tmp_path / "include"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.hpp").write_text("int a;")
    (folder / "sub" / "b.hpp").write_text("int b;")
    return folder


def test_a_key_is_the_same_for_the_same_unit() -> None:
    again = Source("unit", "int value;\n", ("-DA=1", "-DB=2"), "a triangle")
    assert key() == key(again)
    assert len(key()) == 64
    assert set(key()) <= set("0123456789abcdef")


def test_a_description_does_not_change_the_key() -> None:
    assert key(replace(SOURCE, description="a square")) == key()


@pytest.mark.parametrize(
    "changed",
    [
        replace(SOURCE, text="int value ;\n"),
        replace(SOURCE, text=""),
        replace(SOURCE, name="other"),
        replace(SOURCE, options=()),
        replace(SOURCE, options=("-DA=1",)),
        replace(SOURCE, options=("-DB=2", "-DA=1")),
        replace(SOURCE, options=("-DA=1-DB=2",)),
        replace(SOURCE, options=("-DA=1", "-DB=2", "")),
        replace(SOURCE, name="uni", text="tint value;\n"),
        replace(SOURCE, options=("-DA=1",), name="-DB=2unit".replace("=", "_")),
    ],
)
def test_any_change_of_the_source_changes_the_key(changed: Source) -> None:
    assert key(changed) != key()


@pytest.mark.parametrize("part", sorted(IDENTITY))
def test_any_change_of_the_toolchain_changes_the_key(part: str) -> None:
    assert key(**{part: "other"}) != key()


def test_one_more_part_of_the_identity_changes_the_key() -> None:
    assert key(patch="1") != key()


def test_the_order_of_the_identity_does_not_matter() -> None:
    assert source_key(dict(reversed(IDENTITY.items())), HEADERS_DIGEST, SOURCE) == key()


def test_other_headers_change_the_key() -> None:
    assert key(headers="11" * 32) != key()


@pytest.mark.parametrize(
    "text",
    [
        '#include "/usr/include/stdio.h"',
        '  #  include "../elsewhere.hpp"',
        "#include <motiflux/../../elsewhere.hpp>",
        "const char* built = __DATE__ __TIME__;",
        "const char* built = __TIMESTAMP__;",
        "int \ud800;",
    ],
)
def test_text_that_depends_on_more_than_the_key_covers_is_refused(text: str) -> None:
    with pytest.raises(InternalError, match=r"key|Unicode"):
        key(Source("unit", "int first;\n" + text))


@pytest.mark.parametrize("option", ["-I/usr/include", "--include-path=.", "-include", "-isystem", "@options"])
def test_options_that_bring_in_files_are_refused(option: str) -> None:
    with pytest.raises(InternalError, match="key"):
        key(replace(SOURCE, options=(option,)))


@pytest.mark.parametrize("name", ["", "a/b", "a b", "../a", "a.b", "é"])
def test_names_that_are_no_file_names_are_refused(name: str) -> None:
    with pytest.raises(InternalError, match="letters, digits"):
        key(replace(SOURCE, name=name))


def test_ordinary_includes_are_accepted() -> None:
    assert key(Source("unit", '#include "motiflux/view/plan.hpp"\n// see docs/..\n'))


def test_a_changed_header_changes_the_digest_even_if_size_and_name_stay(include: Path) -> None:
    before = headers_digest((include,))
    header = include / "sub" / "b.hpp"
    header.write_text("int c;")
    os.utime(header, ns=(1, 1))  # older than what was there
    assert headers_digest((include,)) != before
    header.write_text("int b;")
    assert headers_digest((include,)) == before


def test_a_new_a_moved_and_a_missing_header_change_the_digest(include: Path) -> None:
    digests = [headers_digest((include,))]
    (include / "c.hpp").write_text("")
    digests.append(headers_digest((include,)))
    (include / "c.hpp").rename(include / "sub" / "c.hpp")
    digests.append(headers_digest((include,)))
    (include / "a.hpp").unlink()
    digests.append(headers_digest((include,)))
    assert len(set(digests)) == 4


def test_where_the_headers_lie_does_not_matter(include: Path) -> None:
    before = headers_digest((include,))
    assert headers_digest((include.rename(include.with_name("moved")),)) == before


def test_the_order_of_the_folders_matters(include: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.hpp").write_text("int other;")
    assert headers_digest((include, other)) != headers_digest((other, include))


def test_missing_empty_and_linked_folders_are_refused(include: Path, tmp_path: Path) -> None:
    with pytest.raises(InternalError, match="nowhere"):
        headers_digest((tmp_path / "nowhere",))
    (tmp_path / "empty").mkdir()
    with pytest.raises(InternalError, match="found none"):
        headers_digest((tmp_path / "empty",))
    (include / "link").symlink_to(tmp_path / "empty", target_is_directory=True)
    with pytest.raises(InternalError, match="link"):
        headers_digest((include,))


def test_the_shipped_headers_are_found() -> None:
    assert (HEADERS / "motiflux" / "platform.hpp").is_file()
    assert headers_digest((HEADERS,))
