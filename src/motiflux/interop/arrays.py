"""Arrays of other libraries, in host memory or on a device, as NumPy's."""

from __future__ import annotations

import sys
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from motiflux.errors import GraphError

_ON_HOST = (1, 3, 11)  # kDLCPU, kDLCUDAHost, kDLROCMHost
_CUDA = (2, 13)  # kDLCUDA, kDLCUDAManaged


def is_masked(values: object) -> TypeGuard[np.ma.MaskedArray[Any, Any]]:
    """Tell whether values are a masked array of NumPy, without importing libraries: that takes long."""
    return "numpy.ma" in sys.modules and isinstance(values, np.ma.MaskedArray)


def is_array(values: object) -> bool:
    """Tell whether an object is an array of some library."""
    named = ("__array__", "__dlpack__", "__cuda_array_interface__", "__array_interface__")
    return isinstance(values, np.ndarray) or any(hasattr(values, name) for name in named)


def as_host_array(values: Any, what: str) -> NDArray[Any]:
    """Return an array of any library as NumPy's, without a copy where it lies in host memory.

    Raises
    ------
    GraphError
        It cannot be brought here.
    DeviceError
        It lies on a GPU, and there is none here that motiflux can open.
    """
    if isinstance(values, np.ndarray):
        return values
    if hasattr(values, "__cuda_array_interface__"):
        return _from_cuda(values)
    if hasattr(values, "detach"):  # PyTorch does not export tensors that require gradients
        values = values.detach()
    if hasattr(values, "__dlpack__") and hasattr(values, "__dlpack_device__"):
        kind = int(values.__dlpack_device__()[0])
        if kind in _CUDA:
            return _from_cuda(values)
        if kind not in _ON_HOST:
            raise GraphError(f"{what}: expected an array in host memory or on CUDA, found device {kind}")
        try:
            return np.from_dlpack(values)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            if not hasattr(values, "__array__"):
                raise GraphError(f"{what}: the array cannot be taken: {error}") from error
    try:
        return np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise GraphError(f"{what}: the array cannot be taken: {error}") from error


def _from_cuda(values: Any) -> NDArray[Any]:
    from motiflux.device import open_device
    from motiflux.device.arrays import from_any

    return from_any(values, open_device("cuda")).to_numpy()
