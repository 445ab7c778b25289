"""Plan to LLVM text: one file per op family, each with the table of how its ops are written."""

from __future__ import annotations

from .kernel import TABLE, emit_module

__all__ = ["TABLE", "emit_module"]
