"""SIMT kernels for GPUs: scalar code for one thread, through LLVM, to PTX."""

from __future__ import annotations

from .artifact_codec import artifact as ptx_artifact
from .artifact_codec import codec_for as ptx_codec_for
from .code import PtxTarget, compile_ptx
from .libdevice import Libdevice, find_libdevice
from .module import Written, write_ptx

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
