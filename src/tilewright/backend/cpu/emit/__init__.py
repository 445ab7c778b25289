"""Code generation: plan to LLVM text. One file per op family, each with a table of emitters."""

from __future__ import annotations

from .kernel import TABLE, emit_module

__all__ = ["TABLE", "emit_module"]
