"""Kernels as functions of arrays: `tw.function`, and what interop registers with frameworks."""

from __future__ import annotations

from .function import Function, function

__all__ = ["Function", "function"]
