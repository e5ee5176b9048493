"""Compiling at run time: text and options in, binary images out.

A `Compiler` turns a `Source` into `Code` with a `Toolchain`: `NvrtcToolchain` for GPUs. It compiles each unit
once, in the background if the caller has to stay interruptible, and keeps images in memory and in a
`KernelCache` on disk, under keys that cover all inputs of the compilation. This package does not depend on
graphs or plans.
"""

from typing import TYPE_CHECKING

from motiflux.lazy import lazy_names

if TYPE_CHECKING:
    from motiflux.jit.base import BuildError, Built, Code, Source, Toolchain
    from motiflux.jit.cache import KernelCache
    from motiflux.jit.compiler import HEADERS, Compiler
    from motiflux.jit.nvrtc import NvrtcToolchain
    from motiflux.jit.prebuilt import PrebuiltKernels

__all__ = [
    "HEADERS",
    "BuildError",
    "Built",
    "Code",
    "Compiler",
    "KernelCache",
    "NvrtcToolchain",
    "PrebuiltKernels",
    "Source",
    "Toolchain",
]

# A call that asks whether there are compiled kernels, and counts on the CPU, needs no compiler.
__getattr__ = lazy_names(
    __name__,
    {
        "motiflux.jit.base": ("BuildError", "Built", "Code", "Source", "Toolchain"),
        "motiflux.jit.cache": ("KernelCache",),
        "motiflux.jit.compiler": ("HEADERS", "Compiler"),
        "motiflux.jit.nvrtc": ("NvrtcToolchain",),
        "motiflux.jit.prebuilt": ("PrebuiltKernels",),
    },
)
