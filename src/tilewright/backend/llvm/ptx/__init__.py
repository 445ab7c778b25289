"""SIMT kernels for GPUs: scalar code for one thread, through LLVM, to PTX."""

from __future__ import annotations

from .code import PtxTarget, compile_ptx
from .keeping import artifact as ptx_artifact
from .keeping import keeping_for as keeping_ptx
from .libdevice import Libdevice, find_libdevice
from .module import Written, write_ptx

__all__ = [
    "Libdevice", "PtxTarget", "Written", "compile_ptx", "find_libdevice", "keeping_ptx",
    "ptx_artifact", "write_ptx",
]  # fmt: skip
