"""Compiled units that come with the package: one archive for each architecture.

`make wheels` writes the archives (``scripts/build-kernels.py``). An installation from source has none.
"""

from __future__ import annotations

import re
import threading
import warnings
import zipfile
import zlib
from collections.abc import Iterable
from lzma import LZMAError
from pathlib import Path

from motiflux.errors import MotifluxWarning
from motiflux.jit.base import Source
from motiflux.jit.key import source_key

FOLDER = Path(__file__).resolve().parents[1] / "cubins"
"""The folder of the archives."""

_NAME = re.compile(r"(?P<family>sm_\d*)(?P<minor>\d)", re.ASCII)
_DAMAGED = (OSError, zipfile.BadZipFile, LZMAError, zlib.error, EOFError, NotImplementedError)


class PrebuiltKernels:
    """The archive of one architecture.

    Safe to use from several threads. A damaged archive gives one warning, and no kernels.

    Parameters
    ----------
    archive
        The file; None: there is none.
    """

    def __init__(self, archive: Path | None) -> None:
        self.archive = archive
        self._lock = threading.Lock()
        self._file: zipfile.ZipFile | None = None

    @classmethod
    def for_architecture(cls, arch: str, folder: Path = FOLDER) -> PrebuiltKernels:
        """Return the archive for a device.

        It is that of the device's architecture, or of an older one with the same major version, whose code
        the device runs too: an ``sm_89`` runs code for ``sm_80``.
        """
        found = _NAME.fullmatch(arch)
        if found is None:
            return cls(None)
        for minor in range(int(found["minor"]), -1, -1):
            archive = folder / f"{found['family']}{minor}.zip"
            if archive.is_file():
                return cls(archive)
        return cls(None)

    def get(self, source: Source, headers: str) -> bytes | None:
        """Return the image of `source`; None if there is none of this text with these headers.

        Parameters
        ----------
        headers
            The result of `headers_digest`.
        """
        with self._lock:
            if self.archive is None:
                return None
            try:
                if self._file is None:
                    self._file = zipfile.ZipFile(self.archive)
                return self._file.read(entry_name(source, headers))
            except KeyError:
                return None
            except _DAMAGED as error:
                warnings.warn(
                    f"{self.archive}: expected an archive of kernels, found it damaged ({error}): they are "
                    "compiled here, which takes longer; install motiflux anew",
                    MotifluxWarning,
                    stacklevel=2,
                )
                self.archive = None
                return None

    def __len__(self) -> int:
        """Return how many units there are."""
        with self._lock:
            try:
                if self.archive is None:
                    return 0
                with zipfile.ZipFile(self.archive) as file:
                    return len(file.namelist())
            except _DAMAGED:
                return 0

    def start_anew(self) -> None:
        """Open the archive again when it is needed: the child of a fork shares the position in the file."""
        self._lock = threading.Lock()
        self._file = None


def has_archives() -> bool:
    """Whether compiled kernels came with the package, for some architecture."""
    return any(FOLDER.glob("*.zip"))


def entry_name(source: Source, headers: str) -> str:
    """Return the name of a unit in an archive: a digest of its text, options and headers."""
    return f"{source_key({}, headers, source)}.cubin"


def write_archive(path: Path, images: Iterable[tuple[Source, bytes]], headers: str) -> None:
    """Write the archive of one architecture. Equal images give equal bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as file:
        for source, image in images:
            entry = zipfile.ZipInfo(entry_name(source, headers))  # of 1980: no time in it
            entry.compress_type = zipfile.ZIP_LZMA
            entry.external_attr = 0o644 << 16
            file.writestr(entry, image)
