"""The key of a compiled unit: a digest of all inputs of the compilation.

An input that would not be digested (a header in another folder, the date) raises an error: else the cache
could return outdated images.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from motiflux.errors import InternalError
from motiflux.jit.base import Source

SCHEMA = 1
"""Increase it when the meaning of a key, or of the files under keys, changes."""

_NAME = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_OUTSIDE = re.compile(
    r"__(?:DATE|TIME|TIMESTAMP)__"  # differs between compilations
    r"|^[ \t]*#[ \t]*include[ \t]*[<\"](?:/|[^>\"\n]*\.\.)",  # reads outside the digested folders
    re.MULTILINE,
)
_OUTSIDE_OPTIONS = ("-I", "-i", "--include", "--pre-include", "-L", "-l", "-B", "-fplugin", "-specs", "@")

# The digest of each header, with the inode, size and time of the file when it was read. Entries are only
# replaced as a whole, so that threads need no lock.
_header_digests: dict[Path, tuple[tuple[int, int, int], bytes]] = {}


def source_key(identity: Mapping[str, str], headers: str, source: Source) -> str:
    """Return the key of `source` under a toolchain and headers.

    Parameters
    ----------
    identity
        The result of `Toolchain.identity`.
    headers
        The result of `headers_digest`.
    source
        The unit. The key does not depend on its description, but on its name, which is in the image's line
        table.

    Returns
    -------
    str
        64 hexadecimal digits.

    Raises
    ------
    InternalError
        An input of the compilation is not digested.
    """
    _refuse_outside(source)
    digest = hashlib.sha256()
    _add(digest, f"motiflux kernel {SCHEMA}", headers, str(len(identity)))
    for name, value in sorted(identity.items()):
        _add(digest, name, value)
    _add(digest, str(len(source.options)), *source.options, source.name, source.text)
    return digest.hexdigest()


def headers_digest(include: tuple[Path, ...]) -> str:
    """Return the digest of every file under the folders: its contents, and its path within its folder.

    The digest depends on the order of the folders, but not on their paths, though an image's line table has
    these. Contents are read again only if a file's size, time or inode has changed.

    Raises
    ------
    InternalError
        A folder is missing, empty, not readable, or contains a symbolic link to a folder.
    """
    digest = hashlib.sha256()
    for folder in include:
        try:
            files = sorted(_files(folder.resolve(strict=True), ""))
            _add(digest, str(len(files)))
            for name, path in files:
                _add(digest, name)
                digest.update(_file_digest(path))
        except OSError as error:
            raise InternalError(
                f"{error.filename or folder}: headers cannot be read: {error.strerror}"
            ) from error
        if not files:
            raise InternalError(f"{folder}: expected headers, found none; install motiflux anew")
    return digest.hexdigest()


def _refuse_outside(source: Source) -> None:
    if not _NAME.fullmatch(source.name):
        raise InternalError(f"unit {source.name!r}: expected a name of letters, digits, - and _")
    if found := _OUTSIDE.search(source.text):
        raise InternalError(f"unit {source.name}: {found[0].strip()!r} brings in what its key does not cover")
    for option in source.options:
        if option.startswith(_OUTSIDE_OPTIONS):
            raise InternalError(
                f"unit {source.name}: option {option!r} brings in what its key does not cover"
            )


def _files(folder: Path, prefix: str) -> Iterator[tuple[str, Path]]:
    """Yield the name of every file, relative to the top folder, and its path."""
    with os.scandir(folder) as entries:
        for entry in entries:
            name = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                yield from _files(Path(entry.path), name + "/")
            elif entry.is_file():
                yield name, Path(entry.path)
            else:
                raise InternalError(f"{entry.path}: expected a header or a folder of headers")


def _file_digest(path: Path) -> bytes:
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        signature = (status.st_ino, status.st_size, status.st_mtime_ns)
        known = _header_digests.get(path)
        if known is not None and known[0] == signature:
            return known[1]
        digest = hashlib.sha256(file.read()).digest()
    _header_digests[path] = (signature, digest)
    return digest


def _add(digest: hashlib._Hash, *texts: str) -> None:
    """Digest texts with their lengths, so that moving a character from one to the next changes the digest."""
    for text in texts:
        try:
            data = text.encode()
        except UnicodeEncodeError as error:
            raise InternalError(f"text to compile is not Unicode: {error}") from error
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
