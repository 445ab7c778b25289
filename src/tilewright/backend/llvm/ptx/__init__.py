"""SIMT kernels for GPUs: scalar code for one thread, through LLVM, to PTX."""

from __future__ import annotations

from .code import PtxTarget, compile_ptx
from .module import emit_ptx

__all__ = ["PtxTarget", "compile_ptx", "emit_ptx"]
