"""Folders of data sets: on a file system that all nodes see, or in a store that pyarrow or fsspec knows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from motiflux.atomic import AtomicFile
from motiflux.errors import OutputError
from motiflux.packages import require

T = TypeVar("T")


class Folder:
    """A folder, by its path or its URI (``s3://bucket/rows``).

    Files appear whole or not at all, and replace files of the same name.

    Raises
    ------
    OutputError
        The URI is unknown to pyarrow, and fsspec is not installed or does not know it either.
    """

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self._store: Any = None
        self._root = uri
        self._made: set[str] = set()
        if "://" in uri:
            self._store, self._root = _store_of(uri)

    def write(self, name: str, data: bytes) -> None:
        """Write a file."""
        if self._store is None:
            path = Path(self._root, name)
            self._checked(lambda: path.parent.mkdir(parents=True, exist_ok=True))
            with AtomicFile(path) as file:
                file.write(data)
            return

        def write() -> None:
            parent = f"{self._root}/{name}".rpartition("/")[0]
            if parent not in self._made:
                self._store.create_dir(parent, recursive=True)
                self._made.add(parent)
            with self._store.open_output_stream(f"{self._root}/{name}") as stream:
                stream.write(data)

        self._checked(write)

    def read(self, name: str) -> bytes:
        """Return the content of a file."""

        def read() -> bytes:
            if self._store is None:
                return Path(self._root, name).read_bytes()
            with self._store.open_input_stream(f"{self._root}/{name}") as stream:
                data: bytes = stream.read()
            return data

        return self._checked(read)

    def write_json(self, name: str, content: object) -> None:
        """Write an object as JSON."""
        self.write(name, json.dumps(content).encode())

    def read_json(self, name: str) -> Any:
        """Return an object that was written as JSON."""
        return json.loads(self.read(name))

    def files(self, below: str = "") -> dict[str, int]:
        """Return the sizes of the files of the folder, or of a folder in it, by name; maybe none."""

        def local() -> dict[str, int]:
            folder = Path(self._root, below)
            if not folder.is_dir():
                return {}
            return {one.name: one.stat().st_size for one in folder.iterdir() if one.is_file()}

        def stored() -> dict[str, int]:
            selector = require("pyarrow.fs", "Folder").FileSelector(
                f"{self._root}/{below}".rstrip("/"), allow_not_found=True
            )
            found = self._store.get_file_info(selector)
            return {one.base_name: one.size for one in found if one.is_file}

        return self._checked(local if self._store is None else stored)

    def delete(self, name: str) -> None:
        """Delete a file."""

        def delete() -> None:
            if self._store is None:
                Path(self._root, name).unlink(missing_ok=True)
            else:
                self._store.delete_file(f"{self._root}/{name}")

        self._checked(delete)

    def _checked(self, act: Callable[[], T]) -> T:
        try:
            return act()
        except OSError as error:
            raise OutputError(f"{self.uri}: {error}") from error


def _store_of(uri: str) -> tuple[Any, str]:
    """Return a file system of pyarrow, and the path in it."""
    fs = require("pyarrow.fs", lambda message: OutputError(f"{uri}: {message}"))
    arrow = require("pyarrow", lambda message: OutputError(f"{uri}: {message}"))
    try:
        store, path = fs.FileSystem.from_uri(uri)
    except (arrow.ArrowInvalid, arrow.ArrowNotImplementedError):
        fsspec = require("fsspec.core", lambda message: OutputError(f"{uri}: {message}"))
        try:
            found, path = fsspec.url_to_fs(uri)
        except (ImportError, ValueError) as error:
            raise OutputError(f"{uri}: {error}") from error
        store = fs.PyFileSystem(fs.FSSpecHandler(found))
    return store, str(path).rstrip("/")
