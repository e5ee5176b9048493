"""Compiled units on disk, shared by processes.

One file per key, named after it::

    magic (8)   length of image (8)   key (32)   SHA-256 of image (32)   image

Files are written atomically. A file that is damaged later is detected when it is read, removed and built
again. When the files exceed the limit, the least recently used ones are removed first. The cache never causes
an error: without a usable folder, each process compiles its kernels, and gives one warning.
"""

# cuda.core has such a cache (FileStreamProgramCache), but without checksums, so that a damaged image reaches
# the driver; and it needs the GPU packages, unlike the emulator, whose libraries are kept here too.

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import re
import stat
import struct
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path

from motiflux.errors import ArgumentError, MotifluxWarning

DEFAULT_LIMIT = 512 * 2**20
"""Most bytes of the files of a cache, unless `MOTIFLUX_CACHE_BYTES` is set."""

_HEADER = struct.Struct("<8sQ32s32s")
_MAGIC = b"mfkern\x00\x01"
_ENTRY = re.compile(r"[0-9a-f]{64}\.kernel", re.ASCII)
_TEMPORARY = re.compile(r"\.kernel-[0-9a-f]{16}\.tmp", re.ASCII)
_STALE_SECONDS = 600.0  # writing an image takes milliseconds: the writer of an older temporary file has ended
_FAILED_KEPT = 32

# The next value is 0 once per process. Taking it is atomic, so that neither threads nor a fork need a lock.
_troubles = itertools.count()


class KernelCache:
    """A folder of compiled units.

    Parameters
    ----------
    folder
        The folder of the files, made when first needed; None: nothing is kept.
    limit
        Maximum total bytes of the files.
    """

    def __init__(self, folder: Path | None, limit: int = DEFAULT_LIMIT) -> None:
        # Absolute, as the process may change its folder later.
        self.folder = None if folder is None else folder.absolute()
        self.limit = limit

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> KernelCache:
        """Return the cache for the user's environment variables.

        `MOTIFLUX_CACHE` names the folder, or is ``off``; else it is ``motiflux/kernels`` in
        `XDG_CACHE_HOME`, or in ``~/.cache``. `MOTIFLUX_CACHE_BYTES` is the limit.

        Raises
        ------
        ArgumentError
            `MOTIFLUX_CACHE_BYTES` is not a number of bytes.
        """
        limit = environment.get("MOTIFLUX_CACHE_BYTES", "").strip() or str(DEFAULT_LIMIT)
        if not re.fullmatch(r"[0-9]+", limit, re.ASCII):
            raise ArgumentError("MOTIFLUX_CACHE_BYTES", "a number of bytes", limit)
        return cls(_folder(environment), int(limit))

    def get(self, key: str) -> bytes | None:
        """Return the image kept under `key` and mark it as used; None if there is none, or a damaged one."""
        if self.folder is None:
            return None
        path = self._path(key)
        try:
            with _open_regular(path) as file:
                image = _read(file, key)
                if image is not None:
                    _touch(file)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._warn(error)
            return None
        if image is None:
            # The file is damaged. If another process has replaced it since, the new one is lost too.
            with contextlib.suppress(OSError):
                path.unlink()
        return image

    def put(self, key: str, image: bytes) -> None:
        """Store `image` under `key`, then drop files that exceed the limit."""
        if self.folder is None or _HEADER.size + len(image) > self.limit:
            return
        header = _HEADER.pack(_MAGIC, len(image), bytes.fromhex(key), hashlib.sha256(image).digest())
        try:
            _publish(self._path(key), header + image)
            self._tidy()
        except OSError as error:
            self._warn(error)

    def save_failed(self, name: str, text: str) -> Path | None:
        """Save the source of a unit that does not compile, for inspection.

        Returns
        -------
        Path or None
            The file: in the cache's folder ``failed``, else among the system's temporary files. None if it
            could not be saved.
        """
        data = text.encode(errors="replace")
        if self.folder is not None:
            path = self.folder / "failed" / f"{name}.cu"
            with contextlib.suppress(OSError):
                _publish(path, data)
                _keep_newest(path.parent, _FAILED_KEPT)
                return path
        with contextlib.suppress(OSError):
            descriptor, temporary = tempfile.mkstemp(prefix="motiflux-", suffix=f"-{name}.cu")
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            return Path(temporary)
        return None

    def _path(self, key: str) -> Path:
        assert self.folder is not None
        return self.folder / f"{key}.kernel"

    def _tidy(self) -> None:
        """Remove files of crashed writers, and the least recently used entries beyond the limit."""
        assert self.folder is not None
        entries: list[tuple[int, int, Path]] = []
        stale = time.time() - _STALE_SECONDS
        for entry, status in _regular_files(self.folder):
            if _ENTRY.fullmatch(entry.name):
                entries.append((status.st_mtime_ns, status.st_size, Path(entry.path)))
            elif _TEMPORARY.fullmatch(entry.name) and status.st_mtime < stale:
                Path(entry.path).unlink(missing_ok=True)
        excess = sum(size for _, size, _ in entries) - self.limit
        for _, size, path in sorted(entries):
            if excess <= 0:
                break
            path.unlink(missing_ok=True)  # another process may have removed it too
            excess -= size

    def _warn(self, error: OSError) -> None:
        if next(_troubles) == 0:
            warnings.warn(
                f"compiled kernels cannot be kept in {self.folder}: {error.strerror or error}. Searches "
                "work, but each process compiles its kernels anew. Set MOTIFLUX_CACHE to a folder that can "
                "be written to, or to 'off'",
                MotifluxWarning,
                stacklevel=2,
            )


def _folder(environment: Mapping[str, str]) -> Path | None:
    chosen = environment.get("MOTIFLUX_CACHE", "").strip()
    if chosen.lower() == "off":
        return None
    try:
        if chosen:
            return Path(chosen).expanduser()
        base = Path(environment.get("XDG_CACHE_HOME", ""))
        if not base.is_absolute():  # unset, or to be ignored by the XDG specification
            base = Path.home() / ".cache"
        return base / "motiflux" / "kernels"
    except RuntimeError:  # there is no home folder
        return None


def _read(file: int, key: str) -> bytes | None:
    """Return the image in an open entry; None if the entry is damaged."""
    header = os.read(file, _HEADER.size)
    if len(header) < _HEADER.size:
        return None
    magic, length, digest_of_key, digest = _HEADER.unpack(header)
    # Sizes are compared before reading, so that a damaged length cannot ask for all of memory.
    if (
        magic != _MAGIC
        or digest_of_key != bytes.fromhex(key)
        or _HEADER.size + length != os.fstat(file).st_size
    ):
        return None
    with os.fdopen(file, "rb", closefd=False) as stream:
        image = stream.read(length)
    return image if len(image) == length and hashlib.sha256(image).digest() == digest else None


@contextlib.contextmanager
def _open_regular(path: Path) -> Iterator[int]:
    """Open a file for reading, without waiting on a pipe of that name, and closed in child processes."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise OSError(0, f"{path.name} is not a regular file")
        yield file
    finally:
        os.close(file)


def _touch(file: int) -> None:
    """Mark a file as used now, for eviction: access times are often not kept. Ignores errors."""
    now = time.time_ns()
    with contextlib.suppress(OSError):
        os.utime(file, ns=(now, now))


def _publish(path: Path, data: bytes) -> None:
    """Write a file atomically."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(f".kernel-{os.urandom(8).hex()}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            _touch(file.fileno())
        temporary.replace(path)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _keep_newest(folder: Path, count: int) -> None:
    files = sorted((status.st_mtime_ns, Path(entry.path)) for entry, status in _regular_files(folder))
    for _, path in files[:-count]:
        path.unlink(missing_ok=True)


def _regular_files(folder: Path) -> Iterator[tuple[os.DirEntry[str], os.stat_result]]:
    """Yield the files of a folder; files that vanish meanwhile are left out."""
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            if stat.S_ISREG(status.st_mode):
                yield entry, status
