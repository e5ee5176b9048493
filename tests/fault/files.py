"""Bad files: how they are made, and what is said of them."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motiflux as mf

EDGES = np.array([[0, 1], [1, 2]])


def complaint(path: Path, content: bytes, *, pattern: bool = False) -> str:
    """Write the file, fail to read it, and give what the error says after the file's name."""
    path.write_bytes(content)
    return refusal(path, pattern=pattern)


def refusal(path: Path, *, pattern: bool = False) -> str:
    with pytest.raises(mf.FormatError) as caught:
        mf.read_pattern(path) if pattern else mf.read_graph(path)
    text = str(caught.value)
    assert caught.value.path == str(path)
    assert text.startswith(str(path))
    if caught.value.line is not None:
        assert text.startswith(f"{path}, line {caught.value.line}: ")
    return text.removeprefix(str(path)).removeprefix(", ").removeprefix(": ")


def npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.asarray(array))
    return buffer.getvalue()


def archive(compression: int = zipfile.ZIP_STORED, **members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as file:
        for key, content in members.items():
            file.writestr(f"{key}.npy", content)
    return buffer.getvalue()


def savez(**arrays: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()
