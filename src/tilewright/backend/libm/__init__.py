"""Elementary functions and float conversions as LLVM text, for any number of lanes."""

from __future__ import annotations

from .library import BOUNDS, FUNCTIONS, Library

__all__ = ["BOUNDS", "FUNCTIONS", "Library"]
