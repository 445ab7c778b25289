"""Instructions of a GPU in SIMT kernels, in unsafe code: nobody looks at what they do."""

from __future__ import annotations

from typing import Any

from .marker import declared_for_threads


@declared_for_threads
def inline_ptx(text: str, *values: object, result: Any = None) -> Any:
    """Run PTX: `$0`, `$1`, ... are the results, then the values; `$$` is a dollar.

    `result` is the element type of the result, or a tuple of several; None for none. Numbers of
    16, 32 and 64 bits go in and out. There is no form of it for the CPU and the reference.
    """
    ...
