"""Declares inline PTX in SIMT kernels, in unsafe code: its text is not checked."""

from __future__ import annotations

from typing import Any

from .marker import declared_for_threads


@declared_for_threads
def inline_ptx(text: str, *values: object, result: Any = None) -> Any:
    """Run PTX: `$0`, `$1`, ... are the results, then the values; `$$` is a dollar.

    `result` is the element type of the result, or a tuple of several; None for none. Operands have
    16, 32 or 64 bits. The CPU and the reference do not support it.
    """
    ...
