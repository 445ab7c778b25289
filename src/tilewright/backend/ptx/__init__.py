"""SIMT kernels for GPUs: scalar code for one thread, through LLVM, to PTX."""

from __future__ import annotations

from .code import Libdevice, PtxTarget, compile_ptx, find_libdevice
from .module import Written, write_ptx
from .module import artifact as ptx_artifact
from .module import codec_for as ptx_codec_for

__all__ = [
    "Libdevice",
    "PtxTarget",
    "Written",
    "compile_ptx",
    "find_libdevice",
    "ptx_artifact",
    "ptx_codec_for",
    "write_ptx",
]  # fmt: skip
