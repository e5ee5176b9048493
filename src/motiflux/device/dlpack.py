"""DLPack's structures, and the capsules that contain them (https://dmlc.github.io/dlpack)."""

from __future__ import annotations

import ctypes
import itertools
import weakref
from typing import Any, NamedTuple

import numpy as np

from motiflux.errors import ArgumentError

CPU = 1
CUDA = 2

_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_KINDS = {code: kind for kind, code in _CODES.items()}


class DLDevice(ctypes.Structure):
    """Type and number of a device."""

    _fields_ = [("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32)]


class DLDataType(ctypes.Structure):
    """Type of an element."""

    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class DLTensor(ctypes.Structure):
    """An array; `strides` are in elements, and null if the array is contiguous."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", DLDevice),
        ("ndim", ctypes.c_int32),
        ("dtype", DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class DLManagedTensor(ctypes.Structure):
    """An array and the function that releases it."""


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

DLManagedTensor._fields_ = [
    ("dl_tensor", DLTensor),
    ("manager_ctx", ctypes.c_void_p),
    ("deleter", _Deleter),
]

_NAME = b"dltensor"
_USED = b"used_dltensor"
_CapsuleDestructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

_python = ctypes.PyDLL(None)
_new = _python.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, _CapsuleDestructor)
_is_valid = _python.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_char_p)
_get = _python.PyCapsule_GetPointer
_get.restype, _get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
_rename = _python.PyCapsule_SetName
_rename.restype, _rename.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_char_p)
# The same functions for a capsule that is being destroyed: ctypes must not take a reference to it.
_is_valid_raw = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", _python)
)
_get_raw = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", _python)
)


class Tensor(NamedTuple):
    """The content of a capsule."""

    address: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    """Strides in elements; None if the array is contiguous."""
    owner: object
    """Keeps the memory alive; releases it when garbage-collected."""


class _Owner:
    """The object that an imported array holds in place of the capsule."""


_exported: dict[int, tuple[object, ...]] = {}
"""Exported objects by number: the structure, and all objects that must live as long."""
_numbers = itertools.count(1)


def export(
    address: int, dtype: np.dtype[Any], shape: tuple[int, ...], device: tuple[int, int], owner: object
) -> object:
    """Return a capsule ``dltensor`` of a contiguous array; `owner` lives until the consumer releases it."""
    sizes = (ctypes.c_int64 * len(shape))(*shape)
    managed = DLManagedTensor()
    managed.dl_tensor = DLTensor(
        address,
        DLDevice(*device),
        len(shape),
        DLDataType(_CODES[dtype.kind], 8 * dtype.itemsize, 1),
        ctypes.cast(sizes, ctypes.POINTER(ctypes.c_int64)),
        None,
        0,
    )
    number = next(_numbers)
    managed.manager_ctx = number
    managed.deleter = _delete
    _exported[number] = (managed, sizes, owner)
    return _new(ctypes.addressof(managed), _NAME, _drop_capsule)


def read(capsule: object) -> Tensor:
    """Take over a capsule ``dltensor``.

    Raises
    ------
    ArgumentError
        It is no such capsule, was taken already, or has elements of a type that NumPy lacks.
    """
    if not _is_valid(capsule, _NAME):
        raise ArgumentError("array", "a DLPack capsule that nobody has taken yet", capsule)
    pointer = _get(capsule, _NAME)
    managed = DLManagedTensor.from_address(pointer)
    tensor = managed.dl_tensor
    dtype = _numpy_dtype(tensor.dtype)
    _rename(capsule, _USED)
    owner = _Owner()
    if managed.deleter:
        weakref.finalize(owner, managed.deleter, pointer).atexit = False
    dimensions = range(tensor.ndim)
    return Tensor(
        (tensor.data or 0) + tensor.byte_offset,
        dtype,
        tuple(tensor.shape[i] for i in dimensions),
        tuple(tensor.strides[i] for i in dimensions) if tensor.strides else None,
        owner,
    )


def _numpy_dtype(found: DLDataType) -> np.dtype[Any]:
    kind = _KINDS.get(found.code)
    if kind is None or found.lanes != 1 or found.bits % 8:
        raise ArgumentError(
            "array",
            "elements of a type that NumPy has",
            f"DLPack type {found.code} of {found.bits} bits x {found.lanes}",
        )
    return np.dtype(f"{kind}{found.bits // 8}")


def _let_go(pointer: int) -> None:
    """Release an exported object that the consumer does not need any more."""
    _exported.pop(DLManagedTensor.from_address(pointer).manager_ctx, None)


def _drop(capsule: int) -> None:
    """Release the object of a capsule that was not consumed."""
    if _is_valid_raw(capsule, _NAME):
        _let_go(_get_raw(capsule, _NAME))


_delete = _Deleter(_let_go)
_drop_capsule = _CapsuleDestructor(_drop)
for _callback in (_delete, _drop_capsule):  # consumers may call them after this module is unloaded
    _python.Py_IncRef(ctypes.py_object(_callback))
